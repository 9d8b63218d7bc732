"""Tuples with named fields: they do what those of ``typing`` do."""

from __future__ import annotations

import inspect
import pickle
from typing import Generic, TypeVar

import pytest

from hatch_cuda_kernels.records import NamedTuple

T = TypeVar("T")


class Point(NamedTuple):
    """A point."""

    x: int
    y: NotImported = 2  # noqa: F821 - as what only type checkers import

    @property
    def total(self) -> int:
        """The sum."""
        return self.x + self.y


class Holder(NamedTuple, Generic[T]):
    """One value of any type."""

    value: T


class Nothing(NamedTuple):
    """No value."""


def test_values_are_given_by_place_or_name():
    """A value that is missing has its default; others are what Python says of a function's arguments."""
    assert Point(1) == Point(y=2, x=1) == (1, 2)
    assert str(inspect.signature(Point)) == "(x, y=2)"
    for wrong in (Point, lambda: Point(1, 2, 3), lambda: Point(1, z=3)):
        with pytest.raises(TypeError, match=r"Point\.__new__"):
            wrong()
    assert Holder[int](value=3).value == 3
    assert Nothing() == ()


def test_values_are_read_by_name():
    """A point is a tuple, and cannot be changed."""
    point = Point(1)
    assert (point.x, point.y, point.total, hash(point)) == (1, 2, 3, hash((1, 2)))
    assert repr(point) == "Point(x=1, y=2)"
    assert point._replace(y=3) == (1, 3)
    assert point._asdict() == {"x": 1, "y": 2}
    assert (Point._fields, Point._field_defaults) == (("x", "y"), {"y": 2})
    match point:
        case Point(x, y=2):
            assert x == 1
    for name in ("x", "z"):
        with pytest.raises(AttributeError):
            setattr(point, name, 3)


def test_they_can_be_pickled():
    """In another process, it is of the same class."""
    assert repr(pickle.loads(pickle.dumps(Point(1)))) == "Point(x=1, y=2)"
