"""Which other sources of a project define what a module's device code uses, to be listed under ``sources``.

Objects and the linker tell. The text only says which sources are worth compiling.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.compiler.link_faults import undefined_symbols
from hatch_cuda_kernels.compiler.output.demangle import demangled
from hatch_cuda_kernels.compiler.output.linkage import linkage_of_object
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.errors import CompileError, InputError
from hatch_cuda_kernels.pool.apart import compile_apart, one_worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.recipe import Recipe
    from hatch_cuda_kernels.host_code.facts import Facts
    from hatch_cuda_kernels.host_code.items import Outline
    from hatch_cuda_kernels.source.project import Project

__all__ = ["linked", "may_lack", "other_sources"]

_MOST_SOURCES: Final = 16
#: Sources that are compiled to find one that has something of what is lacking.
_MOST_TRIALS: Final = 24
_END_OF_NAME: Final = re.compile(r"[(<]")


def may_lack(outlines: Iterable[Outline], facts: Facts) -> bool:
    """Return whether texts declare device code or device variables that none of them defines."""
    declared, defined = set[tuple[str | None, str]](), set[tuple[str | None, str]]()
    for outline in outlines:
        for item in outline.items:
            found, text = item.declaration, outline.source.text[item.start : item.end]
            is_outside = "extern" in found.words if found.kind == "variable" else not found.ending
            if found.kind not in {"function", "variable"}:
                continue
            name = found.scope or item.class_name, found.name
            if not is_outside:
                defined.add(name)
            elif facts.is_marked(text):
                declared.add(name)
    return bool(declared - defined)


@one_worker()
def other_sources(recipe: Recipe, project: Project, arch: SmArch, files: Iterable[str]) -> dict[str, str] | None:
    """Return the sources that define what a module lacks, each with a name of that, if all can be linked.

    ``files`` are the project's. It is None where other sources do not have all of it, or where two of them have the
    same: which of these the project links, its own build says. One that does not compile has what its text seems to
    define. There is none, too, where the module does not compile for other reasons. Raises ToolchainError where a
    compiler is missing.
    """
    lacking = _lacking(recipe, project, arch)
    texts = {path: project.text(path).text for path in files if path.endswith(".cu")} if lacking else {}
    defined = cache(lambda path: _defined(replace(recipe, sources=(path,)), project, arch))
    found: dict[str, str] = {}
    while lacking and len(found) < _MOST_SOURCES:
        known = (*recipe.sources, *found)
        possible = _definers(texts, lacking, known)[:_MOST_TRIALS]
        tried = {path: defined(path) for path in possible}
        owners = [(path, symbol) for path, one in tried.items() for symbol in sorted(lacking & (one or frozenset()))]
        for path in (path for path, one in tried.items() if one is None):
            owners += [(path, symbol) for symbol in lacking if _definers({path: texts[path]}, [symbol], known)]
        if not owners or len({symbol for _, symbol in owners}) < len(owners):
            return None
        found = {path: demangled(symbol) for path, symbol in owners} | found
        lacking = _lacking(replace(recipe, sources=(*recipe.sources, *found)), project, arch)
    return None if found and (lacking is None or lacking) else found


def linked(stated: Mapping[str, Any], others: Iterable[str]) -> dict[str, Any]:
    """Return what a manifest states of a module that has one source, with others beside it."""
    return {"sources": [stated["source"], *others], **{key: one for key, one in stated.items() if key != "source"}}


def _lacking(recipe: Recipe, project: Project, arch: SmArch) -> frozenset[str] | None:
    """Return the symbols that a module uses and nothing defines; None where it fails for another reason."""
    try:
        compile_apart(recipe.job(read_recipe(recipe, project.files.root, project=project), arch, ("cubin",)))
    except CompileError as error:
        return frozenset(undefined_symbols(error.log)) or None
    except InputError:
        return None
    return frozenset()


def _defined(recipe: Recipe, project: Project, arch: SmArch) -> frozenset[str] | None:
    """Return the symbols that a module of one source has for others; None where it does not compile."""
    recipe = replace(recipe, names=(), globals=())
    try:
        units = recipe.units(read_recipe(recipe, project.files.root, project=project))
        (job,) = recipe.part_jobs(units, arch, "object")
        linkage = linkage_of_object(compile_apart(job).images["object"])
    except (CompileError, InputError):
        return None
    return linkage.defined | linkage.shared  # instances of templates, too, that others only declare


def _definers(texts: dict[str, str], symbols: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return the sources whose text seems to define one of some symbols; those first that are near to what is known."""
    names = {_END_OF_NAME.split(demangled(symbol))[0].rpartition("::")[2] for symbol in symbols}
    patterns = (re.escape(name).replace("operator", r"operator\s*", 1) for name in sorted(names))
    word = rf"\b(?:{'|'.join(patterns)})(?:\b|(?<=\W))"
    function, variable = rf"{word}\s*\([^;{{}}]*\)[^;{{}}()]*\{{", rf"(?<!extern )__\s[^;{{}}()]*{word}(?!\s*\()"
    defines = re.compile(f"{function}|{variable}")
    found = [path for path, text in texts.items() if path not in known and defines.search(text)]
    return sorted(found, key=lambda path: -len(os.path.commonpath([known[0], path])))
