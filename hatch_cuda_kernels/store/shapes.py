"""The shapes of a store's files, against which they are checked when they are read."""

from __future__ import annotations

from typing import Final

from hatch_cuda_kernels.shape import file_name, inner_path

__all__ = ["DETAILS", "INDEX", "PLACES", "STANDARD"]

#: No image and no pack is larger. Seeking and reading take no number without bound.
_SIZE: Final = range(1 << 40)
_IMAGE: Final = {
    "file": file_name,
    "kind": frozenset({"cubin", "ptx", "ltoir"}),
    "arch": str,
    "sha256": str,
    "bytes": _SIZE,
    "ptx_isa": str,
    "registers": (int, None),
    "spills": (int, None),
    "lacks?": [str],
    "renames?": bool,
    "stored?": {"file": inner_path, "at": _SIZE, "size": _SIZE, "skip": _SIZE},
}
_RULE: Final = {
    "kernel": str,
    "grid": [str],
    "block": [str],
    "shared_mem": str,
    "attributes": {"cluster?": [int], "cooperative?": bool, "pdl?": bool, "priority?": int, "carveout?": int},
    "names": [str],
}
INDEX: Final = {
    "module": str,
    "source": inner_path,
    "source_sha256": str,
    "files": {inner_path: str},
    "outside": ([str], None),
    "headers": [str],
    "options": {str: (str, bool, int, None, [str], [[(str, None)]])},
    "globals": [str],
    "patterns": [{"pattern": str, "matrix": {str: [str]}}],
    "toolchain": {str: str},
    "images": [_IMAGE],
    "launch?": [_RULE],
    "front_end?": str,
    "units?": [{"source": inner_path, "source_sha256": str, "cut?": str, "asked": [str]}],
    "libraries?": [{"name": inner_path, "sha256": str}],
    "standard?": str,
    "asked?": [str],
    "cut?": str,
    "editable?": {"root": str, "manifest": str, "manifest_sha256": str},
}
#: Where images are, of an index of which the rest does not count: a large one takes long to look through.
PLACES: Final = {"images": [{name: _IMAGE[name] for name in ("sha256", "bytes", "stored?")}]}
STANDARD: Final = {str: str}
_CUT: Final = {
    "edits": [[(str, int, bool)]],
    "default_device": bool,
    "variables": [str],
    "loses_constants": bool,
    "host_headers": [str],
    "unread": str,
    "declared": {
        "kernels": [{"name": str, "parameters": [[str]], "is_template": bool, "has_c_linkage": bool, "file": str}],
        "variables": [{"name": str, "is_table": bool, "file": str}],
    },
    "implied": [str],
}
DETAILS: Final = {
    "names": [str],
    "resources": {str: {str: {str: int}}},
    "lowered?": {str: {str: str}},
    "cuts?": [_CUT],
    "levels?": [[(str, int)]],
}
