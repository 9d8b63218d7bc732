"""What NVRTC says of declarations that cannot stay: only its error, by caret, inside a declaration takes that out.

First more of it is cut. It goes as a whole only if nothing else in sight has its name and could be found in its stead.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cpp import Reading
from hatch_cuda_kernels.execution_space.cut import Level, Place, ReadingNotes, place_of, stand_in
from hatch_cuda_kernels.execution_space.marks import VirtualFunctions, is_constant, is_marked

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.binary import Diagnostic
    from hatch_cuda_kernels.cpp import Declaration
    from hatch_cuda_kernels.execution_space.device_pass import DevicePass

#: How errors begin that are not NVRTC's, but about what it ignores.
_OURS: Final = "NVRTC ignores"
#: Says that something else has the name.
_NOT_ALONE: Final = re.compile(r"redeclaration|redefinition|already been (?:declared|defined)")
#: An alignment that nvcc ignores, as GCC does.
_WEAKER: Final = "alignment cannot be set to less than the default alignment"


def blame(source: DevicePass, errors: Iterable[Diagnostic], levels: Mapping[Place, Level]) -> dict[Place, Level]:
    """Return the levels of the declarations that errors, which name files as the project does, say to cut further."""
    return _Oracle(source, levels).blame(errors)


class _Oracle:
    def __init__(self, source: DevicePass, levels: Mapping[Place, Level]) -> None:
        self._source: Final = source
        self._levels: Final = levels
        notes = Reading.together(source.readings, ReadingNotes)
        self._virtual: Final = VirtualFunctions(notes.virtual, notes.bases)
        self._by_name: Final[dict[str, list[Declaration]]] = defaultdict(list)
        self._spans: Final[dict[str, list[tuple[int, int, Declaration]]]] = defaultdict(list)
        self._at: Final[dict[Place, list[Declaration]]] = defaultdict(list)
        """The declarations that begin at a place, of a header that is read twice."""
        for declaration in (one for reading in source.readings for one in reading):
            for name in declaration.names:
                self._by_name[name].append(declaration)
            if not declaration.tokens[0].nth:
                self._at[place_of(declaration)].append(declaration)
            stream, first, last = declaration.stream, declaration.tokens[0], declaration.tokens[-1]
            file, start, _ = stream.place(first.at)
            behind, _, end = stream.place(last.behind - 1)
            if file is behind:
                self._spans[file.name].append((start, end, declaration))

    def blame(self, errors: Iterable[Diagnostic]) -> dict[Place, Level]:
        found: dict[Place, Level] = {}
        for error in errors:
            if error.message.startswith(_OURS) or _NOT_ALONE.search(error.message):
                continue
            for declaration, offset in self._around(error):
                if declaration.tokens[0].nth:
                    continue
                if _WEAKER in error.message:
                    if _is_aligned(declaration):
                        found[place_of(declaration)] = "deep"
                    break
                level = self._further(declaration)
                if any(self._further(one) != level for one in self._at[place_of(declaration)]):
                    break
                if level is not None:
                    places = _places(declaration)  # the declarator that the error is in goes deep; of a function, it
                    inside = [one for one in places[1:] if one.offset <= offset] if level == "deep" else []
                    found[[places[0], *inside][-1]] = level
                    break
                if self._is_marked(declaration) or self._levels.get(place_of(declaration)) == "whole":
                    break
        return found

    def _around(self, error: Diagnostic) -> Iterator[tuple[Declaration, int]]:
        """Yield the declarations that an error is in, from the innermost, with its place in their file."""
        file, offset = self._source.place(error)
        around = [] if file is None else [one for one in self._spans[file.name] if one[0] <= offset < one[1]]
        for _, _, declaration in sorted(around, key=lambda one: one[1] - one[0]):
            yield declaration, offset

    def _is_marked(self, declaration: Declaration) -> bool:
        return declaration.kind not in {"class", "namespace"} and is_marked(declaration)

    def _further(self, declaration: Declaration) -> Level | None:
        """Return how much more of a declaration may go; None where nothing."""
        if declaration.kind in {"namespace", "linkage", "unknown"} or self._is_marked(declaration):
            return None
        if self._levels.get(place_of(declaration)) == "whole":
            return None
        is_free = declaration.kind == "variable" and not declaration.is_member
        has_value = is_free and any(one.value for one in declaration.declarators)
        is_deduced = declaration.kind == "function" and declaration.body is not None and "auto" in declaration.words
        is_plain = all(self._levels.get(place) != "deep" for place in _places(declaration))
        if is_plain and (has_value or is_deduced):
            goes = declaration.kind == "variable" and "auto" in declaration.words  # its value is its type
            return "deep" if not goes or self._is_alone(declaration) else None
        if declaration.kind == "class" and any(map(self._is_marked, _inside(declaration))):
            return None
        if declaration.is_member and not self._may_leave_class(declaration):
            return None
        return "whole" if self._is_alone(declaration) else None

    def _may_leave_class(self, declaration: Declaration) -> bool:
        """Return whether a class has the same layout and the same table without a member."""
        if declaration.kind == "function":
            return declaration not in self._virtual and not declaration.is_constructor
        return declaration.kind in {"alias", "using", "assertion", "forward"} or "friend" in declaration.words

    def _is_alone(self, declaration: Declaration) -> bool:
        """Return whether nothing else could be found by its names; what takes its place hides other scopes."""
        if declaration.kind == "instantiation":
            return True
        if declaration.kind == "enum":
            return False  # its enumerators would be found elsewhere
        is_hidden = bool(stand_in(declaration))
        own = {id(one) for one in declaration}
        return all(
            self._is_alike(declaration, other)
            for name in declaration.names
            for other in self._by_name[name]
            if id(other) not in own and not (is_hidden and other.owners != declaration.owners)
        )

    def _is_alike(self, declaration: Declaration, other: Declaration) -> bool:
        kind = declaration.kind
        if declaration.is_specialization or other.owners != declaration.owners:
            return kind == other.kind == "function" and not self._is_marked(other) and not is_constant(other)
        if kind == other.kind or {kind, other.kind} == {"class", "forward"}:
            return kind == "function" or not self._is_marked(other)
        return kind in {"function", "class"} and other.kind == "instantiation"


def _places(declaration: Declaration) -> list[Place]:
    return [place_of(declaration), *(place_of(declaration, one.first) for one in declaration.declarators)]


def _is_aligned(declaration: Declaration) -> bool:
    """Return whether a class or a member has an alignment, the same in all of its instances."""
    is_data = declaration.kind == "class" or (declaration.kind == "variable" and declaration.is_member)
    owner: Declaration | None = declaration
    while owner is not None and owner.template is None:
        owner = owner.parent
    return is_data and owner is None


def _inside(declaration: Declaration) -> Iterator[Declaration]:
    """Yield all that stands in a class, in the files that are included there, too."""
    for member in (*declaration.members, *declaration.included):
        yield member
        yield from _inside(member)
