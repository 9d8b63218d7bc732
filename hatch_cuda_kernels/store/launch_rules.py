"""Rules of the manifest's ``launch:``: how a kernel, or each instance of a template, is launched without brackets.

Sizes are expressions of the arguments: ``ceil_div(n, 256)``, ``x.shape[0] * {BLOCK}``. Python's parser reads them, and
they never run as they are written: each node is checked, and its meaning is written again, with positions in place
of names. So a store's text cannot become any other Python code.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from hatch_cuda_kernels.errors import suggest
from hatch_cuda_kernels.names import base_name, fill_known, match, normalize_name, placeholders
from hatch_cuda_kernels.records import NamedTuple

#: The most that a grid or block has.
_MOST_SIZES: Final = 3
#: The most characters besides spaces; what is longer might nest deeper than Python's parser goes.
_LONGEST: Final = 200
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.,+*/%(){}\[\] -]+")
_NOT_DECIMAL: Final = re.compile(r"(?<![A-Za-z0-9_])[0-9]+[A-Za-z_.][A-Za-z0-9_.]*")
_OPERATORS: Final[dict[type[ast.operator], tuple[str, Callable[[int, int], int]]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
}
_FUNCTIONS: Final = ("min", "max", "ceil_div")
_HELP: Final = "write integers, parameters, x.size, x.shape[0], + - * // %, min, max and ceil_div"


class LaunchRule(NamedTuple):
    """How a kernel is launched: its sizes as expressions of its parameters."""

    kernel: str
    """A kernel, a template for all its instances, or a pattern of instances."""
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared_mem: str = "0"
    attributes: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """``cluster``, ``cooperative``, ``pdl``, ``priority`` and ``carveout``, if they are stated."""
    names: tuple[str, ...] = ()
    """The parameters as the source calls them; empty for one without a name."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the index."""
        return {
            **self._asdict(), "grid": list(self.grid), "block": list(self.block), "names": list(self.names),
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LaunchRule:
        """Read what ``to_json`` wrote, and an index's shape holds."""
        values = {field: data[field] for field in cls._fields}
        return cls(**values | {name: tuple(values[name]) for name in ("grid", "block", "names")})

    def values(self, name: str) -> dict[str, str] | None:
        """Return the template arguments that its placeholders stand for in a kernel's name; None if it is another's."""
        if placeholders(self.kernel):
            return match(self.kernel, name)
        return {} if normalize_name(self.kernel) in {normalize_name(name), base_name(name)} else None

    def python_texts(self, spelled: Sequence[str], values: dict[str, str]) -> tuple[str, ...]:
        """Return grid, block and shared memory as Python text, parameters as ``spelled``. Raises ExpressionError."""
        names = dict(zip(self.names, spelled, strict=True))
        if not 1 <= min(len(self.grid), len(self.block)) <= max(len(self.grid), len(self.block)) <= 3:
            raise ExpressionError("one to three sizes belong to a grid and to a block")
        sizes = [[python_text(text, names, values) for text in part] for part in (self.grid, self.block)]
        joined = (part[0] if len(part) == 1 else f"({', '.join(part)})" for part in sizes)
        return *joined, python_text(self.shared_mem, names, values)

    def with_axes(self, axes: Mapping[str, str]) -> LaunchRule:
        """Return the rule with the values of some placeholders. Raises ExpressionError for one that is no integer."""

        def filled(size: str) -> str:
            used = [name for name in placeholders(size) if name in axes]
            return fill_known(size, {name: python_text(axes[name], {}, {}) for name in used})

        grid, block = (tuple(map(filled, sizes)) for sizes in (self.grid, self.block))
        kernel, shared_mem = fill_known(self.kernel, axes), filled(self.shared_mem)
        return self._replace(kernel=kernel, grid=grid, block=block, shared_mem=shared_mem)

    def __str__(self) -> str:
        shared = {} if self.shared_mem == "0" else {"shared_mem": self.shared_mem}
        stated = {"grid": _sizes(self.grid), "block": _sizes(self.block), **shared, **self.attributes}
        return ", ".join(f"{key} {value}" for key, value in stated.items())


def find_rule(rules: Iterable[LaunchRule], name: str) -> LaunchRule | None:
    """Return the rule for a kernel: its own, its pattern's, or its template's."""

    def rank(rule: LaunchRule) -> int:
        return 2 if normalize_name(rule.kernel) == normalize_name(name) else 1 if placeholders(rule.kernel) else 0

    return max((rule for rule in rules if rule.values(name) is not None), key=rank, default=None)


def _sizes(texts: tuple[str, ...]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


class ExpressionError(ValueError):
    """A text is not an expression of sizes."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def split_sizes(text: str) -> tuple[str, ...]:
    """Return the one to three sizes of a text, spelled in one way. Raises ExpressionError with all that is wrong."""
    body = _parse(text)
    parts = body.elts if isinstance(body, ast.Tuple) else [body]
    if not 1 <= len(parts) <= _MOST_SIZES:
        raise ExpressionError(f"{len(parts)} sizes, where there are one to {_MOST_SIZES}")
    _checked(*parts)
    return tuple(map(ast.unparse, parts))


def canonical(text: str) -> str:
    """Return one size, spelled in one way. Raises ExpressionError as ``split_sizes`` does."""
    sizes = split_sizes(text)
    if len(sizes) != 1:
        raise ExpressionError(f"{len(sizes)} sizes in place of one")
    return sizes[0]


def placeholders_of(text: str) -> frozenset[str]:
    """Return the names in braces. Raises ExpressionError."""
    return frozenset(_checked(_parse(text)).placeholders)


def python_text(text: str, parameters: Mapping[str, str], values: Mapping[str, str]) -> str:
    """Return one size as Python text, with names and ``{placeholders}`` replaced. Raises ExpressionError."""
    return _checked(_parse(text), parameters=parameters, values=values).texts[0]


def _parse(text: str) -> ast.expr:
    found = _NOT_DECIMAL.search(text)
    if found:
        raise ExpressionError(f"{found[0]!r} is not an integer in decimal")
    if not _PLAIN.fullmatch(text) or len(text.replace(" ", "")) > _LONGEST:
        raise ExpressionError(f"{text[:60]!r} is not an expression of at most {_LONGEST} characters; {_HELP}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{text!r} is not an expression; {_HELP}") from None


def _checked(
    *nodes: ast.expr, parameters: Mapping[str, str] | None = None, values: Mapping[str, str] | None = None
) -> _Writer:
    writer = _Writer(parameters, values)
    writer.texts = [writer.write(node) for node in nodes]
    if writer.problems:
        raise ExpressionError(*dict.fromkeys(writer.problems))
    return writer


class _Writer:
    def __init__(self, parameters: Mapping[str, str] | None, values: Mapping[str, str] | None) -> None:
        self.texts: list[str] = []
        self.problems: list[str] = []
        self.placeholders: set[str] = set()
        self._parameters = parameters
        self._values = values

    def write(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                text = str(value)
            case ast.Name(id=name):
                text = self._parameter(name)
            case ast.Set(elts=[ast.Name(id=name)]):
                text = self._placeholder(name)
            case ast.Attribute(value=ast.Name(id=name), attr="size"):
                text = f"size({self._parameter(name)})"
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=place) if _is_place(
                place
            ):
                text = f"shape({self._parameter(name)})[{ast.unparse(place)}]"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                self._refuse_zero(node, op, right)
                text = f"({self.write(left)} {_OPERATORS[type(op)][0]} {self.write(right)})"
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                text = self._call(node, name, args)
            case _:
                text = self._problem(f"{ast.unparse(node)!r} is not allowed; {_HELP}")
        return text

    def _call(self, node: ast.expr, name: str, args: list[ast.expr]) -> str:
        texts = [self.write(arg) for arg in args]
        if name not in _FUNCTIONS:
            return self._problem(f"unknown function {name!r}{suggest(name, _FUNCTIONS)}")
        if len(texts) < 2 or (name == "ceil_div" and len(texts) > 2):
            return self._problem(f"{name} takes two arguments{'' if name == 'ceil_div' else ' or more'}")
        if name != "ceil_div":
            return f"{name}({', '.join(texts)})"
        self._refuse_zero(node, ast.FloorDiv(), args[1])
        return f"(-(-{texts[0]} // {texts[1]}))"

    def _parameter(self, name: str) -> str:
        if self._parameters is None:
            return name
        if name not in self._parameters:
            known = ", ".join(self._parameters) or "none"
            return self._problem(f"unknown name {name!r}{suggest(name, self._parameters)}; the parameters are {known}")
        return self._parameters[name]

    def _placeholder(self, name: str) -> str:
        self.placeholders.add(name)
        if self._values is None:
            return name
        if name not in self._values:
            return self._problem(f"unknown placeholder {{{name}}}{suggest(name, self._values)}")
        try:
            return python_text(self._values[name], {}, {})
        except ExpressionError:
            return self._problem(f"{{{name}}} is {self._values[name]!r}, which is not an integer")

    def _refuse_zero(self, node: ast.expr, op: ast.operator, divisor: ast.expr) -> None:
        if isinstance(op, ast.FloorDiv | ast.Mod) and _constant(divisor) == 0:
            self._problem(f"{ast.unparse(node)!r} divides by zero")

    def _problem(self, text: str) -> str:
        self.problems.append(text)
        return "0"


def _is_place(node: ast.expr) -> bool:
    """Return whether a node is an integer, which may be negative: an extent counted from the last."""
    number = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(number, ast.Constant) and type(number.value) is int


def _constant(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            first, second = _constant(left), _constant(right)
            if first is not None and second is not None and (second or type(op) not in {ast.FloorDiv, ast.Mod}):
                return _OPERATORS[type(op)][1](first, second)
    return None
