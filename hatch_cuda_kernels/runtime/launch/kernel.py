"""A kernel of a store, and its launches: by a function for a shape and a stream, or for arguments that are bound once.

Launches check their arguments and go to the device and the stream of the arrays. The generated function (see
``codegen``) does the usual part of a ``Launch`` in a tenth of the time.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.driver import add_by_context, cuda, current_context_id, failure, on_context, on_device, remember
from hatch_cuda_kernels.errors import LaunchError, StaleKernelError, refuse_reentry
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.runtime.launch.arguments import Signature
from hatch_cuda_kernels.runtime.launch.arrays import FAST, check_address, current_streams, join, stream_address
from hatch_cuda_kernels.runtime.launch.codegen import MISSING, bind_arguments_in_c, bind_for
from hatch_cuda_kernels.runtime.launch.shapes import Configs, Dim, Shape, Slot, flat_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from hatch_cuda_kernels.image import Image
    from hatch_cuda_kernels.runtime.launch.libraries import Loaded
    from hatch_cuda_kernels.runtime.launch.resources import KernelAttributes, Occupancy
    from hatch_cuda_kernels.runtime.launch.shapes import LaunchAttributes, LaunchOptions
    from hatch_cuda_kernels.runtime.launch.variables import GlobalVariable
    from hatch_cuda_kernels.store import LaunchRule


class Ready(NamedTuple):
    """Arguments packed for one context, the streams of their arrays, and what must live until they are launched."""

    loaded: Loaded
    configs: Configs
    slot: Slot
    streams: list[int]
    kept: tuple[Any, ...]


class Launch:
    """A shape of launches of one kernel, and the stream if one is stated."""

    __slots__ = ("_here", "_kernel", "_shape", "_stated")

    def __init__(self, kernel: Launches, shape: Shape, stated: int | None) -> None:
        self._kernel = kernel
        self._shape = shape
        self._stated = None if stated is None else check_address(stated)
        self._here: dict[int, tuple[int, Any, Configs]] = {}

    def function(self) -> Callable[..., None]:
        """Return the function that launches with the arguments it is given.

        The first launch of a kernel goes through ``in_full``, which finds tensors that are conjugated or negated only
        when they are read; in every launch, that would take a tenth of the time. Raises LaunchError for a shape beyond
        the device.
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

    def bound(self, args: tuple[Any, ...], stream: Any) -> Callable[[], None]:
        """Return the function that launches with these arguments; see ``Kernel.bind``.

        ``stream``, any library's object, is the one whose address was stated; it lives as long as the function.
        """
        with on_device(self._kernel.signature.device(args)):
            ready = self.ready(args)
        if self._shape.is_empty:
            return lambda: None
        now = current_streams(args)
        then = {current(ready.loaded.ordinal) for current in now}
        # Those that arrays name themselves.
        ready = ready._replace(streams=[one for one in ready.streams if one not in then], kept=(*args, stream))
        return self._launcher(ready, now if self._stated is None else [])

    def _launcher(self, ready: Ready, now: Sequence[Callable[[int], int]]) -> Callable[[], None]:
        """Return a launch of what is ready; ``now`` gives the current streams of the arrays' frameworks."""
        driver, loaded, configs, slot = cuda(), ready.loaded, ready.configs, ready.slot
        cu_launch, success, function = driver.cuLaunchKernelEx, driver.CUresult.CUDA_SUCCESS, loaded.function
        context_id, current, bound_to = driver.cuCtxGetId, driver.CUcontext(0), loaded.context_id  # NULL: the current
        current_stream, others = (now[0], now[1:]) if now else (None, ())
        params, extra, stated = slot.params, slot.extra, self._stated
        ordinal, several = loaded.ordinal, bool(others or ready.streams)

        def go() -> None:
            if context_id(current)[1] != bound_to:
                elsewhere()
                return
            stream = stated if current_stream is None else current_stream(ordinal)
            if several:
                stream = join([*(other(ordinal) for other in others), *ready.streams], stream)
            status = cu_launch(configs[stream], function, params, extra)[0]
            if status is not success:
                self.refuse(status, stream)

        def elsewhere() -> None:
            with on_context(bound_to) as there:
                if not there:
                    what = f"{self._kernel.name} was bound in a context that is gone, and so are its arrays"
                    raise StaleKernelError(f"{what}; bind it again")
                self.enqueue(ready, [*(stream(ordinal) for stream in now), *ready.streams])

        if several or not (now == [] or current_stream is FAST["torch_stream"]):
            return go
        library = FAST["tensor"] if now else None
        return bind_arguments_in_c(loaded, configs.pack(stated), slot, library, elsewhere, self.refuse) or go

    def refuse(self, status: Any, stream: int | None) -> None:  # CUresult
        """Raise the DriverError for a launch that the driver refused in the current context, with the reasons."""
        from hatch_cuda_kernels.runtime.launch.resources import explain_refusal  # only for the message

        found = explain_refusal(self._kernel.loaded(), self._shape, stream or 0)
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
        bind = bind_for(self._kernel.signature, "current" if self._stated is None else "stated")
        return bind(name_of(self._kernel), self._here, self._stated, otherwise, self.refuse)

    def _nothing(self) -> Callable[..., None]:
        def launch(*args: Any) -> None:
            signature = self._kernel.signature
            with on_device(signature.device(args)):
                signature.convert(args, self._kernel.loaded().ordinal, [])

        launch.__qualname__ = name_of(self._kernel)
        return launch


def name_of(kernel: Launches) -> str:
    """Return the name of a kernel's launch functions in Python's messages about wrong calls."""
    return f"{kernel.name}[grid, block]"


class Launches:
    """A kernel in the contexts that it is loaded for, and the functions that launch it there. Thread-safe."""

    def __init__(self, name: str, load: Callable[[], Loaded]) -> None:
        self.name = name
        self.latest: Loaded | None = None
        """How the kernel was loaded last, in whatever context."""
        self.was_launched = False
        """Whether a launch was checked in full."""
        self.functions: dict[int, tuple[int, Any]] = {}
        """Device and CUfunction by id of the contexts that the kernel is loaded for."""
        self.loads: dict[int, tuple[Loaded, float]] = {}
        """How the kernel is loaded, and the seconds that took, by id of the context."""
        self.known: dict[Any, Callable[..., None]] = {}
        """Launch functions by contents of brackets, or by shape, stream and attributes."""
        self._load = load
        self._lock = threading.Lock()
        self._met: dict[Any, None] = {}

    def loaded(self) -> Loaded:
        """Return the kernel as loaded for the current context, which loads it there the first time.

        Raises what loading raises, and ReentryError for a kernel whose loading asks for it.
        """
        context_id = current_context_id()
        known = self.loads.get(context_id)
        return known[0] if known is not None else self._load_for(context_id)

    def _load_for(self, context_id: int) -> Loaded:
        with refuse_reentry(id(self), f"the kernel {self.name}"), self._lock:
            known = self.loads.get(context_id)
            if known is not None:
                return known[0]
            start = time.perf_counter()
            loaded = self._load()
            if self.latest is not None and loaded.symbol.differs_in_parameters(self.latest.symbol):
                raise LaunchError(
                    f"the parameters of {self.name} have changed since it was loaded; open its store again"
                )
            add_by_context(self.loads, context_id, (loaded, time.perf_counter() - start))
            add_by_context(self.functions, context_id, (loaded.ordinal, loaded.function))
            self.latest = loaded
            return loaded

    @cached_property
    def signature(self) -> Signature:
        """The parameters, which are the same everywhere."""
        symbol = (self.latest or self.loaded()).symbol
        return Signature(self.name, symbol.params, symbol.types, symbol.names)

    def of_brackets(self, launch: Any) -> Callable[..., None]:
        """Return the launch function for the contents of brackets. Raises LaunchError or TypeError."""
        if not isinstance(launch, tuple) or not 2 <= len(launch) <= 4:
            message = "write kernel[grid, block], optionally with shared memory bytes and a stream"
            raise LaunchError(f"{self.name}: {message}")
        if len(launch) == 4:
            return self.of_options(*launch)
        if len(launch) == 2 and self.was_launched and self._is_new(launch):
            sizes = flat_sizes(self.name, *launch)
            if sizes is not None:
                return partial(self._fresh, sizes)
        return self._make(launch, None, *launch)

    def of_rule(self, attributes: dict[str, Any], sizes: tuple[Any, ...]) -> Callable[..., None]:
        """Return the launch function for what a manifest's rule states and gives. Raises LaunchError or TypeError."""
        return self.of_options(*sizes, **attributes) if attributes else self.of_brackets(sizes)

    def _is_new(self, launch: tuple[Any, ...]) -> bool:
        """Return whether a shape is new. A new one is launched by a way that costs less once, and more each time."""
        try:
            new = launch not in self._met
        except TypeError:  # a list among the sizes
            return False
        remember(self._met, launch, None)
        return new

    @cached_property
    def _fresh(self) -> Callable[..., None]:
        def launch(sizes: tuple[int, ...]) -> Launch:
            return Launch(self, Shape(sizes[:3], sizes[3:6], sizes[6]), None)  # type: ignore[arg-type]  # seven sizes

        return bind_for(self.signature, "fresh")(
            name_of(self),
            self.functions,
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
        function = Launch(self, Shape.make(self.name, *sizes, **attributes), stream).function()
        with suppress(TypeError):  # a list among the sizes
            remember(self.known, key, function)
        return function


class Kernel:
    """One kernel, for all contexts. ``kernel[grid, block](*args)`` launches it where its arrays are.

    The first use in a context loads it there; ``image``, ``handle``, ``context_id`` and ``ordinal`` are those of the
    current context.
    """

    # Not for memory: a hot look-up counts itself in the kernel, and a dictionary of attributes makes that slow.
    __slots__ = ("__weakref__", "_find_rule", "_known", "_launches", "_ruled", "hits", "name")

    def __init__(
        self, name: str, load: Callable[[], Loaded], rule: Callable[[], LaunchRule | None] = lambda: None
    ) -> None:
        self.name = name
        self.hits = 0
        """How often the store has returned this object again."""
        self._find_rule = rule
        self._ruled: Callable[..., None] | None = None
        self._launches = Launches(name, load)
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

            self._ruled = rule_function(self.name, self._find_rule(), self._launches.known, self._launches.of_rule)
        return self._ruled

    def __repr__(self) -> str:
        return f"<Kernel {self.name}{f' from {self._launches.latest.image!r}' if self._launches.latest else ''}>"

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
        stated: dict[str, Any] = {**options}
        stream = stated.pop("stream", None)
        address = None if stream is None else stream_address(stream)
        launch = Launch(self._launches, Shape.make(self.name, grid, block, **stated), address)
        return launch.bound(tuple(args), stream)

    @property
    def attributes(self) -> KernelAttributes:
        """What the driver says of the kernel on the current device: registers, shared memory and so on."""
        from hatch_cuda_kernels.runtime.launch.resources import attributes_of  # off the usual path

        return attributes_of(self._launches.loaded())

    def occupancy(self, block: Dim, shared_mem: int = 0) -> Occupancy:
        """Return how many blocks of this size a multiprocessor of the current device holds at a time."""
        from hatch_cuda_kernels.runtime.launch.resources import occupancy_of  # off the usual path

        return occupancy_of(self._launches.loaded(), Shape.make(self.name, 1, block, shared_mem))

    def suggest_block(self, shared_mem: int = 0, limit: int = 0) -> int:
        """Return the threads of a block that keep the current device busiest, at most ``limit`` unless that is 0."""
        from hatch_cuda_kernels.runtime.launch.resources import suggest_block_size  # off the usual path

        return suggest_block_size(self._launches.loaded(), Shape.make(self.name, 1, 1, shared_mem), limit)

    def get_global(self, name: str) -> GlobalVariable:
        """Return a ``__constant__`` or ``__device__`` variable of the image this kernel is in.

        ``name`` is the variable's lowered name, which equals its name outside namespaces. Raises KernelNotFoundError.
        """
        from hatch_cuda_kernels.runtime.launch.variables import GlobalVariable  # most kernels have none

        return GlobalVariable(name, self._launches.loaded, lambda _: name)

    def as_cuda_core(self) -> Any:  # cuda.core.Kernel
        """Return a ``cuda.core`` Kernel of the same image, for ``cuda.core.launch``. Raises ImportError without it."""
        from cuda.core import ObjectCode  # noqa: TID251 - half a second, on request only

        make = ObjectCode.from_ptx if self.image.kind == "ptx" else ObjectCode.from_cubin
        return make(self.image.data, symbol_mapping={self.name: self.lowered.encode()}).get_kernel(self.name)

    @property
    def params(self) -> tuple[str, ...]:
        """The types of the parameters, in PTX's words."""
        return tuple(parameter.kind for parameter in self._launches.signature.parameters)

    @property
    def lowered(self) -> str:
        """The lowered name in the image for the current context."""
        return self._launches.loaded().symbol.lowered

    @property
    def image(self) -> Image:
        """The image for the current context."""
        return self._launches.loaded().image

    @property
    def handle(self) -> Any:  # CUkernel
        """The driver's kernel in the current context."""
        return self._launches.loaded().handle

    @property
    def context_id(self) -> int:
        """The id of the current context."""
        return self._launches.loaded().context_id

    @property
    def ordinal(self) -> int:
        """The current device."""
        return self._launches.loaded().ordinal


def launches_of(kernel: Kernel) -> Launches:
    """Return what only this package uses of a kernel."""
    return kernel._launches  # noqa: SLF001 - its own
