"""Which of the drafted instances NVRTC refuses: a launch may be in code that the project never compiles.

Only its front end is asked. What it takes is hardly ever refused later, and optimising it takes most of the time.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.manifest import parse_manifest
from hatch_cuda_kernels.pool.apart import compile_apart, one_worker
from hatch_cuda_kernels.port.spelled import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.recipe import Recipe, Unit
    from hatch_cuda_kernels.source.project import Project

__all__ = ["accepted_guesses", "refused_instances"]

_UNTRIED: Final = "NVRTC refuses some of many, and this one was not tried"
#: In a name expression; other names with the word are refused, too.
_UNKNOWN: Final = re.compile(r'^__nv_name_map\(\d+\): error: identifier "(\w+)" is undefined', re.MULTILINE)
#: Of one module.
_MOST_COMPILES: Final = 40


@one_worker()
def refused_instances(project: Project, manifest: str, arch: SmArch) -> dict[str, str]:
    """Return the instances of a project's manifest that NVRTC refuses, with its reasons.

    A module that does not compile without instances has none. Raises ToolchainError where NVRTC is missing.
    """
    found: dict[str, str] = {}
    for module in parse_manifest(manifest, root=project.files.root).modules:
        if module.recipe.names:
            with suppress(_BrokenSourceError):
                found |= _trial(module.recipe, project, arch).refused(module.recipe.names)
    return found


def accepted_guesses(
    project: Project,
    manifest: str,
    arch: SmArch,
    guesses: Mapping[str, Sequence[Sequence[str]]],
) -> list[str]:
    """Return, of the instances to try of each kernel, by module, the first that NVRTC takes.

    Raises ToolchainError where NVRTC is missing.
    """
    found: list[str] = []
    for module in parse_manifest(manifest, root=project.files.root).modules:
        left = [list(each) for each in guesses.get(module.name, ())]
        if left:
            with suppress(_BrokenSourceError):
                found += _trial(replace(module.recipe, names=()), project, arch).first_taken(left)
    return found


def _trial(recipe: Recipe, project: Project, arch: SmArch) -> _Trial:
    (unit,) = recipe.units(read_recipe(recipe, project.files.root, project=project))
    return _Trial(recipe, unit, arch)


class _BrokenSourceError(Exception):
    """A source does not compile without names, so that none of these is to blame."""


class _Trial:
    """Compiles of one source with different names. Methods raise _BrokenSourceError."""

    def __init__(self, recipe: Recipe, unit: Unit, arch: SmArch) -> None:
        self._recipe: Final = recipe
        self._unit: Final = unit
        self._arch: Final = arch
        self._left = _MOST_COMPILES
        self._is_named = False  # whether the compiler said which names it refused last

    @cached_property
    def _compiles(self) -> bool:
        """Whether NVRTC takes the source without names."""
        return not self._compile(())

    def _refusal(self, names: Sequence[str]) -> dict[str, str]:
        """Return the names that NVRTC does not know, or all of them with its first error; empty if it takes them."""
        bad = self._compile(names)
        if bad and not self._is_named and not self._compiles:
            raise _BrokenSourceError
        return bad

    def _compile(self, names: Sequence[str]) -> dict[str, str]:
        self._left -= 1
        unit = self._unit._replace(names=tuple(names))
        job = self._recipe.compile_job(unit, self._arch, (), assembled=False)
        try:
            compile_apart(job)
        except CompileError as error:
            reason = (error.faults or (error.message,))[0].partition("\n")[0]
            unknown = set(_UNKNOWN.findall(error.log))
            alike = dict.fromkeys((name for name in names if words(name) & unknown), reason)
            named = alike | dict.fromkeys(error.bad_names, reason)
            self._is_named = bool(named)
            return named or dict.fromkeys(names or ("",), reason)
        return {}

    def refused(self, names: Sequence[str]) -> dict[str, str]:
        """Return the refused ones of names: by halves, where the compiler does not say which they are.

        Of a half that is not tried any more, all are.
        """
        found: dict[str, str] = {}
        while names and self._left > 0 and (bad := self._refusal(names)):
            if len(bad) == len(names) > 1 and not self._is_named:
                middle = len(names) // 2
                halves = names[:middle], names[middle:]
                tried = (self.refused(half) if self._left > 0 else dict.fromkeys(half, _UNTRIED) for half in halves)
                return found | {name: reason for each in tried for name, reason in each.items()}
            found |= bad
            names = [name for name in names if name not in bad]
        return found

    def first_taken(self, choices: list[list[str]]) -> list[str]:
        """Return of each list the first name that NVRTC takes, as far as that was tried."""
        found: list[str] = []
        choices = self._possible(choices)
        while choices and self._left > 0:
            names = [each.pop(0) for each in choices]
            refused = self.refused(names)
            if self._left <= 0:
                break  # not all of them were tried
            found += (name for name in names if name not in refused)
            choices = [each for each, name in zip(choices, names, strict=True) if name in refused and each]
        return found

    def _possible(self, choices: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return choices without the names that NVRTC says are wrong when it is asked for all of them."""
        bad = self._refusal([name for each in choices for name in each])
        known = bad if self._is_named else ()
        left = ([name for name in each if name not in known] for each in choices)
        return [each for each in left if each]
