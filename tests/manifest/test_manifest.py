from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest
from manifests import MINIMAL, archs, located, make_project, problems_of

from hatch_cuda_kernels.arch import ComputeCapability
from hatch_cuda_kernels.errors import ManifestError
from hatch_cuda_kernels.manifest import (
    Manifest,
    Module,
    Named,
    Pattern,
    Supports,
    load_manifest,
    parse_manifest,
)
from hatch_cuda_kernels.options import CppStd, NvrtcOptions

FULL = """\
schema: 1
cuda: "13.0"
arches: [sm_90, compute_80, sm_80]
options:
  std: c++20
  use_fast_math: true
  include: [include]
  define: {TILE: 16, KEY: "value.y", V: 8.10, ANSWER: yes, BARE: }
modules:
  saxpy: {source: ./kernels/saxpy.cu}
  reduce:
    source: kernels/reduce.cu
    kernels: [reset]
    instances: ["block_sum<{T}, {BLOCK}>", count<int>]
    matrix: {T: [float, double], BLOCK: [128, 256]}
    globals: [d_filter]
    headers: [include/tables/*.inc]
    arches: [sm_90a, compute_80]
    options: {lineinfo: true, use_fast_math: false, define: {TILE: 32}, pre_include: [std/nvrtc_std.h]}
    front_end: ptx
    max_spill_bytes: 0
    packing: solid
packing: none
max_wheel_size: 5 MB
stubs: package/kernels.pyi
supports:
  devices: ["8.0", "9.0"]
  driver: "13.0"
max_spill_bytes: 64
"""


@pytest.fixture
def root(tmp_path):
    """Return a project with two sources and a few headers."""
    return make_project(tmp_path)


def test_full_example(root):
    """Every key of the format arrives in the model, with defaults, inheritance, expansion and places."""
    options = NvrtcOptions(
        std=CppStd.CPP20,
        use_fast_math=True,
        include=("include",),
        define=(("TILE", "16"), ("KEY", "value.y"), ("V", "8.10"), ("ANSWER", "yes"), ("BARE", None)),
    )
    instances = "kernels.yaml:14:17: modules.reduce.instances[0]"
    reduce = Module(
        name="reduce",
        source="kernels/reduce.cu",
        kernels=(Named(text="reset", where="kernels.yaml:13:15: modules.reduce.kernels[0]"),),
        instances=(
            Named(text="block_sum<float, 128>", where=instances),
            Named(text="block_sum<float, 256>", where=instances),
            Named(text="block_sum<double, 128>", where=instances),
            Named(text="block_sum<double, 256>", where=instances),
            Named(text="count<int>", where="kernels.yaml:14:44: modules.reduce.instances[1]"),
        ),
        chunk=None,
        globals=(Named(text="d_filter", where="kernels.yaml:16:15: modules.reduce.globals[0]"),),
        headers=("include/tables/*.inc",),
        arches=archs("compute_80", "sm_90a"),
        options=options.override(
            use_fast_math=False, lineinfo=True, define=(("TILE", "32"),), pre_include=("std/nvrtc_std.h",)
        ),
        front_end="ptx",
        max_spill_bytes=0,
        packing="solid",
        patterns=(
            Pattern(text="block_sum<{T}, {BLOCK}>", matrix=(("T", ("float", "double")), ("BLOCK", ("128", "256")))),
        ),
        where="kernels.yaml:11:3: modules.reduce",
    )
    saxpy = Module(
        name="saxpy",
        source="kernels/saxpy.cu",
        kernels=(),
        instances=(),
        chunk=None,
        globals=(),
        headers=(),
        arches=archs("sm_80", "compute_80", "sm_90"),
        options=options,
        front_end="per-arch",
        max_spill_bytes=64,
        packing="none",
        patterns=(),
        where="kernels.yaml:10:3: modules.saxpy",
    )
    assert parse_manifest(FULL, root=root) == Manifest(
        path=root / "kernels.yaml",
        root=root,
        cuda=(13, 0),
        release=(13, 0),
        modules=(reduce, saxpy),
        supports=Supports(devices=(ComputeCapability(8, 0), ComputeCapability(9, 0)), driver=(13, 0)),
        stubs="package/kernels.pyi",
        max_wheel_size=5_000_000,
        sha256=hashlib.sha256(FULL.encode()).hexdigest(),
    )


def test_example_project_is_valid():
    """The manifest people copy from has no problems."""
    folder = Path(__file__).parents[2] / "example_project"
    names = [module.name for module in load_manifest(folder / "kernels.yaml").modules]
    assert names == sorted(names) != []


def test_five_mistakes_are_five_problems(root):
    """Mistakes in different parts of one file are all told at once, in the order of the file."""
    text = """\
schema: 1
cuda: 13.0
arches: [sm_80, sm_9]
options: {use_fastmath: true}
modules:
  sax: {source: kernels/sapy.cu}
  reduce:
    source: kernels/reduce.cu
    instances: ["block_sum<{T}>"]
    matrix: {K: [float]}
"""
    assert problems_of(text, root) == [
        "kernels.yaml:2:7: cuda: expected a CUDA release such as '13.0', found the number 13.0; quote it: '13.0'",
        "kernels.yaml:3:17: arches[1]: unknown architecture 'sm_9' (did you mean 'sm_90'?)",
        "kernels.yaml:4:11: options.use_fastmath: unknown key (did you mean 'use_fast_math'?)",
        "kernels.yaml:6:17: modules.sax.source: there is no file 'kernels/sapy.cu' (did you mean 'kernels/saxpy.cu'?)",
        "kernels.yaml:9:17: modules.reduce.instances[0]: unknown placeholder {T}; add it to the matrix",
        "kernels.yaml:10:14: modules.reduce.matrix.K: no instance uses {K}; remove it or write an instance with it",
    ]


def test_matrix_values_are_raw_text(root):
    """Numbers and booleans of a matrix keep their spelling; only the axes a pattern uses multiply it."""
    text = """\
schema: 1
modules:
  a:
    source: kernels/saxpy.cu
    instances: ["f<{V}, {B}, {V}>", "g<{B}>", "h<S{1}>"]
    matrix: {V: [8.10, 8.1], B: [true, no]}
"""
    (module,) = parse_manifest(text, root=root).modules
    assert [name.text for name in module.instances] == [
        "f<8.10, true, 8.10>",
        "f<8.10, no, 8.10>",
        "f<8.1, true, 8.1>",
        "f<8.1, no, 8.1>",
        "g<true>",
        "g<no>",
        "h<S{1}>",
    ]
    assert [pattern.matrix for pattern in module.patterns] == [
        (("V", ("8.10", "8.1")), ("B", ("true", "no"))),
        (("B", ("true", "no")),),
    ]


TOO_MANY = (
    "with these, the manifest has more than 100000 instances; shorten a matrix, or split the modules between packages"
)


def two_axes(first, second):
    """Return a manifest with that many values in each of two axes."""
    axes = f"A: [{', '.join(map(str, range(first)))}], B: [{', '.join(map(str, range(second)))}]"
    return (
        f"schema: 1\nmodules: {{a: {{instances: ['f<{{A}}, {{B}}>'], matrix: {{{axes}}}, source: kernels/saxpy.cu}}}}\n"
    )


def test_most_instances(root):
    """A manifest may have 100000 instances."""
    assert len(parse_manifest(two_axes(1000, 100), root=root).modules[0].instances) == 100_000


@pytest.mark.parametrize("second", [101, 30_000])
def test_too_many_instances(second, root):
    """A module with more than 100000 instances is refused before they fill the memory."""
    assert problems_of(two_axes(1000, second), root) == located([f"2:27: modules.a.instances[0]: {TOO_MANY}"])


def test_too_many_instances_together(root):
    """Modules that each stay below the limit are counted together, before any of them is expanded; once is enough."""
    axis = f"[{', '.join(map(str, range(316)))}]"
    module = (
        f"{{source: kernels/saxpy.cu, instances: ['f<{{A}}, {{B}}>', 'g<{{C}}>'], matrix: {{A: {axis}, B: {axis}}}}}"
    )
    text = "schema: 1\nmodules:\n" + "".join(f"  {name}: {module}\n" for name in "abcdefghijkl")
    start = time.process_time()
    unknown = [
        f"{line}:60: modules.{name}.instances[1]: unknown placeholder {{C}}; add it to the matrix"
        for line, name in enumerate("abcdefghijkl", 3)
    ]
    assert problems_of(text, root) == located([unknown[0], f"4:45: modules.b.instances[0]: {TOO_MANY}", *unknown[1:]])
    assert time.process_time() - start < 1


def test_a_glob_of_names_that_are_not_utf8(root):
    """No include can spell them, so they are no headers."""
    (root / "odd").mkdir()
    (root / "odd" / os.fsdecode(b"\xff.inc")).touch()
    text = "{schema: 1, modules: {a: {source: kernels/saxpy.cu, headers: ['odd/*.inc']}}}"
    assert problems_of(text, root) == located(["1:63: modules.a.headers[0]: no file matches 'odd/*.inc'"])


def test_define_null_and_empty(root):
    """A macro without a value is defined bare; one with an empty text is defined as nothing."""
    manifest = parse_manifest(MINIMAL % "options: {define: {A: , B: null, C: '', D: 'null'}}", root=root)
    assert manifest.modules[0].options.define == (("A", None), ("B", None), ("C", ""), ("D", "null"))


def test_load_from_any_folder(root, tmp_path_factory, monkeypatch):
    """A manifest's paths are relative to its own folder, wherever the process stands; messages name the file only."""
    (root / "my.yaml").write_bytes(FULL.replace("\n", "\r\n").encode())
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    manifest = load_manifest(os.path.relpath(root / "my.yaml"))
    assert manifest.root.resolve() == root.resolve()
    assert manifest.modules[0].where == "my.yaml:11:3: modules.reduce"
    assert manifest.sha256 == hashlib.sha256((root / "my.yaml").read_bytes()).hexdigest()


def test_load_problems_of_the_file(root):
    """A file that cannot be read or decoded is a located problem like any other."""
    (root / "latin.yaml").write_bytes(b"schema: 1\nmodules: \xe9\n")
    messages = {}
    for name in ("none.yaml", "kernels", "latin.yaml"):
        with pytest.raises(ManifestError) as caught:
            load_manifest(root / name)
        messages[name] = str(caught.value)
    assert messages == {
        "none.yaml": f"none.yaml:1:1: manifest: cannot read {root / 'none.yaml'}: No such file or directory",
        "kernels": f"kernels:1:1: manifest: cannot read {root / 'kernels'}: Is a directory",
        "latin.yaml": "latin.yaml:2:10: manifest: byte 0xe9 is not UTF-8; save the file as UTF-8",
    }


def test_filename_as_the_caller_passes_it(root):
    """A caller chooses what the file is called in messages."""
    assert problems_of("", root, filename="sub/k.yaml") == ["sub/k.yaml:1:1: manifest: the file is empty"]


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("1", 1),
        ("5000000", 5_000_000),
        ("5 MB", 5_000_000),
        ("5MB", 5_000_000),
        ("'1.5 MB'", 1_500_000),
        ("5 MiB", 5 << 20),
        ("100 kB", 100_000),
        ("100 KB", 100_000),
        ("100 KiB", 100 << 10),
        ("2 GB", 2_000_000_000),
        ("0.001 kB", 1),
    ],
)
def test_sizes(root, written, size):
    """A size is bytes, or a number with a decimal or binary unit."""
    assert parse_manifest(MINIMAL % f"max_wheel_size: {written}", root=root).max_wheel_size == size


@pytest.mark.parametrize("written", ["0", "-1", "5.0", "5 mb", "5 M", "MB", "'5'", "5 B", "5  MB", "[5]", "true", ""])
def test_sizes_that_are_none(root, written):
    """What is no size is refused with an example of one."""
    [problem] = problems_of(MINIMAL % f"max_wheel_size: {written}", root)
    assert "max_wheel_size: expected a number of bytes, or text such as '5 MB' or '5 MiB', found" in problem


def test_packing_is_inherited(root):
    """A module's own packing replaces the manifest's, which replaces the default."""
    modules = "{a: {source: kernels/saxpy.cu}, b: {source: kernels/saxpy.cu, packing: none}}"
    for more, expected in (("", ["auto", "none"]), ("packing: solid", ["solid", "none"])):
        manifest = parse_manifest(f"schema: 1\n{more}\nmodules: {modules}", root=root)
        assert [module.packing for module in manifest.modules] == expected
