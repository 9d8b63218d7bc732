"""What the package's own headers compute on a device."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hatch_cuda_kernels import compile_to_cubin

SOURCES = Path(__file__).parents[1] / "includes/standard_headers"


def test_nvstd_function_calls_what_it_holds(on_device, native):
    """Functions, lambdas and large objects, after copies, moves and swaps."""
    out = on_device(np.zeros(8, np.int32))
    kernel = compile_to_cubin((SOURCES / "nvfunctional.cu").read_text(), arch=native).get_kernel("kernel")
    kernel[1, 1](out, 10)
    assert out.numpy().tolist() == [6, 13, 24, 11, 1, -1, 1, 2]
