"""Python's garbage collector is left as it was found, in every process."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from hatch_cuda_kernels import collector
from hatch_cuda_kernels.collector import uncollected


@pytest.fixture(autouse=True)
def enabled():
    """Leave the tests' own collector on."""
    yield
    gc.enable()


@pytest.mark.parametrize("is_enabled", [True, False])
def test_it_is_as_before(is_enabled):
    """It is off meanwhile, and afterwards as it was, after an error, too."""
    (gc.enable if is_enabled else gc.disable)()
    with uncollected():
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() == is_enabled
    with pytest.raises(ValueError, match="no"), uncollected():
        raise ValueError("no")
    assert gc.isenabled() == is_enabled


@pytest.mark.parametrize("call", ["disable", "enable"])
def test_an_interrupt_leaves_it_on(monkeypatch, call):
    """Python raises KeyboardInterrupt when a call returns."""

    def interrupted():
        getattr(gc, call)()
        raise KeyboardInterrupt

    calls = {"isenabled": gc.isenabled, "disable": gc.disable, "enable": gc.enable}
    monkeypatch.setattr(collector, "gc", SimpleNamespace(**{**calls, call: interrupted}))
    with pytest.raises(KeyboardInterrupt), uncollected():
        pass
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_forked_at_any_moment_collects():
    """Another thread may fork right before or after the collector is turned off or on."""
    script = """
import gc, os
from types import SimpleNamespace
os.register_at_fork(after_in_child=lambda: setattr(collector, "gc", gc))  # first: a child forks no more
from hatch_cuda_kernels import collector

def child():
    pid = os.fork()
    if pid == 0:
        os._exit(gc.isenabled())
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), end="")
def between(call):
    def called():
        child()
        call()
        child()
    return called
collector.gc = SimpleNamespace(isenabled=gc.isenabled, disable=between(gc.disable), enable=between(gc.enable))
with collector.uncollected():
    pass
"""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == "1111"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_forked_meanwhile_collects():
    """The thread that would turn it on again is not in the child; one that the user turned off stays off."""
    script = """
import gc, os, sys, threading
from hatch_cuda_kernels.collector import uncollected

began, ends = threading.Event(), threading.Event()
def work():
    with uncollected():
        began.set()
        ends.wait()
def child():
    pid = os.fork()
    if pid == 0:
        os._exit(gc.isenabled())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
thread = threading.Thread(target=work)
thread.start()
began.wait()
inside = child()
ends.set()
thread.join()
assert gc.isenabled()
gc.disable()
print(inside, child())
"""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == "1 0\n"
