"""Numbers as the floating-point types of CUDA that Python and struct do not have: bfloat16, and those of 8 bits."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PACKERS"]


class _Format(NamedTuple):
    """A format of IEEE 754's kind."""

    size: int
    mantissa: int
    """Bits."""
    bias: int
    largest: int
    """The bits of the largest number."""
    nan: int
    infinity: int | None
    """None for a format without."""

    def pack(self, value: float) -> bytes:
        """Return the nearest number of the format, ties to even. Raises OverflowError if it is beyond the largest."""
        sign = int(math.copysign(1, value) < 0) << (8 * self.size - 1)
        return (sign | self._magnitude(value)).to_bytes(self.size, "little")

    def _magnitude(self, value: float) -> int:
        if math.isnan(value):
            return self.nan
        if math.isinf(value) and self.infinity is not None:
            return self.infinity
        exponent = max(math.frexp(value)[1] - 1, 1 - self.bias) if value else 1 - self.bias
        steps = round(math.ldexp(abs(value), self.mantissa - exponent)) if math.isfinite(value) else self.largest + 1
        bits = ((exponent + self.bias - 1) << self.mantissa) + steps  # steps carry into the exponent by themselves
        if bits > self.largest:
            raise OverflowError("too large for the type")
        return bits


_BFLOAT16: Final = _Format(2, 7, 127, 0x7F7F, 0x7FFF, 0x7F80)
_E4M3: Final = _Format(1, 3, 7, 0x7E, 0x7F, None)
_E5M2: Final = _Format(1, 2, 15, 0x7B, 0x7F, 0x7C)
#: By C++ type.
PACKERS: Final[dict[str, Callable[[float], bytes]]] = {
    "__half": struct.Struct("<e").pack,
    "__nv_bfloat16": _BFLOAT16.pack,
    "__nv_fp8_e4m3": _E4M3.pack,
    "__nv_fp8_e5m2": _E5M2.pack,
}
