"""C++ text as tokens, directives, macros and declarations, and the edits of it. Knows the language only."""

from __future__ import annotations

from hatch_cuda_kernels.cpp.conditions import evaluate
from hatch_cuda_kernels.cpp.declarations import Declaration, Declarator
from hatch_cuda_kernels.cpp.edits import Edit, Edited, Editor
from hatch_cuda_kernels.cpp.lexer import (
    Directive,
    SourceFile,
    Token,
    UnbalancedError,
    is_identifier,
    is_literal,
    is_number,
    lex,
    lex_with_places,
)
from hatch_cuda_kernels.cpp.macros import Expander, ExpansionError, Macro, MacroTable, MacroToken, parse_define
from hatch_cuda_kernels.cpp.parser import Reading, parse, read_alone
from hatch_cuda_kernels.cpp.stream import Stream, StreamToken, TextError
from hatch_cuda_kernels.cpp.unit import Condition, InclusionError, TranslationUnit, Visit

__all__ = [
    "Condition",
    "Declaration",
    "Declarator",
    "Directive",
    "Edit",
    "Edited",
    "Editor",
    "Expander",
    "ExpansionError",
    "InclusionError",
    "Macro",
    "MacroTable",
    "MacroToken",
    "Reading",
    "SourceFile",
    "Stream",
    "StreamToken",
    "TextError",
    "Token",
    "TranslationUnit",
    "UnbalancedError",
    "Visit",
    "evaluate",
    "is_identifier",
    "is_literal",
    "is_number",
    "lex",
    "lex_with_places",
    "parse",
    "parse_define",
    "read_alone",
]
