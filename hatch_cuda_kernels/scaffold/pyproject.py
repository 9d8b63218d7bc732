"""Changes to a project's pyproject.toml that leave everything else as it was written."""

from __future__ import annotations

import tomllib
from collections.abc import MutableSequence, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Final, NamedTuple

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from tomlkit.exceptions import TOMLKitError

from hatch_cuda_kernels.compiler.toolchain import own
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.manifest import hook_table
from hatch_cuda_kernels.scaffold.templates import TABLE

_PACKAGE: Final = "hatch-cuda-kernels"
HATCH: Final = "hatchling.build"
#: Python versions that this package does not run on.
_TOO_OLD: Final = ("3.8", "3.9", "3.10")
_HATCHLING: Final = "hatchling>=1.27"
_BUILD_SYSTEM: Final = f'[build-system]\nrequires = ["{_HATCHLING}"]\nbuild-backend = "{HATCH}"\n'
_DIRECT: Final = "tool.hatch.metadata"
_FIND: Final = "tool.setuptools.packages.find"


class EditedPyproject(NamedTuple):
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


def add_package(
    text: str,
    *,
    extra: str,
    tools: Sequence[str] = (),
    table: bool = False,
    cache_keys: Sequence[str] = (),
    package: str = "",
) -> EditedPyproject:
    """Return pyproject.toml with this package among the requirements of builds and runs.

    ``extra`` is the extra that builds require, empty if none of the back end's builds use the package; ``tools`` are
    what else they require. ``table`` says that the hook's table is missing; ``cache_keys`` are files that uv is to
    watch; ``package`` is what setuptools is to find. Raises InputError for a file that cannot be changed safely.
    """
    try:
        document: Any = tomlkit.parse(text)
    except TOMLKitError as error:
        raise InputError(f"pyproject.toml cannot be changed safely: {error}") from error
    changes, notes = _require_all(document, extra, tools)
    watched, keys = _watch(document, cache_keys)
    changes += [f"tool.uv.cache-keys: {key}" for key in keys]
    listed = [*document["project"].get("dependencies", ())]
    listed += chain(*document["project"].get("optional-dependencies", {}).values())
    direct = document["build-system"].get("build-backend") == HATCH and any(" @ " in one for one in listed)
    if direct and (metadata := _written_table(document, "hatch", "metadata")) is not None:
        metadata.setdefault("allow-direct-references", True)
        direct = False
    edited = tomlkit.dumps(document)
    tables = [("# kernels.yaml says what to compile. This line alone turns it on.", TABLE, "")] if table else []
    if package:
        lines = f'include = ["{package}", "{package}.*"]'
        tables.append(("# Other folders here, such as kernels, are not packages.", _FIND, lines))
    if direct:
        what = "# hatch-cuda-kernels has the address from which it was installed. An index accepts names only."
        tables.append((what, _DIRECT, "allow-direct-references = true"))
    if watched:
        tables.append(("# uv builds again when one of these changes.", "tool.uv", watched))
    newline = "\r\n" if "\r\n" in text else "\n"
    for comment, name, lines in tables:
        edited = newline.join([edited.rstrip(), "", *filter(None, (comment, f"[{name}]", lines)), ""])
        changes.append(f"[{name}]")
    _check(edited, extra, [name for _, name, _ in tables])
    return EditedPyproject(edited, tuple(f"pyproject.toml: {change}" for change in changes), tuple(notes))


def _require_all(document: Any, extra: str, tools: Sequence[str]) -> tuple[list[str], list[str]]:  # tomlkit is untyped
    """Add the requirements to a document; return what was added, and what is left to do."""
    changes, notes = [], []
    if extra:
        listed = document["build-system"]["requires"]
        wanted = (own(extra), *tools)
        changes += [f"build-system.requires: {one}" for one in wanted if _require(listed, one)]
    project = document["project"]
    if "dependencies" in project.get("dynamic", ()):
        notes.append(f"project.dependencies is dynamic: add {own()} where they are defined")
    else:
        if "dependencies" not in project:
            project["dependencies"] = tomlkit.array()
        if _require(project["dependencies"], own()):
            changes.append(f"project.dependencies: {own()}")
    stated = project.get("requires-python")
    with suppress(InvalidSpecifier):
        allowed = SpecifierSet(stated or "")
        if any(allowed.contains(version) for version in _TOO_OLD):
            what = f"requires-python is {str(stated)!r}" if stated else "requires-python is not stated"
            notes.append(f"{what}; {_PACKAGE} needs Python 3.11 or newer")
    return changes, notes


def _require(listed: MutableSequence[str], wanted: str) -> bool:
    """Add a requirement to a list unless its package is there with the extras; return whether that changed it."""
    new = Requirement(wanted)
    for index, written in enumerate(listed):
        try:
            found = Requirement(written)
        except InvalidRequirement:
            continue
        if canonicalize_name(found.name) != canonicalize_name(new.name):
            continue
        if not new.extras or found.extras & {*new.extras, "build", "build-cu12"}:
            return False
        found.extras |= new.extras
        listed[index] = str(found)
        return True
    listed.append(wanted)
    return True


def _written_table(document: Any, *names: str) -> Any:
    """Return a table below ``tool`` that has a heading; None for a missing or an implied one."""
    table = document.get("tool", {})
    for name in names:
        table = table.get(name, {})
    return None if not table or getattr(table, "is_super_table", bool)() else table


def _watch(document: Any, cache_keys: Sequence[str]) -> tuple[str, list[str]]:
    """Have uv watch files: return the line for a table that is to be added, and what is new in one that is there."""
    table = _written_table(document, "uv")
    if not cache_keys:
        return "", []
    if table is None:
        return f"cache-keys = [{', '.join(map(_key, ('pyproject.toml', *cache_keys)))}]", []
    wanted = list(cache_keys)
    if "cache-keys" not in table:
        table["cache-keys"] = tomlkit.array()
        wanted = ["pyproject.toml", *cache_keys]
    listed = [one.get("file") if isinstance(one, dict) else one for one in table["cache-keys"]]
    added = [key for key in wanted if key not in listed]
    for key in added:
        table["cache-keys"].append(tomlkit.parse(f"key = {_key(key)}")["key"])
    return "", added


def _key(file: str) -> str:
    return f'{{ file = "{file}" }}'


def with_hatch(text: str) -> str:
    """Return pyproject.toml with Hatch as the back end, in place of another or of none."""
    data = read_toml(text, "pyproject.toml")
    if "build-system" not in data:
        newline = "\r\n" if "\r\n" in text else "\n"
        return newline.join([*_BUILD_SYSTEM.splitlines(), "", text])
    document: Any = tomlkit.parse(text)
    document["build-system"]["requires"] = [_HATCHLING]
    document["build-system"]["build-backend"] = HATCH
    return tomlkit.dumps(document)


def check_tables(data: dict[str, Any]) -> None:
    """Raise InputError for a project without the tables that every change needs."""
    if "name" not in data.get("project", {}):
        raise InputError("pyproject.toml has no [project] table with a name; add one first")
    if not isinstance(data.get("build-system", {}).get("requires"), list):
        raise InputError("pyproject.toml: build-system.requires is missing, or is not a list")


def _check(text: str, extra: str, tables: Sequence[str]) -> None:
    """Raise InputError unless the change shows in the text: some layouts of the file prevent it."""
    try:
        data = tomllib.loads(text)
        done = hook_table(data.get("tool", {}).get("hatch", {})) is not None or TABLE not in tables
    except tomllib.TOMLDecodeError:
        done = False
    if not done:
        parts = [f'"{own(extra)}" to build-system.requires', f'"{own()}" to project.dependencies']
        parts += [f"[{name}]" for name in tables]
        raise InputError(
            f"pyproject.toml is laid out so that it cannot be changed safely; add {', '.join(parts)} yourself"
        )
