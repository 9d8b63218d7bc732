"""Whether this version of the package makes of a store's sources what the version that built the store made of them.

What host code is cut and which headers are implied are rules of the package, and a later version may have others.
An answer is remembered with the states of the files that have these rules: to find it takes as long as to compile.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache.notes import Notes, file_state, unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.store.index import ModuleIndex

__all__ = ["reads_as_built"]

_NOTES: Final = Notes("as-built")


def reads_as_built(index: ModuleIndex, read: Callable[[], tuple[str, ...]]) -> bool:
    """Return whether ``read``, which gives the digests of a module's units as they are read now, gives the build's.

    Nothing but the index's own files and the rules may have a part in what it gives.
    """
    subject = _subject(index)
    note = _NOTES.read(subject)
    states = note.get("states")
    if isinstance(states, dict) and states and unchanged(states):
        return note.get("same") is True
    from hatch_cuda_kernels.compiler.reading_rules import rule_files  # where the answer is remembered, none is needed

    states = {path: file_state(path) for path in rule_files()}
    same = read() == tuple(unit.sha256 for unit in index.units)
    if states:
        _NOTES.write(subject, {"same": same, "states": states})
    return same


def _subject(index: ModuleIndex) -> str:
    asked = [[unit.source, unit.sha256, *unit.asked] for unit in index.units]
    return json.dumps([asked, index.files, index.standard, index.headers, index.options], sort_keys=True)
