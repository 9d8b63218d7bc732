"""Parameters of which ``hatch run quick`` takes a few and CI all."""

from __future__ import annotations

import pytest

__all__ = ["slow_but"]


def slow_but(quick, values):
    """Return parameters of which all but the quick ones are marked ``slow``. Fails where a quick one is missing."""
    assert set(quick) <= set(values), set(quick) - set(values)
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]
