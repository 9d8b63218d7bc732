"""Which installed distribution brought a store: several may share a namespace, or an import package."""

from __future__ import annotations

import os

from hatch_cuda_kernels.store.index import KERNELS_FILE


def find_metadata(folder: str) -> tuple[str, str] | None:
    """Return the ``*.dist-info`` whose RECORD lists a store, and the store's place there; None if it is not installed.

    An editable install lists no store.
    """
    folder, place = os.path.abspath(folder), KERNELS_FILE  # noqa: PTH100 - programs that are traced import no pathlib
    while folder != (above := os.path.dirname(folder)):  # noqa: PTH120 - as above
        place, folder = f"{os.path.basename(folder)}/{place}", above  # noqa: PTH119 - as above
        metadata = sorted(name for name in os.listdir(folder) if name.endswith(".dist-info"))  # noqa: PTH208 - as above
        for name in metadata:
            record = os.path.join(folder, name, "RECORD")  # noqa: PTH118 - as above
            if os.path.isfile(record):  # noqa: PTH113 - as above
                with open(record, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - as above
                    if f"\n{place}," in f"\n{file.read()}":
                        return os.path.dirname(record), place.removesuffix(KERNELS_FILE)  # noqa: PTH120 - as above
        if metadata:
            break
    return None
