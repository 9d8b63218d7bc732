"""Where XLA calls go: the handlers that XLA knows, and the devices that JAX has, where a kernel is loaded and launched.

XLA keeps the address of a handler and takes no other one for its name. A name holds nothing of this process: programs
that JAX compiled and kept on disk call by it.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import jax

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.driver import cuda, launch_by_address, on_device
from hatch_cuda_kernels.operators.jax.handler import Entered, Handler, stream_getter
from hatch_cuda_kernels.runtime.launch import Configs, Launch

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.operators.jax.handler import LaunchTarget, Passing
    from hatch_cuda_kernels.runtime.launch import Kernel, Shape


class Registered(NamedTuple):
    """What XLA knows."""

    name: str
    handler: Handler
    callback: Any
    """What XLA calls; it must stay."""


_Callback: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
_lock: Final = threading.Lock()
#: By scope, name and platform. Nothing is ever removed.
_REGISTERED: Final[dict[tuple[str, str, str], Registered]] = {}


def register(name: str, scope: str, passing: Passing, target: LaunchTarget) -> Registered:
    """Return the handler of a name, which is registered the first time.

    ``scope`` says whose kernel it is. For another kernel of the same name, the name is extended.
    """
    with _lock:
        known = _REGISTERED.get(key := (scope, name, target.platform))
        if known is not None:
            return known
        taken = any((name, target.platform) == (other, platform) for _, other, platform in _REGISTERED)
        unique = f"{name}.{sha256(scope.encode()).hexdigest()[:8]}" if taken else name
        handler = Handler(passing, target)
        callback = _Callback(handler.handle)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        jax.ffi.register_ffi_target(unique, jax.ffi.pycapsule(address), platform=target.platform)
        return _REGISTERED.setdefault(key, Registered(unique, handler, callback))


class CudaTarget:
    """A kernel on the CUDA devices of this process. XLA has the context of its stream current when it calls."""

    platform = "CUDA"

    def __init__(self, get_kernel: Callable[[], Kernel]) -> None:
        self._get_kernel = get_kernel
        self._prepared = False

    @property
    def launch(self) -> Callable[[int, int, int, int], int]:
        """The driver's launch. Raises DriverError without a driver."""
        launch: Callable[[int, int, int, int], int] = launch_by_address()
        return launch

    def prepare(self) -> None:
        """Load the kernel on each device that JAX uses, once; on none where JAX has no GPU, as when it only traces."""
        for ordinal in () if self._prepared else _ordinals():
            with on_device(ordinal):
                self._get_kernel()
        self._prepared = True

    def get_stream(self, api: int) -> Callable[[int], Any]:
        """Return XLA's function for the stream."""
        return stream_getter(api)

    def enter(self, shape: Shape, stream: int | None) -> Entered:
        """Return the kernel and the configuration for a shape on a stream. Raises what ``Store.get_kernel`` raises."""
        loaded = self._get_kernel().loaded()
        loaded.allow(shape)
        configs = Configs(shape)
        # The kernel, not the function of this context: it goes to the context of the stream, whichever that is by then.
        return Entered(int(configs[stream].getPtr()), int(loaded.handle), (configs, loaded))

    def refuse(self, status: int, shape: Shape, stream: int | None) -> None:
        """Raise the DriverError for a launch that the driver refused, with what explains it."""
        Launch(self._get_kernel(), shape, stream).refuse(cuda().CUresult(status), stream)


def _ordinals() -> list[int]:
    try:
        devices = jax.local_devices(backend="cuda")
    except RuntimeError:  # no such backend
        return []
    return [device.local_hardware_id for device in devices]
