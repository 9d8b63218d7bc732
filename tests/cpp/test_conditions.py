"""Conditions of ``#if``: whether they hold by what is known of a few macros."""

from __future__ import annotations

import shutil
import subprocess
from random import Random

import pytest

from hatch_cuda_kernels.cpp import SourceFile, evaluate, parse_define

KNOWN = {
    "ON": ["1"],
    "OFF": [],
    "STD": ["201402", "201703", "209999"],
    "ARCH": ["500", "800", "801", "2999"],
}


def look_up(name):
    """Return the definitions that a macro may have; of others, nothing is known."""
    values = KNOWN.get(name)
    return () if values is None else tuple(parse_define(name, value) for value in values) or (None,)


def truth(condition):
    """Return whether a condition holds; None where that is unknown."""
    (directive,) = SourceFile("k.cu", f"#if {condition}\n").directives
    return evaluate(directive, look_up)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("1", True),
        ("0", False),
        ("2", True),
        ("defined(ON)", True),
        ("defined ON", True),
        ("!defined(ON)", False),
        ("!defined(OFF)", True),
        ("OFF", False),
        ("ON", True),
        ("!ON", False),
        ("! !ON", True),
        ("!(defined(ON) && OTHER)", None),
        ("!(defined(OFF) && OTHER)", True),
        ("OTHER", None),
        ("OTHER && OFF", False),
        ("OTHER && ON", None),
        ("OTHER || ON", True),
        ("OTHER || OFF", None),
        ("OTHER || OTHER2 && OFF || ON", True),
        ("ON && (OTHER || ON)", True),
        ("(ON) && (OFF)", False),
        ("!ON || OFF", False),
        ("!defined(ON) || defined(OFF)", False),
        ("STD >= 201103L", True),
        ("STD < 201103L", False),
        ("STD >= 201703L", None),
        ("STD == 201103", False),
        ("STD != 201703", None),
        ("ARCH > 499", True),
        ("ARCH > 500", None),
        ("ARCH <= 2999", True),
        ("OFF >= 2", False),
        ("OFF == 0", True),
        ("defined(ON) && STD >= 201103L && defined(OTHER)", None),
        ("ON ? OFF : ON", False),
        ("ON + OFF", True),
        ("!ON == OFF", True),
        ("ON & OFF", False),
        ("ON | OFF", True),
        ("VERSION(1, 2) && OFF", False),
        ("VERSION(1, 2)", None),
        ("defined(ON) == 1", True),
        ("(ON", None),
        ("", None),
    ],
)
def test_what_holds(condition, holds):
    """What is not understood is not known; a part of it may decide all the same."""
    assert truth(condition) is holds


ATOMS = (
    "defined(ON)", "defined OFF", "defined( OTHER )", "ON", "OFF", "0", "1", "2", "OTHER", "STD", "OTHER > 3", "ON + 1",
    "ON & 1", "STD >= 201703L", "STD < 201103L", "STD != 201402", "ARCH >= 300", "ARCH > 800", "ARCH < 200", "OFF >= 1",
)  # fmt: skip


def made(random, depth):
    """Return a condition at random."""
    kind = random.random() if depth else 0
    if kind < 0.25:
        return random.choice(ATOMS)
    if kind < 0.4:
        return f"!{random.choice([random.choice(ATOMS), f'({made(random, depth - 1)})'])}"
    if kind < 0.55:
        return f"({made(random, depth - 1)})"
    mark = random.choice([" && ", "||", "&&", " || ", " == ", " ? 1 : "])
    return made(random, depth - 1) + mark + made(random, depth - 1)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no preprocessor to compare with")
@pytest.mark.parametrize("seed", range(4))
def test_a_preprocessor_agrees(seed):
    """Whatever the macros are of which only a range is known, or nothing."""
    random = Random(seed)
    defined = {"ON": 1, "STD": random.choice([201402, 201703, 209999]), "ARCH": random.choice([500, 800, 801, 2999])}
    defined |= {"OTHER": 5} if seed % 2 else {}
    conditions = [made(random, 4) for _ in range(300)]
    text = "".join(f"#define {name} {value}\n" for name, value in defined.items())
    text += "".join(f"#if {each}\nT{at}\n#else\nF{at}\n#endif\n" for at, each in enumerate(conditions))
    done = subprocess.run(["gcc", "-E", "-P", "-"], input=text, capture_output=True, text=True, check=False)
    seen = {int(word[1:]): word[0] == "T" for word in done.stdout.split()}
    told = {at: holds for at, each in enumerate(conditions) if (holds := truth(each)) is not None}
    assert len(told) > 50
    assert {at: seen[at] for at in told} == told
