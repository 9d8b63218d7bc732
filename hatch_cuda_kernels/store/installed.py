"""Which installed distribution brought a store: several may share a namespace, or an import package."""

from __future__ import annotations

import pathlib  # not its Path: the loader to vendor has a lighter one of that name

from hatch_cuda_kernels.store.index import KERNELS_FILE


def find_metadata(store: str) -> tuple[pathlib.Path, str] | None:
    """Return the ``*.dist-info`` whose RECORD lists a store, and the store's place there; None if it is not installed.

    An editable install lists no store.
    """
    folder = pathlib.Path(store).absolute()
    for site in folder.parents:
        found, place = sorted(site.glob("*.dist-info")), folder.relative_to(site).as_posix()
        for metadata in found:
            record = metadata / "RECORD"
            text = record.read_text(encoding="utf-8", errors="replace") if record.is_file() else ""
            if f"\n{place}/{KERNELS_FILE}," in f"\n{text}":
                return metadata, place
        if found:
            break
    return None
