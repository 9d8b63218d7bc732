"""Kernels inside functions that JAX compiles, on real devices."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import ArgumentError
from hatch_cuda_kernels.manifest import load_manifest

SOURCE = """
#include <cuda_fp16.h>
extern "C" __global__ void saxpy(float* y, const float* x, int n, float a) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void scale(float* y, const float* x, int n, __half a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i + blockIdx.y * n] = __half2float(a) * x[i + blockIdx.y * n];
}
"""
MANIFEST = """
schema: 1
arches: [{arch}]
modules:
  m:
    source: m.cu
    launch:
      saxpy: {{grid: "ceil_div(n, 256)", block: 256}}
      scale: {{grid: "ceil_div(n, 256)", block: 256}}
"""
N = 1000


@pytest.fixture(scope="session")
def jax(device):
    """Return JAX if it has a GPU here, or skip the test."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # other tests need memory, too
    jax = pytest.importorskip("jax", reason="needs jax: pip install 'jax[cuda13]'")
    if jax.default_backend() != "gpu":
        pytest.skip("jax sees no GPU here")
    return jax


@pytest.fixture(scope="module")
def folder(tmp_path_factory, native):
    """Return a store for this device."""
    root = tmp_path_factory.mktemp("jax")
    (root / "m.cu").write_text(SOURCE)
    (root / "kernels.yaml").write_text(MANIFEST.format(arch=native))
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    return root / "out"


@pytest.fixture
def store(jax, folder):
    """Return the store."""
    return open_store(folder)


@pytest.fixture
def saxpy(store):
    """Return saxpy, which updates y in place."""
    return store.jax_call("saxpy", aliases={"y": "y"})


def run_script(script, folder, **variables):
    """Run Python code in a process of its own, with the store's folder as its argument; return what it prints."""
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    environment = {**os.environ, "PYTHONPATH": paths, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", **variables}
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_inside_jit(jax, saxpy):
    """The kernel runs between other operations, in loops and branches."""

    @jax.jit
    def run(y, x):
        y = saxpy(y * 1, x + 1, N, 2.0) + 1
        y = jax.lax.fori_loop(0, 5, lambda _, y: saxpy(y, x, N, 1.0), y)
        return jax.lax.cond(y[0] > 0, lambda y: saxpy(y, x, N, 10.0), lambda y: y, y)

    y, x = jax.numpy.arange(float(N)), jax.numpy.ones(N)
    for _ in range(3):
        np.testing.assert_array_equal(run(y, x), np.arange(N) + 20)
    np.testing.assert_array_equal(y, np.arange(N))


def test_outside_jit(jax, saxpy):
    """A call by itself is an operation, too."""
    assert saxpy(jax.numpy.ones(N), jax.numpy.ones(N), n=N, a=2)[-1] == 3


def test_small_floats_as_numbers(jax, store):
    """XLA's own attributes cannot hold a half; a call's text can."""
    scale = store.jax_call("scale", out={"y": "x"})
    assert jax.jit(lambda x: scale(x, x.size, 0.5))(jax.numpy.ones(N))[0] == 0.5


@pytest.mark.parametrize("way", ["sequential", "y"])
def test_vmap(jax, store, way):
    """A batch gives the same in a loop and on an axis of the grid."""
    scale = store.jax_call("scale", out={"y": "x"}, vmap=way)
    x = jax.numpy.arange(3.0 * N).reshape(3, N)
    np.testing.assert_array_equal(jax.jit(jax.vmap(lambda x: scale(x, N, 2.0)))(x), 2 * x)


def test_donation(jax, saxpy):
    """An array that is given away is updated where it is."""
    y = jax.numpy.ones(N)
    address = y.unsafe_buffer_pointer()
    result = jax.jit(lambda y: saxpy(y, jax.numpy.ones(N), N, 1.0), donate_argnums=0)(y)
    assert (result.unsafe_buffer_pointer(), result[0].item(), y.is_deleted()) == (address, 2, True)


def test_gradients(jax, store):
    """By custom_vjp."""
    scale = store.jax_call("scale", out={"y": "x"})
    doubled = jax.custom_vjp(lambda x: scale(x, N, 2.0))
    doubled.defvjp(lambda x: (scale(x, N, 2.0), None), lambda _, g: (scale(g, N, 2.0),))
    gradient = jax.jit(jax.grad(lambda x: (doubled(x) ** 2).sum()))(jax.numpy.ones(N))
    np.testing.assert_array_equal(gradient, np.full(N, 8))


def test_arguments_are_checked_when_traced(jax, saxpy):
    """What does not fit is an error of the call."""
    with pytest.raises(ArgumentError, match=r"argument 1 \(x\) of saxpy is const float\*, got int32\[1000\]"):
        jax.jit(lambda y: saxpy(y, y.astype("int32"), N, 1.0))(jax.numpy.ones(N))


def test_a_refused_launch(jax, store):
    """What the driver refuses is an error of JAX, with the limit that explains it; the next call works."""
    bad = store.jax_call("saxpy", aliases={"y": "y"}, grid=1, block=2048)
    good = store.jax_call("saxpy", aliases={"y": "y"}, grid=1, block=1024)
    y = jax.numpy.ones(N)
    with pytest.raises(Exception, match=r"launching saxpy failed with CUDA_ERROR_INVALID_VALUE.*block of 2048 threads"):
        jax.block_until_ready(jax.jit(lambda y: bad(y, y, N, 1.0))(y))
    assert jax.jit(lambda y: good(y, y, N, 1.0))(y)[0] == 2


def test_several_threads(jax, saxpy):
    """Threads share a handler."""
    wrong = []
    runs = [jax.jit(lambda y, a=float(a): saxpy(y, jax.numpy.ones(N), N, a)) for a in range(8)]

    def work(a):
        results = [np.asarray(runs[a](jax.numpy.zeros(N))) for _ in range(200)]
        wrong.extend(a for result in results if not np.all(result == a))

    threads = [threading.Thread(target=work, args=(a,)) for a in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_beside_another_framework(jax, store, saxpy, on_device):
    """The same kernel is launched by itself in the same process, in the same context."""
    y, x = on_device(np.ones(N, np.float32)), on_device(np.ones(N, np.float32))
    assert jax.jit(lambda y: saxpy(y, y, N, 1.0))(jax.numpy.ones(N))[0] == 2
    store.get_kernel("saxpy")(y, x, N, 3.0)
    assert jax.jit(lambda y: saxpy(y, y, N, 1.0))(jax.numpy.ones(N))[0] == 2
    assert y.numpy()[0] == 4


def test_two_devices(jax, saxpy):
    """``shard_map`` calls the kernel on each device, beside a collective."""
    if len(jax.devices()) < 2:
        pytest.skip("needs two GPUs")
    spec = jax.sharding.PartitionSpec("d")
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("d",))

    def shard(y, x):
        return saxpy(y, x, y.size, 2.0), jax.lax.psum(saxpy(y, x, y.size, 1.0).sum(), "d")

    out = spec, jax.sharding.PartitionSpec()
    run = jax.jit(jax.shard_map(shard, mesh=mesh, in_specs=spec, out_specs=out))
    arrays = [jax.numpy.arange(2.0 * N), jax.numpy.ones(2 * N)]
    arrays = [jax.device_put(array, jax.NamedSharding(mesh, spec)) for array in arrays]
    for _ in range(50):
        y, total = run(*arrays)
    np.testing.assert_array_equal(y, np.arange(2 * N) + 2)
    assert total == np.arange(2 * N).sum() + 2 * N


def test_the_second_device_alone(jax, saxpy):
    """A call goes where its arrays are."""
    if len(jax.devices()) < 2:
        pytest.skip("needs two GPUs")
    y = jax.device_put(jax.numpy.ones(N), jax.devices()[1])
    result = jax.jit(lambda y: saxpy(y, y, N, 1.0))(y)
    assert (result[0].item(), result.device) == (2, jax.devices()[1])


def test_command_buffers(folder, jax):
    """XLA records the calls, and replays them without Python; new arrays and new values give new results."""
    script = """
import sys
import jax, jax.numpy as jnp, numpy as np
from pathlib import Path
from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.operators.jax import call

launches = []
by_address = call.launch_by_address
call.launch_by_address = lambda: lambda *given: (launches.append(given), by_address()(*given))[1]
saxpy = open_store(Path(sys.argv[1])).jax_call("saxpy", aliases={"y": "y"})

@jax.jit
def run(y, x):
    for a in range(16):
        y = saxpy(y, x, 1000, float(a))
    return y

x = jnp.ones(1000)
for turn in range(30):
    y = run(jnp.full(1000, float(turn)), x)
    assert np.all(np.asarray(y) == turn + 120), (turn, y)
print(len(launches) < 30 * 16)
"""
    assert run_script(script, folder, XLA_FLAGS="--xla_gpu_graph_min_graph_size=1") == "True\n"


def test_the_compile_cache_serves_another_process(folder, jax, tmp_path):
    """A program that one process compiled runs in another one."""
    script = f"""
import sys
import jax, jax.numpy as jnp
from pathlib import Path
from hatch_cuda_kernels import open_store

jax.config.update("jax_compilation_cache_dir", {str(tmp_path / "cache")!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
saxpy = open_store(Path(sys.argv[1])).jax_call("saxpy", aliases={{"y": "y"}})
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name.rpartition("/")[2]))
y = jax.jit(lambda y: saxpy(y, y, 4, 2.0))(jnp.ones(4))
print(y, hits.count("cache_hits") > 0)
"""
    assert [run_script(script, folder) for _ in range(2)] == ["[3. 3. 3. 3.] False\n", "[3. 3. 3. 3.] True\n"]


def test_the_process_ends_while_kernels_run(folder, jax):
    """Work in flight at exit is no crash."""
    script = """
import sys
import jax, jax.numpy as jnp
from pathlib import Path
from hatch_cuda_kernels import open_store

saxpy = open_store(Path(sys.argv[1])).jax_call("saxpy", aliases={"y": "y"})
run = jax.jit(lambda y: saxpy(y, y, 1 << 26, 1.0))
y = jnp.ones(1 << 26)
for _ in range(50):
    y = run(y)
"""
    assert run_script(script, folder) == ""
