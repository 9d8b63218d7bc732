"""The build for other build systems than Hatch: one call that puts a package's kernels where its modules are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.image import STORE_FOLDER
from hatch_cuda_kernels.plugin.build import build_store
from hatch_cuda_kernels.plugin.manifest import load_manifest
from hatch_cuda_kernels.plugin.native import native_archs
from hatch_cuda_kernels.plugin.progress import open_progress

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from hatch_cuda_kernels.plugin.build import BuildReport

__all__ = ["build_kernels"]


def build_kernels(
    manifest: Path | str,
    package: Path | str,
    *,
    jobs: int | None = None,
    executor: Executor | str | None = None,
    editable: bool = False,
) -> BuildReport:
    """Compile a manifest and put the store into a package's folder, where the run side looks for it.

    ``package`` is the folder that becomes the import package: in the build tree for a wheel, in the source tree for an
    editable install, where ``editable`` makes an edited source count. ``jobs`` is the most compiles at a time on this
    machine. ``executor`` is one of ``concurrent.futures``, which is left open, or a name as in the hook's option.
    Raises InputError for a folder that is not there, and what ``build_store`` raises.
    """
    folder = Path(package).absolute()
    if not folder.is_dir():
        raise InputError(f"there is no package folder {folder}; build the package's modules first")
    loaded = load_manifest(manifest, native=native_archs)
    return build_store(
        loaded, folder / STORE_FOLDER, executor=executor, workers=jobs, progress=open_progress(), editable=editable
    )
