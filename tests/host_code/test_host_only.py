"""``host_only``: what the user says is the host's goes by name, whatever it is."""

from __future__ import annotations

import json

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.nvrtc import compile as compile_job
from hatch_cuda_kernels.compiler.recipe import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.errors import CompileError, ManifestError
from hatch_cuda_kernels.manifest import parse_manifest
from hatch_cuda_kernels.options import HostCode, NvrtcOptions
from hatch_cuda_kernels.plan.plan import make_plan

TEXT = """\
#include <own_json.h>
namespace a {
struct Task { int n = [] { return 3; }(); };
template <class T> struct Queue { T first; };
template <> struct Queue<float> { float second; };
using Tasks = Queue<Task>;
typedef Queue<Task> MoreTasks;
constexpr int most = sizeof(Task);
namespace inner { struct Task { int kept; }; }
struct Both { __device__ int get() { return 1; } int gone(Task t); };
}
__global__ void k(int* p) { *p = a::Both().get(); }
"""
NAMES = ("a::Task", "Queue", "Tasks", "a::MoreTasks", "a::most", "<own_json.h>")


def read(tmp_path, names, text=TEXT, **options):
    """Return a recipe with these names, and what it reads."""
    (tmp_path / "k.cu").write_text(text)
    recipe = Recipe(module="m", sources=("k.cu",), options=NvrtcOptions(host_only=names, **options))
    return recipe, read_recipe(recipe, tmp_path)


def test_what_has_a_name_goes(tmp_path):
    """Types with all their specialisations, aliases, constants and headers; lines stay."""
    recipe, sources = read(tmp_path, NAMES)
    (unit,) = recipe.units(sources)
    words = unit.program.source.split()
    assert {"Task", "kept;", "get()"} <= {*words}
    assert not {"Queue", "Tasks", "MoreTasks;", "most", "<own_json.h>"} & {*words}
    assert unit.program.source.count("\n") == TEXT.count("\n")
    kinds = {(found.kind, found.name) for found in sources.dropped}
    assert {("type", "Task"), ("type", "Queue"), ("include", "own_json.h"), ("variable", "most")} <= kinds
    assert compile_raw(unit.program.source, headers=unit.program.headers).ok


def test_it_asks_for_drop(tmp_path):
    """The host code of the rest goes as well, and the key is that of the text that is left."""
    _, sources = read(tmp_path, NAMES)
    assert "a::Both::gone" in {f"a::{found.name}" for found in sources.dropped}
    _, same = read(tmp_path, NAMES, host_code=HostCode.DROP)
    assert same.units[0].source == sources.units[0].source


def test_a_name_that_nothing_has_is_an_error(tmp_path):
    """It is a typing mistake, or the project has changed; but of modules that share a list, one may have it."""
    (tmp_path / "k.cu").write_text(TEXT)
    (tmp_path / "other.cu").write_text("__global__ void other() {}\n")
    modules = "modules: {{m: {{source: k.cu}}, o: {{source: other.cu}}}}"
    text = f"schema: 1\narches: [sm_80]\noptions: {{{{host_only: {{}}}}}}\n{modules}"
    assert len(make_plan(parse_manifest(text.format(json.dumps(NAMES)), root=tmp_path))) == 2
    with pytest.raises(ManifestError, match="nothing in its files is called Tusk or a::Quaue"):
        make_plan(parse_manifest(text.format(json.dumps((*NAMES, "Tusk", "a::Quaue"))), root=tmp_path))


def test_keep_and_names_contradict_each_other(tmp_path):
    """One of them is a mistake."""
    (tmp_path / "k.cu").write_text(TEXT)
    manifest = (
        "schema: 1\narches: [sm_80]\nmodules: {m: {source: k.cu, options: {host_code: keep, host_only: [Queue]}}}"
    )
    with pytest.raises(ManifestError, match="host_code: keep leaves all of it in"):
        make_plan(parse_manifest(manifest, root=tmp_path))


def test_device_code_that_uses_it_does_not_compile(tmp_path):
    """The message says that it was left out."""
    recipe, sources = read(tmp_path, (*NAMES, "Both"))
    with pytest.raises(CompileError, match=r"Both \(k.cu:10\) was left out, because host_only names it"):
        compile_job(recipe.job(sources, SmArch.parse("sm_80"), ("cubin",)))


def test_check_lists_it(tmp_path, monkeypatch, capsys):
    """With its kind and place, as all that host_code: drop leaves out."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cu").write_text(TEXT)
    options = json.dumps({"host_only": list(NAMES)})
    (tmp_path / "kernels.yaml").write_text(
        f"schema: 1\narches: [sm_80]\nmodules: {{m: {{source: k.cu, options: {options}}}}}\n"
    )
    assert main(["check"]) == 0
    assert "module 'm', host code: k.cu:3: type Task" in capsys.readouterr().out
