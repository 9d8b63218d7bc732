"""What pages show of commands that the walkthroughs do not run is what these commands print."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from doc_blocks import DOCS, PAGES, PROJECT, ROOT, assert_printed, blocks_of, masked, write

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.toolchain.packages import release_requirements
from hatch_cuda_kernels.manifest import load_manifest

#: What is tested here, by page and the first words.
HERE = {
    "diagnose.md": ("here       state",),
    "editable.md": ("saxpy on sm_90",),
    "old-drivers.md": ("    refused  prebuilt compute_80 ptx",),
    "other-headers.md": ("kernels/gemm.cu:1:10",),
    "promote.md": ("--- a/kernels.yaml",),
    "build-faster.md": ("module 'radix_sort'",),
    "several-sources.md": ("kernels.yaml:4:3",),
    "verify-before-release.md": ("ok       index", "failed   supports"),
    "hook.md": ("cuda-bindings",),
}
#: What is tested elsewhere, or is no output.
ELSEWHERE = {
    "README.md": ("mylib/_kernels/kernels.tsv",),  # test_walkthroughs
    "ladder.md": ("saxpy on sm_75",),  # test_walkthroughs
    "architecture.md": ("build    kernels.yaml", "recipe   what"),  # diagrams
    "store.md": ("",),  # lists of files
    "cli.md": ("hatch-cuda-kernels ",),  # usages: test_reference compares the options
    "jax.md": ("ArgumentError: ",),  # tests/operators/jax
    "no-compile-at-run-time.md": ("saxpy of", "failed   requests", "request  "),  # tests/verify/test_requests
    "torch-operators.md": ("mylib::saxpy",),  # tests/operators/torch
    "what-nvrtc-is-shown.md": ("k.cu:1: error",),  # test_shown_edits
}


def outputs(page):
    """Return the blocks of a page that are what something prints, or a drawing: no file, and not below its command."""
    found = [None, *blocks_of(page)]
    run = page.parent.name == "howto" or page.name == "tutorial.md"
    return [
        block
        for above, block in pairwise(found)
        if block.language in {"text", "diff"} and not block.title and not (run and above and above.language == "bash")
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_output_is_tested(page):
    """A page with an output that nobody compares gets stale: run it (``bash``), or add a test here."""
    for block in outputs(page):
        assert block.text.startswith((*HERE.get(page.name, ()), *ELSEWHERE.get(page.name, ()))), block


def shown(name, start):
    """Return the block of a page that begins so."""
    (page,) = (page for page in PAGES if page.name == name)
    (block,) = (block for block in blocks_of(page) if block.text.startswith(start))
    assert start in HERE[name]
    return block.text


@pytest.fixture
def project(tmp_path, fresh_cache, monkeypatch):
    """Return the project that pages talk about, as the working folder."""
    for name, text in PROJECT.items():
        write(tmp_path / "mylib" / name, text)
    monkeypatch.chdir(tmp_path / "mylib")
    return tmp_path / "mylib"


def build(manifest, *, editable=False):
    """Build a manifest's store into the package of the working folder."""
    Path("kernels.yaml").write_text(manifest)
    build_store(load_manifest(Path("kernels.yaml")), Path("mylib/_kernels"), editable=editable)


def said(capsys, *words):
    """Run a command and return all it says."""
    capsys.readouterr()
    main([str(word) for word in words])
    return "".join(capsys.readouterr())


@pytest.mark.slow
def test_doctor_shows_these_rows(capsys):
    """The parts and the tasks are those shown, in their order, whatever is installed here."""
    firsts = [line.split()[0] for line in shown("diagnose.md", "here       state").splitlines() if line.strip()]
    told = [line.split()[0] for line in said(capsys, "doctor").splitlines() if re.match(r"[a-z]+ ", line)]
    assert [first for first in firsts if first != "to"] == told


@pytest.mark.slow
def test_explain_after_an_edit(project, capsys):
    """An editable install whose kernel was edited."""
    build(PROJECT["kernels.yaml"].replace("sm_80, sm_90, sm_100, sm_120", "sm_90"), editable=True)
    write(project / "kernels/saxpy.cu", PROJECT["kernels/saxpy.cu"] + "// edited\n")
    told = said(capsys, "explain", "saxpy", "--package", "mylib", "--arch", "sm_90")
    assert masked(shown("editable.md", "saxpy on sm_90")) == masked(told)


@pytest.mark.slow
def test_explain_for_an_old_driver(project, capsys):
    """PTX that is too new for the driver."""
    build(PROJECT["kernels.yaml"].replace("sm_100, ", ""))
    told = said(capsys, "explain", "saxpy", "--package", "mylib", "--arch", "sm_103", "--driver", "12.8")
    assert_printed(shown("old-drivers.md", "    refused  prebuilt compute_80 ptx"), told)


@pytest.mark.slow
def test_check_names_what_brings_a_header(project, capsys):
    """A header of the toolkit's that the build requirements do not bring."""
    write(project / "kernels/gemm.cu", "#include <curand_kernel.h>\n")
    write(project / "kernels.yaml", 'schema: 1\ncuda: "13.0"\nmodules: {gemm: {source: kernels/gemm.cu}}\n')
    assert_printed(shown("other-headers.md", "kernels/gemm.cu:1:10"), said(capsys, "check"))


@pytest.mark.slow
def test_promote_gives_this_patch(project, capsys):
    """A device and an instance that a manifest lacks; the manifest before is the patch's own."""
    patch = shown("promote.md", "--- a/kernels.yaml")
    body = patch.splitlines()[3:]
    write(
        project / "kernels/reduce.cu", "template <class T, int BLOCK> __global__ void block_sum(T* x) { *x = BLOCK; }"
    )
    build("".join(f"{line[1:]}\n" for line in body if line[0] in " -"))
    store = open_store("mylib/_kernels")
    store.find_image("saxpy", arch="sm_75")
    store.find_image("block_sum<float, 512>", arch="sm_80")
    capsys.readouterr()
    assert main(["promote", "--package", "mylib/_kernels"]) == 0
    assert capsys.readouterr().out == patch


@pytest.mark.slow
def test_check_says_which_front_end_is_shared(project, capsys):
    """The page's manifest, of the example project's sort."""
    (manifest,) = (
        b.text
        for b in blocks_of(DOCS / "howto/build-faster.md")
        if b.text.startswith("arches:") and "front_end: ptx" in b.text
    )
    write(project / "kernels.yaml", f"schema: 1\n{manifest}")
    write(project / "kernels/radix_sort.cu", (ROOT / "example_project/kernels/radix_sort.cu").read_text())
    assert_printed(shown("build-faster.md", "module 'radix_sort'"), said(capsys, "check"))


@pytest.mark.slow
def test_a_link_that_fails_is_explained(project, capsys):
    """The page's project, with the function that one source uses under another name in the other."""
    page = DOCS / "howto/several-sources.md"
    for block in blocks_of(page):
        if block.title:
            write(project / block.title, block.text.replace("lookup(float x) {", "look(float x) {"))
    assert_printed(shown(page.name, "kernels.yaml:4:3"), said(capsys, "build", "--out", "out"))


def test_verify_shows_these_checks(whole_example_wheel, capsys):
    """The example project's wheel, with the limits of the page."""
    told = said(capsys, "verify", whole_example_wheel, "--max-size", "100000000", "--max-spill-bytes", "0")
    text = shown("verify-before-release.md", "ok       index")
    assert masked(text.rpartition("dist/")[0]) == masked(told.rpartition(str(whole_example_wheel))[0])
    told = said(capsys, "verify", whole_example_wheel, "--supports-devices", "7.5", "9.0", "--driver", "13.0")
    assert_printed(shown("verify-before-release.md", "failed   supports"), told)


def test_the_hook_asks_for_these_packages():
    """What an isolated build installs for CUDA 13.0."""
    assert shown("hook.md", "cuda-bindings").splitlines() == release_requirements((13, 0))


def test_the_setuptools_example_has_the_files_shown():
    """What the page says that an sdist needs is what the example project has."""
    (text,) = (b.text for b in blocks_of(DOCS / "howto/other-build-systems.md") if b.title == "MANIFEST.in")
    assert text == (ROOT / "examples/setuptools_project/MANIFEST.in").read_text()


@pytest.mark.slow
def test_init_drafts_what_the_page_on_substitutions_shows(tmp_path, monkeypatch, capsys):
    """The module of its files, as its first block of YAML has it."""
    (page,) = (page for page in PAGES if page.name == "from-cupy-substitutions.md")
    found = blocks_of(page)
    files = {block.title: block.text for block in found if block.title and block.title.startswith("kernels/")}
    before = next(block.text for block in found if block.mark == "shown")
    pyproject = (
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n[project]\nname = "mylib"\n'
    )
    for name, text in (files | {"mylib/__init__.py": before, "pyproject.toml": f'{pyproject}version = "1"\n'}).items():
        write(tmp_path / name, text)
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0, capsys.readouterr()
    drafted = next(block.text for block in found if block.text.startswith("modules:"))
    assert (tmp_path / "kernels.yaml").read_text().endswith(drafted)
