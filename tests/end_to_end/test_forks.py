"""Processes that are forked while another thread imports or compiles: they never wait for what nobody will do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from c_code import compile_c
from waiting import HANG_SECONDS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
]

#: A compile that takes long enough to be under way at a fork, and one that does not.
SOURCES = """
KERNEL = "__global__ void k{0}(float* p) {{ for (int j = 0; j < {0} + 9; j++) p[j] = p[j + 1] * p[j + {0}]; }}"
LONG = " ".join(map(KERNEL.format, range(70)))
SHORT = "__global__ void other(float* p) { *p = 1; }"
"""
STARTED = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads forks
sys.setswitchinterval(0.0005)
import hatch_cuda_kernels

def compile(text):
    return len(hatch_cuda_kernels.compile_to_cubin(text, arch="sm_90").image)

def report(text):
    try:
        said = compile(text)
    except BaseException as error:
        said = repr(error)
    os.write(1, f"{said}\\n".encode())  # in one piece: several children may write at a time
    os._exit(0)
"""
IN_A_THREAD = """
thread = threading.Thread(target=compile, args=(LONG,))
thread.start()
children = []
for pause in map(float, sys.argv[2:]):
    time.sleep(pause)
    children.append(os.fork())
    if children[-1] == 0:
        report({"other": SHORT, "same": LONG}[sys.argv[1]])
for child in children:
    os.waitpid(child, 0)
thread.join()
"""
IN_A_HANDLER = """
def fork(*_):
    if os.fork() == 0:
        signal.setitimer(signal.ITIMER_REAL, 0)
        return
    signal.signal(signal.SIGALRM, signal.SIG_IGN)

parent = os.getpid()
compile(SHORT)
signal.signal(signal.SIGALRM, fork)
signal.setitimer(signal.ITIMER_REAL, 0.3)
size = compile(LONG)
os.write(1, f"{'parent' if os.getpid() == parent else 'child'} {size}\\n".encode())
if os.getpid() == parent:
    os.wait()
"""
SLOW_LIBRARY = """
#include <unistd.h>
int is_whole;
__attribute__((constructor)) static void start(void) { usleep(500000); is_whole = 1; }
"""
WHILE_LOADING = """
import ctypes
from hatch_cuda_kernels.forks import load_library

thread = threading.Thread(target=load_library, args=(sys.argv[1],))
thread.start()
time.sleep(0.1)
if os.fork() == 0:
    signal.alarm(20)  # a lock of the system's loader may be held
    print(ctypes.c_int.in_dll(ctypes.CDLL(sys.argv[1]), "is_whole").value, flush=True)
    os._exit(0)
os.wait()
thread.join()
"""
WITH_A_CANARY = """
from hatch_cuda_kernels.compiler.nvrtc_calls import is_tainted
from hatch_cuda_kernels.forks import InheritedError

print(is_tainted(), flush=True)
if os.fork() == 0:
    try:
        print(is_tainted())
    except InheritedError:
        print("not asked")
else:
    os.wait()
"""
IN_A_POOL = """
import multiprocessing

thread = threading.Thread(target=compile, args=(LONG,))
thread.start()
time.sleep(1)
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(compile, [SHORT, SHORT + " "]))
thread.join()
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a script with an empty cache, and returns its lines."""

    def run(script, *arguments):
        environment = os.environ | {"HATCH_CUDA_KERNELS_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-c", STARTED + SOURCES + script, *map(str, arguments)]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=HANG_SECONDS / 4
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    return run


@pytest.mark.every_python
def test_children_compile_while_their_parent_does(run):
    """At no moment of a first use does a child wait for its parent's threads; it compiles something else."""
    sizes = run(IN_A_THREAD, "other", 0, 0.02, 0.05, 0.1, 0.2, 0.4)
    assert len(sizes) == 6
    assert all(int(size) > 0 for size in sizes)


def test_a_child_gets_what_its_parent_compiles(run):
    """A child that asks for what a thread of its parent compiles gets the same."""
    (size,) = run(IN_A_THREAD, "same", 0.8)
    assert int(size) > 0


@pytest.mark.every_python
def test_a_fork_in_a_handler(run):
    """A handler of a signal that forks while the main thread waits for a compile: both have the image."""
    lines = dict(line.split() for line in run(IN_A_HANDLER))
    assert lines.keys() == {"parent", "child"}
    assert lines["parent"] == lines["child"]


def test_a_library_that_is_being_loaded_is_whole_in_a_child(run, tmp_path):
    """Python goes on meanwhile, but the fork waits: nobody would load the rest in the child."""
    library = compile_c(SLOW_LIBRARY, tmp_path / "slow.so", "-shared", "-fPIC")
    assert run(WHILE_LOADING, library) == ["1"]


def test_a_child_does_not_ask_its_parents_nvrtc(run):
    """What NVRTC compiles after a compile, to see whether it can be trusted, has no other lock than a compile."""
    assert run(WITH_A_CANARY) == ["False", "not asked"]


def test_a_pool_of_forks(run):
    """A pool of forked workers compiles while its parent does."""
    (sizes,) = run(IN_A_POOL)
    assert all(size > 0 for size in map(int, sizes.strip("[]").split(",")))


HOLDER = """
import os, sys, time
from pathlib import Path
from hatch_cuda_kernels.cache.disk import DiskCache

def make():
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(300)
    time.sleep(300)

DiskCache(Path(sys.argv[1]), max_bytes=1 << 20).get_or_make("a" * 64, make)
"""


def test_a_killed_compiler_lets_go_of_its_lock_though_a_child_lives(tmp_path):
    """The lock file that a forked child inherits does not keep the next process waiting."""
    from hatch_cuda_kernels.cache.disk import DiskCache

    holder = subprocess.Popen([sys.executable, "-W", "ignore", "-c", HOLDER, str(tmp_path / "cache")], stdout=-1)
    child = int(holder.stdout.readline())
    try:
        holder.kill()
        holder.wait()
        start = time.monotonic()
        with DiskCache(tmp_path / "cache", max_bytes=1 << 20).once().turn("a" * 64, bool):
            assert time.monotonic() - start < HANG_SECONDS / 4
    finally:
        os.kill(child, signal.SIGKILL)
        holder.stdout.close()
