"""Launch functions, generated for a signature, because every tenth of a microsecond counts.

If the accelerator is installed, functions in C replace them and do the same (see ``bind_in_c``).

Unusual cases go to ``otherwise``, which handles all of them: other contexts and devices, arguments that take longer to
convert, and errors that explain (see ``Launch.in_full``). What a launch found while it read its arguments, such as
streams, lives until the launch returns.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, Literal

from hatch_cuda_kernels.driver import cuda, remember
from hatch_cuda_kernels.runtime.launch.accelerator import find_accelerator
from hatch_cuda_kernels.runtime.launch.arguments import Signature
from hatch_cuda_kernels.runtime.launch.arrays import FAST, join
from hatch_cuda_kernels.runtime.launch.elements import DLPACK
from hatch_cuda_kernels.runtime.launch.shapes import SIZES, FreshSlot, Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hatch_cuda_kernels.runtime.launch.arguments import Packing
    from hatch_cuda_kernels.runtime.launch.libraries import Loaded
    from hatch_cuda_kernels.store import KernelLine

    #: What a function is bound to: its name in errors; ordinal, function and configurations by context id; a stated
    #: stream; what it calls in unusual cases, and what it calls if the driver refuses.
    Bind = Callable[[str, dict[int, Any], int | None, Callable[..., None], Callable[..., None]], Callable[..., None]]

Kind = Literal["current", "stated", "fresh"]

#: Stands for an argument that was not given.
MISSING: Final = object()
_TEMPLATE: Final = """
def make(context_id, current, pop, push, new_slot, pack, {readers}join, cu_launch, success, missing, pack_config):
    def bind(name, here, stated, otherwise, refuse):
        def launch({own}{parameters}*more):
            if more:
                return otherwise({own}({names}*more,))
            try:
                ordinal, function{configs} = here[context_id(current)[1]]
                try:
                    slot = pop()
                except IndexError:
                    slot = new_slot()
                pack(slot.buffer, 0, {values})
            except (MemoryError, RecursionError):
                raise
            except Exception:
                slot = None
            if slot is None:
                return otherwise({own}({names}))
            stream = {stream}
            if slot.found:
                found, slot.found = slot.found, []
                stream = join(found, stream)
            {prepare}
            status = cu_launch({config}, function, {given})[0]
            push(slot)
            if status is not success:
                refuse({own}status, stream)
        launch.__qualname__ = name
        return launch
    return bind
"""
#: What differs between the kinds of launch functions, besides the stream.
_SHAPED: Final = {"own": "", "configs": ", configs", "prepare": "", "config": "configs[stream]"}
_FRESH: Final = {
    "own": "sizes, ",
    "configs": "",
    "prepare": "x, y, z, u, v, w, n = sizes; pack_config(slot.memory, 0, x, y, z, u, v, w, n, stream or 0)",
    "config": "slot.config",
}
#: Compiled texts that are remembered; few programs have more.
_MOST_MAKERS: Final = 512
_BINDS: Final[dict[tuple[tuple[Packing, ...], Kind], Bind]] = {}


def bind_for(signature: Signature, kind: Kind) -> Bind:
    """Return what makes launch functions for a signature. All kernels with that signature share it.

    The functions launch on the arrays' ``current`` stream or on a ``stated`` one. Those for ``fresh`` shapes launch on
    the current one and take the sizes as their first argument. Each launch has its own buffer, because the bindings
    release the GIL during the driver's call.
    """
    key = signature.packings, kind
    known = _BINDS.get(key)
    if known is None:
        known = bind_in_c(signature, takes_sizes=kind == "fresh") or _make(signature, kind)
        remember(_BINDS, key, known)
    return known


def forget_signatures() -> None:
    """Forget all functions: each is made for one driver module."""
    _BINDS.clear()


def _make(signature: Signature, kind: Kind) -> Bind:
    driver = cuda()
    free: list[Slot] = []
    bind: Bind = _maker(signature.packings, bool(signature.offsets), kind)(
        driver.cuCtxGetId,
        driver.CUcontext(0),  # NULL: the current context (CUDA Driver API, cuCtxGetId)
        free.pop,
        free.append,
        partial(FreshSlot if kind == "fresh" else Slot, signature.layout.size, signature.offsets),
        signature.layout.pack_into,
        *signature.readers,
        join,
        driver.cuLaunchKernelEx,
        driver.CUresult.CUDA_SUCCESS,
        MISSING,
        SIZES.pack_into,
    )
    return bind


def prepare_launches(line: KernelLine) -> None:
    """Read a kernel's parameters and compile the function for its usual launch, before there is a driver."""
    signature = Signature(line.name, line.params, line.types, line.names)
    _maker(signature.packings, bool(signature.offsets), "current")


@lru_cache(_MOST_MAKERS)
def _maker(parameters: tuple[Packing, ...], has_offsets: bool, kind: Kind) -> Callable[..., Bind]:
    scope: dict[str, Callable[..., Bind]] = {}
    # The text is made of positions only. compile() would make the 124 types of syntax trees, too.
    exec(_source(parameters, has_offsets, kind), FAST, scope)  # noqa: S102
    return scope["make"]


def _source(parameters: tuple[Packing, ...], has_offsets: bool, kind: Kind) -> str:
    """Fill in the template. Only the positions and types of the parameters get into the text."""
    names = [f"a{index}" for index in range(len(parameters))]
    tensors = [name for name, parameter in zip(names, parameters, strict=True) if parameter.may_be_pointer]
    any_tensor = " or ".join(f"{name}.__class__ is {kind}" for kind in ("tensor", "parameter") for name in tensors)
    return _TEMPLATE.format(
        readers=_listed(f"p{index}" for index in range(len(parameters))),
        parameters=_listed([*(f"{name}=missing" for name in names), "/"] if names or kind == "fresh" else []),
        values=_listed(map(_value, range(len(parameters)), parameters)),
        names=_listed(names),
        given="slot.params, 0" if has_offsets else "0, slot.extra",
        stream=f"torch_stream(ordinal) if {any_tensor} else stated" if tensors and kind != "stated" else "stated",
        **(_FRESH if kind == "fresh" else _SHAPED),
    )


def _listed(items: Iterable[str]) -> str:
    return "".join(f"{item}, " for item in items)


def _value(index: int, parameter: Packing) -> str:
    """Return the expression for a parameter's value: the usual arguments in place, others by a call."""
    name, other = f"a{index}", f"p{index}(a{index}, ordinal, slot.found)"
    within = "" if parameter.is_signed is not None else f" and {name} >= 0"  # struct knows the range
    integer = f"{name} if {name}.__class__ is int{within} else {other}"
    if parameter.may_be_pointer:
        here = f"({name}.__class__ is tensor or {name}.__class__ is parameter) and get_device({name}) == ordinal"
        fits = " or ".join(f"{name}.dtype is torch_{word}" for word in parameter.element.dtypes)
        here += f" and ({fits})" * bool(fits)
        return f"(data_ptr({name}) or if_empty({name})) if {here} else {integer}"
    if parameter.is_float:
        return f"{name} if {name}.__class__ is float or {name}.__class__ is int else {other}"
    if parameter.code == "?":
        return f"{name} if {name}.__class__ is bool else {other}"
    return other if parameter.is_struct else integer


def bind_in_c(signature: Signature, *, takes_sizes: bool) -> Callable[..., Callable[..., None]] | None:
    """Return what makes launch functions in C, or None without the accelerator or beyond its limits."""
    found = find_accelerator()
    packings, size = signature.packings, signature.layout.size
    if found is None or size > found.module.MOST_BYTES or len(packings) > found.module.MOST_PARAMETERS:
        return None
    if any(packing.code == "e" for packing in packings):  # only kernels without types have halves, which it lacks
        return None
    parameters = tuple(map(_describe, packings, signature.places, signature.readers))
    compiled = found.module.Signature(found.context_id, found.launch, size, bool(signature.offsets), join, parameters)

    def bind(
        name: str, here: dict[int, Any], stated: int | None, otherwise: Callable[..., None], refuse: Callable[..., None]
    ) -> Callable[..., None]:
        refuse = partial(_refuse, refuse)
        launcher = found.module.Launcher(compiled, name, here, stated, otherwise, refuse, takes_sizes)
        return launcher.launch  # type: ignore[no-any-return]  # its class is in C

    return bind


def bind_arguments_in_c(
    loaded: Loaded,
    config: bytes,
    slot: Slot,
    library: type | None,
    elsewhere: Callable[[], None],
    refuse: Callable[[Any, int | None], None],
) -> Callable[[], None] | None:
    """Return the launch function of bound arguments, or None without the accelerator.

    The launch takes the current stream of the library that has the class ``library``. The memory that ``config`` and
    ``slot`` point to must live as long as ``elsewhere``.
    """
    found = find_accelerator()
    if found is None:
        return None
    here = loaded.context_id, loaded.ordinal
    addresses = int(loaded.function), slot.params, slot.extra
    ways_out = elsewhere, partial(_refuse, refuse)
    bound = found.module.Bound(found.context_id, found.launch, *here, library, config, *addresses, *ways_out)
    return bound.launch  # type: ignore[no-any-return]  # its class is in C


def _refuse(refuse: Callable[..., None], *given: Any) -> None:
    *sizes, status, stream = given
    refuse(*sizes, cuda().CUresult(status), stream)


def _describe(packing: Packing, offset: int, reader: Callable[..., Any]) -> tuple[Any, ...]:
    """Return a parameter as the accelerator takes it (signature.c)."""
    kind, least, most, bits = packing.code, 0, 0, 8 * packing.size
    if packing.may_be_pointer:
        kind, most = "p", (1 << bits) - 1
    elif packing.is_struct:
        kind = "s"
    elif not (packing.is_float or packing.code == "?"):
        kind, most = "i", (1 << (bits - bool(packing.is_signed))) - 1
        least = 0 if packing.is_signed is False else -(1 << (bits - 1))
    dtypes = tuple(DLPACK[word] for word in packing.element.dtypes)
    return kind, offset, packing.size, least, most, dtypes, reader
