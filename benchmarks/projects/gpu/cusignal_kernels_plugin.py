"""A pytest plugin: cuSignal's kernels come from a store, in place of its fatbins. No file of cuSignal is changed.

cuSignal gets every kernel of its fatbins by ``_get_function(path, name)``, which each of its modules imports by name.
``PROJECT_STORE`` is the package, wheel content or folder with the store.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any

import cusignal

from hatch_cuda_kernels import open_store

STORE = open_store(os.environ["PROJECT_STORE"])
LAUNCHED: Counter[str] = Counter()
ORIGINS: Counter[str] = Counter()


class StoreKernel:
    """Called as CuPy's ``RawKernel`` is: ``kernel(grid, block, arguments, shared_mem=0)``."""

    def __init__(self, name: str) -> None:
        self.kernel = STORE.get_kernel(name, policy="prebuilt")
        ORIGINS[f"{self.kernel.image.origin} {self.kernel.image.arch} {self.kernel.image.kind}"] += 1

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0) -> None:
        LAUNCHED[self.kernel.name] += 1
        self.kernel.launch(grid, block, args, shared_mem=int(shared_mem))


def get_function(fatbin: str, name: str) -> StoreKernel:
    """Return a kernel by its name: it is in one module only, so that the fatbin's path says nothing more."""
    return StoreKernel(name)


for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == cusignal.__name__]:
    if hasattr(module, "_get_function"):
        module._get_function = get_function


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what was launched."""
    terminalreporter.write_line(f"kernels from the store: {len(LAUNCHED)}, launches: {sum(LAUNCHED.values())}")
    terminalreporter.write_line(f"images: {dict(ORIGINS)}")
