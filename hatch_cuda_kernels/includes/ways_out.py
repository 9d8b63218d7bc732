"""Whether macros could lead an include or a probe out of the project, to a path that nobody hashes.

No macro is expanded. Where a macro names the header of an include or a probe, each text is looked at that the names in
it lead to. A path that starts with ``/`` or goes up with ``..`` is a way out, also where it does so only if a macro or
an argument in front of it is empty.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.includes.computed import ESCAPED_LETTER, TOOLKIT_MACROS
from hatch_cuda_kernels.source.macros import possible_names
from hatch_cuda_kernels.source.probes import without_spelled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from hatch_cuda_kernels.includes.source_text import SourceText
    from hatch_cuda_kernels.source.macros import MacroText

__all__ = ["Located", "ways_out"]

_WORD: Final = re.compile(r"(?<!\w)[A-Za-z_]\w*+", re.ASCII)
_PASTE: Final = re.compile("##|%:%:")
#: Words of the compiler's that stand for digits, for themselves, or for arguments.
_COMPILERS: Final = frozenset(
    """
    __COUNTER__ __LINE__ __cplusplus __has_include __has_include_next __VA_ARGS__ __VA_OPT__ __CUDA_ARCH__
    __CUDACC_VER_MAJOR__ __CUDACC_VER_MINOR__ __CUDACC_VER_BUILD__ __GNUC__ __GNUC_MINOR__ __GNUC_PATCHLEVEL__
    __clang_major__ __clang_minor__ __clang_patchlevel__ _MSC_VER _MSC_FULL_VER
    """.split()  # noqa: SIM905 - a list would take a line a word
)
_PIECE: Final = re.compile(r"\w+", re.ASCII)
_LITERAL: Final = re.compile(r'"(?:[^"\\]++|\\.|(?!))*+"?+')
_DOTS: Final = r'(?<![^\s"</(,])\.\.(?=[/"\s>),]|\Z)'
#: A slash where a name begins, a bare opening <, ``..`` as a part of a path, or a dot alone, of which two make that.
_LEADS_OUT: Final = re.compile(rf'(?:\A|[(,<"#])\s*/|\A<\Z|{_DOTS}|(?:\A|[(,/])\s*\.\s*(?=\Z|[,)])')
_TWO_DOTS: Final = re.compile(_DOTS)
#: What may be empty: a macro, and a parameter of the macro at hand. A slash after it may come first where an argument
#: or a text begins; after a macro also where brackets begin, which may become an argument's.
_VOIDS: Final = "\0\1"
_VOID_MACRO, _VOID_PARAMETER = _VOIDS
_VOID: Final = re.compile(f"[{_VOIDS}]")
_BEHIND_VOID: Final = re.compile(
    rf"(?:(?:\A|[\w{_VOIDS}]\s*\(|[,<])\s*[{_VOIDS}]|\(\s*{_VOID_MACRO})[\s{_VOIDS}#]*/"
    rf"(?=\s*(?:[A-Za-z_.{_VOIDS},)]|\Z))",
    re.ASCII,
)
_VOID_CALL: Final = re.compile(rf"([{_VOIDS}])\s*\([^()]*\)")
_ESCAPED: Final = re.compile(r'\\["\\]')
_DEEPEST: Final = 20
_PROBE: Final = "__has_include"
_DEFINED: Final = re.compile(r"(?<!\w)defined\s*(?:\(\s*\w+\s*\)|\s\w+)", re.ASCII)
#: Of a macro, perhaps, to which an operand of ``defined`` is an argument like others.
_CALL: Final = re.compile(r"(?<!\w)(?!(?:defined|__has_include(?:_next)?)\s*\()\w+\s*\(", re.ASCII)
_MAY_BE_EMPTY: Final = re.compile(r"(?:[\s(),#]++|[A-Za-z_]\w*+|(?!))*+", re.ASCII)


class Located(NamedTuple):
    """A macro text and where it is: the file, or the start of a message about the option that defines it."""

    origin: SourceText | str
    macro: MacroText

    @property
    def blame(self) -> str:
        """The start of a message about it."""
        if isinstance(self.origin, str):
            return self.origin
        return f"{self.origin.at(self.macro.place)}: the macro text {self.macro.text!r}"

    @property
    def names(self) -> set[str]:
        """The headers that only macros make of it; those that a condition spells for itself are directives."""
        found = set(possible_names(self.macro.text))
        if found and self.macro.kind == "condition" and not isinstance(self.origin, str):
            found -= {directive.spelling[1:-1] for directive in self.origin.directives}
        return found


def ways_out(texts: Sequence[Located], safe: Collection[str] = ()) -> Iterator[str]:
    """Yield a message for each text that could lead an include or a probe out of the project.

    The operands ``safe`` of includes become names that are known, none of which does.
    """
    macros: dict[str, list[MacroText]] = defaultdict(list)
    for _, macro in texts:
        if macro.kind == "define":
            macros[macro.name].append(macro)
    words = {name: macros.keys() & set().union(*map(_words, found)) for name, found in macros.items()}
    probing = _probing(macros, words)
    naming = [located for located in texts if _names_headers(located.macro, probing)]
    naming = [one for one in naming if one.macro.kind != "include" or one.macro.text not in safe]
    reached = _spread({word for _, macro in naming for word in _words(macro)} & macros.keys(), words)
    while pasted := _pasted([macro for _, macro in naming], reached, macros):
        reached = _spread(reached | pasted, words)
    empty = _empty_names(macros)
    for located in (*(located for located in texts if located.macro.name in reached), *naming):
        if _leads_out(located.macro, macros, empty):
            yield f"{located.blame} could lead an include out of the project; name the header in the include itself"


def _words(macro: MacroText) -> set[str]:
    """Return the words that may be macros; a condition replaces none that it asks of whether it is defined."""
    text = _LITERAL.sub("", macro.text)
    if macro.kind == "condition" and not _CALL.search(text):
        text = _DEFINED.sub("", text)
    return set(_WORD.findall(text))


def _pasted(naming: Iterable[MacroText], reached: set[str], macros: Mapping[str, Sequence[MacroText]]) -> set[str]:
    """Return the other macros whose names ``##`` may make, of words and numbers in the texts that are looked at."""
    texts = [*naming, *(macro for name in reached for macro in macros[name])]
    if not any(_PASTE.search(macro.text) for macro in texts):
        return set()
    if any(_is_foreign(word, macros) for macro in texts for word in _words(macro) - _COMPILERS):
        return macros.keys() - reached  # of what it stands for, nothing is known
    pieces = set[str]()
    for macro in texts:
        pieces |= set(_PIECE.findall(_LITERAL.sub("", macro.text))).difference(macro.parameters or ())
    lengths = sorted(set(map(len, pieces)))
    return {name for name in macros.keys() - reached if _is_made_of(name, pieces, lengths)}


def _is_made_of(name: str, pieces: AbstractSet[str], lengths: Sequence[int]) -> bool:
    """Return whether a name is made of pieces, and of digits, as ``__LINE__`` and its kin give any."""
    starts, done = [0], set[int]()
    while starts:
        start = starts.pop()
        if start == len(name):
            return True
        if start not in done:
            done.add(start)
            fits = (length for length in lengths if start + length <= len(name))
            starts += [start + length for length in fits if name[start : start + length] in pieces]
            starts += [start + 1] if name[start].isdecimal() else []
    return False


def _names_headers(macro: MacroText, probing: set[str]) -> bool:
    """Return whether a text is the operand of an include, or a condition that probes for a header."""
    return macro.kind == "include" or (
        macro.kind == "condition" and (_PROBE in macro.text or not probing.isdisjoint(_words(macro)))
    )


def _probing(macros: Mapping[str, Sequence[MacroText]], words: Mapping[str, set[str]]) -> set[str]:
    """Return the macros that lead to a probe."""
    users: dict[str, set[str]] = defaultdict(set)
    for name, used in words.items():
        for word in used:
            users[word].add(name)
    return _spread({name for name, found in macros.items() if any(_PROBE in macro.text for macro in found)}, users)


def _spread(names: set[str], edges: Mapping[str, set[str]]) -> set[str]:
    """Return the names and all that the edges lead to from them."""
    reached, waiting = set(names), list(names)
    while waiting:
        fresh = edges.get(waiting.pop(), set()) - reached
        reached |= fresh
        waiting += fresh
    return reached


def _empty_names(macros: Mapping[str, Sequence[MacroText]]) -> set[str]:
    """Return the macros that may expand to nothing."""
    empty: set[str] = set()
    users: dict[str, list[tuple[str, set[str]]]] = defaultdict(list)
    waiting: list[str] = []
    for name, found in macros.items():
        for macro in found:
            if _MAY_BE_EMPTY.fullmatch(macro.text):
                needed = {
                    word for word in _words(macro).difference(macro.parameters or ()) if not _is_foreign(word, macros)
                }
                for word in needed:
                    users[word].append((name, needed))
                if not needed:
                    waiting.append(name)
    while waiting:
        name = waiting.pop()
        if name not in empty:
            empty.add(name)
            for user, needed in users[name]:
                needed.discard(name)
                if not needed:
                    waiting.append(user)
    return empty


def _is_foreign(word: str, macros: Mapping[str, object]) -> bool:
    """Return whether a word may be one of the toolkit's macros."""
    return word not in macros and TOOLKIT_MACROS.fullmatch(word) is not None


def _leads_out(macro: MacroText, macros: Mapping[str, object], empty: set[str]) -> bool:
    """Return whether a text could begin, or lead, a path out of the project."""
    own = _ESCAPED.sub("_", macro.text)  # an escaped quote begins no header's name
    if macro.kind == "condition":
        own = without_spelled(own)
    if _LEADS_OUT.search(own) or ESCAPED_LETTER.search(_LITERAL.sub("", own)):
        return True

    def void(word: re.Match[str]) -> str:
        if word[0] in (macro.parameters or ()):
            return _VOID_PARAMETER
        return _VOID_MACRO if word[0] in empty or _is_foreign(word[0], macros) else word[0]

    text = _WORD.sub(void, _LITERAL.sub('""', own))
    for _ in range(_DEEPEST):
        if _BEHIND_VOID.search(text) or _TWO_DOTS.search(_VOID.sub("", text)):
            return True
        text, calls = _VOID_CALL.subn(r"\1", text)
        if not calls:
            return False
    return True
