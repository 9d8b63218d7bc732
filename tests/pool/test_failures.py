"""What failed in a build is told once, with the architectures, at the manifest's own lines, and not at length."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.manifest import load_manifest

TEMPLATE = "template <class T, int N> __global__ void block_sum(T* x) {}\n"


@pytest.fixture
def problems(make_project, tmp_path, fresh_cache, monkeypatch):
    """Return a function that builds a manifest, and returns the problems that it has."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def problems_of(manifest, **files):
        root = make_project(manifest, **{name.replace("_cu", ".cu"): text for name, text in files.items()})
        with pytest.raises(BuildError) as caught:
            build_store(load_manifest(root / "kernels.yaml"), tmp_path / "store", workers=1)
        return caught.value.problems

    return problems_of


@pytest.mark.slow
def test_what_architectures_say_alike_is_told_once(problems):
    """One problem lists the architectures; what one of them says differently is another."""
    text = "#if __CUDA_ARCH__ == 1000\n#error not for this one\n#endif\nbroken\n"
    found = problems("{schema: 1, arches: [sm_80, sm_90, sm_100, compute_80], modules: {a: {source: a.cu}}}", a_cu=text)
    assert [re.search(r"for (.*): NVRTC refused", problem)[1] for problem in found] == ["sm_80, sm_90", "sm_100"]
    assert found[0].count("a.cu:4:1") == 1


@pytest.mark.slow
def test_what_modules_of_one_entry_say_alike_is_told_once(problems):
    """With those of their options that all have; what fails for other architectures is another problem."""
    manifest = """
        schema: 1
        arches: [sm_80, sm_90]
        modules: {"a_{N}": {source: a.cu, matrix: {N: [1, 2, 3, 4, 5]}, options: {define: {COUNT: "{N}"}}}}
    """
    text = "#if COUNT > 1 || __CUDA_ARCH__ == 900\n#error no\n#endif\n__global__ void k() {}\n"
    first, second = problems(manifest, a_cu=text)
    assert "module 'a_1' for sm_90: NVRTC refused the source" in first
    assert "modules 'a_2', 'a_3', 'a_4' and 1 more for sm_80, sm_90: NVRTC refused the source" in second
    assert ("-DCOUNT" in first, "-DCOUNT" in second) == (True, False)


#: As CCCL's own headers declare names: in a namespace that names the architecture.
CCCL = """
#include <thrust/detail/config.h>
THRUST_NAMESPACE_BEGIN
struct mine { int x; __device__ operator int(); };
struct [[deprecated]] old { int x; };
THRUST_NAMESPACE_END
"""
TWO = "{schema: 1, arches: [sm_80, sm_90], modules: {a: {source: a.cu}}}"


@pytest.mark.slow
def test_cccls_namespaces_of_architectures_make_no_difference(problems):
    """Names are spelled as in sources, and so an error is one for all architectures."""
    [problem] = problems(TWO, a_cu=f"{CCCL}__global__ void k(thrust::mine* p) {{ p->y = 1; }}\n")
    assert "for sm_80, sm_90: NVRTC refused the source" in problem
    assert 'class "thrust::mine" has no member "y"' in problem


@pytest.mark.slow
def test_nor_in_symbols(problems):
    """A symbol that cannot be spelled is told as the first architecture has it."""
    [problem] = problems(TWO, a_cu=f"{CCCL}__global__ void k(thrust::mine* p) {{ p->x = int(*p); }}\n")
    assert "for sm_80, sm_90: ptxas refused the PTX" in problem


@pytest.mark.slow
def test_nor_in_warnings(make_project, tmp_path, fresh_cache):
    """A warning of each architecture is one."""
    root = make_project(TWO, **{"a.cu": f"{CCCL}__global__ void k(thrust::old* p) {{}}\n"})
    report = build_store(load_manifest(root / "kernels.yaml"), tmp_path / "store", workers=1)
    [warning] = report.warnings
    assert 'class "thrust::old" was declared deprecated' in warning


@pytest.mark.slow
def test_a_mistyped_template_is_one_line(problems):
    """All instances of a pattern have one place, and one line says what is wrong with all of them."""
    manifest = """
    schema: 1
    arches: [sm_80, sm_90]
    modules:
      sums:
        source: sums.cu
        instances: ["blok_sum<{T}, {N}>"]
        matrix: {T: [float, double, int], N: [32, 64, 128, 256]}
    """
    [problem] = problems(manifest, sums_cu=TEMPLATE)
    assert problem == (
        "kernels.yaml:7:17: modules.sums.instances[0]: 'blok_sum<float, 32>' and 11 more, for sm_80, sm_90: "
        "identifier \"blok_sum\" is undefined; did you mean 'block_sum'?"
    )


@pytest.mark.slow
def test_the_problems_of_all_modules_come_in_one_run(problems):
    """In the manifest's order: what does not compile, names without a kernel, and modules without any."""
    manifest = """
    schema: 1
    arches: [sm_80]
    modules:
      zero: {source: broken.cu}
      one: {source: empty.cu}
      names:
        source: saxpy.cu
        kernels: [saxpi]
      fine: {source: saxpy.cu, max_spill_bytes: 0}
      unkept: {source: saxpy.cu}
    supports: {devices: ["9.0"]}
    """
    found = problems(manifest, broken_cu="broken", empty_cu=TEMPLATE)
    assert [problem.partition(": ")[0] for problem in found] == [
        "kernels.yaml:5:3", "kernels.yaml:6:3", "kernels.yaml:9:15", "kernels.yaml:12:22"
    ]  # fmt: skip
    assert "no kernel is in the image" in found[1]
    assert "did you mean 'saxpy'?" in found[2]


@pytest.mark.slow
def test_a_long_log_is_kept_in_a_file(problems):
    """At most 20 lines are shown, and the file with the rest is named."""
    text = "".join(f'extern "C" __global__ void k{n}(float* x) {{ *x = nothing{n}; }}\n' for n in range(40))
    [problem] = problems("{schema: 1, arches: [sm_80, sm_90], modules: {a: {source: a.cu}}}", a_cu=text)
    assert len(problem.splitlines()) <= 20
    log = Path(re.search(r"and 37 more errors: see (.*\.log)", problem)[1])
    assert log.read_text().count("is undefined") == 40
