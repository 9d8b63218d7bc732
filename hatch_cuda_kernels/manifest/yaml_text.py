"""YAML text: read into a small immutable tree that keeps raw text and positions, and edited in place.

The tree is built from parser events, not by ``yaml.compose``: that recurses as deep as the text is nested, and its
result does not show which nodes are aliases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import yaml

from hatch_cuda_kernels.errors import Problem
from hatch_cuda_kernels.includes import package_of

if TYPE_CHECKING:
    from hatch_cuda_kernels.options import NvrtcOptions

_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_+-]{1,60}")
_PLAIN_TEXT: Final = re.compile(r"[!-~]{1,40}")
_LONGEST: Final = 60
_TAG_NAMES: Final = {"bool": "the boolean", "float": "the number", "int": "the integer", "timestamp": "the date"}


class Mark(NamedTuple):
    """A position in the text, both numbers from 1."""

    line: int
    column: int


class Scalar(NamedTuple):
    """One value as it was written: ``8.10`` stays ``8.10``, and ``tag`` is the type that YAML 1.1 gives it."""

    text: str
    tag: str
    quoted: bool
    mark: Mark


class Sequence(NamedTuple):
    """A list."""

    items: tuple[Node, ...]
    mark: Mark


class Pair(NamedTuple):
    """One key of a mapping and its value; ``mark`` is the key's."""

    key: str
    value: Node
    mark: Mark


class Mapping(NamedTuple):
    """Pairs in the order written, with distinct keys."""

    pairs: tuple[Pair, ...]
    mark: Mark


Node: TypeAlias = Scalar | Sequence | Mapping
#: A problem whose ``where`` is the path of keys that leads to it (empty at the root), with its position.
Marked: TypeAlias = tuple[Mark, Problem]


def join(path: str, key: str) -> str:
    """Return the path of a key, which is quoted unless it is a plain word."""
    word = key if _PLAIN_KEY.fullmatch(key) else shorten(key)
    return f"{path}.{word}" if path else word


def describe(node: Node) -> str:
    """Return what a node is, for "found ..." in a message."""
    if isinstance(node, Sequence):
        return "a list"
    if isinstance(node, Mapping):
        return "a mapping"
    if node.tag == "null":
        return "nothing"
    if node.tag in _TAG_NAMES:
        return f"{_TAG_NAMES[node.tag]} {node.text if _PLAIN_TEXT.fullmatch(node.text) else shorten(node.text)}"
    return f"the string {shorten(node.text)}"


def shorten(text: str) -> str:
    """Return text in quotes, on one line, cut if it is long."""
    return repr(text) if len(text) <= _LONGEST else f"{text[:_LONGEST]!r}..."


#: libyaml's parser is about ten times faster than PyYAML's own, and most builds of PyYAML have it. On text without
#: these characters, which it accepts in more places, it agrees with PyYAML's own about events and marks.
_DISPUTED: Final = frozenset("\t?!")
_FAST: Final[type[yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_DEEPEST: Final = 32
#: How many values aliases may add to what is written; a manifest needs few, a "billion laughs" file needs 10**9.
_MOST_COPIED: Final = 100_000

#: Commas and the brackets of C++, as far as text shows them: ``a<b``, but not ``a < b``, ``a<<b`` or ``a->b``.
_PUNCTUATION: Final = re.compile(r"[,(\[{}\])]|(?<=\w)<(?![<=])|(?<!-)>(?=\s*(?:$|[>*&:,()\]}]|const\b))")
_OPENER: Final = {")": "(", "]": "[", "}": "{", ">": "<"}
#: People write no longer text between brackets.
_LONGEST_TEXT: Final = 1000
#: What PyYAML was doing when it took text apart and could not go on.
_IN_BRACKETS: Final = re.compile(r"flow|scanning for the next token")
#: A bracket at an error, with what is before it.
_INSIDE: Final = re.compile(r"\S[\[{>]")
#: Where a value in a list or a mapping in brackets may begin.
_BEGINNING: Final = re.compile(r"(?:[\[{,]\s*|:\s+)(?=\w)")

_CORE: Final = "tag:yaml.org,2002:"
#: YAML 1.1 has special tags for ``=`` and ``<<``; here they are text.
_PLAIN_STRINGS: Final = {f"{_CORE}value": "str", f"{_CORE}merge": "str"}
_SCALAR_TAGS: Final = frozenset({"bool", "float", "int", "null", "str"})


def read_tree(text: str) -> tuple[Node | None, list[Marked]]:
    """Return the tree, or None when there is none, and every problem found; never raises for what the text holds."""
    text = text.removeprefix("\ufeff")
    if _DISPUTED.isdisjoint(text):
        try:
            return _compose_events(text, _FAST)
        except (yaml.YAMLError, UnicodeError):
            pass  # PyYAML's own parser words the error better, and the same on every platform
    try:
        return _compose_events(text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        return None, [_syntax_problem(error, text)]


def _compose_events(text: str, loader: type[yaml.SafeLoader]) -> tuple[Node | None, list[Marked]]:
    composer = _Composer(text, loader)
    try:
        return composer.document(), composer.problems
    except _StopError:
        return None, composer.problems


def _syntax_problem(error: yaml.YAMLError, text: str) -> Marked:
    if isinstance(error, yaml.MarkedYAMLError):
        split = _split_at(error.problem_mark, text) if _IN_BRACKETS.search(error.context or "") else ""
        if split:
            return _mark(error.problem_mark), Problem(_quote_it(split))
        message = " ".join(filter(None, ("not valid YAML:", error.problem, error.context)))
        start, end = error.context_mark, error.problem_mark
        since = f" begun at line {start.line + 1}" if start and end and start.line != end.line else ""
        return _mark(end), Problem(f"{message}{since}")
    position = getattr(error, "position", 0)
    *before, line = text[:position].split("\n")
    message = f"not valid YAML: the character U+{ord(text[position]):04X} is not allowed"
    return Mark(len(before) + 1, len(line) + 1), Problem(message)


def _split_at(mark: Any, text: str) -> str:
    """Return the C++ text, in a list or a mapping in brackets, that an error is inside of; empty if there is none."""
    line = dict(enumerate(text.split("\n"))).get(mark.line, "")  # YAML counts lines that end in another way, too
    if not _INSIDE.match(line, max(0, mark.column - 1)):
        return ""
    starts = [found.end() for found in _BEGINNING.finditer(line, 0, mark.column)]
    wholes = ((start, _whole(line, start)) for start in reversed(starts))
    return next((whole for start, whole in wholes if start + len(whole) > mark.column and ": " not in whole), "")


def _whole(line: str, start: int) -> str:
    """Return the C++ text that starts here in a list or a mapping in brackets; empty if its brackets do not match."""
    opened: list[str] = []
    end = min(len(line), start + _LONGEST_TEXT)
    for found in _PUNCTUATION.finditer(line, start, end):
        if found[0] == "," or found[0] in _OPENER:
            if not opened:
                end = found.start()
                break
            if found[0] != "," and opened.pop() != _OPENER[found[0]]:
                return ""
        else:
            opened.append(found[0])
    return "" if opened or line[end : end + 1] in {")", ">"} else line[start:end].rstrip()


def _quote_it(text: str) -> str:
    quote = "'" if '"' in text else '"'
    return f"YAML takes this apart; quote it: {quote}{text}{quote}"


def _mark(mark: Any) -> Mark:  # PyYAML has two classes of marks, libyaml's and its own
    return Mark(mark.line + 1, mark.column + 1)


class _StopError(Exception):
    """The rest of the text cannot be read; the problem is noted already."""


class _Composer:
    def __init__(self, text: str, loader: type[yaml.SafeLoader]) -> None:
        self.loader: Any = loader(text)
        self.problems: list[Marked] = []
        self.anchors: dict[str, tuple[Node | None, int]] = {}
        self.count = 0
        self.copied = 0
        self.lines = dict(enumerate(text.split("\n")))
        self.split: Mark | None = None
        """The end of C++ text that YAML takes for several values: the rest of these, noted already, is skipped."""

    def document(self) -> Node | None:
        self.loader.get_event()
        event = self.loader.get_event()
        if isinstance(event, yaml.StreamEndEvent):
            self.report(event, "", "the file is empty")
            return None
        root = self.node("", 0)
        self.loader.get_event()
        event = self.loader.get_event()
        if not isinstance(event, yaml.StreamEndEvent):
            self.report(event, "", "a second document starts here; keep one")
        return root

    def report(self, event: yaml.Event, path: str, message: str) -> None:
        self.problems.append((_mark(event.start_mark), Problem(message, where=path)))

    def stop(self, event: yaml.Event, path: str, message: str) -> _StopError:
        self.report(event, path, message)
        return _StopError()

    def node(self, path: str, depth: int) -> Node:
        event = self.loader.get_event()
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event, path)
        if depth > _DEEPEST:
            raise self.stop(event, path, f"nested deeper than {_DEEPEST} levels")
        before = self.count
        self.count += 1
        if event.anchor is not None:
            self.anchors[event.anchor] = None, 0
        node = self.content(event, path, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = node, self.count - before
        return node

    def alias(self, event: yaml.AliasEvent, path: str) -> Node:
        name = event.anchor
        if name not in self.anchors:
            raise self.stop(event, path, f"the alias {shorten(f'*{name}')} has no anchor before it")
        node, size = self.anchors[name]
        if node is None:
            raise self.stop(event, path, f"the alias {shorten(f'*{name}')} stands inside its own anchor")
        self.count += size
        self.copied += size
        if self.copied > _MOST_COPIED:
            raise self.stop(event, path, f"aliases expand to more than {_MOST_COPIED} values; write them out")
        return node

    def content(self, event: Any, path: str, depth: int) -> Node:  # one of PyYAML's event classes
        mark = _mark(event.start_mark)
        if isinstance(event, yaml.ScalarEvent):
            return Scalar(event.value, self.scalar_tag(event, path), bool(event.style), mark)
        own = "seq" if isinstance(event, yaml.SequenceStartEvent) else "map"
        if event.tag not in {None, "!", _CORE + own}:
            self.report(event, path, f"unknown tag {shorten(event.tag)}; remove it")
        if own == "seq":
            return Sequence(tuple(self.items(path, depth, flow=event.flow_style)), mark)
        return Mapping(tuple(self.pairs(path, depth, flow=event.flow_style)), mark)

    def scalar_tag(self, event: yaml.ScalarEvent, path: str) -> str:
        if event.tag in {None, "!"}:
            tag: str = self.loader.resolve(yaml.ScalarNode, event.value, event.implicit)
            return _PLAIN_STRINGS.get(tag, tag.removeprefix(_CORE))
        tag = str(event.tag).removeprefix(_CORE)
        if tag in _SCALAR_TAGS:
            return tag
        self.report(event, path, f"unknown tag {shorten(event.tag)}; remove it")
        return "str"

    def items(self, path: str, depth: int, *, flow: bool) -> list[Node]:
        items: list[Node] = []
        while not self.loader.check_event(yaml.SequenceEndEvent):
            event = self.loader.peek_event()
            item = self.node(own := f"{path}[{len(items)}]", depth + 1)
            if self.split is None or _mark(event.start_mark) >= self.split:
                items.append(item)
                self.note_split(item, own, flow=flow)
        self.loader.get_event()
        return items

    def note_split(self, node: Node, path: str, *, flow: bool) -> None:
        """Note a value that is only the first part of C++ text, because a comma ends it."""
        if not flow or not isinstance(node, Scalar) or node.quoted or not node.text or _whole(node.text, 0):
            return
        line, start = self.lines.get(node.mark.line - 1, ""), node.mark.column - 1
        whole = _whole(line, start) if line.startswith(node.text, start) else ""
        if whole:
            self.problems.append((node.mark, Problem(_quote_it(whole), where=path)))
            self.split = Mark(node.mark.line, node.mark.column + len(whole))

    def pairs(self, path: str, depth: int, *, flow: bool) -> list[Pair]:
        pairs: dict[str, Pair] = {}
        while not self.loader.check_event(yaml.MappingEndEvent):
            event = self.loader.peek_event()
            if self.split is not None and _mark(event.start_mark) < self.split:
                self.node(path, depth + 1)
                self.node(path, depth + 1)
                continue
            key = self.key(event, path, depth)
            value = self.node(own := path if key is None else join(path, key), depth + 1)
            self.note_split(value, own, flow=flow)
            if key in pairs:
                self.report(event, join(path, key), f"duplicate key (first at line {pairs[key].mark.line})")
            elif key is not None:
                mark = _mark(event.start_mark)
                if value == Scalar("", "null", quoted=False, mark=value.mark):  # which parsers put in different columns
                    value = value._replace(mark=mark)
                pairs[key] = Pair(key, value, mark)
        self.loader.get_event()
        return list(pairs.values())

    def key(self, event: yaml.Event, path: str, depth: int) -> str | None:
        """Return a key, or None with a problem noted when it is not a string."""
        node = self.node(path, depth + 1)
        if not isinstance(node, Scalar) or node.tag != "str":
            hint = "; quote it" if isinstance(node, Scalar) else ""
            self.report(event, path, f"expected a string as key, found {describe(node)}{hint}")
        elif node.text == "<<" and not node.quoted:
            self.report(event, path, "merge keys (<<) are not supported; write the entries out")
        else:
            return node.text
        return None


#: Text that YAML reads as itself, without quotes, in any place.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?: [A-Za-z0-9_][A-Za-z0-9_.-]*)*")


def has_key(text: str, path: Iterable[str]) -> bool:
    """Return whether a valid manifest states the value at a path of keys."""
    return _find(text, path) is not None


def append_item(text: str, path: Iterable[str], item: str | dict[str, str], *, after: str, default: str = "") -> str:
    """Return the text of a valid manifest with one more item in the list at a path of keys.

    A single word becomes the list's first item. A missing list is added below the key ``after``, from ``default`` on.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    *above, key = path
    mapping = _find(text, above)
    assert isinstance(mapping, yaml.MappingNode)  # noqa: S101 - the manifest is valid
    node, written = _value(mapping, key), _as_node(item)
    if node is None:
        items = ", ".join([*([_as_scalar(default)] if default else []), written])
        name, value = next((name, value) for name, value in mapping.value if name.value == after)
        return mark + _insert(text, mapping, _end(value, text), f"{key}: [{items}]", name.start_mark.column)
    start, end = node.start_mark.index, node.end_mark.index
    if text[start] == "*":  # an alias: what it stands for is others' list, too
        return f"{mark}{text[:start]}[{', '.join([*_items_of(node), written])}]{text[end:]}"
    if isinstance(node, yaml.ScalarNode):
        return f"{mark}{text[:start]}[{text[start:end]}, {written}]{text[end:]}"
    assert isinstance(node, yaml.CollectionNode)  # noqa: S101 - a list, in a valid manifest
    if not node.value:
        return f"{mark}{text[: end - 1]}{written}{text[end - 1 :]}"
    written = written if node.flow_style else f"- {written}"
    first = node.value[0].start_mark
    column = first.column - first.index + text.rfind("-", 0, first.index)  # before the list may be an anchor
    return mark + _insert(text, node, _end(node.value[-1], text), written, column)


def _insert(text: str, inside: yaml.CollectionNode, at: int, written: str, column: int) -> str:
    if inside.flow_style:
        return f"{text[:at]}, {written}{text[at:]}"
    newline = "\r\n" if "\r\n" in text else "\n"
    end = text.find(newline, at)
    end = len(text) if end < 0 else end
    return f"{text[:end]}{newline}{' ' * column}{written}{text[end:]}"


class _Loader(yaml.SafeLoader):
    """PyYAML's own parser, because libyaml's marks do not count characters. An alias has its own place."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # as PyYAML calls it
        event = self.peek_event()  # type: ignore[no-untyped-call]
        node: yaml.Node | None = super().compose_node(parent, index)
        if isinstance(event, yaml.AliasEvent) and node is not None:
            node = copy(node)
            node.start_mark, node.end_mark = event.start_mark, event.end_mark
        return node


def _find(text: str, path: Iterable[str]) -> yaml.Node | None:
    node: yaml.Node | None = yaml.compose(text.removeprefix("\ufeff"), Loader=_Loader)
    for key in path:
        node = _value(node, key) if isinstance(node, yaml.MappingNode) else None
    return node


def _value(mapping: yaml.MappingNode, key: str) -> yaml.Node | None:
    return next((value for name, value in mapping.value if name.value == key), None)


def _end(node: yaml.Node, text: str) -> int:
    is_alias = text.startswith("*", node.start_mark.index)
    if isinstance(node, yaml.CollectionNode) and not (node.flow_style or is_alias) and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last, text)
    end: int = node.end_mark.index
    return end


def _as_node(item: str | dict[str, str]) -> str:
    if isinstance(item, str):
        return _as_scalar(item)
    keys = {key: key if yaml.safe_load(key) == key else json.dumps(key) for key in item}
    return f"{{{', '.join(f'{keys[key]}: {_as_scalar(value)}' for key, value in item.items())}}}"


def _items_of(node: yaml.Node) -> list[str]:
    """Return the items of a list, or a single word, as they can be written elsewhere."""
    items = node.value if isinstance(node, yaml.SequenceNode) else [node]
    pairs = (
        {name.value: value.value for name, value in one.value} if isinstance(one.value, list) else one.value
        for one in items
    )
    return [*map(_as_node, pairs)]


def _as_scalar(item: str) -> str:
    """Return text as a YAML scalar that is read as this text in any place."""
    return item if _PLAIN.fullmatch(item) and item.lower() != "null" else json.dumps(item, ensure_ascii=False)


def module_names(sources: Iterable[str]) -> Iterator[str]:
    """Yield what sources' modules are called: their names without suffixes, in letters that a module may have."""
    taken: dict[str, int] = {}
    for source in sources:
        stem = re.sub(r"\W", "_", source.rpartition("/")[2].partition(".")[0], flags=re.ASCII)
        name = stem if stem[:1].isalpha() or stem[:1] == "_" else f"_{stem}"
        taken[name] = taken.get(name, 0) + 1
        yield name if taken[name] == 1 else f"{name}_{taken[name]}"


def stated_options(options: NvrtcOptions) -> dict[str, Any]:
    """Return what a manifest states of options, but for those that every module has."""
    values = ((one, getattr(options, one.name)) for one in fields(options))
    stated = {one.name: value for one, value in values if value != one.default}
    stated |= {"include": [*map(_include_item, options.include)]} if options.include else {}
    return stated | ({"define": dict(options.define)} if options.define else {})


def _include_item(path: str) -> str | dict[str, str]:
    package = package_of(path)
    return {"package": package[1:], "folder": path[len(package) + 1 :]} if package else path


def flow(value: object) -> str:
    """Return a value as YAML on one line; text in quotes unless it is a plain word."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{flow(key)}: {flow(one)}' for key, one in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w./-]*", value, re.ASCII):
        return value
    return json.dumps(value, ensure_ascii=False)
