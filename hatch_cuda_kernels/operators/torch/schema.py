"""The schema of an operator: its name and arguments in torch's words."""

from __future__ import annotations

import re
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.names import base_name, normalize_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from hatch_cuda_kernels.signature import Parameter

#: Types that are a float of Python where they are passed by value.
_FLOATS: Final = frozenset(
    {"float", "double", "__half", "__nv_bfloat16", "__nv_fp8_e4m3", "__nv_fp8_e5m2", "__nv_fp8_e8m0"}
)
#: What torch's own functions for operators that write to tensors call their parameters: an argument of that name would
#: be given twice (torch/_higher_order_ops/auto_functionalize.py).
_TAKEN: Final = frozenset(
    {"mode", "ctx", "_mutable_op", "_all_bases", "_only_clone_these_bases", "_only_clone_these_tensors"}
)
_NOT_IN_NAMES: Final = re.compile(r"\W+")


class Argument(NamedTuple):
    """One argument of an operator."""

    name: str
    kind: str
    """Torch's type without marks: ``Tensor``, ``SymInt``, ``float`` or ``bool``."""
    text: str
    """The kernel's parameter, for messages."""
    dtypes: tuple[str, ...] = ()
    """What the elements of a tensor may be; anything if it is empty."""
    is_written: bool = False
    is_optional: bool = False

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor."""
        return self.kind == "Tensor"


def arguments_of(parameters: Iterable[Parameter], optional: Collection[str]) -> tuple[Argument, ...]:
    """Return an operator's arguments, in the kernel's order. Raises ValueError with the reason if it cannot have any.

    Tensors named in ``optional`` may be None. A name that torch cannot take ends with an underscore.
    """
    arguments = tuple(_argument(parameter, optional) for parameter in parameters)
    taken = {argument.name for argument in arguments}
    arguments = tuple(argument._replace(name=_free(argument.name, taken)) for argument in arguments)
    if not any(argument.is_tensor for argument in arguments):
        raise ValueError("it takes no tensor, and torch takes an operator's device from its tensors")
    return arguments


def _free(name: str, others: Collection[str]) -> str:
    """Return a name that torch takes, and that no other argument has."""
    if name not in _TAKEN:
        return name
    while (name := f"{name}_") in others:
        pass
    return name


def _argument(parameter: Parameter, optional: Collection[str]) -> Argument:
    kind = _kind(parameter)
    if kind != "Tensor":
        return Argument(parameter.name, kind, str(parameter))
    written = not parameter.is_const
    return Argument(parameter.name, kind, str(parameter), parameter.dtypes, written, parameter.name in optional)


def _kind(parameter: Parameter) -> str:
    """Return torch's type for a parameter. Raises ValueError for what torch has none for."""
    if not parameter.type:
        raise ValueError(f"its store does not tell the type of {parameter.name}; build it again")
    if parameter.pointee:
        return "Tensor"
    if parameter.type in _FLOATS:
        return "float"
    if parameter.is_pointer or "[" in parameter.kind:
        raise ValueError(f"torch has no type for {parameter}, which is passed by value")
    return "bool" if parameter.type == "bool" else "SymInt"


def base_operator(kernel: str) -> str:
    """Return a kernel's name without template arguments, namespaces joined by ``_``."""
    return _identifier(base_name(kernel))


def operator_name(kernel: str) -> str:
    """Return the name of a kernel's operator: ``block_sum<float, 256>`` gives ``block_sum_float_256``."""
    return _identifier(normalize_name(kernel).replace("-", " minus "))


def _identifier(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", text).strip("_")


def schema_text(name: str, arguments: Sequence[Argument], returns: int = 0) -> str:
    """Return the schema of an operator that returns so many tensors, such as ``f(Tensor(a!) y, SymInt n) -> ()``."""
    marks = iter([*ascii_lowercase, *(f"w{number}" for number in range(len(arguments)))])
    kinds = (
        f"{argument.kind}{f'({next(marks)}!)' if argument.is_written else ''}{'?' * argument.is_optional}"
        for argument in arguments
    )
    listed = (f"{kind} {argument.name}" for kind, argument in zip(kinds, arguments, strict=True))
    returned = "Tensor" if returns == 1 else f"({', '.join(['Tensor'] * returns)})"
    return f"{name}({', '.join(listed)}) -> {returned}"
