"""Why a kernel gets an image: every candidate with its reason, and the chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.arch import version_text
from hatch_cuda_kernels.names import values_text
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.runtime.ladder.climb import attempt, ladder, suggest_fixes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.image import Candidate, Image
    from hatch_cuda_kernels.runtime.ladder.request import Request
    from hatch_cuda_kernels.signature import Parameter


class Explanation(NamedTuple):
    """Every candidate for one kernel in order, and the chosen one."""

    kernel: str
    arch: SmArch
    driver: tuple[int, int] | None
    chosen: Candidate | None
    candidates: tuple[Candidate, ...]
    fixes: tuple[str, ...]
    """What you can do if nothing was chosen."""
    parameters: tuple[Parameter, ...] = ()
    """The kernel's parameters, if the store knows their types."""
    notes: tuple[str, ...] = ()
    """Other facts about the module, such as what was cut of its sources."""

    def to_json(self) -> dict[str, object]:
        """Return the JSON object of ``explain --json``."""
        chosen = self.chosen
        more = {"notes": list(self.notes), "fixes": list(self.fixes)}
        return {
            "kernel": self.kernel,
            "arch": str(self.arch),
            "driver": None if self.driver is None else version_text(self.driver),
            "chosen": chosen and {"origin": chosen.origin, "arch": str(chosen.arch), "kind": chosen.kind},
            "candidates": [candidate.to_json() for candidate in self.candidates],
        } | {name: texts for name, texts in more.items() if texts}

    def __str__(self) -> str:
        driver = "any driver" if self.driver is None else f"a driver for CUDA {version_text(self.driver)}"
        lines = [f"{self.kernel} on {self.arch} with {driver}:"]
        lines += [f"  takes ({', '.join(map(str, self.parameters))})"] if self.parameters else []
        lines += [f" {'->' if candidate is self.chosen else '  '} {candidate}" for candidate in self.candidates]
        if self.chosen is None:
            lines.append(" no image")
            lines += [f"  to fix: {fix}" for fix in self.fixes]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


def explain(request: Request, take: Callable[[Image], object] | None) -> Explanation:
    """Return every candidate and the first accepted one; compiles nothing.

    ``take`` asks the driver about each accepted image, by raising ImageRefusedError, until it takes one.
    """
    considered = tuple(_considered(request, take))
    chosen = next((candidate for candidate in considered if candidate.accepted), None)
    fixes = suggest_fixes(request, considered) if chosen is None else ()
    kernel = request.kernel
    taken = kernel.parameters if kernel.types else ()
    _, cut = request.source.host_code()
    notes: tuple[str, ...] = (cut,) if cut else ()
    if request.module.family:
        what = f"module {request.module.module!r} is {request.module.family!r} with {values_text(request.module.axes)}"
        if request.unlisted is not None:
            what += f", which the manifest does not list: write {request.unlisted.line_to_add} to have it prebuilt"
        notes = (what, *notes)
    if request.module.packages:
        from hatch_cuda_kernels.compiler.toolchain import PackageRecord  # few modules have any

        notes += tuple(f"headers of {PackageRecord.from_json(one)}" for one in request.module.packages)
    return Explanation(kernel.name, request.arch, request.driver, chosen, considered, fixes, taken, notes)


def _considered(request: Request, take: Callable[[Image], object] | None) -> Iterator[Candidate]:
    taken = False
    for rung in ladder(request):
        for candidate in rung(request):
            is_open = candidate.accepted and not taken and candidate.origin != "jitted"
            settled = attempt(candidate, take).candidate if take is not None and is_open else candidate
            taken = taken or settled.accepted
            yield settled
