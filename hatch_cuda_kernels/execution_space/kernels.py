"""The kernels and the variables of device code that a source declares, read once and kept with it.

PTX has neither the names of parameters nor the types of a kernel with C linkage. Macros are expanded; a branch that is
off does not count, and of those of which nothing is known, all do. Callers use what all declarations of one agree on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels import cpp
from hatch_cuda_kernels.names import base_name

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp import Declaration

_VARIABLE_MARKS: Final = frozenset({"__device__", "__constant__", "__managed__"})
_QUALIFIERS: Final = frozenset(
    {"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "struct", "class", "enum"}
    | {"typename", "register"}
)
TYPE_WORDS: Final = frozenset(
    {"void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "auto", "wchar_t"}
    | {"char8_t", "char16_t", "char32_t", "__int64", "__int128"}
)


class DeclaredParameter(NamedTuple):
    """One parameter as it is declared: its type, and its name (empty if it has none)."""

    type: str
    name: str


class DeclaredKernel(NamedTuple):
    """One declaration of a ``__global__`` function."""

    name: str
    """With its namespaces, but for those without a name."""
    parameters: tuple[DeclaredParameter, ...]
    is_template: bool
    has_c_linkage: bool
    file: str
    """The name in memory of the file that it stands in."""

    @property
    def base(self) -> str:
        """The name without namespaces."""
        return self.name.rpartition("::")[2]


class DeclaredVariable(NamedTuple):
    """One declaration of a variable of device code, or of a constant array."""

    name: str
    """With its namespaces, but for those without a name."""
    is_table: bool
    """Whether NVRTC may leave it in an image that does not use it: marked and defined, or a constant array."""
    file: str
    is_managed: bool


class Declared(NamedTuple):
    """What the project's texts of one source declare, headers included."""

    kernels: tuple[DeclaredKernel, ...] = ()
    variables: tuple[DeclaredVariable, ...] = ()

    @classmethod
    def from_declarations(cls, declarations: Iterable[Declaration]) -> Declared:
        """Return those among the declarations of a source, each once."""
        every = [*declarations]
        kernels = tuple(_kernel(one) for one in every if is_kernel(one))
        return cls.together([cls(kernels, tuple(variable for one in every for variable in _variables(one)))])

    @classmethod
    def together(cls, several: Iterable[Declared]) -> Declared:
        """Return what several sources declare, each once."""
        found = [*several]
        kernels = dict.fromkeys(kernel for one in found for kernel in one.kernels)
        variables = dict.fromkeys(variable for one in found for variable in one.variables)
        return cls(tuple(kernels), tuple(variables))

    @property
    def names(self) -> frozenset[str]:
        """All kernels, without namespaces."""
        return frozenset(kernel.base for kernel in self.kernels)

    @property
    def c_kernels(self) -> tuple[str, ...]:
        """The kernels with C linkage, with their namespaces: no symbol tells the types of their parameters."""
        return tuple(dict.fromkeys(one.name for one in self.kernels if one.has_c_linkage and not one.is_template))

    def parameters(self, name: str, count: int) -> tuple[DeclaredParameter, ...]:
        """Return what all declarations of a kernel with so many parameters agree on; nothing where there is none."""
        known = [one.parameters for one in self.kernels if one.base == name.rpartition("::")[2]]
        return tuple(map(_agreed, zip(*(one for one in known if len(one) == count), strict=True)))

    def parameter_names(self, kernel: str) -> tuple[str, ...] | None:
        """Return the names of a kernel's parameters if its declarations agree; None without one, or with overloads."""
        name = base_name(kernel)
        counts = {len(one.parameters) for one in self.kernels if one.base == name.rpartition("::")[2]}
        return tuple(found.name for found in self.parameters(name, *counts)) if len(counts) == 1 else None

    def defines_tables(self, known: Iterable[str] = ()) -> bool:
        """Return whether NVRTC would leave a variable that is not ``known`` in every image, used or not."""
        names = {base_name(name).rpartition("::")[2] for name in known}
        return any(one.is_table and one.name.rpartition("::")[2] not in names for one in self.variables)

    def managed_variable(self, name: str) -> str:
        """Return the full name of the ``__managed__`` variable that a qualified name means; empty for any other.

        Namespaces may be left out, because some are inline, and a using declaration takes a name out of others.
        """
        every = {one.name for one in self.variables}
        managed = {one.name for one in self.variables if one.is_managed}
        if not managed or name in every:
            return name if name in managed else ""
        rests = {one: iter(one.split("::")) for one in every if one.endswith(f"::{name.rpartition('::')[2]}")}
        alike = [one for one, rest in rests.items() if all(part in rest for part in name.split("::"))]
        return alike[0] if len(alike) == 1 and alike[0] in managed else ""

    def to_json(self) -> dict[str, Any]:
        """Return JSON data that ``from_json`` reads."""
        return {name: [one._asdict() for one in found] for name, found in self._asdict().items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Declared:
        """Read what ``to_json`` wrote. Raises KeyError, TypeError or ValueError on other data."""
        kernels = (DeclaredKernel(*(one[name] for name in DeclaredKernel._fields)) for one in data["kernels"])
        typed = (one._replace(parameters=tuple(DeclaredParameter(*pair) for pair in one.parameters)) for one in kernels)
        variables = (DeclaredVariable(*(one[name] for name in DeclaredVariable._fields)) for one in data["variables"])
        return cls(tuple(typed), tuple(variables))


NOTHING_DECLARED: Final = Declared()


def is_kernel(declaration: Declaration) -> bool:
    """Return whether a declaration is of a kernel."""
    return declaration.kind == "function" and declaration.words & {"__global__", "friend"} == {"__global__"}


def _kernel(one: Declaration) -> DeclaredKernel:
    file, is_template = one.stream.file_at(one.begin), one.template is not None
    parameters = tuple(
        DeclaredParameter(cpp.spell(kind), name) for kind, name in map(type_and_name, one.parameter_texts)
    )
    return DeclaredKernel(one.full_name(), parameters, is_template, one.has_c_linkage, file.name)


def _variables(declaration: Declaration) -> Iterator[DeclaredVariable]:
    if declaration.kind != "variable":
        return
    words = declaration.words
    marked = not words.isdisjoint(_VARIABLE_MARKS)
    if not marked and "constexpr" not in words:
        return
    file = declaration.stream.file_at(declaration.begin)
    firsts = [*(one.first for one in declaration.declarators[1:]), len(declaration.tokens)]
    for one, end in zip(declaration.declarators, firsts, strict=True):
        before_value = declaration.tokens[one.first : one.value[0] if one.value else end]
        if marked or any(token.text == "[" for token in before_value):
            name = declaration.full_name(one.name)
            yield DeclaredVariable(name, "extern" not in words, file.name, "__managed__" in words)


def _agreed(forms: Sequence[DeclaredParameter]) -> DeclaredParameter:
    """Return what all declarations agree on for one parameter; those without a name do not count for the name."""
    types, names = {form.type for form in forms}, {form.name for form in forms} - {""}
    return DeclaredParameter(types.pop() if len(types) == 1 else "", names.pop() if len(names) == 1 else "")


def type_and_name(tokens: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return a parameter's type and its name."""
    if "=" in tokens:
        tokens = tokens[: tokens.index("=")]
    head = tokens[: tokens.index("[")] if "[" in tokens[1:] else tokens
    rest = ("*",) if len(head) < len(tokens) else ()
    named = (
        len([token for token in head if token not in _QUALIFIERS]) > 1
        and head[-1].isidentifier()
        and head[-1] not in TYPE_WORDS | _QUALIFIERS
        and head[-2] != "::"
    )
    return (*(head[:-1] if named else head), *rest), head[-1] if named else ""
