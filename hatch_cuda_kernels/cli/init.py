"""Set up the project here, or create one in an empty folder.

It adds what is missing and never overwrites a file.

    hatch-cuda-kernels init
    hatch-cuda-kernels init --name mylib
    hatch-cuda-kernels init --backend hatchling
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels.cli.messages import CommandResult, add_json
from hatch_cuda_kernels.terminal import wrap

if TYPE_CHECKING:
    from hatch_cuda_kernels.cli.parser import Arguments, CommandParser


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.option("--name", "NAME", "name of a new project (default: the folder's)")
    text = "have Hatch build the project, in place of what builds it now"
    parser.add_argument("--backend", choices=("hatchling",), help=text)
    add_json(parser)


def run(args: Arguments) -> CommandResult:
    """Write what is missing and say what was written."""
    from hatch_cuda_kernels.plugin import find_package  # needs the build extra
    from hatch_cuda_kernels.scaffold import scaffold

    done = scaffold(Path.cwd(), args.name, find_package=find_package, hatch=args.backend is not None)
    lines = [f"{what} {name}" for what, names in (("created", done.created), ("kept", done.kept)) for name in names]
    lines += [f"added to {change}" for change in done.changed]
    lines += [wrap(f"note: {note}", 2) for note in done.notes]
    lines += [step if step.startswith(" ") else wrap(f"to do: {step}", 2) for step in done.steps]
    lines.append("\n  ".join(["next:", *done.next]) if done.next else "nothing to do: this project is set up")
    return CommandResult({name: list(value) for name, value in done._asdict().items()}, "\n".join(lines))
