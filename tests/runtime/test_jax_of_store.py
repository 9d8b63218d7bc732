"""``Store.jax_call`` without a GPU: from a store to a traced call, and to a launch on an imitated driver."""

from __future__ import annotations

import json
import shutil

import pytest
from call_frames import Frame

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import DriverError, InputError, KernelNotFoundError, LaunchError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.operators.jax.handler import Constants
from hatch_cuda_kernels.runtime.launch.shapes import Shape

MANIFEST = """
schema: 1
arches: [sm_90]
modules:
  m:
    source: m.cu
    instances: ["sum<{T}, {BLOCK}>"]
    matrix: {T: [float], BLOCK: [128, 256]}
    launch:
      saxpy: {grid: "ceil_div(n, 256)", block: 256, shared_mem: "4 * x.shape[0]"}
      "sum<{T}, {BLOCK}>": {grid: "ceil_div(x.size, {BLOCK})", block: "{BLOCK}", cluster: 2}
"""
SOURCE = """
extern "C" __global__ void saxpy(float* y, const float* x, long long n, float a) { y[n] += x[n] * a; }
struct Pair { int a; double b; };
extern "C" __global__ void bare(int* lambda, Pair p) { *lambda = p.a; }
template <class T, int BLOCK> __global__ void sum(const T* x, T* out) { *out = *x + BLOCK; }
"""
N = 1000


@pytest.fixture(scope="session")
def jax():
    """Return JAX, or skip the test."""
    return pytest.importorskip("jax", reason="needs jax: pip install jax")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, isolation):
    """Return a store with rules."""
    root = tmp_path_factory.mktemp("jax")
    (root / "m.cu").write_text(SOURCE)
    (root / "kernels.yaml").write_text(MANIFEST)
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    return root / "out"


@pytest.fixture
def store(jax, folder):
    """Return the store."""
    return open_store(folder)


def arrays(jax, *dtypes):
    """Return arrays of N elements, as far as tracing needs them."""
    return [jax.ShapeDtypeStruct((N,), dtype) for dtype in dtypes]


def launch_of(jax, function, *args):
    """Return what a function launches, as it is lowered for a GPU on a machine without one."""
    lowered = jax.jit(function).trace(*args).lower(lowering_platforms=("cuda",)).as_text()
    text = lowered.partition('launch = "')[2].partition('"}')[0].replace("\\22", '"')
    return Constants.from_text(text.encode())


def test_the_manifests_rule(jax, store):
    """Grid, block and shared memory are those of the rule for the arguments."""
    call = store.jax_call("saxpy", aliases={"y": "y"})
    launch = launch_of(jax, lambda y, x: call(y, x, N, 2.0), *arrays(jax, "float32", "float32"))
    assert launch.shape == Shape((4, 1, 1), (256, 1, 1), 4000)
    assert launch.arguments == bytes(16) + N.to_bytes(8, "little") + b"\0\0\0@"


def test_a_rule_for_instances(jax, store):
    """Placeholders are the instance's template arguments, and attributes of the launch count."""
    call = store.jax_call("sum<float, 128>", out={"out": jax.ShapeDtypeStruct((), "float32")})
    launch = launch_of(jax, call, *arrays(jax, "float32"))
    assert launch.shape == Shape((8, 1, 1), (128, 1, 1), 0, cluster=(2, 1, 1))


def test_a_stated_shape(jax, store):
    """What the caller states comes before the rule; any part of it may depend on the arguments."""
    call = store.jax_call("saxpy", out={"y": "x"}, grid=lambda args: (args["n"], 2), block=(8, 8), cooperative=True)
    launch = launch_of(jax, lambda x: call(x, 7, 2.0), *arrays(jax, "float32"))
    assert launch.shape == Shape((7, 2, 1), (8, 8, 1), 0, cooperative=True)


def test_structs_and_names_that_python_has_taken(jax, store):
    """A struct is passed as its bytes; a parameter with a name of Python's is called by another."""
    call = store.jax_call("bare", out={"lambda_": jax.ShapeDtypeStruct((1,), "int32")}, grid=1, block=1)
    assert launch_of(jax, lambda: call(p=b"0123456789abcdef")).arguments == bytes(8) + b"0123456789abcdef"


def test_no_grid(store):
    """Without a rule, grid and block must be stated."""
    with pytest.raises(InputError, match="bare has no grid: pass grid= and block=, or state a rule"):
        store.jax_call("bare", out={"lambda_": "x"})
    with pytest.raises(KernelNotFoundError, match="did you mean 'saxpy'"):
        store.jax_call("sapxy")


def test_a_rule_that_cannot_be_computed(jax, store):
    """It is an error of the launch that names the rule."""
    call = store.jax_call("saxpy", out={"y": "x"})
    with pytest.raises(LaunchError, match=r"saxpy: its launch \(grid ceil_div\(n, 256\).* cannot be computed"):
        jax.eval_shape(lambda x: call(x, N, 1.0), jax.ShapeDtypeStruct((), "float32"))


def test_a_foreign_store_runs_no_code(jax, folder, tmp_path):
    """A rule that no build writes is refused before anything is computed."""
    shutil.copytree(folder, tmp_path / "foreign")
    index = tmp_path / "foreign" / "m" / "index.json"
    data = json.loads(index.read_text())
    data["launch"][0]["grid"] = ["__import__('os').getpid()"]
    index.write_text(json.dumps(data))
    with pytest.raises(LaunchError, match="saxpy has an unusable launch rule"):
        open_store(tmp_path / "foreign").jax_call("saxpy", aliases={"y": "y"})


def test_an_older_store(jax, folder, tmp_path):
    """A store that does not record the C++ types says what to do."""
    shutil.copytree(folder, tmp_path / "old")
    lines = (tmp_path / "old" / "kernels.tsv").read_text().splitlines()
    (tmp_path / "old" / "kernels.tsv").write_text("".join("\t".join(line.split("\t")[:5]) + "\n" for line in lines))
    with pytest.raises(InputError, match=r"does not record the C.. types of saxpy, .*; build it with this version"):
        open_store(tmp_path / "old").jax_call("saxpy", aliases={"y": "y"})


def test_calls_have_the_same_name_in_each_store_object(jax, store, folder):
    """So that programs kept on disk find their kernel, and a second declaration makes no second handler."""
    first, second = (
        opened.jax_call("saxpy", aliases={"y": "y"}, grid=1, block=1) for opened in (store, open_store(folder))
    )
    assert first.target_name == second.target_name
    assert store.jax_call("saxpy", out={"y": "x"}).target_name != first.target_name
    assert open_store(folder, policy="exact").jax_call("saxpy", out={"y": "x"}).target_name != first.target_name


class TestOnADriver:
    """A launch with a driver that is imitated."""

    @pytest.fixture
    def target(self, store, driver):
        """Return saxpy on the devices."""
        from hatch_cuda_kernels.operators.jax.call import CudaTarget

        return CudaTarget(lambda: store.get_kernel("saxpy"))

    def test_a_shape_on_a_stream(self, target, driver):
        """The configuration has both, and the kernel's handle is for all contexts."""
        from fake_driver import LaunchConfig

        driver.context = 7
        entered = target.enter(Shape((4, 1, 1), (256, 1, 1), 64 << 10), 0x50)
        config = LaunchConfig.from_address(entered.config)
        assert (config.grid[0], config.block[0], config.hStream, config.sharedMemBytes) == (4, 256, 0x50, 64 << 10)
        assert driver.name_of(entered.kernel) == b"saxpy"
        assert ("MAX_DYNAMIC_SHARED_SIZE_BYTES", entered.kernel, 0) in driver.kernel_attributes

    def test_a_refused_launch_is_explained(self, target, driver):
        """By the value that is beyond a limit."""
        driver.context = 7
        with pytest.raises(DriverError, match=r"launching saxpy failed with CUDA_ERROR_INVALID_VALUE.*a block of 2048"):
            target.refuse(1, Shape((1, 1, 1), (2048, 1, 1), 0), None)

    def test_the_kernel_is_loaded_on_every_device_of_jax(self, target, driver, monkeypatch):
        """Each has a context of its own."""
        driver.devices = 2
        monkeypatch.setattr("hatch_cuda_kernels.operators.jax.call._ordinals", lambda: [0, 1])
        target.prepare()
        stats = target._get_kernel()._launches.loads.values()
        assert [loaded.ordinal for loaded, _ in stats] == [0, 1]

    def test_a_whole_call(self, target, driver, monkeypatch):
        """From a call frame to what the driver gets, on XLA's stream and in its context."""
        from fake_driver import LaunchConfig

        from hatch_cuda_kernels.operators.jax import handler as abi
        from hatch_cuda_kernels.operators.jax.handler import Handler, Passing, Source

        launched = []

        def launch(config, kernel, arguments, extra):
            launched.append((LaunchConfig.from_address(config).hStream, driver.name_of(kernel), extra))
            return 0

        def get_stream(address):
            abi.StreamGetArgs.from_address(address).stream = 0x50

        monkeypatch.setattr("hatch_cuda_kernels.operators.jax.call.launch_by_address", lambda: launch)
        monkeypatch.setattr("hatch_cuda_kernels.operators.jax.call.stream_getter", lambda _: get_stream)
        driver.context = 17  # of device 1
        sources = Source("r", 0), Source("a", 0), Source("c", 16), Source("c", 24)
        handler = Handler(Passing(2, 1, sources), target)
        text = Constants(Shape((4, 1, 1), (256, 1, 1), 0), bytes(28)).to_text()
        for _ in range(2):
            assert handler.handle(Frame(text, (1, 2), (3,)).address) is None
        assert launched == 2 * [(0x50, b"saxpy", 0)]
        assert json.loads(text)["grid"] == [4, 1, 1]
