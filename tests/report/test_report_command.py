"""The report as the command gives it: what is in the page and in the data, and where compile times come from."""

from __future__ import annotations

import json
import sys

import pytest

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.toolchain.packages import own, pip_install
from hatch_cuda_kernels.manifest import load_manifest

pytest.importorskip("jinja2", reason="the page needs the report extra")
pytest.importorskip("vl_convert", reason="the page needs the report extra")
pytestmark = pytest.mark.slow  # all share the two pages


def test_modules_with_axes_are_called_by_their_values(make_project, tmp_path, fresh_cache):
    """Their names are in the table, as for other modules."""
    manifest = """
        schema: 1
        arches: [sm_90]
        modules:
          "k_{N}-{T}": {source: k.cu, matrix: {N: [1], T: [float]}, options: {define: {COUNT: "{N}", TYPE: "{T}"}}}
    """
    root = make_project(manifest, **{"k.cu": 'extern "C" __global__ void k(TYPE* x) { *x = COUNT; }\n'})
    build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    assert main(["report", str(tmp_path / "out"), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert '<div class="heat-module" title="k_1-float">k: N=1, T=float</div>' in page
    assert '<td data-value="k_1-float" title="k: N=1, T=float">k_1-float</td>' in page


def test_the_page_forbids_the_network(pages):
    """The page allows itself nothing but its own style and its one script."""
    html = pages[1].read_text()
    assert "default-src 'none'" in html
    assert "src=" not in html
    assert 'href="http' not in html


def test_the_same_wheels_give_the_same_page(pages, wheels, tmp_path):
    """A report can be kept under version control: nothing in it depends on the moment."""
    main(["report", str(wheels[1]), "--against", str(wheels[0]), "-o", str(tmp_path / "again.html")])
    assert (tmp_path / "again.html").read_bytes() == pages[1].read_bytes()


def test_markup_in_names_stays_text(tmp_path, pages, wheels, capsys):
    """Names of templates are full of angle brackets; none becomes an element."""
    html = pages[0].read_text()
    assert "sum&lt;64&gt;" in html
    assert "sum<64>" not in html


def test_json_has_the_figures_and_the_verdict(wheels, tmp_path, monkeypatch, capsys):
    """``--json`` prints the data and writes no page unasked; ``--fail-on-regression`` makes it a gate."""
    monkeypatch.chdir(tmp_path)
    args = ["report", str(wheels[1]), "--against", str(wheels[0]), "--json"]
    assert main(args) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["package"], data["version"], data["bytes"]) == ("small", "1.1", wheels[1].stat().st_size)
    assert data["regressions"] == sum(change["regression"] for change in data["changes"]) > 0
    assert ("spills-rose", ["sum<64>"], "sm_90") in [
        (change["kind"], change["names"], change["part"]) for change in data["changes"]
    ]
    assert data["verdict"] == "minor"
    assert list(tmp_path.iterdir()) == []
    assert main([*args, "--fail-on-regression"]) == 1
    assert main(["report", str(wheels[0]), "--against", str(wheels[0]), "--json", "--fail-on-regression"]) == 0


def test_compile_times_come_from_the_cache_or_a_file(wheels, tmp_path, monkeypatch, capsys):
    """A wheel built here has its times from the disk cache; elsewhere ``build --json`` hands them over."""
    row = {"module": "saxpy", "arch": "sm_90", "kind": "cubin"}

    def seconds(*more):
        main(["report", str(wheels[0]), "--json", *map(str, more)])
        data = json.loads(capsys.readouterr().out)
        found = next(cell for cell in data["rows"] if row.items() <= cell.items())
        return found["seconds"], bool(data["seconds_from"])

    recorded, told = seconds()
    assert recorded > 0
    assert told
    (tmp_path / "timings.json").write_text(json.dumps({"images": [row | {"seconds": 1.5}]}))
    assert seconds("--timings", tmp_path / "timings.json") == (1.5, True)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "empty"))
    assert seconds() == (None, False)


@pytest.mark.parametrize("text", ["", "{}", '{"images": [{"module": "m"}]}'])
def test_timings_that_are_none(wheels, tmp_path, capsys, text):
    """Another file in place of the timings is bad input, in a sentence."""
    (tmp_path / "timings.json").write_text(text)
    assert main(["report", str(wheels[0]), "--json", "--timings", str(tmp_path / "timings.json")]) == 2
    assert "is not what build --json prints" in capsys.readouterr().err


def test_a_folder_is_reported_too(example_store, tmp_path, capsys):
    """A store folder has no name or version, and sizes are those on disk."""
    assert main(["report", str(example_store), "--json", "-o", str(tmp_path / "page.html")]) == 0
    data = json.loads(capsys.readouterr().out)
    files = [path for path in example_store.rglob("*") if path.is_file()]
    assert data["bytes"] == sum(path.stat().st_size for path in files)
    assert len(data["files"]) == len(files)
    assert (data["package"], data["version"]) == ("", "")
    assert (tmp_path / "page.html").is_file()


def test_without_the_extra_the_command_says_what_to_install(wheels, tmp_path, monkeypatch, capsys):
    """The drawing library is an extra; without it there is still the data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert main(["report", str(wheels[0])]) == 1
    err = capsys.readouterr().err
    assert "error: vl_convert is missing" in err
    assert f"hint: {pip_install(own('report'))}" in err
    assert main(["report", str(wheels[0]), "--json"]) == 0


def test_regressions_without_an_older_wheel_are_an_error(wheels, tmp_path, monkeypatch, capsys):
    """Such a gate in CI would never close."""
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(wheels[0]), "--fail-on-regression"]) == 2
    assert "--against" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()
