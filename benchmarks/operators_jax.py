"""Calls of a kernel inside ``jax.jit``: our handler beside one in C++ and ``jax.experimental.buffer_callback``.

    python benchmarks/operators_jax.py [--platform cuda|cpu] [--rounds 15] [--cold 5] [--json FILE]

Needs jax, and NVRTC for ``cuda``. The C++ handler is built with g++ or clang++ from operators_jax.cpp; without one, it
is left out. On the CPU, a function in C stands for the driver's launch, so the handlers' own time shows.

Prints microseconds, medians of rounds that take turns: one call in a compiled function, each further call in it (of
16), and 16 calls that XLA may record as a command buffer. Then seconds of whole processes, to the first result.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONTENDERS = ("plain", "ours", "c++", "buffer_callback")
N, FACTOR, CALLS, BATCH = 1024, 1.0, (1, 2, 16), 200
#: Without command buffers, each call is one of a handler.
PLAIN_LAUNCHES = "--xla_gpu_enable_command_buffer="
SOURCE = """
extern "C" __global__ void scale(float* y, const float* x, long long n, float a) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
"""
MANIFEST = """
schema: 1
arches: [{arch}]
modules:
  m: {{source: m.cu, launch: {{scale: {{grid: "ceil_div(n, 256)", block: 256}}}}}}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platform", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cold", type=int, default=5, help="processes of each contender")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--child", choices=("hot", "cold"), help=argparse.SUPPRESS)
    parser.add_argument("--contenders", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        measure = hot if given.child == "hot" else cold
        print(json.dumps(measure(given.platform, given.work, given.contenders.split(","), given.rounds)))
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = compare(given, Path(folder))
    show(figures)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1))


def compare(given, work):
    """Measure everything in processes of their own, and return the figures."""
    prepare(given.platform, work)
    contenders = [name for name in CONTENDERS if name != "c++" or (work / "handler.so").is_file()]
    launches = child(given, work, "hot", contenders, PLAIN_LAUNCHES)
    recorded = child(given, work, "hot", contenders, "")
    seconds = {name: [] for name in contenders}
    for _ in range(given.cold):
        for name in contenders:
            start = time.perf_counter()
            child(given, work, "cold", [name], "")
            seconds[name].append(time.perf_counter() - start)
    return {
        "machine": launches["machine"],
        "launches": launches["times"],
        "command_buffers": recorded["times"],
        "cold_s": {name: statistics.median(values) for name, values in seconds.items()},
    }


def child(given, work, kind, contenders, flags):
    """Run this script in a process of its own, and return what it measured."""
    environment = os.environ | {
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip() if given.platform == "cuda" else "",
        "JAX_PLATFORMS": given.platform,
        "SCALE_CUBIN": str(next(work.glob("images/*.cubin"), "")),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")]),
    }
    options = ["--platform", given.platform, "--rounds", str(given.rounds), "--work", str(work)]
    command = [sys.executable, __file__, *options, "--child", kind, "--contenders", ",".join(contenders)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def prepare(platform, work):
    """Build the store, its image as a file, and the handler in C++."""
    import jax

    if platform == "cuda":
        from hatch_cuda_kernels import open_store
        from hatch_cuda_kernels.build import build_store
        from hatch_cuda_kernels.driver import native_archs
        from hatch_cuda_kernels.manifest import load_manifest

        (work / "m.cu").write_text(SOURCE)
        (work / "kernels.yaml").write_text(MANIFEST.format(arch=native_archs()[0]))
        build_store(load_manifest(work / "kernels.yaml"), work / "store")
        open_store(work / "store").extract_images(work / "images")
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        print("no C++ compiler: the handler in C++ is left out", file=sys.stderr)
        return
    source, output = Path(__file__).with_suffix(".cpp"), work / "handler.so"
    options = ["-std=c++17", "-O2", "-w", "-shared", "-fPIC", f"-I{jax.ffi.include_dir()}", "-ldl"]
    subprocess.run([compiler, source, "-o", output, *options], check=True)


def call_of(name, platform, work):
    """Return a contender's function from an array to an array."""
    return {
        "plain": lambda *_: lambda x: x * FACTOR + 1,
        "ours": ours,
        "c++": in_cpp,
        "buffer_callback": by_callback,
    }[name](platform, work)


def ours(platform, work):
    if platform == "cuda":
        from hatch_cuda_kernels import open_store

        call = open_store(work / "store").jax_call("scale", out={"y": "x"})
    else:
        import ctypes

        from cpu_kernels import CpuTarget, operator_kernel

        from hatch_cuda_kernels.operators.jax.call import JaxCall

        launch = ctypes.CDLL(str(work / "handler.so"))["launch_on_host"]
        launch.argtypes, launch.restype = [ctypes.c_void_p] * 4, ctypes.c_int
        kernel = operator_kernel("scale", "float* y, const float* x, long long n, float a")
        target = CpuTarget(kernel, None)
        target.launch = launch
        call = JaxCall(kernel, out={"y": "x"}, aliases={}, target=target)
    return lambda x: call(x, x.size, FACTOR)


def in_cpp(platform, work):
    import ctypes

    import jax
    import numpy as np

    library = ctypes.CDLL(str(work / "handler.so"))
    handler = library.ScaleOnDevice if platform == "cuda" else library.ScaleOnHost
    jax.ffi.register_ffi_target(
        "scale_in_cpp", jax.ffi.pycapsule(handler), platform="CUDA" if platform == "cuda" else "cpu"
    )
    return lambda x: jax.ffi.ffi_call("scale_in_cpp", jax.ShapeDtypeStruct(x.shape, x.dtype))(
        x, n=np.int64(x.size), a=np.float32(FACTOR)
    )


#: Threads that XLA has called a handler on.
THREADS = set()


def by_callback(platform, work):
    import jax
    from jax.experimental.buffer_callback import buffer_callback

    if platform == "cuda":
        from hatch_cuda_kernels import open_store

        scale = open_store(work / "store").get_kernel("scale")

        def run(context, y, x):
            THREADS.add(threading.get_ident())
            to, of = y.__cuda_array_interface__["data"][0], x.__cuda_array_interface__["data"][0]
            scale[-(-N // 256), 256, 0, context.stream](to, of, N, FACTOR)

    else:
        import numpy as np

        def run(_, y, x):
            THREADS.add(threading.get_ident())
            np.multiply(np.asarray(x), FACTOR, out=np.asarray(y))

    return lambda x: buffer_callback(
        run, jax.ShapeDtypeStruct(x.shape, x.dtype), command_buffer_compatible=platform == "cuda"
    )(x)


def hot(platform, work, contenders, rounds):
    """Return microseconds of an execution, by contender and number of calls in it."""
    import jax

    x = jax.numpy.ones(N, "float32")
    functions = {}
    for name in contenders:
        call = call_of(name, platform, work)
        for count in CALLS:
            functions[name, count] = jax.jit(lambda x, call=call, count=count: repeated(call, count, x))
    for function in functions.values():
        for _ in range(20):
            function(x).block_until_ready()
    times = {key: [] for key in functions}
    for _ in range(rounds):
        for key, function in functions.items():
            start = time.perf_counter()
            for _ in range(BATCH):
                result = function(x)
            result.block_until_ready()
            times[key].append((time.perf_counter() - start) / BATCH * 1e6)
    own = threading.get_ident()
    called = {"on_own_thread": own in THREADS, "on_others": len(THREADS - {own})}
    return {"machine": machine() | called, "times": {name: summary(times, name) for name in contenders}}


def repeated(call, count, x):
    for _ in range(count):
        x = call(x)
    return x


def summary(times, name):
    medians = {count: statistics.median(times[name, count]) for count in CALLS}
    few, many = CALLS[0], CALLS[-1]
    return {
        **{f"calls_{count}": round(value, 2) for count, value in medians.items()},
        "further": round((medians[many] - medians[few]) / (many - few), 2),
        "least_1": round(min(times[name, few]), 2),
        "least_16": round(min(times[name, many]), 2),
    }


def cold(platform, work, contenders, _):
    """Run one call once."""
    import jax

    call = call_of(contenders[0], platform, work)
    result = jax.jit(call)(jax.numpy.ones(N, "float32"))
    return {"first": float(result[0])}


def machine():
    import jax

    return {"jax": jax.__version__, "device": jax.devices()[0].device_kind, "python": sys.version.split()[0]}


def show(figures):
    """Print the figures as a table."""
    print(figures["machine"])
    print(f"{'us':16} {'1 call':>8} {'further':>8} {'16 calls':>9} {'16, recorded':>13} {'cold s':>7}")
    for name, times in figures["launches"].items():
        recorded = figures["command_buffers"][name]["calls_16"]
        print(
            f"{name:16} {times['calls_1']:8.1f} {times['further']:8.2f} {times['calls_16']:9.1f} {recorded:13.1f}"
            f" {figures['cold_s'][name]:7.2f}"
        )


if __name__ == "__main__":
    main()
