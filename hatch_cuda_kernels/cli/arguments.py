"""Arguments that several commands share: packages, manifests, architectures, versions, sizes."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.sizes import parse_size
from hatch_cuda_kernels.versions import parse_version

if TYPE_CHECKING:
    import argparse

    from hatch_cuda_kernels.arch import ComputeCapability

__all__ = ["add_manifest", "add_package", "arch_text", "byte_count", "cuda_version", "device", "manifest_path"]

_PACKAGE_HELP: Final = "wheel, folder or import name"


def add_package(parser: argparse.ArgumentParser, *, name: str = "package", help: str = "") -> None:  # noqa: A002 - argparse's own word
    """Add the argument or option that names a package."""
    required = {"required": not help} if name.startswith("-") else {}
    parser.add_argument(name, metavar="PACKAGE", help=f"{help}{_PACKAGE_HELP}", **required)  # type: ignore[arg-type]  # one of argparse's many


def add_manifest(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a manifest."""
    parser.add_argument(
        "manifest", nargs="?", metavar="MANIFEST", help="default: the kernels.yaml of this folder or the next above"
    )


def manifest_path(args: argparse.Namespace) -> Path:
    """Return the manifest that the user named, or that is found from here. Raises InputError if there is none."""
    from hatch_cuda_kernels.manifest import find_manifest  # some commands need none

    args.manifest = find_manifest(Path()) if args.manifest is None else Path(args.manifest)
    return Path(args.manifest)


def byte_count(text: str) -> int:
    """Return a number of bytes, given with or without a unit. Raises ArgumentTypeError for anything else."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def cuda_version(text: str) -> tuple[int, int]:
    """Return a CUDA version such as 13.0. Raises ArgumentTypeError for anything else."""
    try:
        return parse_version(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a CUDA version; write it like 13.0") from None


def arch_text(text: str) -> str:
    """Return an architecture as it is; ``sm_90`` for the compute capability ``9.0``."""
    found = re.fullmatch(r"([1-9][0-9]*)\.([0-9])", text)
    return f"sm_{found[1]}{found[2]}" if found else text


def device(text: str) -> ComputeCapability:
    """Return the compute capability ``9.0``, which ``sm_90`` names too. Raises ArgumentTypeError for anything else."""
    from hatch_cuda_kernels.arch import ComputeCapability, SmArch  # some commands need neither

    try:
        return SmArch.parse(text).capability if text.startswith("sm_") else ComputeCapability.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
