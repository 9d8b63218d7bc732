"""The optional accelerator: launch functions in C, in another distribution (see ``accelerator/``).

Nothing depends on it: Python does the same if it is not installed or does not fit.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any, Final

from hatch_cuda_kernels.driver import call
from hatch_cuda_kernels.environment import ACCELERATOR
from hatch_cuda_kernels.errors import DriverError
from hatch_cuda_kernels.records import NamedTuple

#: The version of the calls between this package and the extension (accelerator.h).
_PROTOCOL: Final = 2
#: The CUDA that brought the versions of cuCtxGetId and cuLaunchKernelEx that the extension calls.
_CUDA: Final = 12000
#: If this is set to anything but 0, the bindings use a default stream for each thread.
_OWN_DEFAULT_STREAMS: Final = "CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM"


class Accelerator(NamedTuple):
    """The extension module, and the addresses of the driver's functions that it calls."""

    module: Any
    context_id: int
    """cuCtxGetId."""
    launch: int
    """cuLaunchKernelEx."""


def find_accelerator() -> Accelerator | None:
    """Return the accelerator, or None if Python launches.

    Python launches, too, if torch does not offer its tensors to C (before 2.10), because it reads them faster.
    """
    found = _found()
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return found if found is None or tensor is None or found.module.learn(tensor) else None


def learn(*classes: type) -> None:
    """Let the accelerator read arrays of exactly these classes."""
    module = _module()
    if module is not None:
        for kind in classes:
            module.learn(kind)


def accelerator_state() -> str:
    """Return the accelerator's version, or why it is not used, for the user."""
    if _is_off():
        return f"off ({ACCELERATOR}=0)"
    if not _has_gil():
        return "not used: it is not for free-threaded Python"
    from importlib import metadata  # only to say it: it imports a hundred modules

    try:
        version = metadata.version("hatch-cuda-kernels-accelerator")
    except metadata.PackageNotFoundError:
        return "not installed"
    if _module() is None:
        from hatch_cuda_kernels.compiler.toolchain import own, pip_install  # only to say what to install

        return f"{version} does not fit; {pip_install(own('accelerator'), options='--upgrade')}"
    return version


def _is_off() -> bool:
    return os.environ.get(ACCELERATOR) == "0"


def _has_gil() -> bool:
    """Return whether Python was built with the GIL, even if it is off now: an extension for others may crash."""
    return "t" not in getattr(sys, "abiflags", "")


@cache
def _module() -> Any | None:
    if _is_off() or not _has_gil():
        return None
    try:
        import hatch_cuda_kernels_accelerator as module
    except ImportError:  # it is not installed, or not for this Python
        return None
    return module if module.PROTOCOL == _PROTOCOL else None


@cache
def _found() -> Accelerator | None:
    module = _module()
    try:
        return None if module is None else Accelerator(module, _address("cuCtxGetId"), _address("cuLaunchKernelEx"))
    except DriverError:
        return None


def _address(name: str) -> int:
    """Return where a function of the driver is, the one that the bindings call. Raises DriverError."""
    flags = 0 if os.environ.get(_OWN_DEFAULT_STREAMS, "0") in {"", "0"} else 2  # PER_THREAD_DEFAULT_STREAM of CUDA
    address, _ = call("cuGetProcAddress", name.encode(), _CUDA, flags)
    return int(address)
