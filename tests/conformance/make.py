"""Writes the conformance files: ``python tests/conformance/make.py``. The same input gives the same bytes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import malformed
import stores
from cases import all_cases

HERE = Path(__file__).parent


def files():
    """Return every file by its path relative to this folder."""
    made = {f"stores/{name}/{path}": data for name, own in stores.all_stores().items() for path, data in own.items()}
    made |= {
        f"malformed/{name}/{path}": data for name, own in malformed.all_stores().items() for path, data in own.items()
    }
    cases = ",\n".join(json.dumps(case) for case in all_cases())
    return made | {"cases.json": f'{{"schema": 1, "cases": [\n{cases}\n]}}\n'.encode()}


def main():
    """Replace the files."""
    for folder in ("stores", "malformed"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
    for name, data in files().items():
        path = HERE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()
