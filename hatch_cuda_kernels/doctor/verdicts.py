"""What would work here, judged by what was found."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels import environment
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.runtime.ladder import JIT_FORBIDDEN

if TYPE_CHECKING:
    from hatch_cuda_kernels.doctor.examine import Finding


#: What the package is used for, by the word for it on the command line.
TASKS: Final = {
    "build": "build wheels without isolation",
    "load": "load prebuilt kernels",
    "jit": "compile at run time",
    "link": "finish PTX with nvJitLink",
    "record": "keep what is compiled",
}
_NO_JIT: Final = Problem(JIT_FORBIDDEN, f"unset {environment.JIT}")


class Verdict(NamedTuple):
    """Whether a task works here. ``how`` is empty if it does not; ``problem`` prevents it, or else limits it."""

    how: str
    problem: Problem | None = None

    @property
    def works(self) -> bool:
        """Whether the task works."""
        return bool(self.how)

    @property
    def reason(self) -> str:
        """How the task works, or why it does not."""
        return "; ".join(filter(None, (self.how, self.problem and self.problem.message)))

    @property
    def fix(self) -> str:
        """What to do about the problem; empty if there is nothing to do."""
        return "" if self.problem is None else self.problem.fix

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``doctor --json``."""
        return {"works": self.works, "reason": self.reason, "fix": self.fix}


def judge(findings: dict[str, Finding]) -> dict[str, Verdict]:
    """Return a verdict for each task."""
    return {
        "build": _build(findings),
        "load": _load(findings),
        "jit": _jit(findings),
        "link": _link(findings),
        "record": _record(findings),
    }


def _build(findings: dict[str, Finding]) -> Verdict:
    tools, nvrtc, manifest = findings["tools"], findings["nvrtc"], findings.get("manifest")
    if tools.problem is not None:
        return Verdict("", tools.problem)
    if manifest is not None and manifest.problem is not None:
        return Verdict("", manifest.problem)
    if nvrtc.problem is None:
        return _limit_by_ptxas(_compiler(findings), findings["ptxas"].problem)
    if not nvrtc.missing:
        return Verdict("", nvrtc.problem)
    isolated = "an isolated build (python -m build, pip) installs the release that kernels.yaml asks for"
    return Verdict("", nvrtc.problem._replace(message=f"{nvrtc.problem.message}; {isolated}"))


def _limit_by_ptxas(verdict: Verdict, problem: Problem | None) -> Verdict:
    """Return the verdict on a build, limited by what keeps ptxas from working unless something else limits it."""
    if problem is None or verdict.problem is not None:
        return verdict
    return verdict._replace(problem=problem._replace(message=f"some modules cannot be built: {problem.message}"))


def _compiler(findings: dict[str, Finding]) -> Verdict:
    nvrtc, headers = findings["nvrtc"].facts, findings["headers"].problem
    how = f"NVRTC {nvrtc['version']}, {nvrtc['archs'][0]} to {nvrtc['archs'][-1]}"
    if headers is None:
        return Verdict(how)
    return Verdict(how, headers._replace(message=f"some sources will not compile: {headers.message}"))


def _load(findings: dict[str, Finding]) -> Verdict:
    for name in ("driver", "bindings"):
        if findings[name].problem is not None:
            return Verdict("", findings[name].problem)
    driver = findings["driver"].facts
    if not driver["devices"]:
        return Verdict("", Problem("the driver reports no device", "nvidia-smi lists the devices"))
    devices = ", ".join(f"{device['name']} ({device['capability']})" for device in driver["devices"])
    return Verdict(f"{devices}, driver for CUDA {driver['cuda']}")


def _jit(findings: dict[str, Finding]) -> Verdict:
    nvrtc = findings["nvrtc"]
    if _is_jit_forbidden():
        return Verdict("", _NO_JIT)
    if nvrtc.problem is not None:
        return Verdict("", nvrtc.problem)
    for device in findings["driver"].facts.get("devices", ()):
        arch = f"sm_{device['capability'].replace('.', '')}"
        if arch not in nvrtc.facts["archs"]:
            message = f"NVRTC {nvrtc.facts['version']} does not know {arch}, the {device['name']}"
            return Verdict("", Problem(message, f"install an NVRTC release that compiles for {arch}"))
    return _compiler(findings)


def _link(findings: dict[str, Finding]) -> Verdict:
    nvjitlink = findings["nvjitlink"]
    if _is_jit_forbidden():
        return Verdict("", _NO_JIT)
    if nvjitlink.problem is not None:
        return Verdict("", nvjitlink.problem)
    return Verdict(f"nvJitLink {nvjitlink.facts['version']}, for PTX and LTO-IR up to its release")


def _record(findings: dict[str, Finding]) -> Verdict:
    cache = findings["cache"]
    return Verdict("", cache.problem) if cache.problem is not None else Verdict(f"in {cache.facts['path']}")


def _is_jit_forbidden() -> bool:
    return os.environ.get(environment.JIT, "1") == "0"
