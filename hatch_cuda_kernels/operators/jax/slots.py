"""What one call of a handler writes to: a place for the kernel's arguments, and the request for XLA's stream.

A call in progress has a slot of its own. They are kept by thread, and so is Python's state of the thread: XLA's threads
are none of Python's, and to make and destroy their state at each call takes 13 us, thirty times as long as to enter.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Final

from hatch_cuda_kernels.operators.jax.abi import StreamGetArgs

__all__ = ["CallSlot", "CallSlots"]


class CallSlot:
    """Addresses of arguments, as cuLaunchKernel takes them, and the request for a stream; at fixed addresses."""

    __slots__ = ("address", "memory", "request", "request_address")

    def __init__(self, parameters: int) -> None:
        self.memory = (ctypes.c_uint64 * max(parameters, 1))()
        self.address = ctypes.addressof(self.memory)
        self.request = StreamGetArgs(ctypes.sizeof(StreamGetArgs))
        self.request_address = ctypes.addressof(self.request)


class CallSlots(threading.local):
    """The free slots of one handler in the current thread."""

    def __init__(self) -> None:  # once in each thread
        _KEPT.state  # noqa: B018 - makes it
        self.free: list[CallSlot] = []


class _Kept(threading.local):
    """Python's state of the current thread, which is kept until the thread or Python ends.

    ctypes ensures that there is one while a callback runs, and destroys it afterwards unless somebody else still needs
    it. Python counts them (PyGILState_Ensure); this one is never given back.
    """

    def __init__(self) -> None:
        self.state = ctypes.pythonapi.PyGILState_Ensure()


_KEPT: Final = _Kept()
