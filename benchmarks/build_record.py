"""Put a run into the repository: the record in results/, the pictures in docs/images/, the tables in the docs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from build_plots import draw
from build_report import about, aims_table, checks, predictions, render, sizes

_ROOT: Final = Path(__file__).parent.parent
_PAGE: Final = _ROOT / "docs" / "explanation" / "numbers.md"
#: What is between these lines of the page is replaced.
_BEGIN: Final = "<!-- {}: written by benchmarks/build.py -->\n"
_END: Final = "<!-- end -->\n"


def record(results: dict[str, Any], name: str) -> None:
    """Write everything that is kept of a run; ``name`` is the record's, usually its date."""
    folder = _ROOT / "benchmarks" / "results"
    for old in folder.glob("????-??-??-build.*"):  # the newest of a subject is kept
        old.unlink()
    (folder / f"{name}-build.json").write_text(json.dumps(results, indent=1) + "\n")
    text = render(results, name)
    (folder / f"{name}-build.md").write_text(f"{text}\nRaw numbers: [{name}-build.json]({name}-build.json).\n")
    _list(folder / "README.md", f"| [builds]({name}-build.md) | {name} | whole builds beside nvcc and NVRTC alone |\n")
    draw(results, _ROOT / "docs" / "images")
    page = _PAGE.read_text()
    link = f"Record: [{name}](../../benchmarks/results/{name}-build.md).\n"
    page = replace(page, "machine", f"{about(results)}\n{link}")
    page = replace(page, "aims", aims_table(results))
    page = replace(page, "sizes", sizes(results))
    if results.get("scaling"):
        page = replace(page, "checks", checks(results))
        page = replace(page, "predictions", predictions(results))
    _PAGE.write_text(page)


def _list(index: Path, line: str) -> None:
    """Put the record into the list, in place of the one before."""
    index.write_text(re.sub(r"^\|[^|]*-build\.md\) \|.*\n", lambda _: line, index.read_text(), flags=re.MULTILINE))


def replace(page: str, block: str, text: str) -> str:
    """Return the page with one block's text replaced. Raises ValueError where the page has no such block."""
    begin = _BEGIN.format(block)
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(_END)
    if not found or not ended:
        raise ValueError(f"numbers.md has no block {block!r}")
    return f"{before}{begin}\n{text}\n{_END}{after}"
