"""Check a wheel before its release, without a GPU.

The checks find what is promised and missing, and what is damaged.

    hatch-cuda-kernels verify dist/mylib-1.0-py3-none-any.whl
    hatch-cuda-kernels verify dist/mylib-1.0-py3-none-any.whl --rebuild
    hatch-cuda-kernels verify mylib --supports-devices 8.0 9.0 --max-size 5MB
    hatch-cuda-kernels verify mylib --requests trace.jsonl --gpus "9.0@13.0"
"""

from __future__ import annotations

import re
import sys
import zipfile
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels import store
from hatch_cuda_kernels.arch import ComputeCapability, SmArch, release_of, version_text
from hatch_cuda_kernels.cli.messages import CommandResult, add_json, unified_diff
from hatch_cuda_kernels.cli.parser import (
    Arguments,
    CommandParser,
    add_package,
    byte_count,
    cuda_version,
    device,
    manifest_path,
)
from hatch_cuda_kernels.errors import InputError, KernelNotFoundError, Problem, StoreError
from hatch_cuda_kernels.image import Symbol
from hatch_cuda_kernels.names import listed_module, normalize_name, values_text
from hatch_cuda_kernels.runtime import ladder
from hatch_cuda_kernels.terminal import count_text, list_text, paint_matches, printable, text_table, wrap

if TYPE_CHECKING:
    from hatch_cuda_kernels.image import Candidate
    from hatch_cuda_kernels.promote import Wanted
    from hatch_cuda_kernels.runtime.ladder import Request, TracedRequest
    from hatch_cuda_kernels.store import StoreReader
    from hatch_cuda_kernels.verify import Outcome, Verification


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    add_package(parser)
    parser.option("--supports-devices", "X.Y", "compute capabilities to prove", type=device, nargs="+")
    parser.option("--driver", "X.Y", "oldest CUDA driver to prove them for", type=cuda_version)
    parser.option("--max-spill-bytes", "SIZE", "maximum bytes a kernel may spill", type=byte_count)
    text = "maximum of the wheel, such as 5MB, or of the store without one"
    parser.option("--max-size", "SIZE", text, type=byte_count)
    parser.flag("--rebuild", "build the store again and compare every file")
    parser.option("--keep", "DIR", "leave both stores of --rebuild in a new folder", type=Path)
    parser.option("--skip", "CHECK", "skip a check; repeatable", action="append", default=[])
    text = "prove that every request of a trace gets a prebuilt image (HATCH_CUDA_KERNELS_TRACE)"
    parser.option("--requests", "TRACE", text, type=Path)
    text = (
        "for these: X.Y@X.Y, compute capability and CUDA version of the driver, with commas (default: what is promised)"
    )
    parser.option("--gpus", "LIST", text, type=gpu_list)
    parser.option("--manifest", "MANIFEST", "with --requests: what the patch is for (default: as for check)")
    add_json(parser)


def run(args: Arguments) -> CommandResult:
    """Print every check with its problems. The status is 1 if there are any."""
    from hatch_cuda_kernels.verify import Demands, verify_store  # one command needs it

    demands = Demands(
        devices=tuple(args.supports_devices or ()),
        driver=args.driver,
        max_spill_bytes=args.max_spill_bytes,
        max_size=args.max_size,
        rebuild=args.rebuild,
        keep=args.keep,
        skip=frozenset(args.skip),
    )
    wheel = Path(args.package) if args.package.endswith(".whl") else None
    with store.open_package(args.package) as reader:
        verification = verify_store(reader, demands, wheel=wheel)
        proof = _prove(args, reader)
    if proof is not None:
        verification.results["requests"] = proof.outcome
    checks = [{"check": name, **outcome.to_json()} for name, outcome in verification.results.items()]
    data = {"package": args.package, "ok": verification.ok, "checks": checks}
    text = wrap("\n".join(_lines(verification, args.package)), 24)
    lines = [paint_matches(text, "^failed|^.*: failed, .*", "red", sys.stdout)]
    if proof is not None:
        data |= proof.to_json()
        lines += proof.lines()
    return CommandResult(data, "\n".join(lines), verification.ok)


def _lines(verification: Verification, package: str) -> Iterator[str]:
    """Yield one line for each check, its problems below it, and the verdict."""
    for check, outcome in verification.results.items():
        what = re.sub(r"s\b", "", outcome.what, count=1) if outcome.checked == 1 else outcome.what
        looked_at = outcome.skipped or f"{outcome.checked:,} {what}"
        found = f", {_count(outcome.problems)}" if outcome.problems else ""
        yield f"{outcome.state:8} {check:14} {looked_at}{found}"
        for problem in outcome.problems:
            yield f"    {problem._replace(fix='')}"
            yield f"        to fix: {problem.fix}"
    yield f"{package}: ok" if verification.ok else f"{package}: failed, {_count(verification.problems)}"


def _count(problems: Sequence[Problem]) -> str:
    return count_text(len(problems), "problem")


class Gpu(NamedTuple):
    """A device by its compute capability, and the newest CUDA that its driver knows."""

    capability: ComputeCapability
    driver: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.capability}@{version_text(self.driver)}"


def gpu_list(text: str) -> tuple[Gpu, ...]:
    """Return the GPUs of ``9.0@13.0, 12.0@12.9``. Raises ArgumentTypeError for anything else."""
    found: dict[Gpu, None] = {}
    for part in text.replace(",", " ").split():
        capability, sign, driver = part.partition("@")
        if not sign:
            raise ArgumentTypeError(f"{part!r} names no driver; write GPUs like 9.0@13.0")
        found[Gpu(device(capability), cuda_version(driver))] = None
    if not found:
        raise ArgumentTypeError("no GPU is named; write them like 9.0@13.0")
    return tuple(found)


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
    """Requests of other packages."""
    patch: str
    """A unified diff of the manifest."""
    notes: tuple[str, ...]
    """Why the patch does not have all that is missing."""

    @property
    def failed(self) -> list[tuple[TracedRequest, tuple[Judgement, ...]]]:
        """The requests that lack an image somewhere."""
        return [(one, found) for one, found in self.judged if any(each.image is None for each in found)]

    @property
    def outcome(self) -> Outcome:
        """The check in the words of the others: a problem for each request and reason, with its GPUs."""
        from hatch_cuda_kernels.verify import Outcome

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
        """Return what ``verify --json`` prints besides the checks."""
        requests = [{**_named(one), "gpus": [each.to_json() for each in found]} for one, found in self.judged]
        others = [{"package": one.package, "store": one.store, **_named(one)} for one in self.others]
        return {"requests": requests, "not_judged": others, "patch": self.patch, "notes": [*self.notes]}

    def lines(self) -> Iterator[str]:
        """Yield a table of the requests that lack an image, what was not judged, and the patch."""
        if self.failed:
            headings = ("request", "module", *(str(each.gpu) for each in self.failed[0][1]))
            yield text_table(headings, [(one.kernel, listed_module(one.module), *found) for one, found in self.failed])
        for package in dict.fromkeys(one.package for one in self.others):
            names = [*dict.fromkeys(one.kernel for one in self.others if one.package == package)]
            what = f"{count_text(len(names), 'kernel')} of {package or 'no package'}: {list_text(names)}"
            yield printable(f"not judged: {what}")
        yield from map(printable, self.notes)
        if self.patch:
            yield self.patch.removesuffix("\n")


def _named(one: TracedRequest) -> dict[str, Any]:
    axes = {"family": one.family, "axes": one.axes} if one.family else {}
    return {"kernel": one.kernel, "module": listed_module(one.module), **axes, "policy": one.policy}


def _prove(args: Arguments, reader: StoreReader) -> Proof | None:
    """Return the proof that the command asks for, if it does. Raises InputError for a trace that proves nothing."""
    if args.requests is None:
        if args.gpus:
            raise InputError("--gpus says where requests are made: name their trace with --requests")
        return None
    gpus = args.gpus or _promised_gpus(reader)
    package, folder = _package_of(args.package, reader), str(reader.folder.absolute())
    distinct = {
        (normalize_name(one.kernel), one.asked, one.package, one.store if not one.package else "", one.family,
         values_text(one.axes), one.policy, one.tier_up): one
        for one in ladder.read_trace(args.requests)
    }  # fmt: skip
    own, others = list[ladder.TracedRequest](), list[ladder.TracedRequest]()
    for one in distinct.values():
        is_own = one.package == package if one.package else one.store == folder
        (own if is_own else others).append(one)
    if not own:
        there = list_text([*dict.fromkeys(repr(one.package or one.store or "source text") for one in others)])
        raise InputError(f"{args.requests}: no request is of {package or folder}: the trace has those of {there}")
    judged = tuple((one, tuple(_judge(reader, one, gpu) for gpu in gpus)) for one in own)
    wanted = [each.wanted for _, found in judged for each in found if each.wanted is not None]
    return Proof(judged, tuple(others), *(_patch(args, wanted) if wanted else ("", ())))


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
        end = f"/{store.STORE_FOLDER}/{store.KERNELS_FILE}"
        place = next(name for name in archive.namelist() if name.endswith(end))
    return re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", place.removesuffix(end)).replace("/", ".")


def _judge(reader: StoreReader, traced: TracedRequest, gpu: Gpu) -> Judgement:
    """Return what the ladder has for a request on a GPU before it compiles, and what CUDA promises to run there."""
    # With tier_up, what is used at once does not keep the exact image from being compiled.
    policy = "exact" if traced.tier_up and traced.policy != "prebuilt" else traced.policy
    try:
        module = (
            store.find_module(reader, traced.family, traced.axes) if traced.family and traced.asked else traced.asked
        )
        arch, facts = SmArch.of_device(gpu.capability), {"policy": policy, "tier_up": False}
        request = ladder.make_request(
            reader, traced.kernel, module, arch, gpu.driver, refusal=lambda *_: None, **facts  # type: ignore[arg-type]
        )  # fmt: skip
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
    helps = release_of(index.toolchain.get("nvrtc", "13.0"))[0] <= gpu.driver[0]
    arch = request.arch if gap is not None and helps else None
    family = (index.family, tuple(index.axes.items())) if unlisted is not None else ("", ())
    lists = arch is not None or not request.listed
    return ", and ".join(fixes), Wanted(listed_module(index.module), arch, request.instance, *family) if lists else None


def _patch(args: Arguments, wanted: Sequence[Wanted]) -> tuple[str, tuple[str, ...]]:
    """Return the patch that has the manifest list what is wanted, and notes on what it lacks."""
    try:
        path = manifest_path(args)
    except InputError:
        return "", ("there is no manifest here to patch: name it with --manifest",)
    try:
        from hatch_cuda_kernels.promote import promote  # needs yaml

        made = promote(path, wanted)
    except (InputError, ModuleNotFoundError) as error:  # what was found is told all the same
        return "", (f"there is no patch for {path}: {str(error).partition(chr(10))[0]}",)
    diff = unified_diff(path.as_posix().lstrip("/"), made.before, made.after)
    done = () if diff or made.refused else (f"{path} already lists what is missing: build the package again",)
    return diff, (*(f"not in the patch: {problem}" for problem in made.refused), *done)
