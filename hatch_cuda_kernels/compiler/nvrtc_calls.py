"""NVRTC's calls as functions, and where they run: the same job gives the same image in every process and every folder.

**State.** With every NVRTC tried (12.9, 13.0 and 13.5), a compile with ``--restrict`` makes each later compile in the
process take all pointer parameters for ``__restrict__``: it may load through the non-coherent cache what the kernel
itself writes. Nothing takes the flag back. ``-Ofc=mid`` stays with the assembler in the same way. Therefore a compile
with flags in ``extra`` has its own process; and where others may use NVRTC in this one, a canary is compiled after it.

**Place.** NVRTC writes its working directory into LTO-IR and debug information, and into line numbers where ``#line``
names a file. So these compiles run in ``/``: on Linux in a thread with its own directory (unshare(2), CLONE_FS),
elsewhere in a child process. NVRTC also writes the folders of the toolkit's headers. On Linux these are named by open
descriptors with fixed numbers. Tools that assemble must not find these files: they would write the files' times.

**Host.** NVRTC takes plain ``char`` as the host's compilers do, which is unsigned on Linux aarch64. There it is told
what it does everywhere else, so that equal sources give equal images, and a compile on a device's host what its wheel
ships. NVRTC 12.9, 13.0 and 13.5 take the flag on both hosts, and then write the same; nothing in an image says that it
was given.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from cuda.bindings import nvrtc

from hatch_cuda_kernels.child_process import call_in_child, is_child
from hatch_cuda_kernels.forks import use_compiler
from hatch_cuda_kernels.threads import wait_for_thread

if TYPE_CHECKING:
    from hatch_cuda_kernels.image import Kind, Symbol

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


T = TypeVar("T")

_CLONE_FS: Final = 0x200
#: The first folder's descriptor; few processes have so many, and fewer processes may have no more.
_FIRST: Final = 200
_DESCRIPTORS: Final = "/proc/self/fd"
_FOLDER: Final = "-I"
_SHOWING: Final = frozenset({"-G", "-dlto", "-lineinfo"})

_HAS_UNSIGNED_CHARS: Final = sys.platform == "linux" and os.uname().machine == "aarch64"
#: What makes a source mean on Windows what it means on Linux: ``long`` and ``size_t`` of 64 bits, no ``_WIN64``, and
#: members in the padding behind those of a base class.
ON_WINDOWS: Final = (
    "-Xcudafe=--force-lp64",
    "-Xcudafe=-U_WIN64",
    "-D__LP64__=1",
    "-Xcudafe=--set_flag=reuse_tail_padding",
)
HOST_FLAGS: Final[tuple[str, ...]] = (
    ON_WINDOWS if sys.platform == "win32" else ("-Xcudafe=--signed_chars",) if _HAS_UNSIGNED_CHARS else ()
)

#: Held while folders have descriptors, and by those that must not find any.
without_descriptors: Final = threading.Lock()


class _NumberTakenError(Exception):
    """Another thread has opened what gets the number of a folder's descriptor."""


def shows_place(flags: Sequence[str]) -> bool:
    """Return whether the working directory, and the folders of headers, can be in what NVRTC makes with these flags."""
    return not _SHOWING.isdisjoint(flags)


def call_at_root(function: Callable[[Any], T], argument: object, flags: Sequence[str] = ()) -> T:
    """Call a module's function in ``/``, where the folders in NVRTC's flags can have descriptors."""
    if is_child():
        return _in_process(function, argument)
    if _threads_can_move() and _numbers_are_free(len(_flagged_folders(flags))):

        def run() -> T:
            _move()
            return function(argument)

        with suppress(_NumberTakenError):
            return wait_for_thread(run)
    made: T = call_in_child(_in_process, function, argument)
    return made


@cache
def _threads_can_move() -> bool:
    return wait_for_thread(_move)  # a sandbox may forbid it


@contextmanager
def with_descriptors(flags: Sequence[str]) -> Iterator[tuple[Sequence[str], dict[str, str]]]:
    """Yield flags in which folders have names that are the same everywhere, with the folders by these names.

    Where that is possible, the names are those of descriptors. These flags are last, as they were.
    """
    folders = _flagged_folders(flags)
    names: dict[str, str] = {}
    with ExitStack() as stack:
        if folders:
            stack.enter_context(without_descriptors)
        for number, folder in enumerate(folders, _FIRST):
            name = folder
            with suppress(OSError):
                if fcntl is not None and os.path.isdir(_DESCRIPTORS):  # noqa: PTH112
                    opened = os.open(folder, os.O_RDONLY)
                    try:
                        found = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, number)
                    finally:
                        os.close(opened)
                    stack.callback(os.close, found)
                    if found != number and not is_child():
                        raise _NumberTakenError
                    name = f"{_DESCRIPTORS}/{number}" if found == number else folder
            names[name] = folder
        rest = [flag for flag in flags if not flag.startswith(_FOLDER)]
        yield (*rest, *(f"{_FOLDER}{name}" for name in names)), names


def _flagged_folders(flags: Sequence[str]) -> list[str]:
    return [flag.removeprefix(_FOLDER) for flag in flags if flag.startswith(_FOLDER)]


def _numbers_are_free(count: int) -> bool:
    if not count or not os.path.isdir(_DESCRIPTORS):  # noqa: PTH112 - a string
        return True
    if not without_descriptors.acquire(blocking=False):
        return True  # they are used for the same, and will be closed
    try:
        return not any(os.path.exists(f"{_DESCRIPTORS}/{_FIRST + number}") for number in range(count))  # noqa: PTH110
    finally:
        without_descriptors.release()


def _move() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    if ctypes.CDLL(None).unshare(_CLONE_FS) != 0:
        return False
    os.chdir("/")
    return True


def _in_process(function: Callable[[Any], T], argument: object) -> T:
    before = None
    with suppress(OSError):  # it was removed meanwhile
        before = Path.cwd()
    os.chdir(Path(sys.executable).anchor)
    try:
        return function(argument)
    finally:
        if before is not None:
            os.chdir(before)


#: The load may not be non-coherent: the two pointers may be one.
_CANARY: Final = b"__global__ void canary(float* y, const float* x) { *y = *x; }"
_FLAGS: Final = (b"-arch=compute_80", b"--minimal", b"-no-cache", b"--modify-stack-limit=false")
#: What NVRTC writes for a load that no store of the kernel can reach.
_NON_COHERENT: Final = b"ld.global.nc"
_found = False


class Given(NamedTuple):
    """What a compile gets that begins with a preamble."""

    flags: tuple[str, ...]
    headers: tuple[tuple[str, str], ...] = ()
    text: str = ""


class Made(NamedTuple):
    """What a compile gave."""

    images: dict[Kind, bytes]
    kernels: tuple[Symbol, ...]
    lowered: dict[str, str]
    """By name expression."""
    ptx_isa: tuple[int, int]
    log: str


class NvrtcError(Exception):
    """A call failed that does not depend on the source."""


@contextmanager
def open_program(
    source: str, name: str, headers: Sequence[tuple[str, str]], expressions: Iterable[str] = ()
) -> Iterator[Any]:  # an opaque handle
    """Yield a program with headers in memory, by name, and name expressions. Raises NvrtcError or InheritedError."""
    use_compiler("nvrtc")
    texts, names = [text.encode() for _, text in headers], [header.encode() for header, _ in headers]
    program = _check(nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), len(names), texts, names))
    try:
        for expression in expressions:
            _check(nvrtc.nvrtcAddNameExpression(program, expression.encode()))
        yield program
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def compile_program(program: Any, flags: Sequence[str]) -> tuple[bool, str]:  # an opaque handle
    """Return whether NVRTC took a program, and what it said."""
    plain: tuple[Sequence[str], dict[str, str]] = flags, {}
    with with_descriptors(flags) if shows_place(flags) else nullcontext(plain) as (placed, folders):
        given = [flag.encode() for flag in (*placed, *HOST_FLAGS)]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(given), given)
    log = output(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
    for name, folder in folders.items():
        log = log.replace(f"{name}/", f"{folder}/")
    return int(status) == 0, log


def lowered_name(program: Any, expression: str) -> str:  # an opaque handle
    """Return the symbol of a name expression."""
    _, name = nvrtc.nvrtcGetLoweredName(program, expression.encode())
    return str(name.decode())


def output(program: Any, what: str) -> bytes:  # an opaque handle
    """Return the ``PTX``, ``CUBIN``, ``LTOIR`` or ``ProgramLog`` of a program, empty where there is none.

    Never read into ``b" " * 1``: the bindings would write into CPython's shared one-byte object.
    """
    size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)[1]
    if size <= 1:
        return b""
    buffer = bytes(size)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer


def _check(result: tuple[Any, ...]) -> Any:  # whatever the binding returned
    status, *values = result
    if int(status) != 0:
        raise NvrtcError(f"NVRTC failed with {status.name}")
    return values[0] if values else None


def is_tainted() -> bool:
    """Return whether NVRTC has global state here that changes what it compiles, as far as is known.

    The state never goes away: an earlier compile was right if this is false. It takes as long as the smallest compile.
    Raises InheritedError.
    """
    global _found  # noqa: PLW0603 - a fact about the process
    if _found or is_child():
        return _found
    use_compiler("nvrtc")
    _, program = nvrtc.nvrtcCreateProgram(_CANARY, b"canary.cu", 0, [], [])
    try:
        nvrtc.nvrtcCompileProgram(program, len(_FLAGS), [*_FLAGS])
        ptx = bytes(nvrtc.nvrtcGetPTXSize(program)[1])
        nvrtc.nvrtcGetPTX(program, ptx)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    _found = _NON_COHERENT in ptx
    return _found
