"""``verify --requests``: each request of a trace gets a prebuilt image on each GPU, or is named with what it takes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from doc_blocks import DOCS, assert_printed, blocks_of
from front_ends import EXAMPLE, copy_project
from wheels import Wheel

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.environment import TRACE
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.runtime.ladder import read_trace
from hatch_cuda_kernels.verify import CHECKS

PACKAGE = "example_project"
SKIPPED = [part for check in CHECKS for part in ("--skip", check)]
RECORD = f"""
from hatch_cuda_kernels import open_store
store = open_store({PACKAGE!r})
for kernel, module in store.listed_kernels():
    store.find_image(kernel, module=module, arch="sm_90", driver=(13, 0))
"""


@pytest.fixture(scope="module")
def recorded(example_site, tmp_path_factory):
    """Return the trace of a program that requests every kernel of the example."""
    path = tmp_path_factory.mktemp("recorded") / "trace.jsonl"
    environment = {**os.environ, TRACE: str(path), "PYTHONPATH": str(example_site)}
    subprocess.run([sys.executable, "-c", RECORD], env=environment, check=True)
    return path


@pytest.fixture
def trace(recorded, tmp_path):
    """Return a function that writes a trace: requests of the recorded one, with other facts."""
    lines = [json.loads(line) for line in recorded.read_text().splitlines()]

    def write(*changes, kernels=("saxpy",)):
        known = [line for line in lines if line["kernel"] in kernels]
        changed = [{**line, **change} for line in known for change in (changes or ({},))]
        path = tmp_path / "trace.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in changed))
        return path

    return write


@pytest.fixture
def verify(capsys):
    """Return a function that runs the check alone, and returns the status and the data."""

    def run(package, trace, gpus, *options):
        named = [] if gpus is None else ["--gpus", gpus]
        status = main(["verify", str(package), "--requests", str(trace), *named, *SKIPPED, "--json", *options])
        data = json.loads(capsys.readouterr().out)
        return status, data

    return run


def images(data):
    """Return the image of each request on each GPU, None where there is none."""
    return {
        (one["kernel"], gpu["gpu"]): gpu["image"] and f"{gpu['image']['arch']} {gpu['image']['kind']}"
        for one in data["requests"]
        for gpu in one["gpus"]
    }


def test_the_example_is_proven_for_gpus_that_are_not_here(example_wheel, recorded, verify):
    """Each request of the trace, on each GPU, with the image that it gets there; a patch is not needed."""
    status, data = verify(example_wheel, recorded, "9.0@13.0, sm_86@13.0 12.1@13.2,10.0@13.0")
    assert (status, data["ok"], data["patch"], data["notes"], data["not_judged"]) == (0, True, "", [], [])
    kernels = {one.kernel for one in read_trace(recorded)}
    assert len(kernels) == 9
    for kernel in kernels:
        assert [images(data)[kernel, gpu] for gpu in ("9.0@13.0", "8.6@13.0", "12.1@13.2", "10.0@13.0")] == [
            "sm_90 cubin", "sm_80 cubin", "sm_120 cubin", "compute_80 ptx",
        ]  # fmt: skip
    assert data["checks"][-1] == {
        "check": "requests", "state": "ok", "checked": 36, "what": "pairs of request and GPU", "skipped": "",
        "findings": [],
    }  # fmt: skip


def test_without_gpus_it_is_the_promise_that_is_proven(example_wheel, recorded, verify):
    """The devices and the driver under ``supports:``."""
    status, data = verify(example_wheel, recorded, None)
    assert status == 0
    assert {gpu for _, gpu in images(data)} == {f"{one}@13.0" for one in ("8.0", "8.6", "8.9", "9.0", "10.0", "12.0")}


def drop(*files):
    """Return a change that takes images of saxpy out of a wheel, as a build without their architectures."""

    def change(wheel):
        wheel.edit_index(
            "saxpy", lambda data: data.update(images=[i for i in data["images"] if i["file"] not in files])
        )
        for file in files:
            del wheel[f"saxpy/{file}"]

    return change


def drop_kernel(wheel):
    """Take the kernel out of the list."""
    lines = wheel["kernels.tsv"].splitlines(keepends=True)
    wheel["kernels.tsv"] = b"".join(line for line in lines if not line.startswith(b"saxpy\t"))


def lack_kernel(wheel):
    """Have the PTX lack the kernel."""

    def change(data):
        for image in data["images"]:
            image.update({"lacks": ["saxpy"]} if image["kind"] == "ptx" else {})

    wheel.edit_index("saxpy", change)


def second_module(wheel):
    """Have another module declare a kernel of the name."""
    [line] = [line for line in wheel["kernels.tsv"].splitlines(keepends=True) if line.startswith(b"saxpy\t")]
    other = line.replace(b"\tsaxpy\t", b"\tsoftmax\t", 1)
    wheel["kernels.tsv"] = wheel["kernels.tsv"].replace(line, line + other)


def damage_index(wheel):
    """Cut an index short."""
    wheel["saxpy/index.json"] = wheel["saxpy/index.json"][:50]


def older_ptx(wheel):
    """Have the images be those of CUDA 12."""
    wheel.edit_index("saxpy", lambda data: [image.update(ptx_isa="8.8") for image in data["images"]])
    wheel.edit_index("saxpy", lambda data: data["toolchain"].update(nvrtc="12.9.86"))


def nothing(wheel):
    """Change nothing."""


SM_120, PTX = "saxpy.sm_120.cubin", "saxpy.compute_80.ptx"
#: What is done to the wheel, the facts of the request, the GPU, and then what the problem and the fix have in them.
FAULTS = {
    "architecture dropped": (
        drop(SM_120, PTX), {}, "12.0@13.0", "not prebuilt: the package was built for sm_80, sm_90", "add sm_120",
    ),
    "PTX dropped": (
        drop(PTX), {}, "10.0@13.0", "not prebuilt: the package was built for sm_80, sm_90, sm_120", "add sm_100",
    ),
    "device that no release compiles for": (
        drop(PTX), {}, "13.0@13.3", "the package was built for sm_80", "add compute_121",
    ),
    "older device": (nothing, {}, "7.5@13.0", "the package was built for sm_80", "add sm_75"),
    "driver too old for the PTX": (
        nothing, {}, "10.0@12.8", "compute_80 ptx: written as PTX ISA 9.0, the driver knows up to 8.7", 'cuda: "12.9"',
    ),
    "driver too old for the CUBIN": (
        nothing, {}, "12.0@12.9", "the sm_120 CUBIN is of CUDA 13 and needs a driver for CUDA 13", 'cuda: "12.9"',
    ),
    "driver of another age": (nothing, {}, "9.0@11.8", "needs a driver for CUDA 13", "--gpus"),
    "kernel gone": (drop_kernel, {}, "9.0@13.0", "saxpy", "have the package list it"),
    "kernel lacking in an image": (lack_kernel, {}, "10.0@13.0", "the kernel is not in this image", "sm_100"),
    "kernel in two modules": (second_module, {}, "9.0@13.0", "pass module= with a module that has it", ""),
    "module gone": (nothing, {"asked": "axpy"}, "9.0@13.0", "pass module= with a module that has it: saxpy", ""),
    "damaged index": (damage_index, {}, "9.0@13.0", "cannot read the index", ""),
    "exact code": (nothing, {"policy": "exact"}, "8.6@13.0", "the policy exact asks for code for exactly", "add sm_86"),
    "exact code later": (nothing, {"tier_up": True}, "8.6@13.0", "asks for code for exactly", "add sm_86"),
    "exact code, though PTX is there": (
        nothing, {"policy": "exact"}, "8.0@12.9", "the sm_80 CUBIN is of CUDA 13", 'cuda: "12.9"',
    ),
    "instance": (
        nothing, {"kernel": "block_sum<float, 512>", "module": "reduce"}, "9.0@13.0", "the instance is not in the",
        "add 'block_sum<float, 512>' to modules.reduce.instances",
    ),
    "instance and architecture": (
        nothing, {"kernel": "block_sum<float, 512>", "module": "reduce"}, "7.5@13.0", "the instance is not in the",
        "modules.reduce.instances in the package's kernels.yaml, and add sm_75",
    ),
    "axes": (
        nothing, {"family": "saxpy", "axes": {"T": "int"}, "asked": "{saxpy;T=int"}, "9.0@13.0", "has no module", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_request_without_an_image_is_found(example_wheel, trace, verify, tmp_path, fault):
    """It is named with the GPU, the reason and what to do; another GPU, or another policy, is no excuse."""
    change, facts, gpu, problem, fix = fault
    parts = Wheel(example_wheel)
    change(parts)
    status, data = verify(parts.write(tmp_path), trace(facts), gpu)
    [judged] = data["requests"]
    [answer] = judged["gpus"]
    assert (status, answer["image"]) == (1, None)
    assert problem in answer["reason"]
    assert fix in answer["fix"]
    [finding] = data["checks"][-1]["findings"]
    assert finding["problem"] == f"on {gpu}: {judged['kernel']}: {answer['reason']}"
    assert finding["fix"] == answer["fix"]


@pytest.mark.parametrize(
    "served",
    [
        (drop(SM_120), {}, "12.0@13.0", "compute_80 ptx"),
        (older_ptx, {}, "12.0@12.9", "sm_120 cubin"),
        (older_ptx, {}, "10.0@12.9", "compute_80 ptx"),
        (nothing, {"policy": "exact"}, "9.0@13.0", "sm_90 cubin"),
        (nothing, {"policy": "prebuilt", "tier_up": True}, "8.6@13.0", "sm_80 cubin"),
        (nothing, {"asked": "saxpy"}, "9.0@13.0", "sm_90 cubin"),
        (nothing, {"kernel": "block_sum < float , 128 >", "module": "reduce"}, "9.0@13.0", "sm_90 cubin"),
        (nothing, {"module": "axpy", "version": "0.0.1"}, "9.0@13.0", "sm_90 cubin"),
        (nothing, {"answer": "compiled", "capability": "7.5", "driver": None}, "9.0@13.0", "sm_90 cubin"),
    ],
    ids=["PTX", "older CUDA", "older PTX", "exact", "prebuilt", "module", "spaces", "moved", "of another device"],
)
def test_what_a_user_gets_is_proven(example_wheel, trace, verify, tmp_path, served):
    """What the trace says of its own machine, and where a kernel was then, does not matter."""
    change, facts, gpu, image = served
    parts = Wheel(example_wheel)
    change(parts)
    status, data = verify(parts.write(tmp_path), trace(facts), gpu)
    assert (status, [*images(data).values()]) == (0, [image])


def test_a_wheel_is_known_by_what_is_in_it(example_wheel, example_site, recorded, trace, verify, tmp_path):
    """However its file is called; a folder by its place, and an installed package by its name."""
    renamed = shutil.copy(example_wheel, tmp_path / "other-1.0-py3-none-any.whl")
    assert verify(renamed, recorded, "9.0@13.0")[0] == 0
    store = example_site / PACKAGE / "_kernels"
    assert verify(store, recorded, "9.0@13.0")[0] == 0
    assert verify(store.parent, recorded, "9.0@13.0")[0] == 0
    elsewhere = shutil.copytree(store, tmp_path / "elsewhere")
    assert verify(elsewhere, trace({"package": "", "store": str(elsewhere)}), "9.0@13.0")[0] == 0
    parts = Wheel(example_wheel)
    parts.files = {
        f"x-1.data/purelib/{name}" if "/_kernels/" in name else name: data for name, data in parts.files.items()
    }
    assert verify(parts.write_as_it_is(tmp_path), recorded, "9.0@13.0")[0] == 0


def test_requests_of_other_packages_are_not_judged(example_wheel, trace, verify, capsys):
    """They are listed, and a trace with no others proves nothing."""
    mixed = trace({}, {"package": "torch_ops"}, {"package": "", "store": "/somewhere", "kernel": "a\nb"})
    status, data = verify(example_wheel, mixed, "9.0@13.0")
    assert status == 0
    assert [(one["package"], one["store"], one["kernel"]) for one in data["not_judged"]][1:] == [
        ("", "/somewhere", "a\nb"),
    ]  # fmt: skip
    main(["verify", str(example_wheel), "--requests", str(mixed), "--gpus", "9.0@13.0", *SKIPPED])
    assert_printed(
        f"ok       requests       1 pair of request and GPU\n{example_wheel}: ok\n"
        "not judged: 1 kernel of torch_ops: saxpy\nnot judged: 1 kernel of no package: a\\nb\n",
        capsys.readouterr().out,
    )
    status, data = verify(example_wheel, trace({"package": "torch_ops"}), "9.0@13.0")
    assert status == 2
    assert data["problems"][0].endswith("no request is of example_project: the trace has those of 'torch_ops'")


WRONG = {
    "empty": (b"", "9.0@13.0", "the trace is empty"),
    "cut short": (b'{"schema": 1', "9.0@13.0", "trace.jsonl:1: the last line is cut short"),
    "not there": (None, "9.0@13.0", "cannot be read: No such file"),
}


@pytest.mark.parametrize(("data", "gpus", "says"), WRONG.values(), ids=WRONG.keys())
def test_a_trace_that_proves_nothing_is_bad_input(example_wheel, verify, tmp_path, data, gpus, says):
    """The status is 2, and the message names the file."""
    path = tmp_path / "trace.jsonl"
    if data is not None:
        path.write_bytes(data)
    status, told = verify(example_wheel, path, gpus)
    assert (status, says in told["problems"][0], str(path) in told["problems"][0]) == (2, True, True)


@pytest.mark.parametrize(
    "gpus", ["", " , ", "9.0", "9.0@", "@13.0", "9.0@13", "sm_90", "compute_90@13.0", "9.0@13.0@1"]
)
def test_gpus_that_are_not_named_right(example_wheel, recorded, verify, capsys, gpus):
    """The message shows how they are written."""
    with pytest.raises(SystemExit) as ended:
        verify(example_wheel, recorded, gpus)
    assert ended.value.code == 2
    assert "write" in capsys.readouterr().err


def test_gpus_need_requests(example_wheel, capsys):
    """Otherwise nobody says what is asked of them."""
    assert main(["verify", str(example_wheel), "--gpus", "9.0@13.0"]) == 2
    assert "--requests" in capsys.readouterr().err


@pytest.mark.slow
def test_the_examples_trace_proves_its_wheel(whole_example_wheel, verify, tmp_path, monkeypatch):
    """As in CI, for what the manifest promises; without an architecture and PTX, the patch is the manifest's line."""
    trace, project = EXAMPLE / "requests.jsonl", copy_project(tmp_path / "project")
    status, data = verify(whole_example_wheel, trace, None)
    assert (status, len(data["requests"]), data["not_judged"]) == (0, 17, [])
    parts, left = Wheel(whole_example_wheel), ("sm_80", "sm_90")
    for module in ("filter", "radix_sort", "reduce", "saxpy", "softmax"):
        parts.edit_index(module, lambda data: data.update(images=[i for i in data["images"] if i["arch"] in left]))
    manifest = project / "kernels.yaml"
    whole = manifest.read_text()
    manifest.write_text(whole.replace("arches: [sm_80, sm_90, sm_120, compute_80]", "arches: [sm_80, sm_90]"))
    monkeypatch.chdir(project)
    status, data = verify(parts.write(tmp_path), trace, "9.0@13.0, 12.0@13.0")
    assert status == 1
    assert {gpu: image for (_, gpu), image in images(data).items()} == {"9.0@13.0": "sm_90 cubin", "12.0@13.0": None}
    changed = [line for line in data["patch"].splitlines() if line[:1] in "+-" and line[:3] not in {"+++", "---"}]
    assert changed == ["-arches: [sm_80, sm_90]", "+arches: [sm_80, sm_90, sm_120]"]
    status, data = verify(parts.write(tmp_path), trace, "13.0@13.3")
    assert (status, data["patch"], data["notes"]) == (1, "", []), "no release compiles for sm_130"


MANIFEST = """
    schema: 1
    arches: [sm_80, sm_90]
    modules:
      saxpy: {source: saxpy.cu}
      "scale_{T}":
        source: scale.cu
        matrix: {T: [float]}
        options: {define: {TYPE: "{T}"}}
      fill: {source: fill.cu, instances: ["fill<{N}>"], matrix: {N: [32]}}
"""
SOURCES = {
    "mylib/__init__.py": "",
    "scale.cu": 'extern "C" __global__ void scale(TYPE* x) { *x *= 2; }\n',
    "fill.cu": "template <int N> __global__ void fill(int* x) { x[N] = N; }\n",
}


@pytest.mark.slow
def test_the_patch_makes_the_manifest_prove_the_trace(make_project, verify, fresh_cache, tmp_path, monkeypatch, capsys):
    """A package without an architecture, an instance and a combination of axes fails; as patched, it passes."""
    root = make_project(MANIFEST, **SOURCES)
    build_store(load_manifest(root / "kernels.yaml"), root / "mylib" / "_kernels")
    monkeypatch.syspath_prepend(root)
    monkeypatch.chdir(root)
    monkeypatch.setenv(TRACE, str(tmp_path / "trace.jsonl"))
    store = open_store("mylib")
    store.find_image("saxpy", arch="sm_90")
    store.find_image("fill<64>", arch="sm_90")
    store.module("scale", T="double").find_image("scale", arch="sm_90")
    monkeypatch.delenv(TRACE)
    status, data = verify("mylib", tmp_path / "trace.jsonl", "9.0@13.0, 12.0@13.0")
    assert status == 1
    assert images(data) == {
        ("saxpy", "9.0@13.0"): "sm_90 cubin", ("saxpy", "12.0@13.0"): None,
        ("fill<64>", "9.0@13.0"): None, ("fill<64>", "12.0@13.0"): None,
        ("scale", "9.0@13.0"): None, ("scale", "12.0@13.0"): None,
    }  # fmt: skip
    added = [line for line in data["patch"].splitlines() if line.startswith("+") and line[:3] != "+++"]
    assert [sum(part in line for line in added) for part in ("sm_120", "[32, 64]", "[float, double]")] == [1, 1, 1]
    subprocess.run(["git", "apply", "-p1"], input=data["patch"], text=True, check=True, cwd=root)
    shutil.rmtree(root / "mylib" / "_kernels")
    build_store(load_manifest(root / "kernels.yaml"), root / "mylib" / "_kernels")
    status, data = verify("mylib", tmp_path / "trace.jsonl", "9.0@13.0, 12.0@13.0")
    assert (status, set(images(data).values())) == (0, {"sm_90 cubin", "sm_120 cubin"})


def test_without_a_manifest_there_are_lines_to_add(example_wheel, trace, verify, tmp_path, monkeypatch):
    """The problems have what to add; the notes say why there is no patch, or why it lacks something."""
    monkeypatch.chdir(tmp_path)
    status, data = verify(example_wheel, trace(), "7.5@13.0")
    assert (status, data["patch"]) == (1, "")
    assert data["notes"] == ["there is no manifest here to patch: name it with --manifest"]
    (tmp_path / "other.yaml").write_text("{schema: 1, modules: {other: {source: other.cu}}}")
    (tmp_path / "other.cu").write_text("")
    status, data = verify(example_wheel, trace(), "7.5@13.0", "--manifest", "other.yaml")
    assert "other.yaml has no module 'saxpy'" in data["notes"][0]
    (tmp_path / "other.yaml").write_text("{schema: 1, modules: 3}")
    for manifest in ("other.yaml", "none.yaml"):
        status, data = verify(example_wheel, trace(), "7.5@13.0", "--manifest", manifest)
        assert (status, images(data)["saxpy", "7.5@13.0"]) == (1, None)
        assert data["notes"][0].startswith(f"there is no patch for {manifest}: ")


def test_the_page_shows_what_is_printed(example_wheel, trace, capsys, tmp_path, monkeypatch):
    """The problems, the table and the patch, as the how-to has them."""
    asked = trace({}, {"kernel": "block_sum<float, 512>", "module": "reduce", "instance": "block_sum<float, 512>"})
    monkeypatch.chdir(tmp_path)
    status = main(["verify", str(example_wheel), "--requests", str(asked), "--gpus", "9.0@13.0, 7.5@13.0", *SKIPPED])
    printed = capsys.readouterr().out
    assert status == 1
    shown = [
        block.text for block in blocks_of(DOCS / "howto" / "no-compile-at-run-time.md") if block.language == "text"
    ]
    for text in shown[1:]:
        assert_printed(text, printed)
