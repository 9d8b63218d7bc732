"""Arguments checked by the C++ types of the parameters; errors say which one, what it is, and what was given."""

from __future__ import annotations

import ctypes
import math
import shutil
import struct
import sys
import types

import numpy as np
import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.errors import ArgumentError
from hatch_cuda_kernels.runtime.launch.arguments import Signature


@pytest.fixture(autouse=True)
def _one_device(driver):
    """Let there be a device, which is not asked anything."""


class Array:
    """An array by the CUDA array interface."""

    def __init__(self, typestr="<f4", *, read_only=False, **more):
        data = {"data": (4096, read_only), "shape": (1,), "typestr": typestr, "version": 3}
        self.__cuda_array_interface__ = data | more


class Capsule:
    """An array by DLPack alone, with its type code, bits and lanes."""

    def __init__(self, code, bits, lanes=1):
        self._tensor = struct.pack("<QiiiBBHQQQ", 4096, 2, 0, 1, code, bits, lanes, 0, 0, 0)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(self._tensor, b"dltensor", None)


class JaxCapsule(Capsule):
    """One that takes -1 for the address of a stream, which is not there."""

    def __dlpack__(self, *, stream=None):
        if stream is not None:
            raise RuntimeError("INTERNAL: CUDA error: CUDA_ERROR_INVALID_HANDLE")
        return super().__dlpack__(stream=stream)


def cupy(dtype):
    """Return an array of CuPy's on device 0."""
    members = {"data": types.SimpleNamespace(ptr=4096, device_id=0), "dtype": np.dtype(dtype)}
    return type("ndarray", (), {"__module__": "cupy", **members})()


def packed(kind, type_, arg):
    """Return the bytes of one argument for a parameter ``y`` of ``saxpy``."""
    return Signature("saxpy", [kind], [type_], ["y"]).pack((arg,))


POINTERS = [
    ("float*", Array()),
    ("const float*", Array(read_only=True)),
    ("long*", Array("<i8")), ("long long*", Array("<i8")), ("unsigned long long*", Array("<u8")),
    ("unsigned int*", Array("<i4")), ("unsigned long long*", Array("<i8")),
    ("bool*", Array("|b1")), ("signed char*", Array("|i1")),
    ("__half*", Array("<f2")), ("__half2*", Array("<f2")),
    ("float2*", Array("<c8")), ("float2*", Array("<f4")), ("float4*", Array("<f4")), ("int4*", Array("<i4")),
    ("cuda::std::complex<double>*", Array("<c16")), ("thrust::complex<float>*", Array("<c8")),
    ("c10::Half*", Array("<f2")), ("c10::complex<float>*", Array("<c8")), ("c10::BFloat16*", Capsule(4, 16)),
    ("void*", Array("<f8")), ("char*", Array("<f8")), ("unsigned char*", Array("<f8")), ("const void*", Array("<f8")),
    ("ns::Params*", Array("<f8")), ("float**", Array("<u8")), ("float*", Array("|V12")), ("float*", 4096),
    ("float*", None),
    ("float*", Capsule(2, 32)), ("__nv_bfloat16*", Capsule(4, 16)), ("__nv_fp8_e4m3*", Capsule(10, 8)),
    ("bool*", Capsule(6, 8)), ("float2*", Capsule(5, 64)), ("float*", Capsule(9, 8)),
    ("float*", Capsule(0, 8)),  # memory, as cuda.core gives it
    ("float*", JaxCapsule(2, 32)),
    ("float2*", Capsule(2, 32, 2)), ("const int4*", Capsule(0, 32, 4)), ("void*", Capsule(2, 32, 2)),
    ("void*", Array(">f4")), ("signed char*", Array(">i1")), ("float*", Array(mask=None)),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "array"), POINTERS)
def test_pointers_take_arrays_of_their_elements(type_, array):
    """Memory without a type takes anything, and so does a pointer to what arrays do not have."""
    assert packed("u64", type_, array) == struct.pack("<Q", 0 if array is None else 4096)


MISMATCHES = [
    ("float*", Array("<f8"), r"float\*, got .*Array of float64"),
    ("const float*", Array("<i4"), r"const float\*, got .*Array of int32"),
    ("int*", Array("<u4"), r"int\*, got .*Array of uint32"),
    ("unsigned int*", Array("<i8"), r"unsigned int\*, got .*Array of int64"),
    ("__half*", Array("<f4"), r"__half\*, got .*Array of float32"),
    ("const c10::Half*", Array("<f4"), r"const c10::Half\*, got .*Array of float32"),
    ("c10::complex<double>*", Array("<c8"), r"c10::complex<double>\*, got .*Array of complex64"),
    ("__nv_bfloat16*", Array("<f2"), r"__nv_bfloat16\*, got .*Array of float16"),
    ("float2*", Array("<c16"), r"float2\*, got .*Array of complex128"),
    ("float*", Array("<f16"), r"float\*, got .*Array of float128$"),
    ("double2*", Array("<c32"), r"double2\*, got .*Array of complex256$"),
    ("double*", Capsule(2, 128), r"double\*, got .*Capsule of float128$"),
    ("float*", Capsule(2, 64), r"float\*, got .*Capsule of float64"),
    ("float*", Capsule(4, 16), r"float\*, got .*Capsule of bfloat16"),
    ("float*", cupy("f8"), r"float\*, got a cupy.ndarray of float64"),
    ("float*", Array(read_only=True), r"float\*, got a read-only .*Array: pass one that may be written, or declare it"),
    ("void*", Array(read_only=True), r"void\*, got a read-only"),
    ("const float**", Array("<u8", read_only=True), r"const float\*\*, got a read-only"),
    ("float*", -1, r"float\*, got -1 \(int\): not an address"),
    ("float*", Array(">f4"), r"float\*, got .*Array of big-endian float32$"),
    ("const int*", Array(">i4"), r"const int\*, got .*Array of big-endian int32$"),
    ("float*", cupy(">f4"), r"float\*, got a cupy.ndarray of big-endian float32$"),
    ("int*", Array("|O"), r"int\*, got .*Array of Python objects$"),
    ("float*", Array(mask=Array("|b1")), r"float\*, got .*Array: it has a mask, which a kernel does not see; pass the"),
    ("void*", Array(mask=Array("|b1")), r"void\*, got .*Array: it has a mask"),
    ("float*", np.ma.array([1, 2], "f4", mask=[0, 1]), r"float\*, got numpy.*Array: it has a mask"),
    ("float*", Capsule(2, 32, 2), r"float\*, got .*Capsule of float32 x 2$"),
    ("float4*", Capsule(2, 32, 2), r"float4\*, got .*Capsule of float32 x 2$"),
    ("__nv_bfloat16*", Capsule(4, 16, 0), r"__nv_bfloat16\*, got .*Capsule of bfloat16 x 0$"),
]


@pytest.mark.parametrize(("type_", "array", "message"), MISMATCHES)
def test_other_arrays_are_refused(type_, array, message):
    """The error has the argument, its name, the kernel, its type and what was given."""
    with pytest.raises(ArgumentError, match=rf"^argument 0 \(y\) of saxpy is {message}"):
        packed("u64", type_, array)


def test_cupy_arrays_of_the_right_type(monkeypatch):
    """They are taken by their dtype, without reading the array interface."""
    stream = types.SimpleNamespace(ptr=0)
    cuda = types.SimpleNamespace(get_current_stream=lambda _: stream)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))
    assert packed("u64", "const double*", cupy("f8")) == struct.pack("<Q", 4096)


NUMBERS = [
    ("u32", "int", -5, "<i", -5),
    ("u32", "int", np.int64(7), "<i", 7),
    ("u32", "unsigned int", 2**32 - 1, "<I", 2**32 - 1),
    ("u64", "long long", -(2**63), "<q", -(2**63)),
    ("u32", "long", -1, "<i", -1),  # of a build on Windows
    ("u8", "bool", True, "<B", 1),
    ("u8", "bool", np.bool_(False), "<B", 0),
    ("u8", "bool", 1, "<B", 1),
    ("u8", "char", -1, "<B", 255),
    ("u8", "char", 200, "<B", 200),
    ("u32", "ns::Kind", -2, "<i", -2),
    ("b8[2]:2", "__half", 1.5, "<e", 1.5),
    ("b8[2]:2", "__half", np.float16(1.5), "<e", 1.5),
    ("b8[2]:2", "__half", 3, "<e", 3.0),
    ("b8[2]:2", "__half", b"\1\2", "<H", 0x201),
    ("b8[2]:2", "__nv_bfloat16", 1.0, "<H", 0x3F80),
    ("b8[1]:1", "__nv_fp8_e4m3", np.float32(448), "<B", 0x7E),
    ("b8[1]:1", "__nv_fp8_e5m2", -1.0, "<B", 0xBC),
]


@pytest.mark.parametrize(("kind", "type_", "arg", "code", "value"), NUMBERS)
def test_numbers(kind, type_, arg, code, value):
    """Signs count, and the floats that Python does not have are converted."""
    assert packed(kind, type_, arg) == struct.pack(code, value)


def test_vectors_come_as_tuples():
    """A complex number is two floats, too; what is no vector keeps its own ways."""
    assert packed("b8[16]:16", "float4", (1, 2.5, 3, 4)) == struct.pack("<4f", 1, 2.5, 3, 4)
    assert packed("b8[8]:8", "float2", 1 - 2j) == struct.pack("<2f", 1, -2)
    assert packed("b8[12]:4", "dim3", (1, 2, 3)) == struct.pack("<3I", 1, 2, 3)
    assert packed("b8[16]:16", "float4", bytes(16)) == bytes(16)
    with pytest.raises(ArgumentError, match=r"argument 0 \(y\) of saxpy is float4, got tuple: "):
        packed("b8[16]:16", "float4", (1, 2))


WRONG = [
    ("u32", "int", 2**31, r"is int, got 2147483648 \(int\): not in the range of -2147483648 to 2147483647"),
    ("u32", "unsigned int", -1, r"is unsigned int, got -1 \(int\): not in the range of 0 to 4294967295"),
    ("u64", "unsigned long long", -1, "not in the range of 0 to 18446744073709551615"),
    ("u64", "long long", Array(), "is long long, got .*Array: an array was passed for a number"),
    ("u32", "int", 1.5, r"is int, got 1.5 \(float\): not an integer"),
    ("u8", "bool", 2, r"is bool, got 2 \(int\): neither true nor false"),
    ("b8[2]:2", "__half", 1e6, "is __half, got 1000000.0"),
    ("b8[2]:2", "__half", b"\1", "1 bytes instead of 2"),
    ("b8[1]:1", "__nv_fp8_e4m3", 480.0, "too large for the type"),
    ("b8[1]:1", "__nv_fp8_e4m3", math.inf, "too large for the type"),
]


@pytest.mark.parametrize(("kind", "type_", "arg", "message"), WRONG)
def test_wrong_numbers_are_refused(kind, type_, arg, message):
    """By the range of the declared type, not only by its size."""
    with pytest.raises(ArgumentError, match=message):
        packed(kind, type_, arg)


class PythonStruct(ctypes.Structure):
    """A struct that holds an address of a Python object; the name of its first field is that of the type."""

    _fields_ = (("O", ctypes.c_int), ("held", ctypes.py_object))


class PlainStruct(ctypes.Structure):
    """One that does not, though the names of its fields might let it look so."""

    _fields_ = (("O", ctypes.c_int), ("OO", ctypes.c_float * 3))


OBJECTS = [
    np.array(None), np.array([None]), np.zeros((), [("O", "O")]), np.zeros((), [("O", "O")])[()],
    ctypes.py_object(None), (np.array(None),), (ctypes.py_object(None),), memoryview(np.array([None])),
]  # fmt: skip


@pytest.mark.parametrize("arg", OBJECTS, ids=lambda arg: type(arg).__name__)
def test_addresses_of_python_objects_are_no_struct(arg):
    """The bytes would be of the right size, and mean nothing on a device."""
    message = (
        r"^argument 0 \(y\) of saxpy is P, got .*: it holds addresses of Python's objects, which mean nothing on a d"
    )
    with pytest.raises(ArgumentError, match=message):
        packed("b8[8]:8", "P", arg)
    with pytest.raises(ArgumentError, match="it holds addresses of Python's objects"):
        packed("b8[16]:8", "P", PythonStruct())
    assert packed("b8[16]:4", "P", PlainStruct(1)) == b"\1" + bytes(15)


SWAPPED = [
    np.zeros(2, ">f8"), np.zeros((), [("a", "<f8"), ("b", [("c", ">f8")])]), memoryview(np.zeros(2, ">f8")),
    type("Swapped", (ctypes.BigEndianStructure,), {"_fields_": [("a", ctypes.c_double), ("b", ctypes.c_double)]})(),
    (np.float64(1), np.array(1, ">f8")),
]  # fmt: skip


@pytest.mark.parametrize("arg", SWAPPED, ids=lambda arg: type(arg).__name__)
def test_numbers_in_the_other_byte_order_are_no_struct(arg):
    """The bytes would be of the right size, and be other numbers on a device."""
    with pytest.raises(ArgumentError, match=r"saxpy is P, got .*: its numbers have their bytes in the other order"):
        packed("b8[16]:8", "P", arg)


def test_a_wrong_number_of_arguments_lists_the_parameters():
    """As the source declares them."""
    signature = Signature("saxpy", ["u64", "f32"], ["float*", "float"], ["y", ""])
    with pytest.raises(ArgumentError, match=r"saxpy takes 2 arguments \(float\* y, float\), got 1"):
        signature.pack((1,))


SMALL = {"__nv_bfloat16": (2, 8, 7), "__nv_fp8_e5m2": (1, 5, 2), "__half": (2, 5, 10)}


@pytest.mark.parametrize("type_", SMALL)
def test_small_floats_are_rounded_to_the_nearest(type_):
    """Every number of the format is itself; what is between two goes to the nearer one, or to the even one."""
    size, exponent, mantissa = SMALL[type_]
    bias, step = 2 ** (exponent - 1) - 1, 61 if size == 2 else 1

    def value(bits):
        power, rest = bits >> mantissa, bits & ((1 << mantissa) - 1)
        return math.ldexp(rest + ((power > 0) << mantissa), max(power, 1) - bias - mantissa)

    def bits_of(number):
        return int.from_bytes(packed(f"b8[{size}]:{size}", type_, number), "little")

    largest = ((1 << exponent) - 1 << mantissa) - 1
    for bits in [*range(0, largest - 1, step), 0, 1, (1 << mantissa) - 1, 1 << mantissa]:
        low, high = value(bits), value(bits + 1)
        assert bits_of(low) == bits
        assert bits_of(-low) == bits | 1 << (8 * size - 1)
        assert bits_of((low + high) / 2) == bits + bits % 2
        assert bits_of(low + (high - low) * 0.25) == bits
        assert bits_of(low + (high - low) * 0.75) == bits + 1
    assert bits_of(value(largest)) == largest
    assert bits_of(math.inf) == largest + 1
    assert bits_of(math.nan) > largest + 1


def test_a_store_that_tells_no_types_launches_as_before(example_store, driver, tmp_path):
    """An older version wrote five fields for a kernel; arrays of any dtype are taken then, and integers of any sign."""
    old = tmp_path / "_kernels"
    shutil.copytree(example_store, old)
    lines = [line.split("\t")[:5] for line in (old / "kernels.tsv").read_text().splitlines()]
    (old / "kernels.tsv").write_text("".join("\t".join(fields) + "\n" for fields in lines))
    arguments = (2.0, Array("<f8"), Array("<f8", read_only=True), -1)
    open_store(old).get_kernel("saxpy")[1, 32](*arguments)
    assert len(driver.launches) == 1
    with pytest.raises(ArgumentError, match=r"argument 1 \(x\) of saxpy is const float\*, got .* of float64"):
        open_store(example_store).get_kernel("saxpy")[1, 32](*arguments)
