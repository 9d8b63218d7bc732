"""What ``includes`` has, for those that still ask here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.cpp.lexer import SourceFile
from hatch_cuda_kernels.includes import find_clocks as clocks_of_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hatch_cuda_kernels.includes import Readings

__all__ = ["find_clocks"]


def find_clocks(texts: Mapping[str, str], _readings: Readings) -> Iterator[str]:
    """Yield what of texts, by name, would make each build another."""
    files = {name: SourceFile(name, text) for name, text in texts.items()}
    yield from clocks_of_files(files, files, lambda _file, directive: directive.operand.strip()[1:-1])
