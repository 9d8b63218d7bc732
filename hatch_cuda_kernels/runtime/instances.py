"""Instances by template arguments: ``instantiate("gemm", T="half", M=128)`` renders a declared pattern."""

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

__all__ = ["PlanCache", "PlanInfo", "render_instance"]


class PlanInfo(NamedTuple):
    """How a plan cache fared."""

    capacity: int
    size: int
    hits: int
    misses: int
    evictions: int


class PlanCache:
    """The most recently used instances, so that a hit renders and resolves nothing. Thread-safe."""

    def __init__(self, capacity: int = 64) -> None:
        if capacity < 1:
            raise InputError(f"a plan cache holds at least one plan, not {capacity}")
        self.capacity = capacity
        self._plans: OrderedDict[Hashable, Kernel] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = self._misses = self._evictions = 0

    def get(self, key: Hashable, make: Callable[[], Kernel]) -> Kernel:
        """Return the plan of a key, made by ``make`` where there is none; what ``make`` raises is raised."""
        with self._lock:
            known = self._plans.get(key)
            if known is not None:
                self._plans.move_to_end(key)
                self._hits += 1
                return known
            self._misses += 1
        plan = make()
        with self._lock:
            self._plans[key] = plan
            self._plans.move_to_end(key)
            while len(self._plans) > self.capacity:
                self._plans.popitem(last=False)
                self._evictions += 1
        return plan

    def info(self) -> PlanInfo:
        """Return capacity, size, hits, misses and evictions."""
        with self._lock:
            return PlanInfo(self.capacity, len(self._plans), self._hits, self._misses, self._evictions)


def render_instance(reader: StoreReader, template: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """Return the name expression of a declared pattern with these arguments, and its module.

    Raises KernelNotFoundError where no module declares a pattern of that template, InputError where the arguments are
    not the pattern's placeholders.
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
            return fill(pattern, arguments), module
    expected = " or ".join(pattern for pattern, _ in declared)
    given = ", ".join(arguments) or "none"
    raise InputError(f"the arguments of {template} are those of {expected}; given: {given}")
