"""Instances by template arguments: ``instantiate("gemm", T="half", M=128)`` fills in a pattern of the manifest."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.errors import InputError, KernelNotFoundError
from hatch_cuda_kernels.names import base_name, normalize_name
from hatch_cuda_kernels.patterns import fill, placeholders

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from hatch_cuda_kernels.runtime.launch.kernel import Kernel
    from hatch_cuda_kernels.store.reader import StoreReader

__all__ = ["InstanceCache", "InstanceInfo"]


class InstanceInfo(NamedTuple):
    """How many instances are remembered, and how often ``instantiate`` found what it was asked for."""

    capacity: int
    size: int
    hits: int
    misses: int
    evictions: int


class InstanceCache:
    """The most recently used instances of a store: a hit renders nothing and looks nothing up. Thread-safe."""

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
        self._kernels: OrderedDict[Hashable, Kernel] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = self._misses = self._evictions = 0

    def get(self, template: str, arguments: dict[str, Any]) -> Kernel:
        """Return the instance of a listed pattern, loaded for the current context; see ``Store.instantiate``."""
        # 1, 1.0 and True are equal, but different template arguments.
        key = template, frozenset((name, value.__class__, value) for name, value in arguments.items())
        with self._lock:
            known = self._kernels.get(key)
            if known is not None:
                self._kernels.move_to_end(key)
                self._hits += 1
            else:
                self._misses += 1
        if known is not None:
            known.loaded()
            return known
        name, module = _render(self._reader, template, arguments)
        kernel = self._get_kernel(name, module=module)
        self._keep(key, kernel)
        return kernel

    def _keep(self, key: Hashable, kernel: Kernel) -> None:
        evicted = []
        with self._lock:
            self._kernels[key] = kernel
            self._kernels.move_to_end(key)
            while self._kernels and len(self._kernels) > self._capacity:
                evicted.append(self._kernels.popitem(last=False)[1])
                self._evictions += 1
        for old in evicted:
            if not self._reader.find(normalize_name(old.name)):  # there are only so many that are listed
                self._forget(old)

    def info(self) -> InstanceInfo:
        """Return capacity, size, hits, misses and evictions."""
        with self._lock:
            return InstanceInfo(self._capacity, len(self._kernels), self._hits, self._misses, self._evictions)


def _render(reader: StoreReader, template: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """Return the name expression of a listed pattern with these arguments, and its module.

    Raises KernelNotFoundError if no module lists a pattern of that template, InputError if the arguments are not the
    pattern's placeholders.
    """
    wanted = normalize_name(template)
    modules = reader.find_template(wanted)
    declared = [
        (pattern["pattern"], module)
        for module in modules
        for pattern in reader.module(module).patterns
        if base_name(normalize_name(pattern["pattern"])) == wanted
    ]
    if not declared:
        raise KernelNotFoundError(template, reader.label, hint="no pattern under instances", what="template")
    for pattern, module in declared:
        if set(placeholders(pattern)) == set(arguments):
            return fill(pattern, {name: _cpp(value) for name, value in arguments.items()}), module
    expected = " or ".join(pattern for pattern, _ in declared)
    given = ", ".join(arguments) or "none"
    raise InputError(f"{template} takes the arguments of {expected}, got {given}")


def _cpp(value: Any) -> str:
    """Return a template argument as C++ writes it."""
    return str(value).lower() if type(value).__name__ in {"bool", "bool_"} else str(value)
