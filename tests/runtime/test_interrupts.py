"""Ctrl-C and the end of the interpreter while NVRTC compiles at run time, each in a process of its own."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from processes import linux
from waiting import HANG_SECONDS, wait_until

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.threads import keep_sigint_handler

pytestmark = linux

SUPPORT = Path(__file__).parents[1] / "support"
#: ``slow<16>`` takes NVRTC minutes.
SOURCE = """
template <int N, int M> struct Tree { static constexpr int value = Tree<N - 1, 2 * M>::value + Tree<N - 1, 2 * M + 1>::value; };
template <int M> struct Tree<0, M> { static constexpr int value = M & 1; };
template <int N> __global__ void slow(int* y) { *y = Tree<N, 0>::value; }
"""  # noqa: E501
MANIFEST = '{schema: 1, arches: [sm_90], modules: {m: {source: m.cu, instances: ["slow<1>"]}}}'
#: Processor seconds, whatever else the machine does: a part of what the compile takes that only NVRTC can have spent,
#: and one that no process spends that does not wait for it.
BEGUN, LITTLE = 0.2, 15.0

#: What a script has done before it compiles. NVRTC is loaded, and a compile proves that it works.
BEFORE = """
import asyncio, atexit, ctypes, sys, threading, time
from pathlib import Path
import cuda.bindings.driver
from fake_driver import FakeDriver
from hatch_cuda_kernels import NvrtcOptions, compile_async, compile_to_cubin, early, open_store

SOURCE = open("m.cu").read()
SLOW = {"arch": "sm_90", "names": ["slow<16>"], "use_cache": False}
store = open_store(Path("out"))
compile_to_cubin(SOURCE, **SLOW | {"names": ["slow<1>"]})
cuda.bindings.driver = sys.modules["cuda.bindings.driver"] = FakeDriver()  # NVRTC's bindings have loaded theirs
early._started.append(None)
file = open("buffered.txt", "w")
file.write("written")
print("printed")
atexit.register(lambda: print("exit handler", flush=True))
def compiling():
    sys.stderr.write("compiling\\n")
"""

WAITS = {
    "stand-alone": "compile_to_cubin(SOURCE, **SLOW)",
    "at the root": "compile_to_cubin(SOURCE, options=NvrtcOptions(debug=True), **SLOW)",
    "a future": "compile_async(SOURCE, **SLOW).result()",
    "get_kernel": "store.get_kernel('slow<16>')",
    "warm_up": "store.warm_up(['slow<1>', 'slow<16>'])",
    "a store's future": "store.compile_async('slow<16>', arch='sm_90').result()",
    "a coroutine": "asyncio.run(store.aget_kernel('slow<16>'))",
    "other work": "compile_async(SOURCE, **SLOW); time.sleep(3600)",
    "a daemon thread": "threading.Thread(target=compile_to_cubin, args=(SOURCE,), kwargs=SLOW, daemon=True).start(); "
    "time.sleep(3600)",
}


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """Return a folder with a source and its store, which lacks ``slow<16>``."""
    root = tmp_path_factory.mktemp("interrupts")
    (root / "m.cu").write_text(SOURCE)
    (root / "kernels.yaml").write_text(MANIFEST)
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    return root


@pytest.fixture
def start(project, fresh_cache, slow):
    """Return a function that starts a script in the project, and returns it when it compiles."""
    started = []

    def run(code):
        path = os.pathsep.join(filter(None, [str(SUPPORT), os.environ.get("PYTHONPATH")]))
        (project / "buffered.txt").unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", f"{BEFORE}\n{code}"], cwd=project, env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        assert process.stderr.readline() == "compiling\n", process.stderr.read()
        before = processor_seconds(process)
        wait_until(lambda: process.poll() is not None or processor_seconds(process) - before > BEGUN)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def processor_seconds(process):
    """Return how long a process has worked; nothing if it has been waited for."""
    if process.returncode is not None:
        return 0.0
    user, system = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def ended(process, project):
    """Return the status and the errors of a process that has to end soon, with nothing lost that it had to write."""
    before = processor_seconds(process) + waited_for()
    out, err = process.communicate(timeout=HANG_SECONDS)
    assert waited_for() - before < LITTLE
    assert out == "printed\nexit handler\n"
    assert (project / "buffered.txt").read_text() == "written"
    return process.returncode, err


def waited_for():
    """Return how long all processes have worked that this one has waited for."""
    import resource  # which Windows lacks

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_is_answered_while_nvrtc_compiles(start, project, wait):
    """Whichever call waits for the compile, KeyboardInterrupt ends it; a shell shows the status as 130."""
    process = start(f"compiling(); {WAITS[wait]}")
    process.send_signal(signal.SIGINT)
    status, err = ended(process, project)
    assert status == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert "Exception ignored" not in err


def test_a_program_may_catch_the_interrupt(start, project):
    """It is an exception like any other, and the program's own status is kept."""
    process = start(
        "compiling()\n"
        "try: store.get_kernel('slow<16>')\n"
        "except KeyboardInterrupt: sys.stderr.write('caught')\n"
        "assert store.find_image('slow<1>', arch='sm_90').origin == 'prebuilt'\n"
        "sys.exit(130)"
    )
    process.send_signal(signal.SIGINT)
    assert ended(process, project) == (130, "caught")


#: The destructors of other libraries take as long as a driver's.
SLOW_EXIT = "libc = ctypes.CDLL(None); libc.__cxa_atexit(libc.usleep, ctypes.c_void_p(300_000), None)"


@pytest.mark.parametrize(("end", "status"), [("", 0), ("sys.exit(7)", 7), ("raise ValueError", 1)])
def test_python_exits_while_nvrtc_compiles(start, project, end, status):
    """Nobody waits for the compile; the status and what was printed are the program's own."""
    process = start(f"{SLOW_EXIT}\ncompiling(); compile_async(SOURCE, **SLOW); time.sleep(0.3)\n{end}")
    found, err = ended(process, project)
    assert found == status
    assert "Fatal" not in err


@pytest.mark.parametrize(("end", "is_recorded"), [("", True), ("raise KeyboardInterrupt", False)])
def test_a_compile_for_the_next_process_ends_with_the_program(project, fresh_cache, end, is_recorded, slow):
    """However short a program is, the next one has the exact image; Ctrl-C ends that, too."""
    out = project / f"ptx-{is_recorded}"
    manifest = MANIFEST.replace("sm_90", "compute_80").replace("slow<1>", "slow<12>")
    (project / "ptx.yaml").write_text(manifest)
    build_store(load_manifest(project / "ptx.yaml"), out)
    before = cached(fresh_cache)
    code = f"open_store(Path({str(out)!r}), tier_up=True).get_kernel('slow<12>')\n{end}"
    path = os.pathsep.join(filter(None, [str(SUPPORT), os.environ.get("PYTHONPATH")]))
    subprocess.run([sys.executable, "-c", f"{BEFORE}\n{code}"], cwd=project, env=os.environ | {"PYTHONPATH": path})
    assert (len(cached(fresh_cache) - before) == 1) is is_recorded


def cached(path):
    """Return the images in a cache."""
    return {*path.rglob("*.cubin")}


def test_what_c_libraries_print_is_kept(start):
    """Their buffers are written at an exit while NVRTC compiles, as at any other."""
    process = start(
        "ctypes.CDLL(None).printf(b'from C\\n'); compiling(); compile_async(SOURCE, **SLOW); time.sleep(0.3)"
    )
    out, _ = process.communicate(timeout=HANG_SECONDS)
    assert sorted(out.split("\n")) == ["", "exit handler", "from C", "printed"]


@pytest.mark.slow
@pytest.mark.parametrize("when", ["while Python waits for a thread", "in an exit handler"])
def test_python_compiles_while_it_exits(project, fresh_cache, when):
    """From Python 3.12 on, no thread can be started by then."""
    late = {
        "while Python waits for a thread": "threading.Thread(target=lambda: (time.sleep(0.5), compile())).start()",
        "in an exit handler": "atexit.register(compile)",
    }
    code = (
        "import atexit, threading, time\n"
        "from hatch_cuda_kernels import compile_to_ptx\n"
        "def compile(): print(compile_to_ptx('', arch='sm_90', use_cache=False).arch)\n"
        f"{late[when]}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_SECONDS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "compute_90\n", "")


@pytest.fixture
def counted():
    """Return the list that a handler of SIGINT adds to; the process has its own back afterwards."""
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(None))
    yield seen
    signal.signal(signal.SIGINT, before)


def action():
    """Return what the system does at SIGINT: the parts of a ``struct sigaction``."""
    found = ctypes.create_string_buffer(512)
    ctypes.CDLL(None).sigaction(signal.SIGINT, None, found)
    return found.raw[:8], found.raw[136:140]  # the handler and the flags, on 64-bit Linux


def test_nvrtc_does_not_keep_sigint(counted):
    """It sets a handler that ends the process, and then sets back the old one such that Ctrl-C ends no wait."""
    libc, ours = ctypes.CDLL(None), action()
    with keep_sigint_handler():
        libc.signal(signal.SIGINT, libc._exit)
        wait_until(lambda: action() == ours)
        os.kill(os.getpid(), signal.SIGINT)
        libc.signal(signal.SIGINT, ctypes.c_void_p.from_buffer_copy(ours[0]))
    wait_until(lambda: counted)
    assert action() == ours


def test_ctrl_c_before_nvrtc_sets_its_handler_is_not_lost(counted):
    """It ignores the signal for a moment, with which the system drops one that is pending."""
    libc, ours = ctypes.CDLL(None), action()
    with keep_sigint_handler():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        libc.signal(signal.SIGINT, ctypes.c_void_p(signal.SIG_IGN))
        libc.signal(signal.SIGINT, ctypes.c_void_p.from_buffer_copy(ours[0]))
    wait_until(lambda: counted)
    assert action() == ours


def test_another_signal_meanwhile_is_no_ctrl_c(counted):
    """It ends the wait for SIGINT, as a debugger or a frozen container does, and Python then reports anything."""
    before, others = signal.signal(signal.SIGUSR1, lambda *_: None), {*threading.enumerate()}
    with keep_sigint_handler():
        (keeper,) = {*threading.enumerate()} - others
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            signal.pthread_kill(keeper.ident, signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)
    assert not counted
