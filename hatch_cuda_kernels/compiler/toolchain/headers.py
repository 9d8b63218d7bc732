"""The parts of the toolkit whose headers a compile may use, and what a compile could open in the toolkit's folders.

A wheel states its version and lists its files. Conda and the toolkit's own installer state only versions, and a plain
copy not even that; in these cases, a part's files are recognised by their names.

Other wheels, such as cuRAND's, unpack into the same folders, and people add, edit and remove files there. So the names
in every header are followed in every folder searched, and files that no part's version stands for enter the key. For
the key, ``#if`` is not evaluated. What headers ask for matters, too, because NVRTC looks among the headers in memory
before all folders; parts for other compilers are left out, which would be most of what a store ships. The folder with
this package's standard headers can be among those searched. It holds no part's files.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels import cpp  # which loads no module of it
from hatch_cuda_kernels.cache import Notes, file_state, last_change, unchanged
from hatch_cuda_kernels.collector import uncollected
from hatch_cuda_kernels.compiler.toolchain.key_parts import seconds_to_trust
from hatch_cuda_kernels.compiler.toolchain.libraries import (
    contents_at,
    digest_of_all,
    listed_files,
    record_digest,
    settling_time,
    site_of,
    wheel_of,
    wheels_in,
)
from hatch_cuda_kernels.compiler.toolchain.packages import distribution
from hatch_cuda_kernels.includes import STANDARD_FOLDER, Asked
from hatch_cuda_kernels.integrity import sha256

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp import Macro, SourceFile

    #: Names of headers, each with the folder of who asks where that is searched first.
    _Names = set[tuple[str, str]]

_CCCL: Final = ("cccl/*", "cub/*", "cuda/*", "nv/*", "thrust/*")
_CCCL_VERSION: Final = ("cuda/std/version", "cuda/std/__cccl/version.h", "cub/version.cuh", "thrust/version.h")
#: The runtime's other headers share a folder with those of other parts.
_GROUPS: Final = ("cooperative_groups/*", "cooperative_groups/*/*")
_VERSION_MACRO: Final = rb"#\s*define\s+(?:CCCL|CUDART)_VERSION\s+(\d+)"
#: Marks what a part for other compilers includes.
_HIDDEN: Final = "!"
#: Marks what a definition names, and stands for an include whose header a macro names.
_BY_MACRO: Final = "="
#: Marks the name and the value of a macro that may be a part of a header's name.
_PART: Final = "#"
#: More names than macros make in headers that people write.
_MOST_MADE: Final = 1 << 12
_LONGEST_NAME: Final = 1 << 10
#: How many scans are kept: a set of headers may lead to a thousand files, and is asked for again and again.
_MOST: Final = 64
_scans: dict[tuple[tuple[str, ...], tuple[str, ...]], HeaderScan] = {}
_NOTES: Final = Notes("scan")
_SPLICE: Final = re.compile(rb"\\\r*+\n")
#: Other spellings of ``#``, each with a character that few headers have: to find one takes a tenth of the time.
_DIGRAPHS: Final = ((b"%", re.compile(rb"%:")), (b"?", re.compile(rb"\?\?=")))
_NAME: Final = re.compile(rb"<[^<>\n]+>|\"[^\"\n]+\"")
_NAME_IN: Final = re.compile(_NAME.pattern.decode())
_DELIMITERS: Final = '"<'
_WORD: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PART_OF_NAME: Final = re.compile(
    rb"#[ \t]*+define[ \t]++([A-Za-z_]\w*+)[ \t]++([A-Za-z_.][\w./]*+)[ \t]*+(?=[\r\n]|//|/\*|\Z)"
)
#: What names of compilers become, only one of which CCCL's headers find to be true.
_COMPILER: Final = "hatch_cuda_kernels_compiler_"
_OTHERS: Final = frozenset({"hatch_cuda_kernels_cuda_compiler_CLANG", "hatch_cuda_kernels_cuda_compiler_NVHPC"})


class Part(NamedTuple):
    """One part, and its name in each way to install a toolkit."""

    marker: str
    """A file whose presence shows that a folder holds the part."""
    component: str
    conda: str
    files: tuple[str, ...]
    """Patterns of its files, but for those of the runtime's that are known by name."""
    telling: tuple[str, ...]
    """Patterns of the files whose content serves as the version if nothing states one; likewise."""


class FoundPart(NamedTuple):
    """A part that was found, its version, and the files that the version was read from."""

    name: str
    version: str
    evidence: tuple[Path, ...]


PARTS: Final = {
    "cccl": Part("cuda/std/version", "cuda_cccl", "cuda-cccl", _CCCL, _CCCL_VERSION),
    "crt": Part("crt/host_config.h", "cuda_nvcc", "cuda-crt-dev", ("crt/*",), ("crt/*",)),
    "cudart": Part("cuda_runtime.h", "cuda_cudart", "cuda-cudart-dev", _GROUPS[:1], _GROUPS),
}
#: What brings the parts; a folder of wheels may have those of either CUDA major.
_DISTRIBUTIONS: Final = sorted({distribution(name, major) for name in PARTS for major in (12, 13)})


def part_files(name: str, *, telling: bool = False) -> tuple[str, ...]:
    """Return the patterns of a part's files, for folders whose files no wheel lists; or of the ``telling`` ones."""
    from hatch_cuda_kernels.libraries import words_in  # most headers are from wheels

    named = sorted(words_in("cuda", "files", "cudart")) if name == "cudart" else ()
    return (*(PARTS[name].telling if telling else PARTS[name].files), *named)


def parts_of(name: str) -> list[str]:
    """Return the parts that a header needs; none for a header that is not the toolkit's, or is of another part."""
    if name == "mma.h":
        return ["cudart", "crt"]  # it includes crt/mma.h
    if name.startswith("cuda/") and "." in name and not name.startswith("cuda/std/"):
        return []  # libcu++'s own have no suffix, a project's have
    return [part for part in PARTS if any(fnmatch(name, pattern) for pattern in part_files(part))][:1]


def find_parts(folders: Iterable[str], major: int) -> Iterator[FoundPart]:
    """Yield each part that the folders hold, with the version that a wheel, conda or the toolkit's installer states."""
    paths = [Path(folder) for folder in folders]
    for name, part in PARTS.items():
        holder = next((folder for folder in paths if (folder / part.marker).is_file()), None)
        if holder is None:
            continue
        wheel = wheel_of(holder, distribution(name, major))
        version, evidence = ("", ()) if wheel is None else (wheel.version, (wheel.record,))
        for parent in holder.parents if wheel is None else ():
            listing = next(iter(sorted(parent.glob(f"conda-meta/{part.conda}*.json"))), None)
            component = _json(parent / "version.json").get(part.component)
            if listing is not None:
                version, evidence = str(_json(listing).get("version")), (listing,)
            elif component:
                version, evidence = str(component["version"]), (parent / "version.json",)
            if version or parent.name in {"site-packages", "dist-packages"}:
                break
        yield FoundPart(name, *((version, evidence) if version else _copied(holder, name)))


class PartFiles:
    """Which files of an include folder are a part's own: by the digests that wheels list, or else by their names."""

    def __init__(self, folder: str) -> None:
        site = site_of(Path(folder))
        wheels = wheels_in(site, _DISTRIBUTIONS) if site is not None else []
        self.records = tuple(wheel.record for wheel in wheels)
        self._listed = listed_files(wheels)
        self._prefix = f"{Path(folder).relative_to(site).as_posix()}/" if site is not None else ""

    def holds(self, name: str, digest: str) -> bool:
        """Return whether a part's file of this name, relative to the folder, has this digest; empty is for no file."""
        if self._listed:
            return self._listed.get(f"{self._prefix}{name}", "") == digest
        return not digest or _is_named(name)


@lru_cache(maxsize=1 << 12)
def _is_named(name: str) -> bool:
    return any(fnmatch(name, pattern) for part in PARTS for pattern in part_files(part))


def _copied(folder: Path, name: str) -> tuple[str, tuple[Path, ...]]:
    """Return a version made of the version macro, if the part has one, and a digest of the telling files; and these."""
    patterns = part_files(name, telling=True)
    files = tuple(sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}))
    contents = [path.read_bytes() for path in files]
    macros = [match[1].decode() for content in contents if (match := re.search(_VERSION_MACRO, content))]
    digest = sha256(b"".join(sha256(content).digest() for content in contents)).hexdigest()[:16]
    return ".".join([*macros[:1], digest]), files


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


class HeaderScan:
    """What headers, as an include spells them, lead to in some folders; only what is asked for is read as C++.

    Every file is glanced at that the text of another one names: more than are included, so that in what is found there
    all is that a compile could open. Only where no part's version stands for one of these does it matter which count.
    """

    def __init__(self, names: tuple[str, ...] = (), folders: tuple[str, ...] = (), *, is_for_key: bool = False) -> None:
        self._names: Final = names
        self._folders: Final = folders
        toolkit = [folder for folder in folders if folder != STANDARD_FOLDER] if names else []
        place = "\n".join((*toolkit, *_readers())) if names else ""
        self._subject: Final = json.dumps([names, folders, place])
        self._toolkit: Final = toolkit
        self._glances: Final = contents_at(f"glances\n{place}", _digest_and_names)
        self._readings: Final = contents_at(place, _marked_includes)
        self._noted: str | None = None
        self._noted_states: dict[str, str] = {}
        self._states: Final[dict[str, str]] = {}
        """Those of what this process has glanced at."""
        self._listings: Final[dict[str, frozenset[str] | None]] = {}
        self._owners: Final[dict[str, tuple[PartFiles | None, str]]] = {}
        """The part whose folder a folder is in, and where there."""
        self._until = 0.0
        self._start = settling_time()
        if names and not self._is_recalled():
            _ = self._find_in_turn() if is_for_key else self._digests

    def _find_in_turn(self) -> str:
        """Return ``others``: of many processes that start at once, one reads a thousand files."""
        with _NOTES.turn(self._subject):
            if not self._is_recalled():
                self._start = settling_time()  # what changed before the turn came may have settled
            return self.others

    def _is_recalled(self) -> bool:
        """Return whether a note says what is found; it is taken over then."""
        note = _NOTES.read_current(self._subject)
        if isinstance(others := note.get("others"), str):
            self._noted, self._noted_states = others, note["states"]
        return self._noted is not None

    @property
    def states(self) -> Mapping[str, str]:
        """The state of every file glanced at and every folder searched; while they are unchanged, so is the rest.

        Those that are remembered come first: what this process finds later may already be otherwise.
        """
        return {**self._states, **self._noted_states}

    @property
    def is_settled(self) -> bool:
        """Whether nothing had changed just before it was glanced at: another change could give it the same state."""
        return last_change(self.states.values()) < self._start

    @cached_property
    def _parts(self) -> dict[str, PartFiles]:
        return {folder: PartFiles(folder) for folder in self._toolkit}

    @cached_property
    def _digests(self) -> dict[str, str]:
        """The digest of every file glanced at, empty where there is none."""
        digests: dict[str, str] = {}
        for record in (record for part in self._parts.values() for record in part.records):
            self._states[str(record)] = file_state(record)

        def glance(path: str) -> list[str]:
            state = self._state(path)
            digests[path], *found = self._glances.of(path, state) if state else [""]
            return found

        with uncollected():
            self._walk(glance)
        self._glances.save()
        return digests

    def is_current(self) -> bool:
        """Return whether nothing has changed; of many files, not long before."""
        start = time.monotonic()
        if start < self._until:
            return True
        states = self.states
        same, end = unchanged(states), time.monotonic()
        self._until = end + seconds_to_trust(len(states), end - start)
        return same

    @cached_property
    def others(self) -> str:
        """A digest of what no part's version stands for, and of a part's files that are missing; empty for neither.

        It is remembered for the next process: a look at a thousand files takes a fifth of the time of finding them.
        """
        if self._noted is not None:
            return self._noted
        found = self._find_others()
        if self._names and self.is_settled:
            _NOTES.write(self._subject, {"others": found, "states": self.states})
        return found

    def _find_others(self) -> str:
        own = {path: other for path, digest in self._digests.items() if (other := self._other(path, digest))}
        if not all(path.startswith(STANDARD_FOLDER) for path in own):  # this package's own need no second look
            counted = self._exactly(self.includes)[0]
            if any(_BY_MACRO in self._marked(path) for path in counted):
                counted = self._exactly(lambda path: [one.removeprefix(_HIDDEN) for one in self._marked(path)])[0]
            own = {path: other for path, other in own.items() if path in {*counted} or path.startswith(STANDARD_FOLDER)}
        return digest_of_all(own.values())

    @cached_property
    def asked(self) -> Asked:
        """What the files found ask for, without what is for other compilers."""
        _, asked = self._exactly(lambda path: [one for one in self._marked(path) if one[0] in _DELIMITERS])
        answered = frozenset(name for name, folder in asked if folder and self._states.get(self._path(name, folder)))
        return Asked(frozenset(name for name, _ in asked), answered)

    @cached_property
    def files(self) -> list[str]:
        """The files that are found."""
        return [path for path in self._exactly(self.includes)[0] if self._digests.get(path)]

    def includes(self, path: str) -> list[str]:
        """Return what a file includes or looks for, as it is spelled."""
        return [one.removeprefix(_HIDDEN) for one in self._marked(path) if one[0] not in {_BY_MACRO, _PART}]

    def places(self, path: str) -> set[str]:
        """Return the paths of what a file includes."""
        folder = os.path.dirname(path)  # noqa: PTH120 - Path takes several times as long, a thousand times
        names, _ = _names(self.includes(path), folder, {})
        return {self._path(name, place) for name, beside in names for place in (beside or folder, *self._folders)}

    def _exactly(self, includes: Callable[[str], Sequence[str]]) -> tuple[list[str], _Names]:
        found = self._walk(includes)
        self._readings.save()
        return found

    def _walk(self, includes: Callable[[str], Sequence[str]]) -> tuple[list[str], _Names]:
        """Return every path at which the headers, and all that they lead to, can be, and the names on the way."""
        paths: dict[str, None] = {}
        asked: _Names = set()
        by_macro: _Names = set()
        parts: dict[str, set[str]] = {}
        waiting = {(name, "") for name in self._names}
        while waiting:
            name, beside = waiting.pop()
            for folder in (beside, *self._folders) if beside else self._folders:
                path = self._path(name, folder)
                if path not in paths:
                    paths[path] = None
                    spellings = includes(path)
                    if not spellings:
                        continue
                    found, defined = _names(spellings, os.path.dirname(path), parts)  # noqa: PTH120
                    by_macro |= defined
                    waiting |= found - asked
                    asked |= found
            if not waiting and by_macro:
                waiting = _made_names(by_macro, parts) - asked
                asked |= waiting
        return [*paths], asked

    def _path(self, name: str, folder: str) -> str:
        """Return where a compiler looks for a name in a folder: ``..`` leads to where a symbolic link's target is."""
        path = name if name.startswith("/") else f"{folder}/{name}"
        if "./" not in path and "//" not in path:
            return path
        found = os.path.normpath(path)
        if "/../" in path:
            above, _, last = path.rpartition("/")
            self._states[above] = file_state(above)
            real = os.path.realpath(above)
            if real != os.path.realpath(os.path.dirname(found)):  # noqa: PTH120
                return f"{real}/{last}"
        return found

    def _state(self, path: str) -> str:
        """Return the state of a file, empty where there is none; it is among those that count from now on."""
        folder, _, name = path.rpartition("/")
        if folder not in self._listings:
            self._states[folder] = file_state(folder)  # it changes when a file appears in the folder
            self._listings[folder] = _listing(folder) if self._states[folder] else frozenset()
        listing = self._listings[folder]
        if listing is not None and name not in listing:
            return ""
        state = self._states[path] = file_state(path)  # a link may lead nowhere as yet
        return state

    def _marked(self, path: str) -> list[str]:
        return self._readings.of(path, self._states[path]) if self._digests.get(path) else []

    def _other(self, path: str, digest: str) -> tuple[str, str] | None:
        """Return the name in its folder, and the digest, of a file that no version stands for, or that is missing."""
        above, _, last = path.rpartition("/")
        if above not in self._owners:
            inside = [folder for folder in self._folders if f"{above}/".startswith(f"{folder}/")]
            owner = max(inside, key=len, default=above)
            self._owners[above] = self._parts.get(owner), f"{above}/"[len(owner) + 1 :]
        part, below = self._owners[above]
        name = f"{below}{last}"
        stands = not digest if part is None else part.holds(name, digest)
        return None if stands else (name, digest)


def scan_headers(names: tuple[str, ...], folders: tuple[str, ...], *, is_for_key: bool = False) -> HeaderScan:
    """Return what headers, given as an include spells them, lead to in the toolkit's folders.

    ``is_for_key`` says that other processes will ask for the same, and so for ``others``.
    """
    known = _scans.get((names, folders))
    if known is not None and known.is_current():
        return known
    found = _scans[names, folders] = HeaderScan(names, folders, is_for_key=is_for_key)
    for oldest in [*_scans][:-_MOST]:
        _scans.pop(oldest, None)
    return found


def include_graph(names: tuple[str, ...], folders: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the files that headers lead to, each with those that it may include."""
    scan = scan_headers(names, folders)
    files = {*scan.files}
    return {path: [*scan.places(path) & files] for path in files}


def _listing(folder: str) -> frozenset[str] | None:
    """Return what is in a folder; None where files may be opened that are not listed, or are so by another name."""
    if sys.platform == "win32":
        return None
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208 - names are enough
    except NotADirectoryError:
        return frozenset()
    except OSError:
        return None


@cache
def _readers() -> list[str]:
    """Return the state of each file of the code that reads headers: another version of it reads them anew."""
    package = Path(__file__).parents[2]
    folders = (package / "cpp", package / "includes", package / "libraries", Path(__file__).parent)
    files = sorted(path for folder in folders for path in folder.glob("*") if path.is_file())
    return [f"{path}: {file_state(path)}" for path in files]


def _names(spellings: Iterable[str], folder: str, parts: dict[str, set[str]]) -> tuple[_Names, _Names]:
    """Return the names that are spelled, and those of them that definitions give; add what may be a part of names."""
    found: _Names = set()
    by_macro: _Names = set()
    for spelling in spellings:
        if spelling[0] in _DELIMITERS:
            found.add((spelling[1:-1], folder if spelling[0] == '"' else ""))
        elif spelling[0] == _PART:
            macro, _, value = spelling[1:].partition(" ")
            parts.setdefault(macro, set()).add(value)
        elif len(spelling) > 1:
            by_macro.add((spelling[2:-1], folder if spelling[1] == '"' else ""))
    return found | by_macro, by_macro


def _made_names(names: _Names, parts: Mapping[str, set[str]]) -> _Names:
    """Return what names become in which words are macros, by each of the definitions of these."""
    found: _Names = set()
    waiting = sorted(names)
    while waiting and len(found) < _MOST_MADE:
        name, beside = waiting.pop()
        for word in sorted(parts.keys() & {*_WORD.findall(name)}):
            made = {(re.sub(rf"\b{word}\b", value, name), beside) for value in parts[word]} - found
            waiting += sorted(one for one in made if len(one[0]) < _LONGEST_NAME)
            found |= made
    return found


@cache
def _naming() -> re.Pattern[bytes]:
    """Return what matches a directive that may include a header, ask for one or give one a name, and all its names."""
    comment = rb"/\*(?:[^*]++|\*(?!/)|(?!))*+\*/"
    gap = rb"(?:[ \t\v\f\r]++|" + comment + rb"|(?!))*+"
    upto = rb"(?:[^\n/%b]++|" + comment + rb"|/|(?!))*+"
    condition, definition = upto % b'"<' + rb'["<]', upto % b'">' + rb'[">]'
    words = rb"include|import|(?:el)?if(?=" + condition + rb")|(define)(?=" + definition + rb")"
    return re.compile(rb"#" + gap + rb"(?:" + words + rb")" + upto % b"")


def _content(path: str) -> bytes | None:
    """Return what is in a file, None where there is no file that can be read.

    There are a thousand of them, and this makes half as many system calls as ``open`` and what it returns.
    """
    try:
        about = os.stat(path)  # noqa: PTH116
        if not stat.S_ISREG(about.st_mode):  # to open a pipe would wait for who writes to it
            return None
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            data = os.read(descriptor, about.st_size + 1)
            if len(data) == about.st_size:
                return data
            # It grows, is larger than one call reads, or comes in pieces, which only this puts together fast.
            with open(descriptor, "rb", buffering=0, closefd=False) as rest:
                return data + rest.readall()
        finally:
            os.close(descriptor)
    except OSError:
        return None


def _digest_and_names(path: str) -> list[str]:
    """Return a header's digest, empty for no file, and every name that a directive of it may include or look for.

    It may return other text, too: nothing is read as C++, and of comments only what is cheap to see.
    """
    import hashlib  # loads OpenSSL, and most headers are as they were

    data = _content(path)
    if data is None:  # NVRTC cannot read it, either
        return [""]
    digest = record_digest(hashlib.sha256(data).digest())
    text = _SPLICE.sub(b"", data) if b"\\" in data else data
    for character, digraph in _DIGRAPHS:
        text = digraph.sub(b"#", text) if character in text else text
    names: dict[bytes, None] = {}
    for line in _naming().finditer(text):
        start = line.start()
        if text[start - 1 : start] != b"\n":
            before = text[text.rfind(b"\n", 0, start) + 1 : start]
            if before.strip() and b"*/" not in before:
                continue
        mark = b"" if line[1] is None else _BY_MACRO.encode()
        for name in _NAME.findall(line[0]):
            names[mark + name] = None
    found = [name.decode(errors="replace") for name in names]
    return [digest, *found, *_parts_of_names(text)]


def _parts_of_names(text: bytes) -> list[str]:
    found = dict.fromkeys(_PART_OF_NAME.findall(text))
    return [f"{_PART}{macro.decode()} {value.decode()}" for macro, value in found]


def _marked_includes(path: str) -> list[str]:
    """Return what a header includes or looks for, marked if only parts for other compilers do."""
    from hatch_cuda_kernels.includes import find_includes  # a key needs none of it

    try:
        text = Path(path).read_bytes().decode(errors="replace")
    except OSError:
        return []
    file = cpp.SourceFile(path, text)
    directives = [*find_includes(file)]
    hidden = parts_for_others(file, sorted(one.start for one in directives))
    named = {one.spelling for one in directives if one.spelling}
    seen = {one.spelling for one in directives if not any(start <= one.start < end for start, end in hidden)} & named
    others = [_HIDDEN + name for name in sorted(named - seen)]
    if any(not (one.spelling or one.is_probe or one.problem) for one in directives):
        others.append(_BY_MACRO)
    if any(one.problem for one in directives):  # compilers may take the text in two ways: all that is named counts
        others += [_HIDDEN + name for name in _digest_and_names(path)[1:] if name[0] in _DELIMITERS]
    definitions = (one.operand for one in file.directives if one.word == "define")
    names = {name for text in definitions if text.rstrip()[-1:] in {'"', ">"} for name in _NAME_IN.findall(text)}
    parts = _parts_of_names(file.joined.encode())
    return [*sorted(seen), *others, *(_BY_MACRO + name for name in sorted(names)), *parts]


def parts_for_others(file: SourceFile, places: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ranges of a toolkit header that are for other compilers; none in a text with unbalanced conditions.

    Of what has none of the ``places`` in it, which are in order, nothing is told.
    """
    if not any(word in file.text for word in ("RTC", "_CCCL_", "_LIBCUDACXX_")):
        return []
    try:
        conditions = [(at, one) for at, one in enumerate(file.directives) if one.is_conditional and file.groups]
    except cpp.TextError:
        return []
    parts: list[tuple[int, int]] = []
    is_hidden, is_settled = [False], [False]
    """For each group that is open, whether its branch is for others, and whether all that come are."""
    start = behind = 0
    for at, one in conditions:
        if one.start < behind:
            continue
        if one.word in {"if", "ifdef", "ifndef"}:
            end = file.directives[file.group(at)[-1]].end
            if bisect_left(places, one.start) == bisect_left(places, end):  # most groups include nothing
                behind = end
                continue
        if is_hidden[-1]:
            parts.append((start, one.start))
        start = one.end
        if one.word in {"endif", "else", "elif", "elifdef", "elifndef"}:
            is_hidden.pop()
            settled = is_settled.pop()
            if one.word == "endif":
                continue
        else:
            settled = is_hidden[-1]
        holds = False if settled else one.word == "else" or _holds(one.word, one.operand)
        is_hidden.append(holds is False)
        is_settled.append(settled or holds is True)
    return parts


@lru_cache(maxsize=1 << 12)
def _holds(word: str, operand: str) -> bool | None:
    return cpp.evaluate(cpp.Directive(word, operand, 0, 0, 0, 0), _look_up)


def _look_up(name: str) -> tuple[Macro | None, ...]:
    from hatch_cuda_kernels.libraries import macros_of_cccl  # few processes read these headers

    known = macros_of_cccl()
    is_other = name in _OTHERS or (name.startswith(_COMPILER) and name not in known)
    return (None,) if is_other else known.get(name, ())
