"""What is registered with torch in this process: each operator once, by a library of its own that is kept."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.operators.torch.batching import batching_rule
from hatch_cuda_kernels.operators.torch.inductor import called_straight

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from hatch_cuda_kernels.operators.torch.gradient import Gradient
    from hatch_cuda_kernels.operators.torch.schema import Argument

__all__ = ["Definition", "register"]


class Definition(NamedTuple):
    """All that torch is told of one operator."""

    name: str
    schema: str
    arguments: Sequence[Argument]
    run: Callable[..., Any]
    fake: Callable[..., Any]
    gradient: Gradient | None
    store: str
    """Whose kernels it launches."""
    identity: Hashable
    """Equal for definitions that do the same."""


class _Defined(NamedTuple):
    definition: Definition
    library: torch.library.Library


_lock: Final = threading.Lock()
#: By qualified name. A library's operators end with it, so it is kept.
_REGISTERED: Final[dict[str, _Defined]] = {}


def register(namespace: str, definition: Definition, device_key: str) -> Any:
    """Return the operator, registered unless it is already, in the place of an earlier one of the same store.

    Raises InputError for a name that another store or library has.
    """
    name = f"{namespace}::{definition.name}"
    with _lock:
        known = _REGISTERED.get(name)
        if known is not None and known.definition.store != definition.store:
            owner = known.definition.store
            raise InputError(f"the operator {name} is that of another store, {owner}; choose another namespace")
        if known is None or known.definition.identity != definition.identity:
            if known is not None:
                del _REGISTERED[name]
                known.library._destroy()  # noqa: SLF001 - as torch.library.custom_op replaces operators
            _REGISTERED[name] = _Defined(definition, _define(namespace, definition, device_key))
    return getattr(getattr(torch.ops, namespace), definition.name).default


def _define(namespace: str, definition: Definition, device_key: str) -> torch.library.Library:
    name = f"{namespace}::{definition.name}"
    try:
        library = torch.library.Library(namespace, "FRAGMENT")
        library.define(definition.schema, tags=(torch.Tag.pt2_compliant_tag,))
    except (RuntimeError, ValueError) as error:  # ValueError: a namespace that torch keeps for itself
        message = f"torch does not take the operator {name} ({str(error).splitlines()[0]})"
        raise InputError(f"{message}; choose another namespace") from error
    library.impl(definition.name, definition.run, device_key)
    operator = getattr(getattr(torch.ops, namespace), definition.name).default
    fake = called_straight(operator, definition.run, definition.fake)
    library.impl(definition.name, fake, "Meta")  # register_fake would look for the source of its caller for 5 ms
    torch.library.register_vmap(name, batching_rule(definition.name, definition.arguments, operator), lib=library)
    if definition.gradient is not None:
        remember = definition.gradient.remember
        torch.library.register_autograd(name, definition.gradient.__call__, setup_context=remember, lib=library)
    return library
