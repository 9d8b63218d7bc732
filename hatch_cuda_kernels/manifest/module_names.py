"""What modules are called: an entry whose name and source have a ``*`` is one module a file.

A module is a folder of the store, so names that some file system cannot hold are refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.manifest.kinds import Item
from hatch_cuda_kernels.manifest.shares import share_instances

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ENTRY_NAME", "name_modules"]

ENTRY_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\*[A-Za-z0-9_-]*)?|\*[A-Za-z0-9_-]*")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
#: What stands for a list of sources, which has no ``*``.
_JOINED: Final = "sources"
#: Windows opens a device for a file or folder of these names.
_WINDOWS_DEVICES: Final = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]", re.IGNORECASE)


def name_modules(entries: Mapping[str, Item]) -> dict[str, Item]:
    """Return the modules of a manifest's entries by name, each with the entry that it is from; None for a refused one.

    What is wrong with the names is noted.
    """
    modules: dict[str, Item] = {}
    folded: dict[str, str] = {}
    for entry, item in entries.items():
        for name, values in _modules_of(entry, item):
            if _WINDOWS_DEVICES.fullmatch(name):
                item.spot.report(f"{name!r} cannot be a folder on Windows; choose another name")
            first = folded.setdefault(name.lower(), name)
            if name in modules:
                item.spot.report(f"{modules[name].spot.path} gives a module {name!r}, too; give them different names")
            elif first != name:
                item.spot.report(f"{name!r} and {first!r} differ only in case, and would be one folder on some systems")
            modules.setdefault(name, Item(values, item.spot))
    return modules


def _modules_of(entry: str, item: Item) -> Iterator[tuple[str, dict[str, object] | None]]:
    """Yield each module of an entry with its values."""
    values = item.value or {}
    source = values.get("source") or (_JOINED if values.get("sources") else None)
    if source is None:  # refused, or missing
        yield entry, item.value
    elif ("*" in entry) != ("*" in source):
        one, other = ("name", "source") if "*" in entry else ("source", "name")
        item.spot.report(f"the {one} has a * and the {other} has none; with one in both, each file is a module")
    elif "*" not in entry:
        yield entry, item.value | {"entry": entry}
    else:
        yield from _one_a_file(entry, item, source)


def _one_a_file(entry: str, item: Item, source: str) -> Iterator[tuple[str, dict[str, object]]]:
    before, after = source.split("*")
    files = item.spot.reading.files
    for path, share in share_instances(item.value, tuple(files.glob(source)), files):
        name = entry.replace("*", path[len(before) : len(path) - len(after)])
        if _NAME.fullmatch(name):
            yield name, item.value | share | {"source": path, "entry": entry}
        else:
            item.spot.report(
                f"{path} would be the module {name!r}, which is not a module name (letters, digits, _ and -); rename it"
            )
