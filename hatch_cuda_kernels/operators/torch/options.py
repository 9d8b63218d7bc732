"""What ``Store.torch_ops`` can be told, checked against the operators that there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, TypedDict

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.operators.torch.schema import base_operator, operator_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from hatch_cuda_kernels.operators.torch.functional import Like
    from hatch_cuda_kernels.operators.torch.gradient import Backward
    from hatch_cuda_kernels.operators.torch.launching import OperatorLaunch

__all__ = ["TorchOptions", "check_names", "functional_of"]


class TorchOptions(TypedDict, total=False):
    """What an operator has besides its kernel. Each is by the operator's name."""

    functional: Mapping[str, Mapping[str, Like]] | Iterable[str]
    """What each written tensor is like, for an out-of-place operator: an input by name, a function of inputs that
    returns it, or itself, which gives a changed copy. Or only names: every operator that writes to nothing else gets
    one, whose outputs are like its first input."""
    backward: Mapping[str, str | Backward]
    """The gradient of the out-of-place operator: another operator by name, or a function."""
    optional: Mapping[str, Iterable[str]]
    """The pointers that may be None."""
    strided: Iterable[str]
    """The operators whose kernels are told strides: their tensors need not be contiguous."""


def check_names(option: str, given: Iterable[str], operators: Collection[str], left_out: Mapping[str, str]) -> None:
    """Raise InputError for a name that no operator has."""
    for name in given:
        if name not in operators:
            near = get_close_matches(name, operators, n=1)
            reasons = (
                why for kernel, why in left_out.items() if name in {operator_name(kernel), base_operator(kernel)}
            )
            reason = "".join(f": {why}" for why in islice(reasons, 1))
            hint = f" (did you mean {near[0]!r}?)" if near and not reason else ""
            known = ", ".join(operators) or "none: state launch: for kernels in the manifest"
            raise InputError(f"{option}: no operator is called {name!r}{reason}{hint}; there are {known}")


def functional_of(
    option: Mapping[str, Mapping[str, Like]] | Iterable[str], launch: OperatorLaunch
) -> Mapping[str, Like]:
    """Return what the written tensors of an operator are like; nothing if it shall have no out-of-place variant."""
    if isinstance(option, Mapping):
        return option.get(launch.name, {})
    written = [argument.name for argument in launch.arguments if argument.is_written]
    read = [argument.name for argument in launch.arguments if argument.is_tensor and not argument.is_written]
    return dict.fromkeys(written, read[0]) if written and read and set(written) <= set(option) else {}
