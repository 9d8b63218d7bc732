"""Libraries beside the sources: every kind of file, CUDA's device runtime, and those that do not fit."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest
from linked_project import FILES, build_linked, objects_of, problems_of_build, write_linked
from manifests import problems_of
from raw_nvrtc import compile_raw

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.job import FinishJob
from hatch_cuda_kernels.compiler.toolchain import libraries as toolchain_libraries
from hatch_cuda_kernels.compiler.toolchain.libraries import find_library, load_device_runtime
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.plan import make_plan, requirements
from hatch_cuda_kernels.store.contents import list_contents
from hatch_cuda_kernels.store.reader import StoreReader

BLEND = "{{schema: 1, arches: [{arches}], modules: {{m: {{source: kernels/blend.cu, libraries: [{name}]{more}}}}}}}"
TREE = "{schema: 1, arches: [sm_80, sm_90], modules: {t: {source: kernels/tree.cu, libraries: [cudadevrt]}}}"
SUFFIXES = ("ltoir", "fatbin", "cubin", "ptx", "a", "o")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory, isolation):
    """Return a folder with ``tables.cu`` for sm_90 as a library of each kind, as far as there are tools for it."""
    folder = write_linked(tmp_path_factory.mktemp("libraries"), "")
    manifest = (
        "{{schema: 1, arches: [sm_90], modules: {{m: {{sources: [kernels/tables.cu, kernels/blend.cu]{more}}}}}}}"
    )
    for more in ("", ", options: {lto: true}"):
        (folder / "kernels.yaml").write_text(manifest.format(more=more))
        (planned,) = make_plan(load_manifest(folder / "kernels.yaml"))
        from hatch_cuda_kernels.compiler.nvrtc import run_job

        images = run_job(planned.jobs[0]).images
        (folder / f"tables.{'ltoir' if more else 'cubin'}").write_bytes(images["ltoir" if more else "object"])
    make_ptx(folder)
    make_containers(folder)
    return folder


def make_ptx(folder):
    """Write the library as relocatable PTX, which an object's compile has on its way."""
    source, header = (textwrap.dedent(FILES[f"kernels/{name}"]) for name in ("tables.cu", "shared.h"))
    made = compile_raw(source, "-dc", arch="compute_90", headers=(("shared.h", header),))
    (folder / "tables.ptx").write_text(made.ptx)


def make_containers(folder):
    """Write the library as fatbin, host object and archive, where nvcc's tools are installed."""
    ptxas = find_library("ptxas")
    fatbinary = ptxas.with_name("fatbinary") if ptxas else Path("fatbinary")
    if not fatbinary.is_file():
        return
    include = fatbinary.parents[1] / "include"
    image = f"--image3=kind=elf,sm=90,file={folder / 'tables.cubin'}"
    embedded = f"--embedded-fatbin={folder / 'tables.fatbin.c'}"
    run(fatbinary, f"--create={folder / 'tables.fatbin'}", "-64", "-c", image, embedded)
    try:
        run("gcc", "-c", "-x", "c", f"-I{include}", folder / "tables.fatbin.c", "-o", folder / "tables.o")
        run("ar", "rcs", folder / "tables.a", folder / "tables.o")
    except (OSError, subprocess.CalledProcessError):
        return


def run(*command):
    """Run a tool."""
    subprocess.run([*map(str, command)], check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.parametrize("lto", [False, True], ids=["objects", "LTO-IR"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_library_of_each_kind_is_linked(libraries, tmp_path, suffix, lto):
    """The kernel that calls into it is in the image, with what it calls; and the store builds again from itself."""
    if not (libraries / f"tables.{suffix}").is_file():
        pytest.skip("no tool here makes such a file")
    more = ", options: {lto: true}" if lto else ""
    manifest = BLEND.format(arches="sm_90", name=f"lib/tables.{suffix}", more=more)
    project = write_linked(tmp_path, manifest)
    (project / "lib").mkdir()
    (project / f"lib/tables.{suffix}").write_bytes((libraries / f"tables.{suffix}").read_bytes())
    build_linked(project, project / "out")
    kernels, variables = objects_of(open_store(project / "out").find_image("blend", arch="sm_90").data)
    assert "blend" in kernels
    assert "table" in variables
    assert [*list_contents(StoreReader(project / "out"))["modules"]["m"]["kernels"]] == ["blend", "common"]
    assert main(["verify", str(project / "out"), "--rebuild"]) == 0


def test_a_library_of_lto_ir_serves_ptx(libraries, tmp_path):
    """All is LTO-IR then, so that one PTX program can be made of it."""
    project = project_with(libraries, tmp_path, "ltoir", arches="sm_90, compute_90")
    build_linked(project, project / "out")
    ptx = next((project / "out").rglob("*.ptx")).read_text()
    assert ".entry blend(" in ptx
    assert ".extern" not in ptx


@pytest.mark.slow
def test_a_library_is_part_of_the_key_and_of_the_store(libraries, tmp_path):
    """Its bytes are shipped with the sources, for compiles at run time."""
    project = project_with(libraries, tmp_path, "ltoir")
    build_linked(project, project / "out")
    shipped = project / "out/project.source/tables.ltoir"
    assert shipped.read_bytes() == (libraries / "tables.ltoir").read_bytes()
    image = open_store(project / "out").find_image("blend", arch="sm_120", policy="exact")
    assert image.origin == "jitted"
    before = key_of(project)
    (project / "tables.ltoir").write_bytes((libraries / "tables.ltoir").read_bytes() + b"\0")
    assert key_of(project) != before


@pytest.mark.slow
def test_the_device_runtime_makes_launches_in_device_code_work(tmp_path, capsys):
    """Its own kernels are in the image too, and are nobody's: they are neither listed nor counted."""
    project = write_linked(tmp_path, TREE)
    build_linked(project, project / "out")
    module = open_store(project / "out").contents()["modules"]["t"]
    assert [*module["kernels"]] == ["leaf", "tree"]
    assert all([*image["resources"]] == ["leaf", "tree"] for image in module["images"])
    assert module["toolchain"]["cudadevrt"] == load_device_runtime().version
    assert module["libraries"] == {"cudadevrt": load_device_runtime().sha256}
    kernels, _ = objects_of(open_store(project / "out").find_image("tree", arch="sm_90").data)
    assert kernels > {"leaf", "tree"}
    assert main(["verify", str(project / "out"), "--rebuild"]) == 0
    assert main(["inspect", str(project / "out")]) == 0
    printed = capsys.readouterr().out
    assert "linked from kernels/tree.cu, cudadevrt" in printed
    assert f"cudadevrt {load_device_runtime().version}" in printed


def test_the_runtime_travels_with_the_job(tmp_path):
    """A worker on another host needs none of its own."""
    (planned,) = make_plan(load_manifest(write_linked(tmp_path, TREE) / "kernels.yaml"))
    assert all(isinstance(job, FinishJob) and job.libraries == (load_device_runtime(),) for job in planned.finishing)


def test_the_hook_asks_for_what_links(tmp_path):
    """An isolated build gets nvJitLink, and the wheel that has the device runtime."""
    asked = requirements(load_manifest(write_linked(tmp_path, TREE) / "kernels.yaml"))
    assert {"nvidia-nvjitlink==13.0.*", "nvidia-cuda-runtime==13.0.*"} <= {*asked}


def test_a_missing_runtime_names_the_command(tmp_path, monkeypatch):
    """Neither a wheel nor a toolkit has it."""
    monkeypatch.setattr(
        toolchain_libraries, "find_library", lambda stem: None if "cudadevrt" in stem else find_library(stem)
    )
    for name in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    project = write_linked(tmp_path, TREE)
    with pytest.raises(ToolchainError, match="cudadevrt is not installed") as caught:
        build_linked(project, project / "out")
    assert caught.value.fix.startswith('python3 -m pip install "nvidia-cuda-runtime==')


def test_a_toolkit_on_the_machine_has_it_too(tmp_path, monkeypatch):
    """Where no wheel does."""
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64/libcudadevrt.a").write_bytes(b"!<arch>\n")
    monkeypatch.setattr(
        toolchain_libraries, "find_library", lambda stem: None if "cudadevrt" in stem else find_library(stem)
    )
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    found = load_device_runtime()
    assert (found.data, found.version) == (b"!<arch>\n", f"unknown+{found.sha256[:16]}")


#: A library, the architecture, and what is said of it.
UNFIT = {
    "another architecture": ("cubin", "sm_80", "tables.cubin has no code for sm_80"),
    "newer LTO-IR": ("ltoir", "sm_80", "a library's LTO-IR is for compute_90, which sm_80 cannot use"),
    "a whole program": ("whole", "sm_90", "whole.cubin is not relocatable code; compile it with nvcc's -dc"),
    "cut short": ("cut", "sm_90", "cut.cubin cannot be linked: damaged CUBIN: a header table ends past the file"),
    "not an archive": ("archive", "sm_90", "archive.a is not what its suffix says"),
    "defines what a source does": ("again", "sm_90", "table is defined in again.cu and in again.cubin; define it"),
    "not what it is called": ("garbage", "sm_90", "garbage.cubin cannot be linked: not a CUBIN: no ELF header"),
}


@pytest.mark.parametrize(("kind", "arch", "said"), UNFIT.values(), ids=UNFIT)
def test_a_library_that_does_not_fit_is_named(libraries, tmp_path, kind, arch, said):
    """With what to do about it."""
    if kind in {"cubin", "ltoir"}:
        project = project_with(libraries, tmp_path, kind, arches=arch)
    else:
        project = project_with_damage(libraries, tmp_path, kind)
    (problem,) = problems_of_build(project)
    assert said in problem


def project_with_damage(libraries, folder, kind):
    """Write a project with a library that cannot be linked."""
    whole = compile_raw('extern "C" __global__ void whole() {}', arch="sm_90").cubin
    good = (libraries / "tables.cubin").read_bytes()
    damaged = {"whole": whole, "cut": good[:1500], "archive": b"none" * 100, "again": good, "garbage": b"none" * 100}
    name = f"{kind}.{'a' if kind == 'archive' else 'cubin'}"
    (folder / name).write_bytes(damaged[kind])
    source = "again.cu" if kind == "again" else "kernels/blend.cu"
    manifest = BLEND.format(arches="sm_90", name=name, more="").replace("kernels/blend.cu", source)
    return write_linked(folder, manifest, **{"again.cu": "__device__ int table[4];"})


def test_a_wrong_name_is_refused_where_it_stands(tmp_path):
    """Before anything is read."""
    write_linked(tmp_path, "")
    text = "schema: 1\nmodules: {m: {source: kernels/blend.cu, libraries: [cudadevrtt, a.so, no.a, ../b.a]}}"
    known = ".a, .cubin, .fatbin, .ltoir, .o, .ptx"
    inside = "keep the file inside the manifest's folder"
    assert problems_of(text, tmp_path) == [
        "kernels.yaml:2:53: modules.m.libraries[0]: unknown library 'cudadevrtt' (did you mean 'cudadevrt'?)",
        f"kernels.yaml:2:65: modules.m.libraries[1]: 'a.so' is not a device library; these end in {known}",
        "kernels.yaml:2:71: modules.m.libraries[2]: there is no file 'no.a'",
        f"kernels.yaml:2:77: modules.m.libraries[3]: '../b.a' leaves the project; {inside}",
    ]


def project_with(libraries, folder, suffix, arches="sm_90"):
    """Write the project of one source with a library beside it."""
    name = f"tables.{suffix}"
    (folder / name).write_bytes((libraries / name).read_bytes())
    return write_linked(folder, BLEND.format(arches=arches, name=name, more=""))


def key_of(project):
    """Return the key of a project's one CUBIN."""
    (planned,) = make_plan(load_manifest(project / "kernels.yaml"))
    return planned.finishing[0].key("cubin", load_toolchain())
