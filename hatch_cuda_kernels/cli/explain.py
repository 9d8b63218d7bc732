"""``explain``: the ladder for one kernel, on this device or an imagined one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.cli.output import add_json, open_any, print_json
from hatch_cuda_kernels.errors import DriverError, InputError

if TYPE_CHECKING:
    import argparse


def register(commands: Any, name: str) -> None:  # argparse names no type for it
    """Add the command."""
    parser = commands.add_parser(name, help="say which image a kernel gets, and why not another")
    parser.add_argument("kernel", metavar="KERNEL")
    parser.add_argument("--package", required=True, metavar="PACKAGE", help="store folder, wheel or import name")
    parser.add_argument("--arch", metavar="sm_NN", help="an imagined device (default: the device here)")
    parser.add_argument("--driver", metavar="X.Y", help="CUDA version of an imagined driver")
    parser.add_argument("--policy", default="compatible", metavar="P", help="compatible (default), exact or prebuilt")
    parser.add_argument("--module", metavar="NAME", help="where several modules have the kernel")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print every candidate with its reason; 1 when none is left."""
    with open_any(args.package) as store:
        try:
            explanation = store.explain(
                args.kernel, arch=args.arch, driver=_release(args.driver), policy=args.policy, module=args.module
            )
        except DriverError as error:
            raise InputError(f"{error}\nname a device to explain for: --arch sm_90") from error
    if args.json:
        print_json(explanation.to_json())
    else:
        print(explanation)
    return 0 if explanation.chosen is not None else 1


def _release(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)\.(\d+)", text)
    if match is None:
        raise InputError(f"--driver {text}: write a CUDA version such as 13.0")
    return int(match[1]), int(match[2])
