"""Macros of host code that run a piece of code for several types, and what Torch calls these types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.libraries.table import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_NUMBERS: Final = (["::", "Half"], ["::", "BFloat16"])


def dispatched(macro: str, arguments: Iterable[str]) -> tuple[str, tuple[str, ...]] | None:
    """Return the name that a macro with such arguments before its code declares, and the types it stands for."""
    lead, dispatches, rest = macro.partition("DISPATCH_")
    if not dispatches or (lead and not lead.endswith("_")) or rest.startswith("SWITCH"):
        return None
    known = table("torch")["dispatch"]
    is_torchs = lead in known["torchs"]
    types = next((types for part, types in known["types"].items() if part in rest), None)
    if types is None and rest != "CASE":
        return None
    added = [one[not is_torchs] for name, one in known["added"].items() if name in rest.split("_")]
    plain = [word.removeprefix("k") for word in sorted({*arguments})]
    if is_torchs:
        added += [kind for name, one in known["enumerators"].items() if name in plain for kind in one]
    else:
        added += [one[1] for name, one in known["added"].items() if name in {word.upper() for word in plain}]
    name = known["index" if "INDEX_TYPES" in rest else "scalar"][0]
    return name, tuple(dict.fromkeys((*(types or ()), *added)))


def as_declared(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return template arguments with Torch's numbers as they are declared, and CUDA's types in place of their sums'."""
    known = table("torch")["dispatch"]
    found: list[str] = []
    at = 0
    while at < len(tokens):
        text, follows = tokens[at], [*tokens[at + 1 : at + 3]]
        if text in known["sums"] and follows[:1] == ["<"]:
            while found and found[-1] in {"typename", "at", "::"}:
                found.pop()
            end = [*tokens, ">"].index(">", at)
            inner = tuple(tokens[at + 2 : end])
            kind = inner[: inner.index(",")] if "," in inner else inner
            found += kind if " ".join(kind) in known["own_sums"] else ("float",)
            at = end + (3 if [*tokens[end + 1 : end + 3]] == ["::", "type"] else 1)
            continue
        found.append("c10" if text in {"at", "torch"} and follows in _NUMBERS else text)
        at += 1
    return tuple(found)
