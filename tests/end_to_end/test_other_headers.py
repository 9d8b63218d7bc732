"""A store on a machine where the toolkit's headers are others than its build's, and ask for other standard headers.

The toolkit here has one more header, which an update of it makes ask for ``<cmath>``.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from store_damage import patch_source

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.toolchain import headers, key_parts, toolchain
from hatch_cuda_kernels.compiler.toolchain.libraries import bindings_major
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.includes import STANDARD_FOLDER, closure, packaged_standard_headers
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.promote import find_misses
from hatch_cuda_kernels.store.reader import StoreReader

MANIFEST = """
    schema: 1
    arches: [sm_80]
    modules:
      plain: {source: toy.cu, instances: ["fill<float>"]}
      lto: {source: toy.cu, instances: ["fill<int>"], options: {lto: true}}
      linked: {sources: [toy.cu, other.cu], instances: ["fill<double>"]}
"""
FILES = {
    "toy.cu": "#include <toy.h>\ntemplate <class T> __global__ void fill(T* x) { *x = ROOT; }\n",
    "other.cu": "#include <toy.h>\n__device__ float other() { return ROOT; }\n",
}
BUILT = "#define ROOT 1\n"
UPDATED = "#include <cmath>\n#define ROOT std::sqrt(2.f)\n"
#: By module: one that is listed and one that is not.
KERNELS = {"plain": ("fill<float>", "fill<long>"), "lto": ("fill<int>", "fill<short>"), "linked": ("fill<double>",)}


@pytest.fixture
def toolkit(tmp_path, monkeypatch):
    """Return a header of the toolkit that is here."""
    folder = "cuda_runtime" if bindings_major() < 13 else f"cu{bindings_major()}"
    header = tmp_path / "site" / "nvidia" / folder / "include" / "toy.h"
    header.parent.mkdir(parents=True)
    header.write_text(BUILT)
    monkeypatch.syspath_prepend(tmp_path / "site")
    load_toolchain.cache_clear()
    yield header
    load_toolchain.cache_clear()


@pytest.fixture
def store(toolkit, make_project, fresh_cache):
    """Return a store that was built before the update, where nothing is recorded of it any more."""
    root = make_project(MANIFEST, **FILES)
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    shutil.rmtree(fresh_cache)
    return root / "out"


@pytest.fixture
def standard(tmp_path, monkeypatch):
    """Return a copy of this package's standard headers that is used in their place."""
    folder = shutil.copytree(STANDARD_FOLDER, tmp_path / "standard")
    for module in (closure, headers, toolchain):
        monkeypatch.setattr(module, "STANDARD_FOLDER", str(folder))
    packaged_standard_headers.cache_clear()
    yield folder
    packaged_standard_headers.cache_clear()


def origins(store, kernel, module="plain", times=1):
    """Return where each of some processes would have a kernel from."""
    found = []
    for _ in range(times):
        key_parts._answers.clear()
        packaged_standard_headers.cache_clear()
        found.append(open_store(store).find_image(kernel, module=module, arch="sm_90").origin)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("module", "kernel"), [(module, name) for module, names in KERNELS.items() for name in names])
def test_what_the_toolkit_here_asks_for_is_found(store, toolkit, module, kernel):
    """It is compiled with this package's standard headers, recorded, found again, and promote knows whose it is."""
    toolkit.write_text(UPDATED)
    assert origins(store, kernel, module, times=3) == ["jitted", "cached", "cached"]
    (miss,) = find_misses(StoreReader(store), open_cache())
    assert (miss.module, miss.kernel, str(miss.arch)) == (module, kernel, "sm_90")


@pytest.mark.slow
def test_other_standard_headers_have_another_key(store, toolkit, standard):
    """Where they have a part, what another version of them gave is not taken; their files are watched, too."""
    toolkit.write_text(UPDATED)
    assert origins(store, "fill<long>", times=3) == ["jitted", "cached", "cached"]
    kept = (standard / "cmath").read_text()
    (standard / "cmath").write_text(f"{kept}// of another version\n")
    assert origins(store, "fill<long>", times=3) == ["jitted", "cached", "cached"]
    (standard / "cmath").write_text(kept)
    assert origins(store, "fill<long>") == ["cached"]


@pytest.mark.slow
def test_the_toolkit_of_the_build_needs_none_of_them(store, toolkit, standard):
    """There a store compiles with its own: no version of this package makes another key or another image."""
    assert origins(store, "fill<long>", times=2) == ["jitted", "cached"]
    (standard / "cmath").write_text("#error of another version\n")
    assert origins(store, "fill<long>") == ["cached"]
    toolkit.write_text(UPDATED)
    shutil.copy(Path(STANDARD_FOLDER) / "cmath", standard / "cmath")
    assert origins(store, "fill<long>", times=2) == ["jitted", "cached"]
    toolkit.write_text(BUILT)
    assert origins(store, "fill<long>") == ["cached"]


@pytest.mark.slow
def test_a_patched_store_is_compiled_as_it_is(store, toolkit):
    """Somebody who patches a shipped source gets that compiled, with the toolkit here, and recorded by its own key."""
    toolkit.write_text(UPDATED)
    assert origins(store, "fill<long>") == ["jitted"]
    patch_source(store, "toy.cu", "*x = ROOT", "*x = 2 * ROOT")
    assert origins(store, "fill<long>", times=2) == ["jitted", "cached"]


@pytest.mark.slow
def test_a_process_without_a_compiler_finds_what_was_recorded(store, toolkit, monkeypatch):
    """It knows the toolkit from the one that compiled."""
    toolkit.write_text(UPDATED)
    assert origins(store, "fill<long>") == ["jitted"]

    def find():
        raise ToolchainError("NVRTC is not installed (here)")

    monkeypatch.setattr(toolchain, "current_toolchain", find)
    assert origins(store, "fill<long>") == ["cached"]


@pytest.mark.slow
def test_the_record_says_that_other_headers_had_a_part(store, toolkit):
    """An entry has what its key is made of."""
    toolkit.write_text(UPDATED)
    origins(store, "fill<long>")
    built = json.loads((store / "plain" / "index.json").read_text())["toolchain"]["headers"]
    (entry, _, _) = next(iter(open_cache().entries()))
    assert entry.toolchain["headers"].rpartition(", others ")[0] == built.rpartition(", others ")[0]
    assert entry.toolchain["headers"] != built


@pytest.mark.slow
def test_verify_reads_the_store_as_it_was_built(store, toolkit, capsys):
    """The toolkit here has no say in whether a store is whole."""
    toolkit.write_text(UPDATED)
    assert main(["verify", str(store), "--skip", "assembly"]) == 0, capsys.readouterr().out
