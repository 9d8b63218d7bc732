"""CUDA's types in place of Torch's that device code uses, for NVRTC only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.guarded_parts import without_guarded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["NAMESPACES", "NOTE", "has_stand_in", "stand_ins"]

NOTE: Final = (
    "for NVRTC, {}: the same bits, but CUDA's arithmetic; compare the results of kernels that use them with those of "
    "nvcc's build"
)
_USED: Final = re.compile(
    r"\b(?:c10|at|torch)::(Half|BFloat16|PackedTensorAccessor(?:32|64)?|RestrictPtrTraits|DefaultPtrTraits"
    r"|Tensor|CustomClassHolder|intrusive_ptr|optional)\b"
)
_DIVIDES: Final = re.compile(r"\bat::(?:cuda::ATenCeilDiv|ceil_div)\b")
NAMESPACES: Final = ("c10", "at", "torch")
_PLAIN: Final = {"Half": ("cuda_fp16.h", "__half"), "BFloat16": ("cuda_bf16.h", "__nv_bfloat16")}
#: The host's, for classes that have one as a member or as their base; nothing of them is defined.
_HELD: Final = """\
#include <optional>
namespace at {
class Tensor {
    void* held;
public:
    __host__ __device__ Tensor();
    template <typename A> __host__ __device__ Tensor(A&&);
};
}
namespace c10 {
template <typename T> class intrusive_ptr {
    T* held;
public:
    __host__ __device__ intrusive_ptr();
    template <typename A> __host__ __device__ intrusive_ptr(A&&);
};
}
namespace torch {
using at::Tensor;
using c10::intrusive_ptr;
using std::optional;
struct CustomClassHolder {
    unsigned long long held[2];
    __host__ __device__ virtual ~CustomClassHolder();
};
}
namespace at { using c10::intrusive_ptr; using std::optional; }
namespace c10 { using std::optional; }
"""
_QUOTIENTS: Final = """\
namespace at {
template <typename T> __host__ __device__ constexpr T ceil_div(T a, T b) { return (a + b - 1) / b; }
namespace cuda {
template <typename T> __host__ __device__ constexpr T ATenCeilDiv(T a, T b) { return ceil_div(a, b); }
}
}
"""
_HOSTS: Final = frozenset({"Tensor", "CustomClassHolder", "intrusive_ptr", "optional"})
#: As Torch's lie in memory: a pointer, the sizes, the strides.
_ACCESSORS: Final = """\
namespace hatch_torch {
template <typename T> struct DefaultPtrTraits { typedef T* PtrType; };
template <typename T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };
template <typename T, int N, template <typename> class Traits, typename I> struct Row {
    typename Traits<T>::PtrType first; const I* sizes_; const I* strides_;
    __device__ Row<T, N - 1, Traits, I> operator[](I i) const {
        return {first + strides_[0] * i, sizes_ + 1, strides_ + 1};
    }
    __device__ I size(int i) const { return sizes_[i]; }
    __device__ I stride(int i) const { return strides_[i]; }
    __device__ T* data() const { return first; }
};
template <typename T, template <typename> class Traits, typename I> struct Row<T, 1, Traits, I> {
    typename Traits<T>::PtrType first; const I* sizes_; const I* strides_;
    __device__ T& operator[](I i) const { return first[strides_[0] * i]; }
    __device__ I size(int i) const { return sizes_[i]; }
    __device__ I stride(int i) const { return strides_[i]; }
    __device__ T* data() const { return first; }
};
template <typename T, unsigned long long N, template <typename> class Traits, typename I> struct Packed {
    typename Traits<T>::PtrType data_; I sizes_[N]; I strides_[N];
    __device__ decltype(auto) operator[](I i) const { return Row<T, N, Traits, I>{data_, sizes_, strides_}[i]; }
    __device__ I size(int i) const { return sizes_[i]; }
    __device__ I stride(int i) const { return strides_[i]; }
    __device__ T* data() const { return data_; }
};
template <typename T, unsigned long long N, template <typename> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = Packed<T, N, Traits, int>;
template <typename T, unsigned long long N, template <typename> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = Packed<T, N, Traits, long long>;
template <typename T, unsigned long long N, template <typename> class Traits = DefaultPtrTraits, typename I = long long>
using PackedTensorAccessor = Packed<T, N, Traits, I>;
}
"""


def has_stand_in(text: str) -> bool:
    """Return whether a text names a type of Torch's that something stands for."""
    return any(f"{namespace}::" in text for namespace in NAMESPACES) and _USED.search(text) is not None


def stand_ins(
    texts: Collection[str], headers: Iterable[str] = (), declared: Collection[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return the text that stands for the types of Torch that texts use, and those that device code computes with.

    ``headers`` are the toolkit's that a header brought that is guarded; the text includes them in its place.
    ``declared`` are the types that the texts themselves define in Torch's namespaces.
    """
    shown = without_guarded([*texts]) if any(has_stand_in(text) or _DIVIDES.search(text) for text in texts) else []
    used = sorted({name for text in shown for name in _USED.findall(text)} - {*declared})
    divides = any(map(_DIVIDES.search, shown))
    plain = [name for name in used if name in _PLAIN]
    packed = [name for name in used if name not in _PLAIN]
    held = [name for name in used if name in _HOSTS]
    included = sorted({*headers, *(_PLAIN[name][0] for name in plain)})
    if not used and not included and not divides:
        return "", ()
    lines = ["#if defined(__CUDACC_RTC__) && !defined(HATCH_TORCH_TYPES)", "#define HATCH_TORCH_TYPES"]
    lines += [f"#include <{header}>" for header in included]
    lines += [_ACCESSORS.rstrip()] if len(packed) > len(held) else []
    lines += [_HELD.rstrip()] if held else []
    lines += [_QUOTIENTS.rstrip()] if divides else []
    for namespace in NAMESPACES if len(used) > len(held) else ():
        aliases = [f"using {name} = {_PLAIN[name][1]};" for name in plain]
        aliases += [f"using hatch_torch::{name};" for name in packed if name not in _HOSTS]
        lines.append(f"namespace {namespace} {{ {' '.join(aliases)} }}")
    return "\n".join([*lines, "#endif", ""]), tuple(name for name in used if name not in _HOSTS)
