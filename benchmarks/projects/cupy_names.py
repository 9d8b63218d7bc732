"""Stand-ins for what CuPy's Python files use while their kernels' texts and names are computed."""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple
from unittest.mock import MagicMock

import numpy as np

_TYPENAMES = {
    "float16": "float16", "float32": "float", "float64": "double", "complex64": "thrust::complex<float>",
    "complex128": "thrust::complex<double>", "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int",
    "int64": "long long", "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int",
    "uint64": "unsigned long long",
}  # fmt: skip
#: CuPy puts them before the sources of its own kernels, and before those that use CUDA's complex numbers.
_HEADERS = ("cupy/complex.cuh", "cupy/carray.cuh", "cupy/atomics.cuh", "cupy/math_constants.h")
_CUCOMPLEX = re.compile(r"\s*#\s*include\s*<\s*cuComplex\.h\s*>")


class Recorded(NamedTuple):
    """One text, as ``RawModule`` or ``RawKernel`` got it."""

    code: str
    names: tuple[str, ...]
    line: int
    label: str


class CuPy:
    """Stands for the module: notes what ``RawModule`` and ``RawKernel`` are called with."""

    def __init__(self) -> None:
        self.recorded: list[Recorded] = []
        self.line = 0
        self.label = ""

    def __getattr__(self, name: str) -> Any:
        if name in {"RawModule", "RawKernel"}:
            return self._record
        return getattr(np, name, None) or MagicMock(name=name)

    def _record(self, code: str = "", name: str = "", **options: Any) -> MagicMock:
        if isinstance(code, str) and "__global__" in code:
            self.recorded.append(Recorded(code, tuple(options.get("name_expressions") or ()), self.line, self.label))
        return MagicMock()

    def stands_in(self, statement: ast.Import | ast.ImportFrom) -> bool:
        """Return whether an import is of CuPy."""
        modules = (
            [statement.module or ""] if isinstance(statement, ast.ImportFrom) else [n.name for n in statement.names]
        )
        return any(module.partition(".")[0] in {"cupy", "cupyx", "cupy_backends", "pytest"} for module in modules)

    def imported(self, statement: ast.Import | ast.ImportFrom) -> dict[str, Any]:
        """Return the names that an import of CuPy gives."""
        known = {"get_typename": lambda dtype: _TYPENAMES[np.dtype(dtype).name], "runtime": MagicMock(is_hip=False)}
        found: dict[str, Any] = {}
        for alias in statement.names:
            name = alias.asname or alias.name.partition(".")[0]
            found[name] = known.get(alias.name) or (self if name in {"cupy", "cp", "_core"} else MagicMock(name=name))
        return found


def translate_cucomplex(text: str) -> str | None:
    """Return what CuPy compiles of a text with ``translate_cucomplex``; None if it does not include cuComplex.h."""
    bridge = "#include <cupy/cuComplex_bridge.h>  // translate_cucomplex\n"
    lines = text.splitlines(keepends=True)
    if not any(map(_CUCOMPLEX.match, lines)):
        return None
    headers = "".join(f"#include <{header}>\n" for header in _HEADERS)
    return headers + "".join(bridge if _CUCOMPLEX.match(line) else line for line in lines)
