"""Sets a project up: adds the hook, a manifest and a first kernel to a project, or to an empty folder."""

from __future__ import annotations

import keyword
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hatch_cuda_kernels.compiler.toolchain.packages import build_extra
from hatch_cuda_kernels.errors import InputError, ManifestError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.manifest.find import hook_table
from hatch_cuda_kernels.port.project_tree import kernel_sources, list_files
from hatch_cuda_kernels.scaffold.pyproject import OTHER_SYSTEMS, add_hook, read_toml
from hatch_cuda_kernels.scaffold.survey import survey
from hatch_cuda_kernels.scaffold.templates import FIRST_KERNEL, HEAD, MANIFEST_HEAD, NEW_PROJECT, README_OF_SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable

    #: Returns folder and import name of a project's package, given the project and the hook's option ``package``.
    FindPackage: TypeAlias = Callable[[Path, str | None], tuple[str, str]]

__all__ = ["Scaffold", "scaffold"]


class Scaffold(NamedTuple):
    """What was done: files created, changes to pyproject.toml, files kept as they were, and what is left to do."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    kept: tuple[str, ...]
    notes: tuple[str, ...]


def scaffold(root: Path, name: str | None = None, *, find_package: FindPackage) -> Scaffold:
    """Set a folder up and return what was done; a second run does nothing. No existing file is overwritten.

    ``name`` is a new project's name (default: the folder's); ``find_package`` knows an existing project's package.
    Raises InputError for a project that Hatch does not build, or whose package cannot be determined.
    """
    root = root.absolute()
    pyproject = root / "pyproject.toml"
    if pyproject.is_file():
        return _join(root, pyproject, name, find_package)
    _refuse_setuptools(root)
    project = _project_name(name or root.name)
    package = re.sub(r"[-.]", "_", project).lower()
    _check_package(package, project)
    folder = package if (root / package / "__init__.py").is_file() else f"src/{package}"
    words = {"FOLDER": folder, "PACKAGE": package, "NAME": project}
    files = dict(NEW_PROJECT)
    notes: tuple[str, ...] = ()
    if not (root / "kernels.yaml").is_file():
        manifest, notes = _manifest_of_sources(root)
        files |= {"kernels.yaml": manifest, "README.md": README_OF_SOURCES} if manifest else FIRST_KERNEL
    created, kept = _write(root, {_filled(path, words): _filled(text, words) for path, text in files.items()})
    return Scaffold(created, (), kept, notes)


def _join(root: Path, pyproject: Path, name: str | None, find_package: FindPackage) -> Scaffold:
    """Set up an existing project."""
    text = _read(pyproject)
    data = read_toml(text, "pyproject.toml")
    stated = data.get("project", {}).get("name")
    if name is not None and stated is not None and name != stated:
        raise InputError(f"--name is for a new project, and this one is called {stated}; leave --name out")
    hook = _hatch_toml(root, hook_table(data.get("tool", {}).get("hatch", {})))
    options = hook or {}
    manifest = Path(os.path.abspath(root / str(options.get("manifest", "kernels.yaml"))))  # noqa: PTH100
    if not manifest.is_relative_to(root):
        raise InputError(f"the hook's manifest {manifest} is outside the project")
    edited = add_hook(text, extra=_extra(manifest), table=hook is None)
    created: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    if not manifest.is_file():
        package = options.get("package")
        folder, imported = find_package(root, package if isinstance(package, str) else None)
        drafted, notes = _manifest_of_sources(manifest.parent)
        first = _first_kernel(root, manifest, {"FOLDER": folder, "PACKAGE": imported})
        created, kept = _write(root, {manifest.relative_to(root).as_posix(): drafted} if drafted else first)
    if edited.text != text:
        pyproject.write_bytes(edited.text.encode())
    return Scaffold(created, edited.changes, kept, (*edited.notes, *notes))


def _manifest_of_sources(folder: Path) -> tuple[str, tuple[str, ...]]:
    """Return a manifest of the kernels below a folder, and notes about sources that it leaves out; empty for none."""
    files = list_files(folder) if folder.is_dir() else []
    sources = kernel_sources(folder, files)
    if not sources:
        return "", ()
    found = survey(folder, sources, files, HEAD)
    modules = ["modules:" if found.modules else "modules: {}", *found.lines()]
    notes = tuple(f"{source} is not in the manifest: {reason}" for source, reason in found.left_out.items())
    return "\n".join([f"{MANIFEST_HEAD}{modules[0]}", *modules[1:], ""]), notes


def _first_kernel(root: Path, manifest: Path, words: dict[str, str]) -> dict[str, str]:
    """Return the files of a first kernel, which lies beside the manifest: paths in there are relative to it."""
    beside = manifest.parent.relative_to(root).as_posix()
    places = {
        "kernels.yaml": manifest.relative_to(root).as_posix(),
        "kernels/saxpy.cu": f"{beside}/kernels/saxpy.cu".removeprefix("./"),
    }
    return {places.get(path, _filled(path, words)): _filled(text, words) for path, text in FIRST_KERNEL.items()}


def _hatch_toml(root: Path, hook: dict[str, object] | None) -> dict[str, object] | None:
    """Return the hook's table as Hatch sees it: a ``build`` table in hatch.toml replaces that of pyproject.toml."""
    path = root / "hatch.toml"
    data = read_toml(_read(path), path.name) if path.is_file() else {}
    if "build" not in data:
        return hook
    found = hook_table(data)
    if found is None:
        raise InputError(
            "hatch.toml has a build table, which replaces that of pyproject.toml; add "
            "[build.targets.wheel.hooks.cuda-kernels] to it and run this again"
        )
    return found


def _extra(manifest: Path) -> str:
    """Return the extra that brings the bindings for the release a manifest states."""
    try:
        return build_extra(load_manifest(manifest).release[0])
    except ManifestError:  # not written yet, or `check` will say what is wrong with it
        return "build"


def _write(root: Path, files: dict[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write the files that do not exist yet; return the names of those written and of those kept."""
    created, kept = [], []
    for name, text in files.items():
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            kept.append(name)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from error
        else:
            created.append(name)
    return tuple(created), tuple(kept)


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub(r"\b(?:FOLDER|NAME|PACKAGE)\b", lambda found: words[found[0]], text)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def _refuse_setuptools(root: Path) -> None:
    found = next((name for name in ("setup.py", "setup.cfg") if (root / name).is_file()), None)
    if found is not None:
        raise InputError(
            f"{found} says that setuptools builds this project; move to Hatch (`hatch new --init`) and run this again; "
            f"{OTHER_SYSTEMS}"
        )


def _project_name(name: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", name) is None:
        raise InputError(f"{name!r} is not a project name (letters, digits, -, _ and .); give one with --name")
    return name


def _check_package(package: str, project: str) -> None:
    if not package.isidentifier() or keyword.iskeyword(package):
        raise InputError(
            f"Python cannot import a package {package!r}, the one of a project {project!r}; give another --name"
        )
