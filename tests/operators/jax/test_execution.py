"""Calls at execution: errors, threads, memory, and other processes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from hatch_cuda_kernels.errors import DriverError, LaunchError

N = 256
REPOSITORY = Path(__file__).parents[3]


def run_script(script, *args, **variables):
    """Run Python code in a process of its own, with this package and the tests' helpers; return what it prints."""
    paths = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "tests" / "support")])
    environment = {**os.environ, "PYTHONPATH": paths, "JAX_PLATFORMS": "cpu", **variables}
    command = [sys.executable, "-W", "error", "-c", script, *map(str, args)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


PREAMBLE = """
import sys
import jax, jax.numpy as jnp, numpy as np
from cpu_kernels import CpuTarget, array_at, operator_kernel
from hatch_cuda_kernels.operators.jax.call import JaxCall

def add_scaled(_, y, x, n, a):
    array_at(y, n)[:] += a * array_at(x, n)

kernel = operator_kernel("saxpy", "float* y, const float* x, unsigned int n, float a")
saxpy = JaxCall(kernel, out={}, aliases={"y": "y"}, target=CpuTarget(kernel, add_scaled))
"""


def test_a_launch_that_fails(jax, saxpy):
    """JAX raises what explains it, and the next launch works."""
    call, target = saxpy
    run = jax.jit(lambda y: call(y, y, N, 1.0))
    y = jax.numpy.ones(N)
    jax.block_until_ready(run(y))
    target.status = 9
    with pytest.raises(Exception, match=r"INTERNAL: RuntimeError: status 9 for \(1, 1, 1\) on None"):
        jax.block_until_ready(run(y))
    target.status = 0
    assert run(y)[0] == 2


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (LaunchError("a text of ours: ä"), "INVALID_ARGUMENT: a text of ours: ä"),
        (DriverError("launching saxpy", 1, "CUDA_ERROR_INVALID_VALUE", "why"), "INTERNAL: launching saxpy failed with"),
        (KeyError("k"), "INTERNAL: KeyError: 'k'"),
        (SystemExit(3), "INTERNAL: SystemExit: 3"),
        (KeyboardInterrupt(), "CANCELLED: KeyboardInterrupt"),
        (ValueError("nul \0"), r"INTERNAL: ValueError: nul \?"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_no_exception_is_lost(jax, make, capfd, error, text, first):
    """Whatever is raised on the way fails the call, first or later: ctypes would print it, and XLA go on."""
    calls = []

    def run(*_):
        calls.append(0)
        if len(calls) > (not first):
            raise error

    call, _ = make(run=run, aliases={"y": "y"})
    function = jax.jit(lambda y: call(y, y, N, 1.0))
    if not first:
        jax.block_until_ready(function(jax.numpy.ones(N)))
    with pytest.raises(Exception, match=text):
        jax.block_until_ready(function(jax.numpy.ones(N)))
    assert capfd.readouterr().err == ""


def test_an_empty_grid_launches_nothing(jax, make):
    """A call over no elements is a call."""
    call, target = make(aliases={"y": "y"}, grid=lambda args: -(-args["n"] // 256))
    run = jax.jit(lambda y: call(y, y, y.size, 1.0))
    for _ in range(2):
        assert run(jax.numpy.zeros(0)).shape == (0,)
    assert target.launched == []


def test_a_kernel_without_arguments_or_numbers(jax, make):
    """A kernel may take nothing but what it writes to."""
    call, _ = make("int* y", lambda *_: None, out={"y": jax.ShapeDtypeStruct((3,), "int32")})
    assert jax.jit(call)().shape == (3,)


def test_several_threads(jax, saxpy):
    """Threads share a handler, each call with its own arguments."""
    call, _ = saxpy
    runs = [jax.jit(lambda y, a=float(a): call(y, jax.numpy.ones(N), N, a)) for a in range(4)]
    wrong = []

    def work(a):
        results = [np.asarray(runs[a](jax.numpy.zeros(N))) for _ in range(100)]
        wrong.extend(a for result in results if not np.all(result == a))

    threads = [threading.Thread(target=work, args=(a,)) for a in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_calls_keep_no_memory(jax, make):
    """Thousands of calls leave no object behind."""
    call, target = make(run=lambda *_: None, aliases={"y": "y"})
    function = jax.jit(lambda y: call(y, y, N, 1.0))

    def objects():
        for _ in range(1000):
            jax.block_until_ready(function(jax.numpy.ones(N)))
        target.launched.clear()
        gc.collect()
        return len(gc.get_objects())

    first = objects()
    assert objects() - first < 100


def test_two_devices(jax):
    """``shard_map`` calls the kernel on each device, beside a collective, on threads of XLA's."""
    script = (
        PREAMBLE
        + """
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("d",))

def shard(y, x):
    return saxpy(y, x, y.size, 2.0), jax.lax.psum(saxpy(y, x, y.size, 1.0).sum(), "d")

run = jax.jit(jax.shard_map(shard, mesh=mesh, in_specs=P("d"), out_specs=(P("d"), P())))
arrays = jnp.arange(512.0), jnp.ones(512)
for _ in range(20):
    y, total = run(*(jax.device_put(array, jax.NamedSharding(mesh, P("d"))) for array in arrays))
assert np.array_equal(y, np.arange(512) + 2), y
assert total == np.arange(512).sum() + 512, total
print(len(jax.devices()), "devices")
"""
    )
    assert run_script(script, XLA_FLAGS="--xla_force_host_platform_device_count=2") == "2 devices\n"


def test_the_compile_cache_serves_another_process(jax, tmp_path):
    """A program that one process compiled runs in another one, which compiles nothing."""
    script = (
        PREAMBLE
        + """
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name.rpartition("/")[2]))
print(jax.jit(lambda y: saxpy(y, y, 4, 2.0))(jnp.ones(4)), hits.count("cache_hits") > 0)
"""
    )
    printed = [run_script(script, tmp_path / "cache") for _ in range(2)]
    assert printed == ["[3. 3. 3. 3.] False\n", "[3. 3. 3. 3.] True\n"]


def test_an_exported_function(jax, tmp_path):
    """A function that one process exported runs in another one that has declared the call."""
    pytest.importorskip("flatbuffers")
    path = tmp_path / "exported"
    script = (
        PREAMBLE
        + """
from jax import export
from pathlib import Path
path = Path(sys.argv[1])
if not path.exists():
    checks = [export.DisabledSafetyCheck.custom_call(saxpy.target_name)]
    run = jax.jit(lambda y: saxpy(y, y, 4, 2.0))
    path.write_bytes(export.export(run, disabled_checks=checks)(jnp.ones(4)).serialize())
else:
    print(export.deserialize(path.read_bytes()).call(jnp.ones(4)))
"""
    )
    assert [run_script(script, path) for _ in range(2)] == ["", "[3. 3. 3. 3.]\n"]


def test_the_process_ends_while_calls_run(jax):
    """Work in flight at exit is no crash."""
    script = PREAMBLE + "run = jax.jit(lambda y: saxpy(y, y, 4, 1.0))\nfor _ in range(50): y = run(jnp.ones(4))\n"
    assert run_script(script) == ""


def test_two_modules_with_equal_kernels(jax, make):
    """Each keeps its own handler: their device variables may differ."""
    from cpu_kernels import CpuTarget, operator_kernel

    from hatch_cuda_kernels.operators.jax.call import JaxCall

    ran = []
    for scope in ("one", "two", "one"):
        kernel = operator_kernel("twin", "float* y", identity=("twins",), scope=scope)
        target = CpuTarget(kernel, lambda *_, scope=scope: ran.append(scope))
        jax.block_until_ready(JaxCall(kernel, out={}, aliases={"y": "y"}, target=target)(jax.numpy.ones(2)))
    assert ran == ["one", "two", "one"]
