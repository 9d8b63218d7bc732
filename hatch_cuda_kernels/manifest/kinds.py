"""Kinds of values in a manifest: each reads the value at a place, notes its problems, and has a JSON Schema.

Paths never leave the project. Lists of architectures take nvcc's words for sets of them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple, TypeAlias

from hatch_cuda_kernels.arch import SmArch, cuda_release_for_arch, known_archs, version_text
from hatch_cuda_kernels.compiler.toolchain import bindings_major, pip_install
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME, LIBRARY_KINDS
from hatch_cuda_kernels.errors import InputError, Problem, suggest
from hatch_cuda_kernels.includes import (
    MARK,
    PACKAGE_NAME,
    ProjectFiles,
    is_in_environment,
    normalize,
    package_folders,
    package_of,
)
from hatch_cuda_kernels.libraries import package_distribution
from hatch_cuda_kernels.manifest.project import project_folder
from hatch_cuda_kernels.manifest.yaml_text import (
    Mapping,
    Mark,
    Marked,
    Node,
    Pair,
    Scalar,
    Sequence,
    describe,
    join,
    shorten,
)


class RefusedError(Exception):
    """A value cannot be used. The reader of the mapping or list around it notes the problem and goes on."""


@dataclass(frozen=True, slots=True)
class ManifestReading:
    """What all places of one manifest share while it is read."""

    filename: str
    files: ProjectFiles
    version: Callable[[], str]
    """Returns the version of the project. Raises InputError if it is not known."""
    problems: list[Marked] = field(default_factory=list)

    def locate(self, mark: Mark, path: str) -> str:
        """Return a place as problems name it."""
        return f"{self.filename}:{mark.line}:{mark.column}: {path or 'manifest'}"

    def messages(self) -> list[str]:
        """Return the problems in the order of the file."""
        ordered = sorted(self.problems, key=lambda marked: marked[0])
        located = (str(problem._replace(where=self.locate(mark, problem.where))) for mark, problem in ordered)
        return list(dict.fromkeys(located))  # modules of one entry have its problems in common


class Spot(NamedTuple):
    """A value and its path. ``mark`` is what problems point at: the value, or the key that names it."""

    node: Node
    path: str
    mark: Mark
    reading: ManifestReading

    @property
    def where(self) -> str:
        """This place as problems name it."""
        return self.reading.locate(self.mark, self.path)

    def report(self, message: str) -> None:
        """Note a problem at this place."""
        self.reading.problems.append((self.mark, Problem(message, where=self.path)))

    def item(self, index: int, node: Node) -> Spot:
        """Return the place of a list's item."""
        return Spot(node, f"{self.path}[{index}]", node.mark, self.reading)

    def value(self, pair: Pair) -> Spot:
        """Return the place of a key's value."""
        return Spot(pair.value, join(self.path, pair.key), pair.value.mark, self.reading)

    def key(self, pair: Pair) -> Spot:
        """Return the place of a key."""
        return Spot(pair.value, join(self.path, pair.key), pair.mark, self.reading)


def wrong_type(expected: str, spot: Spot, hint: str = "", *, empty: str = "") -> RefusedError:
    """Return the refusal of a value that is not what was expected; ``empty`` is what an empty one is written as."""
    is_left_out = empty and isinstance(spot.node, Scalar) and spot.node.tag == "null"
    hint = f"; leave the key out or write {empty}" if is_left_out else hint
    return RefusedError(f"expected {expected}, found {describe(spot.node)}{hint}")


IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_Check: TypeAlias = "Callable[[Spot, str], Any]"


class Kind(NamedTuple):
    """One sort of value. ``read`` returns it, notes problems inside it, and raises RefusedError when it is unusable."""

    read: Callable[[Spot], Any]
    schema: dict[str, Any]


class Key(NamedTuple):
    """One key of a table. ``required`` is the fix when it is missing; empty if it may be left out."""

    kind: Kind
    doc: str = ""
    required: str = ""
    instead: str = ""
    """Another key that may be stated in its place, not beside it."""


Table: TypeAlias = dict[str, Key]


class Item(NamedTuple):
    """A value with its place: that of an item in a list, or of the key in a mapping."""

    value: Any
    spot: Spot


def attempt(kind: Kind, spot: Spot) -> Any:  # what the kind reads
    """Read a value; None, with the problem noted, when it is refused."""
    try:
        return kind.read(spot)
    except RefusedError as refusal:
        spot.report(str(refusal))
        return None


def text(expected: str, check: _Check | None = None, *, pattern: str = r"[^\x00-\x1f\x7f]+") -> Kind:
    """Return the kind of a string on one line. ``pattern`` is for the schema and for hints, ``check`` decides."""

    def read(spot: Spot) -> Any:  # what the check returns
        node = spot.node
        if not isinstance(node, Scalar) or node.tag != "str":
            bare = isinstance(node, Scalar) and node.tag != "null" and re.fullmatch(pattern, node.text)
            raise wrong_type(expected, spot, f"; quote it: {shorten(bare[0])}" if bare else "")
        if not node.text:
            raise wrong_type(expected, spot)
        _check_printable(node.text)
        return check(spot, node.text) if check else node.text

    return Kind(read, {"type": "string", "pattern": f"^(?:{pattern})$"})


def _check_printable(value: str) -> None:
    odd = next((character for character in value if not character.isprintable()), None)
    if odd is not None:
        raise RefusedError(f"{shorten(value)} has the character {odd!r}; write it as one line of plain text")


def choice(words: Iterable[str]) -> Kind:
    """Return the kind of one word out of a few."""
    known = {str(word): word for word in words}
    expected = f"one of {', '.join(known)}"

    def check(spot: Spot, value: str) -> str:
        if value not in known:
            raise wrong_type(expected, spot)
        return known[value]

    pattern = "|".join(re.escape(word) for word in known)
    return Kind(text(expected, check, pattern=pattern).read, {"enum": list(known)})


def integer(lowest: int, highest: int) -> Kind:
    """Return the kind of a whole number, written in decimal."""

    def read(spot: Spot) -> int:
        node = spot.node
        if isinstance(node, Scalar) and node.tag == "int" and re.fullmatch(r"0|-?[1-9][0-9]{0,8}", node.text):
            value = int(node.text)
            if lowest <= value <= highest:
                return value
        raise wrong_type(f"a whole number from {lowest} to {highest}", spot)

    return Kind(read, {"type": "integer", "minimum": lowest, "maximum": highest})


def _read_boolean(spot: Spot) -> bool:
    node = spot.node
    if isinstance(node, Scalar) and node.tag == "bool" and node.text.lower() in {"true", "false"}:
        return node.text.lower() == "true"
    raise wrong_type("true or false", spot)


def _read_cpp_text(spot: Spot) -> str:
    if not isinstance(spot.node, Scalar) or spot.node.tag == "null":
        raise wrong_type("C++ text", spot)
    _check_printable(spot.node.text)
    return spot.node.text


BOOLEAN: Final = Kind(_read_boolean, {"type": "boolean"})
CPP_TEXT: Final = Kind(_read_cpp_text, {"type": ["string", "number", "boolean"]})
#: None stands for a macro without a value.
MACRO_VALUE: Final = Kind(
    lambda spot: Item(
        None if isinstance(spot.node, Scalar) and spot.node.tag == "null" else _read_cpp_text(spot), spot
    ),
    {"type": ["string", "number", "boolean", "null"]},
)


def items_of(kind: Kind, *, least: int = 0, unique: bool = True) -> Kind:
    """Return the kind of a list, read into a tuple of Item; duplicates are recognised by their text."""

    def read(spot: Spot) -> tuple[Item, ...]:
        node = spot.node
        if not isinstance(node, Sequence):
            raise wrong_type("a list", spot, empty="" if least else "[]")
        if len(node.items) < least:
            raise RefusedError("the list is empty; give at least one item")
        spots = [spot.item(index, item) for index, item in enumerate(node.items)]
        items = _unique_items(kind, spots) if unique else (Item(attempt(kind, one), one) for one in spots)
        return tuple(item for item in items if item.value is not None)

    # To JSON Schema, unlike the reader, 8.1 and 8.10 are equal: only strings can be compared there.
    limits = {"minItems": least, "uniqueItems": unique and kind.schema.get("type") == "string"}
    stated = {name: limit for name, limit in limits.items() if limit}
    return Kind(read, {"type": "array", "items": kind.schema} | stated)


def _unique_items(kind: Kind, spots: list[Spot]) -> Iterator[Item]:
    """Yield items, each once: as written, and as read, because a path can be written in several ways."""
    first: dict[str, int] = {}
    for index, spot in enumerate(spots):
        written = spot.node.text if isinstance(spot.node, Scalar) else None
        value = None if written in first else attempt(kind, spot)
        names = [name for name in (written, value) if isinstance(name, str)]
        known = next((name for name in names if name in first), None)
        if known is None:
            yield Item(value, spot)
        else:
            spot.report(f"{shorten(known)} is listed twice (first as [{first[known]}])")
        first |= {name: index for name in names if name not in first}


def list_of(kind: Kind, *, least: int = 0, unique: bool = True) -> Kind:
    """Return the kind of a list, read into a tuple of values."""
    items = items_of(kind, least=least, unique=unique)
    return Kind(lambda spot: tuple(item.value for item in items.read(spot)), items.schema)


def map_of(kind: Kind, *, keys: re.Pattern[str], key_words: str, least: int = 0) -> Kind:
    """Return the kind of a mapping with free keys, read into a dict of Item in the order written."""

    def read(spot: Spot) -> dict[str, Item]:
        node = spot.node
        if not isinstance(node, Mapping):
            raise wrong_type("a mapping", spot, empty="" if least else "{}")
        if len(node.pairs) < least:
            raise RefusedError("the mapping is empty; give at least one entry")
        for pair in node.pairs:
            if not keys.fullmatch(pair.key):
                spot.key(pair).report(f"{shorten(pair.key)} is not {key_words}")
        return {pair.key: Item(attempt(kind, spot.value(pair)), spot.key(pair)) for pair in node.pairs}

    names = {"pattern": f"^(?:{keys.pattern})$"}
    schema = {"type": "object", "propertyNames": names, "additionalProperties": kind.schema}
    return Kind(read, schema | ({"minProperties": least} if least else {}))


def table(name: str, keys: Table) -> Kind:
    """Return the kind of a mapping with known keys, read into a dict of those stated; a refused value is None."""
    known = ", ".join(keys)

    def read(spot: Spot) -> dict[str, Any]:
        node = spot.node
        if not isinstance(node, Mapping):
            raise wrong_type("a mapping", spot, empty="" if any(key.required for key in keys.values()) else "{}")
        stated = {pair.key for pair in node.pairs}
        for pair in node.pairs:
            if pair.key not in keys:
                spot.key(pair).report(f"unknown key{suggest(pair.key, keys, f'; known here: {known}')}")
        for key, details in keys.items():
            if details.required and not stated & {key, details.instead}:
                missing = Problem("missing", details.required, join(spot.path, key))
                spot.reading.problems.append((spot.mark, missing))
            if stated >= {key, details.instead}:
                spot.report(f"it has both {key} and {details.instead}; write one of them")
        return {pair.key: attempt(keys[pair.key].kind, spot.value(pair)) for pair in node.pairs if pair.key in keys}

    return Kind(read, {"$ref": f"#/$defs/{name}"})


#: Refuses paths that start with / or a drive, or contain a backslash. The reader resolves ``..``.
_PATH: Final = r"(?!/|[A-Za-z]:)[^\\\x00-\x1f\x7f]+"


def _relative(written: str) -> str:
    if "\\" in written:
        raise RefusedError(f"{written!r} has a backslash; write / between folders")
    if re.match(r"/|[A-Za-z]:", written):
        raise RefusedError(f"{written!r} is absolute; write it relative to the manifest's folder")
    if package_of(written):
        raise RefusedError(
            f"{written!r} begins with {MARK}, which is for packages; write {{package: NAME, folder: PATH}}"
        )
    path = normalize("", written)
    if path is None:
        raise RefusedError(f"{written!r} leaves the project; keep the file inside the manifest's folder")
    return path or "."


def _kind_of(spot: Spot, path: str) -> str | None:
    """Return what a path is, None if it does not exist. Raises RefusedError if a link leads out of the project."""
    kind = spot.reading.files.kind("" if path == "." else path)
    if kind == "outside":
        raise RefusedError(f"{path!r} leaves the project through a symbolic link; copy the file into it")
    return kind


def _source(spot: Spot, written: str) -> str:
    path = _relative(written)
    if "*" in path:
        if path.count("*") > 1 or set(path) & set("?["):
            raise RefusedError(f"{path!r} must have one *, which stands for the names of modules, and no ? or [")
        return _headers_glob(spot, path)
    return _file(spot, path)


def _file(spot: Spot, written: str) -> str:
    if "*" in written:
        raise RefusedError(f"{written!r} is a pattern; name each file")
    path = _relative(written)
    kind = _kind_of(spot, path)
    if kind == "folder":
        raise RefusedError(f"{path!r} is a folder; name a file")
    if kind is None:
        beside = spot.reading.files.glob(f"{path.rpartition('/')[0]}/*".removeprefix("/"))
        stems = {PurePosixPath(found).stem: found for found in beside}  # folder and suffix would make all look alike
        near = difflib.get_close_matches(PurePosixPath(path).stem, stems, n=1)
        raise RefusedError(f"there is no file {path!r}{f' (did you mean {stems[near[0]]!r}?)' if near else ''}")
    return path


def _library(spot: Spot, written: str) -> str:
    if written == DEVICE_RUNTIME:
        return written
    path = _relative(written)
    suffix = PurePosixPath(path).suffix
    if not suffix:
        advice = suggest(written, [DEVICE_RUNTIME], f"; write {DEVICE_RUNTIME}, or the path of a file")
        raise RefusedError(f"unknown library {written!r}{advice}")
    if suffix not in LIBRARY_KINDS:
        raise RefusedError(f"{path!r} is not a device library; these end in {', '.join(LIBRARY_KINDS)}")
    return _source(spot, path)


def _folder(spot: Spot, written: str) -> str:
    path = _relative(written)
    kind = _kind_of(spot, path)
    if kind != "folder" and (kind is not None or not _is_unpacked_sdist(spot.reading.files.root)):
        raise RefusedError(f"there is no folder {path!r}")
    return path


def _is_unpacked_sdist(folder: Path) -> bool:
    """Return whether a folder is in an unpacked sdist, which lacks empty folders and headers that nothing includes."""
    return (project_folder(folder) / "PKG-INFO").is_file()


def _header(spot: Spot, written: str) -> str:
    """Accept a missing file: the compile may find it in an include folder or in the toolkit."""
    path = _relative(written)
    _kind_of(spot, path)
    return path


def _headers_glob(spot: Spot, written: str) -> str:
    path = written if package_of(written) and normalize("", written) == written else _relative(written)
    matches = list(spot.reading.files.glob(path))
    if not matches and not (has_magic(path) and _is_unpacked_sdist(spot.reading.files.root)):
        raise RefusedError(f"no file matches {path!r}")
    for match in matches:
        _kind_of(spot, match)
    return path


def _stubs(spot: Spot, written: str) -> str:
    path = _relative(written)
    if not path.endswith(".pyi") or not PurePosixPath(path).stem.isidentifier():
        raise RefusedError(f"{path!r} is not a stub; name a file beside a module, such as mylib/kernels.pyi")
    if _kind_of(spot, path) == "folder":
        raise RefusedError(f"{path!r} is a folder; name a file")
    return path


SOURCE: Final = text("the path of a source file", _source, pattern=_PATH)
ONE_SOURCE: Final = text("the path of a source file", _file, pattern=_PATH)
LIBRARY: Final = text(f"{DEVICE_RUNTIME} or the path of a library", _library, pattern=_PATH)
FOLDER: Final = text("the path of a folder", _folder, pattern=_PATH)


def _package_name(_: Spot, written: str) -> str:
    if not PACKAGE_NAME.fullmatch(written):
        raise RefusedError(f"{written!r} is not what is imported, such as cupy or nvidia.mathdx")
    return written


def _package_path(_: Spot, written: str) -> str:
    if "\\" in written or re.match(r"/|[A-Za-z]:", written):
        raise RefusedError(f"{written!r} is not relative to the package, with / between folders")
    path = normalize("", written)
    if path is None:
        raise RefusedError(f"{written!r} leaves the package; name a folder in it")
    return path or "."


PACKAGE: Final[Table] = {
    "package": Key(
        text("the name of a package", _package_name, pattern=PACKAGE_NAME.pattern),
        "What is imported: a package that is installed where the build runs, or the project's own. It is not imported.",
        "name what is imported, such as cupy",
    ),
    "folder": Key(
        text("the path of a folder", _package_path, pattern=_PATH),
        "Its folder of headers, relative to the package.",
        "name the folder of headers in the package, such as include",
    ),
}
_PACKAGE: Final = table("package", PACKAGE)


def _read_include(spot: Spot) -> str | None:
    if not isinstance(spot.node, Mapping):
        path: str = FOLDER.read(spot)
        return path
    stated, files = _PACKAGE.read(spot), spot.reading.files
    name, folder = (stated.get(key) for key in PACKAGE)
    if name is None or folder is None:
        return None
    try:
        own = _own_package(files, name, folder)
        installed = () if own is not None else package_folders(name)
    except InputError as error:
        raise RefusedError(str(error)) from None
    if own is None and not installed:
        raise RefusedError(f"no package {name!r} is installed here; {_installing(name)}")
    path = normalize("", f"{MARK + name if own is None else own}/{folder}") or ""
    kind = files.kind(path)
    if kind == "outside":
        raise RefusedError(f"{folder!r} leaves the package {name!r} through a symbolic link; name its own folder")
    if kind == "folder" or (own is not None and _is_unpacked_sdist(files.root)):
        return path or "."
    other = "" if own is not None else f"; another version may have it: {_installing(name)}"
    raise RefusedError(f"there is no folder {folder!r} in the package {name!r}{other}")


def _own_package(files: ProjectFiles, name: str, folder: str) -> str | None:
    """Return the path of a package that is the project's own, as its tree shows it, or as it is imported from there.

    A part of a namespace counts if no other one is installed, or if it has the folder.
    """
    places = (f"{base}{name.replace('.', '/')}" for base in ("", "src/"))
    shown = next((place for place in places if files.kind(f"{place}/__init__.py") == "file"), None)
    if shown is not None:
        return shown
    parts = package_folders(name)
    folders = (place.resolve() for place in parts if not is_in_environment(place, name))
    own = [place for place in folders if place.is_relative_to(files.root)]
    found = next((place for place in own if len(parts) == 1 or (place / folder).is_dir()), None)
    return None if found is None else found.relative_to(files.root).as_posix()


def _installing(name: str) -> str:
    wheel = package_distribution(name, bindings_major())
    return (
        f'write "{wheel}" into build-system.requires of pyproject.toml; without build isolation, {pip_install(wheel)}'
    )


INCLUDE: Final = Kind(_read_include, {"anyOf": [FOLDER.schema, _PACKAGE.schema]})
HEADER: Final = text("the path of a header", _header, pattern=_PATH)
HEADERS_GLOB: Final = text("a pattern for headers", _headers_glob, pattern=_PATH)
STUBS: Final = text("the path of a stub (.pyi)", _stubs, pattern=rf"{_PATH}\.pyi")
Native: TypeAlias = "Callable[[], SequenceOf[SmArch] | None]"
_Release: TypeAlias = tuple[int, int]

_WORDS: Final = ("all", "all-major", "native")
_LAST_12: Final = (12, 9)
_FIRST_13: Final = (13, 0)
_NEWEST: Final = (13, 99)
_ARCH_TEXT: Final = r"(?:sm|compute)_[1-9][0-9]+[af]?|all|all-major|native"


def _first_release(arch: SmArch) -> _Release | None:
    return cuda_release_for_arch(arch, major=12) or cuda_release_for_arch(arch, major=13)


def _arch(_: Spot, written: str) -> SmArch | str:
    if written in _WORDS:
        return written
    try:
        arch = SmArch.parse(written)
    except ValueError:
        arch = None
    if arch is None or _first_release(arch) is None:
        plain = sorted({arch for release in (_LAST_12, _NEWEST) for arch in known_archs(release)})
        forms = (SmArch(one.major, one.minor, suffix) for one in plain for suffix in ("", "a", "f"))
        known = [str(form) for one in forms if _first_release(one) for form in (one, one.as_virtual)]
        advice = suggest(written, (*known, *_WORDS), "; write it like sm_90, compute_90, all, all-major or native")
        raise RefusedError(f"unknown architecture {shorten(written)}{advice}")
    return arch


_ARCH: Final = text("an architecture such as sm_90", _arch, pattern=_ARCH_TEXT)
_LIST: Final = items_of(_ARCH, least=1)


def _read_arches(spot: Spot) -> tuple[Item, ...]:
    if isinstance(spot.node, Scalar) and spot.node.tag == "str" and spot.node.text in _WORDS:
        return (Item(spot.node.text, spot),)
    if not isinstance(spot.node, Sequence):
        raise wrong_type(f"a list of architectures or one of {', '.join(_WORDS)}", spot)
    items: tuple[Item, ...] = _LIST.read(spot)
    return items


ARCHES: Final = Kind(_read_arches, {"anyOf": [{"enum": list(_WORDS)}, _LIST.schema]})


class Scope(NamedTuple):
    """What the words for sets of architectures mean: they depend on the toolkit release and this machine's devices."""

    release: _Release
    native: tuple[SmArch, ...] = ()

    def expand(self, items: Iterable[Item]) -> tuple[SmArch, ...]:
        """Return the architectures of a list, sorted and without repeats."""
        return tuple(sorted({arch for item in items for arch in self._meaning(item.value)}))

    def check(self, items: Iterable[Item], *, stated: bool) -> None:
        """Note a problem for each architecture the release does not know; ``stated`` is whether the user chose that."""
        name, last = f"CUDA {version_text(self.release)}" if stated else "CUDA 13", version_text(_LAST_12)
        for item in items:
            for arch in self._meaning(item.value):
                first = cuda_release_for_arch(arch, major=self.release[0])
                if first is not None and first <= self.release:
                    continue
                known = first or _first_release(arch)
                problem = f"{name} does not know '{arch}'; {last} does, so write cuda: \"{last}\""
                if known is None:
                    problem = f"no known CUDA release compiles '{arch}'; list architectures instead"
                elif cuda_release_for_arch(arch, major=13):
                    problem = f"{name} does not know '{arch}'; the first release that does is {version_text(known)}"
                item.spot.report(problem)

    def _meaning(self, value: SmArch | str) -> tuple[SmArch, ...]:
        if isinstance(value, SmArch):
            return (value,)
        if value == "native":
            return self.native
        archs = known_archs(self.release)
        if value == "all-major":
            archs = tuple({arch.major: arch for arch in reversed(archs)}.values())
        return (*archs, max(archs).as_virtual)


def make_scope(items: SequenceOf[Item], release: _Release | None, native: Native) -> Scope:
    """Return the scope that all lists of a manifest share; the default release is the oldest 13.x that knows them all.

    Calls ``native`` only if an item is that word, and notes a problem if it finds no GPU.
    """
    asking = [item for item in items if item.value == "native"]
    machine = tuple((native() if asking else None) or ())
    for item in asking if not machine else ():
        item.spot.report("this machine has no GPU; list architectures instead")
    listed = (*machine, *(item.value for item in items if isinstance(item.value, SmArch)))
    oldest = max((cuda_release_for_arch(arch, major=13) or _FIRST_13 for arch in listed), default=_FIRST_13)
    return Scope(release or oldest, machine)
