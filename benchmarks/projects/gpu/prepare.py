"""Put together what gpu.sh needs on the machine with the GPU, where nothing can be installed from outside.

    python benchmarks/projects/gpu/prepare.py CHECKOUTS FOLDER

Writes FOLDER/wheels (this package, and one with the kernels of each project, built by the hook), and
FOLDER/cusignal and FOLDER/cupy: each project's Python tests as they are, and the fatbins that cuSignal's own build.sh
makes with nvcc, for one architecture.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from project_list import copy_sources, load_projects  # noqa: E402
from python_kernels import write_kernels  # noqa: E402 - the folder above

PYPROJECT = """\
[build-system]
requires = ["hatch-cuda-kernels[build]"]
build-backend = "hatchling.build"
[project]
name = "{name}"
version = "1.0"
[tool.hatch.build.targets.wheel]
packages = ["{name}"]
[tool.hatch.build.targets.wheel.hooks.cuda-kernels]
"""
PACKAGES = {
    "rapidsai+cusignal": "cusignal_kernels",
    "cupy+cupy.tests": "cupy_test_kernels",
    "cupy+cupy.cupyx": "cupyx_kernels",
}
CUPY_TESTS = (
    "conftest.py",
    "cupy_tests/core_tests/test_raw.py",
    "cupyx_tests/scipy_tests/interpolate_tests/test_bspline.py",
    "cupyx_tests/scipy_tests/interpolate_tests/test_interpnd.py",
    "cupyx_tests/scipy_tests/interpolate_tests/test_ppoly.py",
    "cupyx_tests/scipy_tests/signal_tests/test_iir_utils.py",
    "cupyx_tests/scipy_tests/signal_tests/test_max_len_seq.py",
    "cupyx_tests/scipy_tests/signal_tests/test_peak_finding.py",
    "cupyx_tests/scipy_tests/signal_tests/test_upfirdn.py",
    "cupyx_tests/scipy_tests/spatial_tests/test_delaunay.py",
    "cupyx_tests/scipy_tests/spatial_tests/test_kdtree.py",
    "cupyx_tests/signal_tests/filtering_tests/test_filtering.py",
)
FATBINS = ("convolution", "filtering", "io", "peak_finding", "spectral_analysis")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    folder = args.folder.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    for project in load_projects(HERE.parent / "projects.toml"):
        if project.name in PACKAGES:
            work = folder / "work" / PACKAGES[project.name]
            copy_sources(project, args.checkouts, work)
            write_kernels(args.checkouts / project.checkout, project.python, work / "kernels")
            shutil.copyfile(HERE.parent / f"{project.name}.yaml", work / "kernels.yaml")
            build_wheel(work, folder / "wheels")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "wheels"), cwd=HERE.parents[2])
    copy_tests(args.checkouts, folder)
    make_fatbins(folder / "work" / "cusignal_kernels" / "cpp/src", folder / "cusignal/cusignal")
    shutil.rmtree(folder / "work")


def build_wheel(work: Path, wheels: Path) -> None:
    """Build a project's wheel: its manifest, and a package of nothing but the store."""
    (work / work.name).mkdir()
    (work / work.name / "__init__.py").touch()
    (work / "pyproject.toml").write_text(PYPROJECT.format(name=work.name))
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels), cwd=work)


def copy_tests(checkouts: Path, folder: Path) -> None:
    shutil.copytree(checkouts / "rapidsai+cusignal/python", folder / "cusignal")
    tests = checkouts / "cupy+cupy/tests"
    for name in CUPY_TESTS:
        (folder / "cupy" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tests / name, folder / "cupy" / name)
    shutil.copyfile(checkouts / "cupy+cupy/pyproject.toml", folder / "cupy/pyproject.toml")


def make_fatbins(sources: Path, package: Path) -> None:
    """Compile cuSignal's sources as its build.sh does, for sm_90.

    The wheel of nvcc lacks nvfunctional, of which they use nothing.
    """
    (sources / "nvfunctional").touch()
    for name in FATBINS:
        for source in sorted((sources / name).glob("*.cu")):
            target = package / name / f"{source.stem}.fatbin"
            flags = ("--fatbin", "-std=c++17", "--generate-code", "arch=compute_90,code=sm_90", f"-I{sources}")
            run("nvcc", *flags, str(source), "-o", str(target), cwd=sources)


def run(*command: str, cwd: Path) -> None:
    subprocess.run(command, cwd=cwd, check=True)


if __name__ == "__main__":
    main()
