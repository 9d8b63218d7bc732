"""``port`` and ``init`` where kernels use what another source of the project defines, as nvcc links with -rdc=true."""

from __future__ import annotations

import json

import pytest
from hatch_project import PYPROJECT

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.port import port

ARCH = SmArch.parse("sm_80")
OPTIONS = NvrtcOptions(include=("include",))
FILES = {
    "src/step.cu": "#include <vector>\n#include <solve.h>\n"
    "__global__ void step(float* x) { *x = solve(*x) * table[1]; }\n"
    "std::vector<float> host() { return {}; }\n",
    "include/solve.h": "__device__ float solve(float x);\nextern __device__ float table[4];\n",
    "src/solve.cu": "#include <string>\n#include <solve.h>\n__device__ float factor(float);\n"
    "__device__ float solve(float x) { return factor(x) + 1; }\nstd::string name() { return {}; }\n",
    "src/deep/factor.cu": "namespace { __device__ float twice(float x) { return 2 * x; } }\n"
    "__device__ float factor(float x) { return twice(x); }\n",
    "src/table.cu": "__device__ float table[4] = {1, 2, 3, 4};\n",
    "src/user.cu": "#include <solve.h>\n__global__ void uses(float* x) { if (solve(*x) > 1) { *x = table[0]; } }\n",
}
LINKED = ["src/step.cu", "src/solve.cu", "src/table.cu", "src/deep/factor.cu"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that makes a project of these files, and others, the current folder."""

    def make(**others):
        for name, text in {**FILES, **others}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return make


def drafted(root, *arguments):
    """Return the manifest that ``port`` drafts for step.cu, in a file."""
    main(["port", "src/step.cu", "--include", "include", "--arch", "sm_80", "--manifest", "kernels.yaml", *arguments])
    return load_manifest(root / "kernels.yaml")


@pytest.mark.slow
def test_operators_and_members_may_be_defined_elsewhere(project):
    """Also where a class beside has a member of that name, and a space stands before the operator's symbol."""
    number = """struct Number { int n; __device__ int keep(); };
struct Other { __device__ int keep() { return 2; } };
__device__ Number operator-(const Number& a);
"""
    user = "#include <number.h>\n__global__ void k(Number* p) { *p = -*p; p->n = p->keep() + Other().keep(); }\n"
    operator = "__device__ Number operator -(const Number& a) { return {-a.n}; }\n"
    definitions = f"{operator}__device__ int Number::keep() {{ return n; }}\n"
    root = project(
        **{
            "include/number.h": number,
            "src/user_of.cu": user,
            "src/number.cu": f"#include <number.h>\n{definitions}",
        }
    )
    ported = port(root, ["src/user_of.cu"], OPTIONS, arch=ARCH)
    assert ported.modules[0].stated["sources"] == ["src/user_of.cu", "src/number.cu"]


@pytest.mark.slow
def test_port_drafts_the_sources_that_define_what_is_used(project, capsys):
    """They are found through what they use themselves, and the draft says why each is there and builds."""
    root = project()
    (module,) = drafted(root, "--apply").modules
    assert sorted(module.recipe.sources) == sorted(LINKED)
    text = (root / "kernels.yaml").read_text()
    assert "src/deep/factor.cu is listed because device code here uses factor(float), which it defines" in text
    (root / "kernels.yaml").write_text(text.replace("schema: 1", "schema: 1\narches: [sm_80]"))
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    assert "step" in (root / "out" / "kernels.tsv").read_text()


@pytest.mark.slow
def test_another_source_may_have_the_instances_of_a_template(project):
    """As it defines a template that a header only declares."""
    root = project(
        **{
            "include/half.h": "template <class T> __host__ __device__ T half_of(T x);\n",
            "src/user_of.cu": "#include <half.h>\n__global__ void k(float* x) { *x = half_of(*x); }\n",
            "src/half.cu": "#include <half.h>\ntemplate <class T> __host__ __device__ T half_of(T x) { return x; }\n"
            "template __host__ __device__ float half_of<float>(float);\n",
        }
    )
    ported = port(root, ["src/user_of.cu"], OPTIONS, arch=ARCH)
    assert ported.modules[0].stated["sources"] == ["src/user_of.cu", "src/half.cu"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "others",
    [
        {"src/deep/factor.cu": "float factor(float x) { return x; }\n"},
        {"demo/factor.cu": "__device__ float factor(float x) { return 3 * x; }\n"},
        {"demo/factor.cu": "#include <absent.h>\n__device__ float factor(float x) { return absent(x); }\n"},
    ],
    ids=["nothing defines it for the device", "two sources define it", "a source that fails seems to define it, too"],
)
def test_what_the_project_does_not_tell_is_not_drafted(project, others):
    """Only its own build says which of two it links; a draft with either might be another program."""
    (module,) = port(project(**others), ["src/step.cu"], OPTIONS, arch=ARCH).modules
    assert module.stated["source"] == "src/step.cu"


@pytest.mark.slow
def test_init_lists_them(project, capsys):
    """So that each source is in the manifest that it writes."""
    root = project(**{"pyproject.toml": PYPROJECT, "p/__init__.py": ""})
    assert main(["init", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == []
    sources = {module.name: sorted(module.recipe.sources) for module in load_manifest(root / "kernels.yaml").modules}
    assert sources["step"] == sorted(LINKED)
    assert sources["user"] == sorted(["src/user.cu", *LINKED[1:]])


@pytest.mark.slow
def test_a_member_may_be_defined_for_the_host_elsewhere(project):
    """The patch of the one source changes nothing of what the other defines."""
    world = """#pragma once
#include <vector>
struct Other { __device__ void init(int n); float y; };
__device__ inline void Other::init(int n) { y = n; }
struct World { void init(int n); __device__ void step(); float* x; };
inline std::vector<float> host() { return {}; }
"""
    definitions = """#include <world.h>
void World::init(int n) { std::vector<float> all(n); cudaMalloc(&x, all.size()); }
__device__ void World::step() { Other o; o.init(2); *x += o.y; }
"""
    kernel = "#include <world.h>\n__global__ void k(World* w) { Other o; o.init(1); *w->x = o.y; w->step(); }\n"
    root = project(**{"include/world.h": world, "src/world.cu": definitions, "src/k.cu": kernel})
    ported = port(root, ["src/k.cu"], OPTIONS, arch=ARCH)
    assert ported.modules[0].stated["sources"] == ["src/k.cu", "src/world.cu"]
    for path, text in ported.after.items():
        (root / path).write_text(text)
    (root / "kernels.yaml").write_text(f"{ported.manifest}arches: [sm_80]\n")
    build_store(load_manifest(root / "kernels.yaml"), root / "out")


LAUNCHES = "__global__ void child(int* p) { *p = 1; }\n__global__ void k(int* p) { child<<<1, 2>>>(p); }\n"
ASKS = "#include <cuda_runtime.h>\n__global__ void k(int* p) { cudaGetDevice(p); }\n"


@pytest.mark.slow
@pytest.mark.parametrize("text", [LAUNCHES, ASKS])
def test_the_device_runtime_is_linked_where_device_code_uses_it(project, text):
    """No PTX can be linked with it, so the draft lists real architectures; host code that launches needs nothing."""
    root = project(**{"src/step.cu": f"{text}#include <vector>\nstd::vector<int> host() {{ return {{}}; }}\n"})
    (module,) = drafted(root).modules
    assert (module.libraries, {arch.virtual for arch in module.arches}) == (("cudadevrt",), {False})
    assert len(module.arches) > 1
    build_store(load_manifest(root / "kernels.yaml"), root / "out")


@pytest.mark.slow
@pytest.mark.parametrize("text", [LAUNCHES, ASKS])
def test_nothing_is_refused_for_want_of_the_device_runtime(project, text):
    """As it is linked: what it declares is known in the trials, too."""
    ported = port(project(**{"src/step.cu": text}), ["src/step.cu"], OPTIONS, arch=ARCH)
    assert ported.remaining == ()


def test_host_code_that_launches_links_nothing(project):
    """Nor does a call of the runtime's there."""
    text = "__global__ void k(int* p) { *p = 1; }\nint main() { int d; cudaGetDevice(&d); k<<<1, 2>>>(&d); }\n"
    (module,) = drafted(project(**{"src/step.cu": text})).modules
    assert module.libraries == ()


@pytest.mark.slow
def test_init_links_the_device_runtime(project):
    """A project whose kernels launch others gets a manifest that builds."""
    root = project(**{"pyproject.toml": PYPROJECT, "p/__init__.py": "", "src/launch.cu": LAUNCHES})
    assert main(["init"]) == 0
    (module,) = (one for one in load_manifest(root / "kernels.yaml").modules if one.name == "launch")
    assert module.libraries == ("cudadevrt",)
