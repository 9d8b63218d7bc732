"""What a project's Python files compile at run time, with CuPy or PyCUDA, as entries of a manifest."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from contextlib import suppress
from itertools import chain, combinations, count, product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.scaffold.python_text import (
    OPEN,
    UNKNOWN,
    Choices,
    Found,
    PythonFiles,
    PythonScope,
    Text,
    merge,
    name_of,
    passed_on,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


#: What compiles a text, its first argument, or the one of this name.
_COMPILERS: Final = {"RawModule": "code", "RawKernel": "code", "SourceModule": "source"}
#: Of these, CuPy's: functions without a mark are device code to it.
_OF_CUPY: Final = frozenset({"RawModule", "RawKernel"})
_READ: Final = frozenset({"open", "read_text", "read_bytes"})
_MACRO: Final = re.compile(r"#\s*define[ \t]+([A-Za-z_]\w*(?:\([^()]*\))?)[ \t]*([^\0\n]*?\0?[^\0\n]*?)\s*(?://.*)?")
#: Functions that the one with the compile calls, inside each other.
_DEEPEST: Final = 2
_MOST: Final = 4096
#: Expressions that are resolved for one compile; the loaders of five packages took 500 at most.
_MOST_STEPS: Final = 20_000


class StatedMacro(NamedTuple):
    """A macro with one of its values; None defines the bare name."""

    name: str
    value: str | None
    unresolved: str = ""
    """The expression whose value is unknown, with its place."""
    others: str = ""
    """The same of one that may have other values."""

    @property
    def is_axis(self) -> bool:
        """Whether a placeholder can stand for its values."""
        return self.value is not None and self.name.isidentifier()


class PythonCompile(NamedTuple):
    """A compile that a project asks for."""

    source: str
    chosen: tuple[StatedMacro, ...]
    """The macros that a call chooses, or that have several values."""
    fixed: tuple[StatedMacro, ...]
    flags: tuple[str, ...]
    names: tuple[str, ...]
    """Name expressions."""
    is_cupy: bool


class Loaders(NamedTuple):
    """All that Python files compile: sources, and, as places, kernels that are text in Python."""

    requests: list[PythonCompile]
    texts: list[str]


def read_loaders(root: Path, paths: Iterable[str], sources: Sequence[str]) -> Loaders:
    """Return what Python files compile of some sources. A file that cannot be read has nothing to say."""
    found, texts = Loaders([], []), {}
    for path in paths:
        with suppress(OSError):
            texts[path] = (root / path).read_bytes()
    if any(name.encode() in text for text in texts.values() for name in _COMPILERS):
        project = PythonFiles(texts)
        for call in project.calls_of(_COMPILERS):
            for request in _requests(project, call, sources, found.texts):
                if request not in found.requests:
                    found.requests.append(request)
    return found


def _requests(
    project: PythonFiles, compiled: Found, sources: Sequence[str], texts: list[str]
) -> Iterator[PythonCompile]:
    """Yield what a call compiles: what each call of the function around it asks for."""
    node, function = compiled.node, compiled.scope.node
    assert isinstance(node, ast.Call)  # noqa: S101 - it is one of the calls
    calls = project.calls_of([function.name]) if isinstance(function, ast.FunctionDef) else []
    scopes = [compiled.scope.bind(call.node, call.scope) for call in calls if isinstance(call.node, ast.Call)]
    keywords = {one.arg: one.value for one in node.keywords}
    given = [*node.args[:1], *(keywords[name] for name in (_COMPILERS[name_of(node)],) if name in keywords)]
    for scope in scopes or [compiled.scope]:
        project.steps = _MOST_STEPS
        facts = _Facts(scope)
        files = dict.fromkeys(file for one in facts.paths for file in _files(one.text, sources))
        flags, names = ([*_listed(scope, keywords.get(name))] for name in ("options", "name_expressions"))
        if not files and any("__global__" in one.text for code in given for one in scope.texts_of(code)):
            texts.append(compiled.place)
        for file, (chosen, fixed) in product(files, facts.macros(flags)):
            kept = tuple(flag for flag in flags if not flag.startswith(("-D", "-I")))
            yield PythonCompile(file, chosen, fixed, kept, tuple(names), name_of(node) in _OF_CUPY)


def _files(text: str, sources: Iterable[str]) -> list[str]:
    """Return the source that a path means, by the end that is known of it; none if several have it."""
    end = text.rpartition(UNKNOWN)[2].rpartition("../")[2].lstrip("./")
    fitting = [path for path in sources if "." in end.lstrip(".") and f"/{path}".endswith(f"/{end}")]
    return fitting if len(fitting) == 1 else [path for path in fitting if path == end]


def _listed(scope: PythonScope, node: ast.expr | None, within: tuple[object, ...] = ()) -> Iterator[str]:
    """Yield the texts in a list that are known, with what is added to it elsewhere."""
    if node is None or (scope.place, ast.dump(node)) in within:
        return
    parts: Sequence[Found] = ()
    within = (*within, (scope.place, ast.dump(node)))
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            parts = [Found(one.value, scope) for one in elements if isinstance(one, ast.Starred)]
            known = (text.text for one in elements if not isinstance(one, ast.Starred) for text in scope.texts_of(one))
            yield from (text for text in known if UNKNOWN not in text)
        case ast.BinOp(left=left, right=right):
            parts = [Found(left, scope), Found(right, scope)]
        case ast.Call():
            same = passed_on(node)
            parts = [] if same is None else [Found(same, scope)]
        case _:
            parts = scope.meant(node)
    for one in parts:
        yield from _listed(one.scope, one.node, within)


class _MacroValue(NamedTuple):
    """What a macro may be: a text, None for a bare name; or not defined."""

    text: str | None
    choices: Choices
    unresolved: str = ""
    is_defined: bool = True
    others: str = ""
    """The expression that may be others, and its place."""

    @property
    def is_unknown(self) -> bool:
        return UNKNOWN in (self.text or "")


class _Facts:
    """What a function, with the functions that it calls, says of the text that it compiles: its files and macros."""

    def __init__(self, scope: PythonScope) -> None:
        self.paths: list[Text] = []
        self._chosen: Final[dict[str, dict[_MacroValue, None]]] = defaultdict(dict)
        """Values of the macros that a call passes, or that text is replaced by."""
        self._defined: Final[dict[str, dict[_MacroValue, None]]] = defaultdict(dict)
        """Of those in lines with ``#define``."""
        self._read(scope, ())

    def _read(self, scope: PythonScope, within: tuple[str, ...]) -> None:
        for text in (one._replace(scope=scope) for one in scope.facts.texts):
            if _spells_macro(text):
                self._define(text)
        for iterated, loop in scope.facts.loops:
            shown = ast.unparse(loop)
            if any(mark in shown for mark in (".replace(", "#define", "-D")):
                self._choose(scope, iterated)
        for call in scope.facts.calls:
            self._read_call(scope, call, (*within, scope.place))

    def _read_call(self, scope: PythonScope, call: ast.Call, within: tuple[str, ...]) -> None:
        match call:
            case ast.Call(func=ast.Name(id="open"), args=[path, *_]):
                self.paths += scope.texts_of(path)
            case ast.Call(func=ast.Attribute(attr="read_text" | "read_bytes", value=path)):
                self.paths += scope.texts_of(path)
            case ast.Call(func=ast.Attribute(attr="replace"), args=[ast.Constant(value=str() as name), value]):
                if name.isidentifier():
                    self._note(name, Found(value, scope))
            case _:
                for callee in scope.project.callees(call, scope) if len(within) <= _DEEPEST else ():
                    if callee.place not in within:
                        self._read(callee, within)

    def _define(self, spelled: Found) -> None:
        """Note the macros that a text defines."""
        for text in spelled.scope.texts_of(spelled.node):
            choices = merge(text.choices, spelled.choices)
            for line in text.text.splitlines() if choices is not None else ():
                found = _MACRO.fullmatch(line.strip())
                if found is not None:
                    unresolved = f"the text at {spelled.place}"
                    others = unresolved if OPEN in (choices or ()) else ""
                    value = _MacroValue(found[2] or None, choices or frozenset(), unresolved, others=others)
                    self._defined[found[1]][value] = None

    def _note(self, name: str, value: Found) -> None:
        """Note what a macro may be."""
        unresolved = f"{ast.unparse(value.node)} at {value.place}"
        constants = [one.node.value if isinstance(one.node, ast.Constant) else "" for one in _resolved(value)]
        for text in value.scope.texts_of(value.node):
            choices = merge(text.choices, value.choices)
            if choices is not None:
                value_text = None if constants == [None] else text.text
                others = unresolved if OPEN in choices else ""
                self._chosen[name][_MacroValue(value_text, choices, unresolved, others=others)] = None

    def _choose(self, scope: PythonScope, iterated: ast.expr) -> None:
        """Note the macros of a mapping that is iterated over. One that is added under a condition may be missing."""
        while isinstance(iterated, ast.Call) and (inner := passed_on(iterated)) is not None:
            iterated = inner
        for name, value in _pairs(Found(iterated, scope)):
            self._note(name, value)
            for condition, branch in value.choices:
                missing = _MacroValue(None, frozenset({(condition, 1 - branch)}), is_defined=False)
                self._chosen[name][missing] = None

    def macros(self, flags: Iterable[str]) -> list[tuple[tuple[StatedMacro, ...], tuple[StatedMacro, ...]]]:
        """Return the macros that are chosen together, each time with those that are always the same."""
        every = {name: [*values] for name, values in (self._defined | self._chosen).items()}
        for flag in (one[2:].strip() for one in flags if one.startswith("-D")):
            name, has_value, value = flag.partition("=")
            every.setdefault(name, []).append(_MacroValue(value if has_value else None, frozenset()))
        known = {name: _without_unknown(values) for name, values in every.items()}
        is_fixed = {
            name: name not in self._chosen and len({one.text for one in values}) == 1 for name, values in known.items()
        }
        is_fixed |= {name: False for name, values in known.items() if values[0].is_unknown or values[0].others}
        fixed = tuple(StatedMacro(name, values[0].text) for name, values in known.items() if is_fixed[name])
        return [(one, fixed) for one in _products({name: known[name] for name in known if not is_fixed[name]})]


def _without_unknown(values: list[_MacroValue]) -> list[_MacroValue]:
    """Return the values that are known, with what else there is; all if none is."""
    others = next((one.unresolved for one in values if one.is_unknown), "")
    return [one._replace(others=one.others or others) for one in values if not one.is_unknown] or values


def _resolved(found: Found) -> list[Found]:
    return found.scope.resolve(found.node)


def _spells_macro(found: Found) -> bool:
    """Return whether a text with ``#define`` in it is spelled, named or filled in here."""
    node = found.node
    form = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node
    if isinstance(form, ast.Name):
        return any("#define" in one.text for one in found.scope.texts_of(form))
    return any(isinstance(one, ast.Constant) and "#define" in str(one.value) for one in ast.walk(form))


def _pairs(mapping: Found, within: tuple[object, ...] = ()) -> Iterator[tuple[str, Found]]:
    """Yield the names and values of a mapping of macros, with what is assigned to its items."""
    scope, key = mapping.scope, (mapping.scope.place, ast.dump(mapping.node))
    if key in within:
        return
    yield from scope.assigned_items(mapping.node)
    assigned = scope.meant(mapping.node)
    if len(assigned) == 1:
        yield from _pairs(assigned[0], (*within, key))
        return
    for found in _resolved(mapping) if assigned else [mapping]:
        match found.node:
            case ast.Dict(keys=names, values=values):
                for name, value in zip(names, values, strict=True):
                    if name is None:
                        yield from _pairs(Found(value, found.scope), (*within, key))
                    elif isinstance(name, ast.Constant):
                        yield str(name.value), Found(value, found.scope)
            case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
                yield from ((one.arg, Found(one.value, found.scope)) for one in keywords if one.arg)


def _stated(name: str, value: _MacroValue) -> StatedMacro:
    return StatedMacro(name, value.text, value.unresolved if value.is_unknown else "", value.others)


def _products(axes: Mapping[str, Sequence[_MacroValue]]) -> list[tuple[StatedMacro, ...]]:
    """Return the combinations of macros' values that the same choices allow."""
    found: list[tuple[tuple[StatedMacro, ...], Choices]] = [((), frozenset())]
    for name, values in axes.items():
        found = [
            ((*macros, *([_stated(name, one)] if one.is_defined else [])), choices)
            for macros, known in found
            for one in values
            if (choices := merge(known, one.choices)) is not None
        ][:_MOST]
    return [*dict.fromkeys(macros for macros, _ in found)]


#: Flags as a manifest has them.
_FLAGS: Final = {
    "G": "debug",
    "default-device": "default_device",
    "device-as-default-execution-space": "default_device",
    "device-debug": "debug",
    "fmad": "fma",
    "ftz": "ftz",
    "generate-line-info": "lineinfo",
    "lineinfo": "lineinfo",
    "maxrregcount": "maxrregcount",
    "prec-div": "prec_div",
    "prec-sqrt": "prec_sqrt",
    "std": "std",
    "use_fast_math": "use_fast_math",
}
_GUESS: Final = "{} is a guess for {}: {}; list its values"
_OTHERS: Final = "{} may have other values: {}; list them"
_OLD: Final = "{} is left out: the headers of CUDA 13 need C++17, the default"
_OTHER: Final = "{} is left out: write it under extra if it matters"


class Variants(NamedTuple):
    """What a manifest states of a source, for requests that have the same macros."""

    name: str
    """With a placeholder for each axis."""
    combinations: list[dict[str, str]]
    """The values of the axes."""
    options: dict[str, Any]
    instances: list[str]
    guesses: list[str]
    left_out: list[str]
    """Flags."""

    @property
    def stated(self) -> dict[str, Any]:
        """What is stated beside the source."""
        found = {"instances": self.instances, **matrix_of(self.combinations), "options": self.options}
        return {key: value for key, value in found.items() if value}


def variants(requests: Sequence[PythonCompile], stem: str) -> Iterator[Variants]:
    """Yield what a manifest states of one source. Where CuPy and others compile it, CuPy's requests count."""
    groups: dict[object, list[PythonCompile]] = defaultdict(list)
    own = [one for one in requests if one.is_cupy] or requests
    axes = {macro.name for one in own for macro in one.chosen}
    for one in own:
        chosen = (*one.chosen, *(macro for macro in one.fixed if macro.name in axes))
        fixed = tuple(macro for macro in one.fixed if macro.name not in axes)
        parts = frozenset(macro.name if macro.is_axis else macro for macro in chosen)
        groups[parts, fixed, one.flags].append(one._replace(chosen=chosen, fixed=fixed))
    taken: set[str] = set()
    for group in groups.values():
        stems = chain([stem], (f"{stem}_{number}" for number in count(2)))
        found = next(one for one in (_variants(group, name) for name in stems) if one.name not in taken)
        taken.add(found.name)
        yield found


def _variants(group: Sequence[PythonCompile], stem: str) -> Variants:
    first = group[0]
    axes = [macro.name for macro in first.chosen if macro.is_axis]
    bare = [macro.name for macro in first.chosen if macro.value is None]
    guessed = {macro: _guess(macro) for one in group for macro in one.chosen if macro.unresolved}
    rows = [
        {macro.name: guessed.get(macro, str(macro.value)) for macro in one.chosen if macro.is_axis} for one in group
    ]
    others = {macro.name: macro.others for one in group for macro in one.chosen if macro.others and macro.is_axis}
    define = {macro.name: macro.value for macro in (*first.fixed, *first.chosen)}
    define |= {axis: f"{{{axis}}}" for axis in axes}
    options, left_out = _stated_flags(first.flags)
    options |= {"default_device": True} if first.is_cupy else {}
    return Variants(
        name="_".join([stem, *bare, *(f"{{{axis}}}" for axis in axes)]),
        combinations=[row for at, row in enumerate(rows) if row and row not in rows[:at]],
        options=options | ({"define": define} if define else {}),
        instances=[*dict.fromkeys(name for one in group for name in one.names if "<" in name)],
        guesses=[
            *(_GUESS.format(value, macro.name, macro.unresolved) for macro, value in guessed.items()),
            *(_OTHERS.format(*one) for one in others.items()),
        ],
        left_out=left_out,
    )


def _guess(macro: StatedMacro) -> str:
    return "float" if macro.name.upper().endswith(("TYPE", "_T")) else "1"


def _stated_flags(flags: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """Return what a manifest states of a compiler's flags, and what is left out."""
    options: dict[str, Any] = {}
    left_out = []
    for flag in flags:
        name, _, value = flag.strip().lstrip("-").partition("=")
        option = _FLAGS.get(name)
        if option == "std":
            options |= {"std": value} if value == "c++20" else {}
            left_out += [_OLD.format(flag)] if value not in {"c++17", "c++20"} else []
        elif option is None:
            left_out.append(_OTHER.format(flag))
        else:
            options[option] = int(value) if value.isdigit() else value != "false"
    return options, left_out


def matrix_of(rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return the ``matrix`` and ``exclude`` that give these combinations of axes; empty without axes."""
    if not rows:
        return {}
    matrix = {axis: [*dict.fromkeys(one[axis] for one in rows)] for axis in rows[0]}
    left = [values for values in product(*matrix.values()) if dict(zip(matrix, values, strict=True)) not in rows]
    excluded: list[dict[str, str]] = []
    for size in (2, len(matrix)):  # what two axes never are together, else the whole combination
        for chosen in combinations(matrix, size) if left else ():
            kept = {tuple(one[axis] for axis in chosen) for one in rows}
            out = [dict(zip(matrix, values, strict=True)) for values in left]
            never = dict.fromkeys(tuple(one[axis] for axis in chosen) for one in out)
            gone = [values for values in never if values not in kept]
            excluded += [dict(zip(chosen, values, strict=True)) for values in gone]
            left = [tuple(one.values()) for one in out if tuple(one[axis] for axis in chosen) not in gone]
    return {"matrix": matrix} | ({"exclude": excluded} if excluded else {})
