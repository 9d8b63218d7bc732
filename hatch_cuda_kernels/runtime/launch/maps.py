"""What a kernel takes for ``const __grid_constant__ CUtensorMap``: an array that the device copies in tiles."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["MAP_BYTES", "TensorMap"]

#: Of a CUtensorMap (cuda.h).
MAP_BYTES: Final = 128


class TensorMap:
    """An array as the device's tensor memory access sees it; see ``tensor_map``. It keeps the array alive."""

    __slots__ = ("_data", "_kept", "_text", "address", "array", "shape")

    def __init__(
        self, array: Any, address: int, shape: tuple[int, ...], data: bytes, text: str, kept: object = None
    ) -> None:
        self.array = array
        self.shape = shape
        self.address = address
        """Of the array when the map was made."""
        self._data = data
        self._kept = kept
        self._text = text

    def tobytes(self) -> bytes:
        """Return the 128 bytes of the CUtensorMap, for a copy to the device."""
        return self._data

    def __repr__(self) -> str:
        return f"<TensorMap {self._text}>"
