"""Torch's own tensors, with an imitated driver: those that have memory are passed, all others say what to do.

The tensors are the CPU's, whose device torch numbers -1; so does the driver here, and they count as on the device.
"""

from __future__ import annotations

import sys

import pytest
from built_accelerator import capsule_for_cpu

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.errors import ArgumentError
from hatch_cuda_kernels.runtime.launch import arrays

torch = pytest.importorskip("torch")

STREAM = 77


@pytest.fixture
def kernel(example_store, driver, monkeypatch, launches):
    """Return saxpy on a device that the CPU's tensors are on, with torch's current stream."""
    if launches is not None:
        monkeypatch.setattr(torch.Tensor, "__dlpack_c_exchange_api__", capsule_for_cpu(torch))
    monkeypatch.setattr(arrays, "_ACCESSES", {})
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda ordinal: STREAM + ordinal + 1, raising=False)
    monkeypatch.setattr(driver, "cuCtxGetDevice", lambda: (driver.CUresult.CUDA_SUCCESS, -1))
    saved = dict(arrays.FAST)
    yield open_store(example_store).get_kernel("saxpy")
    arrays.FAST.update(saved)


def launched(kernel, driver, tensor):
    """Launch with a tensor twice, and return the addresses that reached the driver and the streams."""
    for _ in range(2):
        kernel[1, 32](2.0, tensor, tensor, 4)
    values = [kernel._launches.signature.layout.unpack(data) for _, _, data in driver.launches]
    return {value[1] for value in values}, {launch[0] for launch in driver.launches}


def test_a_tensor_is_passed_on_the_current_stream(kernel, driver):
    """Its first element's address, on torch's current stream of the device."""
    tensor = torch.ones(8)[2:]
    assert launched(kernel, driver, tensor) == ({tensor.data_ptr()}, {STREAM})


@pytest.mark.parametrize("tensor", [torch.nn.Parameter(torch.ones(4)), torch.ones(4).as_subclass(torch.nn.Buffer)])
def test_subclasses_are_tensors(kernel, driver, tensor):
    """Parameters and other subclasses with memory of their own."""
    assert launched(kernel, driver, tensor) == ({tensor.data_ptr()}, {STREAM})


def test_an_empty_tensor_is_a_null_pointer(kernel, driver):
    """A batch without elements is no special case for the caller."""
    assert launched(kernel, driver, torch.empty(0)) == ({0}, {STREAM})


DTYPES = [torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.complex64, torch.bool]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_of_another_dtype_is_refused(kernel, driver, dtype):
    """The first launch refuses it, and so do later ones and ``bind``."""
    right, wrong = torch.ones(4), torch.ones(4, dtype=dtype)
    message = rf"^argument 2 \(y\) of saxpy is float\*, got {dtype}$"
    for _ in range(3):
        with pytest.raises(ArgumentError, match=message):
            kernel[1, 32](2.0, right, wrong, 4)
        with pytest.raises(ArgumentError, match=message):
            kernel.bind(1, 32, (2.0, right, wrong, 4))
        kernel[1, 32](2.0, right, right, 4)
    assert len(driver.launches) == 3


def test_a_dtype_that_cxx_has_no_type_for_is_taken(kernel, driver):
    """Nothing is known of what it should be."""
    assert launched(kernel, driver, torch.ones(4).to(torch.float8_e5m2fnuz))[1] == {STREAM}


def fake():
    """Return a tensor as torch traces with."""
    with torch._subclasses.FakeTensorMode():
        return torch.ones(4)


def freed():
    """Return a tensor whose memory was given back, as sharded training does between uses."""
    tensor = torch.ones(4)
    tensor.untyped_storage().resize_(0)
    return tensor


UNUSABLE = {
    "fake": (fake, "a fake tensor has no memory; while torch traces, call the kernel as an operator"),
    "meta": (lambda: torch.ones(4, device="meta"), "a meta tensor has no memory; create it on a CUDA device"),
    "zeros": (lambda: torch._efficientzerotensor(4), r"a tensor of zeros that has no memory; pass x.clone\(\)"),
    "freed": (freed, "the tensor is on cpu|its memory was freed"),
    "sparse": (lambda: torch.eye(3).to_sparse(), r"a sparse tensor, or one of a special layout.*pass its .values\(\)"),
    "csr": (lambda: torch.eye(3).to_sparse_csr(), r"a sparse tensor, or one of a special layout.*pass its .values\(\)"),
    "nested": (
        lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
        "a nested tensor has no single block",
    ),
    "functional": (lambda: torch._to_functional_tensor(torch.ones(4)), "a functional tensor has no memory"),
    "conjugated": (lambda: torch.ones(4, dtype=torch.complex64).conj(), r"pass x.resolve_conj\(\)"),
    "negated": (lambda: torch.ones(4, dtype=torch.complex64).conj().imag, r"pass x.resolve_neg\(\)"),
}


@pytest.mark.filterwarnings("ignore")  # torch's, of prototypes
@pytest.mark.parametrize("kind", UNUSABLE)
def test_a_tensor_without_usable_memory_says_what_to_do(kernel, driver, kind):
    """It never reaches the driver, and least of all as a null pointer."""
    make, message = UNUSABLE[kind]
    with pytest.raises(ArgumentError, match=rf"argument 1 \(x\) of saxpy is const float\*, got torch.*: .*({message})"):
        kernel[1, 32](2.0, make(), torch.ones(4), 4)
    assert driver.launches == []


@pytest.mark.parametrize("transform", [torch.vmap, torch.func.grad])
def test_inside_a_transform_the_way_out_is_named(kernel, driver, transform):
    """Vmap's and grad's wrappers have no memory."""

    def function(x):
        kernel[1, 32](2.0, x, x, 4)
        return x.sum()

    with pytest.raises(ArgumentError, match=r"inside vmap, grad and other transforms of torch.func a tensor has no"):
        transform(function)(torch.ones(4, 2)[0] if transform is torch.func.grad else torch.ones(4, 2))
    assert driver.launches == []


def test_a_torch_without_cuda_is_no_obstacle(example_store, driver, monkeypatch):
    """Its tensors are refused by name; other arrays are launched in the same process."""
    monkeypatch.setattr(arrays, "_ACCESSES", {})
    monkeypatch.delattr(torch._C, "_cuda_getCurrentRawStream", raising=False)
    kernel = open_store(example_store).get_kernel("saxpy")
    with pytest.raises(ArgumentError, match="the tensor is on cpu, not on a CUDA device"):
        kernel[1, 32](2.0, torch.ones(4), None, 4)
    kernel[1, 32](2.0, 0x10, 0x20, 4)
    assert len(driver.launches) == 1


def test_a_torch_that_is_imported_late_is_taken(kernel, driver, monkeypatch):
    """A launch function that was made, and used, before there was a torch reads tensors as all others do."""
    for name in ("tensor", "parameter"):
        monkeypatch.setitem(arrays.FAST, name, arrays._NoTensor)
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "torch")
        launch = kernel[1, 32]
        for _ in range(3):
            launch(2.0, 0x10, 0x20, 4)
    tensor = torch.ones(4)
    launch(2.0, tensor, tensor, 4)
    launch(2.0, tensor, 0x20, 4)
    assert [stream for stream, _, _ in driver.launches] == [0, 0, 0, STREAM, STREAM]
    assert driver.launches[3][2] == kernel._launches.signature.layout.pack(2.0, tensor.data_ptr(), tensor.data_ptr(), 4)


class OfAnotherLibrary:
    """An array of a library that is there beside torch, on a stream of its own."""

    def __init__(self, tensor, stream):
        shape = tuple(tensor.shape)
        data = (tensor.data_ptr(), False)
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": "<f4", "data": data, "version": 3, "stream": stream,
        }  # fmt: skip


@pytest.mark.parametrize("first", [True, False])
def test_tensors_beside_another_library(kernel, driver, first):
    """Whichever comes first: torch's stream is taken, after what the other array's holds."""
    tensor = torch.ones(4)
    given = [tensor, OfAnotherLibrary(tensor, 6)]
    for _ in range(2):
        kernel[1, 32](2.0, *(given if first else given[::-1]), 4)
    kernel.bind(1, 32, (2.0, *given, 4))()
    assert {stream for stream, _, _ in driver.launches} == {STREAM}
    waits = [call for call in driver.calls if call[0] in {"cuEventRecord", "cuStreamWaitEvent"}]
    assert waits == [("cuEventRecord", 99, 6), ("cuStreamWaitEvent", STREAM, 99, 0)] * 3


def test_a_tensor_for_a_number_is_refused(kernel, driver):
    """Reading it would wait for the device."""
    with pytest.raises(ArgumentError, match=r"argument 0 \(a\) of saxpy is float, got torch.Tensor: an array"):
        kernel[1, 32](torch.ones(()), torch.ones(4), torch.ones(4), 4)


def test_a_bound_launch_follows_the_current_stream(kernel, driver, monkeypatch):
    """It is the stream at the call that counts."""
    go = kernel.bind(1, 32, (2.0, torch.ones(4), torch.ones(4), 4))
    go()
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 5)
    kernel.bind(1, 32, (2.0, torch.ones(4), torch.ones(4), 4))()
    assert [launch[0] for launch in driver.launches] == [STREAM, 5]
