"""What an include could open whose header a macro names: found in the macros' texts, none of which is expanded.

Where a project has such an include, every path is looked at that a ``#define``, a ``define:`` option or the arguments
of the include itself spell. One that starts with ``/`` or goes up with ``..`` is refused: NVRTC would open it from the
disk, and nobody would hash it. Not seen is a slash behind a macro that expands to nothing (``STR(NOTHING/etc/x.h)``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.source.directives import ANY_HASH, LITERALS, SPACE

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["find_macro_texts", "possible_names", "wanders"]

_BODY: Final = r'(?P<body>(?:/\*[\s\S]*?\*/|//.*|"(?:[^"\\\n]|\\.)*"|[^\n\\]|\\(?:\r\n|[\s\S]))*)'
_DEFINE: Final = rf"define{SPACE}\w+(?:\([^()]*\))?"
_COMPUTED: Final = rf'include(?:_next)?\b(?!{SPACE}["<])'
_LEXER: Final = re.compile("|".join((*LITERALS, rf"{ANY_HASH}{SPACE}(?:{_DEFINE}|{_COMPUTED}){_BODY}")))
_COMMENT: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|/\*[\s\S]*?\*/|//.*|\\\r?\n')
#: Literals, and bare words with a header's suffix, which ``#`` can turn into a literal.
_NAME: Final = re.compile(r'"([^"\s]+)"|<([^<>\n]+)>|([\w./+-]+\.(?:h\w*|cuh|inl|inc))\b')
#: A slash where a name begins (nothing can be divided there), a bare opening <, or ``..`` as a part of a path.
_WANDERS: Final = re.compile(r'(?:\A|[(,<"#])\s*/|\A<\Z|(?<![^\s"</(,])\.\.(?=[/"\s>),]|\Z)')


def find_macro_texts(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each macro's replacement, and each include's operand, stands, and it without comments."""
    for match in _LEXER.finditer(text):
        if match.lastgroup == "body":
            yield match.start(), _COMMENT.sub(lambda found: found[1] or " ", match["body"]).strip()


def possible_names(replacement: str) -> Iterator[str]:
    """Yield the names of headers that a macro's replacement spells."""
    for literal, angled, bare in _NAME.findall(replacement):
        yield literal or angled or bare


def wanders(replacement: str) -> bool:
    """Return whether a macro's replacement could begin, or lead, a path out of the project."""
    return _WANDERS.search(replacement) is not None
