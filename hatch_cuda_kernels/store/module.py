"""What a build made of one module: its images, the kernels they hold together, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.errors import Problem
from hatch_cuda_kernels.execution_space import NOT_CUT, SourceSet
from hatch_cuda_kernels.names import listed_module, normalize_name, without_archs
from hatch_cuda_kernels.options import canonical_options
from hatch_cuda_kernels.store.index import ImageRecord, ModuleIndex, UnitRecord
from hatch_cuda_kernels.store.launch_rules import LaunchRule, find_rule
from hatch_cuda_kernels.store.texts import ModuleDetails

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.compiler import Recipe, Unit
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.device_library import DeviceLibrary
    from hatch_cuda_kernels.image import Symbol
    from hatch_cuda_kernels.store.families import ModuleFamily


@dataclass(frozen=True)
class BuiltModule:
    """A module, or chunk of one, with all its images: what a store keeps of it."""

    recipe: Recipe
    sources: SourceSet
    units: tuple[Unit, ...]
    libraries: tuple[DeviceLibrary, ...]
    toolchain: Toolchain
    """What of the toolchain has a part in the images."""
    front_end: str
    packing: str
    patterns: tuple[dict[str, Any], ...]
    launch: tuple[LaunchRule, ...]
    where: str
    family: str
    axes: dict[str, str]
    packages: tuple[dict[str, Any], ...]
    """What brought the headers of packages, as the index has it."""
    others: ModuleFamily | None
    """How combinations of the axes that are not listed are compiled, if this module is to say so."""
    entries: tuple[Entry, ...]
    """The images, ascending by architecture, called what the recipe calls them."""

    @classmethod
    def of(cls, entries: Sequence[Entry], *, recipe: Recipe, toolchain: Toolchain, **facts: Any) -> BuiltModule:
        """Return a module with its images.

        A cache entry's module name, spelling of names and toolkit headers may be another module's or machine's.
        """
        spelled = {normalize_name(name): name for name in (*recipe.names, *recipe.globals)}

        def respelled(symbols: Sequence[Symbol]) -> tuple[Symbol, ...]:
            return tuple(one._replace(name=spelled.get(normalize_name(one.name), one.name)) for one in symbols)

        adopted = tuple(
            entry._replace(
                module=recipe.module,
                kernels=respelled(entry.kernels),
                globals=respelled(entry.globals),
                toolchain=toolchain.to_json(),
            )
            for entry in entries
        )
        return cls(recipe=recipe, toolchain=toolchain, entries=adopted, **facts)

    @property
    def name(self) -> str:
        """What the store calls the module, or the chunk."""
        return self.recipe.module

    @property
    def kernels(self) -> tuple[Symbol, ...]:
        """Every kernel of any image, in the order of the first image that has it.

        A parameter is a pointer if any architecture's PTX says so; types that depend on the architecture are left out.
        """
        merged = []
        for forms in self._forms.values():
            symbols = [symbol for symbol, _ in forms]
            kinds = zip(*(symbol.params for symbol in symbols), strict=False)
            params = tuple("ptr" if "ptr" in each else each[0] for each in kinds)
            agree = len({symbol.types for symbol in symbols}) == 1
            merged.append(symbols[0]._replace(params=params, types=symbols[0].types if agree else ()))
        return tuple(merged)

    @property
    def globals(self) -> tuple[Symbol, ...]:
        """Every variable, each once."""
        return tuple({normalize_name(symbol.name): symbol for symbol in self.entries[0].globals}.values())

    @cached_property
    def images(self) -> tuple[ImageRecord, ...]:
        """What the index says of each image."""
        variables = {f"&{key}": symbol.lowered for key, symbol in _by_key(self.globals).items()}
        listed = self._listed | variables
        records = []
        for entry in self.entries:
            own = _by_key(entry.kernels) | {f"&{key}": symbol for key, symbol in _by_key(entry.globals).items()}
            names = ((key, own[key].lowered) for key in listed if key in own)
            records.append(_record(entry, self._listed, {key: name for key, name in names if name != listed[key]}))
        return tuple(records)

    @property
    def details(self) -> ModuleDetails:
        """What the index leaves to ``details.json``."""
        resources = {record.file: record.resources for record in self.images if record.kind == "cubin"}
        lowered = {record.file: record.lowered for record in self.images if record.renames}
        cuts = tuple(unit.cut for unit in self.sources.units)
        return ModuleDetails(
            names=self.recipe.names,
            resources=resources,
            lowered=lowered,
            cuts=cuts if any(cut != NOT_CUT for cut in cuts) else (),
            levels=self.sources.levels,
            family=self.others if listed_module(self.name) == self.name else None,
        )

    def index(self, images: tuple[ImageRecord, ...], *, standard: str, editable: dict[str, str] | None) -> ModuleIndex:
        """Return what ``index.json`` says of images in their places; ``standard`` is the standard headers' digest."""
        return ModuleIndex(
            module=self.name,
            units=tuple(
                UnitRecord(unit.source, unit.program.sha256, unit.asked, source.cut.digest)
                for unit, source in zip(self.units, self.sources.units, strict=True)
            ),
            files=self.sources.files,
            outside=self.units[0].program.toolkit,
            headers=self.recipe.headers,
            options=canonical_options(self.recipe.options),
            globals=self.recipe.globals,
            patterns=self.patterns,
            launch=tuple(rule.to_json() for rule in self.launch),
            toolchain=self.toolchain.to_json(),
            images=images,
            front_end=self.front_end,
            standard=standard if self.sources.standard else "",
            libraries=tuple((library.name, library.sha256) for library in self.libraries),
            editable=editable,
            family=self.family,
            axes=self.axes,
            packages=self.packages,
        )

    def problems(self) -> list[Problem]:
        """Return what makes the module useless: no kernel at all, or one that is not what its name or rule says."""
        if not self._forms:
            fix = "list a template's instances under 'instances:', and what must be there under 'kernels:'"
            return [Problem("no kernel is in the image", fix, self.where)]
        return [problem for name in self._forms if (problem := self._problem(name))]

    def _problem(self, name: str) -> Problem | None:
        versions: dict[str, list[str]] = {}
        for symbol, entry in self._forms[name]:  # as PTX without marks of pointers declares it, for any architecture
            types = ", ".join("u64" if kind == "ptr" else kind for kind in symbol.params)
            versions.setdefault(f"{without_archs(symbol.lowered)}({types})", []).append(str(entry.arch))
        if len(versions) > 1:
            listed = "; ".join(f"{signature} for {', '.join(archs)}" for signature, archs in versions.items())
            fix = "give them different names, or put them into modules with separate 'arches:'"
            return Problem(f"kernel {name!r} is not the same on all architectures: {listed}", fix, self.where)
        rule, count = find_rule(self.launch, name), len(self._forms[name][0][0].params)
        if rule is None or len(rule.names) == count:
            return None
        message = f"the launch rule of {rule.kernel!r} counts {len(rule.names)} parameters in the source"
        fix = "declare them without macros and packs, or leave out the rule"
        return Problem(f"{message}, but {name!r} has {count}", fix, self.where)

    @cached_property
    def _forms(self) -> dict[str, list[tuple[Symbol, Entry]]]:
        found: dict[str, list[tuple[Symbol, Entry]]] = {}
        for entry in self.entries:
            for key, symbol in _by_key(entry.kernels).items():
                found.setdefault(key, []).append((symbol, entry))
        if listed_module(self.name) == self.name:
            return found
        own = set(map(normalize_name, self.recipe.names))  # the rest is the first chunk's
        return {key: forms for key, forms in found.items() if key in own}

    @cached_property
    def _listed(self) -> dict[str, str]:
        """Each kernel's lowered name as ``kernels.tsv`` lists it, by name as looked up."""
        return {key: forms[0][0].lowered for key, forms in self._forms.items()}


def _by_key(symbols: Sequence[Symbol]) -> dict[str, Symbol]:
    return {normalize_name(symbol.name): symbol for symbol in symbols}


def _record(entry: Entry, listed: dict[str, str], renamed: dict[str, str]) -> ImageRecord:
    has = _by_key(entry.kernels)
    held = {symbol.lowered for symbol in entry.kernels}
    back = {own: listed[key] for key, own in renamed.items() if key in listed}
    return ImageRecord(
        file=f"{entry.module}.{entry.arch}.{entry.kind}",
        kind=entry.kind,
        arch=entry.arch,
        sha256=entry.sha256,
        bytes=len(entry.image),
        ptx_isa=entry.ptx_isa,
        resources={back.get(own, own): used for own, used in entry.resources.items() if entry.kind == "cubin"},
        lacks=tuple(sorted({lowered for key, lowered in listed.items() if key not in has} - held)),
        renames=bool(renamed),
        lowered=renamed,
    ).with_summary()
