"""What the toolkit's headers say is not for NVRTC."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cpp import Directive, UnbalancedError, evaluate, parse_define

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp import Macro, SourceFile

__all__ = ["parts_for_others"]

_COMPILER: Final = "hatch_cuda_kernels_compiler_"
_CUDA_COMPILER: Final = "hatch_cuda_kernels_cuda_compiler_"
#: What NVRTC and CCCL define where NVRTC compiles it, by the time that it asks, and how CCCL's headers ask for the
#: compiler, only one of whose names is true, and for what it has: NVRTC has neither a host's standard library nor
#: exceptions. Whether ``__NVCC__`` is defined is not for this to say.
_DEFINED: Final = {
    "__CUDACC_RTC__": ("1",),
    "__CUDACC__": ("1",),
    "__cplusplus": ("201402L", "201703L", "202002L", "202302L"),
    "_CCCL_NO_EXCEPTIONS": ("1",),
    "_CCCL_HAS_THREAD_API_CUDA": ("1",),
    "_LIBCUDACXX_HAS_THREAD_API_CUDA": ("1",),
    "_LIBCUDACXX_LITTLE_ENDIAN": ("1",),
    "_CCCL_COMPILER(x)": (f"{_COMPILER}##x",),
    f"{_COMPILER}NVRTC": ("1",),
    "_CCCL_CUDA_COMPILER(x)": (f"{_CUDA_COMPILER}##x",),
    "_CCCL_HOST_STD_LIB(x)": ("0",),
    "_CCCL_HOSTED()": ("0",),
    "_CCCL_HOSTJIT()": ("0",),
    "_CCCL_HAS_EXCEPTIONS()": ("0",),
    "_CCCL_FREESTANDING()": ("1",),
}
_OTHERS: Final = frozenset({f"{_CUDA_COMPILER}CLANG", f"{_CUDA_COMPILER}NVHPC"})
_KNOWN: Final[dict[str, tuple[Macro | None, ...]]] = {
    name.partition("(")[0]: tuple(parse_define(name, text) for text in texts) for name, texts in _DEFINED.items()
}


def parts_for_others(file: SourceFile) -> list[tuple[int, int]]:
    """Return where the parts of a toolkit header begin and end that are for other compilers; none in an uneven text.

    That is what the header says. Who defines another compiler's macros for NVRTC makes it see some of them.
    """
    if not any(word in file.text for word in ("RTC", "_CCCL_", "_LIBCUDACXX_")):
        return []
    try:
        conditions = [one for one in file.directives if one.is_conditional and file.groups is not None]
    except UnbalancedError:
        return []
    parts: list[tuple[int, int]] = []
    is_hidden, is_settled = [False], [False]
    """For each group that is open, whether its branch is for others, and whether all that come are."""
    start = 0
    for one in conditions:
        if is_hidden[-1]:
            parts.append((start, one.start))
        start = one.end
        if one.word in {"endif", "else", "elif", "elifdef", "elifndef"}:
            is_hidden.pop()
            settled = is_settled.pop()
            if one.word == "endif":
                continue
        else:
            settled = is_hidden[-1]
        holds = False if settled else one.word == "else" or _holds(one.word, one.operand)
        is_hidden.append(holds is False)
        is_settled.append(settled or holds is True)
    return parts


@lru_cache(maxsize=1 << 12)
def _holds(word: str, operand: str) -> bool | None:
    """Return whether a condition holds for NVRTC; headers ask the same again and again."""
    return evaluate(Directive(word, operand, 0, 0, 0, 0), _look_up)


def _look_up(name: str) -> tuple[Macro | None, ...]:
    is_other = name in _OTHERS or (name.startswith(_COMPILER) and name not in _KNOWN)
    return (None,) if is_other else _KNOWN.get(name, ())
