"""Rungs 4 and 5: a compile of the shipped source, and prebuilt PTX or LTO-IR finished to a CUBIN.

With rung 5, no driver is too old for PTX. ptxas gives the code that a driver would. nvJitLink takes PTX as relocatable
code, which is slower. Each compile is logged, with the reason, the time it took, and how to avoid it.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels import compiler  # whose names are imported when they are used
from hatch_cuda_kernels.arch import isa_refusal, preference, release_of, unknown_arch, version_text
from hatch_cuda_kernels.cache import Entry, open_cache
from hatch_cuda_kernels.environment import JIT, trace_files
from hatch_cuda_kernels.errors import CompileError, InputError, Problem, StoreError, ToolchainError, reason_of
from hatch_cuda_kernels.image import Candidate
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.runtime.ladder.request import image_of, recorded_candidate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler import Finished
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.image import Finisher, Image, Kind
    from hatch_cuda_kernels.runtime.ladder.request import Request
    from hatch_cuda_kernels.store import ImageRecord

#: Seconds. Shorter compiles are logged as INFO, longer ones as WARNING, which shows without any logging set up.
_NOTICEABLE: Final = 1.0


def get_or_make_image(request: Request, key: str, arch: SmArch, tool: str, make: Callable[[], Entry]) -> Image:
    """Make an image and record it, unless another process does so. Log that, and how to avoid it."""
    what, why = f"{request.module.module} ({request.kernel.name}) for {arch} with {tool}", request.why_not_prebuilt

    def compile_now() -> Entry:
        log("compiling %s; %s", what, why)
        if files := trace_files():
            from hatch_cuda_kernels.runtime.ladder.trace import record_compile  # few programs are traced

            record_compile(files, request, arch, tool)
        nvtx = sys.modules.get("nvtx")  # if the application has imported it
        name = f"hatch_cuda_kernels: compile {request.kernel.name}"
        with nullcontext() if nvtx is None else nvtx.annotate(name), _progress(f"compiling {what}"):
            return make()

    entry, made = open_cache().get_or_make(key, compile_now)
    image = image_of(entry, "jitted" if made else "cached")
    if made:
        recorded = image.path is not None
        kept = "recorded for the next process" if recorded else "not recorded, so that each process compiles it again"
        ship = f"ship {arch}" if request.listed else f"list the {request.what_is_unlisted} in kernels.yaml"
        advice = f"to avoid it, {ship}, or set {JIT}=0 to forbid it"
        text, is_warning = "compiled %s in %.2f s, %s; %s; %s", entry.seconds > _NOTICEABLE
        log(text, what, entry.seconds, kept, why, advice, is_warning=is_warning)
    return image


def log(text: str, *facts: object, is_warning: bool = False) -> None:
    """Log for the application, as INFO or WARNING. If nobody has imported logging, nobody has asked for INFO."""
    if is_warning or "logging" in sys.modules:
        import logging  # as dataclasses, only where something is compiled

        logging.getLogger("hatch_cuda_kernels").log(logging.WARNING if is_warning else logging.INFO, text, *facts)


@contextmanager
def _progress(text: str) -> Iterator[None]:
    """On a terminal, show a line that counts seconds once the body has taken one."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def count() -> None:
        start = time.monotonic()
        if done.wait(_NOTICEABLE):
            return
        while not done.wait(0.2):
            sys.stderr.write(f"\r{text} ... {time.monotonic() - start:.0f} s")
            sys.stderr.flush()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def jit_candidates(request: Request) -> Iterator[Candidate]:
    """Yield the compile that would serve this device; ``get`` runs it."""
    damage = None
    try:
        found = request.compile_refusal or _key_and_nvrtc(request)
    except StoreError as error:
        damage, found = error, reason_of(error)
    if isinstance(found, str | Problem):
        reason, fix = (found, "") if isinstance(found, str) else found[:2]
        yield Candidate("jitted", request.arch, "cubin", accepted=False, reason=reason, damage=damage, fix=fix)
        return
    key, nvrtc = found
    reason = f"compiled from {', '.join(request.module.sources)} by NVRTC {nvrtc}"
    get = partial(_jit, request, key, nvrtc)
    yield Candidate("jitted", request.arch, "cubin", accepted=True, reason=reason, get=get)


def _key_and_nvrtc(request: Request) -> tuple[str, str] | str | Problem:
    """Return a compile's key and NVRTC's version, or why there can be none. Raises StoreError for damaged sources."""
    from hatch_cuda_kernels.compiler.toolchain import (
        current_toolchain,
        supports_arch,  # off the cached path
    )

    arch = request.arch
    try:
        toolchain = current_toolchain()
        key = request.source.key(arch, request.instance, toolchain)
        request.source.check()
        supported = supports_arch(arch, toolchain.release)
        problem = request.source.disagreement(arch, request.instance, toolchain)
    except InputError as error:
        request.source.check()  # the fault may be in the index alone
        return reason_of(error)
    except ToolchainError as error:
        return reason_of(error)
    if not supported:
        return f"NVRTC {toolchain.nvrtc} does not know {arch}"
    return problem or (key, f"{toolchain.nvrtc}{_older(request, toolchain)}")


def _older(request: Request, toolchain: Toolchain) -> str:
    """Return what is said of an NVRTC that is older than that of the build, with which most sources compile, too."""
    built = request.module.toolchain.get("nvrtc", "")
    return f", older than the build's {built}" if built and toolchain.release < release_of(built) else ""


def _jit(request: Request, key: str, nvrtc: str) -> Image:
    known = request.compiled.pop(key, None)
    return known or get_or_make_image(request, key, request.arch, f"NVRTC {nvrtc}", partial(_compile, request))


def jit_ahead(request: Request) -> None:
    """Compile for this request now, if that is possible; it keeps the image."""
    found = _key_and_nvrtc(request)
    if not isinstance(found, str | Problem):
        request.compiled[found[0]] = _jit(request, *found)


def _compile(request: Request) -> Entry:
    from dataclasses import replace  # who waits for another process's compile needs none of what it imports

    from hatch_cuda_kernels.compiler.toolchain import ask_ahead, load_toolchain, pip_install, toolchain_requirements

    ask_ahead()
    with suppress(ImportError):
        _ = compiler.run_job  # is imported while NVRTC starts
    toolchain = load_toolchain()  # says what to install if it is missing
    source = request.source
    used, keyed = source.toolchain(toolchain), source.job(request.arch, request.instance)
    job = keyed if used is toolchain else source.job(request.arch, request.instance, as_here=True)
    job.check(toolchain)  # NVRTC is loaded by now: another one may have been in the process
    while True:
        try:
            compiled = replace(compiler.run_job(job), toolchain=keyed.toolchain(used))
            break
        except CompileError as error:
            further = source.job_after(error, request.arch, request.instance)
            if further is None:
                if older := _older(request, toolchain):
                    built = request.module.toolchain
                    parts = toolchain_requirements(built["nvrtc"], headers=built.get("headers", ""))
                    error.add_note(f"NVRTC is {toolchain.nvrtc}{older}\n  to fix: {pip_install(*parts)}")
                raise
            job = further
    entry = compiler.entry_of(keyed, "cubin", compiled, wanted=request.kernel.name)
    index = request.module
    return entry if request.unlisted is None else entry._replace(family=index.family, axes=index.axes)


_FINISHERS: Final[dict[Kind, tuple[Finisher, ...]]] = {"ptx": ("ptxas", "nvjitlink"), "ltoir": ("nvjitlink",)}
_SLOWER: Final = " as relocatable code, up to 1.5 times slower"


class _Tool(NamedTuple):
    finisher: Finisher
    version: str
    name: str
    refusal: str | None = None
    """Why it cannot finish this image."""
    path: Path | None = None


class _Finish(NamedTuple):
    """A prebuilt image that is finished to a CUBIN for an architecture."""

    request: Request
    record: ImageRecord
    arch: SmArch

    def candidates(self) -> Iterator[Candidate]:
        """Yield the CUBIN that was recorded, the reason that there can be none, or what each tool would make."""
        known = self._recorded()
        refusal = self._refusal()
        if known is not None:
            yield known
        elif refusal is not None:
            yield Candidate("jitted", self.arch, "cubin", accepted=False, reason=refusal)
        else:
            for tool in _tools(self.record, self.arch):
                made = f"{self.record.arch} {self.record.kind} finished by {tool.name}{self._slower(tool.finisher)}"
                key, make = self._key(tool.finisher), partial(self._entry, tool)
                get = partial(get_or_make_image, self.request, key, self.arch, tool.name, make)
                yield Candidate("jitted", self.arch, "cubin", tool.refusal is None, tool.refusal or made, get)

    def _recorded(self) -> Candidate | None:
        """Return the CUBIN that an earlier process made, or None; ptxas's comes before nvJitLink's."""
        for finisher in _FINISHERS[self.record.kind]:
            known = recorded_candidate(self.request, self._key(finisher))
            if known is not None:
                reason = f"{known.reason}{self._slower(finisher)}"
                return known._replace(reason=reason) if known.accepted else known
        return None

    def _refusal(self) -> str | None:
        request, record = self.request, self.record
        if request.compile_refusal is not None:
            return request.compile_refusal
        unknown = record.kind != "ptx" or isa_refusal(record.ptx_isa, request.driver, "the driver") is not None
        return None if unknown or request.refused(record.sha256) else "the driver assembles this PTX itself"

    def _slower(self, finisher: Finisher) -> str:
        return _SLOWER if (self.record.kind, finisher) == ("ptx", "nvjitlink") else ""

    def _key(self, finisher: Finisher) -> str:
        return self.request.source.finished_key(self.record, self.arch, finisher)

    def _entry(self, tool: _Tool) -> Entry:
        start = time.perf_counter()
        done = self._run(tool)
        return Entry(
            key=self._key(tool.finisher),
            module=self.request.module.module,
            kind="cubin",
            arch=self.arch,
            image=done.image,
            kernels=(),
            globals=(),
            resources={},
            ptx_isa=self.record.ptx_isa,
            toolchain={tool.finisher: tool.version, "headers": ""},
            log="",
            created=Entry.now(),
            seconds=time.perf_counter() - start,
            wanted=self.request.kernel.name,
        )

    def _run(self, tool: _Tool) -> Finished:
        request, record, arch = self.request, self.record, self.arch
        data, module, options = request.read(record).data, request.module.module, request.source.recipe().options
        if tool.path is not None:
            return compiler.assemble(tool.path, data.decode(), arch=arch, options=options, name=module)
        given, keep = compiler.LinkInput(data, record.kind, module), request.source.kept_variables(record)
        return compiler.link(given, arch=arch, options=options, name=module, keep=keep)


def finished_candidates(request: Request) -> Iterator[Candidate]:
    """Yield the CUBIN that exists, or that would be made, for each prebuilt LTO-IR or PTX that suits the device."""
    if not request.listed or request.source.stale:
        return
    records = [record for record in request.module.images if record.kind != "cubin"]
    for record in sorted(records, key=lambda record: (record.kind, preference(record.arch, request.capability))):
        if record.arch.refusal(request.capability) is None and request.kernel.lowered not in record.lacks:
            # A suffix freezes the code to its device or family, so the result keeps it.
            exact = record.arch.capability == request.capability
            yield from _Finish(request, record, record.arch.real if exact else request.arch.plain).candidates()


def _tools(record: ImageRecord, arch: SmArch) -> Iterator[_Tool]:
    """Yield the tools that can finish an image, best first: a ptxas that can read it, then nvJitLink."""
    if record.kind == "ptx":
        from hatch_cuda_kernels.compiler.toolchain import installed_ptxas  # runs programs

        for found in installed_ptxas():
            name, release = f"ptxas {found.version}", release_of(found.version)
            if isa_refusal(record.ptx_isa, release, name) is None:
                yield _Tool("ptxas", found.version, name, refusal := unknown_arch(arch, release, name), found.path)
                if refusal is None:
                    break
    from hatch_cuda_kernels.compiler.toolchain import nvjitlink_version  # a large library

    try:
        release = nvjitlink_version()
    except ToolchainError as error:
        yield _Tool("nvjitlink", "", "nvJitLink", error.message)
        return
    name = f"nvJitLink {version_text(release)}"
    refusal = isa_refusal(record.ptx_isa, release, name) or unknown_arch(arch, release, name)
    yield _Tool("nvjitlink", version_text(release), "nvJitLink", refusal)
