"""``launch:`` of a module: the rules by which its kernels are launched, checked without the sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.manifest.kinds import (
    BOOLEAN,
    Item,
    Key,
    Kind,
    RefusedError,
    Spot,
    Table,
    attempt,
    integer,
    items_of,
    map_of,
    suggest,
    table,
    wrong_type,
)
from hatch_cuda_kernels.manifest.model import StatedRule
from hatch_cuda_kernels.manifest.yaml_text import Scalar, Sequence
from hatch_cuda_kernels.names import normalize_name
from hatch_cuda_kernels.patterns import placeholders
from hatch_cuda_kernels.store import ExpressionError, LaunchRule, canonical, placeholders_of, python_text, split_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_SIZE_TEXT: Final = {"type": ["integer", "string"], "minimum": 0}
_EXPRESSIONS: Final = ("grid", "block", "shared_mem")
_ATTRIBUTES: Final = ("cluster", "cooperative", "pdl", "priority", "carveout")
_MOST_THREADS: Final = (1 << 31) - 1


def _read_text(spot: Spot) -> str:
    """Return an expression's text. Raises RefusedError for what is neither an integer nor text."""
    node = spot.node
    if not isinstance(node, Scalar) or node.tag not in {"int", "str"} or not node.text:
        raise wrong_type("an integer or an expression such as 'ceil_div(n, 256)'", spot)
    return node.text


def _expression(read: Callable[[str], Any], spot: Spot) -> Any:  # what ``read`` returns
    """Return what a text says, and note each of its problems."""
    try:
        return read(_read_text(spot))
    except ExpressionError as error:
        for problem in error.problems:
            spot.report(problem)
        return None


def _read_sizes(spot: Spot) -> Item | None:
    """Return one to three expressions: a list of them, or one text."""
    if not isinstance(spot.node, Sequence):
        sizes = _expression(split_sizes, spot)
        return None if sizes is None else Item(sizes, spot)
    items = _up_to_three(_LIST, spot)
    return Item(items, spot) if len(items) == len(spot.node.items) else None


def _up_to_three(kind: Kind, spot: Spot) -> tuple[Any, ...]:
    """Return the values of a list. Raises RefusedError for one that is empty or too long."""
    items = kind.read(spot)
    if not 1 <= len(spot.node.items) <= 3:  # type: ignore[union-attr]  # a list, or the kind would have refused it
        raise RefusedError("one to three sizes belong here")
    return tuple(item.value for item in items)


def _read_size(spot: Spot) -> Item | None:
    size = _expression(canonical, spot)
    return None if size is None else Item(size, spot)


_LIST: Final = items_of(Kind(lambda spot: _expression(canonical, spot), _SIZE_TEXT), unique=False)
_SIZES: Final = Kind(_read_sizes, {"anyOf": [_SIZE_TEXT, {"type": "array", "items": _SIZE_TEXT, "maxItems": 3}]})
_COUNT: Final = integer(1, _MOST_THREADS)
_COUNTS: Final = items_of(_COUNT, unique=False)


def _read_cluster(spot: Spot) -> tuple[int, ...] | None:
    if not isinstance(spot.node, Sequence):
        count = attempt(_COUNT, spot)
        return None if count is None else (count,)
    return _up_to_three(_COUNTS, spot)


_CLUSTER_SCHEMA: Final = {"anyOf": [_COUNT.schema, {"type": "array", "items": _COUNT.schema, "maxItems": 3}]}
LAUNCH: Final[Table] = {
    "grid": Key(_SIZES, "Blocks: one to three integers or expressions of the arguments.", "state how many blocks"),
    "block": Key(_SIZES, "Threads of a block, in the same way.", "state how many threads a block has"),
    "shared_mem": Key(Kind(_read_size, _SIZE_TEXT), "Bytes of dynamic shared memory: an integer or an expression."),
    "cluster": Key(Kind(_read_cluster, _CLUSTER_SCHEMA), "Blocks of a cluster: one to three integers."),
    "cooperative": Key(BOOLEAN, "Whether all blocks run at the same time."),
    "pdl": Key(BOOLEAN, "Programmatic dependent launch: it may start before the previous kernel has ended."),
    "priority": Key(integer(-1000, 1000), "As for streams: lower numbers first."),
    "carveout": Key(integer(0, 100), "Preferred part of the L1 cache that is shared memory, in percent."),
}


RULES: Final = map_of(table("launch", LAUNCH), keys=re.compile(r"[^\x00-\x1f\x7f]+"), key_words="a kernel's name")


def check_placeholders(module: Mapping[str, Any]) -> None:
    """Note what is wrong with the placeholders of a module's rules: each must be an axis of integers in its pattern."""
    patterns = {normalize_name(item.value): item.value for item in module.get("instances") or ()}
    matrix: Mapping[str, Item] = module.get("matrix") or {}
    for kernel, rule in (module.get("launch") or {}).items():
        known = placeholders(kernel)
        if known and normalize_name(kernel) not in patterns:
            rule.spot.report(f"no instance is written {kernel!r}{suggest(kernel, patterns.values())}")
        for sizes in _expressions(rule):
            for text in sizes.value if isinstance(sizes.value, tuple) else (sizes.value,):
                for name in sorted(placeholders_of(text)):
                    _check_placeholder(name, kernel, known, matrix, sizes.spot)


def _expressions(rule: Item) -> list[Item]:
    values = rule.value or {}
    return [found for key in _EXPRESSIONS if (found := values.get(key)) is not None]


def _check_placeholder(name: str, kernel: str, known: tuple[str, ...], matrix: Mapping[str, Item], spot: Spot) -> None:
    if name not in known:
        fix = suggest(name, known, "; name the rule after a pattern under instances that has it")
        spot.report(f"unknown placeholder {{{name}}} in a rule for {kernel!r}{fix}")
        return
    axis = matrix[name].value if name in matrix else None
    for value in axis or ():
        try:
            python_text(value, {}, {})
        except ExpressionError:
            spot.report(f"{{{name}}} may be {value!r}, which is not an integer")


def launch_rules(module: Mapping[str, Any]) -> tuple[StatedRule, ...]:
    """Return a valid module's rules, with the places of what they state."""
    return tuple(_stated_rule(kernel, item) for kernel, item in (module.get("launch") or {}).items())


def _stated_rule(kernel: str, item: Item) -> StatedRule:
    values: dict[str, Any] = item.value
    shared = values.get("shared_mem")
    rule = LaunchRule(
        kernel=kernel,
        grid=values["grid"].value,
        block=values["block"].value,
        shared_mem="0" if shared is None else shared.value,
        attributes={name: values[name] for name in _ATTRIBUTES if name in values},
    )
    places: dict[str, str] = {key: values[key].spot.where for key in _EXPRESSIONS if key in values}
    return StatedRule(rule=rule, where=item.spot.where, places=places)
