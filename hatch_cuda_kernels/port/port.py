"""From sources written for nvcc to a patch, with what it takes to compile their kernels."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.manifest import parse_manifest
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.pool.apart import one_worker
from hatch_cuda_kernels.port.bindings import Bindings
from hatch_cuda_kernels.port.check_instances import accepted_guesses, refused_instances
from hatch_cuda_kernels.port.device_runtime import stated_of, with_device_runtime
from hatch_cuda_kernels.port.draft import draft_modules, find_templates, manifest_text
from hatch_cuda_kernels.port.guard import guarded
from hatch_cuda_kernels.port.guesses import enumerators_of, guesses_for
from hatch_cuda_kernels.port.hidden import with_hidden
from hatch_cuda_kernels.port.launches import find_launches, resolved
from hatch_cuda_kernels.port.macro_namespaces import with_macro_namespaces
from hatch_cuda_kernels.port.model import Ported
from hatch_cuda_kernels.port.other_sources import linked, may_lack, other_sources
from hatch_cuda_kernels.port.overloads import as_cast, candidates, overload
from hatch_cuda_kernels.port.project_tree import list_files
from hatch_cuda_kernels.port.qualified import names_of_namespaces, qualified
from hatch_cuda_kernels.port.refine import as_they_are, errors_of, in_options, refined, without_guards
from hatch_cuda_kernels.port.sources import read_project_files
from hatch_cuda_kernels.source.project import Project

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.output.log import Diagnostic
    from hatch_cuda_kernels.host_code.items import Outline
    from hatch_cuda_kernels.port.model import DraftedModule, SeenLaunch, Template
    from hatch_cuda_kernels.port.sources import Sources
    from hatch_cuda_kernels.source.expansion import Macros

__all__ = ["port"]

_DEFAULTS: Final = NvrtcOptions()
_LINKED: Final = "{} is listed because device code here uses {}, which it defines"
_OF_TORCH: Final = "for NVRTC, headers of this package declare what kernels use of Torch, as Torch 2.13 has it: {}"
#: Kernels of a module whose arguments are guessed.
_MOST_GUESSED: Final = 6


@one_worker()
def port(
    root: Path,
    sources: Sequence[str],
    options: NvrtcOptions = _DEFAULTS,
    *,
    arch: SmArch | None = None,
    patch: bool = True,
) -> Ported:
    """Return the changes that let NVRTC compile sources and their headers; writes nothing.

    Paths are relative to ``root``. ``options`` are those that the sources are compiled with. With ``arch``, NVRTC
    compiles for it, and what it complains about is guarded too where that is safe. Without ``patch``, no file changes:
    the draft has options for the same. Raises InputError for sources that cannot be read, ToolchainError where NVRTC is
    missing.
    """
    found = read_project_files(root, sources, options)
    if arch is not None:
        found = with_device_runtime(found, arch)
        found = as_they_are(found, arch) or refined(found, arch)
    if not patch and not found.stays:
        found = in_options(found)
    ported, is_whole = _drafted(found, arch)
    for other in () if is_whole or found.stays else without_guards(found):
        draft, is_better = _drafted(other, arch)
        if is_better:
            return draft
    return ported


def _drafted(found: Sources, arch: SmArch | None) -> tuple[Ported, bool]:
    """Return sources with their manifest, and whether NVRTC takes them and other sources have all that they lack."""
    options = found.options
    of_torch = found.of_torch()
    after = _after(found, found.brought())
    remaining = errors_of(found, after, arch) if arch is not None else []
    outlines = {path: with_macro_namespaces(one, found.facts.texts) for path, one in found.outlines.items()}
    bindings = Bindings(outlines, found.facts.macros)
    names = names_of_namespaces(outlines.values())
    templates = {path: _templates(path, outline, bindings, names) for path, outline in outlines.items()}
    all_templates = list(chain.from_iterable(templates.values()))
    all_launches = _launches(outlines, found.facts.macros, bindings, all_templates, names)
    modules = []
    for recipe in found.recipes:
        sources = read_recipe(recipe, found.root, project=found.project, clocks=True)
        own = [path for path in sources.files if path in outlines]
        modules.append(
            (stated_of(recipe, found.root), list(chain.from_iterable(templates[path] for path in own)), all_launches)
        )
    drafted = draft_modules(modules)
    guesses = _guesses(drafted, modules, enumerators_of(found.outlines))
    is_whole = True
    if arch is not None and not remaining:
        shown = {path: after.get(path, text) for path, text in found.texts.items()}
        project = Project(found.root, shown, readings=found.project.readings)
        refused = refused_instances(project, manifest_text(drafted, options), arch)
        drafted = draft_modules(modules, refused)
        guesses = _guesses(drafted, modules, enumerators_of(found.outlines))
        guessed = accepted_guesses(project, manifest_text(drafted, options), arch, guesses)
        drafted = draft_modules(modules, refused, guessed)
        if may_lack(found.outlines.values(), found.facts):
            drafted, is_whole = _linked(drafted, manifest_text(drafted, options), project, arch)
    ported = Ported(
        before={path: found.originals[path] for path in after},
        after=after,
        guards=tuple(sorted(found.guards)),
        templates=tuple(all_templates),
        launches=tuple(all_launches),
        modules=tuple(drafted),
        guesses=guesses,
        manifest=manifest_text(drafted, options),
        notes=tuple(dict.fromkeys([*found.notes, *([_OF_TORCH.format(", ".join(of_torch))] if of_torch else [])])),
        remaining=tuple(dict.fromkeys(map(_told, remaining))),
    )
    return ported, is_whole and not remaining


def _linked(
    drafted: Sequence[DraftedModule], manifest: str, project: Project, arch: SmArch
) -> tuple[list[DraftedModule], bool]:
    """Return modules with the other sources that define what their device code uses, and whether none lacks one."""
    files = list_files(project.files.root)
    found, are_whole = [], True
    for one, module in zip(drafted, parse_manifest(manifest, root=project.files.root).modules, strict=True):
        others = other_sources(module.recipe, project, arch, files)
        are_whole &= others is not None
        notes = [_LINKED.format(path, name) for path, name in (others or {}).items()]
        stated = linked(one.stated, others) if others else one.stated
        found.append(one._replace(stated=stated, open_ends=(*one.open_ends, *notes)))
    return found, are_whole


def _told(error: Diagnostic) -> str:
    return ": ".join(filter(None, (f"{error.file}:{error.line}" if error.line else error.file, error.message)))


def _templates(path: str, outline: Outline, bindings: Bindings, names: Mapping[str, frozenset[str]]) -> list[Template]:
    """Return the kernels of a file that are templates, with the arguments that they are named with anywhere."""
    found = []
    for one in find_templates(path, outline):
        uses = bindings.uses(one.name.rpartition("::")[2], one.parameters)
        found.append(one._replace(uses=tuple(dict.fromkeys(qualified(each, one.name, names) for each in uses))))
    return found


def _launches(
    outlines: Mapping[str, Outline],
    macros: Macros,
    bindings: Bindings,
    templates: Sequence[Template],
    names: Mapping[str, frozenset[str]],
) -> list[SeenLaunch]:
    """Return the launches of all files, with what their template arguments stand for."""
    kernels = defaultdict(list)
    for template in templates:
        kernels[template.name.rpartition("::")[2]].append(template)
    made = []
    for path, outline in outlines.items():
        for launch in with_hidden(path, outline, find_launches(path, outline), macros, kernels.keys()):
            known = kernels.get(launch.kernel.rpartition("::")[2])
            made.append(_resolved(launch, candidates(launch, known), bindings, names) if known else launch)
    return made


def _resolved(
    launch: SeenLaunch, overloads: Sequence[Template], bindings: Bindings, names: Mapping[str, frozenset[str]]
) -> SeenLaunch:
    """Return the launch of one of some kernels with what its template arguments stand for, in all their namespaces."""
    meant = overload(launch, overloads, bindings) if len(overloads) > 1 else None
    template = meant or overloads[0]
    found = resolved(launch, template, bindings)
    meanings = [*dict.fromkeys(qualified(each, template.name, names) for each in found.meanings)]
    casts = [qualified(as_cast(template, each), template.name, names) for each in meanings] if meant else []
    return found._replace(
        meanings=tuple(meanings),
        casts=tuple(f"(void (*)({', '.join(types)})) {name}" for *types, name in casts),
        template=found.template and qualified(found.template, template.name, names),
    )


def _guesses(
    drafted: Sequence[DraftedModule],
    modules: Sequence[tuple[Mapping[str, Any], Sequence[Template], Sequence[SeenLaunch]]],
    enumerators: Mapping[str, tuple[str, ...]],
) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return what to try of the kernels of each module's source that have no instance; by the modules' names."""
    found = {}
    for module, (plain, templates, launches) in zip(drafted, modules, strict=True):
        names = tuple(module.stated.get("instances", ()))
        tries = []
        for template in templates:
            if template.path == plain["source"] and not any(f"{template.name}<" in name for name in names):
                own = [one for one in launches if one.kernel.rpartition("::")[2] == template.name.rpartition("::")[2]]
                tries.append(guesses_for(template, own, enumerators))
        found[module.name] = tuple(one for one in tries if one)[:_MOST_GUESSED]
    return found


def _after(sources: Sources, includes: str) -> dict[str, str]:
    """Return the files that change, with their guards, and with includes for NVRTC in each source."""
    if sources.stays:
        return {}
    starts = {recipe.module for recipe in sources.recipes}
    after = dict(sources.texts)
    for path, outline in sources.outlines.items():
        after[path] = guarded(outline, sources.changes[path], includes if path in starts else "")
    return {path: text for path, text in after.items() if text != sources.originals[path]}
