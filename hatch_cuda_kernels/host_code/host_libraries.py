"""A project's own copies of libraries of which device code uses nothing: their headers are not read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.includes import FOR_THE_HOST, included
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.directive_lines import directive_lines
from hatch_cuda_kernels.source.dropped import Dropped
from hatch_cuda_kernels.source.lexer import Joined, UnclearTextError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["drop_includes", "host_libraries"]

#: Folders that projects have of their own, with code of their own.
_COMMON: Final = frozenset({"benchmark", "google", "json(?=/json\\.hpp)"})
_LIBRARIES: Final = "|".join(sorted(FOR_THE_HOST - _COMMON))
#: Of Boost, what is for the host only.
_BOOST: Final = (
    "algorithm/string any archive asio assert circular_buffer current_function date_time exception filesystem format "
    "interprocess iostreams lexical_cast log mpi multi_array process program_options property_tree python random regex "
    "serialization shared_ptr signals2 smart_ptr spirit stacktrace test thread timer tokenizer unordered uuid"
)
_COPY: Final = re.compile(
    rf"(?P<root>{VIRTUAL_ROOT}(?:.*?/)??(?:{_LIBRARIES}|boost(?=/(?:{'|'.join(_BOOST.split())})(?:\.hpp|/))))/[^/].*"
)
_DEVICE: Final = re.compile(r"__(?:device|global|host|constant|shared)__")
#: What one of the headers of such a library has.
_NAMESPACE: Final = re.compile(
    r"\bnamespace\s+(?:boost|cereal|cxxopts|doctest|fmt|gflags|google|nanobind|nlohmann|pybind11|rapidjson|spdlog|testing|YAML"
    r"|tinyxml2)\b|\b(?:FMT_BEGIN|GFLAGS|GOOGLE|NB|NLOHMANN_JSON|PYBIND11|RAPIDJSON)_NAMESPACE|\bOPENSSL_"
)
_VISIBLE: Final = re.compile(r"\S")


def host_libraries(texts: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the texts that are such headers; none where a macro may name any header.

    A header with a device mark is the project's own, whatever its folder is called, and so is a folder without the
    library's namespace.
    """
    copies = {name: copy["root"] for name in texts if (copy := _COPY.fullmatch(name))}
    roots = {root for name, root in copies.items() if _NAMESPACE.search(texts[name])}
    found = {name for name, root in copies.items() if root in roots and not _DEVICE.search(texts[name])}
    inside = tuple(f"{root}/" for root in roots)
    others = (text for name, text in texts.items() if found and not name.startswith(inside))
    is_open = any(header is None for text in others for _, _, header in _includes(text))
    return frozenset() if is_open else frozenset(found)


def drop_includes(texts: dict[str, str], headers: frozenset[str]) -> Iterator[Dropped]:
    """Blank the includes of headers in texts by name, and yield these."""
    for name, text in texts.items() if headers else ():
        pieces: list[str] = []
        done = 0
        for start, end, header in _includes(text):
            if header in headers:
                pieces += text[done:start], _VISIBLE.sub(" ", text[start:end])
                line, done = text.count("\n", 0, start) + 1, end
                yield Dropped(name.removeprefix(VIRTUAL_ROOT), line, "include", header.removeprefix(VIRTUAL_ROOT))
        texts[name] = "".join((*pieces, text[done:]))


def _includes(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Yield where the includes of a text begin and end, in all branches, with the name of the header."""
    source = Joined(text)
    try:
        for line in directive_lines(source):
            if line.word in {"include", "include_next", "import"}:
                yield source.place(line.start), source.place(line.end - 1) + 1, included(line)
    except UnclearTextError:
        return
