"""A manifest of the kernels that a project has: what each source needs, and whether it then compiles."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.compiler.recipe import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.errors import HatchCudaKernelsError
from hatch_cuda_kernels.manifest import parse_manifest
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.plan.plan import make_plan
from hatch_cuda_kernels.port import count_kernels, flow, include_folders, port, stated_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.manifest import Manifest


__all__ = [
    "MARK",
    "NOT_YET",
    "NO_MODULES",
    "Survey",
    "Untried",
    "drafted",
    "is_unlisted_line",
    "manifest_of",
    "module_head",
    "survey",
    "unlisted_line",
]

#: Behind the name of a module that was not tried, in a manifest.
MARK: Final = "not tried yet: run init again where its compiler is installed"
#: The line of a manifest without a module, which no command reads.
NO_MODULES: Final = "modules: {}"
_NO_INSTANCE: Final = (
    "all its kernels are templates ({}), and no launch tells their arguments; list them under instances:"
)
_MOST_NAMED: Final = 3


class ModuleDraft(NamedTuple):
    """What the text of a source tells of its module."""

    name: str
    stated: dict[str, Any]
    open_ends: tuple[str, ...]
    """What the text does not tell, such as the arguments of a template."""
    templates: tuple[str, ...]
    """Kernels that nothing lists, if there is no other kernel."""


class Untried(NamedTuple):
    """Why nothing was compiled, and what it takes."""

    reason: str
    requirements: tuple[str, ...]


#: What a trial replaces.
NOT_YET: Final = Untried("", ())


@dataclass(frozen=True)
class Survey:
    """What a manifest states of each source, by module, and why others are not in it."""

    modules: dict[str, dict[str, Any]] = field(default_factory=dict)
    unlisted: dict[str, str] = field(default_factory=dict)
    """Reasons by source."""
    open_ends: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By module, what is left to its author."""
    untried: Untried | None = None
    """Set if the modules are as the text of their sources has it, and nothing was compiled."""

    def add(self, name: str, draft: ModuleDraft) -> None:
        """Add a module."""
        self.modules[name], self.open_ends[name] = draft.stated, draft.open_ends

    def lines(self) -> Iterator[str]:
        """Yield the lines of a manifest's modules, and a comment for each source that is not in it."""
        for name in self.modules:
            yield from self.module_lines(name)
        for source, reason in self.unlisted.items():
            yield unlisted_line(source, reason)

    def module_lines(self, name: str) -> Iterator[str]:
        """Yield the lines of one module."""
        yield module_head(name, tried=self.untried is None)
        yield from (f"    {key}: {flow(value)}" for key, value in self.modules[name].items())
        yield from (f"    # {one}" for one in self.open_ends.get(name, ()))


def module_head(name: str, *, tried: bool = True) -> str:
    """Return the line that a module begins with in a manifest."""
    return f"  {name}:" if tried else f"  {name}:  # {MARK}"


def unlisted_line(source: str, reason: str) -> str:
    """Return the line of a manifest for a source that is not in it."""
    return f"  # {source}: {reason}"


def is_unlisted_line(line: str, sources: Iterable[str]) -> bool:
    """Return whether a line of a manifest is such a line of one of the sources, and no other comment."""
    return line.startswith(tuple(unlisted_line(source, "") for source in sources))


def survey(root: Path, sources: Sequence[str], files: Sequence[str], head: Mapping[str, Any]) -> Survey:
    """Return a manifest's modules for sources, as their text has it; ``head`` are the manifest's other keys.

    ``files`` are the project's C++ files.
    """
    found = Survey(untried=NOT_YET)
    for source in sources:
        try:
            draft = drafted(root, source, files)
            make_plan(manifest_of(root, head, {"module": draft.stated}))
        except HatchCudaKernelsError as error:
            found.unlisted[source] = _first_line(error)
        else:
            if draft.templates:
                found.unlisted[source] = _NO_INSTANCE.format(_listed(draft.templates))
                continue
            found.add(_free_name(draft.name, found.modules), draft)
    return found


def drafted(root: Path, source: str, files: Sequence[str]) -> ModuleDraft:
    """Return what the text of a source tells: folders, whether it has host code, instances."""
    options = NvrtcOptions(include=tuple(include_folders(root, source, files)))
    ported = port(root, [source], options)
    module = ported.modules[0]
    merged = stated_options(options) | module.stated.get("options", {})
    sources = read_recipe(Recipe(module="module", sources=(source,), options=options), root, clocks=True)
    stated = module.stated | ({"options": merged} if merged else {})
    templates = tuple(f"{one.name}<{', '.join(one.parameters)}>" for one in ported.templates)
    texts = ((root / path).read_bytes().decode(errors="replace") for path in sources.files)
    lone = "instances" not in stated and count_kernels(texts) <= len(templates)
    return ModuleDraft(module.name, stated, module.open_ends, templates if lone else ())


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def manifest_of(root: Path, head: Mapping[str, Any], modules: Mapping[str, Any]) -> Manifest:
    """Return the manifest that states these modules below ``head``. Raises ManifestError."""
    return parse_manifest(json.dumps({**head, "modules": modules}), root=root)


def _first_line(error: HatchCudaKernelsError) -> str:
    line = str(error).splitlines()[0]
    return line.partition(": modules.module.source: ")[2] or line


def _free_name(name: str, taken: Mapping[str, object]) -> str:
    """Return a module's name, with a number where it is taken."""
    number = 2
    free = name
    while free in taken:
        free = f"{name}_{number}"
        number += 1
    return free
