"""The project that a manifest belongs to: where the manifest is, and what it takes from there."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

from hatch_cuda_kernels.errors import InputError

MANIFEST_FILE: Final = "kernels.yaml"
_HOOK: Final = "cuda-kernels"
_SKIPPED: Final = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages"})
_TEXTS: Final = (".c", ".cc", ".cpp", ".cu", ".cuh", ".cxx", ".h", ".hh", ".hpp", ".inc", ".inl")


def find_manifest(folder: Path) -> Path:
    """Return the path, relative to a folder, of the manifest in it or above. Raises InputError if there is none."""
    folder = folder.absolute()
    for place in (folder, *folder.parents):
        try:
            stated = (hook_table(project_settings(place)["tool"]["hatch"]) or {}).get("manifest")
        except (LookupError, TypeError, AttributeError):  # a build reports it
            stated = None
        for name in (stated, MANIFEST_FILE):
            if isinstance(name, str) and name and (place / name).is_file():
                return Path(os.path.relpath(place / name, folder))
    raise InputError(
        f"there is no {MANIFEST_FILE} in {folder} or above\n"
        "  to fix: name one, or let hatch-cuda-kernels init write the first"
    )


def hook_table(data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the hook's table, of wheels or of all targets, below ``build``; None if there is none."""
    build = data.get("build", {})
    for place in (build.get("targets", {}).get("wheel", {}), build):
        table = place.get("hooks", {}).get(_HOOK)
        if table is not None:
            return dict(table)
    return None


def project_folder(folder: Path) -> Path:
    """Return the project that a manifest's folder is in: the folder itself, unless one above has a pyproject.toml."""
    return next((found for found in (folder, *folder.parents) if (found / "pyproject.toml").is_file()), folder)


def list_files(root: Path, suffixes: tuple[str, ...] = _TEXTS) -> list[str]:
    """Return a project's files with some suffixes, by path; not those in hidden folders, environments or builds.

    The suffixes are those of C++ by default.
    """
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(one for one in folders if one[0] != "." and one not in _SKIPPED)
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        beside = "" if (at := os.path.relpath(folder, root).replace(os.sep, "/")) == "." else f"{at}/"
        named = (name for name in sorted(names) if name.endswith(suffixes))
        found += [f"{beside}{name}" for name in named if os.path.isfile(f"{folder}/{name}")]  # noqa: PTH113 - no pipe
    return found


def project_version(folder: Path) -> str:
    """Return the version of the project that a folder is in: as stated, from an unpacked sdist, or from hatchling.

    Raises InputError if there is none.
    """
    project = project_folder(folder)
    settings = project_settings(project)
    stated = settings.get("project", {}).get("version")
    if isinstance(stated, str):
        return stated
    if (project / "PKG-INFO").is_file():
        import email  # few manifests ask for the version

        return str(email.message_from_string((project / "PKG-INFO").read_text(encoding="utf-8"))["Version"])
    if settings.get("build-system", {}).get("build-backend") == "hatchling.build":
        import subprocess  # likewise

        command = [sys.executable, "-m", "hatchling", "version"]  # in a child process: it may need plugins
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)  # noqa: S603 - ours
        if done.returncode == 0:
            return done.stdout.strip()
        raise InputError(f"{{version}} is not known: hatchling says: {done.stderr.strip().rpartition(chr(10))[2]}")
    raise InputError("{version} is not known: no pyproject.toml states the project's version")


def project_settings(folder: Path) -> dict[str, Any]:
    """Return what a folder's pyproject.toml states; nothing where there is none, or it cannot be read."""
    try:
        return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
