"""Print the JSON Schema of kernels.yaml.

Editors use it to check and complete a manifest.

    hatch-cuda-kernels schema > kernels.schema.json
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.cli.messages import add_json, print_json

if TYPE_CHECKING:
    import argparse

    from hatch_cuda_kernels.cli.parser import CommandParser


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    add_json(parser)


def run(args: argparse.Namespace) -> int:  # noqa: ARG001 - a schema is JSON either way
    """Print the schema."""
    from hatch_cuda_kernels.manifest import manifest_schema  # needs the build side

    print_json(manifest_schema())
    return 0
