"""Tries the modules of a manifest that were not tried when ``init`` wrote it, and changes their lines accordingly."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.manifest import has_key, load_manifest
from hatch_cuda_kernels.plan.release import check_release, requirements
from hatch_cuda_kernels.port import list_files
from hatch_cuda_kernels.scaffold.survey import (
    MARK,
    NO_MODULES,
    NOT_YET,
    Survey,
    Untried,
    drafted,
    module_head,
    unlisted_line,
)
from hatch_cuda_kernels.scaffold.trial import compiled, tried
from hatch_cuda_kernels.versions import version_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.manifest import Manifest, Module

__all__ = ["SecondTry", "try_again"]

_MARKED: Final = re.compile(rf"  (?P<name>\w+):  # {MARK}")


class SecondTry(NamedTuple):
    """A manifest's text afterwards, and what came of the modules that had not been tried."""

    text: str
    found: Survey


def try_again(path: Path) -> SecondTry:
    """Compile the modules of a manifest that were not tried; without the compiler that it asks for, nothing changes.

    A module that its author has edited is compiled as it is, and stays. Raises ManifestError.
    """
    text = path.read_bytes().decode()
    lines = text.splitlines()
    blocks = _blocks(lines)
    if not blocks:
        return SecondTry(text, Survey())
    manifest = load_manifest(path)
    modules = {module.name: module for module in manifest.modules if module.name in blocks}
    try:
        check_release(manifest)
        after = _after(manifest, modules, {name: lines[blocks[name]] for name in modules}, has_key(text, ["options"]))
    except ToolchainError as error:
        untried = Untried(error.message, tuple(requirements(manifest)))
        return SecondTry(
            text, Survey({name: {"source": one.sources[0]} for name, one in modules.items()}, untried=untried)
        )
    for name in sorted(modules, key=lambda one: -blocks[one].start):  # from the end, so that the places stay
        lines[blocks[name]] = after.lines[name]
    unlisted = modules.keys() - after.kept
    if {module.name for module in manifest.modules} == unlisted:
        lines = [NO_MODULES if line == "modules:" else line for line in lines]
    newline = "\r\n" if "\r\n" in text else "\n"
    return SecondTry(newline.join([*lines, ""]), after.found)


class _After(NamedTuple):
    lines: dict[str, list[str]]
    """By module."""
    kept: frozenset[str]
    """The modules that stay."""
    found: Survey


def _after(
    manifest: Manifest, modules: Mapping[str, Module], before: Mapping[str, Sequence[str]], has_options: bool
) -> _After:
    """Return what becomes of modules' lines. Raises ToolchainError."""
    root = manifest.root
    files = list_files(root)
    plain = Survey(untried=NOT_YET)
    for name, module in modules.items():
        plain.add(name, drafted(root, module.sources[0], files))
        if has_options or [*plain.module_lines(name)] != [*before[name]]:
            del plain.modules[name]
    arches = dict.fromkeys(str(arch) for name in plain.modules for arch in modules[name].arches)
    found = tried(root, {"schema": 1, "cuda": version_text(manifest.release), "arches": [*arches]}, plain, files)
    lines = {name: [*found.module_lines(name)] for name in found.modules}
    for name in plain.modules.keys() - found.modules.keys():
        source = modules[name].sources[0]
        lines[name] = [unlisted_line(source, found.unlisted[source])]
    edited = {name: module for name, module in modules.items() if name not in plain.modules}
    faults = compiled(replace(manifest, modules=tuple(edited.values()))) if edited else {}
    for name in edited:
        comment = f"  # it does not compile: {faults[name].reason}" if name in faults else ""
        lines[name] = [f"{module_head(name)}{comment}", *before[name][1:]]
    return _After(lines, frozenset({*found.modules, *edited}), found)


def _blocks(lines: Sequence[str]) -> dict[str, slice]:
    """Return where in a manifest the modules are that were not tried, by name."""
    found = {}
    for number, line in enumerate(lines):
        head = _MARKED.fullmatch(line)
        if head is not None:
            below = takewhile(lambda one: one.startswith("   "), lines[number + 1 :])
            found[head["name"]] = slice(number, number + 1 + sum(1 for _ in below))
    return found
