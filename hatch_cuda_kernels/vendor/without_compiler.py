"""What takes the place of the package's cache, compilers and accelerator in the loader to vendor; see ``assemble``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.image import Candidate, fixes_of_damage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hatch_cuda_kernels.runtime.ladder import Request
    from hatch_cuda_kernels.store import ModuleIndex, StoreReader

#: What to do where only a compile helps.
_NEEDS_PACKAGE: Final = (
    "pip install 'hatch-cuda-kernels[jit]' and open the store with it, "
    "as in hatch_cuda_kernels.open_store(...): that compiles the source in the wheel"
)


def prebuilt_ladder(_: Request) -> tuple[Callable[[Request], Iterator[Candidate]], ...]:
    """Return the rungs: CUBINs, PTX, why nothing is compiled, and what may run though nobody promises it."""
    from hatch_cuda_kernels.runtime.ladder import prebuilt_cubins, prebuilt_ptx, trials  # which imports this

    return prebuilt_cubins, prebuilt_ptx, compiles_nothing, trials


def compiles_nothing(request: Request) -> Iterator[Candidate]:
    """Say what the package would do now."""
    reason = "this loader has no cache and compiles nothing"
    yield Candidate("jitted", request.arch, "cubin", accepted=False, reason=reason)


def fixes_without_compiler(request: Request, considered: Sequence[Candidate]) -> tuple[str, ...]:
    """Return the changes that would give this request an image."""
    is_new = any("written as PTX ISA" in candidate.reason for candidate in considered)
    newer = "install a newer driver, or build the package with an older toolkit (cuda: in its kernels.yaml)"
    fixes = [newer] if is_new else []
    if request.source.stale:
        fixes.append("install the package without -e: only hatch_cuda_kernels.open_store(...) reads changed sources")
    elif not request.listed:
        fixes.append(f"{request.line_to_add} and build it again")
    elif request.how_to_build:
        fixes.append(request.how_to_build)
    return (*fixes, *fixes_of_damage(considered), _NEEDS_PACKAGE)


class PrebuiltSource:
    """A module's source, of which nothing is read."""

    def __init__(self, reader: StoreReader, module: str) -> None:
        self._index: ModuleIndex = reader.module(module)
        self.root = reader.folder
        self.scope = str(reader.folder / module)

    @property
    def stale(self) -> str | None:
        """Why images of an editable install do not count: nobody looks whether the source is as it was."""
        is_editable = self._index.editable is not None
        return "the source cannot be read by this loader, and this is an editable install" if is_editable else None

    def device_arch(self, capability: tuple[int, int]) -> SmArch:
        """Return the device's architecture."""
        return SmArch.of_device(capability)

    def host_code(self) -> tuple[tuple[()], str]:
        """Return that nothing is known."""
        return (), ""

    @property
    def declared_kernels(self) -> tuple[str, ...]:
        """No kernel that is known."""
        return ()

    def declares(self, _: str) -> bool:
        """Return whether a compile might find a kernel."""
        return True


class UnreadCut:
    """What was cut of a source, which only a compile reads."""

    @classmethod
    def from_json(cls, _: object) -> UnreadCut:
        """Return it."""
        return cls()


class PackageName(str):
    """A package whose headers a module includes, by its name alone."""

    __slots__ = ()

    @classmethod
    def from_json(cls, data: dict[str, str]) -> PackageName:
        """Return it."""
        return cls(data["package"])


def do_nothing(*_: object) -> None:
    """Stand for the accelerator, which is not there, and for work in advance."""
