"""What a project's texts say together: of macros, functions, types and constants, and which of them have marks."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.host_code.outline import read_outline
from hatch_cuda_kernels.host_code.roles import reached
from hatch_cuda_kernels.host_code.words import HOST_NAMESPACES
from hatch_cuda_kernels.source.lexer import without_literals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem
    from hatch_cuda_kernels.host_code.roles import MacroRole
    from hatch_cuda_kernels.source.expansion import Macros

__all__ = ["KNOWN_UNMARKED", "PASTED", "TOOLKITS", "Facts", "FoundItem", "Marked"]

#: Without parentheses that are open.
_CLOSED: Final = r"(?:[^();{]|\((?:[^();{]|\([^();{]*\))*\))*?"
#: In ``__attribute__((device))`` and its kin, not behind it: ``__declspec(dllexport) void f(int device)``.
_ATTRIBUTE: Final = re.compile(
    rf"__(?:attribute|declspec)(?:__)?\s*\({_CLOSED}(?:\({_CLOSED}){{0,2}}"
    r"\b_*(?:device|global|constant|shared|managed)_*\b"
)
#: Names of the toolkit's macros, of which some hide marks.
TOOLKITS: Final = re.compile(r"(?:_?CCCL|_LIBCUDACXX|CUB|THRUST|CUDART|_CUDA|__CUDA|NV)_[A-Z0-9_]+")
KNOWN_UNMARKED: Final = frozenset({"CUDART_CB", "CUDART_VERSION", "NV_UNUSED"})
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
#: What may become a mark.
PASTED: Final = re.compile(r"__\s*##|##\s*(?!__VA_ARGS__\b)\w*__\b")


class FoundItem(NamedTuple):
    """A declaration, and the text that it is in."""

    item: OutlineItem
    text: str


class Marked(NamedTuple):
    """The marked functions of one name, by the types of their parameters: those without a body, and with one."""

    declared: set[tuple[str, ...]]
    defined: set[tuple[str, ...]]
    outside: set[tuple[str, ...]]
    """Those of the latter that are members, and stand outside their class."""


@dataclass(frozen=True)
class Facts:
    """What a project's texts say together."""

    texts: Mapping[str, tuple[str, ...]]
    """What each macro stands for, without literals."""
    macros: Macros
    """The macros themselves."""
    marks: frozenset[str]
    """The marks, and the macros that hide one."""
    roles: Mapping[str, MacroRole]
    """What each macro is to the declarations that use it."""
    asking: frozenset[str] = frozenset()
    """The macros that ask for a type, or whether something has a meaning."""
    marked: dict[tuple[str, str], Marked] = field(default_factory=dict)
    """The marked functions by class (empty for none) and name; kernels are among them only by name."""
    marked_in: set[tuple[str, str]] = field(default_factory=set)
    """The marked functions of namespaces, with these."""
    classes: set[str] = field(default_factory=set)
    enums: set[str] = field(default_factory=set)
    """Those of them that are enumerations."""
    made_at_start: dict[str, bool] = field(default_factory=dict)
    """Whether each class of a name has constructors, of which none gives a value that the compiler knows."""
    hidden: set[str] = field(default_factory=set)
    """Those that may have constructors of macros, or of bases."""
    renamed: set[str] = field(default_factory=set)
    """What the texts call other types."""
    referring: set[str] = field(default_factory=set)
    """Those of them that may stand for references."""
    functions: dict[str, list[FoundItem]] = field(default_factory=lambda: defaultdict(list))
    """The functions of namespaces, by name."""
    members: dict[tuple[str, str], list[FoundItem]] = field(default_factory=lambda: defaultdict(list))
    """Those of classes, by class and name."""
    data: set[str] = field(default_factory=set)
    """The names of data members."""
    variables: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The other variables that are no constants, by name: the classes that have one, empty for a namespace."""
    stay_in: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The namespaces that have a constant or a marked variable of a name."""
    namespaces: set[str] = field(default_factory=set)
    """The parts of their names that the texts declare."""
    defaults: set[str] = field(default_factory=set)
    """The functions that default arguments of constructors call."""
    pure: set[str] = field(default_factory=set)
    """The pure virtual functions: a class whose base has one is abstract without its own."""
    aliases: dict[str, str] = field(default_factory=dict)
    """What ``namespace short = long::name;`` gives another name, with the first part of its own."""
    unevaluated: set[str] = field(default_factory=set)
    """The names of functions whose types the texts ask for, in ``decltype`` or ``sizeof``."""
    deduced: set[str] = field(default_factory=set)
    """Those of them that are called without an object: their bodies may tell their types."""
    observed: set[str] = field(default_factory=set)
    """All words of such operands, and of constraints."""
    local: set[str] = field(default_factory=set)
    """The marks that only the texts know which define them."""
    kernels: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    """The names of types that the texts declare, but for those that stand for types of others."""
    constants: dict[str, list[FoundItem]] = field(default_factory=lambda: defaultdict(list))
    """The constants of namespaces, by name."""
    host_constants: dict[str, bool] = field(default_factory=dict)
    """Whether all of a name are dropped; nothing as long as nobody asked."""
    host_functions: dict[str, bool] = field(default_factory=dict)
    """Whether all functions of a name are dropped, as far as that was asked."""
    host_operators: dict[tuple[str, str], bool] = field(default_factory=dict)
    """Whether the operators of a type and a symbol are the host's, as far as that was asked."""
    objects: dict[str, bool] = field(default_factory=dict)
    """Whether all constants of a name are objects that the compiler does not know, as far as that was asked."""
    floats: dict[str, set[str]] = field(default_factory=dict)
    """The floating-point constants that are not ``constexpr``, with the words of their values."""
    reals: set[str] = field(default_factory=lambda: {"float", "double"})
    """What the texts call these types."""
    host_only: set[str] = field(default_factory=set)
    """The names of what is the host's, as the user says."""
    generators: dict[str, bool] = field(default_factory=dict)
    """Whether a macro gives host functions only, as far as that was asked."""

    def is_marked(self, text: str) -> bool:
        """Return whether part of a declaration has a mark, or a word that may hide one."""
        words = set(_WORD.findall(without_literals(text)))
        if words & self.marks or (words & {"__attribute__", "__declspec"} and _ATTRIBUTE.search(text)):
            return True
        unknown = words - KNOWN_UNMARKED - self.types
        return any(TOOLKITS.fullmatch(word) and word not in self.roles for word in unknown)

    def is_clear_macro(self, name: str) -> bool:
        """Return whether a macro stands for whole declarations, which one can read as they are, with their marks."""
        role = self.roles.get(name)
        return role is not None and role.is_whole and not any(map(PASTED.search, self.texts[name]))

    @cached_property
    def members_named(self) -> Mapping[str, list[FoundItem]]:
        """The functions of all classes, by name."""
        found: dict[str, list[FoundItem]] = defaultdict(list)
        for (_, name), members in self.members.items():
            found[name] += members
        return found

    @cached_property
    def host_namespaces(self) -> frozenset[str]:
        """The namespaces of host libraries that no text declares, and what texts call them."""
        absent = HOST_NAMESPACES - self.namespaces
        return absent | {name for name, root in self.aliases.items() if root in absent}

    @cached_property
    def folded(self) -> frozenset[str]:
        """The floating-point constants that are made of others, and these others."""
        uses = {name: words & self.floats.keys() - {name} for name, words in self.floats.items()}
        return reached((name for name, used in uses.items() if used), uses)

    @cached_property
    def marked_names(self) -> frozenset[str]:
        """The names of all marked functions."""
        return frozenset(name for _, name in self.marked)

    @cached_property
    def marked_functions(self) -> frozenset[str]:
        """The names of marked functions that are no members."""
        return frozenset(name for scope, name in self.marked if not scope)

    def generated(self, macro: str) -> list[Outline | None]:
        """Return the outlines of what a macro may stand for."""
        return [read_outline(f"{text.replace('##', '')};", self.roles) for text in self.texts.get(macro, ())]
