"""``verify`` on wheels that were changed with care: every digest, RECORD included, fits what is there."""

from __future__ import annotations

import io
import json
import lzma
import random
import re
import shutil
import warnings
import zipfile
from pathlib import Path

import pytest
from archive_damages import ARCHIVE_DAMAGES, SOUND, Archive, by_directory, by_headers
from slow_parameters import slow_but
from wheel_damages import PTX, SM_90, promise
from wheels import Wheel, record

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.store.reader import StoreReader
from hatch_cuda_kernels.store.texts import digests_text, json_text
from hatch_cuda_kernels.verify import Demands, verify_store
from hatch_cuda_kernels.verify.images import can_mean

DIST_INFO = "example_project-0.1.0.dist-info"
STORE = "example_project/_kernels"


def problems(wheel, folder, **demands):
    """Return what ``verify`` finds in a wheel: check and problem."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    demands = Demands(skip=frozenset({"assembly"}), **demands)
    found = verify_store(StoreReader(folder / STORE, wheel.name), demands, wheel=wheel)
    return [(check, problem) for check, outcome in found.results.items() for problem in outcome.problems]


def replaced(old, new):
    """Return a change of ``kernels.tsv``."""

    def change(wheel):
        assert old in wheel["kernels.tsv"]
        wheel["kernels.tsv"] = wheel["kernels.tsv"].replace(old, new)

    return change


def swap_lowered_names(wheel):
    """Let two instances of a template give each other's symbols."""
    one, other = b"_Z9block_sumIfLi128EEvPKT_PS0_x", b"_Z9block_sumIfLi256EEvPKT_PS0_x"
    text = wheel["kernels.tsv"].replace(one, b"?")
    wheel["kernels.tsv"] = text.replace(other, one).replace(b"?", other)


def add_an_alias(wheel):
    """List a kernel a second time, under a name of its own."""
    lines = wheel["kernels.tsv"].splitlines(keepends=True)
    [line] = [line for line in lines if line.startswith(b"saxpy\t")]
    wheel["kernels.tsv"] = b"".join(sorted([*lines, line.replace(b"saxpy\tsaxpy\tsaxpy", b"axpy\tsaxpy\tsaxpy", 1)]))


def drop_a_template(wheel):
    """Leave out the line by which a template's modules are found."""
    lines = wheel["kernels.tsv"].splitlines(keepends=True)
    wheel["kernels.tsv"] = b"".join(line for line in lines if not line.startswith(b"<block_sum"))


def unlink(wheel):
    """Mark a CUBIN as one that has to be linked."""
    wheel.edit_image("saxpy", SM_90, lambda data: data[:16] + b"\1\0" + data[18:])


def append_a_stream(wheel):
    """Hide something behind a pack."""
    wheel["reduce/images.xz"] += lzma.compress(b"more")


def edit(module, **fields):
    """Return a change of an index."""
    return lambda wheel: wheel.edit_index(module, lambda data: data.update(fields))


def claim_an_isa(wheel):
    """Let the index say that a CUBIN is of another toolkit."""
    wheel.edit_index("saxpy", lambda data: record(data, SM_90).update(ptx_isa="8.0"))


def rename_an_image(wheel):
    """Call an image otherwise, in its index and its file."""
    wheel["saxpy/fast.ptx"] = wheel[f"saxpy/{PTX}"]
    del wheel[f"saxpy/{PTX}"]
    wheel.edit_index("saxpy", lambda data: record(data, PTX).update(file="fast.ptx"))


EDITABLE = {"root": "../../..", "manifest": "kernels.yaml", "manifest_sha256": ""}
PATTERN = [{"pattern": "block_sum<{T}, {BLOCK}>", "matrix": {"T": ["float", "half"], "BLOCK": ["128", "256"]}}]
#: What is changed, and the finding: its check, and what it says.
FORGED = {
    "swapped lowered names": (swap_lowered_names, "kernels", "is not the lowered name of 'block_sum<float, 128>'"),
    "parameter of the same size": (
        replaced(b"\tsaxpy\tsaxpy\tf32,", b"\tsaxpy\tsaxpy\tu32,"), "kernels", r"takes \(f32, .* says \(u32, "
    ),
    "integer for a pointer": (
        replaced(b"\tsaxpy\tsaxpy\tf32,ptr,", b"\tsaxpy\tsaxpy\tf32,u64,"),
        "kernels", r"'saxpy' has pointers at \[1, 2\], but kernels.tsv says at \[2\]",
    ),
    "alias": (add_an_alias, "index", r"line \d of kernels.tsv is 'axpy"),
    "template dropped": (drop_a_template, "index", "line 2 of kernels.tsv is .* not what a build writes there"),
    "template of nothing": (replaced(b"<block_sum\t", b"<block_sun\t"), "index", "line 2 of kernels.tsv"),
    "pattern": (edit("reduce", patterns=PATTERN), "index", "does not give the names in details.json"),
    "globals emptied": (edit("filter", globals=[]), "index", "lists the variable 'd_filter', but the index does not"),
    "editable": (edit("saxpy", editable=EDITABLE), "index", "would take the source from outside the package"),
    "stream after a pack": (append_a_stream, "files", r"reduce/images\.xz has \d+ bytes that belong to no image"),
    "not linked": (unlink, "architectures", "has not been linked: no driver loads it"),
    "ISA of a CUBIN": (claim_an_isa, "index", "PTX ISA 8.0 is not that of the recorded toolchain"),
    "name of an image": (rename_an_image, "index", r"a build names fast\.ptx saxpy\.compute_80\.ptx"),
    "toolchain": (
        edit("saxpy", toolchain={"nvrtc": "13.0.48", "headers": ""}),
        "architectures", r"written by CUDA 13\.0\.\d+, which the index does not have",
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", FORGED)
def test_a_forged_store_is_found(example_wheel, tmp_path, change):
    """What was changed is named."""
    forge, check, says = FORGED[change]
    parts = Wheel(example_wheel)
    forge(parts)
    found = problems(parts.write(tmp_path), tmp_path / "unpacked")
    assert any(name == check and re.search(says, problem.message) for name, problem in found), found
    assert {name for name, _ in found}.isdisjoint({"digests", "record", "wheel"})


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("promises.json", "promises.json"),
        ("saxpy/index.json", "saxpy/index.json or saxpy/details.json"),
        ("kernels.tsv", "kernels.tsv"),
    ],
)
def test_another_manifests_facts_do_not_fit_the_digests(example_wheel, tmp_path, file, told):
    """Fewer promises make a valid store, but not the one that was built."""
    parts = Wheel(example_wheel)
    if file == "promises.json":
        promise(parts, supports={"devices": ["9.0"]})
    parts[file] += b"" if file == "promises.json" else b"\n"
    parts.write_record()
    found = problems(parts.write_as_it_is(tmp_path), tmp_path / "unpacked")
    assert f"{told} is not as the build wrote it: digests.json has another digest" in [
        problem.message for check, problem in found if check == "digests"
    ]


def add(name, data=b""):
    """Return a change of a wheel's file: one more member."""

    def change(path):
        with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a duplicate
            archive.writestr(name, data)

    return change


def add_rows(*rows):
    """Return a change of a wheel's file: more lines in RECORD."""

    def change(path):
        parts = Wheel(path)
        parts.files[f"{DIST_INFO}/RECORD"] += b"".join(row + b"\n" for row in rows)
        parts.write_as_it_is(path.parent)

    return change


OTHER_STORE = "other/_kernels/kernels.tsv"
DATA = f"example_project-0.1.0.data/purelib/{STORE}/kernels.tsv"
WHEELS = {
    "member twice": (add(f"{STORE}/kernels.tsv", b"x"), "wheel", "_kernels/kernels.tsv 2 times: installers differ"),
    "member in another case": (add(f"{STORE}/Kernels.tsv"), "wheel", "are the same file on some systems"),
    "second store": (add(OTHER_STORE), "wheel", f"has 2 kernel stores.*: .*{OTHER_STORE}"),
    "store in .data": (add(DATA), "wheel", f"installers put {DATA} over the package's own files"),
    "folder of no store": (add("other/_kernels/x"), "wheel", "is in a folder _kernels that no build writes"),
    "path that leads out": (add("../x"), "wheel", "'../x' is not a path inside the wheel"),
    "two distributions": (add("other-1.dist-info/METADATA"), "wheel", "the wheel has 2 distributions"),
    "file that RECORD does not list": (add("example_project/more.py"), "record", "more.py is not in RECORD"),
    "row of no file": (add_rows(b"more.py,,"), "record", "RECORD lists more.py, which is not there"),
    "row twice": (add_rows(b"a,,", b"a,sha256=x,1"), "record", "RECORD lists a 2 times"),
    "row of two columns": (add_rows(b"a,b"), "record", "RECORD has a line that is not path, digest, size: a,b"),
}


@pytest.mark.parametrize("change", WHEELS)
def test_a_wheel_that_installers_read_otherwise_is_found(example_wheel, tmp_path, capsys, change):
    """The store is whole, but not what everybody gets."""
    forge, check, says = WHEELS[change]
    wheel = Path(shutil.copy(example_wheel, tmp_path))
    forge(wheel)
    assert main(["verify", str(wheel), "--skip", "assembly", "--json"]) == 1
    checks = json.loads(capsys.readouterr().out)["checks"]
    named = [(found["check"], finding["problem"]) for found in checks for finding in found["findings"]]
    assert any(name == check and re.search(says, problem) for name, problem in named), named


TAGS = {
    "WHEEL is of another Python": (
        "py3-none-any",
        b"Tag: cp312-cp312-linux_x86_64",
        "but the file's name has py3-none-any",
    ),
    "the name is": ("cp312-cp312-linux_x86_64", b"Tag: py3-none-any", "lists the tags py3-none-any, but"),
    "the name has one more": ("py2.py3-none-any", b"Tag: py3-none-any", "lists the tags py3-none-any, but"),
    "WHEEL has none": ("py3-none-any", b"X: y", "WHEEL lists no tags, but"),
    "the name has none": ("any", b"Tag: py3-none-any", "installers refuse the file name"),
    "the same": ("py2.py3-none-any", b"Tag: py2-none-any\nTag: py3-none-any", None),
}


@pytest.mark.parametrize(("name", "lines", "says"), TAGS.values(), ids=TAGS.keys())
def test_tags_that_contradict_the_file_name_are_found(example_wheel, tmp_path, capsys, name, lines, says):
    """Installers choose by the name, and some refuse a wheel whose WHEEL says something else."""
    parts = Wheel(example_wheel)
    parts.files[f"{DIST_INFO}/WHEEL"] = parts.files[f"{DIST_INFO}/WHEEL"].replace(b"Tag: py3-none-any", lines)
    parts.name = f"example_project-0.1.0-{name}.whl"
    status, told = found_in_archive(parts.write(tmp_path), capsys)
    assert (status, bool(told)) == (int(says is not None), says is not None)
    assert says is None or any(says in problem for problem in told), told


def found_in_archive(wheel, capsys):
    """Return the exit status, and what the check of the wheel says, or the error."""
    status = main(["verify", str(wheel), "--skip", "assembly", "--json"])
    data = json.loads(capsys.readouterr().out)
    checks = {check["check"]: check["findings"] for check in data.get("checks", ())}
    return status, [finding["problem"] for finding in checks.get("wheel", ())] + data.get("problems", [])


@pytest.mark.parametrize("damage", ARCHIVE_DAMAGES)
def test_an_archive_that_is_not_the_same_to_all_is_found(example_wheel, tmp_path, capsys, damage):
    """One reader's files are not another's, or some reader refuses it; RECORD fits what pip reads."""
    change, says = ARCHIVE_DAMAGES[damage]
    archive = Archive(Path(shutil.copy(example_wheel, tmp_path)))
    change(archive)
    archive.write()
    status, told = found_in_archive(archive.path, capsys)
    if status == 2 and damage.startswith("ZIP64 end"):
        says = "ZIP64 end|zip64 end"  # zipfile of Python 3.14 refuses the archive itself, as late releases of others do
    else:
        assert status == 1
    assert any(re.search(says, problem) for problem in told), told


@pytest.mark.parametrize("change", SOUND)
def test_what_writers_of_archives_do_is_taken(example_wheel, tmp_path, capsys, change):
    """Sizes in ZIP64 fields, folders, times and any order say nothing else."""
    archive = Archive(Path(shutil.copy(example_wheel, tmp_path)))
    SOUND[change](archive)
    archive.list_in_record()
    archive.write()
    assert found_in_archive(archive.path, capsys) == (0, [])


def test_many_members_with_one_fault_are_one_finding(example_wheel, tmp_path, capsys):
    """Three of them are named."""
    archive = Archive(Path(shutil.copy(example_wheel, tmp_path)))
    for member in archive.members:
        member.comment = b"x"
    archive.write()
    _, [told] = found_in_archive(archive.path, capsys)
    assert re.fullmatch(rf"(\S+, ){{2}}\S+ and {len(archive.members) - 3} more: it has a comment, or .*", told)


def changed_byte(seed, data):
    """Return bytes of which one is another."""
    rng = random.Random(seed)
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :]


def headers_of(data):
    """Return where what is not a member's data begins and ends: half of a wheel's bytes hardly anybody reads."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [(info.header_offset, info.header_offset + 30 + len(info.filename)) for info in archive.infolist()]
        return [*names, (archive.start_dir, len(data))]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", slow_but([range(10)], [range(10), range(10, 80)]), ids=str)
@pytest.mark.parametrize("where", ["anywhere", "headers"])
def test_a_changed_byte_of_a_wheel_is_reported_or_changes_nothing(example_wheel, tmp_path, capsys, seeds, where):
    """Where ``verify`` passes the wheel, every reader finds the files that were built."""
    data, wheel = example_wheel.read_bytes(), tmp_path / example_wheel.name
    for seed in seeds:
        first, last = (0, len(data)) if where == "anywhere" else random.Random(seed).choice(headers_of(data))
        changed = data[:first] + changed_byte(seed, data[first:last]) + data[last:]
        wheel.write_bytes(changed)
        if found_in_archive(wheel, capsys)[0] == 0:
            assert by_directory(changed) == by_headers(changed) == by_directory(data), seed


@pytest.mark.slow
@pytest.mark.parametrize("seeds", slow_but([range(10)], [range(10), range(10, 80)]), ids=str)
def test_a_changed_byte_of_a_store_is_reported(example_store, tmp_path, seeds):
    """Of whatever file."""
    store = shutil.copytree(example_store, tmp_path / "copy")
    files = sorted(path for path in store.rglob("*") if path.is_file())
    demands = Demands(skip=frozenset({"assembly"}))
    assert verify_store(StoreReader(store), demands).ok
    for seed in seeds:
        path = random.Random(seed).choice(files)
        data = path.read_bytes()
        path.write_bytes(changed_byte(seed, data))
        assert not verify_store(StoreReader(store), demands).ok, (seed, path)
        path.write_bytes(data)


@pytest.mark.parametrize(
    ("member", "status", "says"),
    [
        (f"{DIST_INFO}/RECORD", 1, "RECORD: its local header and the directory do not agree: crc"),
        ("example_project/__init__.py", 1, "__init__.py: its local header and the directory do not agree: crc"),
        (f"{STORE}/kernels.tsv", 2, "not a wheel: Bad CRC-32"),
    ],
)
def test_a_damaged_archive_is_told(example_wheel, tmp_path, capsys, member, status, says):
    """A member that cannot be unpacked is a finding; without the store there is nothing to check."""
    wheel = Path(shutil.copy(example_wheel, tmp_path))
    data = bytearray(wheel.read_bytes())
    at = data.rindex(member.encode()) - 46 + 16  # of the checksum, in the member's row of the directory
    data[at] ^= 1
    wheel.write_bytes(data)
    assert main(["verify", str(wheel), "--skip", "assembly"]) == status
    told = capsys.readouterr()
    assert says in told.out + told.err


@pytest.mark.parametrize(
    ("name", "lowered"),
    [
        ("saxpy", "saxpy"),
        ("ns::saxpy", "_ZN2ns5saxpyEPf"),
        ("ns::plain", "_ZN2ns2v15plainEPi"),
        ("ns::f<float, 3>", "_ZN2ns2v11fIfLi3EEEvPT_"),
        ("ns::constant", "_ZN2ns8constantE"),
        ("block_sum<float, 128>", "_Z9block_sumIfLi128EEvPKT_PS0_x"),
        ("ns::f<unsigned, -1, true>", "_ZN2ns1fIjLin1ELb1EEEvv"),
        ("f<1, 2>", "_Z1fIJLi1ELi2EEEvv"),
        ("f<half, 2>", "_Z1fI6__halfLi2EEvv"),
        ("f<int>", "_Z1fIiLi4EEvv"),
        ("f<(1 > 2)>", "_Z1fILb0EEvv"),
        ("(void (*)(int)) f", "_Z1fi"),
    ],
)
def test_right_lowered_names_are_taken(name, lowered):
    """What a compiler gives is never doubted, default arguments and packs included."""
    assert can_mean(name, lowered)


@pytest.mark.parametrize(
    ("name", "lowered"),
    [
        ("saxpy", "_Z6saxpy2Pf"),
        ("saxpy", "_Z5axpysPf"),
        ("plain", "_ZN5plain2v1Ei"),
        ("block_sum<float, 128>", "_Z9block_sumIfLi256EEvPKT_PS0_x"),
        ("block_sum<float, 128>", "_Z9block_sumIdLi128EEvPKT_PS0_x"),
        ("block_sum<float, 128>", "_Z9block_maxIfLi128EEvPKT_PS0_x"),
        ("f<1>", "_Z1fi"),
    ],
)
def test_wrong_lowered_names_are_not(name, lowered):
    """Another function, another template argument, a template for a function."""
    assert not can_mean(name, lowered)


@pytest.mark.slow
def test_rebuild_names_the_file_and_the_command_that_shows_the_difference(make_project, tmp_path, capsys, fresh_cache):
    """``--keep`` leaves both stores in a new folder."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    assert main(["build", str(root / "kernels.yaml"), "--out", str(tmp_path / "out")]) == 0
    table = tmp_path / "out" / "kernels.tsv"
    table.write_bytes(table.read_bytes().replace(b"f32", b"u32"))
    capsys.readouterr()
    command = ["verify", str(tmp_path / "out"), "--rebuild", "--keep", str(tmp_path / "both")]
    assert main(command) == 1
    told = capsys.readouterr().out
    assert "kernels.tsv is not what the shipped sources give" in told, told
    assert f"diff -r {tmp_path / 'both' / 'shipped'} {tmp_path / 'both' / 'rebuilt'}" in told
    assert (tmp_path / "both" / "shipped" / "kernels.tsv").read_bytes() == table.read_bytes()
    assert b"f32" in (tmp_path / "both" / "rebuilt" / "kernels.tsv").read_bytes()
    assert main(command) == 2
    assert "exists already; name a new folder" in capsys.readouterr().err
    assert main([*command[:2], "--keep", "x"]) == 2
    assert "needs --rebuild; add it" in capsys.readouterr().err


@pytest.fixture
def small(make_project, tmp_path, fresh_cache):
    """Return a small store."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    assert main(["build", str(root / "kernels.yaml"), "--out", str(tmp_path / "out")]) == 0
    return tmp_path / "out"


def edit_json(path, **fields):
    """Change members of a JSON file, which stays as a build writes it."""
    path.write_text(json_text(json.loads(path.read_text()) | fields))


def lie_about_a_type(store):
    """List another type of the same size, and let the digests fit."""
    table = store / "kernels.tsv"
    assert b"float*;const float*" in table.read_bytes()
    table.write_bytes(table.read_bytes().replace(b"float*;const float*", b"int*;const float*"))
    (store / "digests.json").write_text(digests_text(store))


def make_schema_1(store):
    """Let a store be of the first schema, as a build wrote it."""
    edit_json(store / "a" / "index.json", schema=1)
    (store / "project.source").rename(store / "a" / "source")
    (store / "digests.json").write_text(digests_text(store))


@pytest.mark.slow
def test_an_older_schema_is_compared_like_the_current_one(small, capsys):
    """A rebuild gives every byte of a store as it was built, and finds the lie of another."""
    make_schema_1(small)
    assert main(["verify", str(small), "--rebuild"]) == 0
    assert open_store(small).find_image("saxpy", arch="sm_75").origin == "jitted"
    lie_about_a_type(small)
    assert main(["verify", str(small)]) == 0, "only a compiler knows the type"
    capsys.readouterr()
    assert main(["verify", str(small), "--rebuild"]) == 1
    assert "kernels.tsv is not what the shipped sources give" in capsys.readouterr().out


@pytest.mark.slow
def test_modules_of_two_schemas_are_no_store(make_project, tmp_path, fresh_cache, capsys):
    """A store has one."""
    modules = "{a: {source: saxpy.cu}, b: {source: b.cu}}"
    root = make_project(f"{{schema: 1, arches: [sm_90], modules: {modules}}}", **{"b.cu": "__global__ void b() {}"})
    assert main(["build", str(root / "kernels.yaml"), "--out", str(tmp_path / "out")]) == 0
    edit_json(tmp_path / "out" / "a" / "index.json", schema=1)
    (tmp_path / "out" / "a" / "source").mkdir()
    (tmp_path / "out" / "project.source" / "saxpy.cu").rename(tmp_path / "out" / "a" / "source" / "saxpy.cu")
    (tmp_path / "out" / "digests.json").write_text(digests_text(tmp_path / "out"))
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "out"), "--rebuild"]) == 1
    told = capsys.readouterr().out
    assert "b: the modules are not all of the same schema" in told
    assert "b: b/index.json is not what the shipped sources give" in told


def edit_a_source(store):
    """Change the source."""
    (store / "project.source" / "saxpy.cu").write_text("other")


def lose_an_image(store):
    """Leave out an image."""
    (store / "a" / "a.sm_90.cubin").unlink()


def break_an_index(store):
    """Cut an index short."""
    (store / "a" / "index.json").write_text("{")


UNCOMPARED = {
    "a source": (
        edit_a_source,
        "sources",
        "a: the shipped source cannot be compiled again: .*saxpy.cu: this source",
    ),
    "an image": (lose_an_image, "files", "a: not every image was compiled again: no file was compared"),
    "an index": (break_an_index, "index", "a: not every image was compiled again: no file was compared"),
}


@pytest.mark.slow
@pytest.mark.parametrize("damaged", UNCOMPARED)
def test_a_rebuild_that_compares_nothing_fails(small, capsys, damaged):
    """Also where the check that names the damage is left out."""
    damage, check, says = UNCOMPARED[damaged]
    damage(small)
    skip = [part for name in {check, "files", "digests"} for part in ("--skip", name)]
    assert main(["verify", str(small), "--rebuild", *skip]) == 1
    assert re.search(rf"failed   rebuild .*\n    {says}", capsys.readouterr().out)


@pytest.mark.slow
def test_a_store_without_modules_is_none(small, capsys):
    """No build writes one."""
    shutil.rmtree(small / "a")
    shutil.rmtree(small / "project.source")
    (small / "kernels.tsv").write_text("")
    (small / "digests.json").write_text(digests_text(small))
    assert main(["verify", str(small)]) == 1
    assert "the store has no modules: no folder has index.json" in capsys.readouterr().out
