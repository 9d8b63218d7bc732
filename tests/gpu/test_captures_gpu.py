"""The first call of a kernel while a stream is captured, by torch, CuPy, cuda.core and the driver itself.

Each round opens another store, so that the kernel is loaded within the capture, and what the round before loaded is
unloaded there.
"""

from __future__ import annotations

import gc
import shutil
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.driver import call, cuda

ROUNDS = 100
N = 1000


@pytest.fixture
def torch():
    """Return torch with a context and the memory of its captures."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.cuda.init()
    return torch


@pytest.fixture
def torch_captures(torch):
    """Return the function that captures work with torch's stream, and replays it."""

    def captured(work):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        graph.replay()
        torch.cuda.synchronize()

    return captured


@pytest.fixture
def driver_captures(stream):
    """Return a function that captures work on a stream of the driver in a mode, and replays it."""

    def captured(work, mode="GLOBAL"):
        with capture(stream, mode) as graph:
            work(stream)
        run = call("cuGraphInstantiate", graph[0], 0)
        call("cuGraphLaunch", run, stream)
        call("cuStreamSynchronize", stream)
        call("cuGraphExecDestroy", run)
        call("cuGraphDestroy", graph[0])

    return captured


@contextmanager
def capture(stream, mode):
    """Capture what the body puts on a stream; the graph is in the list that it gets."""
    graph = []
    mode = getattr(cuda().CUstreamCaptureMode, f"CU_STREAM_CAPTURE_MODE_{mode}")
    call("cuStreamBeginCapture", stream, mode)
    try:
        yield graph
    finally:
        graph.append(call("cuStreamEndCapture", stream))


def rounds(store, captured, make, launch, read):
    """Capture and replay the first launch of kernels of new stores; return how often the result was right."""
    right = 0
    for number in range(ROUNDS):
        x, y = make(np.ones(N)), make(np.zeros(N))
        fresh = open_store(store.path)
        captured(lambda *stream, fresh=fresh, x=x, y=y, number=number: launch(fresh, x, y, float(number), *stream))
        right += bool((read(y) == number).all())
        del fresh
        gc.collect()
    print(f"{right} of {ROUNDS} first calls inside a capture")  # noqa: T201 - a fact to record
    return right


def by_framework(store, x, y, a):
    """Launch on the framework's current stream."""
    store.get_kernel("saxpy")[4, 256](y, x, N, a)


def test_torch(build, native, torch, torch_captures):
    """In torch's own mode, which is the strictest: no thread may do what the driver calls unsafe."""

    def make(values):
        return torch.tensor(values, dtype=torch.float32, device="cuda")

    assert rounds(build(native), torch_captures, make, by_framework, lambda y: y.cpu().numpy()) == ROUNDS


def test_cupy(build, native):
    """By CuPy's streams."""
    cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    side = cupy.cuda.Stream(non_blocking=True)

    def captured(work):
        cupy.cuda.Device().synchronize()
        with side:
            side.begin_capture()
            work()
            graph = side.end_capture()
        graph.launch(side)
        side.synchronize()

    def make(values):
        return cupy.asarray(values, dtype=cupy.float32)

    assert rounds(build(native), captured, make, by_framework, lambda y: y.get()) == ROUNDS


def test_cuda_core(build, native, on_device):
    """By cuda.core's graph builder."""
    core = pytest.importorskip("cuda.core", reason="cuda.core is not installed")
    device = core.Device()
    device.set_current()
    stream = device.create_stream()

    def captured(work):
        device.sync()
        builder = stream.create_graph_builder()
        builder.begin_building(mode="global")
        work(builder.stream)
        graph = builder.end_building().complete()
        graph.launch(stream)
        stream.sync()

    def launch(store, x, y, a, stream):
        store.get_kernel("saxpy").launch(4, 256, (y, x, N, a), stream=stream)

    def make(values):
        return on_device(np.asarray(values, np.float32))

    assert rounds(build(native), captured, make, launch, lambda y: y.numpy()) == ROUNDS


@pytest.mark.parametrize("mode", ["GLOBAL", "THREAD_LOCAL", "RELAXED"])
def test_every_mode_of_the_driver(build, native, on_device, driver_captures, mode):
    """Whatever a capture forbids other threads."""

    def launch(store, x, y, a, stream):
        store.get_kernel("saxpy").launch(4, 256, (y, x, N, a), stream=stream)

    def make(values):
        return on_device(np.asarray(values, np.float32))

    captured = lambda work: driver_captures(work, mode)  # noqa: E731 - the mode alone
    assert rounds(build(native), captured, make, launch, lambda y: y.numpy()) == ROUNDS


@pytest.mark.parametrize("arches", ["foreign", "ptx"])
def test_a_compile_within_a_capture(build, foreign, torch, torch_captures, fresh_cache, arches):
    """NVRTC's, or the driver's of PTX: it is done before the launch is recorded; then from the cache."""
    store = build(foreign if arches == "foreign" else "compute_80")
    expected = ["jitted", "cached"] if arches == "foreign" else ["prebuilt", "prebuilt"]
    origins = []
    for number in (1.0, 2.0):
        fresh = open_store(store.path)
        x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
        torch_captures(lambda fresh=fresh, x=x, y=y, number=number: by_framework(fresh, x, y, number))
        assert torch.equal(y, number * x)
        origins.append(fresh.get_kernel("saxpy").image.origin)
    assert origins == expected


def test_a_variable_within_a_capture(build, native, torch, torch_captures):
    """Its address is looked up, which loads its image."""
    store = build(native)
    seen = []
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    torch_captures(lambda: (seen.append(store.get_global("d_bias").address), by_framework(store, x, y, 1.0)))
    assert seen[0]
    assert torch.equal(x, y)


def test_other_threads_load_while_a_stream_is_captured(build, native, on_device, driver_captures):
    """A capture in the global mode forbids all threads what loading does, and theirs ends no capture."""
    store = build(native)
    errors = []

    def load():
        try:
            open_store(store.path).get_kernel("fill<float, 8>")
        except Exception as error:  # noqa: BLE001 - of another thread
            errors.append(error)

    def work(stream):
        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        store.get_kernel("saxpy").launch(4, 256, (y, x, N, 5.0), stream=stream)

    x, y = on_device(np.ones(N, np.float32)), on_device(np.zeros(N, np.float32))
    driver_captures(work)
    assert errors == []
    assert (y.numpy() == 5).all()


def test_much_shared_memory_within_a_capture(build, native, on_device, driver_captures):
    """It is opted in to there."""
    store = build(native)
    x, y = on_device(np.ones(N, np.float32)), on_device(np.zeros(N, np.float32))
    driver_captures(
        lambda stream: store.get_kernel("saxpy").launch(4, 256, (y, x, N, 5.0), shared_mem=64 << 10, stream=stream)
    )
    assert (y.numpy() == 5).all()


def test_operators_of_torch(build, native, torch, torch_captures, tmp_path):
    """Each of a store of its own: an operator keeps its kernel."""
    store = build(native)
    right = 0
    for number in range(ROUNDS):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(store.path, copy)
        saxpy = open_store(copy).torch_ops(f"captured_{number}")["saxpy"]
        x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
        torch_captures(lambda saxpy=saxpy, x=x, y=y, number=number: saxpy(y, x, N, float(number)))
        right += bool((y == number).all())
    print(f"{right} of {ROUNDS} first calls of operators inside a capture")  # noqa: T201 - a fact to record
    assert right == ROUNDS
