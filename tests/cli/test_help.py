"""Help, guesses and completion: whoever does not know a command finds it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from email.message import Message
from pathlib import Path

import pytest
from doc_blocks import DOCS

from hatch_cuda_kernels import cli
from hatch_cuda_kernels.cli import main

ACTIONS = [f"cache {action}" for action in ("info", "ls", "prune", "clear", "export", "import")]
COMMANDS = [*(name for names in cli._GROUPS.values() for name in names), *ACTIONS]


@pytest.fixture
def ask(capsys, monkeypatch):
    """Return a function that runs a command of which argparse takes care, and returns what was said."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*argv):
        with pytest.raises(SystemExit) as ended:
            main(argv)
        out, err = capsys.readouterr()
        return ended.value.code, out or err

    return run


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_command_explains_itself(command, ask):
    """A sentence on what it does, examples that begin like a command, and where its page is; 80 columns are enough."""
    status, text = ask(*command.split(), "--help")
    name = command.split()[0] if command else ""
    assert status == 0
    assert re.search(rf"^  (\$ )?(uvx )?hatch-cuda-kernels {command}".rstrip(), text, re.MULTILINE), text
    page, _, section = text.rpartition("documentation: ")[2].strip().partition("#")
    assert (Path(page), section) == (DOCS / "reference" / "cli.md", name)
    assert "--quiet" in text
    assert max(len(line) for line in text.splitlines() if " > " not in line and str(DOCS) not in line) <= 80
    assert re.search(r"\n\n[A-Z][a-z]+,? [^\n]+(\n[^\n]+)*\.\n", text), "a sentence"


@pytest.mark.parametrize("command", ["", "build", "embed", "cache prune"])  # help of modules, classes and functions
def test_help_is_there_without_docstrings(command):
    """``python -OO`` drops them, and nothing of the help."""
    words = ["-m", "hatch_cuda_kernels", *command.split(), "--help"]
    plain, optimized = (
        subprocess.run([sys.executable, *options, *words], capture_output=True, text=True, check=True).stdout
        for options in ([], ["-OO"])
    )
    assert optimized == plain


@pytest.mark.parametrize("command", ["", "cache"])
def test_without_a_command_there_is_help(command, capsys):
    """Whoever types the program's name alone sees what there is; the status is that of bad usage."""
    with pytest.raises(SystemExit) as ended:
        main(command.split())
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert "examples:" in err
    assert "error:" not in err


def test_the_pages_that_help_names_are_there():
    """Each command has its section in the reference."""
    page = (DOCS / "reference" / "cli.md").read_text()
    assert set(re.findall(r"^## ([a-z]+)$", page, re.MULTILINE)) == {*COMMANDS} - {*ACTIONS}


@pytest.mark.parametrize(
    ("urls", "page"),
    [
        (["Source, https://example.org/code"], f"{DOCS}/reference/cli.md#check"),
        (["Source, https://example.org", "Documentation, https://example.org/docs/"],
         "https://example.org/docs/reference/cli.html#check"),
        (["documentation, https://example.org"], "https://example.org/reference/cli.html#check"),
    ],
)  # fmt: skip
def test_the_page_is_on_the_site_that_the_metadata_names(urls, page, ask, monkeypatch):
    """As soon as the project has an address for its documentation, help names it."""
    metadata = Message()
    for url in urls:
        metadata["Project-URL"] = url
    monkeypatch.setattr("importlib.metadata.metadata", lambda name: metadata)
    assert f"documentation: {page}\n" in ask("check", "--help")[1]


GUESSES = {
    "a command": (("biuld",), "error: there is no command 'biuld'", "hint: did you mean 'build'?"),
    "an action": (("cache", "purne"), "error: there is no command 'cache purne'", "hint: did you mean 'prune'?"),
    "an option": (("build", "--ou", "x"), "error: there is no option '--ou'", "hint: did you mean '--out'?"),
    "an option of another": (("check", "--arch=sm_90"), "error: there is no option '--arch'", "hint: see "),
    "a value": (("doctor", "--for", "biuld"), "error: argument --for: 'biuld' is not one of ", "hint: did you mean"),
    "too many words": (("schema", "x"), "error: unexpected argument 'x'", "hint: see "),
}


@pytest.mark.parametrize(("argv", "error", "hint"), GUESSES.values(), ids=GUESSES.keys())
def test_what_was_meant_is_guessed(argv, error, hint, ask):
    """A mistyped word is one error and one hint, without a page of usage; the status is 2."""
    status, text = ask(*argv)
    assert status == 2
    assert error in text
    assert hint in text
    assert len(text.splitlines()) <= 3


@pytest.mark.slow
def test_help_comes_at_once():
    """What takes long to import is not imported to print a page of text: compilers, YAML, a build system, CUDA."""
    code = "import sys\nfrom hatch_cuda_kernels.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    slow = {"cuda", "hatchling", "yaml", "tomlkit", "jinja2", "rich.progress", "ctypes", "concurrent.futures.process"}
    loaded = done.stdout.split()
    assert not slow & set(loaded)
    folders = ("manifest.", "pool.", "runtime.ladder.", "runtime.launch.", "runtime.loading", "compiler.nvrtc")
    inside = tuple(f"hatch_cuda_kernels.{name}" for name in folders)
    assert not [name for name in loaded if name.startswith(inside)]  # a door without what is behind it may be


def test_help_works_without_the_build_extra(ask, monkeypatch):
    """Where only the run side is installed, the same text comes without colours."""
    with_extra = ask("explain", "--help")[1]
    monkeypatch.setitem(sys.modules, "rich_argparse", None)
    assert " ".join(ask("explain", "--help")[1].split()).lower() == " ".join(with_extra.split()).lower()


def test_others_helps_stay_as_they_are(ask):
    """What formats help is shared with other programs of the process: no page changes it for them, or for the next."""
    from rich_argparse import RawDescriptionRichHelpFormatter, RichHelpFormatter

    shared = [vars(one).copy() for one in (RawDescriptionRichHelpFormatter, RichHelpFormatter)]
    styles = dict(RichHelpFormatter.styles)
    assert ask("cache", "--help") == ask("cache", "--help")
    assert [vars(one) for one in (RawDescriptionRichHelpFormatter, RichHelpFormatter)] == shared
    assert RichHelpFormatter.styles == styles


SHELLS = {
    "bash": ("bash", "-n"),
    "zsh": ("zsh", "-n"),
    "fish": ("fish", "--no-execute"),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_a_script_of_the_shell(shell, capsys, tmp_path):
    """It knows commands, actions and options, and the shell, if it is here, can read it."""
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("explain", "prune", "max-bytes", "supports-devices"))
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([*SHELLS[shell], str(tmp_path / "script")], check=True)


def test_bash_completes(capsys, tmp_path):
    """What bash offers after a few letters is what the command takes."""
    if not shutil.which("bash"):
        pytest.skip("needs bash")
    main(["completion", "bash"])
    (tmp_path / "script").write_text(capsys.readouterr().out)
    ask = (
        "source {script}; f=$(complete -p hatch-cuda-kernels | grep -o -- '-F [^ ]*' | cut -c4-);"
        'COMP_WORDS=(hatch-cuda-kernels "$@"); COMP_CWORD=$#;'
        '$f hatch-cuda-kernels; printf "%s\\n" "${COMPREPLY[@]}"'
    ).replace("{script}", str(tmp_path / "script"))

    def offered(*words):
        return subprocess.run(["bash", "-c", ask, "bash", *words], capture_output=True, text=True).stdout.split()

    assert {"init", "inspect"} == set(offered("in"))
    assert "--supports-devices" in offered("verify", "--su")
    assert "prune" in offered("cache", "pr")
