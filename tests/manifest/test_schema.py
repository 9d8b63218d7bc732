from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields

import pytest
import yaml

from hatch_cuda_kernels.errors import ManifestError
from hatch_cuda_kernels.manifest import manifest_schema, parse_manifest
from hatch_cuda_kernels.manifest.keys import field_docs
from hatch_cuda_kernels.options import NvrtcOptions


def json_schema():
    """Return the class that checks documents; its package takes a second to import where all formats are known."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator


#: Where each mapping with known keys stands, as text around one more entry.
HOLES = {
    None: "schema: 1\nmodules: {a: {source: a.cu}}\n%s\n",
    "options": "schema: 1\nmodules: {a: {source: a.cu}}\noptions: {%s}\n",
    "module": "schema: 1\nmodules: {a: {source: a.cu, %s}}\n",
    "package": "schema: 1\nmodules: {a: {source: a.cu}}\noptions: {include: [{package: yaml, folder: ., %s}]}\n",
    "variable": "schema: 1\nmodules: {a: {source: a.cu}}\noptions: {define_from: {A: {env: PATH, %s}}}\n",
    "launch": "schema: 1\nmodules: {a: {source: a.cu, launch: {k: {grid: 1, block: 1, %s}}}}\n",
    "supports": "schema: 1\nmodules: {a: {source: a.cu}}\nsupports: {devices: ['9.0'], %s}\n",
}

GOOD = [
    "cuda: '13.0'",
    "cuda: '12.9'",
    "arches: all",
    "arches: [sm_90a, compute_100f, all-major]",
    "options: {}",
    "options: {std: c++20, ftz: false, maxrregcount: 255, include: [inc], extra: [-w, -w]}",
    "options: {include: [inc, {package: yaml, folder: .}]}",
    "options: {define: {V: 8.10, W: yes, X: null, Y: , Z: 'a b'}, pre_include: [cuda_fp16.h]}",
    "options: {define: {M(x): '#x', 'N(a, b, ...)': , 'V( ... )': 1, E(): 2}, define_from: {P: {env: PATH}}}",
    "supports: {devices: ['9.0', '12.1'], driver: '13.0'}",
    "packing: solid",
    "max_wheel_size: 5000000",
    "max_wheel_size: 1.5 MiB",
]
GOOD_MODULES = [
    "launch: {k: {grid: 'ceil_div(n, 4)', block: [1, n], shared_mem: 4 * n, cluster: 2, priority: -1, carveout: 0}}",
    "options: {define_from: {P: {env: PATH}}}",
    "kernels: []",
    "packing: none",
    "instances: ['f<{T}>'], matrix: {T: [int, 8.1, 8.10, no]}",
    "instances: ['f<{M}>'], matrix: {M: [1]}",
    "globals: [d_filter], headers: [inc/*.h], arches: [sm_80], front_end: ptx, options: {lineinfo: true}",
]
BAD = [
    "cuda: 13.0",
    "cuda: '11.8'",
    "cuda: '12.8'",
    "arches: []",
    "arches: sm_90",
    "arches: [90]",
    "arches: [sm_90, sm_90]",
    "arch: [sm_90]",
    "options:",
    "options: {std: c++11}",
    "options: {ftz: 1}",
    "options: {ftz: null}",
    "options: {maxrregcount: 0}",
    "options: {maxrregcount: '64'}",
    "options: {include: inc}",
    "options: {include: [/inc]}",
    "options: {include: [{package: yaml}]}",
    "options: {include: [{package: 'a/b', folder: .}]}",
    "options: {include: [{package: yaml, folder: /inc}]}",
    "options: {include: ['C:/inc']}",
    "options: {define: {1a: 2}}",
    "options: {define: {M(1): 2}}",
    "options: {define: {'M(x': 2}}",
    "options: {define: {'M(..., x)': 2}}",
    "options: {define_from: {A: PATH}}",
    "options: {define_from: {A: {}}}",
    "options: {define_from: {A(x): {env: PATH}}}",
    "options: {define_from: {A: {env: a-b}}}",
    "options: {define: {A: [2]}}",
    "options: {define: [A]}",
    "supports: {driver: '13.0'}",
    "supports: {devices: [9.0]}",
    "supports: {devices: []}",
    "packing: zip",
    "max_wheel_size: 0",
    "max_wheel_size: 5.5",
    "max_wheel_size: 5 mb",
    "max_wheel_size: '5000000'",
]
BAD_MODULES = [
    "launch: [k]",
    "launch: {k: 1}",
    "launch: {k: {grid: 1}}",
    "launch: {k: {grid: 1.5, block: 1}}",
    "launch: {k: {grid: [1, 2, 3, 4], block: 1}}",
    "launch: {k: {grid: -1, block: 1}}",
    "launch: {k: {grid: 1, block: 1, cluster: [0]}}",
    "launch: {k: {grid: 1, block: 1, pdl: 1}}",
    "source: 1",
    "kernels: f",
    "kernels: [1]",
    "kernels: ['']",
    'kernels: ["a\\tb"]',
    "matrix: {T: []}",
    "matrix: {T: int}",
    "matrix: {T: [[int]]}",
    "matrix: {T: [null]}",
    "matrix: {T-1: [int]}",
    "exclude: {T: int}",
    "exclude: [{}]",
    "exclude: [{T: [int]}]",
    "combinations: {T: int}",
    "combinations: [{}]",
    "front_end: fast",
    "packing: true",
    "arches: all_major",
]


@pytest.fixture
def root(tmp_path):
    """Return a project folder with the files the examples name."""
    (tmp_path / "a.cu").touch()
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "a.h").touch()
    return tmp_path


def schema_takes(text):
    """Tell whether an editor that knows the schema shows no error."""
    return json_schema()(manifest_schema()).is_valid(yaml.safe_load(text))


def reader_problems(text, root):
    """Return what a build says about a manifest."""
    try:
        parse_manifest(text, root=root)
    except ManifestError as error:
        return error.problems
    return ()


def in_manifest(snippet):
    """Return a manifest with a key at its top."""
    return f"schema: 1\n{snippet}\nmodules: {{a: {{source: a.cu}}}}\n"


def in_module(snippet):
    """Return a manifest with keys in its one module."""
    source = "" if snippet.startswith("source") else "source: a.cu, "
    return f"schema: 1\nmodules: {{a: {{{source}{snippet}}}}}\n"


@pytest.mark.slow
def test_is_a_json_schema():
    """The schema is valid draft 2020-12 and plain JSON."""
    schema = manifest_schema()
    json_schema().check_schema(schema)
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize("text", [*map(in_manifest, GOOD), *map(in_module, GOOD_MODULES)])
def test_takes_what_the_reader_takes(text, root):
    """An editor shows no error in a manifest that builds."""
    assert reader_problems(text, root) == ()
    assert schema_takes(text)


@pytest.mark.parametrize(
    "text",
    [
        *map(in_manifest, BAD),
        *map(in_module, BAD_MODULES),
        "modules: {a: {source: a.cu}}",
        "schema: 2\nmodules: {a: {source: a.cu}}",
        "schema: 1",
        "schema: 1\nmodules: {}",
        "schema: 1\nmodules: {a: {}}",
        "schema: 1\nmodules: {a: }",
        "schema: 1\nmodules: {a.b: {source: a.cu}}",
        "schema: 1\nmodules: [a]",
        "[]",
    ],
)
def test_refuses_what_the_reader_refuses(text, root):
    """A mistake of form shows in the editor already."""
    assert reader_problems(text, root)
    assert not schema_takes(text)


@pytest.mark.parametrize("name", HOLES, ids=str)
def test_reader_and_schema_have_the_same_keys(name, root):
    """The keys the reader says it knows are the schema's, for every mapping with known keys."""
    schema = manifest_schema()
    table = schema["$defs"][name] if name else schema
    (problem,) = reader_problems(HOLES[name] % "zzzzzz: 1", root)
    known = re.search(r": unknown key; known here: (.*)$", problem)[1].split(", ")
    assert known == list(table["properties"])
    assert table["additionalProperties"] is False


def test_no_mapping_is_left_out_of_the_drift_test():
    """Every definition of the schema is one the test above looks at."""
    assert {None, *manifest_schema()["$defs"]} == set(HOLES)


def test_every_option_is_a_key():
    """A new field of NvrtcOptions can be set in a manifest, under its own name, and is described."""
    options = manifest_schema()["$defs"]["options"]["properties"]
    assert list(options) == [*(option.name for option in fields(NvrtcOptions)), "define_from"]
    assert {name for name, option in options.items() if not option.get("description")} == set()


def test_every_key_is_described():
    """An editor can explain every key."""
    schema = manifest_schema()
    tables = [schema, *schema["$defs"].values()]
    assert [key for table in tables for key, value in table["properties"].items() if not value.get("description")] == []


def test_defaults_are_the_options_own():
    """The schema shows a default where an option has one that means something."""
    options = manifest_schema()["$defs"]["options"]["properties"]
    assert {name: option["default"] for name, option in options.items() if "default" in option} == {
        "std": "c++17",
        "use_fast_math": False,
        "lineinfo": False,
        "debug": False,
        "lto": False,
        "default_device": False,
        "standard_headers": True,
        "host_code": "auto",
    }


def test_field_docs():
    """The docstring under a field belongs to the field above it; a field without one has none."""

    @dataclass
    class Example:
        """Not a field's."""

        first: int = 0
        """One.

        More."""
        second: int = 1
        third: int = 2
        """Three."""

    assert field_docs(Example) == {"first": "One.\n\nMore.", "third": "Three."}


def test_field_docs_without_source():
    """Where the source is not installed there are no descriptions, and no error."""
    assert field_docs(type("Made", (), {"__module__": __name__})) == {}
