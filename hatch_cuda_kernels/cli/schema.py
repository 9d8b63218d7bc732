"""``schema``: the JSON Schema of kernels.yaml, for editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.cli.messages import add_json, print_json

if TYPE_CHECKING:
    import argparse


def register(commands: Any, name: str) -> None:  # argparse names no type for it
    """Add the command."""
    parser = commands.add_parser(name, help="print the JSON Schema of kernels.yaml")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:  # noqa: ARG001 - a schema is JSON either way
    """Print the schema."""
    from hatch_cuda_kernels.manifest import manifest_schema  # needs the build side

    print_json(manifest_schema())
    return 0
