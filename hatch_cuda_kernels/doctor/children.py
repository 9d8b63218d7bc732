"""Runs probes in processes of their own, all at once, and reads what they found, however the processes ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Final

from hatch_cuda_kernels.doctor.finding import Finding
from hatch_cuda_kernels.problem import Problem

__all__ = ["ask"]

#: A driver that hangs must not hang the report. Loading NVRTC takes a second, more from a slow disk.
_SECONDS: Final = 60.0
_CODE: Final = """
import json, sys
_, given, *question = sys.argv
sys.path[:], sys.argv[:] = json.loads(given)
from hatch_cuda_kernels.doctor.probes import main
main(*question)
"""


def ask(*questions: tuple[str, str]) -> list[Finding]:
    """Return what each probe, given by name and argument, found; that a probe died is its finding."""
    return [_answer(child) for child in [_start(*question) for question in questions]]


def _start(name: str, argument: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _CODE, json.dumps([sys.path, sys.argv]), name, argument]
    return subprocess.Popen(  # noqa: S603 - this interpreter
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )


def _answer(child: subprocess.Popen[bytes]) -> Finding:
    try:
        out, err = child.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return _died(f"no answer within {_SECONDS:.0f} s")
    try:
        return Finding.from_json(json.loads(out.splitlines()[-1]))
    except (IndexError, KeyError, TypeError, ValueError):
        last = err.decode(errors="replace").strip().rpartition("\n")[2]
        return _died(_ending(child.returncode) + (f" ({last})" if last else ""))


def _died(how: str) -> Finding:
    return Finding({}, Problem(f"a process that loaded it ended with: {how}", "reinstall it"))


def _ending(status: int) -> str:
    try:
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"
    except ValueError:
        return f"signal {-status}"
