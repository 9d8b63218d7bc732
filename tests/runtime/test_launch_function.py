"""The generated launch function, with an imitated driver: what reaches the driver, and what is refused before."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import pytest

from hatch_cuda_kernels.errors import ArgumentError
from hatch_cuda_kernels.runtime.launch import configs, launch
from hatch_cuda_kernels.runtime.launch.arguments import Signature


class Driver:
    """As much of the bindings as a launch needs; it copies the parameter buffer when it is called."""

    CUresult = SimpleNamespace(CUDA_SUCCESS=0)
    CUcontext = CUstream = int
    CUlaunchConfig = SimpleNamespace

    def __init__(self):
        self.launches = []
        self.context = 7
        self.status = 0

    def cuCtxGetId(self, _):  # noqa: N802 - the driver's name
        """Answer with the context that is current."""
        return 0, self.context

    def cuLaunchKernelEx(self, config, handle, _, extra):  # noqa: N802 - the driver's name
        """Keep what was launched."""
        words = (ctypes.c_void_p * 5).from_address(extra)
        size = ctypes.c_size_t.from_address(words[3]).value
        self.launches.append((config.hStream, handle, ctypes.string_at(words[1], size)))
        return (self.status,)


@pytest.fixture
def driver(monkeypatch):
    """Put the imitated driver in the place of the bindings."""
    driver = Driver()
    monkeypatch.setattr(launch, "cuda", lambda: driver)
    monkeypatch.setattr(configs, "cuda", lambda: driver)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    return driver


def bind(params, *, check_context=lambda: None, fail=lambda _: None):
    """Return a launch function for a kernel of those parameters, on stream 5."""
    make = launch.make_launch(
        Signature("k", params), 99, context_id=7, ordinal=0, check_context=check_context, fail=fail
    )
    return make(configs.Configs((1, 1, 1), (32, 1, 1), shared_mem=0), 5)


def test_arguments_reach_the_driver_as_laid_out(driver):
    """Stream, handle and the packed buffer are what the signature says."""
    params = ("f32", "ptr", "u64", "b8[4]:4")
    bind(params)(1.5, 0x10, -1, b"abcd")
    assert driver.launches == [(5, 99, Signature("k", params).pack((1.5, 0x10, -1, b"abcd")))]


@pytest.mark.parametrize("args", [(), (1.0,), (1.0, 2, 3)])
def test_a_wrong_number_of_arguments_is_named(driver, args):
    """Too few and too many are the same error, and nothing is launched."""
    with pytest.raises(ArgumentError, match=rf"k takes 2 arguments \(f32, ptr\), got {len(args)}"):
        bind(("f32", "ptr"))(*args)
    assert driver.launches == []


def test_a_kernel_without_parameters(driver):
    """No parameters are launched with no arguments, and refuse one."""
    bind(())()
    assert len(driver.launches) == 1
    with pytest.raises(ArgumentError, match="k takes 0 arguments"):
        bind(())(1)


def test_another_context_is_checked_before_anything_else(driver):
    """A kernel of another context never reaches the driver."""

    def refuse():
        raise RuntimeError("stale")

    driver.context = 8
    with pytest.raises(RuntimeError, match="stale"):
        bind(("u32",), check_context=refuse)(1)
    assert driver.launches == []


def test_a_refused_launch_is_reported_and_the_next_one_works(driver):
    """The driver's status is handed on; the buffer is used again."""
    statuses = []
    function = bind(("u32",), fail=statuses.append)
    driver.status = 719
    function(1)
    driver.status = 0
    function(2)
    assert statuses == [719]
    assert [data for _, _, data in driver.launches] == [b"\1\0\0\0", b"\2\0\0\0"]


def test_streams_without_end_do_not_pile_up(driver):
    """Configurations are kept for a bounded number of streams."""
    shape = configs.Configs((1, 1, 1), (32, 1, 1), shared_mem=0)
    for stream in range(1000):
        assert shape[stream].hStream == stream
    assert len(shape) <= 64
