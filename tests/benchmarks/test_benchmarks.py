"""``python -m benchmarks`` lists every benchmark and runs one."""

from __future__ import annotations

import re
import subprocess
import sys
from runpy import run_path

import pytest
from doc_blocks import ROOT

FOLDER = ROOT / "benchmarks"
ENTRY = run_path(str(FOLDER / "__main__.py"))
LISTED = {name: one for group in ENTRY["BENCHMARKS"].values() for name, one in group.items()}


def run(*words):
    """Run the command in a checkout and return the finished process."""
    command = [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_every_script_is_listed():
    """Whoever adds one gives it a name and a line; one that is gone goes from the list, too."""
    scripts = {
        path.relative_to(FOLDER).as_posix()
        for path in FOLDER.rglob("*")
        if path.suffix == ".sh" or (path.suffix == ".py" and '__name__ == "__main__"' in path.read_text())
    }
    listed = [one.script for one in LISTED.values()]
    assert sorted([*listed, *ENTRY["PARTS"], "__main__.py"]) == sorted(scripts)


def test_the_command_lists_what_there_is():
    """A line for each name, which fits a terminal of 100 columns."""
    done = run()
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("  ")]
    assert [line.split()[0] for line in lines] == list(LISTED)
    assert max(map(len, lines)) <= 100


@pytest.mark.slow
def test_the_command_runs_one_with_its_arguments():
    """And its exit status is that of the benchmark; an unknown name is an error."""
    done = run("build", "--help")
    assert done.returncode == 0, done.stderr
    assert "--matrix" in done.stdout
    assert run("build", "--no-such-option").returncode == 2
    assert run("nothing").returncode == 2


RESULTS = FOLDER / "results"
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def links(page):
    """Return the files that a page links to."""
    return {(page.parent / target).resolve() for target in LINK.findall(page.read_text()) if "://" not in target}


def test_each_subject_has_one_record():
    """All are listed, at most 20, and no two of them have one name and another date."""
    records = {path for path in RESULTS.glob("*.md") if path.name != "README.md"}
    assert links(RESULTS / "README.md") == records
    assert len(records) <= 20
    assert len({path.name[11:] for path in records}) == len(records)


def test_records_and_their_raw_numbers_belong_together():
    """Each link of a record leads somewhere, and each file of numbers is that of a record."""
    linked = {target for path in RESULTS.glob("*.md") for target in links(path)}
    assert [target for target in linked if not target.exists()] == []
    numbers = {*RESULTS.glob("*.json"), *(RESULTS / "raw").iterdir()}
    assert numbers - linked == set()
