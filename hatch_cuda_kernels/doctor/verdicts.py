"""What would work here, from what was found."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from hatch_cuda_kernels.doctor.findings import Finding

__all__ = ["TASKS", "Verdict", "judge"]

#: What one does with the package, and how it is called.
TASKS: Final = {
    "build": "build wheels without isolation",
    "load": "load prebuilt kernels",
    "jit": "compile at run time",
    "link": "finish PTX with nvJitLink",
    "record": "keep what is compiled",
}
_NO_JIT: Final = "HATCH_CUDA_KERNELS_JIT=0 forbids compiling"


class Verdict(NamedTuple):
    """Whether a task works here, why (or why not), and what to do where it does not."""

    works: bool
    reason: str
    fix: str = ""


def judge(findings: dict[str, Finding]) -> dict[str, Verdict]:
    """Return a verdict for each task."""
    return {
        "build": _build(findings),
        "load": _load(findings),
        "jit": _jit(findings),
        "link": _link(findings),
        "record": _record(findings),
    }


def _no(finding: Finding) -> Verdict:
    return Verdict(works=False, reason=finding.problem, fix=finding.fix)


def _build(findings: dict[str, Finding]) -> Verdict:
    nvrtc = findings["nvrtc"]
    if findings["tools"].state != "ok":
        return _no(findings["tools"])
    if nvrtc.state == "missing":
        reason = (
            f"{nvrtc.problem}; python -m build and pip bring the one that kernels.yaml asks for, unless told not to"
        )
        return Verdict(works=False, reason=reason, fix=nvrtc.fix)
    return _compiles(findings) if nvrtc.state == "ok" else _no(nvrtc)


def _compiles(findings: dict[str, Finding]) -> Verdict:
    nvrtc, headers = findings["nvrtc"].facts, findings["headers"]
    reason = f"NVRTC {nvrtc['version']}, {nvrtc['archs'][0]} to {nvrtc['archs'][-1]}"
    if headers.state != "ok":
        return Verdict(works=True, reason=f"{reason}; not sources that need these: {headers.problem}", fix=headers.fix)
    return Verdict(works=True, reason=reason)


def _load(findings: dict[str, Finding]) -> Verdict:
    for name in ("driver", "bindings"):
        if findings[name].state != "ok":
            return _no(findings[name])
    driver = findings["driver"].facts
    if not driver["devices"]:
        return Verdict(works=False, reason="the driver reports no device", fix="nvidia-smi lists the devices")
    devices = ", ".join(f"{device['name']} ({device['capability']})" for device in driver["devices"])
    return Verdict(works=True, reason=f"{devices}, driver for CUDA {driver['cuda']}")


def _jit(findings: dict[str, Finding]) -> Verdict:
    nvrtc = findings["nvrtc"]
    if _forbidden():
        return Verdict(works=False, reason=_NO_JIT, fix="unset HATCH_CUDA_KERNELS_JIT")
    if nvrtc.state != "ok":
        return _no(nvrtc)
    for device in findings["driver"].facts.get("devices", ()):
        arch = f"sm_{device['capability'].replace('.', '')}"
        if arch not in nvrtc.facts["archs"]:
            reason = f"NVRTC {nvrtc.facts['version']} does not know {arch}, the {device['name']}"
            return Verdict(works=False, reason=reason, fix="install NVRTC of a release that compiles for it")
    return _compiles(findings)


def _link(findings: dict[str, Finding]) -> Verdict:
    nvjitlink = findings["nvjitlink"]
    if _forbidden():
        return Verdict(works=False, reason=_NO_JIT, fix="unset HATCH_CUDA_KERNELS_JIT")
    if nvjitlink.state != "ok":
        return _no(nvjitlink)
    return Verdict(works=True, reason=f"nvJitLink {nvjitlink.facts['version']}, for PTX and LTO-IR up to its release")


def _record(findings: dict[str, Finding]) -> Verdict:
    cache = findings["cache"]
    return _no(cache) if cache.state != "ok" else Verdict(works=True, reason=f"in {cache.facts['path']}")


def _forbidden() -> bool:
    return os.environ.get("HATCH_CUDA_KERNELS_JIT", "1") == "0"
