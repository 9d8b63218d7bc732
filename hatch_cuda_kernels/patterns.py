"""Instance patterns: ``gemm<{T}, {M}>`` with a value for each placeholder. Other braces are C++ and stay."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["fill", "placeholders"]

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def placeholders(pattern: str) -> tuple[str, ...]:
    """Return the names of a pattern's placeholders, each once, in order."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(pattern)))


def fill(pattern: str, values: Mapping[str, object]) -> str:
    """Return the pattern with its placeholders replaced. Raises KeyError for one without a value."""
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), pattern)
