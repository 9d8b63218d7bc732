"""The loader for C++: it answers the conformance cases, launches on any driver, and survives damaged stores."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
from conformance_cases import CASES, HERE, KEYS, REASONS, case_id
from cpp_loader import COMPILERS, WARNINGS, damaged_stores, framed, made_program, run_program
from doc_blocks import DOCS, ROOT, blocks_of
from test_vendored_loader import write_library

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.errors import HatchCudaKernelsError, InputError
from hatch_cuda_kernels.names import normalize_name
from hatch_cuda_kernels.store import StoreReader
from hatch_cuda_kernels.vendor import cpp_text, embedded_files, header_text, object_file, table_of, why_old

#: Those that ask for no compile.
ASKED = [case for case in CASES if not case["ask"]["compiler"]]


@pytest.fixture(params=COMPILERS)
def program(request, tmp_path_factory, slow):
    """Return the folder of the program that has the loader."""
    return made_program(tmp_path_factory, request.param)


def in_words(answer):
    """Return an answer in the words of the cases."""
    if "refused" in answer:
        reasons = answer["refused"].items()
        answer["refused"] = {
            image: next(word for piece, word in REASONS.items() if piece in reason) for image, reason in reasons
        }
    if "path" in answer:
        path = Path(answer.pop("path"))
        answer["file"] = "/".join(path.parts[-2 if path.name == "index.json" else -1 :])
    return answer


def answers_to(program, asks):
    """Return what the loader answers to questions."""
    return run_program(program, "answers", given=json.dumps(asks).encode())


def test_a_folder_is_read_as_specified(program):
    """Each case that asks for no compile has the answer that the specification gives it; packed images are refused."""
    asks = [case["ask"] | {"store": str(HERE / case["ask"]["store"])} for case in ASKED]
    for case, answer in zip(ASKED, answers_to(program, asks), strict=True):
        if case["ask"]["store"] == "stores/packed" and answer != case["answer"]:
            assert any("it is packed" in reason for reason in answer["refused"].values())
            continue
        assert in_words(answer) == case["answer"], case_id(case)


UNKNOWN = [
    ("scale", {"N": "2", "T": "unsigned int"}, "the manifest excludes N=2, T=unsigned int"),
    ("scale", {}, "with no axis; N is 1 or 2; T is float"),
    ("scale", {"N": "1", "X": "2"}, "X is no axis of it; the value of T is missing; N is 1 or 2; T is float"),
    ("one", {"N": "3"}, "both 'one-{N}' and 'one_{N}' could have it; list it in the manifest"),
    ("other", {"N": "1"}, "no module 'other'; there are one, scale"),
    ("other", {}, "no module 'other'; there are one, scale, one-2, one_1"),
]


@pytest.mark.parametrize(
    ("family", "axes", "said"), UNKNOWN, ids=[f"{family}-{len(axes)}" for family, axes, _ in UNKNOWN]
)
def test_modules_that_are_not_found(program, family, axes, said):
    """The message is that of the package, where axes come in the order of the entry's name."""
    store = HERE / "stores" / "axes"
    ask = {"store": str(store), "device": "9.0", "driver": "13.0", "name": "one", "module": family, "axes": axes}
    (answer,) = answers_to(program, [ask | {"message": True}])
    with pytest.raises(HatchCudaKernelsError) as caught:
        open_store(store).module(family, **axes)
    assert said in answer
    assert sorted(re.findall(r"[^ ;:,]+", answer)) == sorted(re.findall(r"[^ ;:,]+", str(caught.value)))


def files_of(folder):
    """Return the files of a store as they are."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_table_is_read_as_specified(program, tmp_path):
    """The same for what ``embed`` writes, where all images are unpacked, and for tables of damaged files."""
    asks = []
    for case in ASKED:
        folder, table = HERE / case["ask"]["store"], tmp_path / case["ask"]["store"].replace("/", "-")
        if not table.exists():
            is_whole = folder.parent.name == "stores" and folder.name != "editable"
            table.write_bytes(table_of(embedded_files(StoreReader(folder)) if is_whole else files_of(folder)))
        asks.append(case["ask"] | {"table": str(table)})
    for case, answer in zip(ASKED, answers_to(program, asks), strict=True):
        assert in_words(answer) == case["answer"], case_id(case)


def test_spaces_count_in_strings_as_in_the_package(program, tmp_path):
    """Values that a macro has in a string are found as they are spelled, others with any spaces, by both loaders."""
    for quoted, found in (("{T}", "scale_unsigned_int-1"), ('f("{T}")', None)):
        folder = tmp_path / str(found)
        shutil.copytree(HERE / "stores" / "axes", folder)
        path = folder / "scale_float-1" / "details.json"  # which has what is said of the family
        details = json.loads(path.read_text())
        path.write_text(json.dumps(details | {"family": details["family"] | {"define": [["TYPE", quoted]]}}))
        (folder / "digests.json").unlink(missing_ok=True)
        case = next(case for case in ASKED if case["ask"].get("axes") == {"N": "1", "T": " unsigned  int"})
        [answer, plain] = answers_to(
            program,
            [
                case["ask"] | {"store": str(folder), "axes": {"N": "1", "T": text}}
                for text in (" unsigned  int", "unsigned int")
            ],
        )
        assert (answer.get("module"), plain["module"]) == (found, "scale_unsigned_int-1")
        if found is None:
            with pytest.raises(InputError, match="spaces count, because it is in a string"):
                open_store(folder).module("scale", N="1", T=" unsigned  int")


def test_keys_are_those_of_the_package(program):
    """However a person spells a name, its key is the package's."""
    dice = random.Random(1)
    words = "a b1 1 0x1p-3 ' \" u8 R\"( )\" < > ( ) [ ] { } :: : . \t é & * - + = / \\ \n % e # L'a' 1e+5 1'0 | ^ ! ..."
    made = ["".join(dice.choices([*words.split(" "), " "], k=dice.randrange(1, 14))) for _ in range(2000)]
    names = [*KEYS, *made]
    assert run_program(program, "keys", given=json.dumps(names).encode()) == [*map(normalize_name, names)]


def test_explanations_are_those_of_the_package(program):
    """Every candidate has the same words, whichever loader is asked."""
    named = [(case["ask"]["store"], case["ask"]["name"]) for case in ASKED if "names" not in case["ask"]["store"]]
    stores = [pair for pair in dict.fromkeys(named) if pair[0] in {"stores/devices", "stores/extended"}]
    places = [("8.7", "11.8"), ("9.0", "13.0"), ("10.3", "12.4"), ("11.0", "14.0"), ("12.1", "12.9")]
    asks = [
        {"store": str(HERE / store), "name": name, "device": device, "driver": driver, "explain": True}
        for store, name in stores
        for device, driver in places
    ]
    for ask, text in zip(asks, answers_to(program, asks), strict=True):
        driver = tuple(map(int, ask["driver"].split(".")))
        facts = {"arch": f"sm_{ask['device'].replace('.', '')}", "driver": driver, "policy": "prebuilt"}
        expected = str(open_store(ask["store"]).explain(ask["name"], **facts)).splitlines()
        assert prebuilt(text.splitlines()) == prebuilt(expected)


def prebuilt(lines):
    """Return the lines of an explanation about prebuilt images."""
    return [line for line in lines if " prebuilt " in line]


@pytest.fixture
def outcome(program, tmp_path):
    """Return what came of the program's launches."""
    write_library(tmp_path)
    store = tmp_path / "_kernels"
    odd = "odd\tm\todd\tb8[8]:4,b8[128]:64,b8[2]:2,u8,u64\todd\tPair;CUtensorMap;__half;bool;unsigned long*\n"
    twice = "".join(f"twice\t{module}\ttwice\t\ttwice\n" for module in "abc")
    lines = (store / "kernels.tsv").read_text().replace("saxpy\tm", f"{odd}saxpy\tm", 1)
    (store / "kernels.tsv").write_text(lines + twice)
    return run_program(program, "launch", str(store))


#: By row of the program: what is said of it.
ARGUMENTS = {
    "double*": "argument 0 (y) of saxpy is float*, got double*: the elements are of another type",
    "const float* for float*": "argument 0 (y) of saxpy is float*, got const float*: the kernel may write to it",
    "float**": "argument 0 (y) of saxpy is float*, got float**: the elements are of another type",
    "complex": "argument 0 (y) of saxpy is float*, got std::complex<float>*: the elements are of another type",
    "int for a pointer": "got 7, int: pass a pointer, nullptr, or an address as a 64-bit integer",
    "pair for a pointer": "pass a pointer, nullptr, or an address as a 64-bit integer",
    "2**40": "argument 2 (n) of saxpy is int, got 1099511627776, long",
    "2**31": "argument 2 (n) of saxpy is int, got 2147483648, unsigned int: it is out of range",
    "float for int": "got 1, float: it is no integer",
    "1e300": "argument 3 (a) of saxpy is float, got 1e+300, double: it is out of range",
    "pointer for float": "argument 3 (a) of saxpy is float, got const float*: it is no number",
    "three": "ArgumentError 3: saxpy takes 4 arguments (float* y, const float* x, int n, float a), got 3",
    "odd bool": "argument 3 of odd is bool, got 2, int: it is neither true nor false",
    "odd map": "argument 1 of odd is CUtensorMap, got Pair: it has 8 bytes instead of 128",
    "odd pair": "argument 0 of odd is Pair, got 1, double: it is no struct of 8 bytes",
    "odd word": "argument 4 of odd is unsigned long*, got unsigned int*: the elements are of another type",
    "odd half": "argument 2 of odd is __half, got 1.5, double: it is no struct of 2 bytes",
}


def test_arguments_are_checked(outcome):
    """By the kernel's C++ types: elements, const, ranges, sizes; the error says which, what it is and what it got."""
    taken = ("void*", "nullptr", "address", "-2**31", "int for float", "inf", "odd")
    assert {name: outcome[name] for name in taken} == dict.fromkeys(taken, "taken")
    assert {name: said for name, said in ARGUMENTS.items() if said not in outcome[name]} == {}, outcome


def test_a_launch_reaches_the_driver(outcome):
    """Sizes, stream, attributes and arguments; what no launch can have is refused before."""
    assert outcome["image"] == "compute_80"
    assert outcome["sizes"] == "20 1 1 128 2 1 16 "
    assert outcome["passed"] == "16 32 -5 2.500000"
    assert outcome["odd bytes"] == "15 1"
    assert (outcome["attributes of a launch"], outcome["empty grid"], outcome["variable"]) == ("4", "0", "16")
    assert "a size of the grid is not from 0" in outcome["grid of -1"]
    assert "a size of the block is not from 1" in outcome["block of 0"]
    assert "a block of 2048 threads: this kernel takes at most 1024" in outcome["block of 2048"]
    assert "a block has at most 1024 on this device" in outcome["much shared memory"]


def test_every_refusal_has_its_reason(outcome):
    """What was considered is listed with why not, and the error says what to do."""
    refused = "refused  prebuilt sm_90 cubin: refused by the driver: CUDA_ERROR_NO_BINARY_FOR_GPU (209)"
    assert refused in outcome["explained"]
    assert "-> accepted prebuilt compute_80 ptx" in outcome["explained"]
    assert "to fix: build the store with sm_75 among its arches" in outcome["no image"]
    assert "its kernel has other parameters than kernels.tsv" in outcome["other parameters"]
    assert "no kernel 'saxpi' in" in outcome["absent"]
    assert "its kernels: odd, saxpy" in outcome["absent"]
    assert outcome["absent variable"].endswith("; its variables: d_bias")
    assert outcome["in three modules"].endswith("pass one of a, b, c")


def test_contexts_and_threads(outcome):
    """A kernel is loaded once for each device, again after a reset, and by threads at once; a store unloads all.

    A store lives as long as its kernels.
    """
    assert outcome["threads"] == "taken taken taken taken "
    assert (outcome["libraries"], outcome["libraries at the end"]) == ("1", "0")
    assert outcome["kept"] == "taken"


def test_damaged_stores_are_refused(program, tmp_path):
    """Whatever is wrong with a store or a table, nothing but an error of the loader comes of it."""
    frames = []
    for number, (files, table) in enumerate(islice(damaged_stores(7), 300)):
        frames.append(framed("T", table))
        if number % 10 == 0 and all("\0" not in name for name in files):
            for name, data in files.items():
                path = tmp_path / str(number) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            frames.append(framed("F", str(tmp_path / str(number)).encode()))
    dice = random.Random(7)
    frames += [framed("N", dice.randbytes(dice.randrange(40))) for _ in range(300)]
    outcomes = run_program(program, "fuzz", given=b"".join(frames))
    assert outcomes["names"] == 300
    assert min(outcomes[name] for name in ("taken", "StoreError", "NoImageError", "NotFoundError")) > 100


#: Changes of an index as text, and whether it is still one; what is said of a member that nobody reads does not matter.
INDEXES = {
    "nothing": (lambda text: text, True),
    "a name twice, the last one right": (lambda text: text.replace('"images":', '"images": 7, "images":'), True),
    "a name twice, the last one wrong": (
        lambda text: text.replace('"schema":', '"schema": 2, "schema": 3, "x":'),
        False,
    ),
    "half a character in what nobody reads": (lambda text: text.replace("{", r'{"x": "\ud800",', 1), True),
    "an escaped name": (lambda text: text.replace('"images"', r'"\u0069mages"'), True),
    "half a character in a file": (lambda text: text.replace("exact.sm_90", r"exact\udc00.sm_90"), False),
    "a character beyond 16 bits": (lambda text: text.replace("exact.sm_80", r"\ud83d\ude00.sm_80"), True),
    "NUL in a file": (lambda text: text.replace("exact.sm_90", r"exact\u0000.sm_90"), False),
    "a bare NUL": (lambda text: text.replace("exact.sm_90", "exact\0.sm_90"), False),
    "deep in what nobody reads": (lambda text: text.replace("{", '{"x":' + "[" * 100 + "]" * 100 + ",", 1), True),
    "too deep": (lambda text: text.replace("{", '{"x":' + "[" * 100_000 + "]" * 100_000 + ",", 1), False),
    "endlessly deep": (lambda _: '{"x":' * 100_000, False),
    "a size with an exponent": (lambda text: re.sub(r'"bytes": [0-9]+', '"bytes": 1e1', text), False),
    "a size with a fraction": (lambda text: re.sub(r'"bytes": ([0-9]+)', r'"bytes": \1.0', text), False),
    "a size of 2**64 and more": (
        lambda text: re.sub(r'"bytes": ([0-9]+)', r'"bytes": 184467440737095516\1', text),
        False,
    ),
    "a size of a thousand digits": (lambda text: re.sub(r'"bytes": [0-9]+', f'"bytes": {"9" * 1000}', text), False),
    "a number of a thousand digits": (lambda text: text.replace("{", f'{{"x": {"9" * 1000},', 1), True),
    "an architecture of a thousand digits": (lambda text: text.replace("sm_80", f"sm_{'9' * 1000}"), True),
    "something after the end": (lambda text: f"{text} 1", False),
    "no end": (lambda text: text.rstrip()[:-1], False),
    "a control character": (lambda text: text.replace('"exact"', '"exact\n"', 1), False),
    "a comma too many": (lambda text: text.replace("[", "[,", 1), False),
    "a number with a zero in front": (lambda text: text.replace("{", '{"x": 01,', 1), False),
}


def test_an_enemys_index(program, tmp_path):
    """Names given twice, escapes, depth and numbers are read as the package reads them, or are refused as damaged."""
    asks, expected = [], []
    for number, (change, is_sound) in enumerate(INDEXES.values()):
        store = shutil.copytree(HERE / "stores" / "devices", tmp_path / str(number))
        index = store / "exact" / "index.json"
        index.write_bytes(change(index.read_text()).encode())
        asks.append({"store": str(store), "name": "exact", "device": "9.0", "driver": "13.0"})
        expected.append(is_sound)
        try:
            arch = str(open_store(store).find_image("exact", arch="sm_90", policy="prebuilt").arch)
        except HatchCudaKernelsError:
            arch = ""
        assert arch == ("sm_90" if is_sound else ""), [*INDEXES][number]
    for name, answer, is_sound in zip(INDEXES, answers_to(program, asks), expected, strict=True):
        assert in_words(answer).get("image") == ("sm_90 cubin" if is_sound else None), name
        assert is_sound or answer == {"error": "damaged", "file": "exact/index.json"}, name


def test_sizes_that_lie(program, tmp_path):
    """An image that is not as large as the index says is not read, whatever its digest."""
    store = shutil.copytree(HERE / "stores" / "devices", tmp_path / "store")
    index = store / "exact" / "index.json"
    data = json.loads(index.read_text())
    (cubin,) = (image for image in data["images"] if image["arch"] == "sm_90")
    for bytes_, taken in ((cubin["bytes"], "sm_90 cubin"), (0, "compute_80 ptx"), (2**40 - 1, "compute_80 ptx")):
        cubin["bytes"] = bytes_
        index.write_text(json.dumps(data))
        ask = {"store": str(store), "name": "exact", "device": "9.0", "driver": "13.0"}
        assert answers_to(program, [ask])[0]["image"] == taken


def test_files_that_are_no_files(program, tmp_path):
    """A link to a device, a pipe and a folder in place of an image or the listing end no look-up, and hang none."""
    store = shutil.copytree(HERE / "stores" / "devices", tmp_path / "store")
    os.mkfifo(tmp_path / "pipe")
    asks = []
    for number, target in enumerate((tmp_path / "pipe", Path("/dev/zero"), tmp_path, tmp_path / "absent")):
        for name in ("kernels.tsv", "exact/index.json", "exact/exact.sm_90.cubin"):
            copied = shutil.copytree(store, tmp_path / f"{number}-{name.replace('/', '-')}")
            (copied / name).unlink()
            (copied / name).symlink_to(target)
            asks.append({"store": str(copied), "name": "exact", "device": "9.0", "driver": "13.0"})
    for ask, answer in zip(asks, answers_to(program, asks), strict=True):
        expected = "compute_80 ptx" if ask["store"].endswith("cubin") else None
        assert answer.get("image") == expected, ask


def test_a_header_is_checked(tmp_path, capsys, monkeypatch):
    """``--check`` says whether a header is what this version writes, was edited, or is of another version."""
    monkeypatch.chdir(tmp_path)
    assert main(["vendor", "--language", "c++"]) == 0
    path = tmp_path / "hatch_cuda_kernels.hpp"
    text = path.read_text()
    assert main(["vendor", "--check", "hatch_cuda_kernels.hpp"]) == 0
    for edited in (
        f"{text}\n",
        text.replace("// Everything here", "// Nothing here"),
        text.replace("depth < 200", "1"),
    ):
        path.write_text(edited)
        assert main(["vendor", "--check", "hatch_cuda_kernels.hpp"]) == 1
        assert "it was edited after it was written" in capsys.readouterr().out
    path.write_text(text.replace('_VERSION "', '_VERSION "0.0.1+'))
    assert main(["vendor", "--check", "hatch_cuda_kernels.hpp"]) == 1
    assert "it was written by version 0.0.1+" in capsys.readouterr().out
    assert "@" not in "".join(header_text().split("TEXT_SHA256")[0].split("\n")[-8:])
    assert why_old(header_text()) is None


MAIN = """
#include <cstdio>
extern "C" { extern const unsigned long long NAME[]; extern const unsigned long long NAME_size; }
int main() { return std::fwrite(NAME, 1, NAME_size, stdout) == NAME_size ? 0 : 1; }
"""


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_is_embedded_is_linked(compiler, tmp_path):
    """An object file and C++ text define the same bytes by the same names, with nothing executable about the stack."""
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    table = table_of(embedded_files(StoreReader(HERE / "stores" / "packed")))
    (tmp_path / "main.cpp").write_text(MAIN.replace("NAME", "kernels"))
    (tmp_path / "kernels.o").write_bytes(object_file(table, "kernels"))
    (tmp_path / "kernels.cpp").write_text(cpp_text(table, "kernels"))
    for store in ("kernels.o", "kernels.cpp"):
        command = [compiler, "-std=c++17", *WARNINGS, "-Wl,--fatal-warnings", "main.cpp", store, "-o", "main"]
        subprocess.run(command, cwd=tmp_path, check=True)
        assert subprocess.run([tmp_path / "main"], capture_output=True, check=True).stdout == table


def test_an_object_file_for_another_machine():
    """The machine is that of the file's header; for others than those with ELF, C++ text is the way."""
    table = table_of({"kernels.tsv": b""})
    machines = {name: struct.unpack_from("<H", object_file(table, "x", name), 18)[0] for name in ("x86_64", "aarch64")}
    assert machines == {"x86_64": 62, "aarch64": 183}
    with pytest.raises(InputError, match=r"write C\+\+ text: --out FILE.cpp"):
        object_file(table, "x", "riscv64")


def test_embed_refuses_what_cannot_be_trusted(tmp_path, monkeypatch, capsys):
    """A damaged image, an editable install and a name that is none stop the build, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    rows = [
        (HERE / "malformed" / "image-cut-short", "kernels.o", "does not match the digest"),
        (HERE / "stores" / "editable", "kernels.o", "embed its manifest"),
        (HERE / "stores" / "devices", "my-kernels.o", "choose one with --name"),
        (HERE / "stores" / "devices", "kernels.txt", "neither .o nor .cpp"),
        (HERE / "stores" / "absent", "kernels.o", "no kernel store here"),
    ]
    for store, out, said in rows:
        assert main(["embed", str(store), "--out", out]) == 2
        assert said in " ".join(capsys.readouterr().err.split()), store
    assert [*tmp_path.iterdir()] == []
    assert main(["embed", str(HERE / "stores" / "devices"), "--out", "kernels.cpp", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "kernels"
    assert main(["embed", str(HERE / "stores" / "names"), "--out", "kernels.cpp"]) == 0
    (tmp_path / "main.cpp").write_text("int main() {}\n")
    assert main(["embed", str(HERE / "stores" / "names"), "--out", "main.cpp"]) == 2
    assert "main.cpp: this is not what hatch-cuda-kernels embed wrote" in capsys.readouterr().err
    assert (tmp_path / "main.cpp").read_text() == "int main() {}\n"


def test_the_depfile_names_what_was_embedded(tmp_path, monkeypatch):
    """Of a package, that is each file of its store; of a wheel, the wheel."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(HERE / "stores" / "names", "my store")
    with zipfile.ZipFile("names.whl", "w") as wheel:
        for path in sorted(Path("my store").rglob("*")):
            wheel.write(path, Path("names", "_kernels", path.relative_to("my store")))
    for package, files in (("./my store", Path("my store").rglob("*.*")), ("names.whl", ["names.whl"])):
        assert main(["embed", package, "--out", "kernels.o", "--machine", "x86_64", "--depfile", "kernels.d"]) == 0
        target, needed = Path("kernels.d").read_text().split(": ")
        named = {name.replace("\\ ", " ") for name in re.split(r"(?<!\\) ", needed.strip())}
        assert (target, named) == ("kernels.o", {str(file) for file in files if not Path(file).is_dir()})


def test_the_same_store_gives_the_same_table():
    """A build can be repeated: nothing of time, place or order is in the table."""
    files = embedded_files(StoreReader(HERE / "stores" / "names"))
    assert table_of(files) == table_of(dict(reversed(files.items())))
    with pytest.raises(HatchCudaKernelsError):
        embedded_files(StoreReader(HERE / "malformed" / "nothing-left"))


@pytest.mark.slow
def test_the_example_builds_without_nvcc(tmp_path):
    """CMake compiles the kernels and the program, again after a change, and it says what a device would get."""
    missing = [name for name in ("cmake", "ninja", "g++") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}")
    source = shutil.copytree(ROOT / "examples" / "cmake_project", tmp_path / "project")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.defpath])
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"} | {"PATH": path}
    run = partial(subprocess.run, env=environment, capture_output=True, text=True, check=True)
    run(["cmake", "-S", source, "-B", tmp_path / "build", "-G", "Ninja", "-DCMAKE_CXX_COMPILER=g++"])
    build = ["cmake", "--build", tmp_path / "build"]
    run(build)
    assert "Compiling kernels" not in run(build).stdout
    (source / "kernels" / "saxpy.cu").touch()
    assert "Compiling kernels with NVRTC" in run(build).stdout
    assert "saxpy on sm_" in run([tmp_path / "build" / "example"]).stdout


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_is_shown_compiles(compiler, tmp_path):
    """The programs of the page and of the example are C++ that no compiler has something to say about."""
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    (shown,) = (block for block in blocks_of(DOCS / "howto" / "cpp.md") if block.title == "mylib.cpp")
    (tmp_path / shown.title).write_text(shown.text)
    (tmp_path / "hatch_cuda_kernels.hpp").write_text(header_text())
    programs = [shown.title, ROOT / "examples" / "cmake_project" / "src" / "main.cpp"]
    command = [compiler, "-std=c++17", *WARNINGS, f"-I{tmp_path}", "-fsyntax-only", *programs]
    subprocess.run(command, cwd=tmp_path, check=True)
