"""Packing launch arguments: layout, conversion, and errors that say which argument and what was expected."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from hatch_cuda_kernels.errors import ArgumentError
from hatch_cuda_kernels.runtime.launch.arguments import Signature
from hatch_cuda_kernels.runtime.launch.shapes import Slot


@pytest.fixture(autouse=True)
def _one_device(driver):
    """Let there be a device, which is not asked anything."""


class DeviceArray:
    """An array on a device, as far as packing can see."""

    def __init__(self, address):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (1,), "typestr": "<f4", "version": 3}


class Record:
    """Something with a handle, as buffers of cuda.core and CUdeviceptr are."""

    handle = 0x99


def test_layout_follows_alignment():
    """Each parameter stands at the next multiple of its alignment."""
    packer = Signature("k", ("u8", "u64", "f32", "b8[16]:8", "u16", "f64"))
    packed = packer.pack((1, 2, 3.0, bytes(range(16)), 4, 5.0))
    assert packed == struct.pack("<B7xQf4x16sH6xd", 1, 2, 3.0, bytes(range(16)), 4, 5.0)
    assert packer.layout.size == 56


ACCEPTED = [
    ("u64", DeviceArray(0x1234), 0x1234),
    ("ptr", None, 0),
    ("u64", 7, 7),
    ("u64", np.int64(-1), 2**64 - 1),
    ("u64", Record(), 0x99),
    ("u32", -1, 2**32 - 1),
    ("u32", 2**32 - 1, 2**32 - 1),
    ("u32", True, 1),
    ("u32", np.int32(-5), 2**32 - 5),
    ("u32", np.uint8(5), 5),
    ("u8", True, 1),
    ("u8", np.bool_(True), 1),
    ("u16", np.int16(-2), 2**16 - 2),
]


@pytest.mark.parametrize(("param", "arg", "expected"), ACCEPTED)
def test_integers_and_pointers(param, arg, expected):
    """Python and numpy integers of either sign, arrays, addresses and None become the parameter's bits."""
    packer = Signature("k", (param,))
    assert int.from_bytes(packer.pack((arg,)), "little") == expected


@pytest.mark.parametrize("arg", [3, 3.0, True, np.float32(3), np.float64(3), np.int8(3), np.float16(3)])
def test_floats_take_any_number(arg):
    """A float parameter takes integers and floats of Python and numpy."""
    assert Signature("k", ("f32",)).pack((arg,)) == struct.pack("<f", float(arg))


def test_structs_by_value():
    """Structs come as bytes, as numpy records, and half as a numpy scalar."""
    record = np.zeros((), np.dtype([("a", "<i4"), ("b", "<f4")], align=True))
    record["a"], record["b"] = 7, 2.5
    packer = Signature("k", ("b8[8]:4",))
    assert packer.pack((record,)) == packer.pack((record[()],)) == packer.pack((struct.pack("<if", 7, 2.5),))
    assert Signature("k", ("b8[2]:2",)).pack((np.float16(1.5),)) == np.float16(1.5).tobytes()


REFUSED = [
    (("f32",), (DeviceArray(1),), r"argument 0 of k must be a float \(f32\), got .*DeviceArray.*an array was passed"),
    (("u64", "u32"), (1, 1.5), r"argument 1 of k must be a 32-bit integer \(u32\), got 1.5 \(float\): not an integer"),
    (("ptr",), (-1,), r"argument 0 of k must be a pointer or array \(ptr\), got -1 \(int\): not an address"),
    (("u32",), (2**32,), r"argument 0 of k must be a 32-bit integer \(u32\), got 4294967296 \(int\)"),
    (("u32",), (-(2**31) - 1,), r"not in the range of -2147483648 to 4294967295"),
    (
        ("u64",),
        ("text",),
        r"argument 0 of k must be a 64-bit integer, pointer or array \(u64\), got str: not an address",
    ),
    (("u64",), (1.0,), r"argument 0 of k .* got 1.0 \(float\): not an address"),
    (("u64",), (object(),), r"got object: neither an array, nor an address, nor None"),
    (("f32",), ("1.0",), r"argument 0 of k must be a float \(f32\), got str"),
    (("f32",), (1e300,), r"argument 0 of k must be a float \(f32\), got 1e\+300"),
    (("b8[16]:8",), (bytes(8),), r"must be a struct of 16 bytes \(b8\[16\]:8\), got bytes: 8 bytes instead of 16"),
    (("u64", "f32"), (1,), r"k takes 2 arguments \(u64, f32\), got 1"),
    ((), (1,), r"k takes 0 arguments \(\), got 1"),
]


@pytest.mark.parametrize(("params", "args", "message"), REFUSED)
def test_misfits_are_named(params, args, message):
    """A wrong count, kind or range names the kernel, the position and the expected type."""
    with pytest.raises(ArgumentError, match=message):
        Signature("k", params).pack(args)


def test_a_slot_describes_its_buffer_to_the_driver():
    """The ``extra`` array names buffer and size as cuLaunchKernel reads them."""
    import ctypes

    slot = Slot(24)
    extra = (ctypes.c_void_p * 5).from_address(slot.extra)
    assert (extra[0], extra[1], extra[2], extra[4]) == (1, ctypes.addressof(slot.buffer), 2, None)
    assert ctypes.c_size_t.from_address(extra[3]).value == 24
    assert Slot(0).extra == 0
