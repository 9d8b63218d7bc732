"""A reset context. The last file of all: frameworks in this process still hold the context that is reset here."""

from __future__ import annotations

import numpy as np
import pytest

from hatch_cuda_kernels.driver import check, cuda
from hatch_cuda_kernels.errors import StaleKernelError


def test_reset_context_makes_kernels_stale(build, native, on_device):
    """After a reset of the primary context an old handle is refused, and the store gives a working one."""
    store = build(native)
    old = store.get_kernel("saxpy")
    device = check("cuDeviceGet", cuda().cuDeviceGet(0))
    check("cuDevicePrimaryCtxReset", cuda().cuDevicePrimaryCtxReset(device))
    context = check("retain", cuda().cuDevicePrimaryCtxRetain(device))
    check("set", cuda().cuCtxSetCurrent(context))
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    out, cx = on_device(y), on_device(x)
    with pytest.raises(StaleKernelError, match="call get_kernel again"):
        old[1, 128](out, cx, 100, 3.0)
    fresh = store.get_kernel("saxpy")
    assert fresh is not old
    fresh[1, 128](out, cx, 100, 3.0)
    np.testing.assert_allclose(out.numpy(), 3 * x + y)
