"""What libraries outside a project are to its sources, as the tables beside this file say: headers, names, macros."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from itertools import chain
from operator import getitem
from pathlib import Path
from typing import Any, Final, NamedTuple


@cache
def table(name: str) -> dict[str, Any]:
    """Return a table, of which the texts are lists of words, but for those that are in lists already."""
    with Path(__file__).with_name(f"{name}.toml").open("rb") as file:
        return {key: _words(value) for key, value in tomllib.load(file).items()}


def _words(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _words(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_words(one) if isinstance(one, dict) else one for one in value]
    return tuple(value.split()) if isinstance(value, str) else value


@cache
def words_in(name: str, *keys: str) -> frozenset[str]:
    """Return the words of a list of a table."""
    return frozenset(entry(name, *keys))


@cache
def headers_in(name: str, *keys: str) -> Mapping[str, str]:
    """Return the names in the lists of a part of a table, each with its header."""
    return {one: header for header, names in entry(name, *keys).items() for one in names}


def entry(name: str, *keys: str) -> Any:
    """Return what a table has under some keys."""
    return reduce(getitem, keys, table(name))


@cache
def std_templates() -> frozenset[str]:
    """Return the class templates of std whose names hardly stand for anything else."""
    traits = (name for name in words_in("standard", "std", "type_traits") if name.endswith(("_t", "_v")))
    return words_in("standard", "sets", "templates").union(traits)


@cache
def begins_as(name: str, table_name: str, *keys: str) -> bool:
    """Return whether a name begins as a word of a list does."""
    return name.startswith(entry(table_name, *keys))


@cache
def own_functions() -> frozenset[str]:
    """Return the functions among all these names, which a project may define itself."""
    standard = table("standard")
    names = (name for header in standard["sets"]["functions"] for name in standard["global"][header])
    return frozenset((*names, *standard["sets"]["other_functions"], *table("cuda")["sets"]["functions"]))


@cache
def renamed_functions() -> frozenset[str]:
    """Return the functions that NVRTC has otherwise than nvcc, for which this package's stand."""
    standard = table("standard")
    return frozenset(name for header in standard["sets"]["renamed"] for name in standard["global"][header])


class StandInHeader(NamedTuple):
    """A header of this package for what a library's header brings whose include is cut as the host's."""

    header: str
    names: frozenset[str]
    by: tuple[str, ...] = ()
    """Headers that bring the names; none for any."""
    unless: tuple[str, ...] = ()
    """How headers begin that declare the same where they are there."""
    are_macros: bool = False
    """Whether the names are macros, all of which stand for code."""

    def is_brought(self, cut_headers: Collection[str], there: Iterable[str]) -> bool:
        """Return whether the names are there with nvcc, where includes of some headers are cut and others are there."""
        is_known = not self.by or not {*self.by}.isdisjoint(cut_headers)
        return is_known and not (self.unless and any(name.startswith(self.unless) for name in there))


@cache
def stand_in_headers() -> tuple[StandInHeader, ...]:
    """Return the headers that stand in for those whose includes are cut, of names in the global namespace."""
    known = (*table("cuda")["library"], *table("torch")["library"], *table("torch")["global"])
    parts = ((one, one.get("by", ()), one.get("unless", ()), one.get("macros", False)) for one in known)
    return tuple(StandInHeader(one["header"][0], frozenset(one["names"]), *rest) for one, *rest in parts)


@cache
def torch_paths(key: str) -> Mapping[tuple[str, ...], str]:
    """Return a list of PyTorch's names, each with its namespaces apart, and their headers."""
    return {tuple(name.split("::")): header for name, header in headers_in("torch", "torch", key).items()}


@cache
def opened_namespaces() -> frozenset[tuple[str, ...]]:
    """Return PyTorch's inner namespaces of which code has names without them, where it opens them or is in them."""
    return frozenset(tuple(name.split("::")) for name in words_in("torch", "torch", "opened"))


def torch_headers(
    used: Iterable[tuple[str, ...]],
    words: Collection[str],
    spaces: Collection[tuple[str, ...]],
    cut_headers: Collection[str],
) -> Iterator[str]:
    """Yield the headers of this package for names of PyTorch's.

    ``used`` are qualified names, and ``words`` all others that are used. ``spaces`` are the namespaces of PyTorch's of
    which code may have names without them, as it opens them or is in them.
    """
    known, names, only_with = entry("torch", "torch"), torch_paths("names"), torch_paths("only_with")
    paths = {path for one in used for path in _torch_paths(one)}
    inner = opened_namespaces() & {one[1:] for one in spaces}
    free = (path for path in names if path[:-1] in inner and path[-1] in words)
    paths.update(path for path in free if only_with.get(path, "") in {"", *cut_headers})
    found = {names[path] for path in paths}
    if not found.isdisjoint(known["complex"]) and not {*known["complex_words"]}.isdisjoint(words):
        found.update(known["complex_math"])
    yield from found


def _torch_paths(one: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of names that a qualified name is, or begins with; ``at::complex(...)`` makes a tensor."""
    known = torch_paths("names")
    plain = one[:-1] if one[-1] == "(" and one[-2] != "complex" else one
    for skipped in range(1, len(plain)):
        rest = plain[skipped:]
        yield from (rest[:count] for count in range(2, len(rest)) if rest[:count] in known)
        if rest in known:
            yield rest
        if plain[skipped] not in words_in("torch", "torch", "passed"):
            return


def torch_names(headers: Collection[str]) -> frozenset[str]:
    """Return the names that device code computes with of some headers for PyTorch's."""
    objects = entry("torch", "torch", "objects")
    found = {path[-1] for path, header in torch_paths("names").items() if header in headers and header not in objects}
    return frozenset(found.union(*(one.names for one in stand_in_headers() if one.by and one.header in headers)))


@cache
def boost_header(name: str, cut_headers: frozenset[str]) -> str:
    """Return the header of this package for a name of namespace boost; empty where no left-out header brings it."""
    known = table("torch")["boost"]
    folders = {header.partition("boost/")[2].partition("/")[0].partition(".")[0] for header in cut_headers}
    return str(known["header"][0]) if not folders.isdisjoint(known["names"].get(name, ())) else ""


def _global() -> tuple[Mapping[str, str], ...]:
    """Return the names of the global namespace that standard libraries and the toolkit have, each with its header."""
    return headers_in("standard", "global"), headers_in("cuda", "implicit"), headers_in("cuda", "device")


def header_of(name: str) -> str | None:
    """Return the header that has a global name; None where none is known, or the host's alone has it."""
    known = (one[name] for one in _global() if name in one)
    ours = (one.by[0] if one.by else one.header for one in stand_in_headers() if name in one.names)
    return next(chain(known, ours), None)


@cache
def headers_of_others() -> frozenset[str]:
    """Return the toolkit's headers that a name brings only where the include of a library's header is cut."""
    return frozenset(header for kind in ("device", "versions", "driver") for header in entry("cuda", kind))


@cache
def telling_words() -> frozenset[str]:
    """Return the words that may ask for a header by themselves."""
    tables: tuple[Iterable[str], ...] = (
        *(*_global(), headers_in("cuda", "versions"), headers_in("cuda", "driver"), std_templates()),
        *(words_in("torch", "torch", "complex_words"), ("register",)),
        (path[-1] for path in torch_paths("names") if path[:-1] in opened_namespaces()),
        *(one.names for one in stand_in_headers()),
    )
    return frozenset(name for names in tables for name in names)


@cache
def namespaces() -> frozenset[str]:
    """Return the namespaces whose names may."""
    return words_in("torch", "torch", "roots") | {"std", "boost"}


@cache
def header_of_use(use: tuple[str, ...]) -> str:
    """Return the header that a name, with its namespaces, asks for, as far as it alone tells; empty for none."""
    if use[:-1] in {(), ("",)}:
        return next((one[use[-1]] for one in _global() if use[-1] in one), "")
    members = headers_in("standard", "std")
    if use[:2] == ("cuda", "std"):
        return f"cuda/std/{members.get(use[2], '')}" if use[2:] else ""
    return members.get(use[1], "") if use[0] == "std" else ""


@cache
def is_library_header(name: str) -> bool:
    """Return whether a header is one of a library that is called from the host, whoever brings it."""
    return _patterns("library", "headers").fullmatch(name) is not None and not _is_for_device(name)


@cache
def is_host_header(name: str, *, is_system: bool) -> bool:
    """Return whether a header is a host library's, or the system's where it ``is_system``: spelled with ``<...>``."""
    folder, slash, _ = name.partition("/")
    if slash and folder in table("host")["library"]["folders"]:
        return not _is_for_device(name)
    return (is_system and _patterns("system", "headers").fullmatch(name) is not None) or is_library_header(name)


def _is_for_device(name: str) -> bool:
    return _patterns("library", "for_device").fullmatch(name) is not None


@cache
def _patterns(group: str, key: str) -> re.Pattern[str]:
    """Return what matches the patterns of a list: ``*`` is for what has no slash, ``**`` for anything."""
    stars = {"*": "[^/]*", "**": ".*"}
    texts = (
        "".join(stars.get(piece) or re.escape(piece) for piece in re.split(r"(\*+)", pattern))
        for pattern in table("host")[group][key]
    )
    return re.compile("|".join(texts))


@cache
def standard_headers() -> frozenset[str]:
    """Return the headers of a host compiler's C and C++ libraries, and what else host code includes of a system."""
    known = table("standard")["headers"]
    names = (form.format(name) for name in known["c"] for form in ("{}.h", "c{}"))
    return frozenset((*names, *known["cpp"], *known["system"]))


def package_distribution(name: str, major: int) -> str:
    """Return what to install for an import package beside a CUDA major, as far as known: most are called alike."""
    known = (one for one in table("packages")["package"] if one["name"] == (name,))
    found = next((str(one["distribution"][0]) for one in known), name.replace(".", "-").replace("_", "-"))
    return found.replace("{major}", str(major))


def package_with(header: str) -> tuple[str, str] | None:
    """Return the import package that has a header for device code, and its folder of headers; None where no one has."""
    for one in table("packages")["package"]:
        if header.startswith(one["headers"]):
            return str(one["name"][0]), str(one["folder"][0])
    return None


@cache
def is_host_call(name: str) -> bool:
    """Return whether a name is spelled as functions, types and constants of the toolkit's host libraries are."""
    known = table("cuda")["calls"]
    leads = (name.removeprefix(word)[:1] for word in known["words"] if name.startswith(word))
    return name.startswith(known["constants"]) or any(map(str.isupper, leads))


@cache
def defines_constants(name: str) -> bool:
    """Return whether a header of the toolkit's defines constants, all of which NVRTC leaves in its images."""
    known = table("cuda")["headers"]
    return name.startswith(known["constants"]) and name.removeprefix("cuda/std/") not in known["no_constants"]


@cache
def is_cccl_header(name: str) -> bool:
    """Return whether a header is one of CCCL's, which are written for NVRTC as for nvcc."""
    return name.startswith(entry("cuda", "headers", "cccl")) or (name.startswith("cuda/") and "." not in name)


@cache
def hides_mark(word: str) -> bool:
    """Return whether a word that no text defines may be a macro of a library's that hides a mark."""
    known = table("cuda")["macros"]
    if any(word in one.get("marks", ()) for one in table("torch")["library"]):
        return True
    return word.isupper() and word.startswith(known["marks"]) and word not in known["unmarked"]


@cache
def is_toolkit_macro(word: str) -> bool:
    """Return whether a word may be a macro of the toolkit's, of which many are empty."""
    known = table("cuda")["macros"]
    return word.startswith("_") or word in known["whole"] or ("_" in word and has_toolkit_prefix(word))


def has_toolkit_prefix(word: str) -> bool:
    """Return whether a word begins as the toolkit's macros do, but for an underscore alone."""
    known = table("cuda")["macros"]
    return word.startswith((*known["any"], *known["marks"]))


#: Of what Torch's macros of host code run a piece of code for.
_NUMBERS: Final = (["::", "Half"], ["::", "BFloat16"])


def dispatched(macro: str, arguments: Iterable[str]) -> tuple[str, tuple[str, ...]] | None:
    """Return the name that a macro with such arguments before its code declares, and the types it stands for."""
    lead, dispatches, rest = macro.partition("DISPATCH_")
    if not dispatches or (lead and not lead.endswith("_")) or rest.startswith("SWITCH"):
        return None
    known = table("torch")["dispatch"]
    is_torchs = lead in known["torchs"]
    types = next((types for part, types in known["types"].items() if part in rest), None)
    if types is None and rest != "CASE":
        return None
    added = [one[not is_torchs] for name, one in known["added"].items() if name in rest.split("_")]
    plain = [word.removeprefix("k") for word in sorted({*arguments})]
    if is_torchs:
        added += [kind for name, one in known["enumerators"].items() if name in plain for kind in one]
    else:
        added += [one[1] for name, one in known["added"].items() if name in {word.upper() for word in plain}]
    name = known["index" if "INDEX_TYPES" in rest else "scalar"][0]
    return name, tuple(dict.fromkeys((*(types or ()), *added)))


def as_declared(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return template arguments with Torch's numbers as they are declared, and CUDA's types in place of their sums'."""
    known = table("torch")["dispatch"]
    found: list[str] = []
    at = 0
    while at < len(tokens):
        text, follows = tokens[at], [*tokens[at + 1 : at + 3]]
        if text in known["sums"] and follows[:1] == ["<"]:
            while found and found[-1] in {"typename", "at", "::"}:
                found.pop()
            end = [*tokens, ">"].index(">", at)
            inner = tuple(tokens[at + 2 : end])
            kind = inner[: inner.index(",")] if "," in inner else inner
            found += kind if " ".join(kind) in known["own_sums"] else ("float",)
            at = end + (3 if [*tokens[end + 1 : end + 3]] == ["::", "type"] else 1)
            continue
        found.append("c10" if text in {"at", "torch"} and follows in _NUMBERS else text)
        at += 1
    return tuple(found)
