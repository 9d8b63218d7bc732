"""RECORD: what a wheel, or an installed distribution, says of its files."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.store.index import KERNELS_FILE, STORE_FOLDER
from hatch_cuda_kernels.store.opened import UNREADABLE, read_member

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["WheelRecord", "installed_record", "wheel_record"]


class WheelRecord(NamedTuple):
    """A RECORD, and where the store is among its paths."""

    rows: tuple[tuple[str, ...], ...]
    """Path, digest and size of each file."""
    prefix: str
    """The store's folder, with the slash that follows it."""


def wheel_record(wheel: Path) -> WheelRecord | None:
    """Return the RECORD of a wheel that has a store, empty if it cannot be read; None if it has no RECORD."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        found = [name for name in names if name.endswith(".dist-info/RECORD") and name.count("/") == 1]
        listing = next(name for name in names if name.endswith(f"/{STORE_FOLDER}/{KERNELS_FILE}"))
        try:
            text = read_member(archive, found[0]).decode(errors="replace") if found else ""
        except UNREADABLE:  # another check says so
            text = ""
    return WheelRecord(_rows(text), listing.removesuffix(KERNELS_FILE)) if found else None


def installed_record(folder: Path) -> WheelRecord | None:
    """Return the RECORD beside a store's package that lists the store; None for a folder that was not installed."""
    for site in folder.parents:
        records = sorted(site.glob("*.dist-info/RECORD"))
        prefix = f"{PurePosixPath(*folder.relative_to(site).parts)}/"
        for path in records:
            text = path.read_text(encoding="utf-8", errors="replace")
            if f"{prefix}{KERNELS_FILE}," in text:
                return WheelRecord(_rows(text), prefix)
        if records:
            break
    return None


def _rows(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(row) for row in csv.reader(io.StringIO(text)) if row)
