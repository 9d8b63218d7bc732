"""What NVRTC and the linker say of a project's sources: what they refuse, and what another source has."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler import is_for_device, lacks_device_runtime, read_device_passes, undefined_symbols
from hatch_cuda_kernels.compiler.binary import Diagnostic, bad_names, demangled, linkage_of_object, parse_log
from hatch_cuda_kernels.cpp import Declaration, SourceFile, TextError, lex, read_alone
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME
from hatch_cuda_kernels.errors import CompileError, InputError
from hatch_cuda_kernels.execution_space import MARKS, DevicePass, Level, Place, SourceSet, blame
from hatch_cuda_kernels.names import VIRTUAL_ROOT, is_projects
from hatch_cuda_kernels.options import override_options
from hatch_cuda_kernels.pool import OutOfTimeError, run_isolated
from hatch_cuda_kernels.port.sites import launches

if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler import Compiled, Job, Recipe
    from hatch_cuda_kernels.includes import Project

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


class Trials:
    """Compiles of a project's sources for one architecture, or none without one; all end after some seconds."""

    def __init__(self, project: Project, arch: SmArch | None, seconds: float) -> None:
        self.project: Final = project
        self.is_over = False
        """Whether something was not tried, or not to its end."""
        self.arch: Final = arch
        self.limit: Final = seconds
        self._seconds = seconds
        self._read: Final[dict[Recipe, ReadSource]] = {}

    def compile(self, job: Job) -> Compiled:
        """Return what a job gives. Raises CompileError, and OutOfTimeError where the time is over."""
        start = time.monotonic()
        try:
            return run_isolated(job, None if self.limit == float("inf") else max(self._seconds, 0))
        except OutOfTimeError:
            self.is_over = True
            raise
        finally:
            self._seconds -= time.monotonic() - start

    def read(self, recipe: Recipe) -> ReadSource:
        """Read a recipe's one source; what NVRTC refuses of host code is cut further. Raises InputError."""
        known = replace(recipe, module="", names=(), globals=(), libraries=())
        if known not in self._read:
            self._read[known] = self._settle(replace(recipe, names=()))
        return self._read[known]

    def _settle(self, recipe: Recipe) -> ReadSource:
        levels: dict[Place, Level] = {}
        said: dict[Place, str] = {}
        passed: DevicePass | None = None
        while True:
            sources, (passed,) = read_device_passes(recipe, levels, self.project, [passed])
            found = ReadSource(recipe, sources, passed, said)
            error = None if self.arch is None else self.refusal(found)
            if error is None:
                return found
            if lacks_device_runtime(error.log) and not recipe.libraries:
                recipe = replace(recipe, libraries=(DEVICE_RUNTIME,))
                continue
            told = [one for one in parse_log(error.log) if one.severity.endswith("error")]
            found.errors = told or [Diagnostic(recipe.sources[0], 0, "error", error.message)]  # it may have crashed
            absent = _absent_headers(found)
            if absent - {*recipe.options.host_only}:
                recipe = replace(recipe, options=override_options(recipe.options, host_only=tuple(sorted(absent))))
                continue
            fresh = {} if passed is None else blame(passed, found.errors, levels)
            said |= {place: message for place in fresh if (message := _message_at(place, found))}
            if all(levels.get(place) == level for place, level in fresh.items()):
                return found
            levels |= fresh

    def refusal(self, found: ReadSource, names: Sequence[str] = ()) -> CompileError | None:
        """Return how NVRTC's front end refuses a source with some instances; None if it does not, or the time is over.

        What it takes is hardly ever refused later, and optimising it takes most of the time.
        """
        assert self.arch is not None  # noqa: S101 - for the caller to see to
        units = [unit._replace(names=tuple(names)) for unit in found.recipe.units(found.sources)]
        if found.recipe.libraries:
            (job,) = found.recipe.part_jobs(units, self.arch, "object")
        else:
            job = found.recipe.compile_job(units[0], self.arch, (), assembled=False)
        try:
            self.compile(job)
        except CompileError as error:
            return error
        except OutOfTimeError:
            return None
        return None

    def complete(self, recipe: Recipe, files: Iterable[str]) -> tuple[Recipe, dict[str, str]]:
        """Return a recipe with what it is to be linked with, and a name that each other source defines, by its path.

        The recipe stays as it is where it fails for other reasons, and where no source of ``files``, or more than one,
        has what it lacks: which of these the project links, its own build says. A source that does not compile has what
        its text seems to define. Raises ToolchainError where a compiler is missing.
        """
        log = self._link_log(recipe)
        linked = recipe
        if lacks_device_runtime(log) and not recipe.libraries:
            linked = replace(recipe, libraries=(DEVICE_RUNTIME,))
            log = self._link_log(linked)
        texts = {path: self.project.text(path).text for path in files if path.endswith(".cu")} if log else {}
        declares = cache(lambda path, symbol: _has_definition(texts[path], symbol))
        defined = cache(lambda path: self._definitions(replace(recipe, sources=(path,), names=(), globals=())))
        found: dict[str, str] = {}
        while log and len(found) < _MOST_SOURCES:
            lacking = {*undefined_symbols(log)}
            others = (path for path in texts if path not in linked.sources)
            possible = [path for path in others if any(declares(path, one) for one in lacking)][:_MOST_TRIALS]
            tried = {path: defined(path) for path in possible}
            owners = [(path, one) for path, known in tried.items() for one in sorted(lacking & (known or frozenset()))]
            for path in (path for path, known in tried.items() if known is None):
                owners += [(path, symbol) for symbol in lacking if declares(path, symbol)]
            if not owners or len({symbol for _, symbol in owners}) < len(owners):
                return recipe, {}
            found = {path: demangled(symbol) for path, symbol in owners} | found
            linked = replace(linked, sources=(*recipe.sources, *found))
            log = self._link_log(linked)
        return (recipe, {}) if log else (linked, found)

    def _link_log(self, recipe: Recipe) -> str:
        """Return what tools say that refuse a module; empty where it compiles."""
        assert self.arch is not None  # noqa: S101 - for the caller to see to
        try:
            self.compile(recipe.job(self._sources(recipe), self.arch, ("cubin",)))
        except CompileError as error:
            return error.log or error.message
        except (InputError, OutOfTimeError) as error:
            return str(error) or _UNTRIED
        return ""

    def _sources(self, recipe: Recipe) -> SourceSet:
        read = [self.read(replace(recipe, sources=(source,))).sources for source in recipe.sources]
        return SourceSet(tuple(unit for one in read for unit in one.units))

    def _definitions(self, recipe: Recipe) -> frozenset[str] | None:
        """Return the symbols that a module of one source has for others; None where it does not compile."""
        assert self.arch is not None  # noqa: S101 - for the caller to see to
        try:
            (job,) = recipe.part_jobs(recipe.units(self._sources(recipe)), self.arch, "object")
            linkage = linkage_of_object(self.compile(job).images["object"])
        except (CompileError, InputError, OutOfTimeError):
            return None
        return linkage.defined | linkage.shared  # instances of templates, too, that others only declare


def _message_at(place: Place, found: ReadSource) -> str:
    """Return the first thing that NVRTC says in or behind a place."""
    assert found.passed is not None  # noqa: S101 - of a text that was read
    line = found.passed.files[place.file].line(place.offset)
    path = place.file.removeprefix(VIRTUAL_ROOT)
    behind = [error for error in found.errors if error.file == path and error.line >= line]
    return min(behind, key=lambda error: error.line).message if behind else ""


def _absent_headers(found: ReadSource) -> set[str]:
    """Return the headers, as options name them, that NVRTC lacks and no device code can need."""
    absent = {*found.recipe.options.host_only}
    if found.passed is None or not any("open source file" in error.message for error in found.errors):
        return absent
    for file, directive in found.passed.unit.unresolved:
        is_ours = is_projects(file.name) and directive.operand.strip()[:1] == "<"
        if is_ours and directive.header and not is_for_device(directive.header):
            absent.add(f"<{directive.header}>")
    return absent


@dataclass
class NamesTrial:
    """Compiles of one source with different instances."""

    _trials: Trials
    _found: ReadSource
    _left: int = _MOST_COMPILES

    def _refusal(self, names: Sequence[str]) -> tuple[dict[str, str], bool]:
        """Return the names that NVRTC refuses, with its reasons, and whether it named them."""
        self._left -= 1
        error = self._trials.refusal(self._found, names)
        if error is None:
            return {}, True
        named = bad_names(parse_log(error.log), names) or dict.fromkeys(error.bad_names, error.message)
        reason = (error.faults or (error.message,))[0].partition("\n")[0]
        return named or dict.fromkeys(names, reason), bool(named)

    def find_refused(self, names: Sequence[str]) -> dict[str, str]:
        """Return the names that are refused, or one compile too many: by halves, where NVRTC does not say which."""
        if not names or self._trials.is_over:
            return {}
        if self._left <= 0:
            return dict.fromkeys(names, _UNTRIED)
        bad, is_sure = self._refusal(names)
        if is_sure or len(names) == 1:
            return bad | self.find_refused([name for name in names if name not in bad] if bad else ())
        middle = len(names) // 2
        return self.find_refused(names[:middle]) | self.find_refused(names[middle:])

    def choose(self, choices: Sequence[Sequence[str]]) -> list[str]:
        """Return of each list the first name that NVRTC takes, as far as that was tried."""
        found: list[str] = []
        bad, is_sure = self._refusal([name for each in choices for name in each])
        left = [[name for name in each if not is_sure or name not in bad] for each in choices]
        while left := [*filter(None, left)]:
            refused = self.find_refused([each[0] for each in left])
            if self._left <= 0 or self._trials.is_over:
                break
            found += (each[0] for each in left if each[0] not in refused)
            left = [each[1:] for each in left if each[0] in refused]
        return found


def may_lack(declarations: Iterable[Declaration]) -> bool:
    """Return whether device code or device variables are declared that nothing defines, or device code launches."""
    declared, defined = set[tuple[str, ...]](), set[tuple[str, ...]]()
    for one in (one for one in declarations if one.kind in {"function", "variable"}):
        name = (*one.scope[-1:], *one.qualifier[-1:], one.name)
        is_marked = not one.words.isdisjoint(MARKS)
        if is_marked and launches(one.body_texts):
            return True
        if one.body is None if one.kind == "function" else "extern" in one.words:
            declared.update([name] if is_marked else ())
        else:
            defined.add(name)
    return bool(declared - defined)


def _has_definition(text: str, symbol: str) -> bool:
    """Return whether a text has a definition with a symbol's name, or cannot be read and has the name."""
    words = lex(demangled(symbol).partition("(")[0].partition("<")[0].rpartition("::")[2])
    if not words or words[0] not in text:
        return False
    try:
        found = [*read_alone(SourceFile("", text))]
    except TextError:
        return True
    own = (one for one in found if "".join(words) in one.names)
    return any(one.body is not None or (one.kind == "variable" and "extern" not in one.words) for one in own)
