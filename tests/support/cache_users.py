"""Other users: functions run by a user of another number, truly, which takes root."""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings

import pytest

from hatch_cuda_kernels import terminal
from hatch_cuda_kernels.cache import bundle, files, publishing

#: A process that has become another user may not be able to read where this package lies.
IMPORTED = (bundle, files, publishing, terminal)

VICTIM, ATTACKER = 23456, 34567


def needs_root():
    """Skip the test that asks for it unless this process can become other users."""
    if sys.platform == "win32" or os.geteuid() != 0:
        pytest.skip("becoming another user takes root")


def hand_over(monkeypatch, path, user=12345):
    """Make a folder, file or link another user's: truly where that is allowed, else as the system tells it."""
    if os.geteuid() == 0:
        os.lchown(path, user, user)
        return
    there = path.lstat()
    for call in ("stat", "lstat", "fstat"):
        real = getattr(os, call)

        def told(*arguments, real=real, **settings):
            found = real(*arguments, **settings)
            changed = (*found[:4], user, *found[5:])
            return os.stat_result(changed) if os.path.samestat(found, there) else found

        monkeypatch.setattr(os, call, told)


def as_user(user, function, *arguments):
    """Run a function as a user, in a process of its own, and return what it returned, by way of JSON."""
    return start_as(user, function, *arguments)()


def start_as(user, function, *arguments):
    """Start a function as a user, in a process of its own; return what waits for it and returns what it returned."""
    reading, writing_end = os.pipe()
    with warnings.catch_warnings():
        # The child asks for nothing that a thread of pytest-xdist's may hold.
        warnings.filterwarnings("ignore", ".*multi-threaded", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            with os.fdopen(writing_end, "w") as answer:
                answer.write(json.dumps(function(*arguments)))
            status = 0
        except BaseException:  # noqa: BLE001 - this process ends here, whatever it was
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing_end)

    def result():
        with os.fdopen(reading) as answer:
            text = answer.read()
        _, status = os.waitpid(child, 0)
        assert status == 0, f"it failed as user {user}"
        return json.loads(text)

    return result
