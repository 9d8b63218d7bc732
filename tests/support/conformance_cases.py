"""The conformance cases, and what loaders of this package's text say in the words of the cases."""

from __future__ import annotations

import json
from enum import IntEnum
from pathlib import Path

HERE = Path(__file__).parents[1] / "conformance"
CASES = json.loads((HERE / "cases.json").read_text())["cases"]
#: What the specification calls a reason, by a piece of the sentence that users read.
REASONS = {
    "runs on no other device": "device",
    "runs on no other family": "family",
    "or higher": "capability",
    "on another major": "major",
    "on a lower minor": "minor",
    "written as PTX ISA": "isa",
    "the kernel is not in this image": "lacks",
    "the source cannot be read": "stale",
    "refused by the driver": "driver",
    "cannot read the": "damaged",
    "does not match the digest": "damaged",
}
Code = IntEnum("Code", {f"CUDA_ERROR_{code}": code for code in (200, 209, 218, 221, 222, 223, 500)})


def pair(text):
    """Return a version or a capability as numbers."""
    return tuple(map(int, text.split(".")))
