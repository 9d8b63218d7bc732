"""A kernel of a store. Launches check their arguments and go to the device and the stream of the arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.runtime.launch.launch import Launches, PerContext
from hatch_cuda_kernels.runtime.launch.shapes import Dim, Shape
from hatch_cuda_kernels.runtime.launch.streams import stream_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from hatch_cuda_kernels.image import Image
    from hatch_cuda_kernels.runtime.launch.libraries import Loaded
    from hatch_cuda_kernels.runtime.launch.resources import KernelAttributes, Occupancy
    from hatch_cuda_kernels.runtime.launch.shapes import LaunchOptions
    from hatch_cuda_kernels.runtime.launch.variables import GlobalVariable
    from hatch_cuda_kernels.store import LaunchRule


class Kernel(PerContext):
    """One kernel, for all contexts. ``kernel[grid, block](*args)`` launches it where its arrays are.

    The first use in a context loads it there; ``image``, ``handle``, ``context_id`` and ``ordinal`` are those of the
    current context.
    """

    __slots__ = ("_find_rule", "_known", "_launches", "_ruled", "hits")

    def __init__(
        self, name: str, load: Callable[[], Loaded], rule: Callable[[], LaunchRule | None] = lambda: None
    ) -> None:
        super().__init__(name, load)
        self._find_rule = rule
        self._ruled: Callable[..., None] | None = None
        self.hits = 0
        """How often the store has returned this object again."""
        self._launches = Launches(self)
        self._known = self._launches.known

    def __getitem__(self, launch: tuple[Any, ...]) -> Callable[..., None]:
        """Return the launch function for ``kernel[grid, block]``, optionally with shared memory bytes and a stream.

        Raises LaunchError for bad dimensions, TypeError for anything that is not a stream.
        """
        try:
            if len(launch) != 4:  # to look a stream object up would take longer than to read its handle
                return self._known[launch]
        except (KeyError, TypeError):  # TypeError: a list among the sizes, or no tuple
            pass  # so that later errors do not have this one as their context
        return self._launches.of_brackets(launch)

    def __call__(self, *args: Any, **named: Any) -> None:
        """Launch with grid and block as the manifest's ``launch:`` computes them from the arguments.

        Arguments can be passed by the names that the source gives the parameters. Raises LaunchError where the manifest
        states no rule or it gives no sizes, and what ``launch`` raises.
        """
        (self._ruled or self.ruled)(*args, **named)

    @property
    def ruled(self) -> Callable[..., None]:
        """The function that a call without brackets comes to. Raises LaunchError where the manifest states no rule."""
        if self._ruled is None:
            from hatch_cuda_kernels.runtime.launch.launch_rule import rule_function  # not every kernel has a rule

            self._ruled = rule_function(self.name, self._launches, self._find_rule())
        return self._ruled

    def __repr__(self) -> str:
        return f"<Kernel {self.name}{f' from {self.latest.image!r}' if self.latest else ''}>"

    def launch(self, grid: Dim, block: Dim, args: Sequence[Any], **options: Unpack[LaunchOptions]) -> None:
        """Launch asynchronously, by default on the current stream of the arrays' framework.

        ``grid`` counts blocks, ``block`` the threads of a block; a grid with a zero does nothing. The options are in
        ``LaunchOptions``. Raises ArgumentError for arguments that do not fit the signature, LaunchError for bad
        dimensions, DriverError if the driver refuses the launch, StaleKernelError for a kernel of compiled text in
        another context, and what loading raises.
        """
        self._launches.of_options(grid, block, **options)(*args)

    def bind(self, grid: Dim, block: Dim, args: Sequence[Any], **options: Unpack[LaunchOptions]) -> Callable[[], None]:
        """Return a function that launches with these arguments, checked and packed now.

        It keeps the arrays and the stream alive. It launches in the context that is current now, on the stream that is
        current at each call, unless you state one. Raises what ``launch`` raises. The function raises StaleKernelError
        once its context is gone, because the arrays are gone, too.
        """
        from hatch_cuda_kernels.runtime.launch.launch import bind_launch  # off the usual path

        stated: dict[str, Any] = {**options}
        stream = stated.pop("stream", None)
        address = None if stream is None else stream_address(stream)
        return bind_launch(self, Shape.make(self.name, grid, block, **stated), address, tuple(args), stream)

    @property
    def attributes(self) -> KernelAttributes:
        """What the driver says of the kernel on the current device: registers, shared memory and so on."""
        from hatch_cuda_kernels.runtime.launch.resources import attributes_of  # off the usual path

        return attributes_of(self.loaded())

    def occupancy(self, block: Dim, shared_mem: int = 0) -> Occupancy:
        """Return how many blocks of this size a multiprocessor of the current device holds at a time."""
        from hatch_cuda_kernels.runtime.launch.resources import occupancy_of  # off the usual path

        return occupancy_of(self.loaded(), Shape.make(self.name, 1, block, shared_mem))

    def suggest_block(self, shared_mem: int = 0, limit: int = 0) -> int:
        """Return the threads of a block that keep the current device busiest, at most ``limit`` unless that is 0."""
        from hatch_cuda_kernels.runtime.launch.resources import suggest_block_size  # off the usual path

        return suggest_block_size(self.loaded(), Shape.make(self.name, 1, 1, shared_mem), limit)

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
