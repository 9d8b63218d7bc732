"""The reference names every key, option, variable, command, field, error and function, each as the code has it."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shutil
import sys
import textwrap
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, cached_property

import pytest
from doc_blocks import DOCS, PAGES, ROOT, blocks_of, write
from doc_tables import coded, first_words, rows, section

import hatch_cuda_kernels
from hatch_cuda_kernels import cli, environment, errors, open_store
from hatch_cuda_kernels.manifest import manifest_schema, parse_manifest
from hatch_cuda_kernels.manifest.keys import TABLES
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.store.index import ImageRecord, ModuleIndex
from hatch_cuda_kernels.vendor import header_text

sys.path.append(str(DOCS / "tools"))

from declarations import declared

EXAMPLE = ROOT / "example_project"
MANIFEST, HOOK, CLI, ENVIRONMENT, API, STORE = (
    DOCS / "reference" / f"{name}.md" for name in ("manifest", "hook", "cli", "environment", "api", "store")
)
VARIABLE = re.compile(r"HATCH_CUDA_KERNELS_[A-Z_]+")


TABLE_HEADINGS = {
    "manifest": "## Top level",
    "module": "## A module",
    "options": "## Options",
    "package": "## Package",
    "variable": "## Variable",
    "launch": "## Launch",
    "supports": "## Supports",
}


@pytest.mark.parametrize("table", TABLES)
def test_manifest_reference_names_every_key(table):
    """Every key of a table has its row, in the reader's order, and no other key has; required ones say so."""
    heading = TABLE_HEADINGS[table]
    assert first_words(MANIFEST, heading) == list(TABLES[table])
    assert [row[2] == "required" for row in rows(MANIFEST, heading)] == [
        bool(k.required) for k in TABLES[table].values()
    ]


#: What the reference calls a text, with one that is such a text and one that is none. No path has a backslash.
NOUNS = {
    "text": ("a\\b", "a\nb"),
    "name": ("a\\b", "a\nb"),
    "name expression": ("a\\b", "a\nb"),
    "flag": ("a\\b", "a\nb"),
    "path": ("kernels/a.cu", "/kernels/a.cu"),
    "folder": ("include", "/include"),
    "header": ("include/a.cuh", "C:/a.cuh"),
    "pattern": ("include/*.inc", "/include/*.inc"),
    "path of a `.pyi`": ("mylib/kernels.pyi", "mylib/kernels.py"),
    "compute capability": ("9.0", "sm_90"),
}
#: What has a schema of alternatives, and how the reference names it.
ALTERNATIVES = {
    "arches": "[architectures](#architectures)",
    "max_wheel_size": "bytes, or text such as `5 MB`",
    "include": "folder, or of [packages](#package)",
    "grid": "one to three [expressions](#expressions)",
    "block": "one to three [expressions](#expressions)",
    "cluster": "one to three integers",
}


def worded(key, schema):
    """Return how the reference words the type of a JSON Schema; None where that is not settled by the schema."""
    words = "boolean" if schema.get("type") == "boolean" else None
    match schema:
        case {"const": value}:
            words = f"`{value}`"
        case {"enum": [*others, last]}:
            words = f"{', '.join(f'`{word}`' for word in others)} or `{last}`"
        case {"$ref": target}:
            name = target.rpartition("/")[2]
            words = f"[{name}](#{TABLE_HEADINGS[name].strip('# ').lower().replace(' ', '-')})"
        case {"anyOf": _}:
            words = ALTERNATIVES[key]
        case {"type": "integer", "minimum": lowest, "maximum": highest}:
            words = f"{lowest} to {highest}"
        case {"type": ["integer", "string"]}:
            words = "one [expression](#expressions)"
        case {"type": ["string", "number", "boolean", *_]}:  # what YAML makes of C++ text as it is written
            words = "C++ text"
    return words


def assert_type(shown, key, schema):
    """Check that a type as the reference words it is that of a JSON Schema."""
    settled = worded(key, schema)
    if settled is not None:
        assert shown == settled
    elif schema["type"] == "array":
        assert shown.startswith("list of ")
        assert_type(singular(shown.removeprefix("list of ")), key, schema["items"])
    elif schema["type"] == "object":
        name, _, value = shown.partition(" to ")
        assert name in {"mapping of a name", "mapping of an axis"}
        assert_type(value.removeprefix("a "), key, schema["additionalProperties"])
    else:
        assert_text(shown, schema["pattern"])


def assert_text(shown, pattern):
    """Check that a pattern takes what the reference calls a text, or the example that it gives, and not all else."""
    noun, _, example = shown.partition(", such as ")
    good, bad = NOUNS[noun]
    assert re.search(pattern, example.strip('`"') or good)
    assert not re.search(pattern, bad)


MAPPINGS = "mappings of an axis to C++ text"


def singular(words):
    """Return the singular of a noun, an example after it left as it is."""
    noun, comma, example = words.partition(",")
    noun = {"compute capabilities": "compute capability", MAPPINGS: MAPPINGS.replace("mappings", "mapping")}.get(
        noun, noun
    )
    return f"{noun.removesuffix('s')}{comma}{example}"


@pytest.mark.parametrize("table", TABLES)
def test_manifest_reference_has_the_types(table):
    """The type shown of a key is the one that the JSON Schema, and so the reader, has."""
    schema = manifest_schema()
    properties = (schema if table == "manifest" else schema["$defs"][table])["properties"]
    shown = {coded(row[0])[0]: row[1] for row in rows(MANIFEST, TABLE_HEADINGS[table])}
    for key, kind in properties.items():
        assert_type(shown[key], key, kind)


@pytest.mark.parametrize("example", [1, "5 MB", "5 KB", "5 kB", "5 GB", "5 KiB", "5 MiB", "5 GiB"])
def test_manifest_reference_has_the_units(example, tmp_path):
    """Every unit that the reference names of a size is taken."""
    write(tmp_path / "m.cu", "")
    text = f"{{schema: 1, modules: {{m: {{source: m.cu}}}}, max_wheel_size: {example}}}"
    assert parse_manifest(text, root=tmp_path).max_wheel_size
    unit = str(example).removeprefix("5 ")
    assert unit == "1" or f"`{unit}`" in section(MANIFEST, "## Top level")


def test_manifest_reference_has_the_defaults(tmp_path):
    """What is left out of a manifest has the default shown."""
    write(tmp_path / "m.cu", "")
    least = "{schema: 1, modules: {m: {source: m.cu}}}"
    stated = {key: default.strip("`") for key, default in defaults("## Top level").items() if default.startswith("`")}
    assert stated == {"arches": "all-major", "options": "{}", "packing": "auto"}
    written = f"{{schema: 1, modules: {{m: {{source: m.cu}}}}, {', '.join(f'{k}: {v}' for k, v in stated.items())}}}"
    assert parse_manifest(written, root=tmp_path).modules == parse_manifest(least, root=tmp_path).modules
    (module,) = parse_manifest(least, root=tmp_path).modules
    empty = {"kernels": "`[]`", "instances": "`[]`", "matrix": "`{}`", "globals": "`[]`", "headers": "`[]`"}
    inherited = dict.fromkeys(("arches", "options", "max_spill_bytes", "packing"), "the manifest's")
    own = {
        "source": "required",
        "sources": "one: `source`",
        "libraries": "`[]`",
        "exclude": "`[]`",
        "combinations": "`[]`",
        "chunk": "none",
        "front_end": f"`{module.front_end}`",
        "launch": "`{}`",
    }
    assert defaults("## A module") == empty | inherited | own
    assert not any((module.kernels, module.instances, module.chunk, module.patterns, module.globals, module.headers))
    assert not module.launch


def defaults(heading):
    """Return the default that a table of the manifest's reference shows of each key."""
    return {coded(row[0])[0]: row[2] for row in rows(MANIFEST, heading)}


def test_manifest_reference_has_the_options_defaults():
    """The default shown of an option is the one it has."""
    listed = {coded(row[0])[0]: row[2] for row in rows(MANIFEST, "## Options")}
    words = {None: "NVRTC's", (): "`[]`"}
    defaults = {field.name: field.default for field in fields(NvrtcOptions)}
    expected = {name: words.get(default, f"`{default!s}`".lower()) for name, default in defaults.items()}
    assert listed == expected | {"maxrregcount": "none", "define": "`{}`", "define_from": "`{}`"}


def test_hook_reference_names_every_option():
    """Every option of the hook has its row, and no other has."""
    from hatch_cuda_kernels.plugin.hook import _OPTIONS

    assert first_words(HOOK, "# Hook") == list(_OPTIONS)
    words = {str: "text", int: "integer", bool: "boolean"}
    assert [row[1] for row in rows(HOOK, "# Hook")] == [words[kind] for kind in _OPTIONS.values()]


def test_environment_reference_has_the_cap():
    """The size shown that the disk cache stays below is the one it has."""
    from hatch_cuda_kernels.cache.disk import _DEFAULT_MAX_BYTES

    (row,) = (row for row in rows(ENVIRONMENT, "# Environment") if "MAX_BYTES" in row[0])
    assert row[1] == f"`{_DEFAULT_MAX_BYTES}`"


def test_environment_reference_names_every_variable():
    """The variables that are read are those in the reference; neither the source nor a page names another.

    The loader for C++ has macros of such names.
    """
    assert set(first_words(ENVIRONMENT, "# Environment")) == set(environment.OWN)
    named = [*PAGES, *(ROOT / "hatch_cuda_kernels").rglob("*.py")]
    macros = set(re.findall(r"#define (HATCH_CUDA_KERNELS_\w+)", header_text()))
    assert {name for path in named for name in VARIABLE.findall(path.read_text())} - macros == set(environment.OWN)


def test_environment_reference_names_only_variables_that_doctor_shows():
    """Whoever is sent to a variable of another program finds it in a bug report."""
    listed = {name for row in rows(ENVIRONMENT, "## Variables of other software") for name in coded(row[0])}
    assert listed <= set(environment.FOREIGN)


def commands():
    """Return the command line's commands with the flags they take, those of their actions included."""
    (action,) = (action for action in cli.make_parser()._actions if isinstance(action.choices, dict))
    return {name: flags(parser) for name, parser in action.choices.items()}


def flags(parser):
    """Return the long flags of a parser and of those below it, but those of every command."""
    found = {option for action in parser._actions for option in action.option_strings if option.startswith("--")}
    below = [sub for action in parser._actions if isinstance(action.choices, dict) for sub in action.choices.values()]
    return found.union(*map(flags, below)) - {"--help", "--quiet", "--verbose"}


def test_cli_reference_names_every_command_and_flag():
    """Each command has a section that names its flags and no others, and a row in the first table."""
    known = commands()
    assert re.findall(r"^## (.*)$", CLI.read_text(), re.MULTILINE) == list(known)
    said = {
        name: re.sub(r"^```json\n.*?^```$", "", section(CLI, f"## {name}"), flags=re.MULTILINE | re.DOTALL)
        for name in known
    }
    shown = {name: set(re.findall(r"--[a-z][a-z-]+", text)) for name, text in said.items()}
    assert shown == known
    assert [word.split()[0] for word in first_words(CLI, "# Command line")] == list(known)


def keys_of(data):
    """Return every key of JSON data but those that are names of modules, kernels, symbols or axes."""
    if isinstance(data, list):
        return {key for item in data for key in keys_of(item)}
    if not isinstance(data, dict):
        return set()
    by_name = {"modules", "kernels", "resources", "matrix", "options", "environment", "versions"}
    below = [
        keys_of([*value.values()] if key in by_name and isinstance(value, dict) else value)
        for key, value in data.items()
    ]
    return set(data).union(*below)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    ["init", "check", "build", "inspect", "explain", "verify", "report", "compare", "cache", "promote", "doctor"],
)
def test_cli_reference_names_every_json_field(command, capsys, example_store, make_project, tmp_path, monkeypatch):
    """Every field that a command prints is named where the command is described."""
    monkeypatch.chdir(tmp_path)
    manifest = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}") / "kernels.yaml"
    arguments = {
        "init": ["--name", "mylib"],
        "check": [manifest],
        "build": [manifest, "--out", tmp_path / "out"],
        "inspect": [example_store],
        "explain": ["saxpy", "--package", example_store, "--arch", "sm_90"],
        "report": [example_store, "--against", example_store],
        "compare": [example_store, tmp_path / "store"],
        "verify": [example_store, "--skip", "assembly"],
        "cache": ["info"],
        "promote": [EXAMPLE / "kernels.yaml", "--package", example_store],
        "doctor": [],
    }
    if command == "compare":
        shutil.copytree(example_store, tmp_path / "store")
        (tmp_path / "store" / "promises.json").unlink()
    if command == "promote":
        open_store(example_store).find_image("saxpy", arch="sm_75")
    assert cli.main([command, *map(str, arguments[command]), "--json"]) == 0
    printed = keys_of(json.loads(capsys.readouterr().out))
    resources = {"registers", "shared", "stack", "spill_stores", "spill_loads"}
    assert printed - resources <= set(coded(section(CLI, f"## {command}")))


@pytest.mark.slow
def test_store_reference_names_every_field(example_store, fresh_cache):
    """Every field of an index and of a cache entry is named."""
    index = json.loads((example_store / "reduce" / "index.json").read_text())
    index["files"] = {}  # keys are paths there
    known = keys_of(index) | set(ModuleIndex.__annotations__) | set(ImageRecord.__annotations__)
    assert known <= set(coded(section(STORE, "## The store")))
    promises = json.loads((example_store / "promises.json").read_text())
    assert keys_of(promises) <= set(coded(section(STORE, "### promises.json")))
    digests = json.loads((example_store / "digests.json").read_text())
    assert set(digests) <= set(coded(section(STORE, "### digests.json")))
    open_store(example_store).find_image("saxpy", arch="sm_75")
    entry = json.loads(next(fresh_cache.rglob("entry.json")).read_text())
    assert set(entry) <= set(coded(section(STORE, "## The disk cache")))


def test_cli_reference_names_every_check_of_verify():
    """The checks listed are those that run, in their order."""
    from hatch_cuda_kernels.verify import CHECKS

    assert first_words(CLI, "## verify") == list(CHECKS)


def public(test):
    """Return the public names whose values pass a test."""
    found = {name: getattr(hatch_cuda_kernels, name) for name in hatch_cuda_kernels.__all__}
    return {name: value for name, value in found.items() if test(value)}


def is_error(value):
    """Tell whether a value is a class of errors."""
    return inspect.isclass(value) and issubclass(value, Exception)


@cache
def described():
    """Return what the Python reference declares: by the name of each class and function, all its declarations."""
    code = [block.text for block in blocks_of(API) if block.language == "python"]
    found = {}
    for one in (one for text in code for one in declared(text) or ()):
        found.setdefault(one.name, []).append(one)
    return found


def members_of(name):
    """Return what the reference declares in a class, by name."""
    members = [member for one in described()[name] for member in one.members]
    assert len({member.name for member in members}) == len(members), name
    return {member.name: member for member in members}


def test_api_reference_has_every_name():
    """What can be imported is described, and nothing else."""
    assert set(described()) == set(hatch_cuda_kernels.__all__) - {"__version__"}


def assert_same_signature(stub, real):
    """Check that a stub has the kind, parameters, defaults and annotations of what it stands for."""
    function = getattr(real, "func", None) or getattr(real, "fget", None) or getattr(real, "__func__", None) or real
    written = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert type(stub) is type(written), stub.name
    assert ast.unparse(stub.args) == ast.unparse(written.args), stub.name
    assert ast.unparse(stub.returns) == ast.unparse(written.returns), stub.name
    marks = {ast.unparse(mark) for mark in written.decorator_list} & {"property", "cached_property", "classmethod"}
    assert {ast.unparse(mark) for mark in stub.decorator_list} == marks, stub.name


@pytest.mark.parametrize("name", sorted(public(inspect.isfunction)))
def test_api_reference_has_every_function(name):
    """Every public function is shown as it is written."""
    (stub,) = described()[name]
    assert_same_signature(stub.node, getattr(hatch_cuda_kernels, name))


def offered(real):
    """Return the public members of a class: methods and properties, and apart from these its attributes."""
    own = [base for base in real.__mro__[:-1] if base.__module__.startswith("hatch_cuda_kernels")]
    defined = {name: member for base in own for name, member in vars(base).items()}
    made = "".join(
        inspect.getsource(base.__init__) for base in own if "__init__" in vars(base) and not is_dataclass(base)
    )
    assigned = re.findall(r"^ +(self\.\w+(?:, self\.\w+)*)(?:: [^=]+)? = ", made, re.MULTILINE)
    fields = {name for base in own for name in getattr(base, "__annotations__", {}) if "ClassVar" not in str(base)}
    attributes = {name for targets in assigned for name in re.findall(r"self\.([a-z]\w*)", targets)} | fields
    attributes |= {member.name for member in real} if issubclass(real, Enum) else set()
    methods = {
        name
        for name, member in defined.items()
        if inspect.isroutine(member) or isinstance(member, property | classmethod | cached_property)
        if name not in fields  # declared with a type
        if not name.startswith("_")
        or (real in {hatch_cuda_kernels.Kernel, hatch_cuda_kernels.CupyKernel} and name in {"__call__", "__getitem__"})
    }
    return methods, {name for name in attributes - methods if not name.startswith("_")}


@pytest.mark.parametrize("name", sorted(public(inspect.isclass)))
def test_api_reference_has_every_member(name):
    """Every public method, property and attribute is shown, as it is written, and described."""
    real, members = getattr(hatch_cuda_kernels, name), members_of(name)
    methods, attributes = offered(real)
    assert set(members) == methods | attributes
    for member in set(members) & methods:
        assert_same_signature(members[member].node, inspect.getattr_static(real, member))
    if name not in {"NvrtcOptions", "CppStd", "HostCode"}:  # the manifest's reference describes these
        own_section = set(re.findall(rf"^### {name}\.(\S+)$", API.read_text().replace("\\", ""), re.MULTILINE))
        assert {member for member, stub in members.items() if not stub.comment} == own_section


def test_api_reference_tells_what_errors_derive_from():
    """And when each is raised."""
    for name in public(is_error):
        (shown,) = described()[name]
        bases = {ast.unparse(base) for base in shown.node.bases}
        assert bases <= {base.__name__ for base in getattr(errors, name).__mro__}
        assert shown.comment, name
