"""``init`` in a project that has kernels: a manifest that builds, and for each source that is not in it, why."""

from __future__ import annotations

import json
import tomllib

import pytest
from hatch_project import PYPROJECT

from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.toolchain.toolchain import Toolchain
from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.plan import plan
from hatch_cuda_kernels.scaffold import project as setup

MIXED = """\
#include <vector>
#include <common/scale.cuh>
template <typename T, int N> __global__ void fill(T* p) { p[threadIdx.x] = scale<T>() * N; }
template <typename T> void run(T* p) { fill<T, 4><<<1, 32>>>(p); }
template void run<float>(float*);
template void run<NotHere>(NotHere*);
int main() { std::vector<float> v; return 0; }
"""
SOURCES = {
    "csrc/plain.cu": '#include "tile.h"\nextern "C" __global__ void plain(float* p) { *p = TILE; }\n',
    "csrc/tile.h": "#define TILE 16\n",
    "csrc/mixed.cu": MIXED,
    "lib/inc/common/scale.cuh": "template <typename T> __device__ T scale() { return T(2); }\n",
    "csrc/other/plain.cu": "__global__ void again(float* p) { *p = 1; }\n",
    "csrc/part.cu": "__global__ void part(float* p) { *p = nothing; }\n",
    "csrc/whole.cu": '#include "part.cu"\n',
    "csrc/broken.cu": "__global__ void broken(float* p) { *p = half(1); }\n",
    "csrc/open.cu": "template <typename T> __global__ void open(T* p) { *p = 0; }\n",
    "csrc/host.cu": "int main() { return 0; }  // calls no __global__ function\n",
    "build/made.cu": "__global__ void made() {}\n",
    ".venv/x.cu": "__global__ void x() {}\n",
    "p/__init__.py": "",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Make a folder with kernels the current one."""
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_manifest_lists_what_compiles(project, capsys):
    """Each kernel source with what it needs; the others with the reason; then it builds."""
    (project / "pyproject.toml").write_text(PYPROJECT)
    assert main(["init", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["created"] == ["kernels.yaml", ".github/workflows/kernels.yml"]
    modules = {module.name: module for module in load_manifest(project / "kernels.yaml").modules}
    assert {name: module.sources[0] for name, module in modules.items()} == {
        "plain": "csrc/plain.cu",
        "mixed": "csrc/mixed.cu",
        "plain_2": "csrc/other/plain.cu",
    }
    mixed = modules["mixed"]
    assert mixed.options.include == ("lib/inc",)
    assert mixed.options.host_code == "auto"
    assert [one.text for one in mixed.instances] == ["fill<float, 4>"]
    assert "host_code" not in (project / "kernels.yaml").read_text()
    reasons = {note.partition(" is not in the manifest: ")[0]: note for note in done["notes"]}
    assert reasons.keys() == {"csrc/broken.cu", "csrc/open.cu"}
    assert 'identifier "half" is undefined' in reasons["csrc/broken.cu"]
    assert "to fix: add #include <cuda_fp16.h>" in reasons["csrc/broken.cu"]
    assert "list the instances under instances" in reasons["csrc/open.cu"]
    text = (project / "kernels.yaml").read_text()
    assert all(f"  # {name}: " in text for name in reasons)
    assert main(["build", "--out", "store"]) == 0


@pytest.mark.slow
def test_a_folder_of_kernels_becomes_a_project(project, capsys):
    """A package, no first kernel, and nothing in the page about one."""
    assert main(["init", "--name", "p", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert sorted(done["created"]) == [
        ".github/workflows/kernels.yml", ".gitignore", "README.md", "kernels.yaml", "pyproject.toml",
    ]  # fmt: skip
    assert "saxpy" not in (project / "README.md").read_text() + (project / "kernels.yaml").read_text()
    assert main(["init"]) == 0
    assert "nothing to do" in capsys.readouterr().out


@pytest.fixture
def init(tmp_path, monkeypatch, capsys):
    """Return a function that runs ``init --json`` in a folder with these files, and returns its data."""
    monkeypatch.chdir(tmp_path)

    def run(*argv, **files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert main(["init", "--json", *argv]) == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.mark.slow
def test_kernels_that_are_only_in_headers_are_found(init, tmp_path):
    """The .cu file that includes them is compiled, through other headers too; what none includes is compiled alone."""
    kernel = 'extern "C" __global__ void {}(float* p) {{ *p = 1; }}\n'
    done = init(**{
        "pyproject.toml": PYPROJECT, "p/__init__.py": "",
        "csrc/ops.cuh": "#pragma once\n" + kernel.format("ops"), "csrc/all.h": '#include "ops.cuh"\n',
        "csrc/main.cu": '#include "all.h"\nvoid run(float* p) { ops<<<1, 1>>>(p); }\n',
        "csrc/lib.cu": kernel.format("lib"), "csrc/bench.cu": '#include "ops.cuh"\n',
        "csrc/alone.cuh": "#pragma once\n" + kernel.format("alone"),
    })  # fmt: skip
    modules = {module.name: module.sources[0] for module in load_manifest(tmp_path / "kernels.yaml").modules}
    assert modules == {"lib": "csrc/lib.cu", "bench": "csrc/bench.cu", "alone": "csrc/alone.cuh"}
    assert done["notes"] == []


@pytest.fixture
def nvrtc(monkeypatch):
    """Return a function that has another NVRTC found from now on: this version, or none."""

    def find(version):
        def found():
            if not version:
                raise ToolchainError("NVRTC is not installed", "install it")
            return Toolchain(version)

        monkeypatch.setattr(plan, "find_toolchain", found)
        monkeypatch.setattr(setup, "library_version", lambda stem: version)

    return find


GOOD = '#include "tile.h"\nextern "C" __global__ void good(float* p) { *p = TILE; }\n'
TWO_TEMPLATES = """\
// template <typename T> __global__ void commented(T* p);
template <typename T> __global__ void fill(T* p) { *p = 0; }
template <typename T, int N> __global__ void sum(T* p) { *p = N; }
"""
UNTRIED = {
    "csrc/good.cu": GOOD, "csrc/tile.h": "#define TILE 16\n", "csrc/open.cu": TWO_TEMPLATES,
    "csrc/broken.cu": "__global__ void broken(float* p) { *p = nothing; }\n",
}  # fmt: skip


@pytest.mark.parametrize(
    ("version", "reason"),
    [("", "NVRTC is not installed"), ("13.5.4", "kernels.yaml asks for CUDA 13.0, the NVRTC found is 13.5")],
)
def test_without_its_compiler_a_manifest_is_from_the_text(version, reason, init, nvrtc, tmp_path):
    """The note says that sources are in it and why they were not tried, and the first command is how to try them.

    Kernels that nothing instantiates are named all the same.
    """
    nvrtc(version)
    done = init("--name", "p", **UNTRIED)
    why = "all its kernels are templates (fill<T>, sum<T, N>), and no launch shows their arguments"
    assert done["notes"] == [
        f"csrc/open.cu is not in the manifest: {why}; list the instances under instances:",
        f"csrc/broken.cu, csrc/good.cu are in the manifest, but not tried: {reason}",
    ]
    install, again = done["next"][:2]
    assert "nvidia-cuda-nvrtc==13.0.*" in install
    assert again.endswith(" init")
    assert [module.name for module in load_manifest(tmp_path / "kernels.yaml").modules] == ["broken", "good"]


#: Sources whose macros are in a Python file, which compiles one of them with several sets.
LOADED = {
    "csrc/sized.cu": 'extern "C" __global__ void sized(TYPE* p) { *p = SIZE; }\n',
    "csrc/refused.cu": 'extern "C" __global__ void refused(TYPE* p) { *p = missing; }\n',
    "p/load.py": """\
from cupy import RawModule
def load(name, subs):
    text = open(f"csrc/{name}.cu").read()
    for old, new in subs.items():
        text = text.replace(old, new)
    return RawModule(code=text, options=("-std=c++14",))
load("sized", {"TYPE": "float" if kind else "Nothing", "SIZE": count})
load("sized", {"TYPE": "int"})
load("refused", {"TYPE": "int"})
""",
}


@pytest.mark.slow
def test_a_second_init_tries_what_was_not_tried(init, nvrtc, tmp_path):
    """Once its compiler is there, the manifest has what a first init with it would have written."""
    with_nvrtc = init("--name", "p", **UNTRIED, **LOADED)
    manifest = tmp_path / "kernels.yaml"
    expected = manifest.read_text()
    manifest.unlink()
    nvrtc("")
    init()
    before = manifest.read_text()
    assert "not tried" in before
    assert len(init()["next"]) == 2
    assert manifest.read_text() == before
    nvrtc("13.0.88")
    done = init()
    assert done["changed"] == ["kernels.yaml: the results of modules that were not tried before"]
    assert sorted(manifest.read_text().splitlines()) == sorted(expected.splitlines())
    assert {*done["notes"]} < {*with_nvrtc["notes"]}
    assert init()["next"] == []


@pytest.mark.slow
def test_a_second_init_leaves_what_was_edited(init, nvrtc, tmp_path):
    """A module that its author changed is compiled as it is; what does not compile is said beside it."""
    nvrtc("")
    init("--name", "p", **UNTRIED)
    manifest = tmp_path / "kernels.yaml"
    text = manifest.read_text().replace("csrc/broken.cu\n", "csrc/broken.cu\n    options: {define: {other: 1}}\n")
    text = text.replace("csrc/good.cu\n", "csrc/good.cu\n    options: {define: {A: 1}}\n")
    manifest.write_bytes(text.replace("\n", "\r\n").encode())
    nvrtc("13.0.88")
    init()
    after = manifest.read_bytes().decode()
    assert after.count("\r\n") == after.count("\n") == text.count("\n")
    assert "  good:\r\n    source: csrc/good.cu\r\n    options: {define: {A: 1}}\r\n" in after
    assert (
        '  broken:  # it does not compile: csrc/broken.cu:1:41: error: identifier "nothing" is undefined\r\n' in after
    )


@pytest.mark.slow
def test_a_manifest_may_lose_all_its_modules(init, nvrtc, tmp_path):
    """The one command that comes next is another init, and that takes what has been mended."""
    nvrtc("")
    init("--name", "p", **{"a.cu": UNTRIED["csrc/broken.cu"]})
    nvrtc("13.0.88")
    for _ in range(2):
        done = init()
        assert "modules: {}\n  # a.cu: a.cu:1:41: error" in (tmp_path / "kernels.yaml").read_text()
        assert done["notes"][-1].startswith(
            "the manifest has no module, and a build needs one: correct a source, or write "
        )
        assert [command.rpartition(" ")[2] for command in done["next"]] == ["init"]
    manifest = tmp_path / "kernels.yaml"
    manifest.write_text(manifest.read_text().replace("{}\n", "{}\n  # mine: a note\n") + "launch: {}\n")
    init(**{"a.cu": 'extern "C" __global__ void a() {}\n'})
    assert manifest.read_text().endswith("modules:\n  a:\n    source: a.cu\n  # mine: a note\nlaunch: {}\n")


@pytest.mark.slow
def test_a_first_manifest_without_modules_says_so(init):
    """No command comes next that would fail."""
    done = init("--name", "p", **{"a.cu": UNTRIED["csrc/broken.cu"]})
    assert done["notes"][-1].startswith("the manifest has no module")
    assert [command.rpartition(" ")[2] for command in done["next"]] == ["init"]


@pytest.mark.slow
def test_templates_beside_other_kernels_are_named(init, tmp_path):
    """What is not in the wheel until it is listed."""
    text = 'extern "C" __global__ void plain(int* p) { *p = 1; }\n' + TWO_TEMPLATES
    done = init("--name", "p", **{"a.cu": text})
    assert done["notes"] == [
        "a.cu: fill<T>: no launch was seen; list its instances; the manifest has 1 more of this kind"
    ]
    assert "    # sum<T, N>: no launch was seen; list its instances\n" in (tmp_path / "kernels.yaml").read_text()


LAID_OUT = {
    "folders of their own": (
        {"csrc/sub/a.cu": '#include "b.h"\n#include <c.h>\n', "csrc/sub/b.h": "", "inc/c.h": "", "inc/d/e.h": ""},
        ["csrc/sub/**", "inc/**"],
    ),
    "beside modules": ({"src/p/a.cu": '#include "b.h"\n', "src/p/b.h": ""}, ["src/p/*.cu", "src/p/*.cuh", "src/p/*.h"]),
    "beside pyproject.toml": ({"a.cu": '#include "b.hpp"\n', "b.hpp": ""}, ["*.cu", "*.cuh", "*.hpp"]),
    "in one folder": ({"cuda/a/k.cu": '#include "../k.h"\n', "cuda/k.h": ""}, ["cuda/**"]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("files", "patterns"), LAID_OUT.values(), ids=LAID_OUT.keys())
def test_what_kernels_are_made_of_is_watched_and_shipped(files, patterns, init, tmp_path):
    """The cache keys of uv and MANIFEST.in have the folders of sources and headers, and no module of Python."""
    kernel = "__global__ void k() {}\n"
    files = {name: text + kernel * name.endswith(".cu") for name, text in files.items()}
    text = PYPROJECT.replace("hatchling.build", "setuptools.build_meta")
    init(**{"pyproject.toml": text, "src/p/__init__.py": "", **files})
    keys = tomllib.loads((tmp_path / "pyproject.toml").read_text())["tool"]["uv"]["cache-keys"]
    own = ["pyproject.toml", "setup.py", "setup.cfg", "kernels.yaml"]
    assert [key["file"] for key in keys] == [*own, *patterns]
    shipped = [f"graft {one[:-3]}" if one.endswith("/**") else f"include {one}" for one in ("kernels.yaml", *patterns)]
    assert (tmp_path / "MANIFEST.in").read_text().splitlines() == [*shipped, "prune src/p/_kernels"]


@pytest.mark.parametrize(("name", "pattern"), [("my kernels", "my?kernels"), ("v[2]", "v?2?")])
def test_manifest_in_names_folders_as_setuptools_reads_them(name, pattern, tmp_path, monkeypatch):
    """A line with a space is no line to it, and brackets are a set of letters."""
    for path, text in {
        f"{name}/a.cu": "__global__ void k() {}\n", "p/__init__.py": "",
        "pyproject.toml": '[project]\nname = "p"\nversion = "1"\n[build-system]\nrequires = ["setuptools"]\n'
        'build-backend = "setuptools.build_meta"\n',
    }.items():  # fmt: skip
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    lines = (tmp_path / "MANIFEST.in").read_text().splitlines()
    assert lines == ["include kernels.yaml", f"graft {pattern}", "prune p/_kernels"]


def test_a_second_init_watches_new_folders(init, tmp_path):
    """What was listed for uv stays, and is not listed twice."""
    init("--name", "p", **{"csrc/a.cu": "__global__ void k() {}\n"})
    (tmp_path / "kernels.yaml").write_text(
        (tmp_path / "kernels.yaml").read_text() + "  more:\n    source: other/b.cu\n", encoding="utf-8"
    )
    done = init(**{"other/b.cu": "__global__ void k() {}\n"})
    assert done["changed"] == ["pyproject.toml: tool.uv.cache-keys: other/**"]
    text = (tmp_path / "pyproject.toml").read_text()
    assert text.count('{ file = "csrc/**" }') == text.count('{ file = "other/**" }') == 1
    assert init()["changed"] == []


@pytest.mark.slow
def test_code_for_one_target_is_listed_for_it(tmp_path, monkeypatch, capsys):
    """Of instructions that only sm_90a has: in code for all architectures, and in a branch for newer ones."""
    wgmma = 'asm volatile("wgmma.fence.sync.aligned;");'
    (tmp_path / "bare.cu").write_text(f"__global__ void bare(int* p) {{ *p = 1; {wgmma} }}\n")
    guarded = f"\n#if __CUDA_ARCH__ >= 900\n{wgmma}\n#endif\n"
    (tmp_path / "guarded.cu").write_text(f"__global__ void guarded(int* p) {{ *p = 1; {guarded} }}\n")
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--name", "p", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert not [note for note in done["notes"] if "not in the manifest" in note]
    modules = {module.name: {*map(str, module.arches)} for module in load_manifest(tmp_path / "kernels.yaml").modules}
    assert modules == {"bare": {"sm_90a"}, "guarded": {"sm_80", "sm_90a", "compute_80"}}


@pytest.mark.slow
def test_host_code_that_only_nvrtc_recognises_is_cut(init, tmp_path):
    """As builds cut it: a function with a type of the host's, beside one of its name that device code calls."""
    text = "unknown::T f(unknown::T b) { return {}; }\n__device__ int f(int x) { return x; }\n"
    kernel = 'extern "C" __global__ void k(int* y) { *y = f(3); }\n'
    done = init(**{"pyproject.toml": PYPROJECT, "p/__init__.py": "", "csrc/k.cu": text + kernel})
    assert [note for note in done["notes"] if "k.cu" in note] == []
    assert [module.name for module in load_manifest(tmp_path / "kernels.yaml").modules] == ["k"]
