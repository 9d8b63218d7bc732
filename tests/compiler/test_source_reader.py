"""Sources that are remembered are as they would be read now, whatever happened to the project since."""

from __future__ import annotations

import ast
import random
import shutil
from pathlib import Path

import pytest

from hatch_cuda_kernels import NvrtcOptions
from hatch_cuda_kernels.cache.disk import Notes
from hatch_cuda_kernels.compiler import recipe_reader, source_reader
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.source_reader import SourceReader, rule_files
from hatch_cuda_kernels.compiler.toolchain import toolchain
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.includes import Asked
from hatch_cuda_kernels.options import HostCode, override_options

PACKAGE = Path(source_reader.__file__).parents[1]
FILES = {
    "k/a.cu": '#include "h.h"\n#include <cstdint>\n#include <cuda_fp16.h>\n__global__ void a(int* p) { *p = h(); }\n',
    "k/b.cu": "#include <deep/d.h>\n#include NAMED\n__global__ void b(int* p) { *p = d(); }\n",
    "k/c.cu": '#include "../inc/h.h"\nint host() { return 1; }\n__global__ void c(int* p) { *p = std::min(*p, 2); }\n',
    "k/lib.ptx": "// PTX\n",
    "inc/h.h": "#pragma once\n__device__ int h() { return 1; }\nvoid on_host();\n",
    "inc/deep/d.h": '#include "e.h"\n__device__ int d() { return 1; }\n',
    "inc/deep/e.h": "",
    "late/h.h": "__device__ int h() { return 2; }\n",
    "named/one.h": "__device__ int one() { return 1; }\n",
}
OPTIONS = NvrtcOptions(include=("inc", "late"), define=(("NAMED", '"named/one.h"'),))
RECIPES = (
    Recipe(module="a", sources=("k/a.cu",), options=OPTIONS),
    Recipe(module="b", sources=("k/b.cu",), options=OPTIONS, headers=("named/*.h",)),
    Recipe(module="c", sources=("k/c.cu",), options=override_options(OPTIONS, host_code=HostCode.DROP)),
    Recipe(module="l", sources=("k/a.cu", "k/c.cu"), options=OPTIONS, libraries=("k/lib.ptx",)),
)


@pytest.fixture
def project(tmp_path, fresh_cache):
    """Return a project, of which nothing is remembered yet."""
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


@pytest.fixture
def read(monkeypatch):
    """Return the list of modules that were read, not recalled."""
    done = []
    plain = recipe_reader.read_recipe
    monkeypatch.setattr(
        recipe_reader, "read_recipe", lambda recipe, *a, **k: done.append(recipe.module) or plain(recipe, *a, **k)
    )
    return done


def remember(root, recipes=RECIPES):
    """Return what a process gets of a project's modules, as the next process does; for each its sources or problem."""
    reader = SourceReader(root, [recipe.module for recipe in recipes])
    found = [outcome(reader.read, recipe) for recipe in recipes]
    reader.save()
    return found


def outcome(read, *about):
    """Return what a call returns, or says."""
    try:
        return read(*about)
    except InputError as error:
        return str(error)


def as_read_now(root, recipes=RECIPES):
    """Return what reading without any note gives."""
    return [outcome(read_recipe, recipe, root) for recipe in recipes]


@pytest.mark.slow
def test_nothing_is_read_again_where_nothing_changed(project, read):
    """From the second process on, and what is recalled is the same in every field."""
    first = remember(project)
    assert not any(isinstance(found, str) for found in first)
    assert read == ["a", "b", "c", "l"]
    read.clear()
    assert remember(project) == first
    assert not read
    assert first == as_read_now(project)
    assert first[2].changes


@pytest.mark.slow
def test_a_copy_of_the_project_is_not_read_either(project, tmp_path_factory, read):
    """``python -m build`` unpacks the sdist into another folder each time."""
    first = remember(project)
    copy = shutil.copytree(project, tmp_path_factory.mktemp("copy") / "project")
    read.clear()
    assert remember(copy) == first
    assert not read


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ({"k/a.cu": FILES["k/a.cu"] + "// x\n"}, {"a", "l"}),
        ({"inc/deep/e.h": "#define E\n"}, {"b"}),
        ({"k/lib.ptx": "// others\n"}, {"l"}),
        ({"k/h.h": "__device__ int h() { return 3; }\n"}, {"a", "b", "c", "l"}),  # is found before inc/h.h
        ({"named/two.h": ""}, {"a", "b", "c", "l"}),  # a glob finds it
        ({"inc/cstdint": "#define OWN_CSTDINT\n"}, {"a", "b", "c", "l"}),  # what a standard header answered to
        ({"inc/other.h": "", "notes.txt": "", "dist/k.whl": ""}, set()),
    ],
)
def test_what_changed_is_read_again_and_nothing_else(project, read, changed, again):
    """A file of a module concerns it alone; where files lie may concern all."""
    remember(project)
    for path, text in changed.items():
        (project / path).parent.mkdir(exist_ok=True)
        (project / path).write_text(text)
    read.clear()
    found = remember(project)
    assert {*read} == again
    assert found == as_read_now(project)


@pytest.mark.slow
def test_other_options_and_modules_are_read(project, read):
    """A note is of modules by name, and of each as it is stated."""
    remember(project)
    read.clear()
    remember(project, [RECIPES[0], *RECIPES[2:], Recipe(module="b", sources=("k/b.cu",), options=OPTIONS)])
    assert read == ["b"]
    read.clear()
    remember(project, RECIPES[:1])
    assert read == ["a"]


@pytest.mark.slow
def test_toolkit_code_and_damage_are_noticed(project, read, monkeypatch, fresh_cache):
    """What decides, besides the project, and a note that is not as it was written."""
    first = remember(project)
    read.clear()
    with monkeypatch.context() as patch:
        patch.setattr(source_reader, "_code", lambda: "other code")
        remember(project)
        assert len(read) == 4
    plain = toolchain.installed_headers
    with monkeypatch.context() as patch:
        asks = Asked(frozenset({"h.h"}))
        patch.setattr(source_reader, "installed_headers", lambda: plain()._replace(asks=lambda _: asks))
        read.clear()
        assert remember(project) != first
        assert len(read) == 4
    for damage in (b"", b"{}", b'{"packed": 1, "sha256": ""}', None):
        remember(project)
        for note in (fresh_cache / "notes").glob("sources-*"):
            note.write_bytes(note.read_bytes().replace(b"A", b"B", 9) if damage is None else damage)
        read.clear()
        assert remember(project) == first
        assert len(read) == 4


@pytest.mark.slow
@pytest.mark.slow
def test_a_long_text_is_taken_from_its_file(project, read, fresh_cache):
    """A note does not repeat tables of megabytes, which would make it too long to be written."""
    numbers = ", ".join(map(str, range(1 << 16)))
    text = f"__device__ int h() {{ return 1; }}\n__constant__ int table[] = {{{numbers}}};\n"
    (project / "inc/h.h").write_text(text)
    first = remember(project)
    [note] = (fresh_cache / "notes").glob("sources-*")
    assert note.stat().st_size < len(text) // 8
    read.clear()
    assert remember(project) == first
    assert not read


def test_all_code_that_reads_is_among_the_rules():
    """What another version made is not recalled. Hashing and messages decide nothing, and answers are compared."""
    seen = {Path(path) for path in rule_files()}
    waiting = [path for path in seen if path.suffix == ".py"]  # the others are data
    while waiting:
        fresh = loaded_by(waiting.pop()) - seen
        seen |= fresh
        waiting += [path for path in fresh if path.parent.name not in {"cache", "toolchain"}]
    others = seen - {Path(path) for path in rule_files()}
    found = {path.relative_to(PACKAGE).as_posix() for path in others}
    assert found <= {"compiler/toolchain/toolchain.py", "errors.py", "terminal.py"} | {
        "compiler/binary/mangling.py",  # of symbols, after a compile
        "collector.py",
        "doors.py",
        "integrity.py",  # of options, which are asked for by their values
        "records.py",  # which makes classes
    }


def loaded_by(path):
    """Return the files of this package that a file imports, wherever in it, but not those for type checkers alone."""
    tree = ast.parse(path.read_text())
    blocks = (node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    apart = {id(node) for block in blocks for node in ast.walk(block)}
    wanted = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and id(node) not in apart)
    places = {(PACKAGE.parent / node.module.replace(".", "/"), name.name) for node in wanted for name in node.names}
    files = {file for place, name in places for file in (place.with_suffix(".py"), place / f"{name}.py")}
    return {file for file in files if file.is_file() and PACKAGE in file.parents}


@pytest.mark.slow
def test_a_package_that_is_not_in_files_remembers_nothing(project, read, monkeypatch):
    """Nobody could tell which code read."""
    monkeypatch.setattr(source_reader, "_code", lambda: "")
    remember(project)
    read.clear()
    remember(project)
    assert len(read) == 4


def test_a_note_that_would_not_be_read_is_not_written(fresh_cache):
    """The one before it stays."""
    notes = Notes("large")
    notes.write("small", {"text": "x"})
    notes.write("small", {"text": "x" * (17 << 20)})
    assert notes.read("small") == {"text": "x"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_any_history_gives_what_reading_gives(project, seed):
    """Files come, go, change, and change places; links and folders take their names."""
    chance = random.Random(seed)
    outside = project.parent / f"{project.name}-outside.h"
    outside.write_text("")
    remember(project)
    for _ in range(12):
        for _ in range(chance.randint(1, 3)):
            change(project, chance, outside)
        assert remember(project) == as_read_now(project)
        assert remember(project) == as_read_now(project)


def change(root, chance, outside):
    """Do something to a project."""
    folders = ("k", "inc", "inc/deep", "late", "named", "")
    names = ("h.h", "d.h", "e.h", "deep", "cstdint", "one.h", "two.h", "a.cu", "x.txt", "lib.ptx")
    path = root / chance.choice(folders) / chance.choice(names)
    if not path.parent.is_dir():
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    text = chance.choice(['#include "e.h"\n', "#define X\n", "#include <h.h>\n", "int f() { return 1; }\n", ""])
    chance.choice(
        [
            *[lambda: path.write_text(text)] * 4,
            *[lambda: path.write_text(FILES.get(path.relative_to(root).as_posix(), ""))] * 2,
            path.mkdir,
            lambda: path.symlink_to(root / chance.choice([*FILES])),
            lambda: path.symlink_to(outside),
            lambda: None,
        ]
    )()
