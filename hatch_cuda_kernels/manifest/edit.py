"""Changes to a manifest's text that leave everything else as it was written: comments, order, spaces, quotes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["append_item", "has_key"]

#: Text that YAML reads as itself, without quotes, in any place.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?: [A-Za-z0-9_][A-Za-z0-9_.-]*)*")


def has_key(text: str, path: Sequence[str]) -> bool:
    """Return whether a valid manifest states the value at a path of keys."""
    return _find(_compose(text), path) is not None


def append_item(text: str, path: Sequence[str], item: str, *, after: str, default: str = "") -> str:
    """Return the text of a valid manifest with one more item in the list at a path of keys.

    A single word in place of the list becomes its first item. A missing list is added below the key ``after``, and
    begins with ``default`` unless that is empty.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    *above, key = path
    mapping = _find(_compose(text), above)
    assert isinstance(mapping, yaml.MappingNode)  # noqa: S101 - the manifest is valid
    node = _value(mapping, key)
    if node is None:
        items = ", ".join(_written(part) for part in (default, item) if part)
        return mark + _insert_entry(text, mapping, after, f"{key}: [{items}]")
    if isinstance(node, yaml.ScalarNode):
        start, end = node.start_mark.index, node.end_mark.index
        return f"{mark}{text[:start]}[{text[start:end]}, {_written(item)}]{text[end:]}"
    assert isinstance(node, yaml.CollectionNode)  # noqa: S101 - a list, in a valid manifest
    return mark + _insert_item(text, node, _written(item))


def _compose(text: str) -> yaml.Node | None:
    # PyYAML's own parser: libyaml's marks do not count characters.
    node: yaml.Node | None = yaml.compose(text.removeprefix("\ufeff"), Loader=yaml.SafeLoader)
    return node


def _find(node: yaml.Node | None, path: Sequence[str]) -> yaml.Node | None:
    for key in path:
        node = _value(node, key) if isinstance(node, yaml.MappingNode) else None
    return node


def _value(mapping: yaml.MappingNode, key: str) -> yaml.Node | None:
    return next((value for name, value in mapping.value if name.value == key), None)


def _insert_item(text: str, node: yaml.CollectionNode, written: str) -> str:
    if not node.value:
        at = node.start_mark.index + 1
        return f"{text[:at]}{written}{text[at:]}"
    at = node.value[-1].end_mark.index
    if node.flow_style:
        return f"{text[:at]}, {written}{text[at:]}"
    return _insert_line(text, at, f"{' ' * node.start_mark.column}- {written}")


def _insert_entry(text: str, mapping: yaml.MappingNode, after: str, entry: str) -> str:
    key, value = next((key, value) for key, value in mapping.value if key.value == after)
    at = _end(value)
    if mapping.flow_style:
        return f"{text[:at]}, {entry}{text[at:]}"
    return _insert_line(text, at, f"{' ' * key.start_mark.column}{entry}")


def _end(node: yaml.Node) -> int:
    """Return where a value ends; the mark of a block is where the next one begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    return end


def _insert_line(text: str, at: int, line: str) -> str:
    """Insert a line below the one that contains a position."""
    newline = "\r\n" if "\r\n" in text else "\n"
    end = text.find(newline, at)
    end = len(text) if end < 0 else end
    return f"{text[:end]}{newline}{line}{text[end:]}"


def _written(item: str) -> str:
    """Return text as a YAML scalar that is read as this text in any place."""
    return item if _PLAIN.fullmatch(item) and item.lower() != "null" else json.dumps(item, ensure_ascii=False)
