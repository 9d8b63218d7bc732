"""What is wrong between the units of a module: what none of them defines, and what two of them define.

nvJitLink names neither as the source does, and links two definitions of one symbol without an error.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.output import Linkage, demangled, linkage_of_object, linkage_of_ptx, read_cubin
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.includes import DEVICE_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.compiler.finish_job import FinishJob
    from hatch_cuda_kernels.compiler.nvjitlink import LinkInput
    from hatch_cuda_kernels.includes import DeviceLibrary

__all__ = [
    "KEEP_AWAY",
    "check_inputs",
    "explain_refusal",
    "lacks_device_runtime",
    "undefined_faults",
    "undefined_symbols",
]

_MESSAGE: Final = "the sources cannot be linked"

_UNDEFINED: Final = re.compile(
    r"(?:Undefined reference to|Unresolved extern (?:function|variable)|Cannot take address of function) '([^'\n]+)'"
)
_REPEATED: Final = re.compile(r"Linking globals named '([^'\n]+)': symbol multiply defined")
_BAD_INPUT: Final = re.compile(r"bad input: ?(does not match type NVJITLINK_INPUT_[A-Z]+)?([^\n]*)")
_OLDER_ARCH: Final = re.compile(r"(\d+) in LTOIR arch newer than target arch")
_NO_LTO_IR: Final = "requires that all inputs have LTOIR"
_LTO_IR: Final = "LTO-IR input cannot be used without LTO enabled"
#: What a launch in device code calls, and the rest of the runtime that device code has.
_RUNTIME: Final = re.compile(r"__cudaCDP2?\w+|cuda[A-Z]\w+")
#: What the front end says of these where a module does not link the device runtime.
_NOT_DECLARED: Final = re.compile(r"device-side kernel launch could not|identifier \"cuda[A-Z]\w+\" is undefined")
#: A member of namespace std, as names are encoded: the standard headers declare what only the host has, too.
_STANDARD: Final = re.compile(r"_Z(?:N[VKRO]*)?S[abdiost]")
#: How device code is kept from code of the host's.
KEEP_AWAY: Final = "keep it from NVRTC with #ifndef __CUDACC_RTC__, or name it under 'host_only'"


def check_inputs(job: FinishJob, units: Sequence[LinkInput]) -> None:
    """Raise CompileError for what nvJitLink would not refuse as it should.

    Of two objects that define a symbol, it takes the first and goes on. A CUBIN for another architecture leaves it with
    a lock that no other thread gets, and a damaged one ends the process.
    """
    cubins = [library for library in job.libraries if library.kind == "cubin"]
    faults = [fault for library in cubins if (fault := _unfit(library, job.arch))]
    if not faults:
        objects = [(unit.name, unit.data) for unit in units if unit.kind == "object"]
        objects += [(library.name, library.data) for library in cubins]
        faults = _repeats({name: linkage_of_object(data) for name, data in objects})
    if faults:
        raise CompileError(job.module, str(job.arch), _MESSAGE, faults=faults)


def _unfit(library: DeviceLibrary, arch: SmArch) -> str:
    """Return why a CUBIN cannot be linked for an architecture; empty if it can."""
    try:
        found = read_cubin(library.data)
        made_for = SmArch.parse(found.arch or f"sm_{found.sm}")
    except ValueError as error:
        return f"{library.name} cannot be linked: {error}"
    if not found.relocatable:
        return f"{library.name} is no relocatable code; compile it with nvcc's -dc"
    return "" if made_for.refusal(arch.capability) is None else _bad_library(library.name, "", str(arch))


def explain_refusal(error: CompileError, units: Sequence[LinkInput]) -> CompileError:
    """Return nvJitLink's refusal with faults that name symbols and sources as the user knows them."""
    faults = [_bad_library(name, mismatch, error.arch) for mismatch, name in _BAD_INPUT.findall(error.log)]
    faults += [
        f"a library's LTO-IR is for compute_{number}, which {error.arch} cannot use; build it for the lowest of all"
        for number in _OLDER_ARCH.findall(error.log)
    ]
    if _LTO_IR in error.log:
        faults.append("a library holds LTO-IR; write lto: true under 'options:' of this module")
    if _NO_LTO_IR in error.log:
        fix = "list no compute_ architecture for this module"
        faults.append(f"PTX is linked from LTO-IR, and a library has none; {fix}")
    undefined, repeated = undefined_symbols(error.log), _REPEATED.findall(error.log)
    if undefined or repeated:
        linkage = {unit.name: _linkage(unit, error) for unit in units}
        faults += _repeats(linkage) if repeated else []
        faults += [_undefined(symbol, linkage) for symbol in undefined]
    if not faults:
        return error
    message = _MESSAGE if undefined or repeated else error.message
    return CompileError(error.module, error.arch, message, log=error.log, flags=error.flags, faults=faults)


def undefined_symbols(log: str) -> list[str]:
    """Return what a tool says in its log that nothing defines: the symbols, once each."""
    return [*dict.fromkeys(_UNDEFINED.findall(log))]


def lacks_device_runtime(log: str) -> bool:
    """Return whether a tool may say in its log that the device runtime is missing."""
    return bool(_NOT_DECLARED.search(log)) or any(map(_RUNTIME.fullmatch, undefined_symbols(log)))


def undefined_faults(log: str) -> list[str]:
    """Return what a tool says in its log that nothing defines, each with what to do."""
    return [f"nothing defines {demangled(symbol)}; {_undefined_fix(symbol)}" for symbol in undefined_symbols(log)]


def _undefined_fix(symbol: str) -> str:
    """Return what to do about a symbol that nothing defines."""
    if _RUNTIME.fullmatch(symbol):
        return f"link CUDA's device runtime: 'libraries: [{DEVICE_RUNTIME}]'"
    if _STANDARD.match(symbol):
        return f"it is the host's, and no kernel can call it: give the kernel pointers and numbers, or {KEEP_AWAY}"
    return "list the source that defines it under 'sources:', or the library that has it under 'libraries:'"


def _linkage(unit: LinkInput, error: CompileError) -> Linkage:
    """Return a unit's symbols; LTO-IR shows them once it is PTX."""
    if unit.kind == "object":
        return linkage_of_object(unit.data)
    from hatch_cuda_kernels.compiler.nvjitlink import link
    from hatch_cuda_kernels.options import NvrtcOptions

    arch = SmArch.parse(error.arch)
    try:
        ptx = link(unit, arch=arch, options=NvrtcOptions(), name=error.module, to_ptx=True).image
    except CompileError:
        return Linkage(frozenset(), frozenset())
    return linkage_of_ptx(ptx.decode(errors="replace"))


def _repeats(linkage: dict[str, Linkage]) -> list[str]:
    definers: dict[str, list[str]] = defaultdict(list)
    for source, symbols in linkage.items():
        for symbol in symbols.defined:
            definers[symbol].append(source)
    return [
        f"{demangled(symbol)} is defined in {' and in '.join(sources)}; define it in one of them, and declare it "
        "in the others (a variable: extern)"
        for symbol, sources in sorted(definers.items())
        if len(sources) > 1
    ]


def _undefined(symbol: str, linkage: dict[str, Linkage]) -> str:
    users = [source for source, symbols in linkage.items() if symbol in symbols.undefined]
    where = f"{' and '.join(users)} use{'' if len(users) > 1 else 's'}" if users else "a library uses"
    return f"{where} {demangled(symbol)}, which nothing defines; {_undefined_fix(symbol)}"


def _bad_library(name: str, mismatch: str, arch: str) -> str:
    if mismatch:
        return f"{name} is not what its suffix says"
    return f"{name} has no code for {arch}; build the library for this architecture, or ship it as LTO-IR"
