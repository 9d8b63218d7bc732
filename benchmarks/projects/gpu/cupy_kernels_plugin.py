"""A pytest plugin: what CuPy's RawModule and RawKernel would compile with NVRTC comes from a store, if it is there.

CuPy hands text, options and name expressions to one function; a module of the store with exactly these gives the CUBIN
and the lowered names. CuPy does all else as ever: it caches, loads and launches. What the store lacks is compiled by
CuPy and counted; CuPy's own kernels, as of ``cupy.arange``, are of this kind. ``PROJECT_STORE`` is the package
with the store.
"""

from __future__ import annotations

import os
from collections import Counter
from inspect import signature
from typing import Any

from cupy.cuda import compiler

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.names import normalize_name
from hatch_cuda_kernels.options import nvrtc_flags, options_from
from hatch_cuda_kernels.store.reader import KernelLine, StoreReader, find_store

STORE = open_store(os.environ["PROJECT_STORE"])
READER = StoreReader(find_store(os.environ["PROJECT_STORE"]))
COUNTS: Counter[str] = Counter()
MISSES: Counter[str] = Counter()
_compile = compiler._compile_using_nvrtc_no_warning
_SIGNATURE = signature(_compile)


def _by_source() -> dict[tuple[str, frozenset[str]], str]:
    """Return the modules by text and options."""
    found = {}
    for index in (module for module in READER.modules() if not module.libraries):  # CuPy links such a CUBIN itself
        text = (READER.source_root(index.module) / index.sources[0]).read_text(encoding="utf-8")
        found[text, _options(nvrtc_flags(options_from(index.options)))] = index.module
    return found


def _options(flags: Any) -> frozenset[str]:
    """Return flags without their dashes, and without what says where headers are or silences warnings."""
    return frozenset(flag.lstrip("-") for flag in flags if flag != "-w" and not flag.startswith("-I"))


MODULES = _by_source()
KERNELS = {line.module: line.name for line in READER.lines() if not line.key.startswith("&")}


def compile_using_nvrtc(source: str, *arguments: Any, **more: Any) -> tuple[bytes, dict[str, str] | None]:
    """Stand in for CuPy's function: return a CUBIN, and the lowered name of each name expression."""
    given = _SIGNATURE.bind(source, *arguments, **more)
    given.apply_defaults()
    found = _prebuilt(**given.arguments)
    return _compile(source, *arguments, **more) if found is None else found


def _prebuilt(
    *, source: str, options: Any, arch: Any, name_expressions: Any, log_stream: Any, jitify: Any, method: Any, **_: Any
) -> tuple[bytes, dict[str, str] | None] | None:
    module = MODULES.get((source, _options((*options, "-default-device"))))
    lines = {name: _line(module, name) for name in name_expressions or ()}
    if module is None or None in lines.values() or jitify or method or log_stream is not None:
        _count_miss(source, "log asked for" if module and log_stream is not None else (_options(options), *lines))
        return None
    architecture = f"sm_{arch}" if arch else None
    image = STORE.find_image(KERNELS[module], module=module, arch=architecture, policy="prebuilt")
    COUNTS[f"hits: {image.origin} {image.arch} {image.kind}"] += 1
    return image.data, {name: READER.lowered(line, image.sha256) for name, line in lines.items() if line} or None


def _line(module: str | None, expression: str) -> KernelLine | None:
    """Return what the store lists of a name expression; None if the module lacks it."""
    return next((line for line in READER.find(normalize_name(expression)) if line.module == module), None)


def _count_miss(source: str, why: Any) -> None:
    own = source.startswith("#include <cupy/complex.cuh>\n#include <cupy/carray.cuh>")
    COUNTS["compiled by CuPy: its own kernels" if own else "compiled by CuPy: RawModule, RawKernel"] += 1
    if not own:
        lines = [line.strip() for line in source.splitlines() if line.strip()]
        MISSES[f"{' '.join(lines)[:90]!r} {why}"] += 1


compiler._compile_using_nvrtc_no_warning = compile_using_nvrtc


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what the store gave."""
    for what, count in sorted(COUNTS.items()):
        terminalreporter.write_line(f"{what}: {count}")
    for what, count in MISSES.most_common(60):
        terminalreporter.write_line(f"  compiled by CuPy {count}x: {what}")
