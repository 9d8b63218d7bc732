"""The verdict on a release: a wheel with one planted fault of each kind, and what is no fault."""

from __future__ import annotations

import json
import random
import re
import shutil
import zipfile
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from doc_blocks import CLI_PAGE
from slow_parameters import slow_but
from store_damage import damage
from wheels import Wheel

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.report import KINDS, SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Callable

MANIFEST = """\
schema: 1
arches: [sm_80, sm_90, compute_80]
supports: {devices: ["8.0", "9.0"], driver: "13.0"}
modules:
  saxpy: {source: saxpy.cu, globals: [factor], launch: {saxpy: {block: 256, grid: "ceil_div(n, 256)"}}}
  sums: {source: sums.cu, instances: ["sum<{T}, {N}>"], matrix: {T: [float, double], N: [4, 8]}}
  "build_{T}": {source: build.cu, matrix: {T: [float, double]}, options: {define: {TYPE: "{T}"}}}
"""
SOURCES = {
    "saxpy.cu": """\
__constant__ float factor[4];
extern "C" __global__ void __launch_bounds__(512) saxpy(float* y, const float* x, unsigned int n, float a) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] * factor[0] + y[i];
}
""",
    "sums.cu": """\
template <typename T, int N> __global__ void sum(const T* x, T* y) {
    T all = 0;
    for (int i = 0; i < N; ++i) all += x[i];
    *y = all;
}
""",
    "build.cu": 'extern "C" __global__ void build(TYPE* x) { *x = 1; }\n',
}
KERNELS = ["build (build_double)", "build (build_float)", "saxpy", "sum<double, 4>", "sum<double, 8>",
           "sum<float, 4>", "sum<float, 8>"]  # fmt: skip
#: Half a percent of the wheel is more than an edit of an index.
OTHER_FILES = random.Random(0).randbytes(200_000)


def build(folder, edits=(), manifest=MANIFEST):
    """Return the store of the project with edited sources."""
    folder.mkdir(parents=True)
    (folder / "kernels.yaml").write_text(manifest)
    for name, text in SOURCES.items():
        (folder / name).write_text(reduce(lambda edited, edit: edited.replace(*edit), edits, text))
    build_store(load_manifest(folder / "kernels.yaml"), folder / "_kernels")
    return folder / "_kernels"


def pack(store, wheel, version="1.0"):
    """Write a wheel that has a store, and return its path."""
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in store.rglob("*") if path.is_file()):
            archive.write(path, f"mylib/_kernels/{path.relative_to(store)}")
        archive.writestr("mylib/data.bin", OTHER_FILES)
        metadata = f"Name: mylib\nVersion: {version}\nRequires-Dist: hatch-cuda-kernels>=1.0\n"
        archive.writestr(f"mylib-{version}.dist-info/METADATA", metadata)
        archive.writestr(f"mylib-{version}.dist-info/RECORD", "")
    return wheel


@pytest.fixture(scope="module")
def released(tmp_path_factory, isolation):
    """Return the wheel of the release before."""
    folder = tmp_path_factory.mktemp("released")
    return Wheel(pack(build(folder / "project"), folder / "mylib-1.0-py3-none-any.whl")).write(folder)


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory, isolation):
    """Return a function that gives the store of edited sources, built once."""
    return cache(lambda edits, manifest=MANIFEST: build(tmp_path_factory.mktemp("rebuilt") / "p", edits, manifest))


@pytest.fixture
def plant(released, rebuilt, tmp_path):
    """Return a function that gives the next release, with a fault in it."""

    def next_release(fault):
        wheel = Wheel(released)
        fault(wheel, rebuilt)
        return wheel.write(tmp_path)

    return next_release


@pytest.fixture
def verdict(capsys):
    """Return a function that gives the verdict on two packages, with the changes by kind."""

    def compare(old, new, *more):
        capsys.readouterr()
        main(["compare", str(old), str(new), "--json", *more])
        data = json.loads(capsys.readouterr().out)
        assert data["ok"]
        return data["verdict"], [(one["kind"], one["where"], one["old"], one["new"]) for one in data["changes"]]

    return compare


def edit_lines(edit):
    """Return the fault of edited lines in ``kernels.tsv``; a line is a list of its fields, and None drops it."""

    def plant_fault(wheel, _):
        lines = [line.split("\t") for line in wheel["kernels.tsv"].decode().splitlines()]
        kept = [line for found in lines for line in edit(found)]
        wheel["kernels.tsv"] = "".join(sorted("\t".join(line) + "\n" for line in kept)).encode()

    return plant_fault


def field(key, column, value):
    """Return the fault of another field in a line."""
    return edit_lines(lambda line: [[*line[:column], value, *line[column + 1 :]] if line[0] == key else line])


def without_line(*keys):
    """Return the fault of lines that are not there."""
    return edit_lines(lambda line: [] if line[0] in keys else [line])


def of_index(module, change, file="index.json"):
    """Return the fault of another index."""
    return lambda wheel, _: wheel.edit_index(module, change, file)


def of_each_index(change):
    """Return the fault of a change to each module's index."""

    def plant_fault(wheel, _):
        for module in MODULES:
            wheel.edit_index(module, change)

    return plant_fault


MODULES = ("build_double", "build_float", "saxpy", "sums")


def rebuild(*edits, manifest=MANIFEST):
    """Return the fault that sources were edited, or the manifest."""

    def plant_fault(wheel, rebuilt):
        for name in [name for name in wheel.files if name.startswith(wheel.store)]:
            del wheel.files[name]
        store = rebuilt(edits, manifest)
        for path in (path for path in store.rglob("*") if path.is_file()):
            wheel[path.relative_to(store).as_posix()] = path.read_bytes()

    return plant_fault


def edited(old, new):
    """Return the fault of another manifest."""
    assert old in MANIFEST
    return rebuild(manifest=MANIFEST.replace(old, new))


def drop_images(*archs):
    """Return the fault that images were not built."""

    def drop(index):
        index["images"] = [image for image in index["images"] if image["arch"] not in archs]

    return of_each_index(drop)


def rename_arch(old, new):
    """Return the fault that another architecture was built."""

    def rename(index):
        for image in index["images"]:
            image["arch"] = new if image["arch"] == old else image["arch"]

    return of_each_index(rename)


def use(**figures):
    """Return the fault of other resources of saxpy for sm_90."""
    name = "saxpy.sm_90.cubin"
    return of_index("saxpy", lambda data: data["resources"][name]["saxpy"].update(figures), "details.json")


def metadata(old, new):
    """Return the fault of other metadata."""

    def plant_fault(wheel, _):
        name = next(name for name in wheel.files if name.endswith("/METADATA"))
        wheel.files[name] = wheel.files[name].replace(old.encode(), new.encode())

    return plant_fault


def move_store(wheel, _):
    """Ship the store in another import package."""
    wheel.files = {name.replace("mylib/_kernels", "other/_kernels"): data for name, data in wheel.files.items()}
    wheel.store = "other/_kernels/"


def lose_sources(wheel, _):
    """Ship no source, as an exclude of the build backend may do."""
    wheel.files = {name: data for name, data in wheel.files.items() if not name.endswith(".cu")}


def set_launch(**rule):
    """Return the fault of another launch rule."""
    return of_index("saxpy", lambda index: index["launch"][0].update(rule))


def by_older_toolkit(index):
    """Have images that an older toolkit wrote."""
    for image in index["images"]:
        image["ptx_isa"] = "8.8"


def both(*faults):
    """Return several faults together."""

    def plant_faults(wheel, rebuilt):
        for fault in faults:
            fault(wheel, rebuilt)

    return plant_faults


def old_format(wheel, _):
    """Have the format of the first versions: schema 1, and sources in each module's folder."""
    for module in MODULES:
        wheel.edit_index(module, lambda index: index.update(schema=1))
        for name in json.loads(wheel[f"{module}/index.json"])["files"]:
            wheel[f"{module}/source/{name}"] = wheel[f"project.source/{name}"]


def withdraw(wheel, _):
    """Promise one device less."""
    promises = json.loads(wheel["promises.json"])
    promises["supports"]["devices"].remove("9.0")
    wheel["promises.json"] = json.dumps(promises).encode()


def add_file(size):
    """Return the fault of a file more in the wheel."""
    return lambda wheel, _: wheel.files.update({"mylib/more.bin": OTHER_FILES[:size]})


def longer(size):
    """Return the fault of an image with more bytes."""
    return lambda wheel, _: wheel.edit_image("saxpy", "saxpy.sm_90.cubin", lambda data: data + bytes(size))


class Fault(NamedTuple):
    """What was done to the next release, and what is said of it."""

    plant: Callable[[Wheel, Any], None]
    kind: str
    line: tuple[str, str | float, str | float]
    """Where, before and now."""
    also: frozenset[str] = frozenset()
    """Other kinds that come with it, those of patches aside."""
    before: Callable[[Wheel, Any], None] | None = None
    """What is done to the release before."""


def also(*kinds):
    """Return kinds that come with a fault."""
    return frozenset(kinds)


ALL = "all 7 kernels"
BUILD = '"build_{T}": {source: build.cu, matrix: {T: [float, double]}, options: {define: {TYPE: "{T}"}}}'
SUMS = 'instances: ["sum<{T}, {N}>"], matrix: {T: [float, double], N: [4, 8]}'
NEW_ARCHES = MANIFEST.replace("[sm_80, sm_90, compute_80]", "[sm_90, compute_90]").replace('"8.0", "9.0"', '"9.0"')
RULE = "grid ceil_div(n, 256), block 256"
PTX_DEVICES = "10.0, 10.1, 10.3, 10.7, 11.0, 12.0, 12.1, newer ones"
HEAVY = ("+ y[i];", "+ y[i]; for (int k = 1; k < 40; ++k) y[i] = sqrtf(y[i] + k) / x[i + k];")
FAULTS = {
    "a kernel gone": Fault(without_line("saxpy"), "kernel-removed", ("saxpy", "", "")),
    "an instance gone": Fault(
        edited("N: [4, 8]", "N: [4]"), "kernel-removed", ("sum<double, 8>, sum<float, 8>", "", "")
    ),
    "a combination gone": Fault(
        edited(BUILD, BUILD.replace("float, double", "float")), "kernel-removed", ("build (build_double)", "", "")
    ),
    "a module renamed": Fault(edited("  saxpy: {", "  axpy: {"), "moved", ("factor, saxpy", "saxpy", "axpy")),
    "a kernel in a second module": Fault(
        edit_lines(lambda line: [line, [line[0], "sums", *line[2:]]] if line[0] == "saxpy" else [line]),
        "ambiguous", ("saxpy", "saxpy", "saxpy, sums"), also("kernel-added"),
    ),
    "a template in a second module": Fault(
        edited("  saxpy: {", f"  more: {{source: sums.cu, {SUMS.replace('float, double', 'int')}}}\n  saxpy: {{"),
        "ambiguous", ("sum<{T}, {N}>", "sums", "more, sums"), also("kernel-added"),
    ),
    "a type changed": Fault(
        rebuild(("unsigned int n", "long long n")), "parameters-changed",
        ("saxpy, parameter n", "unsigned int", "long long"),
    ),
    "const dropped": Fault(
        rebuild(("const float* x", "float* x")), "parameters-changed", ("saxpy, parameter x", "const float*", "float*")
    ),
    "a struct grown": Fault(
        field("saxpy", 3, "u64,u64,u32,b8[12]:4"), "parameters-changed",
        ("saxpy, parameter a", "float b8[8]:4", "float b8[12]:4"), before=field("saxpy", 3, "u64,u64,u32,b8[8]:4"),
    ),
    "a parameter more": Fault(
        rebuild(("float a)", "float a, int more)")), "parameters-changed",
        ("saxpy", "float* y, const float* x, unsigned int n, float a",
         "float* y, const float* x, unsigned int n, float a, int more"),
    ),
    "a parameter renamed": Fault(
        rebuild(("float a)", "float alpha)"), ("a * x", "alpha * x")), "parameter-renamed",
        ("saxpy", "y, x, n, a", "y, x, n, alpha"),
    ),
    "an axis of a template renamed": Fault(
        edited(SUMS, SUMS.replace("{T}", "{TYPE}").replace("T:", "TYPE:")), "template-changed",
        ("sum<{T}, {N}>", "", ""), also("template-added"),
    ),
    "an axis of a module renamed": Fault(
        edited(BUILD, BUILD.replace("{T}", "{E}").replace("{T:", "{E:")), "axes-changed",
        ("build_double, build_float", "build with T", "build with E"),
    ),
    "a combination excluded": Fault(
        edited(BUILD, BUILD.replace("]}, o", "]}, exclude: [{T: double}], o")), "axes-changed",
        ("build, T=double", "", "excluded"), also("kernel-removed"),
    ),
    "a global gone": Fault(edited("globals: [factor], ", ""), "variable-removed", ("factor", "", "")),
    "a global grown": Fault(rebuild(("factor[4]", "factor[8]")), "variable-resized", ("factor", 16, 32)),
    "a launch rule gone": Fault(
        of_index("saxpy", lambda index: index.pop("launch")), "launch-rule-removed", ("saxpy", RULE, "")
    ),
    "a launch in clusters": Fault(
        set_launch(attributes={"cluster": [2]}), "launch-demands", ("saxpy, cluster", RULE, f"{RULE}, cluster [2]")
    ),
    "launch bounds lowered": Fault(
        rebuild(("(512)", "(256)")), "launch-restricted", ("saxpy, max threads", "512 x 1 x 1", "256 x 1 x 1")
    ),
    "launch bounds came": Fault(
        rebuild(), "launch-restricted", ("saxpy, max threads", "1024 x 1 x 1", "512 x 1 x 1"),
        before=rebuild(("__launch_bounds__(512) ", "")),
    ),
    "clusters stated": Fault(
        rebuild(("__launch_bounds__(512)", "__cluster_dims__(2, 1, 1)"), manifest=NEW_ARCHES), "launch-restricted",
        ("saxpy, cluster size", "any", "2 x 1 x 1"), before=rebuild(manifest=NEW_ARCHES),
    ),
    "an architecture gone": Fault(
        drop_images("sm_80", "compute_80"), "architecture-removed",
        (f"{ALL}, devices 8.0, 8.6, 8.8, 8.9", "sm_80", "no image"), also("ptx-removed"),
    ),
    "an architecture-specific form": Fault(
        both(drop_images("compute_80"), rename_arch("sm_80", "sm_80a")), "architecture-removed",
        (f"{ALL}, devices 8.6, 8.8, 8.9", "sm_80", "no image"), before=drop_images("compute_80"),
    ),
    "an architecture gone that no toolkit had yet": Fault(
        both(drop_images("compute_80", "sm_80"), rename_arch("sm_90", "sm_151")), "architecture-removed",
        (f"{ALL}, devices 15.0", "sm_150", "no image"),
        before=both(drop_images("compute_80", "sm_80"), rename_arch("sm_90", "sm_150")),
    ),
    "PTX gone": Fault(
        drop_images("compute_80"), "ptx-removed", (f"{ALL}, devices 8.7, {PTX_DEVICES}", "compute_80 PTX", "no image")
    ),
    "PTX of a higher architecture": Fault(
        rename_arch("compute_80", "compute_90"), "ptx-removed", (f"{ALL}, devices 8.7", "compute_80 PTX", "no image")
    ),
    "a kernel not in an image": Fault(
        of_index("sums", lambda index: [one.update(lacks=["_Z3sumIfLi4EEvPKT_PS0_"]) for one in index["images"][1:]]),
        "ptx-removed", (f"sum<float, 4>, devices 8.7, {PTX_DEVICES}", "compute_80 PTX", "no image"),
        also("architecture-removed"),
    ),
    "the driver's floor raised": Fault(
        rebuild(), "driver-raised",
        (f"{ALL}, devices 8.0, 8.6, 8.8, 8.9, 9.0", "driver for CUDA 12.0", "driver for CUDA 13.0"),
        before=of_each_index(by_older_toolkit),
    ),
    "sources gone": Fault(lose_sources, "sources-removed", ("build_double, build_float, saxpy and 1 more", "", "")),
    "the store in another package": Fault(move_store, "store-moved", ("the package", "mylib", "other")),
    "a newer format": Fault(rebuild(), "format-raised", ("the package", "schema 1", "schema 2"), before=old_format),
    "a kernel came": Fault(
        edited("N: [4, 8]", "N: [4, 8, 16]"), "kernel-added", ("sum<double, 16>, sum<float, 16>", "", ""),
        also("bytes-rose"),
    ),
    "a template came": Fault(
        edited('["sum<{T}, {N}>"]', '["sum<{T}, {N}>", "sum<{T}, 2>"]'), "template-added", ("sum<{T}, 2>", "", ""),
        also("kernel-added", "bytes-rose"),
    ),
    "a global came": Fault(
        rebuild(("factor[4];", "factor[4], other;"), manifest=MANIFEST.replace("[factor]", "[factor, other]")),
        "variable-added", ("other", "", ""),
    ),
    "a launch rule came": Fault(
        edited(SUMS, f"{SUMS}, launch: {{sum: {{block: 1, grid: 1}}}}"), "launch-rule-added",
        ("sum<double, 4>, sum<double, 8>, sum<float, 4> and 1 more", "", "grid 1, block 1"),
    ),
    "a launch rule changed": Fault(
        edited("block: 256", "block: 128"), "launch-rule-changed", ("saxpy", RULE, "grid ceil_div(n, 256), block 128")
    ),
    "an architecture came": Fault(
        rebuild(), "architecture-added", (f"{ALL}, devices 8.7, {PTX_DEVICES}", "no image", "compute_80 PTX"),
        before=rename_arch("compute_80", "compute_90a"),
    ),
    "an architecture gone, with PTX left": Fault(
        drop_images("sm_90"), "ptx-instead", (f"{ALL}, devices 9.0", "sm_90", "compute_80 PTX")
    ),
    "a driver's floor lowered": Fault(
        of_each_index(by_older_toolkit), "driver-lowered",
        (f"{ALL}, devices 8.0, 8.6, 8.8, 8.9, 9.0", "driver for CUDA 13.0", "driver for CUDA 12.0"),
    ),
    "a promise withdrawn": Fault(withdraw, "promise-withdrawn", ("9.0", "promised", "not promised")),
    "a newer package required": Fault(
        metadata(">=1.0", ">=1.2,<3"), "requirement-raised", ("the package", ">=1.0", ">=1.2,<3")
    ),
    "fast math": Fault(
        edited("{source: saxpy.cu,", "{source: saxpy.cu, options: {use_fast_math: true},"), "arithmetic-changed",
        ("saxpy, use_fast_math", "default", "true"),
    ),
    "a larger wheel": Fault(add_file(60_000), "total-rose", None),
    "a larger image": Fault(longer(2048), "bytes-rose", ("module saxpy, sm_90", 4088, 6136)),
    "more code": Fault(rebuild(HEAVY), "code-rose", None, also("bytes-rose", "registers-rose")),
    "more registers": Fault(use(registers=40), "registers-rose", ("saxpy, sm_90", 10, 40)),
    "more shared memory": Fault(use(shared=4096), "shared-rose", ("saxpy, sm_90", 0, 4096)),
    "more local memory": Fault(use(stack=128), "stack-rose", ("saxpy, sm_90", 0, 128)),
    "spills": Fault(use(spill_stores=4, stack=4), "spills-rose", ("saxpy, sm_90", 0, 4)),
    "an architecture in place of another": Fault(
        rename_arch("sm_80", "sm_80f"), "architecture-changed",
        (ALL, "compute_80 PTX, sm_80, sm_90", "compute_80 PTX, sm_80f, sm_90"),
    ),
    "a type spelled otherwise": Fault(
        rebuild(("unsigned int n", "long n")), "type-respelled", ("saxpy, parameter n", "long long", "long"),
        before=rebuild(("unsigned int n", "long long n")),
    ),
    "another symbol": Fault(
        rebuild(('extern "C" __global__ void __l', "__global__ void __l"), manifest=MANIFEST),
        "symbol-changed", ("saxpy", "saxpy", "_Z5saxpyPfPKfjf"),
    ),
    "sources came": Fault(
        rebuild(), "sources-added", ("build_double, build_float, saxpy and 1 more", "", ""), before=lose_sources
    ),
    "a source changed": Fault(rebuild(("a * x[i]", "x[i] * a")), "source-changed", ("saxpy", "", "")),
    "an option changed": Fault(
        edited("{source: saxpy.cu,", "{source: saxpy.cu, options: {std: c++20, define: {A: 1}},"), "options-changed",
        ("saxpy, define", "none", "A=1"),
    ),
    "another compiler": Fault(
        of_index("saxpy", lambda index: index["toolchain"].update(nvrtc="13.0.99")), "toolchain-changed",
        ("saxpy, nvrtc", "13.0.88", "13.0.99"),
    ),
    "other bytes": Fault(longer(8), "images-changed", ("saxpy", "", "")),
    "images packed": Fault(
        edited("{source: sums.cu,", "{source: sums.cu, packing: solid,"), "packing-changed",
        ("sums", "not packed", "packed"),
    ),
    "a register more": Fault(
        use(registers=12), "figures-changed", ("saxpy, registers, most of all on sm_90", 10, 12)
    ),
}  # fmt: skip


def test_each_kind_of_change_is_planted():
    """No rule is there of which nobody knows whether it works."""
    assert {fault.kind for fault in FAULTS.values()} == KINDS.keys()


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_gets_its_verdict_and_its_line(name, released, plant, verdict):
    """The greatest severity of what was done is the verdict, and one line says what it was."""
    fault = FAULTS[name]
    old = released if fault.before is None else shutil.move(plant(fault.before), released.parent / f"{name}.whl")
    found, changes = verdict(old, plant(fault.plant))
    lines = {line[0]: line[1:] for line in changes}
    assert fault.line in {None, lines.get(fault.kind)} or (fault.kind, *fault.line) in changes
    assert {kind for kind in lines if KINDS[kind].severity != "patch"} | {fault.kind} == {fault.kind} | fault.also
    assert found == min((KINDS[kind].severity for kind in lines), key=SEVERITIES.index)


def test_a_release_that_changes_nothing(released, plant, verdict):
    """The same wheel twice, or built again, is no change at all."""
    assert verdict(released, released) == ("none", [])
    assert verdict(released, plant(rebuild())) == ("none", [])


def test_what_gets_better_is_no_change_for_the_worse(released, plant, verdict):
    """Fewer registers and a smaller wheel need no line: the source that changed has one."""
    found, changes = verdict(plant(both(use(registers=80), add_file(90_000))), released)
    assert (found, changes) == ("none", [])


def test_bounds_that_stay_are_no_restriction_of_other_images(released, plant, verdict):
    """What PTX and CUBINs say of launches is the same, so images of one kind may take the place of the other's."""
    old = shutil.move(plant(drop_images("sm_80", "sm_90")), released.parent / "ptx.whl")
    found, changes = verdict(old, plant(drop_images("compute_80")))
    assert found == "major"  # newer devices have no PTX
    assert "launch-restricted" not in {change[0] for change in changes}
    _, changes = verdict(old, plant(both(rebuild(("(512)", "(256)")), drop_images("sm_80", "sm_90"))))
    assert ("launch-restricted", "saxpy, max threads", "512 x 1 x 1", "256 x 1 x 1") in changes


def test_names_that_only_trade_places_are_renamed(released, plant, verdict):
    """Two parameters of one type that are exchanged are the worst of renames."""
    swapped = rebuild(("float* y, const float* x", "float* x, const float* y"), ("y[i] = a * x[i] * factor[0] + y[i]",
                      "x[i] = a * y[i] * factor[0] + x[i]"))  # fmt: skip
    found, changes = verdict(released, plant(swapped))
    assert found == "major"
    assert ("parameter-renamed", "saxpy", "y, x, n, a", "x, y, n, a") in changes


def test_a_rule_with_other_words_and_the_same_meaning_is_the_same(released, plant, verdict):
    """A parameter of another name counts by its position; a rule for all instances is a rule for each."""
    rule = {"grid": ["ceil_div(count, 256)"], "names": ["y", "x", "count", "a"]}
    assert verdict(released, plant(set_launch(**rule))) == ("none", [])


def test_chunks_of_a_module_are_one_module(released, plant, verdict):
    """Nobody who asks for a kernel sees in which chunk it is."""
    found, changes = verdict(released, plant(edited("{source: sums.cu,", "{source: sums.cu, chunk: 2,")))
    assert found == "patch"
    assert {change[0] for change in changes} <= {"images-changed", "figures-changed"}


def test_what_an_older_store_does_not_record_is_no_change(released, plant, verdict):
    """The first versions recorded neither C++ types nor names of parameters."""
    found, changes = verdict(plant(edit_lines(lambda line: [line[:5]])), released)
    assert (found, changes) == ("none", [])


def test_folders_and_wheels_are_compared_alike(released, rebuilt, verdict):
    """A store in a folder has no name, version or requirement, and is not compressed; all else is compared."""
    folder = rebuilt((("(512)", "(256)"),))
    for pair in ((released, folder), (folder, released)):
        found, changes = verdict(*pair)
        assert found == ("major" if pair[1] == folder else "patch")
        assert ("launch-restricted" in {change[0] for change in changes}) == (pair[1] == folder)
        assert not {"requirement-raised", "total-rose"} & {change[0] for change in changes}


def test_variants_are_the_same_in_another_order_of_axes(rebuilt, verdict):
    """The module's name is other, the types of its kernel are not."""
    variants = 'matrix: {T: [char, float], U: [char, double]}, options: {define: {TYPE: "{T}", OTHER: "{U}"}}}'
    head = "schema: 1\narches: [sm_80]\nmodules:\n"
    text = (("(TYPE* x)", "(TYPE* x, OTHER* y)"),)
    old, new = (
        rebuilt(text, f'{head}  "build_{axes}": {{source: build.cu, {variants}\n') for axes in ("{T}_{U}", "{U}_{T}")
    )
    severity, changes = verdict(old, new)
    assert severity == "major"
    assert sorted((kind, one, other) for kind, _, one, other in changes) == [
        ("moved", "build_char_double", "build_double_char"),
        ("moved", "build_float_char", "build_char_float"),
        ("moved", "build_float_double", "build_double_float"),
    ]


def test_two_packages_are_not_two_releases(released, plant, capsys):
    """Names are compared as indexes of packages do."""
    other = plant(metadata("Name: mylib", "Name: other_lib"))
    assert main(["compare", str(released), str(other)]) == 2
    assert "mylib and other_lib are different packages" in capsys.readouterr().err
    assert main(["compare", str(released), str(plant(metadata("Name: mylib", "Name: MyLib")))]) == 0


@pytest.mark.parametrize("expect", ["major", "minor", "patch"])
@pytest.mark.parametrize(
    ("fault", "severity"),
    [("a kernel gone", "major"), ("a kernel came", "minor"), ("a source changed", "patch"), (None, "none")],
)
def test_a_verdict_beyond_the_expected_one_fails(released, plant, capsys, expect, fault, severity):
    """The status is 1, and the lines beyond are named, but not those that were expected."""
    new = released if fault is None else plant(FAULTS[fault].plant)
    order = [*SEVERITIES, "none"]
    is_beyond = order.index(severity) < order.index(expect)
    assert main(["compare", str(released), str(new), "--expect", expect]) == is_beyond
    told = capsys.readouterr()
    assert (f"expected {expect} at most, and the verdict is {severity}: " in told.err) == is_beyond
    assert f": {severity} (" in told.out if fault else "nothing changed" in told.out
    if is_beyond:
        assert {"major": "kernel gone: saxpy", "minor": "kernel came: sum<"}.get(severity) in told.err


def test_the_table_has_a_reason_for_each_line(released, plant, capsys):
    """Whoever has to decide reads what it means for users."""
    assert main(["compare", str(released), str(plant(FAULTS["a parameter renamed"].plant))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"major +parameter renamed +saxpy +y, x, n, a +y, x, n, alpha", lines[1])
    assert f"parameter renamed: {KINDS['parameter-renamed'].why}" in lines
    assert lines[-1] == "mylib 1.0 -> mylib 1.0: major (1 major, 1 patch)"


def test_markdown_is_a_part_of_a_changelog(released, plant, capsys):
    """There is a heading for each severity, and whatever a name holds is shown as it is."""
    assert main(["compare", str(released), str(plant(FAULTS["an instance gone"].plant)), "--markdown"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("### Breaking changes\n\n- **Kernel gone**: `sum<double, 8>`, `sum<float, 8>` (get_kernel")
    assert text.endswith("Verdict: **major** (1 change)\n")


def test_releases_in_the_wrong_order_are_noticed(released, plant, capsys):
    """The verdict on going back is seldom what was asked for."""
    newer = plant(metadata("Version: 1.0", "Version: 1.10"))
    assert main(["compare", str(newer), str(released)]) == 0
    assert "is the newer one by its version" in capsys.readouterr().err
    assert main(["compare", str(released), str(newer)]) == 0
    assert capsys.readouterr().err == ""


def test_a_damaged_wheel_is_bad_input(released, plant, capsys):
    """An image that is not what its index says is an error with its place, and no verdict."""

    def damage(wheel, _):
        wheel["saxpy/saxpy.sm_90.cubin"] = b"x" * 4088

    for pair in ((released, plant(damage)), (plant(damage), released), (released, "nowhere.whl")):
        assert main(["compare", *map(str, pair), "--expect", "major"]) == 2
    assert "saxpy.sm_90.cubin does not match" in capsys.readouterr().err


@pytest.mark.parametrize("seeds", slow_but([range(12)], [range(12), range(12, 60)]), ids=str)
def test_no_damage_raises_anything(rebuilt, tmp_path, seeds, capsys):
    """Whatever is wrong in a file of one of two releases, there is a verdict, or an error that says what it is."""
    sound = rebuilt(())
    copy = shutil.copytree(sound, tmp_path / "copy")
    files = sorted(path for path in copy.rglob("*") if path.suffix in {".json", ".tsv", ".cubin"})
    for seed in seeds:
        rng = random.Random(seed)
        path = rng.choice(files)
        before = path.read_bytes()
        path.write_bytes(damage(rng, path))
        for pair in ((sound, copy), (copy, sound)):
            assert main(["compare", *map(str, pair), "--expect", "major"]) in {0, 2}, (seed, path)
        path.write_bytes(before)


def table():
    """Return the table of all kinds as the reference has it."""
    rows = [
        f"| `{row.kind}`{' ▲' if row.regression else ''} | {row.severity} | {row.when} | {row.why} |"
        for row in KINDS.values()
    ]
    return "\n".join(["| kind | severity | what counts | what it means |", "|---|---|---|---|", *rows])


def with_table(text):
    """Return the reference's page with the table between its marks."""
    head, mark, rest = text.partition("<!-- changes -->\n")
    _, end, tail = rest.partition("<!-- end -->\n")
    return f"{head}{mark}\n{table()}\n\n{end}{tail}"


def test_the_reference_has_every_kind():
    """The table of the page is made from the rules: this file, run by Python, writes it."""
    text = CLI_PAGE.read_text()
    assert text == with_table(text)


if __name__ == "__main__":
    CLI_PAGE.write_text(with_table(CLI_PAGE.read_text()))
