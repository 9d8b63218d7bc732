"""What a release changes for those who use the one before it: each change with its severity, and the verdict.

The rules are in ``assets/changes.toml``, one a kind of change; what a figure may rise by is in ``measures.toml``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from hatch_cuda_kernels.arch import ComputeCapability, SmArch, known_archs, preference, version_text
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.image import Kind
from hatch_cuda_kernels.names import (
    base_name,
    listed_module,
    normalize_name,
    placeholders,
    spelled_without_archs,
    values_text,
    without_archs,
)
from hatch_cuda_kernels.report.figures import (
    MEASURES,
    WHEEL_LIMIT,
    Cell,
    CellKey,
    Column,
    Measure,
    Step,
    asset,
    figures_of,
    percent,
    step_of,
)
from hatch_cuda_kernels.store import (
    ExpressionError,
    ImageRecord,
    KernelLine,
    LaunchRule,
    ModuleIndex,
    driver_refusal,
    find_rule,
)
from hatch_cuda_kernels.terminal import count_text, list_text

if TYPE_CHECKING:
    from hatch_cuda_kernels.report.package import PackageFacts
    from hatch_cuda_kernels.signature import Parameter

Value: TypeAlias = str | float
Severity = Literal["major", "minor", "patch"]
#: Greatest first.
SEVERITIES: Final[tuple[Severity, ...]] = ("major", "minor", "patch")


class ChangeKind(NamedTuple):
    """One row of the rules."""

    kind: str
    severity: Severity
    title: str
    when: str
    why: str
    """What it means for users."""
    regression: bool = False
    """Whether something is gone or got dearer."""


#: What has a limit, and so may get worse. Compile times vary from run to run, whatever is in the wheel.
_LIMITED: Final = tuple(measure for measure in MEASURES if measure.limit is not None)


def _kinds() -> Iterator[ChangeKind]:
    for row in tomllib.loads(asset("changes.toml"))["change"]:
        yield ChangeKind(**row, regression=row["severity"] == "major" or row["kind"] == "ptx-instead")
    files = "the wheel file, or all files together: more than 10 % and at least 1 KiB larger"
    rows = [("total", "Total size", files), *((one.name, one.title, one.rule) for one in reversed(_LIMITED))]
    for name, title, when in rows:
        yield ChangeKind(f"{name}-rose", "minor", f"{title.lower()} rose", when, "it costs noticeably more", True)
    when = "figures that rose by less than that; of all files together, more than 0.5 %"
    yield ChangeKind("figures-changed", "patch", "figures rose a little", when, "it costs a little more")


#: Every kind of change by name, the greatest severity first.
KINDS: Final = {row.kind: row for row in sorted(_kinds(), key=lambda row: SEVERITIES.index(row.severity))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference, with everything that it concerns."""

    kind: str
    names: tuple[str, ...]
    """The kernels, variables, templates or modules; none if it concerns the whole store."""
    part: str = ""
    """Which of their parts: a parameter, an option, an architecture, devices."""
    old: Value = ""
    new: Value = ""
    where: str = ""
    """The names and the part, in words."""

    @property
    def rule(self) -> ChangeKind:
        """What says how severe it is."""
        return KINDS[self.kind]

    @property
    def step(self) -> str:
        """By how much a figure changed; empty for anything else."""
        old, new = self.old, self.new
        return percent(old, new) if old and not isinstance(old, str) and not isinstance(new, str) else ""

    def values(self) -> tuple[str, str]:
        """Return what was and what is, as text."""
        old, new = (value if isinstance(value, str) else f"{value:,}" for value in (self.old, self.new))
        return old, f"{new} ({self.step})" if self.step else new

    def to_json(self) -> dict[str, Any]:
        """Return what ``compare --json`` prints of it."""
        data = {"kind": self.kind, "severity": self.rule.severity, "regression": self.rule.regression}
        data |= {"names": list(self.names), "part": self.part, "old": self.old, "new": self.new}
        return data | {"where": self.where, "reason": self.rule.why}


@dataclass(frozen=True)
class Comparison:
    """Every difference between two packages, the most severe first."""

    changes: tuple[Change, ...]
    old: Mapping[CellKey, Cell]

    @property
    def verdict(self) -> Severity | Literal["none"]:
        """The greatest severity; ``none`` where nothing changed."""
        return self.changes[0].rule.severity if self.changes else "none"

    @property
    def regressions(self) -> tuple[Change, ...]:
        """The changes for the worse."""
        return tuple(change for change in self.changes if change.rule.regression)

    def beyond(self, severity: Severity) -> tuple[Change, ...]:
        """Return the changes that are more severe."""
        greater = SEVERITIES[: SEVERITIES.index(severity)]
        return tuple(change for change in self.changes if change.rule.severity in greater)

    def of(self, cell: Cell, measure: Measure) -> Step | None:
        """Return how a cell's figure changed; None if it is new, not recorded on both sides, or the same."""
        return step_of(self.old.get(cell.key), cell, measure)

    def regressed(self, cell: Cell) -> bool:
        """Return whether any figure of a cell is a regression."""
        return any(step.regression for measure in MEASURES if (step := self.of(cell, measure)) is not None)


class _Difference(NamedTuple):
    """A difference of one thing; those that are equal but for the name are one change."""

    kind: str
    name: str = ""
    part: str = ""
    old: Value = ""
    new: Value = ""


def compare(old: PackageFacts, new: PackageFacts) -> Comparison:
    """Return what changed from ``old`` to ``new``. Raises InputError for packages of different names."""
    if old.name and new.name and _plain(old.name) != _plain(new.name):
        raise InputError(f"{old.name} and {new.name} are different packages; compare two releases of one")
    before, after = _Side(old), _Side(new)
    pairs = [*_pairs(before, after)]
    kernels = [pair for pair in pairs if not pair.old.is_variable]
    found = [*_names(before, after), *_templates(before, after), *_axes(before, after), *_sizes(pairs)]
    for pair in kernels:
        found += [*_parameters(pair), *_launch_rules(pair), *_limits(pair), *_devices(pair)]
    found += [*_origins(old, new), *_promises(old, new), *_code(before, after)]
    known = {cell.key: cell for cell in figures_of(old)}
    found += _figures(known, figures_of(new))
    found += _total(old.bytes, new.bytes) if old.is_wheel == new.is_wheel else ()  # a wheel is compressed
    return Comparison(tuple(_merged(found, {pair.name for pair in kernels})), known)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _merged(found: Iterable[_Difference], kernels: set[str]) -> Iterator[Change]:
    """Yield one change for all differences that are equal but for their names."""
    names: dict[_Difference, dict[str, None]] = {}
    for one in found:
        names.setdefault(one._replace(name=""), {})[one.name] = None
    order = [*KINDS]
    for one in sorted(names, key=lambda one: order.index(one.kind)):
        listed = tuple(name for name in names[one] if name)
        is_all = len(listed) > 1 and {*listed} == kernels
        text = f"all {count_text(len(listed), 'kernel')}" if is_all else list_text(listed)
        where = ", ".join(filter(None, (text, one.part))) or "the package"
        yield Change(kind=one.kind, names=listed, part=one.part, old=one.old, new=one.new, where=where)


class _Side:
    """One of the two packages, as calls find things in it: kernels and variables by key, and by module."""

    def __init__(self, facts: PackageFacts) -> None:
        self.facts = facts
        self.indexes = {index.module: index for index in facts.modules}
        self.modules: dict[str, list[ModuleIndex]] = {}
        """The modules with their chunks, by the manifest's name."""
        self.lines: dict[str, dict[str, KernelLine]] = {}
        self.keys: dict[str, set[str]] = {}
        """What a module lists."""
        self.stated: dict[tuple[str, str], dict[str, tuple[int, ...]]] = {}
        """What the source states of launches, on any architecture, by module and lowered name."""
        for name in sorted(self.indexes):
            self.modules.setdefault(listed_module(name), []).append(self.indexes[name])
        for line in facts.lines:
            module = listed_module(line.module)
            self.lines.setdefault(line.key, {})[module] = line
            self.keys.setdefault(module, set()).add(line.key)
        for image, held in facts.stated.items():
            for lowered, stated in held.items():
                known = self.stated.setdefault((image.module, lowered), {})
                known |= {what: min(sizes, known.get(what, sizes), key=prod) for what, sizes in stated.items()}

    def name(self, line: KernelLine) -> str:
        """Return what messages call a kernel: with its module where several have the name."""
        module = listed_module(line.module)
        return line.name if len(self.lines[line.key]) == 1 else f"{line.name} ({module})"

    def variant(self, module: str) -> tuple[str, frozenset[tuple[str, str]]]:
        """Return a module's family and the values of its axes; its name has them in the manifest's order."""
        index = self.modules[module][0]
        return index.family, frozenset(index.axes.items())

    def rule(self, line: KernelLine) -> LaunchRule | None:
        """Return the rule by which a kernel is launched."""
        return find_rule(map(LaunchRule.from_json, self.indexes[line.module].launch), line.name)

    def images(self, line: KernelLine) -> tuple[ImageRecord, ...]:
        """Return the images that have a kernel."""
        return tuple(image for image in self.indexes[line.module].images if line.lowered not in image.lacks)

    def templates(self) -> dict[tuple[str, frozenset[str]], dict[str, str]]:
        """Return the listed patterns by their modules, by template and placeholders."""
        found: dict[tuple[str, frozenset[str]], dict[str, str]] = {}
        for name, chunks in self.modules.items():
            for text in (listed["pattern"] for index in chunks for listed in index.patterns):
                key = base_name(normalize_name(text)), frozenset(placeholders(text))
                found.setdefault(key, {})[name] = text
        return found

    def excluded(self) -> dict[tuple[str, frozenset[str]], set[str]]:
        """Return the combinations that each family excludes, in words."""
        found: dict[tuple[str, frozenset[str]], set[str]] = {}
        for name, family in self.facts.families:
            texts = (values_text({axis: normalize_name(one[axis]) for axis in sorted(one)}) for one in family.exclude)
            found.setdefault((name, frozenset(family.axes)), set()).update(texts)
        return found


class _Listed(NamedTuple):
    """A kernel or variable that both packages have."""

    name: str
    before: _Side
    after: _Side
    old: KernelLine
    new: KernelLine


def _places(before: _Side, after: _Side, key: str) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """Return the modules that lost a key, those that got it, and those from which to which it moved."""
    old, new = (side.lines.get(key, {}).keys() for side in (before, after))
    gone, came = sorted(old - new), sorted(new - old)
    variants = {after.variant(module): module for module in came}
    moved = [(one, variants[there]) for one in gone if (there := before.variant(one))[0] and there in variants]
    for one, other in moved:
        gone.remove(one)
        came.remove(other)
    return ([], [], [*moved, *zip(gone, came, strict=True)]) if len(gone) == len(came) else (gone, came, moved)


def _pairs(before: _Side, after: _Side) -> Iterator[_Listed]:
    for key, lines in before.lines.items():
        stay = [(module, module) for module in lines if module in after.lines.get(key, {})]
        for module, other in (*stay, *_places(before, after, key)[2]):
            yield _Listed(before.name(lines[module]), before, after, lines[module], after.lines[key][other])


def _names(before: _Side, after: _Side) -> Iterator[_Difference]:
    for key in sorted(before.lines.keys() | after.lines.keys()):
        what, (gone, came, moved) = "variable" if key.startswith("&") else "kernel", _places(before, after, key)
        yield from (_Difference(f"{what}-removed", before.name(before.lines[key][module])) for module in gone)
        yield from (_Difference(f"{what}-added", after.name(after.lines[key][module])) for module in came)
        for one, other in moved:
            yield _Difference("moved", before.name(before.lines[key][one]), old=one, new=other)
        old, new = before.lines.get(key, {}), after.lines.get(key, {})
        if len(old) == 1 < len(new):
            yield _Difference(
                "ambiguous", next(iter(old.values())).name, "", *(", ".join(sorted(side)) for side in (old, new))
            )


def _sizes(pairs: Iterable[_Listed]) -> Iterator[_Difference]:
    for pair in (pair for pair in pairs if pair.old.is_variable):
        sides = (pair.before, pair.old), (pair.after, pair.new)
        old, new = (side.facts.variables.get((line.module, line.lowered)) for side, line in sides)
        if old is not None and new is not None and old != new:
            yield _Difference("variable-resized", pair.name, old=old, new=new)


def _templates(before: _Side, after: _Side) -> Iterator[_Difference]:
    old, new = before.templates(), after.templates()
    yield from (_Difference("template-changed", next(iter(old[key].values()))) for key in old if key not in new)
    for key, modules in new.items():
        text = next(iter(modules.values()))
        if key not in old:
            yield _Difference("template-added", text)
        elif len(old[key]) == 1 < len(modules):
            yield _Difference("ambiguous", text, "", ", ".join(old[key]), ", ".join(modules))


def _axes(before: _Side, after: _Side) -> Iterator[_Difference]:
    for name in sorted(before.modules.keys() & after.modules.keys()):
        old, new = before.modules[name][0], after.modules[name][0]
        if old.family and (old.family, {*old.axes}) != (new.family, {*new.axes}):
            texts = (f"{one.family or name} with {', '.join(one.axes) or 'no axes'}" for one in (old, new))
            yield _Difference("axes-changed", name, "", *texts)
    known = before.excluded()
    for key, excluded in after.excluded().items():
        for text in sorted(excluded - known.get(key, excluded)):
            yield _Difference("axes-changed", key[0], text, new="excluded")


_ADDRESSES: Final = frozenset({"ptr", "u64", "b64"})


def _parameters(pair: _Listed) -> Iterator[_Difference]:
    old, new = pair.old.parameters, pair.new.parameters
    if len(old) != len(new):
        yield _Difference(
            "parameters-changed", pair.name, "", *(", ".join(map(str, one)) or "none" for one in (old, new))
        )
        return
    both = [*zip(old, new, strict=True)]
    kinds = {_type_change(*one) for one in both} - {""}
    for kind in sorted(kinds):
        changed = [one for one in both if _type_change(*one) == kind]
        part = f"parameter {', '.join(one[0].name or str(both.index(one) + 1) for one in changed)}"
        types = zip(*(map(_type_text, one, reversed(one)) for one in changed), strict=True)
        yield _Difference(kind, pair.name, part, *map(", ".join, types))
    if any(one.name and one.name != other.name for one, other in both):
        texts = (", ".join(one.name or "without a name" for one in side) for side in (old, new))
        yield _Difference("parameter-renamed", pair.name, "", *texts)
    lowered = [without_archs(line.lowered) for line in (pair.old, pair.new)]
    if lowered[0] != lowered[1] and not kinds:
        yield _Difference("symbol-changed", pair.name, "", pair.old.lowered, pair.new.lowered)


def _type_text(parameter: Parameter, other: Parameter) -> str:
    """Return a parameter's type; with PTX's word where that alone is another."""
    is_enough = parameter.type and other.type and parameter.type != other.type
    return parameter.type if is_enough else f"{parameter.type} {parameter.kind}".strip()


def _type_change(old: Parameter, new: Parameter) -> str:
    """Return the kind of change from a parameter's type to another's; empty for none, as far as both are known."""
    if old.kind != new.kind and not {old.kind, new.kind} <= _ADDRESSES:
        return "parameters-changed"
    types = [spelled_without_archs(side.type) for side in (old, new)]
    if types[0] == types[1] or not all(types):
        return ""
    one, other = ((side.dtypes, side.is_const, side.is_pointer, side.is_signed) for side in (old, new))
    is_known = bool(old.dtypes) if old.is_pointer else old.is_signed is not None
    return "type-respelled" if is_known and one == other else "parameters-changed"


_DEMANDS: Final = ("cluster", "cooperative", "pdl")


def _launch_rules(pair: _Listed) -> Iterator[_Difference]:
    old, new = pair.before.rule(pair.old), pair.after.rule(pair.new)
    if old is None or new is None:
        if old is not None or new is not None:
            kind = "launch-rule-removed" if new is None else "launch-rule-added"
            yield _Difference(kind, pair.name, "", str(old or ""), str(new or ""))
        return
    demands = [name for name in _DEMANDS if new.attributes.get(name) and not old.attributes.get(name)]
    if demands:
        yield _Difference("launch-demands", pair.name, ", ".join(demands), str(old), str(new))
    elif _meaning(old, pair.old) != _meaning(new, pair.new):
        yield _Difference("launch-rule-changed", pair.name, "", str(old), str(new))


def _meaning(rule: LaunchRule, line: KernelLine) -> tuple[object, ...]:
    """Return what a rule says, with parameters by position and values in place of placeholders."""
    try:
        texts = rule.python_texts([f"arg{at}" for at in range(len(rule.names))], rule.values(line.name) or {})
    except ExpressionError:
        texts = (*rule.grid, *rule.block, rule.shared_mem)
    return (*texts, sorted(rule.attributes.items()))


#: What launches with other sizes than stated do not get past; a block has never more threads.
_MOST_THREADS: Final = (1024, 1, 1)


def _limits(pair: _Listed) -> Iterator[_Difference]:
    lines = (pair.before, pair.old), (pair.after, pair.new)
    old, new = (side.stated.get((line.module, line.lowered), {}) for side, line in lines)
    for what, sizes in new.items():
        before = old.get(what, _MOST_THREADS if what == "max_threads" else ())
        is_lower = prod(sizes) < prod(before) if what == "max_threads" else sizes != before
        if is_lower:
            texts = (" x ".join(map(str, one)) or "any" for one in (before, sizes))
            yield _Difference("launch-restricted", pair.name, what.replace("_", " "), *texts)


#: Stands for devices that are not known yet: only plain PTX serves them.
_NEWER: Final = ComputeCapability(99, 0)
_DEVICES: Final = {arch.capability for release in ((12, 9), _NEWER) for arch in known_archs(release)} | {_NEWER}
_DRIVERS: Final = [(major, minor) for major in (11, 12, 13) for minor in range(20)]


class _Service(NamedTuple):
    """How a kernel runs on a device without a compile at run time."""

    image: str
    kind: str
    driver: tuple[int, int]
    """The oldest that loads an image."""


#: Architecture, kind and PTX ISA of an image, which is all that counts.
_Form: TypeAlias = tuple[SmArch, Kind, tuple[int, int]]


@lru_cache(maxsize=256)
def _services(forms: frozenset[_Form], devices: frozenset[ComputeCapability]) -> dict[ComputeCapability, _Service]:
    """Return the service of each device that has one."""
    images = [ImageRecord(file="", kind=kind, arch=arch, sha256="", bytes=0, ptx_isa=isa) for arch, kind, isa in forms]
    found = {}
    for device in devices:
        fitting = [one for one in images if one.kind != "ltoir" and one.arch.refusal(device) is None]
        if fitting:
            best = min(fitting, key=lambda one: (one.kind, preference(one.arch, device)))
            found[device] = _Service(_image_text(best), best.kind, min(map(_oldest_driver, fitting)))
    return found


def _image_text(image: ImageRecord) -> str:
    return str(Column(str(image.arch), image.kind))


def _oldest_driver(image: ImageRecord) -> tuple[int, int]:
    return next((driver for driver in _DRIVERS if not driver_refusal(image, driver)), _DRIVERS[-1])


def _devices(pair: _Listed) -> Iterator[_Difference]:
    records = pair.before.images(pair.old), pair.after.images(pair.new)
    forms = [frozenset((one.arch, one.kind, one.ptx_isa) for one in side) for side in records]
    if forms[0] == forms[1]:
        return
    devices = frozenset(_DEVICES | {arch.capability for side in forms for arch, _, _ in side})
    old, new = (_services(side, devices) for side in forms)
    groups: dict[tuple[str, Value, Value], list[str]] = {}
    for device in sorted(devices):
        for found in _device_changes(old.get(device), new.get(device)):
            groups.setdefault(found, []).append("newer ones" if device == _NEWER else str(device))
    for (kind, one, other), texts in groups.items():
        yield _Difference(kind, pair.name, f"devices {', '.join(texts)}", one, other)
    listed = [", ".join(sorted(map(_image_text, side))) for side in records]
    if not groups and listed[0] != listed[1]:
        yield _Difference("architecture-changed", pair.name, "", *listed)


def _device_changes(old: _Service | None, new: _Service | None) -> Iterator[tuple[str, str, str]]:
    if old is None or new is None:
        if old is not None:
            yield "architecture-removed" if old.kind == "cubin" else "ptx-removed", old.image, "no image"
        elif new is not None:
            yield "architecture-added", "no image", new.image
        return
    if old.kind == "cubin" != new.kind:
        yield "ptx-instead", old.image, new.image
    if old.driver != new.driver:
        kind = "driver-raised" if new.driver > old.driver else "driver-lowered"
        yield kind, *(f"driver for CUDA {version_text(one.driver)}" for one in (old, new))  # type: ignore[misc]


def _origins(old: PackageFacts, new: PackageFacts) -> Iterator[_Difference]:
    if old.import_name and new.import_name and old.import_name != new.import_name:
        yield _Difference("store-moved", old=old.import_name, new=new.import_name)
    known = old.requires is not None and new.requires is not None
    raised = known and _lowest(new.requires or "") > _lowest(old.requires or "")
    if raised:
        yield _Difference("requirement-raised", old=old.requires or "none", new=new.requires or "none")
    schemas = [max((index.schema for index in side.modules), default=0) for side in (old, new)]
    if schemas[1] > schemas[0] > 0 and not raised:
        yield _Difference("format-raised", old=f"schema {schemas[0]}", new=f"schema {schemas[1]}")


def _lowest(requirement: str) -> list[int]:
    """Return the lowest version that a requirement allows, as numbers; less than any for no requirement."""
    numbers = [[*map(int, text.split("."))] for text in re.findall(r"(?:>=?|==|~=)\s*v?(\d+(?:\.\d+)*)", requirement)]
    return max(numbers, default=[0] if requirement else [])


def _promises(old: PackageFacts, new: PackageFacts) -> Iterator[_Difference]:
    before, after = old.promises.supports, new.promises.supports
    for device in before.devices if before else ():
        kept = after is not None and device in after.devices
        drivers = [version_text(side.driver) if side and side.driver else "" for side in (before, after)]
        if not kept:
            yield _Difference("promise-withdrawn", str(device), old="promised", new="not promised")
        elif before and before.driver and (not after or not after.driver or after.driver > before.driver):
            yield _Difference("promise-withdrawn", str(device), "driver", drivers[0], drivers[1] or "none promised")


_ARITHMETIC: Final = frozenset({"use_fast_math", "ftz", "prec_div", "prec_sqrt", "fma"})


def _code(before: _Side, after: _Side) -> Iterator[_Difference]:
    both = before, after
    for name in sorted(before.modules.keys() & after.modules.keys()):
        sides = before.modules[name], after.modules[name]
        old, new = (side[0] for side in sides)
        lacks = [not side.facts.without_sources.isdisjoint(one.module for one in side.modules[name]) for side in both]
        if lacks[0] != lacks[1]:
            yield _Difference("sources-removed" if lacks[1] else "sources-added", name)
        found = [*_inputs(name, old, new)]
        yield from found
        one, other = map(_digests, sides)
        shared = one.keys() & other.keys() if before.keys.get(name) == after.keys.get(name) else ()
        if not found and any(one[key] != other[key] for key in shared):
            yield _Difference("images-changed", name)
        held = [[image.stored for one in side for image in one.images] for side in sides]
        packed = ["packed" if any(stored and stored.size for stored in side) else "not packed" for side in held]
        if packed[0] != packed[1]:
            yield _Difference("packing-changed", name, "", *packed)


def _inputs(name: str, old: ModuleIndex, new: ModuleIndex) -> Iterator[_Difference]:
    """Yield what differs of that from which a module's images are made."""
    if old.source_sha256 != new.source_sha256:
        yield _Difference("source-changed", name)
    options = [{**one.options, "front_end": one.front_end} for one in (old, new)]
    for option, texts in _differing("default", *options):
        yield _Difference("arithmetic-changed" if option in _ARITHMETIC else "options-changed", name, option, *texts)
    for part, texts in _differing("none", old.toolchain, new.toolchain):
        yield _Difference("toolchain-changed", name, part, *texts)


def _differing(absent: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield each key whose values differ, with both as text; of lists, what only one has."""
    for key in sorted(old.keys() | new.keys()):
        one, other = old.get(key), new.get(key)
        if one != other and isinstance(one or [], list) and isinstance(other or [], list):
            lists = one or [], other or []
            only = [[x for x in lists[at] if x not in lists[not at]] for at in (0, 1)]
            one, other = only if any(only) else lists  # else in another order
        if one != other:
            yield key, [absent if value is None else _value_text(value) for value in (one, other)]


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join("=".join(map(str, one)) if isinstance(one, list) else str(one) for one in value) or "none"
    return value if isinstance(value, str) else json.dumps(value)


def _digests(chunks: Sequence[ModuleIndex]) -> dict[tuple[SmArch, str], set[str]]:
    found: dict[tuple[SmArch, str], set[str]] = {}
    for image in (image for one in chunks for image in one.images):
        found.setdefault((image.arch, image.kind), set()).add(image.sha256)
    return found


def _total(old: int, new: int) -> Iterator[_Difference]:
    if WHEEL_LIMIT.passed(old, new):
        yield _Difference("total-rose", "", "bytes", old, new)
    elif new > old and percent(old, new) != "≈":
        yield _Difference("figures-changed", "", "total size, bytes", old, new)


def _figures(known: Mapping[CellKey, Cell], cells: Sequence[Cell]) -> Iterator[_Difference]:
    for measure in _LIMITED:
        risen = [(cell, step) for cell in cells if (step := step_of(known.get(cell.key), cell, measure))]
        for cell, step in risen:
            if step.regression:
                name = f"module {cell.module}" if measure.per == "image" else cell.kernel
                yield _Difference(f"{measure.name}-rose", name, str(cell.column), step.old, step.new)
        little = [(cell, step) for cell, step in risen if step.new > step.old and not step.regression]
        if little:
            cell, step = max(little, key=lambda one: one[1].new / (one[1].old or 0.5))
            name, part = cell.kernel, f"{measure.title.lower()}, most of all on {cell.column}"
            name = f"module {cell.module}" if measure.per == "image" else name
            yield _Difference("figures-changed", name, part, step.old, step.new)
