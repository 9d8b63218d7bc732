"""The generated launch function, on a fake driver: what reaches the driver, and what is refused before."""

from __future__ import annotations

import sys

import pytest
from fake_driver import Result

from hatch_cuda_kernels.runtime.launch.arguments import Signature
from hatch_cuda_kernels.runtime.launch.codegen import MISSING, bind_for
from hatch_cuda_kernels.runtime.launch.shapes import Configs, Shape


@pytest.fixture(autouse=True)
def loaded(driver, monkeypatch):
    """Make the context current that the kernels here are loaded for, in a process without torch."""
    driver.context = 7
    monkeypatch.delitem(sys.modules, "torch", raising=False)


def no_other_way(*args):
    """Stand for the way that takes care of everything: here nothing needs it."""
    raise AssertionError(args)


def bind(params, *, in_full=no_other_way, refuse=no_other_way):
    """Return a launch function for a kernel of those parameters, on stream 5."""
    make = bind_for(Signature("k", params), "stated")
    return make("k", {7: (0, 99, Configs(Shape((1, 1, 1), (32, 1, 1), 0)))}, 5, in_full, refuse)


def test_arguments_reach_the_driver_as_laid_out(driver):
    """Stream, handle and the packed buffer are what the signature says."""
    params = ("f32", "ptr", "u64", "b8[4]:4")
    bind(params)(1.5, 0x10, -1, b"abcd")
    assert driver.launches == [(5, 99, Signature("k", params).pack((1.5, 0x10, -1, b"abcd")))]


@pytest.mark.parametrize("args", [(), (1.0,), (1.0, 2, 3), (1.0, "text"), (2.0, -1)])
def test_what_is_not_usual_is_left_to_the_careful_way(driver, args):
    """A wrong number or kind of arguments launches nothing here, and is handed on as it was given."""
    handed = []
    bind(("f32", "ptr"), in_full=handed.append)(*args)
    assert [arg for arg in handed[0] if arg is not MISSING] == [*args]
    assert driver.launches == []


def test_a_kernel_without_parameters(driver):
    """No parameters are launched with no arguments and no buffer."""
    bind(())()
    assert driver.launches == [(5, 99, None)]


def test_another_context_is_left_to_the_careful_way(driver):
    """A launch in another context does not reach the driver from here."""
    handed = []
    driver.context = 8
    bind(("u32",), in_full=handed.append)(1)
    assert (handed, driver.launches) == ([(1,)], [])


def test_a_refused_launch_is_reported_and_the_next_one_works(driver):
    """The driver's status is handed on; the buffer is used again."""
    statuses = []
    function = bind(("u32",), refuse=lambda status, stream: statuses.append((status, stream)))
    driver.status = Result.CUDA_ERROR_LAUNCH_FAILED
    function(1)
    driver.status = Result.CUDA_SUCCESS
    function(2)
    assert statuses == [(719, 5)]
    assert [data for _, _, data in driver.launches] == [b"\1\0\0\0", b"\2\0\0\0"]


def test_streams_without_end_do_not_pile_up(driver):
    """Configurations are kept for a bounded number of streams."""
    configs = Configs(Shape((1, 1, 1), (32, 1, 1), 0))
    for stream in range(1000):
        assert configs[stream].hStream == stream
    assert len(configs) <= 64
