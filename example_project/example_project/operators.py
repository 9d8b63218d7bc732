"""The kernels as operators of torch: for ``torch.compile``, ``torch.export``, CUDA graphs and autograd.

Importing this module registers ``torch.ops.example_project``. Every kernel with a rule under ``launch:`` is there.
"""

from __future__ import annotations

from typing import Final

import torch

from example_project.kernels import store

__all__ = ["OPERATORS", "block_sums", "softmax", "sort_tiles"]

_WARP_COLUMNS: Final = 512
_BLOCK: Final = 256
_MAX_SUMS: Final = 1024


def _sums(x: torch.Tensor, n: int) -> torch.Tensor:
    blocks = (n + _BLOCK - 1) // _BLOCK
    return x.new_empty(torch.sym_max(1, torch.sym_min(blocks, _MAX_SUMS)))


def _softmax_gradient(grad_y: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
    weighted = grad_y.float() * y
    return {"x": (weighted - y * weighted.sum(-1, keepdim=True)).to(y.dtype)}


#: What is written to is allocated by the out-of-place operators, whose names end with ``_functional``.
OPERATORS: Final = store.torch_ops(
    "example_project",
    functional={
        "saxpy": {"y": "y"},  # a changed copy
        "softmax_32": {"y": "x"},
        "softmax_256": {"y": "x"},
        "sort_tiles": {"keys_out": "keys_in"},
        "block_sum_float_256": {"partial": _sums},
        "block_sum_double_256": {"partial": _sums},
    },
    backward={"softmax_32": _softmax_gradient, "softmax_256": _softmax_gradient},
)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Return the softmax over the last axis of a contiguous float16 matrix. Differentiable."""
    rows, columns = x.shape
    name = "softmax_32_functional" if columns <= _WARP_COLUMNS else "softmax_256_functional"
    return OPERATORS[name](x, rows, columns)


def sort_tiles(x: torch.Tensor) -> torch.Tensor:
    """Sort each run of 2048 keys of a contiguous int32, uint32 or float32 tensor on its own, ascending."""
    return OPERATORS["sort_tiles_functional"](x, x.numel())


def block_sums(x: torch.Tensor) -> torch.Tensor:
    """Return 1 to 1024 partial sums of a contiguous float32 or float64 tensor."""
    name = "block_sum_float_256_functional" if x.dtype == torch.float32 else "block_sum_double_256_functional"
    return OPERATORS[name](x, x.numel())
