"""List the modules, kernels and images of a package.

hatch-cuda-kernels inspect dist/mylib-1.0-py3-none-any.whl
hatch-cuda-kernels inspect mylib --extract images
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels import report, store
from hatch_cuda_kernels.cli.messages import CommandResult, add_json
from hatch_cuda_kernels.cli.parser import Arguments, CommandParser, add_package
from hatch_cuda_kernels.compiler import FINISHER_NAMES
from hatch_cuda_kernels.compiler.toolchain import PackageRecord
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME
from hatch_cuda_kernels.names import values_text
from hatch_cuda_kernels.signature import parameters_of
from hatch_cuda_kernels.terminal import count_text, text_table, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator


_TOOLS: Final = {str(part): tool for part, tool in FINISHER_NAMES.items()} | {DEVICE_RUNTIME: DEVICE_RUNTIME}


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    add_package(parser)
    parser.option("--extract", "DIR", "write every image into a folder, for cuobjdump", type=Path)
    add_json(parser)


def run(args: Arguments) -> CommandResult:
    """Print every module with its kernels and images."""
    with store.open_package(args.package) as reader:
        data = store.list_contents(reader)
        files = report.file_sizes(args.package, reader.folder)
        report.add_packed(data, files)
        written = [] if args.extract is None else store.extract_images(reader, args.extract)
    rows = [
        (
            name,
            image["arch"],
            image["kind"],
            f"{image['bytes']:,}",
            f"{image['packed']:,}",
            *("" if image[figure] is None else str(image[figure]) for figure in ("registers", "spills")),
            image["sha256"][:12],
        )
        for name, module in data["modules"].items()
        for image in module["images"]
    ]
    headings = ("module", "arch", "kind", "bytes", "packed", "registers", "spills", "sha256")
    lines = [
        text_table(headings, rows, right=headings[3:7]),
        wrap(_totals(data, args.package, report.total_size(args.package, files)), 2),
        *(wrap("\n".join(["", *_module_lines(name, module)]), 6) for name, module in data["modules"].items()),
    ]
    if args.extract is not None:
        lines.append(f"\n{count_text(len(written), 'image')} written to {args.extract}")
    return CommandResult(data, "\n".join(lines))


def _module_lines(name: str, module: dict[str, Any]) -> Iterator[str]:
    """Yield the lines on a module: its tools, its axes, what it is linked from, and each kernel with its parameters."""
    toolchain = module["toolchain"]
    tools = [f"{tool} {toolchain[part]}" for part, tool in _TOOLS.items() if part in toolchain]
    made_by = ", ".join(filter(None, (*tools, toolchain.get("headers"))))
    yield f"{name}: {made_by}; packed {module['packed']:,} bytes with sources and index"
    if "family" in module:
        yield f"  {module['family']} with {values_text(module['axes'])}"
    for package in map(PackageRecord.from_json, module.get("packages", ())):
        yield f"  headers of {package}{package.license and f', {package.license}'}"
    if "sources" in module:
        yield f"  linked from {', '.join([*module['sources'], *module['libraries']])}"
    yield from (f"  {note}" for note in module.get("notes", ()))
    for kernel, symbol in module["kernels"].items():
        taken = parameters_of(symbol["params"], symbol.get("types", ()), symbol.get("names", ()))
        yield f"  {kernel}({', '.join(map(str, taken))})  {symbol['lowered']}"
        if "launch" in symbol:
            yield f"    {kernel}({', '.join(symbol['launch']['names'])}) has {symbol['launch']['sizes']}"


def _totals(data: dict[str, Any], package: str, size: int) -> str:
    """Return how many bytes all images take, and what share of the whole that is."""
    images = [image for module in data["modules"].values() for image in module["images"]]
    raw, packed = (sum(image[name] for image in images) for name in ("bytes", "packed"))
    whole = "the wheel's" if package.endswith(".whl") else "all files'"
    share = f", {packed / size * 100:.0f} % of {whole} {size:,} bytes" if size else ""
    counts = f"{count_text(len(images), 'image')} of {count_text(len(data['modules']), 'module')}"
    return f"{counts}: {raw:,} bytes, packed {packed:,}{share}"
