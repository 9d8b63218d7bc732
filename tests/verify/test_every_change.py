"""Every single change to a store's own files is reported: by ``verify`` alone, or else by ``--rebuild``."""

from __future__ import annotations

import re
import shutil
from functools import cache

import pytest
from raw_nvrtc import compile_raw
from shared import make_once
from store_mutations import mutations

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.compiler import nvrtc
from hatch_cuda_kernels.compiler.binary.cubin import read_cubin
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.store.reader import StoreReader
from hatch_cuda_kernels.store.texts import DIGESTS_FILE, digests_text
from hatch_cuda_kernels.verify import Demands, subject, verify_store

MANIFEST = """
schema: 1
arches: [sm_90, sm_100]
max_wheel_size: 1 MB
max_spill_bytes: 64
supports: {devices: ["9.0"], driver: "13.0"}
options: {include: [include], define: {STEP: "2"}}
modules:
"""
MODULES = {
    "scale": """
  scale:
    source: scale.cu
    arches: [sm_100, compute_90]
    kernels: [reset]
    instances: ["scale<{T}, {N}>", "scale<int, 7>"]
    matrix: {T: [float, double], N: [1]}
    globals: [factor, offset]
    headers: ["tables/*.inc"]
    options: {pre_include: [first.h], use_fast_math: true}
    launch: {reset: {grid: "ceil_div(n, 4)", block: [32, 2], cluster: [2, 1], pdl: true, priority: -1}}
""",
    "linked": "  linked: {source: linked.cu, front_end: lto}\n",
    "several": """
  several: {sources: [several.cu, other.cu], libraries: [more.cubin, cudadevrt], arches: [sm_90], globals: [offset]}
""",
    "packed": """
  packed: {source: packed.cu, packing: solid, instances: ["add<{T}>"], matrix: {T: [float, int]}, chunk: 1}
""",
}
#: A store of all modules, whose shared files are changed, and one of each: its own files are changed there, because
#: a module takes as long to check as it would among others.
STORES = {"all": "".join(MODULES.values()), **MODULES}
SOURCES = {
    "include/step.h": "#pragma once\n#define USED STEP\n",
    "include/first.h": "#pragma once\n",
    "tables/one.inc": "1.0f\n",
    "scale.cu": """
        #include "step.h"
        #define TABLE "tables/one.inc"
        __constant__ float factor;
        __device__ int offset;
        static __device__ float table[] = {
        #include TABLE
        };
        extern "C" __global__ void reset(float* y, unsigned n, unsigned long long value) {
            if (n) y[n] = factor / value + table[n];
        }
        __global__ void found(const double* x, double* y, float a) { *y = *x * a + offset; }
        template <class T, int N> __global__ void scale(T* y) { y[N] *= USED; }
    """,
    "linked.cu": 'extern "C" __global__ void linked(int* y, float a) { *y = a + STEP; }',
    "several.cu": '__device__ int offset; extern "C" __global__ void several(int* y) { *y = offset + STEP; }',
    "other.cu": 'extern __device__ int offset; extern "C" __global__ void other(int* y) { *y = offset - STEP; }',
    # As CCCL does, it has the architecture in its types' names, so that images rename kernels.
    "packed.cu": """
        #if __CUDA_ARCH__ == 900
        #define ABI CUB_300001_SM_900
        #else
        #define ABI CUB_300001_SM_1000
        #endif
        namespace lib { inline namespace ABI { struct Param { int at; }; } }
        template <class T> __global__ void add(T* y, lib::Param p) { y[p.at] += STEP; }
        #if __CUDA_ARCH__ == 900
        extern "C" __global__ void only90(int* y) { *y = 1; }
        #endif
    """,
}

#: Changes that only a compiler sees, and why the images and sources do not tell.
ONLY_REBUILD = {
    r"kernels.tsv: linked linked params \d to": "a CUBIN has the sizes of parameters, and this module has no PTX",
    r"kernels.tsv: \w+ several params \d to": "nor has this one",
    r"kernels.tsv: \S+ [\w.]+ types": "a symbol of C linkage does not tell its types",
    r"kernels.tsv: \S+ [\w.]+ names": "only the source tells the names of parameters",
    r"/index.json: options(\.define\S*)? (to|drop|swap)": "an image does not say with which macros it was compiled",
    r"/index.json: options.use_fast_math drop": "nor with which other options",
    r"(linked|several)/index.json: toolchain.nv": "what nvJitLink finished names one tool, and the index has two",
    r"scale/index.json: toolchain.(nvrtc|ptxas)": "nor does what ptxas assembled name both",
    r"several/index.json: (libraries|toolchain.cudadevrt)": "an image does not tell what was linked",
    r"/index.json: toolchain.headers to": "no image names the versions of the toolkit's headers",
    r"/index.json: toolchain.ptxas drop": "NVRTC's own assembler leaves the same note in a CUBIN",
}
#: Changes that give another valid store, of a manifest that says something else: only the digests tell that apart.
ONLY_DIGESTS = {
    r"promises.json: ": "what is promised is the author's choice",
    r"/index.json: patterns": "instances can be listed without a pattern, and its axes in any order",
    r"/index.json: launch": "how a kernel is launched is the author's choice",
    r"/index.json: globals": "their order is the manifest's",
    r"/index.json: options.include": "a folder of headers that gives none changes nothing",
    r"scale/details.json: names": "the order of names is the manifest's, and a plain kernel need not be named",
}
KNOWN = {**ONLY_REBUILD, **ONLY_DIGESTS}


@pytest.fixture(scope="module")
def built(tmp_path_factory, isolation):
    """Return a store in which every field of every file is used."""

    def make(folder):
        manifests = {f"{name}.yaml": MANIFEST + modules for name, modules in STORES.items()}
        for name, text in {**manifests, **SOURCES}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        more = compile_raw("__device__ int more(int x) { return x + 1; }", "-dc", arch="sm_90").cubin
        (folder / "more.cubin").write_bytes(more)
        for name in STORES:
            build_store(load_manifest(folder / f"{name}.yaml"), folder / "stores" / name)

    return make_once(tmp_path_factory, "every_change", make) / "stores"


@pytest.fixture(scope="module")
def stores(built, tmp_path_factory):
    """Return copies of the stores, by name."""
    folder = shutil.copytree(built, tmp_path_factory.mktemp("every_change") / "stores")
    return {name: folder / name for name in STORES}


def of_a_module(change):
    """Return whether a change is one of a module's own files, or of one row of the list of kernels."""
    if change.file == "kernels.tsv":
        return not re.search(r" swap with | move$|: (last line|empty line|CRLF)", change.name)
    return re.split(r"[./]", change.file)[0] in MODULES  # packed.2 is a chunk of packed


@pytest.fixture(scope="module")
def every(built):
    """Return every change by the store it is made in: that of its module, or the one of all modules."""
    return {
        name: [change for change in mutations(built / name) if of_a_module(change) == (name in MODULES)]
        for name in STORES
    }


@pytest.fixture(scope="module")
def found(stores):
    """Return a function that makes one change and returns whether ``verify`` reports it."""

    def report(name, mutation, *, sealed, rebuild=False):
        store = stores[name]
        path, digests = store / mutation.file, store / DIGESTS_FILE
        before = {file: file.read_bytes() for file in (digests, path)}
        path.write_bytes(mutation.data)
        if sealed and path != digests:
            digests.write_text(digests_text(store))
        demands = Demands(skip=frozenset({"assembly", "record", "wheel"}), rebuild=rebuild)
        ok = verify_store(StoreReader(store), demands).ok
        for file, data in before.items():
            file.write_bytes(data)
        return not ok

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subject, "read_cubin", cache(read_cubin))  # most changes leave the images as they are
        patch.setattr(nvrtc, "run_job", cache(nvrtc.run_job))  # and the jobs: each is done once, in threads of this one
        yield report


@pytest.fixture(scope="module")
def passed(every, found):
    """Return a function that gives the changes of a store that ``verify`` passes, with digests that fit them."""
    return cache(lambda name: [change for change in every[name] if not found(name, change, sealed=True)])


def rows(table, change):
    """Return the rows of a table that are about a change."""
    return {row for row in table if re.search(row, change.name)}


@pytest.mark.parametrize("name", STORES)
def test_every_change_is_reported(stores, every, found, passed, slow, name):
    """No change passes that is not in one of the two tables, and the digests of the store tell each that passes."""
    assert verify_store(StoreReader(stores[name])).ok
    assert len(every[name]) > 250
    assert [change for change in passed(name) if not rows(KNOWN, change)] == []
    assert [change for change in passed(name) if not found(name, change, sealed=False)] == []


def test_the_tables_have_no_row_too_many(passed, slow):
    """Each row is about a change that passes."""
    assert set().union(*(rows(KNOWN, change) for name in STORES for change in passed(name))) == KNOWN.keys()


def test_rebuild_reports_all_that_only_a_compiler_sees(stores, found, passed, slow):
    """Every change of the table, and nothing where there is no change, whatever finished the images."""
    assert verify_store(StoreReader(stores["all"]), Demands(rebuild=True)).ok
    listed = [(name, change) for name in STORES for change in passed(name) if rows(ONLY_REBUILD, change)]
    assert len(listed) > 20
    assert [change for name, change in listed if not found(name, change, sealed=True, rebuild=True)] == []
