"""The parser of the command line, arguments that several commands share, and the pages of ``--help``."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
import textwrap
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn

from hatch_cuda_kernels import manifest
from hatch_cuda_kernels.arch import ComputeCapability, SmArch, parse_version
from hatch_cuda_kernels.cli.messages import CommandResult, print_json, show_error, show_hint
from hatch_cuda_kernels.compiler.toolchain import documentation
from hatch_cuda_kernels.environment import parse_size

#: What the user gave a command.
Arguments = argparse.Namespace


def help_of(source: Any) -> str:  # a module, a class or a function
    """Return the docstring, which ``python -OO`` leaves in the source alone; empty where that is not there either."""
    if source.__doc__ is None and sys.flags.optimize > 1:
        import ast  # few run Python like this
        import inspect

        with suppress(OSError):
            tree = ast.parse(textwrap.dedent(inspect.getsource(source)))
            return ast.get_docstring(tree if inspect.ismodule(source) else tree.body[0]) or ""  # type: ignore[arg-type]
    return source.__doc__ or ""


def add_command(commands: Any, name: str, text: str, run: Callable[..., CommandResult] | None) -> CommandParser:
    """Add a command that runs a function. The text is its help; the list of commands shows the first line."""
    summary = text.partition("\n")[0].rstrip(".")
    parser: CommandParser = commands.add_parser(name, help=summary[:1].lower() + summary[1:], text=text)
    parser.set_defaults(run=run)
    return parser


def add_package(parser: CommandParser, *, name: str = "package", help: str = "") -> None:  # noqa: A002 - argparse's own word
    """Add the argument or option that names a package."""
    required = {"required": not help} if name.startswith("-") else {}
    parser.option(name, "PACKAGE", f"{help}wheel, folder or import name", **required)


def add_manifest(parser: CommandParser) -> None:
    """Add the argument that names a manifest."""
    text = "default: the kernels.yaml of this folder, or of the nearest one above"
    parser.option("manifest", "MANIFEST", text, nargs="?")


def manifest_path(args: Arguments) -> Path:
    """Return the manifest that the user named, or that is found from here. Raises InputError if there is none."""
    args.manifest = manifest.find_manifest(Path()) if args.manifest is None else Path(args.manifest)
    return Path(args.manifest)


def byte_count(text: str) -> int:
    """Return a number of bytes, given with or without a unit. Raises ArgumentTypeError for anything else."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def cuda_version(text: str) -> tuple[int, int]:
    """Return a CUDA version such as 13.0. Raises ArgumentTypeError for anything else."""
    try:
        return parse_version(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a CUDA version; write it like 13.0") from None


def arch_text(text: str) -> str:
    """Return an architecture as it is; ``sm_90`` for the compute capability ``9.0``."""
    found = re.fullmatch(r"([1-9][0-9]*)\.([0-9])", text)
    return f"sm_{found[1]}{found[2]}" if found else text


def axis_value(text: str) -> tuple[str, str]:
    """Return the axis and the value of ``T=float``. Raises ArgumentTypeError for anything else."""
    axis, sign, value = text.partition("=")
    if not sign or not axis.isidentifier():
        raise ArgumentTypeError(f"{text!r} is not an axis and a value; write them like T=float")
    return axis, value


def device(text: str) -> ComputeCapability:
    """Return the compute capability ``9.0``, which ``sm_90`` names too. Raises ArgumentTypeError for anything else."""
    try:
        return SmArch.parse(text).capability if text.startswith("sm_") else ComputeCapability.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


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
    """An argument parser that takes its help from a docstring: sentences, then examples of the command."""

    def __init__(self, *, text: str = "", **options: Any) -> None:
        options |= {"formatter_class": _formatter, "allow_abbrev": False}
        super().__init__(**options)
        self.suggest_on_error = False  # Python 3.15 would, in other words than ``error``
        self._positionals.title = "arguments"
        self.words = self.prog.partition(" ")[2]
        lines = [line.strip() for line in text.splitlines()]
        self._examples = [line for line in lines if line.startswith(self.prog)]
        self.description = textwrap.fill(" ".join(line for line in lines if line not in self._examples), _WIDTH)
        flag = {"action": "store_true", "default": argparse.SUPPRESS}
        self.add_argument("-q", "--quiet", help="print errors only", **flag)  # type: ignore[arg-type]
        text = "show compilers' options, and where errors were raised"
        self.add_argument("-v", "--verbose", help=text, **flag)  # type: ignore[arg-type]

    def option(self, name: str, metavar: str, text: str, **options: Any) -> None:
        """Add an option, or an argument, with a value."""
        self.add_argument(name, metavar=metavar, help=text, **options)

    def flag(self, name: str, text: str) -> None:
        """Add an option without a value."""
        self.add_argument(name, action="store_true", help=text)

    def add_subparsers(self, **options: Any) -> Any:  # argparse gives the type a private name
        """Add commands below this one, without asking the formatter of the help for their name."""
        return super().add_subparsers(**{"prog": self.prog, **options})

    def list_commands(self, groups: Mapping[str, Sequence[str]], commands: Any) -> None:
        """Put commands, each with what it does, into the help, below the headings of their groups."""
        texts = {listed.dest: listed.help or "" for listed in commands._choices_actions}  # noqa: SLF001 - argparse has no way in
        lines = [self.description]
        for heading, names in groups.items():
            lines += ["", f"{heading}:", *(f"  {name:{max(map(len, texts))}}  {texts[name]}" for name in names)]
        self.description = "\n".join(map(str, lines))

    def format_help(self) -> str:
        """Return the help, which ends with examples and with where to read on."""
        page = documentation("reference/cli", self.words.partition(" ")[0])
        examples = (f"  {example}" for example in self._examples)
        self.epilog = "\n".join(["examples:", *examples, "", f"documentation: {page}"])
        return super().format_help()

    def parse_known_args(  # type: ignore[override]  # typeshed has overloads that say no more
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """Parse, and report unknown arguments in this command's name."""
        self._given = list(sys.argv[1:] if args is None else args)
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            option = unknown[0].partition("=")[0]
            if not option.startswith("-"):
                self._end(f"unexpected argument {unknown[0]!r}")
            own = [name for name in self._option_string_actions if name.startswith("--")]
            self._end(f"there is no option {option!r}", option, own)
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Print the error with a suggestion, and exit with 2; without a command, show the help."""
        if message.endswith(_NO_COMMAND) and "--json" not in self._given:
            self.print_help(sys.stderr)
            self.exit(2)
        choice = _CHOICE.fullmatch(message)
        if choice is None:
            self._end(message)
        known = re.findall(r"[\w.-]+", choice["known"])
        if choice["argument"] in _PLACE_OF_COMMANDS:
            command = f"{self.words} {choice['given']}".strip()
            message = f"there is no command {command!r}"
        else:
            message = f"argument {choice['argument']}: {choice['given']!r} is not one of {', '.join(known)}"
        self._end(message, choice["given"], known)

    def _end(self, message: str, word: str = "", known: Sequence[str] = ()) -> NoReturn:
        """Print an error, with what ``word`` may have meant or else where to read on, and exit with 2."""
        near = difflib.get_close_matches(word, known, n=1)
        show_error(message)
        show_hint(f"did you mean {near[0]!r}?" if near else f"see {self.prog} --help")
        if "--json" in getattr(self, "_given", ()):
            print_json({"problems": [message]})
        self.exit(2)


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Return rich's formatter; argparse's own without the build extra, or with ``NO_COLOR``, which forbids bold too."""
    if os.environ.get("NO_COLOR"):
        return argparse.RawDescriptionHelpFormatter(prog)
    try:
        from rich_argparse import RawDescriptionRichHelpFormatter as Rich  # most runs print no help
    except ImportError:
        return argparse.RawDescriptionHelpFormatter(prog)
    return _styled(Rich)(prog)


@cache
def _styled(rich: type[argparse.HelpFormatter]) -> type[argparse.HelpFormatter]:
    """Return rich's formatter with the styles of this program; rich's own class is other programs', too."""
    styles, highlights = rich.styles | _STYLES, [*rich.highlights, _HEADING]  # type: ignore[attr-defined]
    group_name = staticmethod(str)  # as argparse writes it
    changed = {"group_name_formatter": group_name, "styles": styles, "highlights": highlights}
    return type("Formatter", (rich,), {**changed, "text_markup": False, "help_markup": False})  # brackets are text
