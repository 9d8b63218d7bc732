"""Which headers the macros of computed includes spell: ``#include STR(DIR/table.h)``.

Macros are expanded as compilers do, but with every definition that the project and the options have, since ``#if`` is
not evaluated: the outcome is each name that any compile could see. Where the toolkit's macros may have a part in it, or
the text is no header's name in the end, nothing is known.
"""

from __future__ import annotations

import re
from itertools import chain, product
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.lexer import STRING
from hatch_cuda_kernels.source.macros import parse_define

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.includes.source_text import SourceText
    from hatch_cuda_kernels.source.macros import MacroText

__all__ = ["ESCAPED_LETTER", "TOOLKIT_MACROS", "OperandNames", "possible_spellings"]

#: The toolkit's macros, of which many are empty.
TOOLKIT_MACROS: Final = re.compile(
    r"_\w*|(?:CCCL|CU|CUB|CUDA|CUDART|LIBCUDACXX|NV\w*|THRUST)_\w+|CUDA(?:RT)?API", re.ASCII
)
#: A letter of a name that may be a macro's, spelled by its number.
ESCAPED_LETTER: Final = re.compile(r"\\[uUN][0-9a-fA-F{]")
_TOKEN: Final = re.compile(rf"{STRING}|[A-Za-z_]\w*+|\d[\w.]*+|\s++|##|.", re.ASCII | re.DOTALL)
_HEADER: Final = re.compile(r'\s*(?:"([^"\s]+)"|<([^<>\s]+)>)\s*')
#: What follows the name of a macro with parameters that is not called, whatever else is replaced.
_NO_CALL: Final = re.compile(r"[^\w\s(#]", re.ASCII)
#: What is there or not, as there are arguments for ``...``.
_COMMA: Final = re.compile(r",\s*##|__VA_OPT__")
#: More texts than one include can become in code that people write.
_MOST: Final = 1024
#: Characters that are made while one include is expanded, each token counting for one more: a chain of macros that
#: double would fill any memory.
_BUDGET: Final = 1_000_000


_TOO_LONG: Final = (
    "{place}: macros make more than {budget:,} characters of this include on the way to a header's name; name the "
    "header in the include itself"
)


class _Definitions(dict[str, dict[tuple[object, ...], "MacroText"]]):
    """All different definitions of each macro, and what they made of tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.made: Final[dict[tuple[tuple[str, ...], frozenset[str]], set[str] | None]] = {}
        self._left = 0

    def begin(self) -> None:
        """Give the next include all of the budget."""
        self._left = _BUDGET

    def spend(self, characters: int) -> None:
        """Take notice of what is made. Raises _OverBudgetError beyond the budget."""
        self._left -= characters + 1
        if self._left < 0:
            raise _OverBudgetError


class _Unknown(Exception):  # noqa: N818 - an answer
    """What an include names is not known."""


class _OverBudgetError(Exception):
    """An include is expanded to more than one has a budget for."""


class OperandNames:
    """What the computed includes of some texts may name, for ever more texts."""

    def __init__(self, define: Iterable[tuple[str, str]]) -> None:
        self._given: Final = [parse_define(f"{name} {value}") for name, value in define]
        self._known: tuple[int, dict[str, set[str]]] = 0, {}
        self.problems: Final[list[str]] = []
        """The includes that are too long."""

    def of(self, texts: Iterable[SourceText]) -> dict[str, set[str]]:
        """Return the names that each operand of an include may become; none where they are not known."""
        found = [*texts]
        if self._known[0] != len(found):
            self._known = len(found), self._names_in(found)
        return self._known[1]

    def _names_in(self, texts: Iterable[SourceText]) -> dict[str, set[str]]:
        macros = _Definitions()
        operands: dict[str, str] = {}
        for macro in chain(self._given, *(text.macros for text in texts)):
            if macro.kind == "define":
                macros.setdefault(macro.name, {}).setdefault(macro[2:], macro)
        for text in texts:
            for macro in text.macros:
                if macro.kind == "include":
                    operands.setdefault(macro.text, text.at(macro.place))
        found: dict[str, set[str]] = {}
        for operand, place in sorted(operands.items()):
            try:
                found[operand] = _names(operand, macros)
            except _OverBudgetError:
                found[operand] = set()
                self.problems.append(_TOO_LONG.format(place=place, budget=_BUDGET))
        return found


def _names(operand: str, macros: _Definitions) -> set[str]:
    """Return the names that an include may spell; none where they are not known."""
    if ESCAPED_LETTER.search(operand):
        return set()
    macros.begin()
    try:
        headers = [_HEADER.fullmatch(text) for text in _expanded(_tokens(operand), macros, frozenset())]
    except (_Unknown, RecursionError):
        return set()
    names = {header[1] or header[2] for header in headers if header is not None}
    return names if all(headers) else set()


def possible_spellings(declared: Sequence[str], folders: Sequence[str]) -> dict[str, str]:
    """Return what a computed include may call each declared file; the first file in search order wins a spelling."""
    found: dict[str, str] = {}
    for folder in folders:
        prefix = f"{folder}/" if folder else ""
        for path in declared:
            if path.startswith(prefix):
                found.setdefault(path.removeprefix(prefix), path)
    return found


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _expanded(tokens: list[str], macros: _Definitions, hidden: frozenset[str]) -> set[str]:
    """Return all that the tokens may become. A macro that is being replaced is not replaced in its own text."""
    macros.spend(len(tokens))
    key = (*tokens,), hidden
    if key not in macros.made:
        macros.made[key] = None  # where it is not known
        macros.made[key] = _expanded_anew(tokens, macros, hidden)
    found = macros.made[key]
    if found is None:
        raise _Unknown
    return found


def _expanded_anew(tokens: list[str], macros: _Definitions, hidden: frozenset[str]) -> set[str]:
    for at, token in enumerate(tokens):
        if token in hidden:
            continue
        if token not in macros:
            if TOOLKIT_MACROS.fullmatch(token):
                raise _Unknown
            continue
        before = "".join(tokens[:at])
        found = {
            before + text
            for macro in macros[token].values()
            for body, rest in _replaced(macro, tokens[at + 1 :], macros, hidden)
            for text in _followed(_expanded(_tokens(body), macros, hidden | {token}), rest, macros, hidden)
        }
        if len(found) > _MOST:
            raise _Unknown
        return found
    return {"".join(tokens)}


def _followed(texts: set[str], rest: list[str], macros: _Definitions, hidden: frozenset[str]) -> Iterator[str]:
    """Yield what a macro became with what the tokens after it may become."""
    for text, after in product(sorted(texts), sorted(_expanded(rest, macros, hidden))):
        macros.spend(len(text) + len(after))
        if after.lstrip().startswith("(") and any(token in macros for token in _tokens(text)[-1:]):
            raise _Unknown  # another macro, which takes its arguments from there
        yield text + after


def _replaced(
    macro: MacroText, after: list[str], macros: _Definitions, hidden: frozenset[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield each text that takes the place of a macro's use, and the tokens that follow it."""
    if "%:" in macro.text or "??" in macro.text or ESCAPED_LETTER.search(macro.text):
        raise _Unknown  # other spellings of #, of ##, and of names
    if macro.parameters is None:
        yield _pasted(macro.text), after
        return
    if _NO_CALL.fullmatch(next((word for word in after if not word.isspace()), "")):
        yield macro.name, after  # as a word
        return
    arguments, rest = _call(after)
    arguments = _with_rest(arguments, macro)
    if len(arguments) != max(len(macro.parameters), 1):
        raise _Unknown
    plain = dict(zip(macro.parameters, arguments, strict=False))
    choices = [sorted(_expanded(_tokens(argument), macros, hidden)) for argument in plain.values()]
    for chosen in product(*choices):
        body = _pasted(_substituted(macro.text, plain, dict(zip(plain, chosen, strict=True)), macros))
        macros.spend(len(body))
        yield body, rest


def _with_rest(arguments: list[str], macro: MacroText) -> list[str]:
    """Return a call's arguments, those for ``...`` as one."""
    named = macro.parameters[:-1] if macro.parameters else ()
    if "__VA_ARGS__" not in (macro.parameters or ()):
        return arguments
    if _COMMA.search(macro.text) or len(arguments) < len(named):
        raise _Unknown
    return [*arguments[: len(named)], ", ".join(arguments[len(named) :])]


def _call(tokens: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments between the parentheses that follow a macro's name, and what comes after them."""
    start = next((at for at, word in enumerate(tokens) if not word.isspace()), len(tokens))
    if tokens[start : start + 1] != ["("]:
        raise _Unknown  # a name without arguments is not replaced, and ends up in no header's name
    arguments, depth = [""], 0
    for at, word in enumerate(tokens[start + 1 :], start + 1):
        if word == ")" and depth == 0:
            return [argument.strip() for argument in arguments], tokens[at + 1 :]
        depth += (word == "(") - (word == ")")
        if word == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += word
    raise _Unknown


def _substituted(text: str, plain: Mapping[str, str], expanded: Mapping[str, str], macros: _Definitions) -> str:
    """Return a replacement with its arguments: as they are written beside ``#`` and ``##``, else expanded."""
    tokens = _tokens(text)
    pieces: list[str] = []
    for at, token in enumerate(tokens):
        if token not in plain:
            pieces.append(token)
            continue
        macros.spend(len(text) + len(expanded[token]))
        before = "".join(pieces).rstrip()
        after = "".join(tokens[at + 1 :]).lstrip()
        if before.endswith("#") and not before.endswith("##"):
            quoted = " ".join(plain[token].split())
            pieces = [before[:-1], f'"{quoted}"']
        else:
            pieces.append(plain[token] if before.endswith("##") or after.startswith("##") else expanded[token])
    return "".join(pieces)


def _pasted(text: str) -> str:
    return re.sub(r"\s*##\s*", "", text)
