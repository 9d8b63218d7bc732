"""Assemble PTX with ptxas, as a whole program: the machine code is that of NVRTC's own CUBIN, byte for byte.

nvJitLink takes PTX as relocatable code, in which helpers such as a 64-bit division stay calls, and registers are chosen
for the call convention: kernels are up to 1.5 times slower.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.job import Finished
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.extra import assembler_flags

if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["assemble"]

_SOURCE: Final = "module.ptx"
_IMAGE: Final = "module.cubin"


def assemble(ptxas: Path, text: str, *, arch: SmArch, options: NvrtcOptions, name: str) -> Finished:
    """Return a PTX text assembled for the real architecture ``arch`` by the program ``ptxas``.

    Raises CompileError, with ptxas's messages, where it refuses the text or cannot be run.
    """
    flags = (f"-arch={arch}", *_flags(options))
    with tempfile.TemporaryDirectory(prefix="hatch-cuda-kernels-") as folder:
        (Path(folder) / _SOURCE).write_text(text, encoding="utf-8")
        command = [str(ptxas), *flags, _SOURCE, "-o", _IMAGE]
        try:
            done = subprocess.run(  # noqa: S603 - of the toolkit's own wheel
                command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
        except OSError as error:
            raise CompileError(name, str(arch), f"{ptxas} cannot be run: {error.strerror}") from error
        log = (done.stdout + done.stderr).decode(errors="replace").strip()
        if done.returncode != 0:
            message = f"ptxas refused the PTX (status {done.returncode})"
            raise CompileError(name, str(arch), message, log=log, flags=flags)
        return Finished((Path(folder) / _IMAGE).read_bytes(), log)


def _flags(options: NvrtcOptions) -> list[str]:
    """Return what NVRTC hands to its own assembler for these options; a CUBIN's note tells it."""
    flags = [] if options.maxrregcount is None else [f"-maxrregcount={options.maxrregcount}"]
    flags += ["-fmad=false"] if options.fma is False else []
    flags += ["-lineinfo"] if options.lineinfo else []
    return [*flags, *assembler_flags(options.extra)]
