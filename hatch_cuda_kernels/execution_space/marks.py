"""Which declarations are for the device: the marks of CUDA C++, as words and as attributes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from hatch_cuda_kernels.cpp import Declaration, StreamToken

from hatch_cuda_kernels.cpp import find_closing
from hatch_cuda_kernels.libraries import hides_mark

#: The mark of the host's functions, as a word and in attributes.
HOST: Final = frozenset({"__host__", "host"})
MARKS: Final = frozenset({"__device__", "__global__", "__constant__", "__shared__", "__managed__"})
_ATTRIBUTES: Final = frozenset({"__attribute__", "__attribute", "__declspec"})
_ATTRIBUTE_MARKS: Final = frozenset(
    {f"{lead}{mark}{lead}" for lead in ("", "__") for mark in ("device", "global", "constant", "shared", "managed")}
    | {f"__{mark}__" for mark in ("device", "global", "constant", "shared", "managed")}
)
_CONSTANT: Final = frozenset({"constexpr", "consteval"})
_VIRTUAL: Final = frozenset({"virtual", "override", "final"})


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
    closing = find_closing([token.text for token in tokens], at) if tokens[at].text in {"(", "["} else None
    return at if closing is None else closing + 1


def is_constant(declaration: Declaration) -> bool:
    """Return whether a declaration is ``constexpr`` or ``consteval``, which needs no mark."""
    return not _CONSTANT.isdisjoint(declaration.words)


class VirtualFunctions:
    """Which functions of some classes are virtual, as a word of their own or a base's function of their name says."""

    def __init__(self, declarations: Iterable[Declaration]) -> None:
        self._names: Final[dict[str, set[str]]] = defaultdict(set)
        """The virtual functions without a mark of each class, by its name."""
        self._bases: Final[dict[str, set[str]]] = defaultdict(set)
        """What may be the bases of each class."""
        for one in declarations:
            if one.kind == "class":
                self._bases[one.name] |= _bases(one)
            elif one.parent is not None and not _VIRTUAL.isdisjoint(one.words) and not is_marked(one):
                self._names[one.parent.name].add(one.name)

    def __contains__(self, function: Declaration) -> bool:
        """Return whether a function may be in a table of virtual functions; a destructor may be if there is a base."""
        parent = function.parent
        if not _VIRTUAL.isdisjoint(function.words):
            return True
        if parent is None or not function.is_member:
            return False
        if function.name[:1] == "~":
            return bool(_bases(parent))
        if function.template is not None or {"static", "friend"} & function.words:
            return False
        seen: set[str] = set()
        waiting = _bases(parent)
        while waiting:
            name = waiting.pop()
            if function.name in self._names.get(name, ()):
                return True
            seen.add(name)
            waiting |= self._bases.get(name, set()) - seen
        return False


def _bases(declared: Declaration) -> set[str]:
    """Return the names that stand behind the colon of a class."""
    texts = [declared.tokens[at].text for at in declared.head]
    return {*filter(str.isidentifier, texts[texts.index(":") :])} if ":" in texts else set()
