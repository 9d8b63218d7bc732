"""A kernel's image loaded for one context, and what the driver says of the kernel there."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.driver import check, cuda, current_context_id, current_device
from hatch_cuda_kernels.errors import DriverError, LaunchError
from hatch_cuda_kernels.runtime.launch.libraries import LIBRARIES

if TYPE_CHECKING:
    from hatch_cuda_kernels.image import Image, Symbol
    from hatch_cuda_kernels.runtime.launch.libraries import LoadedLibrary
    from hatch_cuda_kernels.runtime.launch.shapes import Shape

__all__ = ["Loaded", "load_image"]

#: Bytes of shared memory without opting in (CUDA C++ Programming Guide, "Shared memory" of each architecture).
_FREE_SHARED: Final = 48 << 10
#: Blocks of a cluster that every device with clusters takes.
_PORTABLE_CLUSTER: Final = 8
#: What a kernel was allowed is read and raised by one thread at a time: all contexts and stores share it.
_ALLOWING: Final = threading.Lock()


class Loaded(NamedTuple):
    """One kernel, loaded for one context."""

    image: Image
    symbol: Symbol
    library: LoadedLibrary
    handle: Any
    """CUkernel."""
    function: Any
    """The same as CUfunction of the context, which is what launches take."""
    context_id: int
    ordinal: int

    def attribute(self, name: str) -> int:
        """Return an attribute of the kernel on its device, such as NUM_REGS."""
        driver = cuda()
        which = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        call = driver.cuKernelGetAttribute(which, self.handle, driver.CUdevice(self.ordinal))
        return int(check("cuKernelGetAttribute", call))

    def device_attribute(self, name: str) -> int:
        """Return an attribute of the kernel's device, such as MULTIPROCESSOR_COUNT."""
        driver = cuda()
        which = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(check("cuDeviceGetAttribute", driver.cuDeviceGetAttribute(which, driver.CUdevice(self.ordinal))))

    def allow(self, shape: Shape) -> None:
        """Opt in to what a shape needs: much shared memory, clusters that not every device takes.

        Never less than before, for another launch may count on it. Raises LaunchError if the driver refuses.
        """
        if shape.shared_mem:
            with _ALLOWING:
                self._allow_shared(shape.shared_mem)
        if shape.cluster is not None and shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > _PORTABLE_CLUSTER:
            self._set("NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1, f"a cluster of {shape.cluster}")

    def _allow_shared(self, wanted: int) -> None:
        static = self.attribute("SHARED_SIZE_BYTES")
        if wanted + static <= _FREE_SHARED or wanted <= self.attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES"):
            return
        most = self.device_attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if wanted + static > most:
            sizes = f"{wanted} bytes of dynamic shared memory" + f" and {static} static ones" * bool(static)
            limit = "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"
            raise LaunchError(f"{self.symbol.name}: {sizes}: a block has at most {most} on this device ({limit})")
        self._set("MAX_DYNAMIC_SHARED_SIZE_BYTES", wanted, f"{wanted} bytes of dynamic shared memory")

    def _set(self, name: str, value: int, what: str) -> None:
        driver = cuda()
        which = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        try:
            call = driver.cuKernelSetAttribute(which, value, self.handle, driver.CUdevice(self.ordinal))
            check("cuKernelSetAttribute", call)
        except DriverError as error:
            raise LaunchError(f"{self.symbol.name}: {what}: {error}") from error


def load_image(image: Image, symbol: Symbol, scope: str) -> Loaded:
    """Return a kernel of an image, loaded for the current context; ``scope`` is as in ``Libraries.load``.

    Raises ImageRefusedError when the driver cannot use the image, DriverError for any other failure.
    """
    context_id, device = current_context_id(), current_device()
    library, handle, function = LIBRARIES.load(image, symbol.lowered, device.capability, scope)
    return Loaded(image, symbol, library, handle, function, context_id, device.ordinal)
