"""Put together what loaders.sh needs on the machine with the GPU, where nothing can be installed from outside.

    python benchmarks/projects/gpu/prepare_loaders.py CHECKOUTS FOLDER

Needs the network for wheels, and CuPy where Python finds it, for its headers. Writes FOLDER/wheels (this package, one
with the kernels of each project, built by the hook, and what the projects' tests need), and each project's Python files
and tests as they are. One file of test data is made up: the commit's is too large for
its mirror. Tests that compare with numbers of the real one fail in both runs, and say which numbers they got.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from prepare import build_wheel, run  # noqa: E402 - the folders above
from project_list import copy_sources, load_projects  # noqa: E402

PACKAGES = {
    "ptycho+ptypy": "ptypy_kernels",
    "DiamondLightSource+httomolibgpu": "httomolibgpu_kernels",
    "rapidsai+cucim": "cucim_kernels",
}
#: What of each checkout is copied, to the folder of this name.
COPIES = {
    "ptycho+ptypy": ("ptypy", ["ptypy", "test", "LICENSE"]),
    "DiamondLightSource+httomolibgpu": ("httomolibgpu", ["httomolibgpu", "tests", "LICENSE"]),
    "dkazanc+ToMoBAR": ("tomobar", ["tomobar", "LICENSE"]),
    "rapidsai+cucim": ("cucim", ["python/cucim/src/cucim", "python/cucim/VERSION", "LICENSE"]),
}
WHEELS = (
    "h5py==3.16.0",
    "imageio==2.38.1",
    "lazy-loader==0.6",
    "nvtx==0.2.17",
    "PyWavelets==1.10.0",
    "scikit-image==0.26.0",
    "tifffile==2026.11.8",
)
PLATFORMS = ("2_28", "2_27", "2_26", "2_24", "2_17", "2_12", "2_5", "2_1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="NAME", help="such as ptycho+ptypy, for its licence"
    )
    args = parser.parse_args()
    folder = args.folder.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    for project in load_projects(HERE.parent / "projects.toml"):
        if project.name in PACKAGES and project.name not in args.without:
            work = folder / "work" / PACKAGES[project.name]
            copy_sources(project, args.checkouts, work)
            shutil.copyfile(HERE.parent / f"{project.name}.yaml", work / "kernels.yaml")
            build_wheel(work, folder / "wheels")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "wheels"), cwd=HERE.parents[2])
    shutil.rmtree(folder / "work")
    for checkout, (name, paths) in COPIES.items():
        for path in paths if checkout not in args.without else ():
            _copy(args.checkouts / checkout / path, folder / name / path)
    if (data := folder / "httomolibgpu/tests/test_data").is_dir():
        _write_data(data / "tomo_standard.npz")
    target = ["--python-version", "3.12", "--implementation", "cp", "--only-binary", ":all:"]
    platforms = [f"--platform=manylinux_{one}_x86_64" for one in PLATFORMS] + ["--platform=manylinux2014_x86_64"]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *target, *platforms]
    subprocess.run([*command, "-d", str(folder / "wheels"), *WHEELS], check=True)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.tif", "*.png", "camera_*.npy", "__pycache__"))
    else:
        shutil.copyfile(source, target)


def _write_data(path: Path) -> None:
    """Write projections of two discs that turn, with the shapes of the data that the tests are for."""
    import numpy as np

    random = np.random.default_rng(1)
    angles = np.linspace(0, np.pi, 180, dtype="float32")
    x, y = np.arange(160)[None, None, :], np.arange(128)[None, :, None]
    data = np.full((180, 128, 160), 1000.0)
    for radius, distance, height in ((20, 30, 60), (12, -45, 40)):
        centre = 80 + distance * np.cos(angles)[:, None, None]
        inside = radius**2 - (x - centre) ** 2 - (y - height) ** 2 / 4
        data -= 20 * np.sqrt(np.maximum(inside, 0))
    noise = random.integers(-8, 8, data.shape)
    flats, darks = (np.full((20, 128, 160), level, "uint16") for level in (1000, 50))
    more = {"angles": angles, "angles_total": 180, "detector_y": 128, "detector_x": 160}
    np.savez_compressed(path, data=(data + noise).astype("uint16"), flats=flats, darks=darks, **more)


if __name__ == "__main__":
    main()
