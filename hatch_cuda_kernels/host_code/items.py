"""The declarations that an outline consists of."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.host_code.declaration import Declaration
from hatch_cuda_kernels.host_code.nodes import BRACES
from hatch_cuda_kernels.host_code.words import TYPE_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.host_code.position import Begun, Frame
    from hatch_cuda_kernels.host_code.tokens import Token
    from hatch_cuda_kernels.source.directive_lines import DirectiveLine
    from hatch_cuda_kernels.source.lexer import Joined

__all__ = ["Outline", "OutlineItem", "items_of", "scope_of"]

_STORAGE: Final = frozenset({"static", "extern"})


class OutlineItem(NamedTuple):
    """One declaration and where it stands, in the joined text."""

    declaration: Declaration
    start: int
    end: int
    class_name: str | None = None
    """The class that it is a member of; empty for one without a name, None in a namespace."""
    namespace: str = ""
    """The namespaces that have a name, as ``a::b``."""


class Outline(NamedTuple):
    """A text's declarations in order of their ends, and its directives."""

    source: Joined
    items: tuple[OutlineItem, ...]
    directives: tuple[DirectiveLine, ...]


def items_of(
    declared: Declaration, item: Begun, end: int, frame: Frame | None, *, is_sure: bool
) -> Iterator[OutlineItem]:
    """Yield what is declared in a frame: one item, or a type and the variables whose names follow its braces."""
    if not is_sure:
        declared = declared._replace(is_sure=False)
    found = OutlineItem(declared, item.first.start, end, *scope_of(frame))
    variables = _variables(found, item.tokens()) if declared.kind == "type" else None
    if variables is None:
        yield found
    elif declared.name:
        key = next(token for token in item.tokens() if token.text in TYPE_KEYS)
        if key.start > found.start:  # a word that only variables have
            yield variables._replace(start=found.start, end=key.start)
        yield found._replace(start=key.start)
    if variables is not None:
        yield variables


def scope_of(frame: Frame | None) -> tuple[str | None, str]:
    """Return the class that a frame is of, and the namespaces around it."""
    if frame is None:
        return None, ""
    return frame.name if frame.kind == "class" else None, frame.namespace


def _variables(found: OutlineItem, tokens: Sequence[Token]) -> OutlineItem | None:
    """Return the variables behind a type's braces; they are all there is of the declaration of a type without name.

    None where there are none, or where a word before the type may be their mark.
    """
    braces = next((at for at, token in enumerate(tokens) if token.text == BRACES), len(tokens))
    words, name = found.declaration.words, found.declaration.name
    before = {token.text for token in takewhile(lambda token: token.text not in TYPE_KEYS, tokens)}
    tokens = tokens[braces + 1 :]
    names = [token.text for token in tokens if token.text.isidentifier()]
    if not names or tokens[0].text not in {"*", names[0]} or names[0].startswith("__") or (name and before - _STORAGE):
        return None
    is_const = bool(words & {"const", "constexpr"})
    declared = Declaration(
        "variable", names[0], words=words, types=(name,), is_const=is_const, is_sure=found.declaration.is_sure
    )
    start, end = (tokens[0].start, found.end - 1) if name else (found.start, found.end)
    return found._replace(declaration=declared, start=start, end=end)
