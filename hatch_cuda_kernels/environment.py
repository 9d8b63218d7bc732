"""What users state for a process: environment variables (docs/reference/environment.md), policies, and sizes.

``open_store`` may import this before the driver starts, so it imports nothing that takes time.
"""

from __future__ import annotations

import os

#: Spelt out, because importing typing takes longer than all of this; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Policy = Literal["compatible", "exact", "prebuilt"]

#: 0 leaves launches to Python even if the compiled accelerator is installed.
ACCELERATOR = "HATCH_CUDA_KERNELS_ACCELERATOR"
#: The folder of the disk cache.
CACHE_DIR = "HATCH_CUDA_KERNELS_CACHE_DIR"
#: The size that the disk cache stays below, in bytes.
CACHE_MAX_BYTES = "HATCH_CUDA_KERNELS_CACHE_MAX_BYTES"
#: 1 accepts a cache folder that belongs to another user, or that others can write to.
CACHE_TRUST = "HATCH_CUDA_KERNELS_CACHE_TRUST"
#: Where a build compiles: process or dask:ADDRESS.
EXECUTOR = "HATCH_CUDA_KERNELS_EXECUTOR"
#: 0 forbids compiling at run time.
JIT = "HATCH_CUDA_KERNELS_JIT"
#: Read-only cache folders, separated as in PATH.
PATH = "HATCH_CUDA_KERNELS_PATH"
#: The file that requests for kernels are appended to.
TRACE = "HATCH_CUDA_KERNELS_TRACE"

OWN = (ACCELERATOR, CACHE_DIR, CACHE_MAX_BYTES, CACHE_TRUST, EXECUTOR, JIT, PATH, TRACE)
#: Variables of CUDA, Hatch and the system that decide what is found and loaded here.
FOREIGN = (
    "CONDA_PREFIX",
    "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_MAXSIZE",
    "CUDA_CACHE_PATH",
    "CUDA_HOME",
    "CUDA_MODULE_LOADING",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "HATCH_BUILD_CLEAN",
    "HATCH_BUILD_NO_HOOKS",
    "LD_LIBRARY_PATH",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_VISIBLE_DEVICES",
    "XDG_CACHE_HOME",
)

_POLICIES: tuple[Policy, ...] = ("compatible", "exact", "prebuilt")
#: The reason that messages give if ``jit_allowed`` is false.
JIT_FORBIDDEN = f"{JIT}=0 forbids compiling"


def check_policy(policy: str) -> Policy:
    """Return the policy. Raises InputError for any other word."""
    for known in _POLICIES:
        if policy == known:
            return known
    from hatch_cuda_kernels.errors import InputError  # which imports typing

    raise InputError(f"unknown policy {policy!r}; it is one of {', '.join(_POLICIES)}")


def jit_allowed() -> bool:
    """Return whether the environment allows compiling."""
    return os.environ.get(JIT, "1") != "0"


#: Files that this process records requests in, whatever its environment says by then.
ALWAYS_TRACED: list[str] = []


def trace_files() -> tuple[str, ...]:
    """Return the files that requests for kernels are recorded in."""
    stated = os.environ.get(TRACE)
    return (*ALWAYS_TRACED, stated) if stated and stated not in ALWAYS_TRACED else (*ALWAYS_TRACED,)


#: A number with a unit: of 1000, as download pages count, or of 1024 with an ``i``.
SIZE_PATTERN = r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,6})?) ?(?P<prefix>[kKMG])(?P<binary>i?)B"
#: More digits than any disk has bytes; int() refuses thousands of them.
_MOST_DIGITS = 18


def parse_size(text: str) -> int:
    """Return the bytes of ``500000``, ``5MB`` or ``5 MiB``. Raises ValueError for anything else, signs included."""
    if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:
        return int(text)
    import re  # not for plain bytes

    found = re.fullmatch(SIZE_PATTERN, text)
    if found is None:
        raise ValueError(f"{text[:20]!r} is not a size; write bytes, or a unit as in 5MB or 5MiB")
    base = 1024 if found["binary"] else 1000
    whole, _, rest = found["number"].partition(".")
    unit: int = base ** (1 + "KMG".index(found["prefix"].upper()))
    parts: int = 10 ** len(rest)
    return int(whole + rest) * unit // parts
