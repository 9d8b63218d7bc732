"""The accelerator, compiled from this checkout where there is a C compiler, and torch's tensors of the CPU for it."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from shared import make_once

NAME = "hatch_cuda_kernels_accelerator"
PROJECT = Path(__file__).parents[2] / "accelerator"
#: Without the cast that functions of several parameters need, nothing warns.
OPTIONS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]


#: Set in processes whose accelerator is compiled for the sanitizers.
SANITIZED = "TESTS_SANITIZED"


def own_options():
    """Return what the distribution itself is compiled with, as its setup.py says."""
    told = {}
    stand_in = SimpleNamespace(Extension=lambda *_, **options: told.update(options), setup=lambda **_: None)
    with mock.patch.dict(sys.modules, setuptools=stand_in):
        runpy.run_path(PROJECT / "setup.py")
    return [*told["extra_compile_args"], *(f"-D{name}={value}" for name, value in told["define_macros"])]


def compile_accelerator(folder, *more):
    """Compile the accelerator into a folder, with more options. Skips the test where it cannot be compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    include = Path(sysconfig.get_paths()["include"])
    if compiler is None or not (include / "Python.h").exists():
        pytest.skip("the accelerator needs a C compiler and Python's headers")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("the accelerator is for Pythons with the GIL")
    options = [*OPTIONS, *own_options(), "-isystem", include, *more]
    sources = sorted(PROJECT.glob("src/*.c"))
    subprocess.run([compiler, *options, "-o", folder / f"{NAME}.abi3.so", *sources], check=True)


def sanitizers():
    """Return options that let sanitizers watch what is compiled, and the environment of a process that loads it.

    Skips the test where the compiler has none, or is another one than gcc.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    options = ["-g", "-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    empty = [compiler, "-x", "c", "-", "-shared", "-fPIC", *options, "-o", os.devnull]
    if compiler is None or subprocess.run(empty, input="", capture_output=True, text=True).returncode:
        pytest.skip("needs gcc with its sanitizers")
    asked = [compiler, "-print-file-name=libasan.so"]
    library = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(library).is_absolute():
        pytest.skip("needs gcc's libasan")
    # Python's memory comes from malloc, which is what the sanitizer watches; it is never all given back at exit.
    settings = {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc", SANITIZED: "1"}
    return options, settings


def sanitized_accelerator(factory):
    """Return the folder of the accelerator that is compiled for the sanitizers, once in a run. May skip the test."""
    return make_once(factory, "sanitized-accelerator", lambda folder: compile_accelerator(folder, *sanitizers()[0]))


def load_accelerator(folder):
    """Import the accelerator that was compiled into a folder."""
    loader = ExtensionFileLoader(NAME, str(folder / f"{NAME}.abi3.so"))
    spec = importlib.util.spec_from_file_location(NAME, loader.path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


class Device(ctypes.Structure):
    """DLDevice."""

    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


READ = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Exchange(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("unused", ctypes.c_void_p * 3),
        ("read", READ),
        ("stream", STREAM),
    )


NAME_OF_CAPSULE = b"dlpack_exchange_api"
#: A process never frees such an API (dlpack.h).
_KEPT = []


def capsule_of(read, stream, major=1, previous=None):
    """Return the capsule of an API: ``read(array, tensor)`` fills a tensor in, ``stream(ordinal)`` gives an address."""

    def current(_, ordinal, out):
        out[0] = stream(ordinal)
        return 0

    def reads(array, out):
        try:
            read(array, out[0])
        except Exception:  # noqa: BLE001 - C would set an exception, which is cleared
            return -1
        return 0

    api = Exchange(major, 3, previous, (ctypes.c_void_p * 3)(), READ(reads), STREAM(current))
    _KEPT.append(api)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(ctypes.addressof(api), NAME_OF_CAPSULE, None)


def address_in(capsule):
    """Return the address of the API in a capsule."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return get(capsule, NAME_OF_CAPSULE)


def capsule_for_cpu(torch):
    """Return torch's own API, but tensors of the CPU are on the CUDA device -1, as torch numbers the CPU.

    The current stream is the one that torch's function in Python tells, which tests replace.
    """
    own = Exchange.from_address(address_in(torch.Tensor.__dlpack_c_exchange_api__))

    def read(array, tensor):
        own.read(array, ctypes.byref(tensor))  # raises the exception that it sets
        if tensor.device.type == 1:
            tensor.device = Device(2, -1)

    def stream(ordinal):
        return torch._C._cuda_getCurrentRawStream(ordinal)

    return capsule_of(read, stream)
