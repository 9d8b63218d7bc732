"""The store as the loader to vendor opens it: what is prebuilt, by the rules of the ladder, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.early import start_driver, starting_device

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
        self._kept: dict[str, Any] = {}
        """What is made when it is first used; the same for all modules of the store."""

    def __repr__(self) -> str:
        return f"<PrebuiltStore {self.path!r}{f', module {self._module!r}' if self._module else ''}>"

    def get_kernel(self, name: str, *, module: str | None = None) -> Kernel:
        """Return a kernel, loaded for the current context.

        Raises KernelNotFoundError, StoreError, NoImageError with every candidate's reason, and DriverError.
        """
        start_driver()
        from hatch_cuda_kernels.runtime import load  # while the driver starts, as all that follows

        of = module or self._module
        self._read_ahead(name, of)
        return self._loaded.get((name, of, "prebuilt"), lambda: load(self._request(name, of)))

    def instantiate(self, template: str, /, **arguments: Any) -> Kernel:
        """Return an instance of a pattern under ``instances:`` by its arguments. Raises what ``get_kernel`` raises."""
        return self._instances.get(template, arguments, self._module)

    def get_global(self, name: str, *, module: str | None = None) -> GlobalVariable:
        """Return a device variable in the image of its module's kernels. Raises what ``get_kernel`` raises."""
        from hatch_cuda_kernels.runtime import find_global

        def get_kernel(kernel: str, *, module: str, policy: object) -> Kernel:  # noqa: ARG001 - as the package asks
            return self.get_kernel(kernel, module=module)

        return find_global(self._reader, get_kernel, name, module or self._module, None)

    def module(self, family: str, /, **axes: Any) -> PrebuiltStore:
        """Return the same for one module, or for the one with these values of axes. Raises InputError, StoreError."""
        from hatch_cuda_kernels.store import find_module

        found = PrebuiltStore(self.path, find_module(self._reader, family, axes))
        found._kept = self._kept
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
        from functools import partial

        from hatch_cuda_kernels.runtime import load_from
        from hatch_cuda_kernels.runtime.ladder import explain

        request = self._request(kernel, module or self._module, arch, driver)
        return explain(request, partial(load_from, request) if arch is None else None)

    def listed_kernels(self) -> list[tuple[str, str | None]]:
        """Return every listed kernel with its module, which is None if no other module has the name."""
        from hatch_cuda_kernels.names import listed_module

        own, found = self._module, self._reader.kernels()
        return found if own is None else [pair for pair in found if listed_module(pair[1] or own) == own]

    @property
    def _reader(self) -> StoreReader:
        if "reader" not in self._kept:
            from pathlib import Path

            from hatch_cuda_kernels.store import StoreReader

            self._kept.setdefault("reader", StoreReader(Path(self.path)))
        return self._kept["reader"]  # type: ignore[no-any-return]  # as above

    @property
    def _loaded(self) -> LoadedKernels:
        if "loaded" not in self._kept:
            from hatch_cuda_kernels.runtime import LoadedKernels

            self._kept.setdefault("loaded", LoadedKernels("prebuilt", lambda: self._reader))
        return self._kept["loaded"]  # type: ignore[no-any-return]  # as above

    @property
    def _instances(self) -> InstanceCache:
        if "instances" not in self._kept:
            from hatch_cuda_kernels.runtime import InstanceCache

            made = InstanceCache(self._reader, self.get_kernel, self._loaded.forget, _MOST_INSTANCES)
            self._kept.setdefault("instances", made)
        return self._kept["instances"]  # type: ignore[no-any-return]  # as above

    def _read_ahead(self, name: str, module: str | None) -> None:
        """Read the image for device 0 while the driver makes its context. What fails here fails again later."""
        device = starting_device()
        if device is None:
            return
        from hatch_cuda_kernels.arch import SmArch
        from hatch_cuda_kernels.errors import HatchCudaKernelsError
        from hatch_cuda_kernels.runtime.launch import prepare_launches
        from hatch_cuda_kernels.vendor.bindings import find_usual

        try:
            request = self._request(name, module, str(SmArch.of_device(device[0])), device[1])
            self.find_image(name, arch=str(request.arch), driver=device[1], module=module)
            prepare_launches(request.kernel)
            find_usual()
        except (HatchCudaKernelsError, ImportError, OSError, ValueError):
            pass

    def _request(
        self, name: str, module: str | None, arch: str | None = None, driver: tuple[int, int] | None = None
    ) -> Request:
        from hatch_cuda_kernels.runtime.ladder import make_request

        return make_request(self._reader, name, module, arch, driver, policy="prebuilt", tier_up=False)
