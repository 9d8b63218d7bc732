"""Copies between a device variable and an array of any library, on the device or on the host."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.driver import check, cuda, current_device, on_device
from hatch_cuda_kernels.errors import ArgumentError
from hatch_cuda_kernels.runtime.launch import dlpack, tensors
from hatch_cuda_kernels.runtime.launch.arrays import family, read_address
from hatch_cuda_kernels.runtime.launch.elements import is_masked, type_name
from hatch_cuda_kernels.runtime.launch.streams import checked_address, join, stream_address
from hatch_cuda_kernels.runtime.launch.unusable import MASKED, UnusableError
from hatch_cuda_kernels.runtime.launch.values import objection_to

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["copy"]


class _Span(NamedTuple):
    """The bytes of an array."""

    address: int
    size: int
    on_host: bool
    keep: Any
    """What holds them."""


def copy(name: str, place: Callable[[], tuple[int, int]], array: Any, stream: Any, *, into_variable: bool) -> None:
    """Copy between a variable and an array of its size; see ``GlobalVariable.copy_from``.

    ``place`` gives the variable's address and size in the current context.
    """
    stated = None if stream is None else checked_address(stream_address(stream))
    try:
        _copy_between(name, place, array, stated, into_variable=into_variable)
    except UnusableError as error:
        raise ArgumentError(f"{name} is not copied with {type_name(array)}: {error}") from error


def _copy_between(
    name: str, place: Callable[[], tuple[int, int]], array: Any, stated: int | None, *, into_variable: bool
) -> None:
    on_host = _is_host(array)
    device = None if on_host else family(array).device(array)  # None, too, where it does not matter which
    found: list[Any] = []  # streams, and what must live until the copy is with the driver
    with on_device(device):
        address, size = place()
        span = _host_span(array, writable=not into_variable) if on_host else _device_span(array, found)
        if span.size != size:
            raise ArgumentError(f"{name} has {size} bytes, the array that was passed has {span.size}")
        _copy(address, span, join(found, stated) or 0, into_variable=into_variable)


def _copy(address: int, span: _Span, stream: int, *, into_variable: bool) -> None:
    driver = cuda()
    on = driver.CUstream(stream)
    target, origin = (address, span.address) if into_variable else (span.address, address)
    kind = "DtoD" if not span.on_host else "HtoD" if into_variable else "DtoH"
    call = f"cuMemcpy{kind}Async"
    check(call, getattr(driver, call)(target, origin, span.size, on))
    if span.on_host:
        check("cuStreamSynchronize", driver.cuStreamSynchronize(on))


def _is_host(array: Any) -> bool:
    if tensors.learn(array):
        return not array.is_cuda
    if hasattr(array, "__cuda_array_interface__"):
        return False
    return not hasattr(array, "__dlpack_device__") or dlpack.device(array) is None


def _host_span(array: Any, *, writable: bool) -> _Span:
    if tensors.learn(array):
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
    return _Span(ctypes.addressof(held), view.nbytes, True, held)


def _device_span(array: Any, found: list[Any]) -> _Span:
    """Return the bytes of an array on the current device."""
    address = read_address(array, current_device().ordinal, found)
    if tensors.learn(array):
        contiguous, size = array.is_contiguous(), array.numel() * array.element_size()
    else:
        contiguous, size = _extent(array.__cuda_array_interface__)
    if not contiguous:
        raise ArgumentError("the array must be contiguous")
    return _Span(address, size, False, array)


def _extent(interface: dict[str, Any]) -> tuple[bool, int]:
    """Return whether the elements follow each other, and their size in bytes."""
    size = int(interface["typestr"][2:])
    strides = interface.get("strides")
    for length, stride in zip(reversed(interface["shape"]), reversed(strides or interface["shape"]), strict=True):
        if strides and stride != size:
            return False, 0
        size *= length
    return True, size
