"""Alignments of classes and members as nvcc takes them: ``aligned`` never makes one less, unless a class is packed.

NVRTC lets it, without a word. It refuses an ``alignas`` that would, so that is what an attribute becomes; where NVRTC
then objects, the attribute says nothing to nvcc and goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cpp import Edit, find_closing
from hatch_cuda_kernels.execution_space.marks import attributes_of, behind_brackets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.cpp import Declaration, Editor

_ALIGNMENTS: Final = frozenset({"aligned", "__aligned__", "__align__", "__builtin_align__", "alignas"})
ATTRIBUTES: Final = frozenset({"__attribute__", "__attribute", "__align__", "__builtin_align__", "alignas"})


def align_class(declaration: Declaration, editor: Editor, *, is_weak: bool) -> None:
    """State a class's alignment, if it is not weaker than without it, and put attributes where NVRTC heeds them."""
    if declaration.body is None:
        return
    tokens, close = declaration.tokens, declaration.body[1]
    key = next(at for at in declaration.top if tokens[at].text in {"class", "struct", "union", "enum"})
    if tokens[key].text == "enum":
        return
    if declaration.is_member and declaration.declarators:
        align_member(declaration, editor, is_weak=is_weak, end=key)
    is_packed = not {"packed", "__packed__"}.isdisjoint(token.text for token in tokens[key:])
    for first, last in () if is_packed else attributes_of(declaration, ATTRIBUTES):
        texts = [token.text for token in tokens[first:last]]
        says_more = texts[0] != "alignas" and _without_alignments(texts)[1]
        if first > key and (says_more or is_weak):
            editor.replace(tokens[first:last], edit_of(declaration, "attribute", _aligned(texts, is_weak=is_weak)))
    last = close + 1
    while last < len(tokens) and tokens[last].text in {*ATTRIBUTES, "["}:
        last = behind_brackets(tokens, last + (tokens[last].text != "["))
    if last > close + 1:
        texts = [token.text for token in tokens[close + 1 : last]]
        moved = " ".join(texts) if is_packed else _aligned(texts, is_weak=is_weak)
        editor.insert(tokens[key + 1], edit_of(declaration, "attribute", f"{moved} "))
        editor.replace(tokens[close + 1 : last], edit_of(declaration, "attribute", ""))


def align_member(declaration: Declaration, editor: Editor, *, is_weak: bool, end: int = 0) -> None:
    """Do the same for the attributes of a member that is data, but for bit-fields; up to a token, if one is given."""
    tokens = declaration.tokens
    if not end and any(tokens[at].text == ":" for at in declaration.top):
        return
    for first, last in attributes_of(declaration, ATTRIBUTES):
        if first > (end or declaration.specifiers_end) and (end or len(declaration.declarators) > 1):
            continue
        texts = [token.text for token in tokens[first:last]]
        rest, alignments = _without_alignments(texts)
        text = "".join(f"alignas({one}) " for one in alignments if not is_weak)
        if first == 0:
            rest, text = [text, *rest], ""
        if alignments:
            editor.replace(tokens[first:last], edit_of(declaration, "attribute", " ".join(rest)))
        if text:
            editor.insert(tokens[0], edit_of(declaration, "attribute", text))


def _aligned(texts: Sequence[str], *, is_weak: bool) -> str:
    """Return attributes with ``alignas``, or without an alignment that changes nothing."""
    rest, alignments = _without_alignments(texts)
    return " ".join((*rest, *(f"alignas({one})" for one in alignments if not is_weak)))


def edit_of(declaration: Declaration, reason: str, text: str, *, drops_pragmas: bool = False) -> Edit:
    """Return an edit of a declaration, for an editor."""
    name = "::".join((*filter(None, declaration.qualifier), declaration.name))
    return Edit(0, 0, text, reason, name, drops_pragmas)


def _without_alignments(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the tokens of attributes without alignments, and these: ``aligned`` alone is 16, as with GCC."""
    rest: list[str] = []
    found: list[str] = []
    at = 0
    while at < len(texts):
        first, at = at, at + 1
        if texts[first] not in _ALIGNMENTS:
            rest.append(texts[first])
            continue
        if texts[at : at + 1] == ["("]:
            at = (find_closing(texts, at) or at) + 1
        found.append(" ".join(texts[first + 2 : at - 1]) or "16")
    return ([] if {*rest} <= {*"(),", "__attribute__"} else rest), found
