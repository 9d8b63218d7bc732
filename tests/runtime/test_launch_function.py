"""The generated launch function, on a fake driver: what reaches the driver, and what is refused before."""

from __future__ import annotations

import sys

import pytest
from fake_driver import Result

from hatch_cuda_kernels.errors import ArgumentError
from hatch_cuda_kernels.runtime.launch.arguments import Signature
from hatch_cuda_kernels.runtime.launch.configs import Configs
from hatch_cuda_kernels.runtime.launch.launch import make_launch


@pytest.fixture(autouse=True)
def loaded(driver, monkeypatch):
    """Make the context current that the kernels here are loaded for, in a process without torch."""
    driver.context = 7
    monkeypatch.delitem(sys.modules, "torch", raising=False)


def bind(params, *, check_context=lambda: None, fail=lambda _: None):
    """Return a launch function for a kernel of those parameters, on stream 5."""
    make = make_launch(Signature("k", params), 99, context_id=7, ordinal=0, check_context=check_context, fail=fail)
    return make(Configs((1, 1, 1), (32, 1, 1), shared_mem=0), 5)


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
    """No parameters are launched with no arguments and no buffer, and refuse one."""
    bind(())()
    assert driver.launches == [(5, 99, None)]
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
    driver.status = Result.CUDA_ERROR_LAUNCH_FAILED
    function(1)
    driver.status = Result.CUDA_SUCCESS
    function(2)
    assert statuses == [719]
    assert [data for _, _, data in driver.launches] == [b"\1\0\0\0", b"\2\0\0\0"]


def test_streams_without_end_do_not_pile_up(driver):
    """Configurations are kept for a bounded number of streams."""
    shape = Configs((1, 1, 1), (32, 1, 1), shared_mem=0)
    for stream in range(1000):
        assert shape[stream].hStream == stream
    assert len(shape) <= 64
