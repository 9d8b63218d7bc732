"""Processes that answer calls: what they are told, what they say, and how they end."""

from __future__ import annotations

import os
import signal
import sys
from importlib.util import find_spec

import pytest
from processes import linux, runs
from waiting import wait_until

from hatch_cuda_kernels.child_process import ChildDiedError, ChildProcess, call_in_child, is_child


@pytest.mark.slow
def test_a_call_apart_is_answered_by_a_child():
    """It runs in another process, and knows what it is."""
    assert call_in_child(os.getpid) != os.getpid()
    assert call_in_child(is_child)
    assert call_in_child(eval, "__import__('sys').argv") == sys.argv  # what advice to run a command again goes by
    assert not is_child()


@pytest.mark.parametrize("entry", ["", ".", "lib"])
def test_a_child_finds_modules_from_anywhere(tmp_path, monkeypatch, entry):
    """A path that is relative to this process's directory leads to them after the child has left it."""
    (tmp_path / "lib").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / entry / "only_here.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path, entry])
    with ChildProcess() as child:
        child.call((os.chdir, ("/",), {}))
        assert child.call((find_spec, ("only_here",), {})).origin == str(tmp_path / entry / "only_here.py")


@pytest.mark.slow
def test_what_a_call_raises_comes_back():
    """Errors travel as results do; the end of the process is an error of its own."""
    with pytest.raises(FileNotFoundError, match="nowhere"):
        call_in_child(os.listdir, "/nowhere")
    with pytest.raises(ChildDiedError):
        call_in_child(os._exit, 3)


def test_what_a_call_prints_is_no_answer(capfd):
    """Output goes to standard error, and the result comes through."""
    assert call_in_child(os.write, 1, b"printed") == len(b"printed")
    assert capfd.readouterr().err == "printed"


@linux
def test_a_child_ends_with_its_block_and_when_killed():
    """Neither leaves a process behind."""
    with ChildProcess() as child:
        pid = child.call((os.getpid, (), {}))
    assert not runs(pid)
    with ChildProcess() as other:
        other.kill()
        assert other.process.wait() == -signal.SIGKILL


def test_a_child_that_has_ended_can_be_killed(monkeypatch):
    """It may end, and be waited for by another thread, between the look at it and the signal."""
    with ChildProcess() as child:
        pass
    monkeypatch.setattr(child.process, "poll", lambda: None)
    wait_until(lambda: child.process.returncode is not None)
    child.kill()
