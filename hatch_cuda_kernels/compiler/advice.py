"""What to do about an error of NVRTC's, where the message alone does not tell: it knows no host, and few headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.link_faults import undefined_faults
from hatch_cuda_kernels.compiler.missing_header import missing_header

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatch_cuda_kernels.compiler.output.log import Diagnostic

__all__ = ["advice"]

#: Names that sources use without a header because nvcc includes one, or a host header brings it.
_HEADERS: Final = {
    "cassert": "assert",
    "cfloat": "FLT_DIG FLT_EPSILON FLT_MAX FLT_MIN DBL_DIG DBL_EPSILON DBL_MAX DBL_MIN",
    "climits": "CHAR_BIT SHRT_MAX SHRT_MIN INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX ULLONG_MAX",
    "cmath": "HUGE_VAL HUGE_VALF INFINITY NAN M_E M_LN2 M_PI M_PI_2 M_SQRT2",
    "cstdint": " ".join(
        [f"{u}int{bits}_t" for u in ("", "u") for bits in (8, 16, 32, 64)]
        + [
            f"{kind}{bits}_{end}"
            for kind, end in (("INT", "MAX"), ("INT", "MIN"), ("UINT", "MAX"))
            for bits in (8, 16, 32, 64)
        ]
        + ["intptr_t", "uintptr_t", "intmax_t", "uintmax_t", "SIZE_MAX"]
    ),
    "cooperative_groups.h": "cooperative_groups cg",
    "cub/cub.cuh": "cub",
    "cuComplex.h": "cuComplex cuDoubleComplex cuFloatComplex make_cuComplex make_cuDoubleComplex make_cuFloatComplex",
    "cuda_bf16.h": "__nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162",
    "cuda_device_runtime_api.h": "cudaGridDependencySynchronize cudaTriggerProgrammaticLaunchCompletion",
    "cuda_fp16.h": "__half __half2 half half2 __float2half __half2float",
    "cuda_fp8.h": "__nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp8x2_e4m3 __nv_fp8x4_e4m3",
    "cuda_pipeline.h": "__pipeline_commit __pipeline_memcpy_async __pipeline_wait_prior",
    "curand_kernel.h": "curand curandState curandStatePhilox4_32_10_t curand_init curand_normal curand_uniform",
    "math_constants.h": "CUDART_INF CUDART_INF_F CUDART_NAN CUDART_NAN_F CUDART_PI CUDART_PI_F",
    "mma.h": "nvcuda wmma",
}
_BROUGHT_BY: Final = {name: header for header, names in _HEADERS.items() for name in names.split()}
_STD: Final = {
    "algorithm": "clamp copy fill lower_bound max min minmax sort upper_bound",
    "array": "array",
    "cmath": "abs ceil cos exp fabs floor fma fmax fmin isfinite isinf isnan log pow round sin sqrt tan tanh",
    "complex": "complex",
    "cstddef": "byte nullptr_t ptrdiff_t size_t",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t",
    "limits": "numeric_limits",
    "tuple": "get make_tuple tie tuple",
    "type_traits": "conditional conditional_t decay_t enable_if enable_if_t false_type integral_constant is_same "
    "is_same_v is_integral is_floating_point remove_reference_t true_type void_t",
    "utility": "declval forward index_sequence integer_sequence make_index_sequence move pair swap",
}
_STD_BROUGHT_BY: Final = {name: header for header, names in _STD.items() for name in names.split()}
_HOST_CALL: Final = re.compile(r"(?:cu(?:da|blas|fft|rand|sparse|solver|dnn)?|nccl)[A-Z]\w*")
_TORCH: Final = re.compile(r"at|c10|torch|AT_\w+|C10_\w+|TORCH_\w+|TensorAccessor|PackedTensorAccessor\w*")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")

#: How device code is kept from code of the host's.
_KEEP_AWAY: Final = "keep it from NVRTC with #ifndef __CUDACC_RTC__, or by 'host_code: drop' in the manifest"
_DEFAULT_DEVICE: Final = "set 'default_device: true' in the module's options"


def advice(found: Diagnostic, *, computed: Sequence[str], release: tuple[int, int]) -> str:
    """Return what to do about an error, as a change to make; empty where its message says all there is.

    ``computed`` are the ``path:line`` of the includes whose header a macro names; ``release`` is NVRTC's.
    """
    header = missing_header(found, computed=computed, release=release)
    if header is not None:
        return header
    matches = ((pattern.search(found.message), rule) for pattern, rule in _RULES)
    return next((rule(match, found) for match, rule in matches if match is not None), "")


def _for_name(name: str) -> str:
    """Return what brings a name, or keeps its use from NVRTC; empty if neither is known."""
    if name in _BROUGHT_BY:
        return f"add #include <{_BROUGHT_BY[name]}>"
    if _TORCH.fullmatch(name):
        use = "use CUDA's (__half for c10::Half, a pointer for a tensor)"
        return f"PyTorch's C++ types are the host's: {use}, or {_KEEP_AWAY}"
    if _HOST_CALL.fullmatch(name):
        return f"{name} is the host's: {_KEEP_AWAY}"
    return ""


def _for_line(_: re.Match[str], found: Diagnostic) -> str:
    """Return what is known of the first such name on the line: the message names none, or another."""
    words = _WORD.findall(found.excerpt[0] if found.excerpt else "")
    return next(filter(None, map(_for_name, words)), "")


def _for_std(match: re.Match[str], _: Diagnostic) -> str:
    header = _STD_BROUGHT_BY.get(match[1])
    return f"add #include <{header}>" if header else ""


_RULES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Diagnostic], str]], ...]] = (
    (re.compile(r'^identifier "(\w+)" is undefined'), lambda match, _: _for_name(match[1])),
    (re.compile(r'^namespace "std" has no member "(\w+)"'), _for_std),
    (
        re.compile(
            r'^(?:name followed by "::" must be a class|name must be a namespace name'
            r'|attribute "__\w+__" does not apply|incomplete type "void" is not allowed'
            r"|this declaration has no storage class)"
        ),
        _for_line,
    ),
    (
        re.compile(r"^calling a __host__ .*from a __(?:global|device)__ function"),
        lambda *_: f"mark the function __device__, or {_DEFAULT_DEVICE}",
    ),
    (
        re.compile(r"^device-side kernel launch"),
        lambda *_: "add #include <cuda_device_runtime_api.h>, and link 'libraries: [cudadevrt]'",
    ),
    (
        re.compile(r"^Unresolved extern (?:function|variable) '([^']+)'"),
        lambda match, _: "; ".join(undefined_faults(match[0])),
    ),
    (
        re.compile(r"^A (?:function|namespace scope variable) without (?:execution|memory) space annotations"),
        lambda *_: f"mark it __device__ or {_DEFAULT_DEVICE}; if it is the host's, {_KEEP_AWAY}",
    ),
)
