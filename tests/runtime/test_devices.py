"""Kernels of a store where their arrays are: several devices, threads, contexts that come and go, resets."""

from __future__ import annotations

import threading
import traceback

import pytest
from device_arrays import array_on

from hatch_cuda_kernels import compile_to_cubin, open_store
from hatch_cuda_kernels.driver import cuda
from hatch_cuda_kernels.errors import ArgumentError, DriverError, StaleKernelError


@pytest.fixture
def store(example_store, driver, fresh_cache):
    """Return the example project's store, for an imitated driver with two devices."""
    driver.devices = 2
    return open_store(example_store)


def launch(kernel, *arrays):
    """Launch saxpy with two arrays."""
    x, y = arrays * 2 if len(arrays) == 1 else arrays
    kernel[1, 32](2.0, x, y, 4)


def test_a_launch_goes_to_the_device_of_its_arrays(store, driver):
    """Without any ``with device``; the context that was current before is current again."""
    kernel = store.get_kernel("saxpy")
    for ordinal in (0, 1, 1, 0):
        launch(kernel, array_on(driver, ordinal))
    assert driver.launched_in == [7, 17, 17, 7]
    assert driver.context == 7
    assert len(driver.loaded) == 1  # one library serves all devices that take its image


def test_a_launch_in_the_context_of_the_other_device_is_no_detour(store, driver):
    """What was launched on a device once is launched there directly while its context is current."""
    kernel = store.get_kernel("saxpy")
    launch(kernel, array_on(driver, 1))
    driver.context = 17
    driver.cuCtxPushCurrent = None  # not needed
    launch(kernel, array_on(driver, 1))
    assert driver.launched_in == [17, 17]


def test_arrays_of_two_devices_are_refused(store, driver):
    """The error says which argument is where; nothing is launched."""
    message = "are on several devices: argument 1 on device 0, argument 2 on device 1; copy them to one"
    with pytest.raises(ArgumentError, match=message):
        launch(store.get_kernel("saxpy"), array_on(driver, 0), array_on(driver, 1))
    assert driver.launches == []


def test_managed_memory_is_in_reach_of_every_device(store, driver):
    """It goes with arrays of any device, and by itself to the current one."""
    managed = array_on(driver, 0)
    driver.managed.add(managed.address)
    kernel = store.get_kernel("saxpy")
    launch(kernel, managed, array_on(driver, 1))
    launch(kernel, managed)
    assert driver.launched_in == [17, 7]


def test_a_thread_without_a_context_launches_where_its_arrays_are(store, driver):
    """Its device stays the first one, as it is for every thread that has not chosen another."""
    kernel, contexts = store.get_kernel("saxpy"), []

    def work():
        launch(kernel, array_on(driver, 1))
        contexts.append(driver.context)
        launch(kernel, array_on(driver, 0))
        contexts.append(driver.context)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert driver.launched_in == [17, 7]
    assert contexts == [0, 7]


def test_after_a_reset_a_kernel_of_a_store_is_loaded_again(store, driver):
    """A handle that a program kept goes on working, in a shape that it used and in others."""
    kernel = store.get_kernel("saxpy")
    launch(kernel, array_on(driver, 0))
    kept = kernel[2, 64]
    driver.reset()
    launch(kernel, array_on(driver, 0))
    kept(2.0, None, None, 4)
    assert len(driver.launches) == 3
    assert kernel.context_id == 1007
    assert store.get_kernel("saxpy") is kernel


def test_a_context_of_its_own_is_used_for_arrays_of_its_device(store, driver):
    """The current context counts, and not its device's primary one."""
    driver.context = 8
    kernel = store.get_kernel("saxpy")
    launch(kernel, array_on(driver, 0))
    assert driver.launched_in == [8]
    driver.gone.add(8)
    with pytest.raises(DriverError, match=r"CONTEXT_IS_DESTROYED.*make another one current"):
        launch(kernel, array_on(driver, 0))


def test_contexts_that_come_and_go_leave_nothing_behind(store, driver):
    """After 20 contexts, what is kept by context is kept for the last one and the first one."""
    kernel = store.get_kernel("saxpy")
    kept = kernel[1, 32]
    for context in range(100, 120):
        driver.context = context
        kept(2.0, array_on(driver, 0), array_on(driver, 0), 4)
        store.get_kernel("saxpy")
        store.get_global("d_filter").address  # noqa: B018 - it is looked up
        driver.gone.add(context)
    driver.context = 7
    assert len(kernel._launches.loads) <= 2
    assert len(store.stats()) <= 4


@pytest.mark.slow
def test_compiled_text_goes_stale(driver, fresh_cache):
    """Its kernels belong to a context: in another, they say so and launch nothing."""
    compiled = compile_to_cubin('extern "C" __global__ void k(int* y) { *y = 1; }', arch="sm_90")
    kernel = compiled.get_kernel("k")
    kernel[1, 1](None)
    driver.reset()
    with pytest.raises(StaleKernelError, match="k was loaded for another context"):
        kernel[1, 1](None)
    assert len(driver.launches) == 1
    compiled.get_kernel("k")[1, 1](None)


def test_a_variable_is_on_every_device(store, driver):
    """``get_global`` gives one object; its address is the current device's."""
    variable = store.get_global("d_filter")
    first = variable.address
    driver.context = 17
    assert variable.address != first
    assert store.get_global("d_filter") is variable
    driver.context = 7
    assert variable.address == first
    driver.reset()
    assert variable.address != first


def test_warm_up_loads_on_each_device(store, driver):
    """A kernel that is loaded on one device is not yet loaded on the other."""
    assert store.warm_up(["saxpy"], devices=[0]).already == 0
    assert store.warm_up(["saxpy"], devices=[0, 1]).already == 1
    assert [stats.context_id for stats in store.stats()] == [7, 17]


def test_a_missing_driver_is_told_in_short(monkeypatch):
    """The traceback ends in what to install, and has nothing of the libraries that looked for the driver."""
    from cuda.bindings import driver as bindings

    class DynamicLibNotFoundError(RuntimeError):
        pass

    def look(_):
        raise DynamicLibNotFoundError("searched in vain")

    monkeypatch.setattr(bindings, "cuInit", look)
    with pytest.raises(DriverError) as caught:
        cuda.__wrapped__()
    text = "".join(traceback.format_exception(caught.value))
    assert "no CUDA driver here; install NVIDIA's driver" in text
    assert "searched in vain" not in text
