"""The command line: one command a file, each imported only when it runs.

Exit status 0: done. 1: the answer is no, or something failed. 2: the input cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from hatch_cuda_kernels import __version__
from hatch_cuda_kernels.errors import HatchCudaKernelsError, InputError
from hatch_cuda_kernels.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

#: Command and its module, in the order the help lists them.
_COMMANDS = {
    "init": "init",
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

#: What a command may lack, and the extra that brings it.
_EXTRAS = {
    **dict.fromkeys(("hatchling", "packaging", "rich", "tomlkit", "yaml"), "build"),
    **dict.fromkeys(("jinja2", "markupsafe", "vl_convert"), "report"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    args = _parser().parse_args(argv)
    try:
        return int(args.run(args))
    except InputError as error:
        print(printable(str(error), lines=True), file=sys.stderr)
        return 2
    except HatchCudaKernelsError as error:
        print(printable(str(error), lines=True), file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        print(f'{error.name} is missing: python3 -m pip install "hatch-cuda-kernels[{extra}]"', file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone; Python would complain again at exit
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hatch-cuda-kernels", description="Build, look into and explain stores of CUDA kernels."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    for name, module in _COMMANDS.items():
        import_module(f"{__name__}.{module}").register(commands, name)
    return parser
