"""Sets a project up: adds the hook, a manifest and a first kernel to a project, or to an empty folder."""

from __future__ import annotations

import keyword
import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hatch_cuda_kernels.compiler.toolchain import build_extra, own, release_requirements
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.manifest import MANIFEST_FILE, hook_table
from hatch_cuda_kernels.scaffold.kernel_files import kernel_files, kernel_patterns, manifest_of_sources, stated_release
from hatch_cuda_kernels.scaffold.other_backends import SETUP_FILES, join_other, next_commands
from hatch_cuda_kernels.scaffold.pyproject import HATCH, add_package, check_tables, read_toml, with_hatch
from hatch_cuda_kernels.scaffold.templates import (
    CI_FILE,
    FIRST_KERNEL,
    NEW_PROJECT,
    README_OF_SOURCES,
    Scaffold,
    ci_text,
    fill_template,
    ignore_store,
    read_text,
    write_missing,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    #: Returns folder and import name of a project's package, given the project and the hook's option ``package``.
    FindPackage: TypeAlias = Callable[[Path, str | None], tuple[str, str]]


def scaffold(root: Path, name: str | None = None, *, find_package: FindPackage, hatch: bool = False) -> Scaffold:
    """Set a folder up and return what was done; a second run does nothing. No existing file is overwritten.

    ``name`` is a new project's name (default: the folder's); ``find_package`` knows an existing project's package;
    with ``hatch``, Hatch becomes its back end.
    Raises InputError for a project that cannot be built as it is, or whose package cannot be determined, and for a
    folder inside a project, unless the name says that another one is meant.
    """
    root = root.absolute()
    pyproject = root / "pyproject.toml"
    if not pyproject.is_file():
        _refuse_setup_py(root)
        if name is None:
            _refuse_inside(root)
        return _new(root, name)
    text = read_text(pyproject)
    data = read_toml(text, "pyproject.toml")
    stated = data.get("project", {}).get("name")
    if name is not None and stated is not None and name != stated:
        raise InputError(f"--name is for a new project, and this one is called {stated}; leave --name out")
    backend = data.get("build-system", {}).get("build-backend") or _default_backend(root)
    if hatch or backend in {HATCH, ""}:
        return _join(root, text if backend == HATCH else with_hatch(text), find_package, before=text)
    return join_other(root, text, backend, find_package)


def _new(root: Path, name: str | None) -> Scaffold:
    project = _project_name(name or root.name)
    package = re.sub(r"[-.]", "_", project).lower()
    _check_package(package, project)
    folder = package if (root / package / "__init__.py").is_file() else f"src/{package}"
    release = release_requirements(stated_release(root / MANIFEST_FILE), finishers=("nvjitlink",))
    tools = "\n".join(f'  "{one}",' for one in release if "bindings" not in one)
    words = {"FOLDER": folder, "PACKAGE": package, "NAME": project, "OWN_JIT": own("jit"), "RELEASE": tools}
    files = dict(NEW_PROJECT)
    notes: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()
    if not (root / MANIFEST_FILE).is_file():
        drafted, notes, untried = manifest_of_sources(root)
        files |= {MANIFEST_FILE: drafted, "README.md": README_OF_SOURCES} if drafted else FIRST_KERNEL
    files[CI_FILE] = ci_text(files)
    texts = {fill_template(path, words): fill_template(text, words) for path, text in files.items()}
    watched = kernel_patterns(root, root / MANIFEST_FILE, texts.get(MANIFEST_FILE, ""))
    edited = add_package(texts["pyproject.toml"], extra="build", table=True, cache_keys=watched)
    created, kept = write_missing(root, {**texts, "pyproject.toml": edited.text})
    return Scaffold(created, (), kept, notes, (), next_commands(root / MANIFEST_FILE, untried, done=False))


def _join(root: Path, text: str, find_package: FindPackage, *, before: str) -> Scaffold:
    """Set up an existing project that Hatch builds, or nothing yet."""
    data = read_toml(text, "pyproject.toml")
    check_tables(data)
    hook = _hatch_toml(root, hook_table(data.get("tool", {}).get("hatch", {})))
    options = hook or {}
    manifest = Path(os.path.abspath(root / str(options.get("manifest", MANIFEST_FILE))))  # noqa: PTH100
    if not manifest.is_relative_to(root):
        raise InputError(f"the hook's manifest {manifest} is outside the project")
    package = options.get("package")
    kernels = kernel_files(root, manifest, lambda: find_package(root, package if isinstance(package, str) else None))
    files, name = dict(kernels.files), manifest.relative_to(root).as_posix()
    watched = kernel_patterns(root, manifest, files.get(name) or kernels.changed)
    edited = add_package(text, extra=build_extra(stated_release(manifest)[0]), table=hook is None, cache_keys=watched)
    changed = (*(() if text == before else ("pyproject.toml: [build-system]",)), *edited.changes)
    if files and not (root / CI_FILE).parent.exists():
        files[CI_FILE] = ci_text(files)
    created, kept = write_missing(root, files)
    if edited.text != before:
        (root / "pyproject.toml").write_bytes(edited.text.encode())
    changed += kernels.write(manifest, name)
    notes = (*edited.notes, *kernels.notes, *_wheel_only(data))
    changed += ignore_store(root)
    commands = next_commands(manifest, kernels.untried, done=not created and not changed)
    return Scaffold(created, changed, kept, notes, (), commands)


def _wheel_only(data: dict[str, Any]) -> tuple[str, ...]:
    build = data.get("tool", {}).get("hatch", {}).get("build", {})
    if "cuda-kernels" in build.get("hooks", {}) or hook_table({"build": build}) is None:
        return ()
    return ("the hook is for wheels only: [tool.hatch.build.hooks.cuda-kernels] is for sdists, too, and their sources",)


def _hatch_toml(root: Path, hook: dict[str, object] | None) -> dict[str, object] | None:
    """Return the hook's table as Hatch sees it: a ``build`` table in hatch.toml replaces that of pyproject.toml."""
    path = root / "hatch.toml"
    data = read_toml(read_text(path), path.name) if path.is_file() else {}
    if "build" not in data:
        return hook
    found = hook_table(data)
    if found is None:
        raise InputError(
            "hatch.toml has a build table, which replaces that of pyproject.toml; add "
            "[build.targets.wheel.hooks.cuda-kernels] to it and run this again"
        )
    return found


def _default_backend(root: Path) -> str:
    """Return the back end of a project that states none: setuptools if it has that one's files, or else empty."""
    return "setuptools.build_meta" if any((root / name).is_file() for name in SETUP_FILES) else ""


def _refuse_setup_py(root: Path) -> None:
    found = next((name for name in SETUP_FILES if (root / name).is_file()), None)
    if found is not None:
        raise InputError(
            f"{found} is all that says how this project is built; add a pyproject.toml with the tables [project], "
            "with a name, and [build-system], and run this again"
        )


def _refuse_inside(root: Path) -> None:
    """Refuse a folder of a project: one with a project's files above it, in the same repository."""
    folder = root
    while not (folder / ".git").exists() and folder != folder.parent:
        folder = folder.parent
        if _is_project(folder):
            raise InputError(
                f"this folder is part of the project in {os.path.relpath(folder, root)} ({folder})\n"
                f"  to fix: run init there; for another project, in this folder, name it: init --name {root.name}"
            )


def _is_project(folder: Path) -> bool:
    """Return whether a folder has what is built: a pyproject.toml may as well hold settings of tools alone."""
    if any((folder / name).is_file() for name in SETUP_FILES):
        return True
    try:
        data = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return not data.keys().isdisjoint({"project", "build-system"})


def _project_name(name: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", name) is None:
        raise InputError(f"{name!r} is not a project name (letters, digits, -, _ and .); give one with --name")
    return name


def _check_package(package: str, project: str) -> None:
    if not package.isidentifier() or keyword.iskeyword(package):
        raise InputError(
            f"Python cannot import a package {package!r}, the one of a project {project!r}; give another --name"
        )
