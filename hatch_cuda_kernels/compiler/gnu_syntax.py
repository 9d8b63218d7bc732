"""What to do about syntax that nvcc takes from GNU C, and NVRTC does not, also where a macro stands for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cpp import Expander, ExpansionError, MacroToken, SourceFile, lex_with_places, parse_definition
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hatch_cuda_kernels.compiler.output import Diagnostic
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
    expanded = _expanded(here, texts)
    if _STATEMENTS.match(expanded) or _STATEMENTS.match(before.rstrip()[-1:] + here[:1]):
        return _NO_STATEMENTS
    if _DESIGNATED.match(expanded) and (member := _MEMBER.search(expanded)):
        return _NO_DESIGNATED.format(name=member[1])
    return ""


def _expanded(text: str, texts: Iterable[str]) -> str:
    """Return what a text becomes by the macros of some files, of which the last definition counts."""
    files = [SourceFile("", one) for one in texts]
    found = (parse_definition(one, file) for file in files for one in file.directives if one.word == "define")
    macros = {macro.name: macro for macro in found if macro is not None}
    tokens = [MacroToken(token.text, token.is_spaced) for token in lex_with_places(text)]
    try:
        made = Expander(macros.get).expand(tokens)
    except (ExpansionError, RecursionError):
        return text
    return "".join(f"{' ' * token.is_spaced}{token.text}" for token in made)
