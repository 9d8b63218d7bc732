"""The compiled accelerator: it launches what Python launches, byte for byte, and leaves the same to careful Python."""

from __future__ import annotations

import ctypes
import enum
import gc
import math
import os
import shutil
import subprocess
import sys
import threading
import tracemalloc
import weakref
from functools import partial
from pathlib import Path

import built_accelerator
import numpy as np
import pytest
from built_accelerator import STREAM, Device, Exchange, address_in, capsule_of
from c_code import compile_c
from device_arrays import InterfaceArray
from fake_driver import Result

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.errors import KernelNotFoundError
from hatch_cuda_kernels.runtime.launch.arguments import Signature
from hatch_cuda_kernels.runtime.launch.codegen import MISSING, _make, bind_for, bind_in_c
from hatch_cuda_kernels.runtime.launch.shapes import Configs, Shape

pytestmark = pytest.mark.parametrize("launches", ["compiled"], indirect=True)

BIG = 2**64
SHAPE = Shape((4, 2, 1), (32, 1, 1), 16)
CONTEXT = 7
PY_TP_CLEAR = 51  # typeslots.h


@pytest.fixture(autouse=True)
def loaded(driver, monkeypatch):
    """Make the context current that the kernels here are loaded for, in a process without torch."""
    driver.context = CONTEXT
    monkeypatch.delitem(sys.modules, "torch", raising=False)


def raising(*args):
    """Stand for a way out that is not taken."""
    raise AssertionError(args)


def here():
    """Return what a kernel is on device 0, for one shape."""
    return {CONTEXT: (0, 99, Configs(SHAPE))}


def bind(params, types=(), *, otherwise=raising, refuse=raising, stated=None, make=bind_for):
    """Return a launch function for a kernel of those parameters."""
    return make(Signature("k", params, types), "current" if stated is None else "stated")(
        "k", here(), stated, otherwise, refuse
    )


class Array:
    """An array that C functions read, as torch's tensors are: on device 0, of four numbers float32."""

    def __init__(self, **facts):
        self.facts = {"data": 0x1000, "device": Device(2, 0), "code": 2, "bits": 32, "lanes": 1} | facts
        shape = self.facts.pop("sizes", (4,))
        self.sizes = (ctypes.c_int64 * len(shape))(*shape)


def read(array, tensor):
    """Fill in what C functions tell of an array."""
    tensor.ndim, tensor.byte_offset = len(array.sizes), 0
    tensor.shape = ctypes.cast(array.sizes, ctypes.POINTER(ctypes.c_int64))
    for name, value in array.facts.items():
        setattr(tensor, name, value)


def array_class(stream=lambda ordinal: 70 + ordinal, **options):
    """Return a class of arrays with the C functions of a library of its own."""
    return type("Array", (Array,), {"__dlpack_c_exchange_api__": capsule_of(read, stream, **options)})


@pytest.fixture
def array(launches):
    """Return a class of arrays that was learned."""
    made = array_class()
    assert launches.learn(made)
    yield made
    launches.forget(made)


class Count(enum.IntEnum):
    """Integers of a class of their own."""

    FEW = 3


class Liar(int):
    """An int that says it is another one."""

    def __int__(self):
        return 7

    __index__ = __int__


class LyingBytes(bytes):
    """Bytes that say they are others."""

    __slots__ = ()

    def tobytes(self):
        """Return others of the same size."""
        return b"x" * len(self)


EDGES = [sign * (2**bits) + more for bits in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1) for more in (-1, 0, 1)]
NUMBERS = [
    0, 1, -1, True, 1.5, -0.0, math.inf, -math.inf, 3.5e38, 1e39, 65504.0, 65520.0, 10**400, Count.FEW, Liar(5), *EDGES,
]  # fmt: skip
FOREIGN = [np.float32(2), np.float64(1e39), np.int8(-3), np.uint64(2**63), np.bool_(1), ctypes.c_int(-3), 1 + 2j]
OTHERS = [
    None, "text", b"abcd", b"abcdefgh", LyingBytes(b"abcd"), (1, 2), object(), InterfaceArray(0x4000),
    InterfaceArray(stream=6),
]  # fmt: skip
PARAMETERS = [
    ("u8", ""), ("s8", ""), ("b8", ""), ("u16", ""), ("s16", ""), ("b16", ""), ("f16", ""), ("u32", ""), ("s32", ""),
    ("b32", ""), ("u64", ""), ("s64", ""), ("b64", ""), ("ptr", ""), ("f32", ""), ("f64", ""), ("b8[4]:4", ""),
    ("b8[8]:8", ""),
    ("u8", "bool"), ("s8", "signed char"), ("u32", "unsigned int"), ("u32", "int"), ("u64", "long long"),
    ("u64", "unsigned long"), ("u64", "float*"), ("u64", "const int*"), ("u64", "void*"), ("b8[2]:2", "__half"),
    ("b8[2]:2", "__nv_bfloat16"), ("b8[8]:8", "float2"),
]  # fmt: skip


def outcome(make, parameter, value, driver):
    """Return what becomes of an argument: the bytes that are launched and the stream, or that Python is asked."""
    handed = []
    params, types = [(word,) for word in parameter]
    bind(params, types if types[0] else (), otherwise=handed.append, make=make)(value)
    launched = [(stream, data) for stream, _, data in driver.launches]
    driver.launches.clear()
    return launched, [[arg for arg in args if arg is not MISSING] for args in handed]


def in_python(signature, kind):
    """Return what makes launch functions in Python."""
    return _make(signature, kind)


def test_launch_functions_are_compiled(launches):
    """Those of a shape, and those that take sizes."""
    for kind in ("current", "stated", "fresh"):
        launch = bind_for(Signature("k", ("f32",)), kind)("k", here(), None, raising, raising)
        assert isinstance(launch.__self__, launches.Launcher)


@pytest.mark.parametrize("parameter", PARAMETERS, ids=" ".join)
def test_every_argument_becomes_what_python_makes_of_it(launches, driver, parameter):
    """The same bytes on the same stream, or the same arguments for the way that takes care."""
    for value in [*NUMBERS, *FOREIGN, *OTHERS]:
        assert outcome(bind_for, parameter, value, driver) == outcome(in_python, parameter, value, driver), repr(value)


def test_a_kernel_that_is_beyond_it_is_left_to_python(launches, driver):
    """Large structs, many parameters, and halves of which no type is known."""
    for params in (("b8[4100]:4",), ("u8",) * 129, ("f16",)):
        assert bind_in_c(Signature("k", params), takes_sizes=False) is None
    bind(("f16", "u8"))(1.5, 3)
    assert driver.launches == [(0, 99, b"\0\x3e\3")]


def test_an_array_is_read_by_its_librarys_functions(array, driver):
    """Address, and the current stream of its library on the device."""
    bind(("ptr", "u32"))(array(), 5)
    bind(("ptr",))(array(data=0x1000, byte_offset=8))
    assert driver.launches == [(70, 99, b"\0\x10" + bytes(6) + b"\5\0\0\0"), (70, 99, b"\x08\x10" + bytes(6))]
    assert [config.grid[:] for config in driver.configs] == [[4, 2, 1]] * 2


def test_a_stated_stream_is_the_one(array, driver):
    """The library is not asked for its own."""
    bind(("ptr",), stated=5)(array())
    assert [launch[0] for launch in driver.launches] == [5]


def test_an_array_waits_for_the_streams_of_others(array, driver):
    """As with Python: the launch is on the library's stream, after what the other array's stream holds."""
    bind(("ptr", "ptr"))(InterfaceArray(stream=6), array())
    assert [launch[0] for launch in driver.launches] == [70]
    assert ("cuStreamWaitEvent", 70, 99, 0) in driver.calls


UNUSUAL = {
    "on another device": {"device": Device(2, 1)},
    "on the host": {"device": Device(1, 0)},
    "without memory": {"data": None},
    "that cannot be read": {"device": "text"},
    "of another element type": {"code": 0},
    "of vectors": {"lanes": 2},
}


@pytest.mark.parametrize("facts", UNUSUAL.values(), ids=UNUSUAL)
def test_an_array_that_is_not_usual_is_left_to_python(array, driver, facts):
    """It is handed on, and nothing is launched."""
    handed = []
    given = array(**facts)
    bind(("u64",), ("float*",), otherwise=handed.append)(given)
    assert (handed, driver.launches) == ([(given,)], [])


def test_an_empty_array_is_a_null_pointer(array, driver):
    """It needs no memory."""
    bind(("ptr",))(array(data=None, sizes=(3, 0)))
    assert driver.launches == [(70, 99, bytes(8))]


def test_a_subclass_is_no_array_of_the_class(array, driver):
    """It may have no memory, as torch's fake tensors."""
    handed = []
    bind(("ptr",), otherwise=handed.append)(type("Sub", (array,), {})())
    assert (len(handed), driver.launches) == (1, [])


def test_arrays_of_two_libraries_are_left_to_python(array, launches, driver):
    """Each has a current stream of its own."""
    other, handed = array_class(), []
    assert launches.learn(other)
    bind(("ptr", "ptr"), otherwise=handed.append)(array(), other())
    launches.forget(other)
    assert (len(handed), driver.launches) == (1, [])


def test_only_an_api_of_a_known_version_is_used(launches):
    """A newer one may offer an older one; an attribute of another kind is none."""
    old = capsule_of(read, int)
    for learned, made in {
        False: [array_class(major=2), type("Number", (), {"__dlpack_c_exchange_api__": 5}), int],
        True: [array_class(major=2, previous=address_in(old))],
    }.items():
        assert [launches.learn(kind) for kind in made] == [learned] * len(made)
        for kind in made:
            launches.forget(kind)


class Deep(BaseException):
    """What ends a program, as Ctrl-C does."""


def test_what_is_no_exception_goes_on(launches, driver):
    """Ctrl-C while Python reads an argument is not taken for an argument that does not fit."""

    class Odd:
        def __float__(self):
            raise Deep

    with pytest.raises(Deep):
        bind(("f32",))(Odd())
    assert driver.launches == []


def test_errors_go_on(launches, driver):
    """Those of the way that takes care, of the streams, and of a launch that the driver refuses."""

    def refuse(status, stream):
        raise LookupError(status, stream)

    with pytest.raises(AssertionError):
        bind(("f32",))("text")
    driver.cuEventCreate = lambda _: (Result.CUDA_ERROR_INVALID_VALUE, None)
    with pytest.raises(Exception, match="cuEventCreate"):
        bind(("ptr", "ptr"))(InterfaceArray(stream=6), InterfaceArray(stream=8))
    driver.status = Result.CUDA_ERROR_LAUNCH_FAILED
    with pytest.raises(LookupError) as caught:
        bind(("f32",), refuse=refuse, stated=5)(1.0)
    assert caught.value.args == (Result.CUDA_ERROR_LAUNCH_FAILED, 5)


def test_a_reader_may_launch_elsewhere(launches, driver):
    """The launch goes on in the context that it began in."""
    entries = here() | {17: (1, 98, Configs(SHAPE))}
    launch = bind_for(Signature("k", ("f32",)), "current")("k", entries, None, raising, raising)

    class Reentrant:
        def __float__(self):
            driver.context = 17
            launch(1.0)
            driver.context = CONTEXT
            return 2.0

    launch(Reentrant())
    assert [handle for _, handle, _ in driver.launches] == [98, 99]


@pytest.mark.slow
def test_launches_leave_nothing_behind(launches, driver, monkeypatch):
    """No reference, and no memory, however they end."""
    driver.cuLaunchKernelEx = lambda *_: (driver.status,)
    args, odd = (1.5, InterfaceArray(0x20), 12345678), (1.5, "text", 12345678)
    launch = bind(("f32", "ptr", "u64"), otherwise=lambda _: None, refuse=lambda *_: None)

    def many(count):
        for _ in range(count):
            launch(*args)
            launch(*odd)
            launch(*args[:2])
            driver.status = Result.CUDA_ERROR_LAUNCH_FAILED
            launch(*args)
            driver.status = Result.CUDA_SUCCESS

    many(100)
    before = [sys.getrefcount(value) for value in (*args, *odd, None)]
    tracemalloc.start()
    many(100)
    first = tracemalloc.get_traced_memory()[0]
    many(5000)
    grown = tracemalloc.get_traced_memory()[0] - first
    tracemalloc.stop()
    assert grown < 5000
    after = [sys.getrefcount(value) for value in (*args, *odd, None)]
    assert all(abs(now - then) < 100 for now, then in zip(after, before, strict=True))


def test_a_launch_function_in_a_cycle_is_collected(launches):
    """As a kernel holds it, and it holds the kernel."""

    class Holder:
        def otherwise(self, args):
            raise AssertionError(args)

    holder = Holder()
    holder.launch = bind(("f32",), otherwise=holder.otherwise)
    holder.launch(1.0)
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(("setting", "flags"), [(None, 0), ("0", 0), ("1", 2)])
def test_default_streams_are_those_of_the_bindings(launches, driver, monkeypatch, setting, flags):
    """They can be told that each thread has a default stream of its own; then it is so here."""
    asked, give = [], driver.cuGetProcAddress
    driver.cuGetProcAddress = lambda name, *rest: asked.append(rest) or give(name)
    monkeypatch.delenv("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM", raising=False)
    if setting is not None:
        monkeypatch.setenv("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM", setting)
    bind(("f32",))(1.0)
    assert asked == [(12000, flags)] * 2


def test_a_loaded_kernel_is_looked_up(launches, driver, example_store, fresh_cache):
    """By name, for the current context; its hits are counted, and everything else is Python's."""
    driver.devices = 2
    store = open_store(example_store)
    kernel = store.get_kernel("saxpy")
    assert isinstance(store.get_kernel.__self__, launches.Lookup)
    for _ in range(3):
        assert store.get_kernel("saxpy") is kernel
    assert kernel.hits == 3
    assert store.get_kernel(name="saxpy", module=None) is kernel
    driver.context = 17
    assert not store.is_loaded("saxpy")
    assert store.get_kernel("saxpy") is kernel
    assert store.is_loaded("saxpy")
    with pytest.raises(KernelNotFoundError, match="nothing"):
        store.get_kernel("nothing")
    with pytest.raises(TypeError, match="unhashable"):
        store.get_kernel([])


WAITS = """
#include <unistd.h>
int launch(void *config, volatile int *flag) {
    for (int i = 0; i < 10000 && !*flag; i++) usleep(1000);
    return *flag ? 0 : 719;
}
"""


def test_other_threads_run_while_the_driver_waits(launches, driver, tmp_path):
    """A launch waits while the driver's queue is full."""
    library = ctypes.CDLL(str(compile_c(WAITS, tmp_path / "waits.so", "-shared", "-fPIC")))
    address = ctypes.cast(library.launch, ctypes.c_void_p).value
    _, context_id, _ = driver.cuGetProcAddress(b"cuCtxGetId")
    signature = launches.Signature(context_id, address, 0, False, raising, ())
    flag = ctypes.c_int()
    entry = 0, ctypes.addressof(flag), Configs(SHAPE)
    launch = launches.Launcher(signature, "k", {CONTEXT: entry}, None, raising, raising, False).launch
    thread = threading.Timer(0.05, setattr, (flag, "value", 1))
    thread.start()
    launch()
    thread.join()


@pytest.mark.parametrize(("kind", "offset"), [("p", 0), ("d", 0), ("f", 4), ("x", 0), ("s", -1), ("\u0170", 0)])
def test_parameters_that_make_no_sense_are_refused(launches, kind, offset):
    """Nothing is written beyond the buffer, whatever Python says."""
    with pytest.raises(ValueError, match="unknown kind, or out of the buffer"):
        launches.Signature(1, 1, 4, False, None, ((kind, offset, 4, 0, 0, (), None),))


def launcher(launches, *, here=None, stated=None, takes_sizes=False):
    """Return a launcher of a kernel without parameters."""
    signature = launches.Signature(*addresses(), 0, False, raising, ())
    return launches.Launcher(signature, "k", here or {}, stated, raising, raising, takes_sizes)


def addresses():
    """Return those of the driver's functions, in the driver's place."""
    from hatch_cuda_kernels.driver import cuda

    return [cuda().cuGetProcAddress(name)[1] for name in (b"cuCtxGetId", b"cuLaunchKernelEx")]


BEYOND = {
    "a stream": lambda module, number: launcher(module, stated=number),
    "a signature's function": lambda module, number: module.Signature(number, 1, 0, False, None, ()),
    "a signature's launch": lambda module, number: module.Signature(1, number, 0, False, None, ()),
    "the most of a number": lambda module, number: module.Signature(
        1, 1, 4, False, None, (("i", 0, 4, 0, number, (), None),)
    ),
    "the id of a context": lambda module, number: bound(module, here=number),
    "the ordinal of a device": lambda module, number: bound(module, ordinal=number),
    "parameters": lambda module, number: bound(module, params=number),
    "a look-up's function": lambda module, number: module.Lookup(number, {}, raising, "hits"),
    "a function": lambda module, number: launcher(module, here={CONTEXT: (0, number)}).launch(),
    "the ordinal of an entry": lambda module, number: launcher(module, here={CONTEXT: (number, 1)}).launch(),
    "a size": lambda module, number: launcher(module, here={CONTEXT: (0, 1)}, takes_sizes=True).launch(
        (1,) * 6 + (number,)
    ),
}


def bound(module, *, here=CONTEXT, ordinal=0, params=0):
    """Return a bound launch of nothing."""
    config = Configs(SHAPE).packed
    return module.Bound(1, 1, here, ordinal, None, config, 1, params, 0, raising, raising)


@pytest.mark.parametrize("number", [-1 - BIG, BIG, "text", None, 1.5])
@pytest.mark.parametrize("what", BEYOND)
def test_numbers_that_are_out_of_range_are_refused(launches, driver, what, number):
    """Nothing is cut to the bits that fit, and nothing is launched."""
    if (number is None and what == "a stream") or (not isinstance(number, int) and what == "a function"):
        return  # it is no stream, and a handle of the bindings is no integer either
    with pytest.raises(OverflowError if isinstance(number, int) else TypeError):
        BEYOND[what](launches, 1 << 70 if number == BIG else number)
    assert driver.launches == []


@pytest.mark.parametrize("sizes", [(), (1,) * 6, (1,) * 8, [1] * 7, None, (1,) * 6 + (2**32,), (1,) * 6 + (-1,)])
def test_sizes_are_seven_numbers_of_32_bits(launches, driver, sizes):
    """Anything else is an error, and not another shape."""
    with pytest.raises((OverflowError, SystemError, TypeError)):
        launcher(launches, here={CONTEXT: (0, 1)}, takes_sizes=True).launch(sizes)
    assert driver.launches == []


@pytest.mark.parametrize("entry", [(), (0,), (0, 1, 2, 3), [0, 1, None], None, (0, 1, None)])
def test_an_entry_that_makes_no_sense_is_an_error(launches, driver, entry):
    """And nothing is launched."""
    with pytest.raises((AttributeError, SystemError, TypeError)):
        launcher(launches, here={CONTEXT: entry}).launch()
    assert driver.launches == []


FORGETS = """
import ctypes, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from built_accelerator import load_accelerator

number = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_ulonglong))


def context_id(_, out):
    out[0] = 7
    return 0


class Kernel:
    hits = 0


class Name:
    def __hash__(self):
        return hash("saxpy")

    def __eq__(self, other):
        kernels.clear()
        return True


kept, kernel = number(context_id), Kernel()
kernels = {7: {"saxpy": kernel} | {str(i): i for i in range(100)}}
look_up = load_accelerator(Path(sys.argv[1])).Lookup(
    ctypes.cast(kept, ctypes.c_void_p).value, kernels, print, "hits"
).look_up
assert look_up(Name()) is kernel
assert kernel.hits == 1
"""


@pytest.mark.slow
def test_a_context_may_be_forgotten_while_names_are_compared(launches):
    """What is looked up in lives as long as the look-up: with this allocator, use of what is freed crashes."""
    folder, support = Path(launches.__file__).parent, Path(built_accelerator.__file__).parent
    command = [sys.executable, "-c", FORGETS, str(folder), str(support)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONMALLOC": "debug"})


def test_nothing_but_the_initialisation_is_exported(launches):
    """Another library of a process may have the same names, as ncurses has ``clear``."""
    if shutil.which("nm") is None:
        pytest.skip("needs nm")
    command = ["nm", "-D", "--defined-only", launches.__file__]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in listed.splitlines()] == [f"PyInit_{built_accelerator.NAME}"]


def test_a_call_without_names_may_say_so_by_an_empty_tuple(launches, driver):
    """As C may call it, by the vectorcall protocol."""
    call = ctypes.pythonapi.PyObject_Vectorcall
    call.restype = ctypes.py_object
    call.argtypes = [ctypes.py_object, ctypes.POINTER(ctypes.py_object), ctypes.c_size_t, ctypes.py_object]
    assert call(bind(("f32",)), (ctypes.py_object * 1)(1.5), 1, ()) is None
    with pytest.raises(TypeError, match=r"^k\(\) got an unexpected keyword argument 'n'$"):
        call(bind(("f32",)), (ctypes.py_object * 1)(1.5), 0, ("n",))
    assert len(driver.launches) == 1


def test_what_was_collected_is_not_used(launches, driver):
    """A destructor in C may call what the collector has emptied; it gets an error."""
    clear = ctypes.pythonapi.PyType_GetSlot
    clear.restype, clear.argtypes = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object), [ctypes.py_object, ctypes.c_int]
    objects = [launcher(launches), bound(launches), launches.Lookup(1, {}, raising, "hits")]
    for made in objects:
        assert clear(type(made), PY_TP_CLEAR)(made) == 0
        with pytest.raises(ReferenceError, match="it was collected"):
            (made.look_up if isinstance(made, launches.Lookup) else made.launch)()
    assert driver.launches == []


STREAM_THAT_FAILS = """
extern void *PyExc_ValueError, *PyExc_KeyboardInterrupt;
void PyErr_SetNone(void *);
int failing;
int stream(int kind, int ordinal, void **out) {
    *out = (void *)70;
    if (failing == 2) PyErr_SetNone(PyExc_ValueError);
    if (failing == 3) PyErr_SetNone(PyExc_KeyboardInterrupt);
    return failing ? -1 : 0;
}
"""


def test_a_stream_that_cannot_be_told_is_left_to_python(launches, driver, tmp_path):
    """As an array that cannot be read, for a launch and for a bound one; what is no Exception goes on."""
    library = ctypes.CDLL(str(compile_c(STREAM_THAT_FAILS, tmp_path / "stream.so", "-shared", "-fPIC")))
    failing = ctypes.c_int.in_dll(library, "failing")
    made, handed = array_class(), []
    api = Exchange.from_address(address_in(made.__dlpack_c_exchange_api__))
    api.stream = STREAM(ctypes.cast(library.stream, ctypes.c_void_p).value)
    assert launches.learn(made)
    launch, config, given = bind(("ptr",), otherwise=handed.append), Configs(SHAPE).packed, made()
    other = lambda: handed.append("bound")  # noqa: E731
    go = launches.Bound(*addresses(), CONTEXT, 0, made, config, 99, 0, 0, other, raising).launch
    for failing.value in (0, 1, 2):
        launch(given)
        go()
    assert [stream for stream, *_ in driver.launches] == [70, 70]
    assert handed == [(given,), "bound"] * 2
    failing.value = 3
    for call in (partial(launch, given), go):
        with pytest.raises(KeyboardInterrupt):
            call()
    launches.forget(made)
    assert len(driver.launches) == 2
