"""Rung 5: prebuilt PTX or LTO-IR finished to a CUBIN, so that no driver is too old for it.

ptxas gives the code that a driver would. nvJitLink takes PTX as relocatable code, which is slower.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.arch import isa_refusal
from hatch_cuda_kernels.cache import Entry
from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.image import Candidate
from hatch_cuda_kernels.runtime.ladder.recorded import recorded, recorded_or_made
from hatch_cuda_kernels.versions import release_of, version_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.job import Finished
    from hatch_cuda_kernels.image import Finisher, Image, Kind
    from hatch_cuda_kernels.runtime.ladder.notices import Notice
    from hatch_cuda_kernels.runtime.ladder.request import Request
    from hatch_cuda_kernels.store.index import ImageRecord

__all__ = ["finished_candidates"]

_FINISHERS: Final[dict[Kind, tuple[Finisher, ...]]] = {"ptx": ("ptxas", "nvjitlink"), "ltoir": ("nvjitlink",)}
_SLOWER: Final = " as relocatable code, up to 1.5 times slower"


class _Tool(NamedTuple):
    """What can finish an image here."""

    finisher: Finisher
    version: str
    name: str
    refusal: str | None = None
    """Why it cannot, after all."""
    path: Path | None = None
    """Where ptxas is."""


def finished_candidates(request: Request) -> Iterator[Candidate]:
    """Yield the CUBIN that was made, or would be made, of each prebuilt PTX or LTO-IR that suits the device."""
    for record, arch in _inputs(request):
        known = _recorded(request, record, arch)
        refusal = _refusal(request, record)
        if known is not None:
            yield known
        elif refusal is not None:
            yield Candidate("jitted", arch, "cubin", accepted=False, reason=refusal)
        else:
            yield from (_candidate(request, record, arch, tool) for tool in _tools(record))


def _inputs(request: Request) -> Iterator[tuple[ImageRecord, SmArch]]:
    """Yield each image that can be finished, LTO-IR first, and the architecture of the result."""
    if not request.listed or request.source.stale:
        return
    records = [record for record in request.module.images if record.kind != "cubin"]
    for record in sorted(records, key=lambda record: (record.kind, record.arch.preference(request.capability))):
        if record.arch.refusal(request.capability) is None and request.kernel.lowered not in record.lacks:
            # A suffix freezes the code to its device or family, so the result keeps it.
            exact = record.arch.capability == request.capability
            yield record, record.arch.real if exact else request.arch.plain


def _recorded(request: Request, record: ImageRecord, arch: SmArch) -> Candidate | None:
    """Return the CUBIN that an earlier process made of an image, or None; ptxas's comes before nvJitLink's."""
    for finisher in _FINISHERS[record.kind]:
        known = recorded(request, request.source.finished_key(record, arch, finisher))
        if known is not None:
            return known._replace(reason=f"{known.reason}{_slower(record, finisher)}") if known.accepted else known
    return None


def _refusal(request: Request, record: ImageRecord) -> str | None:
    """Return why an image is not finished, whatever there is to do it, or None."""
    if request.compile_refusal is not None:
        return request.compile_refusal
    unknown = record.kind != "ptx" or isa_refusal(record.ptx_isa, request.driver, "the driver") is not None
    return None if unknown or request.refused(record.sha256) else "the driver assembles this PTX itself"


def _candidate(request: Request, record: ImageRecord, arch: SmArch, tool: _Tool) -> Candidate:
    made = f"{record.arch} {record.kind} finished by {tool.name}{_slower(record, tool.finisher)}"
    get = partial(_finish, request, record, arch, tool)
    return Candidate("jitted", arch, "cubin", tool.refusal is None, tool.refusal or made, get)


def _slower(record: ImageRecord, finisher: Finisher) -> str:
    return _SLOWER if (record.kind, finisher) == ("ptx", "nvjitlink") else ""


def _tools(record: ImageRecord) -> Iterator[_Tool]:
    """Yield what there is to finish an image, best first: a ptxas that can read it, and nvJitLink in any case."""
    if record.kind == "ptx":
        yield from _assemblers(record.ptx_isa)
    from hatch_cuda_kernels.compiler.toolchain.libraries import nvjitlink_version  # a large library

    try:
        release = nvjitlink_version()
    except ToolchainError as error:
        yield _Tool("nvjitlink", "", "nvJitLink", error.message)
        return
    version = version_text(release)
    yield _Tool("nvjitlink", version, "nvJitLink", isa_refusal(record.ptx_isa, release, f"nvJitLink {version}"))


def _assemblers(isa: tuple[int, int]) -> Iterator[_Tool]:
    from hatch_cuda_kernels.compiler.toolchain.assembler import installed_ptxas  # runs programs

    for found in installed_ptxas():
        if isa_refusal(isa, release_of(found.version), "ptxas") is None:
            yield _Tool("ptxas", found.version, f"ptxas {found.version}", path=found.path)
            return


def _finish(request: Request, record: ImageRecord, arch: SmArch, tool: _Tool) -> Image:
    """Finish an image and record it, unless another process is doing so. Raises CompileError."""
    key = request.source.finished_key(record, arch, tool.finisher)
    return recorded_or_made(request, key, partial(_finish_now, request, record, arch, tool))


def _finish_now(request: Request, record: ImageRecord, arch: SmArch, tool: _Tool, notice: Notice) -> Entry:
    start = time.perf_counter()
    with notice.compiling(arch, tool.name):
        done = _made(request, record, arch, tool)
    return Entry(
        key=request.source.finished_key(record, arch, tool.finisher),
        module=request.module.module,
        kind="cubin",
        arch=arch,
        image=done.image,
        kernels=(),
        globals=(),
        resources={},
        ptx_isa=record.ptx_isa,
        toolchain={tool.finisher: tool.version, "headers": ""},
        log="",
        created=Entry.now(),
        seconds=time.perf_counter() - start,
        wanted=request.kernel.name,
    )


def _made(request: Request, record: ImageRecord, arch: SmArch, tool: _Tool) -> Finished:
    data, module = request.read(record).data, request.module.module
    options = request.source.recipe().options
    if tool.path is not None:
        from hatch_cuda_kernels.compiler.ptxas import assemble

        return assemble(tool.path, data.decode(), arch=arch, options=options, name=module)
    from hatch_cuda_kernels.compiler.nvjitlink import LinkInput, link  # a large library

    keep = request.source.kept_variables(record)
    given = LinkInput(data, record.kind, module)
    return link(given, arch=arch, options=options, name=module, keep=keep)
