"""The launch function of a kernel, generated for its signature: every tenth of a microsecond counts.

For ``(f32, ptr, u64)`` it reads as below. What struct rejects takes a slower path that converts or explains.

    def bind(configs, stated_stream):
        def launch(a0=missing, a1=missing, a2=missing, *more):
            if context_id(current)[1] != loaded_for:
                check_context()
            slot = pop()  # or a new one
            try:
                pack(
                    slot.buffer, 0,
                    a0 if a0.__class__ is float or a0.__class__ in plain else p0(a0),
                    data_ptr(a1) if a1.__class__ is tensor and a1.is_cuda else readers[a1.__class__](a1),
                    a2 if a2.__class__ in plain else p2(a2),
                    *more,
                )
            except rejected:
                repack(slot.buffer, (a0, a1, a2, *more))
            stream = stated_stream
            if stream is None:
                stream = torch_stream(ordinal) if a1.__class__ is tensor else current_stream((a0, a1, a2), ordinal)
            status = cu_launch(configs[stream], handle, 0, slot.extra)[0]
            push(slot)
            if status is not success:
                fail(status)
        return launch
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.driver import cuda
from hatch_cuda_kernels.runtime.launch.arguments import PLAIN_NUMBERS, Slot, preparer
from hatch_cuda_kernels.runtime.launch.arrays import ADDRESS_READERS
from hatch_cuda_kernels.runtime.launch.streams import current_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hatch_cuda_kernels.runtime.launch.arguments import Signature
    from hatch_cuda_kernels.runtime.launch.configs import Configs

__all__ = ["make_launch"]

_TEMPLATE: Final = """
def bind(configs, stated_stream):
    def launch({parameters}*more):
        if context_id(current)[1] != loaded_for:
            check_context()
        try:
            slot = pop()
        except IndexError:
            slot = new_slot(size)
        try:
            pack(slot.buffer, 0, {values}*more)
        except rejected:
            repack(slot.buffer, ({names}*more,))
        stream = stated_stream
        if stream is None:
            stream = {stream}
        status = cu_launch(configs[stream], handle, 0, slot.extra)[0]
        push(slot)
        if status is not success:
            fail(status)
    return launch
"""
_MISSING: Final = object()


def make_launch(
    signature: Signature,
    handle: Any,
    *,
    context_id: int,
    ordinal: int,
    check_context: Callable[[], None],
    fail: Callable[[Any], None],
) -> Callable[[Configs, int | None], Callable[..., None]]:
    """Return ``bind(configs, stream)``, which gives the function that launches a kernel with its arguments.

    ``handle`` is the driver's kernel, loaded for a context on the device with that ordinal. None for a stream is the
    caller's current one. The function raises ArgumentError, and what ``check_context`` (called in another context) and
    ``fail`` raise. A buffer belongs to one launch at a time, because the bindings release the GIL during the call.
    """
    driver = cuda()
    # A process that imports torch after this takes the general path, which gives the same result.
    torch: Any = sys.modules.get("torch")
    free: list[Slot] = []
    names: dict[str, Any] = {
        "context_id": driver.cuCtxGetId,
        "current": driver.CUcontext(0),  # NULL: the current context (CUDA Driver API, cuCtxGetId)
        "loaded_for": context_id,
        "check_context": check_context,
        "pop": free.pop,
        "push": free.append,
        "new_slot": Slot,
        "size": signature.layout.size,
        "pack": signature.layout.pack_into,
        "rejected": (struct.error, AttributeError, TypeError, ValueError, OverflowError),
        "repack": _repacker(signature),
        "plain": PLAIN_NUMBERS,
        "readers": ADDRESS_READERS,
        "missing": _MISSING,
        "tensor": getattr(torch, "Tensor", None),
        "data_ptr": torch and torch.Tensor.data_ptr,
        "torch_stream": torch and torch._C._cuda_getCurrentRawStream,  # noqa: SLF001 - see streams
        "current_stream": current_stream,
        "ordinal": ordinal,
        "cu_launch": driver.cuLaunchKernelEx,
        "handle": handle,
        "success": driver.CUresult.CUDA_SUCCESS,
        "fail": fail,
    }
    names |= {f"p{index}": preparer(param) for index, param in enumerate(signature.params)}
    exec(_source(signature), names)  # noqa: S102 - the text is made of positions only, see _source
    return names["bind"]  # type: ignore[no-any-return]


def _source(signature: Signature) -> str:
    """Fill in the template. Only the positions and types of the parameters get into the text."""
    names = [f"a{index}" for index in range(len(signature.params))]
    pointers = signature.pointers
    others = f"current_stream(({_listed(names)}), ordinal)"
    return _TEMPLATE.format(
        parameters=_listed(f"{name}=missing" for name in names),
        values=_listed(_value(index, param, signature) for index, param in enumerate(signature.params)),
        names=_listed(names),
        stream=f"torch_stream(ordinal) if a{pointers[0]}.__class__ is tensor else {others}" if pointers else others,
    )


def _listed(items: Iterable[str]) -> str:
    return "".join(f"{item}, " for item in items)


def _value(index: int, param: str, signature: Signature) -> str:
    name = f"a{index}"
    if index in signature.pointers:
        return (
            f"data_ptr({name}) if {name}.__class__ is tensor and {name}.is_cuda else readers[{name}.__class__]({name})"
        )
    usual = f"{name}.__class__ is float or " if param in {"f32", "f64"} else ""
    return f"{name} if {usual}{name}.__class__ in plain else p{index}({name})"


def _repacker(signature: Signature) -> Callable[[Any, Sequence[Any]], None]:
    def repack(buffer: Any, args: Sequence[Any]) -> None:  # a ctypes buffer
        given = [arg for arg in args if arg is not _MISSING]
        signature.layout.pack_into(buffer, 0, *signature.convert(given))

    return repack
