"""What a checkout of the package makes of one source, by its command line, in a process that has a limit.

A way is a manifest: ``auto`` has what list.toml states and the instances that ``port`` drafts, ``drop`` also
``host_code: drop`` and ``default_device: true``, and ``port`` is the draft of ``port``, after its patch.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import yaml
from classify import REASONS, classify
from golden_files import plain
from golden_kernels import Kernel, kernels
from golden_measure import Done, measured

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

WAYS: Final = ("auto", "drop", "port")
_DROP: Final = {"host_code": "drop", "default_device": True}
#: Instances of one source; more say nothing new, and take time.
_MOST_INSTANCES: Final = 12
#: Names of a manifest's options that ``port`` is given, and its draft repeats.
_GIVEN: Final = ("include", "define", "std", "pre_include")
_ERROR: Final = re.compile(r"^(\S+?):(\d+)(?::\d+)?: ((?:catastrophic )?error: .*)$", re.MULTILINE)
_NO_KERNEL: Final = "no kernel is in the image"
_PLACE: Final = re.compile(r"^\.goldens\.yaml:\d+:\d+: ")
#: ``-P``: the package is that of the environment, not what is in the folder.
_PROGRAM: Final = ("-P", "-m", "hatch_cuda_kernels")


class Limits(NamedTuple):
    """Seconds of processor time."""

    port: float = 20
    check: float = 20
    build: float = 25


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way of a source."""

    outcome: str
    """``compiled``, ``time``, ``failed``, or the reason in REASONS why it was refused."""
    message: str = ""
    kernels: dict[str, Kernel] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    """What of the host's code ``check`` says is left out."""
    cost: dict[str, Any] = field(default_factory=dict)


class Package:
    """A checkout of the package, by its Python."""

    def __init__(self, python: Path, scratch: Path, limits: Limits) -> None:
        self.python = python
        self.scratch = scratch
        self.limits = limits

    def version(self) -> dict[str, str]:
        """Return the commit, and the compiler that is found; empty where that is not told."""
        folder = Path(self._said("import hatch_cuda_kernels as one; print(one.__path__[0])")).parent
        git = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
        done = subprocess.run(git, capture_output=True, text=True, check=False)
        found = "from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain; print(load_toolchain()"
        return {"package": done.stdout.strip(), "toolchain": f"NVRTC {self._said(f'{found}.nvrtc)')}"}

    def _said(self, code: str) -> str:
        done = subprocess.run([self.python, "-P", "-c", code], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def port(self, root: Path, entry: dict[str, Any]) -> dict[str, Any]:
        """Return the outcome of ``port``, with its patch and its draft, and what it took."""
        options = entry["options"]
        command = ["port", "--json", "--arch", entry["arch"], "--std", options.get("std", "c++17")]
        command += [f"--include={folder}" for folder in options.get("include", ())]
        command += [f"--pre-include={name}" for name in options.get("pre_include", ())]
        for name, value in options.get("define", {}).items():
            command.append(f"--define={name}" if value is None else f"--define={name}={value}")
        done = self._run(root, [*command, entry["path"]], self.limits.port)
        try:
            data = json.loads(done.out) if done.status is not None else {}
        except ValueError:
            data = {}
        if "manifest" not in data:
            outcome = "time" if done.status is None else "failed"
            return {"outcome": outcome, "message": _first_line(done.err, root), **done.cost}
        remaining = [_plain(line, root) for line in data["remaining"]]
        return {
            "outcome": "refused" if remaining else "done",
            "message": remaining[0] if remaining else "",
            "patch": data["diff"],
            "manifest": data["manifest"],
            "notes": data["notes"],
            **done.cost,
        }

    def attempt(self, root: Path, entry: dict[str, Any], way: str, ported: dict[str, Any]) -> Attempt:
        """Return what one way gives. For ``port``, the patch is applied to a copy."""
        arch = entry["arch"]
        arches = [arch, arch.replace("sm_", "compute_")]
        try:
            return self._attempt(root, entry, way, ported, partial(self._build, entry, arches))
        except subprocess.CalledProcessError as error:
            return Attempt("failed", (error.stdout or b"").decode().splitlines()[0])

    def lto_ir(self, root: Path, entry: dict[str, Any], way: str, ported: dict[str, Any]) -> bytes | str:
        """Return the LTO-IR of one way, or why there is none."""

        def build(root: Path, module: dict[str, Any]) -> bytes | str:
            module = {**module, "options": {**module.get("options", {}), "lto": True}}
            built = self._build(entry, [entry["arch"].replace("sm_", "compute_")], root, module)
            images = [*(self.scratch / "out").glob("m/*.ltoir")]
            return images[0].read_bytes() if images else f"{built.outcome} {built.message}"

        return self._attempt(root, entry, way, ported, build)

    def _attempt(
        self, root: Path, entry: dict[str, Any], way: str, ported: dict[str, Any], build: Callable[[Path, Any], T]
    ) -> T:
        """Return what ``build`` gives of the folder and the module of one way."""
        if way != "port":
            module = entry.get("module") or drafted(ported, entry)
            options = entry["options"] | (_DROP if way == "drop" else {})
            return build(root, {"options": options, **module})
        tree = self.scratch / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        subprocess.run(["cp", "-al", f"{root}/", tree], check=True)
        try:
            if ported["patch"]:
                applied = ["patch", "-p1", "--quiet", "--force", "--no-backup-if-mismatch"]
                subprocess.run(applied, cwd=tree, input=ported["patch"].encode(), check=True, capture_output=True)
            return build(tree, _module(ported["manifest"]))
        finally:
            shutil.rmtree(tree, ignore_errors=True)

    def _build(self, entry: dict[str, Any], arches: list[str], root: Path, module: dict[str, Any]) -> Attempt:
        manifest = {"schema": 1, "cuda": "13.0", "arches": arches, "packing": "none"}
        path, out = root / ".goldens.yaml", self.scratch / "out"
        path.write_text(json.dumps(manifest | {"modules": {"m": module}}))
        for old in (out, self.scratch / "cache"):
            shutil.rmtree(old, ignore_errors=True)
        try:
            check = self._run(root, ["check", "--json", path.name], self.limits.check, fresh=False)
            cost = {"check": check.cost}
            if check.status is None:
                return Attempt("time", "check", cost=cost)
            build = self._run(
                root, ["build", "--json", "--jobs=1", f"--out={out}", path.name], self.limits.build, fresh=False
            )
        finally:
            path.unlink()
        cost["build"] = build.cost
        if build.status is None:
            return Attempt("time", "build", cost=cost)
        dropped = _dropped(check)
        if build.status:
            return Attempt(*_refused(build, root, entry), dropped=dropped, cost=cost)
        if len(arches) == 1:
            return Attempt("compiled", "", {}, dropped, cost)
        (cubin,), (ptx,) = out.glob("m/*.cubin"), out.glob("m/*.ptx")
        found = kernels(cubin.read_bytes(), ptx.read_text(errors="replace"))
        return Attempt("compiled" if found else "templates", "", found, dropped, cost)

    def _run(self, folder: Path, arguments: list[str], limit: float, *, fresh: bool = True) -> Done:
        cache = self.scratch / "cache"
        if fresh:
            shutil.rmtree(cache, ignore_errors=True)
        environment = {"HATCH_CUDA_KERNELS_CACHE_DIR": str(cache), "NO_COLOR": "1", "COLUMNS": "300"}
        environment["PYTHONDONTWRITEBYTECODE"] = ""  # else each process compiles what it imports anew
        return measured([str(self.python), *_PROGRAM, *arguments], folder, limit, environment)


def drafted(ported: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """Return a module with the instances and the sources of a draft; of a source alone where there is no draft."""
    if "manifest" not in ported:
        return {"source": entry["path"]}
    module = _module(ported["manifest"])
    kept = {key: module[key] for key in ("source", "sources", "instances") if key in module}
    if "instances" in kept:
        kept["instances"] = kept["instances"][:_MOST_INSTANCES]
    return kept


def _module(manifest: str) -> dict[str, Any]:
    """Return a draft's module, with the options that it states for all, and for the architectures of the goldens."""
    data = yaml.safe_load(manifest)
    (module,) = data["modules"].values()
    module.pop("arches", None)
    options = {**data.get("options", {}), **module.get("options", {})}
    return {**module, "options": options} if options else module


def _dropped(check: Done) -> list[str]:
    try:
        data = json.loads(check.out)
    except ValueError:
        return []
    changes = data.get("changes") or data.get("dropped", ())
    return [" ".join(str(one.get(key, "")) for key in ("path", "line", "kind", "name")) for one in changes]


def _refused(build: Done, root: Path, entry: dict[str, Any]) -> tuple[str, str]:
    """Return why a build failed, and the first line of its message."""
    try:
        problem = "\n".join(json.loads(build.out)["problems"])
    except (ValueError, KeyError):
        problem = build.err
    if _NO_KERNEL in problem:
        return "templates", _NO_KERNEL
    log = _ERROR.sub(r"\1(\2): \3", problem)
    reason, _ = classify(log, root)
    first = _ERROR.search(problem)
    message = first[0] if first else next((line for line in problem.splitlines() if line.strip()), "")
    assert reason in REASONS
    return reason, _plain(message, root)


def _first_line(text: str, root: Path) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return _plain(lines[-1] if lines and lines[0].startswith("Traceback") else next(iter(lines), ""), root)


def _plain(text: str, root: Path) -> str:
    """Return a line without what depends on the machine."""
    return plain(_PLACE.sub("", text.replace(f"{root}/", "")))[:200]
