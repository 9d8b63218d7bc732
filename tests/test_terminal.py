"""Text from elsewhere on a terminal: nothing of it is taken for a command to the terminal, and nothing hides."""

from __future__ import annotations

import io
import warnings

import pytest

from hatch_cuda_kernels.errors import warn_user
from hatch_cuda_kernels.terminal import paint, printable, text_table, wrap

ESCAPED = {
    "\x1b[2J": r"\x1b[2J",
    "\x1b]0;title\x07": r"\x1b]0;title\x07",
    "a\x9b31mb": r"a\x9b31mb",
    "good\rbad": r"good\rbad",
    "a\x08\x08b": r"a\x08\x08b",
    "\u202egnp.exe": r"\u202egnp.exe",
    "a\u200bb": r"a\u200bb",
    "a\u2028b": r"a\u2028b",
    "\udcff": r"\udcff",
    "\U000e0041": r"\U000e0041",
    "\x7f\x00": r"\x7f\x00",
}


@pytest.mark.parametrize("text", ESCAPED)
def test_what_a_terminal_would_obey_is_escaped(text):
    """Escape sequences, carriage returns, changes of direction and invisible characters are shown as what they are."""
    assert printable(text) == printable(text, lines=True) == ESCAPED[text]
    assert printable(ESCAPED[text]) == ESCAPED[text]


@pytest.mark.parametrize("text", ["", "saxpy<float, 256>", "Gr\u00f6\u00dfe \u4e2d\u6587 \U0001f600", "a  b", r"C:\x"])
def test_what_can_be_seen_stays(text):
    """Any script is shown as it is."""
    assert printable(text) == text


def test_lines_stay_where_there_may_be_several():
    """A log keeps its lines and columns; a name has none."""
    assert printable("a\n\tb\x1b", lines=True) == "a\n\tb\\x1b"
    assert printable("a\n\tb\x1b") == r"a\n\tb\x1b"
    assert printable("a\r\nb\rc", lines=True) == "a\nb\\rc"  # of a source in DOS's form


def test_tables_and_warnings_show_it_escaped():
    """A cell stays on its line, and columns stay aligned."""
    assert text_table(("a", "b"), [("\x1b[31m\nx", "y")]).splitlines()[1] == r"\x1b[31m\nx  y"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_user("\x1b[31mred")
    assert str(caught[0].message) == r"\x1b[31mred"


def test_a_wide_table_is_wrapped_under_its_column():
    """The widest column takes as many lines as it needs; the others stay where they are."""
    rows = [("nvrtc", "ok", "version 13.0.88, file /usr/lib/libnvrtc.so.13"), ("cache", "ok", "short")]
    assert text_table(("here", "state", "what"), rows, width=40).splitlines() == [
        "here   state  what",
        "nvrtc  ok     version 13.0.88, file",
        "              /usr/lib/libnvrtc.so.13",
        "cache  ok     short",
    ]


def test_a_table_for_a_pipe_or_without_room_is_not_wrapped():
    """A pipe has lines of any length; a column of a few letters says nothing."""
    row = ("a" * 30, "b" * 30)
    assert len(text_table(("x", "y"), [row]).splitlines()) == 2
    assert len(text_table(("x", "y"), [row], width=40).splitlines()) == 2


@pytest.mark.parametrize(
    ("environment", "colours"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, False),
    ],
)
def test_colours(environment, colours, monkeypatch):
    """A file gets none unless it asks; NO_COLOR has the last word, and an empty variable is none."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (paint("x", "red", io.StringIO()) == "x") is not colours


def test_a_dumb_terminal_gets_no_colours(monkeypatch):
    """It would show the codes."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    assert paint("x", "red", io.StringIO()) == "x"


def test_long_lines_go_on_below(monkeypatch):
    """On a terminal they are broken between words; a pipe gets them as they are."""
    text = "short\n    refused  prebuilt compute_80 ptx: written as PTX ISA 9.0"
    assert wrap(text, 8) == text
    monkeypatch.setattr("hatch_cuda_kernels.terminal.width_of", lambda _: 40)
    assert wrap(text, 8).splitlines() == [
        "short",
        "    refused  prebuilt compute_80 ptx:",
        "        written as PTX ISA 9.0",
    ]


def test_a_command_stays_on_its_line(monkeypatch):
    """Broken in two, it could not be copied; a terminal goes on below by itself."""
    text = '  to fix: python3 -m pip install "nvidia-cuda-nvrtc==13.0.*" "nvidia-cuda-crt==13.0.*"'
    monkeypatch.setattr("hatch_cuda_kernels.terminal.width_of", lambda _: 40)
    assert wrap(text, 8) == text


def test_a_long_path_is_broken_behind_a_slash():
    """In a column of a table, no folder's name is cut in two."""
    rows = [("headers", "cccl 13.0.85, /opt/environments/lib/python3.11/site-packages/nvidia/cu13/include")]
    assert text_table(("here", ""), rows, width=50).splitlines()[1:] == [
        "headers  cccl 13.0.85,",
        "         /opt/environments/lib/python3.11/",
        "         site-packages/nvidia/cu13/include",
    ]
