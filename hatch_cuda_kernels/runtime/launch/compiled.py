"""Launch functions of the accelerator, and what it is told of a kernel; they do what those of ``generated`` do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.driver import cuda
from hatch_cuda_kernels.runtime.launch.accelerator import accelerator
from hatch_cuda_kernels.runtime.launch.elements import DLPACK
from hatch_cuda_kernels.runtime.launch.streams import join

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.runtime.launch.arguments import Signature, Slot
    from hatch_cuda_kernels.runtime.launch.loaded import Loaded
    from hatch_cuda_kernels.runtime.launch.packing import Packing

__all__ = ["compiled_bind", "compiled_bound"]


def compiled_bind(signature: Signature, *, takes_sizes: bool) -> Callable[..., Callable[..., None]] | None:
    """Return what makes launch functions for a signature, None without the accelerator, or if it is beyond it."""
    found = accelerator()
    packings, size = signature.packings, signature.layout.size
    if found is None or not _is_within(found.module, packings, size):
        return None
    parameters = tuple(map(_described, packings, signature.places, signature.readers))
    compiled = found.module.Signature(found.context_id, found.launch, size, bool(signature.offsets), join, parameters)

    def bind(
        name: str, here: dict[int, Any], stated: int | None, otherwise: Callable[..., None], refuse: Callable[..., None]
    ) -> Callable[..., None]:
        refuse = partial(_refuse, refuse)
        launcher = found.module.Launcher(compiled, name, here, stated, otherwise, refuse, takes_sizes)
        return launcher.launch  # type: ignore[no-any-return]  # its class is in C

    return bind


def compiled_bound(
    loaded: Loaded,
    config: bytes,
    slot: Slot,
    library: type | None,
    elsewhere: Callable[[], None],
    refuse: Callable[[Any, int | None], None],
) -> Callable[[], None] | None:
    """Return the launch function of bound arguments, None without the accelerator.

    ``library`` is a class of arrays whose library's current stream is taken. What lies at the addresses in ``config``
    and ``slot`` must live as long as ``elsewhere``.
    """
    found = accelerator()
    if found is None:
        return None
    here = loaded.context_id, loaded.ordinal
    addresses = int(loaded.function), slot.params, slot.extra
    ways_out = elsewhere, partial(_refuse, refuse)
    bound = found.module.Bound(found.context_id, found.launch, *here, library, config, *addresses, *ways_out)
    return bound.launch  # type: ignore[no-any-return]  # its class is in C


def _refuse(refuse: Callable[..., None], *given: Any) -> None:
    """Raise as ``refuse`` does for a status that is a number."""
    *sizes, status, stream = given
    refuse(*sizes, cuda().CUresult(status), stream)


def _is_within(module: Any, packings: tuple[Packing, ...], size: int) -> bool:
    """Return whether the accelerator packs such parameters. It knows no half, which only kernels without types have."""
    return (
        size <= module.MOST_BYTES
        and len(packings) <= module.MOST_PARAMETERS
        and not any(packing.code == "e" for packing in packings)
    )


def _described(packing: Packing, offset: int, reader: Callable[..., Any]) -> tuple[Any, ...]:
    """Return a parameter as the accelerator takes it (signature.c)."""
    kind, least, most = _kind(packing)
    dtypes = tuple(DLPACK[word] for word in packing.element.dtypes)
    return kind, offset, packing.size, least, most, dtypes, reader


def _kind(packing: Packing) -> tuple[str, int, int]:
    """Return the kind of a parameter, and the range of its integers."""
    bits = 8 * packing.size
    if packing.may_be_pointer:
        return "p", 0, (1 << bits) - 1
    if packing.is_struct:
        return "s", 0, 0
    if packing.is_float or packing.code == "?":
        return packing.code, 0, 0
    least = 0 if packing.is_signed is False else -(1 << (bits - 1))
    return "i", least, (1 << (bits - bool(packing.is_signed))) - 1
