"""Reads YAML text into a tree.

The tree is built from parser events, not by ``yaml.compose``: that recurses as deep as the text is nested, and its
result does not show which nodes are aliases.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from hatch_cuda_kernels.manifest.yaml_tree import (
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

__all__ = ["read_tree"]

#: libyaml's parser is about ten times faster than PyYAML's own, and most builds of PyYAML have it. On text without
#: these characters, which it accepts in more places, it agrees with PyYAML's own about events and marks.
_DISPUTED: Final = frozenset("\t?!")
_FAST: Final[type[yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_DEEPEST: Final = 32
#: How many values aliases may add to what is written; a manifest needs few, a "billion laughs" file needs 10**9.
_MOST_COPIED: Final = 100_000

#: Commas, and what C++ has in pairs as far as its text tells: ``a<b``, but not ``a < b``, ``a<<b`` or ``a->b``.
_PUNCTUATION: Final = re.compile(r"[,(\[{}\])]|(?<=\w)<(?![<=])|(?<!-)>(?=\s*(?:$|[>*&:,()\]}]|const\b))")
_OPENER: Final = {")": "(", "]": "[", "}": "{", ">": "<"}
#: No text is longer that people write between brackets.
_LONGEST_TEXT: Final = 1000
#: What PyYAML was doing where text is taken apart in such a way that it cannot go on.
_IN_BRACKETS: Final = re.compile(r"flow|scanning for the next token")
#: A bracket at an error, with what is before it.
_INSIDE: Final = re.compile(r"\S[\[{>]")
#: Where a value in a list or a mapping in brackets may begin.
_BEGINNING: Final = re.compile(r"(?:[\[{,]\s*|:\s+)(?=\w)")

_CORE: Final = "tag:yaml.org,2002:"
#: YAML 1.1 gives ``=`` and ``<<`` tags of their own; here they are text.
_PLAIN_STRINGS: Final = {f"{_CORE}value": "str", f"{_CORE}merge": "str"}
_SCALAR_TAGS: Final = frozenset({"bool", "float", "int", "null", "str"})


def read_tree(text: str) -> tuple[Node | None, list[Marked]]:
    """Return the tree, or None when there is none, and every problem found; never raises for what the text holds."""
    text = text.removeprefix("\ufeff")
    if _DISPUTED.isdisjoint(text):
        try:
            return _Composer(text, _FAST).compose()
        except (yaml.YAMLError, UnicodeError):
            pass  # PyYAML's own parser words the error better, and the same on every platform
    try:
        return _Composer(text, yaml.SafeLoader).compose()
    except yaml.YAMLError as error:
        return None, [_syntax_problem(error, text)]


def _syntax_problem(error: yaml.YAMLError, text: str) -> Marked:
    if isinstance(error, yaml.MarkedYAMLError):
        split = _split_at(error.problem_mark, text) if _IN_BRACKETS.search(error.context or "") else ""
        if split:
            return _mark(error.problem_mark), Problem(_quote_it(split))
        return _mark(error.problem_mark), Problem(_syntax_message(error))
    position = getattr(error, "position", 0)
    *before, line = text[:position].split("\n")
    message = f"not valid YAML: the character U+{ord(text[position]):04X} is not allowed"
    return Mark(len(before) + 1, len(line) + 1), Problem(message)


def _syntax_message(error: yaml.MarkedYAMLError) -> str:
    message = " ".join(filter(None, ("not valid YAML:", error.problem, error.context)))
    start, end = error.context_mark, error.problem_mark
    since = f" begun at line {start.line + 1}" if start and end and start.line != end.line else ""
    return f"{message}{since}"


def _split_at(mark: Any, text: str) -> str:
    """Return the C++ text in a list or a mapping in brackets in whose midst an error is; empty if there is none."""
    line = _line(text.split("\n"), mark.line)
    if not _INSIDE.match(line, max(0, mark.column - 1)):
        return ""
    starts = [found.end() for found in _BEGINNING.finditer(line, 0, mark.column)]
    wholes = ((start, _whole(line, start)) for start in reversed(starts))
    return next((whole for start, whole in wholes if start + len(whole) > mark.column and ": " not in whole), "")


def _line(lines: list[str], number: int) -> str:
    """Return a line of the text; empty where YAML counts lines that end in another way."""
    return lines[number] if number < len(lines) else ""


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
    """One pass over the events of one text."""

    def __init__(self, text: str, loader: type[yaml.SafeLoader]) -> None:
        self.loader: Any = loader(text)
        self.problems: list[Marked] = []
        self.anchors: dict[str, tuple[Node | None, int]] = {}
        self.count = 0
        self.copied = 0
        self.lines = text.split("\n")
        self.split: Mark | None = None
        """The end of C++ text that YAML takes for several values; the rest of these are skipped."""

    def compose(self) -> tuple[Node | None, list[Marked]]:
        try:
            root = self.document()
        except _StopError:
            root = None
        return root, self.problems

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
            if not self.is_rest(event):
                items.append(item)
                self.note_split(item, own, flow=flow)
        self.loader.get_event()
        return items

    def is_rest(self, event: yaml.Event) -> bool:
        """Return whether a value is the rest of one that is told to be taken apart."""
        return self.split is not None and _mark(event.start_mark) < self.split

    def note_split(self, node: Node, path: str, *, flow: bool) -> None:
        """Note a value that is only the first part of C++ text, because a comma ends it."""
        if not flow or not isinstance(node, Scalar) or node.quoted or not node.text or _whole(node.text, 0):
            return
        line, start = _line(self.lines, node.mark.line - 1), node.mark.column - 1
        whole = _whole(line, start) if line.startswith(node.text, start) else ""
        if whole:
            self.problems.append((node.mark, Problem(_quote_it(whole), where=path)))
            self.split = Mark(node.mark.line, node.mark.column + len(whole))

    def pairs(self, path: str, depth: int, *, flow: bool) -> list[Pair]:
        pairs: dict[str, Pair] = {}
        while not self.loader.check_event(yaml.MappingEndEvent):
            event = self.loader.peek_event()
            if self.is_rest(event):
                self.node(path, depth + 1)
                self.node(path, depth + 1)
                continue
            key = self.key(event, path, depth)
            value = self.node(own := path if key is None else join(path, key), depth + 1)
            self.note_split(value, own, flow=flow)
            if key in pairs:
                self.report(event, join(path, key), f"duplicate key (first at line {pairs[key].mark.line})")
            elif key is not None:
                pairs[key] = _pair(key, value, _mark(event.start_mark))
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


def _pair(key: str, value: Node, mark: Mark) -> Pair:
    """Make a pair; a value left out is placed at its key, because the two parsers put it in different columns."""
    left_out = value == Scalar("", "null", quoted=False, mark=value.mark)
    return Pair(key, Scalar("", "null", quoted=False, mark=mark) if left_out else value, mark)
