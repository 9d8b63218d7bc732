"""Whether a process has precompiled a header, asked in that process."""

from __future__ import annotations

from hatch_cuda_kernels.compiler import precompiled


def in_use():
    """Return whether compiles here begin with a precompiled header."""
    return precompiled._made is not None and precompiled._made.file >= 0
