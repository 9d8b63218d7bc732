"""The samples of JSON in the reference are what the commands print."""

from __future__ import annotations

import json
import re
import sys

import pytest
from doc_blocks import CLI_PAGE, ROOT, blocks_of, masked

sys.path.append(str(ROOT / "docs" / "tools"))

from json_samples import SAMPLE, run_samples

#: What differs from machine to machine: a GPU, what is installed, and how.
HERE = ("doctor", "init")


@pytest.fixture(scope="module")
def printed(tmp_path_factory, slow):
    """Return what each sample's command prints now."""
    return run_samples(tmp_path_factory.mktemp("samples"), CLI_PAGE.read_text())


def test_every_sample_is_one_of_a_command():
    """A block of JSON in the page is below the command that prints it, so none is left out here."""
    page = CLI_PAGE.read_text()
    blocks = [block for block in blocks_of(CLI_PAGE) if block.language == "json"]
    assert len(blocks) == len(SAMPLE.findall(page)) > 10


SAMPLES = [(found["words"], found["text"]) for found in SAMPLE.finditer(CLI_PAGE.read_text())]


@pytest.mark.parametrize(("words", "shown"), SAMPLES, ids=[words for words, _ in SAMPLES])
def test_a_sample_is_what_its_command_prints(words, shown, printed):
    """Field by field; only numbers, digests and times may be others. ``hatch run pictures:json`` writes them again."""
    if words.startswith(HERE):
        assert set(json.loads(shown)) == set(json.loads(printed[words]))
    else:
        assert masked(timeless(shown)) == masked(timeless(printed[words]))


def timeless(text):
    """Return a text without its times of day."""
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "#", text)
