"""Checks of the promises: devices and driver, PTX that assembles for them, spills, size."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from hatch_cuda_kernels.arch import ComputeCapability, SmArch, known_archs, release_of, version_text
from hatch_cuda_kernels.compiler.binary import parse_log, read_cubin
from hatch_cuda_kernels.compiler.toolchain import at_least, exactly, missing_bindings, pip_install
from hatch_cuda_kernels.errors import CompileError, Problem, ToolchainError
from hatch_cuda_kernels.names import listed_module
from hatch_cuda_kernels.options import options_from
from hatch_cuda_kernels.pool import default_workers
from hatch_cuda_kernels.store import ModuleIndex, find_gaps, find_spills
from hatch_cuda_kernels.verify.subject import Outcome, StoredImage, Subject


def check_supports(subject: Subject) -> Outcome:
    """Check that every kernel runs on every promised device with the promised driver, without JIT."""
    supports = subject.supports
    if supports is None:
        return Outcome.skip("no devices are promised: write 'supports:' in the manifest, or give --supports-devices")
    problems = [
        _in_module(gap, index)
        for index in subject.modules
        for gap in find_gaps(supports, subject.symbols(index.module), index.images)
    ]
    driver = "any driver" if supports.driver is None else f"CUDA {version_text(supports.driver)}"
    count = len(supports.devices) * len({line.lowered for line in subject.lines if not line.is_variable})
    return Outcome.of(count, f"pairs of kernel and device, with {driver}", problems)


def check_spills(subject: Subject) -> Outcome:
    """Check that no kernel spills more bytes than its module may."""
    asked, promised = subject.demands.max_spill_bytes, subject.promises.max_spill_bytes
    limited = []
    for index in subject.modules:
        limit = promised.get(listed_module(index.module)) if asked is None else asked
        if limit is not None:
            limited.append((index, limit))
    if not limited:
        return Outcome.skip("no limit: write 'max_spill_bytes:' in the manifest, or give --max-spill-bytes")
    problems = [
        _in_module(spill, index)
        for index, limit in limited
        for spill in find_spills(limit, subject.symbols(index.module), index.images)
    ]
    cubins = sum(image.kind == "cubin" for index, _ in limited for image in index.images)
    return Outcome.of(cubins, "CUBINs", problems)


def _in_module(problem: Problem, index: ModuleIndex) -> Problem:
    return problem._replace(where="/".join(filter(None, (index.module, problem.where))))


def check_size(subject: Subject) -> Outcome:
    """Check the size of the wheel. Without a wheel, check the store if the user demands a size."""
    asked, promised = subject.demands.max_size, subject.promises.max_wheel_size
    limit = promised if asked is None else asked
    if limit is None:
        return Outcome.skip("no budget: write 'max_wheel_size:' in the manifest, or give --max-size")
    if subject.wheel is None and asked is None:
        return Outcome.skip(f"the budget of {limit:,} bytes is for the wheel file, and this is not a wheel")
    files = [path for path in subject.reader.folder.rglob("*") if path.is_file()] if not subject.wheel else []
    size = subject.wheel.stat().st_size if subject.wheel else sum(path.stat().st_size for path in files)
    what = "wheel" if subject.wheel else "store"
    if size <= limit:
        return Outcome.of(size, f"bytes of {what}, of {limit:,}", ())
    largest = max(subject.images, key=lambda image: image.record.bytes, default=None)
    fewer = f", or drop architectures: {largest.record.file} is the largest image" if largest else ""
    message = f"the {what} has {size:,} bytes, {size - limit:,} more than the budget of {limit:,}"
    return Outcome.of(size, f"bytes of {what}", [Problem(message, f"raise the budget{fewer}")])


def check_assembly(subject: Subject) -> Outcome:
    """Check that all PTX and LTO-IR assembles for each promised device that can use it, and keeps its kernels.

    Without a promise: for its own architecture and the newest known one that can use it.
    """
    images = [image for image in subject.images if image.record.kind != "cubin" and image.data is not None]
    if not images:
        return Outcome.skip("there is neither PTX nor LTO-IR")
    from hatch_cuda_kernels.compiler.toolchain import nvjitlink_version  # a large library

    try:
        version = nvjitlink_version()
    except ToolchainError as error:
        return Outcome.of(0, "runs of nvJitLink", [Problem(f"assembly cannot be checked: {error.message}", error.fix)])
    supports = subject.supports
    devices = supports.devices if supports is not None else ()
    jobs, problems = [], []
    for image in images:
        refusal = _too_old(image, version)
        if refusal is not None:
            problems.append(refusal)
            continue
        wanted = targets(image.record.arch, devices, version)
        known = {real.capability for real in known_archs(version)}
        unknown = [arch for arch in wanted if arch.capability not in known]
        problems += [_unknown(image, unknown, version)] if unknown else []
        lines = (line for line in subject.module_lines[image.index.module] if not line.is_variable)
        has = (line for line in lines if line.lowered not in image.record.lacks)
        kernels = {image.record.lowered.get(line.key, line.lowered) for line in has}
        jobs += [(image, arch, frozenset(kernels)) for arch in wanted if arch not in unknown]
    with ThreadPoolExecutor(default_workers()) as executor:  # nvJitLink runs without the GIL
        problems += [problem for found in executor.map(_assemble, jobs) for problem in found]
    return Outcome.of(len(jobs), f"runs of nvJitLink {version_text(version)}", problems)


def targets(arch: SmArch, devices: Sequence[ComputeCapability], release: tuple[int, int]) -> tuple[SmArch, ...]:
    """Return the real architectures to finish a virtual one for, ascending.

    A suffix freezes the code to its device or family, so only the exact device's keeps it.
    """
    known = [real.capability for real in known_archs(release) if arch.refusal(real.capability) is None]
    promised = [device for device in devices if arch.refusal(device) is None]
    # A release that has dropped the architecture still assembles its PTX, for newer ones.
    own = arch.capability if arch.capability in known or not known else known[0]
    chosen = {own, *(promised or (() if devices else known[-1:]))}
    return tuple(
        arch.real if capability == arch.capability else SmArch.of_device(capability) for capability in sorted(chosen)
    )


def _too_old(image: StoredImage, version: tuple[int, int]) -> Problem | None:
    """Return what to install if nvJitLink is older than the toolkit that wrote an image."""
    wanted = release_of(image.index.toolchain["nvrtc"])
    if version >= wanted:
        return None
    message = (
        f"written by CUDA {version_text(wanted)}: nvJitLink {version_text(version)} cannot prove that it assembles"
    )
    return image.problem(message, _install(wanted))


def _unknown(image: StoredImage, archs: Sequence[SmArch], version: tuple[int, int]) -> Problem:
    """Return what to install if nvJitLink does not know some architectures: later releases drop old ones."""
    listed = ", ".join(map(str, archs))
    message = f"nvJitLink {version_text(version)} does not know {listed}: it cannot prove that this assembles"
    written = release_of(image.index.toolchain["nvrtc"])
    capabilities = {real.capability for real in known_archs(written)}
    dropped = all(arch.capability in capabilities for arch in archs)
    newest = pip_install(exactly("nvjitlink", version[0], ""), options="--upgrade")
    return image.problem(message, _install(written) if dropped else newest)


def _install(release: tuple[int, int]) -> str:
    return pip_install(*missing_bindings(release[0]), at_least("nvjitlink", release))


def _assemble(job: tuple[StoredImage, SmArch, frozenset[str]]) -> list[Problem]:
    """Finish an image for an architecture; return why it cannot be, or which of its kernels are not in the result."""
    from hatch_cuda_kernels.compiler import LinkInput, link  # a large library

    image, arch, kernels = job
    index, record = image.index, image.record
    options = options_from(index.options)
    try:
        given = LinkInput(image.data or b"", record.kind, index.module)
        done = link(given, arch=arch, options=options, name=index.module)
        lost = kernels - read_cubin(done.image).kernels.keys()
    except CompileError as error:
        fix = f"correct the source for {arch}, then build the wheel again"
        return [image.problem(f"does not assemble for {arch}: {_reason(error)}", fix)]
    except ValueError as error:
        return [image.problem(f"what it assembles to for {arch} is not a CUBIN: {error}")]
    return [image.problem(f"what it assembles to for {arch} lacks the kernel {name}") for name in sorted(lost)]


def _reason(error: CompileError) -> str:
    errors = (found for found in parse_log(error.log) if found.severity != "warning")
    first = next(errors, None)
    if first is None:
        return error.message
    return f"line {first.line}: {first.message}" if first.line else first.message
