"""Print the script that completes commands in a shell.

hatch-cuda-kernels completion bash > ~/.hatch-cuda-kernels.bash
hatch-cuda-kernels completion zsh > ~/.zfunc/_hatch-cuda-kernels
hatch-cuda-kernels completion fish > ~/.config/fish/completions/hatch-cuda-kernels.fish
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.cli.messages import CommandResult

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from hatch_cuda_kernels.cli.parser import Arguments, CommandParser

#: Names of arguments that are files.
_FILES: Final = ("BUNDLE", "DIR", "FILE", "MANIFEST", "OLD", "PACKAGE")


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell to complete in")


def run(args: Arguments) -> CommandResult:
    """Print the script."""
    import shtab  # one command needs it

    from hatch_cuda_kernels.cli import make_parser

    parser = make_parser()
    _complete_files(parser, shtab.FILE)
    return CommandResult(None, shtab.complete(parser, shell=args.shell))


def _complete_files(parser: ArgumentParser, file: Any) -> None:
    """Complete files for arguments that are files, and commands in the first place."""
    for action in parser._actions:  # noqa: SLF001 - shtab itself reads a parser so
        if action.metavar is not None and str(action.metavar).startswith(_FILES):
            action.complete = file  # type: ignore[attr-defined]  # where shtab looks for it
        if isinstance(action.choices, dict):
            action.help = None  # what help does not list, shtab does not complete
            for sub in action.choices.values():
                _complete_files(sub, file)
