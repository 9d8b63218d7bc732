"""What is installed here, what of it works, and how to fix the rest. Nothing broken on the machine breaks this."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from hatch_cuda_kernels import __version__, environment
from hatch_cuda_kernels.compiler.toolchain import own, pip_install
from hatch_cuda_kernels.environment import JIT_FORBIDDEN
from hatch_cuda_kernels.errors import HatchCudaKernelsError, InputError, Problem
from hatch_cuda_kernels.runtime.launch import accelerator_state

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache import CacheInfo


class Finding(NamedTuple):
    """What is known of one thing on this machine, and what is wrong with it, if anything."""

    facts: dict[str, Any]
    problem: Problem | None = None
    missing: bool = False
    """Whether it is not installed, rather than broken."""

    @property
    def state(self) -> Literal["ok", "missing", "broken"]:
        """``ok``, ``missing`` or ``broken``."""
        if self.problem is None:
            return "ok"
        return "missing" if self.missing else "broken"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``doctor --json``."""
        message, fix, _ = self.problem or Problem("")
        return {"state": self.state, "problem": message, "fix": fix, **self.facts}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Finding:
        """Read what ``to_json`` wrote. Raises KeyError on other data."""
        facts = dict(data)
        state, message, fix = (facts.pop(name) for name in ("state", "problem", "fix"))
        return cls(facts, Problem(message, fix) if message else None, missing=state == "missing")


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
    """Run probes, given by name and argument, and return what each found. If a probe dies, that is its finding."""
    start = (sys.executable, "-c", _CODE, json.dumps([sys.path, sys.argv]))
    quiet, pipe = subprocess.DEVNULL, subprocess.PIPE
    children = [
        subprocess.Popen([*start, *question], stdin=quiet, stdout=pipe, stderr=pipe)  # noqa: S603 - this interpreter
        for question in questions
    ]
    return [_answer(child) for child in children]


def _answer(child: subprocess.Popen[bytes]) -> Finding:
    try:
        out, err = child.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return _death(f"no answer within {_SECONDS:.0f} s")
    try:
        return Finding.from_json(json.loads(out.splitlines()[-1]))
    except (IndexError, KeyError, TypeError, ValueError):
        last = err.decode(errors="replace").strip().rpartition("\n")[2]
        return _death(_ending(child.returncode) + (f" ({last})" if last else ""))


def _death(how: str) -> Finding:
    return Finding({}, Problem(f"a process that loaded it ended with: {how}", "reinstall it"))


def _ending(status: int) -> str:
    try:
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"
    except ValueError:  # a real-time signal
        return f"signal {-status}"


_PROBED: Final = ("driver", "bindings", "nvrtc", "headers", "nvjitlink", "ptxas")
#: What the build extra brings.
_TOOLS: Final = ("hatchling", "pyyaml", "rich", "tomlkit")


def examine() -> dict[str, Finding]:
    """Return what is here, by name, with ``manifest`` only in a project. Never raises for what is missing or broken."""
    from hatch_cuda_kernels.manifest import find_manifest  # one command needs it

    tools, questions = _safely(_tools), [(name, "") for name in _PROBED]
    with suppress(InputError, OSError):
        questions += [("manifest", str(find_manifest(Path())))] if tools.problem is None else []
    probed = {name: found for (name, _), found in zip(questions, ask(*questions), strict=True)}
    return {"python": _safely(_python), **probed, "cache": _safely(_cache), "tools": tools}


def set_variables() -> dict[str, str]:
    """Return the environment variables that matter here and are set. Others of the same prefixes may be secrets."""
    return {name: os.environ[name] for name in (*environment.OWN, *environment.FOREIGN) if os.environ.get(name)}


def _safely(look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except HatchCudaKernelsError as error:
        return Finding({}, Problem(str(error)))
    except Exception as error:  # noqa: BLE001 - whatever is broken here is what the report is for
        return Finding({}, Problem(f"{type(error).__name__}: {error}"))


def _python() -> Finding:
    return Finding(
        {
            "version": platform.python_version(),
            "executable": sys.executable,
            "platform": platform.platform(),
            "package": __version__,
            "folder": str(Path(__file__).parent.parent),
            "accelerator": accelerator_state(),
        }
    )


def _tools() -> Finding:
    versions: dict[str, str | None] = dict.fromkeys(_TOOLS)
    for name in _TOOLS:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    lacking = [name for name, version in versions.items() if version is None]
    problem = Problem(f"not installed: {', '.join(lacking)}", pip_install(own("build"))) if lacking else None
    return Finding({"versions": versions}, problem, missing=problem is not None)


def _cache() -> Finding:
    from hatch_cuda_kernels.cache import (
        open_cache,  # its settings may be what is broken
        site_paths,
    )

    with warnings.catch_warnings():  # the finding says what the warnings would
        warnings.simplefilter("ignore")
        info = open_cache().info()
    sites = [
        (path, _access_problem(path, shared=True) if path.is_dir() else f"{path} in {environment.PATH} is not a folder")
        for path in site_paths()
    ]
    facts = {**info._asdict(), "sites": [{"path": str(path), "problem": problem} for path, problem in sites]}
    wrong = "; ".join(problem for _, problem in sites if problem)
    return Finding(facts, _folder_problem(info) or (Problem(wrong, f"correct {environment.PATH}") if wrong else None))


def _folder_problem(info: CacheInfo) -> Problem | None:
    """Return what is wrong with the user's own cache folder."""
    if not info.path:
        return Problem("there is no home folder for the cache", f"set {environment.CACHE_DIR} to a folder")
    reason = _access_problem(Path(info.path), shared=False)
    if not reason and not info.writable:
        reason = f"{info.path} cannot be written to"
    return Problem(reason, f"set {environment.CACHE_DIR} to a folder of your own") if reason else None


def _access_problem(path: Path, *, shared: bool) -> str:
    """Return why entries of a folder cannot be used; empty if they can, or if there is no such folder yet."""
    from hatch_cuda_kernels.cache import distrust

    reason = distrust(path, shared=shared)
    if reason or not path.exists():
        return reason or ""
    if not path.is_dir():
        return f"{path} is not a folder"
    return "" if os.access(path, os.R_OK | os.X_OK) else f"{path} cannot be read"


_NO_JIT: Final = Problem(JIT_FORBIDDEN, f"unset {environment.JIT}")


#: What is said of a build without NVRTC.
_ISOLATED: Final = "; an isolated build (python -m build, pip) installs the release that kernels.yaml asks for"


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
    return {task: _verdict(task, findings) for task in TASKS}


def _verdict(task: str, findings: dict[str, Finding]) -> Verdict:
    if task in {"jit", "link"} and os.environ.get(environment.JIT, "1") == "0":
        return Verdict("", _NO_JIT)
    needed, how = TASKS[task]
    for name in needed:
        found = findings.get(name)  # there may be no manifest
        if found is not None and found.problem is not None:
            no_compiler = task == "build" and name == "nvrtc" and found.missing
            return Verdict("", found.problem._replace(message=f"{found.problem.message}{no_compiler * _ISOLATED}"))
    return how(findings)


def _build(findings: dict[str, Finding]) -> Verdict:
    verdict, lacking = _compiler(findings), findings["ptxas"].problem
    if lacking is None or verdict.problem is not None:
        return verdict
    return verdict._replace(problem=lacking._replace(message=f"some modules cannot be built: {lacking.message}"))


def _compiler(findings: dict[str, Finding]) -> Verdict:
    nvrtc, headers = findings["nvrtc"].facts, findings["headers"].problem
    how = f"NVRTC {nvrtc['version']}, {nvrtc['archs'][0]} to {nvrtc['archs'][-1]}"
    if headers is None:
        return Verdict(how)
    return Verdict(how, headers._replace(message=f"some sources will not compile: {headers.message}"))


def _load(findings: dict[str, Finding]) -> Verdict:
    driver = findings["driver"].facts
    if not driver["devices"]:
        return Verdict("", Problem("the driver reports no device", "nvidia-smi lists the devices"))
    devices = ", ".join(f"{device['name']} ({device['capability']})" for device in driver["devices"])
    return Verdict(f"{devices}, driver for CUDA {driver['cuda']}")


def _jit(findings: dict[str, Finding]) -> Verdict:
    nvrtc = findings["nvrtc"].facts
    for device in findings["driver"].facts.get("devices", ()):
        arch = f"sm_{device['capability'].replace('.', '')}"
        if arch not in nvrtc["archs"]:
            message = f"NVRTC {nvrtc['version']} does not know {arch}, the {device['name']}"
            return Verdict("", Problem(message, f"install an NVRTC release that compiles for {arch}"))
    verdict, limits = _compiler(findings), findings["nvjitlink"].facts.get("limits")
    return verdict._replace(problem=Problem(*limits)) if limits and verdict.problem is None else verdict


#: By the word for a task on the command line: what has to be found without a problem, and how the task works then.
TASKS: Final[dict[str, tuple[tuple[str, ...], Callable[[dict[str, Finding]], Verdict]]]] = {
    "build": (("tools", "manifest", "nvrtc"), _build),
    "load": (("driver", "bindings"), _load),
    "jit": (("nvrtc",), _jit),
    "link": (
        ("nvjitlink",),
        lambda found: Verdict(f"nvJitLink {found['nvjitlink'].facts['version']}, for PTX and LTO-IR up to its release"),
    ),
    "record": (("cache",), lambda found: Verdict(f"in {found['cache'].facts['path']}")),
}
