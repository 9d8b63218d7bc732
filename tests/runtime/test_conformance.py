"""The loader, and a second one in another language, answer the conformance cases as the specification says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from hashlib import sha256
from itertools import product

import pytest
from conformance_cases import CASES, HERE, KEYS, REASONS, Code, case_id, pair
from doc_blocks import DOCS

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.errors import InputError, KernelNotFoundError, NoImageError, StoreError
from hatch_cuda_kernels.names import _TOKENS, normalize_name


def ours(driver, ask):
    """Return the package's answer, on a driver as the question has it."""
    try:
        return asked(open_store(HERE / ask["store"]), driver, ask)
    except NoImageError as error:
        return {"refused": refused(error.candidates)}
    except InputError as error:
        return {"error": "ambiguous" if "could have it" in str(error) else "unknown"}
    except KernelNotFoundError as error:
        several = ask.get("module") is None and error.hint.startswith("pass module=")
        return {"error": "ambiguous" if several else "unknown"}
    except StoreError as error:
        return {"error": "damaged", "file": re.findall(r"kernels\.tsv|scale/index\.json", str(error))[0]}


def asked(store, driver, ask):
    """Return the answer of a store that is read without an error."""
    if "axes" in ask:
        module = store.module(ask["module"], **ask["axes"])
        if ask["compiler"]:
            return explained(module.explain(ask["name"]))
        return described(module.get_kernel(ask["name"]).image, driver._kernels[-1][1].decode())
    named = {"name": ask["name"], "module": ask.get("module")}
    if ask["compiler"]:
        explanation = store.explain(ask["name"], module=ask.get("module"))
        if explanation.chosen is None or explanation.chosen.origin == "jitted":
            return explained(explanation)
    if ask["driver"] is None:
        return described(store.find_image(ask["name"], arch=f"sm_{ask['device'].replace('.', '')}"), ask["name"])
    if ask.get("variable"):
        return described(store.get_global(**named)._load().image, driver.variables[-1])
    return described(store.get_kernel(**named).image, driver._kernels[-1][1].decode())


def described(image, lowered):
    """Return the answer for an image."""
    digest = sha256(image.data).hexdigest()
    return {"module": image.module, "image": f"{image.arch} {image.kind}", "sha256": digest, "lowered": lowered}


def explained(explanation):
    """Return the answer if something may be compiled."""
    chosen = explanation.chosen
    answer = {"refused": refused(explanation.candidates)}
    damaged = re.search(r"project\.source/\S+(?=: )", explanation.candidates[-1].reason)
    answer |= {"damaged": damaged[0]} if damaged else {}
    return answer | ({"compile": str(chosen.arch)} if chosen and chosen.origin == "jitted" else {})


def refused(candidates):
    """Return the prebuilt images that were passed over, each with its reason."""
    found = [candidate for candidate in candidates if candidate.origin == "prebuilt" and not candidate.accepted]
    return {
        f"{candidate.arch} {candidate.kind}": next(code for piece, code in REASONS.items() if piece in candidate.reason)
        for candidate in found
    }


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_package_answers_as_specified(case, driver, fresh_cache, monkeypatch):
    """Each case has the answer that the specification gives it, whatever the driver is asked on the way."""
    ask = case["ask"]
    driver.capability = pair(ask["device"])
    major, minor = pair(ask["driver"] or "13.0")
    driver.version = major * 1000 + minor * 10
    codes = {digest: Code(code) for digest, code in ask.get("refuses", {}).items()}
    driver.refuse = lambda data, _: codes.get(sha256(data).hexdigest())
    driver.variables = []
    look_up = driver.cuLibraryGetGlobal
    driver.cuLibraryGetGlobal = lambda library, name: driver.variables.append(name.decode()) or look_up(library, name)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_JIT", "1" if ask["compiler"] else "0")
    assert ours(driver, ask) == case["answer"]


@cache
def no_node():
    """Return why the second loader cannot run here, or an empty string."""
    missing = [program for program in ("node", "xz") if shutil.which(program) is None]
    if missing:
        return f"needs {' and '.join(missing)}"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return "" if int(version[1:].partition(".")[0]) >= 20 else f"needs Node 20, this is {version}"


def second_loader(questions, folder=HERE):
    """Return the answers of the loader in another language."""
    if no_node():
        pytest.skip(no_node())
    command = ["node", str(HERE / "loader.mjs")]
    ran = subprocess.run(command, cwd=folder, input=json.dumps(questions), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.slow
def test_a_second_loader_answers_as_specified():
    """A loader in another language, written from the specification alone, has the same answers."""
    answers = second_loader([case["ask"] for case in CASES])
    for case, answer in zip(CASES, answers, strict=True):
        assert answer == case["answer"], case_id(case)


@pytest.mark.slow
def test_both_loaders_choose_the_same_in_a_real_store(example_store, fresh_cache):
    """Every kernel of a store that a build made gets the same image, and the same lowered name in it, from both."""
    store = open_store(example_store)
    contents = store.contents()["modules"]
    named = [(kernel, module) for module, found in contents.items() for kernel in found["kernels"]]
    devices = ("7.5", "8.0", "8.7", "8.9", "9.0", "10.0", "10.3", "12.1")
    asked = [
        {"store": str(example_store), "name": kernel, "module": module, "device": device, "driver": driver}
        for (kernel, module), device, driver in product(named, devices, ("12.8", "13.0"))
    ]
    for ask, answer in zip(asked, second_loader(asked), strict=True):
        given = {"arch": f"sm_{ask['device'].replace('.', '')}", "driver": pair(ask["driver"]), "policy": "prebuilt"}
        try:
            image = store.find_image(ask["name"], module=ask["module"], **given)
        except NoImageError as error:
            expected = {"refused": refused(error.candidates)}
        else:
            lowered = contents[ask["module"]]["kernels"][ask["name"]]["lowered"]
            expected = described(image, image.kernels[0].lowered if image.kernels else lowered)
        assert answer == expected, ask


def test_the_files_are_what_the_script_writes(monkeypatch):
    """Nobody has edited a conformance file by hand: a change of the specification begins with the script."""
    monkeypatch.syspath_prepend(HERE)
    from make import files

    there = {
        path.relative_to(HERE).as_posix(): path.read_bytes()
        for folder in ("stores", "malformed")
        for path in (HERE / folder).rglob("*")
        if path.is_file()
    }
    assert there | {"cases.json": (HERE / "cases.json").read_bytes()} == files()
    assert sum(map(len, there.values())) < 300_000


def test_both_loaders_make_the_same_keys(tmp_path):
    """However a person spells a name, its key is the specification's."""
    lines = sorted(f"{key}\tm\t{number}\t\t{key}\n".encode() for number, key in enumerate({*KEYS.values()}))
    (tmp_path / "kernels.tsv").write_bytes(b"".join(lines))
    data = {"schema": 2, "module": "m", "images": []}
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "index.json").write_text(json.dumps(data))
    ask = {"store": ".", "device": "9.0", "driver": None}
    answers = second_loader([ask | {"name": written} for written in KEYS], tmp_path)
    assert answers == [{"refused": {}}] * len(KEYS)
    assert {written: normalize_name(written) for written in KEYS} == KEYS


def test_the_specification_has_the_same_tokens():
    """The expressions in the specification are those that the package reads names with."""
    section = (DOCS / "reference" / "store.md").read_text().partition("TOKEN is the first")[2]
    lines = section.partition("```text\n")[2].partition("```")[0].splitlines()
    parts = [re.split(r"\s{4,}", line)[0] for line in lines]
    assert "|".join(parts) == _TOKENS.replace(r"\#\#", "##")
