"""Kinds of values in a manifest: each reads the value at a place, notes its problems, and has a JSON Schema."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from hatch_cuda_kernels.manifest.yaml_text import (
    Mapping,
    Mark,
    Marked,
    Node,
    Pair,
    Scalar,
    Sequence,
    describe,
    join,
    shorten,
)
from hatch_cuda_kernels.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hatch_cuda_kernels.includes import ProjectFiles


class RefusedError(Exception):
    """A value cannot be used. The reader of the mapping or list around it notes the problem and goes on."""


@dataclass(frozen=True, slots=True)
class ManifestReading:
    """What all places of one manifest share while it is read."""

    filename: str
    files: ProjectFiles
    version: Callable[[], str]
    """Returns the project's version. Raises RefusedError if it is not known."""
    problems: list[Marked] = field(default_factory=list)

    def locate(self, mark: Mark, path: str) -> str:
        """Return a place as problems name it."""
        return f"{self.filename}:{mark.line}:{mark.column}: {path or 'manifest'}"

    def messages(self) -> list[str]:
        """Return the problems in the order of the file."""
        ordered = sorted(self.problems, key=lambda marked: marked[0])
        located = (str(problem._replace(where=self.locate(mark, problem.where))) for mark, problem in ordered)
        return list(dict.fromkeys(located))  # modules of one entry have its problems in common


class Spot(NamedTuple):
    """A value and its path. ``mark`` is what problems point at: the value, or the key that names it."""

    node: Node
    path: str
    mark: Mark
    reading: ManifestReading

    @property
    def where(self) -> str:
        """This place as problems name it."""
        return self.reading.locate(self.mark, self.path)

    def report(self, message: str) -> None:
        """Note a problem at this place."""
        self.reading.problems.append((self.mark, Problem(message, where=self.path)))

    def report_missing(self, key: str, fix: str) -> None:
        """Note that a key this place must have is missing."""
        self.reading.problems.append((self.mark, Problem("missing", fix, join(self.path, key))))

    def item(self, index: int, node: Node) -> Spot:
        """Return the place of a list's item."""
        return Spot(node, f"{self.path}[{index}]", node.mark, self.reading)

    def value(self, pair: Pair) -> Spot:
        """Return the place of a key's value."""
        return Spot(pair.value, join(self.path, pair.key), pair.value.mark, self.reading)

    def key(self, pair: Pair) -> Spot:
        """Return the place of a key."""
        return Spot(pair.value, join(self.path, pair.key), pair.mark, self.reading)


def suggest(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return " (did you mean 'x'?)" for the closest known word, ``otherwise`` if none is close."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else otherwise


def wrong_type(expected: str, spot: Spot, hint: str = "") -> RefusedError:
    """Return the refusal of a value that is not what was expected."""
    return RefusedError(f"expected {expected}, found {describe(spot.node)}{hint}")


IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_Check: TypeAlias = "Callable[[Spot, str], Any]"


class Kind(NamedTuple):
    """One sort of value. ``read`` returns it, notes problems inside it, and raises RefusedError when it is unusable."""

    read: Callable[[Spot], Any]
    schema: dict[str, Any]


class Key(NamedTuple):
    """One key of a table. ``required`` is the fix when it is missing; empty if it may be left out."""

    kind: Kind
    doc: str = ""
    required: str = ""
    instead: str = ""
    """Another key that may be stated in its place, not beside it."""


Table: TypeAlias = dict[str, Key]


class Item(NamedTuple):
    """A value with its place: that of an item in a list, or of the key in a mapping."""

    value: Any
    spot: Spot


def attempt(kind: Kind, spot: Spot) -> Any:  # what the kind reads
    """Read a value; None, with the problem noted, when it is refused."""
    try:
        return kind.read(spot)
    except RefusedError as refusal:
        spot.report(str(refusal))
        return None


def text(expected: str, check: _Check | None = None, *, pattern: str = r"[^\x00-\x1f\x7f]+") -> Kind:
    """Return the kind of a string on one line. ``pattern`` is for the schema and for hints, ``check`` decides."""

    def read(spot: Spot) -> Any:  # what the check returns
        node = spot.node
        if not isinstance(node, Scalar) or node.tag != "str":
            raise wrong_type(expected, spot, _quote_advice(spot, pattern))
        if not node.text:
            raise wrong_type(expected, spot)
        _check_printable(node.text)
        return check(spot, node.text) if check else node.text

    return Kind(read, {"type": "string", "pattern": f"^(?:{pattern})$"})


def _quote_advice(spot: Spot, pattern: str) -> str:
    node = spot.node
    bare = isinstance(node, Scalar) and node.tag != "null" and re.fullmatch(pattern, node.text)
    return f"; quote it: {shorten(bare[0])}" if bare else ""


def _check_printable(value: str) -> None:
    odd = next((character for character in value if not character.isprintable()), None)
    if odd is not None:
        raise RefusedError(f"{shorten(value)} has the character {odd!r}; write it as one line of plain text")


def choice(words: Iterable[str]) -> Kind:
    """Return the kind of one word out of a few."""
    known = {str(word): word for word in words}
    expected = f"one of {', '.join(known)}"

    def check(spot: Spot, value: str) -> str:
        if value not in known:
            raise wrong_type(expected, spot)
        return known[value]

    pattern = "|".join(re.escape(word) for word in known)
    return Kind(text(expected, check, pattern=pattern).read, {"enum": list(known)})


def integer(lowest: int, highest: int) -> Kind:
    """Return the kind of a whole number, written in decimal."""

    def read(spot: Spot) -> int:
        node = spot.node
        if isinstance(node, Scalar) and node.tag == "int" and re.fullmatch(r"0|-?[1-9][0-9]{0,8}", node.text):
            value = int(node.text)
            if lowest <= value <= highest:
                return value
        raise wrong_type(f"a whole number from {lowest} to {highest}", spot)

    return Kind(read, {"type": "integer", "minimum": lowest, "maximum": highest})


def _read_boolean(spot: Spot) -> bool:
    node = spot.node
    if isinstance(node, Scalar) and node.tag == "bool" and node.text.lower() in {"true", "false"}:
        return node.text.lower() == "true"
    raise wrong_type("true or false", spot)


def _read_cpp_text(spot: Spot) -> str:
    if not isinstance(spot.node, Scalar) or spot.node.tag == "null":
        raise wrong_type("C++ text", spot)
    _check_printable(spot.node.text)
    return spot.node.text


def _read_macro_value(spot: Spot) -> Item:
    bare = isinstance(spot.node, Scalar) and spot.node.tag == "null"
    return Item(None if bare else _read_cpp_text(spot), spot)


BOOLEAN: Final = Kind(_read_boolean, {"type": "boolean"})
CPP_TEXT: Final = Kind(_read_cpp_text, {"type": ["string", "number", "boolean"]})
MACRO_VALUE: Final = Kind(_read_macro_value, {"type": ["string", "number", "boolean", "null"]})


def items_of(kind: Kind, *, least: int = 0, unique: bool = True) -> Kind:
    """Return the kind of a list, read into a tuple of Item; duplicates are recognised by their text."""

    def read(spot: Spot) -> tuple[Item, ...]:
        node = spot.node
        if not isinstance(node, Sequence):
            raise wrong_type("a list", spot, _empty_advice(spot, least, "[]"))
        if len(node.items) < least:
            raise RefusedError("the list is empty; give at least one item")
        spots = [spot.item(index, item) for index, item in enumerate(node.items)]
        items = (Item(attempt(kind, found), found) for found in (_unique_spots(spots) if unique else spots))
        return tuple(item for item in items if item.value is not None)

    # To JSON Schema, unlike the reader, 8.1 and 8.10 are equal: only strings can be compared there.
    limits = {"minItems": least, "uniqueItems": unique and kind.schema.get("type") == "string"}
    return Kind(read, {"type": "array", "items": kind.schema} | _nonempty(limits))


def _nonempty(limits: dict[str, Any]) -> dict[str, Any]:
    return {name: limit for name, limit in limits.items() if limit}


def _empty_advice(spot: Spot, least: int, empty: str) -> str:
    left_out = isinstance(spot.node, Scalar) and spot.node.tag == "null" and not least
    return f"; leave the key out or write {empty}" if left_out else ""


def _unique_spots(spots: list[Spot]) -> list[Spot]:
    first: dict[str, int] = {}
    kept = []
    for index, spot in enumerate(spots):
        written = spot.node.text if isinstance(spot.node, Scalar) else None
        if written is not None and first.setdefault(written, index) != index:
            spot.report(f"{shorten(written)} is listed twice (first as [{first[written]}])")
        else:
            kept.append(spot)
    return kept


def list_of(kind: Kind, *, least: int = 0, unique: bool = True) -> Kind:
    """Return the kind of a list, read into a tuple of values."""
    items = items_of(kind, least=least, unique=unique)
    return Kind(lambda spot: tuple(item.value for item in items.read(spot)), items.schema)


def map_of(kind: Kind, *, keys: re.Pattern[str], key_words: str, least: int = 0) -> Kind:
    """Return the kind of a mapping with free keys, read into a dict of Item in the order written."""

    def read(spot: Spot) -> dict[str, Item]:
        node = spot.node
        if not isinstance(node, Mapping):
            raise wrong_type("a mapping", spot, _empty_advice(spot, least, "{}"))
        if len(node.pairs) < least:
            raise RefusedError("the mapping is empty; give at least one entry")
        for pair in node.pairs:
            if not keys.fullmatch(pair.key):
                spot.key(pair).report(f"{shorten(pair.key)} is not {key_words}")
        return {pair.key: Item(attempt(kind, spot.value(pair)), spot.key(pair)) for pair in node.pairs}

    names = {"pattern": f"^(?:{keys.pattern})$"}
    schema = {"type": "object", "propertyNames": names, "additionalProperties": kind.schema}
    return Kind(read, schema | _nonempty({"minProperties": least}))


def table(name: str, keys: Table) -> Kind:
    """Return the kind of a mapping with known keys, read into a dict of those stated; a refused value is None."""

    def read(spot: Spot) -> dict[str, Any]:
        node = spot.node
        if not isinstance(node, Mapping):
            required = any(key.required for key in keys.values())
            raise wrong_type("a mapping", spot, _empty_advice(spot, required, "{}"))
        stated = {pair.key for pair in node.pairs}
        for pair in node.pairs:
            if pair.key not in keys:
                spot.key(pair).report(f"unknown key{_key_advice(pair.key, keys)}")
        for key, details in keys.items():
            if details.required and not stated & {key, details.instead}:
                spot.report_missing(key, details.required)
            if stated >= {key, details.instead}:
                spot.report(f"it has both {key} and {details.instead}; write one of them")
        return {pair.key: attempt(keys[pair.key].kind, spot.value(pair)) for pair in node.pairs if pair.key in keys}

    return Kind(read, {"$ref": f"#/$defs/{name}"})


def _key_advice(key: str, keys: Table) -> str:
    return suggest(key, keys, f"; known here: {', '.join(keys)}")
