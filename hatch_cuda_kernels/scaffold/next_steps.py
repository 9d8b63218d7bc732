"""The commands that come after ``init``, as they work where it was run: under pip, uv, uvx, pipx or hatch."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.toolchain.installer import (
    made_by,
    made_for_one_run,
    program_command,
    python_command,
)
from hatch_cuda_kernels.compiler.toolchain.packages import own, pip_install
from hatch_cuda_kernels.compiler.toolchain.wheels import library_version
from hatch_cuda_kernels.errors import HatchCudaKernelsError, ToolchainError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.plan.release import check_release, requirements
from hatch_cuda_kernels.scaffold.survey import NO_MODULES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["next_commands", "program"]


def next_commands(manifest: Path, untried: Sequence[str], *, done: bool, store: str = "") -> tuple[str, ...]:
    """Return how to check a manifest, build the wheel and look into it; nothing of this once it was told (``done``).

    Before that, ``init`` is run again with the requirements for what it could not try, and where the manifest has no
    module. ``store`` is the folder that is compiled into before each build, for a back end whose builds run no code.
    """
    if manifest.is_file() and NO_MODULES in manifest.read_text(encoding="utf-8").splitlines():
        return (f"{program(untried)} init",)
    lacking, is_here = _lacking(manifest)
    install = [pip_install(*lacking)] if lacking and (store or is_here) and not made_for_one_run() else []
    if untried:
        install = [pip_install(*untried)] if made_for_one_run() else [pip_install(*untried), f"{program(untried)} init"]
    if done:
        return tuple(install if untried else ())
    plain = program(untried or lacking) if install and not made_for_one_run() else program()
    compile_first = [f"{program(lacking)} build --out {store}"] if store else []
    return (*install, f"{plain} check", *compile_first, _build(), f"{plain} inspect dist/*.whl")


def program(requirements: Sequence[str] = ()) -> str:
    """Return what runs this program, where an environment is made for each run also with more in it."""
    return program_command(own("build"), requirements)


def _lacking(manifest: Path) -> tuple[list[str], bool]:
    """Return what to install to compile a manifest here, and whether the compiler here is of another release.

    An environment that is made for each run lacks what this one has.
    """
    try:
        found = load_manifest(manifest)
        check_release(found)
    except ToolchainError:
        return requirements(found), bool(library_version("nvrtc"))
    except HatchCudaKernelsError:  # `check` says what is wrong
        return [], False
    return requirements(found) if made_for_one_run() else [], False


def _build() -> str:
    """Return what builds a wheel: the first front end that is here."""
    maker = made_by()
    if find_spec("build") is not None:
        return f"{python_command()} -m build --wheel"
    if maker in {"uv", "uvx", "uv tool"}:
        return "uv build --wheel"
    if maker == "pip" and find_spec("pip") is not None:
        return f"{python_command()} -m pip wheel --no-deps --wheel-dir dist ."
    return "pipx run build --wheel"
