"""Hands a wheel's bill of materials to hatchling, which has taken such files since 1.29."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels import __version__
from hatch_cuda_kernels.store.contents import SBOM_FILE, Distribution, sbom_text
from hatch_cuda_kernels.store.reader import StoreReader

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["add_sbom"]


def add_sbom(store: Path, metadata: Any, build_data: dict[str, Any]) -> None:  # hatchling is untyped
    """Write the document about a store beside it, and let the wheel have it; an older hatchling does not take it."""
    files = build_data.get("sbom_files")
    if files is not None:
        path, project = store.parent / SBOM_FILE, Distribution(metadata.name, metadata.version)
        path.write_text(sbom_text(StoreReader(store), project, made_by=__version__), encoding="utf-8", newline="\n")
        files.append(str(path))
