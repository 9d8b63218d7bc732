"""The accelerator with a real driver and real tensors: results, streams, and that usual launches do take it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hatch_cuda_kernels.errors import ArgumentError, DriverError
from hatch_cuda_kernels.runtime.launch.accelerator import find_accelerator
from hatch_cuda_kernels.runtime.launch.kernel import Launch

N = 1000


@pytest.fixture(autouse=True)
def careful(monkeypatch):
    """Return the arguments of the launches that were left to Python. Skips where Python does all."""
    pytest.importorskip("hatch_cuda_kernels_accelerator")
    if find_accelerator() is None:
        pytest.skip("the accelerator does not fit, or is off")
    found, original = [], Launch.elsewhere

    def elsewhere(self, args):
        found.append(args)
        original(self, args)

    monkeypatch.setattr(Launch, "elsewhere", elsewhere)
    return found


@pytest.fixture
def torch():
    """Return torch."""
    return pytest.importorskip("torch")


@pytest.fixture
def saxpy(build, native, careful, on_device):
    """Return a kernel that was launched once, so that later launches are usual ones."""
    kernel = build(native).get_kernel("saxpy")
    kernel[1, 32](on_device(np.zeros(4, np.float32)), None, 0, 1.0)
    careful.clear()
    return kernel


def tensors(torch):
    """Return y and x."""
    return torch.full((N,), 2.0, device="cuda"), torch.linspace(0, 1, N, device="cuda")


WAYS = {
    "brackets": lambda kernel, *args: kernel[4, 256](*args),
    "a grid not seen before": lambda kernel, *args: kernel[4, 128](*args),
    "launch": lambda kernel, *args: kernel.launch((4,), (256,), args),
    "no brackets": lambda kernel, *args: kernel(*args),
    "bound": lambda kernel, *args: kernel.bind(4, 256, args)(),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_tensors_are_launched_without_python(saxpy, careful, torch, way):
    """Every way to launch, on torch's current stream, whichever that is."""
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            y, x = tensors(torch)
            torch.cuda._sleep(20_000_000)
            x += 1
            way(saxpy, y, x, N, 3.0)
            torch.testing.assert_close(y, 3 * x + 2)
    assert careful == []


def test_a_stated_stream(saxpy, careful, torch):
    """It is taken instead of the current one."""
    y, x = tensors(torch)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    saxpy[4, 256, 0, side](y, x, N, 3.0)
    side.synchronize()
    torch.testing.assert_close(y, 3 * x + 2)
    assert careful == []


def test_views_parameters_and_empty_tensors(saxpy, careful, torch):
    """The address is that of the first element; without elements, it is a null pointer."""
    y, x = tensors(torch)
    parameter = torch.nn.Parameter(x.clone())
    saxpy[4, 256](y[100:], parameter, N - 100, 3.0)
    expected = torch.cat([torch.full((100,), 2.0, device="cuda"), 3 * x[: N - 100] + 2])
    torch.testing.assert_close(y, expected)
    saxpy[4, 256](torch.empty(0, device="cuda"), x, 0, 3.0)
    assert careful == []


def test_other_numbers_and_arrays_are_read_by_python(saxpy, careful, torch, on_device, pinned):
    """Numpy's scalars, arrays of other libraries, and pinned memory beside tensors."""
    y, x = tensors(torch)
    saxpy[4, 256](y, x, np.int32(N), np.float32(3))
    torch.testing.assert_close(y, 3 * x + 2)
    saxpy[4, 256](y, pinned(np.ones(N, np.float32)), N, 1.0)
    torch.testing.assert_close(y, 3 * x + 3)
    out = on_device(np.full(N, 2, np.float32))
    saxpy[4, 256](out, x, N, 3.0)
    np.testing.assert_allclose(out.numpy(), 3 * x.cpu().numpy() + 2, rtol=1e-6)
    assert careful == []


def test_cupy_arrays_beside_tensors(saxpy, torch):
    """They are read by Python, and both libraries' streams count."""
    cupy = pytest.importorskip("cupy")
    y, _ = tensors(torch)
    with cupy.cuda.Stream(non_blocking=True):
        ones = cupy.ones(N, "f4")
        saxpy[4, 256](y, ones, N, 3.0)
    torch.testing.assert_close(y, torch.full((N,), 5.0, device="cuda"))


REFUSED = {
    "cpu": (lambda torch: torch.ones(N), "the tensor is on cpu"),
    "double": (lambda torch: torch.ones(N, device="cuda", dtype=torch.float64), r"is const float\*, got torch.float64"),
    "zeros": (lambda torch: torch._efficientzerotensor(N, device="cuda"), "a tensor of zeros that has no memory"),
    "meta": (lambda torch: torch.ones(N, device="meta"), "a meta tensor has no memory"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_launched_is_refused_by_python(saxpy, torch, kind):
    """With the same words as ever, and the next launch works."""
    make, message = REFUSED[kind]
    y, x = tensors(torch)
    for _ in range(2):
        with pytest.raises(ArgumentError, match=message):
            saxpy[4, 256](y, make(torch), N, 3.0)
    saxpy[4, 256](y, x, N, 3.0)
    torch.testing.assert_close(y, 3 * x + 2)


def test_memory_that_was_given_back_is_refused(saxpy, torch):
    """As sharded training does between uses."""
    y, x = tensors(torch)
    x.untyped_storage().resize_(0)
    with pytest.raises(ArgumentError, match="its memory was freed"):
        saxpy[4, 256](y, x, N, 3.0)


def test_inside_a_transform_the_way_out_is_named(saxpy, torch):
    """The wrappers of torch.func are of the very class of tensors, without memory."""
    y, x = tensors(torch)
    with pytest.raises(ArgumentError, match="inside vmap, grad and other transforms"):
        torch.vmap(lambda row: saxpy[4, 256](y, row, N, 3.0))(x[None])


@pytest.mark.parametrize("stream", [-1, 2**64])
def test_a_stream_that_is_none_is_refused(saxpy, torch, stream):
    """Nothing is launched, on the default stream least of all."""
    y, x = tensors(torch)
    for _ in range(2):
        with pytest.raises(TypeError, match="not a CUDA stream"):
            saxpy[4, 256, 0, stream](y, x, N, 3.0)
    assert (y == 2).all()


def test_a_launch_that_the_driver_refuses_says_why(saxpy, torch):
    """The error is Python's."""
    y, x = tensors(torch)
    with pytest.raises(DriverError, match="a block of 2048 threads: "):
        saxpy[4, 2048](y, x, N, 3.0)


def test_a_launch_is_captured(saxpy, careful, torch):
    """In torch's graphs, by brackets and bound."""
    y, x = tensors(torch)
    bound = saxpy.bind(4, 256, (y, x, N, 3.0))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        saxpy[4, 256](y, x, N, 3.0)
        bound()
    y.fill_(2)
    graph.replay()
    torch.testing.assert_close(y, 6 * x + 2)
    assert careful == []


def test_the_other_device(saxpy, torch):
    """The first launch there is Python's, and the current device stays the current one."""
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two devices")
    for _ in range(3):
        for device in ("cuda:0", "cuda:1"):
            x = torch.linspace(0, 1, N, device=device)
            y = torch.full((N,), 2.0, device=device)
            saxpy[4, 256](y, x, N, 3.0)
            torch.testing.assert_close(y, 3 * x + 2)
    assert torch.cuda.current_device() == 0


def test_launches_leave_nothing_behind(saxpy, torch):
    """No reference to a tensor stays."""
    y, x = tensors(torch)
    launch = saxpy[4, 256]
    before = sys.getrefcount(x), sys.getrefcount(y)
    for _ in range(100_000):
        launch(y, x, N, 0.0)
    torch.cuda.synchronize()
    assert (sys.getrefcount(x), sys.getrefcount(y)) == before
