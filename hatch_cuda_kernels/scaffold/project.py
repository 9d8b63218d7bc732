"""Sets a project up: adds the hook, a manifest and a first kernel to a project, or to an empty folder."""

from __future__ import annotations

import keyword
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hatch_cuda_kernels.compiler.toolchain import (
    build_extra,
    documentation,
    library_version,
    made_by,
    made_for_one_run,
    own,
    pip_install,
    program_command,
    python_command,
    release_requirements,
)
from hatch_cuda_kernels.errors import HatchCudaKernelsError, InputError, ToolchainError
from hatch_cuda_kernels.manifest import MANIFEST_FILE, hook_table, load_manifest, project_settings
from hatch_cuda_kernels.plan import check_release, requirements
from hatch_cuda_kernels.scaffold.kernel_files import NO_MODULES, DraftedManifest, kernel_files, manifest_of_sources
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
    template,
    write_missing,
)
from hatch_cuda_kernels.store import STORE_FOLDER, name_clashes

if TYPE_CHECKING:
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
        found = next((name for name in SETUP_FILES if (root / name).is_file()), None)
        if found is not None:
            raise InputError(
                f"only {found} says how this project is built; add a pyproject.toml with the tables [project], "
                "with a name, and [build-system], and run this again"
            )
        if name is None:
            _refuse_inside(root)
        return _new(root, name)
    text = read_text(pyproject)
    data = read_toml(text, "pyproject.toml")
    stated = data.get("project", {}).get("name")
    if name is not None and stated is not None and name != stated:
        raise InputError(f"--name is for a new project, and this one is called {stated}; leave --name out")
    default = "setuptools.build_meta" if any((root / name).is_file() for name in SETUP_FILES) else ""
    backend = data.get("build-system", {}).get("build-backend") or default
    if hatch or backend in {HATCH, ""}:
        return _join(root, text if backend == HATCH else with_hatch(text), find_package, before=text)
    return join_other(root, text, backend, find_package)


def _new(root: Path, name: str | None) -> Scaffold:
    project = name or root.name
    if re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", project) is None:
        raise InputError(f"{project!r} is not a project name (letters, digits, -, _ and .); give one with --name")
    package = re.sub(r"[-.]", "_", project).lower()
    if not package.isidentifier() or keyword.iskeyword(package):
        raise InputError(
            f"the package of project {project!r} would be {package!r}, which no Python can import; give another --name"
        )
    for clash in name_clashes([package]):
        raise InputError(f"the package of project {project!r}: {clash}; give another --name")
    folder = package if (root / package / "__init__.py").is_file() else f"src/{package}"
    release = release_requirements(DraftedManifest(root / MANIFEST_FILE).release, finishers=("nvjitlink",))
    lines = "\n".join(f'  "{one}",' for one in release if "bindings" not in one)
    words = {"FOLDER": folder, "PACKAGE": package, "NAME": project, "OWN_JIT": own("jit"), "RELEASE": lines}
    files = dict(NEW_PROJECT)
    notes: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()
    if not (root / MANIFEST_FILE).is_file():
        drafted, notes, untried = manifest_of_sources(root)
        files |= {MANIFEST_FILE: drafted, "README.md": README_OF_SOURCES} if drafted else FIRST_KERNEL
    files[CI_FILE] = ci_text(files)
    texts = {fill_template(path, words): fill_template(text, words) for path, text in files.items()}
    manifest = DraftedManifest(root / MANIFEST_FILE, texts.get(MANIFEST_FILE, ""))
    watched, tools = manifest.kernel_patterns(root), manifest.header_packages()
    edited = add_package(texts["pyproject.toml"], extra="build", tools=tools, table=True, cache_keys=watched)
    created, kept = write_missing(root, {**texts, "pyproject.toml": edited.text})
    return Scaffold(created, (), kept, notes, (), next_commands(root / MANIFEST_FILE, untried, done=False))


def _join(root: Path, text: str, find_package: FindPackage, *, before: str) -> Scaffold:
    data = read_toml(text, "pyproject.toml")
    check_tables(data)
    build = data.get("tool", {}).get("hatch", {}).get("build", {})
    hook, in_hatch_toml = hook_table({"build": build}), root / "hatch.toml"
    # A ``build`` table in hatch.toml replaces that of pyproject.toml.
    replacing = read_toml(read_text(in_hatch_toml), in_hatch_toml.name) if in_hatch_toml.is_file() else {}
    if "build" in replacing:
        hook = hook_table(replacing)
        if hook is None:
            raise InputError(
                "hatch.toml has a build table, which replaces that of pyproject.toml; add "
                "[build.targets.wheel.hooks.cuda-kernels] to it and run this again"
            )
    options = hook or {}
    manifest = Path(os.path.abspath(root / str(options.get("manifest", MANIFEST_FILE))))  # noqa: PTH100
    if not manifest.is_relative_to(root):
        raise InputError(f"the hook's manifest {manifest} is outside the project")
    package = options.get("package")
    kernels = kernel_files(root, manifest, lambda: find_package(root, package if isinstance(package, str) else None))
    files, name = dict(kernels.files), manifest.relative_to(root).as_posix()
    drafted = DraftedManifest(manifest, files.get(name) or kernels.changed)
    watched, tools, extra = drafted.kernel_patterns(root), drafted.header_packages(), build_extra(drafted.release[0])
    edited = add_package(text, extra=extra, tools=tools, table=hook is None, cache_keys=watched)
    changed = (*(() if text == before else ("pyproject.toml: [build-system]",)), *edited.changes)
    if files and not (root / CI_FILE).parent.exists():
        files[CI_FILE] = ci_text(files)
    created, kept = write_missing(root, files)
    if edited.text != before:
        (root / "pyproject.toml").write_bytes(edited.text.encode())
    changed += kernels.write(manifest, name)
    notes = [*edited.notes, *kernels.notes]
    if hook_table({"build": build}) is not None and "cuda-kernels" not in build.get("hooks", {}):
        notes.append(
            "the hook covers wheels only; under [tool.hatch.build.hooks.cuda-kernels], "
            "it also adds the sources to sdists"
        )
    changed += ignore_store(root)
    commands = next_commands(manifest, kernels.untried, done=not created and not changed)
    return Scaffold(created, changed, kept, tuple(notes), (), commands)


def _refuse_inside(root: Path) -> None:
    """Refuse a folder of a project: one with a project's files above it, in the same repository."""
    folder = root
    while not (folder / ".git").exists() and folder != folder.parent:
        folder = folder.parent
        stated = project_settings(folder).keys() & {"project", "build-system"}  # it may state tools' settings alone
        if stated or any((folder / name).is_file() for name in SETUP_FILES):
            raise InputError(
                f"this folder is part of the project in {os.path.relpath(folder, root)} ({folder})\n"
                f"  to fix: run init there, or name a separate project for this folder: init --name {root.name}"
            )


def next_commands(manifest: Path, untried: Sequence[str], *, done: bool, store: str = "") -> tuple[str, ...]:
    """Return the commands that check a manifest, build the wheel and inspect it; none if ``done`` before.

    Before these, ``init`` runs again with the requirements that it lacked, or if the manifest has no module. ``store``
    is the folder to compile into before each build, for a back end whose builds run no code.
    """
    if manifest.is_file() and NO_MODULES in manifest.read_text(encoding="utf-8").splitlines():
        return (f"{program(untried)} init",)
    lacking, is_here = _missing_requirements(manifest)
    install = [pip_install(*lacking)] if lacking and (store or is_here) and not made_for_one_run() else []
    if untried:
        install = [pip_install(*untried)] if made_for_one_run() else [pip_install(*untried), f"{program(untried)} init"]
    if done:
        return tuple(install if untried else ())
    plain = program(untried or lacking) if install and not made_for_one_run() else program()
    compile_first = [f"{program(lacking)} build --out {store}"] if store else []
    return (*install, f"{plain} check", *compile_first, _build(), f"{plain} inspect dist/*.whl")


def program(requirements: Sequence[str] = ()) -> str:
    """Return the command that runs this program. With uvx and pipx, it also installs the requirements."""
    return program_command(own("build"), requirements)


def _missing_requirements(manifest: Path) -> tuple[list[str], bool]:
    """Return what to install to compile a manifest here, and whether a compiler of another release is here.

    An environment that uvx or pipx makes for each run lacks what this one has.
    """
    try:
        found = load_manifest(manifest)
        check_release(found)
    except ToolchainError:
        return requirements(found), bool(library_version("nvrtc"))
    except HatchCudaKernelsError:  # `check` says what is wrong
        return [], False
    return requirements(found) if made_for_one_run() else [], False


def _build() -> str:
    """Return the command that builds a wheel, with the first front end that is installed."""
    maker = made_by()
    if find_spec("build") is not None:
        return f"{python_command()} -m build --wheel"
    if maker in {"uv", "uvx", "uv tool"}:
        return "uv build --wheel"
    if maker == "pip" and find_spec("pip") is not None:
        return f"{python_command()} -m pip wheel --no-deps --wheel-dir dist ."
    return "pipx run build --wheel"


#: What a project of setuptools has.
SETUP_FILES: Final = ("setup.py", "setup.cfg")
_PAGE: Final = documentation("howto/other-build-systems")


def join_other(root: Path, text: str, backend: str, find_package: FindPackage) -> Scaffold:
    """Set up a project of another back end, and return what was done. ``text`` is its pyproject.toml.

    Raises InputError for a project that cannot be changed safely, or whose package cannot be determined.
    """
    data = read_toml(text, "pyproject.toml")
    check_tables(data)
    backends: dict[str, Any] = tomllib.loads((files(__package__) / "backends.toml").read_text(encoding="utf-8"))
    other = backends.pop("other")
    asked = next((asked for name, asked in backends.items() if backend.startswith(name)), other)
    builds, templates = asked["builds"], asked.get("files", ())
    manifest = root / MANIFEST_FILE
    folder, imported = _package(root, data["project"]["name"], find_package)
    kernels = kernel_files(root, manifest, lambda: (folder, imported))
    drafted = DraftedManifest(manifest, kernels.files.get(MANIFEST_FILE) or kernels.changed)
    patterns = drafted.kernel_patterns(root)
    if builds:
        tools, extra = drafted.requirements()
        tools += drafted.header_packages()
        keys = (*asked.get("watched", ()), *patterns)
        stated = data.get("tool", {}).get("setuptools", {}).keys() & {"packages", "py-modules"}
        # Else setuptools refuses to choose between the package and folders of kernels beside it.
        is_named = "/" in folder or stated or any((root / name).exists() for name in SETUP_FILES)
        package = "" if is_named or not templates else folder
        edited = add_package(text, extra=extra, tools=tools, cache_keys=keys, package=package)
    else:
        edited = add_package(text, extra="")
    words = {"FOLDER": folder, "PACKAGE": imported, "SRC": folder.rpartition("/")[0] or ".", "PROGRAM": program()}
    words["SHIPPED"] = "\n".join([*map(_manifest_in_line, patterns), f"prune {folder}/{STORE_FOLDER}"])
    added = {name: fill_template(template(name), words) for name in templates if not (root / name).exists()}
    created, kept = write_missing(root, kernels.files | added)
    if edited.text != text:
        (root / "pyproject.toml").write_bytes(edited.text.encode())
    changed = (*edited.changes, *ignore_store(root), *kernels.write(manifest, MANIFEST_FILE))
    steps = [line for step in asked["steps"] for line in _open_lines(root, words, **step)]
    done = not created and not changed
    store = "" if builds else f"{folder}/{STORE_FOLDER}"
    left = () if done or not steps else (*steps, f"    more: {_PAGE}")
    commands = next_commands(manifest, kernels.untried, done=done, store=store)
    return Scaffold(created, changed, kept, (*edited.notes, *kernels.notes), left, commands)


def _package(root: Path, project: str, find_package: FindPackage) -> tuple[str, str]:
    """Return folder and import name of the package: as Hatch finds it, else a folder with the project's name."""
    try:
        return find_package(root, None)
    except InputError:
        name = re.sub(r"[-_.]+", "_", project)
        for folder in (name, name.lower(), f"src/{name}", f"src/{name.lower()}"):
            if (root / folder).is_dir():
                return folder, folder.rpartition("/")[2]
        raise InputError(f"no package folder {name} (or src/{name}) in {root}; make it, and run this again") from None


def _manifest_in_line(pattern: str) -> str:
    """Return the line of MANIFEST.in for a pattern of files. The format has no quotes, and brackets are sets."""
    pattern = re.sub(r"[\s\[\]]", "?", pattern)
    folder = pattern.removesuffix("/**")
    return f"include {pattern}" if folder == pattern else f"graft {folder}"


def _open_lines(
    root: Path, words: Mapping[str, str], what: str, lines: Sequence[str] = (), file: str = "", mark: str = ""
) -> Iterator[str]:
    """Yield the lines of a step that is not done: what to do, and below it, indented, what of it is missing."""
    path = root / file
    text = read_text(path) if file and path.is_file() else ""
    filled = [line for one in lines for line in fill_template(one, words).split("\n")]
    missing = [line for line in filled if line.strip() not in {one.strip() for one in text.splitlines()}]
    if not file or (missing and not (mark and mark in text)):
        yield what
        yield from (f"    {line}" for line in (filled if mark else missing))
