"""What a YAML file becomes: a small immutable tree that keeps raw text and positions."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias

from hatch_cuda_kernels.problem import Problem

__all__ = ["Mapping", "Mark", "Marked", "Node", "Pair", "Scalar", "Sequence", "describe", "join", "shorten"]

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
