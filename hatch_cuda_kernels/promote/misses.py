"""What this machine compiled for a package because the package did not contain it prebuilt."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain
from hatch_cuda_kernels.names import normalize_name
from hatch_cuda_kernels.store.source import ModuleSource

if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.cache import DiskCache, Entry
    from hatch_cuda_kernels.image import Finisher
    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.store.reader import StoreReader

__all__ = ["Miss", "find_misses"]


class Miss(NamedTuple):
    """A kernel that was requested and compiled, and the architecture it was compiled for."""

    module: str
    kernel: str
    """As it was requested."""
    listed: bool
    """Whether the package lists the kernel, so that only the architecture was missing."""
    arch: SmArch
    covered: bool
    """Whether an image of the module runs on this architecture, by the rules of the ladder."""
    created: str
    """When it was compiled: UTC, ISO 8601."""
    used: float
    """When it was last used: seconds since 1970, within the hour."""
    seconds: float
    """How long the compile took."""
    key: str
    """The key of the entry in the disk cache."""


def find_misses(reader: StoreReader, cache: DiskCache) -> list[Miss]:
    """Return the recorded compiles that belong to this store, sorted by module, kernel and architecture.

    An entry belongs to the store if its key can be made from the store's source, options and names (or image, for what
    was finished from one). Entries of another version of the package do not. Raises InputError if the sources of an
    editable install cannot be read.
    """
    modules = {index.module: index for index in reader.modules()}
    found = [
        _miss(reader, modules[entry.module], entry, used)
        for entry, _, used in cache.entries()
        if entry.wanted and entry.module in modules
    ]
    return sorted(miss for miss in found if miss is not None)


def _miss(reader: StoreReader, index: ModuleIndex, entry: Entry, used: float) -> Miss | None:
    lines = reader.find(normalize_name(entry.wanted))
    listed = any(line.module == index.module for line in lines)
    if listed and any(record.arch == entry.arch for record in index.images):
        return None  # prebuilt by now, or compiled from a source edited since an editable install
    if entry.key not in _keys(ModuleSource(reader, index.module), index, entry, listed=listed):
        return None
    covered = any(record.arch.refusal(entry.arch.capability) is None for record in index.images)
    return Miss(
        module=index.module,
        kernel=entry.wanted,
        listed=listed,
        arch=entry.arch,
        covered=covered,
        created=entry.created,
        used=used,
        seconds=entry.seconds,
        key=entry.key,
    )


def _keys(source: ModuleSource, index: ModuleIndex, entry: Entry, *, listed: bool) -> list[str]:
    """Return the keys under which this store's module would have recorded such an entry."""
    toolchain = entry.toolchain
    if "nvrtc" not in toolchain:
        inputs = [record for record in index.images if record.kind != "cubin"]
        finisher: Finisher = "ptxas" if "ptxas" in toolchain else "nvjitlink"
        return [source.finished_key(record, entry.arch, finisher) for record in inputs]
    compiler = Toolchain(toolchain["nvrtc"], toolchain.get("headers", ""), nvjitlink=toolchain.get("nvjitlink", ""))
    return [source.job(entry.arch, None if listed else entry.wanted).key("cubin", compiler)]
