"""Stores without a GPU: look-up, the ladder, explanations, recording."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from store_damage import patch_source

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import InputError, KernelNotFoundError, NoImageError, StoreError
from hatch_cuda_kernels.runtime.ladder import compile_rungs


@pytest.fixture
def store(example_store):
    """Return the example project's store."""
    return open_store(example_store)


def found(image):
    """Return what matters of an image."""
    return image.origin, str(image.arch), image.kind


LADDER = [
    ("sm_90", None, "compatible", ("prebuilt", "sm_90", "cubin")),
    ("sm_86", None, "compatible", ("prebuilt", "sm_80", "cubin")),
    ("sm_121", None, "compatible", ("prebuilt", "sm_120", "cubin")),
    ("sm_100", None, "compatible", ("prebuilt", "compute_80", "ptx")),
    ("sm_100", (13, 0), "compatible", ("prebuilt", "compute_80", "ptx")),
    ("sm_100", (12, 8), "compatible", ("jitted", "sm_100", "cubin")),
    ("sm_75", None, "compatible", ("jitted", "sm_75", "cubin")),
    ("sm_86", None, "exact", ("jitted", "sm_86", "cubin")),
    ("sm_90", None, "exact", ("prebuilt", "sm_90", "cubin")),
    ("sm_86", None, "prebuilt", ("prebuilt", "sm_80", "cubin")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("arch", "driver", "policy", "expected"), LADDER)
def test_ladder(store, fresh_cache, arch, driver, policy, expected):
    """Each hypothetical device gets the best image, and explain names the same one."""
    explained = store.explain("saxpy", arch=arch, driver=driver, policy=policy).to_json()["chosen"]
    image = store.find_image("saxpy", arch=arch, driver=driver, policy=policy)
    assert found(image) == expected
    assert explained == dict(zip(("origin", "arch", "kind"), expected, strict=True))


@pytest.mark.slow
def test_a_compile_is_recorded_for_the_next(store, fresh_cache):
    """What was jitted once is cached from then on, byte for byte."""
    first = store.find_image("block_sum<float, 128>", arch="sm_75")
    second = open_store(store.path).find_image("block_sum<float,128>", arch="sm_75")
    assert (first.origin, second.origin) == ("jitted", "cached")
    assert first.data == second.data
    assert second.path.is_relative_to(fresh_cache)


@pytest.mark.slow
def test_one_compile_serves_every_kernel_of_a_module(store, fresh_cache):
    """A module is compiled whole: its other instances are hits."""
    store.find_image("block_sum<float, 128>", arch="sm_75")
    assert store.find_image("block_sum<double, 256>", arch="sm_75").origin == "cached"


@pytest.mark.slow
def test_an_unlisted_instance_is_compiled_alone(store, fresh_cache):
    """An instance the manifest lacks is compiled even where the architecture is prebuilt, and then recorded."""
    image = store.find_image("block_sum<double, 512>", arch="sm_90")
    assert found(image) == ("jitted", "sm_90", "cubin")
    assert [symbol.lowered for symbol in image.kernels] == ["_Z9block_sumIdLi512EEvPKT_PS0_x"]
    assert store.find_image("block_sum<double,512>", arch="sm_90").origin == "cached"


def test_the_prebuilt_image_is_the_file_in_the_store(store, example_store):
    """A prebuilt image's bytes are those of the readable file it names."""
    image = store.find_image("saxpy", arch="sm_90")
    assert image.path == example_store / "saxpy" / "saxpy.sm_90.cubin"
    assert image.data == image.path.read_bytes()


def test_unknown_kernel_suggests_names(store):
    """A typo is answered with the names that look alike."""
    with pytest.raises(KernelNotFoundError, match=r"no kernel 'sapxy' in .*; did you mean 'saxpy'\?"):
        store.find_image("sapxy", arch="sm_90")


@pytest.mark.parametrize("is_project", [False, True])
def test_a_source_tree_is_to_be_installed(tmp_path, is_project):
    """Where a project is around it, and nowhere else, an error says how."""
    (tmp_path / "mylib").mkdir()
    (tmp_path / "mylib" / "__init__.py").touch()
    if is_project:
        (tmp_path / "pyproject.toml").touch()
    with pytest.raises(StoreError) as caught:
        open_store(tmp_path / "mylib").get_kernel("saxpy")
    assert (f"--editable {tmp_path}" in str(caught.value)) == is_project
    assert is_project or "--editable" not in str(caught.value)


@pytest.mark.parametrize("driver", ["12.4", (13,), 13, [13, 0], ("13", "0")])
def test_a_driver_is_two_numbers(store, driver):
    """What the command line takes as text is refused with how to write it, and not taken apart."""
    with pytest.raises(InputError, match=r"unknown driver .*; write the CUDA version of a driver as \(13, 0\)"):
        store.explain("saxpy", arch="sm_90", driver=driver)


def test_a_virtual_architecture_is_no_device(store):
    """Asking for compute_90 says what to write."""
    with pytest.raises(InputError, match="compute_90 is not a device; write sm_90"):
        store.find_image("saxpy", arch="compute_90")


def test_unknown_policy_is_refused():
    """A policy that does not exist is an error at once."""
    with pytest.raises(InputError, match="unknown policy 'fast'; it is one of compatible, exact, prebuilt"):
        open_store("anything", policy="fast")


def test_missing_store_shows_at_first_use(tmp_path):
    """Opening is free; the first look-up says where it looked."""
    store = open_store(tmp_path)
    with pytest.raises(StoreError, match=r"no kernel store here \(looked for kernels.tsv in "):
        store.find_image("saxpy", arch="sm_90")
    with pytest.raises(StoreError, match="no_such_package"):
        open_store("no_such_package").explain("saxpy", arch="sm_90")


@pytest.mark.slow
def test_jit_switched_off(store, fresh_cache, monkeypatch):
    """With HATCH_CUDA_KERNELS_JIT=0 nothing is compiled, and the error lists every candidate and the way out."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_JIT", "0")
    with pytest.raises(NoImageError) as caught:
        store.find_image("saxpy", arch="sm_75")
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == str(caught.value)
    assert [(c.origin, str(c.arch)) for c in error.candidates] == [
        ("prebuilt", "sm_120"), ("prebuilt", "sm_90"), ("prebuilt", "sm_80"), ("prebuilt", "compute_80"),
        ("cached", "sm_75"), ("jitted", "sm_75"),
    ]  # fmt: skip
    assert "unset HATCH_CUDA_KERNELS_JIT" in str(error)
    assert "build the package with sm_75 among its arches" in str(error)


@pytest.mark.slow
def test_explain_reads_as_a_table(store, fresh_cache):
    """The text names the device, marks the chosen candidate and gives each refusal."""
    text = str(store.explain("saxpy", arch="sm_103", driver=(12, 8)))
    assert text.splitlines()[0] == "saxpy on sm_103 with a driver for CUDA 12.8:"
    isa = "9.0" if load_toolchain().release[0] == 13 else "8.8"
    assert f"refused  prebuilt compute_80 ptx: written as PTX ISA {isa}, the driver knows up to 8.7" in text
    assert " -> accepted jitted sm_103 cubin: compiled from kernels/saxpy.cu by NVRTC" in text
    assert "    accepted jitted sm_103 cubin: compute_80 ptx finished by nvJitLink as relocatable code" in text


def test_a_trial_is_the_last_resort_and_is_called_one(monkeypatch, driver, fresh_cache):
    """On an Orin, another CUBIN of its major comes after a compile; without one the driver is asked about it."""
    devices = open_store(Path(__file__).parents[1] / "conformance" / "stores" / "devices")
    trial = (
        "prebuilt sm_80 cubin: a trial, which the driver decides: integrated (Tegra) parts are promised exact CUBINs"
    )
    text = str(devices.explain("binary", arch="sm_87"))
    assert " -> accepted jitted sm_87 cubin" in text
    assert f"    accepted {trial}" in text
    monkeypatch.setenv("HATCH_CUDA_KERNELS_JIT", "0")
    monkeypatch.setattr(driver, "capability", (8, 7))
    assert found(devices.get_kernel("binary").image) == ("prebuilt", "sm_86", "cubin")
    driver.refuse = lambda data, _: driver.CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU if b"sm_86" in data else None
    assert f" -> accepted {trial} only (8.0 is not 8.7)" in str(devices.explain("binary"))
    assert found(devices.get_kernel("binary", module="binary").image) == ("prebuilt", "sm_80", "cubin")


@pytest.mark.slow
def test_explain_as_data(store, fresh_cache):
    """The JSON has the contracted fields."""
    data = json.loads(json.dumps(store.explain("saxpy", arch="sm_90", driver=(13, 0)).to_json()))
    assert data.keys() == {"kernel", "arch", "driver", "chosen", "candidates"}
    assert (data["kernel"], data["arch"], data["driver"]) == ("saxpy", "sm_90", "13.0")
    assert all(c.keys() == {"origin", "arch", "kind", "accepted", "reason"} for c in data["candidates"])


def test_a_damaged_image_is_passed_over(example_store, tmp_path, fresh_cache):
    """An image that does not match its digest is never used; the next rung serves, and says why."""
    shutil.copytree(example_store, tmp_path / "copy")
    image = tmp_path / "copy" / "saxpy" / "saxpy.sm_90.cubin"
    image.write_bytes(image.read_bytes()[:-1])
    assert found(open_store(tmp_path / "copy").find_image("saxpy", arch="sm_90")) == ("prebuilt", "compute_80", "ptx")


def test_an_index_of_another_schema_is_refused(example_store, tmp_path):
    """A store written by a newer version is not misread."""
    shutil.copytree(example_store, tmp_path / "copy")
    index = tmp_path / "copy" / "saxpy" / "index.json"
    index.write_text(json.dumps(json.loads(index.read_text()) | {"schema": 3}))
    with pytest.raises(StoreError, match="index schema 3 is not 2: written by another hatch-cuda-kernels"):
        open_store(tmp_path / "copy").find_image("saxpy", arch="sm_90")


@pytest.mark.slow
def test_one_name_in_two_modules_needs_the_module(make_project, tmp_path):
    """The same kernel name in two modules is found by naming the module."""
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    manifest = """
        schema: 1
        arches: [sm_90]
        modules:
          one: {source: saxpy.cu}
          two: {source: saxpy.cu, options: {use_fast_math: true}}
    """
    build_store(load_manifest(make_project(manifest) / "kernels.yaml"), tmp_path / "out")
    store = open_store(tmp_path / "out")
    with pytest.raises(KernelNotFoundError, match="pass module= with a module that has it: one, two"):
        store.find_image("saxpy", arch="sm_90")
    assert store.find_image("saxpy", arch="sm_90", module="two").module == "two"


@pytest.mark.slow
def test_a_module_is_found_by_the_values_of_its_axes(make_project, tmp_path, driver, capsys):
    """Values are text or numbers in any spelling; what is not there is told with what is."""
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.cli import main
    from hatch_cuda_kernels.manifest import load_manifest

    manifest = """
        schema: 1
        arches: [sm_90]
        modules:
          "scale_{T}-{N}":
            source: scale.cu
            matrix: {T: [float, "unsigned int"], N: [1, 2], K: [3]}
            exclude: [{T: float, N: 2}]
            options: {define: {TYPE: "{T}", COUNT: "{N}"}}
            globals: [factor]
            instances: ["fill<{N}, {K}>"]
          plain: {source: saxpy.cu}
    """
    root = make_project(manifest)
    (root / "scale.cu").write_text(
        "__device__ int factor;\n"
        'extern "C" __global__ void scale(TYPE* x) { x[threadIdx.x] *= COUNT * factor; }\n'
        "template <int N, int K> __global__ void fill(TYPE* x) { x[N] = K; }\n"
    )
    build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    store = open_store(tmp_path / "out")
    module = store.module("scale", N=2, T=" unsigned  int")
    assert (module.name, module.kernels) == ("scale_unsigned_int-2", ("fill<2, 3>", "scale"))
    assert module.get_kernel("scale") is store.get_kernel("scale", module=module.name)
    assert module.get_kernel("scale") is not store.module("scale", T="float", N="1").get_kernel("scale")
    assert module.instantiate("fill", K=3).name == "fill<2, 3>"
    with pytest.raises(InputError, match=r"fill is a template of scale_float-1 and scale_unsigned_int-1; ask one of"):
        store.instantiate("fill", K=3)
    assert store.module("scale", T="float", N=1).instantiate("fill", K=3).name == "fill<1, 3>"
    assert module.get_global("factor").name == "factor"
    assert "'scale_unsigned_int-2' is 'scale' with N=2, T=unsigned int" in str(module.explain("scale", arch="sm_90"))
    assert main(["inspect", str(tmp_path / "out")]) == 0
    assert "  scale with N=2, T=unsigned int\n" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "out")]) == 0
    assert store.module("plain").kernels == ("saxpy",)
    for family, axes, message in (
        ("scale", {"T": "float", "N": 2}, "no module 'scale' with T=float, N=2: the manifest excludes T=float, N=2"),
        ("scale", {}, "no module 'scale' with no axis; T is float or unsigned int; N is 1 or 2"),
        ("plain", {"T": 1}, "no module 'plain'; there are scale"),
        ("scal", {"T": 1}, r"no module 'scal' \(did you mean 'scale'\?\)"),
        ("plan", {}, r"no module 'plan' \(did you mean 'plain'\?\)"),
    ):
        with pytest.raises(InputError, match=message):
            store.module(family, **axes)
    script = (
        "import sys; from pathlib import Path; from hatch_cuda_kernels import open_store\n"
        "module = open_store(Path(sys.argv[1])).module('scale', N=1, T='float')\n"
        "module.find_image('scale', arch='sm_90'); print(*sys.modules)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "out")]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    parts = ("runtime.loading", "store.families", "store.texts", "compiler", "cache")
    assert not {f"hatch_cuda_kernels.{part}" for part in parts}.intersection(loaded)
    with pytest.raises(KernelNotFoundError, match=r"no kernel '\{scale;N=2;T=unsigned int'"):
        store.get_kernel("{scale;N=2;T=unsigned int")


@pytest.mark.slow
def test_suffixed_modules_are_jitted_with_their_suffix(make_project, tmp_path, fresh_cache):
    """A module built for sm_90a is compiled as sm_100a for a device of that capability."""
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    manifest = "{schema: 1, arches: [sm_90a], modules: {m: {source: saxpy.cu}}}"
    build_store(load_manifest(make_project(manifest) / "kernels.yaml"), tmp_path / "out")
    store = open_store(tmp_path / "out")
    assert found(store.find_image("saxpy", arch="sm_90")) == ("prebuilt", "sm_90a", "cubin")
    assert found(store.find_image("saxpy", arch="sm_100")) == ("jitted", "sm_100a", "cubin")


@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000])
def test_look_up_finds_every_line_of_any_store(tmp_path, count):
    """Bisecting finds exactly the lines of a name in sorted files of any length."""
    from hatch_cuda_kernels.store.reader import StoreReader

    names = sorted(f"k{'x' * (i % 7)}{i}" for i in range(count))
    lines = [f"{name}\tm\t{name}\tu64\t{name}\n" for name in names]
    (tmp_path / "kernels.tsv").write_text("".join(sorted(lines, key=str.encode)))
    reader = StoreReader(tmp_path)
    assert [line.key for line in reader.lines()] == sorted(names, key=str.encode)
    assert all([line.name for line in reader.find(name)] == [name] for name in names)
    assert reader.find("absent") == reader.find("zzz") == reader.find("") == []


def build(root, out):
    """Build a project's manifest and open the store."""
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    build_store(load_manifest(root / "kernels.yaml"), out)
    return open_store(out)


@pytest.mark.slow
def test_a_suffix_is_kept_only_where_the_device_has_that_form(make_project, tmp_path, fresh_cache):
    """A module built for sm_90a is compiled plainly for devices without architecture-specific code."""
    store = build(make_project("{schema: 1, arches: [sm_90a], modules: {m: {source: saxpy.cu}}}"), tmp_path / "out")
    assert found(store.find_image("saxpy", arch="sm_86")) == ("jitted", "sm_86", "cubin")


@pytest.mark.slow
def test_exact_ignores_images_finished_from_older_ptx(store, fresh_cache, monkeypatch):
    """Whether PTX was finished for an old driver earlier does not change what ``exact`` gives."""
    with monkeypatch.context() as without_nvrtc:
        without_nvrtc.setattr(compile_rungs, "_key_and_nvrtc", lambda request: "NVRTC is not installed (here)")
        assert store.find_image("saxpy", arch="sm_100", driver=(12, 8)).origin == "jitted"
        assert store.find_image("saxpy", arch="sm_100", driver=(12, 8)).origin == "cached"
    assert store.find_image("saxpy", arch="sm_100", policy="exact").origin == "jitted"


@pytest.mark.slow
def test_finished_images_are_offered_only_for_kernels_they_hold(make_project, tmp_path, fresh_cache):
    """A kernel that the PTX lacks is compiled from source instead of finished without it."""
    root = make_project(
        "{schema: 1, arches: [sm_90, compute_80], modules: {m: {source: m.cu}}}",
        **{
            "m.cu": 'extern "C" __global__ void k() {}\n'
            '#if __CUDA_ARCH__ >= 900\nextern "C" __global__ void only90() {}\n#endif\n'
        },
    )
    store = build(root, tmp_path / "out")
    image = store.find_image("only90", arch="sm_100", driver=(12, 8))
    assert "only90" in {symbol.name for symbol in image.kernels}
    assert "the kernel is not in this image (only90)" in str(store.explain("only90", arch="sm_100"))


@pytest.mark.slow
def test_a_failed_compile_leaves_older_code_in_use(example_store, tmp_path, fresh_cache):
    """With ``exact``, a source that no longer compiles falls back to a prebuilt image; explain says what failed."""
    shutil.copytree(example_store, tmp_path / "copy")
    patch_source(tmp_path / "copy", "kernels/saxpy.cu", "extern", "broken extern")
    store = open_store(tmp_path / "copy")
    assert found(store.find_image("saxpy", arch="sm_86", policy="exact")) == ("prebuilt", "sm_80", "cubin")


@pytest.mark.slow
def test_a_failed_compile_that_was_needed_shows_its_log(example_store, tmp_path, fresh_cache):
    """Where nothing else runs, the compile's own error is raised, with NVRTC's log."""
    from hatch_cuda_kernels.errors import CompileError

    shutil.copytree(example_store, tmp_path / "copy")
    patch_source(tmp_path / "copy", "kernels/saxpy.cu", "// extern", "broken // extern")
    with pytest.raises(CompileError, match=r"kernels/saxpy.cu:1:1: error"):
        open_store(tmp_path / "copy").find_image("saxpy", arch="sm_75")


@pytest.mark.slow
def test_spellings_of_an_instance_share_an_image_and_compile_as_written(store, fresh_cache):
    """An unlisted instance compiles as it was written, and another spelling of it is the same image."""
    first = store.find_image("block_sum<float, 64 - -64>", arch="sm_90")
    assert first.kernels[0].lowered == "_Z9block_sumIfLi128EEvPKT_PS0_x"
    assert store.find_image("block_sum<float,  64 - -64 >", arch="sm_90").origin == "cached"


@pytest.mark.parametrize(
    ("name", "module", "message"),
    [
        ("saxpy", "reduce", r"no kernel 'saxpy' in .*: pass module= with a module that has it: saxpy"),
        ("block_sum<int, 64>", "nowhere", r"no kernel 'block_sum<int, 64>'"),
        ("gemm<int>", None, r"no kernel 'gemm<int>'"),
    ],
)
def test_a_wrong_module_or_template_is_named(store, name, module, message):
    """Looking in the wrong module says which module has the kernel."""
    with pytest.raises(KernelNotFoundError, match=message):
        store.find_image(name, arch="sm_90", module=module)


def test_kernels_are_listed_as_written(store):
    """The store lists its kernels; a demo or a warm-up need not hard-code them."""
    assert "block_sum<float, 128>" in store.kernels
    assert "&d_filter" not in store.kernels
