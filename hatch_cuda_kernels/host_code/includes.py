"""Headers of host libraries, which a project and the toolkit's device headers do not have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["FOR_THE_HOST", "host_header", "included", "is_library_header", "is_missing", "without_host_libraries"]

_SPELLED: Final = re.compile(r'"([^"\n]+)"|<([^<>\n]+)>')
#: Folders of host libraries; what is in them is for the host, or of no use without what is.
_FOLDERS: Final = frozenset(
    """
    ATen TH THC EGL GL GLES2 GLES3 GLFW Python SDL2 Qt5 Qt6 QtCore QtGui absl adios2 arpa arrow blaze boost
    benchmark c10 c10d catch2 cblas cereal cv_bridge cxxopts dlpack doctest drm fmt folly geometry_msgs gflags glad glog
    google grpc grpcpp gtest gmock hdf5 hip jsoncpp linux mkl mpi nav_msgs ncclras net netinet nlohmann numpy nvml nvtx3
    opencv opencv2 openssl parquet pcl_conversions pybind11 nanobind rapidjson rclcpp rmm ros sensor_msgs
    spdlog sqlite3 std_msgs tbb tensorflow tf2 tf2_ros tinyxml2 torch torchvision tvm vtk vulkan xla yaml-cpp
    """.split()  # noqa: SIM905 - a list would take a line a word
)
#: Headers of those folders that conditions ask for numbers, and that this package has.
_NUMBERS: Final = frozenset({"linux/version.h"})
#: Headers of libraries that are called from the host, the toolkit's among them: NVRTC refuses what it has of these.
_HEADERS: Final = re.compile(
    r"""
    .+\.pb\.h | argp\.h | json/json\.hpp
    | Python\.h | mpi\.h | cblas\.h | lapacke\.h | hdf5\.h | png\.h | jpeglib\.h | zlib\.h | curl/curl\.h
    | (?:free)?glut\.h | glew\.h | gl\.h | X11/.* | ncurses\.h | papi\.h | numa\.h | gsl/.* | fftw3.*\.h
    | cublas.*\.h | cufft.*\.h | cusparse.*\.h | cusolver.*\.h | curand\.h | cudnn.*\.h | nccl\.h | npp.*\.h
    | nvrtc\.h | nvJitLink\.h | nvjpeg\.h | nvml\.h | nvToolsExt.*\.h | cupti.*\.h | cuda_?[pP]rofiler.*\.h
    | cudaProfiler\.h | cuda_gl_interop\.h | cuda_egl_interop\.h | cuda_d3d\w*_interop\.h | cudla\.h | cufile\.h
    | cub/device/.* | cub/util_allocator\.cuh
    | thrust/(?!(?:addressof|advance|complex|device_allocator|device_malloc_allocator|device_ptr|device_reference
    |device_vector|distance|functional|host_vector|pair|swap|tuple|universal_vector|version|zip_function)\.h)\w+\.h
    | thrust/system/(?!\w+/detail/execution_policy\.h|detail/generic/tag\.h).* | thrust/mr/.*
    | thrust/detail/(?:(?:contiguous_storage|execute_with_allocator|temporary_array)\.h|allocator/.*)
    | (?:netcdf|pnetcdf|sqlite3|gmp|gmpxx|mpfr|lzma|bzlib|zstd|lz4|tiffio)\.h | libxml/.* | uuid/.*
    | windows\.h | Windows\.h | winsock2?\.h | direct\.h | io\.h | process\.h | conio\.h | intrin\.h
    | (?:[bepstwanix]mm|immin|x86)intrin\.h | mach/.*
    """,
    re.VERBOSE,
)


#: Headers of glibc and gcc that this package has none for. Many a project calls its own so: these are in ``<>``.
_SYSTEM: Final = re.compile(
    r"""
    (?:aio|alloca|argz|cpio|cpuid|crypt|elf|envz|error|fmtmsg|fnmatch|fpu_control|fstab|ftw|fts|grp|iconv|ifaddrs
    |langinfo|libintl|link|mcheck|mm_malloc|mntent|monetary|mqueue|nl_types|obstack|paths|pty|quadmath|resolv|search
    |semaphore|shadow|spawn|stdio_ext|syscall|sysexits|tar|ulimit|unwind|utime|utmpx?|wait|wordexp)\.h
    | bits/stdc\+\+\.h | asm/.* | ext/.* | parallel/.*
    | sys/(?:acct|auxv|cdefs|dir|epoll|errno|eventfd|fcntl|inotify|io|klog|mount|msg|personality|poll|ptrace|queue|quota
    |random|reboot|reg|sem|sendfile|signal|signalfd|statfs|swap|sysmacros|termios|timerfd|timex|ucontext|unistd|user|vfs
    |xattr)\.h
    """,
    re.VERBOSE,
)
#: Those of them of which device code uses nothing, so that a project's own copy is for the host, too.
FOR_THE_HOST: Final = frozenset(
    """
    benchmark cereal cxxopts doctest fmt gflags glog gmock google gtest json(?=/json\\.hpp) nanobind nlohmann openssl
    pybind11 rapidjson spdlog tinyxml2 yaml-cpp
    """.split()  # noqa: SIM905 - a list would take a line a word
)
_OF_HOST_LIBRARY: Final = re.compile(
    rf"^([ \t]*)#[ \t]*include[ \t]*[<\"](?:{'|'.join(sorted(FOR_THE_HOST))})/[^>\"\n]*[>\"]", re.MULTILINE
)


def without_host_libraries(text: str) -> str:
    """Return a text without its includes of libraries that are for the host only, whoever has them."""
    return _OF_HOST_LIBRARY.sub(r"\1", text)


def included(line: DirectiveLine) -> str | None:
    """Return the name of the header that a directive includes; None where it is none, or a macro names it."""
    spelled = _SPELLED.match(line.operand) if line.word in {"include", "include_next", "import"} else None
    return None if spelled is None else spelled[1] or spelled[2]


def host_header(line: DirectiveLine) -> str | None:
    """Return the name of the host's header that a directive includes; None where it includes another or none."""
    name = included(line)
    if name is None:
        return None
    if name in _NUMBERS:
        return None
    folder, slash, _ = name.partition("/")
    is_system = line.operand.startswith("<") and _SYSTEM.fullmatch(name) is not None
    return name if (slash and folder in _FOLDERS) or is_system or is_library_header(name) else None


def is_library_header(name: str) -> bool:
    """Return whether a header is one of a library that is called from the host, whoever brings it."""
    return _HEADERS.fullmatch(name) is not None


def is_missing(name: str) -> bool:
    """Return whether NVRTC surely has no use for a host's header: of CUB and Thrust, releases differ."""
    return not name.startswith(("cub/", "thrust/"))
