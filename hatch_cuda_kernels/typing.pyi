"""Types for annotations and for generated stubs. It has no module: import from it under ``TYPE_CHECKING`` only."""

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from typing_extensions import Buffer, Unpack

from hatch_cuda_kernels.environment import Policy
from hatch_cuda_kernels.load import Store, StoreModule
from hatch_cuda_kernels.operators.cupy import CupyKernel, CupyModule
from hatch_cuda_kernels.operators.jax import CallOptions, JaxCall
from hatch_cuda_kernels.operators.torch import TorchOperators, TorchOptions
from hatch_cuda_kernels.runtime.launch import Dim, GlobalVariable, Kernel, LaunchOptions

__all__ = [
    "CallOptions",
    "CupyKernel",
    "CupyModule",
    "DeviceArray",
    "Dim",
    "GlobalVariable",
    "JaxCall",
    "Kernel",
    "LaunchOptions",
    "Policy",
    "Shape",
    "Store",
    "StoreModule",
    "Struct",
    "TorchOperators",
    "TorchOptions",
    "TypedKernel",
]

class _CudaArray(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...

class _DlpackArray(Protocol):
    @property
    def __dlpack_device__(self) -> Any: ...

class _Tensor(Protocol):
    def data_ptr(self) -> int: ...

class _Handle(Protocol):
    @property
    def handle(self) -> Any: ...

#: What a pointer parameter takes: an array on the device, an address, or None for a null pointer.
DeviceArray: TypeAlias = _CudaArray | _DlpackArray | _Tensor | _Handle | int | None

class _Record(Protocol):
    def tobytes(self) -> bytes: ...

#: What a parameter of a struct's type takes: its bytes.
Struct: TypeAlias = Buffer | _Record

#: The contents of the brackets in ``kernel[grid, block, shared_mem, stream]``.
Shape: TypeAlias = tuple[Dim, Dim] | tuple[Dim, Dim, int] | tuple[Dim, Dim, int, Any]

_Launch_co = TypeVar("_Launch_co", bound=Callable[..., None], covariant=True)
_Arguments_contra = TypeVar("_Arguments_contra", bound=tuple[Any, ...], contravariant=True)

class TypedKernel(Kernel, Generic[_Launch_co, _Arguments_contra]):
    """A kernel as a type checker sees it: what its launch function and ``launch`` take."""

    def __getitem__(self, launch: Shape, /) -> _Launch_co: ...
    def launch(  # type: ignore[override]
        self, grid: Dim, block: Dim, args: _Arguments_contra, **options: Unpack[LaunchOptions]
    ) -> None: ...
    def bind(  # type: ignore[override]
        self, grid: Dim, block: Dim, args: _Arguments_contra, **options: Unpack[LaunchOptions]
    ) -> Callable[[], None]: ...
