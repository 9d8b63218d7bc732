"""The second half of a compile: from the PTX or LTO-IR of a shared front end, or from objects, to images.

nvJitLink finishes LTO-IR, and links objects and libraries. It needs no driver, so no driver can be too old for it.
ptxas assembles PTX as a whole program: the machine code is that of NVRTC's own CUBIN, byte for byte. nvJitLink would
take PTX as relocatable code, in which helpers such as a 64-bit division stay calls, and registers are chosen for the
call convention: kernels are up to 1.5 times slower. It does so only where there is neither ptxas nor a compiler.

Errors name symbols as the source does, and say what is wrong between units: nvJitLink links two definitions of one
symbol without an error. They also say which target has an instruction that ptxas misses.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.binary import (
    Linkage,
    Ptx,
    demangled,
    linkage_of_object,
    linkage_of_ptx,
    read_cubin,
    read_ptx,
    without_times,
)
from hatch_cuda_kernels.compiler.job import Compiled, CompileJob, Finished, FinishJob
from hatch_cuda_kernels.compiler.nvrtc_calls import without_descriptors
from hatch_cuda_kernels.compiler.toolchain import load_nvjitlink, load_toolchain, nvjitlink_version, require_ptxas
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME, LibraryKind
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.forks import spawn_if_forked
from hatch_cuda_kernels.names import found_names, normalize_name
from hatch_cuda_kernels.options import NvrtcOptions, assembler_flags
from hatch_cuda_kernels.terminal import list_text
from hatch_cuda_kernels.threads import interruptible

if TYPE_CHECKING:
    from hatch_cuda_kernels.image import Kind, Symbol

_INPUT_TYPES: Final[dict[Kind | LibraryKind, str]] = {
    "archive": "LIBRARY",
    "cubin": "CUBIN",
    "fatbin": "FATBIN",
    "ltoir": "LTOIR",
    "object": "CUBIN",
    "object file": "OBJECT",
    "ptx": "PTX",
}
#: What messages call the PTX.
_NAME: Final = "module.ptx"
_MESSAGE: Final = "the sources cannot be linked"
_UNDEFINED: Final = re.compile(
    r"(?:Undefined reference to|Unresolved extern (?:function|variable)|Cannot take address of function) '([^'\n]+)'"
)
_REPEATED: Final = re.compile(r"Linking globals named '([^'\n]+)': symbol multiply defined")
_BAD_INPUT: Final = re.compile(r"bad input: ?(does not match type NVJITLINK_INPUT_[A-Z]+)?([^\n]*)")
#: What a launch in device code calls, and the rest of the runtime that device code has.
_RUNTIME: Final = re.compile(r"__cudaCDP2?\w+|cuda[A-Z]\w+")
#: What the front end says of these where a module does not link the device runtime.
_NOT_DECLARED: Final = re.compile(r"device-side kernel launch could not|identifier \"cuda[A-Z]\w+\" is undefined")
#: A member of namespace std, as names are encoded: the standard headers declare what only the host has, too.
_STANDARD: Final = re.compile(r"_Z(?:N[VKRO]*)?S[abdiost]")
#: How device code is kept from code of the host's.
KEEP_AWAY: Final = "keep it from NVRTC with #ifndef __CUDACC_RTC__, or name it under 'host_only'"
#: Instructions that each generation of GPUs has for its first targets only; what they begin with.
_OWNERS: Final = {"wgmma": "sm_90a", "tcgen05": "sm_100a"}
#: Of what later targets have as well, ptxas says that it "requires .target sm_80 or higher".
_LACKING: Final = re.compile(
    r"(?:Instruction|Feature) '(?P<what>[^'\n]+)' not supported on \.target '(?P<target>sm_\w+)'"
)


class LinkInput(NamedTuple):
    """One thing to link."""

    data: bytes
    kind: Kind | LibraryKind
    name: str


@spawn_if_forked
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
    nvjitlink, flags = load_nvjitlink(), _link_flags(inputs, arch, options, keep, to_ptx=to_ptx)

    def output(handle: int, what: str) -> bytes:
        buffer = bytearray(getattr(nvjitlink, f"get_{what}_size")(handle))
        if buffer:
            getattr(nvjitlink, f"get_{what}")(handle, buffer)
        return bytes(buffer)

    def run() -> Finished:
        handle = None
        try:
            handle = nvjitlink.create(len(flags), flags)
            for given in inputs:
                kind = getattr(nvjitlink.InputType, _INPUT_TYPES[given.kind])
                nvjitlink.add_data(handle, kind, given.data, len(given.data), given.name)
            with without_descriptors if options.lineinfo or options.debug else nullcontext():
                nvjitlink.complete(handle)
            image = output(handle, "linked_ptx" if to_ptx else "linked_cubin")
            image = image.rstrip(b"\0") if to_ptx else without_times(image)
            return Finished(image, output(handle, "info_log").rstrip(b"\0").decode(errors="replace"))
        except nvjitlink.nvJitLinkError as error:
            log = output(handle, "error_log").rstrip(b"\0").decode(errors="replace") if handle is not None else ""
            what = inputs[0].kind if len(inputs) == 1 else ", ".join(given.name for given in inputs)
            message = f"nvJitLink {nvjitlink_version()} refused the {what} ({error})"
            raise CompileError(name, str(arch), message, log=log, flags=flags) from error
        finally:
            if handle is not None:
                nvjitlink.destroy(handle)

    return interruptible(run)


def _link_flags(
    inputs: Sequence[LinkInput], arch: SmArch, options: NvrtcOptions, keep: Collection[str] | None, *, to_ptx: bool
) -> list[str]:
    """Return nvJitLink's flags; for LTO-IR, the options that act on code generation apply only here."""
    # Where there is a driver, it would keep results in the driver's cache.
    flags = [f"-arch={arch}", "-no-cache"]
    flags += [f"-Xptxas={value}" for value in assembler_flags(options.extra)]
    if options.maxrregcount is not None:
        flags.append(f"-maxrregcount={options.maxrregcount}")
    flags += [flag for flag, on in (("-lineinfo", options.lineinfo), ("-g", options.debug)) if on]
    if all(given.kind != "ltoir" for given in inputs):
        return flags
    fast = options.use_fast_math
    flags += ["-lto", f"-ftz={int(fast if options.ftz is None else options.ftz)}"]
    flags += [f"-prec-div={int(not fast if options.prec_div is None else options.prec_div)}"]
    flags += [f"-prec-sqrt={int(not fast if options.prec_sqrt is None else options.prec_sqrt)}"]
    flags += [f"-fma={int(options.fma is not False)}", *(["-ptx"] if to_ptx else [])]
    # Beside machine code, these would remove the kernels that are in it, without a word.
    if keep is not None and all(given.kind == "ltoir" for given in inputs):
        flags += ["-optimize-unused-variables", *(f"-variables-used={variable}" for variable in keep)]
    return flags


def assemble(ptxas: Path, text: str, *, arch: SmArch, options: NvrtcOptions, name: str) -> Finished:
    """Return a PTX text as ``ptxas`` assembles it. Raises CompileError if ptxas refuses the text or cannot be run."""
    # As NVRTC calls its own assembler for these options, by a CUBIN's note.
    flags = [f"-arch={arch}", *([] if options.maxrregcount is None else [f"-maxrregcount={options.maxrregcount}"])]
    flags += ["-fmad=false"] if options.fma is False else []
    flags += [*(["-lineinfo"] if options.lineinfo else []), *assembler_flags(options.extra)]
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


def finish(job: FinishJob) -> Compiled:
    """Finish one job, which has its inputs, and return its images with what they hold.

    The CUBIN is always made: where only PTX is asked for, it proves that the PTX can be assembled. Raises CompileError
    with the finisher's log, or when a symbol is lost; ToolchainError when the finisher is missing.
    """
    start = time.perf_counter()
    isa = max(given.ptx_isa for given in job.inputs)
    kernels, variables = _kernels(job), tuple(symbol for given in job.inputs for symbol in given.globals)
    if job.finisher == "ptxas":
        ptxas, ptx = require_ptxas(load_toolchain().nvrtc).path, job.inputs[0].image.decode()
        made = assemble(ptxas, ptx, arch=job.arch, options=job.fronts[0].options, name=job.module)
    else:
        made = _link(job)
    images: dict[Kind, bytes] = {"cubin": made.image}
    if "ptx" in job.kinds:
        images["ptx"] = _link(job, to_ptx=True).image
        isa = read_ptx(images["ptx"].decode()).isa
    held = read_cubin(made.image)
    # A status of success does not prove that everything the inputs had is still there.
    lost = [symbol.name for symbol in kernels if symbol.lowered not in held.kernels]
    lost += [f"&{symbol.name}" for symbol in variables if symbol.lowered not in held.variables]
    if lost:
        raise CompileError(job.module, str(job.arch), f"not in the image: {', '.join(lost)}", bad_names=lost)
    own = {symbol.lowered for symbol in kernels}  # libraries have kernels, too
    return Compiled(
        images={kind: images[kind] for kind in job.kinds},
        kernels=kernels,
        globals=variables,
        resources={name: used for name, used in held.resources.items() if name in own},
        ptx_isa=isa,
        toolchain=job.toolchain(load_toolchain()),
        log="\n".join(filter(None, dict.fromkeys([*(given.log for given in job.inputs), made.log.strip()]))),
        seconds=time.perf_counter() - start,
    )


def finish_lto(job: CompileJob, ltoir: bytes, keep: list[str], log: str) -> tuple[dict[Kind, bytes], Ptx, str]:
    """Finish LTO-IR with nvJitLink, which proves that it can become a CUBIN; of a unit, the PTX shows what is in it."""
    given, kept = LinkInput(ltoir, "ltoir", job.module), None if job.is_unit else keep
    finish_for = partial(link, given, arch=job.arch, options=job.options, name=job.module, keep=kept)
    ptx = finish_for(to_ptx=True).image
    if job.is_unit:
        return {"ltoir": ltoir}, read_ptx(ptx.decode()), log
    linked = finish_for()
    return {"ltoir": ltoir, "cubin": linked.image, "ptx": ptx}, read_ptx(ptx.decode()), f"{log}\n{linked.log}"


def _kernels(job: FinishJob) -> tuple[Symbol, ...]:
    """Return all inputs' kernels; those nobody asked for by plain names, which two units may have in common."""
    if len(job.inputs) == 1:
        return job.inputs[0].kernels
    asked: dict[str, Symbol] = {}
    for front, given in zip(job.fronts, job.inputs, strict=True):
        names = set(map(normalize_name, front.names))
        asked |= {symbol.lowered: symbol for symbol in given.kernels if normalize_name(symbol.name) in names}
    others = {symbol.lowered: symbol for given in job.inputs for symbol in given.kernels if symbol.lowered not in asked}
    return (*asked.values(), *(others[lowered]._replace(name=name) for lowered, name in found_names(others).items()))


def _link(job: FinishJob, *, to_ptx: bool = False) -> Finished:
    units = [
        LinkInput(given.image, job.input_kind, front.source_path)
        for front, given in zip(job.fronts, job.inputs, strict=True)
    ]
    check_inputs(job, units)
    libraries = [LinkInput(library.data, library.kind, library.name) for library in job.libraries]
    keep = [symbol.lowered for given in job.inputs for symbol in given.globals]
    options = job.fronts[0].options
    try:
        return link(*units, *libraries, arch=job.arch, options=options, name=job.module, keep=keep, to_ptx=to_ptx)
    except CompileError as error:
        raise explain_refusal(error, units) from error


def check_inputs(job: FinishJob, units: Sequence[LinkInput]) -> None:
    """Raise CompileError for what nvJitLink would not refuse as it should.

    Of two objects that define a symbol, it takes the first and goes on. A CUBIN for another architecture leaves it with
    a lock that no other thread gets, and a damaged one ends the process.
    """
    cubins = [library for library in job.libraries if library.kind == "cubin"]
    faults = []
    for library in cubins:
        try:
            found = read_cubin(library.data)
            made_for = SmArch.parse(found.arch or f"sm_{found.sm}")
        except ValueError as error:
            faults.append(f"{library.name} cannot be linked: {error}")
            continue
        if not found.relocatable:
            faults.append(f"{library.name} is not relocatable code; compile it with nvcc's -dc")
        elif made_for.refusal(job.arch.capability) is not None:
            faults.append(_bad_library(library.name, "", str(job.arch)))
    if not faults:
        objects = [(unit.name, unit.data) for unit in units if unit.kind == "object"]
        objects += [(library.name, library.data) for library in cubins]
        faults = _repeats({name: linkage_of_object(data) for name, data in objects})
    if faults:
        raise CompileError(job.module, str(job.arch), _MESSAGE, faults=faults)


def explain_refusal(error: CompileError, units: Sequence[LinkInput]) -> CompileError:
    """Return nvJitLink's refusal with faults that name symbols and sources as the user knows them."""
    faults = [_bad_library(name, mismatch, error.arch) for mismatch, name in _BAD_INPUT.findall(error.log)]
    faults += [
        f"a library's LTO-IR is for compute_{number}, which {error.arch} cannot use; build it for the lowest of all"
        for number in re.findall(r"(\d+) in LTOIR arch newer than target arch", error.log)
    ]
    if "LTO-IR input cannot be used without LTO enabled" in error.log:
        faults.append("a library holds LTO-IR; write lto: true under 'options:' of this module")
    if "requires that all inputs have LTOIR" in error.log:
        fix = "list no compute_ architecture for this module"
        faults.append(f"PTX is linked from LTO-IR, and a library has none; {fix}")
    undefined, repeated = undefined_symbols(error.log), _REPEATED.findall(error.log)
    if undefined or repeated:
        linkage = {unit.name: _linkage_of(unit, error) for unit in units}
        faults += _repeats(linkage) if repeated else []
        for symbol in undefined:
            users = [source for source, symbols in linkage.items() if symbol in symbols.undefined] or ["a library"]
            uses = f"{' and '.join(users)} use{'' if len(users) > 1 else 's'}"
            faults.append(f"{uses} {demangled(symbol)}, which nothing defines; {_undefined_fix(symbol)}")
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
    if _RUNTIME.fullmatch(symbol):
        return f"link CUDA's device runtime: 'libraries: [{DEVICE_RUNTIME}]'"
    if _STANDARD.match(symbol):
        return f"it is the host's, and no kernel can call it: give the kernel pointers and numbers, or {KEEP_AWAY}"
    return "list the source that defines it under 'sources:', or the library that has it under 'libraries:'"


def _linkage_of(unit: LinkInput, error: CompileError) -> Linkage:
    if unit.kind == "object":
        return linkage_of_object(unit.data)
    try:  # LTO-IR shows its symbols once it is PTX
        arch = SmArch.parse(error.arch)
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


def _bad_library(name: str, mismatch: str, arch: str) -> str:
    if mismatch:
        return f"{name} is not what its suffix says"
    return f"{name} has no code for {arch}; build the library for this architecture, or ship it as LTO-IR"


def advice_on_target(message: str) -> str:
    """Return which architecture to list because of a message of ptxas's; empty where that is not known."""
    found = _LACKING.search(message)
    owner = None if found is None else _owner(found)
    if found is None or owner is None:
        return ""
    instead = f"list it in the module's 'arches:' in place of {found['target']}"
    if found["what"].startswith(tuple(_OWNERS)):
        return f"architecture {owner} has this: {instead}"
    return f"only architecture-specific code has this; if {owner} does, {instead}"


def _owner(found: re.Match[str]) -> SmArch | None:
    """Return the target that has what another lacks, as far as that is known; else that target's own, if any."""
    target = SmArch.parse(found["target"])
    # The first that may have a suffix.
    own = None if target.suffix or target.number < 90 else f"{target}a"
    owner = next((owner for begin, owner in _OWNERS.items() if found["what"].startswith(begin)), own)
    return SmArch.parse(owner) if owner else None


def lacking_targets(log: str) -> dict[SmArch, SmArch]:
    """Return the targets that ptxas says lack an instruction, each with the one to compile for in its place."""
    owners = {SmArch.parse(found["target"]): _owner(found) for found in _LACKING.finditer(log)}
    return {target: owner for target, owner in owners.items() if owner is not None}


def target_faults(log: str) -> list[str]:
    """Return the instructions that ptxas says a target lacks, together where the same is to be done about them."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for found in _LACKING.finditer(log):
        named = lacking.setdefault((found["target"], advice_on_target(found[0])), [])
        if found["what"] not in named:
            named.append(found["what"])
    return [f"{target} has no {list_text(named)}\n  to fix: {fix}" for (target, fix), named in lacking.items() if fix]
