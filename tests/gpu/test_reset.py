"""A reset context, in a process of its own: frameworks in this one would not survive it."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import ctypes, sys
from pathlib import Path
from hatch_cuda_kernels import StaleKernelError, open_store
from hatch_cuda_kernels.driver import check, cuda

store = open_store(Path(sys.argv[1]))
old = store.get_kernel("saxpy")
device = check("cuDeviceGet", cuda().cuDeviceGet(0))
check("reset", cuda().cuDevicePrimaryCtxReset(device))
check("set", cuda().cuCtxSetCurrent(check("retain", cuda().cuDevicePrimaryCtxRetain(device))))

y = int(check("cuMemAlloc", cuda().cuMemAlloc(4)))
try:
    old[1, 32](y, y, 1, 1.0)
except StaleKernelError as error:
    print("stale:", error)
fresh = store.get_kernel("saxpy")
check("set", cuda().cuMemsetD32(y, 0x3F800000, 1))  # 1.0f
fresh[1, 32](y, y, 1, 3.0)
result = ctypes.c_float()
check("copy", cuda().cuMemcpyDtoH(ctypes.addressof(result), y, 4))
print("fresh:", fresh is not old, result.value)
"""


def test_reset_context_makes_kernels_stale(build, native):
    """After a reset of the primary context an old handle is refused, and the store gives a working one."""
    command = [sys.executable, "-c", SCRIPT, str(build(native).path)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[0].startswith("stale: saxpy was loaded for another context")
    assert lines[1] == "fresh: True 4.0"
