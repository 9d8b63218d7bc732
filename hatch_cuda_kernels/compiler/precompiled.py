"""Precompiled headers: what programs begin with, and what NVRTC makes of that once for a process.

``docs/maintainers/precompiled-headers.md`` says what is moved to the front, and why no image shows it. NVRTC reads no
precompiled header that another process made, and takes one for valid whose texts in memory have changed: the
preamble's digest decides.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Final, NamedTuple

from cuda.bindings import nvrtc

from hatch_cuda_kernels.child_process import is_child
from hatch_cuda_kernels.compiler.nvrtc_calls import Given, Made, NvrtcError, compile_program, open_program
from hatch_cuda_kernels.compiler.toolchain import include_graph, scan_headers
from hatch_cuda_kernels.cpp import Directive, SourceFile, TextError
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.includes import STANDARD_FOLDER, find_includes
from hatch_cuda_kernels.names import VIRTUAL_ROOT, is_projects
from hatch_cuda_kernels.options import NvrtcOptions, macro_name

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.job import Program

#: What NVRTC may keep of a header. CUB's take 100 to 200 MB; where it is too little, nothing is precompiled.
HEAP_BYTES: Final = 512 << 20
#: No file of a project has such a name in memory.
_PREAMBLE: Final = "/dev/null/preamble"
_NAME: Final = f"{VIRTUAL_ROOT}module.cu"
_SEED: Final = "--frandom-seed="
_PRE_INCLUDE: Final = "--pre-include="
_BEGINS: Final = f"{_PRE_INCLUDE}{_PREAMBLE}"
_CREATED: Final = re.compile(r'"[^"\n]*": creating precompiled header file "[^"\n]*"\n?')
_USED: Final = re.compile(r'"[^"\n]*": using precompiled header file "[^"\n]*"\n*')
#: A header's function is used by no kernel yet: what NVRTC says of that, it says again at the end of each compile.
_UNUSED: Final = re.compile(r"warning #177-D:[^\n]*")
_WARNING: Final = re.compile(r"(?:warning|error|remark) ?#?[\w-]*:[^\n]*", re.IGNORECASE)
#: The guard of a text with ``#pragma once``.
ONCE: Final = "#pragma once"

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_SPELLED: Final = re.compile(r"\s*(\"[^\"\n]+\"|<[^<>\n]+>)")
#: Pragmas that mean nothing to what is included after them.
_IDLE: Final = frozenset({"once", "GCC system_header", "clang system_header", "system_header"})
_IFS: Final = frozenset({"if", "ifdef", "ifndef"})
_wanted: tuple[Preamble, bool] | None = None
_made: _Precompiled | None = None


def components(graph: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return a number for each node, the same for nodes of one cycle (Tarjan, 1972, without recursion)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    found: dict[str, int] = {}
    path: list[str] = []
    for root in graph:
        work = [] if root in order else [(root, iter(graph[root]))]
        while work:
            node, following = work[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                path.append(node)
            for other in following:
                if other not in order:
                    work.append((other, iter(graph.get(other, ()))))
                    break
                if other not in found:
                    lowest[node] = min(lowest[node], order[other])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    start = path.index(node)
                    found |= dict.fromkeys(path[start:], len(found))
                    del path[start:]
    return found


class Preamble(NamedTuple):
    """What several compiles begin with, as each of them finds it."""

    headers: tuple[str, ...]
    """Spelled with delimiters, in order; none of them stands for what NVRTC itself puts before each program."""
    digest: str
    """Of the headers, of every text in memory that can have a part in them, and of the flags: all that NVRTC reads."""
    worth: int
    """How many compiles pay for precompiling it."""

    @property
    def text(self) -> str:
        """The text of it. What comes after the pragma is not precompiled."""
        return "".join(f"#include {name}\n" for name in self.headers) + "#pragma nv_hdrstop\n"


class _Header(NamedTuple):
    name: str
    """With delimiters; it leads to the header from anywhere."""
    text: str
    path: str
    """Empty for one of the project's."""


class _TextBeingRead:
    """A header on the way, or the source (without a name), with the includes that are left of its opening."""

    def __init__(self, header: _Header, *, cycle: object = None, is_moved: bool = False) -> None:
        opening = read_opening(header.text)
        self.includes: Iterator[str] = iter(opening.includes)
        self.is_whole = opening.is_whole
        self.name: Final = header.name
        self.folder: Final = os.path.dirname(header.path)  # noqa: PTH120
        self.cycle: Final = cycle
        self.is_moved: Final = is_moved

    def stop(self) -> None:
        """Read no further: what comes next stays where it is."""
        self.includes = iter(())
        self.is_whole = False


class Toolkit:
    """The headers of the toolkit, and those of this package, as a build finds them; they do not change meanwhile."""

    def __init__(self, folders: tuple[str, ...], names: Iterable[str] = ()) -> None:
        self.folders: Final = folders
        self._texts: dict[str, str | None] = {}
        self._reached: dict[tuple[str, ...], tuple[int, frozenset[str]]] = {}
        self._searched: Final = (STANDARD_FOLDER, *folders)
        self._cycles: Final = components(include_graph(tuple(sorted(names)), self._searched)) if folders else {}

    def text(self, path: str) -> str | None:
        """Return the text of a file; None where there is none."""
        if path not in self._texts:
            try:
                self._texts[path] = Path(path).read_text(encoding="utf-8", errors="replace")
            except OSError:
                self._texts[path] = None
        return self._texts[path]

    def cycle(self, path: str) -> object:
        """Return what is equal for files that include each other, directly or not."""
        return self._cycles.get(path, path)

    def reached(self, names: Iterable[str]) -> tuple[int, frozenset[str]]:
        """Return how many characters headers lead to, and for which names the files found ask."""
        key = tuple(sorted(names))
        if key not in self._reached:
            found = scan_headers(key, self._searched)
            sizes = (found.states[path].split()[0] for path in found.files)
            self._reached[key] = sum(map(int, sizes)), found.asked.names
        return self._reached[key]


class Beginning:
    """The headers that a program with some options can begin with."""

    def __init__(self, program: Program, options: NvrtcOptions, toolkit: Toolkit) -> None:
        self._memory: Final = dict(program.headers)
        self._toolkit: Final = toolkit if program.toolkit is not None else Toolkit(())
        self._source: Final = program.source
        self._defined: Final = {macro_name(name) for name, _ in options.define}
        self._digests: dict[tuple[str, ...], str] = {}
        start = "".join(f'#include "{name}"\n' for name in program.pre_include)
        # Where a macro may name any header, or one of the toolkit's lead to one of the project's, nothing is moved.
        plain = (text for name, text in program.headers if not is_projects(name))
        is_hidden = program.computed or any(VIRTUAL_ROOT in text for text in plain)
        self.headers: Final = () if is_hidden else tuple(self._front(start))
        """Spelled with delimiters, each after those that it begins with."""
        self.named: Final = (*named_headers(start), *named_headers(program.source))
        """All that the program includes or looks for itself."""

    def characters(self, headers: Sequence[str]) -> int:
        """Return how much text NVRTC reads for these headers, or a multiple of it: ``#if`` is not evaluated."""
        inside, asked = self._in_memory(headers)
        return sum(map(len, inside.values())) + self._toolkit.reached(asked - inside.keys())[0]

    def digest(self, headers: Sequence[str]) -> str:
        """Return a digest of these headers, and of every text in memory that they can lead to."""
        key = tuple(headers)
        if key not in self._digests:
            inside, asked = self._in_memory(key)
            asked |= self._toolkit.reached(asked)[1]
            more, _ = self._in_memory([f'"{name}"' for name in asked])
            found = hashlib.sha256(repr(key).encode())
            for name, text in sorted((inside | more).items()):
                found.update(f"{len(name)} {len(text)}\n{name}{text}".encode())
            self._digests[key] = found.hexdigest()
        return self._digests[key]

    def _front(self, start: str) -> Iterator[str]:
        """Yield what the program begins with. Includes may be nested deeper than Python's calls."""
        reading = [_TextBeingRead(_Header("", text, "")) for text in (self._source, start)]
        passed: set[str] = set()  # what has no effect where it is included again
        while reading:
            text = reading[-1]
            spelling = next(text.includes, None)
            if spelling is not None:
                header = self._find(spelling, text.folder)
                if header is None or (header.name not in passed and not self._is_read(header, reading)):
                    text.stop()
                elif header.name not in passed:
                    reading.append(self._opened(header))
                    passed |= {header.name} if read_opening(header.text).guard else set()
                continue
            reading.pop()
            if text.is_moved:
                yield text.name
            elif text.is_whole:
                passed.add(text.name)
            elif reading:
                reading[-1].stop()

    def _opened(self, header: _Header) -> _TextBeingRead:
        """Return a header to be read; one of the toolkit's without what it begins with, if that depends on a macro."""
        guard = read_opening(header.text).guard
        if not header.path:
            return _TextBeingRead(header)
        cycle = self._toolkit.cycle(header.path)
        found = _TextBeingRead(header, cycle=cycle, is_moved=bool(guard))
        if guard not in {ONCE, ""}:
            found.stop()
        return found

    def _is_read(self, header: _Header, reading: Sequence[_TextBeingRead]) -> bool:
        """Return whether a header that is included here is read here, whatever came before, and can be moved."""
        if header.path:  # in a cycle, it would be read before the one that includes it, not inside
            cycle = self._toolkit.cycle(header.path)
            return not any(text.cycle == cycle for text in reading)
        guard = read_opening(header.text).guard
        if guard == "":
            return not any(text.name == header.name for text in reading)
        texts = (text for name, text in self._memory.items() if f'"{name}"' != header.name)
        defined = guard.startswith("_") or guard in self._defined
        return guard == ONCE or not (defined or any(guard in words_of(text) for text in (self._source, *texts)))

    def _find(self, spelling: str, folder: str) -> _Header | None:
        """Return the header that an include in a folder leads to; None if it cannot be named so from anywhere."""
        name = spelling[1:-1]
        if name in self._memory:
            path = "" if is_projects(name) else f"{STANDARD_FOLDER}/{name}"
            return _Header(f'"{name}"', self._memory[name], path)
        path = os.path.normpath(f"{folder}/{name}")
        if folder and spelling.startswith('"') and self._toolkit.text(path) is not None:
            inside = [other for other in self._toolkit.folders if path.startswith(f"{other}/")]
            name = path[len(max(inside, key=len)) + 1 :] if inside else ""
            if not name or name in self._memory:
                return None
        for other in self._toolkit.folders:
            path = os.path.normpath(f"{other}/{name}")
            text = self._toolkit.text(path)
            if text is not None:
                return _Header(f"<{name}>", text, path)
        return None

    def _in_memory(self, spellings: Sequence[str]) -> tuple[dict[str, str], set[str]]:
        """Return the texts in memory that headers lead to without the toolkit's, and every name on the way."""
        texts: dict[str, str] = {}
        waiting = {spelling[1:-1] for spelling in spellings}
        asked = set(waiting)
        while waiting:
            name = waiting.pop()
            text = self._memory.get(name)
            if text is not None:
                texts[name] = text
                waiting |= {found[1:-1] for found in named_headers(text)} - asked
                asked |= waiting
        return texts, asked


class _Precompiled(NamedTuple):
    digest: str
    file: int
    """Its descriptor; negative where that failed. The file has no name any more."""


def can_precompile() -> bool:
    """Return whether NVRTC precompiles headers here, from 12.8 on, into files that vanish with the process."""
    return sys.platform.startswith("linux") and hasattr(nvrtc, "nvrtcSetPCHHeapSize")


@contextmanager
def with_preamble(preamble: Preamble | None, *, makes: bool) -> Iterator[None]:
    """Let the compiles of a block, in a child process, begin with a preamble; ``makes`` allows precompiling it now."""
    global _wanted  # noqa: PLW0603 - a fact about the process
    _wanted = (preamble, makes) if preamble is not None and is_child() else None
    try:
        yield
    finally:
        _wanted = None


def shared_flags(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags of a compile that those which begin alike have in common."""
    return tuple(flag for flag in flags if not flag.startswith((_SEED, _PRE_INCLUDE)))


def try_preamble(program: Program, flags: tuple[str, ...], compile_from: Callable[[Given], Made]) -> Made | None:
    """Return the outcome of a compile that begins with this process's preamble; None without one, or for an error."""
    start = _begin(program, flags)
    if start is None:
        return None
    with contextlib.suppress(CompileError):  # the compile without says what is wrong, and where
        made = compile_from(start)
        log, was_used = _USED.subn("", made.log, count=1)
        if was_used:
            return made._replace(log=log)
    _drop()
    return None


def _begin(program: Program, flags: tuple[str, ...]) -> Given | None:
    """Return how a compile begins with the preamble of this process, which is precompiled when it is due; or None."""
    global _made  # noqa: PLW0603 - a fact about the process
    if _wanted is None:
        return None
    preamble, makes = _wanted
    if (_made is None or _made.digest != preamble.digest) and makes:
        _drop()
        _made = _Precompiled(preamble.digest, _precompile(preamble, program, shared_flags(flags)))
    if _made is None or _made.digest != preamble.digest or _made.file < 0:
        return None
    seed = [flag for flag in flags if flag.startswith(_SEED)]
    used = f"--use-pch=/proc/self/fd/{_made.file}"
    # NVRTC takes no header before the source but the precompiled one.
    rest = [f'#include "{name}"\n' for name in program.pre_include if f'"{name}"' not in preamble.headers]
    text = "".join((*rest, "#line 1\n")) if rest else ""
    return Given((*shared_flags(flags), _BEGINS, *seed, used), ((_PREAMBLE, preamble.text),), text)


def _drop() -> None:
    """Begin no compile with this preamble again: one ended otherwise than without it."""
    global _made  # noqa: PLW0603 - a fact about the process
    if _made is not None and _made.file >= 0:
        os.close(_made.file)
        _made = _made._replace(file=-1)


def _precompile(preamble: Preamble, program: Program, flags: tuple[str, ...]) -> int:
    """Precompile a preamble and return a descriptor of the file; -1 if NVRTC had anything to say about it."""
    nvrtc.nvrtcSetPCHHeapSize(HEAP_BYTES)
    path = os.path.join(tempfile.gettempdir(), f"hatch-cuda-kernels-{os.getpid()}.pch")  # noqa: PTH118
    headers = (*program.headers, (_PREAMBLE, preamble.text))
    try:
        with open_program("\n", _NAME, headers) as opened:
            taken, log = compile_program(opened, (*flags, _BEGINS, f"{_SEED}0", f"--create-pch={path}"))
            (made,) = nvrtc.nvrtcGetPCHCreateStatus(opened)
        rest, count = _CREATED.subn("", log)
        is_quiet = count == 1 and not _WARNING.search(_UNUSED.sub("", rest))
        return os.open(path, os.O_RDONLY) if taken and int(made) == 0 and is_quiet else -1
    except (OSError, NvrtcError):
        return -1
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108


class Opening(NamedTuple):
    """The beginning of a text."""

    guard: str
    """``#pragma once``, or the macro around all of it; empty where a second inclusion may have an effect."""
    includes: tuple[str, ...]
    """What it includes before anything else, as it is spelled, with delimiters."""
    is_whole: bool
    """Whether that is all of the text."""


@lru_cache(maxsize=4096)
def read_opening(text: str) -> Opening:
    """Return how a text begins. Only directives are read that mean the same wherever the text is included."""
    file = SourceFile("", text)
    try:
        groups = file.groups
    except TextError:
        return Opening("", (), is_whole=False)
    directives = file.directives
    count = next((at for at in range(len(directives) + 1) if file.tokens(at)), len(directives) + 1)
    guard = _guard(file, directives[:count], groups)
    body = range(2 if guard and guard != ONCE else 0, min(count, len(directives)))
    includes: list[str] = []
    position = body.start
    while position < body.stop:
        line = directives[position]
        name = _SPELLED.match(line.operand) if line.word == "include" else None
        if name is not None:
            includes.append(name[1])
        elif line.word in _IFS:
            # Past the group of a condition in which nothing matters.
            end = file.group(position)[-1]
            if end >= count or not all(one.is_conditional or _is_idle(one) for one in directives[position : end + 1]):
                break
            position = end
        elif not (_is_idle(line) or (line.word == "endif" and guard and position == len(directives) - 1)):
            break
        position += 1
    return Opening(guard, tuple(includes), is_whole=position >= len(directives) and count > len(directives))


@lru_cache(maxsize=4096)
def named_headers(text: str) -> frozenset[str]:
    """Return every header that a text may include or look for, as it is spelled: ``#if`` is not evaluated."""
    return frozenset(found.spelling for found in find_includes(SourceFile("", text)) if found.spelling)


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    """Return every word of a text, those in comments and literals among them."""
    return frozenset(map(intern, _WORD.findall(text)))


def _guard(file: SourceFile, lines: Sequence[Directive], groups: dict[int, int]) -> str:
    """Return what keeps a text that begins with these directives from counting twice."""
    if lines and lines[0].word == "pragma" and lines[0].texts == ("once",):
        return ONCE
    if len(lines) < 2 or lines[1].word != "define":
        return ""
    words = lines[0].texts
    macro = ""
    if lines[0].word == "ifndef" and words:
        macro = words[0]
    elif lines[0].word == "if" and words[:2] == ("!", "defined"):
        macro = words[2] if len(words) == 3 else words[3] if len(words) == 5 else ""
    defined = lines[1].texts[:1]
    last = len(file.directives) - 1
    return macro if macro and (macro,) == defined and groups.get(0) == last and not file.tokens(last + 1) else ""


def _is_idle(line: Directive) -> bool:
    return line.word == "" or (line.word == "pragma" and " ".join(line.texts) in _IDLE)
