"""An entry that the first version wrote must be read by every later one that claims its schema."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cache_entries import edit, reopen

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.cache import Entry
from hatch_cuda_kernels.image import Symbol

GOLDEN = Path(__file__).parents[1] / "golden" / "cache-v1"
KEY = "f2898fa95f37a095f142a26c68e21c879855a3d533efe57ed33602ac0d2467d0"


@pytest.fixture
def path(tmp_path):
    """Return a cache with the golden entry."""
    shutil.copytree(GOLDEN / KEY, tmp_path / "cache" / "v1" / KEY[:2] / KEY)
    return tmp_path / "cache"


def test_the_golden_entry_loads(path):
    """Every field of an entry that real NVRTC and the first version made is read as it was meant."""
    entry = reopen(path).get(KEY)
    image = (GOLDEN / KEY / "image.ptx").read_bytes()
    assert entry == Entry(
        key=KEY,
        module="scale",
        kind="ptx",
        arch=SmArch.parse("compute_80"),
        image=image,
        kernels=(
            Symbol("scale<__half>", "_Z5scaleI6__halfEvPT_j", ("u64", "u32")),
            Symbol("scale<double>", "_Z5scaleIdEvPT_j", ("u64", "u32")),
        ),
        globals=(Symbol("d_scale", "d_scale"),),
        resources={
            "_Z5scaleI6__halfEvPT_j": {"registers": 8, "shared": 0, "spill_loads": 0, "spill_stores": 0, "stack": 0},
            "_Z5scaleIdEvPT_j": {"registers": 10, "shared": 0, "spill_loads": 0, "spill_stores": 0, "stack": 0},
        },
        ptx_isa=(9, 0),
        toolchain={"headers": "cccl 13.0.85, crt 13.0.88, cudart 13.0.96", "nvrtc": "13.0.88"},
        log=entry.log,
        created="2026-11-21T10:16:01+00:00",
        seconds=0.031983,
    )
    assert 'variable "unused" was declared but never referenced' in entry.log
    assert b".version 9.0" in image


def test_it_is_written_as_it_was(path, tmp_path):
    """Writing the same entry today gives the same files, byte for byte: else the schema has changed and must say so."""
    other = tmp_path / "other"
    reopen(other).put(reopen(path).get(KEY))
    for name in ("entry.json", "image.ptx"):
        written = other / "v1" / KEY[:2] / KEY / name
        assert written.read_bytes() == (GOLDEN / KEY / name).read_bytes()


def test_every_field_is_in_it():
    """The golden entry has a value in each field, so that none can be forgotten above."""
    data = json.loads((GOLDEN / KEY / "entry.json").read_text())
    assert all(data.values())
    assert data["schema"] == 1


def test_a_future_schema_is_refused_cleanly(path):
    """The same entry of a schema to come is a miss, without a warning, and stays for who can read it."""
    folder = path / "v1" / KEY[:2] / KEY
    edit(folder, schema=2, layers=["new"], kernels=None)
    cache = reopen(path)
    assert cache.get(KEY) is None
    assert [entry for entry, _, _ in cache.entries()] == []
    assert cache.info().entries == 1
    assert sorted(file.name for file in folder.iterdir()) == ["entry.json", "image.ptx"]
