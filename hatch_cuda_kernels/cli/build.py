"""Compile the manifest into a folder, without building a wheel.

hatch-cuda-kernels build
hatch-cuda-kernels build --arch sm_90
hatch-cuda-kernels build --out store --jobs 4
hatch-cuda-kernels build --executor dask:tcp://scheduler:8786
"""

from __future__ import annotations

import contextlib
from argparse import ArgumentTypeError
from pathlib import Path

from hatch_cuda_kernels import pool
from hatch_cuda_kernels.arch import SmArch, cuda_release_for_arch
from hatch_cuda_kernels.cli.messages import CommandResult, add_json, is_quiet, show_warning
from hatch_cuda_kernels.cli.parser import Arguments, CommandParser, add_manifest, arch_text, manifest_path
from hatch_cuda_kernels.environment import EXECUTOR
from hatch_cuda_kernels.store import STORE_FOLDER


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    add_manifest(parser)
    parser.option("--out", "DIR", f"store folder (default: {STORE_FOLDER} here)", type=Path)
    text = "only for these architectures, for a first try (default: those of the manifest)"
    parser.option("--arch", "ARCH", text, type=_arch, nargs="+", default=[])
    parser.option("--jobs", "N", "parallel compiles on this machine (default: all cores)", type=_positive)
    text = f"where to compile (default: {EXECUTOR}, else process)"
    parser.option("--executor", "process|dask:ADDRESS", text, type=_executor)
    add_json(parser)


def run(args: Arguments) -> CommandResult:
    """Build the store and print what it holds."""
    from hatch_cuda_kernels.build import build_store, render_report  # loads NVRTC
    from hatch_cuda_kernels.manifest import load_manifest  # needs yaml

    manifest = load_manifest(manifest_path(args))
    manifest = manifest.for_archs(args.arch) if args.arch else manifest
    out = (args.out or Path(STORE_FOLDER)).absolute()
    executor = pool.choose_executor(flag=args.executor)
    progress = None if is_quiet(args) else pool.open_progress()
    report = build_store(manifest, out, executor=executor, workers=args.jobs, progress=progress)
    for warning in () if is_quiet(args) else report.warnings:
        show_warning(warning)
    images = [
        {
            "module": entry.module,
            "arch": str(entry.arch),
            "kind": entry.kind,
            "bytes": len(entry.image),
            "seconds": entry.seconds,
            "compiled": entry.key in report.compiled,
        }
        for built in report.modules
        for entry in built.entries
    ]
    data = {"out": str(out), "seconds": round(report.seconds, 3), "images": images}
    return CommandResult(data, f"{render_report(report)}\nwritten to {out}")


def _arch(text: str) -> SmArch:
    with contextlib.suppress(ValueError):
        arch = SmArch.parse(arch_text(text))
        if any(cuda_release_for_arch(arch, major=major) for major in (12, 13)):
            return arch
    advice = "name the manifest before --arch" if text.endswith((".yaml", ".yml")) else "write it like sm_90"
    raise ArgumentTypeError(f"{text!r} is not an architecture that CUDA compiles for; {advice}")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def _executor(text: str) -> str:
    if not pool.is_executor(text):
        raise ArgumentTypeError(f"{text!r} is neither 'process' nor 'dask:ADDRESS'")
    return text
