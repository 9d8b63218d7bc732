"""Random launches, once in Python and once in C: what reaches the driver and every error must be the same.

    python tests/support/launch_fuzz.py [--seconds 30] [--seed 0] [--sanitize]

Two processes take the same cases, made from the same seeds: random kernels, shapes, arguments, streams and contexts, on
an imitated driver. One launches in Python; the other has the accelerator, compiled for this, with ``--sanitize`` for
the sanitizers of addresses and of undefined behaviour. Prints what was compared, and how it ended; stops at a
difference.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import enum
import gc
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import warnings
import weakref
from collections import Counter, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import cuda.bindings
import cuda.bindings.driver  # so that it can be replaced
import numpy as np
from built_accelerator import Device, capsule_of, compile_accelerator, load_accelerator, sanitizers
from device_arrays import DlpackArray, InterfaceArray
from fake_driver import OK, FakeDriver, Result

from hatch_cuda_kernels import driver as our_driver
from hatch_cuda_kernels import early
from hatch_cuda_kernels.driver import current_context_id, current_device
from hatch_cuda_kernels.image import Symbol
from hatch_cuda_kernels.runtime.launch import accelerator
from hatch_cuda_kernels.runtime.launch.arrays import is_tensor
from hatch_cuda_kernels.runtime.launch.elements import _BY_TYPESTR as TYPESTRS
from hatch_cuda_kernels.runtime.launch.elements import DLPACK
from hatch_cuda_kernels.runtime.launch.kernel import Kernel
from hatch_cuda_kernels.runtime.launch.libraries import Loaded
from hatch_cuda_kernels.runtime.loading import LoadedKernels
from hatch_cuda_kernels.signature import Parameter as Declared
from hatch_cuda_kernels.store.launch_rules import LaunchRule

#: Of one case.
STEPS = 200
HERE = Path(__file__).parent


class Fatal(BaseException):
    """What is no Exception, as Ctrl-C."""


ERRORS = [
    ValueError, TypeError, RuntimeError, BufferError, OSError, KeyError, AttributeError, ZeroDivisionError,
    StopIteration, AssertionError, OverflowError, MemoryError, RecursionError, Fatal,
]  # fmt: skip


# The driver


class Driver(FakeDriver):
    """An imitated driver that keeps each launch whole, and knows the sizes of parameters that come one by one."""

    CUpointer_attribute = SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_POINTER=3)

    def __init__(self):
        super().__init__(devices=2)
        self.context = 7
        self.pointers = {0x1000: 0, 0x20000: 1}
        self.sizes = {}
        self.seen = []
        self.depth = 0

    def cuLaunchKernelEx(self, config, handle, params, extra):  # noqa: N802 - the driver's name
        """Keep a launch, unless it is one that an argument made while it was read: those may be read once more."""
        data = None
        if params:
            places = (ctypes.c_void_p * len(self.sizes[handle])).from_address(params)
            data = [ctypes.string_at(at, size).hex() for at, size in zip(places, self.sizes[handle], strict=True)]
        if extra:
            words = (ctypes.c_void_p * 5).from_address(extra)
            data = ctypes.string_at(words[1], ctypes.c_size_t.from_address(words[3]).value).hex()
        attributes = {number: value.hex() for number, value in config.attributes.items()}
        shape = [*config.grid, *config.block, config.sharedMemBytes]
        if not self.depth:
            self.seen.append([config.hStream, handle, data, shape, attributes, self.context])
        status, self.status = self.status, OK
        return (status,)

    def cuPointerGetAttribute(self, *args):  # noqa: N802 - the driver's name
        """Answer the library's way, and the bindings': host memory that begins with a zero is not pinned."""
        if len(args) == 3:
            return super().cuPointerGetAttribute(*args)
        is_pinned = ctypes.string_at(args[1], 1) != b"\0"
        return (OK, 0x5000) if is_pinned else (Result.CUDA_ERROR_INVALID_VALUE, None)


# A framework whose arrays C functions read


class Dtype:
    """An element type, as torch has them: one object each."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


DTYPES = {
    (2, 32, 1): "float32", (2, 64, 1): "float64", (2, 16, 1): "float16", (4, 16, 1): "bfloat16", (0, 32, 1): "int32",
    (0, 64, 1): "int64", (1, 8, 1): "uint8", (6, 8, 1): "bool", (5, 64, 1): "complex64", (2, 8, 1): "float8_other",
}  # fmt: skip
STREAM = 70


class Tensor:
    """A tensor, as far as launches look at it; ``facts`` are those of its DLTensor."""

    is_meta = is_nested = False
    layout = "strided"

    def __init__(self, key=(2, 32, 1), ordinal=0, data=0x1000, sizes=(4,), offset=0):
        self.dtype, self.key = TORCH.dtypes[key], key
        self.ordinal, self.data, self.sizes, self.offset = ordinal, data, sizes, offset
        self.dims = (ctypes.c_int64 * len(sizes))(*sizes)

    def get_device(self):
        """Return the device, -1 for the host."""
        return self.ordinal

    def data_ptr(self):
        """Return the address of the first element."""
        return self.data + self.offset if self.data else 0

    def numel(self):
        """Return the number of elements."""
        return int(np.prod(self.sizes))

    def is_pinned(self):
        """Return whether the memory is pinned: it never is."""
        return False

    is_conj = is_neg = _is_zerotensor = is_pinned

    @property
    def is_cuda(self):
        """Whether it is on a device."""
        return self.ordinal >= 0

    @property
    def device(self):
        """The device as text."""
        return f"cuda:{self.ordinal}" if self.is_cuda else "cpu"


class Parameter(Tensor):
    """The other class whose instances are read by C functions."""


class Subclass(Tensor):
    """A class whose instances Python reads."""


def read_tensor(tensor, out):
    """Fill in a DLTensor."""
    out.data, out.byte_offset = tensor.data or None, tensor.offset
    out.device = Device(2, tensor.ordinal) if tensor.is_cuda else Device(1, 0)
    out.code, out.bits, out.lanes = tensor.key
    out.ndim, out.shape = len(tensor.sizes), ctypes.cast(tensor.dims, ctypes.POINTER(ctypes.c_int64))


def current_stream(ordinal):
    """Return the current stream of a device."""
    return STREAM + ordinal


def framework():
    """Return a module in the place of torch."""
    own = SimpleNamespace(
        _cuda_getCurrentRawStream=current_stream,
        _functorch=SimpleNamespace(is_functorch_wrapped_tensor=lambda _: False),
    )
    named = {name: Dtype(name) for name in DTYPES.values()}
    return SimpleNamespace(
        Tensor=Tensor, nn=SimpleNamespace(Parameter=Parameter), _C=own, _is_functional_tensor=lambda _: False,
        strided="strided", dtypes={key: named[name] for key, name in DTYPES.items()}, **named,
    )  # fmt: skip


TORCH = framework()


# Arguments


class Count(enum.IntEnum):
    """Integers of a class of their own."""

    FEW = 3


class Whole(int):
    """An int of a class of its own."""


class Liar(int):
    """An int that says it is another one."""

    def __int__(self):
        return 7

    __index__ = __int__

    def __float__(self):
        return 9.0


class Real(float):
    """A float of a class of its own, which says it is another one."""

    def __float__(self):
        return 9.0


class Bytes(bytes):
    """Bytes that say they are others."""

    __slots__ = ()

    def tobytes(self):
        """Return others of the same size."""
        return b"x" * len(self)


Pair = namedtuple("Pair", "a b")  # noqa: PYI024 - of values of any type


@dataclass
class Fields:
    """A struct by its fields."""

    a: object
    b: object


class CStruct(ctypes.Structure):
    """A struct of C."""

    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float), ("c", ctypes.c_double))


PARAMETERS = [
    *((kind, "") for kind in ("u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64", "ptr")),
    ("f32", ""), ("f64", ""), ("b8[4]:4", ""), ("b8[8]:8", ""), ("b8[16]:8", "ns::P"), ("b8[128]:64", "CUtensorMap"),
    ("b8[12]:4", "dim3"), ("b8[16]:16", "float4"), ("b8[8]:8", "float2"), ("u8", "bool"), ("u8", "char"),
    ("s8", "signed char"), ("u16", "unsigned short"), ("u32", "unsigned int"), ("u32", "int"), ("u64", "long long"),
    ("u64", "unsigned long"), ("f32", "float"), ("f64", "double"), ("b8[2]:2", "__half"), ("b8[2]:2", "__nv_bfloat16"),
    ("b8[1]:1", "__nv_fp8_e4m3"),
    *(("u64", f"{const}{name}*") for const in ("", "const ") for name in (
        "float", "double", "int", "unsigned int", "long long", "void", "char", "bool", "__half", "__nv_bfloat16",
        "float2", "ns::P", "unsigned char",
    )),
]  # fmt: skip
#: Beyond what the accelerator packs.
LARGE = [[("b8[4100]:4", "")], [("u8", "")] * 129, [("f16", ""), ("u32", "")]]
FLOATS = [0.0, -0.0, 1.5, 1e-46, 3.4028235e38, 3.4028236e38, 1e39, 65504.0, 65520.0, 1e308, *map(float, ("inf", "nan"))]
NUMPY = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
CTYPES = [ctypes.c_int, ctypes.c_uint8, ctypes.c_int64, ctypes.c_float, ctypes.c_double, ctypes.c_bool, ctypes.c_void_p]


class Source:
    """Random values, and what is known of those that were made: whether they are still there."""

    def __init__(self, seed, world):
        self.random = random.Random(seed)
        self.world = world
        self.made = weakref.WeakSet()

    def integer(self):
        """Return an integer, often at the edge of a type."""
        pick = self.random
        if pick.random() < 0.3:
            return pick.randrange(10)
        edge = (1 << pick.choice((7, 8, 15, 16, 31, 32, 63, 64, 70))) + pick.randrange(-2, 3)
        return pick.choice((1, -1)) * edge if pick.random() < 0.6 else pick.getrandbits(pick.randrange(1, 66))

    def number(self):
        """Return a number of some library."""
        pick, integer = self.random, self.integer()
        small = integer % 100
        return pick.choice([
            integer, integer, integer, Whole(integer), Liar(integer), Count.FEW, bool(integer % 2),
            np.bool_(integer % 2), pick.choice(FLOATS), -pick.choice(FLOATS), pick.uniform(-1e5, 1e5),
            Real(pick.choice(FLOATS)),
            pick.choice(NUMPY)(small), np.float16(small), np.float32(pick.choice(FLOATS[:4])), np.float64(small),
            np.array(small), np.array(small / 2), np.array(None), pick.choice(CTYPES[:-1])(small), Decimal(small),
            Fraction(small, 3), complex(small, 1), 10**400,
        ])  # fmt: skip

    def array(self, dtypes=()):
        """Return an array of some library, in most cases of elements that are called so, or what is an address."""
        pick = self.random
        make = pick.choices((self.tensor, self.interface, self.dlpack, self.other), (6, 4, 2, 2))[0]
        found = make(pick.choice(dtypes) if dtypes and pick.random() < 0.9 else None)
        with contextlib.suppress(TypeError):
            self.made.add(found)
        return found

    def place(self):
        """Return an address, on device 0 in most cases."""
        return self.random.choices((0x1000, 0, 0x20000, 0x3000 + self.random.randrange(64), 1 << 63), (20, 2, 1, 4, 1))[
            0
        ]

    def tensor(self, word):
        """Return a tensor."""
        pick = self.random
        fitting = [key for key, name in DTYPES.items() if name == word]
        return pick.choice((Tensor, Tensor, Tensor, Parameter, Subclass))(
            (fitting or [*DTYPES])[pick.randrange(len(fitting) or len(DTYPES))],
            pick.choices((0, 1, -1), (20, 1, 1))[0], pick.choices((0x1000, 0x20000, 0), (10, 2, 1))[0],
            pick.choice(((4,), (2, 3), (0,), ())), pick.choice((0, 0, 8)),
        )  # fmt: skip

    def interface(self, word):
        """Return an array with the array interface."""
        pick, address = self.random, self.place()
        fitting = [f"<{code}" for code, name in TYPESTRS.items() if name == word]
        typestr = pick.choice(fitting or [*(f"<{code}" for code in TYPESTRS), ">f4", "|V12", "|O", "|u1", "<f3"])
        stream = pick.choices((None, 0, 1, 2, 6, 8, -1, 2**64), (12, 1, 1, 2, 2, 2, 1, 1))[0]
        found = InterfaceArray(address, stream, (4,), typestr, mask=None if pick.random() < 0.95 else 1)
        found.__cuda_array_interface__["data"] = (address, pick.random() < 0.1)
        return found

    def dlpack(self, word):
        """Return an array by DLPack alone."""
        pick, found = self.random, DlpackArray(self.place())
        data = bytearray(found._tensor)
        data[8] = found.kind = pick.choices((2, 3, 1), (8, 1, 1))[0]
        data[20:22] = bytes(DLPACK.get(word) or pick.choice([(2, 32), (0, 32), (6, 8), (4, 16), (9, 4)]))
        data[22] = pick.choices((1, 2, 4, 0), (20, 2, 1, 1))[0]
        found._tensor = bytes(data)
        return found

    def other(self, _):
        """Return something else that stands for an address, or an array on the host."""
        pick, address = self.random, self.place()
        host = np.frombuffer(pick.choice((bytes(8), b"\1" * 8)), pick.choice((">f4", "<f4", "<i4")))
        odd = Whole(address), Liar(address), ctypes.c_void_p(address)
        return pick.choice((host, None, None, address, address, *odd))

    def struct(self, size):
        """Return what may be passed for a struct."""
        pick, small = self.random, self.integer() % 100
        record = np.zeros((), [("a", "<i4"), ("b", f"V{max(size - 4, 1)}")])
        return pick.choice([
            pick.randbytes(size), pick.randbytes(size + pick.choice((-1, 0, 1))), Bytes(size), record,
            record[()], CStruct(small), Pair(ctypes.c_int(small), np.float32(1)),
            Fields(ctypes.c_double(1), np.int8(2)),
            (1.0,) * max(size // 4, 1), (1, 2, 3), complex(1, small), "text", np.array([None]), ctypes.py_object(1),
            memoryview(bytes(size)), np.zeros(max(size // 4, 1), "f4"),
        ])  # fmt: skip

    def evil(self):
        """Return an argument whose methods raise, launch, or change what is going on."""
        act, made = self.act(), self.random.choice((0, 1.5, 5, "text", None, 2**65, b"abcd"))

        def method(*_, **__):
            act()
            return made

        names = ["__float__", "__index__", "__int__", "handle", "__cuda_array_interface__", "__dlpack__", "tobytes"]
        names += ["__dlpack_device__", "__array_interface__", "__cuda_stream__", "data_ptr", "shape"]
        chosen = self.random.sample(names, self.random.randrange(1, 4))
        plain = {"handle", "__cuda_array_interface__", "__array_interface__", "shape"}
        members = {name: property(method) if name in plain else method for name in chosen}
        found = type("Evil", (), {"__module__": "fuzz", **members})()
        self.made.add(found)
        return found

    def act(self):
        """Return something that code of an argument may do."""
        world, pick = self.world, self.random
        kernel, args = pick.choice(world.kernels), (1,) * pick.randrange(3)
        error = pick.choice(ERRORS)

        def fail():
            raise error("of the argument")

        def nest():
            world.driver.depth += 1
            try:
                with contextlib.suppress(Exception):
                    kernel[1, 32](*args)
            finally:
                world.driver.depth -= 1

        return pick.choice([
            fail, fail, fail, nest, gc.collect, kernel._launches.known.clear, kernel._launches.functions.clear,
            partial(setattr, world.driver, "context", pick.choice((0, 7, 17))), int,
        ])  # fmt: skip

    def argument(self, kind, type_):
        """Return an argument, in most cases one that fits the parameter."""
        pick = self.random
        chance = pick.random()
        if chance < 0.02:
            return pick.choice((self.number, self.array, partial(self.struct, 8), lambda: None, lambda: "text"))()
        if "*" in type_ or kind in {"ptr", "b64"} or (kind == "u64" and not type_):
            return self.array(Declared(kind, type_).dtypes) if chance < 0.97 else self.integer()
        if kind.startswith("b8[") and (chance < 0.3 or not type_.startswith("__")):
            size = size_of(kind)
            return pick.randbytes(size) if chance < 0.7 else self.struct(size)
        return self.usual(kind, type_) if chance < 0.8 else self.number()

    def usual(self, kind, type_):
        """Return an argument that fits the parameter, and is no array."""
        pick = self.random
        if kind.startswith("f") or type_.startswith("__"):
            return pick.choice((1.5, 3, -2.25))
        return pick.randbytes(size_of(kind)) if kind.startswith("b8[") else pick.randrange(2 if type_ == "bool" else 99)

    def size(self):
        """Return a size of a grid or a block."""
        pick = self.random
        odd = [0, -1, 4.0, 4.5, True, np.int64(2), 2**32, 2**32 - 1, "4", None, np.float64(2)]
        return pick.choice(odd) if pick.random() < 0.08 else pick.choice((1, 2, 4, 4, 32, 256, pick.randrange(1, 5000)))

    def extent(self):
        """Return a grid or a block."""
        pick = self.random
        count = pick.choice((0, 0, 0, 0, 1, 2, 3, 4)) if pick.random() < 0.5 else 0
        sizes = [self.size() for _ in range(count)]
        return sizes if count and pick.random() < 0.2 else tuple(sizes) if count else self.size()

    def stream(self):
        """Return a stream of some library, or what is none."""
        address = self.random.choice((0, 1, 5, 5, 6, 2**64 - 1, 2**64, -1))
        holder = SimpleNamespace(ptr=address)
        protocol = type("Stream", (), {"__cuda_stream__": lambda _: (0, address)})()
        return self.random.choice([address, address, holder, protocol, None, "5", 5.0, np.int64(5)])


# Cases


class World:
    """One case: kernels on a driver, and steps of which each has an outcome."""

    def __init__(self, seed, driver):
        self.driver = driver
        self.kernels = []
        self.source = Source(seed, self)
        self.parameters = [self.signature() for _ in range(self.source.random.randrange(1, 4))]
        self.kernels += map(self.kernel, range(len(self.parameters)), self.parameters)
        self.kept, self.bound = [], []
        self.look_up = self.get_kernel = None
        self.prepare_look_up()

    def signature(self):
        """Return random parameters: PTX's words with their C++ types, which may not be known."""
        pick = self.source.random
        if pick.random() < 0.04:
            return pick.choice(LARGE)
        typed = pick.random() < 0.8
        fitting = [found for found in PARAMETERS if bool(found[1]) == typed or found[0].startswith("f")]
        return [pick.choice(fitting) for _ in range(pick.choice((0, 1, 2, 3, 3, 4, 4, 6, 9)))]

    def kernel(self, number, parameters):
        """Return a kernel of these parameters."""
        kinds, types = zip(*parameters, strict=True) if parameters else ((), ())
        names = tuple(f"p{index}" for index in range(len(parameters)))
        symbol = Symbol(f"k{number}", f"k{number}", kinds, types if all(types) else (), names)
        sizes = [*map(size_of, kinds)]

        def load():
            context_id, device = current_context_id(), current_device()
            handle = 1000 * (number + 1) + context_id
            self.driver.sizes[handle] = sizes
            return Loaded(SimpleNamespace(), symbol, None, handle, handle, context_id, device.ordinal)

        rule = LaunchRule(f"k{number}", (f"{names[0]} + 1" if names else "2",), ("32",), names=names)
        return Kernel(f"k{number}", load, lambda: rule)

    def prepare_look_up(self):
        """Let kernels be looked up as a store's are."""
        loaded = LoadedKernels("compatible", lambda: None)

        def get_kernel(name, *, module=None, policy=None):
            if name not in {kernel.name for kernel in self.kernels}:
                raise LookupError(name)
            return loaded.get((name, module, policy or "compatible"), self.kernels[int(name[1:])]._load)

        self.get_kernel, self.look_up = get_kernel, loaded.lookup(get_kernel)

    def arguments(self, parameters):
        """Return arguments, sometimes one too many or too few, or one whose code does things.

        How often an argument is read is not the same if there is something wrong with others: then, none does things.
        """
        source = self.source
        chance = source.random.random()
        if chance < 0.04:
            return [1] * (len(parameters) + source.random.choice((-1, 1)))
        if chance < 0.9 or not parameters:
            return [source.argument(*parameter) for parameter in parameters]
        args = [source.usual(*parameter) for parameter in parameters]
        args[source.random.randrange(len(args))] = source.evil()
        return args

    def step(self):
        """Do something, and return its outcome."""
        pick = self.source.random
        act = pick.choices(*zip(*WAYS.items(), strict=True))[0]
        number = pick.randrange(len(self.kernels))
        kernel, args = self.kernels[number], self.arguments(self.parameters[number])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = act(self, kernel, args)
        except (Exception, Fatal) as error:  # noqa: BLE001 - whatever it is, the other way must raise the same
            result = [type(error).__name__, plain(str(error)), type(error.__cause__).__name__]
        found = [act.__name__, result, self.driver.seen, self.driver.calls, self.driver.context, kernel.hits]
        self.driver.seen, self.driver.calls = [], []
        return found

    def end(self):
        """Return how much of what was made is still there once nothing needs it."""
        made = self.source.made
        self.__dict__.clear()
        gc.collect()
        return len(made)


def size_of(kind):
    """Return the bytes of a parameter."""
    return Declared(kind).size


def plain(text):
    """Return text without addresses of this process."""
    return re.sub(r"0x[0-9a-f]{9,}", "0x", text)


def brackets(world, kernel, args):
    """Launch with brackets."""
    source, shape = world.source, [world.source.extent(), world.source.extent()]
    if source.random.random() < 0.3:
        shape.append(source.size())
        if source.random.random() < 0.5:
            shape.append(source.stream())
    function = kernel[tuple(shape)]
    world.kept = [*world.kept[-5:], (kernel, function)]
    return function(*args)


def again(world, kernel, args):
    """Launch with a shape that was kept, of whatever kernel."""
    held = [function for owner, function in world.kept if owner is kernel]
    return held[-1](*args) if held else kernel[4, 32](*args)


def by_name(world, kernel, args):
    """Launch with an argument by name, which brackets do not take."""
    return kernel[world.source.extent(), 32](*args[:-1], p0=1)


def launch(world, kernel, args):
    """Launch with options."""
    source, pick = world.source, world.source.random
    options = {
        "shared_mem": pick.choice((0, 16, 1 << 16, 2.0, 1.5)), "stream": source.stream(), "cluster": 2,
        "cooperative": True, "pdl": True, "priority": pick.choice((-1, 2.0, 0.5, 2**40)), "carveout": 50,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if pick.random() < 0.15}
    return kernel.launch(source.extent(), source.extent(), pick.choice((list, tuple))(args), **given)


def bind(world, kernel, args):
    """Bind arguments in a list that is cleared then, and launch."""
    pick = world.source.random
    options = {"stream": world.source.stream()} if pick.random() < 0.3 else {}
    go = kernel.bind(world.source.extent(), 32, args, **options)
    args.clear()
    world.bound = [*world.bound[-5:], go]
    return go()


def bound(world, *_):
    """Launch what was bound before."""
    return world.bound[-1]() if world.bound else None


def ruled(world, kernel, args):
    """Launch without brackets, with some arguments by name."""
    count = world.source.random.randrange(len(args) + 1)
    return kernel(*args[:count], **{f"p{index}": args[index] for index in range(count, len(args))})


def look_up(world, kernel, _):
    """Ask for a kernel by name, in a usual way or not."""

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            world.source.random.getrandbits(1)
            return str(self) == other

    name = world.source.random.choice([kernel.name] * 6 + ["k9", 5, [], Name("k9")])
    found = (world.look_up if world.source.random.random() < 0.9 else world.get_kernel)(name)
    return [found.name, found.hits]


def change(world, *_):
    """Change the context, or what the driver answers."""
    driver, pick = world.driver, world.source.random
    pick.choice([
        partial(setattr, driver, "context", pick.choice((0, 7, 7, 7, 17))),
        partial(setattr, driver, "status", pick.choice([*Result])),
        partial(driver.reset, pick.randrange(2)),
        gc.collect,
    ])()  # fmt: skip


#: What a step may do, and how often.
WAYS = {brackets: 30, again: 30, by_name: 2, launch: 8, bind: 6, bound: 6, ruled: 6, look_up: 4, change: 4}


# Two processes


def serve(module_folder):
    """Take cases by their seeds, and write the outcome of each step; the folder has the accelerator, or is empty."""
    module, driver = load_accelerator(Path(module_folder)) if module_folder else None, Driver()
    accelerator._module = lambda: module
    early._started[:] = [None]
    our_driver.driver_library = lambda: driver
    sys.modules["cuda.bindings.driver"] = cuda.bindings.driver = driver
    sys.modules["torch"] = TORCH
    if module is not None:
        Tensor.__dlpack_c_exchange_api__ = capsule_of(read_tensor, current_stream)
    is_tensor(Tensor())
    out = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        driver.__init__()
        our_driver._primaries.clear()
        our_driver._HANDLES.clear()
        our_driver.primary_context(0)
        gc.freeze()  # what is there by now stays
        world = World(int(line), driver)
        for _ in range(STEPS):
            print(json.dumps(world.step(), default=repr), file=out)
        print(json.dumps({"left": world.end()}), file=out, flush=True)


class Side:
    """A process that launches in one of the two ways."""

    def __init__(self, module_folder="", environment=()):
        path = os.pathsep.join([str(HERE), str(HERE.parents[1])])
        settings = os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": "0"} | dict(environment)
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", str(module_folder)],
            env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
        )  # fmt: skip

    def ask(self, seed):
        """Let it take a case."""
        self.process.stdin.write(f"{seed}\n")
        self.process.stdin.flush()

    def answer(self):
        """Return the outcome of one step."""
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise DifferenceError(f"a process ended with {self.process.wait()}\n{self.errors.read()[-8000:]}")
        return line

    def close(self):
        """End the process."""
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.errors.close()


class DifferenceError(AssertionError):
    """The two ways did not do the same, or one of them crashed."""


def compare(folder, seconds, seed=0, environment=()):
    """Return how steps ended, counted. Raises DifferenceError at the first that ended otherwise in C."""
    sides = Side(), Side(folder, environment)
    ends, until = Counter(), time.monotonic() + seconds
    try:
        while not ends or time.monotonic() < until:
            for side in sides:
                side.ask(seed)
            for step in range(STEPS + 1):
                python, compiled = (side.answer() for side in sides)
                if python != compiled:
                    raise DifferenceError(f"seed {seed}, step {step}\nPython: {python}C:      {compiled}")
                ends.update(counted(json.loads(python)))
            seed += 1
    finally:
        for side in sides:
            side.close()
    return ends


def counted(outcome):
    """Yield what is counted of an outcome."""
    if isinstance(outcome, dict):
        if outcome["left"]:
            raise DifferenceError(f"{outcome['left']} arguments are still there")
        yield "cases"
        return
    _, result, launches, *_ = outcome
    yield "steps"
    yield from ["launches"] * len(launches)
    if isinstance(result, list) and len(result) == 3:
        yield result[0]


def main():
    """Compare for a while, and print what was compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve is not None:
        serve(args.serve)
        return
    with tempfile.TemporaryDirectory() as folder:
        options, environment = sanitizers() if args.sanitize else ((), ())
        compile_accelerator(Path(folder), *options)
        found = compare(folder, args.seconds, args.seed, environment)
    sys.stdout.write(", ".join(f"{name}: {count:,}" for name, count in found.most_common()) + "\n")


if __name__ == "__main__":
    main()
