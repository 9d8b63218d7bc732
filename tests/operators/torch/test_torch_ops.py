"""``Store.torch_ops`` on a machine without a device: what it registers, and what torch traces with it."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys

import pytest
from doc_blocks import DOCS, blocks_of, files_of, write
from front_ends import EXAMPLE

import hatch_cuda_kernels
from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import InputError, LaunchError
from hatch_cuda_kernels.manifest import load_manifest

torch = pytest.importorskip("torch", reason="torch is not installed")

MANIFEST = """
schema: 1
arches: [sm_90]
modules:
  m:
    source: m.cu
    instances: ["sum<{T}, {BLOCK}>", "fill<{V}>"]
    matrix: {T: [float, double], BLOCK: [128, 256], V: [int, float]}
    launch:
      saxpy: {grid: "ceil_div(n, 256)", block: 256}
      sum: {grid: out.size, block: 256}
      fill: {grid: 1, block: y.size}
      by_value: {grid: 1, block: 1}
"""
SOURCE = """
#include <cuda_fp16.h>
struct Pair { float a, b; };
extern "C" __global__ void saxpy(float* __restrict__ y, const float* x, long long n, float a) { y[n] = x[n] * a; }
extern "C" __global__ void by_value(float* y, Pair pair) { *y = pair.a; }
extern "C" __global__ void ruleless(float* y) { *y = 1; }
template <class T, int BLOCK> __global__ void sum(const T* in, T* out, unsigned n, bool flag) { *out = *in + BLOCK; }
template <class V> __global__ void fill(V* y, __half value) { *y = (float)value; }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, isolation):
    """Return a store with rules."""
    root = tmp_path_factory.mktemp("operators")
    (root / "m.cu").write_text(SOURCE)
    (root / "kernels.yaml").write_text(MANIFEST)
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    return root / "out"


def test_every_kernel_with_a_rule_is_an_operator(folder, namespace):
    """Those of a template by their arguments, and by its name where dtypes tell them apart."""
    operators = open_store(folder).torch_ops(namespace)
    schemas = {name: str(operator._schema).partition("::")[2] for name, operator in operators.items()}
    sums = "(Tensor in_, Tensor(a!) out, SymInt n, bool flag) -> ()"
    assert schemas == {
        "fill": "fill(Tensor(a!) y, float value) -> ()",
        "fill_float": "fill_float(Tensor(a!) y, float value) -> ()",
        "fill_int": "fill_int(Tensor(a!) y, float value) -> ()",
        "saxpy": "saxpy(Tensor(a!) y, Tensor x, SymInt n, float a) -> ()",
        **{f"sum_{t}_{n}": f"sum_{t}_{n}{sums}" for t in ("double", "float") for n in (128, 256)},
    }
    assert operators.left_out == {"by_value": "torch has no type for Pair pair, which is passed by value"}
    assert getattr(torch.ops, namespace).saxpy.default is operators["saxpy"]


def test_torch_traces_on_a_machine_without_a_device(folder, namespace):
    """Fake tensors of a device are all it takes."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    operators = open_store(folder).torch_ops(namespace, functional={"saxpy": {"y": "x"}, "fill": {"y": "y"}})
    with FakeTensorMode():
        x = torch.empty(4, 3, device="cuda")
        assert operators["saxpy"](x, x, 12, 1.0) is None
        made = operators["saxpy_functional"](x, 12, 1.0)
        assert (made.shape, made.dtype, made.device.type) == ((4, 3), torch.float32, "cuda")
        assert operators["fill_functional"](x.int(), 1.0).dtype == torch.int32


def test_sizes_are_checked_while_torch_traces(folder, namespace):
    """A launch that cannot be is found there if the sizes are known; what is symbolic may be any size."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    fill = open_store(folder).torch_ops(namespace)["fill"]
    with FakeTensorMode():
        fill(torch.empty(1024, device="cuda"), 1.0)
        with pytest.raises(LaunchError, match="fill<float>: block"):
            fill(torch.empty(64, 0, device="cuda"), 1.0)

    class Model(torch.nn.Module):
        def forward(self, y):
            fill(y, 1.0)
            return y + 0

    with FakeTensorMode():
        rows = torch.export.Dim("rows", min=2, max=4)
        torch.export.export(Model(), (torch.empty(3, 8, device="cuda"),), dynamic_shapes=({0: rows},), strict=False)


def test_two_objects_of_a_store_are_one(folder, namespace):
    """Also after a pickle; another store needs another namespace."""
    store = open_store(folder)
    first = store.torch_ops(namespace)
    assert pickle.loads(pickle.dumps(store)).torch_ops(namespace)["saxpy"] is first["saxpy"]
    copy = folder.parent / "copy"
    copy.symlink_to(folder)
    with pytest.raises(InputError, match="belongs to another store"):
        open_store(copy).torch_ops(namespace)


def test_no_store_imports_torch_by_itself(folder):
    """Only this call does."""
    script = (
        "import sys; from hatch_cuda_kernels import open_store\n"
        f"store = open_store({str(folder)!r}); store.kernels; assert 'torch' not in sys.modules\n"
        "operators = store.torch_ops('mine'); print(len(operators), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["8", "True"]


@pytest.fixture
def example_operators(whole_example_store, monkeypatch):
    """Return the module of the example project that registers its kernels."""
    store = open_store(whole_example_store)
    monkeypatch.setattr(hatch_cuda_kernels, "open_store", lambda _: store)
    monkeypatch.syspath_prepend(EXAMPLE)
    yield importlib.import_module("example_project.operators")
    for name in [name for name in sys.modules if name.partition(".")[0] == "example_project"]:
        del sys.modules[name]


def test_the_example_project_offers_all_its_kernels(example_operators):
    """Operators are typed by what the kernels take, and allocate what they return."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    assert example_operators.OPERATORS.left_out == {}
    assert {"saxpy", "sort_tiles", "softmax_32", "block_sum_float_128", "filter2d_1_32_8"} <= {
        *example_operators.OPERATORS
    }
    with FakeTensorMode():
        x = torch.empty(7, 1000, dtype=torch.float16, device="cuda")
        y = example_operators.softmax(x)
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        assert example_operators.block_sums(torch.empty(5000, device="cuda")).shape == (20,)
        keys = torch.empty(3000, dtype=torch.int32, device="cuda")
        assert example_operators.sort_tiles(keys).dtype == torch.int32


def test_the_examples_gradient_is_that_of_softmax(example_operators):
    """As torch has it."""
    x, grad = torch.randn(4, 9, requires_grad=True), torch.randn(4, 9)
    y = torch.softmax(x, -1)
    y.backward(grad)
    found = example_operators._softmax_gradient(grad, y.detach())["x"]
    assert torch.allclose(found, x.grad, atol=1e-6)


def test_the_how_to_shows_what_is_registered(tmp_path, namespace):
    """The schemas of its kernels, with its options."""
    found = blocks_of(DOCS / "howto" / "torch-operators.md")
    for name, text in files_of(found).items():
        write(tmp_path / name, text)
    build_store(load_manifest(tmp_path / "kernels.yaml"), tmp_path / "out")
    options = {"functional": {"scale": {"y": "x"}}, "backward": {"scale": "scale_backward"}}
    operators = open_store(tmp_path / "out").torch_ops(namespace, **options)
    assert repr(operators).replace(namespace, "mylib") in {block.text.strip() for block in found}
