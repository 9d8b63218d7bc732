"""Standard headers that a project uses without an include: nvcc includes some, and headers of others bring them.

NVRTC includes nothing, and this package's headers bring little besides their own. So a name of the standard library
that a closure's project files use, and none of them declares, brings its header: it is included before the source.
Where host code was dropped, and with it headers that bring the toolkit's, those are brought likewise, and so are the
types and constants of the libraries whose headers were dropped.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.declarations import find_declarations
from hatch_cuda_kernels.source.header_names import FUNCTION_NAMES, GLOBAL_NAMES, RENAMED, STD_NAMES, STD_TEMPLATES
from hatch_cuda_kernels.source.lexer import without_comments
from hatch_cuda_kernels.source.library_names import (
    copies_of_libraries,
    enumerators,
    library_headers,
    library_macros,
    library_names,
    without_libraries,
)
from hatch_cuda_kernels.source.macros import defined_macros
from hatch_cuda_kernels.source.namespaces import declared_in
from hatch_cuda_kernels.source.plain_names import PlainNames
from hatch_cuda_kernels.source.readings import Readings, find_words
from hatch_cuda_kernels.source.register_word import has_register
from hatch_cuda_kernels.source.toolkit_names import TOOLKIT_FUNCTIONS, TOOLKIT_NAMES, VERSIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.source.closure import Closure
    from hatch_cuda_kernels.source.outer_headers import OuterHeaders

__all__ = ["toolkit_headers", "with_implied_headers"]

# A literal before \b is found far sooner than one behind it.
_MEMBER: Final = re.compile(r"std(?<=\bstd)(?<!cuda::std)\s*::\s*(\w+)")
#: A macro for the toolkit's namespace, as a branch for NVRTC has it.
_TOOLKIT_STD: Final = re.compile(
    r"define(?<=\bdefine)[ \t]+(\w+)[ \t]+(?:::[ \t]*)?cuda[ \t]*::[ \t]*std[ \t\r]*(?:/[/*].*)?$", re.MULTILINE
)
#: Headers of the standard library that the toolkit has, too.
_TOOLKITS: Final = frozenset({"array", "cmath", "complex", "functional", "limits", "tuple", "type_traits", "utility"})
#: A second typedef of the same type is no error.
_SAME: Final = r"unsigned\s+(?:int\s+uint|long\s+ulong|short\s+ushort|char\s+u_?char|int\s+uint32_t)\s*;"
_SAME_ALIAS: Final = r"(?:uint\s*=\s*(?:unsigned(?:\s+int)?|(?:std\s*::\s*)?uint32_t)|ulong\s*=\s*unsigned\s+long)\s*;"
#: A macro of that name does not count: it may be in a branch for another compiler, and comes after the header. Each way
#: to declare starts with a letter, so that the others are passed over in one go.
_DECLARED: Final = re.compile(
    rf"typedef(?<=\btypedef)(?:\s+{_SAME}|\b[^;{{}}]*?\b(?P<typedef>\w+)\s*(?:\[[^\]\n]*\]\s*)?;)"
    r"|\}\s*(?P<behind>\w+)\s*;"
    rf"|using(?<=\busing)\s+(?:{_SAME_ALIAS}|(?P<alias>\w+)\s*=)"
    + "".join(rf"|{key}(?<=\b{key})\s+(?P<{key}>\w+)\s*[{{:]" for key in ("struct", "class", "union", "enum"))
)
#: What the texts may define as functions, in place of a header's.
_FUNCTIONS: Final = FUNCTION_NAMES | TOOLKIT_FUNCTIONS
#: With a word before its name that may be its type: on the same line, as a directive may end the one before.
_FUNCTION: Final = re.compile(
    r"\b(?:(?!(?:and|case|co_return|co_yield|do|else|not|or|return|throw)\b)[A-Za-z_]\w*[ \t]+|(?:double|void)\s+)"
    rf"({'|'.join(sorted(_FUNCTIONS))})\s*\("
)
_LINE: Final = re.compile(
    r"^[ \t]*#[ \t]*(?:(?P<word>if|ifdef|ifndef|endif)\b|include[ \t]*[<\"](?P<name>[^>\"\n]+))", re.MULTILINE
)
#: A condition that asks whether macros are defined.
_ASKS: Final = re.compile(
    r"^[ \t]*#[ \t]*(?:ifn?def[ \t]+(\w+)|(?:el)?if\b((?:[^\n\\]|\\.)*))", re.MULTILINE | re.DOTALL
)
_ASKED: Final = re.compile(r"\bdefined[ \t]*\(?[ \t]*(\w+)")
#: nvcc includes these only where a source, or a host library's header, asks for them; else it has no such macros.
_NOT_INCLUDED: Final = frozenset({"cfloat", "cstdint"})
#: The folder of headers that no standard names.
_OURS: Final = "hatch_cuda_kernels/"
#: These come before all others.
_LONG_LONG: Final = "hatch_cuda_kernels/long_long.h"
_FIRST: Final = (_LONG_LONG, GLOBAL_NAMES["pow"])
_LONG: Final = r"(?:signed\s+|unsigned\s+)?long\s+long(?:\s+int)?"
_DECLARES_LONG_LONG: Final = re.compile(rf"\btypedef\s+{_LONG}\s+u?int64_t\s*;|\busing\s+u?int64_t\s*=\s*{_LONG}\s*;")
_USES_STD: Final = re.compile(r"using(?<=\busing)\s+namespace\s+std\s*;")
_OPENED: Final = re.compile(r"namespace(?<=\bnamespace)\s+std\s*\{")


def with_implied_headers(closure: Closure, outer: OuterHeaders, readings: Readings) -> Closure:
    """Return a closure with the headers that its project files use without an include."""
    texts = [closure.source, *(text for name, text in closure.headers if name.startswith(VIRTUAL_ROOT))]
    known = {*surely_included(closure.source.partition(VIRTUAL_ROOT)[0])}  # before a header uses its names
    own = {found.name for found in closure.dropped if found.kind in {"function", "variable", "texture"}}
    if any(readings.of(_has_renamed_kernel, text) for text in texts):
        own |= RENAMED
    ours = {name for text in texts for name in readings.of(_asked, text)}
    if any(found.kind == "include" for found in closure.dropped):  # perhaps of a header that has them
        ours.clear()
    names = {
        name: header
        for name, header in GLOBAL_NAMES.items()
        if f"{header[1:]}.h" not in known and not (header in _NOT_INCLUDED and name in ours)
    }
    found = {*_for_global_names(texts, names, own, readings), *_for_members(texts, readings)}
    found |= {*_for_words(texts, readings)}
    standard = found & outer.standard.names
    toolkits = {*_for_macros(texts, readings)}
    toolkits -= {name for name in toolkits if any(path.endswith(f"/{name}") for path, _ in closure.headers)}
    if closure.dropped:
        left_out = frozenset(found.name for found in closure.dropped if found.kind == "include")
        copies = copies_of_libraries(name for name, _ in closure.headers if name.startswith(VIRTUAL_ROOT))
        others = toolkits.union(closure.outside, copies)
        brought = toolkit_headers(texts, others, own, readings, left_out)
        toolkits |= {name for name in brought if name in outer.standard or not name.startswith(_OURS)}
        if any(name.startswith(("cub/", "thrust/")) for name in left_out):
            toolkits |= {VERSIONS[word] for text in texts for word in VERSIONS.keys() & readings.of(find_words, text)}
    wanted = sorted({*standard, *toolkits} - known, key=lambda name: (name not in _FIRST, name))
    if not wanted:
        return closure
    fresh = outer.without_asked(closure.asked)
    plain = PlainNames(fresh, lambda _: None, {name for name, _ in closure.headers} - outer.standard.names)
    plain.answer(wanted)
    in_memory = dict(closure.headers) | {name: outer.standard.text(name).text for name in plain.standard}
    return replace(
        closure,
        headers=tuple(sorted(in_memory.items())),
        pre_include=(*wanted, *closure.pre_include),
        outside=_union(closure.outside, plain.outside),
        standard=_union(closure.standard, plain.standard),
        named=_union(closure.named, wanted),
        asked=_union(closure.asked, plain.asked),
    )


def surely_included(text: str) -> Iterator[str]:
    """Yield the headers that a text includes outside any condition but the one around all of it."""
    depth = guard = 0
    for line in _LINE.finditer(without_comments(text)):
        if line["name"]:
            if depth <= guard:
                yield line["name"]
        elif line["word"] == "endif":
            depth -= 1
        else:
            guard = guard or int(not depth and line["word"] == "ifndef")
            depth += 1


def toolkit_headers(
    texts: Sequence[str],
    others: Iterable[str],
    own: Collection[str] = (),
    readings: Readings | None = None,
    left_out: Collection[str] = (),
) -> frozenset[str]:
    """Return the toolkit's headers, and ours of host libraries, whose names texts use and do not declare.

    ``own`` are declared, too, and so is what the libraries' own headers declare, where they are among the ``others``
    that texts include. ``left_out`` are those that they include and NVRTC does not see.
    """
    from hatch_cuda_kernels.source.boost_names import boost_headers  # most projects load none of it
    from hatch_cuda_kernels.source.torch_names import torch_headers

    known = readings or Readings()
    named = [text for text in texts if not library_macros().keys().isdisjoint(known.of(find_words, text))]
    defined = {macro.name for text in named for macro in known.of(defined_macros, text)}
    found = frozenset(_for_global_names(texts, _toolkit_names(), {*own, *(defined & library_macros().keys())}, known))
    toolkits = found - library_headers()
    ours = torch_headers(texts, known, left_out) | boost_headers(texts, known, left_out)
    return toolkits | without_libraries(found - toolkits, toolkits.union(others)) | ours


@cache
def _toolkit_names() -> Mapping[str, str]:
    return {**TOOLKIT_NAMES, **library_names()}


def _union(some: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*some, *others}))


def _for_global_names(
    texts: Sequence[str], names: Mapping[str, str], own: Collection[str], readings: Readings
) -> Iterator[str]:
    """Yield the headers of the global names that texts use and do not declare.

    A name of the project's ``own`` that was left out brings none: it would become something else.
    """
    used = {word for text in texts for word in names.keys() & readings.of(find_words, text)} - {*own}
    for text in texts:
        if not used.isdisjoint(readings.of(find_words, text)):
            used -= readings.of(_declared, text)
            used -= readings.of(_functions, text) if used & _FUNCTIONS else set()
    return (names[name] for name in used)


def _declared(text: str) -> frozenset[str]:
    named = (found[found.lastgroup] for found in _DECLARED.finditer(text) if found.lastgroup)
    return frozenset((*named, *enumerators(text)))


def _functions(text: str) -> frozenset[str]:
    return frozenset(_FUNCTION.findall(text))


def _asked(text: str) -> frozenset[str]:
    """Return the macros of which a text asks whether they are defined."""
    found = (name for name, rest in _ASKS.findall(text) for name in ([name] if name else _ASKED.findall(rest)))
    return frozenset(found)


def _declares_long_long(text: str) -> bool:
    """Return whether a text declares 64 bits as long long, as headers do that know NVRTC; there can be no other."""
    return "int64_t" in text and "RTC" in text and _DECLARES_LONG_LONG.search(text) is not None


def _has_renamed_kernel(text: str) -> bool:
    """Return whether a text declares a kernel that would get another name, by which nobody asks for it."""
    return not RENAMED.isdisjoint(find_words(text)) and not RENAMED.isdisjoint(find_declarations(text))


def _for_words(texts: Sequence[str], readings: Readings) -> Iterator[str]:
    """Yield the headers for ``register``, which nvcc takes in all of C++, and for a text's own types of 64 bits."""
    if any(readings.of(has_register, text) for text in texts):
        yield "hatch_cuda_kernels/register.h"
    if any(readings.of(_declares_long_long, text) for text in texts):
        yield _LONG_LONG


def _for_members(texts: Sequence[str], readings: Readings) -> Iterator[str]:
    """Yield the headers of the members of std that texts use and do not declare.

    After ``using namespace std``, those of class templates may be used without a qualifier.
    """
    used = {name for text in texts for name in readings.of(_members, text)}
    if any(readings.of(_uses_std, text) for text in texts):
        plain = {name for text in texts for name in STD_TEMPLATES & readings.of(find_words, text)}
        used |= plain.difference(*(readings.of(_declared, text) for text in texts if plain))
    if used:
        used -= {name for text in texts for name in readings.of(_declared_in_std, text)}
    return (STD_NAMES[name] for name in used)


def _uses_std(text: str) -> bool:
    return "std" in text and _USES_STD.search(text) is not None


def _for_macros(texts: Sequence[str], readings: Readings) -> Iterator[str]:
    """Yield the toolkit's headers of the names that texts take from its namespace, which a macro stands for."""
    macros = frozenset(name for text in texts for name in readings.of(_toolkit_std, text))
    for text in texts:
        named = macros & readings.of(find_words, text)
        for name in readings.of(_members_of, text, named) if named else ():
            if STD_NAMES[name] in _TOOLKITS:
                yield f"cuda/std/{STD_NAMES[name]}"


def _toolkit_std(text: str) -> frozenset[str]:
    return frozenset(_TOOLKIT_STD.findall(text)) if "std" in text else frozenset()


def _members_of(text: str, macros: frozenset[str]) -> frozenset[str]:
    pattern = re.compile(rf"\b(?:{'|'.join(sorted(macros))})\s*::\s*(\w+)")
    return frozenset(pattern.findall(text)) & STD_NAMES.keys()


def _members(text: str) -> frozenset[str]:
    return frozenset(name for name in _MEMBER.findall(text) if name in STD_NAMES) if "std" in text else frozenset()


def _declared_in_std(text: str) -> frozenset[str]:
    return frozenset(declared_in(text, _OPENED))
