"""Modules as CuPy's, beside CuPy's own compile of the same source: the same calls give the same results."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.manifest import load_manifest

SOURCE = """
#include <cuComplex.h>
#include <cupy/carray.cuh>
#include <cupy/complex.cuh>
struct Pair { float a; int b; };
__constant__ float table[4];
extern "C" __global__ void numbers(double* y, int i, unsigned u, float f, double d, bool b, long long l, Pair p) {
    y[0] = i; y[1] = u; y[2] = f; y[3] = d; y[4] = b; y[5] = l; y[6] = p.a; y[7] = p.b;
}
extern "C" __global__ void complexes(complex<float>* y, complex<float> a, complex<double> b, cuDoubleComplex c) {
    y[0] = a; y[1] = complex<float>(b); y[2] = complex<float>((float)c.x, (float)c.y);
}
extern "C" __global__ void by_value(CArray<float, 2, true> x) { x[threadIdx.x] = threadIdx.x; }
extern "C" __global__ void looked_up(float* y) { y[threadIdx.x] = table[threadIdx.x]; }
extern "C" __global__ void shared(float* y, int n) {
    extern __shared__ float s[];
    s[n - 1 - threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void textured(cudaTextureObject_t t, float* y) {
    y[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x);
}
extern "C" __global__ void waits(float* y) { for (int i = 0; i < 200000; i++) y[threadIdx.x] += 1; }
template <class T> __global__ void fill(T* x, IN value) { x[threadIdx.x] = value; }
"""
NAMES = ("fill<float>", "fill<int>")
MANIFEST = """
schema: 1
arches: [{arch}]
options: {{include: [{{package: cupy, folder: _core/include}}]}}
modules:
  "kernels_{{IN}}":
    source: kernels.cu
    matrix: {{IN: [float, double]}}
    options: {{define: {{IN: "{{IN}}"}}}}
    instances: ["fill<float>", "fill<int>"]
    globals: [table]
"""


@pytest.fixture(scope="module")
def cupy():
    """Return CuPy."""
    return pytest.importorskip("cupy")


@pytest.fixture(scope="module")
def modules(cupy, native, tmp_path_factory):
    """Return the module as CuPy compiles it, and as a store has it."""
    root = tmp_path_factory.mktemp("cupy")
    (root / "kernels.yaml").write_text(MANIFEST.format(arch=native))
    (root / "kernels.cu").write_text(SOURCE)
    build_store(load_manifest(root / "kernels.yaml"), root / "p" / "_kernels")
    own = cupy.RawModule(code=SOURCE, options=("--std=c++17", "-DIN=double"), name_expressions=NAMES)
    return own, open_store(root / "p", policy="prebuilt").cupy_module("kernels", IN="double")


def results(cupy, modules, name, make, grid=(1,), block=(1,), **more):
    """Return what the two modules' kernels leave in the first array that ``make`` gives."""
    found = []
    for module in modules:
        args = make()
        module.get_function(name)(grid, block, args, **more)
        cupy.cuda.Device().synchronize()
        found.append(next(arg for arg in args if isinstance(arg, cupy.ndarray)).get())
    return found


def test_numbers(cupy, modules):
    """Of numpy and Python, as CuPy converts them."""
    pair = np.array([(1.5, 2)], dtype=[("a", "f4"), ("b", "i4")])
    for numbers in (
        (np.int32(-3), np.uint32(4), np.float32(1.5), 2.5, True, 1 << 40, pair),
        (-3, -1, np.float32(-0.0), np.float64(1e300), np.bool_(False), np.int64(-5), pair[0]),
        (np.array(7, "i4"), np.int32(-2), np.array([0.5], "f4"), np.array(3.5), False, -6, pair),
    ):
        one, other = results(cupy, modules, "numbers", lambda numbers=numbers: (cupy.zeros(8), *numbers))
        assert one.tolist() == other.tolist()


def test_numbers_that_cupy_passes_wrongly_are_right(cupy, modules):
    """A Python float for a float, and a narrow integer for a wide one."""
    y = cupy.zeros(8)
    pair = np.zeros(1, dtype=[("a", "f4"), ("b", "i4")])
    modules[1].get_function("numbers")((1,), (1,), (y, 1, 2, 1.5, np.float32(2.5), 1, np.int8(-3), pair))
    assert y.get().tolist() == [1, 2, 1.5, 2.5, 1, -3, 0, 0]


def test_complex_numbers(cupy, modules):
    """Of the width of the parameter; and of another one, which CuPy would pass as it is."""
    first = (np.complex64(1 + 2j), 3 + 4j, np.complex128(5 + 6j))
    one, other = results(cupy, modules, "complexes", lambda: (cupy.zeros(3, "c8"), *first))
    assert one.tolist() == other.tolist() == [1 + 2j, 3 + 4j, 5 + 6j]
    y = cupy.zeros(3, "c8")
    modules[1].get_function("complexes")((1,), (1,), (y, 1 + 2j, np.complex64(3 + 4j), 5 + 6j))
    assert y.get().tolist() == [1 + 2j, 3 + 4j, 5 + 6j]


def test_an_array_by_value(cupy, modules):
    """As a CArray."""
    one, other = results(cupy, modules, "by_value", lambda: (cupy.zeros((2, 3), "f4"),), block=(6,))
    assert one.tolist() == other.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_pointers(cupy, modules):
    """Arrays of another dtype, and memory itself."""
    for make in (lambda x: x, lambda x: x.view("i4"), lambda x: x.data, lambda x: x.view("c8")):
        for module in modules:
            x = cupy.zeros(4, "f4")
            module.get_function("fill<float>")((1,), (4,), (make(x), np.float64(2)))
            assert x.get().tolist() == [2] * 4


def test_constants(cupy, modules):
    """A variable is a pointer to memory that an array can be made of."""
    for module in modules:
        pointer = module.get_global("table")
        cupy.ndarray((4,), "f4", pointer)[...] = cupy.arange(4, dtype="f4")
        y = cupy.zeros(4, "f4")
        module.get_function("looked_up")((1,), (4,), (y,))
        assert y.get().tolist() == [0, 1, 2, 3]


def test_shared_memory_and_attributes(cupy, modules):
    """The attributes are CuPy's, and more shared memory is opted in to as CuPy's callers do."""
    own, ours = (module.get_function("shared") for module in modules)
    assert [*own.attributes] == [*ours.attributes]
    same = {"max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes", "cache_mode_ca"}
    assert {name: own.attributes[name] for name in same} == {name: ours.attributes[name] for name in same}
    for kernel in (own, ours):
        kernel.max_dynamic_shared_size_bytes = 64 << 10
        kernel.preferred_shared_memory_carveout = 100
        assert kernel.attributes["max_dynamic_shared_size_bytes"] == 64 << 10
    one, other = results(
        cupy, modules, "shared", lambda: (cupy.zeros(512, "f4"), 512), block=(512,), shared_mem=64 << 10
    )
    assert one.tolist() == other.tolist() == [*range(511, -1, -1)]


def test_textures(cupy, modules):
    """A texture object is passed by its handle."""
    texture = cupy.cuda.texture
    channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, cupy.cuda.runtime.cudaChannelFormatKindFloat)
    data = cupy.arange(8, dtype="f4")
    resource = texture.ResourceDescriptor(
        cupy.cuda.runtime.cudaResourceTypeLinear, arr=data, chDesc=channel, sizeInBytes=data.nbytes
    )
    made = texture.TextureObject(resource, texture.TextureDescriptor())
    one, other = results(cupy, modules, "textured", lambda: (made, cupy.zeros(8, "f4")), block=(8,))
    assert one.tolist() == other.tolist() == [*range(8)]


def test_the_current_stream(cupy, modules):
    """A launch is on the current stream, or on the one that is passed, also without an array."""
    waits = modules[1].get_function("waits")
    y = cupy.zeros(32, "f4")
    waits((1,), (32,), (y,))
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    for how in ("current", "passed"):
        if how == "current":
            with stream:
                waits((1,), (32,), (y.data,))
        else:
            waits((1,), (32,), (y.data.ptr,), stream=stream)
        assert not stream.done
        stream.synchronize()


def test_a_graph_captures_a_launch(cupy, modules):
    """On the stream that is captured."""
    y = cupy.zeros(4, "f4")
    kernel = modules[1].get_function("fill<float>")
    kernel((1,), (4,), (y, 1.0))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        kernel((1,), (4,), (y, 3.0))
        graph = stream.end_capture()
        assert y.get().tolist() == [1] * 4
        graph.launch()
        stream.synchronize()
    assert y.get().tolist() == [3] * 4


def test_a_pickled_kernel(cupy, modules):
    """It is loaded again."""
    y = cupy.zeros(4, "f4")
    pickle.loads(pickle.dumps(modules[1].get_function("fill<float>")))((1,), (4,), (y, 1.0))
    assert y.get().tolist() == [1] * 4


def test_cooperative_launches(cupy, modules, tmp_path, native):
    """A whole grid waits for itself, and a longer one than fits is cut, as in CuPy."""
    source = """
    #include <cooperative_groups.h>
    extern "C" __global__ void grid_sum(int* y, int* all) {
        y[blockIdx.x] = 1;
        cooperative_groups::this_grid().sync();
        if (blockIdx.x == 0 && threadIdx.x == 0) for (int i = 0; i < gridDim.x; i++) *all += y[i];
    }
    """
    (tmp_path / "kernels.yaml").write_text(f"{{schema: 1, arches: [{native}], modules: {{sums: {{source: k.cu}}}}}}\n")
    (tmp_path / "k.cu").write_text(source)
    build_store(load_manifest(tmp_path / "kernels.yaml"), tmp_path / "p" / "_kernels")
    ours = open_store(tmp_path / "p").cupy_module("sums", enable_cooperative_groups=True).get_function("grid_sum")
    y, total = cupy.zeros(1 << 20, "i4"), cupy.zeros(1, "i4")
    ours((64,), (32,), (y, total))
    assert int(total[0]) == 64
    with pytest.warns(RuntimeWarning, match="blocks of a cooperative grid run at a time, and not 1048576"):
        ours((1 << 20,), (32,), (y, total))
    assert int(total[0]) > 64


def test_another_device(cupy, modules):
    """A function loads where it is called."""
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("needs two devices")
    kernel = modules[1].get_function("fill<float>")
    with cupy.cuda.Device(1):
        y = cupy.zeros(4, "f4")
        kernel((1,), (4,), (y, 2.0))
        assert y.get().tolist() == [2] * 4
