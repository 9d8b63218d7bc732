from __future__ import annotations

import pytest
import yaml

from hatch_cuda_kernels.manifest import yaml_text
from hatch_cuda_kernels.manifest.yaml_text import Mapping, Mark, Pair, Scalar, Sequence, describe, join, read_tree

LAUGHS = "\n".join(
    f"{name}: &{name} [{', '.join([f'*{inner}'] * 10)}]" for inner, name in zip("abcdef", "bcdefg", strict=True)
)

WRONG = {
    "": ["1:1: : the file is empty"],
    "# only a comment\n": ["2:1: : the file is empty"],
    "a: 1\n---\nb: 2\n": ["2:1: : a second document starts here; keep one"],
    "a: 1\nb: 2\na: 3\n": ["3:1: a: duplicate key (first at line 1)"],
    "x: {a: 1, a: 2, 'a': 3}\n": [
        "1:11: x.a: duplicate key (first at line 1)",
        "1:17: x.a: duplicate key (first at line 1)",
    ],
    "x: {no: 1, 1: 2, 1.5: 3, ~: 4, [a]: 5, {b: c}: 6}\n": [
        "1:5: x: expected a string as key, found the boolean no; quote it",
        "1:12: x: expected a string as key, found the integer 1; quote it",
        "1:18: x: expected a string as key, found the number 1.5; quote it",
        "1:26: x: expected a string as key, found nothing; quote it",
        "1:32: x: expected a string as key, found a list",
        "1:40: x: expected a string as key, found a mapping",
    ],
    "a: &a {x: 1}\nb:\n  <<: *a\n": ["3:3: b: merge keys (<<) are not supported; write the entries out"],
    "a: !thing b\nc: !!set {d}\ne: !!python/name:os.system ''\n": [
        "1:4: a: unknown tag '!thing'; remove it",
        "2:4: c: unknown tag 'tag:yaml.org,2002:set'; remove it",
        "3:4: e: unknown tag 'tag:yaml.org,2002:python/name:os.system'; remove it",
    ],
    "a: *b\n": ["1:4: a: the alias '*b' has no anchor before it"],
    "a: &a [x, *a]\n": ["1:11: a[1]: the alias '*a' stands inside its own anchor"],
    f"a: &a [x, x, x, x, x, x, x, x, x, x]\n{LAUGHS}\n": [
        "5:36: e[7]: aliases expand to more than 100000 values; write them out"
    ],
    "a: 1\na: 2\nb: *c\n": [
        "2:1: a: duplicate key (first at line 1)",
        "3:4: b: the alias '*c' has no anchor before it",
    ],
    "a: b: c\n": ["1:5: : not valid YAML: mapping values are not allowed here"],
    "a: [b, c\nd: e\n": [
        "2:2: : not valid YAML: expected ',' or ']', but got ':' while parsing a flow sequence begun at line 1"
    ],
    "a:\n\tb: 1\n": [
        "2:1: : not valid YAML: found character '\\t' that cannot start any token while scanning for the next token"
    ],
    "a:\t1\n": [
        "1:3: : not valid YAML: found character '\\t' that cannot start any token while scanning for the next token"
    ],
    "{a: b?c}\n": ["1:6: : not valid YAML: expected ',' or '}', but got '?' while parsing a flow mapping"],
    "a: [!b, c]\n": ["1:5: a[0]: unknown tag '!b,'; remove it"],
    "a: 'b\n": ["2:1: : not valid YAML: found unexpected end of stream while scanning a quoted scalar begun at line 1"],
    "a:\n  b: \x07\n": ["2:6: : not valid YAML: the character U+0007 is not allowed"],
    "a: \ud800\n": ["1:4: : not valid YAML: the character U+D800 is not allowed"],
    "a: [f<int, 3>, 'g<int, 4>', h<b<1,2>, (3)> ]\n": [
        '1:5: a[0]: YAML takes this apart; quote it: "f<int, 3>"',
        '1:29: a[2]: YAML takes this apart; quote it: "h<b<1,2>, (3)>"',
    ],
    "a: [\n  f<int, 3>,\n  f<int, 3>]\n": [
        '2:3: a[0]: YAML takes this apart; quote it: "f<int, 3>"',
        '3:3: a[1]: YAML takes this apart; quote it: "f<int, 3>"',
    ],
    '{a: f(1, 2, x y), b: g("1, 2"), c: 1}\n': [
        '1:5: a: YAML takes this apart; quote it: "f(1, 2, x y)"',
        "1:22: b: YAML takes this apart; quote it: 'g(\"1, 2\")'",
    ],
    "a: [b, f<{T}, 3>]\n": ['1:10: : YAML takes this apart; quote it: "f<{T}, 3>"'],
    "a: [f<int, {T}>]\n": ['1:15: : YAML takes this apart; quote it: "f<int, {T}>"'],
    "{a: b{1}}\n": ['1:6: : YAML takes this apart; quote it: "b{1}"'],
    "{a: {b: 1} {c: 2}}\n": ["1:12: : not valid YAML: expected ',' or '}', but got '{' while parsing a flow mapping"],
}


def lines(problems):
    """Return problems in the form a manifest's are shown in."""
    return [f"{mark.line}:{mark.column}: {problem.where}: {problem.message}" for mark, problem in problems]


@pytest.fixture(params=["fast", "pure"])
def _loader(request, monkeypatch):
    if request.param == "pure":
        monkeypatch.setattr(yaml_text, "_FAST", yaml.SafeLoader)


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize("text", WRONG, ids=[repr(text)[:30] for text in WRONG])
def test_problems(text):
    """What is wrong with the text is told in the same words and at the same place by either parser."""
    assert lines(read_tree(text)[1]) == WRONG[text]


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize(
    "text", ["a: [N<4, N>4]", "a: [1<<2, 3>>1]", "a: [b->c, d]", "a: ['f<int', '3>']", "a:\n- f<int, 3>", "a: [f<b, c]"]
)
def test_what_only_looks_like_it(text):
    """Operators, quoted text, text of a line of its own, and a bracket without another are values as they are."""
    assert read_tree(text)[1] == []


@pytest.mark.usefixtures("_loader")
def test_tree():
    """Raw text, quotes, tags and positions of values and keys all survive."""
    tree, problems = read_tree('a: 8.10\n"b":\n  - no\n  - "é": \'x\'\n')
    inner = Mapping((Pair("é", Scalar("x", "str", True, Mark(4, 10)), Mark(4, 5)),), Mark(4, 5))
    assert problems == []
    assert tree == Mapping(
        (
            Pair("a", Scalar("8.10", "float", False, Mark(1, 4)), Mark(1, 1)),
            Pair("b", Sequence((Scalar("no", "bool", False, Mark(3, 5)), inner), Mark(3, 3)), Mark(2, 1)),
        ),
        Mark(1, 1),
    )


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize("text", ["a:\n", "a: # comment\n", "{a: , b}", "{ b: 1, a}", "? a\n"])
def test_left_out_value_is_placed_at_its_key(text):
    """A key without a value is pointed at itself, not at the blank behind it."""
    tree, problems = read_tree(text)
    pair = next(pair for pair in tree.pairs if pair.key == "a")
    assert problems == []
    assert pair.value == Scalar("", "null", False, pair.mark)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("8.10", "float"),
        ("'8.10'", "str"),
        ("!!str 8.10", "str"),
        ("90", "int"),
        ("0x5A", "int"),
        ("no", "bool"),
        ("~", "null"),
        ("'~'", "str"),
        ("2001-01-01", "timestamp"),
        ("sm_90", "str"),
        ("=", "str"),
        ("<<", "str"),
        ("|\n  x\n", "str"),
    ],
)
def test_tags(text, tag):
    """A scalar says what YAML 1.1 takes it for, so that a reader can ask for quotes."""
    assert read_tree(f"a: {text}")[0].pairs[0].value.tag == tag


def test_alias_is_the_anchored_value():
    """An alias stands for the very value at its anchor, with the anchor's position."""
    tree, problems = read_tree("a: &x [1, 2]\nb: *x\n")
    assert problems == []
    assert tree.pairs[1].value is tree.pairs[0].value


def test_byte_order_mark_moves_nothing():
    """A byte order mark shifts no column."""
    assert read_tree("\ufeffa: 1\n") == read_tree("a: 1\n")


@pytest.mark.parametrize("depth", [40, 100_000])
def test_deep_nesting_is_a_problem_not_a_crash(depth):
    """Text nested far deeper than any manifest is refused where it gets too deep, before any stack is exhausted."""
    tree, problems = read_tree("[" * depth)
    assert tree is None
    assert [(mark, problem.message) for mark, problem in problems] == [(Mark(1, 34), "nested deeper than 32 levels")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [b]", "a list"),
        ("a: {b: c}", "a mapping"),
        ("a: null", "nothing"),
        ("a: 90", "the integer 90"),
        ("a: " + "9" * 50, "the integer '" + "9" * 50 + "'"),
        ("a: 8.10", "the number 8.10"),
        ("a: yes", "the boolean yes"),
        ("a: 2001-01-01", "the date 2001-01-01"),
        ('a: "b\\nc"', "the string 'b\\nc'"),
        ("a: " + "b" * 99, "the string '" + "b" * 60 + "'..."),
    ],
)
def test_describe(text, words):
    """What was found is described on one short line."""
    assert describe(read_tree(text)[0].pairs[0].value) == words


def test_join_quotes_odd_keys():
    """A key that could be mistaken for a path, or that breaks the line, is quoted in paths."""
    assert [join("", "a"), join("a", "b-1"), join("a", "b.c"), join("a", "b\nc")] == [
        "a",
        "a.b-1",
        "a.'b.c'",
        "a.'b\\nc'",
    ]
