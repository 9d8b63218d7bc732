"""Wheels of a matrix: the one the hook builds, and the same package with nvcc's fatbins as data."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Final

from build_contenders import CORES, FRONT_ENDS, NVCC_PARALLEL, Nvcc, Ours, Place, fatbins, is_meant
from build_measure import measure
from build_sources import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

#: How nvcc packs its fatbins. A wheel compresses once more.
_PACKINGS: Final = {
    "nvcc": (),
    "nvcc -Xfatbin=-compress-all": ("-Xfatbin=-compress-all",),
    "nvcc --compress-mode=size": ("--compress-mode=size",),
}
_HOOK: Final = "[tool.hatch.build.targets.wheel.hooks.cuda-kernels]\n"


def wheel_sizes(place: Place, words: Collection[str]) -> dict[str, dict[str, int]]:
    """Return the bytes of the images as they are and of each wheel, by what made them. nvcc compiles once a packing.

    Names without one of the words are left out.
    """
    sizes = {}
    for ours in map(Ours, FRONT_ENDS):
        if is_meant(ours.name, words) and ours.supported(place):
            raw = ours.build(place, clean=False)["raw"]
            sizes[ours.name] = {"raw": raw, "wheel": _our_wheel(place, ours)}
    for name, flags in _PACKINGS.items():
        if not is_meant(name, words):
            continue
        raw = Nvcc(NVCC_PARALLEL, 1, CORES).run(place, *flags)["raw"]
        sizes[name] = {"raw": raw, "wheel": _fatbin_wheel(place, fatbins(place, *flags))}
    return sizes


def _our_wheel(place: Place, ours: Ours) -> int:
    """The images come from the disk cache: only their packing is at stake."""
    project = place.work / "wheel"
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(place.project.root, project)
    with (project / "pyproject.toml").open("a") as file:
        file.write(f'manifest = "{place.project.manifest(ours.front_end)}"\n')
    return _wheel(project, ours.environment(place))


def _fatbin_wheel(place: Place, images: Path) -> int:
    project = place.work / "wheel"
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(images, project / PACKAGE / "fatbins")
    shutil.copy(place.project.root / PACKAGE / "__init__.py", project / PACKAGE)
    text = (place.project.root / "pyproject.toml").read_text()
    (project / "pyproject.toml").write_text(text.replace(_HOOK, ""))
    return _wheel(project, {})


def _wheel(project: Path, environment: dict[str, str]) -> int:
    flags = ["--wheel", "--no-isolation", "--skip-dependency-check"]  # a toolkit may stand in for packages
    measure([[sys.executable, "-m", "build", *flags, "--outdir", project / "dist"]], cwd=project, env=environment)
    (wheel,) = (project / "dist").glob("*.whl")
    return wheel.stat().st_size
