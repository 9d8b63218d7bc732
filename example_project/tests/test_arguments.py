"""What arguments the public functions refuse, before they touch a device."""

from __future__ import annotations

import numpy as np
import pytest

import example_project as ep
from example_project import _arrays

BOX = np.full((3, 3), 1 / 9)


class Fake:
    """Something with an interface, on no device."""

    def __init__(self, shape=(4,), typestr="<f4", address=4096, strides=None, *, read_only=False):
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (address, read_only),
            "strides": strides,
            "version": 3,
        }


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: ep.saxpy(1, np.ones(4, np.float32), Fake()), TypeError, "x is not an array on a CUDA device"),
        (lambda: ep.saxpy(1, Fake(typestr="<f8"), Fake()), TypeError, "x must be float32, not float64"),
        (lambda: ep.saxpy(1, Fake((3,)), Fake()), ValueError, "one shape"),
        (lambda: ep.saxpy(1, Fake(address=8), Fake(address=16)), ValueError, "overlap"),
        (lambda: ep.saxpy(1, Fake(), Fake(address=64, read_only=True)), ValueError, "y is read-only"),
        (lambda: ep.saxpy(1, Fake(strides=(8,)), Fake()), ValueError, "x must be C-contiguous"),
        (lambda: ep.block_sums(Fake(), block=100), ValueError, "power of two"),
        (lambda: ep.total(Fake(typestr="<i4")), TypeError, "float32 or float64"),
        (lambda: ep.softmax(Fake(typestr="<f2")), ValueError, "2 dimension"),
        (lambda: ep.softmax(Fake((2, 2), "<f2"), out=Fake((2, 3), "<f2")), ValueError, "out must have shape"),
        (lambda: ep.sort_tiles(Fake((2, 2))), ValueError, "1 dimension"),
        (lambda: ep.filter2d(Fake((2, 2)), np.ones((4, 4))), ValueError, "3 x 3 or 5 x 5"),
        (lambda: ep.filter2d(a := Fake((2, 2)), BOX, out=a), ValueError, "image and out must not overlap"),
        (lambda: ep.softmax(Fake((2, 2), "<f2")), TypeError, "pass out="),
    ],
)
def test_wrong_arguments(call, error, match):
    """Each wrong argument is refused by name."""
    with pytest.raises(error, match=match):
        call()


def test_strides_of_contiguous_arrays_are_accepted():
    """Contiguous means so also where strides are spelled out, for axes of length one, and for empty arrays."""
    for shape, strides in [((2, 3), (12, 4)), ((1, 3), (999, 4)), ((0, 3), (7, 7))]:
        assert _arrays.view(Fake(shape, strides=strides), "x", ("float32",)).shape == shape
