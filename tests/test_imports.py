"""What importing loads, seen from a fresh interpreter."""

from __future__ import annotations

import ast
import subprocess
import sys
import typing
from importlib import import_module
from pathlib import Path

import pytest

import hatch_cuda_kernels

HEAVY = ("yaml", "hatchling", "numpy", "cuda.bindings", "cuda.core", "platformdirs", "rich", "jax", "torch")
PACKAGE = Path(hatch_cuda_kernels.__file__).parent
DOORS = [door for door in PACKAGE.glob("*/**/__init__.py") if "= lazy(" in door.read_text()]


def is_lazy(node):
    """Return whether a statement makes the names of a folder's modules available."""
    return isinstance(node, ast.Assign) and ast.unparse(node).startswith("__getattr__ = lazy(")


def loaded_after(code):
    """Run code in a fresh interpreter and return the names in sys.modules and of mapped libraries."""
    script = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))\nprint(open('/proc/self/maps').read())"
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout


def test_importing_the_package_is_bare():
    """``import hatch_cuda_kernels`` loads no heavy package, and not even dataclasses."""
    modules = loaded_after("import hatch_cuda_kernels").split()
    assert not [name for name in (*HEAVY, "dataclasses") if name in modules]


def test_opening_a_store_loads_neither_cuda_nor_yaml():
    """``open_store`` reads nothing and loads no library."""
    modules = loaded_after("from hatch_cuda_kernels import open_store; open_store('no_such_package')").split()
    assert not [name for name in HEAVY if name in modules]


def test_opening_a_store_is_light():
    """The driver starts before Python imports typing, which takes longer than everything that is needed until then."""
    code = "import sys; sys.path[:0] = sys.argv[1:]; from hatch_cuda_kernels import open_store; open_store('x')"
    script = f"{code}; print([name for name in ('typing', 're', 'json', 'pathlib') if name in sys.modules])"
    root = Path(hatch_cuda_kernels.__file__).parents[1]
    # Without site: an editable install's finder may have imported anything.
    command = [sys.executable, "-S", "-c", script, str(root)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == "[]"


def test_the_hit_path_loads_no_rung_that_compiles(example_store):
    """Finding a prebuilt image takes 21 modules: none of the compiler, the disk cache, and the rungs that use them."""
    seen = loaded_after(
        "from pathlib import Path; from hatch_cuda_kernels import open_store;"
        f"open_store(Path({str(example_store)!r})).find_image('saxpy', arch='sm_90')"
    ).split()
    rungs = ("runtime.ladder.compile_rungs",)
    more = ("compiler", "cache", "options", "terminal", "threads", "runtime.launch.kernel", "runtime.loading")
    unwanted = tuple(f"hatch_cuda_kernels.{name}" for name in (*rungs, *more))
    assert not [name for name in seen if name.startswith(unwanted)]
    assert len([name for name in seen if name.split(".")[0] == "hatch_cuda_kernels"]) <= 21


def test_waiting_for_the_driver_loads_nothing_in_vain(example_store):
    """A kernel that has an image needs neither compilers nor the disk cache: what is loaded makes Python exit later."""
    seen = loaded_after(
        "from contextlib import suppress; from pathlib import Path; from hatch_cuda_kernels import load, errors;"
        "load.start_driver, load.is_starting, load.starting_device = int, lambda: True, lambda: ((9, 0), (13, 0));"
        f"store = load.open_store(Path({str(example_store)!r}))\n"
        "with suppress(errors.DriverError): store.get_kernel('saxpy')"
    ).split()
    assert "cuda.bindings.driver" in seen
    folders = tuple(f"hatch_cuda_kernels.{name}" for name in ("cache", "compiler", "includes", "threads"))
    assert not [name for name in seen if name.startswith(folders) or name in {"platformdirs", "importlib.metadata"}]
    ours = [import_module(name) for name in seen if name.startswith("hatch_cuda_kernels")]
    assert not [module.__name__ for module in ours if getattr(module, "NamedTuple", None) is typing.NamedTuple]


def test_the_hit_path_loads_no_nvrtc(example_store):
    """Finding a prebuilt image loads neither NVRTC nor its bindings."""
    seen = loaded_after(
        "from pathlib import Path; from hatch_cuda_kernels import open_store;"
        f"assert open_store(Path({str(example_store)!r})).find_image('saxpy', arch='sm_90').origin == 'prebuilt'"
    )
    assert "libnvrtc" not in seen
    assert not [name for name in ("cuda.bindings.nvrtc", "yaml", "numpy", "hatchling") if name in seen.split()]


@pytest.mark.slow
def test_a_compile_at_run_time_imports_nothing_of_builds(example_store, tmp_path):
    """Not what cuts host code, reads messages of compilers, precompiles or links: a store has what a build found."""
    environment = f"import os; os.environ['HATCH_CUDA_KERNELS_CACHE_DIR'] = {str(tmp_path / 'empty')!r};"
    seen = loaded_after(
        f"{environment} from pathlib import Path; from hatch_cuda_kernels import open_store;"
        f"assert open_store(Path({str(example_store)!r})).find_image('saxpy', arch='sm_75').origin == 'jitted'"
    )
    builds = ("manifest", "plan", "pool", "port", "plugin", "verify", "report", "compiler.precompiled")
    cut = ("execution_space.cut", "execution_space.device_pass", "execution_space.oracle", "cpp.parser")
    rare = ("compiler.diagnostics", "compiler.finish", "includes.implied", "libraries.compilers")
    unwanted = tuple(f"hatch_cuda_kernels.{name}" for name in (*builds, *cut, *rare))
    assert not [name for name in seen.split() if name.startswith(unwanted) or name in {"yaml", "hatchling", "pickle"}]
    assert "libnvrtc" in seen
    assert "libnvJitLink" not in seen


@pytest.mark.slow
def test_a_cached_hit_imports_nothing_that_reads_sources(example_store, tmp_path):
    """Once a process has found an image, the next one knows its key without looking for compilers or reading C++."""
    # Whoever installs a package meanwhile, or makes a link to one's file, changes the state of what is compiled with.
    still = "from hatch_cuda_kernels.cache import disk; disk.file_state = lambda path: str(os.path.exists(path));"
    find = (
        f"import os; os.environ['HATCH_CUDA_KERNELS_CACHE_DIR'] = {str(tmp_path / 'empty')!r}; {still}"
        "from pathlib import Path; from hatch_cuda_kernels import open_store;"
        f"image = open_store(Path({str(example_store)!r})).find_image('block_sum<float, 256>', arch='sm_75')"
    )
    for _ in ("compiles", "finds"):
        loaded_after(find)
    seen = loaded_after(f"{find}; assert image.origin == 'cached'").split()
    folders = ("cpp", "includes", "execution_space", "libraries", "compiler.toolchain.toolchain", "threads")
    assert not [name for name in seen if name.startswith(tuple(f"hatch_cuda_kernels.{folder}" for folder in folders))]


def test_every_public_name_resolves():
    """Each name of ``__all__`` exists, and a wrong one is an AttributeError."""
    assert all(getattr(hatch_cuda_kernels, name) is not None for name in hatch_cuda_kernels.__all__)
    assert set(hatch_cuda_kernels.__all__) <= set(dir(hatch_cuda_kernels))
    assert not hasattr(hatch_cuda_kernels, "no_such_name")


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.parent.name)
def test_every_name_at_a_door_resolves(door):
    """A folder offers no name that its modules do not have."""
    if door.parent.name in {"jax", "torch"}:
        pytest.importorskip(door.parent.name)
    (names,) = (node.value.args[1] for node in ast.parse(door.read_text()).body if is_lazy(node))
    package = import_module(f"hatch_cuda_kernels.{door.parent.relative_to(PACKAGE).as_posix().replace('/', '.')}")
    assert all(getattr(package, name) is not None for text in ast.literal_eval(names).values() for name in text.split())
    assert not hasattr(package, "no_such_name")
