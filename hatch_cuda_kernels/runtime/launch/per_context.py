"""Where a kernel is loaded: once for each context that it is used in."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.driver import add_by_context, current_context_id
from hatch_cuda_kernels.errors import LaunchError
from hatch_cuda_kernels.reentry import not_within_itself
from hatch_cuda_kernels.runtime.launch.arguments import Signature

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.runtime.launch.loaded import Loaded

__all__ = ["PerContext"]


class PerContext:
    """A kernel by the contexts that it is loaded for. Thread-safe."""

    # Not for memory: a hot look-up counts itself in the kernel, and a dictionary of attributes makes that slow.
    __slots__ = (
        "__weakref__", "_load", "_loaded", "_lock", "_signature", "functions", "latest", "name", "was_launched",
    )  # fmt: skip

    def __init__(self, name: str, load: Callable[[], Loaded]) -> None:
        self.name = name
        self.latest: Loaded | None = None
        """How the kernel was loaded last, in whatever context."""
        self.was_launched = False
        """Whether a launch was checked in full."""
        self.functions: dict[int, tuple[int, Any]] = {}
        """Device and CUfunction by id of the contexts that the kernel is loaded for."""
        self._load = load
        self._loaded: dict[int, tuple[Loaded, float]] = {}
        self._lock = threading.Lock()
        self._signature: Signature | None = None

    def loaded(self) -> Loaded:
        """Return the kernel as loaded for the current context, which loads it there the first time.

        Raises what loading raises, and ReentryError for a kernel whose loading asks for it.
        """
        context_id = current_context_id()
        known = self._loaded.get(context_id)
        return known[0] if known is not None else self._load_for(context_id)

    def is_loaded_for(self, context_id: int) -> bool:
        """Return whether the kernel is loaded for a context."""
        return context_id in self._loaded

    @property
    def everywhere(self) -> list[tuple[Loaded, float]]:
        """Where the kernel is loaded, and the seconds that each took."""
        return [*self._loaded.values()]

    @property
    def signature(self) -> Signature:
        """The parameters, which are the same everywhere."""
        if self._signature is None:
            symbol = (self.latest or self.loaded()).symbol
            self._signature = Signature(self.name, symbol.params, symbol.types, symbol.names)
        return self._signature

    @property
    def params(self) -> tuple[str, ...]:
        """The types of the parameters."""
        return (self.latest or self.loaded()).symbol.params

    def _load_for(self, context_id: int) -> Loaded:
        with not_within_itself(id(self), f"the kernel {self.name}"), self._lock:
            known = self._loaded.get(context_id)
            if known is not None:
                return known[0]
            start = time.perf_counter()
            loaded = self._load()
            if self.latest is not None and loaded.symbol.differs_in_parameters(self.latest.symbol):
                raise LaunchError(
                    f"the parameters of {self.name} have changed since it was loaded; open its store again"
                )
            add_by_context(self._loaded, context_id, (loaded, time.perf_counter() - start))
            add_by_context(self.functions, context_id, (loaded.ordinal, loaded.function))
            self.latest = loaded
            return loaded
