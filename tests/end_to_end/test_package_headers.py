"""Headers of packages that are installed where the build runs: found, hashed, shipped and named, never imported."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
import types
import zipfile

import pytest
from hatch_project import PYPROJECT
from installed_packages import install
from manifests import problems_of

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.toolchain import load_toolchain, pip_install
from hatch_cuda_kernels.compiler.toolchain.packages import _owners_in
from hatch_cuda_kernels.errors import InputError, ManifestError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.plan import describe_plan, make_plan, missing_headers, read_sources
from hatch_cuda_kernels.plugin.layout import wheel_inputs
from hatch_cuda_kernels.scaffold.kernel_files import DraftedManifest
from hatch_cuda_kernels.store import StoreReader, sbom_text

MANIFEST = """
    schema: 1
    arches: [sm_80]
    options: {include: [{package: PACKAGE, folder: core/include}]}
    modules:
      scale: {source: scale.cu, instances: ["scale<float>"]}
"""
SOURCE = """
#include <toy/factor.cuh>
template <class T> __global__ void scale(T* x) { *x *= toy::factor(); }
"""
FACTOR = '#pragma once\n#include "detail/value.h"\nnamespace toy { __device__ inline int factor() { return VALUE; } }\n'
FILES = {
    "toy/__init__.py": "raise SystemExit('it was imported')\n",
    "toy/core/include/toy/factor.cuh": FACTOR,
    "toy/core/include/toy/detail/value.h": "#define VALUE 3\n",
    "toy/core/include/toy/unused.h": "#define UNUSED\n",
}
STATED = ("License-Expression: MIT", "License-File: LICENSE")


@pytest.fixture(autouse=True)
def forgetful():
    """Look at the installed distributions anew in each test."""
    _owners_in.cache_clear()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Return a folder on ``sys.path`` in which a made-up package is installed."""
    folder = install(tmp_path / "env" / "site-packages", "toy-cuda13x", "1.2", FILES, *STATED)
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def project(make_project):
    """Return a project that includes the package's headers."""
    return make_project(MANIFEST.replace("PACKAGE", "toy"), **{"scale.cu": SOURCE})


def build(project, name="out", **more):
    """Build a project's store into a folder beside it, and return that."""
    out = project.parent / name / "_kernels"
    build_store(load_manifest(project / "kernels.yaml"), out, **more)
    return out


def index_of(store):
    """Return the index of the store's module, read."""
    return json.loads((store / "scale" / "index.json").read_bytes())


def refusal(project, include):
    """Return what the reader says about an item under ``include``, without its place."""
    [problem] = problems_of(
        f"schema: 1\noptions: {{include: [{include}]}}\nmodules: {{a: {{source: scale.cu}}}}", project
    )
    return problem.partition("options.include[0]")[2].lstrip(": ")


@pytest.mark.slow
def test_a_store_has_them_and_says_whose_they_are(site, project, capsys, monkeypatch, fresh_cache):
    """Where the package is gone, a rebuild gives the same bytes, and an instance that is not listed is compiled."""
    store = build(project)
    shipped = {
        path.relative_to(store / "project.source").as_posix() for path in (store / "project.source").rglob("*.*h")
    }
    assert shipped == {"@toy/core/include/toy/factor.cuh", "@toy/core/include/toy/detail/value.h"}
    text = "".join(path.read_text() for path in store.rglob("*.json"))
    assert str(site.parent) not in text
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(site)])
    shutil.rmtree(site)
    assert main(["verify", str(store), "--rebuild"]) == 0
    assert open_store(store).find_image("scale<double>", arch="sm_80").origin == "jitted"
    capsys.readouterr()
    assert main(["inspect", str(store)]) == 0
    assert "headers of toy (toy-cuda13x 1.2), MIT" in capsys.readouterr().out
    assert open_store(store).explain("scale<float>", arch="sm_80").notes == ("headers of toy (toy-cuda13x 1.2)",)
    assert main(["report", str(store), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["toolchain"]["headers of toy"] == ["toy-cuda13x 1.2"]


def test_a_plan_names_the_package(site, project):
    """Check says it before anything is compiled."""
    plan = make_plan(load_manifest(project / "kernels.yaml"))
    assert "module 'scale': headers of toy (toy-cuda13x 1.2)" in describe_plan(plan)


@pytest.mark.slow
def test_the_key_follows_from_what_is_read(site, project, tmp_path, monkeypatch, fresh_cache):
    """Another version, elsewhere, with the same text in what is read compiles nothing; a changed header does."""
    first = index_of(build(project))
    other = tmp_path / "other" / "env"
    changed = {"toy/core/include/toy/unused.h": "#define UNUSED 2\n"}
    install(other, "toy-cuda13x", "1.3", {**FILES, **changed}, "License: BSD\nLicense-File: a/COPYING")
    monkeypatch.setattr(sys, "path", [str(other), *(place for place in sys.path if place != str(site))])
    report = build_store(load_manifest(project / "kernels.yaml"), project / "out")
    assert report.compiled == frozenset()
    second = index_of(project / "out")
    assert second["source_sha256"] == first["source_sha256"]
    assert [(one["packages"][0]["version"], one["packages"][0]["license"]) for one in (first, second)] == [
        ("1.2", "MIT"),
        ("1.3", "BSD"),
    ]
    (other / "toy/core/include/toy/detail/value.h").write_text("#define VALUE 4\n")
    report = build_store(load_manifest(project / "kernels.yaml"), project / "out")
    assert len(report.compiled) == 1
    third = index_of(project / "out")
    assert third["source_sha256"] != first["source_sha256"]
    assert third["packages"][0]["altered"] is True


@pytest.mark.slow
def test_the_bill_of_materials_has_version_and_licence(site, project):
    """A scanner finds the package by its URL, and the licence and the files with it by its metadata."""
    data = json.loads(sbom_text(StoreReader(build(project)), "p", "1", made_by="1"))
    [part] = (part for part in data["components"] if part["name"] == "toy-cuda13x")
    assert part["purl"] == "pkg:pypi/toy-cuda13x@1.2"
    assert part["licenses"] == [{"expression": "MIT"}]
    assert part["properties"] == [{"name": "hatch-cuda-kernels:license-file", "value": "LICENSE"}]
    [needs] = (row["dependsOn"] for row in data["dependencies"] if row["ref"] == "module scale")
    assert {part["bom-ref"], "source @toy/core/include/toy/factor.cuh"} <= {*needs}


def test_an_sdist_takes_none_of_them(site, project):
    """The build of a wheel finds them in its own environment again."""
    assert [*wheel_inputs(load_manifest(project / "kernels.yaml"), project)] == ["kernels.yaml", "scale.cu"]
    patterns = DraftedManifest(project / "kernels.yaml").kernel_patterns(project)
    assert patterns == ["kernels.yaml", "*.cu", "*.cuh"]


@pytest.mark.slow
def test_an_editable_install_keeps_what_it_was_built_with(site, project, tmp_path, monkeypatch, fresh_cache):
    """Without the package it goes on; another version does not count, which is said; the same version, edited, does."""
    store = build(project, editable=True)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(site)])
    assert open_store(store).find_image("scale<float>", arch="sm_80").origin == "prebuilt"
    changed = {**FILES, "toy/core/include/toy/factor.cuh": "#error new\n"}
    other = install(tmp_path / "other", "toy-cuda13x", "2", changed)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", [str(other), *sys.path])
        said = "toy-cuda13x 1.2 is compiled with, and toy-cuda13x 2 is installed here; for that one to count, run: "
        with pytest.warns(RuntimeWarning, match=said):
            assert open_store(store).find_image("scale<float>", arch="sm_80").origin == "prebuilt"
        assert open_store(store).find_image("scale<double>", arch="sm_80").origin == "jitted"
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    (site / "toy/core/include/toy/detail/value.h").write_text("#define VALUE 4\n")
    assert "changed since it was built" in str(open_store(store).explain("scale<float>", arch="sm_80"))


def test_a_package_or_folder_that_is_missing_is_said_with_the_command(site, project):
    """The name of the distribution is told where it is known, and guessed else."""
    how = 'write "{0}" into build-system.requires of pyproject.toml; without build isolation, {1}'.format
    wheel = "nvidia-cutlass"
    assert refusal(project, "{package: cutlass_library, folder: source/include}") == (
        f"no package 'cutlass_library' is installed here; {how(wheel, pip_install(wheel))}"
    )
    other = f"another version may have it: {how('toy', pip_install('toy'))}"
    assert refusal(project, "{package: toy, folder: include}") == (
        f"there is no folder 'include' in the package 'toy'; {other}"
    )


@pytest.mark.parametrize(
    ("include", "says"),
    [
        ("{package: toy, folder: ../..}", "'../..' leaves the package; name a folder in it"),
        ("{package: toy, folder: core/../../x}", "'core/../../x' leaves the package; name a folder in it"),
        ("{package: toy, folder: /etc}", "'/etc' is not relative to the package, with / between folders"),
        (
            "{package: toy, folder: away}",
            "'away' leaves the package 'toy' through a symbolic link; name its own folder",
        ),
        ("{package: ../toy, folder: x}", "'../toy' is not what is imported, such as cupy or nvidia.mathdx"),
        ("{package: json, folder: tool}", "'json' is Python's own module; name a package that is installed"),
        ("{package: toy}", "missing; name the folder of headers in the package, such as include"),
        ("{package: zipped, folder: include}", "'zipped' is in the archive"),
        ("{package: single, folder: include}", "'single' is one file"),
        ("'@toy/core/include'", "'@toy/core/include' begins with @, which is for packages; write {package: NAME, "),
    ],
)
def test_what_is_no_folder_of_a_package_is_refused(site, project, tmp_path, monkeypatch, include, says):
    """No path leads out of a package, and what has no folders says so."""
    (tmp_path / "elsewhere").mkdir()
    (site / "toy" / "away").symlink_to(tmp_path / "elsewhere")
    (site / "single.py").touch()
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as archive:
        archive.writestr("zipped/__init__.py", "")
        archive.writestr("zipped/include/a.h", "")
    monkeypatch.syspath_prepend(tmp_path / "zipped.zip")
    assert says in refusal(project, include)


def test_a_header_does_not_reach_out_of_its_package(site, project, tmp_path):
    """Neither by .. into the project, nor by a link; and no file of the project reaches into a package by its mark."""
    (project / "secret.h").write_text("#define VALUE 5\n")
    (site / "toy/core/include/toy/factor.cuh").write_text('#include "../../../../secret.h"\n')
    with pytest.raises(ManifestError, match=r'"../../../../secret.h" leaves the project'):
        read_sources(load_manifest(project / "kernels.yaml"))
    (site / "toy/core/include/toy/factor.cuh").write_text('#include "link.h"\n')
    (tmp_path / "outside.h").touch()
    (site / "toy/core/include/toy/link.h").symlink_to(tmp_path / "outside.h")
    with pytest.raises(ManifestError, match="a symbolic link leads out of the package @toy; install it again"):
        read_sources(load_manifest(project / "kernels.yaml"))
    (project / "scale.cu").write_text('#include "@toy/core/include/toy/unused.h"\n')
    [sources] = read_sources(load_manifest(project / "kernels.yaml")).values()
    assert [*sources.files] == ["scale.cu"]


def test_a_tree_of_links_is_a_package(site, project, tmp_path):
    """Some installers link each file to the one of the same path in their cache."""
    moved = tmp_path / "cache" / "archive-0" / "toy"
    shutil.move(site / "toy", moved)
    for path in sorted(moved.rglob("*.*")):
        link = site / "toy" / path.relative_to(moved)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    [sources] = read_sources(load_manifest(project / "kernels.yaml")).values()
    assert "@toy/core/include/toy/detail/value.h" in sources.files


def test_a_package_that_is_a_link_has_its_distribution(site, project, tmp_path):
    """Where a folder is one file of a link, the metadata is beside the link."""
    shutil.move(site / "toy", tmp_path / "elsewhere")
    (site / "toy").symlink_to(tmp_path / "elsewhere")
    [planned] = make_plan(load_manifest(project / "kernels.yaml"))
    assert [*map(str, planned.packages)] == ["toy (toy-cuda13x 1.2)"]


def test_cccl_of_a_package_is_shown_as_it_is(site, project):
    """Its headers tell NVRTC from nvcc by themselves; those of others are shown as to nvcc."""
    text = "#if defined(__GLIBCXX__)\n#error for nvcc\n#endif\ninline void host() { new int; }\n"
    for name in ("cub/one.cuh", "toy/other.cuh"):
        (site / "toy/core/include" / name).parent.mkdir(exist_ok=True)
        (site / "toy/core/include" / name).write_text(text)
    (project / "scale.cu").write_text("#include <cub/one.cuh>\n#include <toy/other.cuh>\n")
    [sources] = read_sources(load_manifest(project / "kernels.yaml")).values()
    shown = {name.rpartition("include/")[2]: shown for name, shown in sources.units[0].headers}
    assert shown["cub/one.cuh"] == text
    assert shown["toy/other.cuh"] != text


def test_each_part_of_a_namespace_has_its_distribution(tmp_path, make_project, monkeypatch):
    """Two folders on ``sys.path`` have parts of one namespace package, and a header is of the wheel that lists it."""
    header = {
        "ns/toy/core/include/toy/factor.cuh": FACTOR.replace("detail/value.h", "/other/value.h").replace("/", "", 1)
    }
    one = install(tmp_path / "one", "ns-toy", "1", header)
    other = install(tmp_path / "two", "ns-other", "2", {"ns/other/include/other/value.h": "#define VALUE 2\n"})
    for folder in (one, other):
        monkeypatch.syspath_prepend(folder)
    folders = "{package: ns, folder: toy/core/include}, {package: ns.other, folder: include}"
    manifest = MANIFEST.replace("{package: PACKAGE, folder: core/include}", folders)
    root = make_project(manifest, **{"scale.cu": SOURCE})
    [planned] = make_plan(load_manifest(root / "kernels.yaml"))
    assert [*map(str, planned.packages)] == ["ns (ns-toy 1)", "ns.other (ns-other 2)"]


def test_two_installs_of_a_package_are_not_mixed(tmp_path, make_project, monkeypatch):
    """Of a package in a namespace the first counts, as for imports; of a folder in a namespace both are named."""
    header = "ns/toy/inc/toy/factor.cuh"
    new = install(tmp_path / "new", "toy", "2", {"ns/toy/__init__.py": "", header: FACTOR})
    old = install(tmp_path / "old", "toy", "1", {header: FACTOR, "ns/toy/inc/toy/detail/value.h": "#define VALUE 1\n"})
    for folder in (old, new):
        monkeypatch.syspath_prepend(folder)
    root = make_project(
        MANIFEST.replace("PACKAGE, folder: core/include", "ns.toy, folder: inc"), **{"scale.cu": SOURCE}
    )
    [planned] = make_plan(load_manifest(root / "kernels.yaml"))
    assert [*planned.sources.files] == ["@ns.toy/inc/toy/factor.cuh", "scale.cu"]
    make_project(MANIFEST.replace("PACKAGE, folder: core/include", "ns, folder: toy/inc"))
    with pytest.raises(InputError, match=f"are of toy 1 in {old} and 2 in {new}; uninstall one of them"):
        describe_plan(make_plan(load_manifest(root / "kernels.yaml")))


@pytest.mark.parametrize(
    ("name", "data"), [("METADATA", None), ("METADATA", b"Name: \xff"), ("RECORD", b"toy/\xff,,\n")]
)
def test_damaged_metadata_tells_nothing(site, project, name, data):
    """As an interrupted uninstall leaves it, and an encoding that metadata may not have."""
    path = site / "toy_cuda13x-1.2.dist-info" / name
    path.unlink() if data is None else path.write_bytes(data)
    install(site, "around", "1", {})  # whose environment is in its folder
    (site / "around-1.dist-info/direct_url.json").write_text(
        json.dumps({"url": site.parent.parent.as_uri(), "dir_info": {"editable": True}})
    )
    [planned] = make_plan(load_manifest(project / "kernels.yaml"))
    assert [*map(str, planned.packages)] == ["toy (of no distribution that is known)"]


def test_of_two_distributions_the_one_whose_file_it_is_is_named(site, project):
    """Both list the header, and the digest tells which of them wrote it last."""
    install(site, "toy-cuda12x", "9", {"toy/core/include/toy/factor.cuh": f"{FACTOR}\n"})
    [planned] = make_plan(load_manifest(project / "kernels.yaml"))
    assert [*map(str, planned.packages)] == ["toy (toy-cuda12x 9)", "toy (toy-cuda13x 1.2)"]


def test_a_package_in_an_editable_install_is_found(tmp_path, project, monkeypatch):
    """Its files are where its sources are, which its metadata names."""
    sources, site = tmp_path / "checkout", tmp_path / "env" / "site-packages"
    install(sources, "unused", "0", FILES)
    shutil.rmtree(sources / "unused-0.dist-info")
    install(site, "toy-dev", "3", {"toy-dev.pth": f"{sources}\n"}, "Classifier: License :: OSI Approved :: MIT License")
    (site / "toy_dev-3.dist-info/direct_url.json").write_text(
        json.dumps({"url": sources.as_uri(), "dir_info": {"editable": True}})
    )
    monkeypatch.syspath_prepend(site)
    monkeypatch.syspath_prepend(sources)
    [planned] = make_plan(load_manifest(project / "kernels.yaml"))
    [record] = planned.packages
    assert (str(record), record.license) == ("toy (toy-dev 3, altered)", "MIT License")


@pytest.mark.parametrize("module", [None, types.ModuleType("toy")])
def test_what_is_imported_in_its_place_does_not_count(site, project, monkeypatch, module):
    """A test may have put anything among the modules that are loaded."""
    monkeypatch.setitem(sys.modules, "toy", module)
    assert load_manifest(project / "kernels.yaml").modules[0].options.include == ("@toy/core/include",)


@pytest.mark.parametrize("folder", ["", "src/"])
def test_the_projects_own_package_is_of_the_project(make_project, folder):
    """Its headers are files of the project as any other, wherever it is imported from."""
    files = {f"{folder}{name}": text for name, text in FILES.items()}
    root = make_project(MANIFEST.replace("PACKAGE", "toy"), **files, **{"scale.cu": SOURCE})
    manifest = load_manifest(root / "kernels.yaml")
    assert manifest.modules[0].options.include == (f"{folder}toy/core/include",)
    assert f"{folder}toy/core/include/toy/factor.cuh" in wheel_inputs(manifest, root)


def test_a_folder_of_the_project_with_a_namespaces_name_is_none_of_it(make_project, tmp_path, monkeypatch):
    """Commands have the project's folder on their path, and builds in isolation do not."""
    root = make_project(MANIFEST.replace("PACKAGE", "toys"), **{"scale.cu": SOURCE, "toys/notes.txt": ""})
    site = install(tmp_path / "site", "toys-headers", "1", {"toys/core/include/toy/factor.cuh": FACTOR})
    for folder in (site, root):
        monkeypatch.syspath_prepend(folder)
    assert load_manifest(root / "kernels.yaml").modules[0].options.include == ("@toys/core/include",)


def test_the_projects_own_package_may_be_called_as_pythons(make_project):
    """It is found in the tree before anything else is asked."""
    root = make_project(MANIFEST.replace("PACKAGE", "json"), **{"json/__init__.py": "", "json/core/include/a.h": ""})
    (root / "scale.cu").touch()
    assert load_manifest(root / "kernels.yaml").modules[0].options.include == ("json/core/include",)


def test_an_environment_in_the_projects_folder_is_none_of_the_project(make_project, monkeypatch):
    """A virtual environment is often there, and the paths in a store do not depend on that."""
    root = make_project(MANIFEST.replace("PACKAGE", "toy"), **{"scale.cu": SOURCE})
    monkeypatch.syspath_prepend(install(root / ".venv/lib/site-packages", "toy", "1", FILES))
    assert load_manifest(root / "kernels.yaml").modules[0].options.include == ("@toy/core/include",)


def test_a_missing_header_of_a_known_package_says_what_to_write(make_project):
    """The message has the item to add."""
    root = make_project(
        "schema: 1\narches: [sm_80]\nmodules: {k: {source: k.cu}}\n", **{"k.cu": "#include <cupy/complex.cuh>\n"}
    )
    [problem] = missing_headers(make_plan(load_manifest(root / "kernels.yaml")), load_toolchain())
    assert "list {package: cupy, folder: _core/include}, of an installed package, under 'include:'" in problem.fix


@pytest.mark.slow
def test_init_names_an_installed_package_that_is_known(make_project, tmp_path, monkeypatch, capsys):
    """The manifest of existing sources has the item, and builds."""
    header = {"cupy/__init__.py": "", "cupy/_core/include/cupy/factor.cuh": "#define F 2\n"}
    monkeypatch.syspath_prepend(install(tmp_path / "site", "cupy-cuda13x", "1", header))
    source = '#include <cupy/factor.cuh>\nextern "C" __global__ void k(int* x) { *x = F; }\n'
    root = make_project("", **{"k.cu": source, "p/__init__.py": ""})
    (root / "kernels.yaml").unlink()
    (root / "saxpy.cu").unlink()
    (root / "pyproject.toml").write_text(PYPROJECT)
    monkeypatch.chdir(root)
    assert main(["init"]) == 0, capsys.readouterr()
    [module] = load_manifest(root / "kernels.yaml").modules
    assert module.options.include == ("@cupy/_core/include",)
    assert "include: [{package: cupy, folder: _core/include}]" in (root / "kernels.yaml").read_text()
    assert "cupy-cuda13x" in tomllib.loads((root / "pyproject.toml").read_text())["build-system"]["requires"]
