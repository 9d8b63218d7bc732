"""``launch:`` in the manifest: what is wrong with it is said at once, with its place, before anything is compiled."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.errors import ManifestError
from hatch_cuda_kernels.manifest import load_manifest, parse_manifest
from hatch_cuda_kernels.plan import make_plan

SOURCE = """
extern "C" __global__ void saxpy(float* y, const float* x, long long n, float a) {}
template <class T, int BLOCK> __global__ void sum(const T* x, T* out) {}
__global__ void twice(int a);
__global__ void twice(int a, int b);
#define MAKE(name) extern "C" __global__ void name(int n) {}
MAKE(hidden)
"""
MANIFEST = """
schema: 1
arches: [sm_90]
modules:
  m:
    source: m.cu
    instances: ["sum<{T}, {BLOCK}>"]
    matrix: {T: [float], BLOCK: [128, 256]}
    launch:
"""


@pytest.fixture
def problems(make_project):
    """Return a function that gives the problems of rules, each without its file, in the manifest or in the plan."""

    def of(*rules):
        text = MANIFEST.lstrip() + "".join(f"      {rule}\n" for rule in rules)
        root = make_project(text, **{"m.cu": SOURCE})
        with pytest.raises(ManifestError) as caught:
            make_plan(load_manifest(root / "kernels.yaml"))
        return [problem.removeprefix("kernels.yaml:") for problem in caught.value.problems]

    return of


WRONG = {
    "saxpy: {grid: n / 256, block: 256}": [
        "9:21: modules.m.launch.saxpy.grid: 'n / 256' is not allowed; write integers"
    ],
    "saxpy: {grid: n // (4 - 4), block: 1 % 0}": [
        "9:21: modules.m.launch.saxpy.grid: 'n // (4 - 4)' divides by zero",
        "9:42: modules.m.launch.saxpy.block: '1 % 0' divides by zero",
    ],
    "saxpy: {grid: 'ceil_div(n, 0)', block: 1}": [
        "9:21: modules.m.launch.saxpy.grid: 'ceil_div(n, 0)' divides by zero"
    ],
    "saxpy: {grid: ceildiv(n), block: open(x)}": [
        "9:21: modules.m.launch.saxpy.grid: unknown function 'ceildiv' (did you mean 'ceil_div'?)",
        "9:40: modules.m.launch.saxpy.block: unknown function 'open'",
    ],
    "saxpy: {grid: ceil_div(n), block: max(n)}": [
        "9:21: modules.m.launch.saxpy.grid: ceil_div takes two arguments",
        "9:41: modules.m.launch.saxpy.block: max takes two arguments or more",
    ],
    "saxpy: {grid: x.strides, block: x.shape}": [
        "9:21: modules.m.launch.saxpy.grid: 'x.strides' is not allowed",
        "9:39: modules.m.launch.saxpy.block: 'x.shape' is not allowed",
    ],
    "saxpy: {grid: 1.5, block: 0x10}": [
        "9:21: modules.m.launch.saxpy.grid: expected an integer or an expression such as 'ceil_div(n, 256)', found the",
        "9:33: modules.m.launch.saxpy.block: '0x10' is not an integer in decimal",
    ],
    "saxpy: {grid: [1, 2, 3, 4], block: []}": [
        "9:21: modules.m.launch.saxpy.grid: one to three sizes belong here",
        "9:42: modules.m.launch.saxpy.block: one to three sizes belong here",
    ],
    "saxpy: {grid: '(1, 2, 3, 4)', block: n n}": [
        "9:21: modules.m.launch.saxpy.grid: 4 sizes, where there are one to 3",
        "9:44: modules.m.launch.saxpy.block: 'n n' is not an expression",
    ],
    "saxpy: {grid: \"__import__('os')\", block: 'n;n'}": [
        "9:21: modules.m.launch.saxpy.grid: \"__import__('os')\" is not an expression",
        "9:48: modules.m.launch.saxpy.block: 'n;n' is not an expression",
    ],
    "saxpy: {grid: 1}": ["9:14: modules.m.launch.saxpy.block: missing; state how many threads a block has"],
    "saxpy: {grid: 1, block: 1, shared: 4}": [
        "9:34: modules.m.launch.saxpy.shared: unknown key (did you mean 'shared_mem'"
    ],
    "saxpy: {grid: 1, block: 1, cluster: 0, carveout: 101, pdl: 1}": [
        "9:43: modules.m.launch.saxpy.cluster: expected a whole number from 1",
        "9:56: modules.m.launch.saxpy.carveout: expected a whole number from 0 to 100",
        "9:66: modules.m.launch.saxpy.pdl: expected true or false",
    ],
    'saxpy: {grid: "{BLOCK}", block: 1}': [
        "9:21: modules.m.launch.saxpy.grid: unknown placeholder {BLOCK} in a rule for 'saxpy'; name the rule after a"
    ],
    '"sum<{T}, {BLOCK}>": {grid: "{T}", block: "{BLOK}"}': [
        "9:35: modules.m.launch.'sum<{T}, {BLOCK}>'.grid: {T} may be 'float', which is not an integer",
        "9:49: modules.m.launch.'sum<{T}, {BLOCK}>'.block: unknown placeholder {BLOK} in a rule for",
    ],
    '"sum<{T}, 4, {BLOCK}>": {grid: 1, block: 1}': [
        "9:7: modules.m.launch.'sum<{T}, 4, {BLOCK}>': no instance is written 'sum<{T}, 4, {BLOCK}>' (did you mean"
    ],
}


@pytest.mark.parametrize(("rule", "expected"), WRONG.items(), ids=range(len(WRONG)))
def test_what_is_wrong_with_a_rule(problems, rule, expected):
    """Every problem has the place of the value, and what it should be."""
    found = problems(rule)
    assert len(found) == len(expected), found
    for problem, start in zip(found, expected, strict=True):
        assert problem.startswith(start)


def test_what_does_not_fit_the_sources(problems):
    """Names of kernels and parameters are those of the source; all that are wrong are listed."""
    [problem] = problems("saxpy: {grid: m, block: 1}", "sum: {grid: in.size, block: 1}")  # texts come before names
    assert problem.startswith("10:19: modules.m.launch.sum.grid: 'in.size' is not an expression")
    found = problems(
        "saxpy: {grid: 'ceil_div(m, 256) + k', block: y.size}",
        "saxpi: {grid: 1, block: 1}",
        "twice: {grid: a, block: 1}",
        "hidden: {grid: n, block: 1}",
    )
    assert found == [
        "9:21: modules.m.launch.saxpy.grid: unknown name 'm'; the parameters are y, x, n, a",
        "9:21: modules.m.launch.saxpy.grid: unknown name 'k'; the parameters are y, x, n, a",
        (
            "10:7: modules.m.launch.saxpi: no kernel 'saxpi' is declared in the sources (did you mean 'saxpy'?); "
            "list a source that declares it"
        ),
        "11:7: modules.m.launch.twice: 'twice' is declared with different numbers of parameters; rename one of them",
    ]


def test_what_a_rule_says(make_project):
    """Integers, texts and lists are alike; names are those of the source, also of a header."""
    rules = """
      saxpy: {grid: "(ceil_div( n,256 ),1)", block: ["x.shape[0]", 2, "x.shape[-1]"], shared_mem: 4*n}
      "sum<{T}, {BLOCK}>": {grid: out.size % 7, block: "{BLOCK}", cluster: [2, 1], pdl: true, priority: -1}
      sum: {grid: 1, block: 1}
      away: {grid: "min(k, 3)", block: 1}
"""
    header = '__global__ void away(int k); extern "C" __global__ void away(int) {}\n'
    root = make_project(MANIFEST.lstrip() + rules, **{"m.cu": f'#include "h.h"\n{SOURCE}', "h.h": header})
    [planned] = make_plan(load_manifest(root / "kernels.yaml"))
    saxpy, sums, plain, away = planned.launch
    assert str(saxpy) == "grid (ceil_div(n, 256), 1), block (x.shape[0], 2, x.shape[-1]), shared_mem 4 * n"
    assert str(sums) == "grid out.size % 7, block {BLOCK}, cluster (2, 1), pdl True, priority -1"
    assert (saxpy.names, plain.names, away.names) == (("y", "x", "n", "a"), ("x", "out"), ("k",))


def test_a_rule_of_several_modules(make_project):
    """It is for those files of an entry with a ``*`` that declare the kernel, and one of them must."""
    manifest = """
schema: 1
arches: [sm_90]
modules:
  "*": {source: src/*.cu, launch: {one: {grid: n, block: 1}, two: {grid: 1, block: 1}, three: {grid: 1, block: 1}}}
"""
    files = {f"src/{name}.cu": f'extern "C" __global__ void {name}(int n) {{}}\n' for name in ("one", "two")}
    root = make_project(manifest.lstrip(), **files)
    with pytest.raises(ManifestError) as caught:
        make_plan(load_manifest(root / "kernels.yaml"))
    [problem] = caught.value.problems
    assert "modules.'*'.launch.three: no kernel 'three' is declared in the sources; list a source" in problem
    root = make_project(manifest.replace(", three: {grid: 1, block: 1}", "").lstrip(), **files)
    plan = make_plan(load_manifest(root / "kernels.yaml"))
    assert [[rule.kernel for rule in planned.launch] for planned in plan] == [["one"], ["two"]]


BOMBS = {
    "(" * 99 + "n" + ")" * 99: None,
    "n+" * 99 + "n": None,
    "min(1," * 24 + "2" + ")" * 24: None,
    "-" * 190 + "1": "is not allowed",
    "[" * 190: "is not an expression",
    "n+" * 300 + "n": "of at most 200 characters",
}


@pytest.mark.parametrize(("text", "expected"), BOMBS.items(), ids=range(len(BOMBS)))
def test_a_text_cannot_take_the_stack(tmp_path, text, expected):
    """One that is too long or nests too deep for Python's parser is a problem as others are."""
    (tmp_path / "a.cu").touch()
    manifest = f"{{schema: 1, modules: {{a: {{source: a.cu, launch: {{k: {{grid: '{text}', block: 1}}}}}}}}}}"
    if expected is None:
        assert parse_manifest(manifest, root=tmp_path).modules[0].launch
    else:
        with pytest.raises(ManifestError, match=expected):
            parse_manifest(manifest, root=tmp_path)
