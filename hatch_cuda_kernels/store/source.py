"""From a store's index back to a compile: index -> source with its headers -> job, and the key of what that gives.

The source is the one shipped in the store, or the project itself in an editable install.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hatch_cuda_kernels.arch import SmArch, cuda_release_for_arch
from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import InputError, StoreError
from hatch_cuda_kernels.names import normalize_name
from hatch_cuda_kernels.store.index import INDEX_FILE, STANDARD_FILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hatch_cuda_kernels.compiler.finish_job import Job
    from hatch_cuda_kernels.compiler.recipe import Recipe
    from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain
    from hatch_cuda_kernels.image import Finisher
    from hatch_cuda_kernels.source.dropped import Dropped
    from hatch_cuda_kernels.source.outer_headers import OuterHeaders, StandardHeaders
    from hatch_cuda_kernels.source.source_set import SourceSet
    from hatch_cuda_kernels.store.image_record import ImageRecord
    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.store.reader import StoreReader

__all__ = ["ModuleSource", "read_shipped", "recipe_of"]


def recipe_of(index: ModuleIndex, names: tuple[str, ...]) -> Recipe:
    """Return what a module was compiled from, and how; ``names`` are those of its details, or others of its source.

    Raises TypeError or ValueError for options that this version does not know.
    """
    from hatch_cuda_kernels.compiler.recipe import Recipe  # off the prebuilt path
    from hatch_cuda_kernels.options import NvrtcOptions

    return Recipe(
        module=index.module,
        sources=index.sources,
        libraries=tuple(name for name, _ in index.libraries),
        options=NvrtcOptions.from_canonical(index.options),
        names=names,
        globals=index.globals,
        headers=index.headers,
    )


def read_shipped(reader: StoreReader, index: ModuleIndex, recipe: Recipe) -> SourceSet:
    """Return a module's sources with their header closures, as the store has them. Raises InputError or StoreError."""
    from hatch_cuda_kernels.source.outer_headers import StandardHeaders  # off the prebuilt path
    from hatch_cuda_kernels.source.project import Project

    texts = reader.standard_headers() if index.standard else {}
    standard = StandardHeaders(texts, lambda name: texts[name].encode())
    root = reader.source_root(index.module)
    project = Project(root, only=index.files)  # other modules' files are there, too
    return recipe.read(root, project=project, outer=_as_built(index, standard))


def _as_built(index: ModuleIndex, standard: StandardHeaders) -> list[OuterHeaders]:
    """Return the headers outside the project as each source found them when the store was built."""
    from hatch_cuda_kernels.source.outer_headers import OuterHeaders  # off the prebuilt path

    return [OuterHeaders.as_built(standard, unit.asked) for unit in index.units]


class ModuleSource:
    """Where a module's source is, whether it is still what the prebuilt images are from, and the jobs made of it.

    ``instance`` is an instance that the module does not list, compiled by itself; None stands for all listed names.
    """

    def __init__(self, reader: StoreReader, module: str) -> None:
        self._reader = reader
        self._index = reader.module(module)

    @cached_property
    def stale(self) -> str | None:
        """Why prebuilt images no longer count: in an editable install, the source or a header has changed."""
        if self._index.editable is None:
            return None
        from hatch_cuda_kernels.source.outer_headers import packaged_standard_headers

        self._check_manifest(self._index.editable)
        recipe, index = self.recipe(), self._index
        try:
            sources = recipe.read(self.root, outer=_as_built(index, packaged_standard_headers()))
        except InputError as error:
            return f"the source cannot be read: {error}"
        libraries = {(library.name, library.sha256) for library in sources.libraries}
        current = [unit.program.sha256 for unit in recipe.units(sources)]
        unchanged = current == [unit.sha256 for unit in index.units] and libraries.issubset(index.libraries)
        return None if unchanged else "the source or a header changed since it was built"

    def _check_manifest(self, editable: dict[str, str]) -> None:
        """Warn, once, of a manifest that changed: its options and lists are known from the last install only."""
        path = self.root / editable["manifest"]
        if path.is_file() and sha256(path.read_bytes()).hexdigest() != editable["manifest_sha256"]:
            from hatch_cuda_kernels.warn import warn_user  # off the usual path

            warn_user(f"{path} changed since the editable install; for it to count, run: pip install -e {self.root}")

    def host_code(self) -> tuple[tuple[Dropped, ...], str]:
        """Return what is left out of the sources as host code, and the sentence that says so if nobody asked for it.

        Neither is known where the sources cannot be read.
        """
        from hatch_cuda_kernels.source.outer_headers import packaged_standard_headers  # off the prebuilt path

        try:
            recipe = self.recipe()
            if self._index.editable is None:
                sources = read_shipped(self._reader, self._index, recipe)
            else:
                sources = recipe.read(self.root, outer=_as_built(self._index, packaged_standard_headers()))
        except (InputError, StoreError):
            return (), ""
        return sources.dropped, recipe.left_out(sources)

    def recipe(self, names: tuple[str, ...] = ()) -> Recipe:
        """Return what the module was compiled from, and how. Raises StoreError where its options are damaged."""
        try:
            return recipe_of(self._index, names)
        except (TypeError, ValueError) as error:
            raise StoreError(f"{self.scope}/{INDEX_FILE}", f"cannot read the options: {error}") from error

    @property
    def root(self) -> Path:
        """The folder that paths of the index are relative to."""
        editable = self._index.editable
        if editable is not None:
            return (self._reader.folder / editable["root"]).resolve()
        return self._reader.source_root(self._index.module)

    @property
    def scope(self) -> str:
        """Text that tells this module from every other, of this store and of others."""
        return str(self._reader.folder / self._index.module)

    def device_arch(self, capability: tuple[int, int]) -> SmArch:
        """Return the real architecture to compile for a device.

        It has ``a`` (or ``f``) when the module is built so and that form of the device's architecture exists.
        """
        built = {record.arch.suffix for record in self._index.images}
        forms = (SmArch.of_device(capability, suffix) for suffix in ("a", "f") if suffix in built)
        known = (form for form in forms if any(cuda_release_for_arch(form, major=major) for major in (12, 13)))
        return next(known, SmArch.of_device(capability))

    def job(self, arch: SmArch, instance: str | None) -> Job:
        """Return the compile for an architecture.

        Raises InputError when the source cannot be read, StoreError, or ToolchainError for a missing device runtime.
        """
        recipe = self.recipe(self._names(instance))
        shipped = self._index.editable is None
        sources = read_shipped(self._reader, self._index, recipe) if shipped else recipe.read(self.root)
        return recipe.job(sources, arch, ("cubin",))

    def key(self, arch: SmArch, instance: str | None, toolchain: Toolchain) -> str:
        """Return the key of that job's CUBIN. Raises what ``job`` raises."""
        if not self._as_shipped:
            return self.job(arch, instance).key("cubin", toolchain)
        used = toolchain.of_compile(self._index.outside, finisher=self._finisher)
        return self._key(arch, instance, used.key_part)

    def finished_key(self, record: ImageRecord, arch: SmArch, finisher: Finisher) -> str:
        """Return the key of the CUBIN that is made of a shipped image. The finisher's version is only recorded."""
        from hatch_cuda_kernels.compiler.key import shipped_key  # off the prebuilt path

        options, keep = self._index.options, self.kept_variables(record)
        return shipped_key(image_sha256=record.sha256, arch=arch, options=options, finisher=finisher, keep=keep)

    def kept_variables(self, record: ImageRecord) -> list[str] | None:
        """Return the variables that stay in the CUBIN of LTO-IR, as in a build's; None for all: PTX has no others."""
        if record.kind != "ltoir":
            return None
        lines = (line for name in self._index.globals for line in self._reader.find(f"&{normalize_name(name)}"))
        return [self._reader.lowered(line, record.sha256) for line in lines if line.module == self._index.module]

    def recalled_key(self, arch: SmArch, instance: str | None) -> str | None:
        """Return the same as ``key`` for this process's toolchain, None where that is not remembered."""
        from hatch_cuda_kernels.compiler.toolchain.key_parts import recall_key_part  # off the prebuilt path

        part = recall_key_part(self._index.outside, lto=self._lto) if self._as_shipped else None
        return None if part is None else self._key(arch, instance, part)

    def look_ahead(self, go_on: Callable[[], bool]) -> None:
        """Look at what ``recalled_key`` depends on, while ``go_on`` says so; soon afterwards, that need not be done."""
        from hatch_cuda_kernels.compiler.toolchain.key_parts import recall_key_part  # off the prebuilt path

        if self._index.editable is None and not self._index.is_linked:
            recall_key_part(self._index.outside, lto=self._lto, go_on=go_on)

    def remember_key(self) -> None:
        """Make ``recalled_key`` answer from the next process on."""
        if self._as_shipped:
            from hatch_cuda_kernels.compiler.toolchain.remembered import remember_key_part  # off the hit path

            remember_key_part(self._index.outside, lto=self._lto)

    @property
    def _lto(self) -> bool:
        return bool(self._index.options.get("lto"))

    @property
    def _finisher(self) -> Finisher:
        """What finishes a compile at run time."""
        return "nvjitlink" if self._lto else "nvrtc"

    def _key(self, arch: SmArch, instance: str | None, toolchain: dict[str, str]) -> str:
        """Return the key from the index alone: it says all that scanning the source would find."""
        from hatch_cuda_kernels.compiler.key import cache_key  # off the prebuilt path

        return cache_key(
            source_sha256=self._index.source_sha256,
            options=self._index.options,
            arch=arch,
            kind="cubin",
            names=self._names(instance),
            variables=self._index.globals,
            toolchain=toolchain,
            finisher=self._finisher,
        )

    @cached_property
    def _as_shipped(self) -> bool:
        """Whether the key follows from the index alone: the store has the one source that it names, byte for byte."""
        index = self._index
        if index.editable is not None or index.is_linked:
            return False
        try:
            found = {name: sha256((self.root / name).read_bytes()).hexdigest() for name in index.files}
            if index.standard:
                standard = sha256((self._reader.folder / STANDARD_FILE).read_bytes()).hexdigest()
                if standard != index.standard:
                    return False
        except OSError:
            return False
        return found == index.files

    def _names(self, instance: str | None) -> tuple[str, ...]:
        return self._reader.details(self._index.module).names if instance is None else (instance,)
