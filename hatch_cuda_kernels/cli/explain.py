"""Show which image a kernel gets, and why not another one.

It answers for the device here or for a hypothetical one, and compiles nothing.

    hatch-cuda-kernels explain saxpy --package mylib
    hatch-cuda-kernels explain saxpy --package mylib --arch sm_120 --driver 12.8
    hatch-cuda-kernels explain scale --package mylib --axis T=half --axis N=4
"""

from __future__ import annotations

import sys

from hatch_cuda_kernels.cli.messages import CommandResult, add_json
from hatch_cuda_kernels.cli.parser import Arguments, CommandParser, add_package, arch_text, axis_value, cuda_version
from hatch_cuda_kernels.errors import DriverError, InputError
from hatch_cuda_kernels.terminal import paint_matches, wrap


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.option("kernel", "KERNEL", "its name, such as saxpy or 'block_sum<float, 256>'")
    add_package(parser, name="--package")
    parser.option("--arch", "sm_NN", "a hypothetical device (default: the device here)", type=arch_text)
    parser.option("--driver", "X.Y", "CUDA version of a hypothetical driver", type=cuda_version)
    parser.option("--policy", "P", "compatible (default), exact or prebuilt", default="compatible")
    parser.option("--module", "NAME", "the module, if several have the kernel")
    words = "a value of an axis in the module's name; once for each axis. Then --module is the name without axes"
    parser.option("--axis", "AXIS=VALUE", words, type=axis_value, action="append", default=[])
    add_json(parser)


def run(args: Arguments) -> CommandResult:
    """Print every candidate with its reason. The status is 1 if none is accepted."""
    from hatch_cuda_kernels.load import store_of  # no other command needs it
    from hatch_cuda_kernels.store import open_package

    axes = dict(args.axis)
    if len(axes) < len(args.axis):
        raise InputError("--axis states an axis twice; write each once")
    with open_package(args.package) as reader:
        store, facts = store_of(reader), {"arch": args.arch, "driver": args.driver, "policy": args.policy}
        try:
            if axes:
                module = store.module(args.module or args.kernel, **axes)
                explanation = module.explain(args.kernel, **facts)
            else:
                explanation = store.explain(args.kernel, module=args.module, **facts)
        except DriverError as error:
            problem = error.name if error.code < 0 else str(error)
            raise InputError(f"{problem}\n  to fix: name a device to explain for, such as --arch sm_90") from error
    text = paint_matches(wrap(str(explanation), 8), r"^ -> .*(\n {8}.*)*", "bold", sys.stdout)
    return CommandResult(explanation.to_json(), text, explanation.chosen is not None)
