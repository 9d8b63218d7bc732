"""One way to launch a kernel, done with care: in any context, on any device, with any arguments, every error explained.

The generated launch function (see ``generated``) does the usual part of this in a tenth of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.driver import add_by_context, cuda, failure, on_device
from hatch_cuda_kernels.runtime.launch.arguments import Slot
from hatch_cuda_kernels.runtime.launch.configs import Configs
from hatch_cuda_kernels.runtime.launch.generated import MISSING, bind_for
from hatch_cuda_kernels.runtime.launch.streams import checked_address, join

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatch_cuda_kernels.runtime.launch.loaded import Loaded
    from hatch_cuda_kernels.runtime.launch.per_context import PerContext
    from hatch_cuda_kernels.runtime.launch.shapes import Shape

__all__ = ["Launch", "Ready", "name_of"]


class Ready:
    """Arguments packed for one context, the streams of their arrays, and what must live until they are launched."""

    __slots__ = ("configs", "kept", "loaded", "slot", "streams")

    def __init__(self, loaded: Loaded, configs: Configs, slot: Slot, streams: list[int], kept: tuple[Any, ...]) -> None:
        self.loaded = loaded
        self.configs = configs
        self.slot = slot
        self.streams = streams
        self.kept = kept


class Launch:
    """A shape of launches of one kernel, and the stream if one is stated."""

    __slots__ = ("_here", "_kernel", "_shape", "_stated")

    def __init__(self, kernel: PerContext, shape: Shape, stated: int | None) -> None:
        self._kernel = kernel
        self._shape = shape
        self._stated = None if stated is None else checked_address(stated)
        self._here: dict[int, tuple[int, Any, Configs]] = {}

    def function(self) -> Callable[..., None]:
        """Return the function that launches with the arguments it is given.

        The first launch of a kernel is one in full: it finds tensors that are conjugated or negated only when they are
        read, which would take a tenth of every launch's time. Raises LaunchError if the shape is more than the kernel
        can be allowed.
        """
        kernel = self._kernel
        if self._shape.is_empty:
            return self._nothing()
        if kernel.was_launched and kernel.latest:
            self._enter(kernel.latest)
        return self._bind(self.elsewhere)

    def elsewhere(self, args: Sequence[Any]) -> None:
        """Launch on the device of the arrays. Raises ArgumentError, LaunchError or DriverError."""
        given = [arg for arg in args if arg is not MISSING]
        with on_device(self._kernel.signature.device(given)):
            if not self._kernel.was_launched:
                self.in_full(given)
                self._kernel.was_launched = True
                return
            self._enter(self._kernel.loaded())
            self._bind(self.in_full)(*given)  # what was not usual may have been the context alone

    def in_full(self, args: Sequence[Any]) -> None:
        """Launch in the current context. Raises ArgumentError, LaunchError or DriverError."""
        ready = self.ready([arg for arg in args if arg is not MISSING])
        self.enqueue(ready, ready.streams)

    def ready(self, args: Sequence[Any]) -> Ready:
        """Return the arguments, checked and packed for the current context, in which the kernel gets loaded."""
        loaded = self._kernel.loaded()
        _, _, configs = self._enter(loaded)
        signature = self._kernel.signature
        slot = Slot(signature.layout.size, signature.offsets)
        signature.layout.pack_into(slot.buffer, 0, *signature.convert(args, loaded.ordinal, slot.found))
        streams = [item for item in slot.found if isinstance(item, int)]
        return Ready(loaded, configs, slot, streams, tuple(args))

    def enqueue(self, ready: Ready, streams: list[int]) -> None:
        """Launch what is ready in the current context, after the work that the streams of its arrays hold."""
        stream = join(streams, self._stated)
        slot = ready.slot
        call = cuda().cuLaunchKernelEx(ready.configs[stream], ready.loaded.function, slot.params, slot.extra)
        if int(call[0]) != 0:
            self.refuse(call[0], stream)

    def refuse(self, status: Any, stream: int | None) -> None:  # CUresult
        """Raise the DriverError for a launch that the driver refused in the current context, with what explains it."""
        from hatch_cuda_kernels.runtime.launch.refusals import facts  # only for the message

        found = facts(self._kernel.loaded(), self._shape, stream or 0)
        raise failure(f"launching {self._kernel.name}", status, found)

    def _enter(self, loaded: Loaded) -> tuple[int, Any, Configs]:
        """Return what a launch needs in a context, made once. Raises LaunchError as ``Loaded.allow`` does."""
        known = self._here.get(loaded.context_id)
        if known is None:
            loaded.allow(self._shape)
            known = loaded.ordinal, loaded.function, Configs(self._shape)
            if self._here:
                add_by_context(self._here, loaded.context_id, known)
            else:
                self._here[loaded.context_id] = known
        return known

    def _bind(self, otherwise: Callable[[Sequence[Any]], None]) -> Callable[..., None]:
        """Return the generated function, which leaves what is not usual to ``otherwise``."""
        bind = bind_for(self._kernel.signature, "current" if self._stated is None else "stated")
        return bind(name_of(self._kernel), self._here, self._stated, otherwise, self.refuse)

    def _nothing(self) -> Callable[..., None]:
        """Return the function for a grid without blocks, which checks its arguments."""

        def launch(*args: Any) -> None:
            signature = self._kernel.signature
            with on_device(signature.device(args)):
                signature.convert(args, self._kernel.loaded().ordinal, [])

        launch.__qualname__ = name_of(self._kernel)
        return launch


def name_of(kernel: PerContext) -> str:
    """Return what the launch functions of a kernel are called where they are called wrongly, as with names."""
    return f"{kernel.name}[grid, block]"
