"""How much memory this process may still take: what the machine has, within the limits of its control groups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["free_bytes"]

_UNKNOWN: Final = 1 << 60
#: Files of a control group, version 2 and 1: the limit, what is used, and the part of that which is only page cache.
_V2: Final = ("memory.max", "memory.current", "inactive_file")
_V1: Final = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def free_bytes(root: Path = Path("/")) -> int:
    """Return the bytes that can be taken without swapping; a very large number where the system does not say.

    ``root`` is where ``proc`` and ``sys`` are. Linux: proc(5), "Control Group v2" and "Memory Resource Controller".
    """
    return max(0, min(_available(root / "proc/meminfo"), *_rooms(root), _UNKNOWN))


def _available(meminfo: Path) -> int:
    return 1024 * _fields(meminfo).get("MemAvailable:", _UNKNOWN)


def _rooms(root: Path) -> Iterator[int]:
    """Yield what each memory-limited control group above this process leaves."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield from _group_rooms(root / "sys/fs/cgroup/memory", path, _V1)
        elif not controllers:
            yield from _group_rooms(root / "sys/fs/cgroup", path, _V2)


def _group_rooms(mount: Path, path: str, files: tuple[str, str, str]) -> Iterator[int]:
    """Yield the room of a group and of those around it. A container may see only the mount, not its own path below."""
    limit_file, used_file, cache_field = files
    folder = mount / path.lstrip("/")
    for group in (folder, *folder.parents):
        limit, used = _number(group / limit_file), _number(group / used_file)
        if limit is not None and used is not None:
            yield limit - used + _fields(group / "memory.stat").get(cache_field, 0)
        if group == mount:
            return


def _number(path: Path) -> int | None:
    """Return the number in a file; None for ``max`` and for a file that cannot be read."""
    text = next(iter(_lines(path)), "")
    return int(text) if text.isdigit() else None


def _fields(path: Path) -> dict[str, int]:
    fields = (line.split() for line in _lines(path))
    return {found[0]: int(found[1]) for found in fields if len(found) > 1 and found[1].isdigit()}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
