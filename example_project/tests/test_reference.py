"""The references themselves, on the host."""

from __future__ import annotations

import numpy as np

from example_project import reference
from example_project._checks import error_of


def test_saxpy_reference():
    """Saxpy scales x and adds y."""
    assert reference.saxpy(2.0, np.float32([1, 2]), np.float32([10, 20])).tolist() == [12, 24]


def test_block_sums_reference_deals_blocks_in_turn():
    """Blocks take runs of `block` elements in turn, and the last run may be short."""
    assert reference.block_sums(np.arange(5.0), 2, 2).tolist() == [0 + 1 + 4, 2 + 3]
    assert reference.block_sums(np.zeros(0), 32, 1).tolist() == [0]


def test_softmax_reference_is_a_distribution(random):
    """Rows sum to one, and a masked element has probability zero."""
    x = random.standard_normal((4, 9))
    x[:, 3] = -np.inf
    result = reference.softmax(x)
    assert np.allclose(result.sum(axis=1), 1)
    assert not result[:, 3].any()


def test_sort_reference_sorts_each_tile():
    """Keys never leave their tile."""
    assert reference.sort_tiles(np.array([3, 1, 2, 9, 0]), 2).tolist() == [1, 3, 2, 9, 0]
    assert reference.sort_tiles(np.zeros(0, np.int32), 2).dtype == np.int32


def test_filter_reference_clamps_at_the_border():
    """A weight above and left of the centre takes the pixel from there, and the nearest one at the border."""
    weights = np.zeros((3, 3))
    weights[0, 0] = 1
    assert reference.filter2d(np.array([[1.0, 2], [3, 4]]), weights).tolist() == [[1, 1], [1, 1]]
    weights = np.roll(weights, (1, 0), axis=(0, 1))
    assert reference.filter2d(np.array([[1.0, 2], [3, 4]]), weights).tolist() == [[1, 1], [3, 3]]


def test_error_of_sees_nan_and_shape():
    """A NaN or another shape is an error that no tolerance covers."""
    one = np.ones(1, np.float32)
    assert not error_of(one * np.nan, one) <= 1
    assert error_of(np.ones(2, np.float32), one) == float("inf")
