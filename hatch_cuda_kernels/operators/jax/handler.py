"""XLA's way into a kernel: the function that it calls with a call frame, and that launches.

It is generated for the order of the kernel's parameters, because XLA waits for it: what is known when a call is traced
is looked up by the call's text, and only addresses are read from the frame. For a kernel that takes an array, an output
and a number it reads as below. What is not usual goes to ``otherwise``: the first call of a text or on a stream, the
question for metadata, errors.

    def handle(frame):
        try:
            extension, context, args, rets, attributes = frame_words(memory, frame)
            if not extension:
                span, = word(memory, attributes)
                start, size = two_words(memory, span)
                free = slots.free
                slot = free.pop()
                request = slot.request
                request.context = context
                if not get_stream(slot.request_address):
                    config, kernel, constants, owners = known[memory[start : start + size], request.stream]
                    a0, = args_words(memory, args)
                    r0, = rets_words(memory, rets)
                    pack(slot.memory, 0, a0 + 24, r0 + 24, constants + 16)
                    if not launch(config, kernel, slot.address, 0):
                        free.append(slot)
                        return None
        except LookupError:  # which all come before the launch
            pass
        except BaseException as error:
            return failed(frame, error)
        return otherwise(frame)
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from hatch_cuda_kernels.errors import LaunchError
from hatch_cuda_kernels.operators.jax.abi import DATA, EXECUTE, MEMORY, SPAN, WORD, CallFrame, frame_words, words
from hatch_cuda_kernels.operators.jax.constants import Constants
from hatch_cuda_kernels.operators.jax.replies import answer_metadata, get_stream_of, make_error
from hatch_cuda_kernels.operators.jax.slots import CallSlot, CallSlots

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.runtime.launch.shapes import Shape

__all__ = ["Entered", "Handler", "LaunchTarget", "Passing", "Source"]

#: Texts and streams that a handler remembers; a program that keeps changing shapes starts over.
_MOST_KNOWN: Final = 1024
_TEMPLATE: Final = """
def handle(frame):
    try:
        extension, context, args, rets, attributes = frame_words(memory, frame)
        if not extension:
            span, = word(memory, attributes)
            start, size = two_words(memory, span)
            free = slots.free
            slot = free.pop()
            request = slot.request
            request.context = context
            if not get_stream(slot.request_address):
                config, kernel, constants, owners = known[memory[start : start + size], request.stream]
                {args}
                {rets}
                pack(slot.memory, 0, {values})
                if not launch(config, kernel, slot.address, 0):
                    free.append(slot)
                    return None
    except LookupError:
        pass
    except BaseException as error:
        return failed(frame, error)
    return otherwise(frame)
"""


class Entered(NamedTuple):
    """What launches one shape on one stream."""

    config: int
    """Address of a CUlaunchConfig."""
    kernel: int
    owner: Any
    """Keeps both alive."""


class Source(NamedTuple):
    """Where a parameter's value is."""

    kind: Literal["a", "r", "c"]
    """An argument's buffer, a result's, or the constants."""
    at: int
    """Which buffer, or the offset in the constants."""


class LaunchTarget(Protocol):
    """Where calls of a handler go to."""

    platform: str
    """XLA's name of it, such as ``CUDA``."""

    @property
    def launch(self) -> Callable[[int, int, int, int], int]:
        """Take a configuration, a kernel, arguments and 0; launch without the GIL; return 0 or what went wrong."""

    def prepare(self) -> None:
        """Load the kernel wherever calls may go, ahead of all. Raises what loading raises."""

    def get_stream(self, api: int) -> Callable[[int], Any]:
        """Return what fills in a request for XLA's stream, given its address; it returns an error's address."""

    def enter(self, shape: Shape, stream: int | None) -> Entered:
        """Return what launches a shape on a stream. Raises what loading raises."""

    def refuse(self, status: int, shape: Shape, stream: int | None) -> None:
        """Raise what explains that a launch failed."""


class Passing(NamedTuple):
    """How a call passes a kernel's parameters. An argument that a result overwrites is passed as that result."""

    args: int
    """Number of argument buffers."""
    rets: int
    """Number of result buffers."""
    sources: tuple[Source, ...]
    """Of each parameter."""


class Handler:
    """The handler of one kernel, for one way to pass its parameters. Thread-safe."""

    def __init__(self, passing: Passing, target: LaunchTarget) -> None:
        self._passing = passing
        self.target = target
        """Where calls go to."""
        self._known: dict[tuple[bytes, int | None], tuple[int, int, int, Any]] = {}
        """By text and stream: a configuration, a kernel, the constants' address, and what keeps all three alive."""
        self._slots = CallSlots()
        self._pack = words(len(passing.sources)).pack_into
        self._scope = self._make_scope()
        exec(_source(passing), self._scope)  # noqa: S102 - made of positions only, see _source
        self.handle: Callable[[int], int | None] = self._scope["handle"]
        """Takes the address of a call frame; returns the address of an error, None if all went well."""

    def _make_scope(self) -> dict[str, Any]:
        def not_yet(_: int) -> int:
            raise LookupError

        return {
            "frame_words": frame_words().unpack_from,
            "memory": MEMORY,
            "word": WORD.unpack_from,
            "two_words": SPAN.unpack_from,
            "args_words": words(self._passing.args).unpack_from,
            "rets_words": words(self._passing.rets).unpack_from,
            "pack": self._pack,
            "slots": self._slots,
            "known": self._known,
            "get_stream": not_yet,  # XLA's function comes with the first call, and so does the driver's
            "launch": None,
            "failed": self._failed,
            "otherwise": self._otherwise,
        }

    def _failed(self, address: int, error: BaseException) -> int | None:
        return make_error(CallFrame.from_address(address), error)

    def _otherwise(self, address: int) -> int | None:
        """Do what is asked with care. Raises nothing: what leaves a callback is printed, and taken for success."""
        frame = CallFrame.from_address(address)
        try:
            if not answer_metadata(frame):
                self._call(frame)
        except BaseException as error:  # noqa: BLE001 - the caller is XLA
            return make_error(frame, error)
        return None

    def _call(self, frame: CallFrame) -> None:
        """Launch with care. Raises what goes wrong."""
        text = self._text(frame)
        get_stream, launch = self.target.get_stream(frame.api), self.target.launch
        self._scope.update(launch=launch, get_stream=get_stream)
        slot = CallSlot(len(self._passing.sources))
        stream = get_stream_of(frame, slot, get_stream)
        shape = Constants.from_text(text).shape
        if shape.is_empty:
            return
        config, kernel, constants, _owners = self._known.get((text, stream)) or self._learn(text, stream)
        self._pack(slot.memory, 0, *self._addresses(frame, constants))
        status = launch(config, kernel, slot.address, 0)
        if status:
            self.target.refuse(status, shape, stream)
        self._slots.free.append(slot)

    def _text(self, frame: CallFrame) -> bytes:
        """Return a call's text. Raises LaunchError for a call that was not made by this package."""
        given = frame.args.size, frame.rets.size, frame.attributes.size, frame.stage
        if given != (self._passing.args, self._passing.rets, 1, EXECUTE):
            raise LaunchError("this FFI target was called with other arguments than it is registered for")
        (span,) = WORD.unpack_from(MEMORY, frame.attributes.attributes)
        start, size = SPAN.unpack_from(MEMORY, span)
        text: bytes = MEMORY[start : start + size]
        return text

    def _learn(self, text: bytes, stream: int | None) -> tuple[int, int, int, Any]:
        """Return what a text needs on a stream, and remember it. Raises what loading raises."""
        constants = Constants.from_text(text)
        entered = self.target.enter(constants.shape, stream)
        arguments = ctypes.create_string_buffer(constants.arguments, len(constants.arguments))
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        owners = arguments, entered.owner
        known = self._known[text, stream] = entered.config, entered.kernel, ctypes.addressof(arguments), owners
        return known

    def _addresses(self, frame: CallFrame, constants: int) -> list[int]:
        """Return where the value of each parameter is."""
        buffers = {
            "a": words(frame.args.size).unpack_from(MEMORY, frame.args.buffers or 0),
            "r": words(frame.rets.size).unpack_from(MEMORY, frame.rets.buffers or 0),
        }
        sources = self._passing.sources
        return [constants + at if kind == "c" else buffers[kind][at] + DATA for kind, at in sources]


def _source(passing: Passing) -> str:
    """Fill in the template. Only numbers and positions get into the text."""
    values = (f"constants + {at}" if kind == "c" else f"{kind}{at} + {DATA}" for kind, at in passing.sources)
    return _TEMPLATE.format(
        args=_unpacking("a", "args", passing.args),
        rets=_unpacking("r", "rets", passing.rets),
        values=", ".join(values),
    )


def _unpacking(kind: str, name: str, count: int) -> str:
    return f"{', '.join(f'{kind}{index}' for index in range(count))}, = {name}_words(memory, {name})" if count else ""
