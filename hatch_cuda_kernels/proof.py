"""The proof of a release: what the requests of a trace get on devices that are not here, without a compile."""

from __future__ import annotations

import re
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels import store
from hatch_cuda_kernels.arch import ComputeCapability, SmArch, cuda_release_for_arch, release_of, version_text
from hatch_cuda_kernels.errors import InputError, KernelNotFoundError, Problem, StoreError
from hatch_cuda_kernels.image import Symbol
from hatch_cuda_kernels.names import listed_module, normalize_name, values_text
from hatch_cuda_kernels.runtime import ladder
from hatch_cuda_kernels.terminal import list_text, printable
from hatch_cuda_kernels.verify import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.image import Candidate
    from hatch_cuda_kernels.promote import Promotion, Wanted
    from hatch_cuda_kernels.runtime.ladder import Request, TracedRequest
    from hatch_cuda_kernels.store import StoreReader


class Gpu(NamedTuple):
    """A device by its compute capability, and the newest CUDA that its driver knows."""

    capability: ComputeCapability
    driver: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.capability}@{version_text(self.driver)}"


class Judgement(NamedTuple):
    """What a request gets on a GPU before anything is compiled: an image, or the reason that there is none."""

    gpu: Gpu
    image: Candidate | None
    reason: str = ""
    fix: str = ""
    wanted: Wanted | None = None
    """What the manifest would have to list."""

    def __str__(self) -> str:
        return f"{self.image.arch} {self.image.kind}" if self.image is not None else "none"

    def to_json(self) -> dict[str, Any]:
        """Return what ``verify --json`` prints of it."""
        image = self.image and {"arch": str(self.image.arch), "kind": self.image.kind}
        return {"gpu": str(self.gpu), "image": image, "reason": self.reason, "fix": self.fix}


class Proof(NamedTuple):
    """What every request of a trace gets on every GPU."""

    judged: tuple[tuple[TracedRequest, tuple[Judgement, ...]], ...]
    others: tuple[TracedRequest, ...]
    manifest: Path | None = None
    """What would have to list what is missing, if it was found."""
    promotion: Promotion | None = None
    """How it would."""
    notes: tuple[str, ...] = ()
    """Why that is not all that is missing."""

    @property
    def failed(self) -> list[tuple[TracedRequest, tuple[Judgement, ...]]]:
        """The requests that lack an image somewhere."""
        return [(one, found) for one, found in self.judged if any(each.image is None for each in found)]

    @property
    def outcome(self) -> Outcome:
        """The check in the words of the others: a problem for each request and reason, with its GPUs."""
        problems: dict[Problem, list[str]] = {}
        for one, found in self.failed:
            for each in found:
                if each.image is None:
                    problem = Problem(
                        printable(f"{one.kernel}: {each.reason}"), printable(each.fix), listed_module(one.module)
                    )
                    problems.setdefault(problem, []).append(str(each.gpu))
        count = sum(len(found) for _, found in self.judged)
        named = (one._replace(message=f"on {', '.join(gpus)}: {one.message}") for one, gpus in problems.items())
        return Outcome.of(count, "pairs of request and GPU", named)

    def to_json(self) -> dict[str, Any]:
        """Return what ``verify --json`` prints besides the checks and the patch."""
        requests = [{**_named(one), "gpus": [each.to_json() for each in found]} for one, found in self.judged]
        others = [{"package": one.package, "store": one.store, **_named(one)} for one in self.others]
        return {"requests": requests, "not_judged": others, "notes": [*self.notes]}


def _named(one: TracedRequest) -> dict[str, Any]:
    axes = {"family": one.family, "axes": one.axes} if one.family else {}
    return {"kernel": one.kernel, "module": listed_module(one.module), **axes, "policy": one.policy}


def prove(
    package: str, reader: StoreReader, trace: Path, gpus: Sequence[Gpu], find_manifest: Callable[[], Path]
) -> Proof:
    """Return what each request of a trace gets; without ``gpus``, on those that the store promises.

    ``package`` is what the reader was opened of; ``find_manifest`` is asked where something is missing, and may raise
    InputError. Raises InputError for a trace that proves nothing.
    """
    gpus = gpus or _promised_gpus(reader)
    name, folder = _package_of(package, reader), str(reader.folder.absolute())
    distinct = {
        (normalize_name(one.kernel), one.asked, one.package, one.store if not one.package else "", one.family,
         values_text(one.axes), one.policy, one.tier_up): one
        for one in ladder.read_trace(trace)
    }  # fmt: skip
    own, others = list[ladder.TracedRequest](), list[ladder.TracedRequest]()
    for one in distinct.values():
        is_own = one.package == name if one.package else one.store == folder
        (own if is_own else others).append(one)
    if not own:
        there = list_text([*dict.fromkeys(repr(one.package or one.store or "source text") for one in others)])
        raise InputError(f"{trace}: no request is of {name or folder}: the trace has those of {there}")
    judged = tuple((one, tuple(_judge(reader, one, gpu) for gpu in gpus)) for one in own)
    wanted = [each.wanted for _, found in judged for each in found if each.wanted is not None]
    return Proof(judged, tuple(others), *(_promoted(find_manifest, wanted) if wanted else ()))


def _promised_gpus(reader: StoreReader) -> tuple[Gpu, ...]:
    """Return the GPUs that the store promises to run on."""
    try:
        supports = store.read_promises(reader.folder).supports
    except ValueError as error:
        raise InputError(f"what the package promises cannot be read: {error}; name GPUs with --gpus") from error
    if supports is None or supports.driver is None:
        raise InputError("the package promises no devices with a driver: name GPUs, as in --gpus 9.0@13.0")
    return tuple(Gpu(one, supports.driver) for one in supports.devices)


def _package_of(package: str, reader: StoreReader) -> str:
    """Return the import name of the package that a store is in, whatever its wheel is called; empty for none."""
    if not package.endswith(".whl"):
        return ladder.import_name(str(reader.folder), package)
    with zipfile.ZipFile(package) as archive:
        place = store.place_in_wheel(archive.namelist()).removesuffix(f"/{store.STORE_FOLDER}/")
    return re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", place).replace("/", ".")


def _judge(reader: StoreReader, traced: TracedRequest, gpu: Gpu) -> Judgement:
    """Return what the ladder has for a request on a GPU before it compiles, and what CUDA promises to run there."""
    # With tier_up, what is used at once does not keep the exact image from being compiled.
    policy = "exact" if traced.tier_up and traced.policy != "prebuilt" else traced.policy
    try:
        module = (
            store.find_module(reader, traced.family, traced.axes) if traced.family and traced.asked else traced.asked
        )
        arch = SmArch.of_device(gpu.capability)
        request = ladder.make_request(reader, traced.kernel, module, arch, gpu.driver, policy=policy, tier_up=False)
        records = {(record.arch, record.kind): record for record in request.module.images}
        reasons = [request.why_not_prebuilt]
        for candidate in ladder.before_compiling(request):
            if candidate.accepted:
                why = store.driver_refusal(records[candidate.arch, candidate.kind], gpu.driver)
                if not why:
                    return Judgement(gpu, candidate)
                reasons.append(why)
        return Judgement(gpu, None, "; ".join(reasons), *_mend(request, gpu))
    except (InputError, KernelNotFoundError, StoreError) as error:
        fix = "have the package list it, or record the trace again with the program as it is now"
        return Judgement(gpu, None, str(error), fix)


def _mend(request: Request, gpu: Gpu) -> tuple[str, Wanted | None]:
    """Return what would give a request an image on a GPU, and what of that a manifest lists."""
    from hatch_cuda_kernels.promote import Wanted  # needs yaml

    index, exact, unlisted = request.module, request.policy == "exact", request.unlisted
    images = request.reader.module(unlisted.base).images if unlisted is not None else index.images
    fitting = [one for one in images if not exact or (one.kind, one.arch.capability) == ("cubin", gpu.capability)]
    kernel = Symbol(request.kernel.name, request.kernel.lowered if request.listed else "")
    gap = next(store.find_gaps(store.Supports(devices=(gpu.capability,), driver=gpu.driver), [kernel], fitting), None)
    fixes = [] if request.listed and gap is not None else [request.line_to_add]
    fixes += [] if gap is None else [gap.fix.replace("'supports:'", "--gpus")]
    # A CUBIN of a newer CUDA major than the driver's is promised nowhere, whatever its architecture.
    major = release_of(index.toolchain.get("nvrtc", "13.0"))[0]
    helps = major <= gpu.driver[0] and cuda_release_for_arch(request.arch, major=major) is not None
    arch = request.arch if gap is not None and helps else None
    family = (index.family, tuple(index.axes.items())) if unlisted is not None else ("", ())
    lists = arch is not None or not request.listed
    return ", and ".join(fixes), Wanted(listed_module(index.module), arch, request.instance, *family) if lists else None


def _promoted(
    find_manifest: Callable[[], Path], wanted: Sequence[Wanted]
) -> tuple[Path | None, Promotion | None, tuple[str, ...]]:
    """Return the manifest, how it lists what is wanted, and notes on what it does not."""
    try:
        path = find_manifest()
    except InputError:
        return None, None, ("there is no manifest here to patch: name it with --manifest",)
    try:
        from hatch_cuda_kernels.promote import promote  # needs yaml

        made = promote(path, wanted)
    except (InputError, ModuleNotFoundError) as error:  # what was found is told all the same
        return path, None, (f"there is no patch for {path}: {str(error).partition(chr(10))[0]}",)
    is_listed = made.before == made.after and not made.refused
    done = (f"{path} already lists what is missing: build the package again",) if is_listed else ()
    return path, made, (*(f"not in the patch: {problem}" for problem in made.refused), *done)
