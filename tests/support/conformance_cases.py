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

#: Spellings of names with their keys, of every kind of token that the specification has.
KEYS = {
    " block_sum < float ,128 > ": "block_sum<float,128>",
    "f<g<int> >": "f<g<int>>",
    "f<g<int>>": "f<g<int>>",
    "f<(4 >> 1)>": "f<(4>>1)>",
    "f<unsigned   int>": "f<unsigned int>",
    "f<5 - -1>": "f<5- -1>",
    "f<'a b', \"x y\">": "f<'a b',\"x y\">",
    "f< 1'000 , 0x1p-3 >": "f<1'000,0x1p-3>",
    "f< ::x>": "f<::x>",
    ":: ns :: k < & g >": "::ns::k<&g>",
    "f<a . . b>": "f<a. .b>",
    "größe< 1 >": "größe<1>",
    "f<\n1,\v2,\f3,\r4>": "f<1,2,3,4>",
    "f<1,\u00a02>": "f<1,\u00a02>",
    "f<unsigned\u2003int>": "f<unsigned\u2003int>",
    "f<1>\x1f": "f<1>\x1f",
}


def pair(text):
    """Return a version or a capability as numbers."""
    return tuple(map(int, text.split(".")))


def case_id(case):
    """Return what a case is called: what differs from the usual question."""
    ask = case["ask"]
    parts = [ask["store"].partition("/")[2], ask["name"], ask["device"], ask["driver"], ask["compiler"]]
    parts += [ask.get("module"), *ask.get("refuses", {}).values()]
    return " ".join(str(part) for part in parts if part).replace("\t", "TAB")
