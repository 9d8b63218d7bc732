"""Ways to call a kernel: bound, with launch attributes, empty grids; what the driver says of it; variables."""

from __future__ import annotations

import ctypes
import gc
import math
import pickle
import struct
import weakref
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from device_arrays import InterfaceArray, array_on

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.errors import ArgumentError, InputError, KernelNotFoundError, LaunchError, StaleKernelError


@pytest.fixture
def store(example_store, driver, fresh_cache):
    """Return the example project's store, for an imitated driver with two devices."""
    driver.devices = 2
    return open_store(example_store)


@pytest.fixture
def kernel(store):
    """Return saxpy."""
    return store.get_kernel("saxpy")


def test_a_bound_launch_packs_once(kernel, driver):
    """Each call launches the same arguments, in the stated stream."""
    go = kernel.bind(2, 64, (2.0, 0x10, 0x20, 4), stream=5)
    assert driver.launches == []
    go()
    go()
    assert driver.launches == [(5, b"saxpy", kernel._launches.signature.pack((2.0, 0x10, 0x20, 4)))] * 2


def test_a_bound_launch_checks_its_arguments_when_it_is_bound(kernel):
    """What ``launch`` refuses, ``bind`` refuses."""
    with pytest.raises(ArgumentError, match=r"argument 3 \(n\) of saxpy is long long, got str"):
        kernel.bind(2, 64, (2.0, None, None, "4"))
    with pytest.raises(LaunchError, match="block must be"):
        kernel.bind(2, 0, (2.0, None, None, 4))


def test_a_bound_launch_keeps_its_arrays(kernel, driver):
    """An array that nobody else holds lives as long as the function."""
    array = InterfaceArray(0x1000, stream=6)
    alive = weakref.ref(array)
    go = kernel.bind(1, 32, (2.0, array, None, 4))
    del array
    go()
    assert driver.launches[0][0] == 6
    assert alive() is not None
    gc.disable()
    del go
    assert alive() is None  # at once: device memory is scarce, and the collector does not see it
    gc.enable()


def test_a_bound_launch_keeps_what_it_was_given(kernel, driver):
    """The arrays that a list held when it was bound, whatever becomes of the list, and the stream's object."""
    array, stream = InterfaceArray(0x1000), type("Stream", (), {"ptr": 5})()
    alive = weakref.ref(array), weakref.ref(stream)
    args = [2.0, array, None, 4]
    go = kernel.bind(1, 32, args, stream=stream)
    args[1] = InterfaceArray(0x2000)
    del array, stream
    driver.context = 17
    go()
    driver.context = 7
    go()
    assert driver.launches == [(5, b"saxpy", kernel._launches.signature.pack((2.0, 0x1000, None, 4)))] * 2
    assert None not in {reference() for reference in alive}
    gc.disable()
    del go
    assert {reference() for reference in alive} == {None}
    gc.enable()


def test_a_bound_launch_belongs_to_its_context(kernel, driver):
    """It launches there from any other context, and once that is gone, not at all."""
    go = kernel.bind(1, 32, (2.0, array_on(driver, 1), None, 4))
    go()
    assert (driver.launched_in, driver.context) == ([17], 7)
    driver.reset(1)
    with pytest.raises(StaleKernelError, match="saxpy was bound in a context that is gone"):
        go()
    assert len(driver.launches) == 1


def test_launch_attributes_reach_the_driver(kernel, driver):
    """Each option is one attribute; without options there are none."""
    kernel.launch(4, 32, (2.0, None, None, 4), cluster=(2, 1, 1), cooperative=True, pdl=True, priority=-1, carveout=50)
    values = {number: data for number, data in driver.configs[-1].attributes.items() if any(data)}
    assert values == {
        4: struct.pack("3I", 2, 1, 1).ljust(64, b"\0"),
        2: struct.pack("i", 1).ljust(64, b"\0"),
        6: struct.pack("i", 1).ljust(64, b"\0"),
        8: struct.pack("i", -1).ljust(64, b"\0"),
        14: struct.pack("i", 50).ljust(64, b"\0"),
    }
    kernel[4, 32](2.0, None, None, 4)
    assert driver.configs[-1].attributes == {}


def test_large_clusters_are_opted_in_to(kernel, driver):
    """More than eight blocks are not portable, which the driver wants to be told."""
    kernel.launch(16, 32, (2.0, None, None, 4), cluster=16)
    assert driver.kernel_attributes["NON_PORTABLE_CLUSTER_SIZE_ALLOWED", kernel.handle, 0] == 1


def test_a_grid_without_blocks_does_nothing(kernel, driver):
    """But for checking the arguments: an empty batch is no special case for the caller."""
    kernel[0, 32](2.0, None, None, 0)
    kernel.launch((4, 0), 32, (2.0, None, None, 0))
    kernel.bind(0, 32, (2.0, None, None, 0))()
    assert driver.launches == []
    with pytest.raises(ArgumentError, match="saxpy takes 4 arguments"):
        kernel[0, 32](2.0)


@pytest.mark.parametrize("stream", [(), (0, 5)])
def test_a_shape_is_launched_alike_however_often_it_came(kernel, driver, stream):
    """The first time, the second, and when it is remembered, here among others, and with sizes in a list."""
    shapes = [(4, 256), ((2, 3), (8, 4, 2)), ([2, 3], [8])] * 4
    for shape in shapes:
        kernel[(*shape, *stream)](2.0, 0x10, 0x20, 4)
        config = driver.configs[-1]
        found = tuple(config.grid), tuple(config.block), config.sharedMemBytes, config.numAttrs, driver.launches[-1][0]
        expected = [((*size, 1, 1) if isinstance(size, tuple | list) else (size, 1, 1))[:3] for size in shape]
        assert found == (*expected, 0, 0, 5 if stream else 0)
    assert len({launch[2] for launch in driver.launches}) == 1


#: Sizes that are no integers and equal some, with the integers; the first three are numbers for a grid.
EQUAL = [(4.0, 4), (np.float64(4), 4), (Decimal(4), 4), (Fraction(8, 2), 4), (4 + 0j, 4), (np.int16(4), 4), (True, 1)]


@pytest.mark.parametrize(("given", "meant"), EQUAL, ids=repr)
def test_a_number_that_equals_an_integer_is_that_integer(kernel, driver, given, meant):
    """In each way to launch, and whatever shape was launched before."""
    args, options = (2.0, None, None, 4), ("shared_mem", "priority", "carveout")
    for grid, size in ((given, meant), (meant, meant), (given, meant)):
        kernel[grid, (2, size)](*args)
        kernel[(grid, 3), 8](*args)
        kernel[5, 6, grid](*args)
        kernel.launch(7, grid, args, cluster=None, **dict.fromkeys(options, grid))
        kernel.bind([grid], 9, args, shared_mem=grid)()
        found = [(tuple(config.grid), tuple(config.block), config.sharedMemBytes) for config in driver.configs[-5:]]
        assert found == [
            ((size, 1, 1), (2, size, 1), 0), ((size, 3, 1), (8, 1, 1), 0), ((5, 1, 1), (6, 1, 1), size),
            ((7, 1, 1), (size, 1, 1), size), ((size, 1, 1), (9, 1, 1), size),
        ]  # fmt: skip
        assert {driver.configs[-2].attributes[number][:4] for number in (8, 14)} == {struct.pack("i", size)}


@pytest.mark.parametrize(
    "size", [4.5, "4", b"4", None, math.nan, math.inf, Decimal("NaN"), 4 + 1j, np.array([4, 4]), {}]
)
def test_what_equals_no_integer_is_no_size(kernel, driver, size):
    """It is refused each time, with the same words."""
    args = (2.0, None, None, 4)
    for _ in range(3):
        with pytest.raises(
            LaunchError, match=r"^saxpy: grid must be one to three integers that are not negative, got "
        ):
            kernel[size, 32](*args)
        with pytest.raises(LaunchError, match=r"^saxpy: block must be one to three positive integers, got \[1, "):
            kernel.launch(4, [1, size], args)
        with pytest.raises(LaunchError, match=r"^saxpy: shared memory must be a number of bytes, got "):
            kernel[4, 32, size](*args)
        with pytest.raises(LaunchError, match=r"^saxpy: carveout must be an integer, got "):
            kernel.launch(4, 32, args, carveout=[] if size is None else size)
        kernel[4, 32](*args)
    assert len(driver.launches) == 3


SHAPES = [(4, 256), (4, 256, 0), (4, 256, 0, 5), (0, 256), ((2, 3), [8])]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_arguments_in_brackets_launches_have_no_names(kernel, driver, shape):
    """The error is the same for the first launch, one of a shape not seen before, and one that is remembered."""
    for number in range(4):
        for named in ({"n": 4}, {"x": None, "n": 4}):
            name = next(iter(named))
            with pytest.raises(
                TypeError, match=rf"^saxpy\[grid, block\]\(\) got an unexpected keyword argument '{name}'$"
            ):
                kernel[shape](2.0, None, **named)
            with pytest.raises(
                TypeError, match=rf"^saxpy\[grid, block\]\(\) got an unexpected keyword argument '{name}'$"
            ):
                kernel[10 + number, 32](2.0, None, **named)
        for name in ("a0", "sizes", "here", "self"):
            with pytest.raises(TypeError, match=name):
                kernel[shape](2.0, None, None, **{name: 4})
        kernel[1, 32](2.0, None, None, 4)
    assert len(driver.launches) == 4


def test_a_wrong_look_up_has_the_same_error_each_time(store):
    """The first one, and those of the function that takes its place."""
    for _ in range(3):
        with pytest.raises(TypeError, match=r"^Store\.get_kernel\(\) got an unexpected keyword argument 'other'$"):
            store.get_kernel("saxpy", other=1)
        with pytest.raises(TypeError, match=r"^Store\.get_kernel\(\) missing 1 required positional argument: 'name'$"):
            store.get_kernel()
        assert store.get_kernel("saxpy").name == "saxpy"


def test_a_bound_launch_takes_no_arguments(kernel, driver):
    """It has its own."""
    go = kernel.bind(1, 32, (2.0, None, None, 4))
    for args, named in (((1,), {}), ((), {"n": 4})):
        with pytest.raises(TypeError, match="argument"):
            go(*args, **named)
    assert driver.launches == []


def test_an_unknown_option_is_an_error(kernel):
    """A misspelt one is not ignored."""
    with pytest.raises(TypeError, match="shared_memory"):
        kernel.launch(1, 32, (2.0, None, None, 4), shared_memory=4)


def test_attributes_occupancy_and_block(kernel):
    """What the driver says of the kernel, by name."""
    assert (kernel.attributes.registers, kernel.attributes.max_threads) == (32, 1024)
    assert kernel.occupancy(256) == (8, 1.0)
    assert kernel.suggest_block() == 1024
    assert kernel.suggest_block(limit=128) == 128


def test_variables_are_copied_from_and_to_the_host(store, driver):
    """A host array of the variable's size, on a stream; the host waits, for it may change the array then."""
    variable = store.get_global("d_filter")
    variable.copy_from(np.arange(9, dtype=np.float32), stream=5)
    variable.copy_to(np.zeros(9, np.float32))
    names = [call[0] for call in driver.calls]
    assert names == ["cuMemcpyHtoDAsync", "cuStreamSynchronize", "cuMemcpyDtoHAsync", "cuStreamSynchronize"]
    assert driver.calls[0][1] == variable.address
    assert driver.calls[0][3:] == (36, 5)


def test_variables_are_copied_on_the_device_of_the_array(store, driver):
    """An array of the other device sets the variable there."""
    array = array_on(driver, 1)
    array.__cuda_array_interface__["shape"] = (9,)
    variable = store.get_global("d_filter")
    here = variable.address
    variable.copy_from(array)
    [(name, target, origin, size, _)] = driver.calls
    assert (name, origin, size) == ("cuMemcpyDtoDAsync", array.address, 36)
    assert target != here


def test_variables_are_copied_where_there_is_one_device(store, driver):
    """Nobody asks which device an array is on then, but it is on one."""
    driver.devices = 1
    array = array_on(driver, 0, shape=(9,))
    store.get_global("d_filter").copy_from(array)
    assert [(call[0], call[2]) for call in driver.calls] == [("cuMemcpyDtoDAsync", array.address)]


BAD_ARRAYS = [
    (np.zeros(4, np.float32), "d_filter has 36 bytes, the array that was passed has 16"),
    (np.zeros(18, np.float32)[::2], "the array must be contiguous"),
    (bytes(36), "the array must be contiguous, and writable"),
    (
        np.zeros(1, [("a", "O"), ("b", "V28")]),
        "d_filter is not copied with numpy.ndarray: it holds addresses of Python's",
    ),
    (
        np.ma.array(np.zeros(9, "f4"), mask=[1] + [0] * 8),
        "d_filter is not copied with numpy.*: it has a mask, which a k",
    ),
    (InterfaceArray(shape=(9,), mask=InterfaceArray()), "d_filter is not copied with .*InterfaceArray: it has a mask"),
]


@pytest.mark.parametrize(("array", "message"), BAD_ARRAYS)
def test_arrays_that_do_not_fit_a_variable_are_refused(store, driver, array, message):
    """By size, by strides, for reading into by being read-only, and what is more than its bytes."""
    with pytest.raises(ArgumentError, match=message):
        store.get_global("d_filter").copy_to(array)
    assert driver.calls == []


def test_a_variable_that_is_not_there_is_named(kernel):
    """As a kernel is."""
    with pytest.raises(KernelNotFoundError, match="no variable 'nowhere'"):
        kernel.get_global("nowhere")


def test_a_store_pickles(store, kernel):
    """What a process of its own gets is a store of the same package and policy, with nothing loaded."""
    store.policy = "prebuilt"
    copy = pickle.loads(pickle.dumps(store))
    assert (copy.path, copy.policy) == (store.path, "prebuilt")
    assert not copy.is_loaded("saxpy")
    assert copy.get_kernel("saxpy").name == "saxpy"


@pytest.mark.slow
def test_template_arguments_keep_their_types(make_project, tmp_path, driver, fresh_cache):
    """1, 1.0 and True are three instances, and True is C++'s true."""
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    source = "template <class T, bool B> __global__ void tk(T* x) { *x = B; }"
    manifest = (
        "{schema: 1, arches: [sm_90], modules: {m: {source: tk.cu,"
        ' instances: ["tk<{T}, {B}>"], matrix: {T: [float], B: ["true"]}}}}'
    )
    build_store(load_manifest(make_project(manifest, **{"tk.cu": source}) / "kernels.yaml"), tmp_path / "out")
    store = open_store(tmp_path / "out")
    assert store.instantiate("tk", T="float", B=True).name == "tk<float, true>"
    assert store.instantiate("tk", T="float", B=np.bool_(True)).name == "tk<float, true>"
    assert store.instantiate("tk", T="float", B=1).name == "tk<float, 1>"
    assert store.instantiate("tk", T="float", B=True).name == "tk<float, true>"
    with pytest.raises(InputError, match="tk takes the arguments of"):
        store.instantiate("tk", T="float")


def test_ctypes_pointers_are_addresses(kernel, driver):
    """A device address in a pointer of ctypes; what ctypes has in host memory is refused."""
    pointer = ctypes.cast(0x40, ctypes.POINTER(ctypes.c_float))
    kernel[1, 32](ctypes.c_float(2), ctypes.c_void_p(0x30), pointer, ctypes.c_longlong(4))
    assert driver.launches[0][2] == kernel._launches.signature.pack((2.0, 0x30, 0x40, 4))
    with pytest.raises(ArgumentError, match="it is in host memory; pass an address on the device"):
        kernel[1, 32](2.0, (ctypes.c_float * 4)(), None, 4)
