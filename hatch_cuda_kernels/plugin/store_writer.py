"""Write a store: staged beside its place, put there whole, byte for byte the same from the same inputs."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.compiler.names import normalize_name
from hatch_cuda_kernels.image import INDEX_FILE, KERNELS_FILE, SOURCE_FOLDER, ImageRecord, ModuleIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.image import Symbol
    from hatch_cuda_kernels.plugin.plan import PlannedModule

__all__ = ["BuiltModule", "write_store"]


@dataclass(frozen=True, slots=True)
class BuiltModule:
    """A planned module and its images, in the plan's order."""

    planned: PlannedModule
    entries: tuple[Entry, ...]

    @property
    def kernels(self) -> tuple[Symbol, ...]:
        """Every kernel of any image, each once, in the order of the first image that has it."""
        found: dict[str, Symbol] = {}
        for entry in self.entries:
            for symbol in entry.kernels:
                known = found.get(symbol.lowered, symbol)
                found[symbol.lowered] = known._replace(params=tuple(map(_merge, known.params, symbol.params)))
        return tuple(found.values())


def _merge(one: str, other: str) -> str:
    """Return a parameter's type from two images: only some architectures' PTX tells pointers from integers."""
    return "ptr" if "ptr" in {one, other} else one


def write_store(out: Path, modules: Sequence[BuiltModule], *, root: Path, editable: dict[str, str] | None) -> None:
    """Replace the folder ``out`` with a store of these modules, or leave it as it was and raise OSError."""
    out.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        staged.chmod(0o755)
        _write_kernels(staged / KERNELS_FILE, modules)
        for built in modules:
            _write_module(staged / built.planned.module.name, built, root=root, editable=editable)
        if editable is not None:
            (staged / ".gitignore").write_text("*\n", encoding="utf-8")
        _replace(staged, out)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _replace(staged: Path, out: Path) -> None:
    """Put the staged folder in place. A folder cannot be renamed over another, so the old one steps aside first."""
    if not out.exists():
        staged.rename(out)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent)) / "old"
    out.rename(aside)
    try:
        staged.rename(out)
    except OSError:
        aside.rename(out)
        raise
    finally:
        shutil.rmtree(aside.parent, ignore_errors=True)


def _write_kernels(path: Path, modules: Iterable[BuiltModule]) -> None:
    lines = [
        "\t".join((key, built.planned.module.name, symbol.lowered, ",".join(symbol.params), symbol.name))
        for built in modules
        for key, symbol in _named_symbols(built)
    ]
    path.write_text("".join(f"{line}\n" for line in sorted(lines, key=str.encode)), encoding="utf-8")


def _named_symbols(built: BuiltModule) -> Iterable[tuple[str, Symbol]]:
    for symbol in built.kernels:
        yield normalize_name(symbol.name), symbol
    for symbol in built.entries[0].globals:
        yield f"&{normalize_name(symbol.name)}", symbol


def _write_module(folder: Path, built: BuiltModule, *, root: Path, editable: dict[str, str] | None) -> None:
    folder.mkdir()
    for entry in built.entries:
        (folder / _image_file(entry)).write_bytes(entry.image)
    for relative, _ in built.planned.closure.files:
        target = folder / SOURCE_FOLDER / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / relative, target)
    text = json.dumps(_index(built, editable).to_json(), indent=1, sort_keys=True)
    (folder / INDEX_FILE).write_text(f"{text}\n", encoding="utf-8")


def _index(built: BuiltModule, editable: dict[str, str] | None) -> ModuleIndex:
    module, job = built.planned.module, built.planned.jobs[0]
    everything = [symbol.lowered for symbol in built.kernels]
    return ModuleIndex(
        module=module.name,
        source=module.source,
        source_sha256=job.source_sha256,
        headers=module.headers,
        options=module.options.canonical(),
        names=job.names,
        globals=job.globals,
        patterns=tuple(_pattern(pattern) for pattern in module.patterns),
        toolchain=built.entries[0].toolchain,
        images=tuple(_record(entry, everything) for entry in built.entries),
        editable=editable,
    )


def _pattern(pattern: Any) -> dict[str, Any]:  # noqa: ANN401 - manifest.Pattern
    return {"pattern": pattern.text, "matrix": {name: list(values) for name, values in pattern.matrix}}


def _record(entry: Entry, everything: list[str]) -> ImageRecord:
    has = {symbol.lowered for symbol in entry.kernels}
    return ImageRecord(
        file=_image_file(entry),
        kind=entry.kind,
        arch=entry.arch,
        sha256=sha256(entry.image).hexdigest(),
        bytes=len(entry.image),
        ptx_isa=entry.ptx_isa,
        resources=entry.resources if entry.kind == "cubin" else {},
        lacks=tuple(lowered for lowered in everything if lowered not in has),
    )


def _image_file(entry: Entry) -> str:
    return f"{entry.module}.{entry.arch}.{entry.kind}"
