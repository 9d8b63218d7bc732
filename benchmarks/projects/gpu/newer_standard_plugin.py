"""A pytest plugin for both ways alike: C++17 where a project asks for C++11 or 14, which CuPy's headers now refuse."""

from __future__ import annotations

from typing import Any

from cupy.cuda import compiler

_compile = compiler._compile_module_with_cache


def compile_module_with_cache(source: str, options: Any = (), **more: Any) -> Any:
    """Stand in for CuPy's function."""
    newer = ("-std=c++17" if option in {"-std=c++11", "-std=c++14"} else option for option in options)
    return _compile(source, tuple(newer), **more)


compiler._compile_module_with_cache = compile_module_with_cache
