"""Torch tensors: the usual argument, read inside the generated launch functions, and those that have no usable memory.

The names that those functions read tensors by are filled in when the first tensor arrives, for torch is whole by then.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.runtime.launch import accelerator
from hatch_cuda_kernels.runtime.launch.elements import WORDS
from hatch_cuda_kernels.runtime.launch.unusable import ElsewhereError, UnusableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.runtime.launch.elements import Element
    from hatch_cuda_kernels.runtime.launch.values import Found

__all__ = ["FAST", "address", "device", "learn"]


class _NoTensor:
    """Stands for torch's class until there is a tensor: nothing is of it."""


def _never(*_: Any) -> Any:
    raise AssertionError


def _if_empty(tensor: Any) -> int:
    """Return the null pointer of a tensor without elements. Raises UnusableError for one without memory."""
    if tensor.numel() == 0:
        return 0
    raise UnusableError(_reason(tensor))


#: Names of the generated launch functions: two classes, and functions of their instances.
FAST: Final[dict[str, Any]] = {
    "tensor": _NoTensor,
    "parameter": _NoTensor,
    "data_ptr": _never,
    "get_device": _never,
    "torch_stream": _never,
    "if_empty": _if_empty,
}


def learn(arg: Any) -> bool:
    """Return whether an argument is a tensor; launch functions then read tensors by torch's own functions.

    Those of a torch without CUDA do not: no tensor of it is on a device.
    """
    torch: Any = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    if tensor is None or not isinstance(arg, tensor):
        return False
    # The public torch.cuda.current_stream() builds an object in 4 us; this is what it calls.
    stream = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    if stream is not None:
        read = {"data_ptr": tensor.data_ptr, "get_device": tensor.get_device, "torch_stream": stream}
        FAST.update(read | _dtypes(torch) | {"parameter": torch.nn.Parameter, "tensor": tensor})
        accelerator.learn(tensor, torch.nn.Parameter)
    return True


def _dtypes(torch: Any) -> dict[str, Any]:
    """Return torch's dtypes, None for those that it does not have: no tensor has them."""
    return {f"torch_{word}": getattr(torch, word, None) for word in WORDS}


def address(tensor: Any, ordinal: int, found: Found, element: Element) -> int:
    """Return a tensor's address on a device; its framework's current stream comes first in what was found.

    Raises UnusableError for a tensor without memory there, ElsewhereError for one of another device, MismatchError.
    """
    if not any(tensor.dtype is FAST.get(f"torch_{word}") for word in element.dtypes):
        element.check(str(tensor.dtype).removeprefix("torch."), "torch.")
    here = tensor.get_device()
    if here == ordinal:
        found.insert(0, FAST["torch_stream"](ordinal))
    elif here >= 0:
        raise ElsewhereError(here, ordinal)
    elif _oddity(tensor) or not tensor.is_pinned():
        raise UnusableError(_reason(tensor))
    return tensor.data_ptr() or _if_empty(tensor)


def examine(tensor: Any) -> None:
    """Raise UnusableError for a tensor whose elements are not what is at its address."""
    reason = _oddity(tensor)
    if reason:
        raise UnusableError(reason)


def device(tensor: Any) -> int | None:
    """Return the ordinal of a tensor's CUDA device, or None."""
    ordinal: int = tensor.get_device()
    return None if ordinal < 0 else ordinal


def _reason(tensor: Any) -> str:
    """Return why a tensor has no address that a kernel could use, and what to do."""
    return _oddity(tensor) or (
        "its memory was freed"
        if tensor.is_cuda
        else f"the tensor is on {tensor.device}, not on a CUDA device; move it there, as with .cuda()"
    )


def _oddity(tensor: Any) -> str | None:
    """Return why a tensor has no memory of its own, or another value than its memory."""
    torch = sys.modules["torch"]
    return next((reason for test, reason in _ODDITIES.items() if test(torch, tensor)), None)


_TRACED: Final = "while torch traces, call the kernel as an operator: store.torch_ops(...)"
_LAYOUT: Final = "has no single block of elements; pass its .values(), or .to_dense()"
#: What a tensor may be instead of a block of memory, the first that holds, and what to do about it.
_ODDITIES: Final[dict[Callable[[Any, Any], bool], str]] = {
    lambda _, tensor: "FakeTensor" in {kind.__name__ for kind in type(tensor).__mro__}: (
        f"a fake tensor has no memory; {_TRACED}"
    ),
    lambda torch, tensor: torch._C._functorch.is_functorch_wrapped_tensor(tensor): (  # noqa: SLF001 - no public test
        "inside vmap, grad and other transforms of torch.func a tensor has no memory; "
        "call the kernel as an operator: store.torch_ops(...)"
    ),
    lambda torch, tensor: torch._is_functional_tensor(tensor): (  # noqa: SLF001 - no public test
        f"a functional tensor has no memory; {_TRACED}"
    ),
    lambda _, tensor: tensor.is_meta: "a meta tensor has no memory; create it on a CUDA device",
    lambda _, tensor: tensor.is_nested: f"a nested tensor {_LAYOUT}",
    lambda torch, tensor: tensor.layout is not torch.strided: f"a sparse tensor, or one of a special layout, {_LAYOUT}",
    lambda _, tensor: tensor.is_conj(): "its elements are conjugated only when they are read; pass x.resolve_conj()",
    lambda _, tensor: tensor.is_neg(): "its elements are negated only when they are read; pass x.resolve_neg()",
    lambda _, tensor: tensor._is_zerotensor(): (  # noqa: SLF001 - no public test
        "a tensor of zeros that has no memory; pass x.clone()"
    ),
}
