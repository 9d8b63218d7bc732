"""Linked modules where they run: compiled from the shipped sources for what is not prebuilt, recorded, promoted."""

from __future__ import annotations

import pytest
from linked_project import build_linked, objects_of, write_linked
from own_cache import copy_with_cache, own_cache

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.promote import find_misses
from hatch_cuda_kernels.store.reader import StoreReader

MANIFEST = """
    schema: 1
    arches: [sm_80]
    modules:
      two:
        sources: [kernels/blend.cu, kernels/tables.cu]
        instances: ["fill<float>"]
        globals: [table, weights]
{options}
      tree: {{source: kernels/tree.cu, libraries: [cudadevrt]}}
"""


@pytest.fixture(scope="module", params=["", "        options: {lto: true}"], ids=["objects", "LTO-IR"])
def built(request, tmp_path_factory):
    """Return a folder with the project, its store in ``out``, and the cache of its build."""
    folder = tmp_path_factory.mktemp("linked")
    with own_cache(folder):
        project = write_linked(folder / "project", MANIFEST.format(options=request.param))
        build_linked(project, project / "out")
    return folder


@pytest.fixture
def project(built, tmp_path, monkeypatch):
    """Return a copy of the project, with a cache of its own."""
    return copy_with_cache(built, tmp_path / "copy", monkeypatch) / "project"


@pytest.mark.slow
def test_an_architecture_that_is_not_listed_is_compiled(project):
    """From every source, to an image as a build would give; the next process finds it recorded."""
    image = open_store(project / "out").find_image("blend", arch="sm_120")
    kernels, variables = objects_of(image.data)
    assert (image.origin, str(image.arch)) == ("jitted", "sm_120")
    assert kernels == {"blend", "_Z4fillIfEvPT_S0_", "_Z6commonPff", "_Z6commonPfi"}
    assert variables >= {"table", "weights"}
    assert open_store(project / "out").find_image("blend", arch="sm_120").origin == "cached"
    text = (project / "kernels.yaml").read_text()
    (project / "kernels.yaml").write_text(text.replace("[sm_80]", "[sm_80, sm_120]"))
    report = build_linked(project, project / "out2")
    assert open_store(project / "out2").find_image("blend", arch="sm_120").data == image.data
    (two,) = (built for built in report.modules if built.name == "two")
    assert report.compiled.isdisjoint(entry.key for entry in two.entries)


@pytest.mark.slow
def test_an_instance_that_is_not_listed_is_compiled(project):
    """In the source that has the template; the rest is linked to it."""
    image = open_store(project / "out").find_image("fill<double>", arch="sm_80")
    assert image.origin == "jitted"
    assert {symbol.name for symbol in image.kernels} >= {"fill<double>", "blend"}
    assert "_Z4fillIdEvPT_S0_" in objects_of(image.data)[0]


@pytest.mark.slow
def test_a_launch_in_device_code_is_linked_here_too(project):
    """With the device runtime that is installed here."""
    image = open_store(project / "out").find_image("tree", arch="sm_90")
    assert image.origin == "jitted"
    assert {symbol.name for symbol in image.kernels} == {"leaf", "tree"}


@pytest.mark.slow
def test_explain_names_every_source(project):
    """Before and after the compile."""
    store = open_store(project / "out")
    assert "compiled from kernels/blend.cu, kernels/tables.cu by NVRTC" in str(store.explain("blend", arch="sm_120"))
    store.find_image("blend", arch="sm_120")
    assert store.explain("blend", arch="sm_120").chosen.origin == "cached"


@pytest.mark.slow
def test_misses_are_promoted(project):
    """What was compiled at run time is known as this store's."""
    store = open_store(project / "out")
    store.find_image("blend", arch="sm_120")
    store.find_image("fill<int>", arch="sm_80")
    misses = find_misses(StoreReader(project / "out"), open_cache())
    assert [(miss.module, miss.kernel, miss.listed, str(miss.arch)) for miss in misses] == [
        ("two", "blend", True, "sm_120"),
        ("two", "fill<int>", False, "sm_80"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blend.cu", "tables.cu", "shared.h"])
def test_an_editable_install_sees_an_edit_of_any_file(project, name):
    """The prebuilt image does not count any more, and edit-and-run works."""
    build_linked(project, project / "p/_kernels", editable=True)
    assert open_store(project / "p").find_image("blend", arch="sm_80").origin == "prebuilt"
    path = project / "kernels" / name
    path.write_text(f"{path.read_text()}\nstatic __device__ int added;\n")
    changed = open_store(project / "p")
    assert "changed since it was built" in str(changed.explain("blend", arch="sm_80"))
    assert changed.find_image("blend", arch="sm_80").origin == "jitted"


@pytest.mark.slow
def test_an_edit_that_breaks_the_link_says_so(project):
    """As a build would."""
    build_linked(project, project / "p/_kernels", editable=True)
    path = project / "kernels/tables.cu"
    path.write_text(path.read_text().replace("square", "cube"))
    with pytest.raises(CompileError, match=r"kernels/blend.cu uses shared::square\(float\), which nothing defines"):
        open_store(project / "p").find_image("blend", arch="sm_80")
