"""The kernels of a project that is set up: the manifest of those that it has, or a first one."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from hatch_cuda_kernels.errors import ManifestError
from hatch_cuda_kernels.manifest import load_manifest, parse_manifest
from hatch_cuda_kernels.port.project_tree import kernel_sources, list_files
from hatch_cuda_kernels.scaffold.files import filled
from hatch_cuda_kernels.scaffold.survey import survey
from hatch_cuda_kernels.scaffold.templates import FIRST_KERNEL, HEAD, MANIFEST_HEAD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hatch_cuda_kernels.manifest import Manifest

__all__ = ["kernel_files", "manifest_of_sources", "stated_release", "watched_files"]


def kernel_files(
    root: Path, manifest: Path, find: Callable[[], tuple[str, str]]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the manifest to write, with a first kernel where a project has none; nothing if there is a manifest."""
    if manifest.is_file():
        return {}, ()
    folder, imported = find()
    drafted, notes = manifest_of_sources(manifest.parent)
    if drafted:
        return {manifest.relative_to(root).as_posix(): drafted}, notes
    return _first_kernel(root, manifest, {"FOLDER": folder, "PACKAGE": imported}), notes


def manifest_of_sources(folder: Path) -> tuple[str, tuple[str, ...]]:
    """Return a manifest of the kernels below a folder, and notes about sources that it leaves out; empty for none."""
    files = list_files(folder) if folder.is_dir() else []
    sources = kernel_sources(folder, files)
    if not sources:
        return "", ()
    found = survey(folder, sources, files, HEAD)
    modules = ["modules:" if found.modules else "modules: {}", *found.lines()]
    notes = tuple(f"{source} is not in the manifest: {reason}" for source, reason in found.left_out.items())
    return "\n".join([f"{MANIFEST_HEAD}{modules[0]}", *modules[1:], ""]), notes


def _first_kernel(root: Path, manifest: Path, words: dict[str, str]) -> dict[str, str]:
    """Return the files of a first kernel, which lies beside the manifest: paths in there are relative to it."""
    beside = manifest.parent.relative_to(root).as_posix()
    places = {
        "kernels.yaml": manifest.relative_to(root).as_posix(),
        "kernels/saxpy.cu": f"{beside}/kernels/saxpy.cu".removeprefix("./"),
    }
    return {places.get(path, filled(path, words)): filled(text, words) for path, text in FIRST_KERNEL.items()}


def stated_release(manifest: Path) -> tuple[int, int]:
    """Return the toolkit release that a manifest states; that of a first one, if it cannot be read."""
    try:
        return load_manifest(manifest).release
    except ManifestError:  # not written yet, or `check` will say what is wrong with it
        major, _, minor = str(HEAD["cuda"]).partition(".")
        return int(major), int(minor)


def watched_files(root: Path, manifest: Path, text: str) -> list[str]:
    """Return patterns of the files that a wheel's kernels are made of. ``text`` is the manifest's, if not written."""
    beside = PurePosixPath(manifest.parent.relative_to(root).as_posix())
    try:
        found = parse_manifest(text, root=manifest.parent) if text else load_manifest(manifest)
        patterns = _patterns(found)
    except ManifestError:  # its first kernel is not written yet
        patterns = ["kernels/**"]
    return [manifest.relative_to(root).as_posix(), *(str(beside / pattern) for pattern in patterns)]


def _patterns(manifest: Manifest) -> list[str]:
    folders = {PurePosixPath(source).parent for module in manifest.modules for source in module.sources}
    includes = {PurePosixPath(name) for module in manifest.modules for name in module.options.include}
    found = {*(folder / "*.cu*" for folder in folders), *(folder / "**" for folder in includes)}
    return sorted(map(str, found))
