"""Device variables of a kernel's image, set and read from the host or from arrays of any library."""

from __future__ import annotations

import ctypes
from math import prod
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.driver import (
    add_by_context,
    allow_during_capture,
    call,
    cuda,
    current_context_id,
    current_device,
    on_device,
)
from hatch_cuda_kernels.errors import ArgumentError, DriverError, KernelNotFoundError
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.runtime.launch.arrays import (
    access_of,
    check_address,
    dlpack_device,
    is_tensor,
    join,
    read_address,
    stream_address,
)
from hatch_cuda_kernels.runtime.launch.elements import MASKED, UnusableError, is_masked, type_name
from hatch_cuda_kernels.runtime.launch.tensor_maps import view_of
from hatch_cuda_kernels.runtime.launch.values import objection_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.runtime.launch.libraries import Loaded


class _VariablePlace(NamedTuple):
    """Where a variable is in one context; the library is kept, for the memory is its own."""

    loaded: Loaded
    address: int
    size: int


class GlobalVariable:
    """A ``__constant__`` or ``__device__`` variable. ``address`` is the one in the current context.

    Like a kernel it belongs to a store: there is one on each device, and one after a reset.
    """

    def __init__(self, name: str, load: Callable[[], Loaded], lowered: Callable[[Loaded], str]) -> None:
        self.name = name
        self._load = load
        self._lowered = lowered
        self._places: dict[int, _VariablePlace] = {}
        self._place()

    def __repr__(self) -> str:
        return f"<GlobalVariable {self.name}, {self.size} bytes>"

    @property
    def address(self) -> int:
        """The address in the current context. Raises what loading its kernel raises."""
        return self._place().address

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self._place().size

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The bytes of the variable in the current context, as an array."""
        place = self._place()
        return {"shape": (place.size,), "typestr": "|u1", "data": (place.address, False), "version": 3}

    def copy_from(self, array: Any, stream: Any = None) -> None:  # any library's array and stream
        """Set the variable to the bytes of an array of its size, on the device of the array.

        A host array sets it on the current device; its bytes have been copied on return. ``stream`` is the one to copy
        on (default: the current one of the array's framework, else the default stream). Raises ArgumentError for an
        array of another size or that is not contiguous, DriverError.
        """
        self._copy(array, stream, into_variable=True)

    def copy_to(self, array: Any, stream: Any = None) -> None:  # as above
        """Copy the variable into an array of its size. What is said of ``copy_from`` holds here too."""
        self._copy(array, stream, into_variable=False)

    def _place(self) -> _VariablePlace:
        context_id = current_context_id()
        place = self._places.get(context_id)
        if place is None:
            loaded = self._load()
            try:
                with allow_during_capture():
                    found = call("cuLibraryGetGlobal", loaded.library.handle, self._lowered(loaded).encode())
            except DriverError as error:
                if error.code == 500:  # CUDA_ERROR_NOT_FOUND
                    raise KernelNotFoundError(self.name, repr(loaded.image), what="variable") from error
                raise
            place = _VariablePlace(loaded, *map(int, found))
            add_by_context(self._places, context_id, place)
        return place

    def _copy(self, array: Any, stream: Any, *, into_variable: bool) -> None:
        stated = None if stream is None else check_address(stream_address(stream))
        found: list[Any] = []  # streams, and what must live until the copy is with the driver
        try:
            on_host = _is_host(array)
            # None, too, where it does not matter which.
            with on_device(None if on_host else access_of(array).device(array)):
                _, address, size = self._place()
                span = _host_span(array, writable=not into_variable) if on_host else _device_span(array, found)
                if span.size != size:
                    raise ArgumentError(f"{self.name} has {size} bytes, the array that was passed has {span.size}")
                target, origin = (address, span.address) if into_variable else (span.address, address)
                kind = "DtoD" if not on_host else "HtoD" if into_variable else "DtoH"
                on = cuda().CUstream(join(found, stated) or 0)
                call(f"cuMemcpy{kind}Async", target, origin, size, on)
                if on_host:
                    call("cuStreamSynchronize", on)
        except UnusableError as error:
            raise ArgumentError(f"{self.name} is not copied with {type_name(array)}: {error}") from error


class _Span(NamedTuple):
    address: int
    size: int
    keep: Any
    """What holds them."""


def _is_host(array: Any) -> bool:
    if is_tensor(array):
        return not array.is_cuda
    if hasattr(array, "__cuda_array_interface__"):
        return False
    return not hasattr(array, "__dlpack_device__") or dlpack_device(array) is None


def _host_span(array: Any, *, writable: bool) -> _Span:
    if is_tensor(array):
        array = array.detach().numpy()
    view = memoryview(array)
    if objection := objection_to(view):
        raise UnusableError(objection)
    if is_masked(array, {}):
        raise UnusableError(MASKED)
    if not view.c_contiguous or (writable and view.readonly):
        raise ArgumentError("the array must be contiguous" + ", and writable" * writable)
    if view.readonly:
        held = ctypes.create_string_buffer(view.tobytes(), view.nbytes)
    else:
        held = (ctypes.c_char * view.nbytes).from_buffer(view.cast("B") if view.nbytes else view)
    return _Span(ctypes.addressof(held), view.nbytes, held)


def _device_span(array: Any, found: list[Any]) -> _Span:
    address, view = read_address(array, current_device().ordinal, found), view_of(array)
    if not view.is_contiguous:
        raise ArgumentError("the array must be contiguous")
    return _Span(address, prod(view.shape) * view.itemsize, array)
