"""The store of a package: the object through which you load and launch its kernels.

Each method imports what it needs, so that the driver starts first, and Python imports meanwhile.
"""

from __future__ import annotations

from functools import cached_property, partial

from hatch_cuda_kernels.early import is_starting, start_driver, starting_device

#: Spelt out, because importing typing would delay the start of the driver; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from pathlib import Path
    from typing import Any, Unpack

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.environment import Policy
    from hatch_cuda_kernels.image import Image
    from hatch_cuda_kernels.operators.cupy import CupyModule
    from hatch_cuda_kernels.operators.jax import CallOptions, JaxCall
    from hatch_cuda_kernels.operators.torch import TorchOperators, TorchOptions
    from hatch_cuda_kernels.runtime import InstanceCache, InstanceInfo, KernelStats, LoadedKernels, WarmUp
    from hatch_cuda_kernels.runtime.ladder import Explanation, Request
    from hatch_cuda_kernels.runtime.launch import GlobalVariable, Kernel
    from hatch_cuda_kernels.store import StoreReader

#: What a load needs, as modules and names in folders: looking a name up imports its module.
_NEEDED = ("cuda.bindings.driver", "hatch_cuda_kernels.runtime:LoadedKernels")
#: What it takes to find or compile a kernel that the store has no image of. A process that imports it for nothing ends
#: later: when Python exits, it takes modules apart.
_OF_COMPILES = (
    "hatch_cuda_kernels.cache:open_cache",
    "hatch_cuda_kernels.compiler.toolchain:known_toolchains",
    "platformdirs",
    "hatch_cuda_kernels.includes:read_closure",
    "hatch_cuda_kernels.runtime.ladder:jit_candidates",
    "hatch_cuda_kernels.compiler:run_job",
    "hatch_cuda_kernels.compiler:entry_of",
    "hatch_cuda_kernels.cache:Failure",
    "cuda.bindings.nvrtc",
)


def open_store(
    package: str | Path, *, policy: Policy = "compatible", tier_up: bool = False, instances: int = 64
) -> Store:
    """Return the store of an import package or a folder. Nothing is read yet; a missing store raises at first use.

    With ``tier_up``, the store compiles an exact image in the background, for the next process, where a kernel got PTX
    or a CUBIN of a lower minor version. ``instantiate`` keeps as many ``instances``. Raises InputError for an unknown
    policy.
    """
    return Store(package, policy=policy, tier_up=tier_up, instances=instances)


def store_of(reader: StoreReader) -> Store:
    """Return the store that a reader reads. Messages call it by the reader's label."""
    store = Store(reader.label)
    store.__dict__.update(path=reader.folder, _reader=reader)
    return store


class Store:
    """The kernels of one package. Thread-safe; ``explain`` says why a kernel gets the image it gets."""

    def __init__(
        self, package: str | Path, *, policy: Policy = "compatible", tier_up: bool = False, instances: int = 64
    ) -> None:
        self.package = package
        self.policy = policy
        if policy != "compatible":  # the default needs no check, and so no import
            from hatch_cuda_kernels.environment import check_policy

            check_policy(policy)
        self.tier_up = tier_up
        self._capacity = instances
        self._variables: dict[tuple[str, str | None, Policy | None], GlobalVariable] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return partial(open_store, policy=self.policy, tier_up=self.tier_up, instances=self._capacity), (self.package,)

    def __repr__(self) -> str:
        return f"<Store {str(self.package)!r}>"

    @cached_property
    def path(self) -> Path:
        """The store's folder. Raises StoreError if there is none."""
        from hatch_cuda_kernels.store import find_store

        return find_store(self.package)

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """Names of all listed kernels, each once, as they were written."""
        return tuple(dict.fromkeys(name for name, _ in self.listed_kernels()))

    def listed_kernels(self) -> list[tuple[str, str | None]]:
        """Return every listed kernel with its module, which is None if no other module has a kernel of that name."""
        return self._reader.kernels()

    def contents(self) -> dict[str, Any]:
        """Return what is inside, as ``inspect --json`` prints it. Raises StoreError for a missing or damaged store."""
        from hatch_cuda_kernels.store import list_contents

        return list_contents(self._reader)

    def extract_images(self, folder: str | Path) -> list[Path]:
        """Write every image into a folder, as ``saxpy.sm_90.cubin``, for tools such as cuobjdump; return the files.

        Raises StoreError for an image that cannot be read, InputError if the folder cannot be written.
        """
        from hatch_cuda_kernels.store import extract_images

        return extract_images(self._reader, folder)

    def get_kernel(self, name: str, *, module: str | None = None, policy: Policy | None = None) -> Kernel:
        """Return a kernel, loaded for the current context (device 0's primary context if none is current).

        One object serves all contexts: a launch in another one loads the kernel there. ``name`` is a name of the
        manifest, or any instance of its templates, which is then compiled and recorded. Raises KernelNotFoundError,
        NoImageError with every candidate's reason, CompileError, StoreError for a missing or damaged store, or
        DriverError without a device.
        """
        start_driver()
        _prepare(self._reader, name, module)
        from hatch_cuda_kernels.runtime import load

        key, ahead = (name, module, policy or self.policy), self._work_ahead(name, module, policy)
        kernel = self._loaded.get(key, lambda: load(self._request(name, module, policy, ahead=ahead)))
        self.__dict__.setdefault("get_kernel", self._loaded.lookup(partial(Store.get_kernel, self)))
        return kernel

    async def aget_kernel(self, name: str, *, module: str | None = None, policy: Policy | None = None) -> Kernel:
        """Return the kernel of ``get_kernel`` without blocking the event loop. Raises what ``get_kernel`` raises."""
        from asyncio import wrap_future  # its caller has it

        start_driver()
        from hatch_cuda_kernels.runtime import in_context

        return await wrap_future(in_context(partial(self.get_kernel, name, module=module, policy=policy)))

    def module(self, family: str, /, **axes: Any) -> StoreModule:  # rendered as text
        """Return the module that has these values of the axes in its name; without values, the module so called.

        ``family`` is the manifest's name of the module without its placeholders: ``build_aux`` for
        ``build_aux_{IN}_{OUT}``. Kernels of a combination that the manifest does not list are compiled and recorded.
        Raises InputError, which lists what there is, also for a combination that it excludes, and StoreError.
        """
        from hatch_cuda_kernels.store import find_module

        return StoreModule(find_module(self._reader, family, axes), self, self._reader)

    def cupy_module(self, family: str, /, *, enable_cooperative_groups: bool = False, **axes: Any) -> CupyModule:
        """Return the module of ``module`` with the methods of CuPy's ``RawModule``; its kernels are as ``RawKernel``.

        With ``enable_cooperative_groups``, all launches are cooperative. Raises InputError without CuPy, and what
        ``module`` raises.
        """
        from hatch_cuda_kernels.operators.cupy import CupyModule

        return CupyModule(self.module(family, **axes), enable_cooperative_groups=enable_cooperative_groups)

    def instantiate(self, template: str, /, **arguments: Any) -> Kernel:  # rendered as text
        """Return the instance of a listed pattern with these template arguments. The store keeps recent ones.

        Raises InputError for arguments that the pattern does not have, and what ``get_kernel`` raises.
        """
        return self._instances.get(template, arguments)

    def instance_info(self) -> InstanceInfo:
        """Return how many instances ``instantiate`` keeps, and how often it found one."""
        return self._instances.info()

    def get_global(self, name: str, *, module: str | None = None, policy: Policy | None = None) -> GlobalVariable:
        """Return a variable that the manifest lists under ``globals``, in the image that has the module's kernels.

        For an instance that was compiled on demand, use ``Kernel.get_global``: its image has another copy. Raises what
        ``get_kernel`` raises.
        """
        from hatch_cuda_kernels.runtime import find_global

        known = self._variables.get(key := (name, module, policy))
        return known or self._variables.setdefault(key, find_global(self._reader, self.get_kernel, *key))

    def torch_ops(self, namespace: str, **options: Unpack[TorchOptions]) -> TorchOperators:
        """Register an operator of torch for each kernel that has a rule under ``launch:`` in the manifest.

        ``TorchOptions`` lists the options. Raises InputError for options that do not fit the kernels and for a name
        that is taken, StoreError for a missing or damaged store.
        """
        from hatch_cuda_kernels.operators.torch import operators_of_store  # imports torch

        return operators_of_store(self._reader, self.get_kernel, namespace, options)

    def jax_call(self, name: str, **options: Unpack[CallOptions]) -> JaxCall:
        """Return a function for use inside ``jax.jit`` that launches a kernel and returns the arrays it writes.

        ``out`` and ``aliases`` name those arrays. ``grid`` and ``block`` are needed unless the manifest has a rule; see
        ``CallOptions``. Imports jax. Raises InputError for options that do not fit the kernel, KernelNotFoundError
        and StoreError.
        """
        from hatch_cuda_kernels.operators.jax import declare

        return declare(self._reader, self.get_kernel, self.policy, name, options)

    def find_image(
        self,
        kernel: str,
        *,
        arch: str | SmArch | None = None,
        driver: tuple[int, int] | None = None,
        policy: Policy | None = None,
        module: str | None = None,
    ) -> Image:
        """Return the image that a kernel gets on an architecture; no GPU is needed. Compiles it if necessary.

        ``arch`` (default: the current device) is real, such as ``sm_120``; ``driver`` is the CUDA version of a
        hypothetical driver (default: the device's, or with ``arch`` one that knows every PTX). Raises what
        ``get_kernel`` raises, and InputError for an ``arch`` that is not a device's.
        """
        from hatch_cuda_kernels.runtime.ladder import obtain

        request = self._request(kernel, module, policy, arch, driver)

        def take(image: Image) -> Image:
            request.symbol(image)
            return image

        return obtain(request, take)

    def compile_async(self, kernel: str, *, arch: str | SmArch, policy: Policy = "exact") -> Future[Image]:
        """Start ``find_image`` in the background; NVRTC runs without the GIL. The future raises what that raises."""
        from hatch_cuda_kernels.runtime import background_threads

        return background_threads().submit(self.find_image, kernel, arch=arch, policy=policy)

    def explain(
        self,
        kernel: str,
        *,
        arch: str | SmArch | None = None,
        driver: tuple[int, int] | None = None,
        policy: Policy | None = None,
        module: str | None = None,
    ) -> Explanation:
        """Return every candidate for a kernel with its reason, and the chosen one. Compiles nothing.

        Without ``arch``, the current device counts, and its driver is asked, too. Raises what ``find_image`` raises,
        except NoImageError and CompileError.
        """
        from hatch_cuda_kernels.runtime import load_from
        from hatch_cuda_kernels.runtime.ladder import explain

        request = self._request(kernel, module, policy, arch, driver)
        return explain(request, partial(load_from, request) if arch is None else None)

    def warm_up(
        self,
        kernels: Sequence[str] | None = None,
        devices: Sequence[int] | None = None,
        *,
        progress: bool | Callable[[int, int, str], None] = False,
    ) -> WarmUp:
        """Load kernels (default: all listed) in advance, on devices by ordinal (default: the current one).

        ``progress=True`` prints a line; a function gets (done, total, kernel). Raises what ``get_kernel`` raises.
        """
        from hatch_cuda_kernels.runtime import warm_up

        wanted = self.listed_kernels() if kernels is None else [(name, None) for name in kernels]
        return warm_up(wanted, devices, self.is_loaded, self.get_kernel, progress=progress)

    def is_loaded(self, name: str, *, module: str | None = None) -> bool:
        """Return whether the kernel is loaded for the current context, under the store's policy."""
        return self._loaded.is_loaded((name, module, self.policy))

    def stats(self) -> tuple[KernelStats, ...]:
        """Return origin, image, load time in seconds and hits of each kernel that this store loaded."""
        return self._loaded.stats()

    @cached_property
    def _reader(self) -> StoreReader:
        from hatch_cuda_kernels.store import StoreReader

        return StoreReader(self.path, str(self.package))

    @cached_property
    def _loaded(self) -> LoadedKernels:
        from hatch_cuda_kernels.runtime import LoadedKernels

        loaded: LoadedKernels = self.__dict__.setdefault("_loaded", LoadedKernels(self.policy, lambda: self._reader))
        return loaded  # one for all threads

    @cached_property
    def _instances(self) -> InstanceCache:
        from hatch_cuda_kernels.runtime import InstanceCache

        return InstanceCache(self._reader, self.get_kernel, self._loaded.forget, self._capacity)

    def _request(
        self,
        name: str,
        module: str | None,
        policy: Policy | None,
        arch: str | SmArch | None = None,
        driver: tuple[int, int] | None = None,
        ahead: list[Request] | None = None,
    ) -> Request:
        from hatch_cuda_kernels.runtime.ladder import make_request

        policy = policy or self.policy
        found = make_request(self._reader, name, module, arch, driver, policy=policy, tier_up=self.tier_up)
        before = ahead.pop() if ahead else found  # what has read the sources, unless they were asked for since
        return found._replace(compiled=before.compiled, source=before.source)

    def _work_ahead(self, name: str, module: str | None, policy: Policy | None) -> list[Request]:
        """Read the image that device 0 gets, or compile what only a compile can give it, while its context is made.

        Return the request, if any. What fails here fails again when the kernel is loaded.
        """
        device = starting_device()
        if device is None:
            return []
        from contextlib import suppress

        from hatch_cuda_kernels.arch import SmArch
        from hatch_cuda_kernels.errors import HatchCudaKernelsError
        from hatch_cuda_kernels.runtime.ladder import work_ahead
        from hatch_cuda_kernels.runtime.launch import prepare_launches

        requests = []
        with suppress(HatchCudaKernelsError, ValueError):
            request = self._request(name, module, policy, SmArch.of_device(device[0]), device[1])
            requests.append(request)
            work_ahead(request)
            if request.listed:
                prepare_launches(request.kernel)
        with suppress(Exception):  # the bindings raise several types
            from cuda.bindings import driver

            driver.cuDriverGetVersion()  # the first call finds all functions; last, in case it waits for the context
        return requests


class StoreModule:
    """One module of a store, with the methods of ``Store`` that ask for a kernel or variable."""

    def __init__(self, key: str, store: Store, reader: StoreReader) -> None:
        self._key = key
        self._store = store
        self._reader = reader

    def __reduce__(self) -> tuple[object, ...]:
        index = self._reader.module(self._key)
        return partial(Store.module, **index.axes), (self._store, index.family or index.module)

    @property
    def name(self) -> str:
        """What the module is called, or would be if the manifest listed it."""
        return self._reader.module(self._key).module

    @property
    def axes(self) -> dict[str, str]:
        """The values of the axes in the name; none for a module without axes."""
        return dict(self._reader.module(self._key).axes)

    @property
    def is_listed(self) -> bool:
        """Whether the manifest lists the module; kernels of another one are compiled and recorded."""
        return self._key not in self._reader.unlisted

    def __repr__(self) -> str:
        return f"<StoreModule {self.name!r} of {str(self._store.package)!r}>"

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the module's listed kernels; of one that is not listed, those that its sources declare, too."""
        if not self.is_listed:
            from hatch_cuda_kernels.store import ModuleSource

            return self._reader.unlisted[self._key].kernels(ModuleSource(self._reader, self._key).declared_kernels)
        from hatch_cuda_kernels.names import listed_module

        lines = (line for line in self._reader.lines() if listed_module(line.module) == self._key)
        return tuple(line.name for line in lines if not line.is_variable)

    def get_kernel(self, name: str, *, policy: Policy | None = None) -> Kernel:
        """Return the module's kernel of that name, as ``Store.get_kernel`` does."""
        return self._store.get_kernel(name, module=self._key, policy=policy)

    def instantiate(self, template: str, /, **arguments: Any) -> Kernel:  # rendered as text
        """Return an instance of one of the module's patterns, as ``Store.instantiate`` does."""
        return self._store._instances.get(template, arguments, self._key)  # noqa: SLF001 - one cache for all modules

    def get_global(self, name: str, *, policy: Policy | None = None) -> GlobalVariable:
        """Return one of the module's variables, as ``Store.get_global`` does."""
        return self._store.get_global(name, module=self._key, policy=policy)

    def find_image(
        self,
        kernel: str,
        *,
        arch: str | SmArch | None = None,
        driver: tuple[int, int] | None = None,
        policy: Policy | None = None,
    ) -> Image:
        """Return the image that one of the module's kernels gets on an architecture, as ``Store.find_image`` does."""
        return self._store.find_image(kernel, arch=arch, driver=driver, policy=policy, module=self._key)

    def explain(
        self,
        kernel: str,
        *,
        arch: str | SmArch | None = None,
        driver: tuple[int, int] | None = None,
        policy: Policy | None = None,
    ) -> Explanation:
        """Return every candidate for one of the module's kernels, as ``Store.explain`` does."""
        return self._store.explain(kernel, arch=arch, driver=driver, policy=policy, module=self._key)


def _prepare(reader: StoreReader, kernel: str, module: str | None) -> None:
    """Import modules and read the store until the driver has started. What fails here fails again when it is used."""
    if not is_starting():
        return
    from contextlib import suppress

    from hatch_cuda_kernels.collector import uncollected
    from hatch_cuda_kernels.errors import StoreError
    from hatch_cuda_kernels.names import normalize_name

    with uncollected():  # modules are not garbage
        for name in _NEEDED:
            _import(name)
    with suppress(StoreError, OSError, ValueError, ImportError):
        reader.look_ahead(normalize_name(kernel), module)
        is_listed = module not in reader.unlisted and reader.find(normalize_name(kernel), module)
        with uncollected():
            for name in () if is_listed else _OF_COMPILES:
                if is_starting():
                    _import(name)


def _import(place: str) -> None:
    from importlib import import_module

    module, _, name = place.partition(":")
    found = import_module(module)
    if name:
        getattr(found, name)
