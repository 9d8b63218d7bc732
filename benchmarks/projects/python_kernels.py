"""Kernels that are strings in CuPy's Python files: each becomes a .cu file with the string's text, byte for byte.

The top level of a file is run, statement by statement, with stand-ins for CuPy, so that the texts and names that it
computes there are known: what it hands to ``RawModule`` and ``RawKernel``, and what else it names that has a kernel.
Texts that are made when a function is called are not known, and are reported.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from cupy_names import CuPy, Recorded, translate_cucomplex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_MAKERS = {"RawModule", "RawKernel"}
#: A text that ``format`` or ``Template`` fills in later.
_TEMPLATE = re.compile(r"\{\{|\$\{")


class Written(NamedTuple):
    """What was found in the files of a project."""

    names: dict[str, tuple[str, ...]]
    """Name expressions that the Python lists, by file."""
    filled: list[str]
    """Files whose text is no string of the Python file: it puts them together, or fills in a template."""
    left_out: list[str]
    """Calls whose text is made at run time."""


def write_kernels(root: Path, files: Sequence[str], folder: Path) -> Written:
    """Write a .cu file for each text with a kernel in some Python files, or files below folders.

    It has a folder named as the second one on the way to the Python file.
    """
    written = Written({}, [], [])
    for path in _python_files(root, files):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        literals = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        texts = _texts(tree, root)
        for label, recorded in texts.items():
            name = f"{path.stem.strip('_')}-{label.strip('_')}"
            target = folder / path.relative_to(root).parts[1] / f"{name}.cu"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(recorded.code, encoding="utf-8")
            written.names[name] = recorded.names
            written.filled.extend([name] if recorded.code not in literals else [])
        known = {recorded.line for recorded in texts.values()}
        place = path.relative_to(root).as_posix()
        others = (call for call in _calls(tree) if call.lineno not in known and _code_name(call) not in texts)
        written.left_out.extend(f"{place}:{call.lineno}" for call in others)
    return written


def _python_files(root: Path, files: Sequence[str]) -> Iterator[Path]:
    for name in files:
        path = root / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if any(f"{maker}(" in file.read_text(encoding="utf-8") for maker in _MAKERS):
                yield file


def _texts(tree: ast.Module, root: Path) -> dict[str, Recorded]:
    """Return the texts with kernels by the name that they have in the file, or that their module or kernel has."""
    cupy = CuPy()
    names = _run_file(tree, root, cupy)
    strings = {name: value for name, value in names.items() if isinstance(value, str) and "__global__" in value}
    of_text = {text: name for name, text in strings.items()}
    found = {of_text.get(recorded.code) or recorded.label: recorded for recorded in cupy.recorded}
    used = {
        name: listed for call in _calls(tree) if (name := _code_name(call)) and (listed := _listed(call)) is not None
    }
    for name, text in strings.items():
        if name not in found and not _TEMPLATE.search(text) and (not cupy.recorded or name in used):
            found[name] = Recorded(translate_cucomplex(text) or text, used.get(name, ()), 0, name)
    return found


def _run_file(tree: ast.Module, root: Path, cupy: CuPy) -> dict[str, Any]:
    """Return the names that the top level of a file has, as far as stand-ins for CuPy suffice for it."""
    names: dict[str, Any] = {"__name__": "kernels"}
    for statement in tree.body:
        _run(statement, names, root, cupy)
    return names


def _run(statement: ast.stmt, names: dict[str, Any], root: Path, cupy: CuPy) -> None:
    """Run one statement of the top level, or those of a class, each for itself; what fails has no effect."""
    cupy.line, cupy.label = statement.lineno, _target(statement)
    if isinstance(statement, ast.ClassDef):
        inner = dict(names)
        for inside in statement.body:
            _run(inside, inner, root, cupy)
    elif isinstance(statement, (ast.Import, ast.ImportFrom)) and cupy.stands_in(statement):
        names.update(cupy.imported(statement) | _imported_strings(statement, root))
    else:
        try:
            exec(compile(ast.Module([statement], []), "kernels", "exec"), names)
        except Exception:  # noqa: BLE001 - it needs more of CuPy than there is here
            return


def _imported_strings(statement: ast.Import | ast.ImportFrom, root: Path) -> Mapping[str, str]:
    """Return the strings that a file takes from another file of the checkout."""
    path = root / f"{(getattr(statement, 'module', None) or '').replace('.', '/')}.py"
    if not path.is_file():
        return {}
    names = _run_file(ast.parse(path.read_text(encoding="utf-8")), root, CuPy())
    return {alias.name: names[alias.name] for alias in statement.names if isinstance(names.get(alias.name), str)}


def _target(statement: ast.stmt) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else f"line{statement.lineno}"


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls that make a module or a kernel of a text."""
    for node in ast.walk(tree):
        maker = isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", None)) in _MAKERS
        if maker and _codes(node):
            yield node


def _codes(call: ast.Call) -> list[ast.expr]:
    return [word.value for word in call.keywords if word.arg == "code"] or call.args[:1]


def _code_name(call: ast.Call) -> str | None:
    """Return the name that a call's text has in the file, if it has one."""
    code = _codes(call)[0]
    return code.id if isinstance(code, ast.Name) else None


def _listed(call: ast.Call) -> tuple[str, ...] | None:
    """Return the name expressions that a call lists; None if they are computed."""
    for word in call.keywords:
        if word.arg == "name_expressions":
            try:
                return tuple(ast.literal_eval(word.value))
            except ValueError:
                return None
    return ()
