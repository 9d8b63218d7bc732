"""Modules and kernels with the methods of CuPy's: what CuPy takes is taken, and arrives as the kernel reads it."""

from __future__ import annotations

import pickle
import struct
import sys
import types

import numpy as np
import pytest
from fake_cupy import MemoryPointer, TextureObject, UnownedMemory, ndarray, stand_in
from shared import make_once

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import ArgumentError, InputError, KernelNotFoundError, LaunchError
from hatch_cuda_kernels.manifest import load_manifest

MANIFEST = """
schema: 1
arches: [sm_90]
modules:
  "take_{IN}":
    source: take.cu
    matrix: {IN: [float, double]}
    options: {define: {IN: "{IN}"}}
    globals: [listed]
    instances: ["fill<IN>"]
"""
SOURCE = """
struct Pair { float a; int b; };
struct Whole { double re, im; };
struct Two { IN* data; long long size, shape, stride; };
__constant__ float listed[9];
__constant__ float used[9];
extern "C" __global__ void take(IN* y, int i, unsigned u, float f, double d, bool b, float2 c, Pair p, Whole w,
                                unsigned long long t) {
    *y = i + u + f + d + b + c.x + p.a + p.b + w.im + t + used[i] + listed[i];
}
extern "C" __global__ void whole(Two array) { *array.data = array.size; }
template <class T> __global__ void fill(T* y) { *y = 1; }
"""
LAYOUT = struct.Struct("<Q iI f4x d ?3x4x 2f fi 2d Q".replace(" ", ""))
PAIR = np.array([(2.5, 3)], dtype=[("a", "f4"), ("b", "i4")])
#: An argument for each parameter, and what the kernel reads.
USUAL = (ndarray(0x40), 1, 2, 3.0, 4.0, True, 5 + 6j, PAIR[0], 7 + 8j, 9)
READ = (0x40, 1, 2, 3.0, 4.0, True, 5.0, 6.0, 2.5, 3, 7.0, 8.0, 9)
AT = {name: at for at, name in enumerate("yiufdbcpwt")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, slow):
    """Return a store, built once."""

    def make(folder):
        (folder / "kernels.yaml").write_text(MANIFEST)
        (folder / "take.cu").write_text(SOURCE)
        build_store(load_manifest(folder / "kernels.yaml"), folder / "p" / "_kernels")

    return make_once(tmp_path_factory, "cupy_store", make) / "p"


@pytest.fixture
def cupy(monkeypatch):
    """Return a stand-in for CuPy."""
    found = stand_in()
    monkeypatch.setitem(sys.modules, "cupy", found)
    return found


@pytest.fixture
def module(folder, driver, cupy, fresh_cache):
    """Return the module for floats."""
    return open_store(folder).cupy_module("take", IN="float")


@pytest.fixture
def take(module):
    """Return its first kernel."""
    return module.get_function("take")


def read(driver):
    """Return what the last launch was given."""
    return LAYOUT.unpack(driver.launches[-1][2])


def test_a_call_is_rawkernels(take, driver, cupy):
    """Grid, block and arguments in tuples, keywords, CuPy's current stream, and sizes that CuPy makes whole."""
    take((2,), (32, 2), USUAL)
    assert read(driver) == READ
    assert driver.launches[-1][0] == 5
    cupy.cuda.current = 6
    take((2, 3, 4, 5), (0,), list(USUAL), shared_mem=64)
    assert driver.launches[-1][0] == 6
    config = driver.configs[-1]
    assert ([*config.grid], [*config.block], config.sharedMemBytes) == ([2, 3, 4], [1, 1, 1], 64)
    take((1,), (1,), USUAL, stream=types.SimpleNamespace(ptr=7))
    assert driver.launches[-1][0] == 7


SAME = [
    ("y", None, 0),
    ("y", MemoryPointer(UnownedMemory(0x50, 4, None, 0), 2), 0x52),
    ("y", ndarray(0x60, dtype="f8"), 0x60),
    ("y", np.array([0x70], "u8"), 0x70),
    ("i", np.int32(-3), -3),
    ("i", np.uint32(0xFFFFFFFF), -1),
    ("i", np.array([[4]], "i4"), 4),
    ("i", np.int64(5), 5),
    ("i", None, 0),
    ("i", True, 1),
    ("u", -1, 0xFFFFFFFF),
    ("u", np.int32(-2), 0xFFFFFFFE),
    ("u", np.int8(7), 7),
    ("f", np.float32(1.5), 1.5),
    ("f", np.float64(2.5), 2.5),
    ("f", 7, 7.0),
    ("f", np.array(0.5, "f4"), 0.5),
    ("d", np.float32(1.5), 1.5),
    ("d", None, 0.0),
    ("b", np.bool_(False), False),
    ("b", 0, False),
    ("c", np.complex64(1 - 2j), (1.0, -2.0)),
    ("c", np.complex128(1 - 2j), (1.0, -2.0)),
    ("c", np.array([3 + 4j], "c8"), (3.0, 4.0)),
    ("p", PAIR, (2.5, 3)),
    ("w", np.complex128(1j), (0.0, 1.0)),
    ("t", TextureObject(), 0x77),
    ("t", ndarray(0x90), 0x90),
    ("t", -1, (1 << 64) - 1),
]


@pytest.mark.parametrize(("name", "arg", "value"), SAME, ids=[f"{one[0]}-{type(one[1]).__name__}" for one in SAME])
def test_what_cupy_takes_arrives(take, driver, name, arg, value):
    """As CuPy passes it where that is right, and as it is meant where CuPy would pass bytes of another width."""
    take((1,), (1,), (*USUAL[: AT[name]], arg, *USUAL[AT[name] + 1 :]))
    found = dict(zip("yiufdbcpwt", _grouped(read(driver)), strict=True))
    assert found[name] == value


def _grouped(values):
    y, i, u, f, d, b, *rest = values
    return y, i, u, f, d, b, (*rest[:2],), (*rest[2:4],), (*rest[4:6],), rest[6]


REFUSED = [
    ("i", 1.5, r"argument 1 \(i\) of take is int, got 1.5 \(float\): not an integer"),
    ("i", 1 << 40, r"argument 1 \(i\) of take is int, got .*: not in the range"),
    ("i", TextureObject(), r"argument 1 \(i\) of take is int, got fake_cupy.TextureObject: not an integer"),
    ("f", ndarray(0x40, ()), r"argument 3 \(f\) of take is float, got fake_cupy.ndarray"),
    ("d", MemoryPointer(UnownedMemory(0x50, 4, None, 0), 2), r"argument 4 \(d\) of take is double, got fake_cupy.Mem"),
    ("y", np.zeros(3), r"argument 0 \(y\) of take"),
    ("p", np.float32(1), r"argument 7 \(p\) of take is Pair, got numpy.float32: 4 bytes instead of 8"),
    ("w", "text", r"argument 8 \(w\) of take is Whole"),
]


@pytest.mark.parametrize(("name", "arg", "says"), REFUSED)
def test_what_cupy_would_pass_wrongly_is_named(take, driver, name, arg, says):
    """A launch that reads other bytes than were meant does not take place."""
    with pytest.raises(ArgumentError, match=says):
        take((1,), (1,), (*USUAL[: AT[name]], arg, *USUAL[AT[name] + 1 :]))
    assert driver.launches == []


def test_too_few_arguments_are_an_error_and_too_many_a_warning(take, driver):
    """CuPy takes both; what is missing would be read from anywhere, and nobody reads what is too much."""
    with pytest.raises(ArgumentError, match="take takes 10 arguments"):
        take((1,), (1,), USUAL[:-1])
    with pytest.warns(RuntimeWarning, match="take takes 10 arguments, got 11; the last ones are not passed, as with"):
        take((1,), (1,), (*USUAL, 1))
    assert read(driver) == READ


def test_an_array_by_value_is_cupys_own(module, driver):
    """A parameter like CuPy's CArray gets address, size, shape and strides."""
    whole = module.get_function("whole")
    whole((1,), (1,), (ndarray(0x40, (6,)),))
    assert struct.unpack("<4q", driver.launches[-1][2]) == (0x40, 6, 6, 4)
    with pytest.raises(ArgumentError, match=r"argument 0 \(array\) of whole is Two"):
        whole((1,), (1,), (ndarray(0x40, (2, 3)),))


def test_attributes_are_rawkernels(take, driver):
    """All are there under CuPy's names; the two that CUDA lets be set can be."""
    assert [*take.attributes] == [
        "max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes", "num_regs", "ptx_version",
        "binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes", "preferred_shared_memory_carveout",
    ]  # fmt: skip
    assert (take.num_regs, take.max_threads_per_block, take.name, take.__name__) == (32, 1024, "take", "take")
    assert take.attributes["cache_mode_ca"] == -1
    take.max_dynamic_shared_size_bytes = 100 << 10
    take.preferred_shared_memory_carveout = 50
    assert (take.max_dynamic_shared_size_bytes, take.attributes["preferred_shared_memory_carveout"]) == (100 << 10, 50)
    with pytest.raises(AttributeError, match="num_regs of a kernel cannot be set"):
        take.num_regs = 3


def test_a_template_is_found_by_its_name_expression(module, driver):
    """Spaces do not matter."""
    fill = module.get_function("fill< IN >")
    fill((1,), (1,), (ndarray(0x40),))
    assert driver.launches[-1][1].startswith(b"_Z4fillIfEvPT_")
    with pytest.raises(KernelNotFoundError, match="nothing"):
        module.get_function("nothing")


@pytest.mark.parametrize("name", ["listed", "used"])
def test_a_variable_is_a_memory_pointer(module, driver, name):
    """It has its size, and needs no entry in the manifest if a kernel uses it."""
    pointer = module.get_global(name)
    assert (pointer.ptr, pointer.mem.size, pointer.mem.device_id) == (0x1000, 36, 0)
    with pytest.raises(KernelNotFoundError):
        module.get_global("nothing")


def test_cooperative_launches_fit_the_device(folder, driver, cupy, fresh_cache):
    """As in CuPy, a longer grid is cut, with a warning, and one of several dimensions is refused."""
    module = open_store(folder).cupy_module("take", IN="float", enable_cooperative_groups=True)
    fill = module.get_function("fill<IN>")
    fill((4,), (1024,), (ndarray(0x40),))
    assert driver.configs[-1].attributes == {2: (1).to_bytes(64, "little")}
    for _ in range(2):  # another time, the current device may be another one
        with pytest.warns(RuntimeWarning, match="at most 264 blocks of a cooperative grid run at a time, and not 300"):
            fill((300,), (1024,), (ndarray(0x40),))
    assert [*driver.configs[-1].grid] == [264, 1, 1]
    with pytest.raises(LaunchError, match=r"a cooperative grid of \(300, 2, 1\) blocks: at most 264 run at a time"):
        fill((300, 2), (1024,), (ndarray(0x40),))


def test_modules_and_kernels_are_pickled(take, driver):
    """Another process opens the store, and loads the kernel, as CuPy compiles it there."""
    again = pickle.loads(pickle.dumps(take))
    again((1,), (1,), USUAL)
    assert read(driver) == READ
    assert repr(again) == "<CupyKernel take of 'take_float'>"


def test_without_cupy_it_says_what_to_install(folder, driver, monkeypatch):
    """Only who asks for the module needs it."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(InputError, match=r"cupy_module needs CuPy, .*\n  to fix: .* cupy-cuda1[23]x"):
        open_store(folder).cupy_module("take", IN="float")
