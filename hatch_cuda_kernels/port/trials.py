"""What NVRTC and the linker say of a project's sources: what they refuse, and what another source has."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.compiler import (
    further_levels,
    is_for_device,
    lacks_device_runtime,
    read_device_passes,
    read_recipe,
    undefined_symbols,
)
from hatch_cuda_kernels.compiler.output import Diagnostic, demangled, linkage_of_object, parse_log
from hatch_cuda_kernels.cpp import SourceFile, TextError, UnbalancedError, lex, read_alone
from hatch_cuda_kernels.errors import CompileError, InputError
from hatch_cuda_kernels.execution_space import MARKS, blame
from hatch_cuda_kernels.includes import DEVICE_RUNTIME
from hatch_cuda_kernels.manifest import parse_manifest
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.pool import OutOfTimeError, one_worker, run_isolated
from hatch_cuda_kernels.port.spelling import launches

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler import Compiled, Job, Recipe, Unit
    from hatch_cuda_kernels.cpp import Declaration
    from hatch_cuda_kernels.execution_space import DevicePass, Level, Place, SourceSet
    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.includes import Project

__all__ = [
    "ReadSource",
    "Trials",
    "accepted_guesses",
    "find_other_sources",
    "linked",
    "may_lack",
    "other_sources",
    "refused_instances",
    "stated_with_runtime",
    "with_device_runtime",
]

#: Compiles of one module for the sake of its instances.
_MOST_COMPILES: Final = 40
_MOST_SOURCES: Final = 16
#: Sources that are compiled to find one that has something of what is lacking.
_MOST_TRIALS: Final = 24
_UNTRIED: Final = "NVRTC refuses some of many, and this one was not tried"


@dataclass
class ReadSource:
    """One source as NVRTC is shown it, and what it refuses of that."""

    recipe: Recipe
    sources: SourceSet
    passed: DevicePass | None
    """How host code was cut; None for a text that cannot be read as C++."""
    said: dict[Place, str] = field(default_factory=dict)
    """What NVRTC said of declarations of which more was cut."""
    errors: list[Diagnostic] = field(default_factory=list)
    """What is refused still."""

    @property
    def unit(self) -> Unit:
        """What is compiled."""
        (unit,) = self.recipe.units(self.sources)
        return unit


class Trials:
    """Compiles of a project's sources for one architecture, or none without one.

    All of them together end after some seconds: what was not tried then is told, and nothing is drafted from it.
    """

    def __init__(self, project: Project, arch: SmArch | None, seconds: float = float("inf")) -> None:
        self.project: Final = project
        self.arch: Final = arch
        self.is_over = False
        """Whether something was not tried, or not to its end."""
        self._seconds = seconds
        self._read: Final[dict[Recipe, ReadSource]] = {}

    def compile(self, job: Job) -> Compiled:
        """Return what a job gives. Raises CompileError, and OutOfTimeError where the time is over."""
        start = time.monotonic()
        try:
            return run_isolated(job, None if self._seconds == float("inf") else max(self._seconds, 0))
        except OutOfTimeError:
            self.is_over = True
            raise
        finally:
            self._seconds -= time.monotonic() - start

    def read(self, recipe: Recipe) -> ReadSource:
        """Read a recipe's one source; what NVRTC refuses of host code is cut further. Raises InputError."""
        known = replace(recipe, module="", names=(), globals=())
        if known not in self._read:
            self._read[known] = self._settled(replace(recipe, names=()))
        return self._read[known]

    def _settled(self, recipe: Recipe) -> ReadSource:
        levels: dict[Place, Level] = {}
        said: dict[Place, str] = {}
        passed: DevicePass | None = None
        while True:
            sources, (passed,) = read_device_passes(recipe, levels, self.project, [passed])
            found = ReadSource(recipe, sources, passed, said)
            if self.arch is None:
                return found
            try:
                found.errors = self.errors(found)
            except OutOfTimeError:
                return found
            absent = _absent_headers(found)
            if absent - {*recipe.options.host_only}:
                recipe = replace(recipe, options=recipe.options.override(host_only=tuple(sorted(absent))))
                continue
            fresh = {} if passed is None or not found.errors else blame(passed, found.errors, levels)
            said |= {place: message for place in fresh if (message := _message_at(place, found))}
            if all(levels.get(place) == level for place, level in fresh.items()):
                return found
            levels |= fresh

    def errors(self, found: ReadSource) -> list[Diagnostic]:
        """Return the errors of NVRTC's front end.

        Where NVRTC says nothing, as in a crash, the one for the source stands at no line. Raises OutOfTimeError.
        """
        assert self.arch is not None  # noqa: S101 - for the caller to see to
        try:
            self.compile(found.recipe.compile_job(found.unit, self.arch, (), assembled=False))
        except CompileError as error:
            told = [one for one in parse_log(error.log) if one.severity.endswith("error")]
            return told or [Diagnostic(found.recipe.sources[0], 0, "error", error.message)]
        return []

    def compiled(self, recipe: Recipe, kind: Kind) -> Compiled:
        """Compile a recipe, of whose host code more is cut as NVRTC asks.

        Raises CompileError, InputError and OutOfTimeError.
        """
        assert self.arch is not None  # noqa: S101 - for the caller to see to
        root = self.project.files.root
        sources = read_recipe(recipe, root, project=self.project)
        while True:
            try:
                if kind == "object":
                    (job,) = recipe.part_jobs(recipe.units(sources), self.arch, "object")
                    return self.compile(job)
                return self.compile(recipe.job(sources, self.arch, (kind,)))
            except CompileError as error:
                levels = further_levels(recipe, root, sources, error, project=self.project)
                if levels is None:
                    raise
                sources = read_recipe(recipe, root, project=self.project, levels=levels)

    def refused(self, manifest: str) -> dict[str, str]:
        """Return the instances of a project's manifest that NVRTC refuses, with its reasons.

        Only its front end is asked: what it takes is hardly ever refused later, and optimising it takes most of the
        time. A module that does not compile without instances has none.
        """
        found: dict[str, str] = {}
        for module in parse_manifest(manifest, root=self.project.files.root).modules:
            if module.recipe.names:
                with suppress(_BrokenSourceError, OutOfTimeError):
                    found |= _NamesTrial(self, self.read(module.recipe)).refused(module.recipe.names)
        return found

    def accepted(self, manifest: str, guesses: Mapping[str, Sequence[Sequence[str]]]) -> list[str]:
        """Return, of the instances to try of each kernel, by module, the first that NVRTC takes."""
        found: list[str] = []
        for module in parse_manifest(manifest, root=self.project.files.root).modules:
            left = [list(each) for each in guesses.get(module.name, ())]
            if left:
                with suppress(_BrokenSourceError, OutOfTimeError):
                    found += _NamesTrial(self, self.read(module.recipe)).first_taken(left)
        return found


def _message_at(place: Place, found: ReadSource) -> str:
    """Return the first thing that NVRTC says in or behind a place."""
    assert found.passed is not None  # noqa: S101 - of a text that was read
    line = found.passed.files[place.file].line(place.offset)
    path = place.file.removeprefix(VIRTUAL_ROOT)
    behind = [error for error in found.errors if error.file == path and error.line >= line]
    return min(behind, key=lambda error: error.line).message if behind else ""


def _absent_headers(found: ReadSource) -> set[str]:
    """Return the headers, as options name them, without which NVRTC cannot go on, and no device code can need.

    That is for the user to see to where one has a name that device code's headers have, or a macro spells it.
    """
    absent = {*found.recipe.options.host_only}
    if found.passed is None or not any("open source file" in error.message for error in found.errors):
        return absent
    for file, directive in found.passed.unit.unresolved:
        name, closes, _ = directive.operand.strip()[1:].partition(">")
        is_ours = file.name.startswith(VIRTUAL_ROOT) and directive.operand.strip()[:1] == "<"
        if is_ours and closes and not is_for_device(name):
            absent.add(f"<{name}>")
    return absent


@one_worker()
def refused_instances(project: Project, manifest: str, arch: SmArch) -> dict[str, str]:
    """Return the instances of a project's manifest that NVRTC refuses, however long it takes."""
    return Trials(project, arch).refused(manifest)


@one_worker()
def accepted_guesses(
    project: Project, manifest: str, arch: SmArch, guesses: Mapping[str, Sequence[Sequence[str]]]
) -> list[str]:
    """Return, of the instances to try of each kernel, by module, the first that NVRTC takes, however long it takes."""
    return Trials(project, arch).accepted(manifest, guesses)


class _BrokenSourceError(Exception):
    """A source does not compile without names, so that none of these is to blame."""


class _NamesTrial:
    """Compiles of one source with different names. Methods raise _BrokenSourceError and OutOfTimeError."""

    def __init__(self, trials: Trials, found: ReadSource) -> None:
        self._trials: Final = trials
        self._found: Final = found
        self._unit: Final = found.unit
        self._left = _MOST_COMPILES
        self._is_named = False  # whether the compiler said which names it refused last

    def _refusal(self, names: Sequence[str]) -> dict[str, str]:
        """Return the names that NVRTC does not know, or all of them with its first error; empty if it takes them."""
        bad = self._compile(names)
        if bad and not self._is_named and self._found.errors:
            raise _BrokenSourceError
        return bad

    def _compile(self, names: Sequence[str]) -> dict[str, str]:
        self._left -= 1
        arch = self._trials.arch
        assert arch is not None  # noqa: S101 - for the caller to see to
        unit = self._unit._replace(names=tuple(names))
        try:
            self._trials.compile(self._found.recipe.compile_job(unit, arch, (), assembled=False))
        except CompileError as error:
            reason = (error.faults or (error.message,))[0].partition("\n")[0]
            unknown = _unknown_names(error.log)
            alike = dict.fromkeys((name for name in names if not unknown.isdisjoint(lex(name))), reason)
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
            try:
                refused = self.refused(names)
            except OutOfTimeError:
                break
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


def _unknown_names(log: str) -> set[str]:
    """Return the names in name expressions that nothing declares; other names with the word are refused, too."""
    found = (one for one in parse_log(log) if one.file.startswith("__nv_name_map"))
    said = (one.message.split('"') for one in found if one.message.endswith("is undefined"))
    return {parts[1] for parts in said if len(parts) > 1}


# The device runtime.


def with_device_runtime(recipe: Recipe, trials: Trials) -> Recipe:
    """Return a recipe that links the device runtime where it does not compile for want of it. Raises ToolchainError."""
    passed = trials.read(recipe).passed
    if (
        recipe.libraries
        or passed is None
        or not _may_use_runtime(one for reading in passed.readings for one in reading)
    ):
        return recipe
    other = replace(recipe, libraries=(DEVICE_RUNTIME,))
    return other if _lacks_runtime(recipe, trials) and not _lacks_runtime(other, trials) else recipe


def _may_use_runtime(declarations: Iterable[Declaration]) -> bool:
    """Return whether device code launches kernels, or calls what the runtime has for it, too."""
    for one in declarations:
        if one.kind == "function" and one.body is not None and not one.words.isdisjoint(MARKS):
            first, last = (one.tokens[at].at for at in one.body)
            texts = one.stream.texts[first : last + 1]
            if any(text.startswith("cuda") and text[4:5].isupper() for text in texts) or launches(texts):
                return True
    return False


def _lacks_runtime(recipe: Recipe, trials: Trials) -> bool:
    try:
        trials.compiled(recipe, "cubin")
    except CompileError as error:
        return lacks_device_runtime(error.log)
    except (InputError, OutOfTimeError):
        pass
    return False


def stated_with_runtime(stated: dict[str, Any], arches: Iterable[SmArch]) -> dict[str, Any]:
    """Return what a manifest states of a module that links the device runtime, which no PTX is linked with."""
    real = [str(arch) for arch in arches if not arch.virtual]
    return {**stated, "libraries": [DEVICE_RUNTIME], "arches": real}


# Other sources.


def may_lack(declarations: Iterable[Declaration]) -> bool:
    """Return whether device code or device variables are declared that nothing defines."""
    declared, defined = set[tuple[str, ...]](), set[tuple[str, ...]]()
    for one in declarations:
        if one.kind in {"function", "variable"}:
            name = (*one.scope[-1:], *one.qualifier[-1:], one.name)
            is_outside = "extern" in one.words if one.kind == "variable" else one.body is None
            if not is_outside:
                defined.add(name)
            elif not one.words.isdisjoint(MARKS):
                declared.add(name)
    return bool(declared - defined)


@one_worker()
def other_sources(recipe: Recipe, project: Project, arch: SmArch, files: Iterable[str]) -> dict[str, str] | None:
    """Return the sources that define what a module lacks, however long it takes to find them."""
    return find_other_sources(recipe, Trials(project, arch), files)


def find_other_sources(recipe: Recipe, trials: Trials, files: Iterable[str]) -> dict[str, str] | None:
    """Return the sources that define what a module lacks, each with a name of that, if all can be linked.

    ``files`` are the project's. It is None where other sources do not have all of it, or where two of them have the
    same: which of these the project links, its own build says. One that does not compile has what its text seems to
    define. There is none, too, where the module does not compile for other reasons. Raises ToolchainError where a
    compiler is missing.
    """
    lacking = _lacking(recipe, trials)
    texts = {path: trials.project.text(path).text for path in files if path.endswith(".cu")} if lacking else {}
    declares = cache(lambda path, symbol: _declares(texts[path], symbol))
    defined = cache(lambda path: _defined(replace(recipe, sources=(path,)), trials))
    found: dict[str, str] = {}
    while lacking and len(found) < _MOST_SOURCES:
        known = (*recipe.sources, *found)
        possible = [path for path in _near(texts, known) if any(declares(path, one) for one in lacking)][:_MOST_TRIALS]
        tried = {path: defined(path) for path in possible}
        owners = [(path, symbol) for path, one in tried.items() for symbol in sorted(lacking & (one or frozenset()))]
        for path in (path for path, one in tried.items() if one is None):
            owners += [(path, symbol) for symbol in lacking if declares(path, symbol)]
        if not owners or len({symbol for _, symbol in owners}) < len(owners):
            return None
        found = {path: demangled(symbol) for path, symbol in owners} | found
        lacking = _lacking(replace(recipe, sources=(*recipe.sources, *found)), trials)
    return None if found and (lacking is None or lacking) else found


def linked(stated: Mapping[str, Any], others: Iterable[str]) -> dict[str, Any]:
    """Return what a manifest states of a module that has one source, with others beside it."""
    return {"sources": [stated["source"], *others], **{key: one for key, one in stated.items() if key != "source"}}


def _lacking(recipe: Recipe, trials: Trials) -> frozenset[str] | None:
    """Return the symbols that a module uses and nothing defines; None where it fails for another reason."""
    try:
        trials.compiled(recipe, "cubin")
    except CompileError as error:
        return frozenset(undefined_symbols(error.log)) or None
    except (InputError, OutOfTimeError):
        return None
    return frozenset()


def _defined(recipe: Recipe, trials: Trials) -> frozenset[str] | None:
    """Return the symbols that a module of one source has for others; None where it does not compile."""
    try:
        linkage = linkage_of_object(trials.compiled(replace(recipe, names=(), globals=()), "object").images["object"])
    except (CompileError, InputError, OutOfTimeError):
        return None
    return linkage.defined | linkage.shared  # instances of templates, too, that others only declare


def _near(texts: Mapping[str, str], known: Sequence[str]) -> list[str]:
    """Return the sources that are not known, those first that are near to what is."""
    return sorted(
        (path for path in texts if path not in known), key=lambda path: -len(os.path.commonpath([known[0], path]))
    )


def _declares(text: str, symbol: str) -> bool:
    """Return whether a text has a definition with a symbol's name, or cannot be read and has the name."""
    words = lex(demangled(symbol).partition("(")[0].partition("<")[0].rpartition("::")[2])
    if not words or words[0] not in text:
        return False
    try:
        return any(_defines(one, "".join(words)) for one in read_alone(SourceFile("", text)))
    except (TextError, UnbalancedError):
        return True


def _defines(declaration: Declaration, name: str) -> bool:
    if declaration.kind == "function":
        return declaration.body is not None and declaration.name == name
    is_own = declaration.kind == "variable" and "extern" not in declaration.words
    return (
        is_own and not declaration.words.isdisjoint(MARKS) and any(one.name == name for one in declaration.declarators)
    )
