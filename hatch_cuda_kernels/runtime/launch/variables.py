"""Device variables of a kernel's image, set and read from the host or from arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.driver import add_by_context, check, cuda, current_context_id, outside_captures
from hatch_cuda_kernels.errors import DriverError, KernelNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.runtime.launch.loaded import Loaded

__all__ = ["GlobalVariable"]


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
        from hatch_cuda_kernels.runtime.launch.copies import copy

        copy(self.name, lambda: self._place()[1:], array, stream, into_variable=True)

    def copy_to(self, array: Any, stream: Any = None) -> None:  # as above
        """Copy the variable into an array of its size. What is said of ``copy_from`` holds here too."""
        from hatch_cuda_kernels.runtime.launch.copies import copy

        copy(self.name, lambda: self._place()[1:], array, stream, into_variable=False)

    def _place(self) -> _VariablePlace:
        context_id = current_context_id()
        place = self._places.get(context_id)
        if place is None:
            loaded = self._load()
            place = _VariablePlace(loaded, *_look_up(loaded, self.name, self._lowered(loaded)))
            add_by_context(self._places, context_id, place)
        return place


def _look_up(loaded: Loaded, name: str, lowered: str) -> tuple[int, int]:
    """Return the address and size of a variable. Raises KernelNotFoundError if the image has none of this name."""
    with outside_captures():
        call = cuda().cuLibraryGetGlobal(loaded.library.handle, lowered.encode())
    try:
        address, size = check("cuLibraryGetGlobal", call)
    except DriverError as error:
        if error.code == 500:  # CUDA_ERROR_NOT_FOUND
            raise KernelNotFoundError(name, repr(loaded.image), what="variable") from error
        raise
    return int(address), int(size)
