"""The headers of a host compiler's C and C++ libraries, which NVRTC lacks; this package has its own for most."""

from __future__ import annotations

from typing import Final

__all__ = ["HOST_HEADERS"]

_C: Final = frozenset(
    """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
    """.split()  # noqa: SIM905 - a list would take a line a word
)
_CPP: Final = frozenset(
    """
    algorithm any array atomic barrier bit bitset charconv chrono codecvt compare complex concepts condition_variable
    coroutine deque exception execution expected filesystem format forward_list fstream functional future
    initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource
    mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set
    shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view system_error
    thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
    """.split()  # noqa: SIM905 - a list would take a line a word
)
#: What host code includes with ``<...>``, and what CUDA's own headers expect of the host.
HOST_HEADERS: Final = (
    _CPP
    | {f"{name}.h" for name in _C}
    | {f"c{name}" for name in _C}
    | {"endian.h", "features.h", "intrin.h", "malloc.h", "memory.h", "pthread.h", "sched.h", "strings.h", "unistd.h"}
    | {"omp.h", "windows.h"}
)
