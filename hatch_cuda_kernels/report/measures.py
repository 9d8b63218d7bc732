"""What is measured, how it is written, and which increase is a regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["ABOUT_THE_SAME", "MEASURES", "Limit", "Measure", "percent", "short"]

_KIB: Final = 1024
#: Relative; below it a change is noise.
ABOUT_THE_SAME: Final = 0.005


@dataclass(frozen=True, slots=True)
class Limit:
    """Which increase is a regression: at least ``absolute``, and more than ``relative`` of the old value."""

    absolute: int
    relative: float = 0.0

    def passed(self, old: float, new: float) -> bool:
        """Return whether the step from old to new is a regression."""
        return new - old >= self.absolute and new - old > self.relative * old


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a kernel on an architecture, or of the image that holds it."""

    name: str
    title: str
    unit: str
    per: Literal["kernel", "image"]
    limit: Limit | None
    """None if no increase is a regression."""
    about: str
    rule: str = ""
    """The limit in words."""


#: In the order the page offers them.
MEASURES: Final = (
    Measure(
        "bytes", "Image size", "bytes", "image", Limit(_KIB, 0.10),
        "Bytes of the image. One image holds all kernels of its module, so a cell spans them.",
        "more than 10 % and at least 1 KiB larger",
    ),
    Measure(
        "code", "Machine code", "bytes", "kernel", Limit(_KIB, 0.10),
        "Bytes of the kernel's instructions, read from the CUBIN. PTX has none before the driver compiles it.",
        "more than 10 % and at least 1 KiB larger",
    ),
    Measure(
        "seconds", "Compile time", "s", "image", None,
        "Seconds of the compile that made the image. They depend on the machine, so they are never a regression.",
    ),
    Measure(
        "registers", "Registers", "per thread", "kernel", Limit(8),
        "Registers per thread. The hardware allocates them in steps of 8; with more of them fewer warps run at a time.",
        "8 or more registers more",
    ),
    Measure(
        "shared", "Shared memory", "bytes per block", "kernel", Limit(_KIB, 0.10),
        "Static shared memory per block. What a launch requests in addition is not in the image.",
        "more than 10 % and at least 1 KiB more",
    ),
    Measure(
        "spills", "Spills", "bytes per thread", "kernel", Limit(1),
        "Bytes of spill stores and loads per thread: values that did not fit into registers and went to local memory.",
        "any increase",
    ),
)  # fmt: skip


def short(measure: Measure, value: float) -> str:
    """Return a value as short as a chart's cell needs it."""
    if measure.name == "seconds":
        return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"
    if not measure.unit.startswith("bytes") or value < _KIB:
        return f"{value:,.0f}"
    value, unit = (value / _KIB, "KiB") if value < _KIB**2 else (value / _KIB**2, "MiB")
    return f"{value:.1f} {unit}" if value < 100 else f"{value:,.0f} {unit}"


def percent(old: float, new: float) -> str:
    """Return a relative change, such as ``+12 %``; a change below half a percent is shown as about the same."""
    if old == 0:
        return "was 0" if new else "="
    change = (new - old) / old
    if abs(change) < ABOUT_THE_SAME:
        return "=" if old == new else "≈"
    return f"{change:+.0%}".replace("%", " %").replace("-", "\N{MINUS SIGN}")
