"""``__DATE__`` and its kin, which make each build another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from hatch_cuda_kernels import cpp, libraries  # of which few sources need more than this
from hatch_cuda_kernels.cpp import Macro, MacroTable, MacroToken, lex, parse_defines
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp import SourceFile, Stream, StreamToken
    from hatch_cuda_kernels.includes.closure import Origin

_CLOCKS: Final = frozenset({"__DATE__", "__TIME__", "__TIMESTAMP__"})
#: What a clock's name may begin with, where ``##`` puts it together.
_BEGINNING: Final = re.compile(r"__(?<!\w__)(?:D|DA|DAT|DATE|DATE_|T|TI|TIM|TIME|TIME_|TIMES\w*)?(?!\w)")
#: The macro by which NVRTC is told from others.
_NVRTC: Final = Macro("__CUDACC_RTC__", None, is_variadic=False, body=(MacroToken("1"),))
_DIFFERS: Final = "{} differs in each build, and images must not; give such a value through define: in the manifest"
_MADE: Final = "## makes {} here, which differs in each build"


def find_clocks(origin: Origin, start: Iterable[str], define: Iterable[tuple[str, str | None]] = ()) -> list[str]:
    """Return the uses of what makes each build another, but where conditions keep it from NVRTC."""
    spells, makes, begins = map(any, zip(*map(_glance, origin.files.values()), strict=True))
    if not spells and not (makes and begins):
        return []
    macros = MacroTable({_NVRTC.name: (_NVRTC,), **parse_defines(define)}, libraries.is_toolkit_macro)
    found: set[str] = set()
    try:
        waiting = [*origin.read(start, macros, bool).roots]
        while waiting:
            visit = waiting.pop()
            for stream in cpp.Stream.readings(visit, frozenset()):
                tokens = cpp.Cursor(stream).tokens()
                found.update(one for token in tokens for one in _uses(token, stream, origin.files))
                waiting += (one.visit for one in stream.inclusions)
    except (cpp.InclusionError, cpp.TextError):  # what is wrong with it is for NVRTC to say
        return []
    return sorted(found)


def _glance(file: SourceFile) -> tuple[bool, bool, bool]:
    """Return whether a text has a clock's name, ``##``, and what may be made one by that."""
    if _glance not in file.memory:
        text = file.joined
        spells = "__DATE__" in text or "__TIME" in text
        file.memory[_glance] = spells, "##" in text, "__" in text and _BEGINNING.search(text) is not None
    return cast("tuple[bool, bool, bool]", file.memory[_glance])


def _uses(token: StreamToken, stream: Stream, files: Mapping[str, SourceFile]) -> Iterator[str]:
    """Yield the places of the clocks that a token is, or a macro's token may be."""
    use = token.use
    first, last = (token.at, token.at + 1) if use is None else (use.first, use.last)
    for clock in _CLOCKS.intersection((token.text,) if use is None else (token.text, *use.others)):
        places = [stream.place(at)[:2] for at in range(first, last) if stream.texts[at] == clock]
        known = stream.reached(first, last).values() if not places else ()
        reached = [macro for found in known for macro in found if macro is not None]
        for macro in (one for one in reached if one.file and clock in one.words):
            file = files[macro.file]
            defined = file.directive_at(macro.offset).tokens()
            places += ((file, file.place(part.start)) for part in defined if part.text == clock)
        yield from (f"{file.at(at).removeprefix(VIRTUAL_ROOT)}: {_DIFFERS.format(clock)}" for file, at in places)
        making = (one for one in reached if not places and any(part.text == "##" for part in one.body))
        for macro in islice(making, 1):
            place = files[macro.file].at(macro.offset) if macro.file else f"the option define {macro.name}"
            yield f"{place.removeprefix(VIRTUAL_ROOT)}: {_MADE.format(clock)}"


def clocks_of_option(name: str, value: str) -> Iterator[str]:
    """Yield what makes an option's macro differ in each build."""
    for clock in dict.fromkeys(token for token in lex(value) if token in _CLOCKS):
        yield f"the option define {name}={value}: {_DIFFERS.format(clock)}"
