"""Bundles: what goes into one comes out of it, byte for byte, and nothing is taken from a bad one."""

from __future__ import annotations

import contextlib
import json
import struct
import zipfile

import pytest
from cache_entries import disk_bytes, entry_of, folder_of, key_of, reopen

from hatch_cuda_kernels.cache.bundle import export_bundle, import_bundle
from hatch_cuda_kernels.cache.entry import description_digest
from hatch_cuda_kernels.errors import InputError

ENTRIES = [entry_of(0), entry_of(1, kind="ptx"), entry_of(2, size=5000, kind="ltoir")]


@pytest.fixture
def path(tmp_path):
    """Return a cache of three entries."""
    for entry in ENTRIES:
        reopen(tmp_path / "cache").put(entry)
    return tmp_path / "cache"


@pytest.fixture
def bundle(path, tmp_path):
    """Return their bundle."""
    assert export_bundle(reopen(path), tmp_path / "all.bundle") == 3
    return tmp_path / "all.bundle"


def test_a_round_trip(bundle, tmp_path):
    """Another machine has every entry with all that is known of it, and a second import changes nothing."""
    other = tmp_path / "other"
    assert import_bundle(reopen(other), bundle) == 3
    assert [reopen(other).get(entry.key) for entry in ENTRIES] == ENTRIES
    assert import_bundle(reopen(other), bundle) == 3
    assert reopen(other).info().entries == 3


def test_equal_caches_give_equal_bundles(path, bundle, tmp_path):
    """The order of writing, the time and the host leave no trace in a bundle."""
    for entry in reversed(ENTRIES):
        reopen(tmp_path / "other").put(entry)
    export_bundle(reopen(tmp_path / "other"), tmp_path / "other.bundle")
    assert (tmp_path / "other.bundle").read_bytes() == bundle.read_bytes()
    import_bundle(reopen(tmp_path / "third"), bundle)
    export_bundle(reopen(tmp_path / "third"), tmp_path / "third.bundle")
    assert (tmp_path / "third.bundle").read_bytes() == bundle.read_bytes()


def test_a_bundle_is_a_plain_zip(bundle):
    """Any tool lists it, and its members are the files of the cache."""
    with zipfile.ZipFile(bundle) as archive:
        names = archive.namelist()
        assert archive.read(f"{key_of(0)}/image.cubin") == entry_of(0).image
    assert names == sorted(names)
    assert len(names) == 6


def test_damaged_entries_stay_out_of_a_bundle(path, tmp_path):
    """An export takes what can be read and says what cannot."""
    (folder_of(path, 0) / "image.cubin").write_bytes(b"damaged")
    with pytest.warns(RuntimeWarning, match="set aside"):
        assert export_bundle(reopen(path), tmp_path / "rest.bundle") == 2


def test_an_empty_cache_gives_an_empty_bundle(tmp_path):
    """It can be imported, and holds nothing."""
    assert export_bundle(reopen(tmp_path / "none"), tmp_path / "empty.bundle") == 0
    assert import_bundle(reopen(tmp_path / "other"), tmp_path / "empty.bundle") == 0


@pytest.mark.parametrize("place", ["missing/all.bundle", "file/all.bundle", "folder"])
def test_a_bundle_that_cannot_be_written(path, tmp_path, place):
    """The error names the file, and nothing is left beside it."""
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="cannot be written"):
        export_bundle(reopen(path), tmp_path / place)
    assert sorted(tmp_path.rglob("*")) == before


def members(bundle):
    """Return the members of a bundle by name, to be changed and written back."""
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(bundle, files, compression=zipfile.ZIP_STORED):
    """Write members as a bundle; names may come twice."""
    with zipfile.ZipFile(bundle, "w", compression) as archive:
        for name, data in files.items() if isinstance(files, dict) else files:
            archive.writestr(name, data)


def described(**changes):
    """Return entry 0's description with other fields and a right digest."""
    data = json.loads(entry_of(0).to_json()) | changes
    data["check"] = description_digest(data)
    return json.dumps(data).encode()


KEY = key_of(0)
EXTRA = {
    "an absolute path": {"/etc/passwd": b""},
    "a path upwards": {"../../x": b""},
    "a path upwards inside": {f"{KEY}/../{KEY}/entry.json": b""},
    "a backslash": {f"{KEY}\\image.ptx": b""},
    "a drive": {"C:/image.ptx": b""},
    "a name more": {f"{KEY}/readme.txt": b""},
    "a folder more": {f"{KEY}/image.ptx/x": b""},
    "a folder": {f"{KEY}/": b""},
    "a key in capitals": {f"{'A' * 64}/entry.json": b""},
    "a key of other digits": {f"{chr(0x661) * 64}/entry.json": b""},
    "a newline": {f"{KEY}/image.ptx\n": b""},
    "a second image": {f"{KEY}/image.ptx": b"x"},
    "half an entry": {f"{'0' * 64}/entry.json": described(key="0" * 64)},
    "the other half": {f"{'0' * 64}/image.ptx": b"x"},
}
CHANGED = {
    "a damaged image": {f"{KEY}/image.cubin": entry_of(0).image[:-1] + b"?"},
    "another image": {f"{KEY}/image.cubin": entry_of(1).image},
    "a description that is no JSON": {f"{KEY}/entry.json": b"{"},
    "a description nested too deeply": {f"{KEY}/entry.json": b"[" * 100_000},
    "a description of another shape": {f"{KEY}/entry.json": b"[1]"},
    "a description edited by hand": {f"{KEY}/entry.json": entry_of(0).to_json().replace("_Z1k", "_Z2k").encode()},
    "a description of another key": {f"{KEY}/entry.json": described(key="0" * 64)},
    "another schema": {f"{KEY}/entry.json": described(schema=99)},
    "another kind": {f"{KEY}/entry.json": described(kind="ptx", file="image.ptx")},
    "a path as file": {f"{KEY}/entry.json": described(file="../../x")},
    "a number as module": {f"{KEY}/entry.json": described(module=1)},
    "a wrong digest": {f"{KEY}/entry.json": described(sha256="0" * 64)},
}


def is_refused(bundle, tmp_path):
    """Return whether an import takes nothing, says so, and writes nothing anywhere."""
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError) as caught:
        import_bundle(reopen(tmp_path / "other"), bundle)
    return str(bundle) in str(caught.value) and sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("change", [*EXTRA.values(), *CHANGED.values()], ids=[*EXTRA, *CHANGED])
def test_a_bad_member_spoils_the_bundle(bundle, tmp_path, change):
    """Whatever is wrong with one member, no other one is taken either."""
    pack(bundle, members(bundle) | change)
    assert is_refused(bundle, tmp_path)


def test_a_member_that_comes_twice(bundle, tmp_path):
    """Two images under one name are refused, whichever is right."""
    files = [*members(bundle).items(), (f"{KEY}/image.cubin", b"second")]
    with pytest.warns(UserWarning, match="Duplicate name"):
        pack(bundle, files)
    assert is_refused(bundle, tmp_path)


def test_a_member_that_is_a_link(bundle, tmp_path):
    """A symbolic link is refused, and never made."""
    link = zipfile.ZipInfo(f"{'0' * 64}/image.ptx")
    link.external_attr = 0o120777 << 16
    pack(bundle, [*members(bundle).items(), (link, b"/etc/passwd")])
    assert is_refused(bundle, tmp_path)


@pytest.mark.slow
def test_compressed_members(bundle, tmp_path):
    """A bundle is not compressed, so that no small file can claim to be a huge image."""
    pack(bundle, members(bundle), zipfile.ZIP_DEFLATED)
    assert is_refused(bundle, tmp_path)
    bomb = {f"{KEY}/image.cubin": bytes(50_000_000), f"{KEY}/entry.json": entry_of(0).to_json()}
    pack(bundle, bomb, zipfile.ZIP_DEFLATED)
    assert bundle.stat().st_size < 100_000
    assert is_refused(bundle, tmp_path)


def test_overlapping_members(bundle, tmp_path):
    """Many names for the same bytes are refused, before any is read."""
    data = bundle.read_bytes()
    directory = data.index(b"PK\x01\x02")
    end = data.rindex(b"PK\x05\x06")
    records, count = b"", 200
    for number in range(count):
        name = f"{number:064x}/image.ptx".encode()
        record = bytearray(data[directory : directory + 46])
        struct.pack_into("<LLHHHHHLL", record, 20, 4000, 4000, len(name), 0, 0, 0, 0, 0, 0)
        records += bytes(record) + name
    tail = bytearray(data[end:])
    struct.pack_into("<HHLL", tail, 8, count, count, len(records), directory)
    bundle.write_bytes(data[:directory] + records + bytes(tail))
    assert len(zipfile.ZipFile(bundle).namelist()) == count
    assert is_refused(bundle, tmp_path)


@pytest.mark.parametrize("claim", [10**9, 2**32 - 2])
def test_a_member_that_claims_more_than_there_is(bundle, tmp_path, claim):
    """A size beyond the file's own is refused before memory is taken for it."""
    data = bytearray(bundle.read_bytes())
    struct.pack_into("<LL", data, data.index(b"PK\x01\x02") + 20, claim, claim)
    bundle.write_bytes(data)
    assert is_refused(bundle, tmp_path)


@pytest.mark.parametrize("length", [0, 1, 100, 2000, -1, -21, -22, -23, -100])
def test_a_bundle_cut_short(bundle, tmp_path, length):
    """A download that broke off is refused."""
    bundle.write_bytes(bundle.read_bytes()[:length])
    assert is_refused(bundle, tmp_path)


@pytest.mark.slow
def test_a_flipped_byte_anywhere(bundle, tmp_path):
    """One wrong byte in a bundle gives an error or the right entries, and never another exception or a wrong entry."""
    whole = bundle.read_bytes()
    for place in range(0, len(whole), 13):
        data = bytearray(whole)
        data[place] ^= 0xFF
        bundle.write_bytes(data)
        cache = reopen(None, max_bytes=1 << 20)
        with contextlib.suppress(InputError):
            import_bundle(cache, bundle)
        assert all(cache.get(entry.key) in (None, entry) for entry in ENTRIES)


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x05\x06" + bytes(18)])
def test_other_files(tmp_path, content):
    """A file that is no bundle is refused, an empty zip is an empty bundle, and a missing file is an error."""
    file = tmp_path / "file"
    file.write_bytes(content)
    if content.startswith(b"PK"):
        assert import_bundle(reopen(tmp_path / "other"), file) == 0
    else:
        assert is_refused(file, tmp_path)
    assert is_refused(tmp_path / "missing", tmp_path)
    assert is_refused(tmp_path, tmp_path)


def test_an_encrypted_member(bundle, tmp_path):
    """A member that wants a password is refused."""
    data = bytearray(bundle.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    bundle.write_bytes(data)
    assert is_refused(bundle, tmp_path)


def test_a_bundle_larger_than_the_cap(bundle, tmp_path):
    """It is refused whole: an import that evicts its own entries would be of no use."""
    size = sum(map(disk_bytes, ENTRIES))
    assert import_bundle(reopen(tmp_path / "large", max_bytes=size), bundle) == 3
    assert reopen(tmp_path / "large").info().entries == 3
    with pytest.raises(InputError, match="more than the cache may hold"):
        import_bundle(reopen(tmp_path / "small", max_bytes=size - 1), bundle)


def test_a_cache_that_cannot_be_written(bundle, tmp_path):
    """An import into a place that keeps nothing is an error, not a success of this process only."""
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.warns(RuntimeWarning, match="file is a file, not a folder"),
        pytest.raises(InputError, match="cannot be written to; not all of 3 images were taken"),
    ):
        import_bundle(reopen(tmp_path / "file"), bundle)
