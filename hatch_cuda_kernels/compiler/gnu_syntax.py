"""What to do about syntax that nvcc takes from GNU C, and NVRTC does not, also where a macro stands for it."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.expansion import Macros
from hatch_cuda_kernels.source.macros import find_macro_texts

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.output.log import Diagnostic
    from hatch_cuda_kernels.compiler.program import Program

__all__ = ["advice_on_syntax"]

#: A parenthesis and a brace, as a macro may stand for them.
_STATEMENTS: Final = re.compile(r"\(+\s*\{")
_NO_STATEMENTS: Final = (
    "NVRTC takes no statements in parentheses, ({ ... }), of GNU C: make a function of them, or give the macro another "
    "text with #ifdef __CUDACC_RTC__"
)
#: A member's name in front of its value, behind what opens or separates values.
_DESIGNATED: Final = re.compile(r"[\s{]*\.\s*[A-Za-z_]\w*\s*[={]")
_NO_DESIGNATED: Final = (
    "members by their names, {{ .{name} = ... }}, are C++20's to NVRTC: write 'std: c++20' in the module's options"
)
_MEMBER: Final = re.compile(r"\.\s*(\w+)")


def advice_on_syntax(found: Diagnostic, program: Program) -> str:
    """Return what to do about statements in parentheses or members by name; empty for all else."""
    if found.message != "expected an expression" or not found.column:
        return ""
    before, here = found.excerpt[0][: found.column - 1], found.excerpt[0][found.column - 1 :]
    texts = (program.source, *(text for name, text in program.headers if name.startswith(VIRTUAL_ROOT)))
    macros = Macros(chain.from_iterable(map(find_macro_texts, texts)))
    expanded = macros.expand(here)
    if _STATEMENTS.match(expanded) or _STATEMENTS.match(before.rstrip()[-1:] + here[:1]):
        return _NO_STATEMENTS
    if _DESIGNATED.match(expanded) and (member := _MEMBER.search(expanded)):
        return _NO_DESIGNATED.format(name=member[1])
    return ""
