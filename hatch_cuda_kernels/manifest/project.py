"""What a manifest takes from the project that it belongs to."""

from __future__ import annotations

import sys
import tomllib
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.manifest.spot import RefusedError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["project_folder", "project_version"]


def project_folder(folder: Path) -> Path:
    """Return the project that a manifest's folder is in: the folder itself, unless one above has a pyproject.toml."""
    return next((found for found in (folder, *folder.parents) if (found / "pyproject.toml").is_file()), folder)


def project_version(folder: Path) -> str:
    """Return the version of the project that a folder is in.

    A version that is not stated is that of an unpacked sdist, or what hatchling says if it builds the project. Raises
    RefusedError if there is none.
    """
    project = project_folder(folder)
    settings = _settings(project / "pyproject.toml")
    stated = settings.get("project", {}).get("version")
    if isinstance(stated, str):
        return stated
    if (project / "PKG-INFO").is_file():
        import email  # few manifests ask for the version

        return str(email.message_from_string((project / "PKG-INFO").read_text(encoding="utf-8"))["Version"])
    if settings.get("build-system", {}).get("build-backend") == "hatchling.build":
        return _asked_of_hatchling(project)
    raise RefusedError("{version} is not known: no pyproject.toml states the project's version")


def _settings(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _asked_of_hatchling(project: Path) -> str:
    """Return a dynamic version, which may take plugins: hatchling is asked in a process of its own."""
    import subprocess  # as above

    command = [sys.executable, "-m", "hatchling", "version"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    if done.returncode != 0:
        _, _, told = done.stderr.strip().rpartition("\n")
        raise RefusedError(f"{{version}} is not known: hatchling says: {told}")
    return done.stdout.strip()
