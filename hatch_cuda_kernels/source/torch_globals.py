"""Names that Torch's headers declare in the global namespace, and the header of this package that declares each.

Other projects have functions of these names. So one counts as Torch's only where a header is left out that brings it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.source.guarded_parts import without_guarded
from hatch_cuda_kernels.source.lexer import CHARACTER, COMMENT, STRING
from hatch_cuda_kernels.source.readings import find_words

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hatch_cuda_kernels.source.readings import Readings

__all__ = ["TORCH_HEADERS", "global_names", "words_of"]


class _Brought(NamedTuple):
    """What headers of Torch's have, by themselves or by what they include."""

    header: str
    names: str
    by: str


_BROUGHT: Final = (
    _Brought(
        "hatch_cuda_kernels/torch_atomics.h",
        "atomicAdd gpuAtomicAdd gpuAtomicAddNoReturn gpuAtomicMax gpuAtomicMin gpuAtomicMul",
        "ATen/cuda/Atomic.cuh ATen/cuda/CUDAApplyUtils.cuh ATen/native/cuda/DistributionTemplates.h "
        "ATen/native/cuda/EmbeddingBackwardKernel.cuh ATen/native/cuda/GridSampler.cuh "
        "ATen/native/cuda/KernelUtils.cuh ATen/native/cuda/Normalization.cuh ATen/native/cuda/Reduce.cuh "
        "ATen/native/cuda/SortingRadixSelect.cuh ATen/native/cuda/UpSample.cuh THC/THCAtomics.cuh",
    ),
    _Brought(
        "hatch_cuda_kernels/torch_shuffles.h",
        "ACTIVE_MASK WARP_BALLOT WARP_SHFL WARP_SHFL_DOWN WARP_SHFL_UP WARP_SHFL_XOR WARP_SYNC doLdg",
        "ATen/cuda/DeviceUtils.cuh ATen/cuda/ScanUtils.cuh ATen/native/SharedReduceOps.h "
        "ATen/native/cuda/Normalization.cuh ATen/native/cuda/PersistentSoftmax.cuh ATen/native/cuda/Reduce.cuh "
        "ATen/native/cuda/SortUtils.cuh ATen/native/cuda/SortingRadixSelect.cuh "
        "ATen/native/cuda/TensorModeKernel.cuh ATen/native/cuda/block_reduce.cuh THC/THCDeviceUtils.cuh",
    ),
)
#: Torch's own header of each.
TORCH_HEADERS: Final = {name: brought.by.split()[0] for brought in _BROUGHT for name in brought.names.split()}
_NAMES: Final = "|".join(TORCH_HEADERS)
#: With its type before it, on the same line or at the end of the one before. Many a project adds to atomicAdd what CUDA
#: had not for double in its time, or for Thrust's numbers: Torch has none of these.
_OWN: Final = re.compile(
    r"\b(?!(?:case|do|else|endif|return|throw)\b)[A-Za-z_]\w*(?:[ \t&*>]+|[ \t]*\n[ \t]*)"
    rf"({_NAMES})\s*\((?!\s*(?:double\b|thrust\s*::))"
)
_FROM_ROOT: Final = re.compile(rf"(?:(?<![\w>\s])\s*|\b(?:else|return)\s+)::\s*({_NAMES})\s*\(")
_NOISE: Final = re.compile(f"{STRING}|{CHARACTER}|{COMMENT}")


def global_names(texts: Sequence[str], readings: Readings, left_out: Collection[str]) -> dict[str, str]:
    """Return the names of Torch's that texts use, and their headers, where one of ``left_out`` brings them.

    None that the project declares, too: that may be for a release of Torch that has not that header.
    """
    found = {
        name: brought.header
        for brought in _BROUGHT
        if not {*brought.by.split()}.isdisjoint(left_out)
        for name in words_of(texts, brought.names.split(), readings)
    }
    if not found:
        return found
    own = {name for text in texts for name in readings.of(_own, text)}
    named = {name for text in texts for name in readings.of(_from_root, text)}
    return {name: header for name, header in found.items() if name not in own - named}


def words_of(texts: Sequence[str], names: Collection[str], readings: Readings) -> frozenset[str]:
    """Return those of some words that texts have outside of comments and literals, where NVRTC sees them."""
    if all(readings.of(find_words, text).isdisjoint(names) for text in texts):
        return frozenset()
    return frozenset(word for text in without_guarded(texts) for word in readings.of(_words, text)).intersection(names)


def _words(text: str) -> frozenset[str]:
    return find_words(_NOISE.sub(" ", text))


def _own(text: str) -> frozenset[str]:
    return frozenset(_OWN.findall(_NOISE.sub(" ", text)))


def _from_root(text: str) -> frozenset[str]:
    return frozenset(_FROM_ROOT.findall(_NOISE.sub(" ", text)))
