"""The manifests of public projects: short, and each with its sources stated; and kernels that are strings in Python."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

PROJECTS = Path(__file__).parents[2] / "benchmarks/projects"
MOST_LINES = 15
#: Of a manifest whose sources take macros, with an entry for each set of these.
MOST_LINES_OF_VARIANTS = 40

CUPYX = """
import cupy
from cupyx.preamble import HELPER
TYPES = ['int', 'float']
PLAIN = "template <class T> __global__ void scale(T* x) {}"
MODULE = cupy.RawModule(code=PLAIN, name_expressions=[f'scale<{t}>' for t in TYPES])
class Matrix:
    _mod = cupy.RawModule(code=HELPER + PLAIN.replace('scale', 'add'), name_expressions=('add<int>',))
def later(code):
    return cupy.RawKernel(code, 'k')
"""


@pytest.fixture
def python_kernels(monkeypatch):
    """Return the module, imported anew."""
    monkeypatch.syspath_prepend(str(PROJECTS))
    import python_kernels

    yield python_kernels
    for name in ("python_kernels", "cupy_names"):
        sys.modules.pop(name, None)


def test_manifests_are_short_and_have_their_sources_stated(monkeypatch):
    """A project takes at most 15 lines, or 40 for variants by macros, and none lacks its entry in projects.toml."""
    monkeypatch.syspath_prepend(str(PROJECTS))
    from project_list import load_projects

    manifests = {path.stem: path.read_text().splitlines() for path in PROJECTS.glob("*.yaml")}
    with_variants = {
        name for name, lines in manifests.items() if any(re.match(r' +"\w*\*?\w*\{', one) for one in lines)
    }
    assert with_variants == {"johnh2o2+cuvarbase", "ptycho+ptypy", "rapidsai+cucim"}
    most = {name: MOST_LINES_OF_VARIANTS if name in with_variants else MOST_LINES for name in manifests}
    assert {name for name, lines in manifests.items() if len(lines) > most[name]} == set()
    assert {project.name for project in load_projects(PROJECTS / "projects.toml")} == manifests.keys()
    sys.modules.pop("sources", None)


def test_strings_become_files_with_their_names(python_kernels, tmp_path):
    """A text is written as it is, also one that Python puts together; one that is made in a call is reported."""
    (tmp_path / "cupyx/signal").mkdir(parents=True)
    (tmp_path / "cupyx/preamble.py").write_text('HELPER = "// help\\n"\n')
    (tmp_path / "cupyx/signal/_scale.py").write_text(CUPYX)
    written = python_kernels.write_kernels(tmp_path, ["cupyx"], tmp_path / "kernels")
    assert written.names == {"scale-PLAIN": ("scale<int>", "scale<float>"), "scale-mod": ("add<int>",)}
    assert written.filled == ["scale-mod"]
    assert written.left_out == ["cupyx/signal/_scale.py:10"]
    kernels = tmp_path / "kernels/signal"
    assert (kernels / "scale-PLAIN.cu").read_text() == "template <class T> __global__ void scale(T* x) {}"
    assert (kernels / "scale-mod.cu").read_text() == "// help\ntemplate <class T> __global__ void add(T* x) {}"


def test_cuda_complex_numbers_become_cupys(python_kernels, tmp_path):
    """What CuPy compiles with ``translate_cucomplex`` is written in place of the text."""
    (tmp_path / "tests/raw").mkdir(parents=True)
    code = 'import cupy\n_complex = "#include <cuComplex.h>\\n__global__ void k() {}"\ncupy.RawModule(code=_complex)\n'
    (tmp_path / "tests/raw/test_raw.py").write_text(code.replace("cupy.RawModule", "def f():\n    cupy.RawModule"))
    python_kernels.write_kernels(tmp_path, ["tests/raw"], tmp_path / "kernels")
    text = (tmp_path / "kernels/raw/test_raw-complex.cu").read_text()
    assert text.startswith("#include <cupy/complex.cuh>\n")
    assert text.endswith("#include <cupy/cuComplex_bridge.h>  // translate_cucomplex\n__global__ void k() {}")
