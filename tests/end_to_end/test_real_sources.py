"""Sources as they are, written for nvcc: in builds, in stores, and when they are compiled again from there."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
from slow_parameters import slow_but
from small_jobs import job_of

from hatch_cuda_kernels import includes, open_store
from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler import source_reader
from hatch_cuda_kernels.compiler.toolchain import toolchain
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.includes import StandardHeaders, closure, packaged_standard_headers
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.promote import Wanted, promote
from hatch_cuda_kernels.standalone import compile_to_cubin
from hatch_cuda_kernels.store.texts import digests_text

MANIFEST = "{schema: 1, arches: [sm_90], options: {include: [in]}, modules: {a: {source: a.cu}, b: {source: b.cu}}}"
A = """
#include <cmath>
#include <stdint.h>
#include <cuda_runtime.h>
#include "mine.h"
extern "C" __global__ void a(float* x, uint32_t n) { if (threadIdx.x < n) x[threadIdx.x] = std::sqrt(MINE); }
"""
B = 'extern "C" __global__ void b(float* x) { *x = 1; }\n'


@pytest.fixture
def root(make_project):
    """Return a project with one source that reaches standard headers, and one that does not."""
    return make_project(MANIFEST, **{"a.cu": A, "b.cu": B, "in/mine.h": "#include <limits>\n#define MINE 2.f\n"})


@pytest.fixture
def store(root, tmp_path):
    """Return the project's store."""
    out = tmp_path / "site/pkg/_kernels"
    build_store(load_manifest(root / "kernels.yaml"), out)
    return out


@pytest.fixture
def another_version(monkeypatch):
    """Return a function that makes all standard headers those of another version of this package."""

    def change():
        ours = packaged_standard_headers()
        other = StandardHeaders(ours.names, lambda name: f"{ours.text(name).text}// of another version\n".encode())
        for module in (toolchain, closure, includes):
            monkeypatch.setattr(module, "packaged_standard_headers", lambda: other)
        monkeypatch.setattr(source_reader, "_code", lambda: "another version")

    return change


def edit(path, **headers):
    """Change some of the headers in a store's file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | headers))


@pytest.mark.slow
def test_a_source_written_for_nvcc_compiles(store):
    """Its standard headers and those of the toolkit's headers are this package's."""
    assert open_store(store).find_image("a", arch="sm_90").origin == "prebuilt"


@pytest.mark.slow
def test_a_store_has_the_standard_headers_that_it_was_built_with(store):
    """Those that one of its sources reaches, in one file; a source that reaches none has no part in it."""
    shipped = json.loads((store / "standard_headers.json").read_text()).keys()
    indexes = {name: json.loads((store / name / "index.json").read_text()) for name in "ab"}
    assert shipped >= {"cmath", "stdint.h", "limits"}
    assert "vector" not in shipped
    assert {"cuda_runtime.h"} <= {*indexes["a"]["outside"]}
    assert not {"standard", "asked"} & indexes["b"].keys()


@pytest.mark.slow
def test_a_store_compiles_with_its_own_standard_headers(store, fresh_cache, another_version):
    """With another version of this package, a compile at run time has the same key, so its image serves both."""
    first = open_store(store).find_image("a", arch="sm_80")
    another_version()
    second = open_store(store).find_image("a", arch="sm_80")
    assert (first.origin, second.origin, first.data == second.data) == ("jitted", "cached", True)
    edit(store / "standard_headers.json", cmath="#error the one of the store is used\n")
    digest = sha256((store / "standard_headers.json").read_bytes()).hexdigest()
    edit(store / "a" / "index.json", standard=digest)
    (store / "digests.json").write_text(digests_text(store))
    with pytest.raises(CompileError, match="the one of the store is used"):
        open_store(store).find_image("a", arch="sm_80")


@pytest.mark.slow
def test_verify_compiles_a_store_again_with_any_version_of_the_package(store, capsys, another_version):
    """What it shipped gives the same bytes; what is missing or edited there is named."""
    another_version()
    assert main(["verify", str(store), "--rebuild"]) == 0
    edit(store / "standard_headers.json", cmath="// edited\n")
    capsys.readouterr()
    assert main(["verify", str(store)]) == 1
    assert "standard_headers.json is not what the images were compiled from" in capsys.readouterr().out
    (store / "standard_headers.json").unlink()
    assert main(["verify", str(store)]) == 1
    assert "the shipped file standard_headers.json is missing" in capsys.readouterr().out


def test_check_says_that_standard_headers_are_used(root, capsys):
    """By the names that the project's files spell, and how many may follow from them and the toolkit's headers."""
    assert main(["check", str(root / "kernels.yaml")]) == 0
    note = next(line for line in capsys.readouterr().out.splitlines() if "standard headers" in line)
    assert note.startswith("module 'a': standard headers of this package: ")
    assert note.partition("package: ")[2].startswith("cmath, limits, stdint.h; ")
    assert note.endswith(" headers that these or toolkit headers may include")


def test_check_says_which_types_are_unlike_nvccs(write, capsys):
    """Where a source names one that cannot be the same, or declares its own for NVRTC."""
    own = "#ifdef __CUDACC_RTC__\ntypedef long long int64_t;\n#endif\n"
    write(
        "k.cu", f"#include <cstdarg>\n{own}struct S {{ va_list list; }};\n__global__ void k(int64_t* y) {{ *y = 1; }}\n"
    )
    manifest = write("kernels.yaml", "schema: 1\narches: [sm_90]\nmodules: {k: {source: k.cu}}\n")
    assert main(["check", str(manifest)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "module 'k': unlike with nvcc, va_list has 8 bytes, and not 24; int64_t is long long, and not long, as" in out
    )


@pytest.mark.slow
def test_an_editable_install_notices_another_version_of_the_package(root, tmp_path, another_version, fresh_cache):
    """There, the sources count as they are, and so do the headers that are installed."""
    out = root / "_kernels"
    build_store(load_manifest(root / "kernels.yaml"), out, editable=True)
    assert open_store(out).find_image("a", arch="sm_90").origin == "prebuilt"
    another_version()
    assert open_store(out).find_image("a", arch="sm_90").origin == "jitted"
    assert open_store(out).find_image("b", arch="sm_90").origin == "prebuilt"


@pytest.mark.slow
def test_keys_cover_the_standard_headers_that_are_reached(root, another_version):
    """A source that reaches none has the key that it has without them."""

    def keys() -> dict[str, str]:
        jobs = {name: job_of(root, f"{name}.cu", options=NvrtcOptions(include=("in",))) for name in "ab"}
        return {name: job.key("cubin", load_toolchain()) for name, job in jobs.items()}

    before = keys()
    another_version()
    assert keys()["a"] != before["a"]
    assert keys()["b"] == before["b"]
    off = job_of(root, "b.cu", options=NvrtcOptions(standard_headers=False))
    assert off.key("cubin", load_toolchain()) == before["b"]


def test_standard_headers_can_be_turned_off(root):
    """Then a source finds the headers that NVRTC has: none of these."""
    with pytest.raises(CompileError, match="without 'standard_headers: false'"):
        compile_to_cubin("#include <cmath>\n", arch="sm_90", options=NvrtcOptions(standard_headers=False))


#: What is installed with the compiler; ``curand_kernel.h`` comes with another package.
TOOLKIT = [
    "cuda.h",
    "cuda_runtime.h",
    "cub/cub.cuh",
    "thrust/complex.h",
    "cooperative_groups.h",
    "curand_kernel.h",
    "nvfunctional",
]


@pytest.mark.parametrize("name", slow_but(["cuda.h", "cuda_runtime.h", "nvfunctional"], TOOLKIT))
def test_toolkit_headers_compile_alone(name):
    """As a build compiles them, with no option."""
    folders = load_toolchain().include_dirs
    if name not in {"cuda.h", "cub/cub.cuh"} and not any((Path(folder) / name).is_file() for folder in folders):
        pytest.skip("not installed here")
    source = f'#include <{name}>\nextern "C" __global__ void k(float* x) {{ *x = 1; }}\n'
    assert compile_to_cubin(source, arch="sm_90").log == ""


def test_functions_without_a_mark_can_be_device_functions():
    """``default_device``: sources that share functions with the host need no macro for it."""
    source = 'int twice(int x) { return 2 * x; }\nextern "C" __global__ void k(int* x) { *x = twice(*x); }\n'
    assert compile_to_cubin(source, arch="sm_90", options=NvrtcOptions(default_device=True)).kernels
    with pytest.raises(CompileError, match=r"the body of twice .* was cut.* set .default_device: true"):
        compile_to_cubin(source, arch="sm_90")


@pytest.mark.slow
def test_one_module_a_file(make_project, tmp_path, capsys):
    """A module for each file that the source's star matches, in builds, plans, checks and stubs."""
    manifest = '{schema: 1, arches: [sm_90], stubs: p/k.pyi, modules: {"f_*": {source: "kernels/*.cu", globals: [d]}}}'
    sources = {
        f"kernels/{name}.cu": f'__constant__ int d;\nextern "C" __global__ void {name}(int* x) {{ *x = d; }}\n'
        for name in ("one", "two")
    }
    root = make_project(manifest, **sources, **{"p/__init__.py": ""})
    out = tmp_path / "_kernels"
    build_store(load_manifest(root / "kernels.yaml"), out)
    assert open_store(out).find_image("two", arch="sm_90").origin == "prebuilt"
    assert {path.parent.name for path in out.glob("*/index.json")} == {"f_one", "f_two"}
    assert {"one", "two"} <= {*re.findall(r"(one|two)", (root / "p/k.pyi").read_text())}
    assert main(["verify", str(out), "--rebuild"]) == 0
    capsys.readouterr()
    assert main(["check", str(root / "kernels.yaml"), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [(job["module"], job["fresh"]) for job in data["jobs"]] == [("f_one", True), ("f_two", True)]
    assert data["stubs"]["state"] == "fresh"


def test_a_promotion_of_one_of_several_modules(make_project):
    """An architecture goes into the list that applies to all of them; an instance has no list of its own."""
    manifest = 'schema: 1\narches: [sm_90]\nmodules:\n  "*":\n    source: "*.cu"\n'
    path = make_project(manifest, **{"b.cu": B}) / "kernels.yaml"
    wanted = [Wanted("b", SmArch.parse("sm_80"), None), Wanted("b", None, "f<int>")]
    done = promote(path, wanted)
    assert done.changes == ("arches: sm_80",)
    assert done.after == manifest.replace("[sm_90]", "[sm_90, sm_80]")
    (refused,) = done.refused
    assert refused.startswith("modules.b: f<int>: the lists of '*' are for all its modules")
    path.write_text(f"{manifest}    arches: [sm_90]\n")
    assert promote(path, wanted[:1]).changes == ("modules.*.arches: sm_80",)


@pytest.mark.slow
def test_macros_reach_the_compiler_and_the_key(make_project, tmp_path, monkeypatch):
    """With parameters, with the project's version, and from the environment, where another value is another image."""
    options = (
        """{define: {"AT(p, i)": "p[i]", "S(x)": "#x", VERSION: "S({version})[0]"}, define_from: {N: {env: MY_N}}}"""
    )
    manifest = f"{{schema: 1, arches: [sm_90], options: {options}, modules: {{a: {{source: a.cu}}}}}}"
    source = "extern \"C\" __global__ void a(int* x) { AT(x, 1) = N; static_assert(VERSION == '4'); }\n"
    root = make_project(manifest, **{"a.cu": source, "pyproject.toml": '[project]\nname = "p"\nversion = "4.5"\n'})
    images = []
    for value in ("17", "18"):
        monkeypatch.setenv("MY_N", value)
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "_kernels")
        images.append(open_store(tmp_path / "_kernels").find_image("a", arch="sm_90").data)
    assert images[0] != images[1]
    monkeypatch.delenv("MY_N")
    assert main(["verify", str(tmp_path / "_kernels"), "--rebuild"]) == 0
