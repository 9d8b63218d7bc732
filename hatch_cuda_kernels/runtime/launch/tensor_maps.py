"""Tensor maps: arrays described for the tensor memory access (TMA) of compute capability 9.0, with the driver's rules.

The rules are those of cuTensorMapEncodeTiled (CUDA Driver API, "Tensor Map Object Management"). The driver answers any
breach with CUDA_ERROR_INVALID_VALUE, so they are checked first, for messages with the value and the limit.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final, Literal

from hatch_cuda_kernels.driver import compute_capability, cuda, current_device, driver_library, failure, on_device
from hatch_cuda_kernels.errors import ArgumentError, LaunchError
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.runtime.launch.arrays import (
    MAP_BYTES,
    TensorMap,
    access_of,
    check_elements,
    dlpack_layout,
    is_tensor,
    read_address,
)
from hatch_cuda_kernels.runtime.launch.elements import FATAL, MASKED, UnusableError, word_of_typestr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class View(NamedTuple):
    """How an array's elements lie, in the array's own order of dimensions."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes."""
    dtype: str
    """As numpy and torch call it, such as ``float32`` and ``bfloat16``."""
    itemsize: int

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements follow each other, the last dimension first."""
        wanted = _bytes(self.shape, None, self.itemsize)
        sides = zip(self.shape, self.strides, wanted, strict=True)
        return 0 in self.shape or all(extent == 1 or stride == next_to for extent, stride, next_to in sides)


def view_of(array: Any) -> View:
    """Return how an array's elements lie. Raises UnusableError for anything but an array on a device."""
    if is_tensor(array):
        size = array.element_size()
        return View(tuple(array.shape), _bytes((), array.stride(), size), str(array.dtype).rpartition(".")[2], size)
    try:
        interface = array.__cuda_array_interface__
    except FATAL:
        raise
    except Exception:  # noqa: BLE001 - JAX's arrays of bfloat16 do not have it, whatever their type says
        interface = None
    if interface is not None:
        if interface.get("mask") is not None:
            raise UnusableError(MASKED)
        shape, typestr = tuple(map(int, interface["shape"])), interface["typestr"]
        size, stated = int(typestr[2:]), interface.get("strides")
        strides = _bytes(shape, None, size) if stated is None else tuple(map(int, stated))
        return View(shape, strides, word_of_typestr(typestr) or typestr, size)
    if hasattr(array, "__dlpack__"):
        shape, steps, dtype, size = dlpack_layout(array)
        return View(shape, _bytes(shape, steps, size), dtype or "unknown", size)
    raise UnusableError("neither a tensor, nor an array with __cuda_array_interface__ or DLPack")


def _bytes(shape: tuple[int, ...], strides: tuple[int, ...] | None, size: int) -> tuple[int, ...]:
    """Return strides in bytes; None stands for those of elements that follow each other, the last dimension first."""
    if strides is not None:
        return tuple(stride * size for stride in strides)
    found = [size]
    for length in reversed(shape[1:]):
        found.append(found[-1] * length)
    return tuple(reversed(found))[: len(shape)] if shape else ()


#: CUtensorMapDataType by the names of numpy and torch; the last three are float32 in memory.
_TYPES: Final = {
    "uint8": 0, "uint16": 1, "uint32": 2, "int32": 3, "uint64": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 8,
    "bfloat16": 9, "float32_ftz": 10, "tfloat32": 11, "tfloat32_ftz": 12,
}  # fmt: skip
#: What elements of other types, such as int8, fp8 and complex64, are copied as: only their size counts.
_BY_SIZE: Final = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
_SWIZZLES: Final = {
    None: 0, "32B": 1, "64B": 2, "128B": 3, "128B_ATOM_32B": 4, "128B_ATOM_32B_FLIP_8B": 5, "128B_ATOM_64B": 6,
}  # fmt: skip
_SPANS: Final = {"32B": 32, "64B": 64}
_INTERLEAVES: Final = {None: 0, "16B": 1, "32B": 2}
_PROMOTIONS: Final = {None: 0, "64B": 1, "128B": 2, "256B": 3}
_FILLS: Final = {"zero": 0, "nan": 1}
_MOST_DIMENSIONS: Final = 5
_MOST_EXTENT: Final = 1 << 32
_MOST_STRIDE: Final = 1 << 40
_MOST_BOX: Final = 256
_MOST_STEP: Final = 8
_LEAST_CAPABILITY: Final = (9, 0)
#: Of a CUtensorMap in memory (cuda.h). The bindings' own is not aligned so (13.5), which the driver may refuse.
_ALIGNMENT: Final = 128

Swizzle = Literal["32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B"]


class _MapRequest(NamedTuple):
    """What is asked of the driver; dimensions are in the array's order."""

    view: View
    address: int
    box: tuple[int, ...]
    steps: tuple[int, ...]
    data_type: str
    swizzle: str | None
    interleave: str | None
    promotion: str | None
    fill: str

    @property
    def alignment(self) -> int:
        """Of address and strides in bytes."""
        return 32 if self.interleave == "32B" else 16

    @property
    def strides(self) -> tuple[int, ...]:
        """Those of all dimensions but the last, in bytes; where the extent is one, what the driver takes."""
        found: list[int] = []
        inner = self.view.shape[-1] * self.view.itemsize if self.view.shape else 0
        for extent, stride in zip(self.view.shape[-2::-1], self.view.strides[-2::-1], strict=True):
            found.append(-(-inner // self.alignment) * self.alignment if extent == 1 else stride)
            inner = max(inner, found[-1] * extent)
        return tuple(reversed(found))

    def __str__(self) -> str:
        more = {"swizzle": self.swizzle, "interleave": self.interleave}
        stated = "".join(f", {name} {value}" for name, value in more.items() if value)
        return f"{self.data_type} {self.view.shape}, box {self.box}{stated}"


def tensor_map(
    array: Any,
    box: Sequence[int],
    *,
    element_strides: Sequence[int] | None = None,
    swizzle: Swizzle | None = None,
    interleave: Literal["16B", "32B"] | None = None,
    l2_promotion: Literal["64B", "128B", "256B"] | None = None,
    oob_fill: Literal["zero", "nan"] = "zero",
    data_type: str | None = None,
) -> TensorMap:
    """Return a tensor map of an array: an argument for ``const __grid_constant__ CUtensorMap``, copied in tiles.

    ``box`` is a tile's extents, and ``element_strides`` the steps in it, in the array's order of dimensions (the driver
    counts them from the last). ``data_type`` is the array's, or one of the same size such as ``"tfloat32"``. Raises
    ArgumentError with every rule that is broken, LaunchError for a device without TMA, and DriverError.
    """
    try:
        view = view_of(array)
        check_elements(array)
        with on_device(access_of(array).device(array)):
            ordinal = current_device().ordinal
            found: list[Any] = []  # what must live as long as the address is used
            address = read_address(array, ordinal, found)
            own_type = view.dtype if view.dtype in _TYPES else _BY_SIZE.get(view.itemsize, view.dtype)
            wanted = _MapRequest(
                view, address, tuple(box), tuple(element_strides or (1,) * len(view.shape)),
                data_type or own_type, swizzle, interleave, l2_promotion, oob_fill,
            )  # fmt: skip
            problems = [*_problems(wanted)]
            if problems:
                raise ArgumentError(f"no tensor map of {wanted}: {'; '.join(problems)}")
            capability = compute_capability(ordinal)
            if capability < _LEAST_CAPABILITY:
                raise LaunchError(f"device {ordinal} has compute capability {capability}, and TMA needs 9.0")
            return TensorMap(array, address, view.shape, _encode(wanted), str(wanted), found)
    except UnusableError as error:
        raise ArgumentError(f"no tensor map of {type(array).__qualname__}: {error}") from error


def _problems(wanted: _MapRequest) -> Iterator[str]:
    yield from _unknown_words(wanted)
    rank = len(wanted.view.shape)
    least = 3 if wanted.interleave else 1
    if not least <= rank <= _MOST_DIMENSIONS:
        yield f"the array has {rank} dimensions: there must be {least} to {_MOST_DIMENSIONS}"
        return
    for what, sizes in (("box", wanted.box), ("element_strides", wanted.steps)):
        if len(sizes) != rank:
            yield f"{what} {sizes} has {len(sizes)} sizes for {rank} dimensions"
            return
    yield from _memory(wanted)
    yield from _tile(wanted)


def _unknown_words(wanted: _MapRequest) -> Iterator[str]:
    words: dict[str, tuple[str | None, dict[Any, int]]] = {
        "swizzle": (wanted.swizzle, _SWIZZLES), "interleave": (wanted.interleave, _INTERLEAVES),
        "l2_promotion": (wanted.promotion, _PROMOTIONS), "oob_fill": (wanted.fill, _FILLS),
        "data_type": (wanted.data_type, _TYPES),
    }  # fmt: skip
    for name, (word, known) in words.items():
        if word not in known:
            yield f"{name} {word!r} is not one of {', '.join(map(repr, known))}"
    size = int("0" + "".join(filter(str.isdigit, wanted.data_type))) // 8
    if wanted.data_type in _TYPES and size != wanted.view.itemsize:
        yield f"data_type {wanted.data_type} has {size} bytes, the array's {wanted.view.dtype} {wanted.view.itemsize}"
    if wanted.fill == "nan" and "float" not in wanted.data_type:
        yield f"oob_fill 'nan' is for floating-point types, not for {wanted.data_type}"


def _memory(wanted: _MapRequest) -> Iterator[str]:
    view, alignment = wanted.view, wanted.alignment
    if wanted.address == 0 or wanted.address % alignment:
        yield f"the address {wanted.address:#x} must be a multiple of {alignment}, and not null"
    for extent in view.shape:
        if not 1 <= extent <= _MOST_EXTENT:
            yield f"an extent of {extent}: there must be 1 to 2**32 elements"
    if view.shape[-1] > 1 and view.strides[-1] != view.itemsize:
        yield f"elements of the last dimension are {view.strides[-1]} bytes apart, and must be next to each other"
    for axis, stride in enumerate(wanted.strides):
        if stride % alignment or not 0 <= stride < _MOST_STRIDE:
            limit = f"a multiple of {alignment} below 2**40"
            yield f"the stride of dimension {axis} is {stride} bytes, and must be {limit}; pad the rows"


def _tile(wanted: _MapRequest) -> Iterator[str]:
    for sizes, what, most in ((wanted.box, "a box", _MOST_BOX), (wanted.steps, "an element stride", _MOST_STEP)):
        for size in sizes:
            if not 1 <= size <= most:
                yield f"{what} of {size}: there must be 1 to {most}"
    inner = wanted.box[-1] * wanted.view.itemsize
    if wanted.interleave is None:
        if inner % 16:
            yield f"the last size of the box is {inner} bytes, and must be a multiple of 16"
        span = _SPANS.get(str(wanted.swizzle), 128)
        if wanted.swizzle and inner > span:
            yield f"the last size of the box is {inner} bytes: swizzle {wanted.swizzle} takes at most {span}"
    if wanted.interleave == "32B" and wanted.swizzle != "32B":
        yield f"interleave 32B needs swizzle 32B, not {wanted.swizzle}"


def _encode(wanted: _MapRequest) -> bytes:
    rank = len(wanted.box)
    memory = ctypes.create_string_buffer(MAP_BYTES + _ALIGNMENT)
    at = ctypes.addressof(memory)
    at += -at % _ALIGNMENT
    status = driver_library().cuTensorMapEncodeTiled(
        ctypes.c_void_p(at), _TYPES[wanted.data_type], rank, ctypes.c_void_p(wanted.address),
        (ctypes.c_uint64 * rank)(*reversed(wanted.view.shape)), (ctypes.c_uint64 * rank)(*reversed(wanted.strides)),
        (ctypes.c_uint32 * rank)(*reversed(wanted.box)), (ctypes.c_uint32 * rank)(*reversed(wanted.steps)),
        _INTERLEAVES[wanted.interleave], _SWIZZLES[wanted.swizzle], _PROMOTIONS[wanted.promotion], _FILLS[wanted.fill],
    )  # fmt: skip
    if status:
        raise failure("cuTensorMapEncodeTiled", cuda().CUresult(status))
    return ctypes.string_at(at, MAP_BYTES)
