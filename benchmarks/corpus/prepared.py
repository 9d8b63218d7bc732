"""Headers that a repository's build adds to its checkout: those of other projects, and those that configure writes.

They are put below ``.corpus`` in the checkout; nothing else there changes.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sources import Repository

ADDED: Final = ".corpus"
_DEFINE: Final = re.compile(r"^([ \t]*)#([ \t]*)cmakedefine(01)?[ \t]+(\w+)(.*)$", re.MULTILINE)
_VALUE: Final = re.compile(r"@(\w+)@|\$\{(\w+)\}")


def prepare(entry: Repository, checkouts: Path) -> None:
    """Add what the list says to a repository's checkout, unless it is there."""
    root = checkouts / entry.checkout
    for path, origin in entry.needs.items():
        target = root / ADDED / path
        if not target.exists() and (checkouts / origin).is_dir():
            shutil.copytree(checkouts / origin, target, ignore=shutil.ignore_patterns("*.cu", ".git"))
    texts = {path: configured((root / values["from"]).read_text(), values) for path, values in entry.configured.items()}
    for path, text in (texts | dict.fromkeys(entry.empty, "")).items():
        target = root / ADDED / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def configured(text: str, values: Mapping[str, Any]) -> str:
    """Return what CMake's ``configure_file`` makes of a text; what has no value is off, or ``0``."""

    def define(found: re.Match[str]) -> str:
        indent, space, numeric, name, rest = found.groups()
        if numeric:
            return f"{indent}#{space}define {name} {int(bool(values.get(name)))}"
        return f"{indent}#{space}define {name}{rest}" if values.get(name) else f"/* #undef {name} */"

    return _VALUE.sub(lambda found: _shown(values.get(found[1] or found[2], 0)), _DEFINE.sub(define, text))


def _shown(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
