"""The macros of a text that NVRTC may see: none of branches for C, for other compilers, or for the host."""

from __future__ import annotations

import re
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.branches import DEFINED_BY_NVRTC, hidden_parts, truth_of, undoes_tests
from hatch_cuda_kernels.source.macros import defined_macros
from hatch_cuda_kernels.source.truth import MacroRange

if TYPE_CHECKING:
    from collections.abc import Collection

    from hatch_cuda_kernels.source.macros import MacroText
    from hatch_cuda_kernels.source.readings import Readings

__all__ = ["seen_macros"]

#: What NVRTC defines for any architecture; code of the host is compiled without it.
_ARCH: Final = "__CUDA_ARCH__"
#: What only other compilers of device code define, unless the project does.
_OTHERS: Final = (
    "SYCL_LANGUAGE_VERSION", "USE_ROCM", "__HIPCC__", "__HIP_DEVICE_COMPILE__", "__HIP_PLATFORM_AMD__",
    "__HIP_PLATFORM_HCC__", "__HIP__", "__METAL_MACOS__", "__METAL_VERSION__", "__OPENCL_VERSION__",
    "__SYCL_DEVICE_ONLY__",
)  # fmt: skip
_KNOWN: Final = {**DEFINED_BY_NVRTC, _ARCH: MacroRange(500, 2999)}
_UNDONE: Final = re.compile(rf"undef\s+{_ARCH}\b")


def seen_macros(texts: Collection[str], given: Collection[str], readings: Readings) -> list[MacroText]:
    """Return the macros that texts define, but for those in parts that their conditions keep from NVRTC.

    It is all of them if one of the texts undefines what such conditions test. ``given`` are defined besides.
    """
    found = [readings.of(defined_macros, text) for text in texts]
    if any(readings.of(_is_undone, text) for text in texts):
        return [*chain.from_iterable(found)]
    defined = {macro.name for macros in found for macro in macros}.union(given)
    absent = frozenset(name for name in _OTHERS if name not in defined)
    return [macro for text in texts for macro in readings.of(_seen, text, absent)]


def _is_undone(text: str) -> bool:
    return undoes_tests(text) or _UNDONE.search(text) is not None


def _seen(text: str, absent: frozenset[str]) -> tuple[MacroText, ...]:
    """Return the macros that a text defines where NVRTC sees it, some others being defined nowhere."""
    found = defined_macros(text)
    known = {**_KNOWN, **dict.fromkeys(absent, MacroRange(0, 0))}
    hidden = hidden_parts(text, partial(truth_of, known=known)) if found else []
    return tuple(macro for macro in found if not any(start <= macro.place < end for start, end in hidden))
