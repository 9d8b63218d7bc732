"""The kernels of a project that ``init`` sets up: a manifest of those that exist, or a first kernel."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.compiler.toolchain import build_extra, release_requirements
from hatch_cuda_kernels.cpp import SourceFile, lex
from hatch_cuda_kernels.errors import InputError, ManifestError
from hatch_cuda_kernels.manifest import load_manifest, parse_manifest
from hatch_cuda_kernels.plan import read_sources, requirements
from hatch_cuda_kernels.port import list_files
from hatch_cuda_kernels.scaffold.survey import NO_MODULES, ManifestHead, is_unlisted_line, retry, survey, try_modules
from hatch_cuda_kernels.scaffold.templates import FIRST_KERNEL, HEAD, MANIFEST_HEAD, fill_template, read_text
from hatch_cuda_kernels.terminal import list_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    from hatch_cuda_kernels.manifest import Manifest
    from hatch_cuda_kernels.scaffold.survey import Survey


_NO_MODULE: Final = (
    "no module is in the manifest, and builds need one: mend a source or write its module, and run init again"
)
#: Suffixes of C++ files in a folder that also has Python files.
_SUFFIXES: Final = (".cu", ".cuh")


class KernelFiles(NamedTuple):
    """What becomes of a project's kernels."""

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
        return (f"{name}: what came of modules that were not tried before",)


def kernel_files(root: Path, manifest: Path, find: Callable[[], tuple[str, str]]) -> KernelFiles:
    """Return the files of a project's kernels, and the manifest after a compile of the modules marked as not tried."""
    if manifest.is_file():
        return _retry(manifest)
    folder, imported = find()
    drafted, notes, untried = manifest_of_sources(manifest.parent)
    if drafted:
        return KernelFiles({manifest.relative_to(root).as_posix(): drafted}, notes, untried)
    return KernelFiles(_first_kernel(root, manifest, {"FOLDER": folder, "PACKAGE": imported}), notes)


def _retry(manifest: Path) -> KernelFiles:
    before = read_text(manifest)
    if NO_MODULES in before.splitlines():
        return _redraft(manifest, before)
    try:
        after, found = retry(manifest)
    except ManifestError:  # `check` says what is wrong with it
        return KernelFiles({}, ())
    return KernelFiles({}, *_notes_and_requirements(found, after), "" if after == before else after)


def _redraft(manifest: Path, before: str) -> KernelFiles:
    """Return what becomes of a manifest without a module, because none of the sources compiled before."""
    drafted, notes, untried = manifest_of_sources(manifest.parent)
    if not drafted:
        return KernelFiles({}, (_NO_MODULE,))
    lines, modules = before.splitlines(), drafted.removeprefix(MANIFEST_HEAD).splitlines()
    place = lines.index(NO_MODULES)
    sources = _kernel_sources(manifest.parent, list_files(manifest.parent))
    behind = [line for line in lines[place + 1 :] if not is_unlisted_line(line, sources)]
    newline = "\r\n" if "\r\n" in before else "\n"
    after = newline.join([*lines[:place], *modules, *behind, ""])
    return KernelFiles({}, notes, untried, "" if after == before else after)


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
    none = (_NO_MODULE,) if NO_MODULES in text.splitlines() else ()
    return (*_notes(found), *none), found.untried.requirements if found.untried and found.modules else ()


def _notes(found: Survey) -> Iterator[str]:
    yield from (f"{source} is not in the manifest: {reason}" for source, reason in found.unlisted.items())
    for name, stated in found.modules.items():
        ends = found.open_ends.get(name, ())
        more = f"; the manifest has {len(ends) - 1} more of this kind" if len(ends) > 1 else ""
        yield from (f"{stated['source']}: {end}{more}" for end in ends[:1])
    if found.untried is not None and found.modules:
        sources = [stated["source"] for stated in found.modules.values()]
        verb = "is" if len(sources) == 1 else "are"
        yield f"{list_text(sources)} {verb} in the manifest, but not tried: {found.untried.reason}"


def _kernel_sources(root: Path, files: Iterable[str]) -> list[str]:
    """Return the .cu files that define a kernel, but for those that other files include."""
    texts = {path: (root / path).read_bytes().decode(errors="replace") for path in files}
    fragments = tuple(f"/{name}" for text in texts.values() for name in _included_sources(text))
    sources = (path for path in texts if path.endswith(".cu") and not f"/{path}".endswith(fragments or ("//",)))
    return [path for path in sources if "__global__" in texts[path] and "__global__" in lex(texts[path])]


def _included_sources(text: str) -> Iterator[str]:
    """Yield the names of the .cu files that a text includes, without the folders above."""
    for directive in SourceFile("", text).directives if ".cu" in text else ():
        if directive.word == "include" and directive.header.endswith(".cu"):
            yield "/".join(part for part in directive.header.split("/") if part not in {".", ".."})


def _first_kernel(root: Path, manifest: Path, words: dict[str, str]) -> dict[str, str]:
    """Return the files of a first kernel. They are beside the manifest, whose paths are relative to it."""
    beside = manifest.parent.relative_to(root).as_posix()
    places = {
        "kernels.yaml": manifest.relative_to(root).as_posix(),
        "kernels/saxpy.cu": f"{beside}/kernels/saxpy.cu".removeprefix("./"),
    }
    return {
        places.get(path, fill_template(path, words)): fill_template(text, words) for path, text in FIRST_KERNEL.items()
    }


def stated_release(manifest: Path) -> tuple[int, int]:
    """Return the toolkit release that a manifest states; that of a first one, if it cannot be read."""
    try:
        return load_manifest(manifest).release
    except ManifestError:  # not written yet, or `check` will say what is wrong with it
        major, _, minor = str(HEAD["cuda"]).partition(".")
        return int(major), int(minor)


def _read_manifest(path: Path, text: str) -> Manifest:
    return parse_manifest(text, root=path.parent) if text else load_manifest(path)


def build_requirements(manifest: Path, text: str) -> tuple[list[str], str]:
    """Return what builds require to compile a manifest's kernels, and this package's extra for it.

    ``text`` is the manifest's, if that is not written.
    """
    try:
        found = _read_manifest(manifest, text)
    except ManifestError:  # its first kernel is not written yet, or `check` will say what is wrong
        release = stated_release(manifest)
        return release_requirements(release), build_extra(release[0])
    return requirements(found), build_extra(found.release[0])


def kernel_patterns(root: Path, manifest: Path, text: str) -> list[str]:
    """Return patterns of the files that a wheel's kernels are made of, the manifest first, relative to the project.

    ``text`` is the manifest's, if that is not written. A folder of kernels and headers alone is one pattern.
    """
    beside = PurePosixPath(manifest.parent.relative_to(root).as_posix())
    try:
        found = _read_manifest(manifest, text)
        files = {PurePosixPath(name) for sources in read_sources(found).values() for name in sources.files}
        included = {PurePosixPath(name) for module in found.modules for name in module.options.include}
    except InputError:  # its first kernel is not written yet, or `check` will say what is wrong
        files, included = {PurePosixPath("kernels/saxpy.cu")}, set()
    patterns = dict.fromkeys(_patterns(manifest.parent, files, included))
    return [manifest.relative_to(root).as_posix(), *(str(beside / pattern) for pattern in patterns)]


def _patterns(root: Path, files: Collection[PurePosixPath], included: Collection[PurePosixPath]) -> Iterator[str]:
    """Yield what matches files in their folders, and what is in the folders that are included."""
    folders = {folder for folder in {*included, *(file.parent for file in files)} if _is_for_kernels(root / folder)}
    folders = {folder for folder in folders if folder.parts and not folders & {*folder.parents}}
    yield from sorted(f"{folder}/**" for folder in folders)
    for file in sorted(files):
        if not folders & {*file.parents}:
            suffixes = (*_SUFFIXES, file.suffix) if file.suffix == ".cu" else (file.suffix,)
            yield from (str(file.parent / f"*{suffix}") for suffix in suffixes)


def _is_for_kernels(folder: Path) -> bool:
    """Return whether a folder has no Python module, so that every change in it may be one of the kernels."""
    return next(folder.rglob("*.py"), None) is None
