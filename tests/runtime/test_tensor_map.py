"""Tensor maps: the driver's rules, each with value and limit, and maps as arguments of launches."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import pytest
from device_arrays import DlpackArray, InterfaceArray, array_on

from hatch_cuda_kernels import compile_to_cubin, open_store, tensor_map
from hatch_cuda_kernels.errors import ArgumentError, DriverError, LaunchError

SOURCE = """
struct alignas(64) Map { unsigned long long opaque[16]; };
extern "C" __global__ void copy(const __grid_constant__ Map from, int n, const __grid_constant__ Map to) {}
extern "C" __global__ void plain(float* y) { *y = 1; }
"""


@pytest.fixture
def kernels(driver, fresh_cache):
    """Return kernels that take maps, on an imitated driver with two devices."""
    driver.devices = 2
    return compile_to_cubin(SOURCE, arch="sm_90")


def matrix(shape=(256, 512), *, address=0x1000, typestr="<f4", strides=None, stream=None, mask=None):
    """Return an array by the interface."""
    return InterfaceArray(address, stream, shape, typestr, strides, mask)


@pytest.mark.slow
def test_the_driver_counts_dimensions_from_the_last(driver):
    """Extents, strides in bytes without the last dimension's, and the tile are turned around."""
    tensor_map(matrix((7, 256, 512)), box=(1, 64, 32), element_strides=(1, 2, 1), swizzle="128B", l2_promotion="256B")
    assert driver.maps == [(7, 0x1000, [512, 256, 7], [2048, 524288], [32, 64, 1], [1, 2, 1], 0, 3, 3, 0)]


TYPES = {
    "<f4": 7,
    "<f2": 6,
    "<f8": 8,
    "|u1": 0,
    "|i1": 0,
    "<i4": 3,
    "<u2": 1,
    "<i2": 1,
    "<i8": 5,
    "<c8": 4,
    "|b1": 0,
    ">f4": 2,
}


@pytest.mark.parametrize(("typestr", "number"), TYPES.items())
def test_element_types(driver, typestr, number):
    """Each has the driver's type, or the unsigned integer of its size."""
    tensor_map(matrix((16, 64), typestr=typestr), box=(4, 16))
    assert driver.maps[0][0] == number


def test_other_arrays(driver):
    """Torch's and DLPack's, with strides of their own."""
    torch = pytest.importorskip("torch")
    from hatch_cuda_kernels.runtime.launch.tensor_maps import view_of

    tensor = torch.ones(8, 64, dtype=torch.bfloat16)[:, :32]
    assert view_of(tensor) == ((8, 32), (128, 2), "bfloat16", 2)
    capsule = SimpleNamespace(__dlpack__=tensor.__dlpack__, __dlpack_device__=tensor.__dlpack_device__)
    capsule.__dlpack__ = lambda stream: tensor.__dlpack__()
    assert view_of(capsule) == ((8, 32), (128, 2), "bfloat16", 2)
    assert driver.maps == []


def test_an_extent_of_one_has_any_stride(driver):
    """Its stride says nothing, so the driver gets one that it takes."""
    tensor_map(matrix((1, 6, 1, 4), strides=(4, 16, 3, 4)), box=(1, 2, 1, 4))
    assert driver.maps[0][3] == [16, 16, 96]


REFUSED = [
    ({"array": matrix(address=0x1008)}, "the address 0x1008 must be a multiple of 16, and not null"),
    ({"array": matrix(address=0)}, "the address 0x0 must be a multiple of 16, and not null"),
    (
        {"array": matrix((8, 10))},
        "the stride of dimension 0 is 40 bytes, and must be a multiple of 16 below 2**40; pad the rows",
    ),
    ({"array": matrix((8, 8), strides=(1 << 40, 4))}, "the stride of dimension 0 is 1099511627776 bytes"),
    ({"array": matrix((8, 8), strides=(-32, 4))}, "the stride of dimension 0 is -32 bytes"),
    (
        {"array": matrix((8, 8), strides=(64, 8))},
        "elements of the last dimension are 8 bytes apart, and must be next",
    ),
    ({"array": matrix((0, 512))}, "an extent of 0: there must be 1 to 2**32 elements"),
    ({"array": matrix(((1 << 32) + 1, 512))}, "an extent of 4294967297: there must be 1 to 2**32 elements"),
    ({"array": matrix((2,) * 6), "box": (1,) * 6}, "the array has 6 dimensions: there must be 1 to 5"),
    ({"array": matrix(())}, "the array has 0 dimensions: there must be 1 to 5"),
    ({"box": (64,)}, "box (64,) has 1 sizes for 2 dimensions"),
    ({"element_strides": (1, 1, 1)}, "element_strides (1, 1, 1) has 3 sizes for 2 dimensions"),
    ({"box": (257, 32)}, "a box of 257: there must be 1 to 256"),
    ({"box": (0, 32)}, "a box of 0: there must be 1 to 256"),
    ({"box": (4, 33)}, "the last size of the box is 132 bytes, and must be a multiple of 16"),
    ({"box": (64, 64), "swizzle": "128B"}, "the last size of the box is 256 bytes: swizzle 128B takes at most 128"),
    ({"box": (64, 16), "swizzle": "32B"}, "the last size of the box is 64 bytes: swizzle 32B takes at most 32"),
    ({"element_strides": (9, 1)}, "an element stride of 9: there must be 1 to 8"),
    ({"interleave": "16B"}, "the array has 2 dimensions: there must be 3 to 5"),
    (
        {"array": matrix((4, 4, 4), address=0x1010), "box": (1, 1, 4), "interleave": "32B"},
        "a multiple of 32, and not null; the stride of dimension 1 is 16 bytes, and must be a multiple of 32 below",
    ),
    (
        {"array": matrix((4, 4, 8)), "box": (1, 1, 4), "interleave": "32B"},
        "interleave 32B needs swizzle 32B, not None",
    ),
    ({"swizzle": "256B"}, "swizzle '256B' is not one of None, '32B', '64B', '128B', '128B_ATOM_32B'"),
    ({"oob_fill": "ones"}, "oob_fill 'ones' is not one of 'zero', 'nan'"),
    ({"array": matrix(typestr="<i4"), "oob_fill": "nan"}, "oob_fill 'nan' is for floating-point types, not for int32"),
    ({"data_type": "float16"}, "data_type float16 has 2 bytes, the array's float32 4"),
    ({"array": matrix(typestr="<c16")}, "data_type 'complex128' is not one of 'uint8'"),
    ({"array": matrix(mask=matrix())}, "it has a mask, which a kernel does not see; pass the data and the mask as two"),
    ({"array": object()}, "neither a tensor, nor an array with __cuda_array_interface__ or DLPack"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=range(len(REFUSED)))
def test_broken_rules_are_named(driver, changes, message):
    """The driver would say INVALID_VALUE; the error has every rule that is broken."""
    given = {"array": matrix(), "box": (64, 32)} | changes
    with pytest.raises(ArgumentError, match="no tensor map of") as caught:
        tensor_map(given.pop("array"), **given)
    assert message in str(caught.value)
    assert driver.maps == []


def test_a_device_without_tma_says_so(driver):
    """By its compute capability."""
    driver.capability = (8, 6)
    with pytest.raises(LaunchError, match=r"device 0 has compute capability 8\.6, and TMA needs 9\.0"):
        tensor_map(matrix(), box=(64, 32))


def test_what_the_driver_refuses_all_the_same(driver, monkeypatch):
    """Its error is handed on."""
    monkeypatch.setattr(driver, "cuTensorMapEncodeTiled", lambda *_: 1)
    monkeypatch.setattr(
        driver, "CUresult", lambda code: next(member for member in type(driver).CUresult if member == code)
    )
    with pytest.raises(DriverError, match="cuTensorMapEncodeTiled failed with CUDA_ERROR_INVALID_VALUE"):
        tensor_map(matrix(), box=(64, 32))


@pytest.mark.slow
def test_a_map_is_passed_by_value(kernels, driver):
    """As the bytes that the driver made, by address: where in a buffer they would be, the architecture decides."""
    first, second = tensor_map(matrix(), box=(64, 32)), tensor_map(matrix(), box=(32, 32))
    for _ in range(3):
        kernels.get_kernel("copy")[1, 32](first, 5, second)
        assert driver.launches[-1][2] == b"\1" * 128 + b"\5\0\0\0" + b"\2" * 128
    assert repr(first) == "<TensorMap float32 (256, 512), box (64, 32)>"
    assert (first.shape, first.tobytes()) == ((256, 512), b"\1" * 128)


@pytest.mark.slow
def test_the_array_of_a_map_is_one_of_the_launch(example_store, kernels, driver):
    """Its stream comes before the launch, its device is that of the launch, and two devices are refused."""
    copy = kernels.get_kernel("copy")
    here = tensor_map(array_on(driver, 0, stream=5, shape=(64, 64)), box=(8, 8))
    copy[1, 32](here, 1, here)
    assert driver.launches[-1][0] == 5
    go = copy.bind(1, 32, (here, 1, here))
    go()
    assert driver.launches[-1][0] == 5
    there = tensor_map(array_on(driver, 1, shape=(64, 64)), box=(8, 8))
    with pytest.raises(ArgumentError, match="on several devices: argument 0 on device 0, argument 2 on device 1"):
        copy[1, 32](here, 1, there)


@pytest.mark.slow
def test_a_map_launches_on_the_device_of_its_array(driver, fresh_cache, make_project, tmp_path):
    """Whichever device is current."""
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    root = make_project("{schema: 1, arches: [sm_90], modules: {m: {source: m.cu}}}", **{"m.cu": SOURCE})
    build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    driver.devices = 2
    copy = open_store(tmp_path / "out").get_kernel("copy")
    there = tensor_map(array_on(driver, 1, shape=(64, 64)), box=(8, 8))
    copy[1, 32](there, 1, there)
    copy.bind(1, 32, (there, 1, there))()
    assert (driver.launched_in, driver.context) == ([17, 17], 7)


@pytest.mark.slow
def test_a_map_keeps_its_array(kernels, driver):
    """Also when only a bound launch holds the map."""
    array = matrix()
    alive = weakref.ref(array)
    go = kernels.get_kernel("copy").bind(1, 32, (tensor_map(array, box=(8, 8)), 1, bytes(128)))
    del array
    gc.collect()
    go()
    assert alive() is not None


def test_a_map_keeps_what_its_array_exports(driver):
    """The memory may be the capsule's alone."""
    freed = []
    found = tensor_map(DlpackArray(shape=(64, 64), freed=lambda: freed.append(0)), box=(8, 8))
    assert len(freed) == 1  # of the capsule that told the shape
    del found
    assert len(freed) == 2


@pytest.mark.slow
def test_an_array_that_moved_is_refused(kernels, driver):
    """A map of memory that the array no longer has must not be used."""
    array = matrix()
    found = tensor_map(array, box=(8, 8))
    array.__cuda_array_interface__["data"] = (0x9000, False)
    with pytest.raises(
        ArgumentError, match=r"argument 0 .* of copy .* the array's memory has moved since the tensor map"
    ):
        kernels.get_kernel("copy")[1, 32](found, 1, found)


@pytest.mark.slow
def test_a_map_is_no_pointer(kernels, driver):
    """For a pointer parameter it says what it is for."""
    with pytest.raises(ArgumentError, match="a tensor map is passed by value, for const __grid_constant__ CUtensorMap"):
        kernels.get_kernel("plain")[1, 32](tensor_map(matrix(), box=(8, 8)))
    assert driver.launches == []
