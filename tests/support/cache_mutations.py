"""Descriptions and bundles as malice or chance could change them, from a seed: ``python cache_mutations.py COUNT``."""

from __future__ import annotations

import copy
import io
import json
import random
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from cache_entries import entry_of, key_of, reopen

from hatch_cuda_kernels.cache.bundle import export_bundle, import_bundle
from hatch_cuda_kernels.cache.entry import BadEntryError, Entry, description_digest, parse_description
from hatch_cuda_kernels.errors import InputError

#: What nobody expects in a description.
ODD = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**400, 10**4000, 0.5, -0.5, 1e308, float("inf"),
    float("-inf"), float("nan"), "", "1", "x" * 10_000, "\x1b]0;title\x07", "\x00", "\ud800", "\u202e", "../../x", "\n",
    "sm_90", "sm_" + "9" * 5000, "sm_999999999999", "compute_90", "sm_9\u0660", "image.ptx", "ptx", "cubin",
    "2026-13-45T99:99:99+00:00", "2026-01-01", [], {}, [[]], [[[]]], [None], [["k"]], [["k", "l", "p"]],
    [["k", "l", [1]]], [1, 2, 3], {"a": 1}, {"a": {"b": -1}}, {"a": {"b": 1.5}}, {"": {"": {}}}, [[1, 2], [3, 4]],
)  # fmt: skip
SAMPLE = entry_of(0, 300, log="warning", wanted="k<int>")


def odd_description(chance):
    """Return the text of a description of which something is changed, as a rule with its digest made right."""
    text = SAMPLE.to_json()
    if chance.random() < 0.15:
        return odd_bytes(chance, text.encode())
    data = json.loads(text)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        change(chance, data)
    if chance.random() < 0.95:
        data["check"] = description_digest(data)
    return json.dumps(data, sort_keys=chance.random() < 0.5).encode()


def change(chance, node):
    """Change something in a tree of JSON, wherever it is."""
    while True:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        if not keys:
            return
        key = chance.choice(list(keys))
        if not isinstance(node[key], dict | list) or not node[key] or chance.random() < 0.4:
            break
        node = node[key]
    action = chance.randrange(6)
    if action == 0:
        del node[key]
    elif action == 1 and isinstance(node, list):
        node.insert(key, odd_value(chance))
    elif action == 2 and isinstance(node, dict):
        node[chance.choice(("wanted", "new", "schema", "\x1b", ""))] = odd_value(chance)
    else:
        node[key] = odd_value(chance)


def odd_value(chance):
    """Return something that nobody expects, which may be changed."""
    return copy.deepcopy(chance.choice(ODD))


def odd_bytes(chance, data):
    """Return bytes with some of them flipped, cut out, repeated, or put elsewhere."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((1, 1, 2, 4, 30, 1000)))
        action = chance.randrange(5)
        if action == 0:
            data[start:end] = bytes(chance.randrange(256) for _ in range(end - start))
        elif action == 1:
            del data[start:end]
        elif action == 2:
            data[start:start] = data[start:end]
        elif action == 3:
            data[start:end] = chance.choice((b"\xff", b"\0")) * (end - start)
        elif start < end:
            data[start] ^= 1 << chance.randrange(8)
    return bytes(data)


def odd_bundle(chance, bundle):
    """Return the bytes of a bundle of which something is changed: its own bytes, or what its members are."""
    if chance.random() < 0.5:
        return odd_bytes(chance, bundle)
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    place = chance.randrange(len(members))
    name, data = members[place]
    if name.endswith(".json") and chance.random() < 0.7:
        members[place] = (f"{key_of(0)}/entry.json", odd_description(chance))
        members = [members[place], (f"{key_of(0)}/image.cubin", SAMPLE.image)]
    elif chance.random() < 0.5:
        members[place] = (odd_bytes(chance, name.encode()).decode("latin-1").partition("\0")[0] or "x", data)
    else:
        members[place] = (name, odd_bytes(chance, data))
    out = io.BytesIO()
    with zipfile.ZipFile(
        out, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    ) as made:
        for member, content in dict(members).items():
            made.writestr(member, content)
    return out.getvalue()


def check_entry(entry):
    """Fail unless everything in an entry is of its type, and it can be written and read again."""
    assert all(type(text) is str for text in (entry.key, entry.module, entry.log, entry.created, entry.wanted))
    assert entry.kind in ("cubin", "ptx", "ltoir")
    assert type(entry.image) is bytes
    assert type(entry.seconds) in (int, float)
    assert entry.seconds >= 0
    assert str(entry.arch)
    assert len(entry.ptx_isa) == 2
    assert all(type(part) is int and part >= 0 for part in entry.ptx_isa)
    for symbol in (*entry.kernels, *entry.globals):
        assert all(type(text) is str for text in (symbol.name, symbol.lowered, *symbol.params))
    assert all(type(text) is str for pair in entry.toolchain.items() for text in pair)
    numbers = [number for row in entry.resources.values() for number in row.values()]
    assert all(type(number) is int and number >= 0 for number in numbers)
    time.strptime(entry.created.translate(str.maketrans("123456789", "111111111")), "%Y-%m-%dT%H:%M:%S+00:00")
    files = entry.files()
    assert Entry.from_json(parse_description(files["entry.json"], entry.key), files[entry.file]) == entry


def check_message(error):
    """Fail unless a message is fit for a line on a terminal."""
    text = str(error)
    assert len(text) < 400
    assert text.isprintable()


def try_description(chance):
    """Read a changed description; return whether it was taken. Fails for anything but an entry or BadEntryError."""
    try:
        data = parse_description(odd_description(chance), SAMPLE.key)
        entry = None if data is None else Entry.from_json(data, SAMPLE.image)
    except BadEntryError as error:
        check_message(error)
        return False
    if entry is not None:
        check_entry(entry)
    return entry is not None


def try_bundle(chance, bundle, file):
    """Import a changed bundle; return whether it was taken. Fails for anything but entries or InputError."""
    file.write_bytes(odd_bundle(chance, bundle))
    cache = reopen(None)
    kept = []
    cache.put = lambda entry: not kept.append(entry)
    try:
        import_bundle(cache, file)
    except InputError as error:
        check_message(error)
        return bool(kept)
    for entry in kept:
        check_entry(entry)
    return True


def sample_bundle(folder):
    """Return the bytes of a bundle of three entries."""
    for entry in (SAMPLE, entry_of(1, 200, kind="ptx"), entry_of(2, 100, kind="ltoir")):
        reopen(folder / "cache").put(entry)
    export_bundle(reopen(folder / "cache"), folder / "bundle")
    return (folder / "bundle").read_bytes()


if __name__ == "__main__":
    count, taken = int(sys.argv[1]), [0, 0]
    with tempfile.TemporaryDirectory() as name:
        sample = sample_bundle(Path(name))
        for seed in range(count):
            taken[0] += try_description(random.Random(seed))
            taken[1] += try_bundle(random.Random(seed), sample, Path(name, "odd"))
    sys.stdout.write(f"of {count} descriptions {taken[0]} were taken, of {count} bundles {taken[1]}\n")
