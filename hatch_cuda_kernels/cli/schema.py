"""Print the JSON Schema of kernels.yaml.

Editors use it to check and complete a manifest.

    hatch-cuda-kernels schema > kernels.schema.json
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hatch_cuda_kernels import manifest
from hatch_cuda_kernels.cli.messages import CommandResult, add_json

if TYPE_CHECKING:
    from hatch_cuda_kernels.cli.parser import Arguments, CommandParser


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    add_json(parser)


def run(_: Arguments) -> CommandResult:
    """Return the schema."""
    schema = manifest.manifest_schema()
    return CommandResult(schema, json.dumps(schema, indent=2))
