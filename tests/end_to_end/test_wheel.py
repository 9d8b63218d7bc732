"""End to end with the real front ends: ``python -m build``, pip and uv, the plugin offered as a wheel.

The example is built without the module that uses CUB; ``test_identical`` has one beside others.
"""

from __future__ import annotations

import json
import sys
import textwrap
import zipfile

import pytest
from front_ends import build_isolated, copy_project, run, without_cub
from shared import make_once

from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.binary.cubin import read_cubin


def copy_example(folder):
    """Return a copy of the example project whose manifest lacks the module that uses CUB."""
    root = copy_project(folder)
    manifest = root / "kernels.yaml"
    manifest.write_text(without_cub(manifest.read_text()))
    return root


@pytest.fixture(scope="module")
def isolated(plugin_wheel, tmp_path_factory):
    """Return the folder with the sdist and wheel that an isolated ``python -m build`` made."""

    def make(folder):
        root = copy_example(folder / "example_project")
        build_isolated(root, folder / "dist", offered=plugin_wheel)

    return make_once(tmp_path_factory, "isolated", make) / "dist"


@pytest.fixture(scope="module")
def wheel(isolated):
    """Return the example's wheel."""
    return isolated / "example_project-0.1.0-py3-none-any.whl"


def test_isolated_build_gives_one_pure_wheel(isolated, wheel):
    """The build leaves an sdist and exactly one wheel for every Python and platform."""
    assert {path.name for path in isolated.iterdir()} == {wheel.name, "example_project-0.1.0.tar.gz"}


def test_wheel_lists_every_module_and_architecture(wheel, tmp_path):
    """``inspect`` lists each pair, and each CUBIN it writes out, packed in the wheel or not, is ELF for its SM."""
    command = [sys.executable, "-m", "hatch_cuda_kernels", "inspect", wheel, "--json", "--extract", tmp_path]
    data = json.loads(run(*command))["modules"]
    assert set(data) == {"filter", "reduce", "saxpy", "softmax"}
    for module in data.values():
        assert [image["arch"] for image in module["images"]] == ["sm_80", "compute_80", "sm_90", "sm_120"]
        for image in module["images"]:
            blob = (tmp_path / image["file"]).read_bytes()
            assert len(blob) == image["bytes"]
            if image["kind"] == "cubin":
                cubin = read_cubin(blob)
                assert f"sm_{cubin.sm}" == image["arch"]
                assert {symbol["lowered"] for symbol in module["kernels"].values()} == set(cubin.kernels)
    assert data["reduce"]["kernels"]["block_sum<double, 256>"]["lowered"] == "_Z9block_sumIdLi256EEvPKT_PS0_x"


def test_wheel_packs_what_pays(wheel):
    """Of the example's modules, all but the smallest are packed."""
    with zipfile.ZipFile(wheel) as archive:
        packs = [name for name in archive.namelist() if name.endswith("/images.xz")]
    assert {name.split("/")[2] for name in packs} == {"filter", "reduce", "softmax"}


def test_wheel_from_the_tree_elsewhere_is_byte_identical(wheel, plugin_wheel, tmp_path):
    """Another checkout, another cache, no sdist between: the same bytes."""
    root = copy_example(tmp_path / "quite" / "elsewhere")
    [ours] = plugin_wheel.glob("*.whl")
    with zipfile.ZipFile(ours) as archive:  # a wheel says which version of the plugin built it
        archive.extractall(tmp_path / "site")
    places = {"HATCH_CUDA_KERNELS_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "dist", root]
    assert "16 compiled, 0 from the cache" in run(*command, **places)
    assert (tmp_path / "dist" / wheel.name).read_bytes() == wheel.read_bytes()


def test_a_second_isolated_build_compiles_nothing(isolated, plugin_wheel, wheel, tmp_path):
    """Builds in fresh environments share the disk cache."""
    root = copy_example(tmp_path / "again" / "example_project")
    printed = build_isolated(root, tmp_path / "dist", "--wheel", offered=plugin_wheel)
    assert "0 compiled, 16 from the cache" in printed
    assert (tmp_path / "dist" / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.fixture(scope="module")
def editable(plugin_wheel, tmp_path_factory):
    """Return an editable install's project and the Python it was installed into, as a user would."""

    def make(folder):
        root, uv = copy_example(folder / "example_project"), (sys.executable, "-m", "uv")
        run(*uv, "venv", "--python", sys.executable, folder / "venv")
        install = ("pip", "install", "--python", folder / "venv", "--editable", f"{root}[jit]")
        run(*uv, *install, UV_FIND_LINKS=str(plugin_wheel))

    folder = make_once(tmp_path_factory, "editable", make)
    return folder / "example_project", folder / "venv" / "bin" / "python"


def origins(python, **environment):
    """Return where the image of one kernel of each module comes from, asked in a fresh process."""
    code = (
        "import json; from example_project._store import STORE;"
        "kernels = dict(saxpy='saxpy', reduce='block_sum<float, 128>', softmax='softmax<32>',"
        " filter='filter2d<1, 32, 8>');"
        "print(json.dumps({m: STORE.find_image(k, arch='sm_90').origin for m, k in kernels.items()}))"
    )
    return json.loads(run(python, "-c", code, **environment))


def test_editable_install_compiles_what_an_edit_touched(editable, tmp_path):
    """After an edit of a shared header, exactly its modules miss the store, are compiled, and then are cached."""
    root, python = editable
    cache = {"HATCH_CUDA_KERNELS_CACHE_DIR": str(tmp_path / "cache")}
    assert set(origins(python, **cache).values()) == {"prebuilt"}
    header = root / "include" / "example" / "block_reduce.cuh"
    before = header.read_text()
    header.write_text(before + "\n// edited\n")
    touched = {"reduce", "softmax"}
    assert {module for module, origin in origins(python, **cache).items() if origin == "jitted"} == touched
    assert {module for module, origin in origins(python, **cache).items() if origin == "cached"} == touched
    header.write_text(before)
    assert set(origins(python, **cache).values()) == {"prebuilt"}


CUDA_12 = {
    "pyproject.toml": """
        [build-system]
        requires = ["hatchling", "hatch-cuda-kernels[build-cu12]"]
        build-backend = "hatchling.build"
        [project]
        name = "old-gpus"
        version = "1.0"
        [tool.hatch.build.targets.wheel.hooks.cuda-kernels]
        """,
    "kernels.yaml": """
        schema: 1
        cuda: "12.9"
        arches: [sm_61, sm_70, compute_60]
        modules: {a: {source: a.cu}}
        supports: {devices: ["6.0", "6.1", "7.0", "7.5"], driver: "12.9"}
        """,
    "a.cu": 'extern "C" __global__ void a(int* y) { *y = 1; }\n',
    "old_gpus/__init__.py": "",
}


def test_pip_builds_with_cuda_12(plugin_wheel, tmp_path, capsys):
    """pip, which never replaces what build-system.requires brought, gets the bindings and NVRTC of CUDA 12."""
    for name, text in CUDA_12.items():
        path = tmp_path / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    cache = {"HATCH_CUDA_KERNELS_CACHE_DIR": str(tmp_path / "cache"), "PIP_FIND_LINKS": str(plugin_wheel)}
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path, tmp_path / "p", **cache)
    wheel = tmp_path / "old_gpus-1.0-py3-none-any.whl"
    module = told(capsys, "inspect", wheel)["modules"]["a"]
    assert module["toolchain"]["nvrtc"].startswith("12.9.")
    assert [image["arch"] for image in module["images"]] == ["compute_60", "sm_61", "sm_70"]
    explain = ("explain", "a", "--package", wheel, "--policy", "prebuilt", "--driver", "13.0")
    for device, chosen in {"sm_61": "sm_61", "sm_72": "compute_60", "sm_75": "sm_70", "sm_90": "compute_60"}.items():
        assert told(capsys, *explain, "--arch", device)["chosen"]["arch"] == chosen  # by the bindings of CUDA 13


def told(capsys, *command):
    """Return what a command prints with ``--json``."""
    assert main([*map(str, command), "--json"]) == 0
    return json.loads(capsys.readouterr().out)
