"""Values of options that several commands take, as types for argparse."""

from __future__ import annotations

from argparse import ArgumentTypeError

from hatch_cuda_kernels.versions import parse_version

__all__ = ["byte_count", "cuda_version"]

#: More bytes than any disk has; int() refuses thousands of digits.
_MOST_DIGITS = 18


def byte_count(text: str) -> int:
    """Return a number of bytes. Raises ArgumentTypeError for anything else, negative numbers included."""
    if len(text) > _MOST_DIGITS or not text.isdecimal():
        raise ArgumentTypeError(f"{text[:_MOST_DIGITS]!r} is not a number of bytes")
    return int(text)


def cuda_version(text: str) -> tuple[int, int]:
    """Return a CUDA version such as 13.0. Raises ArgumentTypeError for anything else."""
    try:
        return parse_version(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a CUDA version; write it like 13.0") from None
