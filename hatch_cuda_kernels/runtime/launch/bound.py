"""A launch bound to its arguments: checked and packed once, for loops and graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.driver import cuda, on_context, on_device
from hatch_cuda_kernels.errors import StaleKernelError
from hatch_cuda_kernels.runtime.launch.arrays import current_streams
from hatch_cuda_kernels.runtime.launch.compiled import compiled_bound
from hatch_cuda_kernels.runtime.launch.launch import Launch
from hatch_cuda_kernels.runtime.launch.streams import join
from hatch_cuda_kernels.runtime.launch.tensors import FAST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatch_cuda_kernels.runtime.launch.launch import Ready
    from hatch_cuda_kernels.runtime.launch.per_context import PerContext
    from hatch_cuda_kernels.runtime.launch.shapes import Shape

__all__ = ["bind_launch"]


def bind_launch(
    kernel: PerContext, shape: Shape, stated: int | None, args: tuple[Any, ...], stream: Any
) -> Callable[[], None]:
    """Return the function that launches with these arguments; see ``Kernel.bind``.

    ``stated`` is the address of ``stream``, any library's object, which lives as long as the function.
    """
    launch = Launch(kernel, shape, stated)
    with on_device(kernel.signature.device(args)):
        ready = launch.ready(args)
    if shape.is_empty:
        return lambda: None
    now = current_streams(args)
    then = {stream(ready.loaded.ordinal) for stream in now}
    ready.kept += (stream,)
    ready.streams[:] = [stream for stream in ready.streams if stream not in then]  # those that arrays name themselves
    return _launcher(kernel.name, launch, ready, stated, now if stated is None else [])


def _launcher(
    name: str, launch: Launch, ready: Ready, stated: int | None, now: Sequence[Callable[[int], int]]
) -> Callable[[], None]:
    """Return a launch of what is ready; ``now`` tells the current streams of the arrays' frameworks."""
    driver, loaded, configs, slot = cuda(), ready.loaded, ready.configs, ready.slot
    cu_launch, success, function = driver.cuLaunchKernelEx, driver.CUresult.CUDA_SUCCESS, loaded.function
    context_id, current, bound_to = driver.cuCtxGetId, driver.CUcontext(0), loaded.context_id  # NULL: the current one
    current_stream, others = (now[0], now[1:]) if now else (None, ())
    params, extra = slot.params, slot.extra
    ordinal, several = loaded.ordinal, bool(others or ready.streams)

    def go() -> None:
        if context_id(current)[1] != bound_to:
            elsewhere()
            return
        stream = stated if current_stream is None else current_stream(ordinal)
        if several:
            stream = join([*(other(ordinal) for other in others), *ready.streams], stream)
        status = cu_launch(configs[stream], function, params, extra)[0]
        if status is not success:
            launch.refuse(status, stream)

    def elsewhere() -> None:
        with on_context(bound_to) as there:
            if not there:
                message = f"{name} was bound in a context that is gone, and so are its arrays; bind it again"
                raise StaleKernelError(message)
            launch.enqueue(ready, [*(stream(ordinal) for stream in now), *ready.streams])

    if several or not (now == [] or current_stream is FAST["torch_stream"]):
        return go
    library = FAST["tensor"] if now else None
    return compiled_bound(loaded, configs.pack(stated), slot, library, elsewhere, launch.refuse) or go
