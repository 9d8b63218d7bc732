"""Terminals as pages: what a command prints in a terminal of some width, in a light or a dark theme."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import pyte

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pyte.screens import Char

#: More lines than any command prints, so that nothing scrolls out of sight.
_LINES: Final = 600
#: What programs are told of a terminal's height.
_HEIGHT: Final = 40
#: pyte has no faint text; nothing here blinks.
pyte.graphics.TEXT[2] = "+blink"

#: pyte's names of colours, as GitHub shows them in its two themes. Its yellow is called brown.
THEMES: Final = {
    "light": {
        "paper": "#f6f8fa", "default": "#1f2328", "black": "#24292f", "red": "#cf222e", "green": "#116329",
        "brown": "#4d2d00", "blue": "#0969da", "magenta": "#8250df", "cyan": "#1b7c83", "white": "#6e7781",
    },
    "dark": {
        "paper": "#0d1117", "default": "#e6edf3", "black": "#484f58", "red": "#ff7b72", "green": "#3fb950",
        "brown": "#d29922", "blue": "#58a6ff", "magenta": "#bc8cff", "cyan": "#39c5cf", "white": "#b1bac4",
    },
}  # fmt: skip


class Recording(NamedTuple):
    """What a terminal shows after a command: lines of characters with their colours; and the command as typed."""

    typed: str
    columns: int
    lines: tuple[tuple[Char, ...], ...]
    status: int

    @property
    def text(self) -> str:
        """The lines, without colours."""
        return "\n".join("".join(char.data for char in line).rstrip() for line in self.lines)


def record(
    command: Sequence[str],
    *,
    typed: str = "",
    columns: int = 80,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    until: str = "",
) -> Recording:
    """Run a command in a terminal, and return what is on the screen at the end; with ``until``, once that is there."""
    screen = pyte.Screen(columns, _LINES)
    stream = pyte.ByteStream(screen)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _HEIGHT, columns, 0, 0))
    settings = {"TERM": "xterm-256color", "LINES": str(_HEIGHT), **(environment or {})}
    kept = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR", "FORCE_COLOR"}}
    started = subprocess.Popen(command, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=kept | settings)
    os.close(theirs)
    while data := _read(ours):
        stream.feed(data)
        if until and any(until in line for line in screen.display):
            break
    lines = _shown(screen)
    os.close(ours)
    return Recording(typed or " ".join(command), columns, lines, started.wait())


def _read(terminal: int) -> bytes:
    select.select([terminal], [], [])
    try:
        return os.read(terminal, 65536)
    except OSError:  # the last process has closed it
        return b""


def _shown(screen: pyte.Screen) -> tuple[tuple[Char, ...], ...]:
    used = [number for number, line in enumerate(screen.display) if line.strip()]
    count = max(used, default=-1) + 1
    return tuple(tuple(screen.buffer[y][x] for x in range(screen.columns)) for y in range(count))


def page(recordings: Iterable[Recording], theme: str, *, prompt: bool = True) -> str:
    """Return an HTML page with terminals, one below the other."""
    colours = THEMES[theme]
    style = (
        f"body {{ margin: 0; padding: 16px; background: {colours['paper']}; width: max-content; }}"
        f"pre {{ margin: 0 0 1.2em; color: {colours['default']};"
        "font: 14px/1.3 'DejaVu Sans Mono', 'Liberation Mono', monospace; }"
        ".b { font-weight: bold } .i { font-style: italic } .u { text-decoration: underline } .f { opacity: .6 }"
    )
    blocks = (_block(recording, colours, prompt=prompt) for recording in recordings)
    return f"<!doctype html><meta charset=utf-8><style>{style}</style>{''.join(blocks)}"


def _block(recording: Recording, colours: Mapping[str, str], *, prompt: bool) -> str:
    lines = ["".join(_span(*run, colours) for run in _runs(line)).rstrip() for line in recording.lines]
    if prompt:
        lines.insert(0, f'<span class=b style="color:{colours["green"]}">$</span> {escape(recording.typed)}')
    text = "\n".join(lines)
    return f'<pre style="min-width:{recording.columns}ch">{text}\n</pre>'


def _runs(line: Iterable[Char]) -> Iterable[tuple[Char, str]]:
    """Yield the text of characters that look alike, each with one of them."""
    for _, run in groupby(line, key=lambda char: char._replace(data="")):
        chars = list(run)
        yield chars[0], "".join(char.data for char in chars)


def _span(char: Char, text: str, colours: Mapping[str, str]) -> str:
    fore, back = (char.bg, char.fg) if char.reverse else (char.fg, char.bg)
    marks = {"b": char.bold, "i": char.italics, "u": char.underscore, "f": char.blink}
    names = " ".join(name for name, on in marks.items() if on)
    style = f"color:{_colour(fore, colours, 'default')}" if fore != "default" else ""
    style += f";background:{_colour(back, colours, 'paper')}" if back != "default" else ""
    return f'<span class="{names}" style="{style}">{escape(text)}</span>' if names or style else escape(text)


def _colour(name: str, colours: Mapping[str, str], default: str) -> str:
    name = name.removeprefix("bright")
    if name == "default":
        return colours[default]
    return colours.get(name) or f"#{name}"
