"""A driver for tests of the run side that have no device."""

from __future__ import annotations

from weakref import WeakValueDictionary

import cuda.bindings.driver  # noqa: F401 - so that it can be replaced
import pytest
from fake_driver import FakeDriver

from hatch_cuda_kernels import contexts, early
from hatch_cuda_kernels import driver as our_driver
from hatch_cuda_kernels.runtime.launch import arrays, tensor_map
from hatch_cuda_kernels.runtime.launch.generated import forget_signatures
from hatch_cuda_kernels.runtime.launch.libraries import LIBRARIES


@pytest.fixture
def driver(monkeypatch):
    """Return a fake driver with one device of compute capability 9.0, in the place of the bindings."""
    fake = FakeDriver()
    monkeypatch.setattr("cuda.bindings.driver", fake)
    monkeypatch.setattr(early, "_started", [None])  # nothing to wait for
    monkeypatch.setattr(our_driver, "driver_library", lambda: fake)
    monkeypatch.setattr(tensor_map, "driver_library", lambda: fake)
    monkeypatch.setattr(LIBRARIES, "_libraries", WeakValueDictionary())
    monkeypatch.setattr(LIBRARIES, "_refused", {})
    monkeypatch.setattr(LIBRARIES, "_unused", [])
    forget()
    yield fake
    forget()


def forget():
    """Let the next call ask the driver that is there by then."""
    our_driver.cuda.cache_clear()
    our_driver._device.cache_clear()
    our_driver._primaries.clear()
    contexts._HANDLES.clear()
    forget_signatures()
    arrays._only_one.cache_clear()
