"""What every launch here needs."""

from typing import Final

from example_project.kernels import store

__all__ = ["MAX_BLOCKS", "STORE", "blocks_for"]

STORE: Final = store

#: Blocks to launch at most: several times what the largest device runs at once. Every kernel here loops over the rest.
MAX_BLOCKS: Final = 4096


def blocks_for(items: int, per_block: int) -> int:
    """Return how many blocks to launch for `items` work items, at least 1 and at most `MAX_BLOCKS`."""
    return max(1, min(-(-items // per_block), MAX_BLOCKS))
