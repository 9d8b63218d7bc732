"""Changes to a project's pyproject.toml that leave everything else as it was written."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from tomlkit.exceptions import TOMLKitError

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.manifest.find import hook_table
from hatch_cuda_kernels.scaffold.templates import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableSequence

__all__ = ["OTHER_SYSTEMS", "Edited", "add_hook", "read_toml"]

_PACKAGE: Final = "hatch-cuda-kernels"
_BACKEND: Final = "hatchling.build"
#: Python versions that this package does not run on.
_TOO_OLD: Final = ("3.8", "3.9", "3.10")
OTHER_SYSTEMS: Final = (
    "with another build system, call hatch_cuda_kernels.build_kernels in its build (docs/howto/other-build-systems.md)"
)


class Edited(NamedTuple):
    """The text of the file after the changes, what was changed, and what is left for the user to do."""

    text: str
    changes: tuple[str, ...]
    notes: tuple[str, ...]


def read_toml(text: str, name: str) -> dict[str, Any]:
    """Return the contents of a TOML file. Raises InputError with the place of a mistake."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name}: not valid TOML: {error}") from error


def add_hook(text: str, *, extra: str, table: bool) -> Edited:
    """Return pyproject.toml with this package among the requirements of builds and runs, and with the hook's table.

    ``extra`` is the extra that builds require; ``table`` says whether the table is missing. Raises InputError for a
    project that Hatch does not build, or whose file cannot be changed safely.
    """
    _check_backend(read_toml(text, "pyproject.toml"))
    try:
        document: Any = tomlkit.parse(text)
    except TOMLKitError as error:
        raise InputError(f"pyproject.toml cannot be changed safely: {error}") from error
    changes, notes = [], []
    if _require(document["build-system"]["requires"], extra):
        changes.append(f"build-system.requires: {_PACKAGE}[{extra}]")
    project = document["project"]
    if "dependencies" in project.get("dynamic", ()):
        notes.append(f"project.dependencies is dynamic: add {_PACKAGE} where they are defined")
    else:
        if "dependencies" not in project:
            project["dependencies"] = tomlkit.array()
        if _require(project["dependencies"], ""):
            changes.append(f"project.dependencies: {_PACKAGE}")
    notes += _python_note(project.get("requires-python"))
    edited = tomlkit.dumps(document)
    if table:
        edited = _append_table(edited, TABLE)
        changes.append(f"[{TABLE}]")
    _check(edited, extra)
    return Edited(edited, tuple(changes), tuple(notes))


def _append_table(text: str, name: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    comment = "# kernels.yaml says what to compile. This line alone turns it on."
    return f"{text.rstrip()}{newline}{newline}{comment}{newline}[{name}]{newline}"


def _check_backend(data: dict[str, Any]) -> None:
    backend = data.get("build-system", {}).get("build-backend")
    if backend != _BACKEND:
        stated = f"states the build backend {backend}" if backend else "states no build backend"
        raise InputError(
            f'pyproject.toml {stated}; init sets up projects that Hatch builds (build-backend = "{_BACKEND}"); '
            f"{OTHER_SYSTEMS}"
        )
    if "name" not in data.get("project", {}):
        raise InputError("pyproject.toml has no [project] table with a name; add one first")
    if not isinstance(data["build-system"].get("requires"), list):
        raise InputError("pyproject.toml: build-system.requires is missing, or is not a list")


def _require(listed: MutableSequence[str], extra: str) -> bool:
    """Add this package with the extra to a list of requirements, if it is not there; return whether that changed it."""
    for index, written in enumerate(listed):
        found = _requirement(written)
        if found is None:
            continue
        if not extra or any(known.startswith("build") for known in found.extras):
            return False
        found.extras.add(extra)
        listed[index] = str(found)
        return True
    listed.append(f"{_PACKAGE}[{extra}]" if extra else _PACKAGE)
    return True


def _requirement(written: str) -> Requirement | None:
    """Return a requirement if it names this package, None for any other."""
    try:
        found = Requirement(written)
    except InvalidRequirement:
        return None
    return found if re.sub(r"[-_.]+", "-", found.name).lower() == _PACKAGE else None


def _python_note(stated: str | None) -> Iterable[str]:
    try:
        allowed = SpecifierSet(stated or "")
    except InvalidSpecifier:
        return
    if any(allowed.contains(version) for version in _TOO_OLD):
        what = f"requires-python is {str(stated)!r}" if stated else "requires-python is not stated"
        yield f"{what}; {_PACKAGE} needs Python 3.11 or newer"


def _check(text: str, extra: str) -> None:
    """Raise InputError unless the text says what it should: some layouts of the file defeat the change."""
    try:
        data = tomllib.loads(text)
        done = hook_table(data.get("tool", {}).get("hatch", {})) is not None or TABLE not in text
    except tomllib.TOMLDecodeError:
        done = False
    if not done:
        raise InputError(
            f'pyproject.toml is laid out so that it cannot be changed safely; add "{_PACKAGE}[{extra}]" to '
            f'build-system.requires, "{_PACKAGE}" to project.dependencies and [{TABLE}] yourself'
        )
