"""The trace of a program: a line of JSON for each request, in the file that ``HATCH_CUDA_KERNELS_TRACE`` names.

A process writes a request once, however often it makes it, and each compile as it begins. A line is one write at the
end of the file, which is open for that write only: processes, forks and threads need no lock. Nothing that the file
does breaks the program.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import InputError, warn_user
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.store import STORE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.image import Candidate, Image
    from hatch_cuda_kernels.runtime.ladder.request import Request

_SCHEMA: Final = 1
#: Of the reasons in a line, and of the letters of one.
_MOST_REASONS: Final = 12
_MOST_LETTERS: Final = 400
_ANSWERS: Final = {"prebuilt": "prebuilt", "cached": "cached", "jitted": "compiled"}
#: What says who asked, by the name in a line: pytest sets these, and child processes inherit them.
_ASKING: Final = {"test": "PYTEST_CURRENT_TEST", "worker": "PYTEST_XDIST_WORKER"}

#: What this process has written, with the file.
_written: Final[set[tuple[str, Hashable]]] = set()
#: Why lines of this process are missing, by file.
_lost: Final[dict[str, str]] = {}
_owners: Final[dict[str, tuple[str, str]]] = {}


def record_answer(files: Sequence[str], request: Request, considered: Sequence[Candidate], image: Image | None) -> None:
    """Record what a request got: an image, or None if nothing was accepted."""
    answer = "refused" if image is None else _ANSWERS[image.origin]
    found = None if image is None else (answer, image.arch, image.kind)

    def facts() -> dict[str, Any]:
        why = [] if answer == "prebuilt" else [request.why_not_prebuilt]
        shown = considered[-1:] if answer == "prebuilt" else considered[-_MOST_REASONS:]
        why += [f"{one.origin} {one.arch} {one.kind}: {one.reason}" for one in shown]
        data: dict[str, Any] = {"answer": answer, **_facts(request), "reasons": [one[:_MOST_LETTERS] for one in why]}
        if image is not None:
            data["image"] = {"arch": str(image.arch), "kind": image.kind}
        if image is not None and answer == "cached":
            data["site"] = _is_of_site(image.path)
        return data if answer == "prebuilt" else data | {"line_to_add": request.line_to_add}

    asked = request.kernel.key, request.kernel.module, request.asked, request.policy, request.tier_up
    _record(files, facts, (asked, request.reader.folder, request.capability, request.driver, found))


def record_compile(files: Sequence[str], request: Request, arch: SmArch, compiler: str) -> None:
    """Record that a compile begins."""

    def facts() -> dict[str, Any]:
        image = {"arch": str(arch), "kind": "cubin"}
        known = {"answer": "compiling", **_facts(request), "image": image}
        known["reasons"] = [request.why_not_prebuilt, f"compiled with {compiler}"]
        return known | {"line_to_add": request.line_to_add}

    _record(files, facts)


def record_source(
    files: Sequence[str], answer: str, names: Sequence[str], arch: SmArch, kind: str, path: Path | None = None
) -> None:
    """Record that the compile of a source text, which is of no package, begins, or that its image was cached."""
    kernels, image = ", ".join(names) or "all kernels of a source text", {"arch": str(arch), "kind": kind}

    def facts() -> dict[str, Any]:
        data: dict[str, Any] = {"answer": answer, "kernel": kernels, "module": "", "asked": None, "instance": None}
        data |= {"package": "", "version": "", "store": "", "capability": str(arch.capability), "driver": None}
        data |= {"policy": "compatible", "tier_up": False, "image": image, "site": _is_of_site(path)}
        why = "the program compiles source text"
        return data | {"reasons": [why], "line_to_add": "make the text a module of a kernels.yaml"}

    _record(files, facts, (kernels, str(arch), kind, str(path)) if answer == "cached" else None)


def _facts(request: Request) -> dict[str, Any]:
    reader, index, driver = request.reader, request.module, request.driver
    package, version = _owner(str(reader.folder), reader.label)
    family = {"family": index.family, "axes": dict(index.axes)} if index.family else {}
    return {
        "kernel": request.kernel.name,
        "module": index.module,
        "asked": request.asked,
        "instance": request.instance,
        **family,
        "package": package,
        "version": version,
        "store": "" if package else str(reader.folder),
        "capability": "{}.{}".format(*request.capability),
        "driver": None if driver is None else "{}.{}".format(*driver),
        "policy": request.policy,
        "tier_up": request.tier_up,
    }


def _owner(folder: str, label: str) -> tuple[str, str]:
    """Return the import name of the package that a store is in, and its version; each empty if that is not known."""
    if folder not in _owners:
        from importlib import metadata  # few programs are traced

        from hatch_cuda_kernels.store import find_metadata

        name, version = import_name(folder, label), ""
        with suppress(metadata.PackageNotFoundError, OSError):
            found = find_metadata(folder) if name else None
            owner = metadata.Distribution.at(found[0]) if found else metadata.distribution(name or "-")
            version = owner.version or ""
        _owners[folder] = name, version
    return _owners[folder]


def import_name(folder: str, label: str) -> str:
    """Return the import name of the package whose store is in a folder, empty if it is in none; ``label`` may be it."""
    package, last = os.path.split(os.path.abspath(folder))  # noqa: PTH100 - a hit need not import pathlib
    if last != STORE_FOLDER:
        return ""
    if all(part.isidentifier() for part in label.split(".")):
        return label
    for name, module in [*sys.modules.items()]:  # an attribute that is not there may import something
        paths = getattr(module, "__dict__", {}).get("__path__", ())
        if isinstance(paths, list) and package in paths:
            return name
    names: list[str] = []
    while os.path.isfile(os.path.join(package, "__init__.py")):  # noqa: PTH113, PTH118 - as above
        package, last = os.path.split(package)
        names.insert(0, last)
    return ".".join(names)


def _is_of_site(path: Path | None) -> bool:
    """Return whether a recorded image is in a folder that the environment lists: there on purpose, and read-only."""
    from hatch_cuda_kernels.cache import site_paths

    return path is not None and any(path.is_relative_to(site) for site in site_paths())


def _record(files: Sequence[str], facts: Callable[[], dict[str, Any]], once: Hashable = None) -> None:
    """Append a line to each file; ``once`` says what need not be written again."""
    missing = [path for path in files if once is None or (path, once) not in _written]
    if not missing:
        return
    line = b""
    for path in missing:
        try:
            line = line or _line(facts())
            _append(path, line)
        except Exception as error:  # noqa: BLE001 - whatever it is, the program goes on
            _lose(path, error)
        else:
            _written.update({(path, once)} if once is not None else ())


def _line(facts: dict[str, Any]) -> bytes:
    from json import dumps  # few programs are traced
    from time import gmtime, strftime

    told = {name: os.environ[variable] for name, variable in _ASKING.items() if variable in os.environ}
    when = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
    return f"{dumps({'schema': _SCHEMA, **facts, 'process': os.getpid(), 'time': when, **told})}\n".encode()


def _append(path: str, line: bytes) -> None:
    """Write a line at the end of a file, without waiting for anybody who reads it. Raises OSError."""
    more = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | more, 0o666)
    try:
        written = os.write(file, line)
    finally:
        os.close(file)
    if written < len(line):
        raise OSError(None, "a line was cut short: the disk may be full")


def _lose(path: str, error: Exception) -> None:
    """Note that a line is missing, and warn if it is the first one."""
    if path in _lost:
        return
    _lost[path] = why = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
    message = f"requests for kernels are missing in the trace {path}: {why}"
    try:
        warn_user(message)
    except Exception:  # noqa: BLE001 - the program makes errors of warnings, or is ending
        with suppress(Exception):
            sys.stderr.write(f"{message}\n")


def lost_lines(path: str) -> str | None:
    """Return why a file lacks lines of this process, None if it has them all."""
    return _lost.get(path)


class TracedRequest(NamedTuple):
    """One line of a trace."""

    answer: str
    """``prebuilt``, ``cached``, ``compiled``, ``refused``, or ``compiling`` where a compile began."""
    kernel: str
    module: str
    asked: str | None
    """The module that the program named."""
    instance: str | None
    """The kernel, if the module did not list it."""
    package: str
    """The import name of the package that the store was in; empty if it was in none."""
    version: str
    store: str
    """The folder of a store that is in no package."""
    capability: str
    driver: str | None
    policy: str
    tier_up: bool
    reasons: list[str]
    process: int
    family: str = ""
    axes: dict[str, str] = {}  # noqa: RUF012 - never changed
    image: dict[str, str] = {}  # noqa: RUF012 - as above
    site: bool = False
    """Whether a cached image is of a read-only folder that the environment lists."""
    line_to_add: str = ""
    test: str = ""
    """The test of pytest during which it was made, or in which the process was started."""
    worker: str = ""
    """The worker of pytest-xdist."""


_WORDS: Final = {
    "answer": {*_ANSWERS.values(), "refused", "compiling"},
    "policy": {"compatible", "exact", "prebuilt"},
}
_TYPES: Final = {
    **dict.fromkeys(TracedRequest._fields, (str,)),
    **dict.fromkeys(("asked", "instance", "driver"), (str, type(None))),
    **dict.fromkeys(("tier_up", "site"), (bool,)),
    **dict.fromkeys(("axes", "image"), (dict,)),
    "reasons": (list,),
    "process": (int,),
}


def read_trace(path: Path) -> list[TracedRequest]:
    """Return the requests of a trace. Raises InputError if it cannot be read, is damaged, or has none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the trace cannot be read: {error.strerror}") from error
    requests = [request for _, request in read_lines(data, str(path))]
    if not requests:
        raise InputError(f"{path}: the trace is empty: the program that it was recorded of has requested no kernel")
    return requests


def read_lines(data: bytes, label: str) -> Iterator[tuple[int, TracedRequest]]:
    """Yield each request, with where its line begins. Raises InputError, which names the line."""
    at = 0
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        if line.strip():
            try:
                yield at, _parse(line)
            except (ValueError, RecursionError) as error:
                message = f"{label}:{number}: {error}; record the trace again, so that no request is missing"
                raise InputError(message) from error
        at += len(line)


def _parse(line: bytes) -> TracedRequest:
    import json  # few programs read traces

    if not line.endswith(b"\n"):
        raise ValueError("the last line is cut short")
    try:
        data = json.loads(line)
    except ValueError as error:
        raise ValueError(f"this is no line of a trace ({error})") from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != _SCHEMA:
        other = f"schema {schema} is not {_SCHEMA}: written by another version of hatch-cuda-kernels"
        raise ValueError("this is no line of a trace" if schema is None else other)
    found = {name: data[name] for name in TracedRequest._fields if name in data}
    for name, types in _TYPES.items():
        value = found.get(name, TracedRequest._field_defaults.get(name, ...))
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        fits = type(value) in types and all(isinstance(one, str) for one in inner)
        if not fits or value not in _WORDS.get(name, (value,)):
            raise ValueError(f"{name} is missing or damaged")
    return TracedRequest(**found)
