"""The command line: contracts of JSON and exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile

import pytest

from hatch_cuda_kernels.cli import main

FIVE_MISTAKES = """\
schema: 1
arches: [sm_80, sm_9]
colour: blue
options: {maxrregcount: many}
modules:
  gone: {source: gone.cu}
  wrong: {source: saxpy.cu, instances: ["k<{T}>"]}
"""


def run(capsys, *argv):
    """Run a command and return its status and its standard output."""
    status = main([str(arg) for arg in argv])
    return status, capsys.readouterr().out


def test_inspect_json_has_the_contracted_fields(capsys, example_store):
    """Modules, kernels with mangled names, images with their facts, toolchain and digest."""
    status, out = run(capsys, "inspect", example_store, "--json")
    modules = json.loads(out)["modules"]
    assert status == 0
    assert set(modules) == {"filter", "reduce", "saxpy", "softmax"}
    assert modules["reduce"]["kernels"]["block_sum<float, 128>"] == {
        "lowered": "_Z9block_sumIfLi128EEvPKT_PS0_x", "params": ["ptr", "ptr", "u64"],
        "types": ["const float*", "float*", "long long"], "names": ["x", "partial", "n"],
        "launch": {"names": ["x", "partial", "n"], "sizes": "grid partial.size, block {BLOCK}"},
    }  # fmt: skip
    image = modules["saxpy"]["images"][0]
    assert {"file", "kind", "arch", "sha256", "bytes", "ptx_isa", "registers", "spills"} <= image.keys()
    assert modules["saxpy"]["toolchain"]["nvrtc"].startswith("13.0.")
    assert len(modules["saxpy"]["source_sha256"]) == 64


@pytest.mark.slow
def test_inspect_reads_a_wheel(capsys, example_store, tmp_path):
    """A wheel is looked into without installing it."""
    wheel = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in example_store.rglob("*"):
            archive.write(path, f"x/_kernels/{path.relative_to(example_store)}")
    status, out = run(capsys, "inspect", wheel)
    assert status == 0
    assert "softmax  compute_80  ptx" in out
    assert f"of the wheel's {wheel.stat().st_size:,}" in out
    modules = json.loads(run(capsys, "inspect", wheel, "--json")[1])["modules"]
    with zipfile.ZipFile(wheel) as archive:
        own = {name: archive.getinfo(f"x/_kernels/{name}/images.xz").compress_size for name in ("filter", "softmax")}
        saxpy = [file.compress_size for file in archive.infolist() if file.filename.startswith("x/_kernels/saxpy/")]
    assert {name: sum(image["packed"] for image in modules[name]["images"]) for name in own} == own
    assert modules["saxpy"]["packed"] == sum(saxpy)
    assert run(capsys, "explain", "saxpy", "--package", wheel, "--arch", "sm_90")[0] == 0


@pytest.mark.parametrize("name", ["no_such_package", "missing.whl", "."])
def test_inspect_of_nothing_is_bad_input(capsys, name, tmp_path, monkeypatch):
    """What holds no store is status 2 and a sentence."""
    monkeypatch.chdir(tmp_path)
    assert main(["inspect", name]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_explain_json_and_status(capsys, example_store, monkeypatch, fresh_cache):
    """The JSON is contracted; no image is status 1."""
    args = ("explain", "saxpy", "--package", example_store, "--json")
    status, out = run(capsys, *args, "--arch", "sm_90", "--driver", "13.0")
    data = json.loads(out)
    assert status == 0
    assert (data["kernel"], data["arch"], data["driver"]) == ("saxpy", "sm_90", "13.0")
    assert data["chosen"] == {"origin": "prebuilt", "arch": "sm_90", "kind": "cubin"}
    assert all(c.keys() == {"origin", "arch", "kind", "accepted", "reason"} for c in data["candidates"])
    status, out = run(capsys, *args, "--arch", "sm_75", "--policy", "prebuilt")
    data = json.loads(out)
    assert (status, data["chosen"]) == (1, None)
    assert data["fixes"] == ["allow compiling: policy='compatible'", "build the package with sm_75 among its arches"]


@pytest.mark.parametrize("bad", [("--arch", "sm_9"), ("--policy", "best")])
def test_explain_with_bad_input(capsys, example_store, bad):
    """A misspelt device or policy is status 2."""
    defaults = () if bad[0] == "--arch" else ("--arch", "sm_90")
    assert main(["explain", "saxpy", "--package", str(example_store), *defaults, *bad]) == 2


@pytest.mark.parametrize("command", ["explain saxpy --package x", "verify x"])
@pytest.mark.parametrize("version", ["13", "13.0.1", "-13.0", "new"])
def test_a_misspelt_driver_is_bad_input(capsys, command, version):
    """Every command that takes a driver's version refuses the same texts in the same words."""
    with pytest.raises(SystemExit) as caught:
        main([*command.split(), f"--driver={version}"])
    assert caught.value.code == 2
    assert f"argument --driver: {version!r} is not a CUDA version; write it like 13.0" in capsys.readouterr().err


def test_messages_name_the_wheel(capsys, example_store, tmp_path):
    """What goes wrong in a wheel is reported by the wheel's name, not by the folder it is unpacked into."""
    wheel = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in example_store.rglob("*"):
            archive.write(path, f"x/_kernels/{path.relative_to(example_store)}")
    assert main(["explain", "saxpi", "--package", str(wheel), "--arch", "sm_90"]) == 1
    assert f"no kernel 'saxpi' in {wheel}" in capsys.readouterr().err


def test_five_mistakes_are_five_located_problems(capsys, make_project, tmp_path):
    """Every mistake is reported with its place, the status is 2, and the output folder is untouched."""
    root = make_project(FIVE_MISTAKES)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("keep")
    assert main(["build", str(root / "kernels.yaml"), "--out", str(tmp_path / "out")]) == 2
    problems = capsys.readouterr().err.splitlines()
    assert [problem.split(": ")[0] for problem in problems] == [
        "kernels.yaml:2:17", "kernels.yaml:3:1", "kernels.yaml:4:25", "kernels.yaml:6:18", "kernels.yaml:7:41",
    ]  # fmt: skip
    assert "did you mean 'sm_90'?" in problems[0]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]
    status, out = run(capsys, "check", root / "kernels.yaml", "--json")
    assert (status, json.loads(out)) == (2, {"jobs": [], "problems": problems})


@pytest.mark.slow
def test_check_lists_the_plan_and_what_is_fresh(capsys, make_project, tmp_path, fresh_cache):
    """Before a build all images would be compiled, after it none."""
    root = make_project("{schema: 1, arches: [sm_90, compute_80], modules: {a: {source: saxpy.cu}}}")
    jobs = [{"module": "a", "arch": "compute_80", "kind": "ptx"}, {"module": "a", "arch": "sm_90", "kind": "cubin"}]
    for fresh in (False, True):
        status, out = run(capsys, "check", root / "kernels.yaml", "--json")
        assert status == 0
        assert json.loads(out) == {"jobs": [job | {"fresh": fresh} for job in jobs], "problems": []}
        main(["build", str(root / "kernels.yaml"), "--out", str(tmp_path / "out")])
        capsys.readouterr()


def test_check_refuses_what_a_build_would(capsys, make_project):
    """Another toolkit release than the one stated is status 1 with the command that mends it, in both forms."""
    root = make_project('{schema: 1, cuda: "13.4", arches: [sm_90], modules: {a: {source: saxpy.cu}}}')
    for form in ((), ("--json",)):
        status = main(["check", str(root / "kernels.yaml"), *form])
        out, err = capsys.readouterr()
        assert status == 1
        assert "asks for CUDA 13.4, the NVRTC found is 13." in err
        assert " pip install " in err  # by pip or by uv, whichever made the environment
    assert json.loads(out)["jobs"][0]["arch"] == "sm_90"


def test_check_warns_as_a_build_does(capsys, make_project, monkeypatch):
    """PTX that needs a newer driver than the default is a warning, not a no."""
    from hatch_cuda_kernels.compiler.toolchain.toolchain import Toolchain

    root = make_project("{schema: 1, arches: [compute_90], modules: {a: {source: saxpy.cu}}}")
    monkeypatch.setattr("hatch_cuda_kernels.plan.plan.find_toolchain", lambda: Toolchain("13.2.51"))
    assert main(["check", str(root / "kernels.yaml")]) == 0
    assert "warning: PTX written by NVRTC 13.2" in capsys.readouterr().err


def test_check_works_without_nvrtc(capsys, make_project, monkeypatch):
    """A machine without NVRTC can validate a manifest; nothing counts as fresh."""
    from hatch_cuda_kernels.errors import ToolchainError

    def find():
        raise ToolchainError("NVRTC is not installed (none here)", "install it")

    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    monkeypatch.setattr("hatch_cuda_kernels.compiler.toolchain.toolchain.current_toolchain", find)
    status = main(["check", str(root / "kernels.yaml"), "--json"])
    out, err = capsys.readouterr()
    assert (status, json.loads(out)["jobs"][0]["fresh"]) == (0, False)
    assert err.startswith("warning: NVRTC is not installed (none here)")


@pytest.mark.slow
def test_check_loads_no_compiler(make_project, tmp_path):
    """What is fresh follows from the wheel's version and the sources, whose first read takes most of the memory."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    code = f"""if True:
        from hatch_cuda_kernels.cli import main
        main(["check", {str(root / "kernels.yaml")!r}])
        print([line for line in open("/proc/self/maps") if "libnvrtc" in line])
    """
    environment = os.environ | {"HATCH_CUDA_KERNELS_CACHE_DIR": str(tmp_path / "empty")}
    run = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert run.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(("out", "status"), [("mine", 2), ("file", 2), ("file/out", 1)])
def test_a_store_that_cannot_be_written_is_a_sentence(capsys, make_project, tmp_path, out, status):
    """Somebody's own folder, a file, or a place below a file ends the command without a traceback."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("keep")
    (tmp_path / "file").write_text("keep")
    assert main(["build", str(root / "kernels.yaml"), "--out", str(tmp_path / out)]) == status
    assert str(tmp_path / out) in capsys.readouterr().err
    assert (tmp_path / "mine" / "notes").read_text() == (tmp_path / "file").read_text() == "keep"


@pytest.mark.parametrize("jobs", ["0", "-2", "many"])
def test_a_number_of_jobs_that_is_none(capsys, jobs):
    """At least one compile has to run."""
    with pytest.raises(SystemExit) as caught:
        main(["build", f"--jobs={jobs}"])
    assert caught.value.code == 2
    assert f"argument --jobs: {jobs!r} is not a number of 1 or more" in capsys.readouterr().err


@pytest.mark.slow
def test_build_json(capsys, make_project, tmp_path, fresh_cache):
    """The machine-readable build says what was compiled and where it went."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    status, out = run(capsys, "build", root / "kernels.yaml", "--out", tmp_path / "out", "--json")
    data = json.loads(out)
    assert (status, data["out"]) == (0, str(tmp_path / "out"))
    assert [(image["arch"], image["compiled"]) for image in data["images"]] == [("sm_90", True)]


FEW = """\
schema: 1
arches: [sm_80, sm_90, compute_80]
supports: {devices: ["8.0", "9.0"]}
stubs: stub.pyi
modules:
  own: {source: saxpy.cu, arches: [sm_90a, sm_100]}
  saxpy: {source: saxpy.cu}
"""


@pytest.mark.parametrize(
    ("asked", "archs"),
    [
        (["sm_90"], ["own sm_90a", "saxpy sm_90"]),
        (["8.0", "compute_80"], ["own sm_80", "own compute_80", "saxpy sm_80", "saxpy compute_80"]),
        (["sm_103"], ["own sm_103", "saxpy sm_103"]),
    ],
)
def test_a_build_for_few_architectures(asked, archs, capsys, make_project, tmp_path):
    """Those of the manifest or others; nothing is promised of devices then, and the stub is left alone."""
    root = make_project(FEW)
    words = ("build", root / "kernels.yaml", "--out", tmp_path / "out", "--json", "--arch", *asked)
    status, out = run(capsys, *words)
    assert status == 0
    assert sorted(f"{image['module']} {image['arch']}" for image in json.loads(out)["images"]) == sorted(archs)
    assert not (root / "stub.pyi").exists()
    assert not (tmp_path / "out" / "promises.json").exists()


@pytest.mark.parametrize(
    ("word", "advice"), [("sm_9", "write it like sm_90"), ("kernels.yaml", "name the manifest before --arch")]
)
def test_a_build_for_what_is_no_architecture(word, advice, capsys):
    """The message says how one is written, or where the manifest goes."""
    with pytest.raises(SystemExit):
        main(["build", "--arch", "sm_90", word])
    assert f"'{word}' is not an architecture that CUDA compiles for; {advice}" in capsys.readouterr().err


def test_failed_build_is_status_1(capsys, make_project, tmp_path):
    """A compile error is a no, not bad input, and shows NVRTC's log."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: a.cu}}}", **{"a.cu": "broken"})
    assert main(["build", str(root / "kernels.yaml"), "--out", str(tmp_path / "out")]) == 1
    assert "a.cu:1:" in capsys.readouterr().err


@pytest.mark.slow
def test_cache_info_and_clear(capsys, fresh_cache, example_store):
    """The cache can be seen and emptied."""
    main(["cache", "info", "--json"])
    assert json.loads(capsys.readouterr().out) == {
        "path": str(fresh_cache), "entries": 0, "bytes": 0, "max_bytes": 1 << 30, "writable": True,
    }  # fmt: skip
    from hatch_cuda_kernels import open_store

    open_store(example_store).find_image("saxpy", arch="sm_75")
    assert run(capsys, "cache", "clear")[1] == f"removed 1 image from {fresh_cache}\n"
    assert f"{fresh_cache}: 0 images, 0 of 1,073,741,824 bytes" in run(capsys, "cache", "info")[1]


@pytest.mark.slow
def test_schema_is_a_json_schema(capsys):
    """The schema prints and is itself valid."""
    jsonschema = pytest.importorskip("jsonschema")
    status, out = run(capsys, "schema")
    assert status == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(out))


@pytest.mark.slow
def test_module_and_console_script_are_the_same_program():
    """``python -m hatch_cuda_kernels`` runs it, and no command is an error of usage."""
    version = subprocess.run([sys.executable, "-m", "hatch_cuda_kernels", "--version"], capture_output=True, text=True)
    assert version.stdout.startswith("hatch-cuda-kernels ")
    assert subprocess.run([sys.executable, "-m", "hatch_cuda_kernels"], capture_output=True).returncode == 2


@pytest.mark.slow
def test_the_executor_flag_comes_before_the_environment(make_project, monkeypatch, capsys):
    """A flag wins over the variable; a wrong one is a usage error."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    monkeypatch.chdir(root)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_EXECUTOR", "dask:tcp://127.0.0.1:9")
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(root / "cache"))
    assert main(["build", "--executor", "process"]) == 0
    with pytest.raises(SystemExit) as caught:
        main(["build", "--executor", "mpi"])
    assert caught.value.code == 2
    assert "'mpi' is neither 'process' nor 'dask:ADDRESS'" in capsys.readouterr().err


@pytest.mark.slow
def test_explain_finds_a_module_by_axes(capsys, make_project, tmp_path, fresh_cache):
    """Listed or not; with two of them, or a text that is no value, the status is 2."""
    manifest = """
        schema: 1
        arches: [sm_90]
        modules:
          "k_{N}":
            source: k.cu
            matrix: {N: [1, 2]}
            options: {define: {COUNT: "{N}"}}
    """
    root = make_project(manifest, **{"k.cu": 'extern "C" __global__ void k(int* x) { *x = COUNT; }\n'})
    assert run(capsys, "build", root / "kernels.yaml", "--out", tmp_path / "out")[0] == 0
    ask = ("explain", "k", "--package", tmp_path / "out", "--arch", "sm_90")
    assert "-> accepted prebuilt sm_90 cubin" in run(capsys, *ask, "--axis", "N=2")[1]
    status, out = run(capsys, *ask, "--module", "k", "--axis", "N=3", "--json")
    data = json.loads(out)
    assert (status, data["chosen"]["origin"]) == (0, "jitted")
    assert data["notes"][0].startswith("module 'k_3' is 'k' with N=3, which the manifest does not list")
    assert run(capsys, *ask, "--axis", "M=3")[0] == 2
    assert run(capsys, *ask, "--axis", "N=2", "--axis", "N=3")[0] == 2
    with pytest.raises(SystemExit):
        run(capsys, *ask, "--axis", "N")


def test_check_says_once_what_is_true_of_a_whole_family(capsys, make_project, fresh_cache):
    """What is true of some of an entry's modules is told of each of them."""
    manifest = """
        schema: 1
        arches: [sm_90]
        modules:
          "k_{N}":
            source: k.cu
            matrix: {N: [1, 2, 3]}
            options: {define: {COUNT: "{N}"}}
    """
    source = "#if COUNT > 1\nvoid run() {}\n#endif\n__global__ void k(const char** path) { *path = __FILE__; }\n"
    root = make_project(manifest, **{"k.cu": source})
    status, out = run(capsys, "check", "--json", root / "kernels.yaml")
    notes = json.loads(out)["notes"]
    assert status == 0
    assert [note.partition(":")[0] for note in notes if "__FILE__" in note] == ["module 'k_{N}'"]
    assert [note.partition(":")[0] for note in notes if "host code" in note] == ["module 'k_2'", "module 'k_3'"]
