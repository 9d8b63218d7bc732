"""The pyproject.toml of a small package that Hatch builds."""

from __future__ import annotations

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "p"
version = "1"
requires-python = ">=3.11"
"""
