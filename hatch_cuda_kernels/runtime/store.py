"""A package's kernels: the one object users of the run side talk to.

Everything else is imported inside the methods that need it: the driver starts first, and Python imports meanwhile.
"""

from __future__ import annotations

import threading
import time
from functools import cached_property, partial

from hatch_cuda_kernels.early import start_driver

#: Spelt out, because importing typing comes before the driver can start; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from pathlib import Path
    from typing import Any

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.image import Image
    from hatch_cuda_kernels.runtime.ahead import WarmUp
    from hatch_cuda_kernels.runtime.instances import PlanCache, PlanInfo
    from hatch_cuda_kernels.runtime.ladder.explain import Explanation
    from hatch_cuda_kernels.runtime.ladder.rungs import Policy, Request
    from hatch_cuda_kernels.runtime.launch.kernel import GlobalVariable, Kernel
    from hatch_cuda_kernels.runtime.stats import KernelStats
    from hatch_cuda_kernels.store.reader import StoreReader

    #: Name, module, policy and context id.
    _Key = tuple[str, str | None, Policy, int]

__all__ = ["Store", "open_store"]

_POLICIES = ("compatible", "exact", "prebuilt")


def open_store(package: str | Path, *, policy: Policy = "compatible", tier_up: bool = False, plans: int = 64) -> Store:
    """Return the store of an import package, or of a folder. Reads nothing; a missing store raises at first use.

    With ``tier_up``, a kernel that got PTX or a CUBIN of a lower minor is compiled exactly in the background, for the
    next process to find. ``plans`` is how many instances ``instantiate`` remembers. Raises InputError for another
    policy than ``compatible``, ``exact`` or ``prebuilt``.
    """
    return Store(package, policy=policy, tier_up=tier_up, plans=plans)


class Store:
    """The kernels of one package. Thread-safe; ``explain`` says why a kernel gets the image it gets."""

    def __init__(
        self, package: str | Path, *, policy: Policy = "compatible", tier_up: bool = False, plans: int = 64
    ) -> None:
        self.package = package
        if policy not in _POLICIES:
            from hatch_cuda_kernels.runtime.ladder.request import checked_policy

            checked_policy(policy)
        self.policy = policy
        self.tier_up = tier_up
        self._hot: dict[int, dict[str, Kernel]] = {}
        self._kernels: dict[_Key, tuple[Kernel, float]] = {}
        self._locks: dict[_Key, threading.Lock] = {}
        self._plan_capacity = plans

    def __repr__(self) -> str:
        return f"<Store {str(self.package)!r}>"

    @cached_property
    def path(self) -> Path:
        """The store's folder. Raises StoreError when there is none."""
        from hatch_cuda_kernels.store.reader import find_store

        return find_store(self.package)

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """Names of all kernels the store lists, each once, as they were written."""
        return tuple(dict.fromkeys(name for name, _ in self.listed_kernels()))

    def get_kernel(self, name: str, *, module: str | None = None, policy: Policy | None = None) -> Kernel:
        """Return a kernel, loaded for the current context (device 0's primary context where none is current).

        ``name`` is as in the manifest, or any other instance of a template in it, which is then compiled and
        recorded. Raises KernelNotFoundError, NoImageError with every candidate's reason, or CompileError.
        """
        start_driver()
        from hatch_cuda_kernels.runtime.context import current_context_id
        from hatch_cuda_kernels.runtime.prelude import prepare

        prepare(self._reader, name)
        return self._get((name, module, policy or self.policy, current_context_id()))

    async def aget_kernel(self, name: str, *, module: str | None = None, policy: Policy | None = None) -> Kernel:
        """Return ``get_kernel``'s kernel without holding the event loop up while it is loaded or compiled."""
        from asyncio import wrap_future  # its caller has it

        start_driver()
        from hatch_cuda_kernels.runtime.ahead import in_context

        return await wrap_future(in_context(partial(self.get_kernel, name, module=module, policy=policy)))

    def instantiate(self, template: str, **arguments: Any) -> Kernel:  # rendered as text
        """Return the instance of a listed pattern at these template arguments, remembering recent ones.

        Raises InputError for arguments that are not the pattern's, and what ``get_kernel`` raises.
        """
        from hatch_cuda_kernels.runtime.context import current_context_id

        key = (template, frozenset(arguments.items()), current_context_id())
        return self._plans.get(key, lambda: self._instantiate(template, arguments))

    def plan_info(self) -> PlanInfo:
        """Return capacity, size, hits, misses and evictions of ``instantiate``'s memory."""
        return self._plans.info()

    def get_global(self, name: str, *, module: str | None = None, policy: Policy | None = None) -> GlobalVariable:
        """Return a variable the manifest lists under ``globals``: address in the current context and size in bytes.

        The variable is that of the image which the module's listed kernels are loaded from; an instance that was
        compiled on demand has its own, see ``Kernel.get_global``. Raises KernelNotFoundError.
        """
        from hatch_cuda_kernels.runtime.ladder.request import find_variable

        variable, kernel = find_variable(self._reader, name, module)
        loaded = self.get_kernel(kernel.name, module=variable.module, policy=policy)
        return loaded.get_global(variable.lowered)

    def find_image(
        self,
        kernel: str,
        *,
        arch: str | SmArch | None = None,
        driver: tuple[int, int] | None = None,
        policy: Policy | None = None,
        module: str | None = None,
    ) -> Image:
        """Return the image the ladder gives for an architecture, without a GPU; compiles and records where it must.

        ``arch`` (default: the current device) is real, such as ``sm_120``; ``driver`` is the CUDA version of an
        imagined driver (default: the device's, or with ``arch`` one that knows every PTX). Raises KernelNotFoundError,
        NoImageError or CompileError.
        """
        from hatch_cuda_kernels.runtime.loading import climb_or_raise

        return climb_or_raise(self._request(kernel, module, policy, arch, driver), lambda image: image)

    def compile_async(self, kernel: str, *, arch: str | SmArch, policy: Policy = "exact") -> Future[Image]:
        """Start ``find_image`` in the background; NVRTC runs without the GIL. The Future raises what it raises."""
        from hatch_cuda_kernels.runtime.ahead import background

        return background().submit(self.find_image, kernel, arch=arch, policy=policy)

    def explain(
        self,
        kernel: str,
        *,
        arch: str | SmArch | None = None,
        driver: tuple[int, int] | None = None,
        policy: Policy | None = None,
        module: str | None = None,
    ) -> Explanation:
        """Return the ladder for a kernel: every candidate with its reason, and the chosen one. Compiles nothing.

        Without ``arch`` it asks about the current device, whose driver is asked too: what it refuses says so.
        """
        from hatch_cuda_kernels.runtime.ladder.explain import explain
        from hatch_cuda_kernels.runtime.loading import load_image

        request = self._request(kernel, module, policy, arch, driver)
        return explain(request, None if arch is not None else partial(load_image, request))

    def warm_up(
        self,
        kernels: Sequence[str] | None = None,
        devices: Sequence[int] | None = None,
        *,
        progress: bool | Callable[[int, int, str], None] = False,
    ) -> WarmUp:
        """Load kernels (default: all listed) ahead of need, on devices by ordinal (default: the current context's).

        ``progress`` True prints a line; a function is called with (done, total, kernel). Returns counts by origin and
        seconds.
        """
        from hatch_cuda_kernels.runtime.ahead import warm_up

        return warm_up(self, kernels, devices, progress=progress)

    def is_loaded(self, name: str, *, module: str | None = None) -> bool:
        """Return whether ``get_kernel`` would answer from memory in the current context, under the store's policy."""
        from hatch_cuda_kernels.runtime.context import current_context_id

        return (name, module, self.policy, current_context_id()) in self._kernels

    def stats(self) -> tuple[KernelStats, ...]:
        """Return, for each kernel loaded through this store, its origin, image, load time in seconds, and hits."""
        from hatch_cuda_kernels.runtime.stats import kernel_stats

        return tuple(kernel_stats(kernel, seconds) for kernel, seconds in list(self._kernels.values()))

    def contents(self) -> dict[str, Any]:
        """Return what is inside, as ``inspect --json`` prints it."""
        from hatch_cuda_kernels.store.contents import contents

        return contents(self._reader)

    def extract_images(self, folder: str | Path) -> list[Path]:
        """Write every image into a folder, as ``saxpy.sm_90.cubin``, for tools such as cuobjdump; return the files.

        Raises StoreError for an image that cannot be read, InputError where the folder cannot be written.
        """
        from pathlib import Path

        from hatch_cuda_kernels.store.contents import extract_images

        return extract_images(self._reader, Path(folder))

    def listed_kernels(self) -> list[tuple[str, str | None]]:
        """Return every listed kernel with the module to name, which is None where no other module has the kernel."""
        return self._reader.kernels()

    @cached_property
    def _reader(self) -> StoreReader:
        from hatch_cuda_kernels.store.reader import StoreReader

        return StoreReader(self.path, str(self.package))

    @cached_property
    def _plans(self) -> PlanCache:
        from hatch_cuda_kernels.runtime.instances import PlanCache

        return PlanCache(self._plan_capacity)

    def _instantiate(self, template: str, arguments: dict[str, Any]) -> Kernel:
        from hatch_cuda_kernels.runtime.instances import render_instance

        name, module = render_instance(self._reader, template, arguments)
        return self.get_kernel(name, module=module)

    def _get(self, key: _Key) -> Kernel:
        """Return a memoised kernel or load it, once however many threads ask."""
        from hatch_cuda_kernels.runtime.context import hot_lookup
        from hatch_cuda_kernels.runtime.loading import load_kernel

        name, module, policy, context_id = key
        with self._locks.setdefault(key, threading.Lock()):
            known = self._kernels.get(key)
            if known is not None:
                known[0].hits += 1
                return known[0]
            start = time.perf_counter()
            kernel = load_kernel(self._request(name, module, policy, None, None), context_id)
            self._kernels[key] = kernel, time.perf_counter() - start
        if module is None and policy == self.policy:
            self._hot.setdefault(context_id, {})[name] = kernel
            # From now on a look-up is two dictionary accesses behind the driver's answer; see hot_lookup.
            self.__dict__["get_kernel"] = hot_lookup(self._hot, partial(Store.get_kernel, self))
        return kernel

    def _request(
        self,
        name: str,
        module: str | None,
        policy: Policy | None,
        arch: str | SmArch | None,
        driver: tuple[int, int] | None,
    ) -> Request:
        from hatch_cuda_kernels.runtime.ladder.request import find_kernel, make_request

        return make_request(
            self._reader,
            find_kernel(self._reader, name, module),
            arch=arch,
            driver=driver,
            policy=policy or self.policy,
            tier_up=self.tier_up,
        )
