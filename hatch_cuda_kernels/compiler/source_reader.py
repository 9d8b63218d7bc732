"""What sources were read as, kept among the notes about this machine: to follow thousands of headers takes seconds.

A note has what the outcome depends on: what was looked for in the project and what was there, the digest of each file
that was read, what the toolkit's headers ask for, and a digest of the code that reads: another version of that code may
read a source differently.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.cache import Notes
from hatch_cuda_kernels.compiler.toolchain import installed_headers
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME, DeviceLibrary
from hatch_cuda_kernels.errors import CompileError, InputError
from hatch_cuda_kernels.execution_space import ClosureCut, DeviceSource, SourceChange, SourceSet
from hatch_cuda_kernels.includes import STANDARD_FOLDER, Asked, ProjectFiles
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.names import VIRTUAL_ROOT, is_projects

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.job import Recipe
    from hatch_cuda_kernels.includes import Project

_NOTES: Final = Notes("sources")
#: Bytes of an unpacked note; a damaged one must not fill the memory.
_MOST: Final = 256_000_000
#: Characters of a text of which a note has only the lines that its file has otherwise, and how many these may be.
_LONG: Final = 1 << 14
_MOST_LINES: Final = 1 << 10
#: What of a closure is a tuple of text.
_TUPLES: Final = (
    "pre_include",
    "outside",
    "computed",
    "probes",
    "standard",
    "named",
    "asked",
    "clocks",
)
#: What the toolkit's headers ask for is not a rule, but an answer that is compared.
_FOLDERS: Final = ("cpp", "execution_space", "includes", "libraries")
_FILES: Final = ("compiler/binary/log.py", "compiler/recipe_reader.py", "device_library.py", "names.py", "options.py")


class _Looked:
    """What a reading looks at: a project's files, and the headers outside it. Both remember what they were asked."""

    def __init__(self, root: Path, copies: Mapping[str, Path]) -> None:
        self.files: Final = ProjectFiles(root, copies=copies)
        self.asked: Final[dict[tuple[str, ...], Asked]] = {}
        self._installed: Final = installed_headers()
        self.outer: Final = self._installed._replace(asks=self._asks)
        self._digests: Final[dict[str, str]] = {}

    def _asks(self, names: tuple[str, ...]) -> Asked:
        if names not in self.asked:
            self.asked[names] = self._installed.asks(names)
        return self.asked[names]

    def digest(self, path: str) -> str:
        """Return the sha256 of a file of the project in hex; empty where it cannot be read."""
        if path not in self._digests:
            try:
                self._digests[path] = sha256(self.files.read(path)).hexdigest()
            except InputError:
                self._digests[path] = ""
        return self._digests[path]

    def text(self, name: str) -> str:
        """Return a header's text as its file has it, by its name in memory; empty where it is not UTF-8.

        Raises InputError where that is not the file whose digest was asked for.
        """
        path = name.removeprefix(VIRTUAL_ROOT)
        data = self.files.read(path)
        if sha256(data).hexdigest() != self.digest(path):
            raise InputError(f"{path} changed while it was read; build again")
        try:
            return data.decode()
        except UnicodeDecodeError:
            return ""

    def to_json(self) -> dict[str, Any]:
        asked = [[names, sorted(found.names), sorted(found.beside)] for names, found in self.asked.items()]
        return {"kinds": self.files.kinds, "globs": self.files.globs, "asked": asked}

    def is_answered(self, noted: Mapping[str, Any]) -> bool:
        asked = {tuple(names): Asked(frozenset(asked), frozenset(beside)) for names, asked, beside in noted["asked"]}
        try:
            return (
                all(self.files.kind(path) == kind for path, kind in noted["kinds"].items())
                and all([*self.files.glob(pattern)] == found for pattern, found in noted["globs"].items())
                and all(self.outer.asks(names) == found for names, found in asked.items())
            )
        except InputError:  # a folder that cannot be listed any more
            return False


class SourceReader:
    """Reads the sources of recipes, of the modules of one project that have these names, where that is new.

    All of them are read of the project and the toolkit as they were when they were first asked for. ``compiled_for``
    names the compiler and its targets: what these refused does not count for others. ``copies`` are as for
    ``ProjectFiles``.
    """

    def __init__(
        self,
        root: Path,
        modules: Iterable[str],
        levels: Iterable[tuple[str, int, str]] = (),
        compiled_for: str = "",
        copies: Mapping[str, Path] | None = None,
    ) -> None:
        self._compiled_for: Final = compiled_for
        self._looked = _Looked(root, copies or {})
        self._levels = tuple(levels)
        """Of which declarations more is cut than the rules say, from the beginning."""
        self._subject = json.dumps([_code(), sys.version_info[:2], sorted(modules), self._levels])
        self._noted = _unpacked(_NOTES.read(self._subject)) if _code() else {}
        if self._noted and not self._looked.is_answered(self._noted["looked"]):
            self._noted = {}
            self._looked = _Looked(root, copies or {})
        self._sources: dict[str, SourceSet] = {}
        self._learned: set[str] = set()
        """What was read again after an error."""
        self._project: Project | None = None
        self._lines: dict[tuple[str, str], list[tuple[int, str]] | None] = {}

    def read(self, recipe: Recipe) -> SourceSet:
        """Return the sources of a recipe, as ``read_recipe`` does. Raises InputError."""
        question = _question(recipe)
        if question in self._learned:
            return self._sources[question]
        noted = self._noted["modules"].get(question) if self._noted else None
        if (
            noted is not None
            and (noted["levels"] == [*map(list, self._levels)] or self._noted["compiled_for"] == self._compiled_for)
            and all(self._looked.digest(path) == digest for path, digest in noted["files"])
        ):
            self._sources[question] = self._recalled(recipe, noted)
        else:
            self._sources[question] = self._read(recipe, self._levels)
        return self._sources[question]

    def learn(self, recipe: Recipe, error: CompileError) -> bool:
        """Read a recipe's sources again, of which NVRTC refused some declarations; return whether that changes them."""
        from hatch_cuda_kernels.compiler.recipe_reader import further_levels  # few sources need it

        question, project = _question(recipe), self._projects()
        outer = [self._looked.outer] * len(recipe.sources)
        root = self._looked.files.root
        levels = further_levels(recipe, root, self._sources[question], error, project=project, outer=outer)
        if levels is None:
            return False
        self._sources[question] = self._read(recipe, levels)
        self._learned.add(question)
        return True

    def save(self, *, is_done: bool = False) -> None:
        """Remember what was read, if something is new; with ``is_done``, nothing will be read after that."""
        if self._project is None or not _code():
            return
        if is_done:
            self._project = None  # its tokens take a hundred MB for all of CUTLASS, as much as the note does meanwhile
        texts: dict[str | tuple[str, str], int] = {}
        modules = {question: self._described(sources, texts) for question, sources in self._sources.items()}
        looked = self._looked.to_json()
        note = {"looked": looked, "compiled_for": self._compiled_for, "modules": modules}
        stored = (text if isinstance(text, str) else self._lines[text] for text in texts)
        _NOTES.write(self._subject, _packed(note, stored))

    def _read(self, recipe: Recipe, levels: Iterable[tuple[str, int, str]]) -> SourceSet:
        from hatch_cuda_kernels.compiler.recipe_reader import read_recipe  # a rebuild needs none of it

        outer = [self._looked.outer] * len(recipe.sources)
        return read_recipe(recipe, self._looked.files.root, project=self._projects(), outer=outer, levels=levels)

    def _projects(self) -> Project:
        if self._project is None:
            from hatch_cuda_kernels.includes import Project  # as above

            self._project = Project(self._looked.files)
        return self._project

    def _recalled(self, recipe: Recipe, noted: Mapping[str, Any]) -> SourceSet:
        libraries = (name for name in recipe.libraries if name != DEVICE_RUNTIME)
        return SourceSet(
            tuple(self._closure(unit, self._noted["texts"]) for unit in noted["units"]),
            tuple(DeviceLibrary(name, self._looked.files.read(name)) for name in libraries),
            tuple((file, offset, level) for file, offset, level in noted["levels"]),
        )

    def _described(self, sources: SourceSet, texts: dict[str | tuple[str, str], int]) -> dict[str, Any]:
        """Return sources as JSON, with the numbers of their texts: modules share most headers.

        Of a long text that is much like its file, the note has only what differs: large tables are of this kind.
        """

        def number(name: str, text: str) -> int:
            key = text if self._changed_lines(name, text) is None else (name, text)
            return texts.setdefault(key, len(texts))

        def describe(unit: DeviceSource) -> dict[str, Any]:
            return {
                "source": number(unit.program_name, unit.source),
                "program_name": unit.program_name,
                "headers": [[name, number(name, text)] for name, text in unit.headers],
                "files": unit.files,
                "changes": unit.changes,
                "cut": unit.cut.to_json(),
                **{name: getattr(unit, name) for name in _TUPLES},
            }

        units = [describe(unit) for unit in sources.units]
        return {"files": [*sources.files.items()], "units": units, "levels": sources.levels}

    def _closure(self, described: Mapping[str, Any], texts: list[Any]) -> DeviceSource:
        return DeviceSource(
            source=self._text(described["program_name"], described["source"], texts),
            program_name=described["program_name"],
            headers=tuple((name, self._text(name, number, texts)) for name, number in described["headers"]),
            files=tuple((path, digest) for path, digest in described["files"]),
            changes=tuple(SourceChange(*one) for one in described["changes"]),
            **{name: tuple(described[name]) for name in _TUPLES},  # type: ignore[arg-type]
            cut=ClosureCut.from_json(described["cut"]),
        )

    def _changed_lines(self, name: str, text: str) -> list[tuple[int, str]] | None:
        """Return the lines of a long text that its file has otherwise; None of a short one, or where they are many."""
        if len(text) <= _LONG or not is_projects(name):
            return None
        if (name, text) not in self._lines:
            before = self._looked.text(name)
            is_alike = text.count("\n") == before.count("\n")
            pairs = zip(_lines(text), _lines(before), strict=True) if is_alike else ()
            found = [(at, line) for at, (line, other) in enumerate(pairs) if line != other]
            self._lines[name, text] = found if is_alike and len(found) <= _MOST_LINES else None
        return self._lines[name, text]

    def _text(self, name: str, number: int, texts: list[Any]) -> str:
        """Return a text of a note, which is made of its file if only what differs is there."""
        if isinstance(texts[number], list):
            lines = self._looked.text(name).split("\n")
            for at, line in texts[number]:
                lines[at] = line
            texts[number] = "\n".join(lines)
        return str(texts[number])


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, of which only a part is in the memory once more."""
    at = 0
    while (end := text.find("\n", at + _LONG)) >= 0:
        yield from text[at:end].split("\n")
        at = end + 1
    yield from text[at:].split("\n")


def _question(recipe: Recipe) -> str:
    """Return what of a recipe decides how its sources are read."""
    return json.dumps([recipe.sources, recipe.headers, recipe.libraries, repr(recipe.options)])


@cache
def _code() -> str:
    """Return a digest of all that reads sources and writes notes; empty where the package is not in files."""
    rules = rule_files()
    standard = (f"{place}{os.sep}{name}" for place, _, names in os.walk(STANDARD_FOLDER) for name in names)
    digest = sha256()
    for path in (*rules, __file__, *sorted(name for name in standard if not name.endswith(".pyc"))) if rules else ():
        with open(path, "rb") as file:  # noqa: PTH123 - Path takes twice as long, for four hundred files
            data = file.read()
        digest.update(f"{len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest() if rules else ""


def _packed(note: Mapping[str, Any], texts: Iterable[object]) -> dict[str, str]:
    """Return a note with its texts, which take most of the memory, one after another."""
    digest, packer, packed = sha256(), zlib.compressobj(1), bytearray()
    pieces = (f"{', ' if number else ''}{json.dumps(text)}" for number, text in enumerate(texts))
    for piece in chain((json.dumps(note)[:-1], ', "texts": ['), pieces, ("]}",)):
        data = piece.encode()
        digest.update(data)
        packed += packer.compress(data)
    packed += packer.flush()
    return {"sha256": digest.hexdigest(), "packed": base64.b64encode(packed).decode()}


def _unpacked(note: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a note holds; nothing where there is none, or it is damaged."""
    try:
        text = zlib.decompressobj().decompress(base64.b64decode(note["packed"]), _MOST)
        found = json.loads(text) if sha256(text).hexdigest() == note["sha256"] else {}
    except (KeyError, TypeError, ValueError, zlib.error):
        return {}
    return found if isinstance(found, dict) else {}


def rule_files() -> list[str]:
    """Return the paths of that code, sorted, without the standard headers; none where the package is not in files."""
    package = Path(__file__).parents[1]
    found = [path for folder in _FOLDERS for path in (package / folder).glob("*") if path.is_file()]
    return sorted(map(os.fspath, [*found, *(package / name for name in _FILES)])) if found else []
