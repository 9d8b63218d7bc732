"""The same two operators, ``saxpy`` in place and ``cube`` out of place, by each way to make them."""

from __future__ import annotations

import subprocess
import textwrap
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
MANIFEST = """
schema: 1
arches: [{arch}]
modules:
  operators:
    source: operators_torch_kernel.cuh
    launch:
      saxpy: {{grid: "ceil_div(n, 256)", block: 256}}
      cube: {{grid: "ceil_div(n, 256)", block: 256}}
"""


class Contender(NamedTuple):
    """Operators, and the Python text that a cold process needs for its first result ``y`` of ``x``."""

    saxpy: Callable[..., None]
    cube: Callable[..., torch.Tensor]
    cold: str
    is_operator: bool = True


def build_ours(work: Path) -> Path:
    """Build the store."""
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    major, minor = torch.cuda.get_device_capability()
    (work / "operators_torch_kernel.cuh").write_text((HERE / "operators_torch_kernel.cuh").read_text())
    (work / "kernels.yaml").write_text(MANIFEST.format(arch=f"sm_{major}{minor}"))
    build_store(load_manifest(work / "kernels.yaml"), work / "_kernels")
    return work / "_kernels"


def ours(work: Path) -> Contender:
    """``Store.torch_ops``."""
    from hatch_cuda_kernels import open_store

    folder = build_ours(work)
    open_store(folder).torch_ops("operators_ours", functional={"cube": {"y": "x"}})
    operators = torch.ops.operators_ours
    cold = f"""
    from hatch_cuda_kernels import open_store
    open_store({str(folder)!r}).torch_ops("operators_ours", functional={{"cube": {{"y": "x"}}}})
    y = torch.ops.operators_ours.cube_functional(x, 1024)
    """
    return Contender(operators.saxpy.default, operators.cube_functional.default, cold)


def launches(work: Path) -> Contender:
    """Our launches without operators."""
    from hatch_cuda_kernels import open_store

    store = open_store(work / "_kernels")
    saxpy, cube = store.get_kernel("saxpy"), store.get_kernel("cube")

    def cubed(x, n):
        y = torch.empty_like(x)
        cube(y, x, n)
        return y

    cold = f"""
    from hatch_cuda_kernels import open_store
    y = torch.empty_like(x)
    open_store({str(work / "_kernels")!r}).get_kernel("cube")(y, x, 1024)
    """
    return Contender(saxpy, cubed, cold, is_operator=False)


def custom_op(work: Path) -> Contender:
    """Our launches in ``torch.library.custom_op``."""
    bare = launches(work)

    @torch.library.custom_op("operators_custom::saxpy", mutates_args=("y",))
    def saxpy(y: torch.Tensor, x: torch.Tensor, n: int, a: float) -> None:
        bare.saxpy(y, x, n, a)

    @torch.library.custom_op("operators_custom::cube", mutates_args=())
    def cube(x: torch.Tensor, n: int) -> torch.Tensor:
        return bare.cube(x, n)

    cube.register_fake(lambda x, n: torch.empty_like(x))
    return Contender(saxpy, cube, "")


def start_extension(work: Path) -> Callable[[], None]:
    """Start nvcc for the C++ extension, and return what waits for it: it raises RuntimeError if nvcc fails."""
    from torch.utils import cpp_extension

    major, minor = torch.cuda.get_device_capability()
    nvcc = Path(cpp_extension.CUDA_HOME or "", "bin", "nvcc")
    options = ["-O3", "-std=c++17", f"-arch=sm_{major}{minor}", "-Xcompiler=-fPIC", "-shared", "-cudart=shared"]
    options += [f"-I{path}" for path in (HERE, *cpp_extension.include_paths())]
    options += [f"-L{path}" for path in cpp_extension.library_paths()]
    options += [f"-l{name}" for name in ("c10", "torch_cpu", "c10_cuda")]
    command = [str(nvcc), str(HERE / "operators_torch.cu"), *options, "-o", str(work / "extension.so")]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        failure = RuntimeError(f"there is no nvcc: {error}")
        return partial(_fail, failure)

    def wait() -> None:
        try:
            printed, _ = process.communicate()
        finally:
            process.kill()
        if process.returncode:
            raise RuntimeError(printed)

    return wait


def _fail(error: Exception) -> None:
    raise error


def extension(work: Path) -> Contender:
    """A C++ extension by nvcc, which ``start_extension`` made."""
    library = work / "extension.so"
    torch.ops.load_library(str(library))
    torch.library.register_fake("operators_extension::saxpy", lambda y, x, n, a: None)
    torch.library.register_fake("operators_extension::cube", lambda x, n: torch.empty_like(x))
    operators = torch.ops.operators_extension
    cold = f"""
    torch.ops.load_library({str(library)!r})
    y = torch.ops.operators_extension.cube(x, 1024)
    """
    return Contender(operators.saxpy.default, operators.cube.default, cold)


def triton_op(work: Path) -> Contender:
    """``torch.library.triton_op``. Raises ImportError without Triton."""
    (work / "operators_triton.py").write_text(TRITON)
    import sys

    sys.path.insert(0, str(work))
    import operators_triton

    cold = f"""
    import sys; sys.path.insert(0, {str(work)!r})
    import operators_triton
    y = operators_triton.cube(x, 1024)
    """
    return Contender(operators_triton.saxpy, operators_triton.cube, cold)


TRITON = textwrap.dedent("""
    import torch
    import triton
    import triton.language as tl
    from torch.library import triton_op, wrap_triton

    @triton.jit
    def saxpy_kernel(y, x, n, a, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        tl.store(y + i, a * tl.load(x + i, mask) + tl.load(y + i, mask), mask)

    @triton.jit
    def cube_kernel(y, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        value = tl.load(x + i, mask)
        tl.store(y + i, value * value * value, mask)

    @triton_op("operators_triton::saxpy", mutates_args={"y"})
    def saxpy(y: torch.Tensor, x: torch.Tensor, n: int, a: float) -> None:
        wrap_triton(saxpy_kernel)[((n + 255) // 256,)](y, x, n, a, BLOCK=256)

    @triton_op("operators_triton::cube", mutates_args={})
    def cube(x: torch.Tensor, n: int) -> torch.Tensor:
        y = torch.empty_like(x)
        wrap_triton(cube_kernel)[((n + 255) // 256,)](y, x, n, BLOCK=256)
        return y
""")
#: The one that ``start_extension`` must be called for first.
EXTENSION = "C++ extension by nvcc"
#: The extension comes last: meanwhile it is built.
ALL = {
    "ours": ours,
    "our launch alone": launches,
    "custom_op over our launch": custom_op,
    "triton_op": triton_op,
    EXTENSION: extension,
}
