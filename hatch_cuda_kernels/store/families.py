"""What the manifest says of an entry with axes in its name, for whatever values these have."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.names import (
    fill_known,
    module_name,
    normalize_name,
    placeholders,
    quoted_placeholders,
    values_text,
)
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.store.launch_rules import ExpressionError, LaunchRule

if TYPE_CHECKING:
    from hatch_cuda_kernels.store.index import ModuleIndex


@lru_cache(maxsize=64)
def _by_key(values: tuple[str, ...]) -> dict[str, str]:
    return {normalize_name(value): value for value in values}


class ModuleFamily(NamedTuple):
    """What the manifest says of each combination of the axes in an entry's name."""

    entry: str
    """The name in the manifest."""
    axes: dict[str, tuple[str, ...]]
    """The axes in the name, with the values that are listed."""
    names: tuple[str, ...]
    """Kernels and instances, with placeholders."""
    file: str = ""
    """What ``*`` stands for."""
    matrix: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - never changed
    """The other axes."""
    exclude: tuple[dict[str, str], ...] = ()
    define: tuple[tuple[str, str], ...] = ()
    """Macros with placeholders."""
    launch: tuple[LaunchRule, ...] = ()
    is_chunked: bool = False
    """Whether not all instances are in one program."""
    files: dict[str, str] = {}  # noqa: RUF012 - never changed
    """Files that a combination may read, besides those of the module that says so, with their digests."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``details.json``."""
        data = {name: value for name, value in self._asdict().items() if value or name in {"entry", "axes", "names"}}
        return data | ({"launch": [rule.to_json() for rule in self.launch]} if self.launch else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ModuleFamily:
        """Read what ``to_json`` wrote, and the shape of details holds. Raises ValueError for axes that do not fit."""
        named, excluded = placeholders(data["entry"]), data.get("exclude", ())
        if {*named} != data["axes"].keys() or not {*named}.issuperset(axis for one in excluded for axis in one):
            raise ValueError("the family's axes are not those of its entry")
        plain = {name: data[name] for name in cls._fields if name in data}
        plain["axes"] = {axis: (*data["axes"][axis],) for axis in named}
        plain["matrix"] = {axis: (*values,) for axis, values in data.get("matrix", {}).items()}
        plain["exclude"] = tuple({axis: one[axis] for axis in named if axis in one} for one in excluded)
        rules = tuple(map(LaunchRule.from_json, data.get("launch", ())))
        define = tuple((name, text) for name, text in data.get("define", ()))
        return cls(**plain | {"names": (*data["names"],), "define": define, "launch": rules})

    def spelled(self, axes: Mapping[str, str]) -> dict[str, str]:
        """Return values as the manifest spells them, or else in the shortest form, in the order of its axes.

        Those that are in a string stay as they are.
        """
        keys = {axis: normalize_name(axes[axis]) for axis in self.axes}
        found = {axis: _by_key(self.axes[axis]).get(key, key) for axis, key in keys.items()}
        return {axis: axes[axis] if axis in self.quoted else value for axis, value in found.items()}

    @property
    def quoted(self) -> set[str]:
        """The axes whose values are in a string of a macro or a name, so that all their spaces count."""
        return quoted_placeholders((*(text for _, text in self.define), *self.names))

    def refusal(self, axes: Mapping[str, str]) -> str:
        """Return why these values may not be compiled; empty if they may."""
        for axis, value in axes.items():
            if not value.isprintable():
                return f"the value of {axis} is not one line of plain text"
        for excluded in self.exclude:
            if all(normalize_name(value) == normalize_name(axes[axis]) for axis, value in excluded.items()):
                return f"the manifest excludes {values_text(excluded)}"
        return ""

    def names_with(self, axes: Mapping[str, str]) -> tuple[str, ...]:
        """Return the name expressions of a combination, each once."""
        found: dict[str, None] = {}
        for text in self.names:
            rest = [name for name in placeholders(text) if name in self.matrix]
            for values in itertools.product(*(self.matrix[name] for name in rest)):
                found[fill_known(text, {**axes, **dict(zip(rest, values, strict=True))})] = None
        return (*found,)

    def index_with(self, base: ModuleIndex, axes: Mapping[str, str]) -> ModuleIndex:
        """Return the index of a combination, with the sources and images of a module that is listed.

        Raises InputError for a value that a launch rule cannot take.
        """
        macros = {name: fill_known(text, axes) for name, text in self.define}
        define = [[name, macros.get(name, text)] for name, text in base.options.get("define", ())]
        patterns = []
        for text in self.names:
            rest = [name for name in self.matrix if name in placeholders(text)]
            if rest:
                matrix = {name: [*self.matrix[name]] for name in rest}
                patterns.append({"pattern": fill_known(text, axes), "matrix": matrix})
        try:
            launch = tuple(rule.with_axes(axes).to_json() for rule in self.launch)
        except ExpressionError as error:
            raise InputError(f"{base.family} with {values_text(axes)}: a launch rule: {error}") from error
        return base._replace(
            module=module_name(self.entry, self.file, axes),
            options=base.options | ({"define": define} if define else {}),
            patterns=tuple(patterns),
            launch=launch,
            axes=dict(axes),
        )
