"""Arrays of several libraries: which stream a launch takes, and that nothing depends on who was imported when."""

from __future__ import annotations

import ctypes
import sys
import types

import numpy as np
import pytest
from c_code import compile_c
from device_arrays import DlpackArray, InterfaceArray

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.errors import ArgumentError
from hatch_cuda_kernels.runtime.launch import accelerator, arrays


@pytest.fixture
def kernel(example_store, driver, monkeypatch):
    """Return saxpy in a process that has met no array yet."""
    monkeypatch.setattr(arrays, "_ACCESSES", {})
    for name, value in {
        "tensor": arrays._NoTensor,
        "data_ptr": arrays._never,
        "get_device": arrays._never,
        "parameter": arrays._NoTensor,
    }.items():
        monkeypatch.setitem(arrays.FAST, name, value)
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


@pytest.fixture
def order(driver, monkeypatch):
    """Return what happens, in order: the driver's call, and what tests add."""
    seen, original = [], driver.cuLaunchKernelEx
    monkeypatch.setattr(driver, "cuLaunchKernelEx", lambda *args: seen.append("launched") or original(*args))
    return seen


def test_memory_of_a_capsule_lives_until_the_driver_was_called(kernel, driver, order):
    """An exporter may copy for each capsule; the copy is then nobody else's. The first launch, and later ones."""
    for _ in range(3):
        kernel[1, 32](2.0, DlpackArray(freed=lambda: order.append("freed")), InterfaceArray(stream=6), 4)
    assert order == ["launched", "freed"] * 3
    assert streams(driver)[0] == [6] * 3


def test_memory_of_a_capsule_lives_as_long_as_a_bound_launch(kernel, order):
    """It is launched again and again."""
    go = kernel.bind(1, 32, (2.0, DlpackArray(freed=lambda: order.append("freed")), None, 4))
    go()
    go()
    del go
    assert order == ["launched", "launched", "freed"]


class Failing:
    """An array whose methods of DLPack raise."""

    def __init__(self, **errors):
        self.errors = errors

    def __dlpack_device__(self):
        if "device" in self.errors:
            raise self.errors["device"]
        return 2, 0

    def __dlpack__(self, *, stream=None):
        raise self.errors["array"]


WAYS = {
    "brackets": lambda kernel, *args: kernel[1, 32](*args),
    "a stream": lambda kernel, *args: kernel[1, 32, 0, 5](*args),
    "launch": lambda kernel, *args: kernel.launch((1,), 64, args),
    "bind": lambda kernel, *args: kernel.bind(1, 32, args),
    "no blocks": lambda kernel, *args: kernel[0, 32](*args),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", [BufferError("no"), RuntimeError("no"), OSError("no"), KeyError("no")], ids=repr)
def test_what_dlpack_raises_is_an_argument_error(kernel, driver, way, error):
    """It names the argument, however the kernel is launched and however often."""
    named = r"^argument 1 \(x\) of saxpy is const float\*, got .*Failing: its"
    for _ in range(3):
        for kind, method in (("device", "__dlpack_device__"), ("array", "__dlpack__")):
            with pytest.raises(ArgumentError, match=rf"{named} {method} failed: {type(error).__name__}: '?no'?$"):
                WAYS[way](kernel, 2.0, Failing(**{kind: error}), None, 4)
        kernel[1, 32](2.0, None, None, 4)
    assert len(driver.launches) == 3


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", [RecursionError, MemoryError, KeyboardInterrupt])
def test_what_is_not_the_arguments_fault_goes_on(kernel, way, error):
    """As it is, and after one try."""
    for _ in range(3):
        for kind in ("device", "array"):
            with pytest.raises(error, match=r"^not mine$"):
                WAYS[way](kernel, 2.0, Failing(**{kind: error("not mine")}), None, 4)
        kernel[1, 32](2.0, None, None, 4)


class Endless(BaseException):
    """Ends what would take for ever."""


class Recursive:
    """An array that is read by a launch with itself, without end."""

    def __init__(self, launch):
        self.launch = launch
        self.reads = 0

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        if self.reads > 5000:
            raise Endless
        self.launch(2.0, self, None, 4)


#: A function in Python could not answer where the recursion is too deep.
CONTEXT_ID = "int context_id(void *context, unsigned long long *id) { *id = 7; return context != 0; }"


@pytest.mark.parametrize("was_launched", [False, True])
def test_a_recursion_ends_where_it_is_too_deep(kernel, driver, tmp_path, monkeypatch, was_launched):
    """None of its levels tries again."""
    library = ctypes.CDLL(str(compile_c(CONTEXT_ID, tmp_path / "context_id.so", "-shared", "-fPIC")))
    address, give = ctypes.cast(library.context_id, ctypes.c_void_p).value, driver.cuGetProcAddress
    monkeypatch.setattr(
        driver, "cuGetProcAddress", lambda name, *rest: (0, address, 0) if name == b"cuCtxGetId" else give(name, *rest)
    )
    accelerator._found.cache_clear()
    if was_launched:
        kernel[1, 32](2.0, None, None, 4)
    array = Recursive(kernel[1, 32])
    with pytest.raises(RecursionError):
        array.launch(2.0, array, None, 4)
    assert array.reads < 1000


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


@pytest.mark.parametrize("stream", ["5", 5.0, object(), -1, 2**64])
def test_what_is_no_stream_is_refused(kernel, driver, stream):
    """Neither text, nor a number that is not an address, nor any object; in whatever way, and however often."""
    args = (2.0, None, None, 4)
    for _ in range(3):
        with pytest.raises(TypeError, match="not a CUDA stream"):
            kernel[1, 32, 0, stream](*args)
        with pytest.raises(TypeError, match="not a CUDA stream"):
            kernel.launch(1, 32, args, stream=stream)
        with pytest.raises(TypeError, match="not a CUDA stream"):
            kernel.bind(1, 32, args, stream=stream)
    assert driver.launches == []


@pytest.mark.parametrize("stream", [-1, 2**64])
def test_an_array_that_names_no_stream_is_refused(kernel, driver, stream):
    """It is said which argument it was."""
    for _ in range(3):
        with pytest.raises(
            ArgumentError, match=r"argument 1 \(x\) of saxpy .*: not a CUDA stream: -?[0-9]+ is not an address"
        ):
            kernel[1, 32](2.0, InterfaceArray(stream=stream), None, 4)
    assert driver.launches == []
