"""Parameters of macros with a ``$`` in their names, which gcc and nvcc take, and NVRTC does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.lexer import CHARACTER, COMMENT, STRING

if TYPE_CHECKING:
    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["dollar_parameters", "without_dollars"]

_PARAMETERS: Final = re.compile(r"[A-Za-z_]\w*\(([^()]*)\)")
#: Of the name that a parameter gets.
_DOLLAR: Final = "_dollar"


def dollar_parameters(line: DirectiveLine) -> list[str]:
    """Return the parameters with a ``$`` of a macro that a directive defines."""
    head = _PARAMETERS.match(line.operand) if line.word == "define" and "$" in line.operand else None
    return [name for name in (head[1] if head else "").replace(",", " ").split() if "$" in name]


def without_dollars(spelled: str, parameters: list[str]) -> str:
    """Return the spelled definition of a macro with other names for some of its parameters."""
    longest_first = sorted(parameters, key=len, reverse=True)
    names = "|".join(map(re.escape, longest_first))
    pattern = rf"{COMMENT}|{STRING}|{CHARACTER}|(?<![\w$])(?P<name>{names})(?![\w$])"
    return re.sub(pattern, lambda found: found[0].replace("$", _DOLLAR) if found["name"] else found[0], spelled)
