"""What a project's Python files compile at run time, with CuPy or PyCUDA, as entries of a manifest; nothing is run.

First, what expressions of Python files may stand for, as far as their text tells. A name stands for what is assigned to
it, passed for it, or compared with it. Where there are several, each is a choice; choices under one condition, or of
one expression, are made alike.
"""

from __future__ import annotations

import ast
import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, combinations, count, product
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from warnings import catch_warnings

if TYPE_CHECKING:
    from pathlib import Path


#: In a text, for what is unknown.
UNKNOWN: Final = "\0"
#: Among choices: whoever calls may choose otherwise.
OPEN: Final = ("open", 0)
#: Functions and methods that return what they are given, as far as a text tells.
_SAME: Final = frozenset(
    """
    Path PurePath abspath bool dedent expanduser float fspath int items keys list normpath realpath resolve str tuple
    """.split()  # noqa: SIM905 - a list would take a line a word
)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS: Final = (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
_OPERATIONS: Final[dict[type, Callable[[int, int], int]]] = {
    ast.Mult: int.__mul__,
    ast.Sub: int.__sub__,
    ast.FloorDiv: int.__floordiv__,
}
#: Expressions inside each other, and the alternatives of one.
_DEEPEST: Final = 40
_MOST: Final = 256

Choices: TypeAlias = frozenset[tuple[str, int]]


class Text(NamedTuple):
    """A text that an expression may be, and the choices that lead to it."""

    text: str
    choices: Choices = frozenset()


class Found(NamedTuple):
    """An expression, with where its names are to be looked up, and the choices that lead to it."""

    node: ast.expr
    scope: PythonScope
    choices: Choices = frozenset()

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{self.scope.path}:{self.node.lineno}"


def merge(one: Choices, other: Choices) -> Choices | None:
    """Return the choices of both; None where they choose differently."""
    known = dict(one)
    return one | other if all(known.get(key, at) == at for key, at in other) else None


def name_of(node: ast.AST) -> str:
    """Return the last name of what is called; empty where nothing is, or it has no name."""
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def key_of(node: ast.AST) -> str:
    """Return how a scope knows a name or an attribute of ``self``; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
    return f"self.{node.attr}" if is_own else ""  # type: ignore[attr-defined]


def passed_on(call: ast.Call) -> ast.expr | None:
    """Return what a call returns as it is: its argument, or the object whose method is called; None if it does not."""
    if name_of(call) not in _SAME:
        return None
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return call.args[0] if call.args else owner


class PythonFiles:
    """The functions and calls of all files, by name."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._functions: Final[dict[str, list[PythonScope]]] = defaultdict(list)
        self._calls: Final[dict[str, list[Found]]] = defaultdict(list)
        self.classes: Final[list[PythonScope]] = []
        self.keywords: Final[dict[str, list[Found]]] = defaultdict(list)
        """The constants that calls pass by keyword."""
        self.reading: Final[list[ast.AST]] = []
        """The expressions that are being read, so that what refers to itself ends."""
        self.steps = 0
        """Expressions that may still be resolved; after that, all else is unknown."""
        self.unread: Final[list[str]] = []
        for path, text in texts.items():
            try:
                with catch_warnings(action="ignore"):
                    tree = ast.parse(text)
                    self._walk(tree, PythonScope(self, tree, path, None), frozenset())
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self.unread.append(path)

    def _walk(self, node: ast.AST, scope: PythonScope, branches: Choices) -> None:
        for child in ast.iter_child_nodes(node):
            inner, within = scope, branches
            if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
                inner, within = PythonScope(self, child, scope.path, scope), frozenset()
                (self.classes if isinstance(child, ast.ClassDef) else self._functions[child.name]).append(inner)
            elif isinstance(child, ast.Call):
                self._calls[name_of(child)].append(Found(child, scope))
                passed = ((one.arg, one.value) for one in child.keywords if isinstance(one.value, ast.Constant))
                for name, value in passed:
                    self.keywords[name or ""].append(Found(value, scope))
            if isinstance(node, ast.If) and child is not node.test:
                within |= {(f"{scope.place} if {ast.unparse(node.test)}", int(child in node.orelse))}
            scope.note(child, within)
            self._walk(child, inner, within)

    def calls_of(self, names: Iterable[str]) -> list[Found]:
        """Return the calls of functions of some names."""
        return [call for name in names for call in self._calls.get(name, ())]

    def callees(self, call: ast.Call, caller: PythonScope) -> list[PythonScope]:
        """Return the functions that a call may mean, with its arguments."""
        found = self._functions.get(name_of(call), [])
        own = [one for one in found if one.path == caller.path]
        return [one.bind(call, caller) for one in (own or found)[:4]]


class _ScopeFacts(NamedTuple):
    values: dict[str, list[Found]]
    """What is assigned to names, and to attributes of ``self``, by ``self.name``."""
    entries: dict[str, list[tuple[ast.expr, Found]]]
    """What is assigned to items of these."""
    returned: list[ast.expr]
    compared: dict[str, list[ast.expr]]
    """What names are compared with, as in ``name not in ["float", "double"]``."""
    calls: list[ast.Call]
    texts: list[Found]
    """Expressions that may be texts, but for parts of such."""
    loops: list[tuple[ast.expr, ast.expr, ast.AST]]
    """What each item is called, and what is iterated over, with the code of the loop."""
    parts: set[ast.AST]


class PythonScope:
    """A file, a class, or a function with the arguments of one call."""

    def __init__(self, project: PythonFiles, node: ast.AST, path: str, outer: PythonScope | None) -> None:
        self.project: Final = project
        self.node: Final = node
        self.path: Final = path
        self.outer: Final = outer
        self.facts = _ScopeFacts(defaultdict(list), defaultdict(list), [], defaultdict(list), [], [], [], set())
        self.bound: dict[str, Found] | None = None
        """The arguments of a call."""

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{self.path}:{getattr(self.node, 'lineno', 1)}"

    def note(self, node: ast.AST, branches: Choices) -> None:
        """Note what a node of the scope says in the branches of ``if`` around it."""
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, Found(value, self, branches))
            case ast.AnnAssign() | ast.AugAssign() | ast.NamedExpr() if node.value is not None:
                self._assign(node.target, Found(node.value, self, branches))
            case ast.Call(func=ast.Attribute(attr="append" | "extend" as how, value=owner), args=[value]):
                self._assign(owner, Found(ast.List([value]) if how == "append" else value, self, branches))
            case ast.Return(value=ast.expr() as value):
                self.facts.returned.append(value)
            case ast.For(target=target, iter=iterated):
                self.facts.loops.append((target, iterated, node))
                self._assign_each(target, iterated, branches)
            case ast.Compare(left=ast.Name(id=name), ops=[ast.In() | ast.NotIn()], comparators=[listed]):
                self.facts.compared[name] += getattr(listed, "elts", ())
        self.facts.calls.extend([node] if isinstance(node, ast.Call) else [])
        comprehended = node.generators if isinstance(node, _COMPREHENSIONS) else []
        self.facts.loops.extend((one.target, one.iter, node) for one in comprehended)
        for one in comprehended:
            self._assign_each(one.target, one.iter, branches)
        is_text = isinstance(node, (ast.JoinedStr, ast.BinOp, ast.Constant)) or name_of(node) == "format"
        if is_text and isinstance(node, ast.expr) and node not in self.facts.parts:
            self.facts.texts.append(Found(node, self, branches))
            self.facts.parts.update(ast.walk(node))

    def _assign_each(self, target: ast.expr, iterated: ast.expr, branches: Choices) -> None:
        """Note that a name stands for each item of what is iterated over, or for each value of a mapping."""
        match target, iterated:
            case ast.Tuple(elts=[_, value]), ast.Call(func=ast.Attribute(value=mapping, attr="items")):
                target, iterated = value, mapping
            case ast.Name(), ast.Call(func=ast.Attribute(value=mapping, attr="values")):
                iterated = mapping
        if isinstance(target, ast.Name):
            item = ast.copy_location(ast.Subscript(iterated, target), iterated)
            self._assign(target, Found(item, self, branches))

    def _assign(self, target: ast.expr, value: Found) -> None:
        if isinstance(value.node, ast.Name):
            self.facts.texts.append(value)
        if isinstance(target, ast.Subscript):
            self._holder(target.value).entries[key_of(target.value)].append((target.slice, value))
        else:
            self._holder(target).values[key_of(target)].append(value)

    def _holder(self, target: ast.expr) -> _ScopeFacts:
        """Return what the class says for an attribute of ``self``, else what this scope does."""
        scope: PythonScope | None = self
        while isinstance(target, ast.Attribute) and scope is not None and not isinstance(scope.node, ast.ClassDef):
            scope = scope.outer
        return (scope or self).facts

    def bind(self, call: ast.Call, caller: PythonScope) -> PythonScope:
        """Return the function's scope with the arguments of a call."""
        rest = self.node.args.kwarg if isinstance(self.node, _FUNCTIONS) else None
        parameters = [name for name in self._parameters() if name not in {"self", "cls"}]
        scope = PythonScope(self.project, self.node, self.path, self.outer)
        scope.facts = self.facts
        scope.bound = {name: Found(value, caller) for name, value in zip(parameters, call.args, strict=False)}
        named = {one.arg: one.value for one in call.keywords if one.arg}
        scope.bound |= {name: Found(value, caller) for name, value in named.items()}
        if rest is not None:
            others = {name: value for name, value in named.items() if name not in parameters}
            mapping = ast.Dict([ast.Constant(name) for name in others], [*others.values()])
            scope.bound[rest.arg] = Found(ast.copy_location(mapping, call), caller)
        return scope

    def _parameters(self) -> dict[str, ast.expr | None]:
        """Return the parameters of a function, each with its default."""
        if not isinstance(self.node, _FUNCTIONS):
            return {}
        given = self.node.args
        plain = [*given.posonlyargs, *given.args]
        defaults = [*[None] * (len(plain) - len(given.defaults)), *given.defaults, *given.kw_defaults]
        return {one.arg: value for one, value in zip((*plain, *given.kwonlyargs), defaults, strict=True)}

    def meant(self, node: ast.expr) -> list[Found]:
        """Return what a name or an attribute may stand for; of another object, if only one other class has it."""
        owner, key = self._owner_of(node)
        scope: PythonScope | None = owner if key else None
        found: list[Found] = []
        while scope is not None and not found:
            if not isinstance(scope.node, ast.ClassDef) or key.startswith("self."):
                assigned = scope.facts.values.get(key, ())
                found = [one._replace(scope=owner) if scope is owner else one for one in assigned]
                found += scope.passed(key)
            scope = scope.outer
        return found

    def _owner_of(self, node: ast.expr) -> tuple[PythonScope, str]:
        key = key_of(node)
        if key or not isinstance(node, ast.Attribute):
            return self, key
        key, around = f"self.{node.attr}", self._holder(node)
        others = [one for one in self.project.classes if key in one.facts.values and one.facts is not around]
        return (others[0], key) if len(others) == 1 else (self, "")

    def assigned_items(self, node: ast.expr) -> Iterator[tuple[str, Found]]:
        """Yield what is assigned to the items of a mapping, here or around."""
        owner, key = self._owner_of(node)
        scope: PythonScope | None = owner if key else None
        while scope is not None:
            for name, value in scope.facts.entries.get(key, ()):
                if isinstance(name, ast.Constant):
                    yield str(name.value), value._replace(scope=scope)
            scope = scope.outer

    def passed(self, name: str) -> list[Found]:
        """Return what may be passed for a parameter: by the call, or else by any; by default; what is allowed."""
        parameters = self._parameters()
        if self.bound is not None and name in self.bound:
            return [self.bound[name]]
        if name not in parameters:
            return []
        default = parameters[name]
        found = [] if default is None else [Found(default, self.outer or self)]
        if self.bound is not None:
            return found
        allowed = [Found(one, self) for one in self.facts.compared.get(name, ())]
        every = [*found, *allowed, *self.project.keywords.get(name, ())]
        return _unique(every, *([] if allowed else [OPEN]))

    def resolve(self, node: ast.expr) -> list[Found]:
        """Return what an expression may stand for, without names and choices; none if it stands for itself."""
        reading = self.project.reading
        self.project.steps -= 1
        if node in reading or len(reading) > _DEEPEST or self.project.steps < 0:
            return []
        reading.append(node)
        try:
            asked, found = self._alternatives(node)
            inner = [(one, last) for one in found[:_MOST] for last in [one.scope.resolve(one.node)] if last]
        finally:
            reading.pop()
        choice = f"{self.place} {ast.unparse(asked)}" if len(inner) > 1 else ""
        every = [
            last._replace(choices=last.choices | one.choices | ({(choice, at)} if choice else frozenset()))
            for at, (one, lasts) in enumerate(inner)
            for last in lasts
        ]
        return every[:_MOST] or [Found(node, self)]

    def _alternatives(self, node: ast.expr) -> tuple[ast.AST, list[Found]]:
        """Return what an expression chooses by, and what it may choose."""
        match node:
            case ast.IfExp(test=test, body=body, orelse=other):
                return test, [Found(body, self), Found(other, self)]
            case ast.BoolOp(op=ast.Or(), values=values):
                return node, [Found(one, self) for one in values]
            case ast.Subscript(value=value, slice=index):
                return node, [found for one in self.resolve(value) for found in _items(one, index)]
            case ast.Call(func=ast.Attribute(attr="get"), args=[key, default]):  # of a mapping
                name = str(getattr(key, "value", ""))
                return node, _unique([Found(default, self), *self.project.keywords.get(name, ())], OPEN)
            case ast.Call():
                same = passed_on(node)
                callees = self.project.callees(node, self) if same is None else []
                returns = [Found(value, one) for one in callees for value in one.facts.returned]
                return node, returns if same is None else [Found(same, self)]
        return node, self.meant(node)

    def texts_of(self, node: ast.expr) -> list[Text]:
        """Return the texts that an expression may be, with UNKNOWN for what cannot be resolved."""
        found = [
            Text(text.text, choices)
            for one in self.resolve(node)
            for text in one.scope.spelled(one.node)
            if (choices := merge(one.choices, text.choices)) is not None
        ]
        return [*dict.fromkeys(found)][:_MOST] or [Text(UNKNOWN)]

    def spelled(self, node: ast.expr) -> list[Text]:
        """Return the texts that an expression spells, without looking its name up."""
        if node in self.project.reading:
            return []
        found = [Text(UNKNOWN)]
        self.project.reading.append(node)
        match node:
            case ast.Constant(value=str() | int() | float() as value):
                found = [Text(str(value))]
            case ast.JoinedStr(values=parts):
                found = self._joined(parts)
            case ast.FormattedValue(value=inner):
                found = self.texts_of(inner)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                found = self._joined([ast.Constant("-"), inner])
            case ast.BinOp():
                found = self._operated(node)
            case ast.Call(func=ast.Attribute(attr="format", value=form), args=values, keywords=keywords):
                found = self._filled(form, values, {one.arg: one.value for one in keywords if one.arg}, "{")
            case ast.Call(func=ast.Attribute(attr="join", value=ast.Attribute(attr="path")), args=parts):
                found = self._joined(parts, "/")
            case ast.Call(func=ast.Attribute(attr="joinpath", value=first), args=parts):
                found = self._joined([first, *parts], "/")
        self.project.reading.pop()
        return found

    def _operated(self, node: ast.BinOp) -> list[Text]:
        """Return a sum of texts, a path, a text that is filled in, or a computed integer."""
        sides = [node.left, node.right]
        if isinstance(node.op, (ast.Add, ast.Div)):
            return self._joined(sides, "/" if isinstance(node.op, ast.Div) else "")
        if isinstance(node.op, ast.Mod):
            values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            return self._filled(node.left, values, {}, "%")
        with suppress(ValueError, ZeroDivisionError, KeyError):
            one, other = (int(self.texts_of(side)[0].text) for side in sides)
            return [Text(str(_OPERATIONS[type(node.op)](one, other)))]
        return [Text(UNKNOWN)]

    def _joined(self, nodes: Iterable[ast.expr], between: str = "", choices: Choices = frozenset()) -> list[Text]:
        """Return the texts side by side that expressions may be, as far as they choose alike."""
        found = [Text("", choices)]
        for at, node in enumerate(nodes):
            mark = between if at else ""
            found = [
                Text(f"{one.text}{mark}{other.text}", both)
                for one in found
                for other in self.texts_of(node)
                if (both := merge(one.choices, other.choices)) is not None
            ][:_MOST]
        return found

    def _filled(
        self, form: ast.expr, values: Sequence[ast.expr], named: Mapping[str, ast.expr], style: str
    ) -> list[Text]:
        """Return a text with its fields filled in, by ``%`` or by ``format``."""
        given = {**named, **{str(at): value for at, value in enumerate(values)}}
        found: list[Text] = []
        for written in self.texts_of(form):
            parts: list[ast.expr] = []
            for number, (literal, field) in enumerate(_fields(written.text, style)):
                value = given.get(field or str(number), ast.Constant(UNKNOWN))
                parts += [ast.Constant(literal), *([] if field is None else [value])]
            found += self._joined(parts, choices=written.choices)
        return found


def _fields(text: str, style: str) -> Iterator[tuple[str, str | None]]:
    """Yield a format's literal texts, each with the name of the field behind it; empty for the next one."""
    if style == "%":
        *parts, last = re.split(r"%[-+ #0-9.]*[a-zA-Z]", text)
        yield from ((part.replace("%%", "%"), "") for part in parts)
        yield last.replace("%%", "%"), None
        return
    with suppress(ValueError):
        for literal, field, *_ in string.Formatter().parse(text):
            yield literal, field if field is None else re.split(r"[.\[]", field)[0]


def _items(found: Found, index: ast.expr) -> Iterator[Found]:
    """Yield the item of a tuple, or of a dict: all of them if the key is not among its own, or the index is a name."""
    node = found.node
    if isinstance(node, (ast.Tuple, ast.List)):
        at = index.value if isinstance(index, ast.Constant) else None
        if isinstance(index, ast.Name):
            yield from (found._replace(node=item) for item in node.elts)
        elif isinstance(at, int) and -len(node.elts) <= at < len(node.elts):
            yield found._replace(node=node.elts[at])
    elif isinstance(node, ast.Dict):
        asked = ast.dump(index)
        own = [value for key, value in zip(node.keys, node.values, strict=True) if key and ast.dump(key) == asked]
        yield from (found._replace(node=value) for value in own or node.values)


def _unique(found: Iterable[Found], *choices: tuple[str, int]) -> list[Found]:
    return [*{ast.dump(one.node): one._replace(choices=one.choices | {*choices}) for one in found}.values()]


#: What compiles a text, its first argument, or the one of this name.
_COMPILERS: Final = {"RawModule": "code", "RawKernel": "code", "SourceModule": "source"}
#: Of these, CuPy's: functions without a mark are device code to it.
_OF_CUPY: Final = frozenset({"RawModule", "RawKernel"})
_READ: Final = frozenset({"open", "read_text", "read_bytes"})
_MACRO: Final = re.compile(r"#\s*define[ \t]+([A-Za-z_]\w*(?:\([^()]*\))?)[ \t]*([^\0\n]*?\0?[^\0\n]*?)\s*(?://.*)?")
_DEFINE: Final = re.compile(r"-D([A-Za-z_]\w*(?:\([^()]*\))?)(?:=(.*))?", re.ASCII | re.DOTALL)
#: Flags whose values may be the next items of a list.
_SPLIT: Final = frozenset({"-D", "--define-macro", "-I", "--include-path", "-U", "--undefine-macro"})
#: Functions that the one with the compile calls, inside each other.
_DEEPEST_CALLS: Final = 2
_MOST_PRODUCTS: Final = 4096
#: Expressions that are resolved for one compile; the loaders of five packages took 500 at most.
_MOST_STEPS: Final = 20_000


class StatedMacro(NamedTuple):
    """A macro with one of its values; None defines the bare name."""

    name: str
    value: str | None
    choices: Choices = frozenset()
    """By which it has this value."""
    unresolved: str = ""
    """The expression that gives the value, with its place; at the end, only where the value is unknown."""
    others: str = ""
    """The same of one that may have other values."""
    is_defined: bool = True

    @property
    def is_axis(self) -> bool:
        """Whether a placeholder can stand for its values."""
        return self.value is not None and self.name.isidentifier()

    @property
    def is_unknown(self) -> bool:
        """Whether a part of the value is not known, or is not plain text."""
        return not (self.value or "").isprintable()


class PythonCompile(NamedTuple):
    """A compile that a project asks for."""

    source: str
    chosen: tuple[StatedMacro, ...]
    """The macros that a call chooses, or that have several values."""
    fixed: tuple[StatedMacro, ...]
    flags: tuple[str, ...]
    names: tuple[str, ...]
    is_cupy: bool


class Loaders(NamedTuple):
    """All that Python files compile: sources, and, as places, kernels that are text in Python."""

    requests: list[PythonCompile]
    texts: list[str]
    unread: list[str]
    """Files that name what compiles, and that this Python cannot read."""


def read_loaders(root: Path, paths: Iterable[str], sources: Sequence[str]) -> Loaders:
    """Return what Python files compile of some sources."""
    found, texts = Loaders([], [], []), {}
    for path in paths:
        with suppress(OSError):
            texts[path] = (root / path).read_bytes()
    compiling = {path for path, text in texts.items() if any(name.encode() in text for name in _COMPILERS)}
    if compiling:
        project = PythonFiles(texts)
        found.unread.extend(path for path in project.unread if path in compiling)
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
    calls = project.calls_of([function.name]) if isinstance(function, _FUNCTIONS) else []
    scopes = [compiled.scope.bind(call.node, call.scope) for call in calls if isinstance(call.node, ast.Call)]
    keywords = {one.arg: one.value for one in node.keywords}
    given = [*node.args[:1], *(keywords[name] for name in (_COMPILERS[name_of(node)],) if name in keywords)]
    for scope in scopes or [compiled.scope]:
        project.steps = _MOST_STEPS
        facts = _Facts(scope)
        files = dict.fromkeys(file for one in facts.paths for file in _files(one.text, sources))
        options, names = ([*_listed(scope, keywords.get(name))] for name in ("options", "name_expressions"))
        flags = [*_whole_flags(options)]
        kernels = [one.text for code in given for one in scope.texts_of(code) if "__global__" in one.text]
        if kernels and not (files and any(UNKNOWN in text for text in kernels)):
            texts.append(compiled.place)
            return
        kept = tuple(flag for flag in flags if not (flag.startswith("-I") or _DEFINE.fullmatch(flag)))
        known = tuple(name for name in names if UNKNOWN not in name)
        for file, (chosen, fixed) in product(files, facts.macros(flags, f"an option at {compiled.place}")):
            yield PythonCompile(file, chosen, fixed, kept, known, name_of(node) in _OF_CUPY)


def _whole_flags(flags: Iterable[str]) -> Iterator[str]:
    """Yield flags with their values, which may be the next items; where something is unknown, only of macros."""
    rest = iter(flags)
    for flag in rest:
        joined = f"{flag}={next(rest, '')}" if flag in _SPLIT else flag
        whole = re.sub(r"^(?:-D=|-D\s+|--define-macro=|--define-macro\s+)(?=\w)", "-D", joined)
        if UNKNOWN not in whole or _DEFINE.fullmatch(whole):
            yield whole


def _files(text: str, sources: Iterable[str]) -> list[str]:
    """Return the source that a path means, by the end that is known of it; none if several have it."""
    end = text.rpartition(UNKNOWN)[2].rpartition("../")[2].lstrip("./")
    fitting = [path for path in sources if "." in end.lstrip(".") and f"/{path}".endswith(f"/{end}")]
    return fitting if len(fitting) == 1 else [path for path in fitting if path == end]


def _listed(scope: PythonScope, node: ast.expr | None, within: tuple[object, ...] = ()) -> Iterator[str]:
    """Yield the texts in a list, with what is added to it elsewhere."""
    if node is None or (scope.place, ast.dump(node)) in within:
        return
    parts: Sequence[Found] = ()
    within = (*within, (scope.place, ast.dump(node)))
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            parts = [Found(one.value, scope) for one in elements if isinstance(one, ast.Starred)]
            plain = (one for one in elements if not isinstance(one, ast.Starred))
            yield from (text.text for one in plain for text in scope.texts_of(one))
        case ast.BinOp(left=left, right=right):
            parts = [Found(left, scope), Found(right, scope)]
        case ast.Call():
            same = passed_on(node)
            parts = [] if same is None else [Found(same, scope)]
        case _:
            parts = scope.meant(node)
    for one in parts:
        yield from _listed(one.scope, one.node, within)


class _Facts:
    """What a function, with the functions that it calls, says of the text that it compiles: its files and macros."""

    def __init__(self, scope: PythonScope) -> None:
        self.paths: list[Text] = []
        self._chosen: Final[dict[str, dict[StatedMacro, None]]] = defaultdict(dict)
        """Values of the macros that a call passes, or that text is replaced by."""
        self._defined: Final[dict[str, dict[StatedMacro, None]]] = defaultdict(dict)
        """Of those in lines with ``#define``."""
        self._read(scope, ())

    def _read(self, scope: PythonScope, within: tuple[str, ...]) -> None:
        for text in (one._replace(scope=scope) for one in scope.facts.texts):
            if _spells_macro(text):
                self._define(text)
        for target, iterated, loop in scope.facts.loops:
            if _spells_items(target, loop):
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
                for callee in scope.project.callees(call, scope) if len(within) <= _DEEPEST_CALLS else ():
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
                    macro = StatedMacro(found[1], found[2] or None, choices or frozenset(), unresolved, others)
                    self._defined[found[1]][macro] = None

    def _note(self, name: str, value: Found) -> None:
        """Note what a macro may be."""
        unresolved = f"{ast.unparse(value.node)} at {value.place}"
        resolved = value.scope.resolve(value.node)
        is_bare = [one.node.value if isinstance(one.node, ast.Constant) else "" for one in resolved] == [None]
        for text in value.scope.texts_of(value.node):
            choices = merge(text.choices, value.choices)
            if choices is not None:
                others = unresolved if OPEN in choices else ""
                macro = StatedMacro(name, None if is_bare else text.text, choices, unresolved, others)
                self._chosen[name][macro] = None

    def _choose(self, scope: PythonScope, iterated: ast.expr) -> None:
        """Note the macros of a mapping that is iterated over. One that is added under a condition may be missing."""
        while isinstance(iterated, ast.Call) and (inner := passed_on(iterated)) is not None:
            iterated = inner
        for name, value in _pairs(Found(iterated, scope)):
            self._note(name, value)
            for condition, branch in value.choices:
                missing = StatedMacro(name, None, frozenset({(condition, 1 - branch)}), is_defined=False)
                self._chosen[name][missing] = None

    def macros(self, flags: Iterable[str], place: str) -> list[tuple[tuple[StatedMacro, ...], tuple[StatedMacro, ...]]]:
        """Return the macros that are chosen together, each time with those that are always the same.

        ``place`` is where the flags are stated.
        """
        every = {name: [*values] for name, values in (self._defined | self._chosen).items()}
        for name, value in (found.groups() for found in map(_DEFINE.fullmatch, flags) if found):
            every.setdefault(name, []).append(StatedMacro(name, value, unresolved=place))
        known = {name: _without_unknown(values) for name, values in every.items()}
        is_fixed = {
            name: name not in self._chosen
            and len({one.value for one in values}) == 1
            and not (values[0].is_unknown or values[0].others)
            for name, values in known.items()
        }
        fixed = tuple(StatedMacro(name, values[0].value) for name, values in known.items() if is_fixed[name])
        return [(one, fixed) for one in _products([known[name] for name in known if not is_fixed[name]])]


def _without_unknown(values: list[StatedMacro]) -> list[StatedMacro]:
    """Return the values that are known, with what else there is; all if none is."""
    others = next((one.unresolved for one in values if one.is_unknown), "")
    return [one._replace(others=one.others or others) for one in values if not one.is_unknown] or values


def _spells_items(target: ast.expr, loop: ast.AST) -> bool:
    """Return whether the items of a loop name macros: not where only values are spelled, as in ``-DT={value}``."""
    spelled = [
        {name.id for name in ast.walk(one) if isinstance(name, ast.Name)}
        for one in ast.walk(loop)
        if isinstance(one, (ast.JoinedStr, ast.BinOp)) or name_of(one) in {"format", "replace"}
        if any(mark in ast.unparse(one) for mark in (".replace(", "#define", "-D"))
    ]
    match target:
        case ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=value)]):
            by_value = [names for names in spelled if value in names]
            return any(key in names for names in by_value) if by_value else _mentions_macros(loop)
    return _mentions_macros(loop)


def _mentions_macros(loop: ast.AST) -> bool:
    return any(mark in ast.unparse(loop) for mark in (".replace(", "#define", "-D"))


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
    for found in scope.resolve(mapping.node) if assigned else [mapping]:
        match found.node:
            case ast.Dict(keys=names, values=values):
                for name, value in zip(names, values, strict=True):
                    if name is None:
                        yield from _pairs(Found(value, found.scope), (*within, key))
                    elif isinstance(name, ast.Constant):
                        yield str(name.value), Found(value, found.scope)
            case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
                yield from ((one.arg, Found(one.value, found.scope)) for one in keywords if one.arg)


def _products(axes: Iterable[Sequence[StatedMacro]]) -> list[tuple[StatedMacro, ...]]:
    """Return the combinations of macros' values that the same choices allow."""
    found: list[tuple[tuple[StatedMacro, ...], Choices]] = [((), frozenset())]
    for values in axes:
        found = [
            ((*macros, one) if one.is_defined else macros, choices)
            for macros, known in found
            for one in values
            if (choices := merge(known, one.choices)) is not None
        ][:_MOST_PRODUCTS]
    settled = (
        tuple(one._replace(choices=frozenset(), unresolved=one.unresolved if one.is_unknown else "") for one in macros)
        for macros, _ in found
    )
    return [*dict.fromkeys(settled)]


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
    always = {macro for one in own for macro in one.fixed}
    axes |= {name for name, number in Counter(macro.name for macro in always).items() if number > 1}
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
    guessed = {
        macro: "float" if macro.name.upper().endswith(("TYPE", "_T")) else "1"
        for one in group
        for macro in one.chosen
        if macro.unresolved
    }
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
