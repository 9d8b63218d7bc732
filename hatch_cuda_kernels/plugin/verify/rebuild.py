"""``--rebuild``: the shipped sources, compiled again by the recorded toolchain, give the shipped bytes."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.errors import HatchCudaKernelsError, InputError, ToolchainError
from hatch_cuda_kernels.plugin.pool import compile_all
from hatch_cuda_kernels.plugin.verify.model import Finding, Outcome
from hatch_cuda_kernels.plugin.verify.sources import read_sources, source_job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.job import Compiled, CompileJob
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.image import Kind, ModuleIndex
    from hatch_cuda_kernels.plugin.verify.subject import StoredImage, Subject

__all__ = ["check_rebuild"]

#: Packages of what a toolchain records, for CUDA 13 and for CUDA 12.
_PACKAGES = {
    "nvrtc": ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"),
    "nvjitlink": ("nvidia-nvjitlink", "nvidia-nvjitlink-cu12"),
    "cccl": ("nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12"),
    "crt": ("nvidia-cuda-crt", "nvidia-cuda-nvcc-cu12"),
    "cudart": ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"),
}
_FIX = "find out what changed, the source or the image, and build the wheel again"


class _Again(NamedTuple):
    """A compile to do again, and the images it gave."""

    job: CompileJob
    images: tuple[StoredImage, ...]


def check_rebuild(subject: Subject) -> Outcome:
    """Check that every image is, byte for byte, what the recorded toolchain makes of the shipped source."""
    if not subject.demands.rebuild:
        return Outcome.skip("ask for it: --rebuild")
    from hatch_cuda_kernels.compiler.toolchain import load_toolchain  # noqa: PLC0415 - loads NVRTC

    try:
        toolchain = load_toolchain()
    except ToolchainError as error:
        return Outcome.of(0, "images", [Finding(f"cannot be built again: {error.message}", error.fix)])
    plan: list[_Again] = []
    findings: list[Finding] = []
    for index in subject.modules:
        again = _plan(subject, index)
        refusal = _refusal(index, again, toolchain)
        findings += [refusal] if refusal is not None else []
        plan += again if refusal is None else []
    findings += _compile(plan)
    return Outcome.of(sum(len(again.images) for again in plan), "images compiled again", findings)


def _plan(subject: Subject, index: ModuleIndex) -> list[_Again]:
    """Return a module's compiles; none where its source cannot be read, which is another check's finding."""
    try:
        closure = read_sources(subject, index)
    except InputError:
        return []
    images: dict[SmArch, list[StoredImage]] = {}
    for image in subject.images:
        if image.index is index and image.data is not None:
            images.setdefault(image.record.arch.real, []).append(image)
    return [
        _Again(source_job(closure, index, arch, tuple(dict.fromkeys(image.record.kind for image in found))), (*found,))
        for arch, found in sorted(images.items())
    ]


def _refusal(index: ModuleIndex, plan: list[_Again], toolchain: Toolchain) -> Finding | None:
    """Return what to install where another toolchain than the recorded one would compile a module."""
    if not plan:
        return None
    here = plan[0].job.toolchain(toolchain).to_json()
    if here == index.toolchain:
        return None
    problem = f"was compiled by {_described(index.toolchain)}, the toolchain here is {_described(here)}"
    return Finding(problem, f"python3 -m pip install {' '.join(_requirements(index.toolchain))}", index.module)


def _described(toolchain: dict[str, str]) -> str:
    named = (f"{name} {toolchain[name]}" for name in ("nvrtc", "nvjitlink") if toolchain.get(name))
    return ", ".join(filter(None, (*named, toolchain.get("headers", ""))))


def _requirements(toolchain: dict[str, str]) -> list[str]:
    """Return the packages of exactly these versions, as far as packages have them."""
    headers = (part.partition(" ") for part in toolchain.get("headers", "").split(", "))
    versions = {name: toolchain.get(name, "") for name in ("nvrtc", "nvjitlink")}
    versions |= {name: version for name, _, version in headers}
    old = toolchain["nvrtc"].startswith("12.")
    return [f"{_PACKAGES[name][old]}=={version}" for name, version in versions.items() if version and name in _PACKAGES]


def _compile(plan: list[_Again]) -> Iterator[Finding]:
    images = {id(again.job): again.images for again in plan}
    with closing(compile_all([again.job for again in plan])) as outcomes:
        for job, outcome in outcomes:
            for image in images[id(job)]:
                problem = _difference(image, outcome)
                if problem:
                    yield image.finding(problem, _FIX)


def _difference(image: StoredImage, outcome: Compiled | Exception) -> str:
    if isinstance(outcome, Exception):
        if not isinstance(outcome, HatchCudaKernelsError):
            raise outcome
        return f"the shipped source does not compile: {outcome}"
    kind: Kind = image.record.kind
    shipped, made = image.data or b"", outcome.images[kind]
    if len(shipped) != len(made):
        return f"has {len(shipped)} bytes, the shipped source gives {len(made)}"
    different = [at for at, pair in enumerate(zip(shipped, made, strict=True)) if pair[0] != pair[1]]
    if different:
        amount = f"{len(different)} of {len(made)} bytes"
        return f"{amount} differ from what the shipped source gives, the first at {different[0]}"
    if kind == "cubin" and image.record.resources != outcome.resources:
        return "the index has other resources (registers, shared memory, stack, spills) than the compile reports"
    return ""
