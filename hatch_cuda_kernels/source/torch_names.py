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

__all__ = ["TORCH_NAMESPACES", "begins_with_torch_name", "torch_headers"]

TORCH_NAMESPACES: Final = ("c10", "at", "torch")
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
    "hatch_cuda_kernels/torch_objects.h": "CustomClassHolder Tensor intrusive_ptr optional",
    "hatch_cuda_kernels/torch_philox.h": "PhiloxCudaState unpack",
}
_HEADERS: Final = {name: header for header, names in _NAMES.items() for name in names.split()}
_ROOT: Final = "|".join(TORCH_NAMESPACES)
_NAMED: Final = re.compile(
    rf"(?<!\w)(?:{_ROOT})\s*::\s*(?:(?:cuda|philox|jit)\s*::\s*)*(?P<name>{'|'.join(_HEADERS)})(?!\w|\s*::)"
)
_OPENED: Final = re.compile(rf"\bnamespace\s+(?:{_ROOT})(?:\s*::\s*\w+)*\s*\{{")
#: A class that only is declared may be that of the header.
_FORWARD: Final = re.compile(r"\b(?:struct|class)\s+\w+\s*;")
_NOISE: Final = re.compile(f"{STRING}|{CHARACTER}|{COMMENT}")


def begins_with_torch_name(text: str) -> bool:
    """Return whether a text begins with a qualified name that a header of this package declares."""
    return _NAMED.match(text) is not None


def torch_headers(texts: Sequence[str], readings: Readings) -> frozenset[str]:
    """Return the headers of the names that texts use and do not declare themselves."""
    used = {name for text in texts for name in readings.of(_named, text)}
    if used:
        used = {name for text in without_guarded(texts) for name in readings.of(_named, text)}
        used -= {name for text in texts for name in readings.of(_declared, text)}
    return frozenset(_HEADERS[name] for name in used)


def _named(text: str) -> frozenset[str]:
    found = frozenset(_NAMED.findall(text))
    return found and frozenset(_NAMED.findall(_NOISE.sub(" ", text)))


def _declared(text: str) -> frozenset[str]:
    return frozenset(declared_in(_FORWARD.sub(" ", text), _OPENED)) if _OPENED.search(text) else frozenset()
