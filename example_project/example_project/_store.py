"""The kernels this package carries."""

from typing import Final

from hatch_cuda_kernels import open_store

__all__ = ["MAX_BLOCKS", "STORE", "blocks_for"]

#: Opening reads no image and touches no device, so it may stand at module level.
STORE: Final = open_store("example_project")

#: Blocks to launch at most: several times what the largest device runs at once. Every kernel here loops over the rest.
MAX_BLOCKS: Final = 4096


def blocks_for(items: int, per_block: int) -> int:
    """Return how many blocks to launch for `items` work items, at least 1 and at most `MAX_BLOCKS`."""
    return max(1, min(-(-items // per_block), MAX_BLOCKS))
