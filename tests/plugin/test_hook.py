"""The Hatch hook, called as hatchling calls it, without building an environment."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

PYPROJECT = """
[build-system]
requires = ["hatchling", "hatch-cuda-kernels[build]"]
build-backend = "hatchling.build"
[project]
name = "My.Project"
version = "1.0"
[tool.hatch.build.targets.wheel]
packages = ["my_project"]
[tool.hatch.build{scope}.hooks.cuda-kernels]
{options}
"""
MANIFEST = "{schema: 1, arches: [sm_90, compute_80], modules: {a: {source: src/a.cu, options: {include: [include]}}}}"
STORE = {f"my_project/_kernels/{name}" for name in (
    "kernels.tsv", "digests.json", "a/index.json", "a/details.json", "a/a.sm_90.cubin", "a/a.compute_80.ptx",
    "project.source/src/a.cu", "project.source/include/a.h",
)}  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that lays out a project and changes into it."""

    def lay_out(*, options="", scope=".targets.wheel", manifest=MANIFEST):
        files = {
            "pyproject.toml": PYPROJECT.format(options=options, scope=scope),
            "kernels.yaml": manifest,
            "src/a.cu": '#include <a.h>\nextern "C" __global__ void a(int* y) { *y = A; }\n',
            "include/a.h": "#define A 1\n",
            "my_project/__init__.py": "",
        }
        for name, text in files.items():
            path = tmp_path / "p" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.chdir(tmp_path / "p")
        return tmp_path / "p"

    return lay_out


def build(builder, root, version="standard"):
    """Build one artifact and return its path."""
    return Path(next(builder(str(root)).build(directory=str(root / "dist"), versions=[version])))


def names(wheel):
    """Return a wheel's file names without its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_wheel_is_pure_and_carries_the_store(project, capsys):
    """The wheel is py3-none-any, and holds exactly the package and its store; the table is shown."""
    root = project()
    wheel = build(WheelBuilder, root)
    assert wheel.name == "my_project-1.0-py3-none-any.whl"
    assert names(wheel) == {"my_project/__init__.py", *STORE}
    assert not (root / "my_project" / "_kernels").exists()
    assert "2 images of 1 module," in capsys.readouterr().out


SBOM = "my_project-1.0.dist-info/sboms/cuda-kernels.cdx.json"


def members(wheel):
    """Return the names of all files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_a_wheel_has_a_bill_of_materials(project):
    """It is where scanners look, of the project as packaging tools call it; the option leaves it out."""
    with zipfile.ZipFile(build(WheelBuilder, project())) as archive:
        data = json.loads(archive.read(SBOM))
    assert data["metadata"]["component"]["purl"] == "pkg:pypi/my-project@1.0"
    assert SBOM not in members(build(WheelBuilder, project(options="sbom = false")))
    assert SBOM not in members(build(WheelBuilder, project(), "editable"))


def test_an_older_hatchling_builds_without_one(project, monkeypatch):
    """Before 1.29, hatchling had no place for it; the wheel is the same otherwise."""
    with_one = members(build(WheelBuilder, project()))
    data = WheelBuilder.get_default_build_data

    def older(self):
        return {name: value for name, value in data(self).items() if name != "sbom_files"}

    monkeypatch.setattr(WheelBuilder, "get_default_build_data", older)
    monkeypatch.setattr(WheelBuilder, "add_sboms", lambda *_: None)
    assert members(build(WheelBuilder, project())) == with_one - {SBOM}


def test_dependencies_pin_the_toolkit_release(project):
    """An isolated build is told which NVRTC and headers to install, by the manifest."""
    builder = WheelBuilder(str(project(manifest=MANIFEST.replace("schema: 1", 'schema: 1, cuda: "13.2"'))))
    hook = builder.get_build_hooks(str(builder.root))["cuda-kernels"]
    assert hook.dependencies() == [
        "cuda-bindings>=13,<14",
        "nvidia-cuda-crt==13.2.*",
        "nvidia-cuda-cccl==13.2.*",
        "nvidia-cuda-nvrtc==13.2.*",
        "nvidia-cuda-runtime==13.2.*",
    ]


def test_dependencies_for_cuda_12(project):
    """CUDA 12 comes from packages of other names, with the bindings of that major."""
    builder = WheelBuilder(str(project(manifest=MANIFEST.replace("schema: 1", 'schema: 1, cuda: "12.9"'))))
    hook = builder.get_build_hooks(str(builder.root))["cuda-kernels"]
    assert hook.dependencies() == [
        "cuda-bindings>=12.9,<13",
        "nvidia-cuda-nvcc-cu12==12.9.*",
        "nvidia-cuda-cccl-cu12==12.9.*",
        "nvidia-cuda-nvrtc-cu12==12.9.*",
        "nvidia-cuda-runtime-cu12==12.9.*",
    ]


NEEDED = {
    "nothing else": ("", {}, []),
    "a shared run's PTX": ("", {"front_end": "ptx"}, ["nvidia-cuda-nvcc==13.0.*"]),
    "a shared run's LTO-IR": ("", {"front_end": "lto"}, ["nvidia-nvjitlink==13.0.*"]),
    "CUB": ("#include <cub/block/block_scan.cuh>", {}, ["nvidia-cuda-nvcc==13.0.*"]),
    "CUB in a header": ("#include <b.h>", {}, ["nvidia-cuda-nvcc==13.0.*"]),
    "a source that is no text": (None, {}, []),
}


@pytest.mark.parametrize(("source", "module", "needed"), NEEDED.values(), ids=NEEDED.keys())
def test_dependencies_have_what_finishes_the_images(project, source, module, needed):
    """Ptxas and nvJitLink are asked for where a module's route has them, which its includes may decide."""
    more = "".join(f", {name}: {value}" for name, value in module.items())
    root = project(manifest=MANIFEST.replace("source: src/a.cu", f"source: src/a.cu{more}"))
    (root / "include/b.h").write_text("#include <cub/warp/warp_scan.cuh>\n")
    builder = WheelBuilder(str(root))
    hook = builder.get_build_hooks(str(builder.root))["cuda-kernels"]
    path = root / "src/a.cu"
    path.write_bytes(b"\xff" if source is None else f"{source}\n{path.read_text()}".encode())
    assert hook.dependencies()[5:] == needed


@pytest.mark.parametrize(
    ("option", "variable", "asks"),
    [("", "", False), ("dask:x", "", True), ("", "dask:x", True), ("dask:x", "process", False)],
)
def test_an_isolated_build_gets_dask_when_it_is_asked_for(project, monkeypatch, option, variable, asks):
    """The environment comes before the option, and what it asks for is installed; it is the extra's requirement."""
    import tomllib

    monkeypatch.setenv("HATCH_CUDA_KERNELS_EXECUTOR", variable)
    builder = WheelBuilder(str(project(options=f'executor = "{option}"' if option else "")))
    hook = builder.get_build_hooks(str(builder.root))["cuda-kernels"]
    ours = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    (_, requirement) = ours["project"]["optional-dependencies"]["dask"]
    assert (requirement in hook.dependencies()) == asks
    assert hook.dependencies()[-1].startswith("distributed") == asks


def test_a_wrong_variable_stops_the_build_with_status_2(project, monkeypatch, capsys):
    """The variable is checked like the option."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_EXECUTOR", "mpi")
    with pytest.raises(SystemExit) as caught:
        build(WheelBuilder, project())
    assert caught.value.code == 2
    assert "HATCH_CUDA_KERNELS_EXECUTOR='mpi' is neither 'process' nor 'dask:ADDRESS'" in capsys.readouterr().err


def test_what_a_killed_editable_build_left_is_not_packed(project):
    """A folder that was to become the store in the source tree never gets into a wheel."""
    root = project()
    (root / "my_project" / "._kernels.abc" / "new").mkdir(parents=True)
    (root / "my_project" / "._kernels.abc" / "new" / "kernels.tsv").touch()
    assert names(build(WheelBuilder, root)) == {"my_project/__init__.py", *STORE}


def test_editable_store_lies_in_the_tree_and_never_in_a_wheel(project):
    """An editable build writes where the import finds it; a later wheel does not pick up what lies there."""
    root = project()
    build(WheelBuilder, root, "editable")
    in_tree = root / "my_project" / "_kernels"
    assert (in_tree / "a" / "a.sm_90.cubin").is_file()
    assert (in_tree / ".gitignore").read_text() == "*\n"
    (in_tree / "stale").mkdir()
    (in_tree / "stale" / "index.json").write_text("{}")
    assert names(build(WheelBuilder, root)) == {"my_project/__init__.py", *STORE}
    with zipfile.ZipFile(root / "dist" / "my_project-1.0-py3-none-any.whl") as archive:
        assert b"editable" not in archive.read("my_project/_kernels/a/index.json")


def test_clean_removes_the_store_in_the_tree(project):
    """``hatch clean`` takes the editable store away."""
    root = project()
    build(WheelBuilder, root, "editable")
    list(WheelBuilder(str(root)).build(directory=str(root / "dist"), clean_only=True))
    assert not (root / "my_project" / "_kernels").exists()


def test_sdist_carries_manifest_sources_and_headers(project):
    """A global hook adds what the wheel needs, whatever else the sdist selects, and compiles nothing."""
    import tarfile

    root = project(scope="")
    with (root / "pyproject.toml").open("a") as file:
        file.write('[tool.hatch.build.targets.sdist]\nonly-include = ["my_project"]\n')
    build(WheelBuilder, root, "editable")
    with tarfile.open(build(SdistBuilder, root)) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    assert {"kernels.yaml", "src/a.cu", "include/a.h", "my_project/__init__.py"} <= found
    assert not [name for name in found if "_kernels" in name]


@pytest.mark.slow
def test_a_wheel_from_an_sdist_has_each_matched_module_and_the_version(project, tmp_path):
    """The sdist has every file that the source's star matches; a dynamic version is the same for both."""
    import tarfile

    manifest = "schema: 1\narches: [sm_90]\noptions: {include: [include], define: {V: '\"{version}\"'}}\n"
    root = project(scope="", manifest=f'{manifest}modules: {{"*": {{source: src/*.cu}}}}\n')
    (root / "src/b.cu").write_text('extern "C" __global__ void b(int* y) { *y = V[0]; }\n')
    settings = (root / "pyproject.toml").read_text().replace('version = "1.0"', 'dynamic = ["version"]')
    settings += '[tool.hatch.version]\npath = "v.py"\n'
    settings += '[tool.hatch.build.targets.sdist]\nonly-include = ["my_project", "v.py"]\n'
    (root / "pyproject.toml").write_text(settings)
    (root / "v.py").write_text('__version__ = "7.0"\n')
    with tarfile.open(build(SdistBuilder, root)) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    [unpacked] = (tmp_path / "unpacked").iterdir()
    wheel = build(WheelBuilder, unpacked)
    assert {"my_project/_kernels/a/a.sm_90.cubin", "my_project/_kernels/b/b.sm_90.cubin"} <= names(wheel)
    assert wheel.read_bytes() == build(WheelBuilder, root).read_bytes()


def test_an_unpacked_sdist_needs_nothing_unused(project, tmp_path):
    """A folder that gave no header is not in the sdist, nor a header that nothing takes, and the wheel is the same."""
    import tarfile

    manifest = MANIFEST.replace("[include]", "[include, vendor/api]").replace("src/a.cu,", "src/a.cu, headers: [t/*],")
    root = project(scope="", manifest=manifest)
    (root / "t").mkdir()
    (root / "t" / "unused.inc").write_text("")
    with (root / "pyproject.toml").open("a") as file:
        file.write('[tool.hatch.build.targets.sdist]\nonly-include = ["my_project"]\n')
    (root / "vendor" / "api").mkdir(parents=True)
    (root / "vendor" / "api" / "unused.h").write_text("")
    with tarfile.open(build(SdistBuilder, root)) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    [unpacked] = (tmp_path / "unpacked").iterdir()
    assert not (unpacked / "vendor").exists()
    assert not (unpacked / "t").exists()
    assert build(WheelBuilder, unpacked).read_bytes() == build(WheelBuilder, root).read_bytes()


def test_a_missing_include_folder_is_an_error_elsewhere(project, capsys):
    """In a project that is no unpacked sdist, an include folder that does not exist is a mistake."""
    root = project(manifest=MANIFEST.replace("[include]", "[include, vendor/api]"))
    with pytest.raises(SystemExit):
        build(WheelBuilder, root)
    assert "options.include[1]: there is no folder 'vendor/api'" in capsys.readouterr().err


OPTIONS = [
    ('manifset = "x.yaml"', "Unknown option `manifset` for build hook `cuda-kernels`"),
    ("manifest = 1", "Option `manifest` for build hook `cuda-kernels` must be a string"),
    ('sbom = "no"', "Option `sbom` for build hook `cuda-kernels` must be a boolean"),
    ("jobs = true", "Option `jobs` for build hook `cuda-kernels` must be an integer"),
    ("jobs = 0", "Option `jobs` for build hook `cuda-kernels` must be 1 or more"),
    ("jobs = -2", "Option `jobs` for build hook `cuda-kernels` must be 1 or more"),
    ('executor = "mpi"', "Option `executor` for build hook `cuda-kernels` must be `process` or `dask:ADDRESS`"),
    ('executor = "dask:"', "Option `executor` for build hook `cuda-kernels` must be `process` or `dask:ADDRESS`"),
    (
        'manifest = "../kernels.yaml"',
        "Option `manifest` for build hook `cuda-kernels` must name a file inside the project",
    ),
    ('package = "other"', "the wheel has no package other, only my_project; name the one that gets the kernels"),
    ('package = ""', "Option `package` for build hook `cuda-kernels` must be what is imported"),
    ('package = "src/my_project"', "must be what is imported, such as `acme.mylib`, not 'src/my_project'"),
    ('manifest = "gone.yaml"', "gone.yaml:1:1: manifest: cannot read"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_bad_options_stop_the_build_with_status_2(project, capsys, options, message):
    """A wrong option is a sentence and status 2, not a traceback."""
    root = project(options=options, scope="")
    for builder in (WheelBuilder, SdistBuilder):
        with pytest.raises(SystemExit) as caught:
            build(builder, root)
        assert caught.value.code == 2
        assert message in capsys.readouterr().err


def test_options_reach_the_build(project):
    """Another manifest and a nested package are taken from the hook's table, reserved keys tolerated."""
    options = ['manifest = "k.yaml"', 'package = "my_project.gpu"', "jobs = 1", 'executor = "process"']
    root = project(options="\n".join([*options, "enable-by-default = true"]))
    (root / "kernels.yaml").rename(root / "k.yaml")
    (root / "my_project" / "gpu").mkdir()
    (root / "my_project" / "gpu" / "code.py").touch()
    assert "my_project/gpu/_kernels/a/a.sm_90.cubin" in names(build(WheelBuilder, root))


def test_compile_error_stops_the_build_with_status_1(project, capsys):
    """NVRTC's log reaches whoever builds the wheel, and no wheel is left."""
    root = project()
    (root / "src" / "a.cu").write_text("broken")
    with pytest.raises(SystemExit) as caught:
        build(WheelBuilder, root)
    assert caught.value.code == 1
    assert "src/a.cu:1:1: error" in capsys.readouterr().err
    assert not list((root / "dist").iterdir())


LATE = """
import os
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Late(BuildHookInterface):
    def initialize(self, version, build_data):
        {change}
"""
LATER = {
    'self.build_config.target_config["exclude"] = ["*.py"]': "leaves out its modules",
    'build_data["force_include"][os.path.join(self.root, "my_project")] = "my/project"': "brings my.project",
}


@pytest.mark.parametrize(("change", "told"), LATER.items(), ids=LATER.values())
def test_a_wheel_whose_package_is_another_one_is_not_left(project, capsys, change, told):
    """Another hook may leave modules out, or bring some, after they were looked for: then nobody gets the wheel."""
    root = project(options="[tool.hatch.build.targets.wheel.hooks.custom]")
    text = (root / "pyproject.toml").read_text()
    (root / "pyproject.toml").write_text(text.replace('packages = ["my_project"]', 'packages = ["my_project/sub"]'))
    (root / "my_project" / "sub").mkdir()
    (root / "my_project" / "sub" / "__init__.py").touch()
    (root / "hatch_build.py").write_text(LATE.format(change=change))
    with pytest.raises(SystemExit) as caught:
        build(WheelBuilder, root)
    assert caught.value.code == 2
    assert f"a build hook that comes after `cuda-kernels` {told}; name it before" in capsys.readouterr().err
    assert not list((root / "dist").iterdir())


@pytest.mark.parametrize("settings", ['packages = "my_project"', 'packages = ["my_project"]\nsources = [1]'])
def test_a_setting_that_hatchling_refuses_is_a_sentence(project, capsys, settings):
    """What is wrong with it is hatchling's to say."""
    root = project()
    text = (root / "pyproject.toml").read_text()
    (root / "pyproject.toml").write_text(text.replace('packages = ["my_project"]', settings))
    with pytest.raises(SystemExit) as caught:
        build(WheelBuilder, root)
    assert caught.value.code == 2
    assert "must be a" in capsys.readouterr().err
