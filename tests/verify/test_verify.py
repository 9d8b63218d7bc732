"""``verify`` on the example's wheel: whole, it passes; damaged in any way, the gap is named."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from hashlib import sha256

import pytest
from doc_blocks import assert_printed, blocks_of, masked
from front_ends import REPOSITORY
from wheel_damages import DAMAGES, SM_90, edit_the_source, outgrow_the_promise, promise, remove_an_image
from wheels import Wheel

from hatch_cuda_kernels.cli import main

CHECKS = [
    "index", "files", "digests", "wheel", "record", "sbom", "sources", "architectures", "kernels", "supports", "spills",
    "size", "assembly", "rebuild",
]  # fmt: skip


@pytest.fixture
def wheel(example_wheel):
    """Return the example's wheel."""
    return example_wheel


def verify(capsys, package, *options):
    """Run the command and return its status, each check's state by name, and the findings by check."""
    status = main(["verify", str(package), *map(str, options), "--json"])
    data = json.loads(capsys.readouterr().out)
    assert data["ok"] is (status == 0)
    assert [check["check"] for check in data["checks"]] == CHECKS
    findings = [(check["check"], finding) for check in data["checks"] for finding in check["findings"]]
    return status, {check["check"]: check["state"] for check in data["checks"]}, findings


def test_the_example_passes_as_wheel_folder_and_package(wheel, capsys, tmp_path, monkeypatch, slow):
    """Every check runs on a wheel and on an installed package; a folder has no RECORD to check."""
    status, states, _ = verify(capsys, wheel)
    assert (status, {name for name, state in states.items() if state == "skipped"}) == (
        0,
        {"spills", "size", "rebuild"},
    )
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", tmp_path / "site", wheel], check=True)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    assert verify(capsys, "example_project")[:2] == (0, states | {"wheel": "skipped", "sbom": "skipped"})
    shutil.copytree(tmp_path / "site" / "example_project" / "_kernels", tmp_path / "elsewhere")
    skipped = dict.fromkeys(("wheel", "record", "sbom", "assembly"), "skipped")
    assert verify(capsys, tmp_path / "elsewhere", "--skip", "assembly")[:2] == (0, states | skipped)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found_and_named(wheel, capsys, tmp_path, damage):
    """A damaged wheel whose RECORD fits fails, and the finding says where, what, and what to do."""
    change, options, check, place, problem, fix = DAMAGES[damage]
    parts = Wheel(wheel)
    change(parts)
    skip = [] if check == "assembly" else ["--skip", "assembly"]
    status, states, findings = verify(capsys, parts.write(tmp_path), *options, *skip)
    assert (status, states[check]) == (1, "failed")
    assert states["record"] == "ok"
    found = [
        finding
        for name, finding in findings
        if name == check and f"{finding['module']}/{finding['image']}" == (place or "/")
    ]
    assert any(re.search(problem, finding["problem"]) and re.search(fix, finding["fix"]) for finding in found), findings


def test_a_record_that_does_not_fit_is_found(wheel, capsys, tmp_path):
    """What RECORD lists and is not there, what is there and not listed, and other bytes than listed."""
    parts = Wheel(wheel)
    del parts["promises.json"]
    parts["saxpy/notes.txt"] = b"mine"
    edit_the_source(parts)
    _, _, findings = verify(capsys, parts.write_as_it_is(tmp_path), "--skip", "assembly")
    assert [finding["problem"] for check, finding in findings if check == "record"] == [
        "RECORD lists example_project/_kernels/promises.json, which is not there",
        "example_project/_kernels/project.source/kernels/saxpy.cu does not have the size and digest that RECORD lists",
        "example_project/_kernels/saxpy/notes.txt is not in RECORD",
    ]


@pytest.mark.slow
def test_rebuild_gives_the_same_bytes_or_says_which_differ(wheel, capsys, tmp_path):
    """The shipped sources give the shipped images; with an edited source, each image of its module differs."""
    status, states, _ = verify(capsys, wheel, "--rebuild", "--skip", "assembly")
    assert (status, states["rebuild"]) == (0, "ok")
    parts = Wheel(wheel)
    parts.keep_only("saxpy", "softmax")
    edit_the_source(parts)
    digest = sha256(parts["project.source/kernels/saxpy.cu"]).hexdigest()
    parts.edit_index("saxpy", lambda data: data["files"].update({"kernels/saxpy.cu": digest}))
    status, _, findings = verify(capsys, parts.write(tmp_path), "--rebuild", "--skip", "assembly")
    rebuilt = {finding["image"]: finding["problem"] for check, finding in findings if check == "rebuild"}
    assert status == 1
    assert set(rebuilt) == {
        f"saxpy.{name}" for name in ("sm_80.cubin", "compute_80.ptx", "sm_90.cubin", "sm_120.cubin")
    }
    assert re.search(r"\d+ of \d+ bytes differ from what the shipped source gives, the first at \d+", rebuilt[SM_90])


@pytest.mark.slow
def test_the_recorded_budget_is_for_the_wheel_file(wheel, capsys, tmp_path):
    """A wheel over the size its manifest promised fails; in a folder there is no wheel to weigh."""
    parts = Wheel(wheel)
    outgrow_the_promise(parts)
    status, states, findings = verify(capsys, parts.write(tmp_path), "--skip", "assembly")
    assert (status, states["size"]) == (1, "failed")
    assert re.search(r"the wheel has [\d,]+ bytes, [\d,]+ more than the budget of 5,000", findings[0][1]["problem"])
    shutil.unpack_archive(tmp_path / wheel.name, tmp_path / "unpacked", "zip")
    folder = tmp_path / "unpacked" / "example_project" / "_kernels"
    assert verify(capsys, folder, "--skip", "assembly")[1]["size"] == "skipped"
    assert verify(capsys, folder, "--skip", "assembly", "--max-size", "5000")[1]["size"] == "failed"


@pytest.mark.slow
def test_names_that_share_a_symbol_pass(make_project, tmp_path, capsys):
    """Instances spelled in several ways, and an overload that only some architectures have."""
    source = """
        template <class T> __global__ void g(T* y) {}
        namespace ns { inline namespace v1 { template <int... N> __global__ void h(int* y) { *y = sizeof...(N); } } }
        __global__ void f(int* y) { *y = 1; }
        #if __CUDA_ARCH__ >= 900
        __global__ void f(float* y) { *y = 1; }
        #endif
    """
    names = "'g<int>', 'g<signed int>', '::g<const float>', 'ns::h<1, -2>', '(void (*)(int*)) ns::v1::h<>'"
    manifest = (
        f"{{schema: 1, arches: [sm_80, sm_90, compute_100], modules: {{a: {{source: a.cu, instances: [{names}]}}}}}}"
    )
    root = make_project(manifest, **{"a.cu": source})
    assert main(["build", str(root / "kernels.yaml"), "--out", str(tmp_path / "out")]) == 0
    lines = (tmp_path / "out" / "kernels.tsv").read_text().splitlines()
    assert sum(line.split("\t")[2] == "_Z1fPi" for line in lines) == 2
    capsys.readouterr()
    assert verify(capsys, tmp_path / "out", "--rebuild", "--skip", "assembly")[::2] == (0, [])


@pytest.mark.slow
def test_rebuild_by_another_toolchain_names_the_packages(wheel, capsys, tmp_path):
    """A module that another NVRTC compiled is not compiled here; the command that brings it is named."""
    parts = Wheel(wheel)
    parts.keep_only("saxpy", "softmax")
    parts.edit_index("softmax", lambda data: data["toolchain"].update(nvrtc="13.0.48", ptxas="13.0.88"))
    status, _, findings = verify(capsys, parts.write(tmp_path), "--rebuild", "--skip", "assembly")
    [finding] = [finding for check, finding in findings if check == "rebuild"]
    assert (status, finding["module"]) == (1, "softmax")
    assert "was compiled by nvrtc 13.0.48, " in finding["problem"]
    assert finding["fix"] == "python3 -m pip install nvidia-cuda-nvrtc==13.0.48"  # the rest is that of here


def test_text_has_a_line_a_check_and_a_verdict(wheel, capsys, tmp_path):
    """People get one line a check with its count, what it found below, and the verdict last."""
    parts = Wheel(wheel)
    remove_an_image(parts)
    path = parts.write(tmp_path)
    assert main(["verify", str(path), "--skip", "assembly"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[:-1] if line[0] != " "] == CHECKS
    assert lines[1:4] == [
        "failed   files          23 files, 1 problem",
        f"    saxpy/{SM_90}: the file is missing",
        "        to fix: build the wheel again, and change nothing in it afterwards",
    ]
    assert lines[-1] == f"{path}: failed, 1 problem"
    assert main(["verify", str(wheel), "--skip", "assembly"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{wheel}: ok"


def test_the_how_to_shows_what_is_printed(whole_example_wheel, capsys, tmp_path):
    """The output in the how-to is that of the example's wheel with a spill limit, numbers aside."""
    parts = Wheel(whole_example_wheel)
    promise(parts, max_spill_bytes=dict.fromkeys(("filter", "radix_sort", "reduce", "saxpy", "softmax"), 0))
    page = REPOSITORY / "docs" / "howto" / "verify-before-release.md"
    shown, gaps = (block.text for block in blocks_of(page) if block.language == "text")
    assert main(["verify", str(parts.write(tmp_path)), "--max-size", "100000000"]) == 0
    assert masked(capsys.readouterr().out)[:-1] == masked(shown)[:-1]
    promised = ["--supports-devices", "7.5", "9.0", "--driver", "13.0"]
    assert main(["verify", str(whole_example_wheel), *promised, "--skip", "assembly"]) == 1
    assert_printed(gaps, capsys.readouterr().out)


@pytest.mark.slow
def test_verify_needs_neither_the_build_extra_nor_a_compiler(wheel):
    """Where only the base package is, all but what needs nvJitLink is checked; that says what to install."""
    absent = ("yaml", "hatchling", "rich", "cuda.bindings.nvrtc", "cuda.bindings.nvjitlink")
    start = f"import sys; sys.modules.update(dict.fromkeys({absent}))"
    command = [sys.executable, "-c", f"{start}; from hatch_cuda_kernels.cli import main; sys.exit(main())"]
    command += ["verify", wheel]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    assert [line.split()[1] for line in done.stdout.splitlines() if line.startswith("failed")] == ["assembly"]
    assert re.search(r"to fix: .* install .*nvidia-nvjitlink==13\.0\.\*", done.stdout), "the release that compiled"
    assert subprocess.run([*command, "--skip", "assembly"]).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--skip", "sise"], "cannot skip 'sise': the checks are index, files"),
        (["--driver", "13.0"], "--driver needs devices"),
    ],
)
def test_bad_demands_are_bad_input(capsys, tmp_path, make_project, options, message):
    """What cannot be asked is status 2 and a sentence."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    assert main(["build", str(root / "kernels.yaml"), "--out", str(tmp_path / "out")]) == 0
    assert main(["verify", str(tmp_path / "out"), *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--supports-devices", "9"], ["--driver", "13"], ["--max-size", "big"]])
def test_misspelt_options_are_bad_input(option):
    """A value that is none is refused before anything is read."""
    with pytest.raises(SystemExit) as caught:
        main(["verify", "x", *option])
    assert caught.value.code == 2
