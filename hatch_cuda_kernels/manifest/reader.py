"""Reads ``kernels.yaml``: everything that can be wrong with it is found here, at once, before a compiler is loaded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from hatch_cuda_kernels.driver import native_archs
from hatch_cuda_kernels.errors import ManifestError
from hatch_cuda_kernels.includes import ProjectFiles
from hatch_cuda_kernels.manifest.keys import MANIFEST, check_placeholders, launch_rules
from hatch_cuda_kernels.manifest.kinds import Item, ManifestReading, Native, Scope, Spot, attempt, make_scope, table
from hatch_cuda_kernels.manifest.model import FRONT_ENDS, PACKINGS, Manifest, Module, Named, Pattern
from hatch_cuda_kernels.manifest.modules import exceeds_limit, expand_instances
from hatch_cuda_kernels.manifest.project import project_version
from hatch_cuda_kernels.manifest.yaml_text import read_tree
from hatch_cuda_kernels.options import NvrtcOptions, override_options
from hatch_cuda_kernels.store import ModuleFamily, Supports

_MANIFEST: Final = table("manifest", MANIFEST)

_Instances: TypeAlias = tuple[tuple[Named, ...], tuple[Pattern, ...]]


def load_manifest(
    path: Path | str, *, native: Native = native_archs, version: Callable[[], str] | None = None
) -> Manifest:
    """Read a manifest; its paths are relative to its folder. Raises ManifestError with all problems.

    It calls ``native`` for this machine's architectures, and ``version`` for the project's version, only if needed.
    """
    path = _absolute(path)
    try:
        data = path.read_bytes()
        text = data.decode()
    except OSError as error:
        raise ManifestError([f"{path.name}:1:1: manifest: cannot read {path}: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        wrong = f"byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise ManifestError([f"{path.name}:{line}:{column}: manifest: {wrong}"]) from None
    return _read(text, path, hashlib.sha256(data).hexdigest(), path.name, native, version)


def parse_manifest(
    text: str, *, root: Path | str, filename: str = "kernels.yaml", native: Native = native_archs
) -> Manifest:
    """Read a manifest's text as if it were a file in ``root``. Raises ManifestError with all problems."""
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return _read(text, _absolute(root) / filename, digest, filename, native, None)


def _absolute(path: Path | str) -> Path:
    """Drop ``..`` and keep symbolic links: callers compare the result with folders they have not resolved."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps "..", Path.resolve follows links


def _read(
    text: str, path: Path, sha256: str, filename: str, native: Native, version: Callable[[], str] | None
) -> Manifest:
    tree, problems = read_tree(text)
    find_version = version or partial(project_version, path.parent)
    reading = ManifestReading(filename, ProjectFiles(path.parent), find_version, problems)
    values = attempt(_MANIFEST, Spot(tree, "", tree.mark, reading)) if tree is not None else None
    if tree is None or values is None:
        raise ManifestError(reading.messages())
    modules: dict[str, Item] = values.get("modules") or {}
    usable = {name: module for name, module in modules.items() if module.value is not None}
    excess = exceeds_limit(module.value for module in usable.values())
    instances = {name: expand_instances(module.value, counted_only=excess) for name, module in usable.items()}
    for module in usable.values():
        check_placeholders(module.value)
    values.setdefault("arches", (Item("all-major", Spot(tree, "arches", tree.mark, reading)),))
    scope = _scope(values, [module.value for module in usable.values()], native)
    if reading.problems:
        raise ManifestError(reading.messages())
    supports = None
    if "supports" in values:
        where = {device.value: device.spot.where for device in values["supports"]["devices"]}
        supports = Supports(devices=tuple(where), driver=values["supports"].get("driver"), where=where)
    return Manifest(
        path=path,
        root=path.parent,
        cuda=values.get("cuda"),
        release=scope.release,
        modules=tuple(_module(name, usable[name], values, instances[name], scope) for name in sorted(usable)),
        supports=supports,
        stubs=values.get("stubs"),
        max_wheel_size=values.get("max_wheel_size"),
        sha256=sha256,
    )


def _scope(values: dict[str, Any], modules: list[dict[str, Any]], native: Native) -> Scope:
    lists = (values["arches"], *(module.get("arches") for module in modules))
    items = [item for found in lists for item in found or ()]
    stated = "cuda" in values
    scope = make_scope(items, values.get("cuda"), native)
    if not stated or values["cuda"] is not None:
        scope.check(items, stated=stated)
    return scope


def _module(name: str, module: Item, top: dict[str, Any], instances: _Instances, scope: Scope) -> Module:
    values: dict[str, Any] = module.value
    unfilled: dict[str, Any] = values["unfilled"] if "axes" in values else {}
    unfilled = unfilled | {"launch": tuple(stated.rule for stated in launch_rules(unfilled))} if unfilled else {}

    def names(key: str) -> tuple[Named, ...]:
        return tuple(Named(text=item.value, where=item.spot.where) for item in values.get(key, ()))

    return Module(
        name=name,
        entry=values["entry"],
        sources=tuple(values.get("sources") or (values["source"],)),
        libraries=tuple(values.get("libraries", ())),
        kernels=names("kernels"),
        instances=instances[0],
        chunk=values.get("chunk"),
        globals=names("globals"),
        headers=values.get("headers", ()),
        arches=scope.expand(values.get("arches", top["arches"])),
        options=override_options(NvrtcOptions(**top.get("options", {})), **values.get("options", {})),
        front_end=values.get("front_end", FRONT_ENDS[0]),
        max_spill_bytes=values.get("max_spill_bytes", top.get("max_spill_bytes")),
        packing=values.get("packing", top.get("packing", PACKINGS[0])),
        patterns=instances[1],
        launch=launch_rules(values),
        where=module.spot.where,
        family=values.get("family", ""),
        axes=tuple(values.get("axes", {}).items()),
        unfilled=ModuleFamily(**unfilled) if unfilled else None,
    )
