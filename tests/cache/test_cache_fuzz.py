"""Descriptions and bundles changed at random, from a seed, as chance or malice could change them.

Whatever is read, the answer is an entry with every field of its type, or the one error for it, with a message that fits
a line. ``python tests/support/cache_mutations.py 100000`` tries more of them.
"""

from __future__ import annotations

import json
import random

import pytest
from cache_entries import disk_bytes, edit, entry_of, folder_of, key_of, recorded, reopen, total_bytes
from cache_mutations import ODD, SAMPLE, sample_bundle, try_bundle, try_description

from hatch_cuda_kernels.cache.entry import EntryFolder
from hatch_cuda_kernels.cache.publishing import Once


@pytest.mark.parametrize("seed", range(10))
def test_changed_descriptions(seed):
    """Some are taken, most are not, and none raises anything else."""
    chance = random.Random(seed)
    taken = [try_description(chance) for _ in range(100)]
    assert 0 < sum(taken) < 50


@pytest.mark.parametrize("seed", range(5))
def test_changed_bundles(seed, tmp_path):
    """Some are taken, most are not, and none raises anything else."""
    chance, bundle = random.Random(seed), sample_bundle(tmp_path)
    taken = [try_bundle(chance, bundle, tmp_path / "odd") for _ in range(50)]
    assert sum(taken) < 25


FIELDS = json.loads(SAMPLE.to_json())


@pytest.mark.parametrize("field", FIELDS)
def test_an_odd_value_in_any_field(tmp_path, field):
    """On disk, a field of another type, or no field at all, is damage that is set aside, or a schema to come."""
    path = tmp_path / "cache"
    for value in random.Random(field).sample(ODD, 12):
        reopen(path).put(SAMPLE)
        edit(folder_of(path, 0), **{field: value})
        with recorded() as told:
            entry = reopen(path).get(key_of(0))
        if entry is None:
            assert (field == "schema") != bool(told), value
        else:
            assert type(getattr(entry, field, None)) in (type(getattr(SAMPLE, field, None)), int), value
        with recorded():
            reopen(path).clear()


KEPT = {"bytes": 5, "counted": 1.0}


@pytest.mark.parametrize("name", KEPT)
def test_an_odd_value_in_the_total(tmp_path, name):
    """The total is counted anew, at the latest when room is made."""
    path = tmp_path / "cache"
    reopen(path).put(entry_of(0))
    for value in random.Random(name).sample(ODD, 12):
        (path / "v1" / "total.json").write_text(json.dumps(KEPT | {name: value}))
        assert reopen(path).put(entry_of(1))
        assert reopen(path).prune(1 << 20) == total_bytes(path)
        reopen(path).prune(disk_bytes(entry_of(0)))


ERROR = {"module": "m", "arch": "sm_90", "message": "x", "log": "", "flags": [], "bad_names": []}


@pytest.mark.parametrize("name", ERROR)
def test_an_odd_value_in_an_error_left_for_others(tmp_path, name):
    """It is an error that can be shown, or none."""
    key, once = key_of(3), Once(EntryFolder(tmp_path / "cache"), timeout=1)
    with once.turn(key, bool):
        before = once.failure(key)
    for value in ODD:
        file = tmp_path / "cache" / "v1" / "locks" / f"{key}.failed"
        file.write_text(json.dumps(ERROR | {name: value}))
        file.chmod(0o600)
        found = once.error_since(before, key)
        assert found is None or str(found)
