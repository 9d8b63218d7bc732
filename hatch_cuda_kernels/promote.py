"""What was compiled at run time: which kernels, and how ``kernels.yaml`` would list them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels import manifest as kernels_yaml  # its names load yaml when they are used
from hatch_cuda_kernels.compiler.toolchain import Toolchain
from hatch_cuda_kernels.errors import InputError, ManifestError
from hatch_cuda_kernels.names import axes_key, family_key, listed_module, match, normalize_name
from hatch_cuda_kernels.store import ModuleSource, StoreReader, find_module
from hatch_cuda_kernels.terminal import count_text

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.cache import DiskCache, Entry
    from hatch_cuda_kernels.image import Finisher
    from hatch_cuda_kernels.manifest import Manifest, Module


class Wanted(NamedTuple):
    """What should be prebuilt: a module's kernels for an architecture, or an instance that is not listed."""

    module: str
    arch: SmArch | None
    """None if the listed architectures suffice."""
    instance: str | None
    """None if the listed names suffice."""
    family: str = ""
    """Of a module that is not listed: what those with other values of the axes are called together."""
    axes: tuple[tuple[str, str], ...] = ()
    """These values."""


class Miss(NamedTuple):
    """A kernel that was requested and compiled, and the architecture it was compiled for."""

    module: str
    kernel: str
    """Its name in the request."""
    listed: bool
    """Whether the package lists the kernel, so that only the architecture was missing."""
    arch: SmArch
    created: str
    """When it was compiled: UTC, ISO 8601."""
    used: float
    """When it was last used: seconds since 1970, within the hour."""
    seconds: float
    key: str
    wanted: Wanted
    """What would have prebuilt it. An architecture on which an image runs anyway is not asked for."""


def find_misses(reader: StoreReader, cache: DiskCache) -> list[Miss]:
    """Return the recorded compiles that belong to this store, sorted by module, kernel and architecture.

    An entry belongs to it if its key can be made from the store's source, options and names, or from an image. Raises
    InputError if the sources of an editable install cannot be read.
    """
    modules = {index.module for index in reader.modules()}
    found = [_miss(reader, modules, entry, used) for entry, _, used in cache.entries() if entry.wanted]
    return sorted(miss for miss in found if miss is not None)


def _miss(reader: StoreReader, modules: set[str], entry: Entry, used: float) -> Miss | None:
    module = entry.module
    if entry.family:  # its module may be listed by now, or be impossible
        try:
            module = find_module(reader, entry.family, entry.axes)
        except InputError:
            return None
    if module not in modules and module not in reader.unlisted:
        return None
    index, lines = reader.module(module), reader.find(normalize_name(entry.wanted), module)
    instance = None if lines or (module in reader.unlisted and "<" not in entry.wanted) else entry.wanted
    listed = instance is None and module not in reader.unlisted
    if listed and any(record.arch == entry.arch for record in index.images):
        return None  # prebuilt by now, or compiled from a source edited since an editable install
    if entry.key not in _keys(reader, module, entry, instance):
        return None
    covered = any(record.arch.refusal(entry.arch.capability) is None for record in index.images)
    family = ("", ()) if module in modules else (entry.family, tuple(index.axes.items()))
    arch = entry.arch if listed or not covered else None
    wanted = Wanted(listed_module(index.module), arch, instance, *family)
    return Miss(index.module, entry.wanted, listed, entry.arch, entry.created, used, entry.seconds, entry.key, wanted)


def _keys(reader: StoreReader, module: str, entry: Entry, instance: str | None) -> list[str]:
    toolchain, source = entry.toolchain, ModuleSource(reader, module)
    if "nvrtc" not in toolchain:
        inputs = [record for record in reader.module(module).images if record.kind != "cubin"]
        finisher: Finisher = "ptxas" if "ptxas" in toolchain else "nvjitlink"
        return [source.finished_key(record, entry.arch, finisher) for record in inputs]
    compiler = Toolchain(toolchain["nvrtc"], toolchain.get("headers", ""), nvjitlink=toolchain.get("nvjitlink", ""))
    return [source.job(entry.arch, instance).key("cubin", compiler)]


class Promotion(NamedTuple):
    """A manifest's text before and after, what was changed, and what could not be changed, with the reason."""

    before: str
    after: str
    changes: tuple[str, ...]
    refused: tuple[str, ...]


def promote(path: Path, wanted: Sequence[Wanted]) -> Promotion:
    """Return the changes that make a manifest list what is wanted; writes nothing.

    It extends the matrix if one more value of one axis is enough, and lists any other instance. Of axes in the name of
    a module, it does so where that adds no combination that is not wanted. Raises ManifestError.
    """
    manifest = kernels_yaml.load_manifest(path)
    draft = _Draft(path, path.read_bytes().decode(), manifest)
    combinations = {family_key(want.family, dict(want.axes)): want for want in wanted if want.axes}
    for key, want in combinations.items():
        if key not in draft.combinations():
            draft.list_combination(key, want, combinations)
    named = [want._replace(module=draft.name_of(want)) for want in dict.fromkeys(wanted)]
    missing = [want for want in named if want.module and not draft.lacks_module(want)]
    instances = dict.fromkeys((want.module, want.instance) for want in missing if want.instance is not None)
    while any(draft.extend_matrix(module, instance) for module, instance in instances):
        pass  # one more value may bring the next instance within reach
    for module, instance in instances:
        draft.list_instance(module, instance)
    for want in missing:
        if want.arch is not None:
            draft.list_arch(want.module, want.arch)
    return Promotion(draft.before, draft.text, tuple(draft.changes), tuple(draft.refused))


class _Draft:
    """The manifest with the changes so far. It refuses a change that would make it invalid."""

    def __init__(self, path: Path, text: str, manifest: Manifest) -> None:
        self.path = path
        self.before = self.text = text
        self.manifest = manifest
        self.changes: list[str] = []
        self.refused: list[str] = []

    def lacks_module(self, want: Wanted) -> bool:
        """Return whether the manifest lacks the module, and note it if so."""
        lacking = all(module.name != want.module for module in self.manifest.modules)
        problem = f"{self.path.name} has no module {want.module!r}; is it the manifest of this package?"
        if lacking and problem not in self.refused:
            self.refused.append(problem)
        return lacking

    def list_combination(self, key: str, want: Wanted, wanted: Mapping[str, Wanted]) -> None:
        """Make the manifest have modules with these values of axes.

        It adds a value to an axis of a module's name, if that adds only what is wanted, or else list the combination.
        """
        alike = axes_key(want.family, dict(want.axes))
        families = {one.entry: one.unfilled for one in self.manifest.modules if one.unfilled}
        named = {one.entry for one in self.manifest.modules if axes_key(one.family, dict(one.axes)) == alike}
        values = ", ".join(f"{axis}: {value}" for axis, value in want.axes)
        if len(named) != 1:
            several = f"{' and '.join(map(repr, sorted(named)))} could have it; list it in one of them"
            reason = several if named else f"{self.path.name} has no module of that name with these axes"
            self.refused.append(f"{want.family} with {values}: {reason}")
            return
        (entry,) = named
        family, before = families[entry], self.combinations()
        new = [
            (axis, value)
            for axis, value in want.axes
            if family and normalize_name(value) not in map(normalize_name, family.axes[axis])
        ]

        def adds_only_wanted() -> bool:
            added = self.combinations() - before
            return key in added and {one for one in added if one.startswith(f"{{{want.family};")} <= wanted.keys()

        for axis, value in new if len(new) == 1 else ():
            path = ("modules", entry, "matrix", axis)
            if self._append(path, value, after="matrix", only_if=adds_only_wanted) is None:
                more = count_text(len(self.combinations() - before), "more module")
                self.changes.append(f"{'.'.join(path)}: {value} ({more})")
                return
        after = "exclude" if kernels_yaml.has_key(self.text, ("modules", entry, "exclude")) else "matrix"
        self._list(("modules", entry, "combinations"), dict(want.axes), after=after, shown=f"{{{values}}}")

    def name_of(self, want: Wanted) -> str:
        """Return what the manifest calls a module; empty if it lacks the combination, which has been noted."""
        key = family_key(want.family, dict(want.axes))
        alike = (one.name for one in self.manifest.modules if family_key(one.family, dict(one.axes)) == key)
        return next(alike, "") if want.axes else want.module

    def combinations(self) -> set[str]:
        """Return the keys of the modules with values of axes that there are by now."""
        return {family_key(module.family, dict(module.axes)) for module in self.manifest.modules if module.family}

    def extend_matrix(self, module: str, instance: str) -> bool:
        """Add a value to an axis so that a pattern gives the instance; return whether that was possible."""
        entry = self._module(module).entry
        if self._has(module, instance) or "*" in entry:
            return False
        for pattern in self._module(module).patterns:
            values = match(pattern.text, instance) or {}
            known = {axis: {normalize_name(value) for value in listed} for axis, listed in pattern.matrix}
            new = [(axis, value) for axis, value in values.items() if value not in known[axis]]
            if len(new) != 1:  # one more value has to be enough
                continue
            ((axis, value),) = new
            count, path = self._count(entry), ("modules", entry, "matrix", axis)
            if self._append(path, value, after=self._source_key(entry)) is None:
                more = self._count(entry) - count
                self.changes.append(f"{'.'.join(path)}: {value} ({more} more kernels)")
                return True
        return False

    def list_instance(self, module: str, instance: str) -> None:
        entry = self._module(module).entry
        if self._has(module, instance):
            return
        if "*" in entry:
            reason = f"the lists of {entry!r} are for all its modules; give it its own source and entry"
            self.refused.append(f"modules.{module}: {instance}: {reason}")
        else:
            self._list(("modules", entry, "instances"), instance, after=self._source_key(entry))

    def list_arch(self, module: str, arch: SmArch) -> None:
        if arch in self._module(module).arches:
            return
        path: tuple[str, ...] = ("modules", self._module(module).entry, "arches")
        after = self._source_key(path[1])
        if not kernels_yaml.has_key(self.text, path):
            path, after = ("arches",), "cuda" if kernels_yaml.has_key(self.text, ("cuda",)) else "schema"
        self._list(path, str(arch), after=after, default="all-major")

    def _list(
        self, path: tuple[str, ...], item: str | dict[str, str], *, after: str, default: str = "", shown: str = ""
    ) -> None:
        problem, what = self._append(path, item, after=after, default=default), f"{'.'.join(path)}: {shown or item}"
        if problem is None:
            self.changes.append(what)
        else:
            self.refused.append(f"{what}: {problem}")

    def _source_key(self, entry: str) -> str:
        """Return the key of an entry that names its source, or sources: it has one of them."""
        return "source" if kernels_yaml.has_key(self.text, ("modules", entry, "source")) else "sources"

    def _count(self, entry: str) -> int:
        return sum(len(module.instances) for module in self.manifest.modules if module.entry == entry)

    def _module(self, name: str) -> Module:
        return next(module for module in self.manifest.modules if module.name == name)

    def _has(self, module: str, instance: str) -> bool:
        found = self._module(module)
        names = {normalize_name(name.text) for name in (*found.kernels, *found.instances)}
        return normalize_name(instance) in names

    def _append(
        self,
        path: tuple[str, ...],
        item: str | dict[str, str],
        *,
        after: str,
        default: str = "",
        only_if: Callable[[], bool] = lambda: True,
    ) -> str | None:
        """Append an item to a list of the draft, or return why that would not be a valid, or a wanted, manifest."""
        text, before = kernels_yaml.append_item(self.text, path, item, after=after, default=default), self.manifest
        try:
            self.manifest = kernels_yaml.parse_manifest(text, root=self.path.parent, filename=self.path.name)
        except ManifestError as error:
            return error.problems[0].split(": ", 2)[-1]
        others = self._of_others(before, path) ^ self._of_others(self.manifest, path)
        if others or not only_if():
            self.manifest = before
            names = " and ".join(sorted({repr(entry) for entry, *_ in others}))
            return f"{names} has the same list, by an anchor; write it out there" if names else "it would add more"
        self.text = text
        return None

    @staticmethod
    def _of_others(
        manifest: Manifest, path: tuple[str, ...]
    ) -> set[tuple[str, str, tuple[str, ...], tuple[SmArch, ...]]]:
        """Return what is compiled of other entries than the one in which a path is; none if it is not in one."""
        others = (one for one in manifest.modules if path[0] == "modules" and one.entry != path[1])
        return {(one.entry, one.name, tuple(name.text for name in one.instances), one.arches) for one in others}
