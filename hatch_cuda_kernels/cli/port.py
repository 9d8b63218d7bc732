"""Guard host code in existing sources, and draft their manifest.

The guards, printed as a patch, let NVRTC compile the sources as nvcc does.

    hatch-cuda-kernels port src/*.cu
    hatch-cuda-kernels port --include include --manifest kernels.yaml src/*.cu
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.cli.messages import CommandResult, add_json, unified_diff
from hatch_cuda_kernels.cli.parser import Arguments, CommandParser, arch_text
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.options import CppStd, NvrtcOptions
from hatch_cuda_kernels.terminal import count_text

if TYPE_CHECKING:
    from hatch_cuda_kernels.port import Ported


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.option("files", "FILE.cu", "sources below this folder", nargs="+")
    parser.option("--include", "DIR", "folder searched for headers", action="append", default=[])
    parser.option("--define", "NAME[=VALUE]", "macro to compile with", action="append", default=[])
    parser.option("--pre-include", "HEADER", "header to include before the source", action="append", default=[])
    parser.add_argument("--std", default="c++17", choices=("c++14", "c++17", "c++20"), help="default: %(default)s")
    parser.option("--output", "FILE.patch", "write the patch there", type=Path)
    parser.flag("--apply", "change the files, besides showing the patch")
    parser.option("--manifest", "FILE", "write the drafted manifest there", type=Path)
    parser.option("--arch", "sm_NN", "what NVRTC compiles for (default: %(default)s)", type=arch_text, default="sm_90")
    parser.flag("--no-patch", "change no file: each compile cuts the same host code")
    parser.flag("--no-compile", "do not ask NVRTC what else it refuses")
    add_json(parser)


def run(args: Arguments) -> CommandResult:
    """Print the patch. The status is 1 if NVRTC still refuses a source."""
    from hatch_cuda_kernels.port import port  # loads NVRTC

    if args.manifest is not None and args.manifest.exists():
        raise InputError(f"{args.manifest} exists already; name another file for the draft")
    try:
        arch = None if args.no_compile else SmArch.parse(args.arch)
    except ValueError as error:
        raise InputError(str(error)) from None
    sources, include = (
        [Path(os.path.relpath(path)).as_posix() for path in paths] for paths in (args.files, args.include)
    )
    define = tuple(
        (name, value if equals else None) for name, equals, value in (each.partition("=") for each in args.define)
    )
    before = tuple(args.pre_include)
    options = NvrtcOptions(include=tuple(include), define=define, std=CppStd(args.std), pre_include=before)
    ported = port(Path.cwd(), sources, options, arch=arch, patch=not args.no_patch)
    patch = "".join(unified_diff(path, ported.before[path], text) for path, text in ported.after.items())
    if args.output is not None:
        args.output.write_bytes(patch.encode())
    if args.manifest is not None:
        args.manifest.write_text(ported.manifest, encoding="utf-8")
    if args.apply:
        for path, text in ported.after.items():
            Path(path).write_bytes(text.encode())
    done, guards = "changed" if args.apply else "to change", count_text(len(ported.guards), "guard")
    notes = [*_notes(ported), f"{count_text(len(ported.after), 'file')} {done}, {guards}"]
    notes += [ported.manifest.removesuffix("\n")] if args.manifest is None else []
    # Only the patch is on standard output, so that it can be piped.
    text = "" if args.output is not None else patch
    return CommandResult(_data(ported, patch, applied=args.apply), text, not ported.remaining, notes)


def _notes(ported: Ported) -> list[str]:
    lines = [f"guarded: {guard}" for guard in ported.guards]
    lines += [f"note: {note}" for note in ported.notes]
    for template in ported.templates:
        shown = f"{template.name}<{', '.join(template.parameters)}>"
        lines.append(f"{template.path}:{template.line}: {shown} is a template: its instances go into the manifest")
    for launch in ported.launches:
        template_arguments = "" if launch.template is None else f"<{', '.join(launch.template)}>"
        configuration, arguments = ", ".join(launch.configuration or ()), ", ".join(launch.arguments)
        lines.append(f"{launch.path}:{launch.line}: {launch.kernel}{template_arguments}[{configuration}]({arguments})")
    return [*lines, *(f"NVRTC still refuses: {error}" for error in ported.remaining)]


def _data(ported: Ported, patch: str, *, applied: bool) -> dict[str, Any]:
    return {
        "guards": [guard._asdict() for guard in ported.guards],
        "templates": [_fields(template, "path", "line", "name", "parameters") for template in ported.templates],
        "launches": [
            _fields(launch, "path", "line", "kernel", "template", "configuration", "arguments", "meanings")
            | {"axes": dict(launch.axes)}
            for launch in ported.launches
        ],
        "notes": list(ported.notes),
        "remaining": list(ported.remaining),
        "manifest": ported.manifest,
        "diff": patch,
        "applied": applied,
    }


def _fields(found: NamedTuple, *names: str) -> dict[str, Any]:
    return {name: getattr(found, name) for name in names}
