"""Types and constants of libraries that are called from the host, where includes of their headers are cut."""

from __future__ import annotations

import json
import re

import pytest

from hatch_cuda_kernels import compile_to_ptx
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.includes import OuterHeaders, packaged_standard_headers
from hatch_cuda_kernels.libraries import stand_in_headers
from hatch_cuda_kernels.manifest import parse_manifest

KERNEL = "__global__ void k(int* s) {{ s[0] = {}; }}\n"
CUBLAS = "hatch_cuda_kernels/cublas_types.h"
CURAND = "hatch_cuda_kernels/curand_types.h"
CUSPARSE = "hatch_cuda_kernels/cusparse_types.h"


def closure(tmp_path, text, instances=None, **options):
    """Return the closure of a module with that text, and its manifest."""
    (tmp_path / "k.cu").write_text(text)
    module = {"source": "k.cu", "options": options} | ({"instances": instances} if instances else {})
    manifest = parse_manifest(
        json.dumps({"schema": 1, "arches": ["sm_80", "compute_80"], "modules": {"k": module}}), root=tmp_path
    )
    return read_recipe(manifest.modules[0].recipe, tmp_path).units[0], manifest


def compiled(text):
    """Return the outcome of a compile of a text that NVRTC is shown as it is."""
    return compile_to_ptx(text, arch="sm_80", use_cache=False)


def test_a_struct_may_hold_a_handle(tmp_path):
    """A kernel can take the struct, which lies in memory as the host has it."""
    text = "#include <cublas_v2.h>\nstruct S { cublasHandle_t handle; cublasStatus_t status; int n; };\n"
    check = 'static_assert(sizeof(S) == 16, "");\n'
    found, manifest = closure(tmp_path, f"{text}{check}__global__ void k(S s, int* p) {{ *p = s.n; }}\n")
    assert found.pre_include == (CUBLAS,)
    assert CUBLAS in found.standard
    build_store(manifest, tmp_path / "store")


def test_a_header_that_the_librarys_includes_is_included_in_its_place(tmp_path):
    """Later, between braces, it cannot be compiled."""
    text = '#include <cublas_v2.h>\nextern "C" {\n#include <cuda_fp16.h>\n}\ncublasHandle_t host();\n'
    _, manifest = closure(tmp_path, f"{text}__global__ void k(__half* p) {{ *p = __half(1.0f); }}\n")
    build_store(manifest, tmp_path / "store")


def test_a_project_may_have_the_librarys_header(tmp_path):
    """Then what that declares counts; another header of its own that is called alike is none."""
    (tmp_path / "cudnn.h").write_text(
        "typedef struct cudnnContext* cudnnHandle_t;\ntypedef enum { CUDNN_STATUS_SUCCESS = 0 } cudnnStatus_t;\n"
        "#define CUDNN_OTHER cudnnDataType_t\ncudnnStatus_t cudnnCreate(cudnnHandle_t*);\n"
    )
    (tmp_path / "curand_tools.h").write_text(
        "#include <curand.h>\nstruct Generator { curandGenerator_t generator; int n; };\n"
    )
    text = '#include "cudnn.h"\n#include "curand_tools.h"\nstruct S { cudnnHandle_t h; Generator g; };\n'
    found, manifest = closure(tmp_path, f"{text}__global__ void k(S s, int* p) {{ *p = s.g.n; }}\n", include=["."])
    assert found.pre_include == (CURAND,)
    build_store(manifest, tmp_path / "store")


def test_a_constant_may_be_a_member(tmp_path):
    """As DGL tells the index type of a matrix by the type in C++."""
    text = """#include <cusparse.h>
template <typename T> struct Index;
template <> struct Index<int> { static constexpr cusparseIndexType_t value = CUSPARSE_INDEX_32I; };
template <> struct Index<long long> { static constexpr cusparseIndexType_t value = CUSPARSE_INDEX_64I; };
"""
    found, manifest = closure(tmp_path, text + KERNEL.format("Index<long long>::value * 10 + Index<int>::value"))
    assert found.pre_include == (CUSPARSE,)
    build_store(manifest, tmp_path / "store")
    assert re.search(r"mov\.\w+\s+%r\d+, 32;", _ptx(tmp_path))


def _ptx(tmp_path):
    (path,) = (tmp_path / "store").rglob("*.ptx")
    return path.read_text()


def test_a_constant_may_be_a_template_argument(tmp_path):
    """It has the value that the library gives it, and the instance the name that nvcc gives it."""
    text = "#include <cublas_v2.h>\ntemplate <cublasOperation_t op> __global__ void k(int* s) { s[0] = op + 40; }\n"
    _, manifest = closure(tmp_path, text, ["k<CUBLAS_OP_T>"])
    build_store(manifest, tmp_path / "store")
    assert "_Z1kIL17cublasOperation_t1EEvPi" in _ptx(tmp_path)


STAYS = {
    "a constant": ("constexpr cublasOperation_t op = CUBLAS_OP_T;", "op"),
    "an argument by default": ("__device__ int f(cublasOperation_t op = CUBLAS_OP_T) { return op; }", "f()"),
    "a constructor": ("struct S { S(cublasHandle_t, cublasMath_t = CUBLAS_DEFAULT_MATH) {} int n; };", "sizeof(S)"),
    "an overload": ("void f(cublasHandle_t h, int) {}\n__device__ int f(int a, int b) { return a; }", "f(1, 2)"),
    "an alias": ("using Z = cufftDoubleComplex;", "sizeof(Z)"),
    "a tag": ("struct S { enum cufftResult_t result; };", "S().result"),
    "a condition": ("#if CUBLAS_VERSION < 120000\n#error\n#endif", "1"),
    "a callback": (
        (
            "__device__ cufftReal f(void* from, size_t at, void*, void*) { return ((float*)from)[at]; }\n"
            "__device__ cufftCallbackLoadR load = f;"
        ),
        "(int)load(0, 1, 0, 0)",
    ),
}


@pytest.mark.parametrize(("declared", "used"), STAYS.values(), ids=STAYS)
def test_what_stays_of_a_source_compiles(tmp_path, declared, used):
    """Whatever names a type or a constant in it."""
    text = f"#include <cublas_v2.h>\n#include <cufftXt.h>\n{declared}\n"
    found, manifest = closure(tmp_path, text + KERNEL.format(used))
    assert len(found.pre_include) == 1
    build_store(manifest, tmp_path / "store")


@pytest.mark.parametrize(
    "declared",
    [
        "typedef enum { CUBLAS_OP_N = 7, CUBLAS_OP_T } cublasOperation_t;",
        "enum cublasOperation_t { // as others have it\n  CUBLAS_OP_N = 7,\n  CUBLAS_OP_T\n};",
        "enum class cublasOperation_t { CUBLAS_OP_N = 7 };\nconstexpr int CUBLAS_OP_N = 7;",
    ],
)
def test_what_the_project_declares_is_its_own(tmp_path, declared):
    """Its types and constants bring no header."""
    text = f"#ifdef REAL\n#include <cublas_v2.h>\n#else\n{declared}\n#endif\n"
    used = 'static_assert((int)CUBLAS_OP_N == 7, "");\n' + KERNEL.format("sizeof(cublasOperation_t)")
    found, manifest = closure(tmp_path, f"#include <mpi.h>\n{text}{used}")
    assert found.changes
    assert found.pre_include == ()
    build_store(manifest, tmp_path / "store")


def test_a_value_is_no_declaration(tmp_path):
    """An enumeration of the project may be made of the library's constants."""
    text = "#include <cublas_v2.h>\nenum Op { // CUBLAS_OP_N\n  NONE = CUBLAS_OP_N, OTHER = CUBLAS_OP_T };\n"
    found, manifest = closure(tmp_path, text + KERNEL.format("OTHER"))
    assert found.pre_include == (CUBLAS,)
    build_store(manifest, tmp_path / "store")


def test_the_same_handle_again_is_no_obstacle(tmp_path):
    """Headers that shall not include the library's declare handles so."""
    text = "#include <cublas_v2.h>\nstruct cublasContext;\ntypedef struct cublasContext* cublasHandle_t;\n"
    held = "struct S { cublasHandle_t handle; cublasOperation_t op = CUBLAS_OP_N; };\n"
    found, manifest = closure(tmp_path, text + held + KERNEL.format("sizeof(S)"))
    assert found.pre_include == (CUBLAS,)
    build_store(manifest, tmp_path / "store")


def test_nothing_is_brought_where_nothing_is_cut(tmp_path):
    """With keep, the library's own header is what NVRTC is shown."""
    text = "#include <cublas_v2.h>\n" + KERNEL.format("sizeof(cublasHandle_t) + CUBLAS_OP_T")
    found, _ = closure(tmp_path, text, host_code="keep")
    assert found.pre_include == ()
    assert "cublas_v2.h" in found.outside


def test_names_that_are_not_used_bring_none(tmp_path):
    """Neither do those of host code, and macros of the project that are called like the library's constants."""
    text = (
        "#include <cublas_v2.h>\n#define CUBLAS_CHECK(x) x\nvoid f() { cublasHandle_t h; CUBLAS_CHECK(CUBLAS_OP_N); }\n"
    )
    found, _ = closure(tmp_path, text + KERNEL.format("CUBLAS_CHECK(1)"))
    assert found.pre_include == ()


def test_types_are_not_declared_twice(tmp_path):
    """The header for device code of cuRAND includes that for the host; NVRTC takes it."""
    text = "#include <curand.h>\n#include <curand_kernel.h>\nstruct S { curandGenerator_t generator; };\n"
    found, _ = closure(tmp_path, text + KERNEL.format("sizeof(S)"))
    assert found.pre_include == ()
    found, _ = closure(tmp_path, text.replace("#include <curand_kernel.h>\n", "") + KERNEL.format("sizeof(S)"))
    assert found.pre_include == (CURAND,)
    found, _ = closure(tmp_path, "#include <curand.h>\n__global__ void k(curandState* s, curandGenerator_t g) {}\n")
    assert found.pre_include == ("curand_kernel.h",)


def test_none_without_standard_headers(tmp_path):
    """The option turns them off."""
    text = "#include <cublas_v2.h>\nstruct S { cublasHandle_t handle; };\n" + KERNEL.format("1")
    assert closure(tmp_path, text, standard_headers=False)[0].pre_include == ()


def test_a_store_finds_what_its_build_found(tmp_path):
    """A compile at run time is shown the same."""
    text = "#include <cublasLt.h>\nstruct S { cublasLtMatmulHeuristicResult_t found; };\n" + KERNEL.format("sizeof(S)")
    built, manifest = closure(tmp_path, text)
    assert built.pre_include == ("hatch_cuda_kernels/cublas_lt_types.h",)
    outer = OuterHeaders.as_built(packaged_standard_headers(), built.asked)
    assert read_recipe(manifest.modules[0].recipe, tmp_path, outer=[outer]).units == (built,)


def test_types_of_data_are_the_toolkits(tmp_path):
    """Their header comes with every source of nvcc's."""
    text = "#include <cublas_v2.h>\nstruct S { cudaDataType_t type = CUDA_R_16F; };\n" + KERNEL.format("S().type")
    found, manifest = closure(tmp_path, text)
    assert found.pre_include == ("library_types.h",)
    build_store(manifest, tmp_path / "store")


HEADERS = {one.header: one.names for one in stand_in_headers() if not one.by}


@pytest.mark.parametrize("header", sorted(HEADERS))
def test_each_header_compiles_and_has_its_names(header):
    """By itself, and beside the others."""
    names = sorted(HEADERS[header])
    tests = "".join(f"#ifndef {name}\nnamespace n{at} {{ using ::{name}; }}\n#endif\n" for at, name in enumerate(names))
    every = "".join(f"#include <{name}>\n" for name in sorted(HEADERS))
    assert names
    assert compiled(f"#include <{header}>\n{tests}{every}{KERNEL.format(1)}")


#: Of the libraries of CUDA 12.9 and 13.0, by their own headers: what is unlike in both is not among these.
VALUES = {
    "CUBLAS_STATUS_LICENSE_ERROR": 16,
    "CUBLAS_COMPUTE_32F_FAST_TF32": 77,
    "CUBLAS_GEMM_DEFAULT": -1,
    "CUBLAS_GEMM_ALGO15_TENSOR_OP": 115,
    "CUBLASLT_MATMUL_DESC_EPILOGUE": 7,
    "CUBLASLT_EPILOGUE_GELU_BIAS": 36,
    "CUBLASLT_MATMUL_TILE_128x128": 20,
    "CUSPARSE_INDEX_64I": 3,
    "CUSPARSE_SPMM_CSR_ALG2": 6,
    "CUSPARSE_ORDER_ROW": 2,
    "CUFFT_Z2Z": 0x69,
    "CUFFT_INVERSE": 1,
    "CUFFT_NOT_SUPPORTED": 16,
    "CUSOLVER_EIG_RANGE_V": 1003,
    "CURAND_RNG_PSEUDO_PHILOX4_32_10": 161,
    "CURAND_STATUS_INTERNAL_ERROR": 999,
    "CUDNN_TENSOR_NHWC": 1,
    "CUDNN_DATA_BFLOAT16": 9,
    "CUDNN_STATUS_NOT_SUPPORTED": 3000,
    "CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED": 7,
    "ncclBfloat16": 9,
    "ncclInvalidUsage": 5,
    "NVTX_PAYLOAD_TYPE_FLOAT": 6,
}
SIZES = {
    "cublasLtMatmulAlgo_t": 64,
    "cublasLtMatmulDescOpaque_t": 256,
    "cublasLtMatmulHeuristicResult_t": 96,
    "cufftComplex": 8,
    "cufftHandle": 4,
    "cudaLibXtDesc": 32,
    "cudnnConvolutionFwdAlgoPerf_t": 48,
    "curandDirectionVectors64_t": 512,
    "ncclUniqueId": 128,
    "nvtxEventAttributes_t": 48,
}


def test_values_and_sizes_are_the_libraries():
    """They may decide what a kernel does, and where the members behind one lie."""
    included = "".join(f"#include <{name}>\n" for name in sorted(HEADERS))
    checks = [f'static_assert((int){name} == {value}, "");' for name, value in VALUES.items()]
    checks += [f'static_assert(sizeof({name}) == {size}, "");' for name, size in SIZES.items()]
    assert compiled(included + "\n".join(checks) + "\n" + KERNEL.format("1"))


@pytest.mark.parametrize("function", ["cublasCreate", "cusparseSpMM", "cufftExecC2C", "ncclAllReduce", "nvtxRangePop"])
def test_a_call_is_the_hosts(function):
    """There are no functions: the message says whose they are."""
    with pytest.raises(CompileError) as caught:
        compiled(KERNEL.format(f"{function}()"))
    assert f"{function} is the host's: keep it from NVRTC" in str(caught.value)


@pytest.mark.parametrize("name", ["CUBLAS_OP_LATER", "cublasLater_t"])
def test_a_name_that_is_not_known_is_the_hosts(name):
    """Releases of the libraries add some."""
    with pytest.raises(CompileError, match=f"{name} is the host's: keep it from NVRTC"):
        compiled(KERNEL.format(f"sizeof({name})"))
