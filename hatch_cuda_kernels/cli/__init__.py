"""The command line: each command in a file of its own, whose imports wait until it runs.

Exit status 0: done. 1: the answer is no, or something failed. 2: the input cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from hatch_cuda_kernels import __version__
from hatch_cuda_kernels.compiler.toolchain.packages import extra, pip_install
from hatch_cuda_kernels.errors import HatchCudaKernelsError, InputError
from hatch_cuda_kernels.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

#: Commands and their modules, in the order of the help.
_COMMANDS = {
    "init": "init",
    "port": "port",
    "check": "check",
    "build": "build",
    "inspect": "inspect",
    "explain": "explain",
    "verify": "verify",
    "report": "report",
    "cache": "cache",
    "promote": "promote",
    "doctor": "doctor",
    "schema": "schema",
}

#: Packages that a command may lack, and the extra that installs them.
_EXTRAS = {
    **dict.fromkeys(("hatchling", "packaging", "rich", "tomlkit", "yaml"), "build"),
    **dict.fromkeys(("jinja2", "markupsafe", "vl_convert"), "report"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    args = _parser(sys.argv[1:] if argv is None else argv).parse_args(argv)
    try:
        return int(args.run(args))
    except InputError as error:
        print(printable(str(error), lines=True), file=sys.stderr)
        return 2
    except HatchCudaKernelsError as error:
        print(printable(str(error), lines=True), file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        name = _EXTRAS.get((error.name or "").partition(".")[0])
        if name is None:
            raise
        print(f"{error.name} is missing: {pip_install(extra(name))}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()  # the reader is gone; Python would report it again at exit
        return 1
    except KeyboardInterrupt:
        return 130


def _parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command that the arguments begin with; of all commands, if that is none."""
    parser = argparse.ArgumentParser(
        prog="hatch-cuda-kernels", description="Build, inspect and explain stores of CUDA kernels."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    for name in {*argv[:1]} & _COMMANDS.keys() or _COMMANDS:
        import_module(f"{__name__}.{_COMMANDS[name]}").register(commands, name)
    return parser
