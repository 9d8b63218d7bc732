"""The launch functions of one kernel, by shape and stream: made when a shape comes again, or has more to state."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import LaunchError
from hatch_cuda_kernels.runtime.launch.generated import bind_for
from hatch_cuda_kernels.runtime.launch.launch import Launch, name_of
from hatch_cuda_kernels.runtime.launch.shapes import Dim, Shape, flat_sizes
from hatch_cuda_kernels.runtime.launch.streams import stream_address

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from hatch_cuda_kernels.runtime.launch.per_context import PerContext
    from hatch_cuda_kernels.runtime.launch.shapes import LaunchAttributes

__all__ = ["Launches"]

#: Functions remembered for one kernel; a program that keeps changing shapes starts over.
_MOST_LAUNCHES: Final = 256


class Launches:
    """What ``kernel[grid, block]`` and ``kernel.launch`` call."""

    def __init__(self, kernel: PerContext) -> None:
        self.known: dict[Any, Callable[..., None]] = {}
        """Launch functions by contents of brackets, or by shape, stream and attributes."""
        self._kernel = kernel
        self._met: set[Any] = set()

    def of_brackets(self, launch: Any) -> Callable[..., None]:
        """Return the launch function for the contents of brackets. Raises LaunchError or TypeError."""
        if not isinstance(launch, tuple) or not 2 <= len(launch) <= 4:
            message = "write kernel[grid, block], optionally with shared memory bytes and a stream"
            raise LaunchError(f"{self._kernel.name}: {message}")
        if len(launch) == 4:
            return self.of_options(*launch)
        if len(launch) == 2 and self._kernel.was_launched and self._is_new(launch):
            sizes = flat_sizes(self._kernel.name, *launch)
            if sizes is not None:
                return partial(self._fresh, sizes)
        return self._make(launch, None, *launch)

    def _is_new(self, launch: tuple[Any, ...]) -> bool:
        """Return whether a shape was not asked for before: it costs less to launch once, and more each time."""
        try:
            new = launch not in self._met
        except TypeError:  # a list among the sizes
            return False
        if len(self._met) >= _MOST_LAUNCHES:
            self._met.clear()
        self._met.add(launch)
        return new

    @cached_property
    def _fresh(self) -> Callable[..., None]:
        """The launch function that takes the sizes as its first argument."""

        def launch(sizes: tuple[int, ...]) -> Launch:
            return Launch(self._kernel, Shape(sizes[:3], sizes[3:6], sizes[6]), None)  # type: ignore[arg-type]  # seven sizes

        return bind_for(self._kernel.signature, "fresh")(
            name_of(self._kernel),
            self._kernel.functions,
            None,
            lambda sizes, args: launch(sizes).elsewhere(args),
            lambda sizes, status, stream: launch(sizes).refuse(status, stream),
        )

    def of_options(
        self, grid: Dim, block: Dim, shared_mem: int = 0, stream: Any = None, **attributes: Unpack[LaunchAttributes]
    ) -> Callable[..., None]:
        """Return the launch function for a shape and a stream, made once. Raises LaunchError or TypeError."""
        address = None if stream is None else stream_address(stream)  # that of an object may change
        key = (grid, block, shared_mem, address, *attributes.items())
        try:
            known = self.known.get(key)
        except TypeError:  # a list among the sizes
            known = None
        return known or self._make(key, address, grid, block, shared_mem, **attributes)

    def _make(self, key: Any, stream: int | None, *sizes: Any, **attributes: Any) -> Callable[..., None]:
        """Return a new launch function, remembered under a key unless that cannot be hashed."""
        function = Launch(self._kernel, Shape.make(self._kernel.name, *sizes, **attributes), stream).function()
        if len(self.known) >= _MOST_LAUNCHES:
            self.known.clear()
        with suppress(TypeError):  # a list among the sizes
            self.known[key] = function
        return function
