"""A source as nvcc's device pass sees it: conditions as they hold there, the host's headers, bodies and values cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels import cpp, libraries
from hatch_cuda_kernels.execution_space.cut import Cut, Cutter, Level, Levels, Place, place_of
from hatch_cuda_kernels.execution_space.device_source import ClosureCut, DeviceSource, SourceChange, cut_closure
from hatch_cuda_kernels.execution_space.kernels import Declared
from hatch_cuda_kernels.execution_space.marks import is_marked
from hatch_cuda_kernels.names import VIRTUAL_ROOT, is_projects
from hatch_cuda_kernels.options import NvrtcOptions, cuts_host_code

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.binary import Diagnostic
    from hatch_cuda_kernels.cpp import Condition, Directive, Macro, Reading, SourceFile, TranslationUnit
    from hatch_cuda_kernels.includes import Closure

_LAMBDA_MARKS: Final = frozenset({"__device__", "__host__"})
_SEVERAL_WAYS: Final = "this condition depends on the compiler in several ways"


@dataclass
class DevicePass:
    """What is changed in the texts of a source, and what they declare."""

    files: Mapping[str, SourceFile]
    unit: TranslationUnit
    readings: list[Reading]
    parts: frozenset[str]
    """Files that stand inside declarations of others."""
    nvcc: Mapping[str, cpp.State]
    """The macros of nvcc that NVRTC does not have."""
    found: Cut
    renames: Mapping[str, Sequence[cpp.Edit]]
    """What gives headers their names in memory."""

    def place(self, error: Diagnostic) -> tuple[SourceFile | None, int]:
        """Return the file and the offset that an error marks, by its excerpt; None for another file, or no mark."""
        name = f"{VIRTUAL_ROOT}{error.file}"
        if name not in self.files or not error.column:
            return None, 0
        edited = cpp.Edited(self.files[name], (*self.renames.get(name, ()), *self.found.edits.get(name, ())))
        line = "".join(edited.text.split("\n")[error.line - 1 : error.line])
        shown = error.excerpt[0]
        start = line.find(shown.strip())
        column = start + error.column - 1 - (len(shown) - len(shown.lstrip()))
        return (None, 0) if start < 0 else (edited.file, edited.original(error.line, column))

    def use(self, name: str) -> str:
        """Return the place where code of the device first has a name, as ``path:line``; empty without one."""
        word = name.rpartition("::")[2]
        functions = (one for reading in self.readings for one in reading if one.kind == "function" and is_marked(one))
        used = ((one.stream, token.at) for one in functions for token in one.inside() if token.text == word)
        for stream, at in used:
            file, start, _ = stream.place(at)
            return file.at(start).removeprefix(VIRTUAL_ROOT)
        return ""


def as_device_pass(
    closure: Closure,
    options: NvrtcOptions,
    levels: Levels,
    before: DevicePass | None = None,
    *,
    always_finds: bool = False,
) -> tuple[DeviceSource, DevicePass | None]:
    """Return a closure as nvcc's device pass sees it, and how; under ``host_code: keep`` as it is.

    ``before`` is how the same closure was cut with other levels: its declarations are not read again. What cannot be
    read as C++ stays as it is, for NVRTC to say what is wrong with it; nothing comes with it then. With
    ``always_finds``, it is said what would be cut of what stays as it is.
    """
    cuts = cuts_host_code(options)
    try:
        passed = _read_device_pass(closure, options, before)
        if cuts or always_finds:
            passed.found = _cut(passed, levels, options.host_only)
    except (cpp.TextError, cpp.InclusionError, RecursionError) as error:
        is_deep = isinstance(error, RecursionError)
        said = f"{closure.program_name}: brackets are nested deeper than can be read" if is_deep else str(error)
        return DeviceSource.of(closure, ClosureCut(unread=said.replace(VIRTUAL_ROOT, "") if cuts else "")), None
    declared = Declared.together(reading.remembered(Declared.from_declarations) for reading in passed.readings)
    if not cuts:
        return DeviceSource.of(closure, ClosureCut(declared=declared)), passed
    found = passed.found
    edits = [(name, edit) for name, edits in sorted(found.edits.items()) for edit in sorted(edits)]
    headers = (edit.name for _, edit in edits if edit.reason == "include")
    made = ClosureCut(
        edits=tuple((name, one.start, one.end, one.text, one.drops_pragmas) for name, one in edits),
        default_device=found.has_unmarked,
        variables=tuple(sorted("::".join((*filter(None, scope), name)) for scope, name in found.variables)),
        loses_constants=found.loses_constants,
        host_headers=tuple(sorted({*headers})),
        declared=declared,
    )
    changes = {
        SourceChange(name.removeprefix(VIRTUAL_ROOT), passed.files[name].line(one.start), one.reason, one.name)
        for name, one in edits
    }
    return replace(cut_closure(closure, made, options.define), changes=tuple(sorted(changes))), passed


def _read_device_pass(closure: Closure, options: NvrtcOptions, before: DevicePass | None) -> DevicePass:
    """Return what a project's texts declare; what was read ``before`` is not read again. Raises as ``parse``."""
    origin = closure.origin
    assert origin is not None  # noqa: S101 - of all that was just read
    files = origin.files
    texts = {name: file.text for name, file in files.items()}
    if before is not None and texts == {name: file.text for name, file in before.files.items()}:
        return replace(before, found=Cut(), renames=origin.edits)
    # No header of the toolkit has the guards of these files, and what only begins with an underscore in a project's.
    defined = frozenset().union(*(file.defined for name, file in files.items() if is_projects(name)))
    own = {file.guard for file in files.values()} | {name for name in defined if not libraries.has_toolkit_prefix(name)}
    words = frozenset().union(*(file.directive_words for name, file in files.items() if is_projects(name)))
    behind = libraries.macros_behind_headers(options.std, words)
    nvcc = {name: state for macros in behind.values() for name, state in macros.items()}
    nvcc |= libraries.nvcc_macros(options.std)
    macros = libraries.macros_of_nvcc(options.std, options.define, closure.standard, own, behind)
    unit = origin.read((*closure.pre_include, closure.program_name), macros, is_projects)
    readings, parts = cpp.parse(unit, is_projects)
    return DevicePass(files, unit, readings, parts, nvcc, Cut(), origin.edits)


def _cut(passed: DevicePass, levels: Mapping[Place, Level], host_only: Collection[str]) -> Cut:
    unit, readings, macros = passed.unit, passed.readings, passed.unit.macros
    lambda_marks = macros.standing_for(_LAMBDA_MARKS)
    levels = {**levels, **dict(_stated(readings, host_only))}
    found = Cutter(readings, passed.parts, levels, lambda_marks).cut()
    _change_conditions(unit, passed.nvcc, found)
    _swallow_includes(found)
    # NVRTC takes no definition of what it has itself; all conditions on it are decided.
    refused = (macro for macro in macros.definitions if macro.name in _nvrtcs())
    changed = [(macro, f"#define {macro.name}", "mark") for macro in found.host_macros]
    for macro, text, reason in (*changed, *((macro, "", "removed") for macro in refused)):
        if is_projects(macro.file):
            directive = passed.files[macro.file].directive_at(macro.offset)
            found.edits[macro.file].append(cpp.Edit(directive.start, directive.end, text, reason, macro.name))
    _take_includes(unit, found, host_only)
    _spell_macros(passed.files, macros, found, lambda_marks)
    return found


def _stated(readings: Iterable[Reading], names: Collection[str]) -> Iterator[tuple[Place, Level]]:
    """Yield the declarations that go because the user says that they are the host's, by the end of their full names."""
    for reading in readings if names else ():
        for one in reading:
            own = {one.name, *(declarator.name for declarator in one.declarators if one.kind != "class")} - {""}
            full = (f"::{one.full_name(name)}" for name in own)
            if any(name.endswith(f"::{stated}") for name in full for stated in names):
                yield place_of(one), "whole"


def _change_conditions(unit: TranslationUnit, nvcc: Mapping[str, cpp.State], found: Cut) -> None:
    """Let conditions hold for NVRTC as they do for nvcc, where they do not."""
    ours = [one for one in unit.conditions if is_projects(one.file.name)]
    if not ours:
        return
    known = [*unit.macros.definitions]
    words = {*nvcc, *cpp.PROBES, *_nvrtcs(), *(one.name for one in known if one.makes_names)}
    telling = cpp.leading_to(words, known)
    times: dict[tuple[str, Directive], list[Condition]] = defaultdict(list)
    for condition in ours:
        if not telling.isdisjoint(condition.directive.texts):
            times[condition.file.name, condition.directive].append(condition)
    for (name, directive), conditions in times.items():
        told = [_AsNvcc(one, nvcc) for one in conditions]
        if not any(one.differs() for one in told):
            continue
        values = {one.holds for one in conditions}
        if None in values or len(values) > 1:
            texts = {one.with_values()[0] for one in told}
        else:
            texts = {str(int(holds)) for holds in values if holds is not None}
        if len(texts) > 1:
            raise cpp.TextError(f"{_SEVERAL_WAYS}, as it is read several times", conditions[0].file, directive.start)
        text = f"#{'elif' if directive.word.startswith('el') else 'if'} {texts.pop()}"
        found.edits[name].append(cpp.Edit(directive.start, directive.end, text, "condition", directive.operand.strip()))


def _nvrtcs() -> frozenset[str]:
    """Return the macros that NVRTC alone has."""
    return libraries.words_in("compilers", "nvrtc", "only")


class _AsNvcc:
    """A condition as nvcc decides it."""

    def __init__(self, condition: Condition, nvcc: Mapping[str, cpp.State]) -> None:
        self._condition: Final = condition
        self._nvcc: Final = nvcc
        self._leads: Final[dict[str, bool]] = {}

    def differs(self) -> bool:
        """Return whether it may hold for one of nvcc and NVRTC only. Raises TextError."""
        if self._condition.holds is None:
            return self.with_values()[1]
        return cpp.evaluate(self._condition.directive, self._nvrtcs_state) != self._condition.holds

    def with_values(self) -> tuple[str, bool]:
        """Return it with the values that only nvcc has, and whether there are some. Raises TextError.

        Macros are expanded that lead to such a value.
        """
        word = self._condition.directive.word
        tokens = [cpp.MacroToken(token.text, token.is_spaced) for token in self._condition.directive.tokens()]
        if word.endswith("def"):
            tokens = [*map(cpp.MacroToken, ("!", "defined") if word.endswith("ndef") else ("defined",)), *tokens[:1]]
        expanded, special = self._expand(tokens, self._leads_to)
        if self._expand(tokens, lambda _: True)[1] - special:  # ## makes others
            raise self._error(_SEVERAL_WAYS)
        texts, found, at = [token.text for token in expanded], list[cpp.MacroToken](), 0
        is_changed = bool(special)
        while at < len(texts):
            first, name = at, texts[at]
            at += 1
            if name == "defined" or name in cpp.PROBES:
                count = cpp.length_of_call(map(texts.__getitem__, range(at, len(texts))))
                if not count:
                    raise self._error(f"{name} without an operand")
                at += count
            is_gone = name in expanded[first].hidden  # a macro in its own text, which NVRTC would take for a use
            value = "0" if is_gone else self._value(texts[first:at])
            is_changed |= value is not None
            spelled = value or (" " if at - first == 2 else "").join(texts[first:at])
            found.append(cpp.MacroToken(spelled, expanded[first].is_spaced))
        return " ".join(cpp.texts_of(found)), is_changed

    def _expand(
        self, tokens: Sequence[cpp.MacroToken], is_expanded: Callable[[str], bool]
    ) -> tuple[list[cpp.MacroToken], set[str]]:
        """Return what tokens become if some macros are expanded, and the names met that only one of the two defines."""
        met = set[str]()

        def look_up(name: str) -> Macro | None:
            known = self._state(name)
            met.update([name] if self._is_special(name, known) else ())
            is_sure = len(known) == 1 and known[0] is not None and known[0].body != (cpp.UNKNOWN_VALUE,)
            return known[0] if is_sure and is_expanded(name) else None

        try:
            return cpp.Expander(look_up, kept=cpp.KEPT).expand(tokens), met
        except cpp.ExpansionError as error:
            raise self._error(str(error)) from error

    def _error(self, message: str) -> cpp.TextError:
        return cpp.TextError(message, self._condition.file, self._condition.directive.start)

    def _state(self, name: str) -> cpp.State:
        return self._condition.macros.at(name, self._condition.time)

    def _nvrtcs_state(self, name: str) -> cpp.State:
        known = self._state(name)
        if libraries.answers_probe(name) or name in _nvrtcs():
            return ()
        if known == self._nvcc.get(name):
            return () if "(" in name else (None,)
        return known

    def _is_special(self, name: str, known: cpp.State) -> bool:
        """Return whether one of nvcc and NVRTC alone has a macro."""
        return name in _nvrtcs() or any(one is not None and one in self._nvcc.get(name, ()) for one in known)

    def _leads_to(self, name: str) -> bool:
        """Return whether a name leads to what the two have otherwise."""
        if name not in self._leads:
            reached = self._condition.macros.reached([name], self._condition.time)
            known = [one for state in reached.values() for one in state if one is not None]
            words = {name}.union(*(one.words for one in known))
            is_special = any(self._is_special(one, reached.get(one, ())) for one in words)
            self._leads[name] = is_special or not words.isdisjoint(cpp.PROBES)
        return self._leads[name]

    def _value(self, texts: Sequence[str]) -> str | None:
        """Return the value that a word has for nvcc, with its operand if it takes one; None if NVRTC has the same."""
        name, *operand = texts
        known = self._state(name)
        if name in cpp.PROBES:
            asked = "".join(texts)
            if name not in cpp.KEPT and any(any(self._state(one)) for one in operand):
                raise self._error(_SEVERAL_WAYS)
            if asked not in self._nvcc and not libraries.answers_probe(asked):
                return None
            [answer] = self._nvcc.get(asked, (None,))
            return "".join(cpp.texts_of(answer.body)) if answer else "0"
        if name == "defined" and operand:
            name = operand[len(operand) // 2]
            known = self._state(name)
            states = {one is not None for one in known}
            if not self._is_special(name, known):
                return None
            if len(states) == 1:
                return str(int(states.pop()))
        elif known == (None,) and name in _nvrtcs():
            return "0"
        elif not self._leads_to(name):
            return None
        raise self._error(_SEVERAL_WAYS)


def _swallow_includes(found: Cut) -> None:
    """Take out includes inside what is cut, but for what they do to macros, as far as one line can say that."""
    texts: dict[tuple[str, int, int], set[str | None]] = defaultdict(set)
    for one in found.swallowed:
        directive = one.file.directives[one.directive]
        changed = one.visit.macros.changed
        text = None if len(changed) > 1 else "".join(_directive_for(name, now) for name, now in changed.items())
        texts[one.file.name, directive.start, directive.end].add(text)
    for (name, start, end), ways in texts.items():
        text = ways.pop()
        if not ways and text is not None:
            found.edits[name].append(cpp.Edit(start, end, text, "include"))


def _directive_for(name: str, now: tuple[Macro | None, ...]) -> str:
    """Return the directive that makes a macro mean what it does now."""
    macro = now[0] if len(now) == 1 else None
    if macro is None:
        return f"#undef {name}"
    parameters = "" if macro.parameters is None else "(" + ", ".join(macro.parameters) + ")"
    return f"#define {name}{parameters} " + " ".join(cpp.texts_of(macro.body))


def _take_includes(unit: TranslationUnit, found: Cut, host_only: Collection[str]) -> None:
    """Take out the includes of headers of host libraries, which neither the project nor the toolkit has."""
    others = {directive.header for _, directive in unit.unresolved}
    for file, directive in unit.unresolved:
        name = directive.header
        if not name or not is_projects(file.name):
            continue
        is_system = directive.operand.lstrip().startswith("<")
        if f"<{name}>" in host_only or libraries.is_host_header(name, is_system=is_system):
            brought = libraries.entry("cuda", "brought").items()
            headers = (one for begin, known in brought if name.startswith(begin) for one in known)
            text = next((f"#include <{one}>" for one in headers if one in others), "")
            edit = cpp.Edit(directive.start, directive.end, text, "include", name)
            if edit not in found.edits[file.name]:
                found.edits[file.name].append(edit)


def _spell_macros(
    files: Mapping[str, SourceFile], macros: cpp.MacroTable, found: Cut, lambda_marks: Collection[str]
) -> None:
    """Change what macros of the project stand for: a pragma becomes the operator, a lambda's mark goes."""
    telling = {"pragma", *lambda_marks}
    ours = (macro for macro in macros.definitions if is_projects(macro.file))
    for name, offset in dict.fromkeys((one.file, one.offset) for one in ours if not telling.isdisjoint(one.words)):
        file = files[name]
        directive = file.directive_at(offset)
        tokens = directive.tokens()
        texts = [token.text for token in tokens]
        if texts[1:3] == ["#", "pragma"] and texts[3:4] in (["unroll"], ["nounroll"]):
            text = f'#define {texts[0]} _Pragma("{" ".join(texts[3:])}")'
            found.edits[name].append(cpp.Edit(directive.start, directive.end, text, "pragma", texts[0]))
        has_parameters = texts[1:2] == ["("] and not tokens[1].is_spaced
        body = texts.index(")") + 1 if has_parameters else 1
        for at, token in enumerate(tokens[body:]):
            first = at
            while first and texts[body + first] in lambda_marks:
                first -= 1
            if first < at and cpp.closes_captures(texts[body:], first):
                start = file.place(token.start)
                end = file.place_behind(start, token.text)
                found.edits[name].append(cpp.Edit(start, end, "", "mark", texts[0]))
