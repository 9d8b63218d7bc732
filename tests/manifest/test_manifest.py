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
    StatedRule,
    load_manifest,
    parse_manifest,
)
from hatch_cuda_kernels.options import CppStd, NvrtcOptions, nvrtc_flags, override_options
from hatch_cuda_kernels.store.launch_rules import LaunchRule
from hatch_cuda_kernels.store.promises import Supports

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
    launch: {reset: {grid: "ceil_div(n,4)", block: 256}}
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
        entry="reduce",
        sources=("kernels/reduce.cu",),
        libraries=(),
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
        options=override_options(
            options, use_fast_math=False, lineinfo=True, define=(("TILE", "32"),), pre_include=("std/nvrtc_std.h",)
        ),
        front_end="ptx",
        max_spill_bytes=0,
        packing="solid",
        launch=(
            StatedRule(
                rule=LaunchRule(kernel="reset", grid=("ceil_div(n, 4)",), block=("256",)),
                where="kernels.yaml:23:14: modules.reduce.launch.reset",
                places={
                    "grid": "kernels.yaml:23:28: modules.reduce.launch.reset.grid",
                    "block": "kernels.yaml:23:52: modules.reduce.launch.reset.block",
                },
            ),
        ),
        patterns=(
            Pattern(text="block_sum<{T}, {BLOCK}>", matrix=(("T", ("float", "double")), ("BLOCK", ("128", "256")))),
        ),
        where="kernels.yaml:11:3: modules.reduce",
    )
    saxpy = Module(
        name="saxpy",
        entry="saxpy",
        sources=("kernels/saxpy.cu",),
        libraries=(),
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
        launch=(),
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
    fix = "remove it, or write it into an instance or the name"
    assert problems_of(text, root) == [
        "kernels.yaml:2:7: cuda: expected a CUDA release such as '13.0', found the number 13.0; quote it: '13.0'",
        "kernels.yaml:3:17: arches[1]: unknown architecture 'sm_9' (did you mean 'sm_90'?)",
        "kernels.yaml:4:11: options.use_fastmath: unknown key (did you mean 'use_fast_math'?)",
        "kernels.yaml:6:17: modules.sax.source: there is no file 'kernels/sapy.cu' (did you mean 'kernels/saxpy.cu'?)",
        "kernels.yaml:9:17: modules.reduce.instances[0]: unknown placeholder {T}; add it to the matrix",
        f"kernels.yaml:10:14: modules.reduce.matrix.K: no instance uses {{K}}; {fix}",
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


@pytest.mark.slow
def test_most_instances(root):
    """A manifest may have 100000 instances."""
    assert len(parse_manifest(two_axes(1000, 100), root=root).modules[0].instances) == 100_000


@pytest.mark.slow
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


def test_an_entry_with_a_star_is_one_module_a_file(root):
    """The name has what the star of the source stood for; all else is the same for each."""
    text = """\
schema: 1
arches: [sm_90]
modules:
  "*": {source: kernels/*.cu, options: {lineinfo: true}}
  "in-*-b": {source: ./*/saxpy.cu, arches: [sm_80]}
"""
    modules = parse_manifest(text, root=root).modules
    assert [(module.name, module.entry, *module.sources) for module in modules] == [
        ("in-kernels-b", "in-*-b", "kernels/saxpy.cu"),
        ("reduce", "*", "kernels/reduce.cu"),
        ("saxpy", "*", "kernels/saxpy.cu"),
    ]
    assert [module.options.lineinfo for module in modules] == [False, True, True]
    assert {module.where for module in modules if module.entry == "*"} == {"kernels.yaml:4:3: modules.'*'"}


def test_files_of_one_entry_share_its_instances(root):
    """A file takes the instances of kernels that it declares, even if a macro hides the mark, and their axes.

    What only a header declares belongs to all files.
    """
    (root / "kernels/saxpy.cu").write_text("namespace n { template <class T> KERNEL void scale (T* x) {} }")
    (root / "kernels/reduce.cu").write_text("// scale(x)\ntemplate <int N> __global__ void\nsum(int* x) {}")
    text = """\
schema: 1
modules:
  "*":
    source: kernels/*.cu
    instances: ["n::scale<{T}>", "sum<{N}>", "inc<1>"]
    matrix: {T: [float, double], N: [32]}
"""
    modules = {module.name: module for module in parse_manifest(text, root=root).modules}
    assert [named.text for named in modules["reduce"].instances] == ["sum<32>", "inc<1>"]
    assert [named.text for named in modules["saxpy"].instances] == ["n::scale<float>", "n::scale<double>", "inc<1>"]
    assert [pattern.matrix for pattern in modules["reduce"].patterns] == [(("N", ("32",)),)]
    assert problems_of(text.replace("N: [32]", "N: [32], M: [1]"), root) == located(
        ["6:43: modules.'*'.matrix.M: no instance uses {M}; remove it, or write it into an instance or the name"]
    )


def test_axes_in_a_name_make_a_module_of_each_combination(root):
    """Macros, instances and rules have the combination's values; other axes stay those of the instances."""
    text = """\
schema: 1
options: {define: {LOG: "{T}"}}
modules:
  "aux_{T}_{N}":
    source: kernels/saxpy.cu
    matrix: {N: [128, 256], T: [float, "thrust::complex<float>"], K: [1, 2]}
    exclude: [{T: "thrust::complex < float >", N: 256}]
    kernels: ["make_{N}"]
    instances: ["f<{T}, {K}>"]
    options: {define: {TYPE: "{T}", "SIZE(x)": "x * {N}", BODY: "{ T }", BARE: }}
    launch: {"f<{T}, {K}>": {grid: "ceil_div(n, {N})", block: ["{N}", "{K}"]}}
  plain: {source: kernels/saxpy.cu, options: {define: {BODY: "{T}"}}}
"""
    modules = {module.name: module for module in parse_manifest(text, root=root).modules}
    assert [*modules] == ["aux_float_128", "aux_float_256", "aux_thrust_complex_float_128", "plain"]
    found = modules["aux_thrust_complex_float_128"]
    assert found.entry == "aux_{T}_{N}"
    assert found.options.define == (
        ("LOG", "{T}"),
        ("TYPE", "thrust::complex<float>"),
        ("SIZE(x)", "x * 128"),
        ("BODY", "{ T }"),
        ("BARE", None),
    )
    assert [named.text for named in found.kernels] == ["make_128"]
    assert [named.text for named in found.instances] == ["f<thrust::complex<float>, 1>", "f<thrust::complex<float>, 2>"]
    assert found.patterns == (Pattern(text="f<thrust::complex<float>, {K}>", matrix=(("K", ("1", "2")),)),)
    (stated,) = found.launch
    assert (stated.rule.kernel, stated.rule.grid, stated.rule.block) == (
        "f<thrust::complex<float>, {K}>",
        ("ceil_div(n, 128)",),
        ("128", "{K}"),
    )
    assert modules["plain"].options.define == (("LOG", "{T}"), ("BODY", "{T}"))


def test_combinations_beside_those_of_the_matrix(root):
    """They may have values that the matrix lacks, which are spelled as it, or the first of them, does."""
    text = """\
schema: 1
modules:
  "aux_{T}_{N}":
    source: kernels/saxpy.cu
    matrix: {T: [float], N: [1, 2]}
    exclude: [{N: 2}]
    combinations: [{N: 2 + 2, T: half}, {T: float, N: 2+2}]
    options: {define: {TYPE: "{T}", SIZE: "{N}"}}
"""
    modules = parse_manifest(text, root=root).modules
    assert {module.name: dict(module.axes) for module in modules} == {
        "aux_float_1": {"T": "float", "N": "1"},
        "aux_half_2_2": {"T": "half", "N": "2 + 2"},
        "aux_float_2_2": {"T": "float", "N": "2 + 2"},
    }


def test_axes_in_a_name_with_a_star(root):
    """Each file is a module for each combination; a file without an axis' instances has it in its name all the same."""
    (root / "kernels/saxpy.cu").write_text("template <class T> __global__ void scale(T* x) {}")
    text = """\
schema: 1
modules:
  "{T}_*":
    source: kernels/*.cu
    matrix: {T: [float, int]}
    instances: ["scale<{T}>"]
    options: {define: {TYPE: "{T}"}}
"""
    modules = parse_manifest(text, root=root).modules
    assert [(module.name, [named.text for named in module.instances], module.options.define) for module in modules] == [
        ("float_reduce", [], (("TYPE", "float"),)),
        ("float_saxpy", ["scale<float>"], (("TYPE", "float"),)),
        ("int_reduce", [], (("TYPE", "int"),)),
        ("int_saxpy", ["scale<int>"], (("TYPE", "int"),)),
    ]


def defined(text, root, **more):
    """Return the macros of the only module of a manifest with these options."""
    text = f"schema: 1\nmodules: {{a: {{source: kernels/saxpy.cu}}}}\noptions: {text}\n"
    return parse_manifest(text, root=root, **more).modules[0].options.define


def test_macros_may_have_parameters(root):
    """A module's macro replaces the manifest's of the same name, whatever its parameters are called."""
    text = """\
schema: 1
options: {define: {M2S(x): "#x", "ADD(a, b)": a + b, "LOG(...)": }}
modules: {a: {source: kernels/saxpy.cu, options: {define: {M2S(y): "##y", ADD: 1}}}}
"""
    (module,) = parse_manifest(text, root=root).modules
    assert module.options.define == (("M2S(y)", "##y"), ("ADD", "1"), ("LOG(...)", None))
    assert "-DM2S(y)=##y" in nvrtc_flags(module.options)


def test_the_version_is_that_of_the_project(root, tmp_path):
    """Stated in pyproject.toml, of the manifest's folder or of one above; else that of the unpacked sdist."""
    text = """{define: {V: '"{version}"', W: 'v{version}-{version}', X: '{1}'}}"""
    (root / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "1.2.dev3"\n')
    assert defined(text, root) == (("V", '"1.2.dev3"'), ("W", "v1.2.dev3-1.2.dev3"), ("X", "{1}"))
    (root / "pyproject.toml").write_text('[project]\nname = "p"\ndynamic = ["version"]\n')
    (root / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: p\nVersion: 4.5\n")
    assert dict(defined(text, root))["V"] == '"4.5"'


@pytest.mark.slow
def test_a_dynamic_version_is_what_hatchling_says(root):
    """For commands; in a build, the hook knows it."""
    (root / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "p"\ndynamic = ["version"]\n[tool.hatch.version]\npath = "v.py"\n'
    )
    (root / "v.py").write_text('__version__ = "7.8"\n')
    assert defined("{define: {V: '{version}'}}", root) == (("V", "7.8"),)
    (root / "v.py").write_text("")
    with pytest.raises(ManifestError) as caught:
        defined("{define: {V: '{version}'}}", root)
    (problem,) = caught.value.problems
    assert problem.startswith(
        "kernels.yaml:3:23: options.define.V: {version} is not known: hatchling says: ValueError: "
    )


def test_a_version_that_is_not_known_is_a_problem(root):
    """Only where it is asked for."""
    assert defined("{define: {V: 1}}", root) == (("V", "1"),)
    (problem,) = problems_of(MINIMAL % "options: {define: {V: '{version}'}}", root)
    assert problem.endswith("{version} is not known: no pyproject.toml states the project's version")


def test_macros_from_the_environment(root, monkeypatch):
    """They are macros like the others; a module's replaces the manifest's."""
    monkeypatch.setenv("MINE", "a + 1")
    monkeypatch.setenv("EMPTY", "")
    text = """\
schema: 1
options: {define: {A: 1, B: 2}, define_from: {C: {env: MINE}, D: {env: EMPTY}}}
modules: {a: {source: kernels/saxpy.cu, options: {define_from: {A: {env: MINE}}}}}
"""
    (module,) = parse_manifest(text, root=root).modules
    assert module.options.define == (("A", "a + 1"), ("B", "2"), ("C", "a + 1"), ("D", ""))


def test_problems_with_macros(root, monkeypatch):
    """What is missing or stated twice is told at its place."""
    monkeypatch.setenv("LINES", "1\n2")
    monkeypatch.setenv("MINE", "1")
    monkeypatch.delenv("NOT_SET", raising=False)
    text = "options: {define: {M: 1, M(x): 2}, define_from: {A: {env: NOT_SET}, B: {env: LINES}, M: {env: MINE}}}"
    assert problems_of(MINIMAL % text, root) == located(
        [
            "2:10: options: M is under define and under define_from; leave one of them out",
            "2:26: options.define.'M(x)': M is a macro of the same name",
            "2:59: options.define_from.A.env: the environment has no variable 'NOT_SET'; set it, to nothing perhaps",
            "2:78: options.define_from.B.env: the environment's variable 'LINES' is not one line of plain text",
        ]
    )
