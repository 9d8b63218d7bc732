"""Everything the doctor looks at."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from hatch_cuda_kernels import __version__
from hatch_cuda_kernels.doctor.children import ask
from hatch_cuda_kernels.errors import HatchCudaKernelsError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Finding", "environment", "examine"]

State = Literal["ok", "missing", "broken"]

_PROBED: Final = ("driver", "bindings", "nvrtc", "headers", "nvjitlink")
#: What the build extra brings.
_TOOLS: Final = ("hatchling", "pyyaml", "rich", "tomlkit")
#: Shown where they are set. A fixed list: other variables of the same prefix may be secrets.
_VARIABLES: Final = (
    "HATCH_CUDA_KERNELS_CACHE_DIR",
    "HATCH_CUDA_KERNELS_CACHE_MAX_BYTES",
    "HATCH_CUDA_KERNELS_CACHE_TRUST",
    "HATCH_CUDA_KERNELS_JIT",
    "HATCH_CUDA_KERNELS_PATH",
    "CONDA_PREFIX",
    "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_MAXSIZE",
    "CUDA_CACHE_PATH",
    "CUDA_HOME",
    "CUDA_MODULE_LOADING",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "HATCH_BUILD_CLEAN",
    "HATCH_BUILD_NO_HOOKS",
    "LD_LIBRARY_PATH",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_VISIBLE_DEVICES",
    "XDG_CACHE_HOME",
)


class Finding(NamedTuple):
    """One thing: in order, not there, or there and unusable; then what is the matter and what to do."""

    state: State
    facts: dict[str, Any]
    problem: str = ""
    fix: str = ""

    @classmethod
    def of(cls, found: dict[str, Any]) -> Finding:
        """Return what a probe or a look at this process found."""
        facts = {name: value for name, value in found.items() if name not in {"problem", "missing", "fix"}}
        problem = found.get("problem", "")
        state: State = "ok" if not problem else "missing" if found.get("missing") else "broken"
        return cls(state, facts, problem, found.get("fix", ""))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``doctor --json``."""
        return {"state": self.state, "problem": self.problem, "fix": self.fix, **self.facts}


def examine() -> dict[str, Finding]:
    """Return what is here, by name. Never raises for what is missing or broken."""
    probed = ask(*((name, "") for name in _PROBED))
    found = {name: Finding.of(answer) for name, answer in zip(_PROBED, probed, strict=True)}
    return {"python": _guarded(_python), **found, "cache": _guarded(_cache), "tools": _guarded(_tools)}


def environment() -> dict[str, str]:
    """Return the variables that matter here and are set."""
    return {name: os.environ[name] for name in _VARIABLES if os.environ.get(name)}


def _guarded(look: Callable[[], dict[str, Any]]) -> Finding:
    try:
        return Finding.of(look())
    except HatchCudaKernelsError as error:
        return Finding("broken", {}, str(error))
    except Exception as error:  # noqa: BLE001 - whatever is broken here is what the report is for
        return Finding("broken", {}, f"{type(error).__name__}: {error}")


def _python() -> dict[str, Any]:
    return {
        "version": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "package": __version__,
        "folder": str(Path(__file__).parent.parent),
    }


def _tools() -> dict[str, Any]:
    versions = {name: _version(name) for name in _TOOLS}
    lacking = [name for name, version in versions.items() if version is None]
    if not lacking:
        return {"versions": versions}
    fix = 'python3 -m pip install "hatch-cuda-kernels[build]"'
    return {"versions": versions, "problem": f"not installed: {', '.join(lacking)}", "missing": True, "fix": fix}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cache() -> dict[str, Any]:
    from hatch_cuda_kernels.cache import open_cache  # its settings may be what is broken
    from hatch_cuda_kernels.cache.location import site_paths
    from hatch_cuda_kernels.cache.trust import distrust

    with warnings.catch_warnings():  # what they would say is in the finding
        warnings.simplefilter("ignore")
        info = open_cache().info()
    sites = [{"path": str(path), "problem": _site_problem(path)} for path in site_paths()]
    facts = {**info._asdict(), "sites": sites}
    if not info.path:
        problem, fix = "there is no home folder, so no place for a cache", "set HATCH_CUDA_KERNELS_CACHE_DIR"
    else:
        reason = distrust(Path(info.path)) or _unreadable(Path(info.path))
        problem = reason or ("" if info.writable else f"{info.path} cannot be written to")
        fix = "set HATCH_CUDA_KERNELS_CACHE_DIR to a folder of your own" if problem else ""
    if not problem and any(site["problem"] for site in sites):
        problem = "; ".join(site["problem"] for site in sites if site["problem"])
        fix = "correct HATCH_CUDA_KERNELS_PATH"
    return {**facts, "problem": problem, "fix": fix}


def _site_problem(path: Path) -> str:
    from hatch_cuda_kernels.cache.trust import distrust

    if not path.is_dir():
        return f"{path} of HATCH_CUDA_KERNELS_PATH is no folder"
    return distrust(path, shared=True) or _unreadable(path) or ""


def _unreadable(path: Path) -> str | None:
    if not path.exists():
        return None
    if not path.is_dir():
        return f"{path} is no folder"
    return None if os.access(path, os.R_OK | os.X_OK) else f"{path} cannot be read"
