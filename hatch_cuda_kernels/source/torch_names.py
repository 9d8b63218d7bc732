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
from hatch_cuda_kernels.source.readings import find_words
from hatch_cuda_kernels.source.torch_globals import global_names, words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hatch_cuda_kernels.source.readings import Readings

__all__ = ["begins_with_torch_name", "computed_with", "is_torch_alias", "opens_for", "torch_headers"]

_OBJECTS: Final = "hatch_cuda_kernels/torch_objects.h"
_COMPLEX: Final = "hatch_cuda_kernels/torch_complex.h"
_COMPLEX_MATH: Final = "hatch_cuda_kernels/torch_complex_math.h"
#: With the namespaces around it where a name is another's without them; ``compat`` and ``cuda_utils`` are namespaces.
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
    _COMPLEX: "complex is_complex scalar_value_type",
    _COMPLEX_MATH: "polar",
    "hatch_cuda_kernels/torch_fast_atomics.h": "native::fastAtomicAdd",
    "hatch_cuda_kernels/torch_grid_sampler.h": (
        "native::GridSamplerInterpolation native::GridSamplerPadding native::detail::GridSamplerInterpolation "
        "native::detail::GridSamplerPadding native::add_value_bounded native::clip_coordinates "
        "native::clip_coordinates_set_grad native::compute_coordinates native::get_cubic_coefficients_grad "
        "native::get_value_bounded native::grid_sampler_compute_source_index "
        "native::grid_sampler_compute_source_index_set_grad native::grid_sampler_unnormalize "
        "native::grid_sampler_unnormalize_set_grad native::reflect_coordinates native::reflect_coordinates_set_grad "
        "native::safe_add_2d native::safe_add_3d native::safe_downgrade_to_int_range native::within_bounds_2d "
        "native::within_bounds_3d"
    ),
    "hatch_cuda_kernels/torch_limits.h": "numeric_limits",
    "hatch_cuda_kernels/torch_math.h": "cuda::compat",
    "hatch_cuda_kernels/torch_numerics.h": "_isinf _isnan",
    "hatch_cuda_kernels/torch_reductions.h": "native::cuda_utils",
    "hatch_cuda_kernels/torch_tensor_info.h": (
        "cuda::detail::CUDA_NUM_THREADS cuda::detail::IndexToOffset cuda::detail::TensorInfo"
    ),
    "hatch_cuda_kernels/torch_upsample.h": (
        "native::area_pixel_compute_source_index native::cubic_convolution1 native::cubic_convolution2 "
        "native::cubic_interp1d native::get_cubic_upsampling_coefficients native::max native::min"
    ),
    "hatch_cuda_kernels/torch_vectors.h": "native::memory::aligned_vector",
}
_HEADERS: Final = {name: header for header, names in _NAMES.items() for name in names.split()}
#: What Torch's complex numbers have of Thrust's, whose headers take a second.
_THRUSTS: Final = frozenset(
    {"abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log", "log10", "log1p"}
    | {"log2", "pow", "sin", "sinh", "sqrt", "tan", "tanh", "thrust"}
)
_ROOTS: Final = ("at", "c10", "torch")
_ROOT: Final = "|".join(_ROOTS)
_SIMPLE: Final = "|".join(name for name in _HEADERS if "::" not in name and name != "complex")
_QUALIFIED: Final = "|".join(name.replace("::", r"\s*::\s*") for name in _HEADERS if "::" in name)
#: Behind the first namespace. ``at::complex(...)`` makes a tensor.
_REST: Final = (
    r"\s*::\s*(?:(?:autograd|cuda|jit|philox)\s*::\s*)*"
    rf"(?P<name>(?:{_SIMPLE}|complex(?!\s*\())(?!\w|\s*::)|(?:{_QUALIFIED})(?!\w))"
)
_NAMED: Final = re.compile(rf"(?<!\w)(?:{_ROOT}){_REST}")
# A literal before \b is found far sooner than one behind it.
_ALIAS: Final = re.compile(rf"namespace(?<=\bnamespace)\s+(?P<alias>\w+)\s*=\s*(?:::\s*)?(?:{_ROOT})\s*;")
_NAMESPACES: Final = "hatch_cuda_kernels/torch_namespaces.h"
_INNER_NAMESPACES: Final = "hatch_cuda_kernels/torch_inner_namespaces.h"
_OPENED: Final = re.compile(rf"\bnamespace\s+(?:{_ROOT})(?:\s*::\s*\w+)*\s*\{{")
#: A class that only is declared may be that of the header.
_FORWARD: Final = re.compile(r"\b(?:struct|class)\s+\w+\s*;")
_NOISE: Final = re.compile(f"{STRING}|{CHARACTER}|{COMMENT}")
#: Names that code has without a namespace where it opens these, or is in them: none that others have, too.
_WITHIN: Final = {
    space: frozenset(name for name in _HEADERS if name.rpartition("::")[0] == space)
    for space in ("cuda::detail", "native")
}
_OPENS: Final = re.compile(r"using(?<=\busing)\s+namespace\s+(?:::\s*)?at\s*::\s*(cuda\s*::\s*detail|native)\s*;")
_IS_IN: Final = re.compile(r"namespace(?<=\bnamespace)\s+at\s*(?:::|\{\s*namespace)\s*(native)\s*(?:::\s*\w+\s*)?\{")
_LAST: Final = "|".join(sorted({name.rpartition("::")[2] for names in _WITHIN.values() for name in names}))
_TYPED: Final = re.compile(
    rf"\b(?:struct|class|typedef\b[^;]*)\s+({_LAST})\b"
    rf"|\b(?!(?:case|do|else|return|throw)\b)[A-Za-z_][\w:]*[>&*]*\s+({_LAST})\s*\("
)
#: These are declared there by one header of Torch's.
_MINMAX: Final = frozenset({"native::max", "native::min"})
_WITH_MIN: Final = "ATen/native/cuda/UpSample.cuh"


def begins_with_torch_name(text: str) -> bool:
    """Return whether a text begins with a qualified name that a header of this package declares."""
    return _NAMED.match(text) is not None


def is_torch_alias(text: str) -> bool:
    """Return whether a declaration gives one of Torch's namespaces another name."""
    return _ALIAS.match(text) is not None


def opens_for(text: str, source: str) -> bool:
    """Return whether a declaration opens a namespace of Torch's, of which its source has names without it."""
    found = _OPENS.match(text)
    names = _WITHIN["".join(found[1].split())] - _MINMAX if found else frozenset()
    return bool(_bare(source, names))


def torch_headers(texts: Sequence[str], readings: Readings, left_out: Collection[str] = ()) -> frozenset[str]:
    """Return the headers of the names that texts use and do not declare themselves.

    ``left_out`` are the headers of the host's that they include.
    """
    names, aliases = _used(texts, readings, left_out)
    found = {_HEADERS[name] for name in names} | {*global_names(texts, readings, left_out).values()}
    if _COMPLEX in found and words_of(texts, _THRUSTS, readings):
        found.add(_COMPLEX_MATH)
    if any(readings.of(_opened, text) for text in texts) and any(map(_opened, without_guarded(texts))):
        found.add(_INNER_NAMESPACES)
    return frozenset(found) | ({_NAMESPACES} if aliases else set())


def computed_with(texts: Sequence[str], readings: Readings, left_out: Collection[str] = ()) -> list[str]:
    """Return the names among these, sorted, that device code computes with: none of objects of the host's."""
    names, _ = _used(texts, readings, left_out)
    used = (name.rpartition("::")[2] for name in names if _HEADERS[name] != _OBJECTS)
    return sorted({*used, *global_names(texts, readings, left_out)})


def _used(texts: Sequence[str], readings: Readings, left_out: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that texts use and do not declare themselves, and the aliases of Torch's namespaces."""
    readers = (_aliases, _opened, _entered)
    if not any(readings.of(_named, text, frozenset()) or any(readings.of(r, text) for r in readers) for text in texts):
        return frozenset(), frozenset()
    shown = without_guarded(texts)
    aliases = frozenset(alias for text in shown for alias in readings.of(_aliases, text))
    used = {name for text in shown for name in readings.of(_named, text, aliases)}
    own = {name for text in texts for name in readings.of(_declared, text)}
    used = {name for name in used if name.rpartition("::")[2] not in own}
    return frozenset(used | _within(texts, shown, readings, left_out)), aliases


def _within(
    texts: Sequence[str], shown: Sequence[str], readings: Readings, left_out: Collection[str]
) -> frozenset[str]:
    """Return the names that texts use without Torch's namespace, which they open or declare something in."""
    opened = frozenset(space for text in shown for space in readings.of(_opened, text))
    spaces = ((text, space) for text in shown for space in opened | readings.of(_entered, text))
    used = frozenset(name for text, space in spaces for name in readings.of(_bare, text, _WITHIN[space]))
    if _WITH_MIN not in left_out:
        used -= _MINMAX
    own = {name for text in texts for name in readings.of(_own, text)} if used else set()
    return frozenset(name for name in used if name.rpartition("::")[2] not in own)


def _opened(text: str) -> frozenset[str]:
    """Return the namespaces of Torch's that a text opens by ``using namespace``."""
    found = _OPENS.findall(_NOISE.sub(" ", text)) if "namespace" in text and _OPENS.search(text) else ()
    return frozenset("".join(space.split()) for space in found)


def _entered(text: str) -> frozenset[str]:
    """Return the namespaces of Torch's that a text declares something in."""
    return frozenset(_IS_IN.findall(text))


def _own(text: str) -> frozenset[str]:
    """Return the names of those namespaces that a text declares in any: a call has no type before it."""
    return frozenset(name for names in _TYPED.findall(_NOISE.sub(" ", text)) for name in names if name)


def _bare(text: str, names: frozenset[str]) -> frozenset[str]:
    """Return the names among some of a namespace that a text has without it."""
    last = {name.rpartition("::")[2]: name for name in sorted(names)}
    pattern = rf"(?<![\w.:])(?<!->)({'|'.join(last)})\b"
    found = re.findall(pattern, _NOISE.sub(" ", text)) if not find_words(text).isdisjoint(last) else ()
    return frozenset(last[name] for name in found)


def _named(text: str, aliases: frozenset[str]) -> frozenset[str]:
    roots = [root for root in (*_ROOTS, *sorted(aliases)) if f"{root}::" in text]
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(roots)}){_REST}")
    found = roots and pattern.search(text)
    names = pattern.findall(_NOISE.sub(" ", text)) if found else ()
    return frozenset("".join(name.split()) for name in names)


def _aliases(text: str) -> frozenset[str]:
    return frozenset(_ALIAS.findall(_NOISE.sub(" ", text))) if _ALIAS.search(text) else frozenset()


def _declared(text: str) -> frozenset[str]:
    return frozenset(declared_in(_FORWARD.sub(" ", text), _OPENED)) if _OPENED.search(text) else frozenset()
