"""``promote``: what a machine compiled at run time becomes a patch for the manifest, and then is prebuilt."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.names import match
from hatch_cuda_kernels.promote import Wanted, promote

EXAMPLE = Path(__file__).parents[1] / "example_project"
MATRIX = "    matrix: {T: [float, double], BLOCK: [128, 256]}\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory, isolation):
    """Return a folder with the project ``example`` and the cache of its build: fewer architectures and modules."""
    folder = tmp_path_factory.mktemp("built")
    root = folder / "example"
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns("_kernels", "tests"))
    path = root / "kernels.yaml"
    text = path.read_text().split("\n  radix_sort:")[0]
    text = text.replace("arches: [sm_80, sm_90, sm_120, compute_80]", "arches: [sm_80, compute_80]") + "\n"
    path.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(folder / "cache"))
        build(root)
    return folder


@pytest.fixture
def example(built, tmp_path, fresh_cache):
    """Return a copy of the example project, built into its package a moment ago with the cache of this test."""
    shutil.copytree(built / "cache", fresh_cache)
    return shutil.copytree(built / "example", tmp_path / "example")


def build(root):
    """Build a project's store into its package and return that folder."""
    package = root / "example_project"
    build_store(load_manifest(root / "kernels.yaml"), package / "_kernels")
    return package


def run(capsys, *argv):
    """Run ``promote`` and return its status, standard output and standard error."""
    status = main(["promote", *map(str, argv)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.slow
def test_what_was_compiled_is_prebuilt_after_a_promotion(example, capsys, monkeypatch):
    """A device and an instance that the package lacks are compiled, promoted, built, and then prebuilt."""
    monkeypatch.chdir(example)
    store = open_store(example / "example_project")
    assert store.find_image("saxpy", arch="sm_75").origin == "jitted"
    assert store.find_image("block_sum<float, 512>", arch="sm_86").origin == "jitted"
    before = (example / "kernels.yaml").read_text()

    status, diff, told = run(capsys, "--package", example / "example_project")
    assert status == 0
    assert "saxpy: saxpy on sm_75: not prebuilt for it" in told
    assert "reduce: block_sum<float, 512> on sm_86: not listed" in told
    changed = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in {"+++", "---"}]
    assert changed == [
        "-arches: [sm_80, compute_80]",
        "+arches: [sm_80, compute_80, sm_75]",
        f"-{MATRIX.rstrip()}",
        f"+{MATRIX.rstrip().replace('256', '256, 512')}",
    ]
    assert (example / "kernels.yaml").read_text() == before
    subprocess.run(["git", "apply", "--check"], input=diff, text=True, check=True, capture_output=True)

    assert run(capsys, "--package", example / "example_project", "--apply")[0] == 0
    assert (example / "kernels.yaml").read_text() == before.replace("compute_80]", "compute_80, sm_75]").replace(
        "[128, 256]}\n    launch", "[128, 256, 512]}\n    launch"
    )
    build(example)
    store = open_store(example / "example_project")
    assert store.find_image("saxpy", arch="sm_75").origin == "prebuilt"
    assert store.find_image("block_sum<float, 512>", arch="sm_86").origin == "prebuilt"
    status, diff, told = run(capsys, "--package", example / "example_project")
    assert (status, diff) == (0, "")
    assert told.startswith("nothing to add: no other kernel of ")


@pytest.mark.slow
def test_json_and_the_bundle(example, capsys, monkeypatch, tmp_path):
    """The same as data; a bundle holds these images only, and needs no manifest."""
    monkeypatch.chdir(tmp_path)
    store = open_store(example / "example_project")
    image = store.find_image("saxpy", arch="sm_75")
    bundle = tmp_path / "misses.zip"
    status, out, _ = run(capsys, "--package", example / "example_project", "--bundle", bundle, "--json")
    data = json.loads(out)
    assert status == 0
    [miss] = data["misses"]
    assert {name: miss[name] for name in ("module", "kernel", "listed", "arch")} == {
        "module": "saxpy", "kernel": "saxpy", "listed": True, "arch": "sm_75",
    }  # fmt: skip
    assert (data["diff"], data["applied"], data["bundle"]) == ("", False, str(bundle))
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "elsewhere"))
    assert main(["cache", "import", str(bundle)]) == 0
    assert "took 1 image" in capsys.readouterr().out
    again = store.find_image("saxpy", arch="sm_75")
    assert (again.origin, again.data) == ("cached", image.data)
    # The bundle says whose it is: the author's machine promotes what another one compiled.
    status, diff, _ = run(capsys, example / "kernels.yaml", "--package", example / "example_project")
    assert (status, "+arches: [sm_80, compute_80, sm_75]" in diff) == (0, True)


@pytest.mark.slow
def test_without_a_manifest_there_is_nothing_to_patch(example, capsys, monkeypatch, tmp_path):
    """Only a bundle can be had without a manifest."""
    monkeypatch.chdir(tmp_path)
    status, _, told = run(capsys, "--package", example / "example_project")
    assert status == 2
    assert told.startswith("error: there is no kernels.yaml in ")


@pytest.mark.slow
def test_stale_and_foreign_entries_are_not_promoted(example, capsys, monkeypatch):
    """What another source gave, and what a build compiled, is none of this package's misses."""
    monkeypatch.chdir(example)
    open_store(example / "example_project").find_image("saxpy", arch="sm_75")
    source = example / "kernels" / "saxpy.cu"
    source.write_text(source.read_text().replace("a * x[i]", "x[i] * a"))
    build(example)
    text = (example / "kernels.yaml").read_text()
    (example / "more.yaml").write_text(text.replace("arches: [sm_80", "arches: [sm_120, sm_80"))
    build_store(load_manifest(example / "more.yaml"), example / "more")
    assert run(capsys, "--package", example / "example_project")[1] == ""


def test_what_nvjitlink_finished_is_promoted(example, capsys, monkeypatch):
    """PTX that an old driver could not take was finished for a device, which the manifest then lists."""
    monkeypatch.chdir(example)
    image = open_store(example / "example_project").find_image("saxpy", arch="sm_103", driver=(12, 8))
    assert (image.origin, str(image.arch)) == ("jitted", "sm_103")
    assert "+arches: [sm_80, compute_80, sm_103]" in run(capsys, "--package", example / "example_project")[1]


def test_an_older_reader_takes_the_entry(example, fresh_cache):
    """The field that makes an entry a miss is one more of the same schema."""
    open_store(example / "example_project").find_image("saxpy", arch="sm_75")
    wanted = [json.loads(path.read_text()).get("wanted") for path in fresh_cache.rglob("entry.json")]
    assert sorted(filter(None, wanted)) == ["saxpy"]
    assert len(wanted) > 1
    assert {json.loads(path.read_text())["schema"] for path in fresh_cache.rglob("entry.json")} == {1}


FLOW = "{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}"
BLOCK = """\
schema: 1       # first
cuda: '13.0'    # oldest drivers
# what is built
modules:
  # the only one
  a:
    source: saxpy.cu   # the file
    instances:
      - "f<{T}>"  # a pattern
    matrix:
      T:
        - float   # usual
        - double
"""
CASES = {
    "a flow list": (FLOW, [("sm_75", None)], [("[sm_90]", "[sm_90, sm_75]")]),
    "no list at all, in a flow": (
        "{schema: 1, modules: {a: {source: saxpy.cu}}}", [("sm_88", None)],
        [("schema: 1,", "schema: 1, arches: [all-major, sm_88],")],
    ),
    "no list at all, in a block": (
        BLOCK, [("sm_88", None)], [("# oldest drivers\n", "# oldest drivers\narches: [all-major, sm_88]\n")],
    ),
    "a word": ("schema: 1\narches: all-major # all\nmodules: {a: {source: saxpy.cu}}\n", [("sm_88", None)],
        [("all-major #", "[all-major, sm_88] #")]),
    "a module's own list": (
        "schema: 1\narches: [sm_90]\nmodules: {a: {source: saxpy.cu, arches: [sm_80,]}}\n", [("sm_75", None)],
        [("[sm_80,]", "[sm_80, sm_75,]")],
    ),
    "a block list that ends the file": (
        "modules: {a: {source: saxpy.cu}}\nschema: 1\narches:\n- sm_90", [("sm_75", None)],
        [("- sm_90", "- sm_90\n- sm_75")],
    ),
    "Windows line ends": (
        "schema: 1\r\narches:\r\n  - sm_90 # x\r\nmodules: {a: {source: saxpy.cu}}\r\n", [("sm_75", None)],
        [("- sm_90 # x\r\n", "- sm_90 # x\r\n  - sm_75\r\n")],
    ),
    "a byte order mark": ("\ufeff" + FLOW, [("sm_75", None)], [("[sm_90]", "[sm_90, sm_75]")]),
    "a value of an axis": (BLOCK, [(None, "f<int>")], [("        - double\n", "        - double\n        - int\n")]),
    "a value that YAML would misread": (
        BLOCK, [(None, "f<pair<int, 2>>")], [("        - double\n", '        - double\n        - "pair<int,2>"\n')],
    ),
    "an instance of another template": (
        BLOCK, [(None, "g<float, 2>")], [("# a pattern\n", '# a pattern\n      - "g<float, 2>"\n')],
    ),
    "an instance where none is listed": (
        FLOW, [(None, "g<1>")], [("source: saxpy.cu}", 'source: saxpy.cu, instances: ["g<1>"]}')],
    ),
    "listed by now": (BLOCK, [("sm_90", "f<  float >")], []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted", "edits"), CASES.values(), ids=CASES.keys())
def test_edits_keep_what_was_written(text, wanted, edits, make_project):
    """Each way to write a list takes one item more, and no other character changes."""
    path = make_project("") / "kernels.yaml"
    path.write_bytes(text.encode())
    parsed = [Wanted("a", None if arch is None else load_arch(arch), instance) for arch, instance in wanted]
    promotion = promote(path, parsed)
    expected = text
    for old, new in edits:
        assert expected.count(old) == 1
        expected = expected.replace(old, new)
    assert promotion.after == expected
    assert promotion.refused == ()
    path.write_bytes(promotion.after.encode())
    (module,) = load_manifest(path).modules
    assert all(want.arch is None or want.arch in module.arches for want in parsed)
    assert promote(path, parsed).after == promotion.after


def load_arch(name):
    """Return an architecture by name."""
    from hatch_cuda_kernels.arch import SmArch

    return SmArch.parse(name)


def test_a_matrix_grows_by_one_axis_at_a_time(make_project):
    """Two new arguments at once are listed, unless one of them comes into the matrix by another instance."""
    text = 'schema: 1\nmodules:\n  a: {source: saxpy.cu, instances: ["f<{T}, {N}>"], matrix: {T: [float], N: [1]}}\n'
    path = make_project(text) / "kernels.yaml"
    both = promote(path, [Wanted("a", None, "f<int, 2>")])
    assert both.changes == ("modules.a.instances: f<int, 2>",)
    stepwise = promote(path, [Wanted("a", None, "f<int, 2>"), Wanted("a", None, "f<float, 2>")])
    assert "matrix: {T: [float, int], N: [1, 2]}" in stepwise.after
    assert stepwise.changes == ("modules.a.matrix.N: 2 (1 more kernels)", "modules.a.matrix.T: int (2 more kernels)")


VARIANTS = """\
schema: 1
arches: [sm_90]
modules:
  # by macros
  "scale_{T}_{N}":
    source: scale.cu  # one
    matrix: {T: [float, double], N: [1, 2], K: [3]}  # usual
    instances: ["fill<{N}, {K}>"]
    exclude: [{T: double, N: 2}]  # too slow
    options: {define: {TYPE: "{T}", COUNT: "{N}"}}
"""
COMBINATION = '[{T: "thrust::complex<float>", N: 3}'
COMBINED = {
    "one": ([("half", "3")], [("# too slow\n", "# too slow\n    combinations: [{T: half, N: 3}]\n")]),
    "with one new value": ([("half", "1")], [("# too slow\n", "# too slow\n    combinations: [{T: half, N: 1}]\n")]),
    "with a value that is asked for with all others": (
        [("half", "1"), ("half", "2")], [("[float, double]", "[float, double, half]")],
    ),
    "that a new value and exclude give": ([("float", "3"), ("double", "3")], [("N: [1, 2]", "N: [1, 2, 3]")]),
    "in C++": (
        [("thrust::complex<float>", "3"), ("a, b", "3")],
        [("# too slow\n", f'# too slow\n    combinations: {COMBINATION}, {{T: "a, b", N: 3}}]\n')],
    ),
    "listed by now": ([("float", " 1")], []),
}  # fmt: skip


@pytest.mark.parametrize(("values", "edits"), COMBINED.values(), ids=COMBINED.keys())
def test_combinations_are_listed_and_no_others(values, edits, make_project):
    """A value comes to an axis only if nothing else comes with it, and no other character changes."""
    path = make_project(VARIANTS, **{"scale.cu": ""}) / "kernels.yaml"
    before = {module.name for module in load_manifest(path).modules}
    wanted = [Wanted("", None, None, "scale", (("T", kind), ("N", number))) for kind, number in values]
    promotion = promote(path, wanted)
    expected = VARIANTS
    for old, new in edits:
        assert expected.count(old) == 1
        expected = expected.replace(old, new)
    assert (promotion.after, promotion.refused) == (expected, ())
    path.write_text(promotion.after)
    assert len({module.name for module in load_manifest(path).modules} - before) == (len(wanted) if edits else 0)
    assert promote(path, wanted).after == promotion.after


SHARED = """\
schema: 1
arches: [sm_90]
modules:
  "a_{T}_{ON}":
    source: scale.cu
    matrix: &all {T: &types [float, double], "ON": [1, 2]}
    options: {define: {TYPE: "{T}", COUNT: "{ON}"}}
  "b_{T}_{ON}":
    source: scale.cu
    matrix: *all
    options: &define {define: {TYPE: "{T}", COUNT: "{ON}"}}
  "c_{T}_{ON}":
    source: scale.cu
    matrix: {T: *types, "ON": [1]}
    options: *define
  "d_{T}_{ON}":
    source: scale.cu
    options: *define
    matrix: {T: [float], "ON": [1]}
    combinations: &more
      - T: char
        "ON": 1

    # below the list
  "e_{T}_{ON}": {source: scale.cu, options: *define, matrix: *all, combinations: *more}
  "f_{T}_{ON}": &entry {source: scale.cu, options: *define, matrix: *all}
  "g_{T}_{ON}": *entry
"""
SHARES = {
    "the alias of a matrix": ("b", "half", 3, ("*all\n", '*all\n    combinations: [{T: half, "ON": 3}]\n')),
    "the anchor of a matrix": ("a", "float", 3, ("2]}\n", '2]}\n    combinations: [{T: float, "ON": 3}]\n')),
    "the alias of an axis": ("c", "half", 1, ("{T: *types", "{T: [float, double, half]")),
    "the alias of a list": ("e", "half", 3, ("*more", '[{T: char, "ON": 1}, {T: half, "ON": 3}]')),
    "the anchor of a list": ("d", "half", 3, "'e_{T}_{ON}' has the same list, by an anchor; write it out there"),
    "the alias of an entry": ("g", "half", 3, "'f_{T}_{ON}' has the same list, by an anchor; write it out there"),
}


@pytest.mark.parametrize(("family", "kind", "number", "edit"), SHARES.values(), ids=SHARES.keys())
def test_a_list_that_entries_share_is_changed_for_one_of_them(family, kind, number, edit, make_project):
    """What an alias stands for is written out; what has an anchor stays, or is named."""
    path = make_project(SHARED, **{"scale.cu": ""}) / "kernels.yaml"
    before = {module.name for module in load_manifest(path).modules}
    wanted = [Wanted("", None, None, family, (("T", kind), ("ON", str(number))))]
    promotion = promote(path, wanted)
    if isinstance(edit, str):
        assert promotion.after == SHARED
        assert promotion.refused[0].endswith(f"}}: {edit}")
        return
    assert (promotion.after, promotion.refused) == (SHARED.replace(*edit, 1), ())
    path.write_text(promotion.after)
    [added] = {module.name for module in load_manifest(path).modules} - before
    assert added.startswith(f"{family}_")
    assert promote(path, wanted).after == promotion.after


def test_a_combination_that_no_entry_can_have_is_told(make_project):
    """One of another package, one that is excluded, and one that two entries could have."""
    again = VARIANTS[VARIANTS.index('  "scale_') :].replace("scale_{T}_{N}", "scale-{T}-{N}").replace("float, ", "")
    again = again.replace("double]", "char]").replace("    exclude: [{T: double, N: 2}]  # too slow\n", "")
    path = make_project(VARIANTS, **{"scale.cu": ""}) / "kernels.yaml"
    excluded = Wanted("", None, None, "scale", (("T", "double"), ("N", "2")))
    other = Wanted("", None, None, "other", (("T", "double"),))
    assert promote(path, [excluded, other]).refused == (
        "modules.scale_{T}_{N}.combinations: {T: double, N: 2}: exclude leaves it out; remove one of the two",
        "other with T: double: kernels.yaml has no module of that name with these axes",
    )
    path.write_text(VARIANTS + again)
    asked = Wanted("", None, None, "scale", (("T", "half"), ("N", "2")))
    assert promote(path, [asked]).refused == (
        "scale with T: half, N: 2: 'scale-{T}-{N}' and 'scale_{T}_{N}' could have it; list it in one of them",
    )


def test_instances_of_modules_with_axes_are_listed_for_all_of_them(make_project):
    """By one more value of an axis that is not in the name, or as they are."""
    path = make_project(VARIANTS, **{"scale.cu": ""}) / "kernels.yaml"
    new = Wanted("", None, "fill<3, 7>", "scale", (("T", "half"), ("N", "3")))
    promotion = promote(path, [new, Wanted("scale_float_1", None, "fill<1, 9>"), Wanted("scale_float_2", None, "g<1>")])
    assert promotion.refused == ()
    assert promotion.changes == (
        "modules.scale_{T}_{N}.combinations: {T: half, N: 3}",
        "modules.scale_{T}_{N}.matrix.K: 7 (4 more kernels)",
        "modules.scale_{T}_{N}.matrix.K: 9 (4 more kernels)",
        "modules.scale_{T}_{N}.instances: g<1>",
    )


@pytest.mark.slow
def test_a_combination_that_was_compiled_is_prebuilt_after_a_promotion(make_project, capsys, monkeypatch, fresh_cache):
    """With its instances, and for an architecture that the others lack, too."""
    source = (
        'extern "C" __global__ void scale(TYPE* x) { *x *= COUNT; }\n'
        "template <int N, int K> __global__ void fill(TYPE* x) { x[N] = K; }\n"
    )
    root = make_project(VARIANTS, **{"scale.cu": source})
    monkeypatch.chdir(root)

    def package():
        build_store(load_manifest("kernels.yaml"), root / "out")
        return open_store(root / "out")

    module = package().module("scale", T="int", N=5)
    assert module.find_image("scale", arch="sm_90").origin == "jitted"
    assert module.find_image("fill<5, 8>", arch="sm_75").origin == "jitted"
    assert package().find_image("fill<1, 9>", arch="sm_90", module="scale_double_1").origin == "jitted"
    status, out, _ = run(capsys, "--package", "out", "--json")
    data = json.loads(out)
    assert (status, [miss.get("axes") for miss in data["misses"]]) == (0, [None, *[{"T": "int", "N": "5"}] * 2])
    assert "scale_int_5: scale on sm_90: T=int, N=5 not listed" in run(capsys, "--package", "out", "--apply")[2]
    module = package().module("scale", T="int", N=5)
    assert module.is_listed
    assert module.find_image("scale", arch="sm_90").origin == "prebuilt"
    assert module.find_image("fill<5, 8>", arch="sm_75").origin == "prebuilt"
    assert run(capsys, "--package", "out")[2].startswith("nothing to add")


def test_what_the_manifest_cannot_say_is_refused(make_project):
    """An architecture of another toolkit release and a module of another package are told, and the rest is done."""
    path = make_project('{schema: 1, cuda: "13.0", arches: [sm_90], modules: {a: {source: saxpy.cu}}}') / "kernels.yaml"
    wanted = [("a", "sm_61"), ("b", "sm_80"), ("a", "sm_80")]
    promotion = promote(path, [Wanted(module, load_arch(arch), None) for module, arch in wanted])
    assert promotion.refused == (
        "kernels.yaml has no module 'b'; is it the manifest of this package?",
        "arches: sm_61: CUDA 13.0 does not know 'sm_61'; 12.9 does, so write cuda: \"12.9\"",
    )
    assert promotion.changes == ("arches: sm_80",)


MATCHES = {
    ("f<{T}, {N}>", "f<float,2>"): {"T": "float", "N": "2"},
    ("f<{T},{N}>", "f< pair<int, 3>, (4 > 2) >"): {"T": "pair<int,3>", "N": "(4>2)"},
    ("f<unsigned {T}*, {T}>", "f<unsigned int *, int>"): {"T": "int"},
    ("f<unsigned {T}*, {T}>", "f<unsigned int *, char>"): None,
    ("ns::v{N}_k<{T}>", "ns::v4_k<int>"): {"N": "4", "T": "int"},
    ("f<{T}>", "f<int, 2>"): None,
    ("f<{T}>", "g<int>"): None,
    ("f<float>", "f<float>"): {},
}


@pytest.mark.parametrize(("pattern", "name"), MATCHES)
def test_patterns_are_solved(pattern, name):
    """The values of placeholders are found whatever the spaces, one value a placeholder, brackets kept together."""
    assert match(pattern, name) == MATCHES[pattern, name]


def test_a_bundle_needs_no_yaml():
    """Machines that only run kernels lack the build extra; they find what was compiled there all the same."""
    code = "import sys; from hatch_cuda_kernels.promote import find_misses; assert 'yaml' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
