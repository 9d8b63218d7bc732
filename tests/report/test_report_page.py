"""The report's page in a real browser."""

from __future__ import annotations

import json
import zipfile

import pytest
from browser import MILLISECONDS, open_browser

from hatch_cuda_kernels.cli import main

pytest.importorskip("jinja2", reason="the page needs the report extra")
pytest.importorskip("vl_convert", reason="the page needs the report extra")


@pytest.fixture(scope="module")
def browser(slow):
    """Return a headless Chromium of this machine, or skip."""
    with open_browser() as started:
        yield started


@pytest.fixture
def visit(browser):
    """Return a function that opens a page and, at the end, checks that it said nothing and asked for nothing."""
    contexts, said, asked = [], [], []

    def open_page(path, *, width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        context.set_default_timeout(MILLISECONDS)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert {url.partition(":")[0] for url in asked} == {"file"}
    assert len(asked) == len(contexts)


def inspected(wheel, capsys):
    """Return what ``inspect --json`` prints."""
    capsys.readouterr()
    assert main(["inspect", str(wheel), "--json"]) == 0
    return json.loads(capsys.readouterr().out)["modules"]


READ_TABLE = """() => {
  const table = document.getElementById("cells");
  const columns = [...table.tHead.rows[0].cells].map((cell) => cell.dataset.column);
  return [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => {
    const values = [...row.cells].map((cell, i) => [columns[i], cell.dataset.value]);
    return {...Object.fromEntries(values), arch: row.cells[2].dataset.arch, kind: row.cells[2].dataset.kind};
  });
}"""


def number(text):
    """Return a cell's number, None for an empty one."""
    return None if text == "" else float(text)


@pytest.mark.parametrize("which", [0, 1])
def test_the_table_equals_inspect(visit, pages, wheels, capsys, which):
    """Every kernel in every image has a row with the very figures that ``inspect --json`` prints, and no other has."""
    shown = {
        (row["module"], row["kernel"], row["arch"], row["kind"]):
            tuple(number(row[name]) for name in ("bytes", "packed", "registers", "shared", "stack", "spills"))
        for row in visit(pages[which]).evaluate(READ_TABLE)
    }  # fmt: skip
    expected = {}
    for name, module in inspected(wheels[which], capsys).items():
        for image in module["images"]:
            for kernel, symbol in module["kernels"].items():
                used = image.get("resources", {}).get(symbol["lowered"])
                own = (None,) * 4 if used is None else (
                    used["registers"], used["shared"], used["stack"], used["spill_stores"] + used["spill_loads"],
                )  # fmt: skip
                expected[name, kernel, image["arch"], image["kind"]] = (image["bytes"], image["packed"], *own)
    assert shown == expected
    assert len(shown) == 9


def test_the_headline_equals_inspect(visit, pages, wheels, capsys):
    """The tiles count what is in the wheel."""
    modules = inspected(wheels[0], capsys)
    page = visit(pages[0])
    shown = {name: int(page.get_attribute(f"#{name}", "data-value")) for name in ("total", "images", "modules")}
    assert shown == {
        "total": wheels[0].stat().st_size,
        "images": sum(len(module["images"]) for module in modules.values()),
        "modules": len(modules),
    }
    assert page.title() == "small 1.0 · kernel report"
    assert page.inner_text("#promise") == (
        "devices 8.0, 9.0 driver for CUDA 13.0 or newer, without JIT wheel of at most 100,000 bytes "
        "saxpy: spills of at most 8 bytes per thread"
    )
    assert "NVRTC 13" in page.inner_text("main")


def test_heat_maps_show_one_measure_with_its_figures(visit, pages, wheels, capsys):
    """The arrow keys choose the measure; the picture shown is that one's, each cell labelled with its exact figure."""
    page = visit(pages[0])
    page.focus("#m-bytes")
    for name in ("bytes", "code", "seconds", "registers"):
        assert page.locator(".heat-scroll .chart:visible").evaluate_all("all => all.map((e) => e.dataset.measure)") == [
            name
        ]
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    marks = page.locator(".heat-scroll .chart:visible [role=graphics-symbol]")
    labels = set(marks.evaluate_all("all => all.map((e) => e.getAttribute('aria-label'))"))
    for name, module in inspected(wheels[0], capsys).items():
        for image in module["images"]:
            for kernel, symbol in module["kernels"].items():
                used = image.get("resources", {}).get(symbol["lowered"])
                arch = image["arch"] if image["kind"] == "cubin" else f"{image['arch']} PTX"
                told = f"{used['registers']} per thread" if used else "not recorded"
                assert f"{name}: {kernel}, {arch}. Registers: {told}" in labels


def test_the_tree_map_has_every_image(visit, pages, wheels):
    """The tree map names each image with its compressed bytes."""
    marks = visit(pages[0]).locator(".tree:visible [role=graphics-symbol]")
    labels = marks.evaluate_all("all => all.map((e) => e.getAttribute('aria-label'))")
    with zipfile.ZipFile(wheels[0]) as archive:
        size = archive.getinfo("small/_kernels/sums/sums.sm_90.cubin").compress_size
    assert any(label.startswith(f"sums, sm_90 (CUBIN): {size:,} bytes") for label in labels)


def test_the_table_sorts_by_keyboard(visit, pages):
    """Enter on a heading sorts, largest first, and again turns it round; what is not recorded stays last."""
    page = visit(pages[0])
    page.focus("th[data-column=registers] button")
    for direction, sign in (("descending", -1), ("ascending", 1)):
        page.keyboard.press("Enter")
        assert page.get_attribute("th[data-column=registers]", "aria-sort") == direction
        values = [number(row["registers"]) for row in page.evaluate(READ_TABLE)]
        recorded = [value for value in values if value is not None]
        assert recorded == sorted(recorded, key=lambda value: sign * value)
        assert values[len(recorded) :] == [None] * 3
    page.focus("th[data-column=kernel] button")
    page.keyboard.press("Space")
    assert [row["kernel"] for row in page.evaluate(READ_TABLE)][::3] == ["saxpy", "sum<4>", "sum<64>"]
    assert page.locator("th[aria-sort]").count() == 1


def test_the_table_filters(visit, pages):
    """Every word typed narrows the rows, and the count is told."""
    page = visit(pages[0])
    page.fill("#filter", "SUM< sm_90")
    assert {(row["kernel"], row["arch"]) for row in page.evaluate(READ_TABLE)} == {
        ("sum<4>", "sm_90"), ("sum<64>", "sm_90"),
    }  # fmt: skip
    assert page.inner_text("#count") == "2 of 9 rows"
    assert page.locator("#no-rows:visible").count() == 0
    page.fill("#filter", "nothing like it")
    assert page.inner_text("#no-rows") == "No kernel matches the filter."


def test_light_and_dark(visit, pages):
    """The page follows the system, and the button goes the other way; the charts change with it."""
    look = """() => [getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('.heat-scroll .p-bytes-value [role=graphics-symbol]')).fill]"""
    light, dark = visit(pages[0]).evaluate(look), visit(pages[0], scheme="dark")
    assert light[0] == "rgb(255, 255, 255)"
    assert all(first != second for first, second in zip(light, dark.evaluate(look), strict=True))
    assert dark.get_attribute("#theme", "aria-pressed") == "true"
    dark.focus("#theme")
    dark.keyboard.press("Enter")
    assert dark.evaluate(look) == light
    dark.keyboard.press("Enter")
    dark.emulate_media(media="print")
    assert dark.evaluate(look) == light


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("width", [375, 800, 1280])
def test_nothing_is_wider_than_the_window(visit, pages, which, width):
    """The page never scrolls sideways; wide charts and tables scroll in boxes that the keyboard reaches."""
    page = visit(pages[which], width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    unreachable = """() => [...document.querySelectorAll('main *')].filter((box) => box.tabIndex !== 0
        && box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX === 'auto').length"""
    assert page.evaluate(unreachable) == 0


def test_a_regression_is_flagged_everywhere(visit, pages):
    """Verdict, list of changes, heat map and table all show that the newer kernels spill, in words too."""
    page = visit(pages[1])
    assert page.inner_text("#verdict").startswith("▲ ")
    assert "sum<64>, sm_90\tspills rose\t0\t" in page.inner_text("#changes")
    shown = page.locator(".heat-scroll .chart:visible")
    assert (shown.get_attribute("data-measure"), shown.get_attribute("data-view")) == ("spills", "change")
    labels = shown.locator("[role=graphics-symbol]").evaluate_all("all => all.map((e) => e.getAttribute('aria-label'))")
    flagged = [label for label in labels if label.endswith(", a regression")]
    assert {label.partition(".")[0] for label in flagged} >= {"sums: sum<64>, sm_80", "sums: sum<64>, sm_90"}
    assert not any("saxpy" in label for label in flagged)
    page.check("#only")
    assert "sum<64>" in {row["kernel"] for row in page.evaluate(READ_TABLE)} <= {"sum<64>", "sum<4>"}


def test_two_equal_wheels(wheels, visit, tmp_path):
    """Where nothing changed, one sentence says so, and values are shown."""
    main(["report", str(wheels[0]), "--against", str(wheels[0]), "-o", str(tmp_path / "same.html")])
    page = visit(tmp_path / "same.html")
    assert page.inner_text("#verdict") == "✓ Nothing changed."
    assert page.inner_text("#total").endswith("bytes, as before")
    assert page.locator("#changes").count() == 0
    assert page.is_checked("#v-value")


def test_without_a_script_everything_is_there(browser, pages):
    """A mail program or a build service that runs no script still shows the charts and the table."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages[0].as_uri())
    assert page.locator(".heat-scroll .chart:visible").count() == 1
    assert page.locator("#cells tbody tr:visible").count() == 9
    assert page.locator("#theme:visible").count() == 0
    context.close()
