"""The parser of the command line, arguments that several commands share, and the pages of ``--help``."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
import textwrap
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from hatch_cuda_kernels.cli.messages import print_json, show_error, show_hint
from hatch_cuda_kernels.compiler.toolchain import documentation
from hatch_cuda_kernels.sizes import parse_size
from hatch_cuda_kernels.versions import parse_version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatch_cuda_kernels.arch import ComputeCapability


_PACKAGE_HELP: Final = "wheel, folder or import name"


def add_package(parser: argparse.ArgumentParser, *, name: str = "package", help: str = "") -> None:  # noqa: A002 - argparse's own word
    """Add the argument or option that names a package."""
    required = {"required": not help} if name.startswith("-") else {}
    parser.add_argument(name, metavar="PACKAGE", help=f"{help}{_PACKAGE_HELP}", **required)  # type: ignore[arg-type]  # one of argparse's many


def add_manifest(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a manifest."""
    parser.add_argument(
        "manifest", nargs="?", metavar="MANIFEST", help="default: the kernels.yaml of this folder or the next above"
    )


def manifest_path(args: argparse.Namespace) -> Path:
    """Return the manifest that the user named, or that is found from here. Raises InputError if there is none."""
    from hatch_cuda_kernels.manifest import find_manifest  # some commands need none

    args.manifest = find_manifest(Path()) if args.manifest is None else Path(args.manifest)
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


def device(text: str) -> ComputeCapability:
    """Return the compute capability ``9.0``, which ``sm_90`` names too. Raises ArgumentTypeError for anything else."""
    from hatch_cuda_kernels.arch import ComputeCapability, SmArch  # some commands need neither

    try:
        return SmArch.parse(text).capability if text.startswith("sm_") else ComputeCapability.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


_PROGRAM: Final = "hatch-cuda-kernels"

#: By the words of the command: what it does, and its examples without the program's name.
_TEXTS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "": (
        (
            "Compiles CUDA C++ kernels into Python wheels, and says what is in a wheel, which image a device gets, "
            "and what is wrong. Begin with init in the folder of a project, or in an empty one."
        ),
        ("init", "check", "build", "explain saxpy --package mylib --arch sm_90", "doctor"),
    ),
    "init": (
        (
            "Sets up the project here for kernels, or creates one in an empty folder. Adds what is missing and never "
            "overwrites a file."
        ),
        ("init", "init --name mylib", "init --backend hatchling"),
    ),
    "port": (
        (
            "Guards the host code of existing sources, as a patch, so that NVRTC compiles them as nvcc does, and "
            "drafts their manifest."
        ),
        ("port src/*.cu", "port --include include --manifest kernels.yaml src/*.cu"),
    ),
    "check": (
        (
            "Validates the manifest and lists every image with what a build would do: compile it, or take it from the "
            "disk cache. Compiles nothing."
        ),
        ("check", "check --json cuda/kernels.yaml"),
    ),
    "build": (
        "Compiles the manifest into a folder, without building a wheel.",
        ("build", "build --arch sm_90", "build --out store --jobs 4", "build --executor dask:tcp://scheduler:8786"),
    ),
    "inspect": (
        "Lists the modules, kernels and images of a wheel, a folder or an installed package.",
        ("inspect dist/mylib-1.0-py3-none-any.whl", "inspect mylib --extract images"),
    ),
    "explain": (
        ("Says which image a kernel gets on the device here or on another, and why not the others. Compiles nothing."),
        ("explain saxpy --package mylib", "explain saxpy --package mylib --arch sm_120 --driver 12.8"),
    ),
    "verify": (
        "Checks a wheel before its release, without a GPU: everything promised is in it, and nothing is damaged.",
        (
            "verify dist/mylib-1.0-py3-none-any.whl",
            "verify dist/mylib-1.0-py3-none-any.whl --rebuild",
            "verify mylib --supports-devices 8.0 9.0 --max-size 5MB",
        ),
    ),
    "report": (
        "Writes what a wheel holds and costs as an HTML page, and what changed since an older wheel.",
        ("report dist/new.whl", "report dist/new.whl --against old.whl --fail-on-regression"),
    ),
    "cache": (
        "Shows, trims, empties, exports or imports the disk cache of this user.",
        ("cache info", "cache prune --max-bytes 500MB"),
    ),
    "cache info": ("Shows where the disk cache is, and how much it holds.", ("cache info", "cache info --json")),
    "cache ls": ("Lists the images in the disk cache.", ("cache ls",)),
    "cache prune": (
        "Removes the least recently used images, down to the cap or to a size, and what crashed processes left.",
        ("cache prune", "cache prune --max-bytes 500MB"),
    ),
    "cache clear": (
        "Removes every image, and what is remembered of toolchains, headers and sources.",
        ("cache clear",),
    ),
    "cache export": (
        "Writes all images into a bundle, for another machine or a layer of a container.",
        ("cache export kernels.zip",),
    ),
    "cache import": ("Reads the images of a bundle into the disk cache.", ("cache import kernels.zip",)),
    "promote": (
        "Makes a patch for the manifest of what was compiled for a package on this machine at run time.",
        ("promote --package mylib", "promote --package mylib --apply"),
    ),
    "doctor": (
        "Shows what is installed here, what would work, and how to fix the rest.",
        ("doctor", "doctor --for build", "doctor --package mylib"),
    ),
    "schema": (
        "Prints the JSON Schema of the manifest, for editors.",
        ("schema > kernels.schema.json",),
    ),
    "completion": (
        "Prints the script with which a shell completes commands and options.",
        (
            "completion bash > ~/.hatch-cuda-kernels.bash",
            "completion zsh > ~/.zfunc/_hatch-cuda-kernels",
            "completion fish \\\n    > ~/.config/fish/completions/hatch-cuda-kernels.fish",
        ),
    ),
}


def _describe(words: str) -> tuple[str, list[str]]:
    """Return what a command does, and examples as the user types them. Raises KeyError for a command without a text."""
    text, examples = _TEXTS[words]
    return text, [f"{_PROGRAM} {example}" for example in examples]


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
    """An argument parser that takes its texts from ``_TEXTS``, by the words of the command."""

    def __init__(self, **options: Any) -> None:
        options |= {"formatter_class": _formatter, "allow_abbrev": False}
        super().__init__(**options)
        self._positionals.title = "arguments"
        self.words = self.prog.partition(" ")[2]
        text, self._examples = _describe(self.words)
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
            self._refuse(unknown[0])
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Print the error with a suggestion, and exit with 2; without a command, show the help."""
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
    """Return rich's formatter; argparse's own without the build extra, or with ``NO_COLOR``, which forbids bold too."""
    if os.environ.get("NO_COLOR"):
        return argparse.RawDescriptionHelpFormatter(prog)
    try:
        from rich_argparse import RawDescriptionRichHelpFormatter as Rich  # most runs print no help
    except ImportError:
        return argparse.RawDescriptionHelpFormatter(prog)
    Rich.group_name_formatter = str  # as argparse writes it
    Rich.styles |= _STYLES
    Rich.highlights = [*Rich.highlights, _HEADING]
    Rich.text_markup = Rich.help_markup = False  # brackets are text, not colours
    return Rich(prog)


def _guess(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else ""
