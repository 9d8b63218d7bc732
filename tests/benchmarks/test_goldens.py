"""Goldens of public sources: a loss is told from a gain, a command ends at its limit, and a draw is the same again."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from raw_nvrtc import compile_raw

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = (
    "blind",
    "checkouts",
    "golden_compare",
    "golden_files",
    "golden_kernels",
    "golden_link",
    "golden_measure",
    "golden_nvcc",
    "golden_package",
    "goldens",
    "run",
    "sources",
)
CODE, OTHER = "1111111111,,2222222222", "3333333333,,4444444444"
ADDRESSES = "5555555555,1111111111,2222222222"


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    """Find the modules beside the list of the corpus."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.syspath_prepend(str(BENCHMARKS / "corpus"))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)


def line(**changed):
    """Return a result as it is kept, of a source with one kernel."""
    return {
        "repository": "a/b", "path": "k.cu", "outcome": "compiled", "kernels": {"k(int*)": CODE},
        "port": {"outcome": "done", "patch": "1", "manifest": "2"}, "seconds": {"check": 1.0, "port": 2.0}, "peak": 90,
    } | changed  # fmt: skip


def compared(tmp_path, capsys, old, new, nvcc=None):
    """Return the status of a comparison of one result with another, and what it prints."""
    paths = [tmp_path / name for name in ("old.jsonl", "new.jsonl", "nvcc.jsonl")]
    for path, one in zip(paths, (old, new, nvcc), strict=True):
        path.write_text(f"{json.dumps(one)}\n" if one else "")
    status = importlib.import_module("golden_compare").compare(paths[0], paths[1], paths[2] if nvcc else None)
    return status, capsys.readouterr().out


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ({"outcome": "other", "message": "k.cu:1: error: x", "kernels": {}}, "- a/b/k.cu other k.cu:1: error: x"),
        ({"kernels": {"f()": OTHER}}, "- a/b/k.cu k(int*)"),
        ({"kernels": {"k(int*)": OTHER}}, "- a/b/k.cu k(int*): nor is the PTX"),
        ({"kernels": {"k(int*)": ADDRESSES}}, "- a/b/k.cu k(int*): the PTX is"),
        ({"port": {"outcome": "time"}}, "- a/b/k.cu time"),
    ],
)
def test_what_is_lost_is_told(tmp_path, capsys, new, said):
    """A compile, a kernel, code that was nvcc's or a draft of port that is no more gives status 1 and a line."""
    nvcc = {"outcome": "compiled", "kernels": ["="]}
    status, out = compared(tmp_path, capsys, line(nvcc=nvcc), line(**new))
    assert status == 1
    assert said in out.splitlines()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"kernels": {"k(int*)": CODE, "f()": OTHER}}),
        ({}, {"kernels": {"k(long*)": CODE}}),
        ({"outcome": "host", "kernels": {}}, {}),
        ({}, {"kernels": {"k(int*)": OTHER}}),
        ({}, {"port": {"outcome": "done", "patch": "3", "manifest": "4"}}),
    ],
)
def test_what_is_not_lost_passes(tmp_path, capsys, old, new):
    """Kernels that come, have another name or other code than nvcc's before, and other drafts are no loss."""
    status, _ = compared(
        tmp_path,
        capsys,
        line(**old),
        line(**new),
        {"repository": "a/b", "path": "k.cu", "outcome": "compiled", "kernels": {"k(int*)": OTHER}},
    )
    assert status == 0


def test_a_kept_result_is_the_result(tmp_path, capsys):
    """A result in full and the same as it is kept have no difference, with nvcc's code beside them."""
    files = importlib.import_module("golden_files")
    full = line(
        kernels={"k(int*)": "a" * 16 + "," + "a" * 16 + "," + "b" * 16}, message="", dropped=["k.cu 1 function f"]
    )
    full["cost"] = {"check": {"seconds": 1.0, "wall": 2.0, "peak": 90}}
    full["port"] |= {"seconds": 2.0}
    del full["seconds"], full["peak"]
    kept = files.brief(full, {"outcome": "compiled", "kernels": full["kernels"]})
    assert kept["nvcc"] == {"outcome": "compiled", "kernels": ["="]}
    status, out = compared(tmp_path, capsys, kept, full)
    assert (status, "| check, 1 sources | 1.0 | 1.0 | 1.00 |" in out) == (0, True)
    assert all(
        row.endswith("| 0 | 0 |")
        for row in out.splitlines()
        if row.startswith("| ") and row.count("|") == 4 and "kernels |" not in row
    )


def test_the_goldens_can_be_read(capsys):
    """The goldens of the corpus lose nothing beside themselves, and have kernels that are nvcc's."""
    path = BENCHMARKS / "corpus/goldens.jsonl"
    assert importlib.import_module("golden_compare").compare(path, path, None) == 0
    found = re.search(
        r"(\d+) sources in both.*Of (\d+) kernels of nvcc's, (\d+) were equal", capsys.readouterr().out, re.DOTALL
    )
    assert all(int(count) > 50 for count in found.groups())


def test_names_do_not_tell_the_compilers_apart():
    """A kernel has one name, whether its symbol is NVRTC's or nvcc's: unnamed namespaces, ``int64_t``."""
    names = importlib.import_module("golden_kernels").names
    nvrtc = ["_ZN41_GLOBAL__N__00000000_9_module_cu_09efecc34anonEPi", "_Z2ttILi4EEvPx", "k"]
    nvcc = ["_ZN36_GLOBAL__N__be8be50e_4_k_cu_27413b964anonEPi", "_Z2ttILi4EEvPl", "k"]
    assert names(nvrtc) == names(nvcc) == ["anon(int*)", "tt<4>(long*)", "k"]
    linked = "__nv_static_36__7d4baf56_14_ntt_moddown_cu_b33cfd02_"
    assert names([f"{linked}_Z1kPi", f"{linked}k"]) == ["k(int*)", "k"]


def test_digests_tell_code_apart():
    """The same kernel has the same digests in another program, and another kernel of its name has others."""
    kernels = importlib.import_module("golden_kernels").kernels

    def made(text):
        result = compile_raw(text, "--std=c++17", name="k.cu", arch="sm_90")
        return kernels(result.cubin, result.ptx)

    body = "__global__ void k(int* x) { *x = 3; }"
    alone, beside, other = (
        made(body),
        made(f"__device__ int v;\n{body}\n__global__ void f() {{ v = 1; }}"),
        made(body.replace("3", "4")),
    )
    assert alone["k(int*)"] == beside["k(int*)"]
    assert alone["k(int*)"].text != other["k(int*)"].text
    assert alone["k(int*)"].ptx != other["k(int*)"].ptx
    assert set(beside) == {"k(int*)", "f()"}


def test_operations_do_not_tell_widths_of_addresses_apart():
    """A kernel that addresses shared memory with 64 bits has the operations of one with 32, and no other's."""
    operations = importlib.import_module("golden_link").operations
    wide = "\tmov.u64 \t%rd5, s;\n\tst.shared.f32 \t[%rd6], %f1;\n\tbar.sync \t0;\n@%p1 add.f32 \t%f1, %f2, %f3;\n"
    assert operations(wide) == operations(wide.replace("mov.u64 \t%rd", "mov.u32 \t%r"))
    assert operations(wide) == {"st.shared.f32": 1, "bar.sync": 1, "add.f32": 1}
    assert operations(wide) != operations(wide.replace("add.f32", "mul.f32"))


def test_a_command_ends_at_its_limit(tmp_path):
    """Its children's time counts, and they end with it; what ends by itself has its status and its output."""
    measured = importlib.import_module("golden_measure").measured
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    start = time.perf_counter()
    assert measured([sys.executable, "-c", code], tmp_path, 0.3).status is None
    assert time.perf_counter() - start < 60
    done = measured([sys.executable, "-c", "print(1); raise SystemExit(3)"], tmp_path, 60)
    assert (done.status, done.out) == (3, "1\n")
    assert done.peak > 0


@pytest.mark.slow
def test_a_blind_draw_is_the_same_again(tmp_path, monkeypatch):
    """A seed draws the same sources; a repository of a list or with too few kernels is not drawn."""
    for name, files in (("x/qqone", 3), ("x/qqtwo", 2), ("mumax/3", 3), ("x/qqfew", 1)):
        folder = tmp_path / "git" / name.replace("/", "+")
        folder.mkdir(parents=True)
        for number in range(files):
            (folder / f"k{number}.cu").write_text("__global__ void k() {}\n")
        for arguments in (
            ["init", "-q"],
            ["add", "."],
            ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
        ):
            subprocess.run(["git", "-C", folder, *arguments], check=True)
    (tmp_path / "names").write_text("x/qqone\nx/qqtwo\nmumax/3\nx/qqfew\nx/qqnone\n")
    blind = importlib.import_module("blind")
    drawn = []
    for place in "ab":
        out = tmp_path / f"{place}.json"
        arguments = ["blind.py", "names", "git", place, "--seed", "5", "--each", "2", "--out", out.name]
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", arguments)
        blind.main()
        drawn.append(json.loads(out.read_text()))
    assert drawn[0] == drawn[1]
    assert set(drawn[0]["repositories"]) == {"x/qqone", "x/qqtwo"}
    assert all((tmp_path / "a/x+qqone" / path).is_file() for path in drawn[0]["repositories"]["x/qqone"]["sources"])


def test_a_source_goes_from_a_draw_to_a_comparison(tmp_path, monkeypatch, capsys, slow):
    """What is drawn is compiled, kept and compiled again with the same outcome; a kernel that is gone is told."""
    root = tmp_path / "checkouts/x+qqone"
    (root / "inc").mkdir(parents=True)
    (root / "inc/v.h").write_text("template <int N> __global__ void t(int* x) { *x = N; }\n")
    source = '#include "v.h"\n__global__ void k(long* x) { *x = 1; }\nvoid f() { t<3><<<1, 1>>>(nullptr); }\n'
    (root / "k.cu").write_text(source)
    drawn = {"seed": 1, "repositories": {"x/qqone": {"commit": "0" * 40, "sources": ["k.cu"]}}}
    (tmp_path / "blind.json").write_text(json.dumps(drawn))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.nice", lambda _: 0)
    main = importlib.import_module("goldens").main

    def step(*arguments):
        monkeypatch.setattr(sys, "argv", ["goldens.py", *arguments])
        return main()

    package = ("--python", sys.executable)
    step("draw", "checkouts", "--blind", "blind.json", "--out", "entries.jsonl")
    step("run", "entries.jsonl", "checkouts", *package, "--out", "old.jsonl")
    step("choose", "old.jsonl", "none.jsonl", "--out", "kept.jsonl")
    (kept,) = map(json.loads, Path("kept.jsonl").read_text().splitlines())
    assert (kept["options"]["include"], kept["module"]["instances"]) == (["inc"], ["t<3>"])
    assert set(kept["kernels"]) == {"k(long*)", "t<3>(int*)"}
    assert step("compare", "kept.jsonl", "old.jsonl") == 0
    (root / "k.cu").write_text(source.replace("k(long* x) { *x = 1", "other(long* x) { *x = 2"))
    capsys.readouterr()
    step("run", "kept.jsonl", "checkouts", *package, "--out", "less.jsonl")
    assert step("compare", "kept.jsonl", "less.jsonl") == 1
    assert "- x/qqone/k.cu k(long*)" in capsys.readouterr().out.splitlines()
