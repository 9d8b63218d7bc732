"""The macros of a manifest: C++ text, the project's version, or what a variable of the environment holds."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hatch_cuda_kernels.manifest.kinds import IDENTIFIER, MACRO_VALUE, Item, Key, Kind, Table, map_of, table, text
from hatch_cuda_kernels.manifest.spot import RefusedError
from hatch_cuda_kernels.options import macro_name

if TYPE_CHECKING:
    from hatch_cuda_kernels.manifest.spot import Spot

__all__ = ["DEFINE", "DEFINE_FROM", "VARIABLE", "with_macros"]

Macros: TypeAlias = tuple[tuple[str, str | None], ...]

_VERSION: Final = "{version}"
_PARAMETERS: Final = r" *(?:[A-Za-z_][A-Za-z0-9_]* *(?:, *[A-Za-z_][A-Za-z0-9_]* *)*(?:, *\.\.\. *)?|\.\.\. *)?"
_MACRO: Final = re.compile(rf"{IDENTIFIER.pattern}(?:\({_PARAMETERS}\))?")
_MACROS: Final = map_of(MACRO_VALUE, keys=_MACRO, key_words="a macro such as NAME or NAME(x, y)")


def _read_define(spot: Spot) -> Macros:
    items = _MACROS.read(spot)
    known: dict[str, str] = {}
    for name, item in items.items():
        first = known.setdefault(macro_name(name), name)
        if first != name:
            item.spot.report(f"{first} is a macro of the same name")
    return tuple((name, _value(item.value)) for name, item in items.items() if item.value is not None)


def _value(item: Item) -> str | None:
    """Return a macro's text; None, with the problem noted, if it takes a version that is not known."""
    value: str | None = item.value
    if value is None or _VERSION not in value:
        return value
    try:
        return value.replace(_VERSION, item.spot.reading.version())
    except RefusedError as refusal:
        item.spot.report(str(refusal))
        return None


def _variable(_: Spot, name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise RefusedError(f"the environment has no variable {name!r}; set it, to nothing perhaps")
    if not value.isprintable():
        raise RefusedError(f"the environment's variable {name!r} is not one line of plain text")
    return value


VARIABLE: Final[Table] = {
    "env": Key(
        text("the name of a variable", _variable, pattern=IDENTIFIER.pattern),
        "The environment's variable that holds the value, when the manifest is read.",
        "name a variable of the environment",
    )
}
_VARIABLES: Final = map_of(table("variable", VARIABLE), keys=IDENTIFIER, key_words="a macro's name (a C identifier)")


def _read_define_from(spot: Spot) -> Macros:
    return tuple(
        (name, item.value["env"]) for name, item in _VARIABLES.read(spot).items() if item.value and "env" in item.value
    )


DEFINE: Final = Kind(_read_define, _MACROS.schema)
DEFINE_FROM: Final = Kind(_read_define_from, _VARIABLES.schema)


def with_macros(options: Kind) -> Kind:
    """Return the kind of options whose ``define`` has the macros of ``define_from``, too."""

    def read(spot: Spot) -> dict[str, Any]:
        values: dict[str, Any] = options.read(spot)
        found: Macros = values.pop("define_from", None) or ()
        known = {macro_name(name) for name, _ in values.get("define") or ()}
        for name, _ in found:
            if name in known:
                spot.report(f"{name} is under define and under define_from; leave one of them out")
        return values | {"define": (*(values.get("define") or ()), *found)} if found else values

    return Kind(read, options.schema)
