"""Calls without brackets: the manifest's rule gives grid and block, and arguments may be named."""

from __future__ import annotations

import json
import shutil
import threading

import pytest
from device_arrays import InterfaceArray

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.errors import ArgumentError, LaunchError, StoreError
from hatch_cuda_kernels.manifest import load_manifest

MANIFEST = """
schema: 1
arches: [sm_90]
modules:
  m:
    source: m.cu
    instances: ["sum<{T}, {BLOCK}>", "sum<double, 64>"]
    matrix: {T: [float], BLOCK: [128, 256]}
    launch:
      saxpy: {grid: "ceil_div(n, 256)", block: 256}
      wide: {grid: "(x.shape[0], max(x.shape[-1] // 4, 1))", block: "min(x.size, 64) % 33", shared_mem: 4 * n - 4}
      "sum<{T}, {BLOCK}>": {grid: "ceil_div(x.size, {BLOCK})", block: "{BLOCK}", cluster: 2, pdl: true, priority: -1}
      sum: {grid: 1, block: 32}
      plain: {grid: 3, block: 32}
"""
SOURCE = """
extern "C" __global__ void saxpy(float* y, const float* x, long long n, float a) { y[n] = x[n] * a; }
extern "C" __global__ void wide(float* x, int n) { x[n] = n; }
extern "C" __global__ void plain() {}
extern "C" __global__ void bare(int* lambda) { *lambda = 1; }
template <class T, int BLOCK> __global__ void sum(const T* x, T* out) { *out = *x + BLOCK; }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, isolation):
    """Return a store with rules."""
    root = tmp_path_factory.mktemp("ruled")
    (root / "m.cu").write_text(SOURCE)
    (root / "kernels.yaml").write_text(MANIFEST)
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    return root / "out"


@pytest.fixture
def store(folder, driver, fresh_cache):
    """Return the store on an imitated driver."""
    return open_store(folder)


def shape_of(driver):
    """Return grid, block and shared memory of the last launch."""
    config = driver.configs[-1]
    return tuple(config.grid), tuple(config.block), config.sharedMemBytes


def test_grid_and_block_follow_from_the_arguments(store, driver):
    """The same launch as with brackets, however often the size came before, also by the function that was kept."""
    saxpy = store.get_kernel("saxpy")
    kept = saxpy.ruled
    for n in (1000, 256, 1000, 257, 1000):
        (saxpy if n == 1000 else kept)(0x10, 0x20, n, 2.0)
        assert shape_of(driver) == ((-(-n // 256), 1, 1), (256, 1, 1), 0)
        assert driver.launches[-1][2] == saxpy._launches.signature.pack((0x10, 0x20, n, 2.0))


def test_arguments_by_name(store, driver):
    """In any order, all or the last ones; what is wrong is named."""
    saxpy = store.get_kernel("saxpy")
    expected = saxpy._launches.signature.pack((0x10, 0x20, 1000, 2.0))
    saxpy(a=2.0, n=1000, x=0x20, y=0x10)
    saxpy(0x10, 0x20, a=2.0, n=1000)
    assert [data for _, _, data in driver.launches] == [expected] * 2
    wrong = [
        ((1, 2, 3), {}, "saxpy takes y, x, n, a; a is missing"),
        ((), {"x": 1}, "saxpy takes y, x, n, a; y, n, a is missing"),
        ((1, 2, 3, 4, 5), {}, r"saxpy takes 4 arguments \(y, x, n, a\), got 5"),
        ((1, 2, 3, 4), {"a": 5}, "saxpy got 'a' by position and by name"),
        ((1, 2, 3), {"z": 5}, "saxpy has no parameter 'z'; it takes y, x, n, a"),
        ((), {"a0": 1, "x": 2, "n": 3, "a": 4}, "saxpy has no parameter 'a0'; it takes y, x, n, a"),
        ((1, 2, 3), {"a0": 5}, "saxpy has no parameter 'a0'; it takes y, x, n, a"),
        (("text", 2, 3, 4.0), {}, r"argument 0 \(y\) of saxpy is float\*, got str"),
    ]
    for args, named, message in wrong:
        with pytest.raises(ArgumentError, match=message):
            saxpy(*args, **named)
    assert len(driver.launches) == 2


def test_shapes_sizes_and_functions(store, driver):
    """All that an expression can have, in two dimensions and with shared memory."""
    array = InterfaceArray(0x1000)
    array.__cuda_array_interface__["shape"] = (5, 40)
    store.get_kernel("wide")(array, 9)
    assert shape_of(driver) == ((5, 10, 1), (64 % 33, 1, 1), 32)


def test_the_rule_of_a_template_and_of_a_pattern(store, driver):
    """A pattern's rule has the values of each instance, those that the manifest does not list included."""
    array = InterfaceArray(0x1000)
    array.__cuda_array_interface__["shape"] = (1000,)
    for name, block in (("sum<float, 128>", 128), ("sum< float,256 >", 256), ("sum<double, 64>", 64)):
        array.__cuda_array_interface__["typestr"] = "<f8" if "double" in name else "<f4"
        store.get_kernel(name)(array, 0x20)
        assert shape_of(driver) == ((-(-1000 // block), 1, 1), (block, 1, 1), 0)
        found = {number: data[:4] for number, data in driver.configs[-1].attributes.items()}
        assert found == {4: b"\2\0\0\0", 6: b"\1\0\0\0", 8: b"\xff\xff\xff\xff"}
    store.get_kernel("plain")()
    assert shape_of(driver) == ((3, 1, 1), (32, 1, 1), 0)


def test_an_empty_batch_does_nothing(store, driver):
    """A grid of zero blocks launches nothing, and arguments are checked all the same."""
    saxpy = store.get_kernel("saxpy")
    saxpy(None, None, 0, 2.0)
    assert driver.launches == []
    with pytest.raises(ArgumentError, match=r"argument 3 \(a\) of saxpy is float, got str"):
        saxpy(None, None, 0, "2")


def test_what_gives_no_size(store, driver):
    """A negative grid, an argument without a shape, a division by zero: each says which rule."""
    saxpy, wide = store.get_kernel("saxpy"), store.get_kernel("wide")
    with pytest.raises(LaunchError, match=r"saxpy: grid must be one to three integers that are not negative, got -3"):
        saxpy(None, None, -1000, 2.0)
    with pytest.raises(LaunchError, match=r"wide: its launch \(grid \(x.shape\[0\], .* NoneType has no shape"):
        wide(None, 9)
    with pytest.raises(LaunchError, match=r"saxpy: its launch \(grid ceil_div\(n, 256\), block 256\) cannot be"):
        saxpy(None, None, "many", 2.0)
    assert driver.launches == []


def test_a_kernel_without_a_rule_says_so(store):
    """And how to call it."""
    with pytest.raises(LaunchError, match=r"bare has no grid: .* under launch:; call bare\[grid, block\]\(\.\.\.\)"):
        store.get_kernel("bare")(None)


def test_threads_share_a_call(store, driver):
    """The first call makes the function; several threads may do so at once."""
    saxpy, barrier = store.get_kernel("saxpy"), threading.Barrier(8)

    def work():
        driver.context = 7
        barrier.wait()
        for n in range(1, 200):
            saxpy(0x10, 0x20, n, 2.0)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(driver.launches) == 8 * 199


EVIL = ["__import__('os').system('true')", "n if n else 1", "(lambda: 1)()", "a.__class__", "[n][0]", "n ** n", "m", ""]


@pytest.mark.parametrize("text", EVIL)
def test_a_foreign_store_runs_no_code(folder, driver, fresh_cache, tmp_path, text):
    """What no build writes is refused, and never reaches Python."""
    shutil.copytree(folder, tmp_path / "foreign")
    path = tmp_path / "foreign" / "m" / "index.json"
    data = json.loads(path.read_text())
    data["launch"][0]["grid"] = [text]
    path.write_text(json.dumps(data))
    with pytest.raises(LaunchError, match=r"saxpy has an unusable launch rule .*; reinstall its package"):
        open_store(tmp_path / "foreign").get_kernel("saxpy")(1, 2, 3, 4.0)
    data["launch"][0]["grid"] = text
    path.write_text(json.dumps(data))
    with pytest.raises(StoreError, match=r"launch\[0\].grid is missing or damaged"):
        open_store(tmp_path / "foreign").get_kernel("saxpy")


def test_inspect_shows_how_kernels_are_called(folder, capsys):
    """As text, and as data with the names of the parameters."""
    assert main(["inspect", str(folder)]) == 0
    assert "    saxpy(y, x, n, a) has grid ceil_div(n, 256), block 256\n" in capsys.readouterr().out
    assert main(["inspect", str(folder), "--json"]) == 0
    kernels = json.loads(capsys.readouterr().out)["modules"]["m"]["kernels"]
    assert kernels["saxpy"]["launch"] == {"names": ["y", "x", "n", "a"], "sizes": "grid ceil_div(n, 256), block 256"}
    assert "launch" not in kernels["bare"]


def test_a_rule_that_counts_other_parameters_fails_the_build(make_project, tmp_path):
    """A pack of parameters has one name in the source, and more in the image."""
    from hatch_cuda_kernels.errors import BuildError

    manifest = """
    schema: 1
    arches: [sm_90]
    modules:
      m: {source: m.cu, instances: ["many<int, int>"], launch: {many: {grid: 1, block: 1}}}
    """
    source = "template <class... T> __global__ void many(T... all) {}"
    root = make_project(manifest, **{"m.cu": source})
    with pytest.raises(BuildError, match=r"the launch rule of 'many' counts 1 parameters .*'many<int,int>' has 2"):
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
