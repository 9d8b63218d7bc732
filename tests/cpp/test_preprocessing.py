"""Directives, conditions and macros are read as gcc reads them: generated texts, and the toolkit's headers."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hatch_cuda_kernels.cpp import (
    Cursor,
    Inclusion,
    InclusionError,
    MacroTable,
    Run,
    SourceFile,
    Stream,
    TextError,
    TranslationUnit,
    lex,
    parse_define,
    unknown_macro,
)
from hatch_cuda_kernels.cpp.stream import brace_macros

GCC = shutil.which("gcc")
PREDEFINED = {"__cplusplus": (parse_define("__cplusplus", "201703L"),), "__STDC__": (parse_define("__STDC__", "1"),)}
#: What stands for a place, or asks what only a compiler knows.
OWN = re.compile(r"__LINE__|__FILE__|__COUNTER__|__DATE__|__TIME__|_Pragma|__BASE_FILE__")


def read(text, predefined=PREDEFINED, **headers):
    """Return the unit of a text whose headers are given by the names ``name.h``, without the dot."""
    files = {"k.cu": SourceFile("k.cu", text)}
    files |= {f"{name}.h": SourceFile(f"{name}.h", header) for name, header in headers.items()}

    def resolve(_file, directive):
        name = directive.operand.strip().strip('"')
        return [name] if name in files else []

    return TranslationUnit.read(files, ["k.cu"], resolve, MacroTable(predefined))


def tokens(text, **options):
    """Return all tokens of a text, its macros expanded; None where something of it is unknown."""
    unit = read(text, **options)
    if any(condition.holds is None for condition in unit.conditions):
        return None
    stream = Stream(unit.roots[0], brace_macros(unit.macros))
    return [token.text for token in Cursor(stream).tokens()]


def by_gcc(text):
    """Return the same by gcc; None for what it refuses."""
    command = ["gcc", "-E", "-P", "-undef", "-nostdinc", "-x", "c++", "-std=c++17", "-w", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return lex(done.stdout) if done.returncode == 0 else None


#: Pieces of which macros' uses and definitions are made.
NAMES = ("A", "B", "C", "F", "G", "x", "y")
PIECES = (*NAMES, "1", "+", "(", ")", ",", "F(", "G(", '"s"', "{", "}", ";", " ")


def generated(seed):
    """Return a text of definitions, conditions and uses."""
    chance = random.Random(seed)
    lines = []
    for _ in range(chance.randint(4, 14)):
        kind = chance.random()
        body = " ".join(
            chance.choice((*PIECES, "#x", "x##y", "##", "__VA_ARGS__")) for _ in range(chance.randint(0, 6))
        )
        name = chance.choice(NAMES[:5])
        if kind < 0.35:
            parameters = chance.choice(("", "", "(x)", "(x, y)", "(x, ...)", "(...)", "()"))
            lines.append(f"#define {name}{parameters} {body}")
        elif kind < 0.4:
            lines.append(f"#undef {name}")
        elif kind < 0.5:
            condition = chance.choice(
                (f"defined({name})", f"!defined {name}", "1 + 1 == 2 && 0x10 >> 2 == 4", "-1 > 0u")
            )
            lines += [f"#if {condition}", f"yes_{name} {body}".replace("#", ""), "#else", "no", "#endif"]
        else:
            lines.append(body.replace("#", ""))
    return "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.skipif(GCC is None, reason="needs gcc, to compare with")
def test_generated_texts_are_read_as_by_gcc():
    """Definitions, uses, # and ##, rests of arguments, conditions: the same tokens, wherever gcc takes the text."""
    compared, wrong = 0, []
    for seed in range(400):
        text = generated(seed)
        theirs = by_gcc(text)
        if theirs is None:
            continue
        compared += 1
        if tokens(text) != theirs:
            wrong.append((text, tokens(text), theirs))
    assert compared > 40
    assert wrong == []


@pytest.mark.slow
@pytest.mark.skipif(GCC is None, reason="needs gcc, to compare with")
def test_the_toolkits_headers_are_read_as_by_gcc():
    """Each by itself, its includes left out: the same tokens as gcc's."""
    from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain

    folders = [Path(folder) for folder in load_toolchain().include_dirs]
    headers = sorted({path for folder in folders for path in folder.rglob("*.h*") if path.is_file()})
    compared, wrong = 0, []
    for path in random.Random(1).sample(headers, 150):
        text = re.sub(r"^[ \t]*#[ \t]*(?:include|pragma).*$", "", path.read_text(errors="replace"), flags=re.MULTILINE)
        ours = None if OWN.search(text) else tokens(text)
        theirs = None if ours is None else by_gcc(text)
        compared += theirs is not None
        if theirs is not None and ours != theirs:
            wrong.append(path.name)
    assert compared > 60
    assert wrong == []


def test_a_condition_of_an_unknown_value_lets_both_branches_count():
    """What only the architecture decides is neither true nor false; what is decided besides it is."""
    arch = {"ARCH": (unknown_macro("ARCH"),)}
    found = read("#if ARCH >= 800\n#endif\n#if 0 && ARCH\n#endif\n#if defined(ARCH) || X\n#endif\n", arch)
    assert [condition.holds for condition in found.conditions] == [None, False, True]


def test_a_macro_is_what_it_was_defined_as_before_its_use():
    """Later definitions and other files' do not count before they are read; those of an unknown branch may hold."""
    unit = read('#define N 1\n#include "a.h"\nN\n#undef N\nN\n', a="#undef N\n#define N 2\n")
    stream = Stream(unit.roots[0], frozenset())
    found = [token.text for token in Cursor(stream).tokens()]
    assert [text for text in found if not text.startswith("#")] == ["2", "N"]
    unit = read("#if A\n#define N 1\n#else\n#define N 2\n#endif\n", {"A": (unknown_macro("A"),)})
    assert [found and found.body[0].text for found in unit.macros.now("N")] == ["1", "2"]


@pytest.mark.slow
def test_a_use_that_doubles_for_ever_is_an_error_with_its_place():
    """No text makes a reader eat the memory of the machine."""
    lines = ["#define A0 x x", *(f"#define A{n} A{n - 1} A{n - 1}" for n in range(1, 64)), "int A63;"]
    unit = read("\n".join(lines))
    stream = Stream(unit.roots[0], frozenset())
    with pytest.raises(TextError, match=r"k\.cu:65: this use of a macro becomes more than"):
        [*Cursor(stream).tokens()]


@pytest.mark.slow
def test_files_that_include_each_other_end():
    """By a guard, by #pragma once, or with an error."""
    for guard in ("#pragma once\n", "#ifndef G\n#define G\n"):
        read('#include "a.h"\n', a=f'{guard}#include "a.h"\n' + "#endif\n" * ("ifndef" in guard))
    with pytest.raises(InclusionError, match="without an end"):
        read('#include "a.h"\n', a='#include "a.h"\n')


@pytest.mark.parametrize(("text", "message"), [("#if 1\n", "#if without #endif"), ("\n#endif\n", "#endif without #if")])
def test_a_group_without_its_other_end_is_an_error_with_its_place(text, message):
    """The file and the line are named."""
    with pytest.raises(TextError, match=rf"k\.cu:\d: {message}"):
        read(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/* # */b // c\nd", ["a", "b", "d"]),
        ("1'000u 0x1p-3 .5e+2 x.y", ["1'000u", "0x1p-3", ".5e+2", "x", ".", "y"]),
        ('u8"a\\"b" L\'c\' R"x(a)" // )x" z', ['u8"a\\"b"', "L'c'", 'R"x(a)" // )x"', "z"]),
        ("a<b>>c ::->*...", ["a", "<", "b", ">", ">", "c", "::", "->*", "..."]),
        ("<%%> <::> <::a", ["{", "}", "[", "]", "<", "::", "a"]),
        ('ab\\\ncd "e\\\nf"', ["abcd", '"ef"']),
    ],
    ids=["comments", "numbers", "literals", "operators", "digraphs", "joined lines"],
)
def test_tokens(text, expected):
    """Comments, literals, numbers and joined lines are told apart as compilers do."""
    assert tokens(text) == expected


def test_offsets_are_those_of_the_original():
    """Joined lines and digraphs move nothing."""
    text = "int a\\\nb = 1; <% x %> /* */ y;"
    file = SourceFile("k.cu", text)
    spans = [
        text[start : file.place_behind(start, token)]
        for start, token in zip(file.starts(0), file.tokens(0), strict=True)
    ]
    assert spans == ["int", "a\\\nb", "=", "1", ";", "<%", "x", "%>", "y", ";"]


def test_reading_is_linear_in_the_text():
    """Texts without an end of something are read in one go."""
    for piece in ("/*", '"', "'", "#", "(", "\\\n", "1'", 'R"(', "<", "\n# /*"):
        SourceFile("k.cu", piece * 20_000).directives  # noqa: B018 - it must end
        lex(piece * 20_000)


def test_a_file_is_read_once_inside_a_branch_of_which_nothing_is_known():
    """Headers that include each other there take no more readings than they are; behind it, one is read again."""
    count = 12
    files = {
        f"{number}.h": SourceFile(
            f"{number}.h", "#pragma once\n" + "".join(f'#include "{other}.h"\n' for other in range(count))
        )
        for number in range(count)
    }
    text = '#if ARCH\n#include "0.h"\n#include "1.h"\n#endif\n#include "0.h"\n'
    files["k.cu"] = SourceFile("k.cu", text)
    unknown = {"ARCH": (unknown_macro("ARCH"),)}
    unit = TranslationUnit.read(files, ["k.cu"], lambda _f, one: [one.operand.strip().strip('"')], MacroTable(unknown))
    assert unit.count == 2 * count


def _random_directives(rng, names):
    """Return lines that define, ask for and include what other files may have defined before."""
    lines = [rng.choice(["#pragma once", "", ""])]
    for _ in range(rng.randrange(2, 7)):
        macro, header = rng.choice("ABC"), rng.choice(names)
        lines += rng.choice(
            [
                [f"#define {macro} {rng.randrange(2)}"],
                [f"#undef {macro}"],
                [f'#include "{header}"'],
                [f"#if {macro}", f'#include "{header}"', "#else", f"#define {rng.choice('ABC')}", "#endif"],
                [f"#ifdef {macro}", f"#undef {rng.choice('ABC')}", "#endif"],
                ["#if UNKNOWN", f"#define {macro} 2", f'#include "{header}"', "#endif"],
                [f"int {macro};"],
            ]
        )
    return "\n".join(lines) + "\n"


def _told(unit):
    """Return all that counts of a unit: of macros, what the words mean that are there, and what is left of them."""
    found, waiting = [], [*unit.roots]
    while waiting:
        visit = waiting.pop(0)
        for item, depth in visit.nested:
            if isinstance(item, Run):
                words = {"A", "B", "C"}.intersection(visit.file.tokens(item.number))
                meant = {
                    name: known for name, known in visit.macros.table.reached(words, item.time).items() if any(known)
                }
                found.append((visit.file.name, item.number, depth, meant))
            elif isinstance(item, Inclusion):
                left = item.visit.macros.left
                found.append((visit.file.name, item.visit.file.name, item.directive, depth, left))
        waiting += [one.visit for one in visit.inclusions]
    conditions = [
        (one.file.name, one.directive, one.holds, [one.macros.at(name, one.time) for name in one.directive.texts])
        for one in unit.conditions
    ]
    return found, conditions, {name: unit.macros.now(name) for name in "ABC"}, {*unit.macros.definitions}


@pytest.mark.parametrize("seed", range(200))
def test_what_was_read_for_another_source_changes_nothing(seed):
    """A file that was read before, with all that it includes, counts as it does for a source that is read alone."""
    rng = random.Random(seed)
    headers = ["x.h", "y.h", "z.h", "w.h"]
    texts = {name: _random_directives(rng, headers[at + 1 :] or ["end.h"]) for at, name in enumerate(headers)}
    texts |= {"end.h": "#ifndef END\n#define END\n#if C\nint c;\n#endif\n#endif\n"}
    sources = {f"{number}.cu": _random_directives(rng, headers) for number in range(4)}
    shared = {name: SourceFile(name, text) for name, text in (texts | sources).items()}
    unknown = {"UNKNOWN": (unknown_macro("UNKNOWN"),)}

    def read(files, name):
        return TranslationUnit.read(files, [name], lambda _, one: [one.operand.strip().strip('"')], MacroTable(unknown))

    for name in sources:
        alone = {other: SourceFile(other, text) for other, text in (texts | sources).items()}
        assert _told(read(shared, name)) == _told(read(alone, name))
