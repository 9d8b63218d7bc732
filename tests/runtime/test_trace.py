"""The trace of a program: what is recorded, by whom, and that no file breaks the program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path

import pytest

from hatch_cuda_kernels import compile_to_cubin, open_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.environment import TRACE
from hatch_cuda_kernels.errors import InputError, NoImageError
from hatch_cuda_kernels.runtime.background import finish_for_next
from hatch_cuda_kernels.runtime.ladder import read_trace, trace

PACKAGE = "example_project"


@pytest.fixture
def traced(tmp_path, monkeypatch):
    """Return the trace that this test's process writes."""
    monkeypatch.setattr(trace, "_written", set())
    monkeypatch.setattr(trace, "_lost", {})
    monkeypatch.setenv(TRACE, str(tmp_path / "trace.jsonl"))
    return tmp_path / "trace.jsonl"


@pytest.fixture
def store(example_site, monkeypatch):
    """Return the store of the example, found by the name of its package."""
    monkeypatch.syspath_prepend(example_site)
    return open_store(PACKAGE)


def lines(path):
    """Return the lines of a trace as data."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def answers(path):
    """Return what requests got, in order."""
    return [(one.kernel, one.answer, one.capability) for one in read_trace(path)]


def test_a_line_says_who_asked_for_what_and_got_which_image(store, traced):
    """Kernel, module, package and version, device, driver, answer, reason, process; a repeated request is not new."""
    for _ in range(3):
        store.find_image("saxpy", arch="sm_90", driver=(13, 0))
    [line] = lines(traced)
    assert isinstance(line.pop("time"), str)
    test = os.environ["PYTEST_CURRENT_TEST"]
    assert {name: line.pop(name) for name in ("test", "worker") if name in line}["test"] == test
    assert line == {
        "schema": 1, "answer": "prebuilt", "kernel": "saxpy", "module": "saxpy", "asked": None, "instance": None,
        "package": PACKAGE, "version": "0.1.0", "store": "", "capability": "9.0", "driver": "13.0",
        "policy": "compatible", "tier_up": False, "reasons": ["prebuilt sm_90 cubin: made for this device"],
        "image": {"arch": "sm_90", "kind": "cubin"}, "process": os.getpid(),
    }  # fmt: skip


def test_a_repeated_get_kernel_is_not_recorded_again(store, traced, driver):
    """The look-up of a loaded kernel is what it is without a trace."""
    saxpy = store.get_kernel("saxpy")
    assert answers(traced) == [("saxpy", "prebuilt", "9.0")]
    look_up = store.__dict__["get_kernel"]
    traced.unlink()
    assert all(store.get_kernel("saxpy") is saxpy for _ in range(1000))
    assert store.__dict__["get_kernel"] is look_up
    assert not traced.exists()


def test_unset_or_empty_nothing_is_recorded(store, traced, monkeypatch):
    """As for every variable, an empty one counts as unset; what records is not even imported."""
    monkeypatch.setenv(TRACE, "")
    monkeypatch.delitem(sys.modules, "hatch_cuda_kernels.runtime.ladder.trace")
    store.find_image("saxpy", arch="sm_90")
    assert not traced.exists()
    assert "hatch_cuda_kernels.runtime.ladder.trace" not in sys.modules


@pytest.mark.slow
def test_compiled_then_cached(store, traced, fresh_cache, monkeypatch):
    """A compile is told of as it begins; then come what the request got, the reasons, and what the manifest lacks."""
    store.find_image("block_sum<float, 64>", arch="sm_90")
    assert answers(traced) == [
        ("block_sum<float, 64>", "compiling", "9.0"),
        ("block_sum<float, 64>", "compiled", "9.0"),
    ]
    for line in lines(traced):
        assert line["instance"] == "block_sum<float, 64>"
        assert line["reasons"][0] == "the instance is not in the package's kernels.yaml"
        assert line["line_to_add"] == (
            "add 'block_sum<float, 64>' to modules.reduce.instances in the package's kernels.yaml"
        )
    monkeypatch.setattr(trace, "_written", set())
    open_store(PACKAGE).find_image("block_sum<float, 64>", arch="sm_90")
    assert (lines(traced)[-1]["answer"], lines(traced)[-1]["site"]) == ("cached", False)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_PATH", str(fresh_cache))
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(fresh_cache.parent / "none"))
    monkeypatch.setattr(trace, "_written", set())
    open_store(PACKAGE).find_image("block_sum<float, 64>", arch="sm_90")
    assert (lines(traced)[-1]["answer"], lines(traced)[-1]["site"]) == ("cached", True)


@pytest.mark.slow
def test_a_compile_in_the_background_is_recorded(example_site, traced, fresh_cache, driver, monkeypatch):
    """With tier_up: what is used at once, and the compile of the exact image that a later process takes."""
    monkeypatch.syspath_prepend(example_site)
    driver.capability = (8, 6)
    assert open_store(PACKAGE, tier_up=True).get_kernel("saxpy").image.origin == "prebuilt"
    finish_for_next()
    used, compiled = read_trace(traced)
    assert (used.answer, used.image["arch"], used.tier_up) == ("prebuilt", "sm_80", True)
    assert (compiled.answer, compiled.image["arch"], compiled.tier_up) == ("compiling", "sm_86", True)
    assert compiled.reasons[0].endswith("; tier_up asks for code for exactly this device")


@pytest.mark.slow
def test_source_text_that_the_program_compiles(traced, fresh_cache):
    """It is of no package: its compile is in the trace, and the image from the cache once, too."""
    for _ in range(3):
        compile_to_cubin('extern "C" __global__ void k() {}', arch="sm_80")
    assert [(one.answer, one.package, one.capability) for one in read_trace(traced)] == [
        ("compiling", "", "8.0"), ("cached", "", "8.0"),
    ]  # fmt: skip


def test_a_refusal_has_its_reasons(store, traced, fresh_cache):
    """Also for a name with quotes, line feeds, a NUL and half a surrogate pair, which read as they were."""
    name = "block_sum<float, '\"\\\n\u2028\0\udcff>"
    for one in ("saxpy", name):
        with pytest.raises(NoImageError):
            store.find_image(one, arch="sm_75", policy="prebuilt", driver=(13, 0))
    saxpy, odd = read_trace(traced)
    assert (saxpy.answer, saxpy.image) == ("refused", {})
    assert saxpy.reasons[0] == "not prebuilt: the package was built for sm_80, compute_80, sm_90, sm_120"
    assert "jitted sm_75 cubin: policy 'prebuilt' never compiles" in saxpy.reasons
    assert saxpy.line_to_add.startswith("add sm_75 to modules.saxpy.arches, or to arches")
    assert odd.kernel == name
    assert traced.read_bytes().count(b"\n") == 2


def test_why_a_driver_that_is_too_old_has_it_compiled(store):
    """The reason says what is wrong with the image that would do."""
    request = store._request("saxpy", None, None, "sm_100", (12, 8))
    assert request.why_not_prebuilt == (
        "not prebuilt: the package was built for sm_80, compute_80, sm_90, sm_120; "
        "compute_80 ptx: written as PTX ISA 9.0, the driver knows up to 8.7"
    )
    request = store._request("saxpy", None, "exact", "sm_86", (13, 0))
    assert request.why_not_prebuilt.endswith("; the policy exact asks for code for exactly this device")


@pytest.mark.parametrize(
    ("opened", "package"),
    [
        (lambda site: PACKAGE, PACKAGE),
        (lambda site: site / PACKAGE, PACKAGE),
        (lambda site: str(site / PACKAGE / "_kernels"), PACKAGE),
        (lambda site: (site / PACKAGE / "_kernels").rename(site / "elsewhere"), ""),
    ],
    ids=["name", "folder", "store", "no package"],
)
def test_the_package_is_found_however_its_store_was_opened(
    opened, package, example_site, traced, tmp_path, monkeypatch
):
    """By its import name, by its folder, or by that of its store; of a store elsewhere, the place is recorded."""
    site = tmp_path / "site"
    shutil.copytree(example_site, site)
    monkeypatch.syspath_prepend(site)
    open_store(opened(site)).find_image("saxpy", arch="sm_90")
    [line] = lines(traced)
    assert (line["package"], line["version"]) == (package, "0.1.0" if package else "")
    assert line["store"] == ("" if package else str(site / "elsewhere"))


def test_the_version_is_that_of_the_distribution_with_the_store(example_site, traced, tmp_path, monkeypatch):
    """Several may share a namespace, and one may be called as another's import package."""
    for name, version in (("acme-aaa", "1.0"), ("acme-two", "2.0"), ("acme", "3.0")):
        part = name.rpartition("-")[2]
        info = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "RECORD").write_text(f"acme/{part}/_kernels/kernels.tsv,,\nacme/{part}/__init__.py,,\n")
        shutil.copytree(example_site / PACKAGE, tmp_path / "acme" / part)
    monkeypatch.syspath_prepend(tmp_path)
    for part in ("aaa", "two"):
        open_store(f"acme.{part}").find_image("saxpy", arch="sm_90")
    assert [(line["package"], line["version"]) for line in lines(traced)] == [("acme.aaa", "1.0"), ("acme.two", "2.0")]
    assert main(["compare", "acme.aaa", "acme.two"]) == 2


def fifo(folder):
    """Return a FIFO that nobody reads."""
    os.mkfifo(folder / "fifo")
    return folder / "fifo"


def read_only(folder):
    """Return a file in a folder that nobody may write to, not even root."""
    return "/proc/version"


UNUSABLE = {
    "folder": (lambda folder: folder, "Is a directory"),
    "no such folder": (lambda folder: folder / "none" / "trace", "No such file or directory"),
    "full disk": (lambda folder: "/dev/full", "No space left on device"),
    "fifo without a reader": (fifo, "No such device or address"),
    "read-only": (read_only, "Permission denied|Input/output error|Operation not permitted"),
    "long name": (lambda folder: folder / ("x" * 300), "File name too long"),
}


@pytest.mark.parametrize(("make", "why"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_trace_that_cannot_be_written_warns_once(make, why, store, traced, tmp_path, monkeypatch, capsys):
    """And the program goes on: nothing is raised, nothing waits."""
    path = make(tmp_path)
    monkeypatch.setenv(TRACE, str(path))
    with pytest.warns(RuntimeWarning, match=f"requests for kernels are missing in the trace {path}: ({why})"):
        assert store.find_image("saxpy", arch="sm_90").origin == "prebuilt"
    assert store.find_image("softmax<32>", arch="sm_90").origin == "prebuilt"
    assert capsys.readouterr().err == ""
    assert trace.lost_lines(str(path)) is not None


def test_a_warning_that_the_program_makes_an_error_is_text(store, traced, tmp_path, monkeypatch, capsys):
    """With ``-W error``, a full disk is still no reason to raise."""
    monkeypatch.setenv(TRACE, "/dev/full")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.find_image("saxpy", arch="sm_90").origin == "prebuilt"
    assert capsys.readouterr().err == (
        "requests for kernels are missing in the trace /dev/full: No space left on device\n"
    )


def test_a_line_that_does_not_fit_is_told_of(store, traced, monkeypatch):
    """A write that takes only a part of a line is one that failed."""
    monkeypatch.setattr(trace.os, "write", lambda file, data: len(data) - 1)
    with pytest.warns(RuntimeWarning, match="a line was cut short"):
        store.find_image("saxpy", arch="sm_90")


def test_whatever_goes_wrong_the_program_goes_on(store, traced, monkeypatch):
    """Even where a line cannot be made: then it is missing, and the warning says why."""
    monkeypatch.setattr(trace, "_facts", lambda request: {}["package"])
    with pytest.warns(RuntimeWarning, match="KeyError: 'package'"):
        assert store.find_image("saxpy", arch="sm_90").origin == "prebuilt"


def test_what_was_lost_is_recorded_when_there_is_room_again(store, traced, tmp_path, monkeypatch):
    """A request counts as recorded only once it is."""
    monkeypatch.setenv(TRACE, str(tmp_path / "none" / "trace"))
    with pytest.warns(RuntimeWarning, match="No such file"):
        store.find_image("saxpy", arch="sm_90")
    (tmp_path / "none").mkdir()
    store.find_image("saxpy", arch="sm_90")
    assert answers(tmp_path / "none" / "trace") == [("saxpy", "prebuilt", "9.0")]


KERNELS = [
    "saxpy",
    "softmax<32>",
    "softmax<256>",
    *(f"block_sum<{t}, {n}>" for t in ("float", "double") for n in (128, 256)),
]
ARCHS = ["sm_80", "sm_90"]


@pytest.mark.every_python
def test_many_processes_and_their_threads_write_whole_lines(store, traced, slow):
    """Each of them writes each of its requests once, in one line, whatever the others do."""
    children = []
    for _ in range(16):
        child = os.fork()
        if child == 0:
            asked = [(kernel, arch) for kernel in KERNELS for arch in ARCHS]
            halves = [threading.Thread(target=lambda some=some: [ask(store, *one) for one in some])
                      for some in (asked, asked[::-1])]  # fmt: skip
            [half.start() for half in halves]
            [half.join() for half in halves]
            os._exit(0)
        children.append(child)
    assert {os.waitpid(child, 0)[1] for child in children} == {0}
    requests = Counter((one.process, one.kernel, one.capability) for one in read_trace(traced))
    assert {process for process, _, _ in requests} == {*children}
    assert len(requests) == 16 * len(KERNELS) * len(ARCHS)
    # Two threads that make a request at the same time may both be the first.
    assert set(requests.values()) <= {1, 2}


def ask(store, kernel, arch):
    """Make a request."""
    store.find_image(kernel, arch=arch)


@pytest.mark.every_python
def test_a_fork_in_the_middle_of_writing_records_what_it_asks(store, traced, slow):
    """No lock is held that a child would wait for, and no file is open that it would write to a second time."""
    stop = threading.Event()

    def write():
        while not stop.is_set():
            trace._written.clear()
            store.find_image("saxpy", arch="sm_90")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                trace._written.clear()
                store.find_image("softmax<32>", arch="sm_80")
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        writer.join()
    asked = Counter(one.kernel for one in read_trace(traced))
    assert asked["softmax<32>"] == 10


def test_the_vendored_loader_writes_the_same_lines(example_site, traced, tmp_path, slow):
    """Its text is the package's own, so a library without dependencies can be traced, too."""
    from hatch_cuda_kernels.vendor import loader_text

    site = tmp_path / "site"
    shutil.copytree(example_site, site)
    (site / PACKAGE / "_loader.py").write_text(loader_text())
    (site / PACKAGE / "__init__.py").write_text("")
    code = f"""
from {PACKAGE}._loader import NoImageError, open_store
open_store().find_image('saxpy', arch='sm_90', driver=(13, 0))
try:
    open_store().find_image('block_sum<float, 512>', arch='sm_90')
except NoImageError:
    pass
"""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    line, other = read_trace(traced)
    assert (line.package, line.version, line.kernel, line.answer) == (PACKAGE, "0.1.0", "saxpy", "prebuilt")
    assert line.image == {"arch": "sm_90", "kind": "cubin"}
    assert (other.answer, other.instance, other.kernel) == ("refused", other.kernel, "block_sum<float, 512>")


GOOD = {
    "schema": 1, "answer": "prebuilt", "kernel": "saxpy", "module": "saxpy", "asked": None, "instance": None,
    "package": PACKAGE, "version": "0.1.0", "store": "/s", "capability": "9.0", "driver": "13.0",
    "policy": "compatible", "tier_up": False, "reasons": [], "process": 1,
}  # fmt: skip


def text_of(*lines):
    """Return the text of a trace."""
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def test_a_line_of_a_later_version_may_say_more(tmp_path):
    """Fields that this version does not know are passed over, and so are empty lines."""
    path = tmp_path / "trace.jsonl"
    path.write_bytes(text_of({**GOOD, "colour": "red"}) + b"\n")
    assert answers(path) == [("saxpy", "prebuilt", "9.0")]


BAD = {
    "empty": (b"", "the trace is empty"),
    "blank": (b"\n \n", "the trace is empty"),
    "cut short": (text_of(GOOD, GOOD)[:-9], "trace.jsonl:2: the last line is cut short"),
    "without its end": (text_of(GOOD)[:-1], "trace.jsonl:1: the last line is cut short"),
    "two lines in one": (text_of(GOOD)[:40] + text_of(GOOD), "trace.jsonl:1: this is no line of a trace"),
    "not JSON": (b"saxpy\n", "trace.jsonl:1: this is no line of a trace"),
    "not text": (bytes(range(256)) + b"\n", "trace.jsonl:1: this is no line of a trace"),
    "a list": (b"[]\n", "trace.jsonl:1: this is no line of a trace"),
    "nested": (b"[" * 100000 + b"\n", "trace.jsonl:1: "),
    "another schema": (text_of({**GOOD, "schema": 2}), "schema 2 is not 1: written by another version"),
    "no kernel": (text_of({key: GOOD[key] for key in GOOD if key != "kernel"}), "kernel is missing or damaged"),
    "a number": (text_of(GOOD, {**GOOD, "kernel": 3}), "trace.jsonl:2: kernel is missing or damaged"),
    "axes": (text_of({**GOOD, "axes": {"T": 1}}), "axes is missing or damaged"),
    "a policy": (text_of({**GOOD, "policy": "fast"}), "policy is missing or damaged"),
}


@pytest.mark.parametrize(("data", "says"), BAD.values(), ids=BAD.keys())
def test_a_trace_that_may_lack_requests_is_an_error(data, says, tmp_path):
    """A proof from half a trace would prove nothing, so the first line that cannot be read is named."""
    path = tmp_path / "trace.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError) as raised:
        read_trace(path)
    assert says in str(raised.value)


@pytest.mark.parametrize("path", ["none.jsonl", "."])
def test_a_trace_that_is_not_there_is_an_error(path, tmp_path):
    """It says which file, and why."""
    with pytest.raises(InputError, match=r"the trace cannot be read: (No such file|Is a dir)"):
        read_trace(Path(tmp_path, path))
