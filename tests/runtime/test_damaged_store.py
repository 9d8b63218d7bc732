"""Damaged stores: whatever is wrong in a file, the error is this package's own and names the file."""

from __future__ import annotations

import json
import random
import shutil
from contextlib import suppress

import pytest
from slow_parameters import slow_but
from store_damage import damage

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.errors import (
    InputError,
    KernelNotFoundError,
    LaunchError,
    NoImageError,
    StoreError,
)

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


@pytest.mark.parametrize("seeds", slow_but([range(12)], [range(12), range(12, 60)]), ids=str)
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
    ],
)
def test_the_damaged_place_is_named(copy, change, place):
    """The error has the index's path, and the place in it."""
    edit(copy / "saxpy" / "index.json", change)
    with pytest.raises(StoreError, match=rf"saxpy/index\.json: cannot read the index: {place} is missing or damaged"):
        open_store(copy).find_image("saxpy", arch="sm_90", policy="prebuilt")


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


def test_damaged_options_are_a_reason_not_to_compile(copy, fresh_cache):
    """Where the shipped source has changed, too, the options would be needed for the key; ``explain`` goes on."""
    edit(copy / "saxpy" / "index.json", lambda index: index.update(options={"include": True}))
    (copy / "project.source" / "kernels" / "saxpy.cu").write_text("changed")
    explained = open_store(copy).explain("saxpy", arch="sm_75")
    reason = "saxpy/index.json: cannot read the options: include is missing or damaged"
    assert [candidate.reason.partition(str(copy))[2] for candidate in explained.candidates[-2:]] == [f"/{reason}"] * 2


def test_a_parameter_of_unknown_type_is_named_at_the_launch(copy, driver):
    """What a newer version recorded, or damage, is not guessed at."""
    listing = (copy / "kernels.tsv").read_text()
    (copy / "kernels.tsv").write_text(listing.replace("saxpy\tsaxpy\tsaxpy\tf32,", "saxpy\tsaxpy\tsaxpy\tq7,"))
    kernel = open_store(copy).get_kernel("saxpy")
    with pytest.raises(LaunchError, match="saxpy is recorded with parameters of unknown types: q7; reinstall its pack"):
        kernel[1, 32](1.0, 0, 0, 0)
