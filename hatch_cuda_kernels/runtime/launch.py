"""The launch function of a kernel, generated for its signature: a launch is counted in tenths of microseconds.

For ``(f32, ptr, u64)`` it reads as below. What struct rejects takes a slower path that converts or explains.

    def launch(configs, stream, *args):
        if context_id(current)[1] != loaded_for:
            check_context()
        slot = pop()  # or a new one
        try:
            a0, a1, a2 = args
            pack(
                slot.buffer, 0,
                a0 if a0.__class__ in plain else p0(a0),
                a1.data_ptr() if a1.__class__ is tensor and a1.is_cuda else readers[a1.__class__](a1),
                a2 if a2.__class__ in plain else p2(a2),
            )
        except rejected:
            repack(slot.buffer, args)
        if stream is None:
            stream = torch_stream(ordinal) if a1.__class__ is tensor else current_stream(args, ordinal)
        status = cu_launch(configs[stream], handle, 0, slot.extra)[0]
        push(slot)
        if status is not success:
            fail(status)
"""

from __future__ import annotations

import struct
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.driver import cuda
from hatch_cuda_kernels.runtime.arguments import PLAIN_NUMBERS, Slot, preparer
from hatch_cuda_kernels.runtime.arrays import ADDRESS_READERS
from hatch_cuda_kernels.runtime.attributes import launch_config
from hatch_cuda_kernels.runtime.streams import current_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatch_cuda_kernels.runtime.arguments import Signature
    from hatch_cuda_kernels.runtime.kernel import Kernel

__all__ = ["Configs", "make_launch"]

_TEMPLATE: Final = """
def launch(configs, stream, *args):
    if context_id(current)[1] != loaded_for:
        check_context()
    try:
        slot = pop()
    except IndexError:
        slot = new_slot(size)
    try:
        {unpack}
        pack(slot.buffer, 0{values})
    except rejected:
        repack(slot.buffer, args)
    if stream is None:
        stream = {stream}
    status = cu_launch(configs[stream], handle, 0, slot.extra)[0]
    push(slot)
    if status is not success:
        fail(status)
"""
#: Streams whose configuration is remembered for one shape; programs that make streams without end start over.
_MAX_STREAMS: Final = 64


class Configs(dict[int, Any]):
    """The driver's launch configurations of one shape, by stream; they never change, so threads share them."""

    def __init__(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        *,
        shared_mem: int,
        cluster: tuple[int, int, int] | None = None,
        cooperative: bool = False,
    ) -> None:
        self._make = partial(
            launch_config, grid=grid, block=block, shared_mem=shared_mem, cluster=cluster, cooperative=cooperative
        )

    def __missing__(self, stream: int) -> Any:  # noqa: ANN401 - CUlaunchConfig
        if len(self) >= _MAX_STREAMS:
            self.clear()
        config = self[stream] = self._make(stream=stream)
        return config


def make_launch(
    kernel: Kernel, signature: Signature, *, check_context: Callable[[], None], fail: Callable[[Any], None]
) -> Callable[..., None]:
    """Return ``launch(configs, stream, *args)`` for a loaded kernel; None for a stream is the caller's current one.

    It raises ArgumentError, and what ``check_context`` (called in another context) and ``fail`` raise. A buffer belongs
    to one launch at a time, because the bindings release the GIL during the call.
    """
    driver = cuda()
    # A process that imports torch after this launch function was made takes the general path, which is right as well.
    torch: Any = sys.modules.get("torch")
    free: list[Slot] = []
    names: dict[str, Any] = {
        "context_id": driver.cuCtxGetId,
        "current": driver.CUcontext(0),  # NULL: the current context (CUDA Driver API, cuCtxGetId)
        "loaded_for": kernel.context_id,
        "check_context": check_context,
        "pop": free.pop,
        "push": free.append,
        "new_slot": Slot,
        "size": max(signature.layout.size, 1),
        "pack": signature.layout.pack_into,
        "rejected": (struct.error, AttributeError, TypeError, ValueError, OverflowError),
        "repack": _repacker(signature),
        "plain": PLAIN_NUMBERS,
        "readers": ADDRESS_READERS,
        "tensor": getattr(torch, "Tensor", None),
        "torch_stream": torch and torch._C._cuda_getCurrentRawStream,  # noqa: SLF001 - see streams
        "current_stream": current_stream,
        "ordinal": kernel.ordinal,
        "cu_launch": driver.cuLaunchKernelEx,
        "handle": kernel.handle,
        "success": driver.CUresult.CUDA_SUCCESS,
        "fail": fail,
    }
    names |= {f"p{index}": preparer(param) for index, param in enumerate(signature.params)}
    exec(_source(signature), names)  # noqa: S102 - the text is made of positions only, see _source
    return names["launch"]  # type: ignore[no-any-return]


def _source(signature: Signature) -> str:
    """Fill the template in. Nothing of the kernel but its parameters' positions and types gets into the text."""
    pointers = signature.pointers
    values = [_value(index, is_pointer=index in pointers) for index in range(len(signature.params))]
    names = "".join(f"a{index}, " for index in range(len(signature.params)))
    others = "current_stream(args, ordinal)"
    return _TEMPLATE.format(
        unpack=f"{names}= args" if names else "() = args",
        values="".join(f", {value}" for value in values),
        stream=f"torch_stream(ordinal) if a{pointers[0]}.__class__ is tensor else {others}" if pointers else others,
    )


def _value(index: int, *, is_pointer: bool) -> str:
    name = f"a{index}"
    if is_pointer:
        return (
            f"{name}.data_ptr() if {name}.__class__ is tensor and {name}.is_cuda else readers[{name}.__class__]({name})"
        )
    return f"{name} if {name}.__class__ in plain else p{index}({name})"


def _repacker(signature: Signature) -> Callable[[Any, Sequence[Any]], None]:
    def repack(buffer: Any, args: Sequence[Any]) -> None:  # noqa: ANN401 - a ctypes buffer
        signature.layout.pack_into(buffer, 0, *signature.convert(args))

    return repack
