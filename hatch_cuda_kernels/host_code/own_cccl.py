"""A project's own copy of the CUDA C++ Core Libraries, which knows NVRTC as the toolkit's does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["own_cccl", "own_libcudacxx"]

_CONFIG: Final = re.compile(rf"({VIRTUAL_ROOT}(?:.*/)?)cuda/std/detail/__config")
_FOLDERS: Final = ("cub/", "cuda/", "nv/", "thrust/")


def own_cccl(names: Iterable[str]) -> frozenset[str]:
    """Return the names of the texts that are a project's own copy of CCCL: their conditions hold as they are."""
    return _below(names, _FOLDERS)


def own_libcudacxx(names: Iterable[str]) -> frozenset[str]:
    """Return the names of those of them of which NVRTC takes all: Thrust's and CUB's have functions of the host's."""
    return _below(names, ("cuda/std/", "nv/"))


def _below(names: Iterable[str], folders: Iterable[str]) -> frozenset[str]:
    known = [*names]
    roots = {found[1] for name in known if (found := _CONFIG.fullmatch(name))}
    starts = tuple(f"{root}{folder}" for root in roots for folder in folders)
    return frozenset(name for name in known if name.startswith(starts)) if starts else frozenset()
