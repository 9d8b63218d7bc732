"""The text of the loader to vendor, made of the modules that this package itself loads kernels with.

Each module becomes a function that runs its text when it is first used, so that the cold start pays only for what it
needs. It says that the names are global, and they are in a dictionary of the module: as closures, they would take
Python twice as long to take apart when it exits. Of a module, only what the loader can reach is taken, and annotations
are left out.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels import __version__
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.store import INDEX_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_PACKAGE: Final = "hatch_cuda_kernels"
_ROOT: Final = Path(__file__).parents[1]
_LOADER: Final = "vendor.loader"
_BASE: Final = "vendor.base"
_WITHOUT: Final = "vendor.without_compiler"
#: What users of the file import: the module that has it.
_PUBLIC: Final = {
    "PrebuiltStore": _LOADER,
    **dict.fromkeys(
        ("ArgumentError", "DriverError", "HatchCudaKernelsError", "InputError", "KernelNotFoundError", "LaunchError",
         "NoImageError", "StaleKernelError", "StoreError"),
        "errors",
    ),
}  # fmt: skip
#: Names of the package for which the loader has its own.
_INSTEAD: Final = {
    ("runtime.ladder.climb", "ladder"): (_WITHOUT, "prebuilt_ladder"),
    ("runtime.ladder.climb", "suggest_fixes"): (_WITHOUT, "fixes_without_compiler"),
    ("store.source", "ModuleSource"): (_WITHOUT, "PrebuiltSource"),
    ("execution_space", "ClosureCut"): (_WITHOUT, "UnreadCut"),
    ("includes", "PackageRecord"): (_WITHOUT, "PackageName"),
    ("runtime.launch.accelerator", "find_accelerator"): (_WITHOUT, "do_nothing"),
    ("runtime.launch.accelerator", "learn"): (_WITHOUT, "do_nothing"),
    ("cuda.bindings", "driver"): ("vendor.bindings", "driver"),
}
#: Modules of which nothing is taken: a loader without a compiler has no use for them.
_LEFT_OUT: Final = ("cache", "compiler", "cpp", "execution_space", "includes", "terminal", "child_process",
                    "runtime.background", "runtime.ladder.compile_rungs", "cuda.core")  # fmt: skip
#: What the text in front has of them.
_LIGHT: Final = {("pathlib", "Path"): "LightPath", ("re", ""): "re", ("json", ""): "json",
                 ("threading", ""): "threading", ("contextlib", "contextmanager"): "contextmanager",
                 ("contextlib", "suppress"): "Suppress"}  # fmt: skip
#: Of these classes, all methods are for users.
_WHOLE: Final = {"PrebuiltStore", "Kernel", "GlobalVariable", "Explanation", "Candidate", "Image", "CtypesDriver"}

_HEADER: Final = '''\
"""Loads the kernels of a store that hatch-cuda-kernels built. It needs the standard library and NVIDIA's driver.

    from ._kernels_loader import open_store
    kernel = open_store().get_kernel("saxpy")
    kernel[grid, block](y, x, n, 2.0)

Written by hatch-cuda-kernels {version}: do not edit it. `hatch-cuda-kernels vendor --check` says
whether it is old.
"""
# ruff: noqa
# mypy: ignore-errors
# fmt: off

__version__ = "{version}"
STORE_SCHEMA = "{schema}"
SOURCES_SHA256 = "{sources}"
TEXT_SHA256 = "{digest}"
'''
_FOOTER: Final = '''

def open_store(folder=None):
    """Return the store in a folder; by default, in the folder _kernels beside this file. Nothing is read yet."""
    return _use({loader})["PrebuiltStore"](os.fspath(folder or os.path.join(os.path.dirname(__file__), "_kernels")))


_PUBLIC = {public}


def __getattr__(name):
    if name not in _PUBLIC:
        raise AttributeError(name)
    return _use(globals()[_PUBLIC[name]])[name]
'''


@cache
def loader_text() -> str:
    """Return the text of the loader. The same package and Python give the same text."""
    choice = _Reached()
    base = ast.unparse(_Plain().visit(_copy(_tree(_BASE))))
    public = {name: _function(module) for name, module in _PUBLIC.items()}
    footer = _FOOTER.format(loader=_function(_LOADER), public=public)
    modules = "\n\n\n".join(choice.texts())
    body = f"\n{base}\n\n\n{modules}\n{footer}"
    facts = {"version": __version__, "schema": INDEX_SCHEMA, "sources": choice.digest()}
    return _HEADER.format(digest=sha256(body.encode()).hexdigest(), **facts) + body


#: The loader for C++, whose facts are filled in.
HEADER_FILE: Final = "hatch_cuda_kernels.hpp"


@cache
def header_text() -> str:
    """Return the text of the loader for C++."""
    head, _, body = (_ROOT / "vendor" / HEADER_FILE).read_text(encoding="utf-8").partition("@digest@")
    digest = sha256(body.encode()).hexdigest()
    facts = {"version": __version__, "schema": str(INDEX_SCHEMA), "revision": digest[:12]}
    for name, fact in facts.items():
        head = head.replace(f"@{name}@", fact)
    return f"{head}{digest}{body}"


def language_of(text: str) -> str:
    """Return the language of a loader, whatever its version. Raises InputError for another text."""
    if _facts(_FACTS, text) or _facts(_FACTS_IN_CPP, text):
        return "python" if _facts(_FACTS, text) else "c++"
    raise InputError("this is no loader that hatch-cuda-kernels vendor wrote")


def why_old(text: str) -> str | None:
    """Return why a loader's text is not what this package writes, None if it is. Raises InputError for another text.

    Python's releases write the same code with other spaces and quotes: the code counts, and what it was made of.
    """
    facts = _facts(_FACTS if language_of(text) == "python" else _FACTS_IN_CPP, text) or []
    version, schema, digest, *sources = facts
    _, mark, body = text.partition(f'TEXT_SHA256 = "{digest}"\n' if sources else f'TEXT_SHA256 "{digest}')
    known = sources == [_Reached().digest()] if sources else f'"{digest}"' in header_text()
    is_current = known and (version, schema) == (__version__, str(INDEX_SCHEMA))
    same = _code(text) == _code(loader_text()) if is_current and sources else not is_current or text == header_text()
    if not mark or sha256(body.encode()).hexdigest() != digest or not same:
        return "it was edited after it was written"
    if is_current:
        return None
    written = f"version {version} (store schema {schema})"
    return f"it was written by {written}, this is version {__version__} (store schema {INDEX_SCHEMA})"


def _code(text: str) -> str | None:
    """Return a loader's code as this Python writes it, without the digest of its text; None if it is none."""
    try:
        return re.sub("(?m)^TEXT_SHA256 = .*$", "", ast.unparse(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_FACTS: Final = ("__version__ =", "STORE_SCHEMA =", "TEXT_SHA256 =", "SOURCES_SHA256 =")
_FACTS_IN_CPP: Final = tuple(
    f"#define HATCH_CUDA_KERNELS_{name}" for name in ("VERSION", "STORE_SCHEMA", "TEXT_SHA256")
)


def _facts(names: tuple[str, ...], text: str) -> list[str] | None:
    found = [re.search(rf'^{name} "([^"\n]*)"$', text, re.MULTILINE) for name in names]
    return [match[1] for match in found if match] if all(found) else None


def _function(module: str) -> str:
    return f"_{module.replace('.', '_')}"


def _source(module: str) -> str:
    path = _ROOT.joinpath(*module.split("."))
    file = path / "__init__.py"  # a folder alone may be left from another version, with its byte code
    return (file if file.is_file() else path.with_suffix(".py")).read_text(encoding="utf-8")


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_source(module))


@cache
def _home(module: str, name: str) -> tuple[str, str] | None:
    """Return the module that defines what another imports by name; None for what is not the package's."""
    if (module, name) in _INSTEAD:
        return _INSTEAD[module, name]
    inner = module.removeprefix(_PACKAGE).lstrip(".")
    if (inner, name) in _INSTEAD:
        return _INSTEAD[inner, name]
    if not module.startswith(_PACKAGE):
        return None
    if (_ROOT.joinpath(*inner.split(".")) / "__init__.py").is_file():
        calls = (node for node in ast.walk(_tree(inner)) if isinstance(node, ast.Call) and node.args[1:])
        table = next(ast.literal_eval(call.args[1]) for call in calls if getattr(call.func, "id", "") == "lazy")
        inner = next(f"{inner}.{part}" for part, names in table.items() if name in names.split())
    return _INSTEAD.get((inner, name), (inner, name))


class _Plain(ast.NodeTransformer):
    """Leaves out what only type checkers read; of annotations, named tuples keep the names."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        node.body = node.body[1:]
        return self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module in {"__future__", "typing"} else node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.AST]:
        if getattr(node.test, "id", "") == "TYPE_CHECKING":
            return [self.visit(child) for child in node.orelse]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._shortened(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Return a call of format: later Pythons write quotes inside quotes here, which Python 3.11 does not read."""
        self.generic_visit(node)
        text, values = _format_of(node)
        called = ast.Attribute(ast.Constant(text), "format", ast.Load())
        return ast.copy_location(ast.Call(called, values, []), node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        node.value = self.visit(node.value)  # its format is part of the text
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        return node.value and self.generic_visit(ast.Assign([node.target], node.value, lineno=node.lineno))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
        bases = [base for base in bases if getattr(base, "id", "") != "Generic"]
        body = [child for index, child in enumerate(node.body) if index == 0 or not _is_text(child)]
        if any(getattr(base, "id", "") == "NamedTuple" for base in bases):
            names = tuple(ast.unparse(child.target) for child in body if isinstance(child, ast.AnnAssign))
            body[1:1] = ast.parse(f"_fields = {names!r}").body
        node.bases, node.body = bases, body
        return self._shortened(node)

    def _shortened(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        """Return a definition with the first paragraph of its docstring, private ones without."""
        said = ast.get_docstring(node)
        if said is not None:
            first = ast.Expr(ast.Constant(said.partition("\n\n")[0]))
            node.body[:1] = [] if node.name.startswith("_") else [first]
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node


def _format_of(node: ast.JoinedStr) -> tuple[str, list[ast.expr]]:
    """Return the text and the arguments of ``str.format`` that give what an f-string does."""
    text, values = "", list[ast.expr]()
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            conversion = f"!{chr(part.conversion)}" if part.conversion > 0 else ""
            spec, inner = _format_of(part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else ("", [])
            text += f"{{{conversion}{':' * bool(spec)}{spec}}}"
            values += [part.value, *inner]
        elif isinstance(part, ast.Constant):
            text += str(part.value).replace("{", "{{").replace("}", "}}")
    return text, values


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class _ModuleText:
    """What one module defines: statements by the names that they define."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.statements: list[ast.stmt] = _Plain().visit(_copy(_tree(name))).body
        self.by_name: dict[str, int] = {}
        for index, node in enumerate(self.statements):
            self.by_name.update(dict.fromkeys(_defined(node), index))
        self.taken: set[int] = set()


def _copy(tree: ast.Module) -> ast.Module:
    return ast.parse(ast.unparse(tree))


def _defined(node: ast.AST) -> Iterator[str]:
    """Yield the names that a module, or a statement of it, defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif not isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _defined(child)


class _Reached:
    """What the loader can reach, found from what its users call."""

    def __init__(self) -> None:
        self._modules: dict[str, _ModuleText] = {}
        self._attributes: set[str] = set()
        self._waiting: dict[str, list[tuple[_ModuleText, ast.AST]]] = {}
        """Methods by name that nothing has asked for so far."""
        self._replaced: dict[str, dict[str, tuple[str, str]]] = {}
        """What modules use of their own that the loader has something else for."""
        self._methods: set[int] = set()
        """Those that were: ids of their nodes."""
        for name, module in _PUBLIC.items():
            self._take(module, name)

    def digest(self) -> str:
        """Return the digest of the modules that the loader is made of, and of this one."""
        texts = [_source(name) for name in sorted({*self._modules, _BASE, "vendor.assemble"})]
        return sha256("\n".join(texts).encode()).hexdigest()

    def _take(self, module: str, name: str) -> None:
        if (module, name) in _INSTEAD:
            self._replaced.setdefault(module, {})[name] = _INSTEAD[module, name]
            module, name = _INSTEAD[module, name]
        found = self._modules.get(module)
        if found is None:
            found = self._modules[module] = _ModuleText(module)
            wanted = [index for index, node in enumerate(found.statements) if not any(_defined(node))]
        else:
            wanted = []
        if name in found.by_name:
            wanted.append(found.by_name[name])
        for index in {*wanted} - found.taken:
            found.taken.add(index)
            self._use(found, found.statements[index])

    def _use(self, module: _ModuleText, node: ast.AST) -> None:
        """Take all that a node uses; of a class, methods only if something has their names."""
        if isinstance(node, ast.ClassDef):
            for child in (*node.bases, *node.keywords, *node.decorator_list, *node.body):
                name = child.name if isinstance(child, ast.FunctionDef) and node.name not in _WHOLE else "__"
                if not name.startswith("__") and name not in self._attributes:
                    self._waiting.setdefault(name, []).append((module, child))
                    continue
                self._methods.add(id(child))
                self._use(module, child)
            return
        for child in ast.walk(node):
            if isinstance(child, ast.Name):
                self._take(module.name, child.id)
            elif isinstance(child, ast.Attribute):
                self._ask(child.attr)
            elif isinstance(child, ast.ImportFrom):
                for alias in child.names:
                    home = _home(child.module or "", alias.name)
                    if home is not None and not _is_left_out(home[0]):
                        self._take(*home)

    def _ask(self, name: str) -> None:
        self._attributes.add(name)
        for module, node in self._waiting.pop(name, ()):
            self._methods.add(id(node))
            self._use(module, node)

    def texts(self) -> Iterator[str]:
        """Yield the text of each module's function."""
        for name, module in sorted(self._modules.items()):
            nodes = [module.statements[index] for index in sorted(module.taken)]
            if nodes:
                own = [_look_up(new[0], {old: new[1]}) for old, new in self._replaced.get(name, {}).items()]
                text = "\n".join((*own, self._written(name, nodes)))
                names = "\n".join(wrap(", ".join(dict.fromkeys(_defined(ast.parse(text)))), 90))
                text = f"global {names.replace(chr(10), chr(10) + 'global ')}\n{text}".replace(",\nglobal", "\nglobal")
                yield f"def {_function(name)}():\n{_indented(text)}"

    def _written(self, name: str, nodes: list[ast.stmt]) -> str:
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                methods = (ast.FunctionDef,)
                node.body = [
                    child for child in node.body if not isinstance(child, methods) or id(child) in self._methods
                ]
                node.body = node.body or [ast.Pass()]
        used = {child.id for node in nodes for child in ast.walk(node) if isinstance(child, ast.Name)}
        tree = _Imports(name, used).visit(ast.Module(nodes, []))
        return ast.unparse(ast.fix_missing_locations(tree))


def _is_left_out(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in _LEFT_OUT)


class _Imports(ast.NodeTransformer):
    """Makes look-ups in the functions of modules out of imports; of some modules, the text in front has light ones."""

    def __init__(self, module: str, used: set[str]) -> None:
        self._module = module
        self._used = used

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        names = [alias for alias in node.names if (alias.name, "") not in _LIGHT]
        return ast.Import(names) if names else None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.AST] | None:
        texts = list[str]()
        ours: dict[str, list[str]] = {}
        for alias in node.names:
            if alias.name not in self._used and alias.asname not in self._used:
                continue
            home = _home(node.module or "", alias.name)
            if home is None:
                light = _LIGHT.get((node.module or "", alias.name))
                texts.append(f"{alias.name} = {light}" if light else f"from {node.module} import {ast.unparse(alias)}")
            elif _is_left_out(home[0]):
                texts.append(f"{alias.name} = _absent({home[1]!r})")
            elif home[0] != self._module:
                ours.setdefault(home[0], []).append(f"{alias.name}={home[1]}")
        texts += [_look_up(module, dict(name.split("=") for name in names)) for module, names in ours.items()]
        return [statement for text in texts for statement in ast.parse(text).body]


def _look_up(module: str, names: Mapping[str, str]) -> str:
    """Return the statement that gives names what a module calls so, which is other names in rare cases."""
    if len(names) == 1:
        return f"{next(iter(names))} = _use({_function(module)})[{next(iter(names.values()))!r}]"
    return f"{', '.join(names)} = _several({_function(module)}, {' '.join(names.values())!r})"


def _indented(text: str) -> str:
    """Return text one level deeper, literals of several lines as they are."""
    inside: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno is not None:
            inside.update(range(node.lineno + 1, node.end_lineno + 1))
    lines: Iterable[tuple[int, str]] = enumerate(text.split("\n"), 1)
    return "\n".join(line if number in inside or not line else f"    {line}" for number, line in lines)
