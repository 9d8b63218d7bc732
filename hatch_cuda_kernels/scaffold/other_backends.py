"""Sets up projects that Hatch does not build: what is the same for all, and in short lines what each takes besides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.compiler.toolchain.origin import documentation
from hatch_cuda_kernels.compiler.toolchain.packages import build_extra, release_requirements
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.manifest_file import MANIFEST_FILE
from hatch_cuda_kernels.scaffold.files import filled, ignore_store, write_missing
from hatch_cuda_kernels.scaffold.kernel_files import kernel_files, stated_release
from hatch_cuda_kernels.scaffold.pyproject import add_package, check_tables, read_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["SETUP_FILES", "join_other"]

#: What a project of setuptools has.
SETUP_FILES: Final = ("setup.py", "setup.cfg")
_PAGE: Final = documentation("howto/other-build-systems")

_SETUP_PY: Final = '''\
"""Adds the kernels to what setuptools builds; all else is in pyproject.toml."""

from pathlib import Path

from hatch_cuda_kernels import build_kernels
from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithKernels(build_py):
    """Puts the kernels beside the modules: into the wheel, or for an editable install into the source tree."""

    def run(self):
        """Build the kernels, then the modules."""
        package = Path("SRC" if self.editable_mode else self.build_lib, *"PACKAGE".split("."))
        package.mkdir(parents=True, exist_ok=True)
        print(build_kernels("kernels.yaml", package, editable=self.editable_mode))
        super().run()


setup(cmdclass={"build_py": BuildWithKernels})
'''
_MANIFEST_IN: Final = "include kernels.yaml\ngraft kernels\nprune FOLDER/_kernels\n"


class _Backend(NamedTuple):
    """What a build system takes."""

    builds: bool
    """Whether its builds can compile kernels, and so require what compiles."""
    steps: tuple[str, ...]
    """What is left to do, line by line."""
    files: Mapping[str, str] = {}
    """Files that do it where there are none of their names; the steps are for a project that has one of them."""


_BEFOREHAND: Final = (
    "builds of this back end run no code of yours; before each, where NVRTC is installed, run:",
    "    hatch-cuda-kernels build --out FOLDER/_kernels",
    "or move to Hatch, whose builds compile kernels by themselves:",
    "    hatch-cuda-kernels init --backend hatchling",
)
#: By what the name of a back end begins with.
_BACKENDS: Final[dict[str, _Backend]] = {
    "setuptools": _Backend(
        True,
        (
            "in setup.py, build the kernels before the modules, in a command build_py of your own:",
            '    build_kernels("kernels.yaml", Path(self.build_lib, "PACKAGE"))',
            "in MANIFEST.in, ship the sources, and not what an editable install compiled:",
            "    include kernels.yaml",
            "    graft kernels",
            "    prune FOLDER/_kernels",
        ),
        {"setup.py": _SETUP_PY, "MANIFEST.in": _MANIFEST_IN},
    ),
    "scikit_build_core": _Backend(
        True,
        (
            "in CMakeLists.txt, add:",
            "    find_package(Python COMPONENTS Interpreter REQUIRED)",
            "    set(STORE ${CMAKE_CURRENT_BINARY_DIR}/_kernels)",
            "    add_custom_target(kernels ALL COMMAND ${Python_EXECUTABLE} -m hatch_cuda_kernels build",
            "      ${CMAKE_CURRENT_SOURCE_DIR}/kernels.yaml --out ${STORE})",
            "    install(DIRECTORY ${STORE} DESTINATION PACKAGE)",
        ),
    ),
    "mesonpy": _Backend(
        True,
        (
            "in meson.build, add:",
            "    custom_target('kernels', output: '_kernels',",
            "      command: [py, '-m', 'hatch_cuda_kernels', 'build', '@SOURCE_ROOT@/kernels.yaml',",
            "                '--out', '@OUTPUT@'],",
            "      build_by_default: true, build_always_stale: true, install: true,",
            "      install_dir: py.get_install_dir() / 'PACKAGE')",
        ),
    ),
    "poetry": _Backend(
        False,
        (
            *_BEFOREHAND,
            "and in the table [tool.poetry] of pyproject.toml, ship what it compiled:",
            '    include = [{ path = "FOLDER/_kernels/**/*", format = ["sdist", "wheel"] }]',
        ),
    ),
}
#: flit and uv_build ship every file in the package's folder.
_ANY_OTHER: Final = _Backend(False, _BEFOREHAND)


def join_other(
    root: Path, text: str, backend: str, find_package: Callable[[Path, str | None], tuple[str, str]]
) -> tuple[tuple[str, ...], ...]:
    """Set up a project of another back end, and return the fields of a ``Scaffold``. ``text`` is its pyproject.toml.

    Raises InputError for a project that cannot be changed safely, or whose package cannot be determined.
    """
    check_tables(read_toml(text, "pyproject.toml"))
    asked = next((asked for name, asked in _BACKENDS.items() if backend.startswith(name)), _ANY_OTHER)
    manifest = root / MANIFEST_FILE
    release = stated_release(manifest)
    if asked.builds:
        edited = add_package(text, extra=build_extra(release[0]), tools=release_requirements(release))
    else:
        edited = add_package(text, extra="")
    folder, imported = _package(root, read_toml(text, "pyproject.toml")["project"]["name"], find_package)
    words = {"FOLDER": folder, "PACKAGE": imported, "SRC": folder.rpartition("/")[0] or "."}
    files, notes = kernel_files(root, manifest, lambda: (folder, imported))
    added = {} if any((root / name).exists() for name in asked.files) else asked.files
    created, kept = write_missing(root, files | {path: filled(content, words) for path, content in added.items()})
    if edited.text != text:
        (root / "pyproject.toml").write_bytes(edited.text.encode())
    steps = () if added else (*(filled(step, words) for step in asked.steps), f"    more: {_PAGE}")
    done = not created and not edited.changes
    return created, (*edited.changes, *ignore_store(root)), kept, (*edited.notes, *notes), () if done else steps


def _package(root: Path, project: str, find_package: Callable[[Path, str | None], tuple[str, str]]) -> tuple[str, str]:
    """Return folder and import name of the package: as Hatch finds it, else of a folder called like the project."""
    try:
        return find_package(root, None)
    except InputError:
        name = re.sub(r"[-_.]+", "_", project)
        for folder in (name, name.lower(), f"src/{name}", f"src/{name.lower()}"):
            if (root / folder).is_dir():
                return folder, folder.rpartition("/")[2]
        raise InputError(f"no package folder {name} (or src/{name}) in {root}; make it, and run this again") from None
