"""Show which image each kernel resolves to and why, and check every kernel where there is a device."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from example_project._checks import KERNELS, run_checks
from example_project._device_array import make_context_current
from example_project._store import STORE

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = ("kernel", "origin", "arch", "kind", "reason")
_SHORT = 40
_NO_IMAGE = "no image; see: hatch-cuda-kernels explain '{}' --package example_project"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration. Returns 0 if every kernel has an image and, with a device, gives the right result."""
    parser = argparse.ArgumentParser(prog="python -m example_project", description=__doc__)
    parser.add_argument("--arch", help="resolve for this architecture (default: the device's; without one, sm_90)")
    arch: str | None = parser.parse_args(argv).arch
    # RuntimeError is both: the driver library is missing, and the driver answered an error.
    try:
        device, problem = make_context_current(), ""
    except RuntimeError as error:
        device, problem = "", str(error).rstrip(".")
        arch = arch or "sm_90"
    if device:
        print(f"On {device}, resolving for {arch or 'this device'}:")
    else:
        reason = f" ({problem})" if len(problem) < _SHORT else ""  # the bindings say much of a driver that is not there
        print(f"No usable CUDA device{reason}: kernels are resolved for {arch}, and not run.")

    rows = [_resolve(kernel, arch) for kernel in KERNELS]
    print(_table([_HEADER, *rows]))
    complete = all(row[1] != "-" for row in rows)
    return 0 if complete and (not device or _check()) else 1


def _resolve(kernel: str, arch: str | None) -> tuple[str, ...]:
    explanation = STORE.explain(kernel, arch=arch)
    chosen = explanation.chosen
    if chosen is None:
        return kernel, "-", "-", "-", _NO_IMAGE.format(kernel)
    facts = (str(chosen.origin), str(chosen.arch), str(chosen.kind))
    reasons = (
        candidate.reason
        for candidate in explanation.candidates
        if candidate.accepted and (str(candidate.origin), str(candidate.arch), str(candidate.kind)) == facts
    )
    return kernel, *facts, next(reasons, "")


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _check() -> bool:
    width = max(map(len, KERNELS))
    good = True
    print()
    for check in run_checks():
        print(f"{check.name:{width}}  max error {check.error:8.1e}  {'OK' if check.ok else 'WRONG'}")
        good = good and check.ok
    return good


if __name__ == "__main__":
    sys.exit(main())
