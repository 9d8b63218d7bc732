"""What ``ptxas -v`` prints of each kernel: the independent word on what a finished image holds."""

from __future__ import annotations

import re

_COMPILING = re.compile(r"ptxas info\s*: Compiling entry function '([^']+)' for ")
_PROPERTIES = re.compile(r"ptxas info\s*: Function properties for (\S+)")
_STACK = re.compile(r"(?:ptxas)?[\s.]*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"ptxas info\s*: Used (\d+) registers(?:.*?, (\d+) bytes cumulative stack size)?")
_SHARED = re.compile(r", (\d+) bytes smem")


def reported(log):
    """Return each kernel's resources as the index names them; spills are its own and those of all it calls."""
    found, entry = {}, ""
    for line in log.splitlines():
        if match := _COMPILING.match(line):
            entry = match[1]
            found[entry] = {"registers": 0, "shared": 0, "stack": 0, "spill_stores": 0, "spill_loads": 0}
        elif (match := _STACK.match(line)) and entry:
            found[entry]["stack"] = max(found[entry]["stack"], int(match[1]))
            found[entry]["spill_stores"] += int(match[2])
            found[entry]["spill_loads"] += int(match[3])
        elif match := _USED.match(line):
            shared = _SHARED.search(line)
            found[entry] |= {"registers": int(match[1]), "shared": int(shared[1]) if shared else 0}
            if match[2]:
                found[entry]["stack"] = int(match[2])
    return found
