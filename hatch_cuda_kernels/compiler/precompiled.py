"""A preamble that is precompiled in this process: NVRTC reads no such header that another process made.

NVRTC says what it does with them in a compile's log, and takes a header for fresh whose texts in memory have changed;
so the preamble's digest decides. Nothing of this shows in an image, and a compile that ends in an error, or whose log
says that NVRTC did not take the header, is done again without.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from cuda.bindings import nvrtc

from hatch_cuda_kernels.child_process import is_child
from hatch_cuda_kernels.compiler.nvrtc_calls import NvrtcError, compile_program, open_program
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.compiler.preamble import Preamble
    from hatch_cuda_kernels.compiler.program import Program

__all__ = [
    "HEAP_BYTES",
    "Given",
    "begin_with_preamble",
    "can_precompile",
    "cleaned_log",
    "drop_preamble",
    "shared_flags",
    "with_preamble",
]

#: What NVRTC may keep of a header. CUB's take 100 to 200 MB; where it is too little, nothing is precompiled.
HEAP_BYTES: Final = 512 << 20

#: No file of a project has such a name in memory.
_PREAMBLE: Final = "/dev/null/preamble"
_NAME: Final = f"{VIRTUAL_ROOT}module.cu"
_SEED: Final = "--frandom-seed="
_PRE_INCLUDE: Final = "--pre-include="
_BEGINS: Final = f"{_PRE_INCLUDE}{_PREAMBLE}"
_CREATED: Final = re.compile(r'"[^"\n]*": creating precompiled header file "[^"\n]*"\n?')
_USED: Final = re.compile(r'"[^"\n]*": using precompiled header file "[^"\n]*"\n*')
#: A header's function is used by no kernel yet: what NVRTC says of that, it says again at the end of each compile.
_UNUSED: Final = re.compile(r"warning #177-D:[^\n]*")
_WARNING: Final = re.compile(r"(?:warning|error|remark) ?#?[\w-]*:[^\n]*", re.IGNORECASE)


class Given(NamedTuple):
    """What a compile gets that begins with a preamble."""

    flags: tuple[str, ...]
    headers: tuple[tuple[str, str], ...] = ()
    """(in-memory name, text)"""
    text: str = ""
    """What comes before the source."""


class _Precompiled(NamedTuple):
    """What was precompiled last."""

    digest: str
    file: int
    """Its descriptor; negative where that failed. The file has no name any more."""


_wanted: tuple[Preamble, bool] | None = None
_made: _Precompiled | None = None


def can_precompile() -> bool:
    """Return whether NVRTC precompiles headers here, from 12.8 on, into files that vanish with the process."""
    return sys.platform.startswith("linux") and hasattr(nvrtc, "nvrtcSetPCHHeapSize")


@contextmanager
def with_preamble(preamble: Preamble | None, *, makes: bool) -> Iterator[None]:
    """Let the compiles of a block begin with a preamble, in a process that does nothing but compile.

    ``makes`` says whether it is worth precompiling where that was not done yet.
    """
    global _wanted  # noqa: PLW0603 - a fact about the process
    _wanted = (preamble, makes) if preamble is not None and is_child() else None
    try:
        yield
    finally:
        _wanted = None


def shared_flags(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags of a compile that those which begin alike have in common."""
    return tuple(flag for flag in flags if not flag.startswith((_SEED, _PRE_INCLUDE)))


def begin_with_preamble(program: Program, flags: tuple[str, ...]) -> Given | None:
    """Return how a compile begins with the preamble of this process, which is precompiled when it is due; or None."""
    global _made  # noqa: PLW0603 - a fact about the process
    if _wanted is None:
        return None
    preamble, makes = _wanted
    if (_made is None or _made.digest != preamble.digest) and makes:
        if _made is not None:
            _close(_made)
        _made = _Precompiled(preamble.digest, _precompile(preamble, program, shared_flags(flags)))
    if _made is None or _made.digest != preamble.digest or _made.file < 0:
        return None
    seed = [flag for flag in flags if flag.startswith(_SEED)]
    used = f"--use-pch=/proc/self/fd/{_made.file}"
    # NVRTC takes no header before the source but the precompiled one.
    rest = [f'#include "{name}"\n' for name in program.pre_include if f'"{name}"' not in preamble.headers]
    text = "".join((*rest, "#line 1\n")) if rest else ""
    return Given((*shared_flags(flags), _BEGINS, *seed, used), ((_PREAMBLE, preamble.text),), text)


def cleaned_log(log: str) -> str | None:
    """Return a log as it is without a precompiled header; None if it says that the header was not used."""
    cleaned, count = _USED.subn("", log, count=1)
    return cleaned if count else None


def drop_preamble() -> None:
    """Begin no compile with this preamble again: one ended otherwise than without it."""
    global _made  # noqa: PLW0603 - a fact about the process
    if _made is not None:
        _close(_made)
        _made = _made._replace(file=-1)


def _close(made: _Precompiled) -> None:
    if made.file >= 0:
        os.close(made.file)


def _precompile(preamble: Preamble, program: Program, flags: tuple[str, ...]) -> int:
    """Precompile a preamble and return a descriptor of the file; -1 if NVRTC had anything to say about it."""
    nvrtc.nvrtcSetPCHHeapSize(HEAP_BYTES)
    path = os.path.join(tempfile.gettempdir(), f"hatch-cuda-kernels-{os.getpid()}.pch")  # noqa: PTH118
    headers = (*program.headers, (_PREAMBLE, preamble.text))
    try:
        if not _creates(path, headers, (*flags, _BEGINS, f"{_SEED}0", f"--create-pch={path}")):
            return -1
        return os.open(path, os.O_RDONLY)
    except (OSError, NvrtcError):
        return -1
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108


def _creates(path: str, headers: tuple[tuple[str, str], ...], flags: tuple[str, ...]) -> bool:
    with open_program("\n", _NAME, headers) as program:
        taken, log = compile_program(program, flags)
        (made,) = nvrtc.nvrtcGetPCHCreateStatus(program)
        return taken and int(made) == 0 and _is_quiet(log) and os.path.isfile(path)  # noqa: PTH113


def _is_quiet(log: str) -> bool:
    """Return whether nothing is in a log that a compile with the header would not say."""
    rest, count = _CREATED.subn("", log)
    return count == 1 and not _WARNING.search(_UNUSED.sub("", rest))
