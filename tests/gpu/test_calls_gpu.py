"""Bound launches, launch attributes, what the driver says of a kernel, variables, memory, and errors with facts."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest

from hatch_cuda_kernels import compile_to_cubin
from hatch_cuda_kernels.driver import call, compute_capability
from hatch_cuda_kernels.errors import ArgumentError, DriverError, LaunchError

SOURCE = """
extern "C" __global__ void __launch_bounds__(64) bounded(float* y) { y[threadIdx.x] = threadIdx.x; }
extern "C" __global__ void add_one(float* y) { if (blockIdx.x == 0 && threadIdx.x == 0) y[0] += 1; }
extern "C" __global__ void add_both(float* out, const float* a, const float* b) {
    out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
extern "C" __global__ void clustered(unsigned* y) {
    unsigned size = 0;
#if __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
#endif
    if (threadIdx.x == 0) y[blockIdx.x] = size;
}
extern "C" __global__ void shared(float* y, int n) {
    extern __shared__ float tile[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) y[0] = tile[n - 1];
}
struct Inner { short tag; double scale; };
struct Params { char flag; Inner inner; float* y; };
extern "C" __global__ void by_value(Params p) { p.y[0] = p.flag * p.inner.tag * p.inner.scale; }
"""


@pytest.fixture(scope="module")
def compiled(device):
    """Return the test kernels, compiled for this device."""
    return compile_to_cubin(SOURCE, arch=f"sm_{''.join(map(str, compute_capability(0)))}")


def test_a_bound_launch(compiled, on_device):
    """It launches the same again and again, in the order of its stream."""
    out = on_device(np.zeros(1, np.float32))
    go = compiled.get_kernel("add_one").bind(1, 32, (out,))
    for _ in range(100):
        go()
    assert out.numpy()[0] == 100


def test_a_bound_launch_in_a_graph():
    """A capture on torch's side stream takes it."""
    torch = pytest.importorskip("torch")
    major, minor = compute_capability(0)
    y = torch.zeros(1, device="cuda")
    go = compile_to_cubin(SOURCE, arch=f"sm_{major}{minor}").get_kernel("add_one").bind(1, 32, (y,))
    go()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        go()
    for _ in range(5):
        graph.replay()
    torch.cuda.synchronize()
    assert y.item() == 6


def test_a_bound_launch_keeps_what_its_list_held(compiled):
    """Torch would give the memory to the next tensor."""
    torch = pytest.importorskip("torch")
    out, x = torch.zeros(64, device="cuda"), torch.full((64,), 3.0, device="cuda")
    address, args = x.data_ptr(), [out, x, x]
    go = compiled.get_kernel("add_both").bind(1, 64, args)
    args[1] = args[2] = None
    del x
    other = torch.full((64,), 5.0, device="cuda")
    go()
    assert other.data_ptr() != address
    assert (out == 6).all()


def test_a_bound_launch_keeps_its_stream(compiled, on_device):
    """CuPy destroys a stream that nobody holds."""
    cupy = pytest.importorskip("cupy")
    out = on_device(np.zeros(1, np.float32))
    go = compiled.get_kernel("add_one").bind(1, 32, (out,), stream=cupy.cuda.Stream(non_blocking=True))
    gc.collect()
    for _ in range(3):
        go()
    assert out.numpy()[0] == 3


class Copied:
    """An array by DLPack; each capsule holds a copy, which is nobody else's."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, *, stream):
        return self.tensor.clone().__dlpack__(stream=stream)


def test_memory_that_only_a_capsule_holds(compiled):
    """Torch would give the first copy's memory to the second one, if it were free before the launch."""
    torch = pytest.importorskip("torch")
    kernel, out = compiled.get_kernel("add_both"), torch.zeros(64, device="cuda")
    a, b = torch.full((64,), 3.0, device="cuda"), torch.full((64,), 4.0, device="cuda")
    for _ in range(3):
        out.zero_()
        kernel[1, 64](out, Copied(a), Copied(b))
        assert (out == 7).all()
    go = kernel.bind(1, 64, (out, Copied(a), Copied(b)))
    others = [torch.zeros(64, device="cuda") for _ in range(4)]
    out.zero_()
    go()
    assert (out == 7).all()
    assert not any(other.any() for other in others)


RULED = """
schema: 1
arches: [{arch}]
modules:
  m:
    source: m.cu
    instances: ["add<{{T}}, {{BLOCK}}>"]
    matrix: {{T: [float], BLOCK: [64, 128]}}
    launch:
      outer: {{grid: ["ceil_div(x.size, 16)", "ceil_div(y.size, 16)"], block: [16, 16]}}
      "add<{{T}}, {{BLOCK}}>": {{grid: "ceil_div(n, {{BLOCK}})", block: "{{BLOCK}}", shared_mem: "{{BLOCK}} * 4"}}
"""
RULED_SOURCE = """
extern "C" __global__ void outer(float* out, const float* x, const float* y, int n, int m) {
    int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
    if (i < n && j < m) out[i * m + j] = x[i] * y[j];
}
template <class T, int BLOCK> __global__ void add(T* y, const T* x, int n) {
    extern __shared__ T copy[];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    copy[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n && blockDim.x == BLOCK) y[i] += copy[threadIdx.x];
}
"""


def test_calls_without_brackets(make_project, tmp_path, native, on_device):
    """Two dimensions, shapes, a template's values, shared memory, arguments by name, an empty batch."""
    from hatch_cuda_kernels import open_store
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    root = make_project(RULED.format(arch=native), **{"m.cu": RULED_SOURCE})
    build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    store = open_store(tmp_path / "out")
    x, y = np.arange(100, dtype=np.float32), np.arange(30, dtype=np.float32)
    out = on_device(np.zeros((100, 30), np.float32))
    store.get_kernel("outer")(out, on_device(x), on_device(y), 100, m=30)
    assert (out.numpy() == np.outer(x, y)).all()
    for block in (64, 128, 256):  # the last one is compiled now
        total = on_device(x)
        add = store.get_kernel(f"add<float, {block}>")
        add(total, on_device(x), n=100)
        add(total, on_device(x), n=0)
        assert (total.numpy() == 2 * x).all()


def test_launch_attributes_are_taken(compiled, on_device):
    """Each by itself, and all that go together."""
    out = on_device(np.zeros(1, np.float32))
    kernel = compiled.get_kernel("add_one")
    options = ({"priority": -1}, {"carveout": 50}, {"cooperative": True})
    if compute_capability(0) >= (9, 0):
        options += ({"pdl": True}, {"pdl": True, "priority": 0, "carveout": 0, "cluster": 2})
    for option in options:
        kernel.launch(2, 32, (out,), **option)
    assert out.numpy()[0] == len(options)


def test_a_cluster_that_is_not_portable(compiled, on_device):
    """Sixteen blocks are opted in to; thirty-two are too many, and the error says how many there may be."""
    if compute_capability(0) < (9, 0):
        pytest.skip("clusters need compute capability 9.0")
    out = on_device(np.zeros(32, np.uint32))
    kernel = compiled.get_kernel("clustered")
    kernel.launch(16, 32, (out,), cluster=16)
    assert out.numpy().tolist() == [16] * 16 + [0] * 16
    with pytest.raises(DriverError, match=r"a cluster of 32 blocks: this kernel takes at most \d+ \(cuOccupancyMaxPot"):
        kernel.launch(32, 32, (out,), cluster=32)


def test_what_the_driver_says_of_a_kernel(compiled):
    """Attributes, occupancy, and a block size."""
    kernel = compiled.get_kernel("bounded")
    assert kernel.attributes.max_threads == 64
    assert kernel.attributes.registers > 0
    found = kernel.occupancy(64)
    assert found.blocks >= 1
    assert 0 < found.fraction <= 1
    assert kernel.suggest_block() <= 64


def test_structs_by_field(compiled, on_device):
    """Dataclasses and ctypes structures have C's layout, nested ones too."""
    import ctypes
    from dataclasses import dataclass

    class Inner(ctypes.Structure):
        _fields_ = (("tag", ctypes.c_short), ("scale", ctypes.c_double))

    class Params(ctypes.Structure):
        _fields_ = (("flag", ctypes.c_char), ("inner", Inner), ("y", ctypes.c_void_p))

    @dataclass
    class Fields:
        flag: object
        inner: object
        y: object

    out = on_device(np.zeros(1, np.float32))
    kernel = compiled.get_kernel("by_value")
    given = [
        (Params(2, Inner(3, 0.5), out.address), 3),
        (Fields(np.int8(4), (np.int16(3), ctypes.c_double(0.5)), ctypes.c_void_p(out.address)), 6),
    ]
    for argument, expected in given:
        kernel[1, 1](argument)
        assert out.numpy()[0] == expected
    with pytest.raises(ArgumentError, match="a member is int, whose size in C is unknown"):
        kernel[1, 1](Fields(1, 2, 3))


REFUSED = [
    ("bounded", {"block": 256}, r"a block of 256 threads: this kernel takes at most 64 \(by its __launch_bounds__"),
    ("add_one", {"block": 2048}, r"a block of 2048 threads: this device takes at most 1024"),
    ("add_one", {"grid": (1, 70000)}, r"grid y is 70000: this device takes at most 65535"),
    (
        "add_one",
        {"grid": 100_000, "cooperative": True},
        r"a cooperative grid of 100000 blocks: at most \d+ run at a time",
    ),
]


@pytest.mark.parametrize(("name", "options", "message"), REFUSED)
def test_a_refused_launch_says_why(compiled, on_device, name, options, message):
    """The driver's error carries the value, the limit and its source; the context lives."""
    out = on_device(np.zeros(256, np.float32))
    kernel = compiled.get_kernel(name)
    with pytest.raises(DriverError, match=message):
        kernel.launch(**{"grid": 1, "block": 32, "args": (out,)} | options)
    kernel[1, 32](out)
    out.numpy()


def test_shared_memory_beyond_the_device(compiled, on_device):
    """The limit and its source are named before the driver is asked."""
    with pytest.raises(LaunchError, match=r"a block has at most \d+ on this device \(CU_DEVICE_ATTRIBUTE_MAX_SHARED_M"):
        compiled.get_kernel("shared").launch(1, 32, (on_device(np.zeros(1, np.float32)), 1), shared_mem=1 << 20)


def test_a_stream_of_another_context(compiled, on_device):
    """It is called what it is."""
    from cuda.bindings import __version__

    device = call("cuDeviceGet", 0)
    new_api = int(__version__.split(".")[0]) >= 13
    other = call("cuCtxCreate", *([None, 0] if new_api else [0]), device)
    stream = call("cuStreamCreate", 1)
    call("cuCtxPopCurrent")
    try:
        with pytest.raises(DriverError, match="is of another context than the one the kernel is launched in"):
            compiled.get_kernel("add_one").launch(1, 1, (on_device(np.zeros(1, np.float32)),), stream=stream)
    finally:
        call("cuCtxDestroy", other)


BROKEN = """
import os, sys
from hatch_cuda_kernels import DriverError, compile_to_cubin
source = 'extern "C" __global__ void k(int* y) { *y = 1; }'
kernel = compile_to_cubin(source, arch=sys.argv[1]).get_kernel("k")
if sys.argv[2] == "fork":
    if os.fork() != 0:
        os.wait()
        os._exit(0)
try:
    for _ in range(100_000):
        kernel[1, 1](None)
    print("no error")
except DriverError as error:
    print(error, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize(
    ("how", "message"),
    [("fault", "an earlier kernel or copy on this device failed"), ("fork", "was forked after CUDA")],
)
def test_a_process_that_cannot_go_on(native, how, message):
    """A sticky fault and a fork are called so."""
    command = [sys.executable, "-W", "ignore", "-c", BROKEN, native, how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert message in done.stdout, done.stdout + done.stderr


def test_variables_are_copied(build, native, on_device):
    """From and to the host, and arrays."""
    store = build(native)
    variable = store.get_global("d_bias")
    variable.copy_from(np.array([1, 2, 3, 4], np.float32))
    out = on_device(np.zeros(4, np.float32))
    store.get_kernel("bias")[1, 4](out)
    assert out.numpy().tolist() == [2, 4, 6, 8]
    variable.copy_from(out)
    copy = np.zeros(4, np.float32)
    variable.copy_to(copy)
    assert copy.tolist() == [2, 4, 6, 8]
    with pytest.raises(ArgumentError, match="d_bias has 16 bytes"):
        variable.copy_from(np.zeros(5, np.float32))


def test_dropped_sources_are_unloaded(native):
    """Ten sources of 8 MiB leave no more than the last behind; a kernel in flight finishes."""
    free = []
    for number in range(10):
        source = f"""
        __device__ float data[2 << 20];
        extern "C" __global__ void k(float* y, long long ticks) {{
            long long start = clock64();
            while (clock64() - start < ticks) data[threadIdx.x] = {number};
            *y = data[0];
        }}"""
        y = int(call("cuMemAlloc", 4))
        compile_to_cubin(source, arch=native).get_kernel("k")[1, 1](y, 100_000_000)
        gc.collect()
        free.append(call("cuMemGetInfo")[0])
        if number:
            call("cuCtxSynchronize")
        host = np.zeros(1, np.float32)
        call("cuMemcpyDtoH", host.ctypes.data, y, 4)
        assert host[0] == number
        call("cuMemFree", y)
    assert free[1] - free[-1] < 32 << 20


def test_a_kernel_in_flight_outlives_its_library(native):
    """What is unloaded while it runs still finishes with the right result."""
    y = int(call("cuMemAlloc", 4))
    slow = """extern "C" __global__ void k(float* y, long long ticks) {
        long long start = clock64();
        while (clock64() - start < ticks) {}
        *y = 42;
    }"""
    compile_to_cubin(slow, arch=native).get_kernel("k")[1, 1](y, 1_000_000_000)
    gc.collect()
    compile_to_cubin('extern "C" __global__ void other() {}', arch=native).get_kernel("other")[1, 1]()
    call("cuCtxSynchronize")
    host = np.zeros(1, np.float32)
    call("cuMemcpyDtoH", host.ctypes.data, y, 4)
    assert host[0] == 42


def test_torch_tensors_of_every_kind(build, native):
    """Parameters, empty ones, ones that are read with a sign: what has memory is passed, the rest is refused."""
    torch = pytest.importorskip("torch")
    saxpy = build(native).get_kernel("saxpy")
    y = torch.nn.Parameter(torch.zeros(1000, device="cuda"))
    x = torch.ones(1000, device="cuda")
    for _ in range(3):
        saxpy[4, 256](y, x, 1000, 1.0)
    assert (y == 3).all()
    empty = torch.empty(0, device="cuda")
    saxpy[0, 256](empty, empty, 0, 1.0)
    saxpy[1, 256](empty, empty, 0, 1.0)
    freed = torch.ones(4, device="cuda")
    freed.untyped_storage().resize_(0)
    with pytest.raises(ArgumentError, match="its memory was freed"):
        saxpy[1, 32](freed, x, 4, 1.0)
    with torch._subclasses.FakeTensorMode():
        fake = torch.ones(4, device="cuda")
    with pytest.raises(ArgumentError, match="a fake tensor has no memory"):
        saxpy[1, 32](fake, x, 4, 1.0)
    with pytest.raises(ArgumentError, match="inside vmap, grad and other transforms"):
        torch.vmap(lambda row: saxpy[1, 32](row, row, 2, 1.0))(torch.ones(4, 2, device="cuda"))
    with pytest.raises(ArgumentError, match="sparse"):
        saxpy[1, 32](torch.eye(3, device="cuda").to_sparse(), x, 4, 1.0)
    torch.cuda.synchronize()


def test_torch_beside_cupy(build, native):
    """Arrays of both in one launch: it waits for what CuPy's stream holds."""
    torch, cupy = pytest.importorskip("torch"), pytest.importorskip("cupy")
    saxpy = build(native).get_kernel("saxpy")
    y = torch.zeros(1 << 20, device="cuda")
    torch.cuda.synchronize()
    with cupy.cuda.Stream(non_blocking=True):
        x = cupy.zeros(1 << 20, cupy.float32)
        for _ in range(200):
            x += 1
        saxpy[4096, 256](y, x, 1 << 20, 1.0)
    torch.cuda.synchronize()
    assert (y == 200).all()
