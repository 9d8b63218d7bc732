"""The short way to a cached kernel: what the index and the cache remember must be what a scan would find."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest
from store_damage import patch_source

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.cache.disk import file_state
from hatch_cuda_kernels.compiler.toolchain import key_parts, toolchain
from hatch_cuda_kernels.compiler.toolchain.key_parts import keep_key_part, recall_key_part
from hatch_cuda_kernels.compiler.toolchain.toolchain import current_toolchain, load_toolchain, remember_key_part
from hatch_cuda_kernels.errors import ToolchainError

KERNELS = ["saxpy", "block_sum<float, 128>", "softmax<32>", "block_sum<double, 1024>"]
HIT = """
import sys
from pathlib import Path
from hatch_cuda_kernels import open_store
image = open_store(Path(sys.argv[1])).find_image("saxpy", arch="sm_75")
slow = {"includes.reader", "compiler.job", "compiler.record", "compiler.toolchain.installed"}
slow |= {"runtime.ladder.compile_rungs"}
loaded = [name for name in slow if f"hatch_cuda_kernels.{name}" in sys.modules]
print(image.origin, loaded, [name for name in ("logging", "filelock", "platformdirs") if name in sys.modules])
"""


@pytest.fixture
def store(example_store, tmp_path):
    """Return a copy of the example's store, which a test may change."""
    return shutil.copytree(example_store, tmp_path / "store")


def origin(store, kernel="saxpy"):
    """Return where a kernel comes from in a store that was opened just now."""
    return open_store(store).find_image(kernel, arch="sm_75").origin


def keep(outside, *paths):
    """Remember an answer about these headers that depends on these paths."""
    states = {str(path): file_state(path) for path in paths}
    keep_key_part(outside, built="", lto=False, part={"nvrtc": "13.0.88"}, states=states)


def as_found(toolchain):
    """Return the toolchain that compiles where the store's headers are here: the one that was found."""
    return toolchain


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_index_gives_the_key_that_the_source_gives(example_store, fresh_cache, kernel, monkeypatch):
    """A prebuilt list and an unlisted instance, with and without toolkit headers: one key, found both ways."""
    assert_one_key(example_store, kernel, monkeypatch)


def test_the_index_gives_the_key_of_a_source_with_cub(whole_example_store, fresh_cache, monkeypatch):
    """CUB leads to a thousand headers; the key is the same both ways."""
    assert_one_key(whole_example_store, "sort_tiles<int, 128, 16>", monkeypatch)


def assert_one_key(store, kernel, monkeypatch):
    """Compile a kernel under the key that the index gives, and find it under the one that its source gives."""
    found = open_store(store).find_image(kernel, arch="sm_75")
    monkeypatch.setattr("hatch_cuda_kernels.store.source.ModuleSource._as_shipped", False)
    assert origin(store, kernel) == "cached"
    assert len([*open_cache().entries()]) == 1
    assert found.origin == "jitted"


@pytest.mark.slow
def test_a_second_hit_scans_nothing(store, fresh_cache):
    """Once a process has found a recorded image, later ones load no code for scanning, logging, locks or compilers."""
    assert [origin(store), origin(store)] == ["jitted", "cached"]
    command = [sys.executable, "-c", HIT, str(store)]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() for _ in range(2)]
    assert runs[1] == "cached [] []"


@pytest.mark.slow
def test_a_patched_source_is_no_hit(store, fresh_cache):
    """Somebody who patches the shipped source gets it compiled, not what was recorded of the old one."""
    assert [origin(store), origin(store), origin(store)] == ["jitted", "cached", "cached"]
    patch_source(store, "kernels/saxpy.cu", "a *", "a +")
    assert [origin(store), origin(store)] == ["jitted", "cached"]


@pytest.mark.slow
def test_a_header_that_comes_first_is_not_seen(store, fresh_cache):
    """A file that is put where the include looks first changes nothing: a compile sees what the index lists."""
    assert [origin(store, "block_sum<float, 128>") for _ in range(3)] == ["jitted", "cached", "cached"]
    shadow = store / "project.source" / "kernels" / "example"
    shutil.copytree(store / "project.source" / "include" / "example", shadow)
    header = shadow / "block_reduce.cuh"
    header.write_text("#error this header is not the project's")
    assert origin(store, "block_sum<float, 128>") == "cached"
    assert origin(store, "block_sum<float, 64>") == "jitted"


@pytest.mark.parametrize("change", ["nothing", "file", "missing", "searched", "damaged"])
def test_what_decides_is_watched(fresh_cache, tmp_path, monkeypatch, change):
    """What is remembered is forgotten when a file of it changes, or a wheel may have come before it."""
    decides, absent = tmp_path / "lib.so", tmp_path / "absent"
    decides.write_text("1")
    keep(("a.h",), decides, absent)
    changes = {
        "nothing": lambda: None,
        "file": lambda: decides.write_text("12"),
        "missing": lambda: absent.write_text(""),
        "searched": lambda: monkeypatch.syspath_prepend(tmp_path),
        "damaged": lambda: next((fresh_cache / "notes").iterdir()).write_text('{"states": [1]'),
    }
    changes[change]()
    assert recall_key_part(("a.h",), built="", lto=False) == ({"nvrtc": "13.0.88"} if change == "nothing" else None)
    others = [(("a.h",), True, ""), (("b.h",), False, ""), (None, False, ""), (("a.h",), False, "cccl 12.9.27")]
    assert [recall_key_part(outside, built=built, lto=lto) for outside, lto, built in others] == [None] * 4


def test_many_kernels_look_at_the_files_once(fresh_cache, tmp_path, monkeypatch):
    """A look takes time for each file, so the next one waits ten times that long; then a change is seen."""
    headers = [tmp_path / f"{number}.h" for number in range(200)]
    for header in headers:
        header.write_text("1")
    keep(("a.h",), *headers)
    looks = []

    def look(path):
        looks.append(path)
        return file_state(path)

    later = 0.0  # a look takes a second for each file
    monkeypatch.setattr(key_parts, "time", SimpleNamespace(monotonic=lambda: len(looks) + later))
    monkeypatch.setattr(key_parts, "file_state", look)
    assert recall_key_part(("a.h",), built="", lto=False) == {"nvrtc": "13.0.88"}
    took = len(looks)
    headers[-1].write_text("12")
    later = 9.9 * took
    assert recall_key_part(("a.h",), built="", lto=False) == {"nvrtc": "13.0.88"}
    assert (len(looks), looks.count(str(headers[0]))) == (took, 1)
    later = 10.1 * took
    assert recall_key_part(("a.h",), built="", lto=False) is None


def test_answers_are_bounded(fresh_cache):
    """Any number of sets of headers leaves a few notes, the last one among them."""
    for number in range(100):
        keep((f"{number}.h",))
    kept = [number for number in range(100) if recall_key_part((f"{number}.h",), built="", lto=False)]
    assert len(kept) == 64
    assert kept[-1] == 99


@pytest.mark.slow
def test_the_toolchain_is_remembered_as_it_is(fresh_cache, tmp_path, monkeypatch):
    """With headers that no package lists, too: their edit is seen."""
    folder = tmp_path / "site" / "nvidia" / "cu13" / "include"
    folder.mkdir(parents=True)
    (folder / "stray.h").write_text("#define X 1\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    load_toolchain.cache_clear()
    used = current_toolchain().of_compile(("stray.h",), finisher="nvrtc")
    remember_key_part(("stray.h",), built="", lto=False, used=as_found)
    assert recall_key_part(("stray.h",), built="", lto=False) == used.key_part
    assert "others" in used.headers
    (folder / "stray.h").write_text("#define X 22\n")
    assert recall_key_part(("stray.h",), built="", lto=False) is None
    load_toolchain.cache_clear()


def test_a_folder_of_another_user_is_not_believed(fresh_cache, monkeypatch):
    """What a foreign folder says of the toolchain is not read."""
    keep(("a.h",))
    fresh_cache.chmod(0o777)
    monkeypatch.delenv("HATCH_CUDA_KERNELS_CACHE_TRUST", raising=False)
    assert recall_key_part(("a.h",), built="", lto=False) is None
    os.chmod(fresh_cache, 0o700)  # noqa: PTH101
    assert recall_key_part(("a.h",), built="", lto=False) is not None


def test_an_unusable_nvrtc_is_no_error_on_the_way_to_a_recorded_image(fresh_cache, monkeypatch):
    """A process whose own NVRTC is too old may use what another one recorded; there is nothing to remember then."""

    def find():
        raise ToolchainError("NVRTC 12.8.93 is too old")

    monkeypatch.setattr(toolchain, "find_toolchain", find)
    remember_key_part(None, built="", lto=False, used=as_found)
    assert recall_key_part(None, built="", lto=False) is None
