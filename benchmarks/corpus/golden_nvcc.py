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
    options = entry["options"]
    with tempfile.TemporaryDirectory() as scratch:
        command = ["nvcc", "-cubin", f"-arch={entry['arch']}", f"-std={options.get('std', 'c++17')}", "-w", *flags]
        command += ["--keep", f"--keep-dir={scratch}", "-o", f"{scratch}/made.cubin"]
        command += [f"-I{root / folder}" for folder in options.get("include", ())]
        command += [word for folder in include for word in ("-isystem", str(folder))]
        command += [word for name in options.get("pre_include", ()) for word in ("-include", name)]
        command += [
            f"-D{key}" if value is None else f"-D{key}={value}" for key, value in options.get("define", {}).items()
        ]
        done = measured([*command, entry["path"]], root, limit)
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
