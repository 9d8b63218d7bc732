"""From the entries of a manifest to modules and instances: ``*`` and placeholders in names, and in instances."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import InputError, suggest
from hatch_cuda_kernels.manifest.kinds import IDENTIFIER, Item, Spot
from hatch_cuda_kernels.manifest.model import Named, Pattern
from hatch_cuda_kernels.manifest.yaml_text import Mapping as Tree
from hatch_cuda_kernels.manifest.yaml_text import shorten
from hatch_cuda_kernels.names import (
    base_name,
    expand,
    family_key,
    fill,
    fill_known,
    module_name,
    normalize_name,
    placeholders,
)
from hatch_cuda_kernels.store import ExpressionError, python_text

if TYPE_CHECKING:
    from hatch_cuda_kernels.includes import ProjectFiles

#: The limit for all modules together: far more than NVRTC compiles in a day, and few enough to list.
MOST_INSTANCES: Final = 100_000


def expand_instances(
    module: Mapping[str, Any], *, counted_only: bool = False
) -> tuple[tuple[Named, ...], tuple[Pattern, ...]]:
    """Return a module's name expressions and its patterns, in the order written; the first axis varies slowest.

    Notes unknown placeholders, unused axes and duplicate names as problems. With ``counted_only`` it expands nothing.
    """
    instances, matrix = _instances_of(module)
    used = _axes(instances)
    for name, axis in matrix.items():
        if name not in used and IDENTIFIER.fullmatch(name):
            axis.spot.report(f"no instance uses {{{name}}}; remove it, or write it into an instance or the name")
    patterns = []
    for item in instances:
        names = placeholders(item.value)
        for name in names:
            if name not in matrix:
                item.spot.report(f"unknown placeholder {{{name}}}{suggest(name, matrix, '; add it to the matrix')}")
        if all(name in matrix and matrix[name].value for name in names):
            axes = tuple((name, axis.value) for name, axis in matrix.items() if name in names)
            patterns.append((item, Pattern(text=item.value, matrix=axes)))
    seen = {kernel.value: kernel.spot.path for kernel in module.get("kernels") or ()}
    expanded: list[Named] = []
    for item, pattern in () if counted_only else patterns:
        texts = list(expand(pattern.text, dict(pattern.matrix)))
        repeated = None  # the first: the others tend to have the same cause
        for text in texts:
            repeated = repeated or (text if text in seen else None)
            seen.setdefault(text, item.spot.path)
        if repeated is not None:
            item.spot.report(f"{shorten(repeated)} is listed twice (first by {seen[repeated]})")
        where = item.spot.where
        expanded += [Named(text=text, where=where) for text in texts]
    return tuple(expanded), tuple(pattern for _, pattern in patterns if pattern.matrix)


def _instances_of(module: Mapping[str, Any]) -> tuple[Sequence[Item], Mapping[str, Item]]:
    """Return a module's ``instances`` and ``matrix``; none if one of them was refused."""
    instances, matrix = module.get("instances", ()), module.get("matrix", {})
    return ((), {}) if instances is None or matrix is None else (instances, matrix)


def _axes(instances: Iterable[Item]) -> set[str]:
    return {name for item in instances for name in placeholders(item.value)}


def exceeds_limit(modules: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether modules together exceed the limit of instances, and note that as a problem of the instances."""
    count = 0
    for instances, matrix in map(_instances_of, modules):
        for item in instances:
            axes = (matrix[name].value for name in placeholders(item.value) if name in matrix)
            count += math.prod(len(values or ()) for values in axes)
            if count > MOST_INSTANCES:
                advice = "shorten a matrix, or split the modules between packages"
                item.spot.report(f"with these, the manifest has more than {MOST_INSTANCES} instances; {advice}")
                return True
    return False


def _share_instances(
    values: Mapping[str, Any], paths: Sequence[str], files: ProjectFiles
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each file of an entry with its share of the ``instances`` and of the axes of the ``matrix``.

    A file takes the instances of kernels that it declares; where no file declares one as ``__global__``, those of its
    functions, because a macro may stand for the mark. What no file declares, as when a header does, belongs to all.
    """
    instances: Sequence[Item] = values.get("instances") or ()
    matrix: Mapping[str, Item] = values.get("matrix") or {}
    if not instances:
        yield from ((path, {}) for path in paths)
        return
    kernels: dict[str, set[str]] = defaultdict(set)
    functions: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        for name, is_kernel in _functions(files, path):
            functions[name].add(path)
            if is_kernel:
                kernels[name].add(path)
    wanted = [(item, base_name(item.value).rpartition("::")[2]) for item in instances]
    unused = matrix.keys() - _axes(instances)
    for path in paths:
        share = tuple(item for item, name in wanted if path in (kernels.get(name) or functions.get(name) or paths))
        axes = _axes(share) | unused
        yield path, {"instances": share, "matrix": {name: axis for name, axis in matrix.items() if name in axes}}


def _functions(files: ProjectFiles, path: str) -> list[tuple[str, bool]]:
    """Return the functions that a file declares without what it includes, each with whether it is marked a kernel."""
    from hatch_cuda_kernels.cpp import SourceFile, TextError, read_alone  # most manifests need none

    try:
        declared = [*read_alone(SourceFile(path, files.read(path).decode(errors="replace")))]
    except (InputError, TextError):  # the plan reports it
        return []
    return [(one.name, "__global__" in one.words) for one in declared if one.kind in {"function", "instantiation"}]


_PART: Final = rf"(?:[A-Za-z0-9_-]|\{{{IDENTIFIER.pattern}\}})*"
ENTRY_NAME: Final = re.compile(rf"(?=[A-Za-z_{{*]){_PART}(?:\*{_PART})?")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
#: What stands for a list of sources, which has no ``*``.
_JOINED: Final = "sources"
#: Windows opens a device for a file or folder of these names.
_WINDOWS_DEVICES: Final = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]", re.IGNORECASE)
#: The limit for all modules together: each is a folder of the store.
MOST_MODULES: Final = 10_000
#: A file may have a name of 255 bytes; an image's has more than the module's, and a whole path 260 on Windows.
_LONGEST: Final = 180
_FEWER: Final = "shorten a matrix, or split the entries between packages"


def name_modules(entries: Mapping[str, Item]) -> dict[str, Item]:
    """Return the modules of a manifest's entries by name, each with its entry; None for one that was refused."""
    modules: dict[str, Item] = {}
    folded: dict[str, str] = {}
    families: dict[str, Item] = {}
    for entry, item in entries.items():
        repeated = False
        for name, values in _modules_of(entry, item):
            found = Item(values, item.spot)
            if _WINDOWS_DEVICES.fullmatch(name):
                item.spot.report(f"{name!r} cannot be a folder on Windows; choose another name")
            if len(name) > _LONGEST and not repeated:
                fix = "choose a shorter name, or for values of axes a macro or type with one"
                item.spot.report(f"{shorten(name)} has {len(name)} characters, and at most {_LONGEST} fit; {fix}")
                repeated = True
            first = folded.setdefault(name.lower(), name)
            if name in modules and not repeated:
                other = f"{modules[name].spot.path}{_values_text(modules[name])}"
                here = _values_text(found, ", as {} does here")
                own = modules[name].spot == item.spot and here
                fix = "write one into an entry of its own" if own else "give them different names"
                item.spot.report(f"{other} gives a module {name!r}, too{here}; {fix}")
                repeated = bool(here)  # the others of an entry tend to have the same cause
            elif name not in modules and first != name:
                item.spot.report(f"{name!r} and {first!r} differ only in case, and would be one folder on some systems")
            elif len(modules) == MOST_MODULES:
                item.spot.report(f"with this, the manifest has more than {MOST_MODULES} modules; {_FEWER}")
                return modules
            modules.setdefault(name, found)
            if values and "axes" in values and not repeated:
                one = families.setdefault(family_key(values["family"], values["axes"]), found)
                if one is not found:
                    what = f"a module {values['family']!r}{_values_text(found)}"
                    item.spot.report(f"{one.spot.path} has {what}, too; give them different names")
                    repeated = True
    return modules


def _values_text(module: Item, form: str = " with {}") -> str:
    values = (module.value or {}).get("axes")
    return form.format(", ".join(f"{axis}: {value}" for axis, value in values.items())) if values else ""


def _modules_of(entry: str, item: Item) -> Iterator[tuple[str, dict[str, Any] | None]]:
    values = item.value or {}
    source = values.get("source") or (_JOINED if values.get("sources") else None)
    if source is None:  # refused, or missing
        yield entry, item.value
        return
    if ("*" in entry) != ("*" in source):
        one, other = ("name", "source") if "*" in entry else ("source", "name")
        item.spot.report(f"the {one} has a * and the {other} has none; with one in both, each file is a module")
        return
    combinations, named = _combinations(entry, item), placeholders(entry)
    used = {*_check_macros(entry, item)} if named else set()
    rest = {name: axis for name, axis in (values.get("matrix") or {}).items() if name not in used.union(named)}
    shared = values | {"entry": entry} | ({"matrix": rest} if named and rest != values.get("matrix") else {})
    for file, found in _files_of(source, item._replace(value=shared)):
        known = {"family": _family(entry, file), "unfilled": _unfilled(found, file, combinations, item.spot)}
        for axes in combinations:
            name = module_name(entry, file, axes)
            if name == entry or _NAME.fullmatch(name):
                yield name, _with_axes(found | known, axes, item.spot) if axes else found
            else:
                what = _values_text(Item({"axes": axes}, item.spot), "{}") or found["source"]
                problem = "which is not a module name (letters, digits, _ and -); rename it"
                item.spot.report(f"{what} would be the module {name!r}, {problem}")


def _files_of(source: str, item: Item) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what ``*`` stands for in each file of an entry, with the file's share; all of the entry without a ``*``."""
    if "*" not in source:
        yield "", item.value
        return
    before, after = source.split("*")
    files = item.spot.reading.files
    for path, share in _share_instances(item.value, tuple(files.glob(source)), files):
        yield path[len(before) : len(path) - len(after)], item.value | share | {"source": path}


def _family(entry: str, file: str) -> str:
    """Return what the modules of an entry are called together: its name without axes, and without _ and - at them."""
    text = fill(entry, dict.fromkeys(placeholders(entry), "\0")).replace("*", file)
    return re.sub(r"(?:[-_]*\0[-_]*)+", "\0", text).strip("\0").replace("\0", "_")


def _unfilled(
    values: Mapping[str, Any], file: str, combinations: Iterable[Mapping[str, str]], spot: Spot
) -> dict[str, Any]:
    """Return what an entry says of each combination of its axes, by the fields of a store's ModuleFamily."""
    listed: dict[str, dict[str, None]] = {}
    for axes in combinations:
        for axis, value in axes.items():
            listed.setdefault(axis, {})[value] = None
    stated = _spots_of_macros(spot) if listed else ()
    macros = (values.get("options") or {}).get("define") or ()
    excluded = ({axis: item.value for axis, item in one.value.items()} for one in values.get("exclude") or ())
    return {
        "entry": values["entry"],
        "file": file,
        "axes": {axis: (*found,) for axis, found in listed.items()},
        "matrix": {axis: item.value for axis, item in (values.get("matrix") or {}).items() if axis not in listed},
        "exclude": (*excluded,),
        "define": tuple((name, text) for name, text in macros if name in stated and text and "{" in text),
        "names": tuple(one.value for key in ("kernels", "instances") for one in values.get(key) or ()),
        "is_chunked": values.get("chunk") is not None,
        "launch": values.get("launch") or {},
    }


def _combinations(entry: str, item: Item) -> list[dict[str, str]]:
    """Return the values of the axes in an entry's name, for each of its modules; the first axis varies slowest.

    It is one without axes where the name has none. Notes what is wrong with the name and with ``exclude``.
    """
    matrix: Mapping[str, Item] | None = item.value.get("matrix", {})
    named = placeholders(entry)
    if matrix is None:
        return []
    for name in named:
        if name not in matrix:
            item.spot.report(f"unknown placeholder {{{name}}}{suggest(name, matrix, '; add it to the matrix')}")
    axes: dict[str, tuple[str, ...]] = {name: axis.value for name, axis in matrix.items() if name in named}
    if named and not _family(entry, "*"):
        item.spot.report("the name has only axes; add a word, by which the modules are found")
    if len(axes) < len(named) or not all(axes.values()):
        return []
    if math.prod(map(len, axes.values())) > MOST_MODULES:
        item.spot.report(f"its matrix has more than {MOST_MODULES} combinations; {_FEWER}")
        return []
    excluded = [_excluded(one, axes) for one in item.value.get("exclude") or ()]
    every = (dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values()))
    kept = [values for values in every if not any(one and one.items() <= values.items() for one in excluded)]
    kept += _further(item.value.get("combinations") or (), axes, kept, excluded)
    if not kept:
        item.spot.report("exclude leaves no combination; remove an item of it")
    return kept


def _further(
    stated: Iterable[Item],
    axes: Mapping[str, tuple[str, ...]],
    kept: Iterable[Mapping[str, str]],
    excluded: Sequence[Mapping[str, str]],
) -> Iterator[dict[str, str]]:
    """Yield the combinations that are stated besides those of the matrix, their values as that spells them."""
    known = {axis: {normalize_name(value): value for value in values} for axis, values in axes.items()}
    seen = {tuple(values.values()) for values in kept}
    for one in stated:
        given = {axis: item.value for axis, item in one.value.items() if item.value is not None}
        unknown, missing = [axis for axis in given if axis not in axes], [axis for axis in axes if axis not in given]
        if unknown:
            fix = suggest(unknown[0], axes, f"; write {{{unknown[0]}}} into it, or remove this")
            one.spot.report(f"{unknown[0]} is no axis in the module's name{fix}")
        elif missing:
            one.spot.report(f"the value of {missing[0]} is missing; state those of {', '.join(axes)}")
        else:
            spelled = {axis: known[axis].get(normalize_name(given[axis]), given[axis]) for axis in axes}
            if any(out and out.items() <= spelled.items() for out in excluded):
                one.spot.report("exclude leaves it out; remove one of the two")
            elif tuple(spelled.values()) in seen:
                one.spot.report("it is listed already; remove it")
            else:
                yield spelled
            seen.add(tuple(spelled.values()))
            for axis, value in spelled.items():
                known[axis].setdefault(normalize_name(value), value)


def _excluded(stated: Item, axes: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the values that an item of ``exclude`` leaves out, as the matrix spells them; none if it is wrong."""
    values: dict[str, str] = {}
    for axis, item in stated.value.items():
        known = {normalize_name(value): value for value in axes.get(axis, ())}
        if axis not in axes:
            fix = suggest(axis, axes, f"; write {{{axis}}} into it, or remove this")
            item.spot.report(f"{axis} is no axis in the module's name{fix}")
        elif item.value is not None and normalize_name(item.value) not in known:
            fix = suggest(item.value, known.values(), f"; the values are {', '.join(known.values())}")
            item.spot.report(f"{axis} is never {shorten(item.value)}{fix}")
        elif item.value is not None:
            values[axis] = known[normalize_name(item.value)]
    return values if len(values) == len(stated.value) else {}


def _check_macros(entry: str, item: Item) -> Iterator[str]:
    """Note placeholders of macros that the name lacks, and its axes that nothing uses; yield the axes of the macros."""
    values, named = item.value, placeholders(entry)
    matrix: Mapping[str, Item] = values.get("matrix") or {}
    spots = _spots_of_macros(item.spot)
    used = _axes(values.get("instances") or ())
    for rule in (values.get("launch") or {}).values():
        used.update(name for size in _sizes(rule).values() for text in size.value for name in placeholders(text))
    for macro, value in (values.get("options") or {}).get("define") or ():
        for name in placeholders(value or "") if macro in spots else ():
            used.add(name)
            if name in named:
                continue
            if name in matrix:
                yield name
                problem = f"{{{name}}} is not in the name, so that two modules would have one"
                spots[macro].report(f"{problem}; write {{{name}}} into it, too")
            else:
                fix = suggest(name, named, "; add it to the matrix and the name")
                spots[macro].report(f"unknown placeholder {{{name}}}{fix}")
    for name, axis in matrix.items():
        if name == "version" and name in named:
            axis.spot.report("{version} is the project's version; rename the axis")
        elif name in named and name not in used:
            axis.spot.report(
                f"{{{name}}} is in the name only; write it into options.define or an instance, or remove it"
            )


def _spots_of_macros(spot: Spot) -> dict[str, Spot]:
    """Return the places of the values under an entry's ``options.define``."""
    for key in ("options", "define"):
        pairs = spot.node.pairs if isinstance(spot.node, Tree) else ()
        found = next((pair for pair in pairs if pair.key == key), None)
        if found is None:
            return {}
        spot = spot.value(found)
    return {pair.key: spot.value(pair) for pair in spot.node.pairs} if isinstance(spot.node, Tree) else {}


def _with_axes(values: dict[str, Any], axes: dict[str, str], spot: Spot) -> dict[str, Any]:
    """Return a module with the values of its name's axes in its macros, kernels, instances and rules."""

    def filled(text: str) -> str:
        return fill_known(text, axes)

    found = values | {"axes": axes}
    options = values.get("options") or {}
    if options.get("define"):
        stated = _spots_of_macros(spot)
        define = tuple(
            (name, filled(value) if value and name in stated else value) for name, value in options["define"]
        )
        found["options"] = options | {"define": define}
    for key in ("kernels", "instances"):
        if values.get(key):
            found[key] = tuple(item._replace(value=filled(item.value)) for item in values[key])
    if values.get("launch"):
        found["launch"] = {filled(kernel): _rule_with_axes(rule, axes) for kernel, rule in values["launch"].items()}
    return found


def _sizes(rule: Item) -> dict[str, Item]:
    """Return the expressions of a rule by key, each as a tuple of texts."""
    stated = {key: size for key, size in (rule.value or {}).items() if isinstance(size, Item)}
    return {
        key: size._replace(value=(size.value,) if isinstance(size.value, str) else size.value)
        for key, size in stated.items()
    }


def _rule_with_axes(rule: Item, axes: Mapping[str, str]) -> Item:
    found = {}
    for key, size in _sizes(rule).items():
        values = {name: f"{{{name}}}" for text in size.value for name in placeholders(text)}
        for name in values.keys() & axes.keys():
            try:
                values[name] = python_text(axes[name], {}, {})
            except ExpressionError:
                values[name] = "0"
                size.spot.report(f"{{{name}}} may be {axes[name]!r}, which is not an integer")
        texts = tuple(fill(text, values) for text in size.value)
        found[key] = size._replace(value=texts if isinstance(rule.value[key].value, tuple) else texts[0])
    return rule._replace(value=rule.value and rule.value | found)
