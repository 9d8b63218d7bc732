"""Kernels that are asked for while they are loaded, by threads and by their own loading; and what is freed."""

from __future__ import annotations

import contextlib
import gc
import logging
import threading

import pytest

from hatch_cuda_kernels import compile_to_cubin, open_store
from hatch_cuda_kernels.errors import ReentryError
from hatch_cuda_kernels.runtime.launch.libraries import LIBRARIES

pytestmark = pytest.mark.every_python

ARGS = (2.0, None, None, 4)


@pytest.fixture
def store(example_store, driver, fresh_cache):
    """Return the example project's store, for a device that it has no image for: kernels are compiled."""
    driver.capability = (7, 5)
    return open_store(example_store)


class Asking(logging.Handler):
    """A logging handler that asks for something at each message, and keeps what it gets or how that fails."""

    def __init__(self, ask):
        super().__init__()
        self.ask = ask
        self.answers = []

    def emit(self, record):
        """Ask, whatever the message."""
        try:
            self.answers.append(self.ask())
        except ReentryError as error:
            self.answers.append(error)


@pytest.fixture
def asking():
    """Return a function that lets something be asked for while a kernel is compiled."""
    logger = logging.getLogger("hatch_cuda_kernels")
    added = []

    def add(ask):
        added.append(Asking(ask))
        logger.addHandler(added[0])
        return added[0]

    level = logger.level
    logger.setLevel(logging.INFO)
    yield add
    logger.setLevel(level)
    logger.removeHandler(added[0])


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"module": "saxpy"}])
def test_a_handler_that_asks_for_the_kernel_being_compiled(store, asking, options):
    """It gets an error instead of waiting for itself; the kernel is loaded all the same."""
    handler = asking(lambda: store.get_kernel("saxpy", **options))
    assert store.get_kernel("saxpy").image.origin == "jitted"
    assert isinstance(handler.answers[0], ReentryError)
    assert "was requested while it was loading" in str(handler.answers[0])


@pytest.mark.slow
def test_a_finaliser_in_the_compiling_thread_gets_the_error_too(store, monkeypatch):
    """A compile runs in a thread of its own; what asks from there waits for itself as well."""
    from hatch_cuda_kernels.compiler import nvrtc

    answers, original = [], nvrtc.compile_program

    def within(*args, **kwargs):
        try:
            answers.append(store.get_kernel("saxpy"))
        except ReentryError as error:
            answers.append(error)
        return original(*args, **kwargs)

    monkeypatch.setattr(nvrtc, "compile_program", within)
    assert store.get_kernel("saxpy").image.origin == "jitted"
    assert [type(answer) for answer in answers] == [ReentryError]


@pytest.mark.slow
def test_a_handler_may_ask_for_another_kernel(store, asking):
    """Only the kernel that is under way is out of reach."""
    store.get_kernel("softmax<32>")
    handler = asking(lambda: store.get_kernel("softmax<32>"))
    store.get_kernel("saxpy")
    assert handler.answers[0].name == "softmax<32>"


def test_two_threads_that_want_different_shared_memory_both_get_it(example_store, driver, monkeypatch):
    """The larger amount stays opted in to, whoever comes last."""
    kernel = open_store(example_store).get_kernel("saxpy")
    kernel[1, 32](*ARGS)
    both = threading.Barrier(2)
    original = driver.cuKernelGetAttribute

    def read(attribute, *more):
        """Let both threads read before either writes, unless they take turns."""
        found = original(attribute, *more)
        if attribute.startswith("MAX_DYNAMIC"):
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(0.2)
        return found

    monkeypatch.setattr(driver, "cuKernelGetAttribute", read)
    threads = [
        threading.Thread(target=kernel.launch, args=(1, 32, ARGS), kwargs={"shared_mem": size << 10})
        for size in (100, 64)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert driver.kernel_attributes["MAX_DYNAMIC_SHARED_SIZE_BYTES", kernel.handle, 0] == 100 << 10


@pytest.mark.slow
def test_libraries_of_dropped_sources_are_unloaded(driver, fresh_cache):
    """Of ten texts that were compiled, loaded and dropped, one is still with the driver at the end."""
    for number in range(10):
        source = f'extern "C" __global__ void k(int* y) {{ *y = {number}; }}'
        compile_to_cubin(source, arch="sm_90").get_kernel("k")[1, 1](None)
        gc.collect()
    assert (len(driver.loaded), len(driver.unloaded)) == (10, 9)


@pytest.mark.slow
def test_the_library_of_a_dropped_store_is_unloaded_once_nothing_uses_it(example_store, driver):
    """A kernel that a program kept keeps its library; loading anything else unloads what is unused."""
    store = open_store(example_store)
    kernel, variable = store.get_kernel("saxpy"), store.get_global("d_filter")
    del store
    gc.collect()
    open_store(example_store).get_kernel("softmax<32>")
    assert driver.unloaded == []
    kernel[1, 32](*ARGS)
    del kernel, variable
    gc.collect()
    open_store(example_store).get_kernel("softmax<32>")
    assert len(driver.unloaded) == 3
    assert len(LIBRARIES._libraries) == 1


@pytest.mark.slow
def test_instances_that_are_forgotten_are_freed(example_store, driver, fresh_cache):
    """``instances=1`` bounds what ``instantiate`` keeps, images of instances that are compiled on demand included."""
    store = open_store(example_store, instances=1)
    for block in (96, 160, 192):
        store.instantiate("softmax", BLOCK=block)
    gc.collect()
    assert len(store.stats()) == 1


def test_shapes_and_types_without_end_do_not_pile_up(example_store, driver):
    """What is remembered of launches is bounded: by shapes, streams, and types of arguments."""
    from hatch_cuda_kernels.runtime.launch import arrays, values

    kernel = open_store(example_store).get_kernel("saxpy")
    for number in range(1, 1000):
        kind = type("Address", (), {"handle": 0x10})
        kernel[number, 32](type("Number", (float,), {})(1), kind(), kind(), 4)
        kernel[number, 64](2.0, None, None, 4)
        kernel[number, 64](2.0, None, None, 4)
    assert len(kernel._known) <= 256
    assert len(kernel._launches._met) <= 256
    assert len(arrays._ACCESSES) <= 256
    assert len(values.NUMBERS) <= 256
