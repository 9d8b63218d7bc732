"""Versions as pairs and as text."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.arch import parse_version, version_text


def test_text_and_pair_are_the_same_version() -> None:
    """What is written is read back."""
    assert version_text((12, 9)) == "12.9"
    assert parse_version("12.9") == (12, 9)
    assert parse_version(version_text((13, 0))) == (13, 0)


@pytest.mark.parametrize(
    "text", ["", "13", "13.", ".0", "13.0.1", "13.x", "-1.0", "1_3.0", " 13.0", "13.0\n", "\u0661.0"]
)
def test_anything_else_is_refused(text: str) -> None:
    """A version has exactly two plain numbers."""
    with pytest.raises(ValueError, match="is not a version like"):
        parse_version(text)
