"""What ``check`` says of a plan: what a build does beyond the obvious, and what it would fail for."""

from __future__ import annotations

import itertools
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.arch import ptx_isa_of_driver
from hatch_cuda_kernels.compiler import FINISHER_NAMES
from hatch_cuda_kernels.compiler.binary import Diagnostic
from hatch_cuda_kernels.errors import Problem
from hatch_cuda_kernels.image import Symbol
from hatch_cuda_kernels.names import VIRTUAL_ROOT, listed_module
from hatch_cuda_kernels.store import Coverage, ImageRecord, Supports, broken_supports
from hatch_cuda_kernels.terminal import count_text

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.execution_space import SourceChange, SourceSet
    from hatch_cuda_kernels.includes import Closure
    from hatch_cuda_kernels.plan.plan import PlannedModule

#: The folder of what standard headers share, whose names nobody writes.
_SHARED: Final = "hatch_cuda_kernels/"
#: Macros that depend on the architecture: the compiler's, and those of <nv/target>.
_ARCH: Final = re.compile(r"__CUDA_ARCH_\w+|NV_(?:PROVIDES|IS_EXACTLY|HAS_FEATURE)_SM_\w+")
#: Names that mean something else than with nvcc, and how they differ.
_UNLIKE: Final = {
    "__FILE__": "__FILE__ is a path in memory, which no file has",
    "va_list": "va_list has 8 bytes, and not 24",
}
#: The header that comes where a project declares its own.
_LONG_LONG: Final = (
    f"{_SHARED}long_long.h",
    "int64_t is long long, and not long, as a file of the project declares it for NVRTC",
)
#: What finishing jobs start from.
_STARTS: Final = {"ltoir": "LTO-IR", "object": "objects", "ptx": "PTX"}


def describe_plan(plan: Sequence[PlannedModule]) -> list[str]:
    """Return the sentences about a plan's modules, each once; one for a whole family if it is true of all of it."""
    told: dict[tuple[str, str], dict[str, str]] = {}
    families: dict[str, set[str]] = defaultdict(set)
    for planned in plan:
        name = listed_module(planned.module.name)
        entry = planned.module.entry if planned.module.family else name
        families[entry].add(name)
        packages = ", ".join(map(str, planned.packages))
        notes = [_link_note(planned), _front_end_note(planned), _standard_header_note(planned)]
        notes.append(f"module {name!r}: headers of {packages}" if packages else "")
        notes += [planned.module.recipe.cut_sentence(planned.sources), _nvcc_difference_note(planned)]
        for note in filter(None, notes):
            told.setdefault((entry, note.replace(repr(name), repr(entry), 1)), {})[name] = note
    grouped = (
        [note] if len(by_module) == len(families[entry]) else by_module.values()
        for (entry, note), by_module in told.items()
    )
    return list(dict.fromkeys(itertools.chain.from_iterable(grouped)))


def _nvcc_difference_note(planned: PlannedModule) -> str:
    words = {word for text in planned.sources.project_texts.values() for word in _unlike_words(text)}
    found = [_UNLIKE[word] for word in sorted(words)] + [_LONG_LONG[1]] * (_LONG_LONG[0] in planned.sources.named)
    return f"module {listed_module(planned.module.name)!r}: unlike with nvcc, {'; '.join(found)}" if found else ""


@lru_cache(maxsize=4096)
def _unlike_words(text: str) -> frozenset[str]:
    """Return the words of a text that mean something else to nvcc; modules share most headers."""
    from hatch_cuda_kernels.cpp import SourceFile

    file = SourceFile("", text if any(word in text for word in _UNLIKE) else "")
    tokens = {token for run in range(len(file.directives) + 1) for token in file.tokens(run)}
    return frozenset(_UNLIKE.keys() & tokens)


def _standard_header_note(planned: PlannedModule) -> str:
    sources = planned.sources
    others = len([name for name in sources.standard if not name.startswith(_SHARED)]) - len(sources.named)
    included = f"{count_text(others, 'header')} that these or toolkit headers may include" if others else ""
    found = "; ".join(filter(None, [", ".join(sources.named), included]))
    return f"module {listed_module(planned.module.name)!r}: standard headers of this package: {found}" if found else ""


def _link_note(planned: PlannedModule) -> str:
    recipe = planned.module.recipe
    if not recipe.is_linked:
        return ""
    starts = dict.fromkeys(_STARTS[job.input_kind] for job in planned.finishing)
    made = f"{', '.join(recipe.sources)} compiled to {' and '.join(starts)}"
    return f"module {recipe.module!r}: {', '.join([made, *recipe.libraries])}, linked by nvJitLink"


def _front_end_note(planned: PlannedModule) -> str:
    if not planned.shares_front_end:
        return ""
    first = planned.finishing[0]
    shared = first.fronts[0].arch
    finisher = FINISHER_NAMES[first.finisher]
    start = _STARTS[first.input_kind]
    archs = [job.arch for job in planned.finishing]
    text = (
        f"module {planned.module.name!r}: one front-end run for {shared}, from whose {start} {finisher} finishes "
        f"{', '.join(map(str, archs))}; __CUDA_ARCH__ is {shared.number * 10} in all of these"
    )
    frozen = [arch for arch in archs if arch.suffix and not shared.suffix]
    return f"{text}, and {', '.join(map(str, frozen))} has no architecture-specific features" if frozen else text


def arch_warnings(plan: Sequence[PlannedModule]) -> Iterator[str]:
    """Yield a warning for each module that shares its front end, although its code depends on the architecture."""
    for planned in plan:
        if not planned.shares_front_end:
            continue
        if uses := arch_uses(planned.sources):
            shared = planned.finishing[0].fronts[0].arch
            others = [job.arch for job in planned.finishing if job.arch != shared]
            yield (
                f"module {planned.module.name!r}: {', '.join(uses)}: the code depends on the architecture, which "
                f"front_end: {planned.module.front_end} fixes to {shared} (__CUDA_ARCH__ is {shared.number * 10}) "
                f"{', '.join(map(str, others))}; front_end: per-arch compiles for each"
            )


def arch_uses(sources: SourceSet) -> tuple[str, ...]:
    """Return ``path:line`` of each use of ``__CUDA_ARCH__`` or a macro for features, but not of ``#ifdef``."""
    from hatch_cuda_kernels.cpp import SourceFile

    found = []
    for name, text in sorted(sources.project_texts.items()):
        if not _ARCH.search(text) and "\\" not in text:  # nor can a joined line have one; most texts end here
            continue
        file = SourceFile("", text)
        runs = (zip(file.tokens(run), file.starts(run), strict=True) for run in range(len(file.directives) + 1))
        places = [start for run in runs for token, start in run if _ARCH.fullmatch(token)]
        for directive in file.directives:
            tokens = [*directive.tokens()]
            texts = [token.text for token in tokens]
            if directive.word in {"ifdef", "ifndef"} and texts[:1] == ["__CUDA_ARCH__"]:
                continue
            for at, token in enumerate(tokens):
                is_test = token.text == "__CUDA_ARCH__" and "defined" in texts[max(0, at - 2) : at]
                places += [file.place(token.start)] if _ARCH.fullmatch(token.text) and not is_test else []
        found += [f"{name.removeprefix(VIRTUAL_ROOT)}:{line}" for line in sorted(map(file.line, places))]
    return tuple(dict.fromkeys(found))


def changed_code(plan: Sequence[PlannedModule]) -> list[tuple[str, SourceChange]]:
    """Return what was cut or changed, once for each module, with the module's name."""
    modules = {listed_module(planned.module.name): planned.sources for planned in plan}
    return [(module, found) for module, sources in modules.items() for found in sources.changes]


_SPELLED: Final = re.compile(r'\s*[<"]([^>"\n]+)')


def broken_promises(
    plan: Sequence[PlannedModule], supports: Supports | None, release: tuple[int, int]
) -> list[Problem]:
    """Return the promised devices that no image of a plan, compiled with a toolkit release, would serve."""
    isa = ptx_isa_of_driver(release)
    if supports is None or isa is None:
        return []
    every = (Symbol("", ""),)
    coverages = (
        Coverage(
            planned.module.name,
            planned.module.where,
            every,
            [ImageRecord("", image.kind, image.arch, "", 0, isa) for image in planned.images],
        )
        for planned in plan
    )
    return broken_supports(supports, coverages)


def unread_sources(plan: Sequence[PlannedModule]) -> list[Problem]:
    """Return why it is not known what of some sources is host code, which no build takes, each once."""
    units = (unit for planned in plan for unit in planned.sources.units)
    found = dict.fromkeys(unit.cut.unread.partition(": ") for unit in units if unit.cut.unread)
    fix = "write it in another way, or set 'host_code: keep' if none of the source is for the host"
    return [Problem(message, fix, place) for place, _, message in found]


def missing_headers(plan: Sequence[PlannedModule], toolchain: Toolchain) -> list[Problem]:
    """Return the headers that sources include unconditionally and that cannot be found, each once."""
    units = (unit for planned in plan for unit in planned.sources.units)
    return list(dict.fromkeys(problem for unit in units for problem in _missing_of_unit(unit, toolchain)))


def _missing_of_unit(unit: Closure, toolchain: Toolchain) -> Iterator[Problem]:
    texts = dict(unit.headers)
    folders = toolchain.include_dirs
    paths = {name: [os.path.join(folder, name) for folder in folders] for name in unit.outside}  # noqa: PTH118 - strings
    missing = {name for name, places in paths.items() if not any(map(os.path.isfile, places))}
    waiting, seen = [(unit.program_name, unit.source)] if missing else [], {unit.program_name}
    while waiting:
        file, text = waiting.pop()
        for name in _unconditional_includes(text):
            if name in missing:
                yield _problem(file.removeprefix(VIRTUAL_ROOT), text, name, toolchain)
            elif name in texts and name not in seen:
                seen.add(name)
                waiting.append((name, texts[name]))


def _problem(file: str, text: str, name: str, toolchain: Toolchain) -> Problem:
    from hatch_cuda_kernels.compiler import header_advice  # reads C++

    place = re.search(rf"#[ \t]*include[ \t]*([<\"]){re.escape(name)}[>\"]", text)
    start = place.start(1) if place else 0
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    message = f'cannot open source file "{name}"'
    advice = header_advice(Diagnostic(file, line, "error", message), computed=(), release=toolchain.release)
    return Problem(message, advice or "", f"{file}:{line}:{column}")


@lru_cache(maxsize=4096)
def _unconditional_includes(text: str) -> tuple[str, ...]:
    """Return the headers that a text includes unconditionally; an include guard does not count as a condition."""
    from hatch_cuda_kernels.cpp import SourceFile

    depth = guard = 0
    found: list[str] = []
    for directive in SourceFile("", text).directives:
        if directive.word == "include" and depth <= guard and (name := _SPELLED.match(directive.operand)):
            found.append(name[1])
        elif directive.word == "endif":
            depth -= 1
        elif directive.word in {"if", "ifdef", "ifndef"}:
            guard = guard or int(not depth and directive.word == "ifndef")
            depth += 1
    return tuple(found)
