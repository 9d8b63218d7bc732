"""What names stand for at a place in a function: the constants and aliases of the braces that are open there."""

from __future__ import annotations

import re
from typing import Final

from hatch_cuda_kernels.port.spelled import replaced

__all__ = ["settled"]

_STEP: Final = re.compile(
    r'"(?:\\.|[^"\\\n])*"|(?P<brace>[{}])'
    r"|\b(?:static\s+)?(?:constexpr|const)\s+(?:static\s+)?(?:auto|(?:unsigned\s+|std::|::)*\w+)\s+(?P<constant>\w+)"
    r"\s*=\s*(?P<value>[^;{}]+);"
    r"|\bconstexpr\s+(?P<made>[A-Za-z_][\w:]*(?:<[^<>;{}]*>)?)\s+(?P<object>\w+)\s*(?:\{\s*\})?;"
    r"|\busing\s+(?P<alias>\w+)\s*=\s*(?P<type>[^;{}]+);"
    r"|\btypedef\s+(?P<old>[^;{}]+?)\s+(?P<new>\w+)\s*;"
)
_PLAIN: Final = re.compile(r"[\w:\s<>,.*&]+")
_DEEPEST: Final = 6
_LONGEST: Final = 300


def settled(before: str, spelled: tuple[str, ...]) -> tuple[str, ...]:
    """Return template arguments with what their names stand for behind a text, which begins with a function."""
    meanings = _meanings(before)
    for _ in range(_DEEPEST):
        spelled = tuple(part if len(part) > _LONGEST else replaced(part, meanings) for part in spelled)
    return spelled


def _meanings(before: str) -> dict[str, str]:
    scopes: list[dict[str, str]] = [{}]
    for step in _STEP.finditer(before):
        if step["brace"] == "{":
            scopes.append({})
        elif step["brace"] == "}":
            if len(scopes) > 1:
                scopes.pop()
        elif step["object"]:
            scopes[-1][step["object"]] = f"{step['made']}{{}}"
        elif step["constant"] or step["alias"] or step["new"]:
            name = step["constant"] or step["alias"] or step["new"]
            text = " ".join((step["value"] or step["type"] or step["old"]).split())
            scopes[-1][name] = f"({text})" if step["constant"] and not _PLAIN.fullmatch(text) else text
    return {name: text for scope in scopes for name, text in scope.items() if name not in re.findall(r"\w+", text)}
