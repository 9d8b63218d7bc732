"""A kernel of a store: launched with checked arguments, on the device and the stream of its arrays."""

from __future__ import annotations

import threading
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.contexts import add_by_context
from hatch_cuda_kernels.driver import current_context_id
from hatch_cuda_kernels.errors import LaunchError
from hatch_cuda_kernels.reentry import not_within_itself
from hatch_cuda_kernels.runtime.launch.arguments import Signature
from hatch_cuda_kernels.runtime.launch.in_full import Launch
from hatch_cuda_kernels.runtime.launch.shapes import Dim, Shape
from hatch_cuda_kernels.runtime.launch.streams import stream_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Unpack

    from hatch_cuda_kernels.image import Image
    from hatch_cuda_kernels.runtime.launch.facts import KernelAttributes, Occupancy
    from hatch_cuda_kernels.runtime.launch.loaded import Loaded
    from hatch_cuda_kernels.runtime.launch.shapes import LaunchAttributes, LaunchOptions
    from hatch_cuda_kernels.runtime.launch.variables import GlobalVariable

__all__ = ["Dim", "Kernel"]

#: Launch functions remembered by one kernel; a program that keeps changing shapes starts over.
_MOST_LAUNCHES: Final = 256


class Kernel:
    """One kernel, whatever the context. ``kernel[grid, block](*args)`` launches it where its arrays are.

    It is loaded for a context when it is first used there; ``image``, ``handle``, ``context_id`` and ``ordinal`` are
    those of the current context.
    """

    def __init__(self, name: str, load: Callable[[], Loaded]) -> None:
        self.name = name
        self.hits = 0
        """How often the store has returned this object again."""
        self.latest: Loaded | None = None
        """How the kernel was loaded last, in whatever context."""
        self.was_launched = False
        """Whether a launch was checked in full."""
        self._load = load
        self._loaded: dict[int, tuple[Loaded, float]] = {}
        self._lock = threading.Lock()
        self._launches: dict[Any, Callable[..., None]] = {}

    def __getitem__(self, launch: tuple[Any, ...]) -> Callable[..., None]:
        """Return the launch function for ``kernel[grid, block]``, optionally with shared memory bytes and a stream.

        Raises LaunchError for bad dimensions, TypeError for anything that is not a stream.
        """
        try:
            known = self._launches.get(launch)
        except TypeError:  # a list among the sizes, or a stream that cannot be hashed
            known = None
        return known or self._launch_of(launch)

    def __repr__(self) -> str:
        return f"<Kernel {self.name}{f' from {self.latest.image!r}' if self.latest else ''}>"

    def launch(self, grid: Dim, block: Dim, args: Sequence[Any], **options: Unpack[LaunchOptions]) -> None:
        """Launch asynchronously, by default on the current stream of the arrays' framework.

        ``grid`` counts blocks, ``block`` the threads of a block; a grid with a zero does nothing. The options are in
        ``LaunchOptions``. Raises ArgumentError for arguments that do not fit the signature, LaunchError for bad
        dimensions, DriverError if the driver refuses the launch, StaleKernelError for a kernel of compiled text in
        another context, and what loading raises.
        """
        self._function(grid, block, **options)(*args)

    def bind(self, grid: Dim, block: Dim, args: Sequence[Any], **options: Unpack[LaunchOptions]) -> Callable[[], None]:
        """Return a function that launches with these arguments, checked and packed now; it keeps the arrays alive.

        It launches in the context of now, on the stream that is the current one then, unless one is stated. Raises what
        ``launch`` raises; the function raises StaleKernelError once its context is gone, for so are the arrays.
        """
        from hatch_cuda_kernels.runtime.launch.bound import bind_launch  # off the usual path

        stated: dict[str, Any] = {**options}
        stream = _address(stated.pop("stream", None))
        return bind_launch(self, Shape.make(self.name, grid, block, **stated), stream, args)

    @property
    def attributes(self) -> KernelAttributes:
        """What the driver says of the kernel on the current device: registers, shared memory and so on."""
        from hatch_cuda_kernels.runtime.launch.facts import attributes_of  # off the usual path

        return attributes_of(self.loaded())

    def occupancy(self, block: Dim, shared_mem: int = 0) -> Occupancy:
        """Return how many blocks of this size a multiprocessor of the current device holds at a time."""
        from hatch_cuda_kernels.runtime.launch.facts import occupancy_of  # off the usual path

        return occupancy_of(self.loaded(), Shape.make(self.name, 1, block, shared_mem))

    def suggest_block(self, shared_mem: int = 0, limit: int = 0) -> int:
        """Return the threads of a block that keep the current device busiest, at most ``limit`` unless that is 0."""
        from hatch_cuda_kernels.runtime.launch.facts import suggested_block  # off the usual path

        return suggested_block(self.loaded(), Shape.make(self.name, 1, 1, shared_mem), limit)

    def get_global(self, name: str) -> GlobalVariable:
        """Return a ``__constant__`` or ``__device__`` variable of the image this kernel is in.

        ``name`` is the variable's lowered name, which equals its name outside namespaces. Raises KernelNotFoundError.
        """
        from hatch_cuda_kernels.runtime.launch.variables import GlobalVariable  # most kernels have none

        return GlobalVariable(name, self.loaded, lambda _: name)

    def as_cuda_core(self) -> Any:  # cuda.core.Kernel
        """Return a ``cuda.core`` Kernel of the same image, for ``cuda.core.launch``. Raises ImportError without it."""
        from cuda.core import ObjectCode  # noqa: TID251 - half a second, on request only

        make = ObjectCode.from_ptx if self.image.kind == "ptx" else ObjectCode.from_cubin
        return make(self.image.data, symbol_mapping={self.name: self.lowered.encode()}).get_kernel(self.name)

    def loaded(self) -> Loaded:
        """Return the kernel as loaded for the current context, which loads it there the first time.

        Raises what loading raises, and ReentryError for a kernel whose loading asks for it.
        """
        context_id = current_context_id()
        known = self._loaded.get(context_id)
        return known[0] if known is not None else self._load_for(context_id)

    def is_loaded(self, context_id: int) -> bool:
        """Return whether the kernel is loaded for a context."""
        return context_id in self._loaded

    @property
    def everywhere(self) -> list[tuple[Loaded, float]]:
        """Where the kernel is loaded, and the seconds that each took."""
        return [*self._loaded.values()]

    @cached_property
    def signature(self) -> Signature:
        """The parameters, which are the same everywhere."""
        return Signature(self.name, self.params)

    @property
    def params(self) -> tuple[str, ...]:
        """The types of the parameters."""
        return (self.latest or self.loaded()).symbol.params

    @property
    def lowered(self) -> str:
        """The lowered name in the image for the current context."""
        return self.loaded().symbol.lowered

    @property
    def image(self) -> Image:
        """The image for the current context."""
        return self.loaded().image

    @property
    def handle(self) -> Any:  # CUkernel
        """The driver's kernel in the current context."""
        return self.loaded().handle

    @property
    def context_id(self) -> int:
        """The id of the current context."""
        return self.loaded().context_id

    @property
    def ordinal(self) -> int:
        """The current device."""
        return self.loaded().ordinal

    def _load_for(self, context_id: int) -> Loaded:
        with not_within_itself(id(self), f"the kernel {self.name}"), self._lock:
            known = self._loaded.get(context_id)
            if known is not None:
                return known[0]
            start = time.perf_counter()
            loaded = self._load()
            if self.latest is not None and loaded.symbol.params != self.latest.symbol.params:
                raise LaunchError(
                    f"the parameters of {self.name} have changed since it was loaded; open its store again"
                )
            add_by_context(self._loaded, context_id, (loaded, time.perf_counter() - start))
            self.latest = loaded
            return loaded

    def _launch_of(self, launch: Any) -> Callable[..., None]:  # the contents of the brackets
        if not isinstance(launch, tuple) or not 2 <= len(launch) <= 4:
            message = "write kernel[grid, block], optionally with shared memory bytes and a stream"
            raise LaunchError(f"{self.name}: {message}")
        return self._function(*launch)

    def _function(
        self, grid: Dim, block: Dim, shared_mem: int = 0, stream: Any = None, **attributes: Unpack[LaunchAttributes]
    ) -> Callable[..., None]:
        """Return the launch function for a shape and a stream, made once. Raises LaunchError or TypeError."""
        address = _address(stream)
        key: Any = _key(grid, block, shared_mem, address, tuple(attributes.items()))
        try:
            known = self._launches.get(key)
        except TypeError:  # a list among the sizes
            key = known = None
        if known is None:
            known = Launch(self, Shape.make(self.name, grid, block, shared_mem, **attributes), address).function()
            if key is not None:
                self._remember(key, known)
        return known

    def _remember(self, key: Any, function: Callable[..., None]) -> None:
        if len(self._launches) >= _MOST_LAUNCHES:
            self._launches.clear()
        self._launches[key] = function


def _address(stream: Any) -> int | None:  # any framework's stream
    return None if stream is None else stream_address(stream)


def _key(grid: Dim, block: Dim, shared_mem: int, stream: int | None, attributes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what stands for a launch: the shortest contents of brackets that do, where there are any."""
    if stream is not None or attributes:
        return (grid, block, shared_mem, stream, attributes) if attributes else (grid, block, shared_mem, stream)
    return (grid, block, shared_mem) if shared_mem else (grid, block)
