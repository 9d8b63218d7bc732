"""Arrays of several libraries: which stream a launch takes, and that nothing depends on who was imported when."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from device_arrays import InterfaceArray

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.errors import ArgumentError
from hatch_cuda_kernels.runtime.launch import arrays, tensors


@pytest.fixture
def kernel(example_store, driver, monkeypatch):
    """Return saxpy in a process that has met no array yet."""
    monkeypatch.setattr(arrays, "_FAMILIES", {})
    for name, value in {
        "tensor": tensors._NoTensor,
        "data_ptr": tensors._never,
        "get_device": tensors._never,
        "parameter": tensors._NoTensor,
    }.items():
        monkeypatch.setitem(tensors.FAST, name, value)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    return open_store(example_store).get_kernel("saxpy")


def streams(driver):
    """Return the stream of each launch, and what waited for what: event after stream, stream after event."""
    waits = [(name, *args) for name, *args in driver.calls if name in {"cuEventRecord", "cuStreamWaitEvent"}]
    return [launch[0] for launch in driver.launches], waits


def test_the_stream_of_an_array_is_taken(kernel, driver):
    """The array interface names it; without one, the launch goes to the default stream."""
    kernel[1, 32](2.0, InterfaceArray(), InterfaceArray(stream=6), 4)
    kernel[1, 32](2.0, InterfaceArray(), InterfaceArray(), 4)
    assert streams(driver) == ([6, 0], [])


def test_the_streams_of_all_arrays_are_honoured(kernel, driver):
    """The launch goes to the first array's stream, and waits for what the others' streams hold."""
    kernel[1, 32](2.0, InterfaceArray(stream=6), InterfaceArray(stream=8), 4)
    assert streams(driver) == ([6], [("cuEventRecord", 99, 8), ("cuStreamWaitEvent", 6, 99, 0)])


def test_a_stated_stream_waits_for_the_arrays(kernel, driver):
    """An array that names another stream is not read before that has written it."""
    kernel.launch(1, 32, (2.0, InterfaceArray(stream=6), InterfaceArray(stream=6), 4), stream=5)
    assert streams(driver) == ([5], [("cuEventRecord", 99, 6), ("cuStreamWaitEvent", 5, 99, 0)])


def test_the_default_stream_has_two_names(kernel, driver):
    """0 and 1 are one stream: nothing waits."""
    kernel.launch(1, 32, (2.0, InterfaceArray(stream=1), None, 4), stream=0)
    assert streams(driver) == ([0], [])


def test_a_stream_that_is_captured_waits_for_no_other(kernel, driver):
    """The wait would end the capture."""
    driver.cuStreamIsCapturing = lambda _: (driver.CUresult.CUDA_SUCCESS, 1)
    kernel.launch(1, 32, (2.0, InterfaceArray(stream=6), None, 4), stream=5)
    assert streams(driver) == ([5], [])


@pytest.mark.parametrize("module", [types.ModuleType("torch"), None])
def test_a_torch_that_is_half_imported_is_no_obstacle(kernel, driver, monkeypatch, module):
    """A thread that imports it, or a failed import, leaves a module without its names, or None."""
    monkeypatch.setitem(sys.modules, "torch", module)
    kernel[1, 32](2.0, InterfaceArray(), 0x20, 4)
    assert len(driver.launches) == 1


class Odd:
    """An array whose type offers the interface, though not all arrays of it have it, as JAX's do."""

    def __init__(self, address, has_interface):
        self.address = address
        self.has_interface = has_interface

    @property
    def __cuda_array_interface__(self):
        if not self.has_interface:
            raise AttributeError("bfloat16 has none")
        return {"shape": (4,), "typestr": "<f4", "data": (self.address, True), "version": 3}

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, stream):
        raise AssertionError(stream)


@pytest.mark.parametrize("first", [True, False])
def test_arrays_of_a_type_may_offer_different_protocols(kernel, driver, first):
    """The first array of a type that is seen does not decide how all others are read."""
    for has_interface in (first, not first):
        array = Odd(0x40, has_interface)
        if has_interface:
            kernel[1, 32](2.0, array, None, 4)
        else:
            with pytest.raises(ArgumentError, match="on DLPack device type 1, which kernels cannot reach"):
                kernel[1, 32](2.0, array, None, 4)
    assert len(driver.launches) == 1


def test_cupy_is_asked_for_the_stream_of_the_device(kernel, driver, monkeypatch):
    """Its current stream is one for each device."""
    cupy = types.ModuleType("cupy")
    cupy.cuda = types.SimpleNamespace(get_current_stream=lambda device: types.SimpleNamespace(ptr=70 + device))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    members = {"data": types.SimpleNamespace(ptr=0x30, device_id=0), "dtype": np.dtype("f4")}
    kind = type("ndarray", (), {"__module__": "cupy", **members})
    kernel[1, 32](2.0, kind(), kind(), 4)
    assert streams(driver) == ([70], [])
    kernel.bind(1, 32, (2.0, kind(), InterfaceArray(stream=6), 4))()
    assert streams(driver)[0] == [70, 70]
    assert streams(driver)[1] == [("cuEventRecord", 99, 6), ("cuStreamWaitEvent", 70, 99, 0)]


class Handle:
    """A handle as the bindings have it: it converts to an int."""

    def __int__(self):
        return 5


STREAMS = {
    "address": 5,
    "protocol": type("Stream", (), {"__cuda_stream__": lambda _: (0, 5)})(),
    "protocol of old": types.SimpleNamespace(__cuda_stream__=(0, 5)),
    "torch": types.SimpleNamespace(cuda_stream=5),
    "CuPy": types.SimpleNamespace(ptr=5),
    "Numba": types.SimpleNamespace(handle=types.SimpleNamespace(value=5)),
    "cuda.core": types.SimpleNamespace(handle=Handle()),
    "bindings": Handle(),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_streams_of_every_library_are_taken(kernel, driver, kind):
    """In brackets and as an option; the same object may stand for another stream later."""
    kernel[1, 32, 0, STREAMS[kind]](2.0, None, None, 4)
    kernel.launch(1, 32, (2.0, None, None, 4), stream=STREAMS[kind])
    kernel.bind(1, 32, (2.0, None, None, 4), stream=STREAMS[kind])()
    assert streams(driver)[0] == [5, 5, 5]


def test_a_stream_object_may_change(kernel, driver):
    """What is remembered is the stream, and not the object."""
    stream = types.SimpleNamespace(ptr=5)
    for stream.ptr in (5, 6, 5):
        kernel[1, 32, 0, stream](2.0, None, None, 4)
    assert streams(driver)[0] == [5, 6, 5]


@pytest.mark.parametrize("stream", ["5", 5.0, object()])
def test_what_is_no_stream_is_refused(kernel, driver, stream):
    """Neither text, nor a number that is no address, nor any object."""
    with pytest.raises(TypeError, match="not a CUDA stream"):
        kernel[1, 32, 0, stream](2.0, None, None, 4)
    assert driver.launches == []
