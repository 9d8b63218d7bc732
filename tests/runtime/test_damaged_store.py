"""Damaged stores: whatever is wrong in a file, the error is this package's own and names the file."""

from __future__ import annotations

import json
import random
import shutil
from contextlib import suppress
from hashlib import sha256

import pytest
from front_ends import EXAMPLE
from slow_parameters import slow_but
from store_damage import damage

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler import nvrtc
from hatch_cuda_kernels.errors import (
    InputError,
    KernelNotFoundError,
    LaunchError,
    NoImageError,
    StoreError,
)
from hatch_cuda_kernels.store.texts import DIGESTS_FILE, digests_text

#: What a process may be told of a damaged store: damage that still reads as a store may be any other store.
EXPECTED = (StoreError, NoImageError, KernelNotFoundError, LaunchError, InputError)


@pytest.fixture
def copy(example_store, tmp_path):
    """Return a copy of the example's store, which a test may damage."""
    return shutil.copytree(example_store, tmp_path / "copy")


def use(folder, out):
    """Do everything with a store that compiles nothing."""
    uses = [find(kernel) for kernel in ("saxpy", "block_sum<float, 128>", "block_sum<float, 100>")]
    uses.append(
        (
            lambda store: store.listed_kernels(),
            lambda store: store.contents(),
            lambda store: store.extract_images(out),
            lambda store: store.get_global("d_filter"),
            lambda store: store.instantiate("block_sum", T="float", BLOCK=128),
        )
    )
    for group in uses:
        store = open_store(folder, policy="prebuilt")
        for work in group:
            with suppress(*EXPECTED):
                work(store)


def find(kernel):
    """Return the ways to look a kernel up."""
    return (
        lambda store: store.find_image(kernel, arch="sm_90"),
        lambda store: str(store.explain(kernel, arch="sm_86", driver=(12, 4), policy="compatible")),
        lambda store: store.explain(kernel, arch="sm_100", policy="exact").to_json(),
        lambda store: store.get_kernel(kernel)[1, 32],
    )


@pytest.mark.slow
@pytest.mark.parametrize("seeds", slow_but([range(12)], [range(12), range(12, 36)]), ids=str)
def test_no_damage_raises_anything_else(copy, driver, fresh_cache, tmp_path, seeds):
    """Files that are cut, garbled or of wrong types give errors that say so, never one of Python's own."""
    files = sorted(path for path in copy.rglob("*") if path.is_file() and "project.source" not in path.parts)
    for seed in seeds:
        rng = random.Random(seed)
        path = rng.choice(files)
        before = path.read_bytes()
        path.write_bytes(damage(rng, path))
        try:
            use(copy, tmp_path / "out")
        except Exception as error:
            error.add_note(f"seed {seed}, {path.relative_to(copy)}")
            raise
        path.write_bytes(before)


def edit(path, change):
    """Change what a JSON file holds."""
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def seal(store):
    """Let the digests of a store's indexes fit."""
    (store / DIGESTS_FILE).write_text(digests_text(store))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda index: index.update(images={}), "images"),
        (lambda index: index.update(outside="x"), "outside"),
        (lambda index: index.update(globals="saxpy"), "globals"),
        (lambda index: index.update(files={"a.cu": None}), r"files\.a\.cu"),
        (lambda index: index.update(patterns=[{"pattern": 1, "matrix": {}}]), r"patterns\[0\]\.pattern"),
        (lambda index: index.pop("toolchain"), "toolchain"),
        (lambda index: index["images"][1].update(bytes=True), r"images\[1\]\.bytes"),
        (lambda index: index["images"][1].update(bytes=2**70), r"images\[1\]\.bytes"),
        (lambda index: index["images"][1].update(kind="exe"), r"images\[1\]\.kind"),
        (lambda index: index["images"][1].update(sha256="\ud800"), r"images\[1\]\.sha256"),
        (lambda index: index["images"][1].update(file="../saxpy.sm_80.cubin"), r"images\[1\]\.file"),
        (lambda index: index["images"][1].update(file="/etc/passwd"), r"images\[1\]\.file"),
        (lambda index: index["images"][1].update(stored={"file": "a/../../x"}), r"images\[1\]\.stored\.file"),
        (lambda index: index["images"][1].update(stored={"file": "C:\\x"}), r"images\[1\]\.stored\.file"),
        (lambda index: index["images"][1].update(stored={"file": "x"}), r"images\[1\]\.stored\.at"),
        (lambda index: index.update(source="../../reduce/index.json"), "source"),
        (lambda index: index.update(files={"../kernels.tsv": ""}), r"files\.'\.\./kernels\.tsv'"),
        (lambda index: index.update(files={"/etc/passwd": ""}), r"files\.'/etc/passwd'"),
        (lambda index: index.update(libraries=[{"name": "../x.a", "sha256": ""}]), r"libraries\[0\]\.name"),
    ],
)
def test_the_damaged_place_is_named(copy, change, place):
    """The error has the index's path, and the place in it."""
    edit(copy / "saxpy" / "index.json", change)
    with pytest.raises(StoreError, match=rf"saxpy/index\.json: cannot read the index: {place} is missing or damaged"):
        open_store(copy).find_image("saxpy", arch="sm_90", policy="prebuilt")


@pytest.mark.parametrize("pair", [["float"], ["float", "x", "y"], "xy"])
def test_a_damaged_declaration_is_named(copy, pair):
    """What a source was found to declare is a type and a name for each parameter."""
    kernel = {"name": "f", "parameters": [pair], "is_template": False, "has_c_linkage": True, "file": "a.cu"}
    declared = {"kernels": [kernel], "variables": []}
    cut = {"edits": [], "default_device": False, "variables": [], "loses_constants": False, "host_headers": [],
           "unread": "", "declared": declared, "implied": []}  # fmt: skip
    edit(copy / "saxpy" / "details.json", lambda details: details.update(cuts=[cut]))
    place = r"cuts\[0\]\.declared\.kernels\[0\]\.parameters\[0\] is missing or damaged"
    with pytest.raises(StoreError, match=rf"saxpy/details\.json: cannot read the index: {place}"):
        open_store(copy).contents()


def test_what_a_newer_version_adds_to_a_declaration_is_not_looked_at(copy):
    """Other members than those that are known change nothing."""
    before = open_store(copy).contents()

    def add(details):
        for one in details["cuts"][0]["declared"]["kernels"]:
            one["more"] = 1

    edit(copy / "saxpy" / "details.json", add)
    assert open_store(copy).contents() == before


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, '{"schema": 1', "\x00", "[]", "null"])
def test_an_index_that_is_no_json_object_is_named(copy, text):
    """Neither depth nor length of what is there instead matters."""
    (copy / "saxpy" / "index.json").write_text(text)
    with pytest.raises(StoreError, match=r"saxpy/index\.json: cannot read the index"):
        open_store(copy).contents()


def test_an_index_of_another_module_is_refused(copy):
    """A folder that was copied over another is not taken for it."""
    shutil.copy(copy / "reduce" / "index.json", copy / "saxpy" / "index.json")
    with pytest.raises(StoreError, match="it is of the module 'reduce', not of 'saxpy'"):
        open_store(copy).find_image("saxpy", arch="sm_90")


@pytest.mark.parametrize("module", ["../other/saxpy", "..", ".", "/etc", "a\\b"])
def test_no_module_is_looked_for_outside_the_store(copy, tmp_path, module):
    """Neither a damaged list of kernels nor a caller leads to a folder that is not a module's."""
    shutil.copytree(copy, tmp_path / "other")
    with pytest.raises(KernelNotFoundError):
        open_store(copy).find_image("block_sum<float, 7>", arch="sm_90", module=module)
    listing = (copy / "kernels.tsv").read_text()
    (copy / "kernels.tsv").write_text(listing.replace("saxpy\tsaxpy\t", f"saxpy\t{module}\t"))
    with pytest.raises(StoreError, match=r"kernels\.tsv: damaged line b'saxpy"):
        open_store(copy).find_image("saxpy", arch="sm_90")


def test_a_listed_module_that_is_not_there_is_named(copy):
    """``contents`` says which file names it."""
    shutil.rmtree(copy / "saxpy")
    with pytest.raises(StoreError, match=r"kernels\.tsv: it lists saxpy in the module 'saxpy', which is not there"):
        open_store(copy).contents()


@pytest.mark.slow
def test_damaged_options_are_a_reason_not_to_compile(copy, fresh_cache):
    """Where the shipped source has changed, too, the options would be needed for the key; ``explain`` goes on."""
    edit(copy / "saxpy" / "index.json", lambda index: index.update(options={"include": True}))
    (copy / "project.source" / "kernels" / "saxpy.cu").write_text("changed")
    explained = open_store(copy).explain("saxpy", arch="sm_75")
    reason = "saxpy/index.json: cannot read the options: include takes a tuple or list of str, not True"
    assert [candidate.reason.partition(str(copy))[2] for candidate in explained.candidates[-2:]] == [f"/{reason}"] * 2


def test_a_parameter_of_unknown_type_is_named_at_the_launch(copy, driver):
    """What a newer version recorded, or damage, is not guessed at."""
    listing = (copy / "kernels.tsv").read_text()
    (copy / "kernels.tsv").write_text(listing.replace("saxpy\tsaxpy\tsaxpy\tf32,", "saxpy\tsaxpy\tsaxpy\tq7,"))
    kernel = open_store(copy).get_kernel("saxpy")
    with pytest.raises(LaunchError, match="saxpy is recorded with parameters of unknown types: q7; reinstall its pack"):
        kernel[1, 32](1.0, 0, 0, 0)


def one_letter(path):
    """Change a letter."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut_short(path):
    """Lose the end."""
    path.write_bytes(path.read_bytes()[:-1])


def link_elsewhere(path):
    """Put a link to another file of the store in its place."""
    path.unlink()
    path.symlink_to(path.parents[2] / "kernels.tsv")


def make_a_folder(path):
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()


SOURCE, HEADER = "project.source/kernels/reduce.cu", "project.source/include/example/block_reduce.cuh"
STANDARD = "standard_headers.json"
SUM, SOFTMAX = "block_sum<float, 64>", "softmax<64>"
CHANGED, LOST = "does not match the digest in the index; reinstall the package", "cannot read this source: .*reinstall"
#: What happens to which file, the kernel that is compiled with it, and what the error says after the file's path.
SOURCE_DAMAGES = {
    "letter": (one_letter, SOURCE, SUM, f"this source {CHANGED}"),
    "cut short": (cut_short, SOURCE, SUM, f"this source {CHANGED}"),
    "empty": (lambda path: path.write_bytes(b""), SOURCE, SUM, f"this source {CHANGED}"),
    "missing": (lambda path: path.unlink(), SOURCE, SUM, LOST),
    "folder": (make_a_folder, SOURCE, SUM, LOST),
    "link elsewhere": (link_elsewhere, SOURCE, SUM, f"this source {CHANGED}"),
    "letter of a header": (one_letter, HEADER, SUM, f"this source {CHANGED}"),
    "header missing": (lambda path: path.unlink(), HEADER, SUM, LOST),
    "letter of a standard header": (one_letter, STANDARD, SOFTMAX, f"it {CHANGED}"),
    "standard headers missing": (lambda path: path.unlink(), STANDARD, SOFTMAX, "cannot read the standard headers"),
    "other standard headers": (lambda path: path.write_text("[]"), STANDARD, SOFTMAX, f"it {CHANGED}"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("damage", SOURCE_DAMAGES)
def test_a_damaged_source_is_named_and_not_compiled(copy, driver, fresh_cache, monkeypatch, damage):
    """Whoever asks for what would have to be compiled is told the file, and no compiler sees it."""
    change, file, kernel, says = SOURCE_DAMAGES[damage]
    change(copy / file)
    monkeypatch.setattr(nvrtc, "run_job", lambda _: pytest.fail("compiled"))
    for ask in (
        lambda store: store.get_kernel(kernel),
        lambda store: store.find_image(kernel, arch="sm_75"),
        lambda store: store.compile_async(kernel, arch="sm_90").result(),
        lambda store: store.warm_up([kernel]),
    ):
        with pytest.raises(StoreError, match=rf"/{file}: {says}"):
            ask(open_store(copy))
    explained = open_store(copy).explain(kernel, arch="sm_75")
    assert explained.chosen is None
    assert [f"/{file}: " in candidate.reason for candidate in explained.candidates] == [True, True], str(explained)
    assert main(["explain", kernel, "--package", str(copy), "--arch", "sm_75"]) == 1
    assert main(["inspect", str(copy)]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("seeds", slow_but([range(10)], [range(10), range(10, 80)]), ids=str)
def test_a_changed_byte_of_a_source_is_named(copy, fresh_cache, seeds):
    """Nothing is compiled of it, whichever file it is in."""
    for seed in seeds:
        rng = random.Random(seed)
        file, kernel = rng.choice([(SOURCE, SUM), (HEADER, SUM), (HEADER, SOFTMAX), (STANDARD, SOFTMAX)])
        path, before = copy / file, (copy / file).read_bytes()
        data = bytearray(before)
        data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
        path.write_bytes(data if seed % 4 else data[: rng.randrange(len(data))])
        with pytest.raises(StoreError) as caught:
            open_store(copy).find_image(kernel, arch="sm_75")
        assert caught.value.path == str(path), seed
        path.write_bytes(before)


INDEXES = ("reduce/index.json", "reduce/details.json")


@pytest.mark.slow
@pytest.mark.parametrize("seeds", slow_but([range(10)], [range(10), range(10, 80)]), ids=str)
def test_nothing_is_compiled_by_a_changed_index(copy, fresh_cache, monkeypatch, seeds):
    """Options and names are in it: whichever byte changes, another image must not come of it in silence."""
    monkeypatch.setattr(nvrtc, "run_job", lambda _: pytest.fail("compiled"))
    for seed in seeds:
        rng = random.Random(seed)
        path = copy / rng.choice((*INDEXES, DIGESTS_FILE))
        before = path.read_bytes()
        own = before.find(b'"reduce": "') + 11  # other digests are not this module's
        at = own + rng.randrange(64) if path.name == DIGESTS_FILE else rng.randrange(len(before))
        path.write_bytes(before[:at] + bytes([before[at] ^ rng.randrange(1, 256)]) + before[at + 1 :])
        with pytest.raises(StoreError, match=r"reinstall the package|cannot read"):
            open_store(copy).find_image(SUM, arch="sm_75")
        path.write_bytes(before)


@pytest.mark.slow
def test_a_store_without_digests_of_its_indexes_is_compiled(copy, fresh_cache):
    """The first versions wrote none."""
    (copy / DIGESTS_FILE).unlink()
    assert open_store(copy).find_image(SUM, arch="sm_75").origin == "jitted"


@pytest.mark.slow
def test_prebuilt_images_need_no_source(copy, driver, fresh_cache):
    """They are taken whatever happened to the sources, which nobody reads for them."""
    shutil.rmtree(copy / "project.source")
    store = open_store(copy)
    assert store.get_kernel("saxpy").image.origin == "prebuilt"
    assert store.find_image("saxpy", arch="sm_86", policy="exact").arch.number == 80
    with pytest.raises(StoreError, match=r"kernels/saxpy\.cu: cannot read this source"):
        store.find_image("saxpy", arch="sm_75")
    assert store.find_image("saxpy", arch="sm_100", driver=(12, 9)).origin == "jitted", "finished from its PTX"


@pytest.mark.slow
def test_a_damaged_source_is_not_compiled_for_the_next_process_either(copy, driver, fresh_cache, caplog):
    """The kernel that runs is used, and the log says why there will be no other."""
    driver.capability = (8, 6)
    one_letter(copy / "project.source/kernels/saxpy.cu")
    with caplog.at_level("INFO", "hatch_cuda_kernels"):
        assert open_store(copy, tier_up=True).get_kernel("saxpy").image.arch.number == 80
    assert [record.message.partition(": ")[0] for record in caplog.records] == [
        "the exact image could not be compiled in the background"
    ]
    assert "kernels/saxpy.cu: this source does not match the digest" in caplog.text


@pytest.mark.slow
def test_a_damaged_source_is_no_hit_in_the_cache(copy, fresh_cache, capsys):
    """What was recorded of the source as it was is not taken for what it is now, nor compiled beside it."""
    assert open_store(copy).find_image(SUM, arch="sm_90").origin == "jitted"
    one_letter(copy / SOURCE)
    with pytest.raises(StoreError, match=CHANGED):
        open_store(copy).find_image(SUM, arch="sm_90")
    assert main(["promote", "--package", str(copy), str(EXAMPLE / "kernels.yaml")]) == 2
    assert f"/{SOURCE}: this source {CHANGED}" in capsys.readouterr().err


@pytest.mark.slow
def test_a_compile_reads_through_links_and_past_what_the_index_does_not_list(copy, fresh_cache, tmp_path):
    """Installers may link files; a header beside them is nobody's."""
    for path in [path for path in (copy / "project.source").rglob("*.cu*") if path.is_file()]:
        target = tmp_path / path.name
        shutil.move(path, target)
        path.symlink_to(target)
    (copy / "project.source" / "kernels" / "example").mkdir()
    (copy / "project.source" / "kernels" / "example" / "block_reduce.cuh").write_text("#error not the project's")
    image = open_store(copy).find_image(SUM, arch="sm_90")
    assert image.origin == "jitted"
    assert open_store(copy).find_image(SUM, arch="sm_90").sha256 == image.sha256


@pytest.mark.slow
def test_standard_headers_that_the_index_names_and_nobody_can_read_are_told(copy, fresh_cache):
    """A digest that fits does not make them standard headers."""
    (copy / STANDARD).write_text("[]")
    digest = sha256(b"[]").hexdigest()
    edit(copy / "softmax" / "index.json", lambda index: index.update(standard=digest))
    seal(copy)
    with pytest.raises(StoreError, match=rf"/{STANDARD}: cannot read the standard headers: the file is missing or dam"):
        open_store(copy).find_image(SOFTMAX, arch="sm_90")


OUTSIDE = {
    "header glob": ({"headers": ["../*.tsv"]}, r"\.\./\*\.tsv: headers must be inside the project"),
    "header": ({"headers": ["../kernels.tsv"]}, r"\.\./kernels\.tsv: headers must be inside the project"),
    "pre-include": ({"options": {"pre_include": ["../kernels.tsv"]}}, r"\.\./kernels\.tsv: no such header to pre-inc"),
    "absolute pre-include": ({"options": {"pre_include": ["/etc/passwd"]}}, "/etc/passwd: no such header to pre-inc"),
    "flag": ({"options": {"extra": ["--pre-include=/etc/passwd"]}}, "--pre-include cannot be passed through"),
    "folder by a flag": ({"options": {"extra": ["-I/etc"]}}, "-I/etc cannot be passed through"),
    "file of flags": ({"options": {"extra": ["-optf=/etc/passwd"]}}, "-optf cannot be passed through"),
    "another source": ({"source": "kernels/saxpy.cu"}, "kernels/saxpy.cu: no such source file"),
}


@pytest.mark.slow
@pytest.mark.parametrize("index", OUTSIDE)
def test_a_compile_reads_what_the_index_lists_and_nothing_else(copy, fresh_cache, index):
    """Whatever else an index names is no source: neither files beside the sources, nor outside the store."""
    assert open_store(copy).find_image(SUM, arch="sm_75").origin == "jitted"
    fields, says = OUTSIDE[index]
    edit(copy / "reduce" / "index.json", lambda data: data.update(fields))
    seal(copy)
    with pytest.raises((StoreError, NoImageError), match=says):
        open_store(copy).find_image(SUM, arch="sm_75")


def forget_spills(details):
    """Leave out half of what tells a kernel's spills."""
    del details["resources"]["saxpy.sm_90.cubin"]["saxpy"]["spill_loads"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "change", "command"),
    [
        ("index.json", lambda index: index["toolchain"].pop("headers"), "inspect"),
        ("index.json", lambda index: index["toolchain"].clear(), "inspect"),
        ("index.json", lambda index: index["toolchain"].pop("headers"), "verify"),
        ("details.json", forget_spills, "report"),
    ],
)
def test_commands_leave_out_what_is_not_recorded(copy, capsys, file, change, command):
    """Another builder may record less; only ``verify`` minds."""
    edit(copy / "saxpy" / file, change)
    status = main([command, str(copy), *(["--json"] if command == "report" else [])])
    assert status == (1 if command == "verify" else 0)
    assert "saxpy" in capsys.readouterr().out
