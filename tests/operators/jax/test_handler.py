"""The handler alone, called with frames as XLA lays them out; this needs no JAX."""

from __future__ import annotations

import ctypes
import threading

import pytest
from c_code import IN_A_THREAD, compile_c
from call_frames import Frame
from cpu_kernels import CpuTarget, operator_kernel

from hatch_cuda_kernels.operators.jax import handler as abi
from hatch_cuda_kernels.operators.jax.handler import CallSlots, Constants, Handler, Passing, Source
from hatch_cuda_kernels.runtime.launch.shapes import Shape

SHAPE = Shape((4, 1, 1), (256, 1, 1), 0)
TEXT = Constants(SHAPE, bytes(16) + b"\x07\0\0\0" + b"\0\0\x80?").to_text()


@pytest.fixture
def target():
    """Return a target for saxpy that runs nothing."""
    return CpuTarget(operator_kernel("saxpy", "float* y, const float* x, unsigned int n, float a"), lambda *_: None)


@pytest.fixture
def handler(target):
    """Return a handler: y is the first result, x the second of two arguments."""
    passing = Passing(2, 1, (Source("r", 0), Source("a", 1), Source("c", 16), Source("c", 20)))
    return Handler(passing, target)


def test_a_launch(handler, target):
    """Addresses come from the frame, numbers from the text; later calls learn nothing anew."""
    for results in ((0x1000,), (0x1000,), (0x9000,)):
        frame = Frame(TEXT, (0x2000, 0x3000), results)
        assert handler.handle(frame.address) is None
        assert target.launched.pop() == (SHAPE, [*results, 0x3000, 7, 1.0])
    assert target.entered == [(SHAPE, None)]


def test_streams(handler, target):
    """Each stream has a configuration of its own; the request for it is XLA's."""

    def get_stream(address):
        request = abi.StreamGetArgs.from_address(address)
        assert request.struct_size == 32
        request.stream = request.context + 1

    target.get_stream = lambda _: get_stream
    for context in (0xF, 0xF, 0x1F):
        assert handler.handle(Frame(TEXT, (1, 2), (3,), context=context).address) is None
    assert target.entered == [(SHAPE, 0x10), (SHAPE, 0x20)]


def test_a_stream_that_xla_refuses(handler, target):
    """XLA's own error goes back to it."""
    target.get_stream = lambda _: lambda _: 0xE0
    assert handler.handle(Frame(TEXT, (1, 2), (3,)).address) == 0xE0
    assert target.launched == []


def test_a_launch_that_fails_is_tried_again_with_care(handler, target):
    """The error is made of the second try."""
    frame = Frame(TEXT, (1, 2), (3,))
    assert handler.handle(frame.address) is None
    target.status = 700
    assert handler.handle(frame.address) == 1
    assert frame.errors == [(abi.ErrorCode.INTERNAL, "RuntimeError: status 700 for (4, 1, 1) on None")]
    assert len(target.launched) == 3


@pytest.mark.parametrize("changed", [{"arguments": (1,)}, {"results": (1, 2)}, {"stage": 2}])
def test_frames_of_other_calls_are_refused(handler, target, changed):
    """A call by hand that passes something else reads no memory that is not there."""
    frame = Frame(TEXT, **{"arguments": (1, 2), "results": (3,), **changed})
    assert handler.handle(frame.address) == 1
    assert "called with arguments that it is not registered for" in frame.errors[0][1]
    assert target.launched == []


def test_metadata(handler):
    """XLA is told an API version that it takes, and that calls can be recorded; then there is no context, no api."""
    version = abi.ApiVersion(24, None, 9, 9)
    metadata = abi.HandlerMetadata(40, version, 0)
    extension = abi.MetadataExtension(abi.Extension(32, abi.EXTENSION_METADATA, None), ctypes.pointer(metadata))
    other = abi.Extension(24, 77, ctypes.addressof(extension))
    for first in (extension, other):
        frame = Frame(TEXT, (), (), api=False, extension=ctypes.addressof(first))
        assert handler.handle(frame.address) is None
        assert (metadata.api_version.major_version, metadata.api_version.minor_version) == (0, 1)
        assert metadata.traits == abi.COMMAND_BUFFER_COMPATIBLE
        metadata.api_version.major_version = metadata.traits = 9


def test_other_extensions_do_not_matter(handler, target):
    """A frame with an extension that is unknown is a call."""
    other = abi.Extension(24, 77, None)
    assert handler.handle(Frame(TEXT, (1, 2), (3,), extension=ctypes.addressof(other)).address) is None
    assert len(target.launched) == 1


def test_many_texts(handler, target):
    """What is remembered has a bound, and what was dropped is learned again."""
    texts = [Constants(SHAPE, number.to_bytes(24, "little")).to_text() for number in range(1100)]
    for text in (*texts, texts[0]):
        assert handler.handle(Frame(text, (1, 2), (3,)).address) is None
    assert len(target.entered) == 1101


def test_a_call_within_a_call(handler, target):
    """A launch that leads to another one of the same kernel disturbs nothing: each has its own place."""
    inner, seen = Frame(TEXT, (0x20, 0x30), (0x10,)), []

    def run(shape, y, *_):
        if y == 1:
            seen.append(handler.handle(inner.address))

    target._run = run
    for _ in range(2):
        assert handler.handle(Frame(TEXT, (2, 3), (1,)).address) is None
    assert seen == [None, None]
    assert [values[0] for _, values in target.launched] == [1, 0x10, 1, 0x10]


def test_threads_have_their_own_places(handler, target):
    """A launch waits for another thread's without a loss."""
    first, second = threading.Event(), threading.Event()

    def run(shape, y, *_):
        if y == 1:
            first.set()
            assert second.wait(10)

    target._run = run
    frames = {y: Frame(TEXT, (2, 3), (y,)) for y in (1, 5)}
    results = []
    thread = threading.Thread(target=lambda: results.append(handler.handle(frames[1].address)))
    thread.start()
    assert first.wait(10)
    results.append(handler.handle(frames[5].address))
    second.set()
    thread.join()
    assert results == [None, None]
    assert sorted(values[0] for _, values in target.launched) == [1, 5]


def test_pythons_state_of_a_thread_is_kept(tmp_path):
    """On a thread of C's, thread-local data outlives a callback, which it does not by itself."""
    library = ctypes.CDLL(str(compile_c(IN_A_THREAD, tmp_path / "threads.so", "-shared", "-fPIC", "-pthread")))
    local, slots, seen = threading.local(), CallSlots(), []

    def plain():
        seen.append(hasattr(local, "mark"))
        local.mark = True

    def with_slots():
        _ = slots.free
        plain()

    for work in (plain, with_slots):
        callback = ctypes.CFUNCTYPE(None)(work)
        library.in_a_thread(callback, 2)
    assert seen == [False, False, False, True]


def test_constants_come_back():
    """What is written is read, attributes of a launch included."""
    shape = Shape((1, 2, 3), (4, 5, 6), 7, cluster=(2, 1, 1), cooperative=True, priority=-1)
    constants = Constants(shape, bytes(range(20)))
    assert Constants.from_text(constants.to_text().encode()) == constants
