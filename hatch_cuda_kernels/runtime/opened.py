"""Opens a store that can be asked for images, of whatever a user may name."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from hatch_cuda_kernels.runtime.store import open_store
from hatch_cuda_kernels.store import open_package

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.runtime.store import Store

__all__ = ["opened_store"]


@contextmanager
def opened_store(package: str) -> Iterator[Store]:
    """Yield the store of a wheel file, a folder or an import package. Raises InputError as ``open_package`` does."""
    with open_package(package) as reader:
        store = open_store(reader.folder)
        _ = store.path  # found now, before the store takes the name that messages call it by
        store.package = package
        yield store
