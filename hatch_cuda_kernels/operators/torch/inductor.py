"""How compiled functions call an operator: straight, not through torch's dispatcher, which takes longer than a launch.

Torch's compiler has a table of the operators that it writes code of their own for. It is filled in once the compiler is
imported, which takes seconds, and while an operator is traced, which comes before its code is written. Compiled code
calls what is an attribute of the operator, so code that torch keeps on disk works in other processes, too. None of this
is part of torch's public interface: where a release has anything else, calls go through the dispatcher.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["called_straight"]

_ATTRIBUTE: Final = "without_dispatcher"
#: Where torch 2.11 and newer have the table.
_TABLE: Final = "torch._inductor.codegen.custom_extern_kernel_codegen"
#: What the compiler's nodes for calls must offer.
_OF_NODES: Final = ("codegen_args", "codegen_kwargs", "get_name")


def called_straight(operator: Any, run: Callable[..., Any], fake: Callable[..., Any]) -> Callable[..., Any]:
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
