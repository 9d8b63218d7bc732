"""The loader to vendor: it answers the conformance cases, launches on any driver, and imports nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from enum import IntEnum
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest
from fake_driver import FakeDriver
from shared import make_once

from hatch_cuda_kernels.vendor import is_current, loader_text

HERE = Path(__file__).parents[1] / "conformance"
CASES = [case for case in json.loads((HERE / "cases.json").read_text())["cases"] if not case["ask"]["compiler"]]
#: What the specification calls a reason, by a piece of the sentence that users read.
REASONS = {
    "runs on no other device": "device",
    "runs on no other family": "family",
    "or higher": "capability",
    "on another major": "major",
    "on a lower minor": "minor",
    "take exact CUBINs only": "integrated",
    "written as PTX ISA": "isa",
    "the kernel is not in this image": "lacks",
    "the source cannot be read": "stale",
    "refused by the driver": "driver",
    "cannot read the": "damaged",
    "does not match the digest": "damaged",
}
Code = IntEnum("Code", {f"CUDA_ERROR_{code}": code for code in (200, 209, 218, 221, 222, 223, 500)})
TEXT = loader_text()
COMPILED = compile(TEXT, "_kernels_loader.py", "exec")


def new_loader(driver=None):
    """Return the loader as a module that has loaded nothing, on a driver that tests imitate."""
    module = ModuleType("vendored_loader")
    module.__file__ = __file__
    exec(COMPILED, module.__dict__)
    if driver is not None:
        module._MADE[module._vendor_bindings] = {"driver": driver}
    return module


def pair(text):
    """Return a version or a capability as numbers."""
    return tuple(map(int, text.split(".")))


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


def case_id(case):
    """Return what a case is called: what differs from the usual question."""
    ask = case["ask"]
    parts = [ask["store"].partition("/")[2], ask["name"], ask["device"], ask["driver"], ask.get("module")]
    return " ".join(str(part) for part in (*parts, *ask.get("refuses", {}).values()) if part).replace("\t", "TAB")


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
