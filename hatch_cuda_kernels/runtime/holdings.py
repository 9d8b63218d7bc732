"""What a package's store holds, as far as its files tell."""

from __future__ import annotations

from functools import cached_property

#: Spelt out, because importing typing would delay the start of the driver; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from hatch_cuda_kernels.store.reader import StoreReader

__all__ = ["Holdings"]


class Holdings:
    """The files of a store: found and read when they are asked for."""

    def __init__(self, package: str | Path) -> None:
        self.package = package

    @cached_property
    def path(self) -> Path:
        """The store's folder. Raises StoreError if there is none."""
        from hatch_cuda_kernels.store.reader import find_store

        return find_store(self.package)

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """Names of all listed kernels, each once, as they were written."""
        return tuple(dict.fromkeys(name for name, _ in self.listed_kernels()))

    def listed_kernels(self) -> list[tuple[str, str | None]]:
        """Return every listed kernel with the module to name, which is None if no other module has the kernel."""
        return self._reader.kernels()

    def contents(self) -> dict[str, Any]:
        """Return what is inside, as ``inspect --json`` prints it. Raises StoreError for a missing or damaged store."""
        from hatch_cuda_kernels.store.contents import contents

        return contents(self._reader)

    def extract_images(self, folder: str | Path) -> list[Path]:
        """Write every image into a folder, as ``saxpy.sm_90.cubin``, for tools such as cuobjdump; return the files.

        Raises StoreError for an image that cannot be read, InputError if the folder cannot be written.
        """
        from hatch_cuda_kernels.store.contents import extract_images

        return extract_images(self._reader, folder)

    @cached_property
    def _reader(self) -> StoreReader:
        from hatch_cuda_kernels.store.reader import StoreReader

        return StoreReader(self.path, str(self.package))
