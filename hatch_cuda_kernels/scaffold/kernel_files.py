"""The kernels of a project that ``init`` sets up: a manifest of those that exist, or a first kernel."""

from __future__ import annotations

import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count, takewhile
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from hatch_cuda_kernels.arch import SmArch, parse_version, version_text
from hatch_cuda_kernels.build import compile_images
from hatch_cuda_kernels.compiler import Recipe, is_known, lacking_targets, read_recipe
from hatch_cuda_kernels.compiler.toolchain import build_extra, release_requirements
from hatch_cuda_kernels.cpp import SourceFile, lex
from hatch_cuda_kernels.errors import CompileError, HatchCudaKernelsError, InputError, ManifestError, ToolchainError
from hatch_cuda_kernels.includes import MARK, Project, package_of, read_closure
from hatch_cuda_kernels.libraries import is_library_header, package_distribution, package_with
from hatch_cuda_kernels.manifest import (
    Manifest,
    Module,
    flow,
    has_key,
    list_files,
    load_manifest,
    module_names,
    parse_manifest,
    stated_options,
)
from hatch_cuda_kernels.names import fill, placeholders
from hatch_cuda_kernels.options import NvrtcOptions, options_of, override_options
from hatch_cuda_kernels.plan import check_release, make_plan, open_reader, read_sources, requirements
from hatch_cuda_kernels.port import port
from hatch_cuda_kernels.scaffold.loaders import Loaders, Variants, matrix_of, read_loaders, variants
from hatch_cuda_kernels.scaffold.templates import FIRST_KERNEL, HEAD, MANIFEST_HEAD, fill_template, read_text
from hatch_cuda_kernels.terminal import list_text

#: The comment behind the name of a module that was not compiled, in a manifest.
_MARK: Final = "not tried yet: run init again where its compiler is installed"
#: The line of a manifest without a module, which no command reads.
NO_MODULES: Final = "modules: {}"
_NO_INSTANCE: Final = (
    "all its kernels are templates ({}), and no launch shows their arguments; list the instances under instances:"
)
_TEXT_IN_PYTHON: Final = "a kernel that is text in Python; move the text into a .cu file, and run init again"
_NOT_PYTHON: Final = "this Python cannot read it, so that what it compiles is not known"
_OF_TESTS: Final = re.compile(r"(^|/)tests?/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")
#: Rounds of reading a source with more folders.
_MOST_ROUNDS: Final = 10


class ManifestHead(NamedTuple):
    """A manifest without its modules."""

    root: Path
    keys: Mapping[str, Any]

    def manifest(self, modules: Mapping[str, Any]) -> Manifest:
        """Return the manifest with these modules. Raises ManifestError."""
        return parse_manifest(json.dumps({**self.keys, "modules": modules}), root=self.root)

    def arches(self, stated: Mapping[str, Any]) -> list[SmArch]:
        """Return the architectures of a module."""
        return [SmArch.parse(arch) for arch in stated.get("arches", self.keys["arches"])]


class _ModuleDraft(NamedTuple):
    """A source's module, as far as its text shows it."""

    name: str
    stated: dict[str, Any]
    open_ends: tuple[str, ...]
    """What the text does not show, such as the arguments of a template."""
    templates: tuple[str, ...]
    """The templates without instances, if the source has no other kernel."""


@dataclass(frozen=True)
class Survey:
    """What a manifest states of each source, by module, and why others are not in it."""

    modules: dict[str, dict[str, Any]] = field(default_factory=dict)
    unlisted: dict[str, str] = field(default_factory=dict)
    """Reasons by source."""
    open_ends: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By module, what its author has to complete."""
    untried: str | None = None
    """Why nothing was compiled, so that the modules follow from the text of their sources; None if it was."""
    requirements: tuple[str, ...] = ()
    """What it takes to compile them."""
    left_out: dict[str, None] = field(default_factory=dict)
    """Flags of compiles in Python files, each with the reason."""

    def lines(self) -> Iterator[str]:
        """Yield the lines of a manifest's modules, and a comment for each source that is not in it."""
        for name in self.modules:
            yield from self.module_lines(name)
        for source, reason in self.unlisted.items():
            yield _unlisted_line(source, reason)
        yield from (f"  # {one}" for one in self.left_out)

    def module_lines(self, name: str) -> Iterator[str]:
        """Yield the lines of one module."""
        yield f"  {flow(name)}:" if self.untried is None else f"  {flow(name)}:  # {_MARK}"
        yield from (f"    {key}: {flow(value)}" for key, value in self.modules[name].items())
        yield from (f"    # {one}" for one in self.open_ends.get(name, ()))


def _unlisted_line(source: str, reason: str) -> str:
    return f"  # {source}: {reason}"


def survey(head: ManifestHead, sources: Sequence[str], files: Sequence[str]) -> Survey:
    """Return the modules of sources, as far as their text shows them. ``files`` are the project's C++ files."""
    found = Survey(untried="")
    loaders = _read_python(head.root, files)
    found.unlisted.update(dict.fromkeys(loaders.texts, _TEXT_IN_PYTHON) | dict.fromkeys(loaders.unread, _NOT_PYTHON))
    for source in dict.fromkeys((*sources, *(one.source for one in loaders.requests))):
        for variant in _variants(loaders, source):
            try:
                draft = _draft(head.root, source, files, variant)
                make_plan(head.manifest({draft.name: draft.stated}))
            except HatchCudaKernelsError as error:
                line = str(error).partition("\n")[0]
                found.unlisted[source] = re.sub(r"^kernels\.yaml:\S+ modules\.\S+: ", "", line)
            else:
                if draft.templates:
                    found.unlisted[source] = _NO_INSTANCE.format(list_text(draft.templates))
                    continue
                names = chain([draft.name], (f"{draft.name}_{number}" for number in count(2)))
                name = next(name for name in names if name not in found.modules)
                found.modules[name], found.open_ends[name] = draft.stated, draft.open_ends
                found.left_out.update(dict.fromkeys(variant.left_out if variant else ()))
    return found


def _read_python(root: Path, files: Sequence[str]) -> Loaders:
    """Return what the project's Python files, but for its tests, compile at run time."""
    return read_loaders(root, [path for path in list_files(root, (".py",)) if not _OF_TESTS.search(path)], files)


def _variants(loaders: Loaders, source: str) -> list[Variants | None]:
    stem = next(module_names([source]))
    return [*variants([one for one in loaders.requests if one.source == source], stem)] or [None]


def _draft(root: Path, source: str, files: Sequence[str], variant: Variants | None = None) -> _ModuleDraft:
    """Return a source's module as its text shows it: folders, options, instances; and as Python files compile it."""
    given = variant.stated if variant else {}
    options = options_of(_first_values(variant)) if variant else NvrtcOptions()
    include = include_folders(root, source, files)
    options = override_options(options, include=tuple(include))
    ported = port(root, [source], options)
    module = ported.modules[0]
    merged = stated_options(options) | module.stated.get("options", {}) | given.get("options", {})
    sources = read_recipe(Recipe(module="module", sources=(source,), options=options), root, clocks=True)
    stated = module.stated | given | ({"options": merged} if merged else {})
    templates = tuple(f"{one.name}<{', '.join(one.parameters)}>" for one in ported.templates)
    lone = "instances" not in stated and len(sources.declared.kernels) <= len(templates)
    ends = (*variant.guesses, *module.open_ends) if variant else module.open_ends
    return _ModuleDraft(variant.name if variant else module.name, stated, ends, templates if lone else ())


def _first_values(variant: Variants) -> dict[str, Any]:
    """Return the options of the first of an entry's modules."""
    values = variant.combinations[0] if variant.combinations else {}
    define = variant.options.get("define", {})
    filled = {
        name: value and fill(value, {axis: f"{{{axis}}}" for axis in placeholders(value)} | values)
        for name, value in define.items()
    }
    return variant.options | {"define": filled}


def include_folders(root: Path, source: str, files: Sequence[str], known: Sequence[str] = ()) -> list[str]:
    """Return ``known`` and the folders that hold what a source and its headers include, and that is not beside them.

    They are the project's, or of packages that are installed and known for such headers. Of several files that answer
    to a name, the one that shares most of its path with the source is taken. Raises InputError for a source that
    cannot be read.
    """
    project = Project(root)
    folders = list(known)
    for _ in range(_MOST_ROUNDS):
        missing = read_closure(root, source, include=folders, project=project).outside
        wanted = [name for name in missing if not is_known(name) and not is_library_header(name)]
        fresh = dict.fromkeys(_folder_of(name, source, files, project) for name in wanted)
        fresh = dict.fromkeys(folder for folder in fresh if folder and folder not in folders)
        if not fresh:
            break
        folders += fresh
    return folders


def _folder_of(name: str, source: str, files: Sequence[str], project: Project) -> str:
    """Return the folder from which a header has a name, the project's or a package's; empty where none has."""
    found = [path for path in files if f"/{path}".endswith(f"/{name}") and not name.startswith(".")]
    if found:
        best = max(found, key=lambda path: (len(posixpath.commonprefix([path, source])), -len(path)))
        return best.removesuffix(name).rstrip("/") or "."
    known = package_with(name)
    folder = "" if known is None else f"{MARK}{known[0]}/{known[1]}"
    return folder if folder and project.files.is_folder(folder) else ""


#: Rounds of compiles for other targets: the first error of a module is the first architecture's.
_MOST_TARGETS: Final = 3
_NO_KERNEL: Final = "no kernel is left in it"
_NOT_ALL: Final = "other combinations are left out: {}"


class _Fault(NamedTuple):
    """Why a module does not compile, or why some of an entry's do not."""

    reason: str
    log: str = ""
    kept: tuple[dict[str, str], ...] = ()
    """The combinations of axes that compile."""


def try_modules(head: ManifestHead, found: Survey) -> Survey:
    """Compile the modules of a survey; return it with the results, or with the reason why that is impossible here."""
    if not found.modules:
        return found
    manifest = head.manifest(found.modules)
    modules = {name: dict(stated) for name, stated in found.modules.items()}
    try:
        check_release(manifest)
        refused = _find_refusals(head, modules)
    except ToolchainError as error:
        return replace(found, untried=error.message, requirements=tuple(requirements(manifest)))
    ends, partly = found.open_ends, {name: fault for name, fault in refused.items() if fault.kept}
    unlisted = {
        modules[name]["source"]: "; ".join([fault.reason, *(ends[name] if fault.reason == _NO_KERNEL else ())])
        for name, fault in refused.items()
        if not fault.kept
    }
    kept = {name: stated for name, stated in modules.items() if name in partly or name not in refused}
    told = {name: (*ends[name], _NOT_ALL.format(fault.reason)) for name, fault in partly.items()}
    return replace(found, modules=kept, unlisted=found.unlisted | unlisted, untried=None, open_ends=ends | told)


def _find_refusals(head: ManifestHead, modules: dict[str, dict[str, Any]]) -> dict[str, _Fault]:
    """Compile modules, remove refused instances and combinations, and add the sources that define missing symbols.

    A source whose instructions only an architecture-specific target has is compiled for that target. Returns the
    modules that still fail, and those of which only some combinations of axes are kept.
    """
    failed = _compile_manifest(head.manifest(modules))
    partly = {name: fault for name, fault in failed.items() if fault.kept}
    for name, fault in partly.items():
        plain, axes = modules[name], modules[name]["matrix"]
        rows = sorted(fault.kept, key=lambda one: [axes[axis].index(value) for axis, value in one.items()])
        modules[name] = {key: value for key, value in plain.items() if key != "exclude"} | matrix_of(rows)
    failed = {name: fault for name, fault in failed.items() if not fault.kept}
    for _ in range(_MOST_TARGETS):
        lacking = [name for name, fault in failed.items() if _retarget(head, modules[name], fault.log)]
        if not lacking:
            break
        failed = {name: fault for name, fault in failed.items() if name not in lacking}
        failed |= _compile_manifest(head.manifest({name: modules[name] for name in lacking}))
    for name in failed:
        modules[name] = _complete(head, name, modules[name])
    if failed:
        failed = _compile_manifest(head.manifest({name: modules[name] for name in failed}))
    return failed | partly


def _retarget(head: ManifestHead, stated: dict[str, Any], log: str) -> bool:
    """Replace architectures that lack an instruction by those that have it; return whether that changes the module."""
    before = head.arches(stated)
    owners = lacking_targets(log)
    after = [owners.get(arch, arch) for arch in before]
    if any(target.number < owner.number for target, owner in owners.items()):
        after = [*owners.values()]
    if after == before:
        return False
    stated["arches"] = [*dict.fromkeys(map(str, after))]
    return True


def _complete(head: ManifestHead, name: str, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return a module without the instances that NVRTC refuses, and with what its link needs."""
    module = head.manifest({name: stated}).modules[0]
    arch = next((arch for arch in module.arches if not arch.virtual), module.arches[0])
    options = module.recipe.options
    ported = port(head.root, [stated["source"]], options, arch=arch, patch=False, seconds=float("inf"))
    (found,) = ported.modules
    plain = dict(found.plain)
    if "libraries" in plain:  # no PTX is linked with it
        plain["arches"] = [str(arch) for arch in head.arches(stated) if not arch.virtual]
    instances = [name for name in stated.get("instances", ()) if name not in found.refused]
    kept = {key: one for key, one in stated.items() if key not in {*plain, "source", "instances"}}
    return {**plain, **({"instances": instances} if instances else {}), **kept}


def _compile_manifest(manifest: Manifest) -> dict[str, _Fault]:
    """Compile a manifest's modules into the disk cache, and return the entries that fail. Raises ToolchainError."""
    reader = open_reader(manifest)
    plan, done = compile_images(make_plan(manifest, reader), manifest, reader, lambda _: None)
    faults = {failure.job.module: _fault(failure.error) for failure in reversed(done.failures)}
    failed: dict[str, _Fault] = {}
    kept: dict[str, list[dict[str, str]]] = defaultdict(list)
    for planned in plan:
        name, entry = planned.module.name, planned.module.entry
        if not done.entries.keys() >= {*planned.images}:
            failed.setdefault(entry, faults.get(name, _Fault("it does not compile")))
        elif not any(done.entries[image].kernels for image in planned.images):
            failed.setdefault(entry, _Fault(_NO_KERNEL))
        else:
            kept[entry].append(dict(planned.module.axes))
    return {entry: fault._replace(kept=tuple(filter(None, kept[entry]))) for entry, fault in failed.items()}


def _fault(error: Exception) -> _Fault:
    """Return a compile's first error and what to do about it, on one line, with its log."""
    if not isinstance(error, CompileError):
        return _Fault(str(error).partition("\n")[0])
    if not error.faults:
        return _Fault(error.message.partition("\n")[0], error.log)
    first, *others = (line.strip() for line in error.faults[0].splitlines())
    fixes = [line for line in others if line.startswith("to fix: ")]
    names = [repr(name) for name in error.bad_names[:1]]
    return _Fault("; ".join([": ".join([*names, first]), *fixes]), error.log)


_MARKED: Final = re.compile(rf"  (?P<name>\w+|\"[^\"]*\"):  # {_MARK}")


def _retry_marked(path: Path) -> tuple[str, Survey]:
    """Compile the modules of a manifest that were not tried; return its text after that, and the results.

    Without the compiler that it asks for, nothing changes. A module that its author has edited is compiled as it is,
    and stays. Raises ManifestError.
    """
    text = path.read_bytes().decode()
    lines = text.splitlines()
    blocks = _blocks(lines)
    if not blocks:
        return text, Survey()
    manifest = load_manifest(path)
    modules = {module.entry: module for module in reversed(manifest.modules) if module.entry in blocks}
    try:
        check_release(manifest)
        before = {name: lines[blocks[name]] for name in modules}
        after, found = _retry_modules(manifest, modules, before, has_key(text, ["options"]))
    except ToolchainError as error:
        left = {name: {"source": one.sources[0]} for name, one in modules.items()}
        return text, Survey(left, untried=error.message, requirements=tuple(requirements(manifest)))
    for name in sorted(modules, key=lambda one: -blocks[one].start):  # from the end, so that the places stay
        lines[blocks[name]] = after[name]
    unlisted = {name for name, changed in after.items() if not changed[0].startswith(f"  {flow(name)}:")}
    if {module.entry for module in manifest.modules} == unlisted:
        lines = [NO_MODULES if line == "modules:" else line for line in lines]
    return _newline(text).join([*lines, ""]), found


def _retry_modules(
    manifest: Manifest, modules: Mapping[str, Module], before: Mapping[str, Sequence[str]], has_options: bool
) -> tuple[dict[str, list[str]], Survey]:
    """Return the new lines of each module, and the results. Raises ToolchainError."""
    files = list_files(manifest.root)
    plain = Survey(untried="")
    loaders = _read_python(manifest.root, files)
    for name, module in modules.items():
        of_name = [one for one in _variants(loaders, module.sources[0]) if one is None or one.name == name]
        for variant in of_name[:1]:
            draft = _draft(manifest.root, module.sources[0], files, variant)
            plain.modules[name], plain.open_ends[name] = draft.stated, draft.open_ends
        if of_name and (has_options or [*plain.module_lines(name)] != [*before[name]]):
            del plain.modules[name]
    arches = dict.fromkeys(str(arch) for name in plain.modules for arch in modules[name].arches)
    keys = {"schema": 1, "cuda": version_text(manifest.release), "arches": [*arches]}
    found = try_modules(ManifestHead(manifest.root, keys), plain)
    lines = {name: [*found.module_lines(name)] for name in found.modules}
    for name in plain.modules.keys() - found.modules.keys():
        source = modules[name].sources[0]
        lines[name] = [_unlisted_line(source, found.unlisted[source])]
    edited = {name: module for name, module in modules.items() if name not in plain.modules}
    every = tuple(module for module in manifest.modules if module.entry in edited)
    faults = _compile_manifest(replace(manifest, modules=every)) if edited else {}
    for name in edited:
        comment = f"  # it does not compile: {faults[name].reason}" if name in faults else ""
        lines[name] = [f"  {flow(name)}:{comment}", *before[name][1:]]
    return lines, found


def _blocks(lines: Sequence[str]) -> dict[str, slice]:
    """Return where in a manifest the modules are that were not tried, by name."""
    found = {}
    for number, line in enumerate(lines):
        head = _MARKED.fullmatch(line)
        if head is not None:
            below = takewhile(lambda one: one.startswith("   "), lines[number + 1 :])
            found[head["name"].strip('"')] = slice(number, number + 1 + sum(1 for _ in below))
    return found


_NO_MODULE: Final = (
    "the manifest has no module, and a build needs one: correct a source, or write its module, and run init again"
)
#: Suffixes of C++ files in a folder that also has Python files.
_SUFFIXES: Final = (".cu", ".cuh")


class KernelFiles(NamedTuple):
    """The files and notes for a project's kernels."""

    files: dict[str, str]
    """The missing files: a manifest, and a first kernel if the project has none."""
    notes: tuple[str, ...]
    untried: tuple[str, ...] = ()
    """The requirements to compile the sources that were not compiled."""
    changed: str = ""
    """The text that replaces the manifest's; empty if it stays."""

    def write(self, manifest: Path, name: str) -> tuple[str, ...]:
        """Replace the manifest's text, and return the change to the file of this name."""
        if not self.changed:
            return ()
        manifest.write_bytes(self.changed.encode())
        return (f"{name}: the results of modules that were not tried before",)


def kernel_files(root: Path, manifest: Path, find: Callable[[], tuple[str, str]]) -> KernelFiles:
    """Return the files of a project's kernels, and the manifest after a compile of the modules marked as not tried."""
    if manifest.is_file():
        before = read_text(manifest)
        if NO_MODULES in before.splitlines():
            return _redraft(manifest, before)
        try:
            after, found = _retry_marked(manifest)
        except ManifestError:  # `check` says what is wrong with it
            return KernelFiles({}, ())
        return KernelFiles({}, *_notes_and_requirements(found, after), "" if after == before else after)
    folder, imported = find()
    drafted, notes, untried = manifest_of_sources(manifest.parent)
    if drafted:
        return KernelFiles({manifest.relative_to(root).as_posix(): drafted}, notes, untried)
    words = {"FOLDER": folder, "PACKAGE": imported}
    beside = manifest.parent.relative_to(root).as_posix()
    places = {
        "kernels.yaml": manifest.relative_to(root).as_posix(),
        "kernels/saxpy.cu": f"{beside}/kernels/saxpy.cu".removeprefix("./"),
    }
    return KernelFiles(
        {
            places.get(path, fill_template(path, words)): fill_template(text, words)
            for path, text in FIRST_KERNEL.items()
        },
        notes,
    )


def _redraft(manifest: Path, before: str) -> KernelFiles:
    """Draft again the modules of a manifest that has none, because no source compiled before."""
    drafted, notes, untried = manifest_of_sources(manifest.parent)
    if not drafted:
        return KernelFiles({}, (_NO_MODULE,))
    lines, modules = before.splitlines(), drafted.removeprefix(MANIFEST_HEAD).splitlines()
    place = lines.index(NO_MODULES)
    sources = _kernel_sources(manifest.parent, list_files(manifest.parent))
    comments = tuple(_unlisted_line(source, "") for source in sources)
    behind = [line for line in lines[place + 1 :] if not line.startswith(comments or ("\n",))]
    after = _newline(before).join([*lines[:place], *modules, *behind, ""])
    return KernelFiles({}, notes, untried, "" if after == before else after)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def manifest_of_sources(folder: Path) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return a manifest of the kernels below a folder, notes about its sources, and the requirements to compile them.

    Without kernels, all are empty.
    """
    files = list_files(folder) if folder.is_dir() else []
    sources = _kernel_sources(folder, files)
    if not sources:
        return "", (), ()
    head = ManifestHead(folder, HEAD)
    found = try_modules(head, survey(head, sources, files))
    modules = ["modules:" if found.modules else NO_MODULES, *found.lines()]
    text = "\n".join([f"{MANIFEST_HEAD}{modules[0]}", *modules[1:], ""])
    return text, *_notes_and_requirements(found, text)


def _notes_and_requirements(found: Survey, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return notes about sources and a manifest's text, and the requirements to compile what was not compiled."""
    notes = [f"{source} is not in the manifest: {reason}" for source, reason in found.unlisted.items()]
    notes += found.left_out
    for name, stated in found.modules.items():
        ends = found.open_ends.get(name, ())
        more = f"; the manifest has {len(ends) - 1} more of this kind" if len(ends) > 1 else ""
        notes += [f"{stated['source']}: {end}{more}" for end in ends[:1]]
    if found.untried is not None and found.modules:
        sources = [stated["source"] for stated in found.modules.values()]
        verb = "is" if len(sources) == 1 else "are"
        notes.append(f"{list_text(sources)} {verb} in the manifest, but not tried: {found.untried}")
    notes += [_NO_MODULE] if NO_MODULES in text.splitlines() else []
    return tuple(notes), found.requirements if found.modules else ()


def _kernel_sources(root: Path, files: Iterable[str]) -> list[str]:
    """Return the files to compile: the .cu files with a kernel, but for those that other files include.

    Where only a .cuh file has a kernel, a .cu file that includes it is compiled, or else the .cuh file itself.
    """
    texts = {path: (root / path).read_bytes().decode(errors="replace") for path in files}
    fragments = tuple(f"/{name}" for text in texts.values() if ".cu" in text for name in _included(text, ".cu"))
    tops = [path for path in texts if path.endswith(".cu") and not f"/{path}".endswith(fragments or ("//",))]
    candidates = (path for path in texts if path.endswith(_SUFFIXES) and "__global__" in texts[path])
    with_kernels = [path for path in candidates if "__global__" in lex(texts[path])]
    sources = [path for path in tops if path in with_kernels]
    headers = {path for path in with_kernels if path.endswith(".cuh")}
    for path in (*sources, *tops, *sorted(headers)):
        reached = _reached(path, texts) if headers else set()
        if reached & headers and path not in sources:
            sources.append(path)
        headers -= reached
    return sources


def _reached(path: str, texts: Mapping[str, str]) -> set[str]:
    """Return a file and those that it includes, directly or through others; a name may be the end of a path."""
    found, left = {path}, [path]
    while left:
        ends = tuple(f"/{name}" for name in _included(texts[left.pop()]))
        new = {one for one in texts if f"/{one}".endswith(ends or ("//",))} - found
        found |= new
        left += new
    return found


def _included(text: str, suffix: str = "") -> Iterator[str]:
    """Yield the names of the files that a text includes, without the folders above."""
    for directive in SourceFile("", text).directives:
        if directive.word == "include" and directive.header.endswith(suffix):
            yield "/".join(part for part in directive.header.split("/") if part not in {".", ".."})


@dataclass(frozen=True)
class DraftedManifest:
    """A manifest, by its ``text`` if its file is not written yet."""

    path: Path
    text: str = ""

    @cached_property
    def read(self) -> Manifest | None:
        """What it says; None before its first kernel is written, and where `check` will say what is wrong."""
        try:
            return parse_manifest(self.text, root=self.path.parent) if self.text else load_manifest(self.path)
        except ManifestError:
            return None

    @property
    def release(self) -> tuple[int, int]:
        """The toolkit release that it states; that of a first one, if it cannot be read."""
        return parse_version(HEAD["cuda"]) if self.read is None else self.read.release

    def requirements(self) -> tuple[list[str], str]:
        """Return what builds require to compile its kernels, and this package's extra for it."""
        needed = release_requirements(self.release) if self.read is None else requirements(self.read)
        return needed, build_extra(self.release[0])

    def header_packages(self) -> list[str]:
        """Return the distributions of the packages whose headers it includes."""
        modules = () if self.read is None else self.read.modules
        packages = (package_of(folder) for module in modules for folder in module.options.include)
        marks = dict.fromkeys(filter(None, packages))
        return [package_distribution(mark.removeprefix(MARK), self.release[0]) for mark in marks]

    def kernel_patterns(self, root: Path) -> list[str]:
        """Return patterns of the files that a wheel's kernels are made of, the manifest first, relative to the project.

        A folder of kernels and headers alone is one pattern.
        """
        beside = PurePosixPath(self.path.parent.relative_to(root).as_posix())
        files, included = {PurePosixPath("kernels/saxpy.cu")}, set[PurePosixPath]()
        with suppress(InputError):  # which `check` will tell
            if self.read is not None:
                read = {name for sources in read_sources(self.read).values() for name in sources.files}
                folders = {name for module in self.read.modules for name in module.options.include}
                found = ({PurePosixPath(name) for name in names if not package_of(name)} for names in (read, folders))
                files, included = found
        patterns = dict.fromkeys(_patterns(self.path.parent, files, included))
        return [self.path.relative_to(root).as_posix(), *(str(beside / pattern) for pattern in patterns)]


def _patterns(root: Path, files: Collection[PurePosixPath], included: Collection[PurePosixPath]) -> Iterator[str]:
    """Yield what matches files in their folders, and what is in the folders that are included."""
    folders = {*included, *(file.parent for file in files)}
    # In a folder without a Python module, every change may be one of the kernels.
    folders = {folder for folder in folders if next((root / folder).rglob("*.py"), None) is None}
    folders = {folder for folder in folders if folder.parts and not folders & {*folder.parents}}
    yield from sorted(f"{folder}/**" for folder in folders)
    for file in sorted(files):
        if not folders & {*file.parents}:
            suffixes = (*_SUFFIXES, file.suffix) if file.suffix == ".cu" else (file.suffix,)
            yield from (str(file.parent / f"*{suffix}") for suffix in suffixes)
