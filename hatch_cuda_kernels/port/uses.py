"""Where names stand in what NVRTC is to see, and so what could be guarded together without being missed."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, TypeAlias

from hatch_cuda_kernels.host_code.tokens import DirectiveLine, Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.host_code.drop import TextChange
    from hatch_cuda_kernels.host_code.items import OutlineItem
    from hatch_cuda_kernels.port.sources import Sources

__all__ = ["Uses"]

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_ALIAS: Final = re.compile(r"(?:using|namespace)\s+(?P<alias>\w+)\s*=|using\s+(?:\w*\s*::\s*)*(?P<brought>\w+)\s*;\Z")
_TYPEDEF: Final = re.compile(r"typedef\s[^(){}]*?(?P<name>\w+)\s*;\Z")
_DIRECTIVE: Final = re.compile(r"using\s+namespace\s")

_Place: TypeAlias = tuple[str, int]


class Uses:
    """Every word of the files as they are shown now; comments and literals do not count, directives do."""

    def __init__(self, sources: Sources) -> None:
        self._sources: Final = sources
        self._places: Final[dict[str, list[_Place]]] = defaultdict(list)
        for path, outline in sources.outlines.items():
            gone = [outline.source.position(at) for change in sources.changes[path] for at in _hidden(change)]
            spans = list(zip(gone[::2], gone[1::2], strict=True))
            for word, start in _words(Tokens(outline.source)):
                if not any(first <= start < last for first, last in spans):
                    self._places[word].append((path, start))

    def together(self, path: str, item: OutlineItem) -> dict[tuple[str, OutlineItem], tuple[str, ...]] | None:
        """Return a declaration and all that has to go with it, each with its names; None where one of them must stay.

        What must stay: members, assertions, specialisations, kernels' and device code, what has no name, and macros.
        """
        found: dict[tuple[str, OutlineItem], tuple[str, ...]] = {}
        waiting = [(path, item)]
        while waiting:
            where, one = waiting.pop()
            if (where, one) in found:
                continue
            names = self._names(where, one)
            if names is None:
                return None
            found[where, one] = names
            for name in names:
                for place in self._places[name]:
                    user = self._item_at(*place)
                    if user is None:
                        return None
                    waiting.append((place[0], user))
        return found

    def _item_at(self, path: str, position: int) -> OutlineItem | None:
        """Return the declaration outside classes that a position is in."""
        items = self._sources.outlines[path].items
        return next((item for item in items if item.class_name is None and item.start <= position < item.end), None)

    def _names(self, path: str, item: OutlineItem) -> tuple[str, ...] | None:
        """Return the names that a declaration gives; None where it must stay or they are not known."""
        declared = item.declaration
        text = self._sources.outlines[path].source.text[item.start : item.end]
        if item.class_name is not None or declared.form == "specialisation" or self._sources.facts.is_marked(text):
            return None
        if declared.kind == "other":
            alias = _ALIAS.match(text) or _TYPEDEF.match(text)
            if alias is not None:
                return tuple(name for name in alias.groupdict().values() if name)
            return () if _DIRECTIVE.match(text) else None
        return (declared.name,) if declared.name and declared.kind != "call" else None


def _hidden(change: TextChange) -> tuple[int, int]:
    """Return where a change hides text."""
    if change.action == "drop":
        return change.start, change.end
    return (change.last, change.end) if change.action == "declare" and change.last else (change.end, change.end)


def _words(tokens: Tokens) -> Iterator[tuple[str, int]]:
    for token in tokens.each("head"):
        if isinstance(token, DirectiveLine):
            yield from ((word, token.start) for word in _WORD.findall(token.operand))
        elif _WORD.fullmatch(token.text):
            yield token.text, token.start
