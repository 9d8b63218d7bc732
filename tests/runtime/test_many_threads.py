"""Many threads and one kernel: each launch has the arguments, the shape and the stream of the thread that asked for it.

With the GIL, threads take turns inside all of this; on a free-threaded Python they run at the same time.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import sys
import threading

import pytest
from device_arrays import InterfaceArray

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.runtime.launch import arrays

pytestmark = pytest.mark.every_python

THREADS, LAUNCHES = 8, 300
MANIFEST = """
schema: 1
arches: [sm_90]
modules:
  m: {source: m.cu, launch: {k: {grid: "n % 97 + 1", block: "n % 31 + 1"}}}
"""
SOURCE = 'extern "C" __global__ void k(float* y, int n, float a) { *y = n * a; }'


@pytest.fixture
def store(driver, fresh_cache, make_project, tmp_path, monkeypatch):
    """Return a store, on a driver that keeps each launch whole: stream, grid, block, arguments."""
    root = make_project(MANIFEST, **{"m.cu": SOURCE})
    build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    driver.seen = []
    monkeypatch.setattr(arrays, "_ACCESSES", {})

    def launch(config, _, __, extra):
        words = (ctypes.c_void_p * 5).from_address(extra)
        values = struct.unpack("<Qif", ctypes.string_at(words[1], 16))
        driver.seen.append((config.hStream, config.grid[0], config.block[0], values))
        return (driver.status,)

    monkeypatch.setattr(driver, "cuLaunchKernelEx", launch)
    return open_store(tmp_path / "out")


def array(address, stream):
    """Return an array of a type that nobody has seen."""
    return type("Array", (InterfaceArray,), {})(address, stream)


def ways(kernel, n):
    """Yield ways to launch: each with the stream, grid and block that it has."""
    grid, block, stream = n % 97 + 1, n % 31 + 1, 3 + n % 5
    holder = type("Stream", (), {"ptr": stream})()
    yield 0, lambda y: kernel(y, n, 2.0)
    yield 0, lambda y: kernel(a=2.0, n=n, y=y)
    yield 0, lambda y: kernel[grid, block](y, n, 2.0)
    yield stream, lambda y: kernel[grid, block, 0, stream](y, n, 2.0)
    yield stream, lambda y: kernel[grid, block, 0, holder](y, n, 2.0)
    yield stream, lambda y: kernel.launch((grid, 1), [block], (y, n, 2.0), stream=stream)
    yield stream, lambda y: kernel.bind(grid, block, (y, n, 2.0), stream=stream)()
    yield stream, lambda y: kernel[grid, block](array(y, stream), n, 2.0)


def run_together(work):
    """Run a function in several threads that start at once, and raise what one of them raises."""
    ready, errors = threading.Barrier(THREADS), []

    def run(number):
        ready.wait()
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error


@pytest.mark.slow
def test_launches_do_not_mix(store, driver):
    """Every way to launch, shapes and types and streams without end: what is remembered is cleared meanwhile."""
    expected = []

    def work(number):
        driver.context = 7
        for n in range(number * LAUNCHES, (number + 1) * LAUNCHES):
            for address, (stream, launch) in enumerate(ways(store.get_kernel("k"), n), 0x1000):
                expected.append((stream, n % 97 + 1, n % 31 + 1, (address, n, 2.0)))
                launch(address)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        run_together(work)
    finally:
        sys.setswitchinterval(interval)
    assert sorted(driver.seen) == sorted(expected)


@pytest.mark.slow
def test_a_bound_launch_is_shared(store, driver):
    """Threads may call it at the same time."""
    go = store.get_kernel("k").bind(5, 6, (0x10, 7, 2.0), stream=4)

    def work(_):
        driver.context = 7
        for _ in range(LAUNCHES):
            go()

    run_together(work)
    assert driver.seen == [(4, 5, 6, (0x10, 7, 2.0))] * (THREADS * LAUNCHES)


@pytest.mark.slow
def test_contexts_come_and_go_while_others_launch(store, driver):
    """Each thread has contexts of its own, some of which are destroyed; none is taken for another."""
    numbers = itertools.count(100)
    kernel = store.get_kernel("k")

    def work(number):
        for step in range(20):
            driver.context = context = next(numbers)
            for n in range(5):
                kernel[number + 1, step + 1](context, n, 2.0)
                store.get_kernel("k")
            driver.gone.add(context)

    run_together(work)
    assert len(driver.seen) == THREADS * 20 * 5
    driver.context = 7
    store.get_kernel("k")
    assert len(kernel._launches.loads) <= THREADS + 1


@pytest.mark.slow
def test_tables_without_end_are_cleared_while_they_are_read(store, driver):
    """A program that keeps making streams and types loses nothing but what it remembers."""
    kernel = store.get_kernel("k")

    def work(number):
        driver.context = 7
        for n in range(LAUNCHES):
            kernel[1, 1, 0, 1000 * number + n + 2](array(0x10, None), n, 2.0)

    run_together(work)
    streams = sorted(stream for stream, *_ in driver.seen)
    assert streams == sorted(1000 * number + n + 2 for number in range(THREADS) for n in range(LAUNCHES))
