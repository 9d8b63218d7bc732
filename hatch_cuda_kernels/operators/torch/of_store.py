"""The operators of a store's kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.operators.ruled import ruled_kernels
from hatch_cuda_kernels.operators.torch.launching import launcher_of
from hatch_cuda_kernels.operators.torch.operators import make_operators

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.operators.torch.operators import TorchOperators
    from hatch_cuda_kernels.operators.torch.options import TorchOptions
    from hatch_cuda_kernels.runtime.launch.kernel import Kernel
    from hatch_cuda_kernels.store import StoreReader

__all__ = ["operators_of_store"]


def operators_of_store(
    reader: StoreReader, get_kernel: Callable[..., Kernel], namespace: str, options: TorchOptions
) -> TorchOperators:
    """Register the operators of a store; see ``Store.torch_ops``."""
    return make_operators(ruled_kernels(reader), namespace, str(reader.folder), launcher_of(get_kernel), options)
