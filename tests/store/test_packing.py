"""Packed stores: the same images in less space, each read without the others, damage told and passed over."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
from cache_entries import entry_of

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import BuildError, NoImageError, StoreError
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.store.index import ImageRecord
from hatch_cuda_kernels.store.reader import StoreReader, unpack_block
from hatch_cuda_kernels.store.writer import BLOCK_BYTES, lay_out, pack_block

ARCHS = ("sm_80", "sm_90", "sm_120")


def kernel(name, size=20_000):
    """Return a source whose CUBINs have some more than ``size`` bytes."""
    table = f"__device__ unsigned char table_{name}[{size}] = {{1, 2, 3}};\n"
    return table + f'extern "C" __global__ void {name}(int* y, int i) {{ *y = table_{name}[i]; }}\n'


def manifest(modules, more="", archs=ARCHS):
    """Return a manifest of modules, each written as in YAML."""
    return f"{{schema: 1, {more} arches: [{', '.join(archs)}, compute_80], modules: {{{modules}}}}}"


TWO = {"a.cu": kernel("a"), "b.cu": kernel("b")}
TWO_MODULES = "a: {source: a.cu}, b: {source: b.cu}"


@pytest.fixture
def build(make_project, tmp_path):
    """Return a function that builds a store and returns its folder."""

    def build_to(out, text, files=TWO, **options):
        build_store(load_manifest(make_project(text, **files) / "kernels.yaml"), tmp_path / out, **options)
        return tmp_path / out

    return build_to


@pytest.fixture
def packed(build):
    """Return a store of two packed modules."""
    return build("packed", manifest(TWO_MODULES, "packing: solid,"))


def names(folder):
    """Return the names of a module's files, its source aside."""
    return {path.name for path in folder.iterdir() if path.is_file()}


def plain(module, archs=ARCHS):
    """Return the names of a module's image files where nothing is packed."""
    return {f"{module}.{arch}.cubin" for arch in archs} | {f"{module}.compute_80.ptx"}


INDEX = {"index.json", "details.json"}


@pytest.mark.slow
def test_packing_changes_no_image(build, packed):
    """Every image of a packed store is, byte for byte, that of a plain one, and so is what the store says of it."""
    one, two = open_store(packed), open_store(build("plain", manifest(TWO_MODULES, "packing: none,")))
    assert names(packed / "a") == INDEX | {"images.xz"}
    assert names(two.path / "a") == INDEX | plain("a")
    for module in "ab":
        for arch in (*ARCHS, "sm_100"):
            first, second = (store.find_image(module, arch=arch) for store in (one, two))
            assert first.data == second.data
            assert sha256(first.data).hexdigest() == first.sha256
    said = [store.contents()["modules"] for store in (one, two)]
    for module in said[0].values():
        for image in module["images"]:
            assert image.pop("stored")["file"] == f"{image['file'].partition('.')[0]}/images.xz"
    assert said[0] == said[1]


@pytest.mark.slow
def test_auto_packs_from_32_kib_on(build):
    """A module below is plain files, one above is packed, whatever the number of kernels."""
    out = build("out", manifest(TWO_MODULES, archs=["sm_90"]), {"a.cu": kernel("a", 3), "b.cu": kernel("b", 40_000)})
    images = json.loads((out / "a" / "index.json").read_text())["images"]
    assert sum(image["bytes"] for image in images) < 32 * 1024
    assert names(out / "a") == INDEX | plain("a", ["sm_90"])
    assert names(out / "b") == INDEX | {"images.xz"}


@pytest.mark.slow
def test_auto_leaves_a_single_image_alone(build):
    """There is nothing to pack it with."""
    text = "{schema: 1, arches: [sm_90], modules: {a: {source: a.cu}}}"
    assert names(build("out", text, {"a.cu": kernel("a", 40_000)}) / "a") == INDEX | {"a.sm_90.cubin"}


@pytest.mark.slow
def test_a_module_may_differ_from_the_manifest(build):
    """Packing is stated for all modules, and for one."""
    modules = "a: {source: a.cu}, b: {source: b.cu, packing: none}"
    out = build("out", manifest(modules, "packing: solid,"))
    assert names(out / "a") == INDEX | {"images.xz"}
    assert names(out / "b") == INDEX | plain("b")


def test_an_editable_store_is_plain_files(build):
    """What is rebuilt at each edit is not packed."""
    assert names(build("out", manifest(TWO_MODULES, "packing: solid,"), editable=True) / "a") == INDEX | plain("a")


def test_packs_are_the_same_bytes_every_time(build, packed):
    """Packing in threads leaves no trace."""
    again = build("again", manifest(TWO_MODULES, "packing: solid,"))
    for module in "ab":
        assert (again / module / "images.xz").read_bytes() == (packed / module / "images.xz").read_bytes()


@pytest.mark.slow
def test_modules_of_equal_images_store_them_once(build):
    """A module refers to an earlier one's images, packed or not, and both are read."""
    files = {"a.cu": kernel("a", 3)}
    modules = "one: {source: a.cu}, two: {source: a.cu, arches: [sm_90, sm_103]}"
    for packing, stored in (("none", plain("one")), ("solid", {"images.xz"})):
        out = build(packing, manifest(modules, f"packing: {packing},"), files)
        assert names(out / "one") == INDEX | stored
        assert "two.sm_90.cubin" not in names(out / "two")
        store = open_store(out)
        one, two = (store.find_image("a", arch="sm_90", module=module) for module in ("one", "two"))
        assert one.data == two.data
        assert two.path.is_relative_to(out / "one")
        assert store.find_image("a", arch="sm_103", module="two").path.is_relative_to(out / "two")


def built(name, packing, *images):
    """Return a stand-in for a built module with images of these bytes."""
    entries = [entry_of(0, arch=SmArch(8, number))._replace(image=data) for number, data in enumerate(images)]
    records = tuple(
        ImageRecord(f"{name}.{e.arch}.cubin", "cubin", e.arch, sha256(e.image).hexdigest(), len(e.image), (9, 0))
        for e in entries
    )
    where = "kernels.yaml:1:1: modules.m"
    return SimpleNamespace(name=name, packing=packing, where=where, entries=entries, images=records)


def read_back(folder, laid):
    """Write a laid-out module named m and return its images as the run side reads them."""
    (folder / "m").mkdir()
    for name, data in laid.files.items():
        (folder / "m" / name).write_bytes(data)
    return [StoreReader(folder).read_image("m", record) for record in laid.images]


@pytest.mark.parametrize("packing", ["none", "solid"])
def test_equal_images_of_a_module_are_stored_once(tmp_path, packing):
    """Two architectures with the same bytes share them."""
    [laid] = lay_out([built("m", packing, b"x" * 500, b"y" * 500, b"x" * 500)], {})
    assert len(laid.files) == (2 if packing == "none" else 1)
    assert read_back(tmp_path, laid) == [b"x" * 500, b"y" * 500, b"x" * 500]


def test_blocks_are_bounded(tmp_path):
    """No block has more than the limit, but for an image that is larger itself; each unpacks without the others."""
    third = BLOCK_BYTES // 3
    images = [bytes([number]) * size for number, size in enumerate([third, third, third, third, 2 * BLOCK_BYTES, 7])]
    [laid] = lay_out([built("m", "solid", *images)], {})
    places = [record.stored for record in laid.images]
    assert [len({place.at for place in places[:end]}) for end in range(1, 7)] == [1, 1, 1, 2, 3, 4]
    assert read_back(tmp_path, laid) == images
    pack = laid.files["images.xz"]
    assert places[-1].at + places[-1].size == len(pack)
    [block] = {(place.at, place.size) for place in places[:3]}
    (tmp_path / "m" / "images.xz").write_bytes(pack[: block[1]])
    assert StoreReader(tmp_path).read_image("m", laid.images[2]) == images[2]


def opened_by(store, code):
    """Return the files below a store that code opens in a fresh interpreter."""
    script = f"""
import sys
from pathlib import Path
from hatch_cuda_kernels import open_store
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event in ("open", "os.listdir") else None)
{code}
print("\\n".join(opened))
"""
    out = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    return {line.removeprefix(f"{store}/") for line in out.splitlines() if line.startswith(str(store))}


def test_opening_a_store_opens_no_file(packed):
    """``open_store`` touches nothing of the store."""
    assert opened_by(packed, f"open_store(Path({str(packed)!r}))") == set()


def test_one_image_is_read_without_other_modules(packed):
    """A look-up opens the list of kernels, one index and one pack: nothing of another module, and no listing."""
    code = f"open_store(Path({str(packed)!r})).find_image('a', arch='sm_90')"
    assert opened_by(packed, code) == {"kernels.tsv", "a/index.json", "a/images.xz"}


def test_plain_stores_load_no_decompressor(example_store):
    """A process that reads no pack does not import lzma."""
    code = (
        "import sys; from pathlib import Path; from hatch_cuda_kernels import open_store;"
        f"open_store(Path({str(example_store)!r})).find_image('saxpy', arch='sm_90');"
        "assert not {'lzma', '_lzma', 'zlib', 'bz2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_an_index_does_not_grow_with_its_kernels(build):
    """What every look-up parses is the same for one instance and for forty."""
    source = {"f.cu": "template <int N> __global__ void f(int* x) { *x = N; }\n"}
    sizes = []
    for count in (1, 40):
        module = f"f: {{source: f.cu, instances: ['f<{{N}}>'], matrix: {{N: {[*range(count)]}}}, packing: none}}"
        out = build(str(count), f"{{schema: 1, arches: [sm_90], modules: {{{module}}}}}", source)
        index = json.loads((out / "f" / "index.json").read_text())
        index["patterns"] = []  # as in the manifest: axes, not instances
        sizes.append(len(json.dumps(index)))
        assert len(open_store(out).kernels) == count
    assert abs(sizes[0] - sizes[1]) < 20


@pytest.mark.parametrize("part", range(1, 20, 3))
@pytest.mark.parametrize("cut", [False, True], ids=["changed", "cut"])
def test_damage_never_gives_a_wrong_image(packed, part, cut):
    """Of a pack with a changed byte or a lost end, images before the damage are right, and the others are refused."""
    path = packed / "a" / "images.xz"
    data = bytearray(path.read_bytes())
    at = len(data) * part // 20
    data[at] ^= 0xFF
    path.write_bytes(data[:at] if cut else data)
    reader = StoreReader(packed)
    for record in reader.module("a").images:
        try:
            data = reader.read_image("a", record)
        except StoreError:
            continue
        assert sha256(data).hexdigest() == record.sha256


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "gone": lambda path: path.unlink(),
    "not a pack": lambda path: path.write_bytes(b"x" * path.stat().st_size),
    "of another module": lambda path: path.write_bytes((path.parent.parent / "b" / "images.xz").read_bytes()),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_pack_is_named_and_passed_over(packed, damage, monkeypatch, fresh_cache):
    """Reading says which file is wrong; the ladder goes on to the compiler, and other modules are not touched."""
    damage(packed / "a" / "images.xz")
    reader = StoreReader(packed)
    for record in reader.module("a").images:
        with pytest.raises(StoreError, match=f"a/images.xz: .*{record.file}"):
            reader.read_image("a", record)
    assert open_store(packed).find_image("a", arch="sm_90").origin == "jitted"
    assert open_store(packed).find_image("b", arch="sm_90").origin == "prebuilt"
    monkeypatch.setenv("HATCH_CUDA_KERNELS_JIT", "0")
    with pytest.raises(NoImageError, match=r"refused  prebuilt sm_120 cubin: .*a/images.xz: "):
        open_store(packed).find_image("a", arch="sm_121")


@pytest.mark.slow
def test_a_python_without_lzma_says_so(packed, monkeypatch, fresh_cache):
    """Some Pythons are built without liblzma: the reason names the module, and the compiler serves."""
    monkeypatch.setitem(sys.modules, "lzma", None)
    reader = StoreReader(packed)
    with pytest.raises(StoreError, match="this Python cannot unpack it, because it has no lzma module"):
        reader.read_image("a", reader.module("a").images[0])
    assert open_store(packed).find_image("a", arch="sm_90").origin == "jitted"


def test_a_build_without_lzma_says_what_to_do(build, monkeypatch):
    """A module to be packed fails the build; plain ones need no lzma."""
    monkeypatch.setitem(sys.modules, "lzma", None)
    with pytest.raises(BuildError, match=r"modules.a: this Python cannot pack images, .*; set packing: none"):
        build("out", manifest(TWO_MODULES, "packing: solid,"))
    assert names(build("out", manifest(TWO_MODULES, "packing: none,")) / "a") == INDEX | plain("a")


def test_looking_ahead_serves_the_read_that_follows(packed):
    """What was unpacked while the driver started is not read again, whichever image the device then needs."""
    for record in StoreReader(packed).module("b").images:
        reader = StoreReader(packed)
        reader.look_ahead("b")
        pack = packed / "b" / "images.xz"
        pack.rename(pack.with_suffix(".away"))
        assert sha256(reader.read_image("b", record)).hexdigest() == record.sha256
        pack.with_suffix(".away").rename(pack)


def test_looking_ahead_for_nothing(packed):
    """A name that is not there is left to the look-up."""
    StoreReader(packed).look_ahead("no_such_kernel")


@pytest.mark.parametrize("size", [0, 1, 999, 1000])
def test_blocks_unpack_as_far_as_asked(size):
    """A reader stops at the end of the image it wants."""
    data = bytes(range(250)) * 4
    assert unpack_block(pack_block(data), size) == data[:size]
    with pytest.raises(ValueError, match="a block ends early"):
        unpack_block(pack_block(data), 1001)
