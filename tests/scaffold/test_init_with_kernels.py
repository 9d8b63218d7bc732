"""``init`` in a project that has kernels: a manifest that builds, and for each source that is not in it, why."""

from __future__ import annotations

import json

import pytest
from hatch_project import PYPROJECT

from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.scaffold import survey

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
    assert "list them under instances" in reasons["csrc/open.cu"]
    text = (project / "kernels.yaml").read_text()
    assert all(f"  # {name}: " in text for name in reasons)
    assert main(["build", "--out", "store"]) == 0


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


def test_without_nvrtc_sources_are_named(project, monkeypatch, capsys):
    """They are listed as they would be tried; a note says that they were not."""

    def missing():
        raise survey.ToolchainError("no NVRTC")

    monkeypatch.setattr(survey, "find_toolchain", missing)
    (project / "pyproject.toml").write_text(PYPROJECT)
    assert main(["init", "--json"]) == 0
    assert any("csrc/mixed.cu" in note and "not tried" in note for note in json.loads(capsys.readouterr().out)["notes"])
    assert {module.name for module in load_manifest(project / "kernels.yaml").modules} >= {"plain", "mixed"}


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
