"""What Python files compile at run time, as a draft of the manifest: files, macros with their values, and options."""

from __future__ import annotations

import json
import os

import pytest
from hatch_project import PYPROJECT

from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.scaffold.loaders import matrix_of, read_loaders, variants

LOADER = """\
import os
import cupy as cp

kernel_dir = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "kernels"))
compile_options = ["-std=c++14", "-DLIMIT=4", "-I" + kernel_dir]


def load_kernel(name, subs={}, file=None, options=None):
    if file is None:
        fn = "%s/%s.cu" % (kernel_dir, name)
    else:
        fn = "%s/%s" % (kernel_dir, file)
    with open(fn) as f:
        kernel = f.read()
    for k, v in list(subs.items()):
        kernel = kernel.replace(k, str(v))
    kernel = '#line 1 "{}"\\n'.format(fn.replace("\\\\", "\\\\\\\\")) + kernel
    opt = [*compile_options]
    if options is not None:
        opt += list(options)
    module = cp.RawModule(code=kernel, options=tuple(opt))
    return module.get_function(name)
"""
USES = """\
from .loading import load_kernel
from .types import name_of_type


class Scale:
    def __init__(self, array, modes, math_type="float"):
        if math_type not in ["float", "double"]:
            raise ValueError(math_type)
        self.math_type = math_type
        self.block = (32, 4)
        self.scale = load_kernel("scale", {
            "IN_TYPE": "float" if array.dtype == "f" else "double",
            "OUT_TYPE": "float" if array.dtype == "f" else "double",
            "MATH_TYPE": self.math_type,
            "BDIM_X": self.block[0],
        })
        self.plain = load_kernel("plain")
        self.sum = load_kernel(("step1", "step2"), file="sum.cu", subs={"TYPE": name_of_type(array), "MODES": modes[0]})
"""
TYPES = """\
def name_of_type(array):
    if array.dtype == "f":
        return "float"
    return "complex<float>"
"""


@pytest.fixture
def drafted(tmp_path):
    """Return a function that writes Python files, and returns what they compile of some sources."""

    def read(sources, **files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        found = read_loaders(tmp_path, list(files), sources)
        every = {}
        for source in sources:
            asked = [one for one in found.requests if one.source == source]
            every |= {one.name: one for one in variants(asked, source.rpartition("/")[2].partition(".")[0])}
        return every, found.texts

    return read


def test_a_loader_with_substitutions(drafted):
    """Files by their ends, and each call's macros: constants, choices made alike, attributes, and what is allowed."""
    sources = ["kernels/scale.cu", "kernels/plain.cu", "kernels/sum.cu", "kernels/other.cu"]
    found, texts = drafted(sources, **{"p/loading.py": LOADER, "p/uses.py": USES, "p/types.py": TYPES})
    assert [*found] == ["scale_{IN_TYPE}_{OUT_TYPE}_{MATH_TYPE}_{BDIM_X}", "plain", "sum_{TYPE}_{MODES}"]
    assert texts == []
    scale, plain, summed = found.values()
    assert scale.stated == {
        "matrix": {
            "IN_TYPE": ["float", "double"],
            "OUT_TYPE": ["float", "double"],
            "MATH_TYPE": ["float", "double"],
            "BDIM_X": ["32"],
        },
        "exclude": [{"IN_TYPE": "float", "OUT_TYPE": "double"}, {"IN_TYPE": "double", "OUT_TYPE": "float"}],
        "options": {
            "default_device": True,
            "define": {"LIMIT": "4"} | {name: f"{{{name}}}" for name in ("IN_TYPE", "OUT_TYPE", "MATH_TYPE", "BDIM_X")},
        },
    }
    assert scale.left_out == ["-std=c++14 is left out: the headers of CUDA 13 need C++17, the default"]
    assert plain.stated == {"options": {"default_device": True, "define": {"LIMIT": "4"}}}
    assert summed.stated["matrix"] == {"TYPE": ["float", "complex<float>"], "MODES": ["1"]}
    assert summed.guesses == ["1 is a guess for MODES: modes[0] at p/uses.py:18; list its values"]


def test_a_module_of_one_file(drafted):
    """Flags are options, a macro with a value or none is defined, and name expressions are instances."""
    text = """\
from pathlib import Path
from cupy import RawModule
OPTIONS = ("--use_fast_math", "--maxrregcount=32", "-DTILE=16", "-DCHECKED", "-std=c++20", "-ftz=false", "--odd")
module = RawModule(code=(Path(__file__).parent / "fill.cu").read_text(), options=OPTIONS,
                   name_expressions=["fill<float>", f"fill<{'double'}>", "plain"])
"""
    found, _ = drafted(["p/fill.cu", "q/fill.cu"], **{"p/use.py": text})
    assert found == {}  # which of them is not told
    found, _ = drafted(["p/fill.cu"], **{"p/use.py": text})
    options = {"use_fast_math": True, "maxrregcount": 32, "std": "c++20", "ftz": False, "default_device": True}
    assert found["fill"].stated == {
        "instances": ["fill<float>", "fill<double>"],
        "options": options | {"define": {"TILE": "16", "CHECKED": None}},
    }
    assert found["fill"].left_out == ["--odd is left out: write it under extra if it matters"]


#: What calls of a loader say in other ways, and what is drafted of it: the module's name, its macros and guesses.
WAYS = {
    "by keywords of any name": (
        """
def load(name, *, options=(), **subs):
    text = open(name + ".cu").read()
    for old, new in subs.items():
        text = text.replace(old, str(new))
    return RawModule(code=text, options=options)
for kind in ("float", "double"):
    load("k", T=kind, N=2, S="a\\nb", options=("-DLIMIT=4",))
""",
        "k_{T}_{N}_{S}",
        {"LIMIT": "4", "T": ["float", "double"], "N": ["2"], "S": ["1"]},
        ["1 is a guess for S: 'a\\nb' at use.py:8; list its values"],
        [],
    ),
    "by options that callers choose": (
        """
@cache
async def load(kind, tile):
    options = ["-DT=" + kind, "-D", f"TILE={tile}", "--define-macro=A=2", "-I", "."]
    return RawModule(open("k.cu").read(), options=options)
load("float", 1), load("int", 2)
""",
        "k_{T}_{TILE}",
        {"A": "2", "T": ["float", "int"], "TILE": ["1", "2"]},
        [],
        [],
    ),
    "by options in a loop, of which some are unknown or no macros": (
        """
code = open("k.cu").read()
made = [RawModule(code=code, options=(f"-DT={t}", f"-DN={n}", f"{n}", "-D1A", "-DB-C=1")) for t in ["a", "b"]]
""",
        "k_{T}_{N}",
        {"T": ["a", "b"], "N": ["1"]},
        ["1 is a guess for N: an option at use.py:3; list its values"],
        [f"{flag} is left out: write it under extra if it matters" for flag in ("-D1A", "-DB-C=1")],
    ),
    "by the values of a mapping, whose keys are no macros": (
        """
KINDS = {"float32": "float", "float64": "double"}
for name, kind in KINDS.items():
    made[name] = RawModule(code=open("k.cu").read(), options=(f"-DT={kind}", "-DN=4"))
text = RawKernel('extern "C" __global__ void other() {}', "other")
""",
        "k_{T}",
        {"N": "4", "T": ["float", "double"]},
        [],
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name", "macros", "guesses", "left_out"), WAYS.values(), ids=WAYS.keys())
def test_other_ways_to_choose_macros(text, name, macros, guesses, left_out, drafted):
    """What callers choose is an axis, however it is passed on."""
    found, texts = drafted(["k.cu"], **{"use.py": text})
    assert ([*found], texts) == ([name], ["use.py:5"] if "__global__" in text else [])
    axes = {axis: values for axis, values in macros.items() if isinstance(values, list)}
    assert found[name].stated["matrix"] == axes
    assert found[name].stated["options"]["define"] == macros | {axis: f"{{{axis}}}" for axis in axes}
    assert (found[name].guesses, found[name].left_out) == (guesses, left_out)


def test_macros_in_front_of_the_text(drafted):
    """Lines with #define, by format and in a mapping; what is defined for some only takes an entry of its own."""
    text = """\
from pycuda.compiler import SourceModule
TEMPLATE = '''
#define MARKER {marker}
#define pair_t {kind}2  // two of them
#define make(x) make_{kind}2(x, x)
'''

def find_kernel(name):
    return f"kernels/{name}.cu"

def read(path, cpp_defs=None):
    text = open(path, "r").read()
    lines = ["#define {key} {value}".format(key=key, value=value) for key, value in cpp_defs.items()]
    return text.replace("//{DEFS}", "\\n".join(lines))

class Search:
    def __init__(self, **kwargs):
        self.size = kwargs.get("size", 256)
        self.defs = dict(SIZE=self.size)
        if kwargs["use_double"]:
            self.defs["DOUBLE"] = None
        self.module = SourceModule(read(find_kernel("search"), self.defs), options=["--use_fast_math"])

class Second:
    def __init__(self):
        self.first = Search()
        self.defs = self.first.defs
        self.module = SourceModule(read(find_kernel("second"), self.defs))

def pairs(wide):
    if wide:
        kind, marker = "int", -2 ** 31
        code = "#define SAME 1\\n" + TEMPLATE.format(marker=-1, kind="int")
    else:
        code = TEMPLATE.format(marker=-2, kind="short") + "#define SAME 1\\n"
    code += open("kernels/pairs.cu").read()
    return SourceModule(code)

Search(size=64)
"""
    found, _ = drafted([f"kernels/{name}.cu" for name in ("search", "second", "pairs")], **{"p/use.py": text})
    assert {"second_{SIZE}", "second_DOUBLE_{SIZE}"} < found.keys()
    assert {name: one.stated for name, one in found.items() if name.startswith("search")} == {
        "search_{SIZE}": {
            "matrix": {"SIZE": ["256", "64"]},
            "options": {"use_fast_math": True, "define": {"SIZE": "{SIZE}"}},
        },
        "search_DOUBLE_{SIZE}": {
            "matrix": {"SIZE": ["256", "64"]},
            "options": {"use_fast_math": True, "define": {"SIZE": "{SIZE}", "DOUBLE": None}},
        },
    }
    assert found["search_{SIZE}"].guesses == ["SIZE may have other values: self.size at p/use.py:19; list them"]
    wide, narrow = (found[name].stated for name in ("pairs_{MARKER}_{pair_t}", "pairs_2_{MARKER}_{pair_t}"))
    assert wide["matrix"] == {"MARKER": ["-1"], "pair_t": ["int2"]}
    assert wide["options"]["define"] | {"make(x)": "make_int2(x, x)", "SAME": "1"} == wide["options"]["define"]
    assert narrow["matrix"] == {"MARKER": ["-2"], "pair_t": ["short2"]}


#: Each function returns one of two calls of the next.
DOUBLED = "".join(f"def f{at}(a):\n    return f{at + 1}(a) if a else f{at + 1}(not a)\n" for at in range(40))


@pytest.mark.parametrize(
    "text",
    [
        "def load(file):\n    file = file + '.cu'\n    return RawModule(code=open(file).read())\nload(load)\n",
        "RawModule(code=open(x := x + x).read(), options=options)\noptions = [*options, options]\n",
        "class A:\n  def f(self):\n    self.a = self.b\n    self.b = self.a\n    RawModule(open(self.a).read())\n",
        "def f(a):\n    for k, v in a.items():\n        k.replace(k, v)\n    RawModule(open(a).read())\nf(**f)\n",
        "def f(a): return g(a)\ndef g(a): return f(a)\nRawKernel(open(f(1)).read(), 'k')\n",
        "RawModule(code=open('%s.cu' % ()).read(), options=('{' + '}').format())\nRawModule(\n",
        pytest.param(DOUBLED + "RawModule(open(f0(1)).read())\n", marks=pytest.mark.slow),
        "RawModule()\nRawModule(code='{} {1} {a}'.format(*x), options=2 // 0)\nopen()\n'a' % 'b' % 'c'\n",
    ],
)
def test_what_tells_nothing_gives_nothing(text, drafted):
    """Names that refer to themselves, choices without end, formats that do not fit, and no Python at all."""
    assert drafted(["k.cu", "kernels/k.cu"], **{"use.py": text}) == ({}, [])


def test_a_matrix_excludes_what_is_never_together():
    """Two values that no combination has, or else whole combinations; without axes there is no matrix."""
    alike = [{"A": one, "B": one, "C": other} for one in "xyz" for other in "12"]
    assert matrix_of(alike) == {
        "matrix": {"A": ["x", "y", "z"], "B": ["x", "y", "z"], "C": ["1", "2"]},
        "exclude": [{"A": one, "B": other} for one in "xyz" for other in "xyz" if one != other],
    }
    rows = [{"A": a, "B": b, "C": c} for a in "01" for b in "01" for c in "01" if (a, b, c) != ("1", "1", "1")]
    assert matrix_of(rows)["exclude"] == [{"A": "1", "B": "1", "C": "1"}]
    assert matrix_of([]) == {}


@pytest.mark.slow
def test_init_drafts_what_a_loader_compiles(tmp_path, monkeypatch, capsys):
    """The variants that compile, in a manifest that builds; others are left out, and text in Python is named."""
    kernel = 'extern "C" __global__ void {}(float* p) {{ *p = TYPE({}) * LIMIT; }}\n'
    files = {
        "pyproject.toml": PYPROJECT,
        "p/__init__.py": "",
        "p/loading.py": LOADER,
        "p/use.py": "from .loading import load_kernel\n"
        'for kind in ("float", "double"):\n    pass\n'
        'def load(type="float"):\n'
        '    if type not in ("float", "double", "Nothing"):\n        raise ValueError\n'
        '    return load_kernel("fill", {"TYPE": type}), load_kernel("plain", {"TYPE": "int"})\n'
        'load_kernel("refused", {"TYPE": "int", "SIZE": 2})\n',
        "p/text.py": "import cupy\nk = cupy.RawKernel('__global__ void f() {}', 'f')\n",
        "p/old.py": "print 'RawModule'\n",
        "tests/test_p.py": "import cupy\nk = cupy.RawKernel('__global__ void g() {}', 'g')\n",
        "kernels/fill.cu": kernel.format("fill", 1),
        "kernels/plain.cu": "inline TYPE two() { return 2; }\n" + kernel.format("plain", "two()"),
        "kernels/refused.cu": kernel.format("refused", "missing[SIZE]"),
    }
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    if hasattr(os, "mkfifo"):  # Windows has none
        os.mkfifo(tmp_path / "p" / "pipe.py")
    assert main(["init", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    modules = load_manifest(tmp_path / "kernels.yaml").modules
    assert [(one.name, one.entry) for one in modules] == [
        ("fill_double", "fill_{TYPE}"),
        ("fill_float", "fill_{TYPE}"),
        ("plain_int", "plain_{TYPE}"),
    ]
    text = (tmp_path / "kernels.yaml").read_text()
    assert "matrix: {TYPE: [float, double]}\n" in text
    refusal = 'kernels/fill.cu:1:50: error: identifier "Nothing" is undefined'
    assert f"    # other combinations are left out: {refusal}\n" in text
    assert (
        "  # p/text.py:2: a kernel that is text in Python; move the text into a .cu file, and run init again\n" in text
    )
    assert '  # kernels/refused.cu: kernels/refused.cu:1:58: error: identifier "missing" is undefined\n' in text
    assert "  # p/old.py: this Python cannot read it, so that what it compiles is not known\n" in text
    assert "test_p" not in text
    assert [note for note in done["notes"] if note.startswith("-std=")] == [
        "-std=c++14 is left out: the headers of CUDA 13 need C++17, the default"
    ]
    assert main(["build", "--out", "store"]) == 0
