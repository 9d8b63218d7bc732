"""The macros that nvcc and NVRTC define before the first line of a source.

``nvcc_macros.txt`` has what ``nvcc -E -Xcompiler -dM`` prints for an empty source of C++17 on Linux x86-64 with gcc 12,
without what NVRTC defines alike; then what is otherwise in another C++, ``-`` before what is not there. The value of a
macro that both define may depend on the architecture or the release. ``header_macros.txt`` has what ``nvcc`` prints
more behind headers, those in brackets: macros in parentheses have parameters, or a value of several tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from hatch_cuda_kernels.cpp import HEADER_PROBES, PROBES, MacroTable, State, parse_define, parse_defines, unknown_macro
from hatch_cuda_kernels.libraries.table import begins_as, is_toolkit_macro, table, telling_words, words_in

#: Answers a probe whose header is there.
_THERE: Final = parse_define("__has_include", "1")
#: The list of how macros of both begin that an architecture or an option may define.
_PERHAPS: Final = "compilers", "shared", "perhaps"
#: Versions of C++, all where none is named, each with headers.
_Places: TypeAlias = "list[tuple[str, list[str]]]"
#: Of whatever these ask, gcc's answer is known.
_ANSWERED: Final = tuple(f"{name}(" for name in PROBES - HEADER_PROBES)


@cache
def nvcc_macros(std: str) -> Mapping[str, State]:
    """Return the macros that nvcc defines and NVRTC does not, for a version of C++ such as ``c++17``."""
    text = Path(__file__).with_name("nvcc_macros.txt").read_text(encoding="utf-8")
    found: dict[str, State] = {}
    section = std
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        plain = name.strip("-()")
        if line.startswith("["):
            section = line.strip("[]")
        elif section == std and name.startswith("-"):
            del found[plain]
        elif section == std:
            found[plain] = (parse_define(name, value) if plain == name else unknown_macro(plain, ()),)
    return found | _probes()


@cache
def _header_macros() -> Mapping[str, Sequence[tuple[str, _Places]]]:
    """Return by name each value of a macro that headers of the host's leave, and where they do."""
    text = Path(__file__).with_name("header_macros.txt").read_text(encoding="utf-8")
    found: dict[str, list[tuple[str, _Places]]] = {}
    places: _Places = []
    is_open = False
    for line in text.splitlines():
        if line.startswith("["):
            versions, _, headers = line.strip("[]").rpartition(": ")
            places = [*places[: len(places) * is_open], (versions, headers.split())]
        else:
            name, _, value = line.partition(" ")
            found.setdefault(name.strip("()"), []).append((name[:1] + value, places))
        is_open = line.startswith("[")
    return found


def macros_behind_headers(std: str, words: Iterable[str]) -> Mapping[str, Mapping[str, State]]:
    """Return which macros, if they are among some words, nvcc has behind each header of the host's."""
    known = _header_macros()
    found: dict[str, dict[str, State]] = {}
    for name in known.keys() & words:
        for value, places in known[name]:
            macro = unknown_macro(name, ()) if value[0] == "(" else parse_define(name, value[1:])
            for header in (one for versions, headers in places if std in (versions or std) for one in headers):
                found.setdefault(header, {})[name] = (macro,)
    return found


@cache
def _probes() -> dict[str, State]:
    """Return what gcc answers where a condition asks for a header, an attribute or a function of the compiler."""
    gcc = table("compilers")["gcc"]
    builtins = (*gcc["builtins"], *(f"__builtin_{name}" for name in gcc["prefixed_builtins"]))
    answers = dict.fromkeys((f"__has_builtin({name})" for name in builtins), "1")
    for name in gcc["attributes"]:
        for each in (name, f"__{name}__"):
            answers |= {f"__has_attribute({each})": "1", f"__has_cpp_attribute({each})": "1"}
            answers |= {f"__has_c_attribute(gnu::{each})": "1", f"__has_cpp_attribute(gnu::{each})": "1"}
    for name, number in (one.split("=") for one in gcc["numbered_attributes"]):
        answers |= dict.fromkeys((f"__has_{kind}attribute({name})" for kind in ("", "c_", "cpp_")), number)
    found: dict[str, State] = {asked: (parse_define(asked.partition("(")[0], n),) for asked, n in answers.items()}
    lacking = dict.fromkeys((f"__has_include(<{name}>)" for name in gcc["lacking_headers"]), (None,))
    return found | header_probes((*words_in("host", "system", "headers"), *gcc["headers"])) | lacking


def header_probes(headers: Iterable[str]) -> dict[str, State]:
    """Return what answers conditions that ask whether headers are there, for those that are."""
    return dict.fromkeys((f"__has_include(<{name}>)" for name in headers), (_THERE,))


def answers_probe(asked: str) -> bool:
    """Return whether gcc's answer to ``__has_builtin(name)`` and the like is known: 0 for what no table has."""
    return asked.startswith(_ANSWERED) and not asked.startswith("__has_builtin(__builtin_ia32_")


@cache
def shared_macros(std: str) -> Mapping[str, State]:
    """Return the macros that both define, for a version of C++ such as ``c++17``."""
    version = {"c++14": "201402L", "c++17": "201703L", "c++20": "202002L"}[std]
    shared = table("compilers")["shared"]
    known = {**dict.fromkeys(shared["plain"], "1"), "__cplusplus": version}
    found: dict[str, State] = {name: (parse_define(name, value),) for name, value in known.items()}
    absent = dict.fromkeys(table("compilers")["others"]["names"], (None,))
    unknown = (*shared["unknown"], *table("cuda")["macros"]["predefined"])
    return found | absent | {name: (unknown_macro(name),) for name in unknown}


def macros_of_nvcc(
    std: str,
    define: Iterable[tuple[str, str | None]],
    headers: Iterable[str],
    own: Collection[str],
    behind: Mapping[str, Mapping[str, State]] | None = None,
) -> MacroTable:
    """Return the macros that nvcc has before a source, with what probes of ``headers`` say, and ``behind`` headers.

    Nothing is known of those that a header of the toolkit may bring, but for a project's ``own``.
    """
    told_of = frozenset[str]().union(*(behind or {}).values()) - telling_words()
    known = words_in("compilers", "nvrtc", "only").union(own, told_of)

    def is_foreign(name: str) -> bool:
        if name in known or answers_probe(name):
            return False
        return begins_as(name, *_PERHAPS) or (is_toolkit_macro(name) and not name.startswith("__GNUC"))

    known_macros = {**header_probes(headers), **nvcc_macros(std), **shared_macros(std), **parse_defines(define)}
    return MacroTable(known_macros, is_foreign, behind)


def macros_of_nvrtc(std: str, define: Iterable[tuple[str, str | None]]) -> MacroTable:
    """Return the macros that NVRTC has before a source; nothing is known of those that a header may bring."""
    words = telling_words() | words_in("compilers", "nvrtc", "only")
    return MacroTable(
        {**_nvrtc_macros(std), **parse_defines(define)},
        lambda name: name in words or begins_as(name, *_PERHAPS) or is_toolkit_macro(name),
    )


@cache
def _nvrtc_macros(std: str) -> Mapping[str, State]:
    shared = table("cuda")["macros"]["nvrtc"]
    absent: dict[str, State] = dict.fromkeys(nvcc_macros(std).keys() - _probes().keys() - telling_words(), (None,))
    defined = {name: (unknown_macro(name),) for name in shared}
    return {**absent, **defined, **shared_macros(std)}


@cache
def macros_of_cccl() -> Mapping[str, State]:
    """Return the macros that CCCL's headers have where NVRTC compiles them; of one of several values, each."""
    defined = table("compilers")["cccl"].items()
    return {name.partition("(")[0]: tuple(parse_define(name, text) for text in texts) for name, texts in defined}
