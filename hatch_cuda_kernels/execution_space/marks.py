"""Which declarations are for the device, by the marks of CUDA C++, as words and as attributes; and what is aligned.

Alignments are as nvcc takes them: ``aligned`` never makes one less, unless a class is packed. NVRTC lets it, without a
word. It refuses an ``alignas`` that would, so that is what an attribute becomes; it goes where NVRTC then objects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from hatch_cuda_kernels.cpp import Declaration, Editor, StreamToken, find_closing
from hatch_cuda_kernels.libraries import hides_mark

#: The mark of the host's functions, as a word and in attributes.
HOST: Final = frozenset({"__host__", "host"})
_MARK_NAMES: Final = ("device", "global", "constant", "shared", "managed")
MARKS: Final = frozenset(f"__{name}__" for name in _MARK_NAMES)
_ATTRIBUTES: Final = frozenset({"__attribute__", "__attribute", "__declspec"})
_ATTRIBUTE_MARKS: Final = MARKS.union(_MARK_NAMES)
_CONSTANT: Final = frozenset({"constexpr", "consteval"})
VIRTUAL: Final = frozenset({"virtual", "override", "final"})
_ALIGNMENTS: Final = frozenset({"aligned", "__aligned__", "__align__", "__builtin_align__", "alignas"})
ATTRIBUTES: Final = frozenset({"__attribute__", "__attribute", "__align__", "__builtin_align__", "alignas"})


def is_marked(declaration: Declaration) -> bool:
    """Return whether a declaration is for the device, by a mark or by a word of the toolkit's that may hide one."""
    words = declaration.words
    if words & MARKS or any(map(hides_mark, words)):
        return True
    tokens = attribute_tokens(declaration) if words & _ATTRIBUTES else ()
    return any(token.text in _ATTRIBUTE_MARKS for token in tokens)


def attributes_of(declaration: Declaration, words: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield where attributes of some words, with what is in their brackets, begin and end in a head."""
    tokens = declaration.tokens
    return ((at, behind_brackets(tokens, at + 1)) for at in declaration.head if tokens[at].text in words)


def attribute_tokens(declaration: Declaration) -> Iterator[StreamToken]:
    """Yield the tokens in the parentheses of ``__attribute__`` and its kin in a head."""
    for first, last in attributes_of(declaration, _ATTRIBUTES):
        yield from declaration.tokens[first + 1 : last]


def behind_brackets(tokens: Sequence[StreamToken], at: int) -> int:
    """Return the index behind the brackets that open at a token; that token's where none do."""
    opens = at < len(tokens) and tokens[at].text in {"(", "["}
    closing = find_closing([token.text for token in tokens], at) if opens else None
    return at if closing is None else closing + 1


def is_constant(declaration: Declaration) -> bool:
    """Return whether a declaration is ``constexpr`` or ``consteval``, which needs no mark."""
    return not _CONSTANT.isdisjoint(declaration.words)


class VirtualFunctions:
    """Which functions of some classes are virtual, as a word of their own or a base's function of their name says."""

    def __init__(self, named: Collection[tuple[str, str]], bases: Iterable[tuple[str, str]]) -> None:
        self._named: Final = named
        """The classes and names of virtual functions without a mark."""
        self._bases: Final[dict[str, set[str]]] = defaultdict(set)
        """What may be the bases of each class that has some."""
        for name, base in bases:
            self._bases[name].add(base)

    def __contains__(self, function: Declaration) -> bool:
        """Return whether a function may be in a table of virtual functions; a destructor may be if there is a base."""
        parent = function.parent
        if not VIRTUAL.isdisjoint(function.words):
            return True
        if parent is None or not function.is_member:
            return False
        if function.name[:1] == "~":
            return bool(parent.bases)
        if function.template is not None or {"static", "friend"} & function.words:
            return False
        seen: set[str] = set()
        waiting = parent.bases
        while waiting:
            name = waiting.pop()
            if (name, function.name) in self._named:
                return True
            seen.add(name)
            waiting |= self._bases.get(name, frozenset()) - seen
        return False


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
            editor.replace(tokens[first:last], "attribute", _aligned(texts, is_weak=is_weak))
    last = close + 1
    while last < len(tokens) and tokens[last].text in {*ATTRIBUTES, "["}:
        last = behind_brackets(tokens, last + (tokens[last].text != "["))
    if last > close + 1:
        texts = [token.text for token in tokens[close + 1 : last]]
        moved = " ".join(texts) if is_packed else _aligned(texts, is_weak=is_weak)
        editor.insert(tokens[key + 1], "attribute", f"{moved} ")
        editor.replace(tokens[close + 1 : last], "attribute")


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
            editor.replace(tokens[first:last], "attribute", " ".join(rest))
        if text:
            editor.insert(tokens[0], "attribute", text)


def _aligned(texts: Sequence[str], *, is_weak: bool) -> str:
    """Return attributes with ``alignas``, or without an alignment that changes nothing."""
    rest, alignments = _without_alignments(texts)
    return " ".join((*rest, *(f"alignas({one})" for one in alignments if not is_weak)))


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
