"""Sections of the documentation's pages, the tables in them, and what is set as code."""

from __future__ import annotations

import re

from doc_blocks import FENCE

__all__ = ["coded", "first_words", "rows", "section"]


def section(page, heading):
    """Return the text below a heading, up to the next one of its level or above."""
    level = len(heading.partition(" ")[0])
    pattern = rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{level}}} |\Z)"
    found = re.search(pattern, page.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None, f"{page.name} has no {heading!r}"
    return found[1]


def rows(page, heading):
    """Return the cells of the first table below a heading, row by row."""
    table = re.search(r"^\|.*\n\|[-|]+\|\n((?:\|.*\n?)+)", section(page, heading), re.MULTILINE)
    lines = table[1].splitlines()
    return [[cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def coded(text):
    """Return the words of a text that are set as code, fenced blocks aside."""
    return re.findall(r"`([^`]+)`", FENCE.sub("", text))


def first_words(page, heading):
    """Return the first word set as code of each row of a table."""
    return [coded(row[0])[0] for row in rows(page, heading)]
