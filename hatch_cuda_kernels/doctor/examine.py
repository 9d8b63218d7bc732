"""Looks at everything the doctor reports on."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels import __version__, environment
from hatch_cuda_kernels.compiler.toolchain.packages import own, pip_install
from hatch_cuda_kernels.doctor.children import ask
from hatch_cuda_kernels.doctor.finding import Finding
from hatch_cuda_kernels.errors import HatchCudaKernelsError, InputError
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.runtime.launch.accelerator import state

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.cache import CacheInfo

__all__ = ["examine", "set_variables"]

_PROBED: Final = ("driver", "bindings", "nvrtc", "headers", "nvjitlink", "ptxas")
#: What the build extra brings.
_TOOLS: Final = ("hatchling", "pyyaml", "rich", "tomlkit")


def examine() -> dict[str, Finding]:
    """Return what is here, by name, with ``manifest`` only in a project. Never raises for what is missing or broken."""
    tools, manifest = _guarded(_tools), _manifest_here()
    questions = [(name, "") for name in _PROBED]
    if manifest and tools.problem is None:
        questions.append(("manifest", manifest))
    probed = {name: found for (name, _), found in zip(questions, ask(*questions), strict=True)}
    return {"python": _guarded(_python), **probed, "cache": _guarded(_cache), "tools": tools}


def _manifest_here() -> str:
    """Return the manifest of the project that the working folder is in; empty if there is none."""
    from hatch_cuda_kernels.manifest_file import find_manifest  # one command needs it

    try:
        return str(find_manifest(Path()))
    except (InputError, OSError):
        return ""


def set_variables() -> dict[str, str]:
    """Return the environment variables that matter here and are set. Others of the same prefixes may be secrets."""
    return {name: os.environ[name] for name in (*environment.OWN, *environment.FOREIGN) if os.environ.get(name)}


def _guarded(look: Callable[[], Finding]) -> Finding:
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
            "accelerator": state(),
        }
    )


def _tools() -> Finding:
    versions = {name: _version(name) for name in _TOOLS}
    lacking = [name for name, version in versions.items() if version is None]
    if not lacking:
        return Finding({"versions": versions})
    fix = pip_install(own("build"))
    return Finding({"versions": versions}, Problem(f"not installed: {', '.join(lacking)}", fix), missing=True)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cache() -> Finding:
    from hatch_cuda_kernels.cache import open_cache  # its settings may be what is broken
    from hatch_cuda_kernels.cache.location import site_paths

    with warnings.catch_warnings():  # the finding says what the warnings would
        warnings.simplefilter("ignore")
        info = open_cache().info()
    sites = [(path, _site_problem(path)) for path in site_paths()]
    facts = {**info._asdict(), "sites": [{"path": str(path), "problem": problem} for path, problem in sites]}
    wrong = "; ".join(problem for _, problem in sites if problem)
    return Finding(facts, _folder_problem(info) or (Problem(wrong, f"correct {environment.PATH}") if wrong else None))


def _folder_problem(info: CacheInfo) -> Problem | None:
    """Return what is wrong with the user's own cache folder."""
    from hatch_cuda_kernels.cache.trust import distrust

    if not info.path:
        message = "there is no home folder, and so no place for a cache"
        return Problem(message, f"set {environment.CACHE_DIR} to a folder")
    reason = distrust(Path(info.path)) or _unreadable(Path(info.path))
    if reason is None and not info.writable:
        reason = f"{info.path} cannot be written to"
    return Problem(reason, f"set {environment.CACHE_DIR} to a folder of your own") if reason else None


def _site_problem(path: Path) -> str:
    from hatch_cuda_kernels.cache.trust import distrust

    if not path.is_dir():
        return f"{path} in {environment.PATH} is not a folder"
    return distrust(path, shared=True) or _unreadable(path) or ""


def _unreadable(path: Path) -> str | None:
    if not path.exists():
        return None
    if not path.is_dir():
        return f"{path} is not a folder"
    return None if os.access(path, os.R_OK | os.X_OK) else f"{path} cannot be read"
