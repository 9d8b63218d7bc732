"""The first use of a project's kernels in this process, ``PROJECT=ptypy first_use.py``; prints seconds as JSON.

With ``PROJECT_STORE``, the kernels come from that package. CuPy's cache is where ``CUPY_CACHE_DIR`` says.
"""

from __future__ import annotations

import json
import os
import time

start = time.perf_counter()
import cupy  # noqa: E402 - the time counts

cupy.arange(10).sum().item()
context = time.perf_counter()
import loader_plugin  # noqa: E402, F401 - puts the store in place
import newer_standard_plugin  # noqa: E402, F401 - without it, CuPy refuses what some ask for


def ptypy() -> None:
    from ptypy.accelerate.cuda_cupy.array_utils import ArrayUtilsKernel
    from ptypy.accelerate.cuda_cupy.kernels import PoUpdateKernel

    PoUpdateKernel()
    x = cupy.ones((4, 1000), cupy.complex64)
    ArrayUtilsKernel(acc_dtype=cupy.float32).norm2(x).get()


def httomolibgpu() -> None:
    from httomolibgpu import raven_filter, remove_outlier

    x = cupy.ones((16, 64, 64), cupy.float32)
    remove_outlier(x, 3, 0.1)
    raven_filter(x).get()


def cucim() -> None:
    from cucim.core.operations.morphology import distance_transform_edt

    distance_transform_edt(cupy.ones((256, 256), bool)).get()
    distance_transform_edt(cupy.ones((64, 64, 64), bool)).get()


imported = time.perf_counter()
{"ptypy": ptypy, "httomolibgpu": httomolibgpu, "cucim": cucim}[os.environ["PROJECT"]]()
cupy.cuda.Device().synchronize()
end = time.perf_counter()
print(json.dumps({"cupy": context - start, "project": imported - context, "first_use": end - imported}))
