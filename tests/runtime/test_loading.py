"""From ``get_kernel`` to a launch on a fake driver: which image is loaded, what is remembered, what is refused."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from fake_driver import Result

from hatch_cuda_kernels import compile_to_cubin, early, environment, load, open_store
from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler import nvrtc
from hatch_cuda_kernels.compiler.toolchain import key_parts, libraries
from hatch_cuda_kernels.errors import (
    CompileError,
    DriverError,
    ImageRefusedError,
    InputError,
    KernelNotFoundError,
    NoImageError,
)
from hatch_cuda_kernels.runtime.background import background_threads
from hatch_cuda_kernels.runtime.ladder import climb
from hatch_cuda_kernels.runtime.launch import arguments, codegen
from hatch_cuda_kernels.runtime.launch.arguments import Signature


@pytest.fixture
def store(example_store, driver, fresh_cache):
    """Return the example project's store, for the fake driver."""
    return open_store(example_store)


def found(kernel):
    """Return what matters of a kernel's image."""
    return kernel.image.origin, str(kernel.image.arch), kernel.image.kind


def refusing(result, *refused):
    """Return the driver's answer for images of these bytes."""
    return lambda data, _: result if data in refused else None


def test_a_prebuilt_kernel_is_loaded_and_launched(store, driver):
    """The image for the device is loaded, and arguments reach the driver in its layout."""
    kernel = store.get_kernel("saxpy")
    assert found(kernel) == ("prebuilt", "sm_90", "cubin")
    assert (kernel.name, kernel.lowered, kernel.context_id, kernel.ordinal) == ("saxpy", "saxpy", 7, 0)
    assert driver.name_of(kernel.handle) == b"saxpy"
    kernel[4, 256](2.5, 0x10, 0x20, 1000)
    buffer = Signature("saxpy", kernel.params).pack((2.5, 0x10, 0x20, 1000))
    assert driver.launches == [(0, b"saxpy", buffer)]


@pytest.mark.parametrize("kernel", ["saxpy", "block_sum<float, 128>", "no_such_kernel"])
def test_the_time_until_the_driver_starts_is_used(store, driver, monkeypatch, kernel):
    """While the driver starts, what a load needs is imported and read; what is not there is left to the look-up."""
    monkeypatch.setattr(load, "is_starting", lambda: True)
    if kernel == "no_such_kernel":
        with pytest.raises(KernelNotFoundError):
            store.get_kernel(kernel)
    else:
        assert found(store.get_kernel(kernel)) == ("prebuilt", "sm_90", "cubin")


def starting_library(goes_on):
    """Return as much of libcuda as starts a driver for CUDA 13.2 with a device of 12.1; its context waits."""

    def give(value, number):
        value._obj.value = number
        return 0

    return SimpleNamespace(
        cuCtxGetCurrent=lambda _: 3,  # the driver is not initialised
        cuInit=lambda _: time.sleep(0.01) or 0,
        cuDeviceGetAttribute=lambda value, attribute, _: give(value, {75: 12, 76: 1}[attribute]),
        cuDriverGetVersion=lambda value: give(value, 13020),
        cuDevicePrimaryCtxRetain=lambda *_: goes_on.wait() and 0,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="the driver is not started ahead there")
def test_the_driver_tells_its_device_before_the_context_is_made(monkeypatch):
    """What a kernel needs is known as soon as the driver has started, and asked of the driver itself after that."""
    goes_on = threading.Event()
    monkeypatch.setattr(early.ctypes, "CDLL", lambda _: starting_library(goes_on))
    monkeypatch.setattr(early, "_started", [])
    monkeypatch.setattr(early, "_device", [])
    monkeypatch.setattr(early, "_asked", threading.Lock())
    assert early.starting_device() is None
    early.start_driver()
    assert early.starting_device() == ((12, 1), (13, 2))
    goes_on.set()
    early.join_driver()
    assert early.starting_device() is None


def test_the_image_is_read_while_the_context_is_made(example_store, driver, monkeypatch, tmp_path):
    """Once the driver tells what device 0 is; when there is a context, the store's files are read no more."""
    folder = shutil.copytree(example_store, tmp_path / "store")
    context = driver.cuCtxGetCurrent
    monkeypatch.setattr(load, "starting_device", lambda: ((9, 0), (13, 0)))
    monkeypatch.setattr(driver, "cuCtxGetCurrent", lambda: shutil.rmtree(folder, ignore_errors=True) or context())
    assert found(open_store(folder).get_kernel("saxpy")) == ("prebuilt", "sm_90", "cubin")


def test_garbage_is_collected_while_a_look_up_waits(store, driver, monkeypatch):
    """Another process may look for the compiler at the time, which takes seconds; threads make garbage meanwhile."""
    seen = []
    monkeypatch.setattr(climb, "ladder", lambda _: (lambda _: iter(seen.append(gc.isenabled()) or ()),))
    climb.work_ahead(store._request("saxpy", None, None, SmArch.parse("sm_90"), (13, 0)))
    assert seen == [True]


def test_the_first_launch_is_prepared_while_the_context_is_made(store, driver, monkeypatch):
    """When there is a context, the types of the arguments are read, and the launch is compiled; it finds both."""
    made, context = [], driver.cuCtxGetCurrent

    def count():
        return arguments._parts.cache_info().misses, codegen._maker.cache_info().misses

    arguments._parts.cache_clear()
    codegen._maker.cache_clear()
    monkeypatch.setattr(load, "starting_device", lambda: ((9, 0), (13, 0)))
    monkeypatch.setattr(driver, "cuCtxGetCurrent", lambda: made.append(count()) or context())
    store.get_kernel("saxpy")[4, 256](2.5, 0x10, 0x20, 1000)
    assert (len(driver.launches), made[0], count()) == (1, (1, 1), (1, 1))


FORKED_EARLY = """
import os, signal, threading
from hatch_cuda_kernels import early
goes_on, begun = threading.Event(), threading.Event()
class Library:
    cuCtxGetCurrent = staticmethod(lambda _: 3)
    cuInit = staticmethod(lambda _: begun.set() or goes_on.wait() and 1)
early.ctypes.CDLL = lambda _: Library
early.start_driver()
begun.wait()
if os.fork() == 0:
    signal.alarm(20)  # ends a child that waits
    early.start_driver()
    early.join_driver()
    print(early.is_starting(), early.starting_device(), flush=True)
    os._exit(0)
os.wait()
goes_on.set()
early.join_driver()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_that_is_forked_while_the_driver_starts_does_not_wait():
    """The thread that starts it is not in the child."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED_EARLY], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False None\n", "")


@pytest.mark.slow
@pytest.mark.parametrize(("capability", "arches"), [((9, 0), ["sm_90"]), ((8, 0), ["sm_80", "sm_90"])])
def test_what_has_no_image_is_compiled_while_the_context_is_made(store, driver, monkeypatch, capability, arches):
    """One compile, once the driver tells what device 0 is; another one if the current context is of another device."""
    events = []
    run, context = nvrtc.run_job, driver.cuCtxGetCurrent
    monkeypatch.setattr(load, "starting_device", lambda: (capability, (13, 0)))
    monkeypatch.setattr(nvrtc, "run_job", lambda job: events.append(str(job.arch)) or run(job))
    monkeypatch.setattr(driver, "cuCtxGetCurrent", lambda: events.append("context") or context())
    assert found(store.get_kernel("block_sum<float, 96>")) == ("jitted", "sm_90", "cubin")
    assert [event for event in events if event != "context"] == arches
    assert events.index("context") == 1
    monkeypatch.setattr(nvrtc, "run_job", None)
    assert found(store.get_kernel("saxpy")) == ("prebuilt", "sm_90", "cubin")
    assert found(open_store(store.path).get_kernel("block_sum<float, 96>")) == ("cached", "sm_90", "cubin")


@pytest.mark.slow
def test_a_compile_that_fails_while_the_context_is_made_is_an_error_once(store, driver, monkeypatch):
    """It is raised where the kernel is loaded, as without that."""
    monkeypatch.setattr(load, "starting_device", lambda: ((9, 0), (13, 0)))
    with pytest.raises(CompileError, match="block_sum<nothing, 96>"):
        store.get_kernel("block_sum<nothing, 96>")


@pytest.mark.slow
def test_what_is_recorded_is_looked_up_once(store, driver, monkeypatch):
    """When there is a context, the files that decide about a recorded image are not looked at a second time."""
    looks, met = [], []
    look, context = key_parts.file_state, driver.cuCtxGetCurrent
    for expected in ("jitted", "cached"):  # the second finds the entry, and remembers by what
        assert found(open_store(store.path).get_kernel("block_sum<float, 96>"))[0] == expected
    monkeypatch.setattr(key_parts, "seconds_to_trust", lambda *_: 0.0)
    monkeypatch.setattr(key_parts, "file_state", lambda path: looks.append(path) or look(path))
    monkeypatch.setattr(load, "starting_device", lambda: ((9, 0), (13, 0)))
    monkeypatch.setattr(driver, "cuCtxGetCurrent", lambda: met.append(len(looks)) or context())
    assert found(store.get_kernel("block_sum<float, 96>")) == ("cached", "sm_90", "cubin")
    assert 0 < met[0] == len(looks)


@pytest.mark.slow
@pytest.mark.parametrize("is_site", [False, True])
def test_the_compiler_is_loaded_while_nothing_is_found(store, driver, monkeypatch, tmp_path, is_site):
    """NVRTC starts before the look-up for which no key is remembered, unless images come from elsewhere, too."""
    events, asked = [], libraries._asking
    if is_site:
        monkeypatch.setenv(environment.PATH, str(tmp_path))
    monkeypatch.setattr(libraries, "_asking", SimpleNamespace(begin=lambda: events.append("nvrtc"), get=asked.get))
    search = climb._search
    monkeypatch.setattr(climb, "_search", lambda request: events.append("search") or search(request))
    monkeypatch.setattr(load, "starting_device", lambda: ((9, 0), (13, 0)))
    assert found(store.get_kernel("block_sum<float, 96>")) == ("jitted", "sm_90", "cubin")
    assert events[:2] == (["search", "nvrtc"] if is_site else ["nvrtc", "search"])


def test_a_loaded_kernel_is_found_in_memory(store, driver):
    """The second call gives the same object and loads nothing; ``stats`` and ``is_loaded`` tell."""
    assert not store.is_loaded("saxpy")
    kernel = store.get_kernel("saxpy")
    assert store.get_kernel("saxpy") is store.get_kernel("saxpy") is kernel
    assert store.get_kernel("saxpy", module="saxpy") is not kernel
    assert len(driver.loaded) == 1
    assert store.is_loaded("saxpy")
    assert [(entry.kernel, entry.origin, entry.arch, entry.hits) for entry in store.stats()] == [
        ("saxpy", "prebuilt", "sm_90", 2),
        ("saxpy", "prebuilt", "sm_90", 0),
    ]


def test_threads_that_ask_together_load_once(store, driver):
    """However many threads ask for a kernel that is not loaded, they get one object."""
    ready, kernels = threading.Barrier(8), []

    def work():
        ready.wait()
        kernels.append(store.get_kernel("block_sum<float, 128>"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kernels) == 8
    assert len(set(map(id, kernels))) == 1
    assert len(driver.loaded) == 1


@pytest.mark.slow
def test_an_image_that_the_driver_refuses_is_passed_over(store, driver):
    """209 sends the climb to the next image; the refusal is remembered, and ``explain`` shows it."""
    driver.refuse = refusing(Result.CUDA_ERROR_NO_BINARY_FOR_GPU, store.find_image("saxpy", arch="sm_90").data)
    assert found(store.get_kernel("saxpy")) == ("prebuilt", "compute_80", "ptx")
    asked = len(driver.loaded)
    reasons = [candidate.reason for candidate in store.explain("saxpy").candidates]
    assert "refused by the driver: CUDA_ERROR_NO_BINARY_FOR_GPU (209)" in reasons
    assert found(open_store(store.path).get_kernel("saxpy"))[2] == "ptx"
    assert len(driver.loaded) == asked


@pytest.mark.slow
def test_ptx_that_the_driver_cannot_assemble_leaves_the_rung(store, driver):
    """222 says that no PTX will do: the source is compiled."""
    driver.capability = (10, 0)
    driver.refuse = refusing(Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, store.find_image("saxpy", arch="sm_100").data)
    kernel = store.get_kernel("saxpy")
    assert found(kernel) == ("jitted", "sm_100", "cubin")
    assert found(open_store(store.path).get_kernel("saxpy"))[0] == "cached"


def test_any_other_failure_of_the_driver_is_an_error(store, driver):
    """What says nothing of the image is not taken for a refusal."""
    driver.refuse = lambda *_: Result.CUDA_ERROR_LAUNCH_FAILED
    with pytest.raises(DriverError, match=r"cuLibraryGetKernel failed with CUDA_ERROR_LAUNCH_FAILED \(719\)"):
        store.get_kernel("saxpy")


@pytest.mark.slow
def test_where_nothing_loads_every_candidate_is_named(store, driver):
    """NoImageError lists what the driver said of each image."""
    driver.refuse = lambda *_: Result.CUDA_ERROR_NO_BINARY_FOR_GPU
    with pytest.raises(NoImageError) as caught:
        store.get_kernel("saxpy", policy="prebuilt")
    refused = [candidate for candidate in caught.value.candidates if "(209)" in candidate.reason]
    assert [str(candidate.arch) for candidate in refused] == ["sm_90", "compute_80"]


def test_recent_instances_are_remembered(example_store, driver):
    """``instantiate`` finds an instance by its arguments in any order, and forgets the least recently used."""
    store = open_store(example_store, instances=2)
    first = store.instantiate("block_sum", T="float", BLOCK=128)
    assert store.instantiate("block_sum", BLOCK=128, T="float") is first
    assert store.instantiate("block_sum", T="double", BLOCK=256).name == "block_sum<double, 256>"
    store.instantiate("softmax", BLOCK=32)
    assert store.instance_info() == (2, 2, 1, 3, 1)
    with pytest.raises(InputError, match=r"block_sum takes the arguments of block_sum<\{T\}, \{BLOCK\}>, got T"):
        store.instantiate("block_sum", T="float")


def test_no_instances_need_be_remembered(example_store, driver):
    """A store that remembers none still gives them."""
    store = open_store(example_store, instances=0)
    assert store.instantiate("softmax", BLOCK=32) is store.instantiate("softmax", BLOCK=32)
    assert store.instance_info() == (0, 0, 0, 2, 2)


def test_a_variable_is_that_of_the_loaded_image(store, driver):
    """``get_global`` finds a listed variable in the image that the module's kernels are loaded from."""
    variable = store.get_global("d_filter")
    assert (variable.name, variable.address, variable.size) == ("d_filter", 0x1000, 36)
    assert driver.loaded == [store.find_image("filter2d<1, 32, 8>", arch="sm_90").data]


def test_warm_up_loads_what_is_listed(store, driver):
    """Everything is loaded once, with progress; a second time it is there already."""
    seen = []
    done = store.warm_up(devices=[0], progress=lambda *step: seen.append(step))
    assert (done.prebuilt, done.cached, done.jitted, done.already) == (len(store.kernels), 0, 0, 0)
    assert seen[-1] == (len(store.kernels), len(store.kernels), store.kernels[-1])
    assert store.warm_up(["saxpy"]).already == 1


def test_coroutines_get_kernels_of_their_context(store, driver):
    """``aget_kernel`` loads in a thread, for the context that is current here."""
    driver.context = 9
    assert asyncio.run(store.aget_kernel("saxpy")).context_id == 9


@pytest.mark.slow
def test_tier_up_compiles_exactly_for_the_next_store(example_store, driver, fresh_cache):
    """Code of a lower minor is used at once; what is compiled meanwhile is what the next store object takes."""
    driver.capability = (8, 6)
    assert found(open_store(example_store, tier_up=True).get_kernel("saxpy")) == ("prebuilt", "sm_80", "cubin")
    deadline = time.monotonic() + 60
    later = open_store(example_store, tier_up=True)
    while later.find_image("saxpy", arch="sm_86").origin != "cached" and time.monotonic() < deadline:
        background_threads().submit(lambda: None).result()
    assert found(later.get_kernel("saxpy")) == ("cached", "sm_86", "cubin")


@pytest.mark.slow
def test_kernels_of_compiled_text_are_loaded(driver, fresh_cache):
    """A stand-alone compile gives kernels, and the driver's refusal as an error: there is no other image."""
    source = 'extern "C" __global__ void k(int* y) { *y = 1; }'
    compiled = compile_to_cubin(source, arch="sm_90")
    kernel = compiled.get_kernel("k")
    assert compiled.get_kernel("k") is kernel
    assert pickle.loads(pickle.dumps(compiled)) == compiled
    assert (found(kernel), kernel.context_id) == (("jitted", "sm_90", "cubin"), 7)
    driver.refuse = lambda *_: Result.CUDA_ERROR_NO_BINARY_FOR_GPU
    with pytest.raises(ImageRefusedError, match=r"CUDA_ERROR_NO_BINARY_FOR_GPU \(209\)"):
        compile_to_cubin(source, arch="sm_90").get_kernel("k")


def test_a_kernel_is_loaded_while_a_stream_is_captured(store, driver):
    """The driver lets a thread load that says it is no part of the capture; afterwards its mode is what it was."""
    driver.is_capturing = True
    store.get_kernel("saxpy")[4, 256](2.5, 0x10, 0x20, 1000)
    store.get_global("d_filter").address  # noqa: B018 - is looked up
    assert [name for _, name, _ in driver.launches] == [b"saxpy"]
    assert driver.capture_mode == 0


def test_a_driver_that_loads_nothing_during_captures_says_what_to_do_before(store, driver):
    """Older drivers refuse in every mode: the error names the calls that load in advance."""
    driver.is_capturing = True
    driver.cuThreadExchangeStreamCaptureMode = lambda mode: (Result.CUDA_SUCCESS, mode)
    with pytest.raises(DriverError, match=r"store\.get_kernel.* or store\.warm_up"):
        store.get_kernel("saxpy")


@pytest.mark.slow
def test_what_is_unused_is_unloaded_while_a_stream_is_captured(store, driver):
    """It would end the capture if the driver were not told that it is no part of it."""
    store.get_kernel("saxpy")
    other = open_store(store.path)
    del store._loaded, store.__dict__["get_kernel"]
    gc.collect()
    driver.is_capturing = True
    other.get_kernel("block_sum<float, 128>")
    assert len(driver.unloaded) == 1
