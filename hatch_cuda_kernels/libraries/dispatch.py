"""Macros of host code that run a piece of code for several types, and what Torch calls these types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cpp.macros import MacroToken

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DATA_METHODS", "as_declared", "dispatched", "is_made_of_types"]

_FLOATING: Final = ("float", "double")
_INTEGRAL: Final = ("unsigned char", "signed char", "short", "int", "long long")
_REDUCED: Final = ("c10::Half", "c10::BFloat16")
#: The types of a macro, by a part of its name; the first that fits.
_BASES: Final = (
    ("INTEGRAL_TYPES", _INTEGRAL),
    ("ALL_TYPES", (*_INTEGRAL, *_FLOATING)),
    ("FLOATING_TYPES", _FLOATING),
    ("REDUCED_FLOATING", _REDUCED),
    ("INDEX_TYPES", ("int", "long long")),
)
#: What Torch's values of ScalarType stand for, with ``k`` before them or without.
_ENUMERATORS: Final = {
    "Float": "float",
    "Double": "double",
    "Half": "c10::Half",
    "BFloat16": "c10::BFloat16",
    "Byte": "unsigned char",
    "Char": "signed char",
    "Short": "short",
    "Int": "int",
    "Long": "long long",
    "Bool": "bool",
}
#: What a macro's name adds, of Torch's and of others that are called alike.
_NAMED: Final = {"HALF": ("c10::Half", "__half"), "BFLOAT16": ("c10::BFloat16", "__nv_bfloat16")}
#: Templates of Torch's for the types in which sums of others are kept.
_SUMS: Final = frozenset({"acc_type", "opmath_type"})
#: Types whose sums are kept in the same; of all others in float.
_OWN_SUMS: Final = frozenset({"double", "int", "long long"})
#: Functions of tensors that return a pointer to their template argument.
DATA_METHODS: Final = frozenset(
    {"data", "data_ptr", "const_data", "const_data_ptr", "mutable_data", "mutable_data_ptr"}
)


def dispatched(macro: str, words: frozenset[str]) -> tuple[str, tuple[str, ...]] | None:
    """Return the name that a macro declares, and the types that it stands for; None for any other macro.

    ``words`` are those of its arguments before the code.
    """
    lead, dispatches, rest = macro.partition("DISPATCH_")
    if not dispatches or (lead and not lead.endswith("_")) or rest.startswith("SWITCH"):
        return None
    is_torchs = lead in {"AT_", "VLLM_"}
    types: tuple[str, ...] | None = next((types for part, types in _BASES if part in rest), None)
    if types is None:
        if rest != "CASE":
            return None
        types = ()
    added = [one[not is_torchs] for name, one in _NAMED.items() if name in rest.split("_")]
    if is_torchs or rest.startswith("CASE"):
        added += [kind for word in words if (kind := _ENUMERATORS.get(word.removeprefix("k"))) is not None]
    else:
        added += [one[1] for name, one in _NAMED.items() if name in {word.removeprefix("k").upper() for word in words}]
    found = tuple(
        dict.fromkeys((*types, *sorted(added, key=[*_ENUMERATORS.values(), "__half", "__nv_bfloat16"].index)))
    )
    return ("index_t" if "INDEX_TYPES" in rest else "scalar_t"), found


def is_made_of_types(tokens: Sequence[MacroToken]) -> bool:
    """Return whether template arguments have a type of Torch's that is made of another."""
    return any(token.text in _SUMS for token in tokens)


def as_declared(tokens: Sequence[MacroToken]) -> tuple[MacroToken, ...]:
    """Return template arguments with Torch's numbers as they are declared, and CUDA's types in place of their sums'."""
    found: list[MacroToken] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        follows = [one.text for one in tokens[at + 1 : at + 3]]
        if token.text in _SUMS and follows[:1] == ["<"]:
            while found and found[-1].text in {"typename", "at", "::"}:
                token = found.pop()
            end = next((end for end in range(at, len(tokens)) if tokens[end].text == ">"), len(tokens) - 1)
            inner = [one.text for one in tokens[at + 2 : end]]
            kind = " ".join(inner[: inner.index(",")] if "," in inner else inner)
            found.append(MacroToken(kind if kind in _OWN_SUMS else "float", token.is_spaced))
            at = end + (3 if [one.text for one in tokens[end + 1 : end + 3]] == ["::", "type"] else 1)
            continue
        is_torchs = token.text in {"at", "torch"} and follows in (["::", "Half"], ["::", "BFloat16"])
        found.append(token._replace(text="c10") if is_torchs else token)
        at += 1
    return tuple(found)
