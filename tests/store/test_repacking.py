"""A store that replaces another: what did not change is not compressed again, and the bytes are a clean build's."""

from __future__ import annotations

import json
import lzma
import sys

import pytest

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.store import writer
from hatch_cuda_kernels.store.writer import pack_block, read_blocks

MODULES = "b: {source: b.cu}, c: {source: c.cu}"
MANIFEST = f"{{schema: 1, packing: solid, arches: [sm_80, sm_90], modules: {{a: {{source: a.cu}}, {MODULES}}}}}"


def kernel(name, size, first=1):
    """Return a source whose CUBINs have some more than ``size`` bytes."""
    table = f"__device__ unsigned char table_{name}[{size}] = {{{first}, 2, 3}};\n"
    return table + f'extern "C" __global__ void {name}(int* y, int i) {{ *y = table_{name}[i]; }}\n'


@pytest.fixture
def project(make_project):
    """Return a project of three modules: a's block is the smallest."""
    return make_project(
        MANIFEST, **{f"{name}.cu": kernel(name, size) for name, size in zip("abc", (50, 5000, 9000), strict=True)}
    )


@pytest.fixture
def build(project, tmp_path):
    """Return a function that builds the project into a folder and returns the bytes of every file there."""

    def build_to(out):
        build_store(load_manifest(project / "kernels.yaml"), tmp_path / out)
        files = sorted(path for path in (tmp_path / out).rglob("*") if path.is_file())
        return {path.relative_to(tmp_path / out).as_posix(): path.read_bytes() for path in files}

    return build_to


@pytest.fixture
def packed(monkeypatch):
    """Return the list of the sizes that get packed from now on.

    A build that replaces a store packs its smallest block once more: it may be another liblzma's.
    """
    sizes = []
    monkeypatch.setattr(writer, "pack_block", lambda data: sizes.append(len(data)) or pack_block(data))
    return sizes


@pytest.mark.slow
def test_what_did_not_change_is_not_packed_again(build, packed):
    """The store is the same, byte for byte."""
    first = build("store")
    assert len(packed) == 3
    assert build("store") == first
    assert packed[3:] == [min(packed)]


@pytest.mark.slow
def test_a_changed_module_is_packed_anew(build, project, packed):
    """It alone, and the store is what a build into an empty folder gives."""
    build("store")
    (project / "b.cu").write_text(kernel("b", 5000, first=9))
    again = build("store")
    assert packed[3:] == [min(packed), sorted(packed[:3])[1]]
    assert again == build("clean")


@pytest.mark.slow
def test_other_code_packed_the_store(build, tmp_path, packed):
    """Its blocks hold the images, but a build into an empty folder would pack them otherwise."""
    first = build("store")
    repack(tmp_path / "store", lambda images: lzma.compress(images, lzma.FORMAT_XZ, preset=0))
    assert build("store") == first
    assert sorted(packed) == sorted([min(packed), *packed[:3] * 2])


def repack(store, compress):
    """Replace each pack of a store by one block of the same images."""
    for pack in store.glob("*/images.xz"):
        replace_pack(pack.parent, compress(lzma.decompress(pack.read_bytes())))


def replace_pack(module, block):
    """Replace a module's pack by one block, and say so in its index."""
    index = json.loads((module / "index.json").read_bytes())
    for image in index["images"]:
        image["stored"]["size"] = len(block)
    (module / "index.json").write_text(json.dumps(index))
    (module / "images.xz").write_bytes(block)


@pytest.mark.parametrize("module", "abc")
@pytest.mark.parametrize("damage", [b"", b"no pack", None])
def test_damaged_packs_are_replaced(build, tmp_path, module, damage):
    """Also those that still have their length, and those that are not there."""
    first = build("store")
    pack = tmp_path / "store" / module / "images.xz"
    if damage is None:
        pack.unlink()
    else:
        data = pack.read_bytes()
        pack.write_bytes(damage + data[len(damage) :] if damage else damage)
    assert build("store") == first


def test_a_block_of_other_images_is_not_believed(build, tmp_path):
    """The index names the digests, but only what unpacks to the images is used."""
    first = build("store")
    store = tmp_path / "store"
    for module in "bc":  # equal lengths and a well-formed block, so that only the bytes tell
        pack = store / module / "images.xz"
        images = bytearray(lzma.decompress(pack.read_bytes()))
        images[-1] ^= 1
        replace_pack(store / module, pack_block(bytes(images)))
    assert len(read_blocks(store)) == 1
    assert build("store") == first


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"schema": 99}', "no JSON"])
def test_a_damaged_index_is_replaced(build, tmp_path, text):
    """Nothing of its store is used then."""
    first = build("store")
    (tmp_path / "store" / "b" / "index.json").write_text(text)
    assert build("store") == first


def test_a_python_without_lzma_uses_nothing(build, tmp_path, monkeypatch):
    """That it cannot pack is said where it packs."""
    build("store")
    monkeypatch.setitem(sys.modules, "lzma", None)
    assert read_blocks(tmp_path / "store") == {}
