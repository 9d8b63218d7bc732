"""What NVRTC says it ignores though a layout or a meaning depends on it: an error, whatever became of its warnings.

It ignores attributes of GNU C behind a class or an enumeration, in the spelling ``[[gnu::packed]]`` everywhere, and
``#pragma pop_macro``. gcc and nvcc do not: what the host puts into such a struct, a kernel would read elsewhere. Which
places these are was found by 3,520 declarations given to both (``tests/compiler/test_attributes.py`` has the rule's).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cpp import SourceFile, is_literal, lex_with_places, parse_definition

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.job import Program

#: A message of a log with what belongs to it: the line of the source, the mark, notes.
_MESSAGE: Final = re.compile(
    r"^(?P<file>[^\n]+)\((?P<line>\d+)\): warning(?: #(?P<number>\d+)(?:-D)?)?: (?P<text>[^\n]*)\n"
    r"(?P<rest>(?:[ ]{2}[^\n]*\n|\n)*)",
    re.MULTILINE,
)
#: In what is between tokens, nothing else begins so.
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)

#: What NVRTC says of attributes that it does not heed: of no entity, of another, unknown; and of unknown pragmas.
_NUMBERS: Final = {"1866": "unattached_attribute", "1835": "wrong_entity_for_attribute"} | {
    "1097": "unrecognized_attribute",
    "161": "unrecognized_pragma",
}
_HIDING: Final = re.compile(r"(\bnv_diag_(?:suppress|remark)\b[ \t=]*)([\w, \t]+)")
_HIDDEN: Final = re.compile("|".join(rf"\b{word}\b" for pair in _NUMBERS.items() for word in pair))

_QUIET: Final = frozenset({"-w", "--disable-warnings"})
_UNNUMBERED: Final = frozenset({"-no-err-no", "--no-display-error-number"})
_BRIEF: Final = ("-brief-diag", "--brief-diagnostics")
_SUPPRESS: Final = ("-diag-suppress=", "--diag-suppress=")

_UNKNOWN: Final = re.compile(r'unknown attribute "([^"]+)"')
_LAYOUT: Final = frozenset({"packed", "aligned", "vector_size", "mode", "no_unique_address", "__align__"})
_ROUND: Final = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"
_GNU: Final = re.compile(rf"\s*(?:__attribute(?:__)?\s*{_ROUND}|__align__\s*{_ROUND}|#[^\n]*\n)")
_MACRO_USE: Final = re.compile(rf"\s*(\w+)(?:\s*{_ROUND})?")
#: What follows an attribute behind a class: nothing, or what is declared of it.
_DECLARED: Final = re.compile(r"\s*(?:;|(?:(?:const|volatile)\b\s*|[*&]\s*)*\w+\s*[;,=\[({:])")
#: A class behind an attribute that gcc ignores, too, as it stands before the whole declaration.
_CLASS: Final = re.compile(r"(?:[^\[\]]*\]\])?\s*(?:struct|class|union|enum)\b[\s\w]*[{:;]")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_POP: Final = re.compile(r'pop_macro\s*\(\s*\\?"(\w+)')
#: A declaration is looked at as far as this.
_FAR: Final = 4000

_IGNORED: Final = "NVRTC ignores {} here, and nvcc does not: the layout would be another than the host's"
_POPPED: Final = "NVRTC ignores #pragma pop_macro, and nvcc does not: {} keeps the value that it has"
_HEAD: Final = (
    "write it behind the word struct, class, union or enum, where all compilers heed it: struct {} S {{ ... }}"
)
_ADVICE: Final[dict[str, Callable[[str], str]]] = {
    "packed": lambda space: (
        "write __attribute__((packed)) in its place" if space else _HEAD.format("__attribute__((packed))")
    ),
    "aligned": lambda space: (
        "write alignas(N), or __attribute__((aligned(N))), in its place" if space else _HEAD.format("alignas(N)")
    ),
    "align": lambda _: _HEAD.format("__align__(N)"),
    "mode": lambda _: "write a type of that size in its place",
    "vector_size": lambda _: "device code has no vectors of GNU C: use a struct, or a type such as float4",
    "no_unique_address": lambda _: (
        "NVRTC knows it from C++20 on: write 'std: c++20' in the module's options, or make a base class of the member"
    ),
}


def telling_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Return flags as NVRTC gets them: those that would hide what it ignores are left to ``shown_log``."""
    kept = []
    for flag in flags:
        if flag.startswith(_SUPPRESS):
            name, _, numbers = flag.partition("=")
            others = ",".join(number for number in numbers.split(",") if number.lstrip("0") not in _NUMBERS)
            kept += [f"{name}={others}"] if others else []
        elif flag not in _QUIET | _UNNUMBERED and not flag.startswith(_BRIEF):
            kept.append(flag)
    return tuple(kept)


def telling_text(text: str) -> str:
    """Return a text whose pragmas hide nothing of what NVRTC ignores; all else means the same to NVRTC."""
    if "nv_diag_" not in text:
        return text
    # A warning that is off by default; it replaces one that must stay on.
    return _HIDING.sub(lambda found: found[1] + _HIDDEN.sub("47", found[2]), text)


def shown_log(log: str, extra: Sequence[str]) -> str:
    """Return a log as pass-through flags want it, which NVRTC does not get itself."""
    hidden = {
        number.lstrip("0")
        for flag in extra
        if flag.startswith(_SUPPRESS)
        for number in flag.partition("=")[2].split(",")
    }
    is_quiet = not _QUIET.isdisjoint(extra)
    log = _MESSAGE.sub(lambda found: "" if is_quiet or found["number"] in hidden else found[0], log)
    if is_quiet or not _MESSAGE.search(log):
        log = re.sub(r"^Remark: The warnings can be suppressed with [^\n]*\n+", "", log, flags=re.MULTILINE)
    if is_quiet:
        log = re.sub(r"^ptxas (?:[^\n]*; )?warning\s*:[^\n]*\n+", "", log, flags=re.MULTILINE)
    if not _UNNUMBERED.isdisjoint(extra):
        log = re.sub(r"(\(\d+\): (?:warning|error)) #\d+(?:-D)?:", r"\1:", log)
    brief = [flag for flag in extra if flag.startswith(_BRIEF)]
    return re.sub(r"^  [^\n]*\n\n?", "", log, flags=re.MULTILINE) if brief and brief[-1].endswith("true") else log


def judged_log(log: str, program: Program, define: Iterable[str]) -> str:
    """Return a log in which an ignored attribute or pragma is an error, if a layout or a meaning depends on it."""
    if "attribute" not in log and "unrecognized #pragma" not in log:
        return log
    texts = _Texts(program, define)

    def judged(found: re.Match[str]) -> str:
        place = texts.place(found["file"], int(found["line"]), *found["rest"].split("\n")[:2])
        fault = _fault(found["text"], place, texts) if place is not None else ""
        return f"{found['file']}({found['line']}): error: {fault}\n{found['rest']}" if fault else found[0]

    return _MESSAGE.sub(judged, log)


def _fault(message: str, place: _Surroundings, texts: _Texts) -> str:
    if message == "unrecognized #pragma":
        popped = next(filter(texts.is_defined, texts.popped(place)), "")
        return _POPPED.format(popped) if popped else ""
    if unknown := _UNKNOWN.match(message):
        name = _unknown_layout(unknown[1], place, texts)
    else:
        attribute = re.match(
            r"[\w ]*attribute (?:does not apply to any entity|\"(?P<name>[^\"]+)\" does not apply here)", message
        )
        name = _layout_behind(attribute["name"], place, texts) if attribute else ""
    return _IGNORED.format(f"attribute {name}") if name else ""


class _Surroundings(NamedTuple):
    """Where NVRTC's mark stands in a file: its text before that and from there, without literals and comments."""

    before: str
    behind: str
    line: str
    """From the mark to the end of the line, as it is written."""

    @property
    def word(self) -> str:
        found = _WORD.match(self.behind)
        return found[0] if found else ""


def _unknown_layout(name: str, place: _Surroundings, texts: _Texts) -> str:
    space, _, plain = name.rpartition("::")
    plain = plain.strip("_")
    opened = re.search(r"\[\[[^\]]*\Z", place.before)
    is_gnu = opened is None and not any("[[" in text for text in texts.reached(place.word))
    if is_gnu or plain not in _LAYOUT or (space.strip("_") != "gnu") != (plain == "no_unique_address"):
        return plain if is_gnu and plain == "vector_size" else ""
    use = _MACRO_USE.match(place.behind) if opened is None else None
    return "" if _CLASS.match(place.behind, use.end() if use is not None else 0) else name


def _layout_behind(name: str | None, place: _Surroundings, texts: _Texts) -> str:
    """Return the layout attribute of GNU C behind a class; empty for none. A macro may stand for it, or end the class.

    NVRTC marks the last of several attributes, and names it only in one of its messages.
    """
    start = max(map(place.before.rfind, ";{}"))
    if start < 0 or place.before[start] != "}":
        return _layout_of(texts.words_of(place.word)) if "}" in texts.words_of(place.word) else ""
    tail = place.before[start + 1 :] + place.behind
    end = 0
    while (found := _GNU.match(tail, end) or _MACRO_USE.match(tail, end)) and (
        found.re is _GNU or texts.is_attribute(found[1])
    ):
        end = found.end()
    if end <= len(place.before) - start - 1 or not _DECLARED.match(tail, end):
        return ""
    words = _WORD.findall(tail[:end])
    return _layout_of([name] if name else [*words, *chain.from_iterable(map(texts.words_of, words))])


def _layout_of(words: Iterable[str]) -> str:
    return next((word for word in words if word == "__align__" or word.strip("_") in _LAYOUT), "")


class _Texts:
    def __init__(self, program: Program, define: Iterable[str]) -> None:
        self._files: Final = {program.name: program.source, **dict(program.headers)}
        self._define: Final = frozenset(define)

    def place(self, file: str, line: int, excerpt: str = "", mark: str = "") -> _Surroundings | None:
        """Return where the mark of a message stands; None if its line is in no file that is known here."""
        written = excerpt.removeprefix("  ")
        if not mark.endswith("^"):
            return None
        column = len(written.encode()[: len(mark) - 3].decode(errors="ignore"))  # NVRTC counts bytes
        text = self._files.get(file, "")
        start = sum(len(each) + 1 for each in text.split("\n")[: line - 1])
        if file not in self._files or not text.startswith(written, start):  # by ``#line``, it may be anywhere
            line_of = re.compile(f"^{re.escape(written)}$", re.MULTILINE)
            found = ((one, match.start()) for one in self._files.values() if (match := line_of.search(one)))
            text, start = next(found, ("", -1))
        if start < 0:
            return None
        at = start + column
        return _Surroundings(_without_literals(text[:at]), _without_literals(text[at : at + _FAR]), written[column:])

    def is_defined(self, macro: str) -> bool:
        """Return whether a macro may have a value, now or later: the toolkit's names begin with underscores."""
        return macro in self._by_name or macro in self._define or macro.startswith("_")

    def is_attribute(self, word: str) -> bool:
        """Return whether a word is a macro that may stand for an attribute, or for nothing."""
        texts = self._by_name.get(word)
        return texts is not None and all(not text or "attribute" in text or "__align__" in text for text in texts)

    def popped(self, place: _Surroundings) -> list[str]:
        """Return the macros that a pragma restores, whether it stands in the source or in a macro."""
        found = _POP.findall(place.line)
        return found or [name for text in self.reached(place.word) for name in _POP.findall(text)]

    def words_of(self, macro: str) -> list[str]:
        """Return the words and braces that a macro stands for, by any of its definitions."""
        return [word for text in self.reached(macro) for word in re.findall(r"\w+|[{}]", text)]

    def reached(self, macro: str) -> list[str]:
        seen: set[str] = set()
        waiting, found = [macro], list[str]()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                texts = self._by_name.get(name, [])
                found += texts
                waiting += chain.from_iterable(map(_WORD.findall, texts))
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        macros: dict[str, list[str]] = {}
        for text in self._files.values():
            file = SourceFile("", text)
            defined = (parse_definition(one, file) for one in file.directives if one.word == "define")
            for macro in filter(None, defined):
                macros.setdefault(macro.name, []).append(" ".join(one.text for one in macro.body))
        return macros


def _without_literals(text: str) -> str:
    """Return a text with a blank for each comment and 0 for each literal."""
    joined = SourceFile("", text).joined
    pieces: list[str] = []
    behind = 0
    for token in lex_with_places(joined):
        pieces.append(_COMMENT.sub(" ", joined[behind : token.start]))
        pieces.append("0" if is_literal(token.text) else token.text)
        behind = token.start + len(token.text)
    return "".join((*pieces, _COMMENT.sub(" ", joined[behind:])))


def advice_on_ignored(message: str) -> str:
    """Return what to do about such an error; empty for any other."""
    found = re.match(r"NVRTC ignores (?:attribute (\S+) here|#pragma pop_macro), and nvcc does not", message)
    if found is None:
        return ""
    if found[1] is None:
        return "write #undef and #define in its place, with #ifdef __CUDACC_RTC__"
    space, _, name = found[1].rpartition("::")
    return _ADVICE[name.strip("_")](space)
