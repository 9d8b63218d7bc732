"""Check a wheel before its release, without a GPU.

The checks find what is promised and missing, and what is damaged.

    hatch-cuda-kernels verify dist/mylib-1.0-py3-none-any.whl
    hatch-cuda-kernels verify dist/mylib-1.0-py3-none-any.whl --rebuild
    hatch-cuda-kernels verify mylib --supports-devices 8.0 9.0 --max-size 5MB
    hatch-cuda-kernels verify mylib --requests trace.jsonl --gpus "9.0@13.0"
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels import store
from hatch_cuda_kernels.cli.messages import CommandResult, add_json, diff_of
from hatch_cuda_kernels.cli.parser import (
    Arguments,
    CommandParser,
    add_package,
    byte_count,
    cuda_version,
    device,
    manifest_path,
)
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.names import listed_module
from hatch_cuda_kernels.terminal import count_text, list_text, paint_matches, printable, text_table, wrap

if TYPE_CHECKING:
    from hatch_cuda_kernels.proof import Gpu, Proof
    from hatch_cuda_kernels.store import StoreReader
    from hatch_cuda_kernels.verify import Verification


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    add_package(parser)
    parser.option("--supports-devices", "X.Y", "compute capabilities to prove", type=device, nargs="+")
    parser.option("--driver", "X.Y", "oldest CUDA driver to prove them for", type=cuda_version)
    parser.option("--max-spill-bytes", "SIZE", "maximum bytes a kernel may spill", type=byte_count)
    text = "maximum of the wheel, such as 5MB, or of the store without one"
    parser.option("--max-size", "SIZE", text, type=byte_count)
    parser.flag("--rebuild", "build the store again and compare every file")
    parser.option("--keep", "DIR", "leave both stores of --rebuild in a new folder", type=Path)
    parser.option("--skip", "CHECK", "skip a check; repeatable", action="append", default=[])
    text = "prove that every request of a trace gets a prebuilt image (HATCH_CUDA_KERNELS_TRACE)"
    parser.option("--requests", "TRACE", text, type=Path)
    text = (
        "for these: X.Y@X.Y, compute capability and CUDA version of the driver, with commas (default: what is promised)"
    )
    parser.option("--gpus", "LIST", text, type=gpu_list)
    parser.option("--manifest", "MANIFEST", "with --requests: what the patch is for (default: as for check)")
    add_json(parser)


def run(args: Arguments) -> CommandResult:
    """Print every check with its problems. The status is 1 if there are any."""
    from hatch_cuda_kernels.verify import Demands, verify_store  # one command needs it

    demands = Demands(
        devices=tuple(args.supports_devices or ()),
        driver=args.driver,
        max_spill_bytes=args.max_spill_bytes,
        max_size=args.max_size,
        rebuild=args.rebuild,
        keep=args.keep,
        skip=frozenset(args.skip),
    )
    wheel = Path(args.package) if args.package.endswith(".whl") else None
    with store.open_package(args.package) as reader:
        verification = verify_store(reader, demands, wheel=wheel)
        proof = _proven(args, reader)
    if proof is not None:
        verification.results["requests"] = proof.outcome
    checks = [{"check": name, **outcome.to_json()} for name, outcome in verification.results.items()]
    data = {"package": args.package, "ok": verification.ok, "checks": checks}
    text = wrap("\n".join(_lines(verification, args.package)), 24)
    lines = [paint_matches(text, "^failed|^.*: failed, .*", "red", sys.stdout)]
    if proof is not None:
        patch = where = ""
        if proof.manifest is not None and proof.promotion is not None:
            patch, where = diff_of(proof.manifest, proof.promotion.before, proof.promotion.after)
        data |= {**proof.to_json(), "patch": patch}
        lines += filter(None, (*_proof_lines(proof), where, patch.removesuffix("\n")))
    return CommandResult(data, "\n".join(lines), verification.ok)


def _lines(verification: Verification, package: str) -> Iterator[str]:
    """Yield one line for each check, its problems below it, and the verdict."""
    for check, outcome in verification.results.items():
        what = re.sub(r"s\b", "", outcome.what, count=1) if outcome.checked == 1 else outcome.what
        looked_at = outcome.skipped or f"{outcome.checked:,} {what}"
        found = f", {count_text(len(outcome.problems), 'problem')}" if outcome.problems else ""
        yield f"{outcome.state:8} {check:14} {looked_at}{found}"
        for problem in outcome.problems:
            yield f"    {problem._replace(fix='')}"
            yield f"        to fix: {problem.fix}"
    failed = f"failed, {count_text(len(verification.problems), 'problem')}"
    yield f"{package}: {'ok' if verification.ok else failed}"


def gpu_list(text: str) -> tuple[Gpu, ...]:
    """Return the GPUs of ``9.0@13.0, 12.0@12.9``. Raises ArgumentTypeError for anything else."""
    from hatch_cuda_kernels import proof  # one option needs it

    found: dict[Gpu, None] = {}
    for part in text.replace(",", " ").split():
        capability, sign, driver = part.partition("@")
        if not sign:
            raise ArgumentTypeError(f"{part!r} names no driver; write GPUs like 9.0@13.0")
        found[proof.Gpu(device(capability), cuda_version(driver))] = None
    if not found:
        raise ArgumentTypeError("no GPU is named; write them like 9.0@13.0")
    return tuple(found)


def _proven(args: Arguments, reader: StoreReader) -> Proof | None:
    """Return the proof that the command asks for, if it does. Raises InputError for a trace that proves nothing."""
    if args.requests is None:
        if args.gpus:
            raise InputError("--gpus says where requests are made: name their trace with --requests")
        return None
    from hatch_cuda_kernels.proof import prove  # as above

    return prove(args.package, reader, args.requests, args.gpus or (), lambda: manifest_path(args))


def _proof_lines(proof: Proof) -> Iterator[str]:
    """Yield a table of the requests that lack an image, and what was not judged."""
    if proof.failed:
        headings = ("request", "module", *(str(each.gpu) for each in proof.failed[0][1]))
        rows = [(one.kernel, listed_module(one.module), *map(str, found)) for one, found in proof.failed]
        yield text_table(headings, [*dict.fromkeys(rows)])  # a kernel may have been asked for by two names
    for package in dict.fromkeys(one.package for one in proof.others):
        names = [*dict.fromkeys(one.kernel for one in proof.others if one.package == package)]
        what = f"{count_text(len(names), 'kernel')} of {package or 'no package'}: {list_text(names)}"
        yield printable(f"not judged: {what}")
    yield from map(printable, proof.notes)
