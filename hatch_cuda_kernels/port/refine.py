"""Guards what NVRTC complains about beyond nvcc's rule: only what nothing else uses that NVRTC is to see.

Data members, assertions and specialisations of what stays are never guarded, nor is anything that device code names:
those decide what device code means.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.compiler.missing_header import is_for_device
from hatch_cuda_kernels.compiler.output.log import Diagnostic, parse_log
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.host_code.drop import TextChange, find_changes
from hatch_cuda_kernels.host_code.stated import stated_name
from hatch_cuda_kernels.options import HostCode
from hatch_cuda_kernels.pool.apart import compile_apart
from hatch_cuda_kernels.port.uses import Uses
from hatch_cuda_kernels.source.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem
    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.port.sources import Sources

__all__ = ["as_they_are", "errors_of", "in_options", "refined"]

_MOST_ROUNDS: Final = 30
_BROUGHT: Final = "hatch_brought.h"
_UNMARKED: Final = re.compile(r"without (?:execution|memory) space annotations|inferred to be __host__")
_BY_DEFAULT: Final = (
    "the draft has default_device: true, because NVRTC refuses functions without a mark that cannot be guarded; nvcc "
    "lets no device code call these"
)
_NO_GUARDS: Final = (
    "nothing is changed: NVRTC takes the sources as they are with the draft's host_code: drop, but not with guards for "
    "the same, or not together with the sources that define what they use"
)
_ANGLED: Final = re.compile(r"<([^<>]+)>")


def refined(sources: Sources, arch: SmArch) -> Sources:
    """Return sources with guards around what NVRTC complains about, where that is safe. Raises ToolchainError.

    Where it goes on to refuse what has no mark, in macros or lambdas, and takes all of it as device code, they are to
    be compiled so.
    """
    left = _refine(sources, arch)
    if sources.options.default_device or not any(_UNMARKED.search(error.message) for error in left):
        return sources
    other = sources.with_options(default_device=True)
    if _refine(other, arch):
        return sources
    other.notes.append(_BY_DEFAULT)
    return other


def as_they_are(sources: Sources, arch: SmArch) -> Sources | None:
    """Return sources without any guard where NVRTC takes them so, and not with those of nvcc's rule; else None.

    They are to be compiled with ``host_code: drop``. Raises ToolchainError.
    """
    if not errors_of(sources, sources.shown(), arch, kinds=()):
        return None
    bare = _unguarded(sources)
    if errors_of(bare, {}, arch, kinds=()):
        return None
    bare.notes.append(_NO_GUARDS)
    return bare


def without_guards(sources: Sources) -> Iterator[Sources]:
    """Yield sources without any guard, to be compiled with options that leave out host code, in each way there is.

    For sources that NVRTC does not take with their guards, or not without others of the project, which have none.
    """
    for bare in (_unguarded(sources), _unguarded(sources, default_device=True), in_options(sources)):
        bare.notes.append(_NO_GUARDS)
        yield bare


def _unguarded(sources: Sources, **options: Any) -> Sources:
    bare = sources.with_options(host_code=HostCode.DROP, **options)
    return replace(bare, texts=sources.originals, changes={path: [] for path in sources.changes}, guards=[])


def in_options(sources: Sources) -> Sources:
    """Return sources without any guard, to be compiled with options that leave out what the guards are around."""
    by_rule = {path: find_changes(outline, sources.facts) for path, outline in sources.outlines.items()}
    names: dict[str, None] = {}
    for path, outline in sources.outlines.items():
        own = [change for change in sources.changes[path] if change.action == "drop" and change not in by_rule[path]]
        names |= dict.fromkeys(name for change in own for name in _names_in(outline, change))
    bare = sources.with_options(host_code=HostCode.DROP, host_only=tuple(sorted(names)))
    return replace(bare, texts=sources.originals, changes={path: [] for path in sources.changes})


def _names_in(outline: Outline, change: TextChange) -> Iterator[str]:
    """Yield what options call the declarations that begin where a change does, or the header that it includes."""
    if change.kind == "include":
        yield f"<{change.name}>"
    for item in outline.items if change.kind != "include" else ():
        if change.start <= outline.source.place(item.start) and outline.source.place(item.end - 1) < change.end:
            name = stated_name(item, outline.source.text)
            if name is not None and not _is_inside(item, outline, change):
                yield name


def _is_inside(item: OutlineItem, outline: Outline, change: TextChange) -> bool:
    """Return whether a declaration is part of another one that goes."""
    others = (one for one in outline.items if one is not item and one.start <= item.start and item.end <= one.end)
    place = outline.source.place
    return any(
        one.declaration.kind == "type" and change.start <= place(one.start) and place(one.end - 1) < change.end
        for one in others
    )


def _refine(sources: Sources, arch: SmArch) -> list[Diagnostic]:
    """Compile, guard what errors name and can be guarded, and again; return the errors of which nothing more can be."""
    errors: list[Diagnostic] = []
    for _ in range(_MOST_ROUNDS):
        count = len(sources.guards)
        errors = errors_of(sources, sources.shown(), arch, kinds=())
        uses = Uses(sources)
        for error in dict.fromkeys(errors):
            if error.line and error.file in sources.outlines:
                found = _candidates(sources, uses, error)
                for path, change in found:
                    if change not in sources.changes[path]:
                        follows = "" if change is found[0][1] else f"names {found[0][1].name}; "
                        sources.add(path, change, f"{follows}NVRTC: {error.message}")
        if len(sources.guards) == count:
            break
    return errors


def errors_of(
    sources: Sources, texts: Mapping[str, str], arch: SmArch, *, kinds: tuple[Kind, ...] = ("ptx",)
) -> list[Diagnostic]:
    """Return NVRTC's errors in files, with what guarded headers brought included. Raises ToolchainError.

    Without ``kinds`` of images to make, it is only its front end's errors, which most are, and all that have a line.
    Where NVRTC says nothing, as in a crash, the one for the source stands at no line.
    """
    includes = sources.brought()
    project = Project(sources.root, {**texts, _BROUGHT: includes}, readings=sources.project.readings)
    forced = (_BROUGHT,) if includes else ()
    found: list[Diagnostic] = []
    for each in sources.recipes:
        recipe = replace(each, options=each.options.override(pre_include=(*each.options.pre_include, *forced)))
        (unit,) = recipe.units(read_recipe(recipe, sources.root, project=project))
        try:
            compile_apart(recipe.compile_job(unit, arch, kinds, assembled=False))
        except CompileError as error:
            told = [one for one in parse_log(error.log) if one.severity.endswith("error")]
            found += told or [Diagnostic(each.sources[0], 0, "error", error.message)]
    return found


def _candidates(sources: Sources, uses: Uses, error: Diagnostic) -> list[tuple[str, TextChange]]:
    """Return what to guard because of an error, with the files; nothing where what the error is in must stay."""
    outline = sources.outlines[error.file]
    first, last = _line(outline, error.line)
    for line in outline.directives:
        header = _ANGLED.match(line.operand) if line.word == "include" and first <= line.start < last else None
        if header is not None and "open source file" in error.message and not is_for_device(header[1]):
            return [(error.file, _dropped(outline, "include", header[1], line.start, line.end))]
    around = [item for item in outline.items if item.start < last and item.end > first]
    for item in sorted(around, key=lambda item: item.end - item.start):
        together = uses.together(error.file, item)
        if together is not None:
            return [(path, _change(sources.outlines[path], one, names)) for (path, one), names in together.items()]
    return []


def _line(outline: Outline, line: int) -> tuple[int, int]:
    """Return where a line of the original begins and ends in the joined text."""
    starts = [0, *(newline.end() for newline in re.finditer("\n", outline.source.original))]
    first, last = (starts[at] if at < len(starts) else len(outline.source.original) for at in (line - 1, line))
    return outline.source.position(first), outline.source.position(last)


def _change(outline: Outline, item: OutlineItem, names: tuple[str, ...]) -> TextChange:
    kind = "using" if item.declaration.kind == "other" else item.declaration.kind
    text = " ".join(outline.source.text[item.start : item.end - 1].split())
    name = item.declaration.name if kind == "type" else ", ".join(names) or text.removeprefix("using ")
    return _dropped(outline, kind, name, item.start, item.end)


def _dropped(outline: Outline, kind: str, name: str, start: int, end: int) -> TextChange:
    return TextChange("drop", kind, name, outline.source.place(start), outline.source.place(end - 1) + 1)
