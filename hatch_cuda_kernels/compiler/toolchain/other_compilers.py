"""What the toolkit's headers say is not for NVRTC."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.branches import DEFINED_BY_NVRTC, hidden_parts, truth_of
from hatch_cuda_kernels.source.truth import MacroRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["parts_for_others"]

#: How CCCL's headers ask for the compiler, only one of whose names is true, and for what it has: NVRTC has neither a
#: host's standard library nor exceptions. Whether ``__NVCC__`` is defined is not for this to say.
_ASKED: Final = re.compile(
    r"\b_CCCL_(?:COMPILER\s*\(\s*(?P<compiler>\w+)\s*\)"
    r"|(?P<no>CUDA_COMPILER\s*\(\s*(?:CLANG|NVHPC)\s*\)"
    r"|HOST_STD_LIB\s*\(\s*\w+\s*\)|(?:HOSTED|HOSTJIT|HAS_EXCEPTIONS)\s*\(\s*\))"
    r"|(?P<yes>FREESTANDING\s*\(\s*\)))"
)
#: What CCCL defines where NVRTC compiles it, by the time that it asks.
_KNOWN: Final[Mapping[str, MacroRange]] = {
    **DEFINED_BY_NVRTC,
    "_CCCL_NO_EXCEPTIONS": MacroRange(1, 1),
    "_CCCL_HAS_THREAD_API_CUDA": MacroRange(1, 1),
    "_LIBCUDACXX_HAS_THREAD_API_CUDA": MacroRange(1, 1),
    "_LIBCUDACXX_LITTLE_ENDIAN": MacroRange(1, 1),
}


def parts_for_others(text: str) -> list[tuple[int, int]]:
    """Return where the parts of a toolkit header begin and end that are for other compilers; none in an unclear text.

    That is what the header says. Who defines another compiler's macros for NVRTC makes it see some of them.
    """
    return hidden_parts(text, _truth) if any(word in text for word in ("RTC", "_CCCL_", "_LIBCUDACXX_")) else []


def _truth(line: DirectiveLine) -> bool | None:
    """Return whether a condition of a toolkit header holds for NVRTC; None where that is not known."""
    return truth_of(line._replace(operand=_ASKED.sub(_answer, line.operand)), _KNOWN)


def _answer(asked: re.Match[str]) -> str:
    return str(int(asked["compiler"] == "NVRTC" or asked["yes"] is not None))
