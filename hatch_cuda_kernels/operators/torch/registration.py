"""Operators that this process has registered with torch, each once, by a library that is kept.

Compiled functions call an operator straight, not through torch's dispatcher, which takes longer than a launch. Torch's
compiler has a table of operators for which it writes other code. An operator enters it while it is traced, which comes
before its code is written, and only once the compiler is imported, which takes seconds. Compiled code
calls what is an attribute of the operator, so code that torch keeps on disk works in other processes, too. None of this
is part of torch's public interface: where a release has anything else, calls go through the dispatcher.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from hatch_cuda_kernels.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from hatch_cuda_kernels.operators.torch.functional import Gradient
    from hatch_cuda_kernels.operators.torch.schema import Argument

_ATTRIBUTE: Final = "without_dispatcher"
#: Where torch 2.11 and newer have the table.
_TABLE: Final = "torch._inductor.codegen.custom_extern_kernel_codegen"
#: What the compiler's nodes for calls must offer.
_OF_NODES: Final = ("codegen_args", "codegen_kwargs", "get_name")


def bypass_dispatcher(operator: Any, run: Callable[..., Any], fake: Callable[..., Any]) -> Callable[..., Any]:
    """Return the fake implementation of an operator that compiled functions call by ``run`` from then on."""
    setattr(operator, _ATTRIBUTE, run)
    name = f"torch.ops.{operator}"

    def traced(*args: Any) -> Any:
        compiler = sys.modules.get(_TABLE)
        if compiler is not None:
            _enter(name, compiler)
        return fake(*args)

    return traced


def _enter(name: str, compiler: Any) -> None:
    """Enter an operator in the table, once, if there is one and all that is needed."""
    table = getattr(compiler, "CUSTOM_EXTERN_KERNEL_CODEGEN", {name: None})
    node = getattr(sys.modules.get("torch._inductor.ir"), "FallbackKernel", None)
    if name not in table and all(hasattr(node, method) for method in _OF_NODES):
        table[name] = compiler.CustomCodegen(python=_write_call)


def _write_call(node: Any, write_line: Callable[[str], None]) -> None:
    """Write the line that calls an operator; ``node`` is the compiler's for the call."""
    named = node.codegen_kwargs()
    function = node.python_kernel_name if named else f"{node.python_kernel_name}.{_ATTRIBUTE}"
    result = f"{node.get_name()} = " if node.op_overload._schema.returns else ""  # noqa: SLF001 - torch's
    write_line(f"{result}{function}({', '.join([*node.codegen_args(), *named])})")


def batching_rule(name: str, arguments: Sequence[Argument], call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule for ``torch.library.register_vmap``; ``call`` is the operator itself.

    The rule raises ArgumentError for a tensor that is written to but does not have the batch.
    """
    written = [index for index, argument in enumerate(arguments) if argument.is_written]

    def rule(info: Any, dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        for index in written:
            if args[index] is not None and dims[index] is None:
                what = f"argument {index} ({arguments[index].name}) of {name} is written to"
                raise ArgumentError(f"{what}, so inside torch.vmap it must have the batch too")
        results = [_one(call, written, dims, args, place) for place in range(info.batch_size)]
        if results[0] is None:
            return None, None
        if isinstance(results[0], torch.Tensor):
            return torch.stack(results), 0
        return tuple(map(torch.stack, zip(*results, strict=True))), (0,) * len(results[0])

    return rule


def _one(
    call: Callable[..., Any], written: Sequence[int], dims: Sequence[int | None], args: Sequence[Any], place: int
) -> Any:
    """Call the operator for one element of the batch, with tensors that are contiguous."""
    elements = [value if dim is None else value.select(dim, place) for value, dim in zip(args, dims, strict=True)]
    whole = [value.contiguous() if isinstance(value, torch.Tensor) else value for value in elements]
    result = call(*whole)
    for index in written:
        if whole[index] is not elements[index]:
            elements[index].copy_(whole[index])
    return result


class Definition(NamedTuple):
    """What torch needs to know of one operator."""

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
    """Return the operator, which replaces an earlier one of the same store unless that does the same.

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
    fake = bypass_dispatcher(operator, definition.run, definition.fake)
    library.impl(definition.name, fake, "Meta")  # register_fake would look for the source of its caller for 5 ms
    torch.library.register_vmap(name, batching_rule(definition.name, definition.arguments, operator), lib=library)
    if definition.gradient is not None:
        remember = definition.gradient.remember
        torch.library.register_autograd(name, definition.gradient.__call__, setup_context=remember, lib=library)
    return library
