"""Every single change to a store's own files: each field of each JSON file, each column of the list, each pack."""

from __future__ import annotations

import copy
import json
import lzma
import pickle
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.store.texts import json_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Mutation", "mutations"]

#: What a parameter type is changed to: one of the same size where there is one.
TYPES = {"ptr": "u64", "u64": "ptr", "u32": "f32", "f32": "u32", "f64": "u64"}
COLUMNS = ("key", "module", "lowered", "params", "name", "types", "names")


class Mutation(NamedTuple):
    """A change of one file: what it is called, and the file's bytes after it."""

    name: str
    file: str
    data: bytes


def mutations(store: Path) -> Iterator[Mutation]:
    """Yield every change, each by itself."""
    for path in sorted(path for path in store.rglob("*") if path.is_file()):
        file, data = path.relative_to(store).as_posix(), path.read_bytes()
        changed = _of_bytes(data)
        if path.suffix == ".json":
            changed = [*_of_json(data)]
        elif path.suffix == ".tsv":
            changed = [*_of_table(data)]
        elif path.suffix == ".xz":
            changed = [*_of_pack(data), *_of_bytes(data)]
        for name, new in changed:
            if new != data:
                yield Mutation(f"{file}: {name}", file, new)


def _of_bytes(data: bytes) -> list[tuple[str, bytes]]:
    flips = {at: bytes([data[at] ^ 1]) for at in (0, len(data) // 3, len(data) // 2, len(data) - 1)} if data else {}
    flipped = [(f"flip {at}", data[:at] + byte + data[at + 1 :]) for at, byte in flips.items()]
    return [("cut", data[:-1]), ("longer", data + b"\0"), ("empty", b""), *flipped]


def _of_pack(data: bytes) -> Iterator[tuple[str, bytes]]:
    yield "stream after", data + lzma.compress(b"more", check=lzma.CHECK_NONE)
    yield "empty stream after", data + lzma.compress(b"", check=lzma.CHECK_NONE)
    yield "padding after", data + bytes(4)
    yield "stream before", lzma.compress(b"more", check=lzma.CHECK_NONE) + data


def _of_table(data: bytes) -> Iterator[tuple[str, bytes]]:
    lines = [line.split("\t") for line in data.decode().splitlines()]
    for at, fields in enumerate(lines):
        name = " ".join(fields[:2])
        yield f"{name} drop", _table(lines[:at] + lines[at + 1 :])
        yield f"{name} double", _table([*lines[:at], fields, *lines[at:]])
        yield f"{name} move", _table([*lines[:at], *lines[at + 1 :], fields])
        for column, word in enumerate(COLUMNS[: len(fields)]):
            for change, value in _of_column(word, fields[column]):
                yield f"{name} {word} {change}", _table(_with(lines, at, column, value))
            for other in [other for other in (at + 1,) if other < len(lines) and column < len(lines[other])]:
                swapped = _with(_with(lines, at, column, lines[other][column]), other, column, fields[column])
                yield f"{name} {word} swap with {' '.join(lines[other][:2])}", _table(swapped)
    yield "last line without end", data[:-1]
    yield "empty line", data + b"\n"
    yield "CRLF", data.replace(b"\n", b"\r\n")


def _of_column(word: str, value: str) -> Iterator[tuple[str, str]]:
    yield "empty", ""
    yield "longer", f"{value}x"
    yield "spaces", f" {value}"
    params = value.split(",") if word == "params" and value else []
    for at, kind in enumerate(params):
        yield f"{at} to {TYPES.get(kind, 'u8')}", ",".join([*params[:at], TYPES.get(kind, "u8"), *params[at + 1 :]])
        yield f"{at} drop", ",".join(params[:at] + params[at + 1 :])


def _with(lines: list[list[str]], at: int, column: int, value: str) -> list[list[str]]:
    changed = [*lines[at][:column], value, *lines[at][column + 1 :]]
    return [*lines[:at], changed, *lines[at + 1 :]]


def _table(lines: list[list[str]]) -> bytes:
    return "".join("\t".join(fields) + "\n" for fields in lines).encode()


def _of_json(data: bytes) -> Iterator[tuple[str, bytes]]:
    tree = json.loads(data)
    for path in _paths(tree):
        for change, new in _changed(tree, path):
            yield f"{_spelled(path)} {change}", json_text(new).encode()
    yield "other spaces", json.dumps(tree, sort_keys=True).encode()
    yield "a key twice", data.replace(b"{\n", b'{\n "schema": 1,\n', 1)
    yield "unknown key", json_text({**tree, "unknown": 1}).encode()


def _paths(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield from _paths(tree[key], (*path, key))


def _changed(tree: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the tree after each change of the value at a path."""
    *above, key = path
    copied = pickle.dumps(tree)  # takes a tenth of what deepcopy takes
    for change in (_drop, _swap, _rename, *(_set(value) for value in _others(_at(tree, path)))):
        new = pickle.loads(copied)
        if (name := change(_at(new, above), key)) is not None:
            yield name, new


def _at(tree: Any, path: Any) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _drop(parent: Any, key: Any) -> str:
    del parent[key]
    return "drop"


def _swap(parent: Any, key: Any) -> str | None:
    """Exchange a value with the next one."""
    keys = [*parent] if isinstance(parent, dict) else [*range(len(parent))]
    after = keys[keys.index(key) + 1 :][:1]
    for other in after:
        parent[key], parent[other] = parent[other], parent[key]
        return f"swap with {other}"
    return None


def _rename(parent: Any, key: Any) -> str | None:
    if not isinstance(parent, dict):
        return None
    parent[f"{key}x"] = parent.pop(key)
    return "rename"


def _set(value: Any) -> Any:
    def change(parent: Any, key: Any) -> str:
        parent[key] = value
        return f"to {json.dumps(value)[:60]}"

    return change


def _others(value: Any) -> list[Any]:
    """Return other values of the same type, and one of another."""
    match value:
        case bool():
            return [not value, None]
        case int():
            return [value + 1, str(value)]
        case str():
            number = re.sub(r"\d(?!.*\d)", lambda found: str((int(found[0]) + 1) % 10), value)
            return [f"{value}x", number, None]
        case list():
            return [[], [*value, copy.deepcopy(value[-1]) if value else "x"], [*reversed(value)], None]
        case dict():
            return [{}, {**value, "x": copy.deepcopy([*value.values()][-1]) if value else "x"}, None]
    return [1, "x", ["x"]]


def _spelled(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")
