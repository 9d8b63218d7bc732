"""Link to a CUBIN with nvJitLink: needs no driver, so no driver can be too old for it.

It finishes LTO-IR, and links objects and libraries. PTX, too, where there is neither ptxas nor a compiler: as
relocatable code, which is slower (see ``compiler.ptxas``).
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.compiler.job import Finished
from hatch_cuda_kernels.compiler.output import without_times
from hatch_cuda_kernels.compiler.rooted import without_descriptors
from hatch_cuda_kernels.compiler.toolchain import load_nvjitlink, nvjitlink_version
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.options import assembler_flags
from hatch_cuda_kernels.threads import interruptible

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.includes import LibraryKind
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["LinkInput", "link"]

_INPUT_TYPES: Final[dict[Kind | LibraryKind, str]] = {
    "archive": "LIBRARY",
    "cubin": "CUBIN",
    "fatbin": "FATBIN",
    "ltoir": "LTOIR",
    "object": "CUBIN",
    "object file": "OBJECT",
    "ptx": "PTX",
}


class LinkInput(NamedTuple):
    """One thing to link."""

    data: bytes
    kind: Kind | LibraryKind
    name: str
    """What messages call it."""


class _Link(NamedTuple):
    """What is linked to what."""

    inputs: Sequence[LinkInput]
    arch: SmArch
    options: NvrtcOptions
    name: str
    keep: Collection[str] | None
    to_ptx: bool


def link(
    *inputs: LinkInput,
    arch: SmArch,
    options: NvrtcOptions,
    name: str,
    keep: Collection[str] | None = None,
    to_ptx: bool = False,
) -> Finished:
    """Return what is made of the inputs for the real architecture ``arch``, as a CUBIN or (LTO-IR only) as PTX.

    ``keep`` are, where everything is LTO-IR, the lowered names of the variables the host asks for: the others are left
    out where no kernel refers to them, and taken for constants where no kernel writes them. None keeps every variable.
    Raises CompileError with nvJitLink's log when it refuses, ToolchainError when it is not installed.
    """
    task = _Link(inputs, arch, options, name, keep, to_ptx)
    return interruptible(partial(_run, load_nvjitlink(), task))


def _run(nvjitlink: Any, task: _Link) -> Finished:  # a module
    handle, flags = None, _flags(task)
    try:
        handle = nvjitlink.create(len(flags), flags)
        for given in task.inputs:
            kind = getattr(nvjitlink.InputType, _INPUT_TYPES[given.kind])
            nvjitlink.add_data(handle, kind, given.data, len(given.data), given.name)
        with without_descriptors if task.options.lineinfo or task.options.debug else nullcontext():
            nvjitlink.complete(handle)
        image = _read(nvjitlink, handle, "linked_ptx" if task.to_ptx else "linked_cubin")
        image = image.rstrip(b"\0") if task.to_ptx else without_times(image)
        return Finished(image, _log(nvjitlink, handle, "info_log"))
    except nvjitlink.nvJitLinkError as error:
        log = _log(nvjitlink, handle, "error_log") if handle is not None else ""
        message = f"nvJitLink {nvjitlink_version()} refused the {_named(task.inputs)} ({error})"
        raise CompileError(task.name, str(task.arch), message, log=log, flags=flags) from error
    finally:
        if handle is not None:
            nvjitlink.destroy(handle)


def _named(inputs: Sequence[LinkInput]) -> str:
    return inputs[0].kind if len(inputs) == 1 else ", ".join(given.name for given in inputs)


def _flags(task: _Link) -> list[str]:
    """Return nvJitLink's flags; for LTO-IR, the options that act on code generation apply only here."""
    options = task.options
    # Where there is a driver, it would keep results in the driver's cache.
    flags = [f"-arch={task.arch}", "-no-cache"]
    flags += [f"-Xptxas={value}" for value in assembler_flags(options.extra)]
    if options.maxrregcount is not None:
        flags.append(f"-maxrregcount={options.maxrregcount}")
    flags += [flag for flag, on in (("-lineinfo", options.lineinfo), ("-g", options.debug)) if on]
    if all(given.kind != "ltoir" for given in task.inputs):
        return flags
    fast = options.use_fast_math
    flags += ["-lto", f"-ftz={int(fast if options.ftz is None else options.ftz)}"]
    flags += [f"-prec-div={int(not fast if options.prec_div is None else options.prec_div)}"]
    flags += [f"-prec-sqrt={int(not fast if options.prec_sqrt is None else options.prec_sqrt)}"]
    flags += [f"-fma={int(options.fma is not False)}", *(["-ptx"] if task.to_ptx else [])]
    # Beside machine code, these would remove the kernels that are in it, without a word.
    if task.keep is not None and all(given.kind == "ltoir" for given in task.inputs):
        flags += ["-optimize-unused-variables", *(f"-variables-used={variable}" for variable in task.keep)]
    return flags


def _read(nvjitlink: Any, handle: int, what: str) -> bytes:  # a module
    size = getattr(nvjitlink, f"get_{what}_size")(handle)
    buffer = bytearray(size)
    if size:
        getattr(nvjitlink, f"get_{what}")(handle, buffer)
    return bytes(buffer)


def _log(nvjitlink: Any, handle: int, what: str) -> str:  # a module
    return _read(nvjitlink, handle, what).rstrip(b"\0").decode(errors="replace")
