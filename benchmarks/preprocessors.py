"""How the package reads directives, macros and tokens, beside gcc, nvcc's host preprocessor and NVRTC.

    preprocessors.py files LIST.txt --out RESULTS.jsonl          each file alone, its includes left out
    preprocessors.py closures LIST.txt --out RESULTS.jsonl       with all that it includes, as gcc finds it
    preprocessors.py report RESULTS.jsonl

LIST has a path a line; for closures, folders to include may follow it. Every run of text between directives gets a
name of its own at its beginning, so that what each preprocessor lets through tells which branches it took. gcc and
nvcc: all tokens with their macros expanded and all definitions, in order. NVRTC has no such output: there, the names
become variables, and each run becomes a string, by #, as it stands and expanded; the PTX tells them.
What has no end or depends on the clock, ``#error`` and pragmas is left out. One file at a time; needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.compiler.nvrtc_calls import compile_program, open_program, output
from hatch_cuda_kernels.cpp import (
    Branches,
    Cursor,
    Directive,
    Expander,
    ExpansionError,
    Inclusion,
    InclusionError,
    Macro,
    MacroTable,
    MacroToken,
    Run,
    SourceFile,
    Stream,
    TextError,
    TranslationUnit,
    is_identifier,
    lex,
    lex_with_places,
    parse_define,
    unknown_macro,
)
from hatch_cuda_kernels.cpp.macros import UNKNOWN_VALUE
from hatch_cuda_kernels.cpp.stream import INCLUSION, brace_macros
from hatch_cuda_kernels.libraries import macros_of_nvcc, macros_of_nvrtc, nvcc_macros
from hatch_cuda_kernels.libraries.compilers import shared_macros

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.cpp.unit import Visit

Result = dict[str, Any]
#: Seconds of processor time that this process spends on a file, and of wall time that another one may take.
_MOST_S: Final = 20
_MOST_OTHERS_S: Final = 60
#: What stands for a place or a moment, or asks what only a compiler knows: read as names that nobody defines.
_OWN: Final = re.compile(
    r"\b(?:__LINE__|__FILE__|__COUNTER__|__DATE__|__TIME__|__TIMESTAMP__|__INCLUDE_LEVEL__)\b|\b_Pragma\b"
)
_LEFT_OUT: Final = frozenset({"error", "warning", "pragma", "line", "ident", "include_next", "include", "import"})
_NAME: Final = "hck_run"
_MARK: Final = re.compile(rf"{_NAME}_(\d+)_(\d+)")
_GCC: Final = ("-E", "-dD", "-nostdinc", "-x", "c++", "-std=c++17", "-w")
_LINE_MARK: Final = re.compile(r"# \d+ ")
_DEFINITION: Final = re.compile(r"#(define|undef) ([\w$]+)(.*)")
_RAW: Final = re.compile(r'R"([^()\\\s"]{0,16})\(')
_ERROR: Final = re.compile(r"error: (.*)")
_VARIABLE: Final = re.compile(rf"\b{_NAME}_([msx])(\d+)(?:\[\d*\])?(?: = \{{([\d, ]*)\}})?;")
_SHIFT: Final = re.compile(r">(?=>)")


class Differs(NamedTuple):
    """The first place where two readings differ."""

    kind: str
    where: str
    ours: str
    theirs: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, run in (("files", files_alone), ("closures", closures), ("report", report)):
        command = commands.add_parser(name)
        command.add_argument("given", type=Path)
        if name != "report":
            command.add_argument("--out", type=Path, required=True)
        command.set_defaults(run=run)
    args = parser.parse_args()
    os.nice(10)
    signal.signal(signal.SIGPROF, _ended)
    args.run(args)
    return 0


def _ended(*_: object) -> None:
    raise TimeoutError


def _listed(args: argparse.Namespace) -> Iterator[list[str]]:
    """Yield the lines of a list that have no result yet."""
    done = {json.loads(line)["path"] for line in args.out.read_text().splitlines()} if args.out.is_file() else set()
    for line in args.given.read_text().splitlines():
        if line.split()[0] not in done:
            yield line.split()


def _note(args: argparse.Namespace, path: str, found: Result) -> None:
    with args.out.open("a") as file:
        file.write(json.dumps({"path": path, **found}) + "\n")


def _guarded(check: Any, *arguments: Any) -> Result:  # one of the functions below, and what it takes
    """Return what a comparison finds, or why there is none."""
    signal.setitimer(signal.ITIMER_PROF, _MOST_S)
    try:
        return check(*arguments)
    except (InclusionError, TextError, ExpansionError) as error:
        return {"outcome": "refused", "message": str(error).replace("\n", " ")[:200]}
    except (TimeoutError, subprocess.TimeoutExpired):
        return {"outcome": "time"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


# Texts with marks


def _shown(text: str, *, with_includes: bool) -> str:
    """Return a text without what is left out."""
    text = text.removeprefix("\ufeff").replace("\0", " ")
    text = _OWN.sub(lambda found: f"HCK{found[0].upper()}", text)
    file = SourceFile("", text)
    pieces, at = [], 0
    for one in file.directives:
        word = [token.text for token in one.tokens()[:1]]
        stays = one.word not in _LEFT_OUT or (with_includes and ("include" in one.word or word == ["once"]))
        if not stays:
            pieces.append(text[at : one.start])
            at = one.end
    return "".join([*pieces, text[at:]])


def _marked(number: int, text: str) -> str:
    """Return a text with a name of its own at the beginning of each run."""
    file = SourceFile("", text)
    pieces, at = [f"{_NAME}_{number}_0\n"], 0
    for index, one in enumerate(file.directives):
        pieces += [text[at : one.end], f"\n{_NAME}_{number}_{index + 1}"]
        at = one.end
    return "".join([*pieces, text[at:], "\n"])


# What the package reads


class Read(NamedTuple):
    """What the package makes of a text and what it includes."""

    tokens: list[str]
    definitions: list[tuple[str, str, tuple[str, ...]]]


def _read(unit: TranslationUnit) -> Read:
    """Return all tokens and definitions in order, of a unit in which every condition is decided."""
    read = Read([], [])
    bracing = brace_macros(unit.macros)
    for root in unit.roots:
        _read_visit(root, unit, bracing, read)
        _read_definitions(root, read)
    return read


def _read_visit(visit: Visit, unit: TranslationUnit, bracing: frozenset[str], read: Read) -> None:
    stream = Stream(visit, bracing)
    seen = None
    for token in Cursor(stream).tokens():
        if token.use is not None:
            if token.use is not seen:
                read.tokens.extend(one.text for one in stream.spelled(token.use))
            seen = token.use
        elif token.text.startswith(INCLUSION):
            _read_visit(stream.inclusions[int(token.text.removeprefix(INCLUSION))].visit, unit, bracing, read)
        else:
            read.tokens.append(token.text)


def _read_definitions(visit: Visit, read: Read) -> None:
    for item in visit.items:
        if isinstance(item, Inclusion):
            _read_definitions(item.visit, read)
        elif isinstance(item, Run) and item.number:
            directive = visit.file.directives[item.number - 1]
            if directive.word in {"define", "undef"}:
                tokens = [token.text for token in directive.tokens()]
                body = tuple(tokens[1:]) if directive.word == "define" else ()
                read.definitions.append((directive.word, tokens[0] if tokens else "", body))


def _undecided(visit: Visit) -> bool:
    return any(
        isinstance(item, Branches) or (isinstance(item, Inclusion) and _undecided(item.visit)) for item in visit.items
    )


class _Walk:
    """Puts the runs that may count beside those that another preprocessor let through."""

    def __init__(self, numbers: dict[str, int], marks: Sequence[tuple[int, int]]) -> None:
        self.numbers = numbers
        self.marks = marks
        self.at = 0
        self.outcomes: dict[tuple[str, int], set[bool]] = {}
        """Whether conditions hold of which the package does not know it."""

    def differs(self, visit: Visit) -> Differs | None:
        found = self._items(visit, visit.items)
        if found is None and self.at < len(self.marks):
            return Differs("branch", visit.file.name, "end", str(self.marks[self.at]))
        return found

    def _items(self, visit: Visit, items: Sequence[Any]) -> Differs | None:
        number = self.numbers[visit.file.name]
        for item in items:
            if isinstance(item, Run):
                wanted = (number, item.number)
                here = self.marks[self.at] if self.at < len(self.marks) else None
                if wanted != here:
                    start = visit.file.directives[item.number - 1].start if item.number else 0
                    return Differs("branch", visit.file.at(start), str(wanted), str(here))
                self.at += 1
            elif isinstance(item, Inclusion):
                found = self._items(item.visit, item.visit.items)
                if found:
                    return found
            else:
                found = self._branches(visit, item, number)
                if found:
                    return found
        return None

    def _branches(self, visit: Visit, item: Branches, number: int) -> Differs | None:
        here = self.marks[self.at] if self.at < len(self.marks) else None
        firsts = {branch[0].number: branch for branch in item.branches if isinstance(branch[0], Run)}
        taken = firsts.get(here[1]) if here is not None and here[0] == number else None
        for condition, branch in zip(item.conditions, item.branches, strict=True):
            self.outcomes.setdefault((visit.file.name, condition), set()).add(branch is taken)
            if branch is taken:
                break
        return self._items(visit, taken) if taken is not None else None


# gcc, also as nvcc calls it


@cache
def _gcc_macros() -> dict[str, tuple[Macro | None, ...]]:
    done = subprocess.run(["gcc", "-dM", *_GCC, "-"], input="", capture_output=True, text=True, check=True)
    probes = ("include", "include_next", "attribute", "cpp_attribute", "builtin")
    return _macros_of(done.stdout) | {f"__has_{one}": (unknown_macro(f"__has_{one}"),) for one in probes}


def _macros_of(text: str) -> dict[str, tuple[Macro | None, ...]]:
    found: dict[str, tuple[Macro | None, ...]] = {}
    for line in text.splitlines():
        name, _, value = line.removeprefix("#define ").partition(" ")
        macro = parse_define(name, value)
        if macro is not None:
            found[macro.name] = (macro,)
    return found


@cache
def _state_of_nvcc() -> Path:
    """Return a file with the macros that hold where nvcc begins to read a source for a device."""
    path = Path(tempfile.mkdtemp()) / "state.h"
    with tempfile.NamedTemporaryFile(suffix=".cu") as empty:
        made = ["nvcc", "-E", "-Xcompiler", "-dM", "-arch=sm_90", "-std=c++17", empty.name]
        done = subprocess.run(made, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("#define ") and " __STDC__ " not in line]
    path.write_text("\n".join([*lines, ""]))
    return path


class Output(NamedTuple):
    """What gcc prints."""

    tokens: list[str]
    definitions: list[tuple[str, str, tuple[str, ...]]]
    error: str


def _by_gcc(path: Path, flags: Sequence[str]) -> Output:
    done = subprocess.run(["gcc", *_GCC, *flags, str(path)], capture_output=True, timeout=_MOST_OTHERS_S, check=False)
    text, log = done.stdout.decode(errors="surrogateescape"), done.stderr.decode(errors="replace")
    kept, definitions = [], []
    own, raw = False, ""
    for line in text.split("\n"):
        if raw:
            kept.append(line)
            raw = "" if raw in line else raw
        elif _LINE_MARK.match(line):
            own = own or f'"{path}"' in line
            own = own and not ("<built-in>" in line or "<command-line>" in line or "state.h" in line)
        elif not own:
            continue
        elif (found := _DEFINITION.match(line)) is not None:
            tokens = [token.text for token in lex_with_places(line.removeprefix("#").lstrip())][1:]
            body = tuple(tokens[1:]) if found[1] == "define" else ()
            definitions.append((found[1], tokens[0] if tokens else "", body))
        elif not line.startswith("#"):
            kept.append(line)
            raw = _open_raw(line)
    error = next((found[1] for found in map(_ERROR.search, log.splitlines()) if found), "")
    return Output(lex("\n".join(kept)), definitions, error if done.returncode else "")


def _open_raw(line: str) -> str:
    """Return what ends a raw string that a line leaves open; empty without one."""
    opened = [(f'){found[1]}"', found.end()) for found in _RAW.finditer(line)]
    return next((end for end, at in opened if end not in line[at:]), "")


def _marks(tokens: list[str]) -> list[tuple[int, int]]:
    return [(int(found[1]), int(found[2])) for found in map(_MARK.fullmatch, tokens) if found]


def _first_difference(ours: Sequence[Any], theirs: Sequence[Any], kind: str) -> Differs | None:
    for at in range(max(len(ours), len(theirs))):
        if ours[at : at + 1] != theirs[at : at + 1]:
            around = slice(max(at - 6, 0), at + 6)
            mark = next((one for one in reversed(ours[:at]) if isinstance(one, str) and _MARK.fullmatch(one)), "")
            return Differs(kind, str(mark), str(ours[around]), str(theirs[around]))
    return None


def _compared(
    unit: TranslationUnit,
    numbers: dict[str, int],
    theirs: Output,
    again: Any,  # reads with decided conditions
) -> Result:
    """Return the outcome of a unit beside what gcc printed."""
    walk = _Walk(numbers, _marks(theirs.tokens))
    found = walk.differs(unit.roots[0])
    conditions = Counter("unknown" if one.holds is None else "decided" for one in unit.conditions)
    result: Result = {"conditions": dict(conditions), "runs": len(walk.marks)}
    if found is None and again is not None:
        decided = again({key: values.pop() for key, values in walk.outcomes.items() if len(values) == 1})
        if _undecided(decided.roots[0]):
            return {"outcome": "equal", "tokens": "undecided", **result}
        read = _read(decided)
        found = _first_difference(read.tokens, theirs.tokens, "tokens")
        found = found or _first_difference(read.definitions, theirs.definitions, "definitions")
        result |= {"tokens": len(read.tokens), "definitions": len(read.definitions)}
    return {"outcome": "different", **found._asdict(), **result} if found else {"outcome": "equal", **result}


def _with_outcomes(file: SourceFile, outcomes: dict[tuple[str, int], bool]) -> SourceFile:
    """Return a file whose conditions hold or do not, as it is given."""
    own = sorted((index, holds) for (name, index), holds in outcomes.items() if name == file.name)
    if not own:
        return file
    pieces, at = [], 0
    for index, holds in own:
        one = file.directives[index]
        pieces.append(file.text[at : one.start] + f"#{'elif' if one.word.startswith('el') else 'if'} {int(holds)}")
        at = one.end
    return SourceFile(file.name, "".join([*pieces, file.text[at:]]))


# Files alone


def files_alone(args: argparse.Namespace) -> None:
    for path, *_ in _listed(args):
        text = Path(path).read_bytes().decode(errors="surrogateescape")
        found: Result = {"unclear": SourceFile("", text).unclear is not None}
        for name, check in (("gcc", _alone_by_gcc), ("nvcc", _alone_by_nvcc), ("nvrtc", _alone_by_nvrtc)):
            found[name] = _guarded(check, text)
        _note(args, path, found)


def _nothing(*_: object) -> Sequence[str]:
    return []


def _alone_by_gcc(text: str) -> Result:
    return _alone(text, [], lambda: MacroTable(_gcc_macros()), with_tokens=True)


def _alone_by_nvcc(text: str) -> Result:
    def macros() -> MacroTable:
        known = {**nvcc_macros("c++17"), **shared_macros("c++17"), "__CUDACC_RTC__": (None,)}
        return MacroTable(known, macros_of_nvcc("c++17", (), (), ())._is_foreign)

    return _alone(text, ["-undef", "-imacros", str(_state_of_nvcc())], macros, with_tokens=False)


def _alone(text: str, flags: list[str], macros: Any, *, with_tokens: bool) -> Result:  # makes a table
    file = SourceFile("k.cu", _marked(0, _shown(text, with_includes=False)))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "k.cu"
        path.write_bytes(file.text.encode(errors="surrogateescape"))
        theirs = _by_gcc(path, [*flags, "-I", scratch])

    def read(outcomes: dict[tuple[str, int], bool]) -> TranslationUnit:
        return TranslationUnit.read({"k.cu": _with_outcomes(file, outcomes)}, ["k.cu"], _nothing, macros())

    if theirs.error:
        return {"outcome": "refused by gcc", "message": theirs.error}
    return _compared(read({}), {"k.cu": 0}, theirs, read if with_tokens else None)


# NVRTC


def _alone_by_nvrtc(text: str) -> Result:
    text = text.encode(errors="surrogateescape").decode(errors="replace")
    file = SourceFile("k.cu", _shown(text, with_includes=False))
    macros, wrong_names = _nvrtc_macros(text)
    unit = TranslationUnit.read({"k.cu": file}, ["k.cu"], _nothing, macros)
    sure, perhaps = _runs(unit.roots[0])
    wanted = _strings(file, unit, sure)
    found, log = _by_nvrtc(_probe(file, wanted))
    if found is None:
        wanted = {}
        found, log_again = _by_nvrtc(_probe(file, {}))
        if found is None:
            message = next((one for one in log_again.splitlines() if "error" in one), log_again[:200])
            return {"outcome": "refused by NVRTC", "message": message}
    result: Result = {"runs": len(sure), "unknown runs": len(perhaps - sure.keys()), "strings": len(wanted)}
    result |= {"names of another value": wrong_names} if wrong_names else {}
    if not wanted and log:
        result["without strings"] = next((one for one in log.splitlines() if "error" in one), "")[:200]
    taken = {int(number) for kind, number in found if kind == "m"}
    wrong = (sure.keys() - taken) | (taken - perhaps - sure.keys())
    if wrong:
        number = min(wrong)
        start = file.directives[number - 1].start if number else 0
        both = ("taken", "not") if number in sure else ("not", "taken")
        return {"outcome": "different", **Differs("branch", file.at(start), *both)._asdict(), **result}
    for (kind, number), ours in sorted(wanted.items(), key=lambda one: one[0][1]):
        theirs = found.get((kind, number))
        differs = None if theirs is None else _string_differs(kind, ours[1], theirs)
        if differs:
            where = file.at(file.directives[number - 1].start) if number else "k.cu:1"
            return {"outcome": "different", **differs._replace(where=where)._asdict(), **result}
    return {"outcome": "equal", **result}


def _nvrtc_macros(text: str) -> tuple[MacroTable, list[str]]:
    """Return what NVRTC says of a text's names, and those of which the package says something else."""
    table = macros_of_nvrtc("c++17", ())
    told = _asked(sorted({one for one in lex(text) if is_identifier(one)}))
    own = {name: table.now(name) for name in told}
    wrong = [name for name, found in told.items() if _is_decided(own[name]) and _value(own[name]) != _value(found)]
    return MacroTable(told), wrong


def _value(found: tuple[Macro | None, ...]) -> list[str] | None:
    return None if found[0] is None else [token.text for token in found[0].body]


def _is_decided(found: tuple[Macro | None, ...]) -> bool:
    return len(found) == 1 and (found[0] is None or found[0].body != (UNKNOWN_VALUE,))


_ANSWERS: Final[dict[str, tuple[Macro | None, ...]]] = {}


def _asked(names: Sequence[str]) -> dict[str, tuple[Macro | None, ...]]:
    """Return what NVRTC defines names as, before the first line of a source."""
    _ask([name for name in names if name not in _ANSWERS])
    return {name: _ANSWERS[name] for name in names}


def _ask(names: Sequence[str]) -> None:
    lines = ["#define HCK_QUOTED(...) #__VA_ARGS__\n#define HCK_EXPANDED(...) HCK_QUOTED(__VA_ARGS__)"]
    for at, name in enumerate(names):
        variable = f"__attribute__((device)) char {_NAME}_x{at}[] = HCK_EXPANDED({name});"
        lines += [f"#ifdef {name}", variable, "#endif"]
    found, _ = _by_nvrtc("\n".join([*lines, ""])) if names else ({}, "")
    if found is None and len(names) > 1:  # a word that cannot be asked for, such as and
        for half in (names[: len(names) // 2], names[len(names) // 2 :]):
            _ask(half)
        return
    for at, name in enumerate(names):
        value = found.get(("x", at)) if found else None
        made = unknown_macro(name) if value == name else None if value is None else parse_define(name, value)
        _ANSWERS[name] = (made,)


def _string_differs(kind: str, ours: str, theirs: str) -> Differs | None:
    """Return where strings differ: in their characters as they stand, in their tokens where macros are expanded."""
    if kind == "x":
        return _first_difference(lex(ours), lex(theirs), "expansion")
    at = next((at for at, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other), len(ours))
    around = slice(max(at - 30, 0), at + 30)
    return Differs("spelling", "", ours[around], theirs[around]) if ours != theirs else None


def _runs(visit: Visit) -> tuple[dict[int, int], set[int]]:
    """Return the runs that surely count with the time of their macros, and all that may."""
    sure: dict[int, int] = {}
    perhaps: set[int] = set()

    def add(items: Sequence[Any], *, is_sure: bool) -> None:
        for item in items:
            if isinstance(item, Run):
                perhaps.add(item.number)
                if is_sure:
                    sure[item.number] = item.time
            elif isinstance(item, Branches):
                for branch in item.branches:
                    add(branch, is_sure=False)

    add(visit.items, is_sure=True)
    return sure, perhaps


def _strings(file: SourceFile, unit: TranslationUnit, sure: dict[int, int]) -> dict[tuple[str, int], tuple[str, str]]:
    """Return, of each run that is a macro's argument as it is, its text and the string that ``#`` makes of it.

    Twice: as it stands, and with its macros expanded, where these are known.
    """
    found: dict[tuple[str, int], tuple[str, str]] = {}
    quote = parse_define("HCK_QUOTED(...)", "#__VA_ARGS__")
    for number, time in sure.items():
        start, end = file._runs[number]
        text = file.joined[start:end]
        tokens = lex_with_places(text)
        if (
            not tokens
            or not _is_even(one.text for one in tokens)
            or {"__VA_ARGS__", "__VA_OPT__", "#"} & {one.text for one in tokens}
        ):
            continue
        plain = [MacroToken(one.text, one.is_spaced) for one in tokens]
        found["s", number] = text, _quoted(quote, plain)
        known: set[str] = set()
        if _is_known(unit.macros, plain, time, known):
            made = Expander(lambda name, time=time: unit.macros.at(name, time)[0]).expand(plain)
            if _is_even(one.text for one in made):
                found["x", number] = text, _quoted(quote, made)
    return found


def _is_even(texts: Iterator[str]) -> bool:
    depth = 0
    for text in texts:
        depth += (text == "(") - (text == ")")
        if depth < 0:
            return False
    return not depth


def _is_known(macros: MacroTable, tokens: Sequence[MacroToken], time: int, seen: set[str]) -> bool:
    waiting = [one.text for one in tokens if is_identifier(one.text)]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        known = macros.at(name, time)
        if not _is_decided(known):
            return False
        waiting += [word for one in known if one is not None for word in one.words]
    return True


def _quoted(quote: Macro | None, tokens: Sequence[MacroToken]) -> str:
    """Return the value of the string that ``#`` makes of tokens."""
    hidden = [one._replace(hidden=frozenset({one.text})) for one in tokens]
    use = [MacroToken("HCK_QUOTED"), MacroToken("("), *hidden, MacroToken(")")]
    (made,) = Expander(lambda name: quote if name == "HCK_QUOTED" else None).expand(use)
    return re.sub(r"\\(.)", r"\1", made.text[1:-1], flags=re.DOTALL)


def _probe(file: SourceFile, strings: dict[tuple[str, int], tuple[str, str]]) -> str:
    """Return a source of a file's directives, with a variable in each run, and the strings of the runs."""
    pieces = ["#define HCK_QUOTED(...) #__VA_ARGS__\n#define HCK_EXPANDED(...) HCK_QUOTED(__VA_ARGS__)\n"]
    for number in range(len(file.directives) + 1):
        if number:
            one = file.directives[number - 1]
            pieces.append(f"\n{file.text[one.start : one.end]}\n")
        pieces.append(f"__attribute__((device)) char {_NAME}_m{number};\n")
        for kind, macro in (("s", "HCK_QUOTED"), ("x", "HCK_EXPANDED")):
            if (kind, number) in strings:
                text = strings[kind, number][0]
                pieces.append(f"__attribute__((device)) char {_NAME}_{kind}{number}[] = {macro}({text}\n);\n")
    return "".join(pieces)


def _by_nvrtc(source: str) -> tuple[dict[tuple[str, int], str] | None, str]:
    with open_program(source.encode(errors="surrogateescape").decode(errors="replace"), "k.cu", ()) as program:
        taken, log = compile_program(program, ("-arch=compute_90", "-std=c++17", "-w"))
        if not taken:
            return None, log
        ptx = output(program, "PTX").rstrip(b"\0").decode(errors="replace")
    found = {}
    for one in _VARIABLE.finditer(ptx):
        data = bytes(int(number) for number in one[3].split(",")) if one[3] else b""
        found[one[1], int(one[2])] = data.rstrip(b"\0").decode(errors="replace")
    return found, log


# With what they include


def closures(args: argparse.Namespace) -> None:
    reader = _Closures()
    for path, *folders in _listed(args):
        _note(args, path, _guarded(reader.compare, Path(path), folders))


class _Closures:
    """Reads files and what they include; a header is taken apart once."""

    def __init__(self) -> None:
        self._scratch = Path(tempfile.mkdtemp())
        self._files: dict[str, SourceFile] = {}
        self._numbers: dict[str, int] = {}
        self._outcomes: dict[tuple[str, int], bool] = {}
        self._found_in: dict[str, Path | None] = {}
        """In which folder of the search a file was found last; None beside the file that includes it."""
        log = subprocess.run(["gcc", "-E", "-v", "-x", "c++", "/dev/null"], capture_output=True, text=True, check=True)
        listed = log.stderr.partition("#include <...> search starts here:\n")[2].partition("End of search")[0]
        self._system = [Path(line.strip()).resolve() for line in listed.splitlines()]

    def file(self, path: Path) -> SourceFile:
        name = str(path)
        if name not in self._files:
            self._numbers[name] = len(self._numbers)
            text = path.read_bytes().decode(errors="surrogateescape")
            self._files[name] = SourceFile(name, _marked(self._numbers[name], _shown(text, with_includes=True)))
            target = self._placed(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self._files[name].text.encode(errors="surrogateescape"))
        return self._files[name]

    def _placed(self, path: Path) -> Path:
        return self._scratch / str(path).lstrip("/")

    def compare(self, path: Path, folders: Sequence[str]) -> Result:
        path = path.resolve()
        search = [*(Path(folder).resolve() for folder in folders), *self._system]
        stubs = self._scratch / "stubs"
        stubs.mkdir(exist_ok=True)

        def resolve(macros: MacroTable, file: SourceFile, directive: Directive) -> Sequence[str]:
            tokens = [MacroToken(one.text, one.is_spaced) for one in directive.tokens()]
            name = directive.header
            if not name:
                made = Expander(lambda one: (macros.now(one) or (None,))[0]).expand(tokens)
                name = "".join((" " if one.is_spaced and at else "") + one.text for at, one in enumerate(made))
                quoted, name = name.startswith('"'), name.strip('"<>')
            else:
                quoted = directive.operand.strip().startswith('"')
            own = Path(file.name).parent
            places = [own, *search] if quoted else search
            if directive.word == "include_next":  # from where gcc goes on; from the first, for a file beside its user
                place = self._found_in.get(file.name)
                places = search[search.index(place) + 1 :] if place in search else search
            for at, place in enumerate(places):
                if (place / name).is_file():
                    found = Path(os.path.normpath(place / name)).resolve()
                    self._found_in[str(found)] = None if quoted and not at else place
                    self.file(found)
                    return [str(found)]
            missing.append(name)
            stub = stubs / name
            if ".." not in name and name:
                stub.parent.mkdir(parents=True, exist_ok=True)
                stub.touch()
            return []

        def read(outcomes: dict[tuple[str, int], bool]) -> TranslationUnit:
            self._found_in.clear()
            chosen = _Chosen(self, {**self._outcomes, **outcomes})
            macros = MacroTable(_gcc_macros())
            return TranslationUnit.read(chosen, [str(path)], partial(resolve, macros), macros)

        missing: list[str] = []
        self.file(path)
        unit = read({})
        flags = [*(word for one in search for word in ("-I", str(self._placed(one)))), "-idirafter", str(stubs)]
        theirs = _by_gcc(self._placed(path), flags)
        if theirs.error:
            return {"outcome": "refused by gcc", "message": theirs.error, "missing": len(missing)}
        found = _compared(unit, self._numbers, theirs, read)
        return {**found, "files": unit.count, "missing": len(set(missing))}


class _Chosen(dict[str, SourceFile]):
    """Files by name, their undecided conditions as another preprocessor decides them."""

    def __init__(self, reader: _Closures, outcomes: dict[tuple[str, int], bool]) -> None:
        super().__init__()
        self._reader, self._of = reader, outcomes
        self._names = {name for name, _ in outcomes}

    def __missing__(self, name: str) -> SourceFile:
        file = self._reader._files[name]
        self[name] = _with_outcomes(file, self._of) if name in self._names else file
        return self[name]


# The report


def report(args: argparse.Namespace) -> None:
    lines = [json.loads(line) for line in args.given.read_text().splitlines()]
    parts = [name for name in ("gcc", "nvcc", "nvrtc") if name in lines[0]]
    for name in parts or [""]:
        own = [line[name] if name else line for line in lines]
        print(f"\n{name}: {len(own)} files")
        for what, count in Counter(_kind(one) for one in own).most_common():
            print(f"  {what}: {count}")
        sums: Counter[str] = Counter()
        for one in own:
            if one["outcome"] == "equal":
                sums.update({key: value for key, value in one.items() if isinstance(value, int)})
                sums.update({f"conditions {key}": value for key, value in one.get("conditions", {}).items()})
        print(f"  in those that are equal: {dict(sums)}")
        names = Counter(word for one in own for word in one.get("names of another value", ()))
        if names:
            print(f"  names that the package takes for another value: {dict(names.most_common())}")


def _kind(one: Result) -> str:
    return f"different: {one['kind']}" if one["outcome"] == "different" else one["outcome"]


if __name__ == "__main__":
    sys.exit(main())
