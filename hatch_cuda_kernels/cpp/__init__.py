"""C++ text as tokens, directives, macros and declarations, and the edits of it. Knows the language only."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
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
        "conditions": "evaluate HEADER_PROBES KEPT PROBES",
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
