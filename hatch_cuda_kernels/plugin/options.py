"""The options of the build hook's table, checked as a whole before anything is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.pool.executors import is_executor

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_options"]

#: Keys that hatchling allows in every hook's table.
_RESERVED: Final = {"dependencies", "enable-by-default", "require-runtime-dependencies", "require-runtime-features"}
_OPTIONS: Final = {"manifest": str, "package": str, "jobs": int, "executor": str, "sbom": bool}
_KINDS: Final = {str: "a string", int: "an integer", bool: "a boolean"}


def check_options(config: Mapping[str, Any], hook: str) -> None:
    """Raise InputError for an unknown option of the hook, or for an invalid value."""
    for name, value in config.items():
        if name in _RESERVED:
            continue
        if name not in _OPTIONS:
            raise InputError(f"Unknown option `{name}` for build hook `{hook}`")
        if type(value) is not (kind := _OPTIONS[name]):
            raise InputError(f"Option `{name}` for build hook `{hook}` must be {_KINDS[kind]}")
    package = config.get("package", "mylib")
    if not all(part.isidentifier() for part in package.split(".")):
        raise InputError(
            f"Option `package` for build hook `{hook}` must be what is imported, such as `acme.mylib`, not {package!r}"
        )
    if config.get("jobs", 1) < 1:
        raise InputError(f"Option `jobs` for build hook `{hook}` must be 1 or more")
    if not is_executor(config.get("executor", "process")):
        raise InputError(f"Option `executor` for build hook `{hook}` must be `process` or `dask:ADDRESS`")
