"""Assemble PTX with ptxas, as a whole program: the machine code is that of NVRTC's own CUBIN, byte for byte.

nvJitLink takes PTX as relocatable code, in which helpers such as a 64-bit division stay calls, and registers are chosen
for the call convention: kernels are up to 1.5 times slower.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.job import Finished
from hatch_cuda_kernels.compiler.link_faults import undefined_faults
from hatch_cuda_kernels.compiler.output import without_times
from hatch_cuda_kernels.compiler.target_faults import target_faults
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.options import assembler_flags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["assemble"]

#: What messages call the PTX.
_NAME: Final = "module.ptx"


def assemble(ptxas: Path, text: str, *, arch: SmArch, options: NvrtcOptions, name: str) -> Finished:
    """Return a PTX text assembled for the real architecture ``arch`` by the program ``ptxas``.

    Raises CompileError, with ptxas's messages, where it refuses the text or cannot be run.
    """
    flags = (f"-arch={arch}", *_flags(options))
    with _files() as (source, image, inherited):
        source.write_text(text, encoding="utf-8")
        command = [str(ptxas), *flags, str(source), "-o", str(image)]
        try:
            done = subprocess.run(  # noqa: S603 - of the toolkit
                command, stdin=subprocess.DEVNULL, capture_output=True, pass_fds=inherited, check=False
            )
        except OSError as error:
            raise CompileError(name, str(arch), f"{ptxas} cannot be run: {error.strerror}") from error
        log = (done.stdout + done.stderr).decode(errors="replace").replace(str(source), _NAME).strip()
        if done.returncode != 0:
            message = f"ptxas refused the PTX (status {done.returncode})"
            faults = (*undefined_faults(log), *target_faults(log))
            raise CompileError(name, str(arch), message, log=log, flags=flags, faults=faults)
        return Finished(without_times(image.read_bytes()), log)


@contextmanager
def _files() -> Iterator[tuple[Path, Path, tuple[int, ...]]]:
    """Yield where PTX and CUBIN go, and what ptxas inherits: files in memory, if possible, so that kills leave none."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("ptx")) as ptx, os.fdopen(os.memfd_create("cubin")) as cubin:
            opened = ptx.fileno(), cubin.fileno()
            yield Path(f"/proc/self/fd/{opened[0]}"), Path(f"/proc/self/fd/{opened[1]}"), opened
    else:
        with TemporaryDirectory(prefix="hatch-cuda-kernels-") as folder:
            yield Path(folder, _NAME), Path(folder, "module.cubin"), ()


def _flags(options: NvrtcOptions) -> list[str]:
    """Return what NVRTC hands to its own assembler for these options; a CUBIN's note tells it."""
    flags = [] if options.maxrregcount is None else [f"-maxrregcount={options.maxrregcount}"]
    flags += ["-fmad=false"] if options.fma is False else []
    flags += ["-lineinfo"] if options.lineinfo else []
    return [*flags, *assembler_flags(options.extra)]
