"""What the command line says of an error: where it is, what to do, in colours on a terminal; as JSON when asked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.cli.messages import diff_of

ONE = "{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}"
WRONG = """\
schema: 1
arches: [sm_80, sm_9]
modules:
  a: {source: saxpy.cu}
"""


@pytest.fixture
def told(capsys, monkeypatch):
    """Return a function that runs a command and returns its status, standard output and standard error."""
    for name in ("NO_COLOR", "FORCE_COLOR", "PYTHON_COLORS"):
        monkeypatch.delenv(name, raising=False)

    def run(*argv, **environment):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            try:
                status = main([str(arg) for arg in argv])
            except SystemExit as end:
                status = end.code
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.mark.parametrize("place", ["", "lib", "lib/src", ".."])
def test_a_patch_applies_where_it_says(tmp_path, monkeypatch, place):
    """From the manifest's folder or above it, here; from elsewhere, in the folder that is named. Any text will do."""
    project = tmp_path / "a repository" / "lib"
    (project / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=project.parent, check=True)
    file, before = project / "ker nels.yaml", "# \x0c one \u2028\nschema: 1\n# \x1c two"
    file.write_text(before)
    monkeypatch.chdir(project.parent / place)
    after = before.replace("1\n", "2\n")
    diff, where = diff_of(Path(os.path.relpath(file)), before, after)
    assert bool(where) == (place == "lib/src")
    command = where.partition(": ")[2] or "git apply"
    if place != "..":  # which is no repository
        subprocess.run(command, shell=True, input=diff.encode(), check=True)
        assert file.read_text() == after
    assert diff_of(file.absolute(), before, after)[0] == diff


@pytest.mark.parametrize("closed", ["", " >&-", " 2>&-", " >&- 2>&-"])
def test_any_text_is_printed_anywhere(tmp_path, closed):
    """An encoding without a letter, or a closed stream, costs that letter, and not the answer."""
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "HATCH_CUDA_KERNELS_CACHE_DIR": str(tmp_path / "é")}
    command = f"{sys.executable} -m hatch_cuda_kernels cache info{closed}"
    ran = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (str(tmp_path / "\\xe9") in ran.stdout) == (" >&-" not in closed)


def test_a_program_that_calls_the_command_stays_as_it_was(tmp_path):
    """Streams, their treatment of characters, the display of warnings and the garbage collector."""
    script = (
        "import gc, sys, warnings\n"
        "from hatch_cuda_kernels.cli import main\n"
        "def state():\n"
        "    streams = [sys.stdout, sys.stdout.errors, sys.stderr and sys.stderr.errors]\n"
        "    return [*streams, gc.isenabled(), warnings.showwarning]\n"
        "before = state()\n"
        "assert main() == 0\n"
        "assert state() == before, (before, state())\n"
    )
    environment = os.environ | {"PYTHONIOENCODING": "ascii:strict", "HATCH_CUDA_KERNELS_CACHE_DIR": str(tmp_path)}
    for closed in ("", " 2>&-"):
        command = f"{sys.executable} - cache info{closed}"
        ran = subprocess.run(command, shell=True, env=environment, input=script, text=True, capture_output=True)
        assert (ran.returncode, ran.stderr) == (0, "")


def test_a_pipe_gets_one_line_a_problem(told, make_project):
    """Editors and greps read the place first; no colours, no frames."""
    root = make_project(WRONG)
    _, _, err = told("check", root / "kernels.yaml")
    assert err == "kernels.yaml:2:17: arches[1]: unknown architecture 'sm_9' (did you mean 'sm_90'?)\n"


def test_a_terminal_shows_the_line_of_the_manifest(told, make_project, monkeypatch):
    """The place, relative to the working folder, is in front of the error, and the mistake is underlined."""
    root = make_project(WRONG)
    monkeypatch.chdir(root.parent)
    _, _, err = told("check", root / "kernels.yaml", FORCE_COLOR="1", NO_COLOR="1")
    assert err.splitlines() == [
        "project/kernels.yaml:2:17: error: arches[1]: unknown architecture 'sm_9' (did you mean 'sm_90'?)",
        "  2 | arches: [sm_80, sm_9]",
        "    |                 ^^^^",
    ]


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "", "NO_COLOR": ""}, False),
    ],
)
@pytest.mark.parametrize("argv", [("inspect", "nothing.whl"), ("check", "nothing.yaml"), ("--help",), ("build", "-h")])
def test_colours_are_for_terminals(told, argv, environment, coloured):
    """A pipe gets none unless it asks for them; NO_COLOR has the last word."""
    _, out, err = told(*argv, **environment)
    assert ("\x1b[" in out + err) is coloured


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv", [("check", "WRONG"), ("inspect", "nothing.whl"), ("--help",), ("cache", "-h"), ("chek",)]
)
def test_colours_can_be_read_on_white_and_on_black(told, argv, make_project):
    """Of the colours that terminals have, only red and magenta differ enough from both."""
    wrong = make_project(WRONG) / "kernels.yaml"
    _, out, err = told(*(wrong if word == "WRONG" else word for word in argv), FORCE_COLOR="1", TERM="xterm-256color")
    codes = {code for found in re.findall(r"\x1b\[([0-9;]*)m", out + err) for code in found.split(";")}
    assert codes <= {"0", "1", "2", "31", "35"} | {"3", "39"}
    assert codes - {"0"}


@pytest.mark.slow
def test_a_compile_error_is_framed_at_its_line(told, make_project, tmp_path):
    """The source's own place, line and mark, the fix as a hint, and none of the compiler's options."""
    root = make_project(
        ONE.replace("saxpy.cu", "saxpy.cu, options: {host_code: keep}"), **{"saxpy.cu": "\n\nvoid host() {}\n"}
    )
    told("build", root / "kernels.yaml", "--out", tmp_path / "out")
    status, _, err = told("build", root / "kernels.yaml", "--out", tmp_path / "out", FORCE_COLOR="1", NO_COLOR="1")
    lines = [line for line in err.splitlines() if line]
    assert status == 1
    place = next(number for number, line in enumerate(lines) if "saxpy.cu:3:6: error: A function without" in line)
    assert lines[place + 1 : place + 3] == ["  3 | void host() {}", "    |      ^"]
    assert any(line.startswith("hint: mark it __device__") for line in lines)
    assert "--std=" not in err
    assert "Consider using" not in err
    assert "--std=c++17" in told("build", root / "kernels.yaml", "--out", tmp_path / "out", "-v")[2]


def test_an_error_fits_the_terminal(told, make_project, monkeypatch):
    """Words are not cut where a line of the terminal ends; colours do not count."""
    monkeypatch.setattr("hatch_cuda_kernels.terminal.width_of", lambda _: 50)
    monkeypatch.chdir(make_project(WRONG))
    _, _, err = told("check", FORCE_COLOR="1", TERM="xterm")
    assert re.sub(r"\x1b\[[0-9;]*m", "", err).splitlines()[:2] == [
        "kernels.yaml:2:17: error: arches[1]: unknown",
        "  architecture 'sm_9' (did you mean 'sm_90'?)",
    ]
    _, _, err = told("explain", "saxpy", "--package", "not a package with a name that is short")
    assert max(map(len, err.splitlines())) <= 50


def test_what_matters_stands_out(told, example_store):
    """The chosen image is bold, a failed check red; a pipe gets the same text without."""
    explain = ("explain", "saxpy", "--package", example_store, "--arch", "sm_90")
    verify = ("verify", example_store, "--skip", "assembly", "--supports-devices", "7.5")
    for argv, line in (
        (explain, r"\x1b\[1m -> accepted prebuilt sm_90 .*\x1b\[0m"),
        (verify, r"\x1b\[1;31mfailed\x1b\[0m +supp.*"),
    ):
        plain, coloured = told(*argv)[1], told(*argv, FORCE_COLOR="1", TERM="xterm")[1]
        assert re.search(f"^{line}$", coloured, re.MULTILINE)
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_a_missing_wheel_is_called_so(told):
    """Without a number of the system's."""
    assert told("inspect", "nothing.whl")[2] == "error: nothing.whl: there is no such file\n"


def test_an_error_without_a_place_says_that_it_is_one(told, make_project):
    """The word in front, and what to do on a line of its own."""
    assert told("inspect", "nothing.whl")[2].startswith("error: nothing.whl: ")
    root = make_project('{schema: 1, cuda: "13.4", arches: [sm_90], modules: {a: {source: saxpy.cu}}}')
    _, _, err = told("build", root / "kernels.yaml")
    assert re.search(r"^error: kernels.yaml asks for CUDA 13.4", err, re.MULTILINE)
    assert re.search(r"^hint: .*install", err, re.MULTILINE)


FAILURES = {
    "bad input": (("inspect", "nothing.whl"), 2, "nothing.whl: "),
    "no": (("explain", "k", "--package", "STORE", "--arch", "sm_90"), 1, "no kernel 'k'"),
    "usage": (("explain", "k"), 2, "the following arguments are required: --package"),
    "wrong value": (("build", "--jobs", "0"), 2, "argument --jobs: '0' is not a number of 1 or more"),
    "no manifest": (("check", "none.yaml"), 2, "none.yaml:1:1: manifest: cannot read"),
    "no command": (("biuld",), 2, "there is no command 'biuld'"),
}


@pytest.mark.parametrize(("argv", "expected", "problem"), FAILURES.values(), ids=FAILURES.keys())
def test_failures_are_json_too(told, argv, expected, problem, example_store):
    """With ``--json``, standard output is an object with the problems; people read them on standard error."""
    status, out, err = told(*(str(example_store) if arg == "STORE" else arg for arg in argv), "--json")
    (found,) = json.loads(out)["problems"]
    assert status == expected
    assert problem in found
    assert problem in err


def test_all_problems_of_a_build_are_in_its_json(told, make_project, tmp_path):
    """Two modules that do not compile are two problems."""
    manifest = "{schema: 1, arches: [sm_90], modules: {a: {source: a.cu}, b: {source: b.cu}}}"
    root = make_project(manifest, **{"a.cu": "wrong", "b.cu": "wrong"})
    status, out, _ = told("build", root / "kernels.yaml", "--out", tmp_path / "out", "--json")
    assert (status, len(json.loads(out)["problems"])) == (1, 2)


def test_check_lists_what_keeps_a_build_from_starting(told, make_project):
    """The wrong release is among the problems, beside the plan."""
    root = make_project('{schema: 1, cuda: "13.4", arches: [sm_90], modules: {a: {source: saxpy.cu}}}')
    status, out, _ = told("check", root / "kernels.yaml", "--json")
    data = json.loads(out)
    assert status == 1
    assert len(data["jobs"]) == 1
    assert "asks for CUDA 13.4" in data["problems"][0]


@pytest.mark.parametrize("flag", ["-q", "--quiet"])
@pytest.mark.parametrize("before", [True, False])
def test_quiet_says_nothing_but_errors(told, make_project, tmp_path, flag, before):
    """The status tells; what fails is still said."""
    root = make_project(ONE)
    build = ("build", root / "kernels.yaml", "--out", tmp_path / "out")
    assert told(*((flag, *build) if before else (*build, flag))) == (0, "", "")
    status, out, err = told("inspect", "nothing.whl", flag)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")


def test_verbose_says_where_an_error_was_raised(told):
    """Whoever reports a bug can show more than a sentence."""
    assert "Traceback" not in told("inspect", "nothing.whl")[2]
    assert "Traceback" in told("inspect", "nothing.whl", "--verbose")[2]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="permissions are something else")
def test_a_warning_is_a_sentence(tmp_path):
    """No file and line of this program stand before it, and --quiet leaves it out."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)  # anybody may write there
    environment = {**os.environ, "HATCH_CUDA_KERNELS_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "hatch_cuda_kernels", "cache", "info"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.startswith("warning: the kernel cache is not used: ")
    assert done.stderr.count("\n") == 1
    quiet = subprocess.run([*command, "-q"], env=environment, capture_output=True, text=True)
    assert (quiet.returncode, quiet.stderr) == (0, "")
