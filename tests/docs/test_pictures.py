"""The pictures that pages show: small, in pairs, and of what the commands print now."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest
from doc_blocks import DOCS, PAGES, masked

from hatch_cuda_kernels.cli import main

IMAGES = DOCS / "images"
#: In bytes: a page with several is still quick, and so is a clone of the repository.
MOST = 150_000
SHOWN = re.compile(r'!\[[^\]]*\]\(([^)]+\.png)\)|(?:src|srcset)="([^"]+\.png)"')


def shown(page):
    """Return the pictures that a page shows."""
    return {(page.parent / (first or second)).resolve() for first, second in SHOWN.findall(page.read_text())}


def test_every_picture_is_shown_and_small():
    """No picture is kept for nothing, and none is missing."""
    kept = set(IMAGES.glob("*"))
    assert set().union(*map(shown, PAGES)) == kept
    assert {path.name: path.stat().st_size for path in kept if path.stat().st_size > MOST} == {}


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "<picture>" in page.read_text()], ids=lambda page: page.name
)
def test_a_pair_of_pictures_is_light_and_dark(page):
    """Of the same name but for the theme, and described for those who do not see them."""
    pairs = re.findall(
        r'<source media="\(prefers-color-scheme: dark\)" srcset="(.*)">\n +<img src="(.*)" alt="(.*)">',
        page.read_text(),
    )
    assert len(pairs) == page.read_text().count("<picture>")
    for dark, light, text in pairs:
        assert Path(dark).stem.replace("dark", "light") == Path(light).stem
        assert len(text) > 20


def description(path):
    """Return the text that a PNG carries."""
    data = path.read_bytes()
    at = 8
    while at < len(data):
        size, kind = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        if kind == b"iTXt" and body.startswith(b"Description\0"):
            return zlib.decompress(body.partition(b"\0")[2][2:].lstrip(b"\0")).decode()
        at += 12 + size
    raise AssertionError(f"{path.name} carries no text")


def test_the_picture_of_the_demo_is_of_now(whole_example_wheel, fresh_cache, monkeypatch, capsys):
    """What its commands print, word for word; only numbers may differ. ``hatch run pictures:demo`` takes it again."""
    texts = {description(IMAGES / f"demo-{theme}.png") for theme in ("light", "dark")}
    (text,) = texts
    monkeypatch.chdir(whole_example_wheel.parent)
    for part in re.split(r"^\$ hatch-cuda-kernels ", text, flags=re.MULTILINE)[1:]:
        words, _, said = part.partition("\n")
        assert main(words.split()) == 0
        assert masked(" ".join(said.split())) == masked(" ".join(capsys.readouterr().out.split()))
