"""The parser of a command: help with a description and examples, guesses at what was mistyped, errors as JSON."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
import textwrap
from typing import TYPE_CHECKING, Any, Final, NoReturn

from hatch_cuda_kernels.cli.help import describe, page_of
from hatch_cuda_kernels.cli.messages import show_error, show_hint
from hatch_cuda_kernels.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CommandParser", "ShowVersion"]

_WIDTH: Final = 78
_CHOICE: Final = re.compile(
    r"(?:argument (?P<argument>[^:]+): )?invalid choice: '(?P<given>.*)' \(choose from (?P<known>.*)\)"
)
#: As in ``terminal``: what can be read on white and on black.
_STYLES: Final = {
    "argparse.groups": "bold",
    "argparse.prog": "bold",
    "argparse.args": "magenta",
    "argparse.metavar": "default",
}
_HEADING: Final = r"(?m)^(?P<groups>[a-z ]+:)$"
_PLACE_OF_COMMANDS: Final = ("command", "action")
_NO_COMMAND: Final = tuple(f"are required: {place}" for place in _PLACE_OF_COMMANDS)


class ShowVersion(argparse.Action):
    """Prints the version, which no other command has to look up, and exits."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        options["help"] = "show program's version number and exit"
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        """Print and exit."""
        from hatch_cuda_kernels import __version__  # looks through the installed packages

        print(f"{parser.prog} {__version__}")
        parser.exit()


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose texts are in ``help``, by the words of the command."""

    def __init__(self, **options: Any) -> None:
        options |= {"formatter_class": _formatter, "allow_abbrev": False}
        super().__init__(**options)
        self._positionals.title = "arguments"
        self.words = self.prog.partition(" ")[2]
        text, self._examples = describe(self.words)
        self.description = textwrap.fill(text, _WIDTH)
        self.add_argument("-q", "--quiet", action="store_true", default=argparse.SUPPRESS, help="print errors only")
        self.add_argument(
            "-v",
            "--verbose",
            action="store_true",
            default=argparse.SUPPRESS,
            help="show compilers' options, and where errors were raised",
        )

    def add_subparsers(self, **options: Any) -> Any:  # argparse gives the type a private name
        """Add commands below this one, without asking the formatter of the help for their name."""
        return super().add_subparsers(**{"prog": self.prog, **options})

    def list_commands(self, groups: Mapping[str, Mapping[str, str]]) -> None:
        """Put commands, each with what it does, into the help, below the headings of their groups."""
        widest = max(len(name) for commands in groups.values() for name in commands)
        lines = []
        for heading, commands in groups.items():
            listed = (f"  {name:{widest}}  {text}" for name, text in commands.items())
            lines += ["", f"{heading}:", *listed]
        self.description = "\n".join([self.description or "", *lines])

    def format_help(self) -> str:
        """Return the help, which ends with examples and with where to read on."""
        self.epilog = "\n".join(
            ["examples:", *(f"  {example}" for example in self._examples), "", f"documentation: {page_of(self.words)}"]
        )
        return super().format_help()

    def parse_known_args(  # type: ignore[override]  # typeshed has overloads that say no more
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """Parse, and refuse in this command's name what it does not know."""
        self._given = list(sys.argv[1:] if args is None else args)
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._refuse(unknown[0])
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and what was meant, and exit with 2; without a command, show the help."""
        if message.endswith(_NO_COMMAND) and "--json" not in self._given:
            self.print_help(sys.stderr)
            self.exit(2)
        choice = _CHOICE.fullmatch(message)
        if choice is None:
            self._end(message, f"see {self.prog} --help")
        known = re.findall(r"[\w.-]+", choice["known"])
        if choice["argument"] in _PLACE_OF_COMMANDS:
            command = f"{self.words} {choice['given']}".strip()
            self._end(f"there is no command {command!r}", _guess(choice["given"], known) or f"see {self.prog} --help")
        message = f"argument {choice['argument']}: {choice['given']!r} is not one of {', '.join(known)}"
        self._end(message, _guess(choice["given"], known) or f"see {self.prog} --help")

    def _refuse(self, word: str) -> NoReturn:
        option = word.partition("=")[0]
        if not option.startswith("-"):
            self._end(f"unexpected argument {word!r}", f"see {self.prog} --help")
        own = [name for name in self._option_string_actions if name.startswith("--")]
        self._end(f"there is no option {option!r}", _guess(option, own) or f"see {self.prog} --help")

    def _end(self, message: str, hint: str) -> NoReturn:
        show_error(message)
        show_hint(hint)
        if "--json" in getattr(self, "_given", ()):
            print_json({"problems": [message]})
        self.exit(2)


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Return rich's formatter; argparse's own without the build extra, or with ``NO_COLOR``, which bold is, too."""
    if os.environ.get("NO_COLOR"):
        return argparse.RawDescriptionHelpFormatter(prog)
    try:
        from rich_argparse import RawDescriptionRichHelpFormatter as Rich  # most runs print no help
    except ImportError:
        return argparse.RawDescriptionHelpFormatter(prog)
    Rich.group_name_formatter = str  # as argparse writes it
    Rich.styles |= _STYLES
    Rich.highlights = [*Rich.highlights, _HEADING]
    Rich.text_markup = Rich.help_markup = False  # what is in brackets is no colour
    return Rich(prog)


def _guess(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else ""
