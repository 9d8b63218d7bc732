"""What a process feels: threads, contexts, graphs, large shared memory, clusters, cooperative grids, structs."""

from __future__ import annotations

import asyncio
import ctypes
import threading

import numpy as np
import pytest

from hatch_cuda_kernels import StaleKernelError, compile_async, compile_to_cubin, compile_to_ptx, open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.driver import call, compute_capability
from hatch_cuda_kernels.errors import ArgumentError, InputError, LaunchError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.runtime.ladder import compile_rungs

SOURCE = """
#include <cooperative_groups.h>
struct Pair { int count; double scale; };
extern "C" __global__ void by_value(double* y, Pair pair) { y[0] = pair.count * pair.scale; }
extern "C" __global__ void big_shared(float* y, int n) {
    extern __shared__ float tile[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) y[0] = tile[n - 1];
}
extern "C" __global__ void all_types(long long* y, bool b, signed char c, short s, unsigned u, long long l) {
    y[0] = b; y[1] = c; y[2] = s; y[3] = u; y[4] = l;
}
extern "C" __global__ void clustered(unsigned* y) {
    unsigned size = 0;
#if __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
#endif
    if (threadIdx.x == 0) y[blockIdx.x] = size;
}
extern "C" __global__ void whole_grid(int* y) {
    if (threadIdx.x == 0) atomicAdd(y, 1);
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0 && blockIdx.x == 0) y[1] = y[0];
}
"""


@pytest.fixture(scope="module")
def compiled(device):
    """Return the test kernels, compiled for this device."""
    major, minor = compute_capability(0)
    return compile_to_cubin(SOURCE, arch=f"sm_{major}{minor}")


def test_structs_by_value(compiled, on_device):
    """A struct is passed as a numpy record or as bytes, laid out as C does."""
    record = np.zeros((), np.dtype([("count", "<i4"), ("scale", "<f8")], align=True))
    record["count"], record["scale"] = 3, 2.5
    out = on_device(np.zeros(1))
    kernel = compiled.get_kernel("by_value")
    for argument in (record, record.tobytes()):
        kernel[1, 1](out, argument)
        assert out.numpy()[0] == 7.5
    with pytest.raises(ArgumentError, match="got bytes: 5 bytes instead of 16"):
        kernel[1, 1](out, b"short")


def test_every_scalar_type_arrives(compiled, on_device):
    """Booleans and integers of every width and sign arrive as they were."""
    out = on_device(np.zeros(5, np.int64))
    compiled.get_kernel("all_types")[1, 1](out, True, -5, np.int16(-300), np.uint32(4_000_000_000), -(1 << 40))
    assert out.numpy().tolist() == [1, -5, -300, 4_000_000_000, -(1 << 40)]


def test_shared_memory_beyond_48_kib(compiled, on_device):
    """More dynamic shared memory than 48 KiB is opted in to; more than the device has is an error."""
    n = 16_000
    out = on_device(np.zeros(1, np.float32))
    kernel = compiled.get_kernel("big_shared")
    kernel.launch(1, 128, (out, n), shared_mem=4 * n)
    assert out.numpy()[0] == n - 1
    with pytest.raises(LaunchError, match="1048576 bytes of dynamic shared memory"):
        kernel.launch(1, 128, (out, n), shared_mem=1 << 20)


def test_cluster_launch(compiled, on_device):
    """A cluster of two blocks is one, where the device has clusters."""
    if compute_capability(0) < (9, 0):
        pytest.skip("clusters need compute capability 9.0")
    out = on_device(np.zeros(4, np.uint32))
    kernel = compiled.get_kernel("clustered")
    kernel.launch(4, 32, (out,), cluster=2)
    assert out.numpy().tolist() == [2, 2, 2, 2]
    kernel.launch(4, 32, (out,))
    assert out.numpy().tolist() == [1, 1, 1, 1]


def test_cooperative_launch(compiled, on_device):
    """Blocks of a cooperative grid meet at grid.sync()."""
    out = on_device(np.zeros(2, np.int32))
    compiled.get_kernel("whole_grid").launch(64, 32, (out,), cooperative=True)
    assert out.numpy().tolist() == [64, 64]


def test_many_threads_load_one_kernel_once(build, native, on_device):
    """32 threads asking at once get one object, loaded once, and can all launch it."""
    store = build(native)
    barrier = threading.Barrier(32)
    kernels, outs = [], [on_device(np.zeros(8, np.float32)) for _ in range(32)]

    def work(out):
        barrier.wait()
        kernel = store.get_kernel("fill<float, 8>")
        for _ in range(50):
            kernel[1, 8](out, 1.5)
        kernels.append(kernel)

    threads = [threading.Thread(target=work, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(kernel) for kernel in kernels}) == 1
    assert len(store.stats()) == 1
    assert all((out.numpy() == 1.5).all() for out in outs)


def test_a_kernel_is_launched_in_the_current_context(build, native, context):
    """It is loaded in each context where it is launched; contexts that are gone leave nothing behind."""
    store = build(native)
    kernel = store.get_kernel("saxpy")
    device = call("cuDeviceGet", 0)
    for _ in range(20):
        other = call("cuCtxCreate", *([None, 0] if _new_api() else [0]), device)
        try:
            y = int(call("cuMemAlloc", 4))
            kernel[1, 32](y, y, 1, 1.0)
            assert store.get_kernel("saxpy") is kernel
            assert kernel.context_id != context
            call("cuCtxSynchronize")
        finally:
            call("cuCtxDestroy", other)
    assert kernel.context_id == context
    assert len(kernel._launches.loads) <= 2


def _new_api():
    from cuda.bindings import __version__

    return int(__version__.split(".")[0]) >= 13


def test_a_thread_without_a_context_can_launch(build, native, on_device):
    """A new thread gets the primary context, as its first use of CUDA elsewhere would."""
    kernel, out, errors = build(native).get_kernel("fill<float, 8>"), on_device(np.zeros(8, np.float32)), []

    def work():
        try:
            kernel[1, 8](out, 2.0)
        except StaleKernelError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors == []
    assert (out.numpy() == 2).all()


def test_graph_capture(build, native):
    """A launch can be captured into a CUDA graph and replayed: nothing synchronises."""
    torch = pytest.importorskip("torch")
    kernel = build(native).get_kernel("saxpy")
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    kernel[4, 256](y, x, 1000, 1.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel[4, 256](y, x, 1000, 1.0)
    y.zero_()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert (y == 3).all()


def test_instances_by_arguments_are_remembered(build_patterns):
    """A pattern and its arguments give an instance, which is remembered; the least recently used is evicted."""
    store = open_store(build_patterns.path, instances=2)
    assert store.instantiate("fill", T="float", N=8) is store.instantiate("fill", N=8, T="float")
    assert store.instantiate("fill", T="int", N=16).lowered == "_Z4fillIiLi16EEvPT_S0_"
    store.instantiate("fill", T="float", N=16)
    info = store.instance_info()
    assert (info.capacity, info.size, info.hits, info.misses, info.evictions) == (2, 2, 1, 3, 1)
    with pytest.raises(InputError, match=r"fill takes the arguments of fill<\{T\}, \{N\}>, got T"):
        store.instantiate("fill", T="int")


@pytest.fixture
def build_patterns(tmp_path, native):
    """Return a store with a declared pattern."""
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    (tmp_path / "p").mkdir()
    source = "template <typename T, int N> __global__ void fill(T* y, T v) { if (threadIdx.x < N) y[threadIdx.x] = v; }"
    (tmp_path / "p" / "fill.cu").write_text(source)
    (tmp_path / "p" / "kernels.yaml").write_text(
        f"{{schema: 1, arches: [{native}], modules: {{fill: {{source: fill.cu, "
        'instances: ["fill<{T}, {N}>"], matrix: {T: [float, int], N: [8, 16]}}}}\n'
    )
    build_store(load_manifest(tmp_path / "p" / "kernels.yaml"), tmp_path / "out")
    return open_store(tmp_path / "out")


def test_warm_up_loads_everything_ahead(build, foreign, native, fresh_cache):
    """warm_up loads all listed kernels, says where from, and what was loaded already."""
    store = build(foreign)
    seen = []
    done = store.warm_up(progress=lambda *step: seen.append(step))
    assert (done.jitted, done.cached, done.already) == (1, 2, 0)
    assert seen[-1] == (3, 3, seen[-1][2])
    assert store.warm_up(["saxpy"], devices=[0]).already == 1
    assert all(store.is_loaded(name) for name in store.kernels)
    stats = {entry.kernel: entry for entry in store.stats()}
    assert stats["saxpy"].origin in {"jitted", "cached"}
    assert stats["saxpy"].hits == 1


def test_kernels_for_coroutines(build, foreign, on_device, fresh_cache):
    """aget_kernel leaves the event loop running while it compiles, and gives a kernel of this context."""
    store, ticks = build(foreign), []

    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.001)

    async def main():
        ticker = asyncio.create_task(tick())
        kernel = await store.aget_kernel("fill<float, 8>")
        ticker.cancel()
        return kernel

    kernel = asyncio.run(main())
    out = on_device(np.zeros(8, np.float32))
    kernel[1, 8](out, 4.0)
    assert (out.numpy() == 4).all()
    assert len(ticks) > 5


def test_tier_up_compiles_exactly_for_the_next_process(build, native, fresh_cache):
    """PTX is used at once; the exact image, compiled meanwhile, is what the next store object takes."""
    from hatch_cuda_kernels.runtime.background import background_threads

    plain = build("compute_75")
    assert open_store(plain.path, tier_up=True).get_kernel("saxpy").image.kind == "ptx"
    background_threads().submit(lambda: None).result()
    for _ in range(200):
        if plain.explain("saxpy", arch=native, policy="exact").chosen.origin == "cached":
            break
        threading.Event().wait(0.05)
    image = open_store(plain.path, tier_up=True).get_kernel("saxpy").image
    assert (image.origin, str(image.arch), image.kind) == ("cached", native, "cubin")


@pytest.mark.parametrize("compiler", [True, False])
def test_ltoir_runs_compiled_or_finished(build_lto, native, on_device, fresh_cache, monkeypatch, compiler):
    """A module that ships LTO-IR alone is compiled for this device once, or else finished, then found in the cache."""
    if not compiler:
        monkeypatch.setattr(compile_rungs, "_key_and_nvrtc", lambda request: "NVRTC is not installed (here)")
    kernel = build_lto.get_kernel("twice")
    assert (kernel.image.origin, str(kernel.image.arch)) == ("jitted", native)
    out = on_device(np.full(4, 3, np.float32))
    kernel[1, 4](out)
    assert out.numpy().tolist() == [6, 6, 6, 6]
    chosen = build_lto.explain("twice").chosen
    assert (chosen.origin, chosen.kind) == ("cached", "cubin")


@pytest.fixture
def build_lto(tmp_path):
    """Return a store that holds LTO-IR only."""
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "twice.cu").write_text('extern "C" __global__ void twice(float* y) { y[threadIdx.x] *= 2; }')
    (tmp_path / "p" / "kernels.yaml").write_text(
        "{schema: 1, arches: [compute_75], modules: {m: {source: twice.cu, options: {lto: true}}}}"
    )
    build_store(load_manifest(tmp_path / "p" / "kernels.yaml"), tmp_path / "out")
    return open_store(tmp_path / "out")


def test_stand_alone_compiles_run(native, on_device, fresh_cache):
    """Source text compiles to PTX or a CUBIN, now or in the background, and launches with checked arguments."""
    source = "template <typename T> __global__ void twice(T* y) { y[threadIdx.x] *= 2; }"
    ptx = compile_to_ptx(source, arch="compute_75", names=["twice<float>"])
    cubin = compile_async(source, arch=native, names=["twice<float>"]).result()
    for compiled in (ptx, cubin):
        out = on_device(np.full(4, 3, np.float32))
        compiled.get_kernel("twice<float>")[1, 4](out)
        assert out.numpy().tolist() == [6, 6, 6, 6]


def test_a_managed_variable_is_the_hosts_and_the_devices(tmp_path, device, on_device, fresh_cache):
    """``get_global`` gives its address and size; either side sees what the other writes."""
    major, minor = compute_capability(0)
    (tmp_path / "m.cu").write_text(
        "namespace n { __managed__ int counter = 3; }\n"
        'extern "C" __global__ void add(int* y) { y[0] = n::counter; n::counter += 4; }\n'
    )
    (tmp_path / "kernels.yaml").write_text(
        f'schema: 1\narches: [sm_{major}{minor}]\nmodules: {{m: {{source: m.cu, globals: ["n::counter"]}}}}\n'
    )
    build_store(load_manifest(tmp_path / "kernels.yaml"), tmp_path / "store")
    store = open_store(tmp_path / "store")
    variable, out = store.get_global("n::counter"), on_device(np.zeros(1, np.int32))
    store.get_kernel("add")[1, 1](out)
    assert (out.numpy()[0], variable.size) == (3, 4)  # the copy waits
    there = ctypes.c_int.from_address(variable.address)
    assert there.value == 7
    there.value = 11
    store.get_kernel("add")[1, 1](out)
    assert out.numpy()[0] == 11
