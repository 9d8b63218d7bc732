"""What to do about instructions that only architecture-specific targets have; ptxas names the target without them."""

from __future__ import annotations

import re
from typing import Final

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.terminal import list_text

__all__ = ["advice_on_target", "lacking_targets", "target_faults"]

#: Instructions that each generation of GPUs has for its first targets only; what they begin with.
_OWNERS: Final = {"wgmma": "sm_90a", "tcgen05": "sm_100a"}
#: Of what later targets have as well, ptxas says that it "requires .target sm_80 or higher".
_LACKING: Final = re.compile(
    r"(?:Instruction|Feature) '(?P<what>[^'\n]+)' not supported on \.target '(?P<target>sm_\w+)'"
)
#: The first that may have a suffix.
_FIRST: Final = 90


def advice_on_target(message: str) -> str:
    """Return which architecture to list because of a message of ptxas's; empty where that is not known."""
    found = _LACKING.search(message)
    if found is None:
        return ""
    instead = f"list it in the module's 'arches:' in place of {found['target']}"
    owner = _owner(found)
    if owner is None:
        return ""
    if _is_known(found):
        return f"architecture {owner} has this: {instead}"
    return f"only architecture-specific code has this; if {owner} does, {instead}"


def lacking_targets(log: str) -> dict[SmArch, SmArch]:
    """Return the targets that ptxas says lack an instruction, each with the one to compile for in its place."""
    owners = {SmArch.parse(found["target"]): _owner(found) for found in _LACKING.finditer(log)}
    return {target: owner for target, owner in owners.items() if owner is not None}


def _is_known(found: re.Match[str]) -> bool:
    return found["what"].startswith(tuple(_OWNERS))


def _owner(found: re.Match[str]) -> SmArch | None:
    """Return the target that has what another lacks, as far as that is known; else that target's own, if any."""
    owner = next((owner for begin, owner in _OWNERS.items() if found["what"].startswith(begin)), "")
    target = SmArch.parse(found["target"])
    if owner:
        return SmArch.parse(owner)
    return None if target.suffix or target.number < _FIRST else SmArch.parse(f"{target}a")


def target_faults(log: str) -> list[str]:
    """Return the instructions that ptxas says a target lacks, together where the same is to be done about them."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for found in _LACKING.finditer(log):
        named = lacking.setdefault((found["target"], advice_on_target(found[0])), [])
        if found["what"] not in named:
            named.append(found["what"])
    return [f"{target} has no {list_text(named)}\n  to fix: {fix}" for (target, fix), named in lacking.items() if fix]
