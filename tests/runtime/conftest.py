"""A driver for tests of the run side that have no device."""

from __future__ import annotations

import os

import cuda.bindings.driver  # noqa: F401 - so that it can be replaced
import pytest
from built_accelerator import SANITIZED, compile_accelerator, load_accelerator, sanitized_accelerator
from fake_driver import FakeDriver
from shared import make_once

from hatch_cuda_kernels import driver as our_driver
from hatch_cuda_kernels import early
from hatch_cuda_kernels.runtime.launch import accelerator, arrays, tensor_maps
from hatch_cuda_kernels.runtime.launch.codegen import forget_signatures
from hatch_cuda_kernels.runtime.launch.libraries import LIBRARIES

#: Files whose tests run twice: with launches of Python, and with those of the accelerator.
TWICE = {
    "test_calls", "test_cupy_module", "test_devices", "test_frameworks", "test_codegen", "test_launch_errors",
    "test_many_threads", "test_launch_rule", "test_store", "test_tensor_map", "test_tensors", "test_typed_arguments",
}  # fmt: skip


def pytest_generate_tests(metafunc):
    """Run what launches in both ways."""
    if metafunc.module.__name__.rpartition(".")[2] in TWICE and "launches" in metafunc.fixturenames:
        metafunc.parametrize("launches", ["python", "compiled"], indirect=True)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Return the accelerator, compiled once in a run; for sanitizers in the processes of ``test_both_ways``."""
    if SANITIZED in os.environ:
        return load_accelerator(sanitized_accelerator(tmp_path_factory))
    return load_accelerator(make_once(tmp_path_factory, "accelerator", compile_accelerator))


@pytest.fixture
def launches(request, monkeypatch):
    """Let launches be those of Python, None, or where the parameter says so those of the accelerator, the module."""
    module = request.getfixturevalue("compiled") if getattr(request, "param", "python") == "compiled" else None
    monkeypatch.setattr(accelerator, "_module", lambda: module)
    return module


@pytest.fixture
def driver(monkeypatch, launches):
    """Return a fake driver with one device of compute capability 9.0, in the place of the bindings."""
    fake = FakeDriver()
    monkeypatch.setattr("cuda.bindings.driver", fake)
    monkeypatch.setattr(early, "_started", [None])  # nothing to wait for
    monkeypatch.setattr(our_driver, "driver_library", lambda: fake)
    monkeypatch.setattr(tensor_maps, "driver_library", lambda: fake)
    monkeypatch.setattr(LIBRARIES, "_libraries", {})
    monkeypatch.setattr(LIBRARIES, "_unused", [])
    forget()
    yield fake
    forget()


def forget():
    """Let the next call ask the driver that is there by then."""
    our_driver.cuda.cache_clear()
    our_driver._device.cache_clear()
    our_driver._primaries.clear()
    our_driver._HANDLES.clear()
    our_driver.REFUSED.clear()
    forget_signatures()
    accelerator._found.cache_clear()
    arrays._only_one.cache_clear()
