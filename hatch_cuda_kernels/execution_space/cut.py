"""Cut, never drop: of what has no device mark, bodies and values go; names, types and layouts stay.

NVRTC takes the rest under ``-default-device``. What was cut cannot be used: of a function, a symbol stays undefined,
and a finished image is asked for variables.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from hatch_cuda_kernels.cpp import CLASS_KEYS, Edit, Editor, Reading, TextError, closes_captures, is_identifier
from hatch_cuda_kernels.execution_space.kernels import TYPE_WORDS, type_and_name
from hatch_cuda_kernels.execution_space.marks import (
    ATTRIBUTES,
    HOST,
    MARKS,
    VIRTUAL,
    VirtualFunctions,
    align_class,
    align_member,
    attribute_tokens,
    is_constant,
    is_marked,
)
from hatch_cuda_kernels.libraries import words_in
from hatch_cuda_kernels.names import is_projects

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp import Declaration, Declarator, Inclusion, Macro, SourceFile

_INLINE: Final = frozenset({"inline", "__inline__", "__inline", "__forceinline__", "__forceinline"})
_STORAGE: Final = frozenset({"static", "inline", "thread_local", "extern", "__thread"})
#: Words of declarations that may change, whatever else they say.
_CHANGED: Final = frozenset({"__host__", *MARKS, *ATTRIBUTES})
_THREAD_LOCAL: Final = frozenset({"thread_local", "__thread"})
#: How the names of types begin that stand for what was cut.
_CUT: Final = "hatch_cuda_kernels_cut_"
_REACHES_IN: Final = "a declaration that begins before the include is not complete there"
_UNCLEAR_LAYOUT: Final = (
    "nvcc and NVRTC read the attributes here in different ways, and which attributes these are depends on a condition "
    "that only the compiler knows"
)
_TRAP: Final = "{ __trap(); }"
#: A function in an anonymous namespace has to have a body if it is used. No assembler takes this one.
_STUB: Final = '{{ asm("host code of {};"); }}'

#: How much of a declaration goes: what the rules say; a value or a deduced body, too; all of it.
Level = Literal["plain", "deep", "whole"]
#: A scope, and the name of what is declared there.
Name: TypeAlias = tuple[tuple[str, ...], str]


class Place(NamedTuple):
    """A declaration, by where it begins."""

    file: str
    offset: int


Levels: TypeAlias = "Mapping[Place, Level]"


@dataclass
class Cut:
    """What is cut of the files of a unit."""

    edits: dict[str, list[Edit]] = field(default_factory=lambda: defaultdict(list))
    variables: set[Name] = field(default_factory=set)
    """Scope and name of each variable whose value was cut, or whose definition is only declared."""
    loses_constants: bool = False
    """Whether one of the variables is const: NVRTC takes such a one for 0, and no symbol tells."""
    swallowed: list[Inclusion] = field(default_factory=list)
    """Inclusions inside what is cut."""
    host_macros: set[Macro] = field(default_factory=set)
    """Macros for the mark of the host, which some uses need and others must not have."""
    has_unmarked: bool = False
    """Whether something without a mark stays, which NVRTC takes under ``-default-device`` only."""


class ReadingNotes:
    """What the declarations of a reading say of themselves, whatever else is read with it."""

    def __init__(self, reading: Iterable[Declaration]) -> None:
        self.marked: Final[set[int]] = set()
        """The declarations that are for the device, by identity."""
        self.for_device: Final[set[Name]] = set()
        """What is marked or a constant."""
        self.forward: Final[set[tuple[str, tuple[str, ...]]]] = set()
        """Marked functions that are declared outside classes without a body, with their parameters."""
        self.host_functions: Final[set[str]] = set()
        """The names of functions without a mark, behind that of their scope; of what is no member, alone, too."""
        self.functions: Final[set[str]] = set()
        """The names of all marked functions."""
        self.virtual: Final[set[tuple[str, str]]] = set()
        """The classes and names of virtual functions without a mark."""
        self.bases: Final[set[tuple[str, str]]] = set()
        """Classes, each with what may be one of its bases."""
        self.unsettled: Final[dict[Declaration, None]] = {}
        """Declarations that may change."""
        for declaration in reading:
            self._note(declaration)
            if not self._is_settled(declaration):
                self.unsettled[declaration] = None

    def _note(self, declaration: Declaration) -> None:
        if declaration.kind not in {"function", "variable", "class", "unknown"}:
            return
        marked = declaration.kind != "class" and is_marked(declaration)
        key = _key(declaration)
        if marked:
            self.marked.add(id(declaration))
        elif declaration.kind == "class":
            self.bases.update((declaration.name, base) for base in declaration.bases)
        elif declaration.parent is not None and not VIRTUAL.isdisjoint(declaration.words):
            self.virtual.add((declaration.parent.name, declaration.name))
        if marked or is_constant(declaration):
            self.for_device.add(key)
        elif declaration.kind == "function":
            owners = (*key[0][-1:], *([] if declaration.is_member else [""]))
            self.host_functions.update(f"{owner}::{key[1]}" for owner in owners)
        if declaration.kind == "function" and marked:
            self.functions.add(declaration.name)
            if not declaration.is_member and declaration.body is None:
                self.forward.add((declaration.name, _parameters(declaration)))

    def _is_settled(self, declaration: Declaration) -> bool:
        """Return whether a declaration stays as it is unless the compiler objects to it."""
        if declaration.kind == "function":
            return id(declaration) in self.marked and not _has_local_class(declaration)
        if declaration.kind == "variable":
            words = declaration.words
            is_data = declaration.is_member and "static" not in words
            is_plain = is_data or ("static" in words and is_constant(declaration))
            is_written = all(declaration.tokens[at].use is None for at in declaration.head)
            return is_plain and is_written and words.isdisjoint(_CHANGED) and not _has_lambda(declaration)
        if declaration.kind == "class":
            return not declaration.has_tail and declaration.words.isdisjoint(_CHANGED)
        return declaration.kind not in {"instantiation", "unknown"} and not declaration.declarators


@dataclass(eq=False)
class Cutter:
    """Cuts the declarations of a unit."""

    _readings: Sequence[Reading]
    _parts: frozenset[str]
    """Files that stand inside declarations of others, and stay as they are."""
    _levels: Levels
    """What the compiler has objected to."""
    _lambda_marks: frozenset[str]
    """The words that may mark a lambda."""

    def __post_init__(self) -> None:
        self._notes = Reading.together(self._readings, ReadingNotes)
        self._virtual = VirtualFunctions(self._notes.virtual, self._notes.bases)
        self._forward: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for name, parameters in self._notes.forward:
            self._forward[name].add(parameters)
        self._found = Cut()
        self._host_macros: list[tuple[int, Macro]] = []
        """Macros that mark functions of the host, with the group of the edits of each."""
        self._stand_ins: set[Name] = set()
        """What something stands for that went as a whole."""

    def cut(self) -> Cut:
        """Return what is cut."""
        editors = [Editor(reading.stream) for reading in self._readings]
        for reading, editor in zip(self._readings, editors, strict=True):
            for declaration in reading if self._levels else reading.remembered(ReadingNotes).unsettled:
                editor.begin(id(declaration), "::".join((*filter(None, declaration.qualifier), declaration.name)))
                self._declaration(declaration, editor)
            for tokens in reading.stream.behind_captures(self._lambda_marks):
                editor.begin(tokens[0].at, "lambda")  # in device code they say nothing, and NVRTC does not know them
                editor.replace(tokens, "mark")
        made, refused = _agreed(self._readings, editors)
        for file, edit in made:
            if not is_projects(file.name):
                raise TextError(_REACHES_IN, file, edit.start)
            if file.name not in self._parts:
                self._found.edits[file.name].append(edit)
        self._found.host_macros |= {macro for group, macro in self._host_macros if group in refused}
        self._found.swallowed = [one for editor in editors for one in editor.swallowed]
        return self._found

    def _level(self, declaration: Declaration) -> Level:
        """Return how much of a declaration goes; of those that a macro becomes, a place is the first one's."""
        is_first = not declaration.tokens[0].nth
        return self._levels.get(place_of(declaration), "plain") if self._levels and is_first else "plain"

    def _declaration(self, declaration: Declaration, editor: Editor) -> None:
        is_unknown = declaration.kind == "unknown" and declaration.body is not None
        is_registration = is_unknown and declaration.name in words_in("torch", "registration", "macros")
        if (self._level(declaration) == "whole" or is_registration) and id(declaration) not in self._notes.marked:
            editor.replace(declaration.tokens, "removed", self._stand_in(declaration))
            return
        if declaration.kind == "class":
            align_class(declaration, editor, is_weak=self._level(declaration) == "deep")
        elif declaration.kind == "variable" and declaration.is_member and "static" not in declaration.words:
            align_member(declaration, editor, is_weak=self._level(declaration) == "deep")
        if id(declaration) in self._notes.marked:
            self._found.has_unmarked |= _has_local_class(declaration)
            is_constant_one = all(one.is_const and one.value for one in declaration.declarators)
            if declaration.kind == "variable" and is_constant_one and "volatile" not in declaration.words:
                self._fold(declaration, editor)
            return
        self._found.has_unmarked |= _needs_default(declaration)
        if declaration.kind == "instantiation":
            words = {token.text for token in declaration.tokens}
            if words.isdisjoint({"class", "struct", "union"} | self._notes.functions):
                editor.replace(declaration.tokens, "instantiation")
        elif declaration.kind in {"function", "variable"}:
            self._strip_host(declaration, editor)
            (self._function if declaration.kind == "function" else self._variable)(declaration, editor)
        elif declaration.declarators and "typedef" not in declaration.words:
            self._variable(declaration, editor)  # of a class that is defined with it

    def _stand_in(self, declaration: Declaration) -> str:
        """Return what takes a declaration's place, so that nothing of another scope is found by its name."""
        key = _key(declaration)
        if key in self._stand_ins:
            return ""
        text = stand_in(declaration)
        if text:
            self._stand_ins.add(key)
        if declaration.kind == "variable":
            self._found.variables |= {(key[0], one.name) for one in declaration.declarators}
        return text

    def _strip(self, declaration: Declaration, editor: Editor, words: Iterable[str], reason: str = "mark") -> None:
        for at in declaration.head:
            if declaration.tokens[at].text in words:
                editor.replace([declaration.tokens[at]], reason)

    def _strip_host(self, declaration: Declaration, editor: Editor) -> None:
        self._strip(declaration, editor, {"__host__"})
        for at in declaration.head:
            use = declaration.tokens[at].use
            macro = None if use is None else declaration.stream.macro(use.first)
            if macro is not None and [token.text for token in macro.body] == ["__host__"]:
                self._host_macros.append((id(declaration), macro))
        for token in attribute_tokens(declaration):
            if token.text in HOST:
                editor.replace([token], "mark")

    def _function(self, declaration: Declaration, editor: Editor) -> None:
        is_deep = self._level(declaration) == "deep"
        if is_constant(declaration) or (_is_deduced(declaration) and not is_deep):
            self._trap(declaration, editor)
            return
        is_virtual = declaration in self._virtual
        if declaration.body is None and not is_virtual:
            return
        tokens, body = declaration.tokens, declaration.body
        if is_virtual:
            first = declaration.template[1] if declaration.template else 0
            editor.insert(tokens[first], "mark", "__host__ __device__ ")
        if self._stays(declaration):
            return
        is_definition = bool(declaration.qualifier) and not declaration.is_specialization
        is_hidden = "" in declaration.scope and not declaration.is_constructor
        if not is_hidden:
            reason = "mark" if body is None else "definition" if is_definition else "body"
            self._strip(declaration, editor, _INLINE if declaration.is_member else _INLINE | {"static"}, reason)
        if body is None:
            return
        if is_definition and not is_hidden:
            self._definition(declaration, body, editor)
            return
        is_called = is_virtual and declaration.name[:1] != "~"
        owner = declaration.parent
        if declaration.is_member and owner is not None and not owner.name and not owner.declarators:
            return  # the compiler takes no function of such a class without a body
        text = _TRAP if is_called else _STUB.format(declaration.name) if is_hidden else ";"
        editor.replace(tokens[body[0] : body[1] + 1], "body", text, drops_pragmas=declaration.is_member)

    def _definition(self, declaration: Declaration, body: tuple[int, int], editor: Editor) -> None:
        """Cut a definition behind its class: all of it, but for what it adds, which are default arguments."""
        tokens, name = declaration.tokens, declaration.name
        if not any("=" in one for one in declaration.parameter_texts):
            editor.replace(tokens, "definition")
            return
        text = _STUB.format(name)
        if tokens[body[0]].text == ":":  # members that must be made, by the copy's constructor
            text = f" : {name}(*static_cast<{name}*>(nullptr)) {text}"
        # What nothing calls is not compiled where it is inline.
        editor.insert(tokens[declaration.template[1] if declaration.template else 0], "definition", "inline ")
        editor.replace(tokens[body[0] : body[1] + 1], "body", text)

    def _stays(self, declaration: Declaration) -> bool:
        """Return whether a function without a mark keeps its body: another declaration has one, or nothing is in it."""
        scope, name = _key(declaration)
        if name.startswith(("operator new", "operator delete")) and not declaration.is_member:
            return True  # the toolkit declares these with marks
        is_specialized = declaration.is_specialization and name in self._notes.functions
        if is_specialized or (declaration.qualifier and (scope, name) in self._notes.for_device):
            return True
        is_free = not declaration.is_member and not declaration.qualifier
        if is_free and any(_may_be(one, _parameters(declaration)) for one in self._forward.get(name, ())):
            return True
        if declaration.is_member and declaration.is_constructor and declaration.body is not None:
            # variables of such a class need no code to start
            return declaration.body[1] == declaration.body[0] + 1 and not declaration.inside()
        return False

    def _trap(self, declaration: Declaration, editor: Editor) -> None:
        """Put a trap in the place of each ``throw`` in a body that stays."""
        tokens = declaration.inside()
        texts = [token.text for token in tokens]
        for first in [at for at, text in enumerate(texts) if text == "throw"]:
            at = _end(texts, first, 1, ";,:)]}" if texts[first - 1 : first] == ["?"] else ";,)]}")
            other = _other_operand(texts, first, at - 1)
            text = f"(__trap(), {' '.join(other)})" if other else "__trap()"
            editor.replace(tokens[first:at], "throw", text)

    def _variable(self, declaration: Declaration, editor: Editor) -> None:
        words = declaration.words
        if is_constant(declaration) or "friend" in words:
            return
        if declaration.is_member:
            if "static" in words:
                self._static_member(declaration, editor)
        elif declaration.qualifier:  # a static member, whose declaration stays in its class
            declarators = declaration.declarators
            is_declared = declaration.is_specialization and not any(one.value for one in declarators)
            is_for_device = _key(declaration) in self._notes.for_device
            if not (is_declared or is_for_device or all(one.is_const for one in declarators)):
                editor.replace(declaration.tokens, "definition")
        elif "auto" not in words:
            self._namespace_variable(declaration, editor)
        elif self._level(declaration) == "deep":
            editor.replace(declaration.tokens, "variable")

    def _static_member(self, declaration: Declaration, editor: Editor) -> None:
        self._strip(declaration, editor, _THREAD_LOCAL)
        cut_values = [one for one in declaration.declarators if not (one.is_const or one.is_open_array)]
        if not cut_values:
            return
        self._found.variables |= {(declaration.owners, one.name) for one in cut_values}
        if any(one.value for one in cut_values):
            self._strip(declaration, editor, {"inline"}, "value")
        for one in cut_values:
            self._cut_value(declaration, one, editor)

    def _namespace_variable(self, declaration: Declaration, editor: Editor) -> None:
        cut_ones = [one for one in declaration.declarators if not self._keeps_value(declaration, one)]
        if not cut_ones:
            self._strip(declaration, editor, _THREAD_LOCAL)
            self._fold(declaration, editor)
            return
        if declaration.is_specialization:  # no storage class stands there
            for one in cut_ones:
                self._cut_value(declaration, one, editor)
            return
        if declaration.tokens[-1].text != ";":
            return
        declarators = declaration.declarators
        self._found.variables |= {(declaration.owners, one.name) for one in cut_ones}
        self._found.loses_constants |= any(one.is_const for one in cut_ones)
        # An array whose bound is its value's is declared by a type that has that.
        storage = {one: "typedef" if one.is_open_array and one.value is not None else "extern" for one in cut_ones}
        words = {one: storage.get(one, "") for one in declarators}
        is_mixed = len({*words.values()}) > 1 or (len(words) > 1 and "typedef" in words.values())
        if declaration.kind == "variable" and is_mixed:
            self._split(declaration, words, editor)
        elif declaration.kind == "variable" or declaration.name or words[declarators[0]] == "typedef":
            self._declare(declaration, editor, words[declarators[0]])
        for one in cut_ones:
            if words[one] == "typedef":
                self._state_type(declaration, one, editor)
            else:
                self._cut_value(declaration, one, editor)

    def _split(self, declaration: Declaration, words: Mapping[Declarator, str], editor: Editor) -> None:
        """Make declarations of one variable each, of which some are only declared."""
        tokens, first = declaration.tokens, declaration.declarators[0]
        specifiers = [token.text for token in tokens[first.first : declaration.specifiers_end]]
        lead = " ".join(token.text for token in tokens[: first.first])
        if words[first]:
            self._declare(declaration, editor, words[first])
        for one in declaration.declarators[1:]:
            changed = [words[one], *(word for word in specifiers if word not in _STORAGE)]
            text = " ".join((";", lead, *(changed if words[one] else specifiers), ""))
            editor.replace([tokens[one.first - 1]], "value", text)

    def _state_type(self, declaration: Declaration, declarator: Declarator, editor: Editor) -> None:
        """Give an array the type that its value gave it, which is not computed."""
        assert declarator.value is not None  # noqa: S101 - it takes its bound from that
        tokens, (first, last) = declaration.tokens, declarator.value
        other, begins = f"{_CUT}{declarator.name}", first + (tokens[first].text == "=")
        at = max(at for at in range(declarator.first, first) if tokens[at].text == declarator.name)
        opening, closing = ("", "") if tokens[begins].text == "{" else ("{", "}")
        linkage = "extern " if declaration.kind == "variable" or declaration.name else ""
        editor.replace([tokens[at]], "value", other)
        editor.insert(tokens[begins], "value", f"; {linkage}decltype({other}{opening}")
        if begins > first:
            editor.replace(tokens[first:begins], "value")
        editor.insert(tokens[last], "value", f"{closing}) {declarator.name}")

    def _keeps_value(self, declaration: Declaration, declarator: Declarator) -> bool:
        """Return whether a variable keeps its value: a constant, or an array that has its bound in no other way."""
        if declarator.value is None:
            return False
        is_several = declaration.kind != "variable" and len(declaration.declarators) > 1
        if declarator.is_open_array and (is_several or declaration.template is not None):
            return True
        if not declarator.is_const or self._takes_address(declaration, declarator.value):
            return False
        return not self._levels or self._levels.get(place_of(declaration, declarator.first)) != "deep"

    def _takes_address(self, declaration: Declaration, value: tuple[int, int]) -> bool:
        """Return whether a value names a function of the host without a call: what is cut has no address."""
        texts = ["", "", *(token.text for token in declaration.tokens[slice(*value)]), ";"]
        for at, text in enumerate(texts[2:-1], 2):
            owner = texts[at - 2] if texts[at - 1] == "::" and is_identifier(texts[at - 2]) else ""
            if f"{owner}::{text}" in self._notes.host_functions and texts[at + 1] != "(":
                return True
        return False

    def _fold(self, declaration: Declaration, editor: Editor) -> None:
        """Make floating-point constants ``constexpr``: nvcc folds them, and NVRTC makes variables of them."""
        if {"float", "double"}.isdisjoint(declaration.words) or any(
            one.is_open_array for one in declaration.declarators
        ):
            return
        tokens = declaration.tokens
        const = next((at for at in declaration.head if tokens[at].text == "const"), None)
        if const is not None and all(tokens[at].text != "*" for at in declaration.head):
            editor.replace([tokens[const]], "constant", "constexpr")

    def _declare(self, declaration: Declaration, editor: Editor, storage: str) -> None:
        """Make a definition a declaration, by its storage class."""
        words = [token for token in map(declaration.tokens.__getitem__, declaration.head) if token.text in _STORAGE]
        place = next((token for token in words if token.text in {"static", "extern", "inline"}), None)
        for token in words:
            editor.replace([token], "value", storage if token is place else "")
        if place is None:
            first = declaration.template[1] if declaration.template else 0
            editor.insert(declaration.tokens[first], "value", f"{storage} ")

    def _cut_value(self, declaration: Declaration, declarator: Declarator, editor: Editor) -> None:
        if declarator.value is not None:
            first, last = declarator.value
            editor.replace(declaration.tokens[first:last], "value")


def _agreed(readings: Sequence[Reading], editors: Sequence[Editor]) -> tuple[list[tuple[SourceFile, Edit]], set[int]]:
    """Return the edits that all readings of a place want, and the others' groups. Raises TextError."""
    wanted = [(number, *one) for number, editor in enumerate(editors) for one in editor.grouped()]
    files: dict[str, SourceFile] = {}
    changed = {file for _, _, file, _ in wanted}
    readers: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    for number, reading in enumerate(readings):
        for source, run in reading.stream.runs:
            if source.name in changed:
                files[source.name] = source
                readers[source.name, run][number] += 1
    refused = {(number, group) for number, editor in enumerate(editors) for group in editor.undecided}
    while True:
        made = [one for one in wanted if one[:2] not in refused]
        spans = {(number, group, file, edit[:3]) for number, group, file, edit in made}
        counts = Counter((number, file, span) for number, _, file, span in spans)
        fresh = {
            (number, group)
            for number, group, file, edit in made
            for other, times in readers[file, files[file].run_at(edit.start)].items()
            if counts[other, file, edit[:3]] < times
        }
        if not fresh:
            break
        refused |= fresh
    for number, group, file, edit in wanted:
        if (number, group) in refused and edit.reason == "attribute":
            raise TextError(_UNCLEAR_LAYOUT, files[file], edit.start)
    agreed = dict.fromkeys((files[file], edit) for _, _, file, edit in made)
    return [*agreed], {group for _, group in refused}


def stand_in(declaration: Declaration) -> str:
    """Return what hides a name and cannot be used: deleted, or of an incomplete type. Empty where nothing is hidden."""
    name, kind = declaration.name, declaration.kind
    is_other = declaration.qualifier or declaration.is_specialization or "friend" in declaration.words
    if is_other or not name.isidentifier():
        return ""
    if kind == "variable" or (kind == "using" and not declaration.is_member and "namespace" not in declaration.words):
        names = [one.name for one in declaration.declarators] or [name]
        return " ".join(f"extern __device__ class {_CUT}{one} {one};" for one in names)
    texts = [token.text for token in declaration.tokens]
    key = next((texts[at] for at in declaration.top if texts[at] in CLASS_KEYS), "")
    head = " ".join(texts[slice(*declaration.template)]) if declaration.template else ""
    stand_ins = {
        "function": f"__device__ void {name}(...) = delete;",
        "alias": f"{'template <class...> ' if head else ''}using {name} = class {_CUT}{name};",
        "class": f"{head} {key} {name};",
        "forward": f"{head} {key} {name};",
    }
    return stand_ins.get(kind, "")


def place_of(declaration: Declaration, at: int = 0) -> Place:
    """Return where a declaration begins, or one of its tokens."""
    file, start, _ = declaration.stream.place(declaration.tokens[at].at)
    return Place(file.name, start)


def _parameters(declaration: Declaration) -> tuple[str, ...]:
    """Return the types of a function's parameters as they are spelled, without names; of a template, their number."""
    parts = declaration.parameter_texts
    if declaration.template is not None:
        return ("",) * len(parts)
    return tuple(" ".join(text for text in type_and_name(one)[0] if text not in CLASS_KEYS) for one in parts)


def _may_be(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether two lists of parameters may have the same types: names of types may be others' names."""
    pairs = [(first.split(), second.split()) for first, second in zip(one, other, strict=False)]
    return len(one) == len(other) and all(
        first == second
        or (
            [text for text in first if not is_identifier(text)] == [text for text in second if not is_identifier(text)]
            and not {text for text in (*first, *second) if is_identifier(text)} <= {*TYPE_WORDS, "const", "volatile"}
        )
        for first, second in pairs
    )


def _other_operand(texts: Sequence[str], first: int, last: int) -> Sequence[str]:
    """Return the other operand of ``?:`` where a throw expression between two tokens is one; empty elsewhere.

    Of an operand with ``?:`` in it, one operand of that, which has a type that can become the whole one's.
    """
    if texts[first - 1] == "?" and texts[last + 1 : last + 2] == [":"]:
        found = texts[last + 2 : _end(texts, last + 2, 1, ";,)]}")]
    else:
        question = _end(texts, first - 2, -1, "?;{([") if texts[first - 1] == ":" else first - 1
        found = texts[question + 1 : first - 1] if texts[question] == "?" else []
    while (question := _end(found, 0, 1, "?")) < len(found):
        colon = _end(found, question + 1, 1, ":")
        behind = found[colon + 1 :]
        found = found[question + 1 : colon] if behind[:1] == ["throw"] else behind
    return found


def _end(texts: Sequence[str], at: int, step: int, stops: str) -> int:
    """Return where one of some brackets or signs stands outside brackets, from a token on in a direction."""
    depth = 0
    while 0 <= at < len(texts) and (depth or texts[at] not in stops):
        depth += (texts[at] in "([{") - (texts[at] in ")]}")
        at += step
    return at


def _needs_default(declaration: Declaration) -> bool:
    """Return whether NVRTC takes an unmarked declaration only under ``-default-device``."""
    if declaration.kind == "function" or _has_lambda(declaration):
        return True
    words = declaration.words
    if not declaration.declarators or is_constant(declaration) or not words.isdisjoint({"friend", "typedef"}):
        return False
    is_data = declaration.is_member and "static" not in words
    return not is_data and any(not one.is_const for one in declaration.declarators)


def _has_lambda(declaration: Declaration) -> bool:
    """Return whether a lambda, which is for the device only by default, stands in a value."""
    spans = (one.value for one in declaration.declarators if one.value is not None)
    values = ([token.text for token in declaration.tokens[first:last]] for first, last in spans)
    return any(closes_captures(texts, at) for texts in values for at, text in enumerate(texts) if text == "]")


def _has_local_class(declaration: Declaration) -> bool:
    """Return whether a class in a function's body may have functions, which are for the device as it is."""
    return not {"class", "struct", "union"}.isdisjoint(declaration.body_texts)


def _key(declaration: Declaration) -> Name:
    return declaration.owners, declaration.name


def _is_deduced(declaration: Declaration) -> bool:
    """Return whether a function's body tells its type."""
    if declaration.body is None or declaration.parameters is None:
        return False
    texts = [token.text for token in declaration.tokens]
    head = [texts[at] for at in declaration.head]
    is_auto = "auto" in head or any(texts[at : at + 3 : 2] == ["decltype", "auto"] for at in declaration.head)
    return is_auto and "->" not in head
