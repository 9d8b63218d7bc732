"""What expressions of Python files may stand for, as far as their text tells; nothing is run.

A name stands for what is assigned to it, passed for it, or compared with it. Where there are several, each is a choice;
choices under one condition, or of one expression, are made alike.
"""

from __future__ import annotations

import ast
import re
import string
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from warnings import catch_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
        for path, text in texts.items():
            with suppress(SyntaxError, ValueError, RecursionError), catch_warnings(action="ignore"):
                tree = ast.parse(text)
                self._walk(tree, PythonScope(self, tree, path, None), frozenset())

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
    loops: list[tuple[ast.expr, ast.AST]]
    """What is iterated over, with the code of the loop."""
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
            case ast.For(iter=iterated):
                self.facts.loops.append((iterated, node))
            case ast.Compare(left=ast.Name(id=name), ops=[ast.In() | ast.NotIn()], comparators=[listed]):
                self.facts.compared[name] += getattr(listed, "elts", ())
        self.facts.calls.extend([node] if isinstance(node, ast.Call) else [])
        comprehended = node.generators if isinstance(node, _COMPREHENSIONS) else []
        self.facts.loops.extend((one.iter, node) for one in comprehended)
        is_text = isinstance(node, (ast.JoinedStr, ast.BinOp, ast.Constant)) or name_of(node) == "format"
        if is_text and isinstance(node, ast.expr) and node not in self.facts.parts:
            self.facts.texts.append(Found(node, self, branches))
            self.facts.parts.update(ast.walk(node))

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
        parameters = [one.arg for one in self._parameters() if one.arg not in {"self", "cls"}]
        scope = PythonScope(self.project, self.node, self.path, self.outer)
        scope.facts = self.facts
        scope.bound = {name: Found(value, caller) for name, value in zip(parameters, call.args, strict=False)}
        scope.bound |= {one.arg: Found(one.value, caller) for one in call.keywords if one.arg}
        return scope

    def _parameters(self) -> list[ast.arg]:
        given = self.node.args if isinstance(self.node, _FUNCTIONS) else None
        return [*given.posonlyargs, *given.args, *given.kwonlyargs] if given else []

    def look_up(self, key: str) -> list[Found]:
        """Return what a name may stand for: what is assigned to it, or passed for it."""
        scope: PythonScope | None = self
        found: list[Found] = []
        while scope is not None and not found:
            if not isinstance(scope.node, ast.ClassDef) or key.startswith("self."):
                assigned = scope.facts.values.get(key, ())
                found = [one._replace(scope=self) if scope is self else one for one in assigned]
                found += scope.passed(key)
            scope = scope.outer
        return found

    def meant(self, node: ast.expr) -> list[Found]:
        """Return what a name or an attribute may stand for; of another object, if only one other class has it."""
        owner, key = self._owner_of(node)
        return owner.look_up(key) if key else []

    def _owner_of(self, node: ast.expr) -> tuple[PythonScope, str]:
        key = key_of(node)
        if key or not isinstance(node, ast.Attribute):
            return self, key
        key, around = f"self.{node.attr}", self._holder(node)
        others = [one for one in self.project.classes if key in one.facts.values and one.facts is not around]
        return (others[0], key) if len(others) == 1 else (self, "")

    def assigned_items(self, node: ast.expr) -> Iterator[tuple[str, Found]]:
        """Yield what is assigned to the items of a mapping."""
        owner, key = self._owner_of(node)
        if key:
            yield from owner.items_of(key)

    def items_of(self, key: str) -> Iterator[tuple[str, Found]]:
        """Yield what is assigned to the items of a mapping that a name stands for, here or around."""
        for name, value in self.facts.entries.get(key, ()):
            if isinstance(name, ast.Constant):
                yield str(name.value), value._replace(scope=self)
        if self.outer is not None:
            yield from self.outer.items_of(key)

    def passed(self, name: str) -> list[Found]:
        """Return what may be passed for a parameter: by the call, or else by any; by default; what is allowed."""
        if name not in {one.arg for one in self._parameters()}:
            return []
        if self.bound is not None and name in self.bound:
            return [self.bound[name]]
        default = self._defaults().get(name)
        found = [] if default is None else [Found(default, self.outer or self)]
        if self.bound is not None:
            return found
        allowed = [Found(one, self) for one in self.facts.compared.get(name, ())]
        every = [*found, *allowed, *self.project.keywords.get(name, ())]
        return _unique(every, *([] if allowed else [OPEN]))

    def _defaults(self) -> dict[str, ast.expr]:
        if not isinstance(self.node, _FUNCTIONS):
            return {}
        given = self.node.args
        ordered = [one.arg for one in (*given.posonlyargs, *given.args)]
        found = dict(zip(reversed(ordered), reversed(given.defaults), strict=False))
        pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        return found | {one.arg: value for one, value in pairs if value is not None}

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
        self.project.reading.append(node)
        try:
            return self._spelled(node)
        finally:
            self.project.reading.pop()

    def _spelled(self, node: ast.expr) -> list[Text]:
        found = [Text(UNKNOWN)]
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

    def _joined(self, nodes: Iterable[ast.expr], between: str = "") -> list[Text]:
        found = [Text("")]
        for at, node in enumerate(nodes):
            mark = between if at else ""
            found = [
                Text(f"{one.text}{mark}{other.text}", choices)
                for one in found
                for other in self.texts_of(node)
                if (choices := merge(one.choices, other.choices)) is not None
            ][:_MOST]
        return found

    def _filled(
        self, form: ast.expr, values: Sequence[ast.expr], named: Mapping[str, ast.expr], style: str
    ) -> list[Text]:
        """Return a text with its fields filled in, by ``%`` or by ``format``."""
        found: list[Text] = []
        for written in self.texts_of(form):
            parts: list[ast.expr] = []
            for number, (literal, field) in enumerate(_fields(written.text, style)):
                given = {**named, **{str(at): value for at, value in enumerate(values)}}
                value = given.get(field or str(number), ast.Constant(UNKNOWN))
                parts += [ast.Constant(literal), *([] if field is None else [value])]
            found += [
                Text(one.text, choices)
                for one in self._joined(parts)
                if (choices := merge(one.choices, written.choices)) is not None
            ]
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
    """Yield the item of a tuple, or of a dict: all of them if the key is not among its own."""
    node = found.node
    if isinstance(node, (ast.Tuple, ast.List)):
        at = index.value if isinstance(index, ast.Constant) else None
        if isinstance(at, int) and -len(node.elts) <= at < len(node.elts):
            yield found._replace(node=node.elts[at])
    elif isinstance(node, ast.Dict):
        asked = ast.dump(index)
        own = [value for key, value in zip(node.keys, node.values, strict=True) if key and ast.dump(key) == asked]
        yield from (found._replace(node=value) for value in own or node.values)


def _unique(found: Iterable[Found], *choices: tuple[str, int]) -> list[Found]:
    return [*{ast.dump(one.node): one._replace(choices=one.choices | {*choices}) for one in found}.values()]
