"""Macros of host code that run a piece of code for several types: Torch's ``AT_DISPATCH_...``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.host_code.tokens import Token

__all__ = ["cuda_spelling", "dispatched_types", "is_made_of_types"]

_MACRO: Final = re.compile(r"(?:AT|VLLM|DISPATCH)\w*?_?DISPATCH_\w+|DISPATCH_\w+")
_FLOATING: Final = ("float", "double")
_INTEGRAL: Final = ("unsigned char", "signed char", "short", "int", "long long")
#: By a part of the macro's name; the first that fits.
_BASES: Final = (
    ("INTEGRAL_TYPES", _INTEGRAL),
    ("ALL_TYPES", (*_INTEGRAL, *_FLOATING)),
    ("FLOATING_TYPES", _FLOATING),
    ("REDUCED_FLOATING", ("c10::Half", "c10::BFloat16")),
    ("INDEX_TYPES", ("int", "long long")),
)
_EXTRAS: Final = {"HALF": "__half", "BFLOAT16": "__nv_bfloat16"}
#: What those macros make of the same names that are Torch's.
_OF_TORCH: Final = {"HALF": "c10::Half", "BFLOAT16": "c10::BFloat16"}
_IS_TORCHS: Final = re.compile(r"(?:AT|VLLM)_")
_NAMED: Final = re.compile(r"(BFloat16|BFLOAT16|Half|HALF|Bool|BOOL)")


#: Torch's types in which sums of another are kept.
_SUMS: Final = re.compile(
    r"\b(?:typename\s+)?(?:at::)?(?:acc_type|opmath_type)\s*<\s*([^<>,]+?)\s*(?:,\s*true\s*)?>(?:::type)?"
)
_TORCHS: Final = re.compile(r"\b(?:at|torch)::(?=(?:Half|BFloat16)\b)")


def is_made_of_types(text: str) -> bool:
    """Return whether template arguments have a type of Torch's that is made of another."""
    return _SUMS.search(text) is not None


def cuda_spelling(text: str) -> str:
    """Return template arguments with Torch's numbers as they are declared, and CUDA's types in place of their sums'."""
    text = _TORCHS.sub("c10::", text)
    return _SUMS.sub(lambda found: found[1] if found[1] in {"double", "int", "long long"} else "float", text)


def dispatched_types(before: Sequence[Token], text: str) -> dict[str, tuple[str, ...]]:
    """Return the types that ``scalar_t``, ``index_t`` and the like stand for behind tokens, by name."""
    found: dict[str, tuple[str, ...]] = {}
    for at, token in enumerate(before):
        if not _MACRO.fullmatch(token.text) or at + 1 >= len(before) or before[at + 1].text != "(":
            continue
        if _is_closed(before, at + 1):
            continue
        head = text[token.start : _end_of_head(before, at)]
        types = next((types for part, types in _BASES if part in token.text), None)
        if types is not None:
            known = _OF_TORCH if _IS_TORCHS.match(token.text) else _EXTRAS
            extra = (known[name.upper()] for name in _NAMED.findall(head) if name.upper() in known)
            name = "index_t" if "INDEX_TYPES" in token.text else "scalar_t"
            found[name] = tuple(dict.fromkeys((*types, *extra)))
    return found


def _is_closed(tokens: Sequence[Token], at: int) -> bool:
    depth = 0
    for token in tokens[at:]:
        depth += (token.text == "(") - (token.text == ")")
        if not depth:
            return True
    return False


def _end_of_head(tokens: Sequence[Token], at: int) -> int:
    """Return where the arguments end that say which types."""
    return next((token.start for token in tokens[at:] if token.text in {"{", "["}), tokens[-1].end)
