"""Finish LTO-IR to a CUBIN with nvJitLink: needs no driver, so no driver can be too old for it.

PTX, too, where there is neither ptxas nor a compiler: as relocatable code, which is slower (see ``compiler.ptxas``).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.compiler.job import Finished
from hatch_cuda_kernels.compiler.toolchain.libraries import load_nvjitlink, nvjitlink_version
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.extra import assembler_flags
from hatch_cuda_kernels.threads import interruptible

if TYPE_CHECKING:
    from collections.abc import Collection

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["link"]


def link(
    data: bytes,
    kind: Kind,
    *,
    arch: SmArch,
    options: NvrtcOptions,
    name: str,
    keep: Collection[str] | None = None,
    to_ptx: bool = False,
) -> Finished:
    """Return ``data`` finished for the real architecture ``arch``, as a CUBIN or (LTO-IR only) as PTX.

    ``keep`` are, of LTO-IR, the lowered names of the variables the host asks for: the others are left out where no
    kernel refers to them, and taken for constants where no kernel writes them. None keeps every variable. Raises
    CompileError with nvJitLink's log when it refuses, ToolchainError when it is not installed.
    """
    flags = _flags(kind, arch, options, to_ptx=to_ptx)
    if keep is not None and kind == "ltoir":
        flags += ["-optimize-unused-variables", *(f"-variables-used={variable}" for variable in keep)]
    return interruptible(partial(_link, load_nvjitlink(), data, kind, flags, name, arch, to_ptx=to_ptx))


def _link(
    nvjitlink: Any,  # a module
    data: bytes,
    kind: Kind,
    flags: list[str],
    name: str,
    arch: SmArch,
    *,
    to_ptx: bool,
) -> Finished:
    handle = None
    try:
        handle = nvjitlink.create(len(flags), flags)
        nvjitlink.add_data(handle, _input_type(nvjitlink, kind), data, len(data), name)
        nvjitlink.complete(handle)
        image = _read(nvjitlink, handle, "linked_ptx" if to_ptx else "linked_cubin")
        return Finished(image.rstrip(b"\0") if to_ptx else image, _log(nvjitlink, handle, "info_log"))
    except nvjitlink.nvJitLinkError as error:
        log = _log(nvjitlink, handle, "error_log") if handle is not None else ""
        message = f"nvJitLink {nvjitlink_version()} refused the {kind} ({error})"
        raise CompileError(name, str(arch), message, log=log, flags=flags) from error
    finally:
        if handle is not None:
            nvjitlink.destroy(handle)


def _flags(kind: Kind, arch: SmArch, options: NvrtcOptions, *, to_ptx: bool) -> list[str]:
    """Return nvJitLink's flags; for LTO-IR, the options that act on code generation apply only here."""
    flags = [f"-arch={arch}", "-no-cache"]  # where there is a driver, it would keep results in the driver's cache
    flags += [f"-Xptxas={value}" for value in assembler_flags(options.extra)]
    if options.maxrregcount is not None:
        flags.append(f"-maxrregcount={options.maxrregcount}")
    flags += [flag for flag, on in (("-lineinfo", options.lineinfo), ("-g", options.debug)) if on]
    if kind != "ltoir":
        return flags
    fast = options.use_fast_math
    flags += ["-lto", f"-ftz={int(fast if options.ftz is None else options.ftz)}"]
    flags += [f"-prec-div={int(not fast if options.prec_div is None else options.prec_div)}"]
    flags += [f"-prec-sqrt={int(not fast if options.prec_sqrt is None else options.prec_sqrt)}"]
    flags += [f"-fma={int(options.fma is not False)}"]
    return [*flags, "-ptx"] if to_ptx else flags


def _input_type(nvjitlink: Any, kind: Kind) -> Any:  # an enum of the bindings
    return {
        "ptx": nvjitlink.InputType.PTX,
        "ltoir": nvjitlink.InputType.LTOIR,
        "cubin": nvjitlink.InputType.CUBIN,
    }[kind]


def _read(nvjitlink: Any, handle: int, what: str) -> bytes:  # a module
    size = getattr(nvjitlink, f"get_{what}_size")(handle)
    buffer = bytearray(size)
    if size:
        getattr(nvjitlink, f"get_{what}")(handle, buffer)
    return bytes(buffer)


def _log(nvjitlink: Any, handle: int, what: str) -> str:  # a module
    return _read(nvjitlink, handle, what).rstrip(b"\0").decode(errors="replace")
