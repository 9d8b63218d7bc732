"""Sizes in a manifest: bytes, or a number with a unit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.manifest.kinds import Kind
from hatch_cuda_kernels.manifest.spot import wrong_type
from hatch_cuda_kernels.manifest.yaml_tree import Scalar
from hatch_cuda_kernels.sizes import SIZE_PATTERN, parse_size

if TYPE_CHECKING:
    from hatch_cuda_kernels.manifest.spot import Spot

__all__ = ["SIZE"]

_BYTES: Final = r"[1-9][0-9]{0,14}"
_SCHEMA: Final = [
    {"type": "integer", "minimum": 1, "maximum": 10**15 - 1},
    {"type": "string", "pattern": f"^{re.sub('[?]P<[a-z]+>', '?:', SIZE_PATTERN)}$"},
]


def _read_size(spot: Spot) -> int:
    node = spot.node
    pattern = {"int": _BYTES, "str": SIZE_PATTERN}.get(node.tag) if isinstance(node, Scalar) else None
    if pattern is None or not isinstance(node, Scalar) or not re.fullmatch(pattern, node.text):
        raise wrong_type("a number of bytes, or text such as '5 MB' or '5 MiB'", spot)
    return parse_size(node.text)


SIZE: Final = Kind(_read_size, {"anyOf": _SCHEMA})
