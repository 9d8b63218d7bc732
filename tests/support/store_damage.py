"""Damage done to a store's files: wrong types and lengths anywhere, bytes that are no text, names that lead out."""

from __future__ import annotations

import copy
import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.store.texts import DIGESTS_FILE, digests_text

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["damage", "patch_source"]

NESTED: Any = []
for _ in range(150):
    NESTED = [NESTED]
#: What stands in place of a value, whatever its type was.
VALUES = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**30, 1.5, float("inf"), float("nan"), "", "x", "0", "13.0", "9.x",
    "sm_90", "compute_9999999999990", "..", "../x", "/etc/passwd", "C:x", "a\\..\\..\\b", "a/../../b", "\0", "\ud800",
    "é", "x" * 5000, [], [1], [None], ["x"], [["a", "b", "c"]], [[]], {}, {"x": 1}, {"": {}},
    {"file": "../x", "at": 0, "size": 5, "skip": 0}, NESTED,
)  # fmt: skip


def patch_source(store: Path, name: str, old: str, new: str) -> None:
    """Change a source as whoever patches a package does: with its digest in each index, and theirs in turn."""
    path = store / "project.source" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    for index in store.glob("*/index.json"):
        data = json.loads(index.read_text())
        if name in data["files"]:
            data["files"][name] = sha256(path.read_bytes()).hexdigest()
            index.write_text(json.dumps(data))
    (store / DIGESTS_FILE).write_text(digests_text(store))


def damage(rng: random.Random, path: Path) -> bytes:
    """Return a file's bytes with one to three things wrong in them."""
    data = path.read_bytes()
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        changes: list[Callable[[random.Random, bytes], bytes]] = [*BYTES]
        if path.suffix == ".json":
            changes += [change_json] * 12
        elif path.suffix == ".tsv":
            changes += [change_line] * 8
        data = rng.choice(changes)(rng, data)
    return data


def cut(rng: random.Random, data: bytes) -> bytes:
    """Lose the end."""
    return data[: rng.randrange(len(data) + 1)]


def flip(rng: random.Random, data: bytes) -> bytes:
    """Change a byte."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def insert(rng: random.Random, data: bytes) -> bytes:
    """Put something in between."""
    at = rng.randrange(len(data) + 1)
    return (
        data[:at]
        + rng.choice((b"\0", b"\xff\xfe", b"\n", b"\t", b'"', b"[" * 5000, b"9" * 5000, b"\xed\xa0\x80"))
        + data[at:]
    )


def drop(rng: random.Random, data: bytes) -> bytes:
    """Lose something in between."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.randrange(1, 50) :]


def replace(rng: random.Random, _: bytes) -> bytes:
    """Have another file altogether."""
    return rng.choice(
        (
            b"",
            b"{}",
            b"[]",
            b"null",
            b'"x"',
            b"1",
            b"[" * 100_000,
            b"\xff\xfe\x00",
            b"\n",
            b"\t\t\t\t\n",
            rng.randbytes(200),
        )
    )


BYTES = (cut, flip, insert, drop, replace)


def change_json(rng: random.Random, data: bytes) -> bytes:
    """Change, remove or add a value somewhere in JSON."""
    try:
        root = copy.deepcopy(json.loads(data))
    except (ValueError, RecursionError):
        return data
    places = [*_places(root)]
    if not places:
        return json.dumps(rng.choice(VALUES)).encode()
    parent, key = rng.choice(places)
    action = rng.random()
    if action < 0.15:
        del parent[key]
    elif action < 0.25 and isinstance(parent, dict):
        parent[str(rng.choice(VALUES))] = parent.pop(key)
    elif action < 0.3 and isinstance(parent, list):
        parent.append(parent[key])
    else:
        parent[key] = rng.choice(VALUES)
    return json.dumps(root, ensure_ascii=rng.random() < 0.9).encode(errors="surrogatepass")


def _places(value: Any, depth: int = 0) -> Any:
    """Yield every container with each of its keys."""
    if depth > 50:
        return
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key], depth + 1)


def change_line(rng: random.Random, data: bytes) -> bytes:
    """Change a field of a line, or the order of lines."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    at = rng.randrange(len(lines))
    if rng.random() < 0.2:
        rng.shuffle(lines)
    else:
        fields = lines[at].rstrip(b"\n").split(b"\t")
        other = rng.choice([value for value in VALUES if isinstance(value, str)]).encode(errors="surrogatepass")
        fields[rng.randrange(len(fields))] = rng.choice(
            (other, b"reduce", b"saxpy", b"zz", b"b8[16]:8,b8[1]:0", b"u64,zz")
        )
        lines[at] = b"\t".join(fields) + b"\n"
    return b"".join(lines)
