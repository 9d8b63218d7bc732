"""The kernels of a store that are in use: each is loaded once per context, however many threads ask for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.driver import add_by_context, cuda, current_context_id
from hatch_cuda_kernels.errors import InputError, KernelNotFoundError
from hatch_cuda_kernels.names import base_name, fill, normalize_name, placeholders, spell_values
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.runtime.ladder import find_kernel, find_variable, obtain
from hatch_cuda_kernels.runtime.launch import Kernel, find_accelerator, launches_of, load_image

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import TypeAlias

    from hatch_cuda_kernels.environment import Policy
    from hatch_cuda_kernels.image import Image
    from hatch_cuda_kernels.runtime.ladder import Request
    from hatch_cuda_kernels.runtime.launch import GlobalVariable, Loaded
    from hatch_cuda_kernels.store import LaunchRule, StoreReader

    #: Name, module and policy.
    Key: TypeAlias = tuple[str, str | None, Policy]


def load(request: Request) -> Loaded:
    """Return the request's kernel, loaded for the current context. Raises NoImageError, CompileError or DriverError."""
    loaded = obtain(request, partial(load_from, request))
    if request.tier_up and loaded.image.origin == "prebuilt" and not request.is_exact(loaded.image):
        from hatch_cuda_kernels.runtime.background import tier_up  # off the usual path

        tier_up(request)
    return loaded


def load_from(request: Request, image: Image) -> Loaded:
    """Return the request's kernel, loaded from an image. Raises ImageRefusedError if the driver refuses it."""
    return load_image(image, request.symbol(image), request.source.scope)


def find_global(
    reader: StoreReader, get_kernel: Callable[..., Kernel], name: str, module: str | None, policy: Policy | None
) -> GlobalVariable:
    """Return a variable of a store, in the image of its module's listed kernels. Raises what ``get_kernel`` raises."""
    from hatch_cuda_kernels.runtime.launch import GlobalVariable  # most programs have none

    variable, of = find_variable(reader, name, module)
    kernel = get_kernel(of.name, module=variable.module, policy=policy)

    def lowered(loaded: Loaded) -> str:
        """Return its lowered name, which may follow from macros, or from what an edited source has before it."""
        key = normalize_name(name)
        own = (one.lowered for one in loaded.image.variables if normalize_name(one.name) == key)
        return next(own, "") or reader.lowered(variable, loaded.image.sha256)

    return GlobalVariable(name, launches_of(kernel).loaded, lowered)


class KernelStats(NamedTuple):
    """Where a kernel came from in one context, how long its load took, and how often it was requested again."""

    kernel: str
    context_id: int
    origin: str
    arch: str
    kind: str
    seconds: float
    hits: int


class LoadedKernels:
    """The kernels of one store that are in use. Thread-safe."""

    def __init__(self, policy: Policy, reader: Callable[[], StoreReader]) -> None:
        self._policy = policy
        self._reader = reader
        self._kernels: dict[Key, Kernel] = {}
        self._by_name: dict[int, dict[str, Kernel]] = {}
        """Kernels requested by name alone: by id of a context that they are loaded for, then by name."""

    def is_loaded(self, key: Key) -> bool:
        """Return whether a kernel is loaded for the current context."""
        kernel = self._kernels.get(key)
        return kernel is not None and current_context_id() in launches_of(kernel).loads

    def get(self, key: Key, load_now: Callable[[], Loaded]) -> Kernel:
        """Return a kernel, loaded for the current context by ``load_now`` the first time. Raises what that raises."""
        kernel = self._kernels.setdefault(key, Kernel(key[0], load_now, partial(self._launch_rule, key)))
        launches = launches_of(kernel)
        kernel.hits += current_context_id() in launches.loads
        try:
            loaded = launches.loaded()
        except BaseException:
            if launches.latest is None:
                self._kernels.pop(key, None)
            raise
        name, module, policy = key
        if module is None and policy == self._policy:
            if loaded.context_id not in self._by_name:
                add_by_context(self._by_name, loaded.context_id, {})
            self._by_name[loaded.context_id][name] = kernel
        return kernel

    def _launch_rule(self, key: Key) -> LaunchRule | None:
        name, module, _ = key
        line, _ = find_kernel(self._reader(), name, module)
        rule, kernel = self._reader().module(line.module).launch_rule(name), self._kernels.get(key)
        loaded = None if rule is None or kernel is None else launches_of(kernel).latest
        if rule is None or loaded is None or loaded.image.origin == "prebuilt":
            return rule
        # Other macros, or an edited source, may have other parameters than what the store was built of.
        return rule._replace(names=loaded.symbol.names or rule.names)

    def forget(self, kernel: Kernel) -> None:
        """Drop a kernel. Who has it can still use it."""
        tables: list[dict[Any, Kernel]] = [self._kernels, *self._by_name.values()]
        for table in tables:
            for key in [key for key, known in [*table.items()] if known is kernel]:
                table.pop(key, None)

    def lookup(self, get_kernel: Callable[..., Kernel]) -> Callable[..., Kernel]:
        """Return a faster ``Store.get_kernel``: two look-ups for a loaded kernel, ``get_kernel`` for any other."""
        kernels, driver, found = self._by_name, cuda(), find_accelerator()
        if found is not None:
            return found.module.Lookup(found.context_id, kernels, get_kernel, "hits").look_up  # type: ignore[no-any-return]  # its class is in C
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

        look_up.__qualname__ = "Store.get_kernel"  # for messages about wrong arguments
        return look_up

    def stats(self) -> tuple[KernelStats, ...]:
        """Return where each kernel came from, for each context, how long it took to load, and its hits."""
        return tuple(
            KernelStats(
                kernel.name, context_id, loaded.image.origin, str(loaded.image.arch), loaded.image.kind, seconds,
                kernel.hits,
            )
            for kernel in [*self._kernels.values()]
            for context_id, (loaded, seconds) in [*launches_of(kernel).loads.items()]
        )  # fmt: skip


class InstanceInfo(NamedTuple):
    """How many instances the store keeps, and how often ``instantiate`` found one."""

    capacity: int
    size: int
    hits: int
    misses: int
    evictions: int


class InstanceCache:
    """The most recently used instances of a store. A hit fills in no pattern and looks nothing up. Thread-safe."""

    def __init__(
        self,
        reader: StoreReader,
        get_kernel: Callable[..., Kernel],
        forget: Callable[[Kernel], None],
        capacity: int,
    ) -> None:
        self._reader = reader
        self._get_kernel = get_kernel
        self._forget = forget
        self._capacity = capacity
        self._kernels: OrderedDict[Hashable, tuple[Kernel, str]] = OrderedDict()
        """With the module of each."""
        self._lock = threading.Lock()
        self._hits = self._misses = self._evictions = 0

    def get(self, template: str, arguments: dict[str, Any], module: str | None = None) -> Kernel:
        """Return the instance of a listed pattern, loaded for the current context; see ``Store.instantiate``."""
        # 1, 1.0 and True are equal, but not as template arguments.
        key = template, module, frozenset((name, value.__class__, value) for name, value in arguments.items())
        with self._lock:
            known = self._kernels.get(key)
            if known is not None:
                self._kernels.move_to_end(key)
                self._hits += 1
            else:
                self._misses += 1
        if known is not None:
            launches_of(known[0]).loaded()
            return known[0]
        name, of = _render(self._reader, template, arguments, module)
        kernel = self._get_kernel(name, module=of)
        self._keep(key, kernel, of)
        return kernel

    def _keep(self, key: Hashable, kernel: Kernel, module: str) -> None:
        evicted = []
        with self._lock:
            self._kernels[key] = kernel, module
            self._kernels.move_to_end(key)
            while self._kernels and len(self._kernels) > self._capacity:
                evicted.append(self._kernels.popitem(last=False)[1])
                self._evictions += 1
        for old, of in evicted:
            is_fixed = of not in self._reader.unlisted and self._reader.find(normalize_name(old.name), of)
            if not is_fixed:  # the number of listed ones is
                self._forget(old)

    def info(self) -> InstanceInfo:
        """Return capacity, size, hits, misses and evictions."""
        with self._lock:
            return InstanceInfo(self._capacity, len(self._kernels), self._hits, self._misses, self._evictions)


def _render(reader: StoreReader, template: str, arguments: dict[str, Any], module: str | None) -> tuple[str, str]:
    """Return the name expression of a listed pattern with these arguments, and its module.

    Raises KernelNotFoundError if no module lists a pattern of that template, InputError if several do, or if the
    arguments are not the pattern's placeholders.
    """
    wanted = normalize_name(template)
    expected: dict[str, None] = {}
    made: dict[str, str] = {}
    for found in reader.find_template(wanted, module):
        for text in (pattern["pattern"] for pattern in reader.module(found).patterns):
            if base_name(normalize_name(text)) == wanted:
                expected[text] = None
                if set(placeholders(text)) == set(arguments):
                    made.setdefault(found, fill(text, spell_values(arguments)))
        if len(made) > 1:
            fix = f"ask one of them, as by store.module({next(iter(made))!r}).instantiate"
            raise InputError(f"{template} is a template of {' and '.join(made)}; {fix}")
    if made:
        return next((name, of) for of, name in made.items())
    if not expected:
        raise KernelNotFoundError(template, reader.label, hint="no pattern under instances", what="template")
    given = ", ".join(arguments) or "none"
    raise InputError(f"{template} takes the arguments of {' or '.join(expected)}, got {given}")
