"""Names in Torch's namespaces, and the header of this package that declares each as device code has it.

Torch's own headers are the host's. Where they are left out, what stays of a source may name these: accessors and
numbers are as Torch's, and objects such as tensors are declared, so that a class can hold one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.guarded_parts import without_guarded
from hatch_cuda_kernels.source.lexer import CHARACTER, COMMENT, STRING
from hatch_cuda_kernels.source.namespaces import declared_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.source.readings import Readings

__all__ = ["begins_with_torch_name", "computed_with", "is_torch_alias", "torch_headers"]

_OBJECTS: Final = "hatch_cuda_kernels/torch_objects.h"
_NAMES: Final = {
    "hatch_cuda_kernels/torch_accessors.h": (
        "DefaultPtrTraits RestrictPtrTraits TensorAccessor TensorAccessorBase GenericPackedTensorAccessor "
        "GenericPackedTensorAccessorBase PackedTensorAccessor PackedTensorAccessor32 PackedTensorAccessor64"
    ),
    "hatch_cuda_kernels/torch_arithmetic.h": "ATenCeilDiv ceil_div round_up",
    "hatch_cuda_kernels/torch_numbers.h": (
        "AccumulateType BFloat16 Float8_e4m3fn Float8_e4m3fnuz Float8_e5m2 Float8_e5m2fnuz Half OpMathType acc_type "
        "opmath_type"
    ),
    _OBJECTS: "CUDAStream CustomClassHolder Function Tensor intrusive_ptr optional",
    "hatch_cuda_kernels/torch_philox.h": "PhiloxCudaState unpack",
}
_HEADERS: Final = {name: header for header, names in _NAMES.items() for name in names.split()}
_ROOTS: Final = ("at", "c10", "torch")
_ROOT: Final = "|".join(_ROOTS)
#: Behind the first namespace.
_REST: Final = rf"\s*::\s*(?:(?:autograd|cuda|jit|philox)\s*::\s*)*(?P<name>{'|'.join(_HEADERS)})(?!\w|\s*::)"
_NAMED: Final = re.compile(rf"(?<!\w)(?:{_ROOT}){_REST}")
# A literal before \b is found far sooner than one behind it.
_ALIAS: Final = re.compile(rf"namespace(?<=\bnamespace)\s+(?P<alias>\w+)\s*=\s*(?:::\s*)?(?:{_ROOT})\s*;")
_NAMESPACES: Final = "hatch_cuda_kernels/torch_namespaces.h"
_OPENED: Final = re.compile(rf"\bnamespace\s+(?:{_ROOT})(?:\s*::\s*\w+)*\s*\{{")
#: A class that only is declared may be that of the header.
_FORWARD: Final = re.compile(r"\b(?:struct|class)\s+\w+\s*;")
_NOISE: Final = re.compile(f"{STRING}|{CHARACTER}|{COMMENT}")


def begins_with_torch_name(text: str) -> bool:
    """Return whether a text begins with a qualified name that a header of this package declares."""
    return _NAMED.match(text) is not None


def is_torch_alias(text: str) -> bool:
    """Return whether a declaration gives one of Torch's namespaces another name."""
    return _ALIAS.match(text) is not None


def torch_headers(texts: Sequence[str], readings: Readings) -> frozenset[str]:
    """Return the headers of the names that texts use and do not declare themselves."""
    names, aliases = _used(texts, readings)
    return frozenset(_HEADERS[name] for name in names) | ({_NAMESPACES} if aliases else set())


def computed_with(texts: Sequence[str], readings: Readings) -> list[str]:
    """Return the names among these, sorted, that device code computes with: none of objects of the host's."""
    names, _ = _used(texts, readings)
    return sorted(name for name in names if _HEADERS[name] != _OBJECTS)


def _used(texts: Sequence[str], readings: Readings) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that texts use and do not declare themselves, and the aliases of Torch's namespaces."""
    if not any(readings.of(_named, text, frozenset()) or readings.of(_aliases, text) for text in texts):
        return frozenset(), frozenset()
    shown = without_guarded(texts)
    aliases = frozenset(alias for text in shown for alias in readings.of(_aliases, text))
    used = frozenset(name for text in shown for name in readings.of(_named, text, aliases))
    return used - {name for text in texts for name in readings.of(_declared, text)}, aliases


def _named(text: str, aliases: frozenset[str]) -> frozenset[str]:
    roots = [root for root in (*_ROOTS, *sorted(aliases)) if f"{root}::" in text]
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(roots)}){_REST}")
    found = roots and pattern.search(text)
    return frozenset(pattern.findall(_NOISE.sub(" ", text))) if found else frozenset()


def _aliases(text: str) -> frozenset[str]:
    return frozenset(_ALIAS.findall(_NOISE.sub(" ", text))) if _ALIAS.search(text) else frozenset()


def _declared(text: str) -> frozenset[str]:
    return frozenset(declared_in(_FORWARD.sub(" ", text), _OPENED)) if _OPENED.search(text) else frozenset()
