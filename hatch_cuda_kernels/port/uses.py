"""Where names stand in what NVRTC is to see, and so what could be guarded together without being missed."""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from operator import itemgetter
from sys import intern
from typing import TYPE_CHECKING, Final, TypeAlias

from hatch_cuda_kernels.host_code.includes import included
from hatch_cuda_kernels.host_code.outline import read_outline
from hatch_cuda_kernels.host_code.tokens import Tokens
from hatch_cuda_kernels.source.branches import hidden_parts
from hatch_cuda_kernels.source.directive_lines import DirectiveLine
from hatch_cuda_kernels.source.lexer import Joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hatch_cuda_kernels.host_code.declaration import Declaration
    from hatch_cuda_kernels.host_code.drop import TextChange
    from hatch_cuda_kernels.host_code.items import OutlineItem
    from hatch_cuda_kernels.port.sources import Sources

__all__ = ["Uses"]

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_ALIAS: Final = re.compile(
    r"(?:template\s*<[^;{}]*?>\s*)?(?:using|namespace|concept)\s+(?P<alias>\w+)\s*="
    r"|using\s+(?:\w*\s*::\s*)*(?P<brought>\w+)\s*;\Z"
)
_TYPEDEF: Final = re.compile(r"typedef\s[^(){}]*?(?P<name>\w+)\s*;\Z")
#: ``const ALIGNED(16, float values[4]) = {``.
_IN_MACRO: Final = re.compile(r"(?:(?:static|const)\s+)+[A-Z]\w*\([^()]*?(?P<name>\w+)(?:\s*\[[^\[\]]*\])*\s*\)\s*=")
_DIRECTIVE: Final = re.compile(r"using\s+namespace\s")
_HEAD_ENDS: Final = re.compile(r"(?<!:):(?!:)|[{;]")
_VALUES: Final = re.compile(r"\{(.*)\}", re.DOTALL)

_Place: TypeAlias = tuple[str, int]


class Uses:
    """Every word of the files as they are shown now; comments, literals and conditions do not count, macros do.

    What stands in a macro is used only where the macro is used.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources: Final = sources
        self._defined: Final[dict[_Place, str]] = {}  # where macros are defined, with their names
        self._spans: Final[dict[str, list[tuple[int, int]]]] = {}  # what is not shown
        unread = sources.texts.keys() - sources.outlines.keys()
        #: The words of files that cannot be parsed: what they name must stay.
        self._unread: Final = {word for path in unread for word in _WORD.findall(sources.texts[path])}
        for path, outline in sources.outlines.items():
            away = [_hidden(change) for change in sources.changes[path]]
            away += hidden_parts(outline.source.original)
            gone = [outline.source.position(at) for part in away for at in part]
            self._spans[path] = list(_joined(sorted(zip(gone[::2], gone[1::2], strict=True))))
            for line in outline.directives:
                if line.word == "define" and (defined := _WORD.match(line.operand)):
                    self._defined[path, line.start] = defined[0]

    def _places(self, name: str) -> Iterator[_Place]:
        """Yield where a word stands in what is shown."""
        for path, outline in self._sources.outlines.items():
            spans = self._spans[path]
            for start in self._sources.project.readings.of(_words, outline.source.original).get(name, ()):
                at = bisect(spans, start, key=itemgetter(0)) - 1
                if at < 0 or start >= spans[at][1]:
                    yield path, start

    def together(self, path: str, item: OutlineItem) -> dict[tuple[str, OutlineItem], tuple[str, ...]] | None:
        """Return a declaration and all that has to go with it, each with its names; None where one of them must stay.

        What must stay: members, assertions, functions and variables with a mark, macros, what has no name, and
        specialisations of what stays. A class goes with all its members, those of device code too, as nothing that
        stays names it.
        """
        found: dict[tuple[str, OutlineItem], tuple[str, ...]] = {}
        waiting = [(path, item)]
        while waiting:
            where, one = waiting.pop()
            if (where, one) in found:
                continue
            names = self._names(where, one)
            users = None if names is None else self._users(names)
            if names is None or users is None:
                return None
            found[where, one] = names
            waiting += users
        return found if all(self._goes_whole(*one, found) for one in found) else None

    def _users(self, names: Iterable[str]) -> list[tuple[str, OutlineItem]] | None:
        """Return the declarations that names stand in, also by way of macros; None where one stands elsewhere."""
        found: list[tuple[str, OutlineItem]] = []
        waiting, macros = [*names], set[str]()
        while waiting:
            name = waiting.pop()
            if name in self._unread:
                return None
            for place in self._places(name):
                macro = self._defined.get(place)
                user = self._item_at(*place) if macro is None else None
                if user is not None:
                    found.append((place[0], user))
                elif macro is None or (macro == name and name not in macros):
                    return None
                elif macro not in macros:
                    macros.add(macro)
                    waiting.append(macro)
        return found

    def _goes_whole(self, path: str, item: OutlineItem, found: Iterable[tuple[str, OutlineItem]]) -> bool:
        """Return whether what a declaration belongs to goes with it: a template, or the class of a member."""
        declared = item.declaration
        classes = [one.declaration for _, one in found if one.declaration.kind == "type"]
        if declared.kind == "function" and self._is_marked(path, item):
            return any(one.name == declared.scope for one in classes)
        if declared.kind != "type" or not _is_special(self._text(path, item), declared.name):
            return True
        owners = ((where, one) for where, one in found if one.declaration.name == declared.name)
        return any(
            one.declaration.kind == "type" and not _is_special(self._text(where, one), declared.name)
            for where, one in owners
        )

    def _text(self, path: str, item: OutlineItem) -> str:
        return self._sources.outlines[path].source.text[item.start : item.end]

    def _is_marked(self, path: str, item: OutlineItem) -> bool:
        return self._sources.facts.is_marked(self._text(path, item))

    def _item_at(self, path: str, position: int) -> OutlineItem | None:
        """Return the declaration outside classes that a position is in."""
        items = self._sources.outlines[path].items
        return next((item for item in items if item.class_name is None and item.start <= position < item.end), None)

    def _names(self, path: str, item: OutlineItem) -> tuple[str, ...] | None:
        """Return the names that a declaration gives; None where it must stay or they are not known."""
        declared = item.declaration
        if item.class_name is not None:
            return None
        if declared.kind == "type":
            return self._names_of_type(path, item) if declared.name else None
        if self._is_marked(path, item):
            return () if declared.kind == "function" and declared.scope else None
        if declared.kind in {"call", "other"}:
            text = self._text(path, item)
            return self._names_of_macro(text) if declared.kind == "call" else _names_of_alias(text)
        return (declared.name,) if declared.name and declared.form != "specialisation" else None

    def _names_of_macro(self, text: str) -> tuple[str, ...] | None:
        """Return the names that a macro's use gives; None where it may give what must stay."""
        facts = self._sources.facts
        names: list[str] = []
        for made in facts.macros.meanings(text):
            outline = None if facts.is_marked(made) else read_outline(f"{made};", facts.roles)
            items = [item.declaration for item in outline.items if item.class_name is None] if outline else []
            if not items or not all(map(_is_plain, items)):
                return None
            names += (one.name for one in items)
        return tuple(dict.fromkeys(names)) or None

    def _names_of_type(self, path: str, item: OutlineItem) -> tuple[str, ...] | None:
        """Return the names of a type, its enumerators and the macros that its text defines; None with an include."""
        lines = self._sources.outlines[path].directives
        inside = [line for line in lines if item.start <= line.start < item.end]
        if any(included(line) for line in inside):
            return None
        values = _VALUES.search(self._text(path, item)) if "enum" in item.declaration.words else None
        defined = [word[0] for line in inside if line.word == "define" and (word := _WORD.match(line.operand))]
        return (item.declaration.name, *_WORD.findall(values[1] if values else ""), *defined)


def _is_plain(declared: Declaration) -> bool:
    return bool(declared.name) and declared.kind not in {"call", "other"} and declared.form != "specialisation"


def _names_of_alias(text: str) -> tuple[str, ...] | None:
    """Return the names that an alias, a ``using`` or an array in a macro brings; None where that is not known."""
    alias = _ALIAS.match(text) or _TYPEDEF.match(text) or _IN_MACRO.match(text)
    if alias is not None:
        return tuple(name for name in alias.groupdict().values() if name)
    return () if _DIRECTIVE.match(text) else None


def _is_special(text: str, name: str) -> bool:
    """Return whether the text of a class is that of a specialisation, whole or partial."""
    return re.search(rf"\b{re.escape(name)}\s*<", _HEAD_ENDS.split(text, maxsplit=1)[0]) is not None


def _hidden(change: TextChange) -> tuple[int, int]:
    """Return where a change hides text."""
    if change.action == "drop":
        return change.start, change.end
    return (change.last, change.end) if change.action == "declare" and change.last else (change.end, change.end)


def _joined(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield spans, given in order, with those as one that meet."""
    first = last = -1
    for start, end in spans:
        if start > last:
            yield from [(first, last)] if first >= 0 else []
            first = start
        last = max(last, end)
    yield from [(first, last)] if first >= 0 else []


def _words(text: str) -> dict[str, list[int]]:
    """Return where each word stands in a text with its lines joined."""
    found: dict[str, list[int]] = defaultdict(list)
    for token in Tokens(Joined(text)).each("head"):
        if isinstance(token, DirectiveLine):
            for word in _WORD.findall(token.operand) if token.word == "define" else ():
                found[word].append(token.start)
        elif _WORD.fullmatch(token.text):
            found[intern(token.text)].append(token.start)
    return found
