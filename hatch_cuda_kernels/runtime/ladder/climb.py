"""The ladder: which image a kernel gets on a device, and why not another.

Each rung is a function that yields candidates, best first; a ladder is a tuple of rungs. A candidate is accepted or
carries the reason it was refused. The table proposes; where there is a device, its driver decides. The climb tries
candidates in order until one is taken.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from hatch_cuda_kernels.arch import SmArch, preference, version_text
from hatch_cuda_kernels.environment import JIT, trace_files
from hatch_cuda_kernels.errors import (
    CompileError,
    ImageRefusedError,
    InputError,
    NoImageError,
    StoreError,
    ToolchainError,
    reason_of,
)
from hatch_cuda_kernels.image import Candidate, Image, fixes_of_damage
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.runtime.ladder.request import recorded_candidate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.runtime.ladder.request import Request
    from hatch_cuda_kernels.store import ImageRecord

    Rung = Callable[[Request], Iterator[Candidate]]


def ladder(request: Request) -> tuple[Rung, ...]:
    """Return the rungs of the request's policy, in order. Those that compile also say why nothing is compiled."""
    if request.policy == "exact":
        return _EXACT
    return _TIER_UP if request.tier_up else _COMPATIBLE


def _prebuilt(
    request: Request, *, kind: Kind = "cubin", exact: bool | None = None, trial: bool = False
) -> Iterator[Candidate]:
    """Yield the store's images of a kind: all, those ``exact`` for this compute capability, or those that are not."""
    if not request.listed:
        return
    fitting = (record for record in request.module.images if record.kind == kind)
    records = [record for record in fitting if record.arch.is_trial(request.capability) == trial]
    for record in sorted(records, key=lambda record: preference(record.arch, request.capability)):
        if exact is None or exact == (record.arch.capability == request.capability):
            refusal = (None if trial else record.arch.refusal(request.capability)) or request.why_not(record)
            reason = refusal or _acceptance(request, record)
            yield Candidate("prebuilt", record.arch, kind, refusal is None, reason, partial(request.read, record))


#: Rung 1: CUBINs of the store, exact architecture first; then its two parts.
prebuilt_cubins: Final[Rung] = _prebuilt
exact_cubins: Final[Rung] = partial(_prebuilt, exact=True)
other_cubins: Final[Rung] = partial(_prebuilt, exact=False)
#: Rung 2: PTX of the store that the driver can assemble.
prebuilt_ptx: Final[Rung] = partial(_prebuilt, kind="ptx")


def cached(request: Request) -> Iterator[Candidate]:
    """Rung 3: the compile that an earlier process (or a build on this machine) recorded, or why there is none."""
    if request.compiled:  # and recorded by now; if it is for another device, the next rung looks again
        yield _not_cached(request, "nothing was recorded before this process compiled it")
        return
    try:
        recalled = request.source.recalled_key(request.arch, request.instance)
        found = None if recalled is None else recorded_candidate(request, recalled)
        candidate = found or _search(request)
    except (InputError, StoreError, ToolchainError) as error:
        candidate = _not_cached(request, f"cannot be looked up: {reason_of(error)}")
    yield candidate


def jitted(request: Request) -> Iterator[Candidate]:
    """Rung 4: the shipped source compiled by NVRTC to a CUBIN for this device, and recorded."""
    from hatch_cuda_kernels.runtime.ladder.compile_rungs import jit_candidates  # off the prebuilt path

    yield from jit_candidates(request)


def finished(request: Request) -> Iterator[Candidate]:
    """Rung 5: prebuilt PTX the driver does not know, or LTO-IR, finished to a CUBIN and recorded.

    It comes last, because its code is at best as good as that of a compile, and slower if nvJitLink makes it from PTX.
    """
    from hatch_cuda_kernels.runtime.ladder.compile_rungs import finished_candidates  # off the prebuilt path

    yield from finished_candidates(request)


#: Rung 6: CUBINs of the store that are not promised to run on this device, but may.
trials: Final[Rung] = partial(_prebuilt, trial=True)
_COMPATIBLE: Final[tuple[Rung, ...]] = (prebuilt_cubins, prebuilt_ptx, cached, jitted, finished, trials)
_TIER_UP: Final[tuple[Rung, ...]] = (exact_cubins, cached, other_cubins, prebuilt_ptx, jitted, finished, trials)
_EXACT: Final[tuple[Rung, ...]] = (exact_cubins, cached, jitted, other_cubins, prebuilt_ptx, finished, trials)


def _acceptance(request: Request, record: ImageRecord) -> str:
    if record.kind == "ptx":
        return f"PTX ISA {version_text(record.ptx_isa)}, assembled by the driver"
    # CUBINs of CUDA 13 are promised to load from R580 on, those of CUDA 12 from R525 on (minor version compatibility).
    wrote = record.cuda_major
    old = request.driver is not None and request.driver[0] < wrote
    caveat = f", though CUDA {wrote} wrote it, which this driver is not promised to load" if old else ""
    if record.arch.capability == request.capability:
        return f"made for this device{caveat}"
    if record.arch.is_trial(request.capability):
        return f"a trial, which the driver decides: {record.arch.refusal(request.capability)}{caveat}"
    return f"runs on {request.capability} as code of the same {'family' if record.arch.suffix else 'major'}{caveat}"


def _search(request: Request) -> Candidate:
    """Return what a toolchain known here has compiled, or the reason that there is nothing."""
    from hatch_cuda_kernels.compiler.toolchain import known_toolchains  # where no key is remembered

    toolchains = known_toolchains()
    keys = [request.source.key(request.arch, request.instance, toolchain) for toolchain in toolchains]
    found = recorded_candidate(request, *keys)
    if found is not None:
        request.source.remember_key()
        return found
    versions = dict.fromkeys(toolchain.nvrtc for toolchain in toolchains)
    return _not_cached(request, f"nothing recorded for NVRTC {' or '.join(versions)}")


def _not_cached(request: Request, reason: str) -> Candidate:
    return Candidate("cached", request.arch, "cubin", accepted=False, reason=reason)


_T = TypeVar("_T")


class Attempt(NamedTuple, Generic[_T]):
    """The outcome of one candidate: the candidate with its final reason, and the result for its image."""

    candidate: Candidate
    taken: _T | None = None
    failure: Exception | None = None
    """What is raised if no candidate is taken: a CompileError, or a StoreError of damaged sources."""
    leave_rung: bool = False
    """Whether the driver would refuse the rung's other images as well."""


def obtain(request: Request, take: Callable[[Image], _T]) -> _T:
    """Return the result of ``take`` for the first image that it does not refuse by raising ImageRefusedError.

    Raises CompileError if a compile failed, StoreError if damage of the store forbade one, or NoImageError with every
    candidate's reason.
    """
    files, images = trace_files(), list[Image]()

    def take_and_note(image: Image) -> _T:
        images.append(image)
        return take(image)

    attempts = list(climb(request, take_and_note if files else take))
    if files:
        from hatch_cuda_kernels.runtime.ladder.trace import record_answer  # few programs are traced

        taken = images[-1] if attempts and attempts[-1].taken is not None else None
        record_answer(files, request, [attempt.candidate for attempt in attempts], taken)
    if attempts and attempts[-1].taken is not None:
        return attempts[-1].taken
    failures = [attempt.failure for attempt in attempts if attempt.failure is not None]
    if failures:
        raise failures[0]
    considered, device = [attempt.candidate for attempt in attempts], SmArch.of_device(request.capability)
    raise NoImageError(request.kernel.name, str(device), considered, suggest_fixes(request, considered))


def climb(request: Request, take: Callable[[Image], _T]) -> Iterator[Attempt[_T]]:
    """Try candidates in order. The climb ends with the one that is taken, if any is."""
    for rung in ladder(request):
        for candidate in rung(request):
            tried = attempt(candidate, take)
            yield tried
            if tried.taken is not None:
                return
            if tried.leave_rung:
                break


def before_compiling(request: Request) -> Iterator[Candidate]:
    """Yield the prebuilt candidates that come before anything is compiled; the disk cache does not count."""
    for rung in ladder(request):
        if rung is jitted:
            return
        yield from rung(request) if rung is not cached else ()


def work_ahead(request: Request) -> None:
    """Read the request's first image, or compile it if only a compile can give it, before the driver is asked.

    Raises what that raises.
    """
    for rung in ladder(request):
        if rung is cached:
            _load_compiler_ahead(request)
        candidate = next((candidate for candidate in rung(request) if candidate.accepted), None)
        if candidate is not None:
            if rung is jitted:
                from hatch_cuda_kernels.runtime.ladder.compile_rungs import jit_ahead  # off the prebuilt path

                jit_ahead(request)
            elif candidate.origin == "prebuilt" and candidate.get is not None:
                candidate.get()  # the reader remembers it
            return


def _load_compiler_ahead(request: Request) -> None:
    """Begin to load NVRTC where the look-up that follows will find nothing, unless somebody has put it there."""
    from hatch_cuda_kernels.cache import site_paths  # off the prebuilt path

    if request.compile_refusal is None and not site_paths() and request.source.lacks_key:
        from hatch_cuda_kernels.compiler.toolchain import ask_ahead  # off the cached path

        ask_ahead()


def attempt(candidate: Candidate, take: Callable[[Image], _T]) -> Attempt[_T]:
    """Read or compile an accepted candidate and pass it to ``take``; an error becomes the reason to refuse it.

    Raises what ``take`` raises, except ImageRefusedError.
    """
    if not candidate.accepted or candidate.get is None:
        return Attempt(candidate, failure=candidate.damage)
    try:
        return Attempt(candidate, take(candidate.get()))
    except (InputError, StoreError, ToolchainError) as error:
        fix = error.fix if isinstance(error, ToolchainError) else ""
        if isinstance(error, StoreError) and candidate.origin == "prebuilt":
            fix = "install the package again"
        return Attempt(_refused(candidate, reason_of(error), fix))
    except CompileError as error:
        return Attempt(_refused(candidate, reason_of(error)), failure=error)
    except ImageRefusedError as error:
        return Attempt(_refused(candidate, error.reason), leave_rung=error.whole_rung)


def _refused(candidate: Candidate, reason: str, fix: str = "") -> Candidate:
    return candidate._replace(accepted=False, reason=reason, get=None, fix=fix)


def suggest_fixes(request: Request, considered: Sequence[Candidate]) -> tuple[str, ...]:
    """Return the changes that would give this request an image, cheapest first."""
    reasons = [candidate.reason for candidate in considered]
    fixes = []
    if not request.jit:
        fixes.append(f"allow compiling: unset {JIT}")
    elif request.policy == "prebuilt":
        fixes.append("allow compiling: policy='compatible'")
    elif commands := [
        one.fix for one in considered if one.fix and one.origin != "prebuilt" and "is not installed" not in one.reason
    ]:
        fixes += dict.fromkeys(commands)
    elif any("is not installed" in reason for reason in reasons):
        from hatch_cuda_kernels.compiler.toolchain import own, pip_install  # only for the error

        fixes.append(f"install a compiler for run time: {pip_install(own('jit'))}")
    if any("written as PTX ISA" in reason for reason in reasons):
        fixes.append("install a newer driver, or build the package with an older toolkit (cuda: in its kernels.yaml)")
    if request.unlisted is not None:
        fixes.append(f"write {request.unlisted.line_to_add} and build it again")
    if request.instance is not None:
        fixes.append(f"list {request.kernel.name} under instances in the package's kernels.yaml and build it again")
    elif request.listed and request.source.stale:
        from hatch_cuda_kernels.compiler.toolchain import editable_install  # only for the error

        fixes.append(f"install the package again: {editable_install(request.source.root)}")
    elif request.listed and request.how_to_build:
        fixes.append(request.how_to_build)
    return (*fixes, *fixes_of_damage(considered))
