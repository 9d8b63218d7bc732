"""A source as nvcc's device pass sees it: conditions as they hold there, the host's headers, bodies and values cut."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from hatch_cuda_kernels.cpp.conditions import evaluate
from hatch_cuda_kernels.cpp.edits import Edit, Edited
from hatch_cuda_kernels.cpp.lexer import SourceFile, UnbalancedError
from hatch_cuda_kernels.cpp.macros import MacroTable, parse_define
from hatch_cuda_kernels.cpp.parser import parse
from hatch_cuda_kernels.cpp.stream import TextError
from hatch_cuda_kernels.cpp.unit import InclusionError, Unit
from hatch_cuda_kernels.execution_space.cut import Cut, cut, place_of
from hatch_cuda_kernels.execution_space.device_source import Change, ClosureCut, DeviceSource
from hatch_cuda_kernels.execution_space.kernels import Declared
from hatch_cuda_kernels.execution_space.marks import is_foreign_mark
from hatch_cuda_kernels.includes import find_clocks
from hatch_cuda_kernels.libraries import (
    NVRTC_ONLY,
    is_host_header,
    is_toolkit_macro,
    may_be_defined,
    nvcc_macros,
    shared_macros,
)
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.cpp.lexer import Directive
    from hatch_cuda_kernels.cpp.macros import Macro
    from hatch_cuda_kernels.cpp.parser import Reading
    from hatch_cuda_kernels.execution_space.cut import Level, Place
    from hatch_cuda_kernels.execution_space.device_source import ChangeKind
    from hatch_cuda_kernels.includes import Closure, Readings
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["DevicePass", "as_device_pass", "cut_closure", "read_device_pass"]

_LAMBDA_MARKS: Final = frozenset({"__device__", "__host__"})


@dataclass
class DevicePass:
    """What is changed in the texts of a source, and what they declare."""

    files: dict[str, SourceFile]
    unit: Unit
    readings: list[Reading]
    found: Cut

    def changes(self) -> tuple[Change, ...]:
        """Return what was changed, by place."""
        return tuple(
            sorted(
                {
                    Change(
                        name.removeprefix(VIRTUAL_ROOT),
                        self.files[name].line(edit.start),
                        cast("ChangeKind", edit.reason),
                        edit.name,
                    )
                    for name, edits in self.found.edits.items()
                    for edit in edits
                }
            )
        )

    def edited(self, name: str) -> Edited | None:
        """Return a text with its edits applied; None for one that is not the source's."""
        return Edited(self.files[name], self.found.edits.get(name, ())) if name in self.files else None


def as_device_pass(
    closure: Closure, options: NvrtcOptions, levels: Mapping[Place, Level], readings: Readings
) -> tuple[DeviceSource, DevicePass | None]:
    """Return a closure as nvcc's device pass sees it, and how; under ``host_code: keep`` as it is.

    What cannot be read as C++ stays as it is, for NVRTC to say what is wrong with it; nothing comes with it then.
    """
    cuts = options.may_drop
    texts = {closure.program_name: closure.source, **dict(closure.headers)}
    start = (*(name for name in closure.pre_include if name in texts), closure.program_name)
    try:
        passed = read_device_pass(texts, start, options.define, options.std, levels, options.host_only)
    except (TextError, UnbalancedError, InclusionError) as error:
        return DeviceSource.of(closure, ClosureCut(unread=str(error).replace(VIRTUAL_ROOT, "") if cuts else "")), None
    except RecursionError:
        path = closure.program_name.removeprefix(VIRTUAL_ROOT)
        message = f"{path}: brackets are nested deeper than can be read"
        return DeviceSource.of(closure, ClosureCut(unread=message if cuts else "")), None
    declared = Declared.from_declarations(one for reading in passed.readings for one in reading)
    if not cuts:
        return DeviceSource.of(closure, ClosureCut(declared=declared)), None
    found = passed.found
    edits = ((name, edit) for name, edits in sorted(found.edits.items()) for edit in sorted(edits))
    made = ClosureCut(
        edits=tuple((name, one.start, one.end, one.text, one.drops_pragmas) for name, one in edits),
        default_device=found.has_unmarked,
        variables=tuple(sorted("::".join((*filter(None, scope), name)) for scope, name in found.variables)),
        loses_constants=found.loses_constants,
        host_headers=tuple(
            sorted({edit.name for edits in found.edits.values() for edit in edits if edit.reason == "include"})
        ),
        declared=declared,
    )
    return replace(cut_closure(closure, made, readings), changes=passed.changes()), passed


def cut_closure(closure: Closure, made: ClosureCut, readings: Readings) -> DeviceSource:
    """Return a closure of which something is cut."""
    texts = {closure.program_name: closure.source, **dict(closure.headers)}
    edits: dict[str, list[Edit]] = defaultdict(list)
    for name, start, end, text, drops_pragmas in made.edits:
        edits[name].append(Edit(start, end, text, drops_pragmas=drops_pragmas))
    texts |= {name: Edited(SourceFile(name, texts[name]), found).text for name, found in edits.items()}
    gone = {*made.host_headers}
    if gone:
        gone -= {_spelled(found) for text in _projects(texts).values() for found in SourceFile("", text).directives}
    return replace(
        DeviceSource.of(closure, made),
        source=texts[closure.program_name],
        headers=tuple((name, texts[name]) for name, _ in closure.headers),
        outside=tuple(name for name in closure.outside if name not in gone),
        clocks=tuple(find_clocks(_projects(texts), readings)) if closure.clocks else (),
    )


def _projects(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if name.startswith(VIRTUAL_ROOT)}


def read_device_pass(
    texts: Mapping[str, str],
    start: Sequence[str],
    define: Sequence[tuple[str, str | None]],
    std: str,
    levels: Mapping[Place, Level],
    host_only: Collection[str] = (),
) -> DevicePass:
    """Return what is changed in some texts, of which ``start`` are read one after another, and all they include.

    Only the project's texts change. Raises TextError, UnbalancedError or InclusionError for what cannot be read.
    """
    files = {name: SourceFile(name, text) for name, text in texts.items()}
    options = {one.name: (one,) for name, value in define if (one := parse_define(name, value)) is not None}
    predefined = {**nvcc_macros(), **shared_macros(std), **options}
    macros = MacroTable(predefined, lambda name: may_be_defined(name) or _is_toolkits(name))

    def resolve(_file: SourceFile, directive: Directive, _macros: MacroTable) -> Sequence[str]:
        name = _spelled(directive)
        return [name] if name in files else []

    unit = Unit.read(files, start, resolve, macros)
    readings, parts = parse(unit, lambda name: name.startswith(VIRTUAL_ROOT))
    lambda_marks = macros.standing_for(_LAMBDA_MARKS)
    found = cut(readings, parts, {**levels, **dict(_stated(readings, host_only))}, is_foreign_mark, lambda_marks)
    _change_conditions(unit, found)
    _take_includes(unit, found, host_only)
    defined = {(macro.file, macro.offset) for macro in macros.definitions()}
    for file in files.values():
        if file.name.startswith(VIRTUAL_ROOT):
            _spell_macros(file, found, lambda_marks, defined)
    return DevicePass(files, unit, readings, found)


def _stated(readings: Iterable[Reading], names: Collection[str]) -> Iterator[tuple[Place, Level]]:
    """Yield the declarations that go because the user says that they are the host's, by the end of their full names."""
    for reading in readings if names else ():
        for one in reading:
            scope = (*one.scope, *one.qualifier)
            own = {one.name, *(declarator.name for declarator in one.declarators if one.kind != "class")} - {""}
            full = ("::".join(("", *filter(None, scope), name)) for name in own)
            if any(name.endswith(f"::{stated}") for name in full for stated in names):
                yield place_of(one), "whole"


def _spelled(directive: Directive) -> str:
    """Return the name that an include spells; empty where a macro does."""
    operand = directive.operand.strip()
    return operand[1:].partition('"' if operand[0] == '"' else ">")[0] if operand[:1] in {'"', "<"} else ""


def _is_toolkits(name: str) -> bool:
    return is_toolkit_macro(name) and name not in NVRTC_ONLY and not name.startswith("__GNUC")


def _change_conditions(unit: Unit, found: Cut) -> None:
    """Let conditions hold for NVRTC as they do for nvcc, where they do not."""
    nvcc = nvcc_macros()
    for file, directive, holds, time in unit.conditions:
        if holds is None or not file.name.startswith(VIRTUAL_ROOT):
            continue

        def look_up(name: str, time: int = time) -> tuple[Macro | None, ...]:
            known = unit.macros.at(name, time)
            return (None,) if known == nvcc.get(name) else known

        if evaluate(directive, look_up) != holds:
            text = f"#{'elif' if directive.word.startswith('el') else 'if'} {int(holds)}"
            edit = Edit(directive.start, directive.end, text, "condition", directive.operand.strip())
            if edit not in found.edits[file.name]:
                found.edits[file.name].append(edit)


def _take_includes(unit: Unit, found: Cut, host_only: Collection[str]) -> None:
    """Take out the includes of headers of host libraries, which neither the project nor the toolkit has."""
    for file, directive in unit.unresolved:
        name = _spelled(directive)
        if not name or not file.name.startswith(VIRTUAL_ROOT):
            continue
        is_system = directive.operand.lstrip().startswith("<")
        if f"<{name}>" in host_only or is_host_header(name, is_system=is_system):
            edit = Edit(directive.start, directive.end, "", "include", name)
            if edit not in found.edits[file.name]:
                found.edits[file.name].append(edit)


def _spell_macros(
    file: SourceFile, found: Cut, lambda_marks: Collection[str], defined: Collection[tuple[str, int]]
) -> None:
    """Change what macros stand for that are ``defined``: a pragma becomes the operator, a lambda's mark goes."""
    for directive in file.directives:
        if directive.word != "define" or (file.name, directive.start) not in defined:
            continue
        tokens = directive.tokens()
        texts = [token.text for token in tokens]
        if texts[1:3] == ["#", "pragma"] and texts[3:4] in (["unroll"], ["nounroll"]):
            text = f'#define {texts[0]} _Pragma("{" ".join(texts[3:])}")'
            found.edits[file.name].append(Edit(directive.start, directive.end, text, "pragma", texts[0]))
        for at, token in enumerate(tokens):
            first = at
            while first and texts[first] in lambda_marks:
                first -= 1
            if first < at and texts[first] == "]":
                start = file.place(token.start)
                end = file.place_behind(start, token.text)
                found.edits[file.name].append(Edit(start, end, "", "mark", texts[0]))
