"""What a report says, as data: figures, differences, shades, and the tree of bytes."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.image import ImageId
from hatch_cuda_kernels.report import PackageFacts, Report, add_packed, compare
from hatch_cuda_kernels.report.figures import MEASURES, columns_of, figures_of, percent, short
from hatch_cuda_kernels.report.package import FileSize
from hatch_cuda_kernels.report.page import (
    MODULE_ROW,
    ROW,
    ROWS_SHOWN,
    Leaf,
    change_shade,
    grid_of,
    leaves_of,
    panels_of,
    shade_of,
    thresholds,
)

MEASURE = {measure.name: measure for measure in MEASURES}


def used(registers=32, shared=0, spills=0, stack=8):
    """Return what the index records of a kernel; stores and loads share the spills."""
    half = spills // 2
    return {
        "registers": registers, "shared": shared, "stack": stack, "spill_stores": spills - half, "spill_loads": half,
    }  # fmt: skip


def image(arch, size=1000, **resources):
    """Return an image of the index that holds the kernels named."""
    kind = "cubin" if arch.startswith("sm_") else "ptx"
    return {"arch": arch, "kind": kind, "bytes": size, "resources": resources if kind == "cubin" else {}}


def package(size=10_000, seconds=None, code=None, **modules):
    """Return a package of modules, each a list of images; a kernel's lowered name is its name with a ``_``."""
    return PackageFacts(
        label="x.whl",
        bytes=size,
        files=(),
        contents={
            "modules": {
                name: {
                    "kernels": {
                        lowered.removeprefix("_"): {"lowered": lowered, "params": []}
                        for lowered in dict.fromkeys(lowered for found in images for lowered in found["resources"])
                    },
                    "images": images,
                    "toolchain": {"nvrtc": "13.0.88", "headers": ""},
                }
                for name, images in modules.items()
            }
        },
        code=code or {},
        seconds=seconds or {},
    )


def test_figures_are_those_of_the_index():
    """Each kernel has a cell in each image that has it, with the kernel's own resources and the image's size."""
    found = package(
        m=[
            image("compute_80", 700),
            image("sm_120", 900, _k=used(40)) | {"lacks": ["_t"]},
            image("sm_90", 1000, _k=used(30, 128, spills=24), _t=used(20)),
        ],
        seconds={ImageId("m", SmArch(9, 0), "cubin"): 0.5},
        code={ImageId("m", SmArch(9, 0), "cubin"): {"_k": 640}},
    )
    cells = figures_of(found)
    assert [(cell.kernel, cell.arch) for cell in cells] == [
        ("k", "sm_90"), ("k", "sm_120"), ("k", "compute_80"), ("t", "sm_90"), ("t", "compute_80"),
    ]  # fmt: skip
    assert asdict(cells[0]) == {
        "module": "m", "kernel": "k", "arch": "sm_90", "kind": "cubin", "bytes": 1000, "packed": None, "code": 640,
        "seconds": 0.5, "registers": 30, "shared": 128, "stack": 8, "spills": 24,
    }  # fmt: skip
    assert (cells[2].bytes, cells[2].registers, cells[2].spills, cells[2].code) == (700, None, None, None)
    assert list(map(str, columns_of(cells))) == ["sm_90", "sm_120", "compute_80 PTX"]


@pytest.mark.parametrize(
    ("before", "after", "regressed"),
    [
        ({"_k": used()}, {"_k": used(spills=1)}, ["spills"]),
        ({"_k": used(spills=8)}, {"_k": used(spills=4)}, []),
        ({"_k": used(32)}, {"_k": used(39)}, []),
        ({"_k": used(32)}, {"_k": used(40)}, ["registers"]),
        ({"_k": used(shared=8192)}, {"_k": used(shared=9000)}, []),
        ({"_k": used(shared=8192)}, {"_k": used(shared=9300)}, ["shared"]),
        ({"_k": used(stack=8)}, {"_k": used(stack=71)}, []),
        ({"_k": used(stack=8)}, {"_k": used(stack=72)}, ["stack"]),
        ({"_k": used(stack=1000)}, {"_k": used(stack=1100)}, []),
    ],
)
def test_regressions_of_a_kernel(before, after, regressed):
    """Any spill, 8 registers, and a tenth and a KiB of shared memory more are regressions; less never is."""
    found = compare(package(m=[image("sm_90", **before)]), package(m=[image("sm_90", **after)]))
    assert [change.kind for change in found.regressions] == [f"{name}-rose" for name in regressed]
    assert len(found.changes) <= 1


@pytest.mark.parametrize(("new", "kind"), [(11_000, "figures-changed"), (11_001 + 23, "bytes-rose"), (9_000, None)])
def test_regression_of_an_image_is_told_once(new, kind):
    """An image's size is one change however many kernels it holds; a tenth more may be noise, beyond is not."""
    kernels = {"_k": used(), "_t": used()}
    found = compare(package(m=[image("sm_90", 10_000, **kernels)]), package(m=[image("sm_90", new, **kernels)]))
    told = [(change.kind, change.names, change.old, change.new) for change in found.changes]
    assert told == ([] if kind is None else [(kind, ("module m",), 10_000, new)])


def test_a_figure_of_a_kernel_in_another_chunk_is_compared():
    """An instance that comes before it may put a kernel into a module's next chunk; the image is not the same then."""
    old = package(m=[image("sm_90", 1000, _k=used(32))])
    new = package(**{"m.2": [image("sm_90", 5000, _k=used(64))]})
    assert [change.kind for change in compare(old, new).changes] == ["registers-rose"]


def test_compile_time_is_never_a_regression():
    """Another machine compiles at another speed: that is in the heat map, not among the changes."""
    key = ImageId("m", SmArch(9, 0), "cubin")
    old, new = (package(m=[image("sm_90", _k=used())], seconds={key: seconds}) for seconds in (1, 100))
    found = compare(old, new)
    assert found.changes == ()
    assert found.of(figures_of(new)[0], MEASURE["seconds"]).new == 100


def test_equal_wheels_have_no_changes():
    """A wheel compared with itself shows nothing."""
    same = package(m=[image("sm_90", _k=used())])
    report = Report(same, same)
    assert report.to_json()["changes"] == []
    assert report.to_json()["regressions"] == 0
    assert Report(same).to_json()["changes"] is None


def panel(name, view, cells, comparison=None):
    """Return one heat map of the cells."""
    found = panels_of(cells, grid_of(cells, comparison), comparison)
    return next(panel for panel in found if (panel.measure.name, panel.view) == (name, view))


def test_a_cell_of_an_image_spans_its_kernels():
    """Registers have a box a kernel; an image's size has one box as high as the module's kernels."""
    cells = figures_of(package(m=[image("sm_90", 2048, _k=used(30), _t=used(60))]))
    assert [(box.top, box.bottom, box.text) for box in panel("registers", "value", cells).boxes] == [
        (MODULE_ROW, MODULE_ROW + ROW, "30"), (MODULE_ROW + ROW, MODULE_ROW + 2 * ROW, "60"),
    ]  # fmt: skip
    (box,) = panel("bytes", "value", cells).boxes
    assert (box.top, box.bottom, box.text) == (MODULE_ROW, MODULE_ROW + 2 * ROW, "2.0 KiB")
    assert box.about == "m, sm_90. Image size: 2,048 bytes"


def test_a_regression_is_marked_in_value_and_change():
    """Shade, text and label say it: colour is never the only sign."""
    old = package(m=[image("sm_90", _k=used(spills=0)), image("sm_100", _k=used())])
    new = package(m=[image("sm_90", _k=used(spills=64)), image("sm_100", _k=used()), image("sm_120", _k=used())])
    comparison, cells = compare(old, new), figures_of(new)
    value, change = (panel("spills", view, cells, comparison).boxes for view in ("value", "change"))
    assert [(box.text, box.flagged) for box in value] == [("▲ 64", True), ("0", False), ("0", False)]
    assert [(box.text, box.shade) for box in change] == [("▲ 0 → 64", "worse-3"), ("=", "same"), ("new", "new")]
    assert change[0].about == "m: k, sm_90. Spills: 0 bytes per thread before, 64 bytes per thread now, a regression"


def test_a_heat_map_of_ptx_alone_says_why_it_is_empty():
    """Where nothing is recorded, a sentence says so in place of a picture of nothing."""
    found = package(m=[image("sm_90", _k=used())])
    found.contents["modules"]["m"]["images"][0].update(resources={}, kind="ptx", arch="compute_90")
    cells = figures_of(found)
    assert panel("registers", "value", cells).missing == "Not recorded: no image here is a CUBIN."
    assert "--timings" in panel("seconds", "value", cells).missing
    assert panel("bytes", "value", cells).missing == ""


def test_too_many_kernels_show_regressions_and_the_largest():
    """The heat maps have a bound; nothing that got worse is left out."""
    kernels = {f"_k{number:03}": used() for number in range(ROWS_SHOWN + 50)}
    key = ImageId("m", SmArch(9, 0), "cubin")
    code = {key: {name: rank for rank, name in enumerate(kernels)}}
    old = package(m=[image("sm_90", **kernels)], code=code)
    new = package(m=[image("sm_90", **kernels | {"_k000": used(spills=8)})], code=code)
    grid = grid_of(figures_of(new), compare(old, new))
    shown = {label.kernel for label in grid.labels if label.kernel}
    assert (len(shown), grid.left_out) == (ROWS_SHOWN, 50)
    assert {"k000", "k199"} <= shown
    assert "k001" not in shown


@pytest.mark.parametrize(
    ("values", "shades"),
    [
        ([0, 0], [0, 0]),
        ([5], [6]),
        ([0, 7, 7], [0, 6, 6]),
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
        ([1, 2, 100, 1_000_000], [2, 2, 3, 6]),
    ],
)
def test_shades(values, shades):
    """Nothing has the shade of nothing, the largest value the darkest, and far values are told apart by factors."""
    steps = thresholds(values)
    assert [shade_of(value, steps) for value in values] == shades


def test_shades_of_changes():
    """Better, the same and worse have shades of their own, by steps of 10 and 25 percent."""
    assert [change_shade(1000, new) for new in (900, 950, 999, 1000, 1001, 1100, 1250, 1251)] == [
        "better-2", "better-1", "same", "same", "same", "worse-1", "worse-2", "worse-3",
    ]  # fmt: skip
    assert change_shade(0, 1) == "worse-3"


def test_numbers_are_short_and_keep_their_unit():
    """Cells have room for few digits."""
    assert [short(MEASURE["bytes"], value) for value in (0, 1023, 1536, 512_000, 3_145_728)] == [
        "0", "1,023", "1.5 KiB", "500 KiB", "3.0 MiB",
    ]  # fmt: skip
    assert [short(MEASURE["seconds"], value) for value in (0.0123, 61.25)] == ["12 ms", "61.2 s"]
    assert short(MEASURE["registers"], 255) == "255"
    assert [percent(100, new) for new in (100, 112, 50)] == ["=", "+12 %", "\N{MINUS SIGN}50 %"]
    assert (percent(0, 5), percent(100_000, 100_001)) == ("was 0", "≈")


def test_every_byte_is_in_the_tree():
    """Files of a store are grouped by module, sources are one box, and everything else is kept."""
    files = [
        FileSize("p/__init__.py", 10),
        FileSize("p/_kernels/kernels.tsv", 20),
        FileSize("p/_kernels/promises.json", 5),
        FileSize("p/_kernels/standard_headers.json", 15),
        FileSize("p/_kernels/m/index.json", 30),
        FileSize("p/_kernels/m/details.json", 3),
        FileSize("p/_kernels/m/m.sm_90.cubin", 400),
        FileSize("p/_kernels/m/m.compute_80.ptx", 50),
        FileSize("p/_kernels/project.source/kernels/m.cu", 6),
        FileSize("p/_kernels/project.source/include/a.h", 7),
        FileSize("p-1.dist-info/RECORD", 0),
    ]
    assert leaves_of(files, {"modules": {}}) == (
        Leaf("m", "sm_90", "cubin", 400),
        Leaf("m", "compute_80", "ptx", 50),
        Leaf("m", "index.json", "index", 30),
        Leaf("store", "kernels.tsv", "index", 20),
        Leaf("store", "standard headers", "source", 15),
        Leaf("store", "source", "source", 13),
        Leaf("other files", "p/__init__.py", "other", 10),
        Leaf("store", "promises.json", "index", 5),
        Leaf("m", "details.json", "index", 3),
    )


def test_a_pack_is_shared_among_its_images():
    """Images that are packed together have a box each, as large as their part; a duplicate costs nothing."""
    pack = {"file": "m/images.xz", "at": 0, "size": 100, "skip": 0}
    alone = pack | {"at": 100, "size": 20}
    images = [
        {"arch": "sm_80", "kind": "cubin", "bytes": 300, "stored": pack},
        {"arch": "sm_90", "kind": "cubin", "bytes": 100, "stored": pack | {"skip": 300}},
        {
            "arch": "sm_86",
            "kind": "cubin",
            "bytes": 300,
            "stored": {"file": "m/m.sm_80.cubin", "at": 0, "size": 0, "skip": 0},
        },
        {"arch": "sm_87", "kind": "cubin", "bytes": 300, "stored": pack},
        {"arch": "compute_80", "kind": "ptx", "bytes": 900, "stored": alone},
    ]
    contents = {"modules": {"m": {"images": images}}}
    files = [FileSize("p/_kernels/m/images.xz", 122), FileSize("p/_kernels/m/index.json", 8)]
    assert leaves_of(files, contents) == (
        Leaf("m", "sm_80", "cubin", 76),
        Leaf("m", "sm_90", "cubin", 26),
        Leaf("m", "compute_80", "ptx", 20),
        Leaf("m", "index.json", "index", 8),
    )
    add_packed(contents, files)
    assert [found["packed"] for found in images] == [76, 26, 0, 0, 20]
    assert contents["modules"]["m"]["packed"] == 130


def test_a_legend_names_values_that_are_there():
    """Registers are whole numbers: no shade begins where another ends, and none is named that no cell has."""
    cells = figures_of(package(m=[image("sm_90", _a=used(24), _b=used(30), _c=used(44), _d=used(80))]))
    assert [key.text for key in panel("registers", "value", cells).legend] == ["24 to 30", "44", "80"]
    cells = figures_of(package(m=[image("sm_90", _a=used(24)), image("compute_80", 700, _a=used())]))
    assert [key.text for key in panel("registers", "value", cells).legend] == ["24", "\N{EN DASH} not recorded"]
