"""Kernels as operators of torch on a device: what torch checks, compiles, exports and differentiates."""

from __future__ import annotations

import importlib

import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import ArgumentError
from hatch_cuda_kernels.manifest import load_manifest

SOURCE = """
extern "C" __global__ void saxpy(float* y, const float* x, long long n, float a) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
template <class T> __global__ void cube(T* y, const T* x, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] * x[i];
}
template <class T> __global__ void cube_backward(T* grad_x, const T* grad_y, const T* x, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) grad_x[i] = 3 * x[i] * x[i] * grad_y[i];
}
"""
MANIFEST = """
schema: 1
arches: [{arch}]
modules:
  m:
    source: m.cu
    instances: ["cube<{{T}}>", "cube_backward<{{T}}>"]
    matrix: {{T: [float, double]}}
    launch:
      saxpy: {{grid: "ceil_div(n, 256)", block: 256}}
      cube: {{grid: "ceil_div(n, 256)", block: 256}}
      cube_backward: {{grid: "ceil_div(n, 256)", block: 256}}
"""
OPTIONS = {"functional": {"cube": {"y": "x"}, "saxpy": {"y": "y"}}, "backward": {"cube": "cube_backward"}}
pytestmark = [
    pytest.mark.filterwarnings("default"),  # torch, its compiler and what that imports warn of themselves
]


@pytest.fixture(scope="module")
def torch(device):
    """Return torch with a device."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("this torch sees no device")
    return torch


@pytest.fixture(scope="module")
def folder(tmp_path_factory, native):
    """Return a store for this device."""
    root = tmp_path_factory.mktemp("operators")
    (root / "m.cu").write_text(SOURCE)
    (root / "kernels.yaml").write_text(MANIFEST.format(arch=native))
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    return root / "out"


@pytest.fixture(scope="module")
def ops(torch, folder):
    """Return ``torch.ops`` with the kernels."""
    operators = open_store(folder).torch_ops("hatch_gpu", **OPTIONS)
    print(operators)  # noqa: T201 - a fact to record
    return torch.ops.hatch_gpu


@pytest.fixture
def example(torch):
    """Return the example project's operators."""
    pytest.importorskip("example_project", reason="the example project's wheel is not installed")
    return importlib.import_module("example_project.operators").OPERATORS


def samples(torch, name):
    """Return arguments for an operator of the example project."""

    def like(*shape, dtype=torch.float32):
        return torch.randn(*shape, device="cuda").mul(3).to(dtype)

    half, n = torch.float16, 3000
    if name.startswith("saxpy"):
        return 2.0, like(n), like(n), n
    if name.startswith("softmax"):
        return like(7, 100, dtype=half), *([] if "functional" in name else [like(7, 100, dtype=half)]), 7, 100
    if name.startswith("filter2d"):
        return like(20, 30), like(20, 30), 20, 30
    if name.startswith("block_sum"):
        dtype = torch.float64 if "double" in name else torch.float32
        return like(n, dtype=dtype), *([] if "functional" in name else [like(12, dtype=dtype)]), n
    dtype = torch.int32 if "_int_" in name and "unsigned" not in name else torch.float32
    dtype = torch.uint32 if "unsigned" in name else dtype
    return like(n).abs().to(dtype), *([] if "functional" in name else [like(n).abs().to(dtype)]), n


def test_torch_finds_nothing_wrong_with_the_example_project(torch, example):
    """``torch.library.opcheck`` over every kernel, in place and out of place."""
    failed = {}
    for name, operator in example.items():
        try:
            torch.library.opcheck(operator, samples(torch, name))
        except Exception as error:  # noqa: BLE001 - all of them are told together
            failed[name] = f"{type(error).__name__}: {str(error)[:500]}"
    print(f"opcheck: {len(example) - len(failed)} of {len(example)} operators pass")  # noqa: T201 - a fact to record
    assert failed == {}


def test_the_example_projects_softmax_and_its_gradient(torch, example):
    """As torch computes them."""
    from example_project.operators import softmax

    for columns in (100, 1000):
        x = torch.randn(64, columns, device="cuda", dtype=torch.float16, requires_grad=True)
        weights = torch.randn_like(x)
        (found,) = torch.autograd.grad((softmax(x) * weights).sum(), x)
        (expected,) = torch.autograd.grad((torch.softmax(x.float(), -1) * weights).sum(), x)
        assert torch.allclose(found, expected, atol=2e-3)


def test_torch_finds_nothing_wrong(torch, ops):
    """With gradients, views and empty tensors."""
    x = torch.randn(300, device="cuda", requires_grad=True)
    for given in (x, x.detach(), x.detach().double(), x.detach()[:0]):
        torch.library.opcheck(ops.cube_functional, (given, given.numel()))
    y = torch.randn(300, device="cuda")
    torch.library.opcheck(ops.saxpy, (y, x.detach(), 300, 2.0))
    torch.library.opcheck(ops.saxpy, (y[100:200], x.detach()[:100], 100, 2.0))
    torch.library.opcheck(ops.saxpy_functional, (y, x.detach(), 300, 2.0))


def test_a_gradient_is_right(torch, ops):
    """In double precision, against finite differences, in any layout of the gradient."""
    x = torch.randn(4, 5, device="cuda", dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: ops.cube_functional(x, x.numel()), (x,))
    assert torch.autograd.gradcheck(lambda x: ops.cube_functional(x, x.numel()).t() * 2, (x,))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_nothing_breaks_a_compiled_graph(torch, ops, mode, dynamic):
    """In place and out of place, forward and backward; with CUDA graphs, which capture the launches."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()

    def work(x, y):
        cubed = ops.cube_functional(x * 1.5, x.numel())
        total = y + 1
        ops.saxpy(total, cubed.detach(), total.numel(), 2.0)
        return (cubed * total).sum(), total

    compiled = torch.compile(work, fullgraph=True, mode=mode, dynamic=dynamic)
    for n in (1000, 1000, 1000, 700, 700):
        x = torch.randn(n, device="cuda", requires_grad=True)
        y = torch.randn(n, device="cuda")
        value, total = compiled(x, y)
        value.backward()
        again = x.detach().clone().requires_grad_()
        expected, expected_total = work(again, y)
        expected.backward()
        torch.testing.assert_close(value, expected, rtol=1e-4, atol=1e-2)
        torch.testing.assert_close(total, expected_total)
        torch.testing.assert_close(x.grad, again.grad, rtol=1e-4, atol=1e-3)
    breaks = dict(torch._dynamo.utils.counters["graph_break"])
    skipped = torch._dynamo.utils.counters["inductor"].get("cudagraph_skips", 0)
    print(f"mode {mode}, dynamic {dynamic}: graph breaks {breaks}, skipped CUDA graphs {skipped}")  # noqa: T201
    assert breaks == {}
    assert skipped == 0 or dynamic


def test_a_compiled_graph_is_as_right_in_place(torch, ops):
    """What is written to is an input of the compiled function."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda y, x: ops.saxpy(y, x * 2, y.numel(), 3.0), fullgraph=True)
    y, x = torch.ones(500, device="cuda"), torch.ones(500, device="cuda")
    compiled(y, x)
    assert torch.equal(y, torch.full_like(y, 7))


def test_an_operator_is_exported(torch, ops):
    """The program runs with other sizes. Packages that are compiled ahead have tests of their own."""

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.ops.hatch_gpu.cube_functional(x + 1, x.numel()) * 2

    batch = torch.export.Dim("batch", min=2, max=4096)
    program = torch.export.export(Model(), (torch.ones(64, device="cuda"),), dynamic_shapes=({0: batch},))
    for n in (64, 100):
        assert program.module()(torch.ones(n, device="cuda")).tolist() == [16] * n


def test_streams_and_devices(torch, ops):
    """The current stream, and the device of the tensors."""
    side = torch.cuda.Stream()
    x = torch.ones(1 << 20, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(10_000_000)
        y = torch.zeros_like(x)
        ops.saxpy(y, x, x.numel(), 2.0)
        total = y.sum()
    side.synchronize()
    assert total.item() == 2 << 20
    for ordinal in range(torch.cuda.device_count()):
        y = ops.cube_functional(torch.full((10,), 2.0, device=f"cuda:{ordinal}"), 10)
        assert (y.device.index, y.tolist()) == (ordinal, [8.0] * 10)


def test_vmap_on_a_device(torch, ops):
    """One launch for each element of the batch."""
    x = torch.randn(5, 30, device="cuda")
    for dim in (0, 1):
        found = torch.vmap(lambda x: ops.cube_functional(x, x.numel()), in_dims=dim, out_dims=dim)(x)
        torch.testing.assert_close(found, x**3)


def test_what_does_not_fit_is_refused(torch, ops):
    """Before anything is launched."""
    y, x = torch.zeros(10, device="cuda"), torch.ones(10, device="cuda")
    ops.saxpy(y, x, 10, 1.0)
    with pytest.raises(ArgumentError, match="float64"):
        ops.saxpy(y.double(), x, 10, 1.0)
    with pytest.raises(ArgumentError, match="contiguous"):
        ops.saxpy(torch.zeros(20, device="cuda")[::2], x, 10, 1.0)
    with pytest.raises(NotImplementedError, match="CPU"):
        ops.saxpy(y.cpu(), x.cpu(), 10, 1.0)
    with pytest.raises(ArgumentError, match="no kernel takes"):
        ops.cube(y, x.double(), 10)


def test_what_does_not_fit_is_found_while_torch_traces(torch, ops):
    """Before anything is launched."""
    torch._dynamo.reset()
    with pytest.raises(Exception, match=r"must be torch.float\d+ or torch.float\d+, got torch.float16"):
        torch.compile(lambda x: ops.cube_functional(x, x.numel()), fullgraph=True)(torch.ones(8, device="cuda").half())
    with pytest.raises(Exception, match=r"no kernel takes y: torch.float32, x: torch.float64 together"):
        torch.compile(lambda y, x: ops.cube(y, x, 8), fullgraph=True)(
            torch.ones(8, device="cuda"), torch.ones(8, device="cuda", dtype=torch.float64)
        )


def test_threads_share_an_operator(torch, ops):
    """Each on a stream of its own."""
    import threading

    sums = {}

    def work(number):
        with torch.cuda.stream(torch.cuda.Stream()):
            y, x = torch.zeros(1000, device="cuda"), torch.ones(1000, device="cuda")
            for _ in range(100):
                ops.saxpy(y, x, 1000, float(number))
            sums[number] = y.sum().item()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == {number: 100_000.0 * number for number in range(8)}
