"""What the user says is the host's, by name, though nvcc's rule keeps it: types, constants, headers, functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.words import TYPE_KEYS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from hatch_cuda_kernels.host_code.items import OutlineItem
    from hatch_cuda_kernels.source.dropped import Dropped

__all__ = ["is_stated", "names_nothing", "stated_name"]

_ALIAS: Final = re.compile(r"using\s+(\w+)\s*=|(?:using|typedef)\b[^{}]*?\b(\w+)\s*(?:\[[^\]]*\]\s*)*;")


def is_stated(item: OutlineItem, text: str, stated: Collection[str]) -> bool:
    """Return whether a declaration has one of the names, or ends in it: ``a::B::f`` is ``B::f``, too."""
    name = stated_name(item, text)
    return name is not None and any(f"::{name}".endswith(f"::{one}") for one in stated)


def stated_name(item: OutlineItem, text: str) -> str | None:
    """Return what a declaration is to be called, with its namespaces and its class; None for one without a name."""
    declared, name = item.declaration, item.declaration.name
    if declared.kind == "other":
        found = _ALIAS.search(text, item.start, item.end)
        name = (found[1] or found[2]) if found else ""
    scope = declared.scope or item.class_name
    return "::".join(filter(None, (item.namespace, scope, name))) if name and name not in TYPE_KEYS else None


def names_nothing(stated: Iterable[str], dropped: Iterable[Dropped]) -> list[str]:
    """Return the names that nothing has that was left out."""
    words = {word for found in dropped for word in (found.name, *re.findall(r"[~\w]+", found.name))}
    return [name for name in stated if name.strip("<>") not in words and name.rpartition("::")[2] not in words]
