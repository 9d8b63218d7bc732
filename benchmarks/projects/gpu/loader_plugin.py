"""A pytest plugin: the kernels of a project come from a store, in place of what its loader compiles.

No file of the project is changed. Its one function that loads kernels is replaced by one that asks the store; cuCIM has
one for each of four sources. ``PROJECT`` names the project; without ``PROJECT_STORE``, the package with the store,
only the loads are counted. Also imported by first_use.py.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import cupy

LOADED: Counter[str] = Counter()
PROJECT = os.environ["PROJECT"]
PACKAGE = os.environ.get("PROJECT_STORE", "")
if PACKAGE:
    from hatch_cuda_kernels import open_store

    STORE = open_store(PACKAGE)


def store_module(family: str, **axes: Any) -> Any:
    """Return a module of the store, which is used as a RawModule."""
    LOADED[f"{family} {axes}"] += 1
    return STORE.cupy_module(family, **axes)


def ptypy_load_kernel(name: Any, subs: Any = {}, file: str | None = None, options: Any = None) -> Any:  # noqa: B006
    """Stand in for ``ptypy.accelerate.cuda_cupy.load_kernel``."""
    module = store_module((file or f"{name}.cu").removesuffix(".cu"), **subs)
    return module.get_function(name) if isinstance(name, str) else tuple(map(module.get_function, name))


def httomolibgpu_load_cuda_module(file: str, name_expressions: Any = None, options: Any = ()) -> Any:
    """Stand in for ``httomolibgpu.cuda_kernels.load_cuda_module``."""
    return store_module(file)


def replace(function: str, module: str, stand_in: Any) -> None:
    """Replace a function in the module that defines it, and wherever it was imported by name."""
    original = getattr(import_module(module), function)
    for one in [*sys.modules.values()]:
        if vars(one).get(function) is original:  # getattr would import what other packages leave for later
            setattr(one, function, stand_in)


def use_ptypy() -> None:
    for name in ("kernels", "array_utils", "address_manglers", "cufft"):
        import_module(f"ptypy.accelerate.cuda_cupy.{name}")
    replace("load_kernel", "ptypy.accelerate.cuda_cupy", ptypy_load_kernel)


def use_httomolibgpu() -> None:
    import_module("httomolibgpu")
    replace("load_cuda_module", "httomolibgpu.cuda_kernels", httomolibgpu_load_cuda_module)


def use_cucim() -> None:
    use_cucim_morphology()
    if "pytest" in sys.modules:  # the first use has no need of these modules
        use_cucim_features()


def use_cucim_features() -> None:
    blob, hessian = (import_module(f"cucim.skimage.feature.{name}") for name in ("blob", "_hessian_det_appx"))
    types = {"f": "float", "d": "double"}

    def of_types(family: str, axis: str) -> Any:
        def stand_in(dtype: Any, large_int: bool) -> Any:
            kinds = {axis: types[cupy.dtype(dtype).char], "INT_T": "long long" if large_int else "int"}
            return store_module(family, **kinds)

        return stand_in

    blob._get_prune_blob_rawmodule = of_types("blob", "BLOB_T")
    hessian._get_hessian_det_appx_kernel = of_types("_hessian_det_appx", "IMAGE_T")


def use_cucim_morphology() -> None:
    flat, deep = (import_module(f"cucim.core.operations.morphology._pba_{name}") for name in ("2d", "3d"))

    def flat_source(block_size_2d: int = 64, marker: int = -32768, pixel_int2_t: str = "short2") -> Any:
        axes = {"MARKER": marker, "BLOCKSIZE": block_size_2d, "pixel_int2_t": pixel_int2_t}
        return lambda: store_module("pba_kernels_2d", **axes)

    def deep_source(block_size_3d: int = 32, size_max: int = 1024, **_: Any) -> Any:
        kind = "long long" if size_max > 1024 else "int"
        return lambda: store_module("pba_kernels_3d", BLOCKSIZE=block_size_3d, ENCODED_INT_TYPE=kind)

    flat.get_pba2d_src, deep.get_pba3d_src = flat_source, deep_source
    for module in (flat, deep):
        module.cupy = SimpleNamespace(**{**vars(cupy), "RawModule": lambda code: code()})


def count_loads() -> None:
    """Count what the project compiles by itself."""
    for name in ("RawModule", "RawKernel"):
        original = getattr(cupy, name)

        def counted(*args: Any, _name: str = name, _original: Any = original, **more: Any) -> Any:
            LOADED[_name] += 1
            return _original(*args, **more)

        if PROJECT != "cucim":  # it tests for the types
            setattr(cupy, name, counted)


def use() -> None:
    """Have the project use the store, or count what it compiles without."""
    if PACKAGE:
        {"ptypy": use_ptypy, "httomolibgpu": use_httomolibgpu, "cucim": use_cucim}[PROJECT]()
    else:
        count_loads()


class Missing(ModuleType):
    """A library that is not here: whoever uses it is skipped."""

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":
            return []
        if name.startswith("__"):
            raise AttributeError(name)
        import pytest

        return lambda *_, **__: pytest.skip(f"{self.__name__} is not installed")


#: ASTRA's wheel is for CUDA 12.
ABSENT = {"astra": ("experimental", "pythonutils"), "tomophantom": ("qualitymetrics", "supp", "supp.artifacts")}
if PROJECT == "httomolibgpu":
    for absent, parts in ABSENT.items():
        for name in (absent, *(f"{absent}.{part}" for part in parts)):
            sys.modules.setdefault(name, Missing(name))
use()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what was loaded."""
    where = "from the store" if PACKAGE else "by CuPy"
    terminalreporter.write_line(f"loads {where}: {sum(LOADED.values())}, different {len(LOADED)}")
