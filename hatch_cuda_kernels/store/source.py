"""From a store's index back to a compile: index -> source with its headers -> job, and the key of what that gives.

The source is the one shipped in the store, or the project itself in an editable install.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.arch import SmArch, cuda_release_for_arch
from hatch_cuda_kernels.errors import CompileError, InputError, Problem, StoreError, ToolchainError, warn_user
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.names import base_name, normalize_name
from hatch_cuda_kernels.store.index import DETAILS_FILE, INDEX_FILE, STANDARD_FILE, ImageRecord, ModuleIndex, UnitRecord

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.compiler import Job, Recipe, SourceReader
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.execution_space import SourceChange, SourceSet
    from hatch_cuda_kernels.image import Finisher
    from hatch_cuda_kernels.includes import OuterHeaders
    from hatch_cuda_kernels.store.reader import StoreReader
    from hatch_cuda_kernels.store.unlisted import SourceReading, UnlistedModule

_NOTES: Final = "as-built"
_READINGS: Final = "as-asked"
#: In place of what a build recorded of the headers that are not the project's: those that are installed.
_HERE: Final = "here"


class ModuleSource:
    """Where a module's source is, whether it is still what the prebuilt images are from, and the jobs made of it.

    ``instance`` is an instance that the module does not list, compiled by itself; None stands for all listed names. A
    combination of axes that is not listed is a module, too: the shipped sources are read for it, by the rules.
    """

    def __init__(self, reader: StoreReader, module: str) -> None:
        self._reader = reader
        self._module = module
        self._index = reader.module(module)
        self._is_editable = self._index.editable is not None
        unlisted = None if self._is_editable else reader.unlisted.get(module)
        self._combination = None if unlisted is None else _Combination(reader, unlisted, self.recipe)
        self._again: SourceReader | None = None
        """What reads the sources after a failed compile."""

    @cached_property
    def stale(self) -> str | None:
        """Why prebuilt images no longer count: in an editable install, the source or a header has changed.

        It warns, once, of a manifest that changed: its options and lists are known from the last install only.
        """
        index = self._index
        if index.editable is None:
            return None
        changed: list[str] = []
        manifest = self.root / index.editable["manifest"]
        if manifest.is_file() and sha256(manifest.read_bytes()).hexdigest() != index.editable["manifest_sha256"]:
            changed.append(f"{manifest} changed since the editable install; for it")
        packages = _other_packages(index) if index.packages else ()
        changed += [f"{difference}; for that one" for _, difference in packages if difference]
        for what in changed:
            from hatch_cuda_kernels.compiler.toolchain import editable_install  # off the usual path

            warn_user(f"{what} to count, run: {editable_install(self.root)}")
        if self._module in self._reader.unlisted:
            return None  # it has no image
        recipe = self.recipe()
        try:
            sources = read_edited(self.root, self._reader, index, recipe)
        except InputError as error:
            return f"the source cannot be read: {error}"
        libraries = {(library.name, library.sha256) for library in sources.libraries}
        current = [unit.program.sha256 for unit in recipe.units(sources)]
        unchanged = current == [unit.sha256 for unit in index.units] and libraries.issubset(index.libraries)
        return None if unchanged else "the source or a header changed since it was built"

    def host_code(self) -> tuple[tuple[SourceChange, ...], str]:
        """Return the changes in the sources, and the sentence about them; neither if the sources cannot be read."""
        try:
            recipe = self.recipe()
            if self._module in self._reader.unlisted:
                sources = self._sources()
            elif not self._is_editable:
                sources = read_shipped(self._reader, self._index, recipe, with_changes=True)
            else:
                sources = read_edited(self.root, self._reader, self._index, recipe)
        except (InputError, StoreError):
            return (), ""
        return sources.changes, recipe.cut_sentence(sources)

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
        return self._reader.source_root(self._module)

    @property
    def scope(self) -> str:
        """A unique name of the module among all stores."""
        return str(self._reader.folder / self._module)

    def device_arch(self, capability: tuple[int, int]) -> SmArch:
        """Return the architecture to compile for a device, with the suffix of the module's if the device has it."""
        built = {record.arch.suffix for record in self._index.images}
        forms = (SmArch.of_device(capability, suffix) for suffix in ("a", "f") if suffix in built)
        known = (form for form in forms if any(cuda_release_for_arch(form, major=major) for major in (12, 13)))
        return next(known, SmArch.of_device(capability))

    def check(self) -> None:
        """Raise StoreError where the index is not the one that the build wrote, unless it is an editable install's."""
        if not self._is_editable:
            self._reader.check_module(self._module)

    def job(self, arch: SmArch, instance: str | None, *, as_here: bool = False) -> Job:
        """Return the compile for an architecture: as the build's toolkit would do it, or ``as_here`` as the one here.

        The former has the key, whichever toolkit compiles. Raises InputError, StoreError or ToolchainError.
        """
        return self.recipe(self._names(instance)).job(self._sources(as_here=as_here), arch, ("cubin",))

    def _sources(self, *, as_here: bool = False) -> SourceSet:
        if self._combination is not None:
            return self._combination.sources(as_here=as_here)
        if not self._is_editable:
            return read_shipped(self._reader, self._index, self.recipe(), as_here=True) if as_here else self._shipped
        reader = self._source_reader()
        sources = reader.read(self.recipe())
        reader.save(is_done=True)
        return sources

    def _source_reader(self) -> SourceReader:
        from hatch_cuda_kernels.compiler import SourceReader  # off the prebuilt path

        levels, copies = self._reader.details(self._module).levels, package_copies(self._reader, self._index)
        return SourceReader(self.root, [self._index.module], levels, copies=copies)

    def job_after(self, error: CompileError, arch: SmArch, instance: str | None) -> Job | None:
        """Return the compile to try after a failed one, with more of an edited source cut; None if nothing may be cut.

        It is not remembered: each process begins with the first compile, and finds the outcome under that one's key.
        """
        recipe = self.recipe(self._names(instance))
        if not self._is_editable:
            learned = None if self._combination is None else self._combination.learn(error)
            return None if learned is None else recipe.job(learned, arch, ("cubin",))
        if self._again is None:
            self._again = self._source_reader()
            self._again.read(recipe)
        return recipe.job(self._again.read(recipe), arch, ("cubin",)) if self._again.learn(recipe, error) else None

    def toolchain(self, found: Toolchain) -> Toolchain:
        """Return the toolchain that compiles the module.

        Other toolkit headers than the build's may ask for standard headers that the store lacks: it has this package's.
        """
        index = self._index_read
        is_here = self._combination is not None and self._combination.reading.is_here
        if self._is_editable or is_here or found.takes_as(index.toolkit_headers, index.outside):
            return found
        return found.with_standard(self._reader.standard_headers(index.standard) if index.standard else ())

    def disagreement(self, arch: SmArch, instance: str | None, found: Toolchain) -> Problem | None:
        """Return why the parts of a toolchain cannot compile the module together, and what mends it, or None."""
        from hatch_cuda_kernels.compiler.toolchain import disagreement  # off the prebuilt path

        finisher: Finisher = "nvjitlink" if self._index.is_linked else _finisher(self._index)
        return disagreement(
            found, self._index_read.outside, finisher=finisher, opened=lambda: self.job(arch, instance).opened
        )

    def key(self, arch: SmArch, instance: str | None, toolchain: Toolchain) -> str:
        """Return the key of the CUBIN that a toolchain found somewhere gives. Raises what ``job`` raises."""
        toolchain = self.toolchain(toolchain)
        if not self._as_shipped:
            return self.job(arch, instance).key("cubin", toolchain)
        used = toolchain.of_compile(self._index_read.outside, finisher=_finisher(self._index))
        return self._key(arch, instance, used.key_part)

    def finished_key(self, record: ImageRecord, arch: SmArch, finisher: Finisher) -> str:
        """Return the key of the CUBIN that is made of a shipped image. The finisher's version is only recorded."""
        from hatch_cuda_kernels.compiler import shipped_key  # off the prebuilt path

        options, keep = self._index.options, self.kept_variables(record)
        return shipped_key(image_sha256=record.sha256, arch=arch, options=options, finisher=finisher, keep=keep)

    def kept_variables(self, record: ImageRecord) -> list[str] | None:
        """Return the variables that stay in the CUBIN of LTO-IR, as in a build's; None for all: PTX has no others."""
        if record.kind != "ltoir":
            return None
        keys = (f"&{normalize_name(name)}" for name in self._index.globals)
        lines = (line for key in keys for line in self._reader.find(key, self._module) if line.module == self._module)
        return [self._reader.lowered(line, record.sha256) for line in lines]

    def recalled_key(self, arch: SmArch, instance: str | None) -> str | None:
        """Return the same as ``key`` for this process's toolchain, None where that is not remembered."""
        if not self._is_keyed_by_index:
            return None
        part = self._recalled_part
        if part is None:
            from hatch_cuda_kernels.compiler.toolchain import hash_ahead  # off the hit path

            hash_ahead()  # while the source is read
        is_as_shipped = self._as_shipped
        return self._key(arch, instance, part) if part is not None and is_as_shipped else None

    @property
    def lacks_key(self) -> bool:
        """Whether no earlier process here asked for what is compiled of these sources, as far as is remembered."""
        return self._is_keyed_by_index and self._recalled_part is None

    @property
    def _is_keyed_by_index(self) -> bool:
        return not self._is_editable and not self._index.is_linked

    @cached_property
    def _recalled_part(self) -> dict[str, str] | None:
        """The toolchain's part of the key, where it is remembered: a request looks once at up to a thousand files."""
        from hatch_cuda_kernels.compiler.toolchain import recall_key_part  # off the prebuilt path

        return recall_key_part(self._index_read.outside, built=self._built, lto=self._lto)

    def remember_key(self) -> None:
        """Make ``recalled_key`` answer from now on, and in the next process."""
        if self._as_shipped:
            from hatch_cuda_kernels.compiler.toolchain import remember_key_part  # off the hit path

            remember_key_part(self._index_read.outside, built=self._built, lto=self._lto, used=self.toolchain)
            self.__dict__.pop("_recalled_part", None)

    @property
    def _built(self) -> str:
        """What the headers from outside the project are that the sources were read with."""
        is_here = self._combination is not None and self._combination.reading.is_here
        return _HERE if is_here else self._index_read.outer_headers

    @property
    def _lto(self) -> bool:
        return _finisher(self._index) == "nvjitlink"

    def _key(self, arch: SmArch, instance: str | None, toolchain: dict[str, str]) -> str:
        """Return the key from the index alone: it says all that scanning the source would find."""
        from hatch_cuda_kernels.compiler import cache_key  # off the prebuilt path

        return cache_key(
            source_sha256=self._index_read.source_sha256,
            options=self._index.options,
            arch=arch,
            kind="cubin",
            names=self._names(instance),
            variables=self._index.globals,
            toolchain=toolchain,
            finisher=_finisher(self._index),
        )

    @cached_property
    def _shipped(self) -> SourceSet:
        """The sources as the store has them, read once for the key and for the compile."""
        return read_shipped(self._reader, self._index, self.recipe())

    @cached_property
    def _as_shipped(self) -> bool:
        """Whether the key follows from the index alone: the source is as shipped, and is read as the build read it."""
        if not self._is_keyed_by_index:
            return False
        index, root = self._index_read, self.root
        files = {root / name: digest for name, digest in index.files.items()}
        files |= {self._reader.folder / STANDARD_FILE: index.standard} if index.standard else {}
        try:
            is_whole = all(sha256(path.read_bytes()).hexdigest() == digest for path, digest in files.items())
        except OSError:
            return False

        def read() -> tuple[str, ...]:
            try:
                recipe = self.recipe()
                units = recipe.units(self._shipped)
            except (InputError, StoreError):
                return ()
            return tuple(unit.program.sha256 for unit in units)

        return is_whole and (self._combination is not None or reads_as_built(index, read))

    def _names(self, instance: str | None) -> tuple[str, ...]:
        return self._reader.names(self._module) if instance is None else (instance,)

    @property
    def _index_read(self) -> ModuleIndex:
        """The index, with what the sources are unless they are those of an editable install."""
        return self._index if self._combination is None else self._combination.reading.module

    @property
    def declared_kernels(self) -> tuple[str, ...]:
        """The kernels that the sources declare, but for templates. Raises what ``job`` raises."""
        known = self._combination
        return _plain_kernels(self._sources()) if known is None else known.reading.kernels

    def declares(self, kernel: str) -> bool:
        """Return whether the sources declare a kernel. Raises what ``job`` raises."""
        return base_name(kernel) in self.declared_kernels


class _Combination:
    """The sources of a combination of axes that is not listed: they are the store's, read for it by the rules."""

    def __init__(self, reader: StoreReader, unlisted: UnlistedModule, recipe: Callable[[], Recipe]) -> None:
        self._reader = reader
        self._unlisted = unlisted
        self._index = unlisted.index
        self._recipe = recipe
        self._learned: SourceSet | None = None
        """What they were read as after a failed compile."""

    @property
    def reading(self) -> SourceReading:
        """What they were read as. Raises InputError or StoreError."""
        if self._unlisted.reading is None:
            self._unlisted.reading = self._recall() or self._read()
        return self._unlisted.reading

    def sources(self, *, as_here: bool = False) -> SourceSet:
        """Return them, ``as_here`` with the headers that are installed. Raises InputError or StoreError."""
        reading = self.reading
        if reading.sources is not None and (reading.is_here or not as_here):
            return reading.sources
        return self._read_sources(is_here=as_here or reading.is_here)

    def learn(self, error: CompileError) -> SourceSet | None:
        """Return them with more cut, after NVRTC refused some of it; None if nothing may be."""
        from hatch_cuda_kernels.compiler import further_levels, read_recipe  # few sources need it

        recipe, sources, root = self._recipe(), self._learned or self.sources(), self._root
        known = self._surroundings(is_here=self.reading.is_here)
        levels = further_levels(recipe, root, sources, error, **known)
        self._learned = None if levels is None else read_recipe(recipe, root, levels=levels, **known)
        return self._learned

    def _read(self) -> SourceReading:
        """Read the sources, and remember what they are.

        Headers from outside the project are as the build had them, so that a key is the same on every machine. Where
        the values of axes lead to others, they are those that are installed.
        """
        from hatch_cuda_kernels.store.unlisted import SourceReading  # few modules have one

        recipe, index = self._recipe(), self._index
        sources, is_here = self._read_sources(is_here=index.is_linked), index.is_linked
        if not is_here and not {*sources.outside}.issubset(index.outside or ()):
            sources, is_here = self._read_sources(is_here=True), True
        units = recipe.units(sources)
        module = index._replace(
            units=tuple(UnitRecord(unit.source, unit.program.sha256, unit.asked) for unit in units),
            files=sources.files,
            outside=units[0].program.toolkit,
            standard=index.standard if sources.standard and not is_here else "",
        )
        reading = SourceReading(module, is_here, _plain_kernels(sources), sources)
        self._note(reading)
        return reading

    def _read_sources(self, *, is_here: bool) -> SourceSet:
        from hatch_cuda_kernels.compiler import read_recipe  # off the prebuilt path

        levels = self._unlisted.details.levels
        return read_recipe(self._recipe(), self._root, levels=levels, **self._surroundings(is_here=is_here))

    @property
    def _root(self) -> Path:
        return self._reader.folder / self._index.source_folder

    def _surroundings(self, *, is_here: bool) -> dict[str, Any]:
        """Return what of the project the sources may read, and the headers outside it."""
        from hatch_cuda_kernels.includes import Project, ProjectFiles  # as above

        outer = () if is_here else _outer_as_built(self._reader, self._index)
        return {"project": Project(ProjectFiles(self._root, only=self._unlisted.files)), "outer": outer}

    @property
    def _subject(self) -> str:
        """All that the sources depend on, but for the code that reads them and the toolkit here."""
        index, unlisted = self._index, self._unlisted
        asked = [[unit.source, *unit.asked] for unit in index.units]
        outside = [index.outside, index.standard, index.headers]
        return json.dumps([asked, outside, index.options, unlisted.files, unlisted.details.levels], sort_keys=True)

    def _recall(self) -> SourceReading | None:
        """Return what an earlier process read; None where that is not remembered, or may be otherwise by now."""
        from hatch_cuda_kernels.cache import Notes  # off the prebuilt path
        from hatch_cuda_kernels.store.unlisted import SourceReading

        if self._index.is_linked:  # its key needs the sources themselves
            return None
        note = Notes(_READINGS).read_current(self._subject)
        try:
            outside = None if note["outside"] is None else tuple(note["outside"])
            units = tuple(UnitRecord(source, digest, tuple(asked)) for source, digest, asked in note["units"])
            known = {"units": units, "files": dict(note["files"]), "outside": outside, "standard": note["standard"]}
            reading = SourceReading(self._index._replace(**known), note["is_here"], tuple(note["kernels"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        return reading if not reading.is_here or note["part"] == self._toolkit_part(reading) else None

    def _note(self, reading: SourceReading) -> None:
        from hatch_cuda_kernels.cache import Notes, file_state  # off the prebuilt path
        from hatch_cuda_kernels.compiler import rule_files
        from hatch_cuda_kernels.includes import STANDARD_FOLDER

        module, sources = reading.module, reading.sources
        standard = sources.standard if sources and reading.is_here else ()
        files = [*rule_files(), *(f"{STANDARD_FOLDER}/{name}" for name in standard)]
        part = self._toolkit_part(reading) if reading.is_here else None
        if not rule_files() or module.is_linked or (reading.is_here and part is None):
            return
        units = [[unit.source, unit.sha256, unit.asked] for unit in module.units]
        known = {"units": units, "files": module.files, "outside": module.outside, "standard": module.standard}
        states = {"states": {path: file_state(path) for path in files}, "part": part}
        found = {"is_here": reading.is_here, "kernels": reading.kernels}
        Notes(_READINGS).write(self._subject, known | states | found)

    def _toolkit_part(self, reading: SourceReading) -> dict[str, str] | None:
        """Return what of the toolchain here enters the key of a reading with its headers; None without a toolchain."""
        from hatch_cuda_kernels.compiler.toolchain import current_toolchain, recall_key_part  # off the prebuilt path

        outside = reading.module.outside
        finisher = _finisher(self._index)
        known = recall_key_part(outside, built=_HERE, lto=finisher == "nvjitlink")
        try:
            return known or current_toolchain().of_compile(outside, finisher=finisher).key_part
        except ToolchainError:
            return None


def _finisher(index: ModuleIndex) -> Finisher:
    return "nvjitlink" if index.options.get("lto") else "nvrtc"


def _plain_kernels(sources: SourceSet) -> tuple[str, ...]:
    return tuple(sorted({kernel.name for kernel in sources.declared.kernels if not kernel.is_template}))


def recipe_of(index: ModuleIndex, names: tuple[str, ...]) -> Recipe:
    """Return a module's recipe with these names. Raises TypeError or ValueError for options that are not known here."""
    from hatch_cuda_kernels.compiler import Recipe  # off the prebuilt path
    from hatch_cuda_kernels.options import options_from

    return Recipe(
        module=index.module,
        sources=index.sources,
        libraries=tuple(name for name, _ in index.libraries),
        options=options_from(index.options),
        names=names,
        globals=index.globals,
        headers=index.headers,
    )


def read_shipped(
    reader: StoreReader, index: ModuleIndex, recipe: Recipe, *, as_here: bool = False, with_changes: bool = False
) -> SourceSet:
    """Return a module's sources with their header closures, as the store has them.

    With ``as_here``, the closures are those of a build here, with this package's standard headers. The store has edits
    without their reasons; ``with_changes`` finds these, which takes as long as a build's reading. Raises InputError, or
    StoreError where a file is missing, or not the one that the index names.
    """
    from hatch_cuda_kernels.compiler import read_recipe  # off the prebuilt path
    from hatch_cuda_kernels.execution_space import NOT_CUT
    from hatch_cuda_kernels.includes import Project, ProjectFiles

    root = reader.source_root(index.module)
    project = Project(ProjectFiles(root, only=index.files))  # other modules' files are there, too
    details = reader.details(index.module)
    cuts = details.cuts or (NOT_CUT,) * len(index.units)
    if [cut.digest for cut in cuts] != [unit.cut for unit in index.units]:
        where = str(reader.folder / index.module / DETAILS_FILE)
        raise StoreError(where, f"what it says was cut of the sources differs from what {INDEX_FILE} says")
    if as_here:
        return read_recipe(recipe, root, project=project, cuts=cuts)
    outer = _outer_as_built(reader, index)
    if with_changes and details.cuts:
        return read_recipe(recipe, root, project=project, outer=outer, levels=details.levels)
    return read_recipe(recipe, root, project=project, outer=outer, cuts=cuts)


def _outer_as_built(reader: StoreReader, index: ModuleIndex) -> list[OuterHeaders]:
    """Return the headers outside the project as a build recorded them, for each source. Raises StoreError."""
    from hatch_cuda_kernels.includes import OuterHeaders, StandardHeaders

    texts = reader.standard_headers(index.standard) if index.standard else {}
    standard = StandardHeaders(texts, lambda name: texts[name].encode())
    return [OuterHeaders.as_built(standard, unit.asked) for unit in index.units]


def read_edited(root: Path, reader: StoreReader, index: ModuleIndex, recipe: Recipe) -> SourceSet:
    """Return the sources of an editable install as they are now, all else as built. Raises InputError or StoreError."""
    from hatch_cuda_kernels.compiler import read_recipe  # off the prebuilt path
    from hatch_cuda_kernels.includes import OuterHeaders, Project, ProjectFiles, packaged_standard_headers

    outer = [OuterHeaders.as_built(packaged_standard_headers(), unit.asked) for unit in index.units]
    project = Project(ProjectFiles(root, copies=package_copies(reader, index)))
    return read_recipe(recipe, root, project=project, outer=outer, levels=reader.details(index.module).levels)


def package_copies(reader: StoreReader, index: ModuleIndex) -> dict[str, Path]:
    """Return where the store has headers of packages that count in an editable install: none or another is here."""
    from hatch_cuda_kernels.includes import MARK  # few projects include headers of packages

    root = reader.folder / index.source_folder
    return {f"{MARK}{name}": root / f"{MARK}{name}" for name, _ in _other_packages(index)}


def _other_packages(index: ModuleIndex) -> Iterator[tuple[str, str]]:
    """Yield the packages that are not here as they were compiled with, each with a sentence if another version is."""
    from hatch_cuda_kernels.compiler.toolchain import installed_versions  # as above

    for name in sorted({one["package"] for one in index.packages}):
        here = installed_versions(name)
        stated = (one for one in index.packages if one["package"] == name and "distribution" in one)
        built = {(one["distribution"], one["version"]) for one in stated}
        if here is None or not built <= here:
            texts = [", ".join(" ".join(one) for one in sorted(some)) or name for some in (built, here or ())]
            yield name, "" if here is None else "{} is compiled with, and {} is installed here".format(*texts)


def reads_as_built(index: ModuleIndex, read: Callable[[], tuple[str, ...]]) -> bool:
    """Return whether ``read``, which returns the digests of a module's units, returns the build's; remembered."""
    from hatch_cuda_kernels.cache import Notes, file_state  # off the prebuilt path

    asked = [[unit.source, unit.sha256, *unit.asked] for unit in index.units]
    subject = json.dumps([asked, index.files, index.standard, index.headers, index.options], sort_keys=True)
    notes = Notes(_NOTES)
    if note := notes.read_current(subject):
        return note.get("same") is True
    from hatch_cuda_kernels.compiler import rule_files  # where the answer is remembered, none is needed

    states = {path: file_state(path) for path in rule_files()}
    same = read() == tuple(unit.sha256 for unit in index.units)
    if states:
        notes.write(subject, {"same": same, "states": states})
    return same
