"""The macros that nvcc and NVRTC define before the first line of a source.

``nvcc_macros.txt`` has what ``nvcc -E -Xcompiler -dM`` prints for an empty source on Linux x86-64 with gcc 12, without
what NVRTC defines alike. The value of a macro that both define may depend on the architecture or the release.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cpp import UNKNOWN_VALUE, Macro, MacroTable, parse_define
from hatch_cuda_kernels.libraries.table import is_toolkit_macro, table, telling_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["NVRTC_ONLY", "macros_of_nvrtc", "may_be_defined", "nvcc_macros", "shared_macros"]

#: nvcc lets gcc read directives, so these are for NVRTC's own preprocessor. ``__CUDACC_RTC__`` is not among them: what
#: a source has for NVRTC is meant.
NVRTC_ONLY: Final = frozenset(
    {"__EDG__", "__EDG_VERSION__", "__CUDA_FTZ", "__CUDA_PREC_DIV", "__CUDA_PREC_SQRT", "__USE_FAST_MATH__"}
)
_PLAIN: Final = {"__CUDACC__": "1", "__CUDACC_RTC__": "1", "__LP64__": "1", "__STDC__": "1", "__STDC_HOSTED__": "1"}
_UNKNOWN: Final = """
    __CUDA_ARCH__ __CUDA_ARCH_LIST__ __CUDACC_VER_MAJOR__ __CUDACC_VER_MINOR__ __CUDACC_VER_BUILD__
    __CUDA_API_VER_MAJOR__ __CUDA_API_VER_MINOR__ CUDART_VERSION __EXCEPTIONS
    __host__ __device__ __global__ __constant__ __shared__ __managed__ __grid_constant__ __forceinline__
    __launch_bounds__ __cluster_dims__ __align__ __builtin_align__ __annotate__
    """.split()  # noqa: SIM905 - a list would take a line a word
#: What other compilers, tools and systems define before the first line, and neither of these two does.
_OTHERS: Final = """
    __clang__ __clang_major__ __clang_minor__ __clang_patchlevel__ __apple_build_version__ __APPLE__ __MACH__
    __APPLE_CC__ _WIN32 _WIN64 __WIN32__ _MSC_VER _MSC_FULL_VER _MSC_BUILD _MSVC_LANG __MINGW32__ __MINGW64__ __CYGWIN__
    __DJGPP__ __INTEL_COMPILER __INTEL_LLVM_COMPILER __ICC __ICL __ECC __IBMC__ __IBMCPP__ __xlc__ __xlC__ __ibmxl__
    __COMO__ __SUNPRO_C __SUNPRO_CC __PGI __PGIC__ __NVCOMPILER __OPEN64__ __PATHCC__ __HP_aCC __HP_cc __DECC
    __DECCXX _CRAYC __OPENCL_VERSION__ __OPENCL_C_VERSION__ __METAL_VERSION__ __METAL_MACOS__ __METAL_IOS__ __HIP__
    __HIPCC__ __HIP_DEVICE_COMPILE__ __SYCL_DEVICE_ONLY__ __ARMCC_VERSION __CC_ARM __ARMCOMPILER_VERSION __BORLANDC__
    __CODEGEARC__ __DMC__ __WATCOMC__ __TURBOC__ __MWERKS__ __TINYC__ __EMSCRIPTEN__ __FreeBSD__ __NetBSD__ __OpenBSD__
    __DragonFly__ __ANDROID__ __sun __sun__ __hpux _AIX __QNX__ __QNXNTO__ __VXWORKS__ __HAIKU__ __OS400__ __MVS__
    __CDT_PARSER__ __INTELLISENSE__ __JETBRAINS_IDE__ __RESHARPER__ __clang_analyzer__ __DOXYGEN__ __CPPCHECK__
    __powerpc__ __powerpc64__ __ppc__ __ppc64__ __PPC__ __PPC64__ __mips__ __sparc__ __ia64__ __s390__ __s390x__
    """.split()  # noqa: SIM905 - a list would take a line a word
#: What depends on the architecture or on options: whether it is defined, too.
_PERHAPS: Final = ("__CUDA_ARCH_FEAT_", "__CUDA_ARCH_SPECIFIC__", "__CUDA_ARCH_FAMILY_SPECIFIC__", "__cpp_", "__has_")


@cache
def nvcc_macros() -> Mapping[str, tuple[Macro | None, ...]]:
    """Return the macros that nvcc defines and NVRTC does not."""
    text = Path(__file__).with_name("nvcc_macros.txt").read_text(encoding="utf-8")
    found: dict[str, tuple[Macro | None, ...]] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        found[name.removesuffix("()")] = (
            _opaque(name.removesuffix("()"), is_called=True) if name.endswith("()") else parse_define(name, value),
        )
    return found


@cache
def shared_macros(std: str) -> Mapping[str, tuple[Macro | None, ...]]:
    """Return the macros that both define, for a version of C++ such as ``c++17``."""
    version = {"c++14": "201402L", "c++17": "201703L", "c++20": "202002L"}[std]
    known = {**_PLAIN, "__cplusplus": version}
    found: dict[str, tuple[Macro | None, ...]] = {name: (parse_define(name, value),) for name, value in known.items()}
    unknown = (*_UNKNOWN, *table("cuda")["macros"]["predefined"])
    return found | dict.fromkeys(_OTHERS, (None,)) | {name: (_opaque(name),) for name in unknown}


def macros_of_nvrtc(std: str, define: Iterable[tuple[str, str | None]]) -> MacroTable:
    """Return the macros that NVRTC has before a source; nothing is known of those that a header may bring."""
    words = telling_words()
    given = {one.name: (one,) for name, value in define if (one := parse_define(name, value)) is not None}
    shared = table("cuda")["macros"]["nvrtc"]
    absent: dict[str, tuple[Macro | None, ...]] = dict.fromkeys(nvcc_macros().keys() - words - {*shared}, (None,))
    defined = {name: (_opaque(name),) for name in shared}
    return MacroTable(
        {**absent, **defined, **shared_macros(std), **given},
        lambda name: name in words or may_be_defined(name) or is_toolkit_macro(name),
    )


def may_be_defined(name: str) -> bool:
    """Return whether an architecture or an option may define a macro of both compilers."""
    return name.startswith(_PERHAPS)


def _opaque(name: str, *, is_called: bool = False) -> Macro:
    return Macro(name, () if is_called else None, False, (UNKNOWN_VALUE,))
