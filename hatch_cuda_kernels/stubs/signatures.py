"""What a type checker learns about a kernel: its parameters' names, from the source, and Python types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.execution_space import DeclaredParameter
from hatch_cuda_kernels.names import base_name, plain_name, python_names
from hatch_cuda_kernels.store.launch_rules import find_rule

if TYPE_CHECKING:
    from hatch_cuda_kernels.image import Symbol
    from hatch_cuda_kernels.store.module import BuiltModule

__all__ = ["SignatureReader", "StubSignature"]

#: Words of 64-bit integer types. A type spelled otherwise (a template's T, a typedef) may be a pointer.
_INTEGER_WORDS: Final = frozenset(
    {"const", "volatile", "long", "int", "unsigned", "signed", "std", "cuda", "size_t", "ssize_t", "ptrdiff_t"}
    | {"int64_t", "uint64_t"}
)
#: By value, they are passed as numbers.
_SMALL_FLOATS: Final = frozenset({"__half", "__nv_bfloat16", "__nv_fp8_e4m3", "__nv_fp8_e5m2"})
#: Only some architectures' PTX tells pointers from integers, and a stub must not depend on architectures.
_WORDS: Final = {"ptr": "u64"}


class StubSignature(NamedTuple):
    """One kernel for a type checker. Kernels that differ only in template arguments tend to have one signature."""

    name: str
    """Qualified, without template arguments."""
    params: tuple[tuple[str, str], ...]
    """(name, Python type)."""
    declared: str
    """The declaration as the source has it, or else with the compiler's types."""
    rule: str = ""
    """The sizes of a call without brackets; empty if the manifest states no rule."""
    by_name: bool = False
    """Whether such a call takes arguments by name: the source's names are Python's too."""


class SignatureReader:
    """The signatures of one module's kernels."""

    def __init__(self, built: BuiltModule) -> None:
        self._declared = built.sources.declared
        self._rules = built.launch

    def read(self, symbol: Symbol) -> StubSignature:
        """Return a kernel's signature; parameters are ``arg0`` and so on if the source does not tell their names."""
        name = base_name(plain_name(symbol.name) or symbol.name)
        merged = self._declared.parameters(name, len(symbol.params))
        parameters = merged or (DeclaredParameter("", ""),) * len(symbol.params)
        names = python_names([parameter.name for parameter in parameters])
        known = symbol.types or [parameter.type for parameter in parameters]
        types = map(_python_type, symbol.params, known)
        spelled = [
            f"{parameter.type or told or _WORDS.get(kind, kind)} {parameter.name}".rstrip()
            for parameter, told, kind in zip(parameters, known, symbol.params, strict=True)
        ]
        rule = find_rule(self._rules, symbol.name)
        return StubSignature(
            name,
            params=tuple(zip(names, types, strict=True)),
            declared=f"{name}({', '.join(spelled)})",
            rule=str(rule or ""),
            by_name=rule is not None and rule.names == tuple(names),
        )


def _python_type(kind: str, declared: str) -> str:
    if declared in _SMALL_FLOATS:
        return "float"
    if "[" in kind:
        return "Struct"
    if kind.startswith("f"):
        return "float"
    if kind not in {"ptr", "u64", "b64"}:
        return "int"
    words = re.findall(r"\w+", declared)
    integer = kind != "ptr" and words and "*" not in declared and _INTEGER_WORDS.issuperset(words)
    return "int" if integer else "DeviceArray"
