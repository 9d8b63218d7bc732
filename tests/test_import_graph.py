"""Imports go one way: a folder imports only folders below it, and the modules of a folder form no cycle.

Imports inside functions and those for type checkers count.
"""

from __future__ import annotations

import ast
from functools import cache
from itertools import product
from pathlib import Path

PACKAGE = "hatch_cuda_kernels"
ROOT = Path(__file__).parents[1] / PACKAGE
ARCHITECTURE = ROOT.parent / "docs/explanation/architecture.md"

#: What both ways use, lowest first, and what each does. A file is named where it is no leaf.
SHARED = (
    {"leaves": "what every part uses: architectures, options, names, digests, errors, the driver"},
    {"cache": "keeps images by key, and knows nothing of compilers"},
    {"cpp": "reads C++, and knows nothing of projects and compilers"},
    {"libraries": "lists the names of libraries"},
    {"includes": "finds the headers of a source: the closure that is compiled"},
    {"compiler/binary": "reads CUBINs, PTX, logs and mangled names"},
    {"execution_space": "cuts host code out of a closure, and finds the kernels that it declares"},
    {"compiler/toolchain": "finds the compilers and headers that are installed"},
    {"compiler": "makes a job of a closure, and runs it with a toolchain"},
    {"store": "lays compiled images out as files, and reads them again"},
)
#: From a manifest to a wheel. Folders of one step do not import each other.
BUILD = (
    {"manifest": "reads `kernels.yaml`: modules, options and promises"},
    {"plan": "makes the jobs of a manifest"},
    {"pool": "runs a plan's jobs, and caches their results"},
    {"port": "guards host code in existing sources, and drafts their manifest"},
    {"stubs.py": "writes the stub of a manifest's kernels, for type checkers"},
    {"build.py": "builds a store from a manifest in one call"},
    {
        "promote.py": "adds to a manifest what was compiled at run time",
        "verify": "checks a store against its own records and promises",
    },
    {"report": "shows what a store holds and what it costs, and judges what a release changes"},
    {
        "plugin": "builds for Hatch",
        "scaffold": "sets a project up for a build",
    },
)
#: From a request to a kernel.
RUN = (
    {
        "runtime/ladder": "finds an image, in the store, in the cache or by compiling",
        "runtime/launch": "packs arguments, and launches a kernel",
    },
    {"runtime": "loads the images that the ladder finds, as kernels"},
    {"operators": "makes operators of kernels, for torch and JAX, and functions as CuPy has them"},
    {
        "load.py": "has the store that users open",
        "standalone.py": "compiles source text without a store",
    },
)
#: Above both.
TOP = (
    {"vendor": "writes the loaders that a library ships, one of the text of modules above, and embeds stores"},
    {
        "doctor": "asks every part whether it would work",
        "proof.py": "says what the requests of a trace get on devices that are not here",
        "pytest_plugin.py": "fails tests of pytest during which kernels are compiled",
    },
    {"cli": "has a command for each part"},
    {"__init__.py": "exports the public names"},
)
#: The files of the package's own folder that are part of something named above.
FILES = {"hooks.py": "plugin", "__main__.py": "cli"}

#: The folders of which only the names that their ``__init__`` has are used outside.
DOORS = {
    "cache", "cli", "compiler", "compiler/binary", "compiler/toolchain", "cpp", "doctor", "execution_space", "includes",
    "libraries", "manifest", "operators", "operators/cupy", "operators/jax", "operators/torch", "plan", "plugin",
    "pool", "port", "report", "runtime", "runtime/ladder", "runtime/launch", "scaffold", "store", "vendor", "verify",
}  # fmt: skip

#: The cycles of modules that stay, and why.
CYCLES: dict[frozenset[str], str] = {}

MOST_OF_THE_PACKAGE = 0.2


def below_each(*ways):
    """Return, for each place, those that it may import from: the ones on earlier steps of its ways."""
    below = {}
    for way in ways:
        earlier = set()
        for step in way:
            for place in step:
                below.setdefault(place, set()).update(earlier)
            earlier.update(step)
    return below


BELOW = below_each((*SHARED, *BUILD, *TOP), (*SHARED, *RUN, *TOP))


def name_of(path):
    """Return the dotted name of a file below the package, ``""`` for the package itself."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def place_of(module):
    """Return where a module belongs: the innermost folder that has a step of its own, or a file that has one."""
    path = MODULES[module].relative_to(ROOT)
    if len(path.parts) == 1:
        return FILES.get(path.name, path.name if path.name in BELOW else "leaves")
    return next((str(folder) for folder in path.parents if str(folder) in BELOW), path.parts[0])


def module_named(name):
    """Return the module that a dotted name is, or is an attribute of; None outside the package."""
    head, _, below = name.partition(".")
    if head != PACKAGE or below == "__version__":  # which the package sets before all else
        return None
    while below not in MODULES:
        below = below.rpartition(".")[0]
    return below


@cache
def tree_of(module):
    """Return the syntax tree of a module."""
    return ast.parse(MODULES[module].read_text())


def statements(node, *, at_run_time=False):
    """Yield the statements in a statement or a module, without those for type checkers if only run time counts."""
    for inner in (
        one for field in ("body", "handlers", "cases", "orelse", "finalbody") for one in getattr(node, field, ())
    ):
        if not (at_run_time and isinstance(inner, ast.If) and getattr(inner.test, "id", "") == "TYPE_CHECKING"):
            yield inner
            yield from statements(inner, at_run_time=at_run_time)


def imported(module):
    """Return the modules of the package that a module imports, wherever in it."""
    names = set()
    for node in statements(tree_of(module)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{MODULES[module]}:{node.lineno}: a relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {found for found in map(module_named, names) if found is not None} - {module}


@cache
def imports():
    """Return the modules that each module imports."""
    return {module: imported(module) for module in MODULES}


def wrong_imports():
    """Return the imports that lead up or aside, as text."""
    return [
        f"{place_of(module)} imports {place_of(other)}: {module} imports {other}"
        for module, others in imports().items()
        for other in sorted(others)
        if place_of(other) not in BELOW[place_of(module)] | {place_of(module)}
    ]


def cycles():
    """Return the sets of modules of one place that import each other, directly or not."""
    inside = {
        module: {other for other in others if place_of(other) == place_of(module)}
        for module, others in imports().items()
    }
    reached = reached_from(inside)
    groups = (frozenset(other for other in reached[module] if module in reached[other]) for module in inside)
    return {group for group in groups if group}


def reached_from(graph):
    """Return all that can be reached from each node by one step or more."""
    below = {node: set(others) for node, others in graph.items()}
    for through, node in product(graph, graph):
        if through in below[node]:
            below[node] |= below[through]
    return below


def folder_table():
    """Return the table of architecture.md: a row for each step, with its way unless it is on both."""
    rows = ["| folder | what it does |", "|---|---|"]
    for way, steps in (("", SHARED), ("build: ", BUILD), ("run: ", RUN), ("", TOP)):
        for step in steps:
            places = (f"`{place}`" if place.endswith(".py") else f"`{place}/`" for place in step)
            rows.append(f"| {way}{', '.join(places)} | {'; '.join(step.values())} |")
    return "\n".join(rows).replace("`leaves/`", "the package's own files")


def with_folder_table(text):
    """Return the text of architecture.md with the table of the folders as they are."""
    head, mark, rest = text.partition("<!-- folders -->\n")
    _, end, tail = rest.partition("<!-- end -->\n")
    return f"{head}{mark}\n{folder_table()}\n\n{end}{tail}"


def lines(module):
    """Return how many lines a module has."""
    return len(MODULES[module].read_text().splitlines())


def test_every_folder_has_its_place():
    """A new folder gets a step and a reason; the step of one that is gone goes too."""
    assert {place_of(module) for module in MODULES} == set(BELOW)


def test_imports_lead_down():
    """A folder imports only what is on an earlier step of its way."""
    assert wrong_imports() == []


def private_folder(module):
    """Return the folder with a door that a module is private to; None for doors, and for all else."""
    if module is None:
        return None
    path = MODULES[module].relative_to(ROOT)
    folder = next((str(folder) for folder in path.parents if str(folder) in DOORS), None)
    return None if folder is None or path.name == "__init__.py" else folder


def test_folders_are_imported_through_their_doors():
    """Outside these folders, the names that their ``__init__`` has are used, and no module of theirs."""
    beside = [
        f"{module} imports {node.module}"
        for module, path in MODULES.items()
        for node in statements(tree_of(module))
        if isinstance(node, ast.ImportFrom)
        if (folder := private_folder(module_named(node.module))) is not None
        if not path.is_relative_to(ROOT / folder)
    ]
    assert beside == []


def offered(folder):
    """Return the names that a folder's ``__init__`` has, those that it loads when they are used with their module."""
    tree = tree_of(folder.replace("/", "."))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lazy")
    table = next((call.args[1] for call in calls), None)
    listed = {} if table is None else ast.literal_eval(table)
    lazy = {name: module for module, text in listed.items() for name in (text.split() if text == str(text) else text)}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom | ast.FunctionDef | ast.ClassDef)]
    own = {alias.asname or alias.name for node in nodes for alias in getattr(node, "names", ())}
    return lazy, own | {node.name for node in nodes if not isinstance(node, ast.ImportFrom)}


@cache
def top_names(module):
    """Return the names that a module itself defines, those for type checkers too."""
    body = tree_of(module).body
    nodes = [*body, *(inner for node in body if isinstance(node, ast.If) for inner in node.body)]
    assigned = (node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", node) for node in nodes)
    return {getattr(node, "id", getattr(node, "name", "")) for node in (*assigned, *nodes)}


def test_doors_have_what_others_import():
    """A name that code imports from a folder is one that its ``__init__`` has, of a module that has it."""
    doors = {f"{PACKAGE}.{folder.replace('/', '.')}": offered(folder) for folder in DOORS}
    lacking = [f"{door}.{module}.{name}" for door, (lazy, _) in doors.items() for name, module in lazy.items()
               if name not in top_names(f"{door}.{module}".partition(".")[2])]  # fmt: skip
    for module in MODULES:
        for node in statements(tree_of(module), at_run_time=True):
            if isinstance(node, ast.ImportFrom) and node.module in doors:
                known = {*doors[node.module][0], *doors[node.module][1]}
                names = (f"{node.module}.{alias.name}" for alias in node.names if alias.name not in known)
                lacking += [f"{module}: {name}" for name in names if name not in doors]
    assert lacking == []


def test_modules_of_a_folder_form_no_cycle():
    """What imports each other is one thing, or rests on a third."""
    assert cycles() == set(CYCLES)


def test_no_folder_is_most_of_the_package():
    """Where one grows beyond a fifth of all lines, its name says little of what is in it."""
    sizes = {}
    for module, path in MODULES.items():
        folder = path.relative_to(ROOT).parts[0]
        sizes[folder] = sizes.get(folder, 0) + lines(module)
    most = MOST_OF_THE_PACKAGE * sum(sizes.values())
    assert {folder: size for folder, size in sizes.items() if size > most} == {}


def test_architecture_shows_the_folders():
    """The page has the table of this file; ``python tests/test_import_graph.py`` writes it again."""
    text = ARCHITECTURE.read_text()
    assert text == with_folder_table(text)


if __name__ == "__main__":
    ARCHITECTURE.write_text(with_folder_table(ARCHITECTURE.read_text()))
