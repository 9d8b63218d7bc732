"""Compile CUDA C++ kernels into Python wheels, and say what is in a wheel.

Further commands say which image a device gets, and what is wrong. Begin with init in the folder of a project, or in an
empty folder.

    hatch-cuda-kernels init
    hatch-cuda-kernels check
    hatch-cuda-kernels build
    hatch-cuda-kernels explain saxpy --package mylib --arch sm_90
    hatch-cuda-kernels doctor
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path

from hatch_cuda_kernels.cli.messages import (
    CommandResult,
    is_quiet,
    print_json,
    show_error,
    show_hint,
    show_note,
    show_warning,
)
from hatch_cuda_kernels.cli.parser import CommandParser, ShowVersion, add_command, help_of
from hatch_cuda_kernels.compiler.toolchain import own, pip_install
from hatch_cuda_kernels.errors import BuildError, HatchCudaKernelsError, InputError, ManifestError

#: Commands in the groups and the order of the help. Each is the module of its name, whose docstring is the help, or
#: the class of its name in another's module.
_GROUPS = {
    "begin": ("init", "port", "vendor"),
    "build": ("check", "build", "embed"),
    "look into a wheel": ("inspect", "explain", "verify", "report", "compare"),
    "what was compiled at run time": ("cache", "promote"),
    "this machine": ("doctor", "schema", "completion"),
}

_MODULES = {"embed": "vendor"}

#: Packages that a command may lack, and the extra that installs them.
_EXTRAS = {
    **dict.fromkeys(("hatchling", "packaging", "rich", "shtab", "tomlkit", "yaml"), "build"),
    **dict.fromkeys(("jinja2", "markupsafe", "vl_convert"), "report"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    0: done. 1: the answer is no, or something failed. 2: the input cannot be used. 130: interrupted.
    """
    try:
        with _whole_process() if argv is None else nullcontext():
            return _run(argv)
    except BrokenPipeError:
        sys.stderr.close()  # the reader is gone; Python would report it again at exit
        return 1


def _run(argv: Sequence[str] | None) -> int:
    args = make_parser(sys.argv[1:] if argv is None else argv).parse_args(argv)
    if argv is None:  # else the Python program that calls this shows them
        warnings.showwarning = partial(_warn, args)
    try:
        return _show(args, args.run(args))
    except HatchCudaKernelsError as error:
        _fail(args, error)
        return 2 if isinstance(error, InputError) else 1
    except ModuleNotFoundError as error:
        name = _EXTRAS.get((error.name or "").partition(".")[0])
        if name is None:
            raise
        show_error(f"{error.name} is missing")
        show_hint(pip_install(own(name)))
        return 1
    except KeyboardInterrupt:
        return 130


@contextmanager
def _whole_process() -> Iterator[None]:
    """Treat the process as one that does nothing else, and give back afterwards what was changed.

    Any text is printed: to nowhere where a stream is closed, in escapes where its encoding lacks a character. What
    exists at the end is passed over when Python looks for cycles again, as it does when the process ends.
    """
    with ExitStack() as stack:
        stack.callback(setattr, warnings, "showwarning", warnings.showwarning)
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is None:
                stack.callback(setattr, sys, name, None)
                setattr(sys, name, stack.enter_context(Path(os.devnull).open("w", encoding="utf-8")))
            elif isinstance(stream, TextIOWrapper):
                stack.callback(stream.reconfigure, errors=stream.errors)
                stream.reconfigure(errors="backslashreplace")
        # The process ends before the little that is in circles matters, and to look for it takes long.
        if gc.isenabled():
            stack.callback(gc.enable)
            stack.callback(gc.freeze)
            gc.disable()
        yield


def make_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command that the arguments begin with; without one, the parser of all commands."""
    parser = CommandParser(
        prog="hatch-cuda-kernels", usage="%(prog)s [options] command ...", text=help_of(sys.modules[__name__])
    )
    parser.add_argument("--version", action=ShowVersion)
    commands = parser.add_subparsers(metavar="command", required=True, help=argparse.SUPPRESS)
    every = [name for names in _GROUPS.values() for name in names]
    asked = [name for name in every if name in argv[:1]]
    for name in asked or every:
        module = import_module(f"{__name__}.{_MODULES.get(name, name)}")
        command = vars(module).get(name.capitalize(), module)
        command.add_arguments(
            add_command(commands, name, help_of(command), getattr(command, "run", None))
        )  # cache has actions to run
    if not asked:
        parser.list_commands(_GROUPS, commands)
    return parser


def _warn(args: argparse.Namespace, message: Warning | str, *_: object) -> None:
    """Show a warning without the line of this program's code, which means nothing to users."""
    if not is_quiet(args):
        show_warning(message)


def _show(args: argparse.Namespace, answer: CommandResult) -> int:
    """Print an answer for people or, with ``--json``, for programs, and return its exit status."""
    if getattr(args, "json", False):
        print_json(answer.data)
    elif not is_quiet(args):
        if answer.text:
            print(answer.text.removesuffix("\n"))
        for note in answer.notes:
            show_note(note)
    for problem in answer.problems:
        show_error(problem, root=_root(args))
    return 0 if answer.ok else 1


def _root(args: argparse.Namespace) -> Path | None:
    """Return the folder that places in a manifest are relative to, if a command has a manifest."""
    manifest = getattr(args, "manifest", None)
    return None if manifest is None else Path(manifest).parent


def _fail(args: argparse.Namespace, error: HatchCudaKernelsError) -> None:
    """Print the error for people and, with ``--json``, for programs."""
    verbose = getattr(args, "verbose", False)
    if verbose:
        import traceback  # most errors are the user's

        traceback.print_exception(error)
    show_error(str(error), root=_root(args), verbose=verbose)
    if getattr(args, "json", False):
        problems = error.problems if isinstance(error, ManifestError | BuildError) else (str(error),)
        print_json({**getattr(args, "failed", {}), "problems": list(problems)})
