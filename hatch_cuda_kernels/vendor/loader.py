"""The store as the loader to vendor opens it: what is prebuilt, by the rules of the ladder, and nothing else."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.early import start_driver

if TYPE_CHECKING:
    from hatch_cuda_kernels.image import Image
    from hatch_cuda_kernels.runtime import InstanceCache, LoadedKernels
    from hatch_cuda_kernels.runtime.ladder import Explanation, Request
    from hatch_cuda_kernels.runtime.launch import GlobalVariable, Kernel
    from hatch_cuda_kernels.store import StoreReader

#: Instances that are remembered by their arguments.
_MOST_INSTANCES: Final = 1024


class PrebuiltStore:
    """A store of prebuilt kernels. Its files are read when they are needed."""

    def __init__(self, folder: str, module: str | None = None) -> None:
        self.path = folder
        self._module = module

    def __repr__(self) -> str:
        return f"<PrebuiltStore {self.path!r}{f', module {self._module!r}' if self._module else ''}>"

    def get_kernel(self, name: str, *, module: str | None = None) -> Kernel:
        """Return a kernel, loaded for the current context.

        Raises KernelNotFoundError, StoreError, NoImageError with every candidate's reason, and DriverError.
        """
        start_driver()
        from hatch_cuda_kernels.runtime import load  # while the driver starts, as all that follows

        of = module or self._module
        return self._loaded.get((name, of, "prebuilt"), lambda: load(self._request(name, of)))

    def instantiate(self, template: str, **arguments: Any) -> Kernel:
        """Return an instance of a pattern under ``instances:`` by its arguments. Raises what ``get_kernel`` raises."""
        return self._instances.get(template, arguments, self._module)

    def get_global(self, name: str, *, module: str | None = None) -> GlobalVariable:
        """Return a device variable in the image of its module's kernels. Raises what ``get_kernel`` raises."""
        from hatch_cuda_kernels.runtime import find_global

        def get_kernel(kernel: str, *, module: str, policy: object) -> Kernel:  # noqa: ARG001 - as the package asks
            return self.get_kernel(kernel, module=module)

        return find_global(self._reader, get_kernel, name, module or self._module, None)

    def module(self, name: str, **axes: Any) -> PrebuiltStore:
        """Return the same for one module, or for the one with these values of axes. Raises InputError, StoreError."""
        from hatch_cuda_kernels.store import find_module

        found = PrebuiltStore(self.path, find_module(self._reader, name, axes))
        found.__dict__.update(_reader=self._reader, _loaded=self._loaded)
        return found

    def find_image(
        self,
        kernel: str,
        *,
        arch: str | None = None,
        driver: tuple[int, int] | None = None,
        module: str | None = None,
    ) -> Image:
        """Return the image that a kernel gets on an architecture such as ``sm_90`` (default: the current device's)."""
        from hatch_cuda_kernels.runtime.ladder import obtain

        return obtain(self._request(kernel, module or self._module, arch, driver), lambda image: image)

    def explain(
        self,
        kernel: str,
        *,
        arch: str | None = None,
        driver: tuple[int, int] | None = None,
        module: str | None = None,
    ) -> Explanation:
        """Return every candidate with its reason, and the chosen one; as text, a line for each."""
        from hatch_cuda_kernels.runtime import load_from
        from hatch_cuda_kernels.runtime.ladder import explain

        request = self._request(kernel, module or self._module, arch, driver)
        return explain(request, partial(load_from, request) if arch is None else None)

    def listed_kernels(self) -> list[tuple[str, str | None]]:
        """Return every listed kernel with its module, which is None if no other module has the name."""
        from hatch_cuda_kernels.names import listed_module

        own, found = self._module, self._reader.kernels()
        return found if own is None else [pair for pair in found if listed_module(pair[1] or own) == own]

    @cached_property
    def _reader(self) -> StoreReader:
        from pathlib import Path

        from hatch_cuda_kernels.store import StoreReader

        return StoreReader(Path(self.path))

    @cached_property
    def _loaded(self) -> LoadedKernels:
        from hatch_cuda_kernels.runtime import LoadedKernels

        return LoadedKernels("prebuilt", lambda: self._reader)

    @cached_property
    def _instances(self) -> InstanceCache:
        from hatch_cuda_kernels.runtime import InstanceCache

        return InstanceCache(self._reader, self.get_kernel, self._loaded.forget, _MOST_INSTANCES)

    def _request(
        self, name: str, module: str | None, arch: str | None = None, driver: tuple[int, int] | None = None
    ) -> Request:
        from hatch_cuda_kernels.runtime.ladder import make_request
        from hatch_cuda_kernels.runtime.launch import LIBRARIES

        facts = {"policy": "prebuilt", "tier_up": False, "refusal": LIBRARIES.refusal}
        return make_request(self._reader, name, module, arch, driver, **facts)  # type: ignore[arg-type]  # as written
