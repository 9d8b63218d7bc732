"""The files of a new project, of the templates in ``new_project``, and how files are written.

Words in capitals are filled in: ``NAME`` is the project's name, ``PACKAGE`` what Python imports, ``FOLDER`` its folder.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


#: The hook's table for all targets: the hook adds the sources to an sdist, and leaves out what an editable install has
#: compiled.
TABLE: Final = "tool.hatch.build.hooks.cuda-kernels"
#: The store of an editable install, in the package's folder.
_IGNORED: Final = "_kernels/"
CI_FILE: Final = ".github/workflows/kernels.yml"

#: What a manifest states beside its modules.
HEAD: Final[Mapping[str, Any]] = {"schema": 1, "cuda": "13.0", "arches": ["sm_80", "sm_90", "sm_120", "compute_80"]}
MANIFEST_HEAD: Final = f"""\
# What hatch-cuda-kernels compiles while the wheel is built.
schema: {HEAD["schema"]}
cuda: "{HEAD["cuda"]}"  # the toolkit release that compiles; its PTX needs a driver for this release or newer
# Real architectures give CUBINs. The virtual one gives PTX, which the driver compiles for any other device from 8.0 on.
arches: [{", ".join(HEAD["arches"])}]
"""
_TEST_FILE: Final = "tests/test_saxpy.py"


def template(name: str) -> str:
    """Return the text of a template."""
    return (files(__package__) / "new_project" / f"{name}.in").read_text(encoding="utf-8")


#: Path in the project (``FOLDER`` is the package's folder) and text.
FIRST_KERNEL: Final = {
    "kernels.yaml": f"{MANIFEST_HEAD}modules:\n  saxpy:\n    source: kernels/saxpy.cu\n",
    "kernels/saxpy.cu": template("saxpy.cu"),
    "FOLDER/saxpy.py": template("saxpy.py"),
    _TEST_FILE: template("test_saxpy.py"),
}
NEW_PROJECT: Final = {
    "pyproject.toml": template("pyproject.toml"),
    "README.md": template("README.md") + template("building.md"),
    ".gitignore": f"__pycache__/\n.venv/\ndist/\n{_IGNORED}\n",
    "FOLDER/__init__.py": '"""CUDA kernels in a Python package."""\n',
}
#: Of a new project around kernels that are there.
README_OF_SOURCES: Final = template("README.of-sources.md") + template("building.md")


def ci_text(names: Collection[str]) -> str:
    """Return the file for a CI of a project with these files; it runs the test that is among them."""
    return template("kernels.yml") + (
        f"      - run: python -m pytest --no-jit {_TEST_FILE}\n" if _TEST_FILE in names else ""
    )


class Scaffold(NamedTuple):
    """What was done: files created, additions to files, files kept; and what is left to do."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    kept: tuple[str, ...]
    notes: tuple[str, ...]
    steps: tuple[str, ...]
    """What else the project's build system needs."""
    next: tuple[str, ...]
    """Commands; none if nothing was done."""


def fill_template(text: str, words: Mapping[str, str]) -> str:
    """Return a template with its words filled in."""
    return re.sub(rf"\b(?:{'|'.join(words)})\b", lambda found: words[found[0]], text)


def read_text(path: Path) -> str:
    """Return a file's text. Raises InputError if it cannot be read."""
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def write_missing(root: Path, files: dict[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write the files that do not exist yet; return the names of those written and of those kept.

    Raises InputError if one cannot be written.
    """
    created, kept = [], []
    for name, text in files.items():
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            kept.append(name)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from error
        else:
            created.append(name)
    return tuple(created), tuple(kept)


def ignore_store(root: Path) -> tuple[str, ...]:
    """Have git leave out the store of an editable install; return the change."""
    path = root / ".gitignore"
    text = read_text(path) if path.is_file() else ""
    if any(line.strip().strip("/").removeprefix("**/") == _IGNORED.strip("/") for line in text.splitlines()):
        return ()
    path.write_bytes(f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{_IGNORED}\n".encode())
    return (f".gitignore: {_IGNORED}",)
