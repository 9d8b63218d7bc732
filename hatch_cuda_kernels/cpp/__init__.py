"""C++ text as tokens, directives, macros and declarations, and the edits of it. Knows the language only."""

import gc
from contextlib import contextmanager

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.cpp.conditions import *
    from hatch_cuda_kernels.cpp.declarations import *
    from hatch_cuda_kernels.cpp.edits import *
    from hatch_cuda_kernels.cpp.lexer import *
    from hatch_cuda_kernels.cpp.macros import *
    from hatch_cuda_kernels.cpp.reading import *
    from hatch_cuda_kernels.cpp.stream import *
    from hatch_cuda_kernels.cpp.unit import *

#: Who lexes a text loads no parser.
__getattr__ = lazy(
    __name__,
    {
        "conditions": "evaluate KEPT PROBES",
        "declarations": "CLASS_KEYS Declaration Declarator",
        "edits": "Edit Edited Editor outermost",
        "lexer": (
            "Directive find_closing is_identifier is_literal lex lex_with_places SourceFile spell split_at_commas "
            "TextError Token"
        ),
        "macros": (
            "Expander ExpansionError leading_to length_of_call Macro MacroTable MacroToken parse_define parse_defines "
            "parse_definition State texts_of unknown_macro UNKNOWN_VALUE"
        ),
        "reading": "parse read_alone Reading",
        "stream": "closes_captures Cursor Stream StreamToken",
        "unit": "Branches Condition Inclusion InclusionError Run TranslationUnit",
    },
)


@contextmanager
def uncollected() -> "Iterator[None]":
    """Let nobody look for garbage meanwhile: millions of tokens are made, and few of them are in circles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
