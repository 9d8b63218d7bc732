"""Every public function against its reference on a device, with arrays of each framework, on a stream of its own."""

from __future__ import annotations

import numpy as np
import pytest

import example_project as ep
from example_project import reference
from example_project._checks import error_of
from example_project._driver import check, driver

SIZES = [0, 1, 31, 255, 2048, 2049, 100_003]
SHAPES = [(0, 5), (5, 0), (1, 1), (1, 7), (3, 2), (8, 32), (65, 513), (300, 1001)]
BOX = np.full((3, 3), 1 / 9, np.float32)
SKEWED = np.arange(25, dtype=np.float32).reshape(5, 5) / 100  # no symmetry: a flip or a transposition shows


@pytest.mark.parametrize("size", SIZES)
def test_saxpy(framework, random, size):
    """Saxpy works in place at any size."""
    x, y = random.standard_normal((2, size), dtype=np.float32)
    target = framework.put(y)
    assert ep.saxpy(-1.5, framework.put(x), target) is target
    assert error_of(framework.get(target), reference.saxpy(-1.5, x, y)) <= 1e-6


@pytest.mark.parametrize("block", [128, 256])
@pytest.mark.parametrize("size", SIZES)
def test_block_sums(framework, random, size, block):
    """Each sum covers the elements that the documentation says."""
    x = random.random(size, dtype=np.float32)
    result = framework.get(ep.block_sums(framework.put(x), block=block))
    assert error_of(result, reference.block_sums(x, block, result.size)) <= 1e-6


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize("size", SIZES)
def test_total(framework, random, size, dtype, tolerance):
    """The total is right at any size, and has the same bits twice."""
    x = random.random(size).astype(dtype)
    array = framework.put(x)
    result = framework.get(ep.total(array))
    assert error_of(result, reference.total(x)) <= tolerance
    assert result.tobytes() == framework.get(ep.total(array)).tobytes()


@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(framework, random, shape):
    """Rows of any length are normalised, into a new array and in place alike."""
    x = (6 * random.standard_normal(shape)).astype(np.float16)
    array = framework.put(x)
    first = framework.get(ep.softmax(array))
    assert error_of(first, reference.softmax(x)) <= 1e-3
    assert ep.softmax(array, out=array) is array
    assert framework.get(array).tobytes() == first.tobytes()


def test_softmax_of_masked_rows(framework):
    """Masked elements get zero; a row of nothing else, and a row with NaN or +inf, gives NaN."""
    inf, nan = np.inf, np.nan
    x = np.array([[-inf, 0, -inf], [-inf, -inf, -inf], [0, nan, 0], [0, inf, 0]], np.float16)
    result = framework.get(ep.softmax(framework.put(x)))
    assert result[0].tolist() == [0, 1, 0]
    assert np.isnan(result[1:]).all()


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.float32])
@pytest.mark.parametrize("size", SIZES)
def test_sort_tiles(framework, random, size, dtype):
    """Each tile comes back sorted, a short last one too, also when keys equal what pads it."""
    bits = random.integers(0, 1 << 32, size, dtype=np.uint32)
    x = bits.view(np.int32) if dtype == np.int32 else bits.astype(dtype)
    x[: size // 8] = x.max(initial=0) if dtype == np.float32 else np.iinfo(dtype).max
    array = framework.put(x)
    assert np.array_equal(framework.get(ep.sort_tiles(array)), reference.sort_tiles(x, ep.TILE))
    assert ep.sort_tiles(array, out=array) is array
    assert np.array_equal(framework.get(array), reference.sort_tiles(x, ep.TILE))


def test_sort_tiles_orders_special_values(framework):
    """NaN sorts after infinity, and both survive the padding."""
    x = np.array([np.nan, np.inf, 0.0, -np.inf, -1.0], np.float32)
    assert np.array_equal(framework.get(ep.sort_tiles(framework.put(x))), np.sort(x), equal_nan=True)


@pytest.mark.parametrize("weights", [BOX, SKEWED])
@pytest.mark.parametrize("shape", SHAPES)
def test_filter2d(framework, random, shape, weights):
    """Images of any shape are filtered, smaller than the weights too."""
    image = random.random(shape, dtype=np.float32)
    result = framework.get(ep.filter2d(framework.put(image), weights))
    assert error_of(result, reference.filter2d(image, weights)) <= 1e-6


def test_filter2d_keeps_each_calls_weights(framework, random):
    """Calls in a row on several streams each see their own weights, though all share one constant."""
    image = random.random((700, 900), dtype=np.float32)
    array = framework.put(image)
    check(driver.cuCtxSynchronize())  # the streams below do not wait for this one
    results = []
    for factor in range(12):
        with framework.stream():
            results.append(ep.filter2d(array, BOX * factor))
    check(driver.cuCtxSynchronize())
    for factor, result in enumerate(results):
        assert error_of(framework.get(result), reference.filter2d(image, BOX * factor)) <= 1e-6
