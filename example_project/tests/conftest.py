"""Frameworks whose arrays the functions are tried with."""

from __future__ import annotations

import warnings
from contextlib import nullcontext

import numpy as np
import pytest

from example_project._device_array import DeviceArray, make_context_current


def _import(name):
    with warnings.catch_warnings():  # what a framework warns of as it loads is not this library's doing
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


@pytest.fixture(scope="session")
def device():
    """Make the first device current, or skip."""
    try:
        return make_context_current()
    except RuntimeError as error:
        pytest.skip(f"needs a CUDA device: {error}")


class Own:
    """The demonstration's array, on the default stream."""

    def __init__(self):
        self.put = DeviceArray.copy_of

    def get(self, array):
        return array.numpy()

    def stream(self):
        return nullcontext()


class Torch:
    """Torch tensors, on a stream of their own."""

    def __init__(self):
        self.torch = _import("torch")
        if not self.torch.cuda.is_available():
            pytest.skip("this torch has no CUDA")

    def put(self, values):
        return self.torch.from_numpy(values).cuda()

    def get(self, array):
        return array.cpu().numpy()

    def stream(self):
        return self.torch.cuda.stream(self.torch.cuda.Stream())


class CuPy:
    """CuPy arrays, on a non-blocking stream of their own."""

    def __init__(self):
        self.cupy = _import("cupy")

    def put(self, values):
        return self.cupy.asarray(values)

    def get(self, array):
        return self.cupy.asnumpy(array)

    def stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)


@pytest.fixture(params=[Own, Torch, CuPy], ids=lambda kind: kind.__name__)
def framework(request, device):  # noqa: ARG001  (skips without a device)
    """Yield each framework in turn, with a stream other than the default one current where it can have one."""
    made = request.param()
    with made.stream():
        yield made


@pytest.fixture
def random():
    """Return the same numbers in every test."""
    return np.random.default_rng(11)
