"""What nvcc makes of the same source with the same folders and macros."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any, Final

from golden_files import plain
from golden_kernels import kernels
from golden_measure import measured

#: What many builds give nvcc: tried where it refuses a source and names one of them.
_FLAGS: Final = ("--expt-relaxed-constexpr", "--extended-lambda")
_WANTS_FLAGS: Final = re.compile(r"expt-relaxed-constexpr|extended-lambda|extended __device__")
_ERROR: Final = re.compile(r"^.*\berror\b.*$", re.MULTILINE)


def by_nvcc(root: Path, entry: dict[str, Any], limit: float, include: list[Path]) -> dict[str, Any]:
    """Return the outcome, and the kernels of the image."""
    found = _compile(root, entry, limit, include, ())
    if found.pop("wants_flags", False):
        found = _compile(root, entry, limit, include, _FLAGS) | {"flags": list(_FLAGS)}
        found.pop("wants_flags", None)
    return found


def _compile(
    root: Path, entry: dict[str, Any], limit: float, include: list[Path], flags: tuple[str, ...]
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        given = ["-cubin", *flags, "--keep", f"--keep-dir={scratch}", "-o", f"{scratch}/made.cubin"]
        done = measured(command(root, entry, include, given), root, limit)
        if done.status is None:
            return {"outcome": "time", "message": "", **done.cost}
        if done.status:
            log = done.err + done.out
            message = plain((_ERROR.search(log) or [""])[0].replace(f"{root}/", ""))[:200]
            wants = bool(_WANTS_FLAGS.search(log)) and not flags
            return {"outcome": "refused", "message": message, "wants_flags": wants, **done.cost}
        (ptx,) = Path(scratch).glob("*.ptx")
        made = kernels((Path(scratch) / "made.cubin").read_bytes(), ptx.read_text(errors="replace"))
    return {"outcome": "compiled" if made else "no kernel", "message": "", "kernels": made, **done.cost}


def command(root: Path, entry: dict[str, Any], include: list[Path], flags: list[str]) -> list[str]:
    """Return how nvcc is called for a source, with flags of what it is to make."""
    options = entry["options"]
    found = ["nvcc", f"-arch={entry['arch']}", f"-std={options.get('std', 'c++17')}", "-w", *flags]
    found += [f"-I{root / folder}" for folder in options.get("include", ())]
    found += [word for folder in include for word in ("-isystem", str(folder))]
    found += [word for name in options.get("pre_include", ()) for word in ("-include", name)]
    found += [f"-D{key}" if value is None else f"-D{key}={value}" for key, value in options.get("define", {}).items()]
    return [*found, entry["path"]]
