"""The list of attacks: each has tests that show what happens, and the page on security has all of them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from shared import SKIPPED_FILES

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "explanation" / "security-and-reliability.md"
ATTACKS = tomllib.loads(Path(__file__).with_name("attacks.toml").read_text())["attack"]
#: A table of the page, below the heading of its section.
TABLE = re.compile(
    r"(?P<head>^## (?P<section>[^\n]+)\n(?:(?!## )[^\n]*\n)*?<!-- attacks -->\n).*?(?P<end><!-- end -->\n)",
    re.MULTILINE | re.DOTALL,
)
each_attack = pytest.mark.parametrize("attack", ATTACKS, ids=[attack["tried"][:60] for attack in ATTACKS])


@cache
def functions(name):
    """Return the tests that a file defines."""
    tree = ast.parse((TESTS / name).read_text())
    return {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")}


@each_attack
def test_an_attack_names_tests_that_exist(attack):
    """A test that is renamed, or moved to another file, is named anew in the list."""
    assert attack["shown"]
    for shown in attack["shown"]:
        file, _, test = shown.partition("::")
        assert (TESTS / file).is_file(), shown
        assert not test or test in functions(file), shown


@pytest.fixture(scope="module")
def collected(request, slow):
    """Return what pytest collects of the files that the list names: the identifiers, and what is skipped at once.

    This run has collected all of it if no other test is left out; else, and where it has not, another run does.
    """
    files = sorted({shown.partition("::")[0] for attack in ATTACKS for shown in attack["shown"]})
    passed_over = {Path(name).relative_to("tests").as_posix() for name in SKIPPED_FILES}
    found = {item.nodeid.partition("[")[0].partition("/")[2] for item in request.session.items}
    option = request.config.option
    here = passed_over | {name.partition("::")[0] for name in found}
    if here.issuperset(files) and not option.keyword and not option.markexpr:
        return found, passed_over
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-rs", "-p", "no:cacheprovider"]
    command += [str(TESTS / file) for file in files]
    done = subprocess.run(command, cwd=TESTS.parent, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout
    found = {line.partition("[")[0].partition("/")[2] for line in done.stdout.splitlines() if "::" in line}
    skipped = re.findall(r"^SKIPPED \[\d+\] (?:tests/)?([\w/.]+?\.py):", done.stdout, re.MULTILINE)
    return found, set(skipped)


@each_attack
def test_the_tests_of_an_attack_are_run(attack, collected):
    """Pytest collects them, so that no faulty name or mark leaves them out; what needs a framework may be skipped."""
    found, skipped = collected
    files = {name.partition("::")[0] for name in found}
    for shown in attack["shown"]:
        file = shown.partition("::")[0]
        assert shown in found or shown in files or file in skipped, shown


def rows(section):
    """Yield the lines of a section's table."""
    yield from ("| what was tried | what must happen | shown by |", "|---|---|---|")
    for attack in ATTACKS:
        if attack["section"] == section:
            names = [f"`{shown.rpartition('::')[2].rpartition('/')[2]}`" for shown in attack["shown"]]
            tests = ", ".join([*names, *filter(None, [attack.get("also")])])
            yield f"| {attack['tried']} | {attack['must']} | {tests} |"


def with_tables(text):
    """Return the page with the list's tables."""
    return TABLE.sub(lambda one: "\n".join([one["head"], *rows(one["section"]), "", one["end"]]), text)


def test_the_page_has_every_attack():
    """The tables are made of the list: this file, run by Python, writes them."""
    text = PAGE.read_text()
    assert {one["section"] for one in TABLE.finditer(text)} == {attack["section"] for attack in ATTACKS}
    assert text == with_tables(text)


def test_each_attack_says_what_was_tried():
    """No row is there twice, or without words."""
    assert len({(attack["tried"], attack["must"]) for attack in ATTACKS}) == len(ATTACKS) > 100
    assert all(len(attack[key]) > 20 and "|" not in attack[key] for attack in ATTACKS for key in ("tried", "must"))


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
