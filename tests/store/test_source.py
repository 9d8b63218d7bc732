"""Another version of the package may read a store's sources otherwise: what an older one recorded is not taken then."""

from __future__ import annotations

import dataclasses
import shutil

import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.compiler import recipe_reader, source_reader
from hatch_cuda_kernels.manifest import load_manifest

MANIFEST = """
    schema: 1
    arches: [sm_80]
    modules: {toy: {source: toy.cu, instances: ["fill<float>"]}}
"""
TOY = "template <class T> __global__ void fill(T* x) { *x = 1; }\n"


@pytest.fixture
def store(make_project, fresh_cache):
    """Return a store after whose build the cache was emptied."""
    root = make_project(MANIFEST, **{"toy.cu": TOY})
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    shutil.rmtree(fresh_cache)
    return root / "out"


@pytest.fixture
def rules(tmp_path, monkeypatch):
    """Return the one file that stands for those of the package's rules."""
    file = tmp_path / "rules.py"
    file.write_text("")
    monkeypatch.setattr(source_reader, "rule_files", lambda: [str(file)])
    return file


@pytest.fixture
def other_version(monkeypatch, rules):
    """Return a function that makes another version of this one: it reads all sources, and may change what is read."""
    reads = []

    def change(closure, *_):
        reads.append(closure.program_name)
        return dataclasses.replace(closure, source=closure.source.replace("1", "2"))

    def install(*, with_other_rules):
        rules.write_text(rules.read_text() + "# other\n")
        stand_in = change if with_other_rules else lambda closure, *_: reads.append("") or closure
        monkeypatch.setattr(recipe_reader, "with_headers", stand_in)
        return reads

    return install


def origins(store, times):
    """Return where each of some processes would have a kernel from that is not prebuilt."""
    return [open_store(store).find_image("fill<int>", arch="sm_90").origin for _ in range(times)]


@pytest.mark.slow
def test_what_other_rules_gave_is_not_taken(store, other_version):
    """A version that shows NVRTC another text compiles again, and records that under another key."""
    assert origins(store, 2) == ["jitted", "cached"]
    other_version(with_other_rules=True)
    assert origins(store, 3) == ["jitted", "cached", "cached"]


@pytest.mark.slow
def test_a_version_that_reads_the_same_takes_it(store, other_version):
    """It finds that out once: the next process does not read the sources."""
    assert origins(store, 1) == ["jitted"]
    reads = other_version(with_other_rules=False)
    assert origins(store, 1) == ["cached"]
    assert len(reads) == 1
    assert origins(store, 1) == ["cached"]
    assert len(reads) == 1


@pytest.mark.slow
def test_code_that_is_in_no_files_is_not_trusted_to_stay(store, other_version, monkeypatch):
    """Such as in a zip archive, where nothing tells one version from another."""
    monkeypatch.setattr(source_reader, "rule_files", list)
    reads = other_version(with_other_rules=False)
    assert origins(store, 2) == ["jitted", "cached"]
    assert len(reads) > 1
