"""Runs probes in processes of their own, at the same time, and reads what they found, however they ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any, Final

__all__ = ["ask"]

#: A driver that hangs must not hang the report. NVRTC takes a second, from a slow disk some more.
_SECONDS: Final = 60.0
_CODE: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from hatch_cuda_kernels.doctor.probes import main
main(*sys.argv[2:])
"""


def ask(*questions: tuple[str, str]) -> list[dict[str, Any]]:
    """Return what each probe, given with its argument, found; a probe that died says so as its ``problem``."""
    return [_answer(child) for child in [_start(*question) for question in questions]]


def _start(name: str, argument: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _CODE, json.dumps(sys.path), name, argument]
    return subprocess.Popen(  # noqa: S603 - this interpreter
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )


def _answer(child: subprocess.Popen[bytes]) -> dict[str, Any]:
    try:
        out, err = child.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return _died(f"no answer within {_SECONDS:.0f} s")
    try:
        found = json.loads(out.splitlines()[-1])
    except (IndexError, ValueError):
        last = err.decode(errors="replace").strip().rpartition("\n")[2]
        return _died(_ending(child.returncode) + (f" ({last})" if last else ""))
    return found if isinstance(found, dict) else _died("no answer")


def _died(how: str) -> dict[str, Any]:
    return {"problem": f"a process that loaded it ended with: {how}", "missing": False, "fix": "install it again"}


def _ending(status: int) -> str:
    try:
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"
    except ValueError:
        return f"signal {-status}"
