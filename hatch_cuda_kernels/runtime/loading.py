"""From a request to a loaded kernel, once per context, however many threads ask."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from hatch_cuda_kernels.driver import cuda
from hatch_cuda_kernels.runtime.ladder.climb import obtain
from hatch_cuda_kernels.runtime.launch.kernel import load_kernel

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from hatch_cuda_kernels.image import Image
    from hatch_cuda_kernels.runtime.ladder.policy import Policy
    from hatch_cuda_kernels.runtime.ladder.request import Request
    from hatch_cuda_kernels.runtime.launch.kernel import Kernel
    from hatch_cuda_kernels.runtime.stats import KernelStats

    #: Name, module, policy and context id.
    Key: TypeAlias = tuple[str, str | None, Policy, int]

__all__ = ["LoadedKernels", "load", "load_from"]


def load(request: Request) -> Kernel:
    """Return the request's kernel, loaded for the current context. Raises NoImageError, CompileError or DriverError."""
    kernel = obtain(request, partial(load_from, request))
    if request.tier_up and kernel.image.origin == "prebuilt" and not request.is_exact(kernel.image):
        from hatch_cuda_kernels.runtime.ahead import tier_up  # off the usual path

        tier_up(request)
    return kernel


def load_from(request: Request, image: Image) -> Kernel:
    """Return the request's kernel, loaded from an image. Raises ImageRefusedError if the driver refuses it."""
    return load_kernel(image, request.symbol(image), request.source.scope)


class LoadedKernels:
    """The kernels that one store has loaded. Thread-safe."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._kernels: dict[Key, tuple[Kernel, float]] = {}
        self._locks: dict[Key, threading.Lock] = {}
        self._by_name: dict[int, dict[str, Kernel]] = {}
        """Kernels requested by name alone: by context id, then by name."""

    def __contains__(self, key: Key) -> bool:
        return key in self._kernels

    def get(self, key: Key, make: Callable[[], Kernel]) -> Kernel:
        """Return a kernel, which ``make`` loads the first time. Raises what ``make`` raises."""
        with self._locks.setdefault(key, threading.Lock()):
            known = self._kernels.get(key)
            if known is not None:
                known[0].hits += 1
                return known[0]
            start = time.perf_counter()
            kernel = make()
            self._kernels[key] = kernel, time.perf_counter() - start
        name, module, policy, context_id = key
        if module is None and policy == self._policy:
            self._by_name.setdefault(context_id, {})[name] = kernel
        return kernel

    def lookup(self, get_kernel: Callable[..., Kernel]) -> Callable[..., Kernel]:
        """Return a faster ``Store.get_kernel``: dictionary accesses for a loaded kernel, ``get_kernel`` for others."""
        kernels, driver = self._by_name, cuda()
        # NULL stands for the current context (CUDA Driver API, cuCtxGetId).
        context_id, current = driver.cuCtxGetId, driver.CUcontext(0)

        def look_up(name: str, *, module: str | None = None, policy: Policy | None = None) -> Kernel:
            if module is None and policy is None:
                try:
                    kernel = kernels[context_id(current)[1]][name]
                except KeyError:
                    return get_kernel(name)
                kernel.hits += 1
                return kernel
            return get_kernel(name, module=module, policy=policy)

        return look_up

    def stats(self) -> tuple[KernelStats, ...]:
        """Return where each kernel came from, how long it took to load, and its hits."""
        from hatch_cuda_kernels.runtime.stats import kernel_stats  # off the usual path

        return tuple(kernel_stats(kernel, seconds) for kernel, seconds in list(self._kernels.values()))
