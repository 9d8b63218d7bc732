"""Calls without brackets: the manifest's rule for a kernel gives grid and block from the arguments.

For ``saxpy(y, x, n, a)`` with the grid ``ceil_div(n, 256)`` and the block 256, the sizes are ``(-(-a2 // 256)), 256``.
Only positions and checked expressions get into the function's text.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import ArgumentError, LaunchError
from hatch_cuda_kernels.runtime.launch.codegen import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hatch_cuda_kernels.store import LaunchRule

_TEMPLATE: Final = """
def make(known, find, otherwise, refusal, missing, size, shape):
    def launch({parameters}*more, **named):
        if more or named{incomplete}:
            return otherwise(({names}*more,), named)
        try:
            sizes = {sizes}
            function = known.get(sizes)
        except Exception as error:
            raise refusal(error) from error
        (function or find(sizes))({names})
    return launch
"""


def rule_function(
    kernel: str,
    rule: LaunchRule | None,
    known: Mapping[Any, Callable[..., None]],
    find: Callable[[dict[str, Any], tuple[Any, ...]], Callable[..., None]],
) -> Callable[..., None]:
    """Return the function that launches a kernel by its rule. Raises LaunchError without one that a build writes.

    ``known`` has launch functions by sizes, and ``find`` gives others by launch attributes and sizes.
    """
    if rule is None:
        call = f"{kernel}[grid, block](...)"
        raise LaunchError(f"{kernel} has no grid: its manifest states no rule for it under launch:; call {call}")
    names = [f"a{index}" for index in range(len(rule.names))]
    *sizes, shared = rule_texts(kernel, rule, names)
    sizes += [shared] if rule.attributes or shared != "0" else []
    listed = "".join(f"{name}, " for name in names)
    source = _TEMPLATE.format(
        parameters=listed.replace(",", "=missing,") + "/, " * bool(names),
        names=listed,
        incomplete=f" or {names[-1]} is missing" if names else "",
        sizes=", ".join(sizes),
    )
    attributes = {name: tuple(value) if isinstance(value, list) else value for name, value in rule.attributes.items()}
    scope: dict[str, Any] = {}
    exec(source, scope)  # noqa: S102 - of positions and checked expressions only

    def otherwise(args: Sequence[Any], named: Mapping[str, Any]) -> None:
        function(*_arrange(kernel, rule.names, args, named))

    function: Callable[..., None] = scope["make"](
        {} if attributes else known,
        partial(find, attributes),
        otherwise,
        partial(rule_refusal, kernel, rule),
        MISSING,
        **RULE_NAMES,
    )
    return function


def rule_texts(kernel: str, rule: LaunchRule, spelled: Sequence[str]) -> tuple[str, ...]:
    """Return grid, block and shared memory as Python text, with ``RULE_NAMES`` and the parameters as ``spelled``.

    Raises LaunchError for a rule that no build writes.
    """
    try:
        return rule.python_texts(spelled, rule.values(kernel) or {})
    except ValueError as error:
        raise LaunchError(f"{kernel} has an unusable launch rule ({error}); reinstall its package") from error


def rule_refusal(kernel: str, rule: LaunchRule, error: Exception) -> LaunchError:
    """Return the error for arguments from which a rule gives no sizes."""
    reason = "it divides by zero" if isinstance(error, ZeroDivisionError) else f"{type(error).__name__}: {error}"
    return LaunchError(f"{kernel}: its launch ({rule}) cannot be computed from these arguments: {reason}")


def _arrange(kernel: str, names: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """Return arguments by position, those by name in their places. Raises ArgumentError for one too many or too few."""
    given = [arg for arg in args if arg is not MISSING]
    wanted = ", ".join(name or f"argument {index}" for index, name in enumerate(names)) or "nothing"
    if len(given) > len(names):
        raise ArgumentError(f"{kernel} takes {len(names)} arguments ({wanted}), got {len(given) + len(named)}")
    values = dict(zip(range(len(names)), given, strict=False))
    for name, value in named.items():
        if name not in names:
            raise ArgumentError(f"{kernel} has no parameter {name!r}; it takes {wanted}")
        if names.index(name) in values:
            raise ArgumentError(f"{kernel} got {name!r} by position and by name")
        values[names.index(name)] = value
    lacking = [name or f"argument {index}" for index, name in enumerate(names) if index not in values]
    if lacking:
        raise ArgumentError(f"{kernel} takes {wanted}; {', '.join(lacking)} is missing")
    return [values[index] for index in range(len(names))]


def _shape(array: Any) -> Any:  # a tuple of integers, of any library
    shape = getattr(array, "shape", None)
    if shape is None:
        shape = getattr(array, "__cuda_array_interface__", {}).get("shape")
    if shape is None:
        raise TypeError(f"{type(array).__name__} has no shape")
    return shape


#: What the text of a rule uses, besides its parameters.
RULE_NAMES: Final[dict[str, Callable[[Any], Any]]] = {"size": lambda array: prod(_shape(array)), "shape": _shape}
