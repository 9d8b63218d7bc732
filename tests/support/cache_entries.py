"""Entries made by hand, so that the cache is tested without a compiler, and what tests do to them on disk."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from contextlib import contextmanager
from pathlib import Path

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.cache import DiskCache, Entry, files
from hatch_cuda_kernels.cache.entry import description_digest
from hatch_cuda_kernels.image import Symbol

MIB = 1 << 20

_SAMPLE = Entry(
    key="", module="m", kind="cubin", arch=SmArch(9, 0, "a"), image=b"",
    kernels=(Symbol("k<int>", "_Z1kIiEvv", ("u64", "b8[16]:8")),), globals=(Symbol("g", "g"),),
    resources={"_Z1kIiEvv": {"registers": 8}}, ptx_isa=(9, 0), toolchain={"nvrtc": "13.0.88", "headers": ""},
    log="", created="2026-01-01T00:00:00+00:00", seconds=0.5,
)  # fmt: skip


def key_of(number):
    """Return a key."""
    return hashlib.sha256(str(number).encode()).hexdigest()


def entry_of(number, size=600, **changes):
    """Return an entry with a bit of everything, whose image follows from its number and its size."""
    image = hashlib.shake_128(f"{number} {size}".encode()).digest(size)
    return _SAMPLE._replace(key=key_of(number), image=image, **changes)


def disk_bytes(entry):
    """Return what an entry takes on disk."""
    return sum(map(len, entry.files().values()))


def reopen(path, max_bytes=MIB, **settings):
    """Return a cache that has seen nothing yet, as another process would have it."""
    files._SAFE_WAYS.clear()
    return DiskCache(path, max_bytes=max_bytes, **settings)


def folder_of(path, number):
    """Return the folder of an entry."""
    return path / "v1" / key_of(number)[:2] / key_of(number)


def total_bytes(path):
    """Return the bytes of everything below a folder, but for the files that only lock or count."""
    aside = ("total.", "locks")
    return sum(
        file.stat().st_size
        for file in Path(path).rglob("*")
        if file.is_file() and not str(file.relative_to(path / "v1")).startswith(aside)
    )


def edit(folder, **changes):
    """Change fields of entry.json, or drop those set to None, and make its own digest right again."""
    data = json.loads((folder / "entry.json").read_text()) | changes
    data = {name: value for name, value in data.items() if value is not None}
    data["check"] = description_digest(data)
    (folder / "entry.json").write_text(json.dumps(data))


@contextmanager
def recorded():
    """Record what is warned of, as a list of texts that is complete after the body."""
    told = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield told
    told += [str(warning.message) for warning in caught]


def set_use(path, number, seconds):
    """Record that an entry was last used at a time (seconds since 1970)."""
    os.utime(folder_of(path, number) / "entry.json", (seconds, seconds))
