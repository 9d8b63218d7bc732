"""Projects to build: 5 light sources x 6 architectures, 30 x 8, and 10 CUB-like sources x 8.

    python benchmarks/build_sources.py 30x8 FOLDER

Each project is a package with kernels.yaml (one front-end run an architecture), kernels.lto.yaml and kernels.ptx.yaml
(one for all), and plain .cu files that nvcc compiles as they are. The same name gives the same bytes.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Final, NamedTuple

SOURCES: Final = Path(__file__).parent / "sources"
FRONT_ENDS: Final = ("per-arch", "lto", "ptx")
#: The header that "one header changed" means: some of the modules of each matrix include it.
CHANGED: Final = Path("include/bench/reduce.cuh")
PACKAGE: Final = "bench_kernels"

_SIX: Final = (80, 86, 89, 90, 100, 120)
_EIGHT: Final = (75, 80, 86, 89, 90, 100, 103, 120)

#: Each light source, and what its variants are written with.
_LIGHT: Final = {
    "axpy": ("using T = float;", "using T = double;", "using T = int;", "using T = long long;"),
    "reduce": (
        "using T = float; constexpr int BLOCK = 256;",
        "using T = double; constexpr int BLOCK = 256;",
        "using T = int; constexpr int BLOCK = 512;",
    ),
    "gemm": (
        "using T = float; constexpr int TILE_M = 128, TILE_N = 128, TILE_K = 8, ROWS = 8, COLUMNS = 8;",
        "using T = float; constexpr int TILE_M = 64, TILE_N = 64, TILE_K = 8, ROWS = 8, COLUMNS = 4;",
        "using T = double; constexpr int TILE_M = 64, TILE_N = 64, TILE_K = 8, ROWS = 4, COLUMNS = 4;",
    ),
    "special": ("using T = float;", "using T = double;"),
    "mixed": ("#include <cuda_fp16.h>\nusing T = __half;", "#include <cuda_bf16.h>\nusing T = __nv_bfloat16;"),
    "stencil": (
        "using T = float; constexpr int RADIUS = 1, SIDE = 16;",
        "using T = float; constexpr int RADIUS = 3, SIDE = 16;",
        "using T = double; constexpr int RADIUS = 2, SIDE = 16;",
        "using T = float; constexpr int RADIUS = 4, SIDE = 32;",
    ),
    "softmax": (
        "using T = float; constexpr int BLOCK = 256;",
        "#include <cuda_fp16.h>\nusing T = __half; constexpr int BLOCK = 256;",
        "#include <cuda_fp16.h>\nusing T = __half; constexpr int BLOCK = 1024;",
    ),
    "histogram": (
        "using T = float; constexpr int BINS = 256;",
        "using T = unsigned char; constexpr int BINS = 64;",
        "using T = double; constexpr int BINS = 1024;",
    ),
    "transpose": (
        "using T = float; constexpr int TILE = 32;",
        "using T = double; constexpr int TILE = 32;",
        "using T = short; constexpr int TILE = 64;",
    ),
    "random": (
        "using T = float; constexpr int ROUNDS = 10;",
        "using T = double; constexpr int ROUNDS = 10;",
        "using T = float; constexpr int ROUNDS = 7;",
    ),
}
#: Each CUB-like source, a template of <class T, int BLOCK, int ITEMS>, and its instances.
_CUB: Final = {
    "sort_keys": ("int, 128, 16", "float, 128, 16", "unsigned int, 256, 8"),
    "sort_pairs": ("int, 128, 8", "float, 256, 8"),
    "merge_sort": ("int, 128, 8", "double, 128, 8"),
    "reduce": ("float, 256, 4", "double, 256, 4", "int, 512, 4"),
    "scan": ("float, 256, 8", "int, 256, 8"),
    "histogram": ("float, 256, 8", "int, 128, 16"),
    "warps": ("float, 256, 4", "int, 256, 4"),
    "unique": ("int, 256, 8", "float, 256, 8"),
    "exchange": ("float, 256, 8", "double, 128, 8"),
    "coherence": ("float, 256, 8", "double, 256, 8"),
}


class Source(NamedTuple):
    """One module: its text, complete for both compilers, and the instances that the manifest names."""

    text: str
    instances: tuple[str, ...] = ()


class Project(NamedTuple):
    """A project that was written: where it lies, its modules, and the compute capabilities it is compiled for."""

    root: Path
    modules: dict[str, Source]
    arches: tuple[int, ...]

    @property
    def changed_modules(self) -> set[str]:
        """The modules that include the header which changes."""
        include = f'#include "{CHANGED.relative_to("include")}"'
        return {name for name, source in self.modules.items() if include in source.text}

    def manifest(self, front_end: str) -> str:
        return "kernels.yaml" if front_end == "per-arch" else f"kernels.{front_end}.yaml"


def light_sources() -> dict[str, Source]:
    """Return the 30 light sources; the first variants of the families come first."""
    texts = {family: (SOURCES / "light" / f"{family}.cu").read_text() for family in _LIGHT}
    most = max(map(len, _LIGHT.values()))
    return {
        f"{family}_{number}": Source(f"{variants[number]}\n\n{texts[family]}")
        for number in range(most)
        for family, variants in _LIGHT.items()
        if number < len(variants)
    }


def cub_sources() -> dict[str, Source]:
    return {
        name: Source(
            f"{(SOURCES / 'cub' / f'{name}.cu').read_text()}\n{_explicit(name, instances)}",
            tuple(f"{name}<{instance}>" for instance in instances),
        )
        for name, instances in _CUB.items()
    }


def _explicit(name: str, instances: tuple[str, ...]) -> str:
    """Return what makes nvcc compile the instances; NVRTC is asked for them by name."""
    types = [instance.split(",")[0] for instance in instances]
    lines = [
        f"template __global__ void {name}<{instance}>(const {type_}*, {type_}*, int);"
        for instance, type_ in zip(instances, types, strict=True)
    ]
    return "\n".join(["#ifndef __CUDACC_RTC__", *lines, "#endif", ""])


#: What each matrix compiles: sources and architectures.
MATRICES: Final = {
    "5x6": (lambda: dict(list(light_sources().items())[:5]), _SIX),
    "30x8": (light_sources, _EIGHT),
    "cub10x8": (cub_sources, _EIGHT),
}


def write_project(matrix: str, folder: Path) -> Project:
    """Write a project into ``folder``, which is replaced, and return it."""
    sources, arches = MATRICES[matrix]
    project = Project(folder, sources(), arches)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCES / "include", folder / "include")
    (folder / "kernels").mkdir()
    (folder / PACKAGE).mkdir()
    (folder / PACKAGE / "__init__.py").write_text('"""Kernels."""\n')
    (folder / "pyproject.toml").write_text(_PYPROJECT)
    for name, source in project.modules.items():
        (folder / "kernels" / f"{name}.cu").write_text(source.text)
    for front_end in FRONT_ENDS:
        (folder / project.manifest(front_end)).write_text(_manifest(project, front_end))
    return project


_PYPROJECT: Final = f"""\
[build-system]
requires = ["hatchling>=1.27", "hatch-cuda-kernels[build]"]
build-backend = "hatchling.build"

[project]
name = "{PACKAGE.replace("_", "-")}"
version = "1.0"

[tool.hatch.build.targets.wheel.hooks.cuda-kernels]
"""


def _manifest(project: Project, front_end: str) -> str:
    arches = [f"sm_{arch}" for arch in project.arches] + [f"compute_{project.arches[0]}"]
    lines = ["schema: 1", 'cuda: "13.0"', f"arches: [{', '.join(arches)}]", "options: {include: [include]}", "modules:"]
    for name, source in project.modules.items():
        lines += [f"  {name}:", f"    source: kernels/{name}.cu"]
        if source.instances:
            lines.append("    instances: [" + ", ".join(f'"{instance}"' for instance in source.instances) + "]")
        if front_end != "per-arch":
            lines.append(f"    front_end: {front_end}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrix", choices=MATRICES)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    write_project(args.matrix, args.folder)


if __name__ == "__main__":
    main()
