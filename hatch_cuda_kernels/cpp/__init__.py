"""C++ text as tokens, directives, macros and declarations, and the edits of it. Knows the language only."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp.conditions import *
    from hatch_cuda_kernels.cpp.declarations import *
    from hatch_cuda_kernels.cpp.edits import *
    from hatch_cuda_kernels.cpp.heads import *
    from hatch_cuda_kernels.cpp.lexer import *
    from hatch_cuda_kernels.cpp.macros import *
    from hatch_cuda_kernels.cpp.parser import *
    from hatch_cuda_kernels.cpp.spelling import *
    from hatch_cuda_kernels.cpp.stream import *
    from hatch_cuda_kernels.cpp.unit import *

#: Who lexes a text loads no parser.
__getattr__ = lazy(
    __name__,
    {
        "conditions": "evaluate",
        "declarations": "Declaration Declarator",
        "edits": "Edit Edited Editor outermost",
        "heads": "CLASS_KEYS",
        "lexer": "Directive is_identifier is_literal lex lex_with_places SourceFile TextError Token UnbalancedError",
        "macros": (
            "find_parenthesis Expander ExpansionError leading_to Macro MacroTable MacroToken parse_define "
            "parse_defines parse_definition State texts_of UNKNOWN_VALUE"
        ),
        "parser": "parse read_alone Reading",
        "spelling": "find_closing spell split_at_commas",
        "stream": "closes_captures Cursor Stream StreamToken",
        "unit": "Branches Condition Inclusion InclusionError Run TranslationUnit",
    },
)
