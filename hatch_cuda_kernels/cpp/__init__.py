"""C++ text as tokens, directives, macros and declarations, and the edits of it. Knows the language only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.cpp.conditions import evaluate
from hatch_cuda_kernels.cpp.declarations import Declaration, Declarator
from hatch_cuda_kernels.cpp.edits import Edit, Edited, Editor
from hatch_cuda_kernels.cpp.heads import CLASS_KEYS
from hatch_cuda_kernels.cpp.lexer import (
    Directive,
    SourceFile,
    Token,
    UnbalancedError,
    is_identifier,
    is_literal,
    lex,
    lex_with_places,
)
from hatch_cuda_kernels.cpp.macros import (
    UNKNOWN_VALUE,
    Expander,
    ExpansionError,
    Macro,
    MacroTable,
    MacroToken,
    leading_to,
    parse_define,
    parse_definition,
    texts_of,
)
from hatch_cuda_kernels.cpp.parser import Reading, parse, read_alone
from hatch_cuda_kernels.cpp.spelling import find_closing, spell, split_at_commas
from hatch_cuda_kernels.cpp.stream import (
    Cursor,
    Stream,
    StreamToken,
    TextError,
    closes_captures,
)
from hatch_cuda_kernels.cpp.unit import (
    Branches,
    Condition,
    Inclusion,
    InclusionError,
    Run,
    TranslationUnit,
)

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp.unit import Item as Item

__all__ = [
    "CLASS_KEYS",
    "UNKNOWN_VALUE",
    "Branches",
    "Condition",
    "Cursor",
    "Declaration",
    "Declarator",
    "Directive",
    "Edit",
    "Edited",
    "Editor",
    "Expander",
    "ExpansionError",
    "Inclusion",
    "InclusionError",
    "Macro",
    "MacroTable",
    "MacroToken",
    "Reading",
    "Run",
    "SourceFile",
    "Stream",
    "StreamToken",
    "TextError",
    "Token",
    "TranslationUnit",
    "UnbalancedError",
    "closes_captures",
    "evaluate",
    "find_closing",
    "is_identifier",
    "is_literal",
    "leading_to",
    "lex",
    "lex_with_places",
    "parse",
    "parse_define",
    "parse_definition",
    "read_alone",
    "spell",
    "split_at_commas",
    "texts_of",
]
