"""The loader to vendor: it answers the conformance cases, launches on any driver, and imports nothing heavy."""

from __future__ import annotations

import ast
import builtins
import json
import pickle
import re
import subprocess
import symtable
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import conformance_cases
import pytest
from conformance_cases import HERE, REASONS, Code, case_id, pair
from cpp_loader import compile_driver
from fake_driver import FakeDriver
from shared import make_once

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.errors import HatchCudaKernelsError, KernelNotFoundError
from hatch_cuda_kernels.vendor import assemble, loader_text, why_old

#: Those that ask for no compile.
CASES = [case for case in conformance_cases.CASES if not case["ask"]["compiler"]]
TEXT_FILE = "_kernels_loader.py"


@cache
def shipped():
    """Return the loader's text, which takes a second to assemble: whoever collects the tests does not need it."""
    return loader_text()


@cache
def compiled():
    """Return the loader's code."""
    return compile(shipped(), TEXT_FILE, "exec")


def new_loader(driver=None):
    """Return the loader as a module that has loaded nothing, on a driver that tests imitate."""
    module = ModuleType("vendored_loader")
    module.__file__ = __file__
    exec(compiled(), module.__dict__)
    if driver is not None:
        module._MADE[module._vendor_bindings] = {"driver": driver}
    return module


def answer(loader, driver, ask):
    """Return the loader's answer in the words of the cases."""
    try:
        return asked(loader.open_store(HERE / ask["store"]), driver, ask)
    except loader.NoImageError as error:
        found = [candidate for candidate in error.candidates if candidate.origin == "prebuilt"]
        named = {
            f"{candidate.arch} {candidate.kind}": next(
                code for piece, code in REASONS.items() if piece in candidate.reason
            )
            for candidate in found
        }
        return {"refused": named}
    except loader.InputError as error:
        return {"error": "ambiguous" if "could have it" in str(error) else "unknown"}
    except loader.KernelNotFoundError as error:
        several = ask.get("module") is None and error.hint.startswith("pass module=")
        return {"error": "ambiguous" if several else "unknown"}
    except loader.StoreError as error:
        return {"error": "damaged", "file": "/".join(Path(error.path).parts[-2 if "index" in error.path else -1 :])}


def asked(store, driver, ask):
    """Return the answer of a store that is read without an error."""
    if "axes" in ask:
        store, ask = store.module(ask["module"], **ask["axes"]), {**ask, "module": None}
    named = {"name": ask["name"], "module": ask.get("module")}
    if ask["driver"] is None:
        arch = f"sm_{ask['device'].replace('.', '')}"
        image, lowered = store.find_image(ask["name"], arch=arch, module=named["module"]), ask["name"]
    elif ask.get("variable"):
        image = store.get_global(**named)._load().image
        lowered = driver.variables[-1]
    else:
        image = store.get_kernel(**named).image
        lowered = driver._kernels[-1][1].decode()
    digest = sha256(image.data).hexdigest()
    return {"module": image.module, "image": f"{image.arch} {image.kind}", "sha256": digest, "lowered": lowered}


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_vendored_loader_answers_as_specified(case):
    """Each case that asks for no compile has the answer that the specification gives it."""
    ask, driver = case["ask"], FakeDriver()
    driver.capability = pair(ask["device"])
    major, minor = pair(ask["driver"] or "13.0")
    driver.version = major * 1000 + minor * 10
    codes = {digest: Code(code) for digest, code in ask.get("refuses", {}).items()}
    driver.refuse = lambda data, _: codes.get(sha256(data).hexdigest())
    driver.variables = []
    look_up = driver.cuLibraryGetGlobal
    driver.cuLibraryGetGlobal = lambda library, name: driver.variables.append(name.decode()) or look_up(library, name)
    assert answer(new_loader(driver), driver, ask) == case["answer"]


def write_library(folder):
    """Write a package's folder with the loader and a small store, whose best image the driver refuses."""
    store = folder / "_kernels"
    (store / "m").mkdir(parents=True)
    lines = [
        "&d_bias\tm\td_bias\t\td_bias\n",
        "saxpy\tm\tsaxpy\tptr,ptr,u32,f32\tsaxpy\tfloat*;const float*;int;float\ty,x,n,a\n",
    ]
    (store / "kernels.tsv").write_text("".join(lines))
    images = []
    for arch, data in (("sm_90", b"refuse"), ("compute_80", b"// PTX\n")):
        kind = "cubin" if arch.startswith("sm") else "ptx"
        (store / "m" / f"m.{arch}.{kind}").write_bytes(data)
        image = {"file": f"m.{arch}.{kind}", "kind": kind, "arch": arch, "sha256": sha256(data).hexdigest()}
        images.append(image | {"bytes": len(data), "ptx_isa": "8.0", "registers": None, "spills": None})
    plain = {"files": {}, "outside": [], "headers": [], "options": {}, "globals": ["d_bias"], "patterns": []}
    plain |= {"schema": 2, "module": "m", "source": "m.cu", "source_sha256": "0", "toolchain": {}, "images": images}
    (store / "m" / "index.json").write_text(json.dumps(plain))
    details = {"schema": 1, "names": ["saxpy"], "resources": {}}
    (store / "m" / "details.json").write_text(json.dumps(details))
    (folder / TEXT_FILE).write_text(shipped())


@pytest.fixture
def outcome(tmp_path, tmp_path_factory):
    """Return what came of a program that has nothing but the loader, a store and a driver."""
    write_library(tmp_path)
    libraries = make_once(tmp_path_factory, "driver", compile_driver)
    command = [sys.executable, "-I", "-S", Path(__file__).with_name("program.py"), tmp_path]
    ran = subprocess.run(command, env={"LD_LIBRARY_PATH": str(libraries)}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.slow
def test_a_library_without_dependencies_launches(outcome):
    """By ctypes alone: the next image where the driver refuses one, checked arguments, variables, a reset context."""
    assert outcome["image"] == "compute_80"
    assert outcome["sizes"] == [20, 1, 1, 128, 2, 1, 0]
    assert outcome["passed"] == [4096, 8192, -5, 2.5]
    assert outcome["stream"] == 99
    assert "argument 0 (y) of saxpy is float*, got" in outcome["mismatch"]
    assert "argument 2 (n) of saxpy is int" in outcome["range"]
    assert outcome["refused"].startswith("DriverError: launching saxpy failed with CUDA_ERROR_INVALID_VALUE (1)")
    assert "did you mean 'saxpy'?" in outcome["absent"]
    assert outcome["variable"] == [1, 2, 3, 4]
    assert outcome["after reset"] == [True, 4]
    assert "(709): the current context was destroyed: make another one current" in outcome["destroyed"]


@pytest.mark.slow
def test_every_refusal_has_its_reason(outcome):
    """What was considered is listed with why not, and where only a compile helps the extra is named."""
    refused = "refused  prebuilt sm_90 cubin: refused by the driver: CUDA_ERROR_NO_BINARY_FOR_GPU (209)"
    assert refused in outcome["explained"]
    assert "-> accepted prebuilt compute_80 ptx" in outcome["explained"]
    assert "jitted sm_75 cubin: this loader has no cache and compiles nothing" in outcome["no image"]
    assert "pip install 'hatch-cuda-kernels[jit]'" in outcome["no image"]


@pytest.mark.slow
def test_the_way_to_a_launch_imports_nothing_heavy(outcome):
    """No module that takes half a millisecond to import or to take apart is loaded; a start is as one of ctypes."""
    heavy = {"re", "json", "typing", "pathlib", "dataclasses", "inspect", "hashlib", "enum", "numpy", "cuda", "ast"}
    heavy |= {"contextlib", "importlib", "mmap", "numbers", "threading", "weakref"}
    assert heavy.isdisjoint(name.partition(".")[0] for name in outcome["modules"])
    assert not [name for name in outcome["modules"] if name.startswith("hatch_cuda_kernels")]


def test_an_editable_install_says_what_to_do(tmp_path):
    """Where sources may have changed, no image counts, and the error tells how to get on."""
    write_library(tmp_path)
    index = tmp_path / "_kernels" / "m" / "index.json"
    editable = {"root": "..", "manifest": "kernels.yaml", "manifest_sha256": "0"}
    index.write_text(json.dumps(json.loads(index.read_text()) | {"editable": editable}))
    loader = new_loader(FakeDriver())
    with pytest.raises(loader.NoImageError, match="install the package without -e"):
        loader.open_store(tmp_path / "_kernels").get_kernel("saxpy")


def test_a_key_of_the_index_is_no_kernel():
    """Nor where a module is named: the name of a template's line is not taken for an instance."""
    loader = new_loader(FakeDriver())
    for open_any in (loader.open_store, open_store):
        with pytest.raises((loader.KernelNotFoundError, KernelNotFoundError)):
            open_any(HERE / "stores" / "names").find_image("<sum", arch="sm_90", module="sums")


def test_damage_is_no_reason_to_build_another_image(tmp_path):
    """Where the image for this device is there and cannot be read, the package is to be installed again."""
    write_library(tmp_path)
    (tmp_path / "_kernels" / "m" / "m.sm_90.cubin").unlink()
    (tmp_path / "_kernels" / "m" / "m.compute_80.ptx").write_text("// another\n")
    loader = new_loader(FakeDriver())
    with pytest.raises(loader.NoImageError, match="to fix: install the package again") as caught:
        loader.open_store(tmp_path / "_kernels").get_kernel("saxpy")
    assert "among its arches" not in str(caught.value)


def test_the_first_launch_is_prepared_while_the_context_is_made(tmp_path):
    """When there is a context, the types of the arguments are read, and the launch is compiled; it finds both."""
    write_library(tmp_path)
    driver = FakeDriver()
    loader, made, context = new_loader(driver), [], driver.cuCtxGetCurrent
    early, arguments, codegen = map(
        loader._use, (loader._early, loader._runtime_launch_arguments, loader._runtime_launch_codegen)
    )
    early["starting_device"] = lambda: ((9, 0), (13, 0))
    loader._use(loader._vendor_bindings)["find_usual"] = lambda: None

    def count():
        return arguments["_parts"].cache_info().misses, codegen["_maker"].cache_info().misses

    driver.cuCtxGetCurrent = lambda: made.append(count()) or context()
    loader.open_store(tmp_path / "_kernels").get_kernel("saxpy")[1, 32](16, 32, -5, 2.5)
    assert (len(driver.launches), made[0], count()) == (1, (1, 1), (1, 1))


@pytest.mark.parametrize(
    ("arch", "said"),
    [
        ("sm_75", "with sm_75 among its arches"),
        ("sm_107", 'with sm_107 among its arches, with cuda: "13.4"'),
        ("sm_70", 'with sm_70 among its arches, with cuda: "12.9"'),
        (
            "sm_130",
            "with compute_121 among its arches, which the driver compiles: no known CUDA release compiles sm_130",
        ),
        ("sm_30", None),
    ],
)
def test_advice_names_what_a_release_compiles(arch, said, monkeypatch):
    """The package and its loader name an architecture with the release that it takes, or else PTX."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_JIT", "0")
    loader = new_loader(FakeDriver())
    for open_any in (loader.open_store, open_store):
        fixes = open_any(HERE / "stores" / "names").explain("both", module="one", arch=arch).fixes
        assert [one for one in fixes if "arches" in one] == ([f"build the package {said}"] if said else [])


def test_axes_may_be_called_as_parameters_are():
    """A macro or a placeholder may have any name: here the store has no such axis, and says so."""
    loader = new_loader(FakeDriver())
    for open_any in (loader.open_store, open_store):
        store = open_any(HERE / "stores" / "axes")
        for find in (store.module, store.instantiate):
            with pytest.raises((loader.HatchCudaKernelsError, HatchCudaKernelsError)):
                find("scale", self="1", name="2", family="3", template="4", module="5")


@pytest.mark.parametrize(
    ("store", "ask", "line"),
    [
        ("names", lambda store: store.get_kernel("sum<float, 256>"), "add 'sum<float, 256>' to modules.sums.instances"),
        (
            "axes",
            lambda store: store.module("scale", T="NULL", N=1).get_kernel("scale"),
            'write {T: "NULL", N: 1} under',
        ),
        (
            "axes",
            lambda store: store.module("scale", T="a::b", N=1).get_kernel("scale"),
            'write {T: "a::b", N: 1} under',
        ),
    ],
)
def test_what_is_not_listed_is_a_line_for_the_manifest(store, ask, line):
    """Whoever builds the package without run-time dependencies is told what to write."""
    loader = new_loader(FakeDriver())
    with pytest.raises(loader.NoImageError, match=f"to fix: {re.escape(line)}.* and build it again"):
        ask(loader.open_store(HERE / "stores" / store))


def test_a_loader_is_checked(tmp_path, capsys, monkeypatch):
    """``--check`` says whether a loader is what this version writes, was edited, or is of another version."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(assemble, "_Reached", cache(assemble._Reached))  # what the modules have does not change here
    assert main(["vendor", "--out", "loader.py"]) == 0
    assert main(["vendor", "--check", "loader.py"]) == 0
    path = tmp_path / "loader.py"
    text = path.read_text()
    path.write_text(text.replace('\n__version__ = "', '\n__version__ = "0.0.1+'))
    assert main(["vendor", "--check", "loader.py", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["old"].startswith("it was written by version 0.0.1+")
    path.write_text(f"{text}\n")
    assert main(["vendor", "--check", "loader.py"]) == 1
    assert "it was edited after it was written" in capsys.readouterr().out
    path.write_text(text.replace("\nSOURCES_SHA256", "\nimport webbrowser\nSOURCES_SHA256"))
    assert main(["vendor", "--check", "loader.py"]) == 1
    head, mark, body = text.partition("\nTEXT_SHA256 = ")
    body = f"{body.partition(chr(10))[2]}import webbrowser\n"
    path.write_text(f'{head}{mark}"{sha256(body.encode()).hexdigest()}"\n{body}')
    assert main(["vendor", "--check", "loader.py"]) == 1
    path.write_text("import os\n")
    for arguments in (["--check", "loader.py"], ["--out", "loader.py"], ["--language", "c++", "--out", "loader.py"]):
        assert main(["vendor", *arguments]) == 2
        assert "loader.py: this is no loader that hatch-cuda-kernels vendor wrote" in capsys.readouterr().err
    assert path.read_text() == "import os\n"
    assert why_old(shipped()) is None
    odd = Path("my $lib.txt")
    odd.write_text(f"{text}# edited\n")
    assert main(["vendor", "--check", str(odd)]) == 1
    assert "hint: hatch-cuda-kernels vendor --out 'my $lib.txt'" in capsys.readouterr().err


def test_errors_can_be_pickled():
    """An error travels to another process, as those of data loaders do."""
    loader = new_loader()
    sys.modules["vendored_loader"] = loader
    try:
        loader.NoImageError.__module__ = "vendored_loader"
        error = pickle.loads(pickle.dumps(loader.NoImageError("k", "sm_90", ())))
    finally:
        del sys.modules["vendored_loader"]
    assert "no image of kernel 'k' runs on sm_90" in str(error)


def undefined(table, known):
    """Return the names that a scope and those in it read from the module, and that it does not have."""
    known = known | {symbol.get_name() for symbol in table.get_symbols() if symbol.is_declared_global()}
    names = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global() and symbol.is_referenced()}
    return (names - known).union(*(undefined(child, known) for child in table.get_children()))


def test_no_name_is_missing():
    """All that the text reads is in it, and in its stand-ins for modules: also what only rare calls come to."""
    table = symtable.symtable(shipped(), TEXT_FILE, "exec")
    known = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    known |= {*dir(builtins), "__file__"}
    assert undefined(table, known) == set()
    loader = new_loader()
    used = {
        (node.value.id, node.attr)
        for node in ast.walk(ast.parse(shipped()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    stand_ins = {"re": loader.re, "json": loader.json, "threading": loader.threading}
    assert [pair for pair in used if pair[0] in stand_ins and not hasattr(stand_ins[pair[0]], pair[1])] == []
