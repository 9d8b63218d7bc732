"""Generated stubs: what they say, that mypy agrees, and when they are rewritten."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.manifest import load_manifest

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "example_project"

MANIFEST = """
schema: 1
arches: [{arches}]
stubs: mylib/kernels.pyi
modules:
  saxpy: {{source: saxpy.cu, launch: {{saxpy: {{grid: "ceil_div(n, 256)", block: 256}}}}}}
  shapes:
    source: shapes.cu
    instances: ["ns::fill<{{T}}, {{N}}>", "pick<{{ONE}}>"]
    matrix: {{T: [float, int], N: [8, 16], ONE: [long long, "float*"]}}
    globals: [d_bias]
    launch: {{pairs: {{grid: 1, block: count}}}}
  other: {{source: other.cu}}
"""
SHAPES = """
#include "declared.cuh"
#define DECLARE(name) extern "C" __global__ void name(int hidden, float* out) { *out = hidden; }
struct Pair { double a, b; };
__constant__ float d_bias[4];
namespace ns { template <class T, int N> __global__ void fill(T* y, T value) { y[threadIdx.x % N] = value; } }
template <class T> __global__ void pick(T from, T* self) { *self = from; }
extern "C" __global__ void pairs(Pair pair, const double* lambda, unsigned char flag, int, size_t count) {
    if (flag) ((double*)lambda)[count] = pair.a + d_bias[0];
}
DECLARE(macro_made)
extern "C" __global__ void declared(float scale, float* __values) { *__values = scale; }
extern "C" __global__ void twice(int* y) { *y = 1; }
extern "C" __global__ void nothing() {}
"""
FILES = {
    "shapes.cu": SHAPES,
    "other.cu": 'extern "C" __global__ void twice(int* y) { *y = 2; }\n',
    "declared.cuh": '#pragma once\nextern "C" __global__ void declared(float, float* /* other name */);\n',
    "mylib/__init__.py": "",
    "mylib/py.typed": "",
    "mylib/kernels.py": 'from hatch_cuda_kernels import open_store\n\nstore = open_store("mylib")\n',
}


@pytest.fixture
def build(make_project, tmp_path):
    """Return a function that builds a project with a stub and returns the stub's path."""

    def make(arches="sm_90", **changes):
        root = make_project(MANIFEST.format(arches=arches), **(FILES | changes))
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
        return root / "mylib" / "kernels.pyi"

    return make


def calls(stub):
    """Return each launch function's parameters."""
    found = re.findall(
        r"class (\w+)\(Protocol\):\n.*\n\n    def __call__\(self(?:, )?(.*?)(?:, )?/\)", stub.read_text()
    )
    return dict(found)


@pytest.mark.slow
def test_names_come_from_the_source_and_types_from_the_compiler(build):
    """Parameters are called as they are declared, by a macro, too, and have Python's types."""
    assert calls(build()) == {
        "Declared": "scale: float, values: DeviceArray",
        "MacroMade": "hidden: int, out: DeviceArray",
        "NsFill": "y: DeviceArray, value: float",
        "NsFill2": "y: DeviceArray, value: int",
        "Nothing": "",
        "Pairs": "pair: Struct, lambda_: DeviceArray, flag: int, arg3: int, count: int",
        "Pick": "from_: DeviceArray, self_: DeviceArray",
        "Pick2": "from_: int, self_: DeviceArray",
        "Saxpy": "y: DeviceArray, x: DeviceArray, n: int, a: float",
        "Twice": "y: DeviceArray",
    }


def test_a_call_without_brackets_is_shown(build):
    """A kernel with a rule can be called, by the names of the source where they are Python's too."""
    text = build().read_text()
    assert '"""A call has grid ceil_div(n, 256), block 256."""' in text
    assert "    def __call__(self, y: DeviceArray, x: DeviceArray, n: int, a: float) -> None: ...\n" in text
    assert "flag: int, arg3: int, count: int, /) -> None: ...\n" in text
    assert "TwiceKernel: TypeAlias" in text


def test_the_declaration_is_shown(build):
    """What an editor shows of a launch function is the C++ declaration."""
    assert '"""saxpy(float* y, const float* x, unsigned int n, float a)"""' in build().read_text()


@pytest.mark.slow
def test_the_same_kernels_give_the_same_stub(build):
    """Architectures do not matter, nor does what a kernel's body says."""
    first = build().read_text()
    changed = SHAPES.replace("*y = 1;", "*y = 3;")
    assert build("sm_120, compute_80, sm_90", **{"shapes.cu": changed}).read_text() == first


def test_a_build_rewrites_only_what_changed(build):
    """An equal stub keeps its time; one that was edited, or whose kernels changed, is written anew."""
    stub = build()
    os.utime(stub, (1, 1))
    before = stub.read_text()
    assert build().stat().st_mtime == 1
    stub.write_text(before + "# edited\n")
    assert build().read_text() == before
    assert (
        "y: DeviceArray, n: int" in calls(build(**{"other.cu": FILES["other.cu"].replace("y)", "y, int n)")}))["Twice2"]
    )


def test_a_stub_that_cannot_be_written_fails_the_build(make_project, tmp_path):
    """A file in a folder's place is named."""
    manifest = "{schema: 1, arches: [sm_90], stubs: mylib/kernels.pyi, modules: {a: {source: saxpy.cu}}}"
    root = make_project(manifest, mylib="")
    with pytest.raises(BuildError, match=r"cannot write the stub .*kernels\.pyi"):
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")


@pytest.fixture
def mypy(slow):
    """Return a function that checks a folder as its author would; it returns mypy's errors by line, and its output."""

    def check_types(root, *options):
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", *options],
            cwd=root, env=os.environ | {"MYPYPATH": f"{root}{os.pathsep}{ROOT}"}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode in {0, 1}, done.stdout + done.stderr
        found = re.findall(r"^(\S+\.pyi?):(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
        return {(name, int(line)): code for name, line, code in found}, done.stdout

    return check_types


GOOD = """
import ctypes
from typing import TYPE_CHECKING, Any, assert_type

from hatch_cuda_kernels import GlobalVariable, Kernel, Store
from mylib.kernels import store

if TYPE_CHECKING:
    from hatch_cuda_kernels.typing import DeviceArray
    from mylib.kernels import SaxpyKernel


class Array:
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {}


class Tensor:
    def data_ptr(self) -> int:
        return 0


class Pair(ctypes.Structure):
    _fields_ = (("a", ctypes.c_double), ("b", ctypes.c_double))


def launch(kernel: "SaxpyKernel", x: "DeviceArray") -> None:
    kernel[4, 256](x, x, 10, 2.0)
    kernel[(4, 1), (256, 1, 1), 1024, 0](x, x, True, 2)
    kernel.launch(4, 256, (x, x, 10, 2.0), shared_mem=4, cluster=2)


async def main() -> None:
    launch(store.get_kernel("saxpy"), Array())
    store.get_kernel("saxpy")(None, Array(), a=2.0, n=10)
    store.get_kernel("pairs")(Pair(1, 2), 0x1000, 1, 2, 3)
    launch(await store.aget_kernel("saxpy", policy="exact"), None)
    store.get_kernel("ns::fill<float, 8>")[1, 8](Tensor(), 1.0)
    store.instantiate("ns::fill", T="double", N=4)[1, 8](Array(), 1.0)
    store.get_kernel("pairs")[1, 1](Pair(1, 2), 0x1000, 1, 2, 3)
    store.get_kernel("pairs")[1, 1](bytes(16), Array(), 1, 2, 3)
    store.get_kernel("twice", module="other")[1, 1](Array())
    store.get_kernel("nothing")[1, 1]()
    assert_type(store.get_global("d_bias"), GlobalVariable)
    anything: Store = store
    assert_type(anything.get_kernel("saxpy" + "2"), Kernel)
    print(store.explain("saxpy", arch="sm_90"), store.kernels)
"""
BAD = {
    'store.get_kernel("sapxy")': "call-overload",
    'store.get_kernel("twice")': "call-overload",
    'store.get_kernel("saxpy", module="other")': "call-overload",
    'store.get_kernel("saxpy")[4, 256](a, a, 10)': "call-arg",
    'store.get_kernel("saxpy")[4, 256](a, a, 10, 2.0, 1)': "call-arg",
    'store.get_kernel("saxpy")[4, 256](a, a, 10, a)': "arg-type",
    'store.get_kernel("saxpy")[4, 256](a, a, 1.5, 2.0)': "arg-type",
    'store.get_kernel("saxpy")[4, 256]("x", a, 10, 2.0)': "arg-type",
    'store.get_kernel("saxpy")[4, 256](a, [1.0], 10, 2.0)': "arg-type",
    'store.get_kernel("saxpy")[4, 256](y=a, x=a, n=10, a=2.0)': "call-arg",
    'store.get_kernel("saxpy")(a, a, 10)': "call-arg",
    'store.get_kernel("saxpy")(a, a, n=10, b=1.0)': "call-arg",
    'store.get_kernel("saxpy")(a, a, "n", 1.0)': "arg-type",
    'store.get_kernel("pairs")(Pair(1, 2), a, 1, 2, count=3)': "call-arg",
    'store.get_kernel("saxpy")[4]': "index",
    'store.get_kernel("saxpy").launch(4, 256, (a, a, 10))': "arg-type",
    'store.get_kernel("pairs")[1, 1](1.0, a, 1, 2, 3)': "arg-type",
    'store.instantiate("fill", T="float", N=8)': "call-overload",
    'store.instantiate("ns::fill", T="float")': "call-overload",
    'store.get_global("d_bais")': "arg-type",
}


def test_mypy_takes_a_right_program_and_refuses_wrong_ones(build, mypy):
    """With the stub, names, counts, types and shapes of launches are checked; without it, names are not."""
    stub = build()
    root = stub.parent.parent
    (root / "program.py").write_text(GOOD)
    assert mypy(root, ".") == ({}, "Success: no issues found in 3 source files\n")
    head = "from program import Array, Pair\nfrom mylib.kernels import store\na = Array()\n"
    (root / "wrong.py").write_text(head + "".join(f"{line}\n" for line in BAD))
    assert mypy(root, ".")[0] == {("wrong.py", number): code for number, code in enumerate(BAD.values(), 4)}


def test_modules_of_a_family_are_found_by_their_axes(make_project, tmp_path, mypy):
    """A type checker knows the families, their axes and which of these may be numbers."""
    manifest = """
        schema: 1
        arches: [sm_90]
        stubs: mylib/kernels.pyi
        modules:
          "scale_{T}_{N}":
            source: scale.cu
            matrix: {T: [float, int], N: [1]}
            options: {define: {TYPE: "{T}", COUNT: "{N}"}}
          "odd_{family}_{FAST}_{BY}":
            source: scale.cu
            matrix: {family: [int], FAST: [true, false], BY: [-1]}
            options: {define: {TYPE: "{family}", COUNT: "({FAST} ? {BY} : 1)"}}
          "signed_{FAST}_{BY}":
            source: scale.cu
            matrix: {FAST: [true, false], BY: [-1]}
            options: {define: {TYPE: int, COUNT: "({FAST} ? {BY} : 1)"}}
          other: {source: other.cu}
    """
    source = 'extern "C" __global__ void scale(TYPE* x) { *x *= COUNT; }\n'
    root = make_project(manifest, **FILES, **{"scale.cu": source})
    build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    text = (root / "mylib" / "kernels.pyi").read_text()
    assert 'family: Literal["scale"], /, *, N: int | str, T: str\n' in text
    assert '"scale_float_1",\n            "scale_int_1",\n' in text
    assert 'def module(self, family: Literal["odd"], /, **axes: object) -> StoreModule: ...' in text
    assert 'family: Literal["signed"], /, *, BY: int | str, FAST: bool | str\n' in text
    head = "from mylib.kernels import store\n"
    right = 'store.module("scale", T="float", N=1).get_kernel("scale")\nprint(store.module("other").kernels)\n'
    (root / "program.py").write_text(f'{head}{right}store.module("scale", T=1, N=1)\nstore.module("scale", T="int")\n')
    assert mypy(root, ".")[0] == {("program.py", line): "call-overload" for line in (4, 5)}
    call = 'store.cupy_module("scale", T="float", N=1, enable_cooperative_groups=True).get_function("scale")'
    call += '\nstore.cupy_module("odd", family="int", FAST=True, BY=-1)'
    (root / "program.py").write_text(f'{head}{call}\nstore.cupy_module("scale", T="int")\n')
    assert mypy(root, ".")[0] == {("program.py", 4): "call-overload"}


def check(capsys, root):
    """Return the status of ``check`` and what it says of the stub."""
    status = main(["check", str(root / "kernels.yaml"), "--json"])
    return status, json.loads(capsys.readouterr().out)["stubs"]["state"]


def test_the_example_uses_its_stub(whole_example_wheel, mypy, capsys):
    """The example's stub is up to date, and mypy finds nothing in the example."""
    assert check(capsys, EXAMPLE) == (0, "fresh")
    found, shown = mypy(EXAMPLE, "-p", "example_project")
    assert found == {}, shown


@pytest.mark.slow
def test_check_tells_whether_the_stub_is_stale(build, capsys, fresh_cache):
    """Up to date after a build, out of date (status 1) when edited or missing, unknown where nothing is built."""
    stub = build()
    root = stub.parent.parent
    assert check(capsys, root) == (0, "fresh")
    stub.write_text("")
    assert check(capsys, root) == (1, "stale")
    stub.unlink()
    assert check(capsys, root) == (1, "stale")
    assert main(["check", str(root / "kernels.yaml")]) == 1
    assert "mylib/kernels.pyi is out of date: build, then commit it" in capsys.readouterr().out
    (root / "saxpy.cu").write_text('extern "C" __global__ void saxpy(float* z, int n) { *z = n; }\n')
    assert check(capsys, root) == (0, "unknown")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "mylib/kernels.py",
            "'mylib/kernels.py' is not a stub; name a file beside a module, such as mylib/kernels.pyi",
        ),
        ("my-lib.pyi", "'my-lib.pyi' is not a stub; name a file beside a module, such as mylib/kernels.pyi"),
        ("../kernels.pyi", "'../kernels.pyi' leaves the project; keep the file inside the manifest's folder"),
    ],
)
def test_a_bad_path_is_a_problem(make_project, capsys, path, message):
    """The manifest's reader refuses what could be no stub of a module."""
    root = make_project(f"{{schema: 1, stubs: {path}, modules: {{a: {{source: saxpy.cu}}}}}}")
    assert main(["check", str(root / "kernels.yaml")]) == 2
    assert capsys.readouterr().err.strip().endswith(f"stubs: {message}")
