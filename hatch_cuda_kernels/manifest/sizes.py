"""Sizes in a manifest: bytes, or a number with a unit."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.manifest.kinds import Kind
from hatch_cuda_kernels.manifest.spot import wrong_type
from hatch_cuda_kernels.manifest.yaml_tree import Scalar

if TYPE_CHECKING:
    from hatch_cuda_kernels.manifest.spot import Spot

__all__ = ["SIZE"]

_BYTES: Final = r"[1-9][0-9]{0,14}"
_BYTES_WITH_UNIT: Final = r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,6})?) ?(?P<prefix>[kKMG])(?P<binary>i?)B"
_SCHEMA: Final = [
    {"type": "integer", "minimum": 1, "maximum": 10**15 - 1},
    {"type": "string", "pattern": f"^{re.sub('[?]P<[a-z]+>', '?:', _BYTES_WITH_UNIT)}$"},
]


def _read_size(spot: Spot) -> int:
    """Return a number of bytes. Units are powers of 1000, as download pages count, or of 1024 with an ``i``."""
    node = spot.node
    if isinstance(node, Scalar) and node.tag == "int" and re.fullmatch(_BYTES, node.text):
        return int(node.text)
    found = re.fullmatch(_BYTES_WITH_UNIT, node.text) if isinstance(node, Scalar) and node.tag == "str" else None
    if found is None:
        raise wrong_type("a number of bytes, or text such as '5 MB' or '5 MiB'", spot)
    base = 1024 if found["binary"] else 1000
    return int(Decimal(found["number"]) * base ** (1 + "KMG".index(found["prefix"].upper())))


SIZE: Final = Kind(_read_size, {"anyOf": _SCHEMA})
