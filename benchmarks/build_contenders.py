"""What builds a matrix: this package, nvcc in two ways, one NVRTC thread as the floor. Each run starts from nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from build_measure import Usage, measure
from build_sources import CHANGED, FRONT_ENDS, Project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NVCC: Final = os.environ.get("NVCC", "/usr/local/cuda-13.0/bin/nvcc")
CORES: Final = len(os.sched_getaffinity(0))
FLOOR: Final = "one NVRTC thread"
NVCC_THREADS: Final = f"nvcc --threads {CORES}, a module at a time"
NVCC_PARALLEL: Final = f"{CORES} nvcc at a time, --threads 1"
#: How often a rebuild is timed in each round: it is short.
_REBUILDS: Final = 3


class Place(NamedTuple):
    """Where a matrix is built: its name, its sources, and a folder for what comes out."""

    matrix: str
    project: Project
    work: Path


class Ours(NamedTuple):
    """This package's command line with one front end."""

    front_end: str

    @property
    def name(self) -> str:
        return f"ours, {self.front_end}"

    def run(self, place: Place) -> dict[str, Any]:
        """Build with an empty cache, again with nothing changed, and again with one header changed."""
        cold = self.build(place)
        again = [self.build(place, clean=False) for _ in range(_REBUILDS)]
        header = place.project.root / CHANGED
        text = header.read_text()
        header.write_text(f"{text}// changed\n")
        changed = self.build(place, clean=False)
        header.write_text(text)
        if any(run["compiled"] for run in again) or not 0 < changed["compiled"] < cold["compiled"]:
            sys.exit(f"{self.name} {place.matrix}: a rebuild compiled the wrong images")
        return cold | {"unchanged": [run["wall"] for run in again], "changed": changed["wall"]} | {
            "changed_images": changed["compiled"],
            "unchanged_root_cpu": min(run["root_cpu"] for run in again),
        }  # fmt: skip

    def build(
        self, place: Place, *, jobs: int | None = None, executor: str | None = None, clean: bool = True
    ) -> dict[str, Any]:
        """Build once and return its usage, the seconds of each job, and the bytes of each image."""
        cache, out = self.cache(place), place.work / f"store-{self.front_end}"
        if clean:
            shutil.rmtree(cache, ignore_errors=True)
            shutil.rmtree(out, ignore_errors=True)
        command = [sys.executable, "-m", "hatch_cuda_kernels", "build", "--json", "--out", out]
        command += ["--jobs", str(jobs)] if jobs else []
        command += ["--executor", executor] if executor else []
        manifest = place.project.manifest(self.front_end)
        usage, (text,) = measure([[*command, manifest]], cwd=place.project.root, env=self.environment(place))
        images = json.loads(text)["images"]
        return row(usage) | {
            "images": len(images),
            "compiled": sum(image["compiled"] for image in images),
            "raw": sum(image["bytes"] for image in images),
            "jobs": job_seconds(images),
        }

    def cache(self, place: Place) -> Path:
        return place.work / f"cache-{self.front_end}"

    def environment(self, place: Place) -> dict[str, str]:
        return {"HATCH_CUDA_KERNELS_CACHE_DIR": str(self.cache(place))}

    def supported(self, place: Place) -> bool:
        """Return whether this version knows the front end."""
        command = [sys.executable, "-m", "hatch_cuda_kernels", "check", place.project.manifest(self.front_end)]
        return subprocess.run(command, cwd=place.project.root, capture_output=True, check=False).returncode == 0


def job_seconds(images: list[dict[str, Any]]) -> list[float]:
    """Return the compile time of each job: images of one job, such as a CUBIN and its PTX, carry the same time."""
    compiled = [image for image in images if image["compiled"]]
    return list({(image["module"], image["seconds"]): image["seconds"] for image in compiled}.values())


class Nvcc(NamedTuple):
    """nvcc -fatbin, one call a module."""

    name: str
    threads: int
    parallel: int

    def run(self, place: Place, *flags: str) -> dict[str, Any]:
        """Compile every module; where a header changes, a build system would compile only what includes it."""
        out = fatbins(place, *flags)
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        modules = list(place.project.modules)
        call = [NVCC, "-std=c++17", "-fatbin", "--threads", str(self.threads), "-Iinclude", *gencode(place), *flags]
        commands = [[*call, f"kernels/{name}.cu", "-o", out / f"{name}.fatbin"] for name in modules]
        usage, _ = measure(commands, parallel=self.parallel, cwd=place.project.root)
        affected = place.project.changed_modules
        changed = sum(wall for name, wall in zip(modules, usage.walls, strict=True) if name in affected)
        raw = sum(file.stat().st_size for file in out.iterdir())
        return row(usage) | {"changed": changed / self.parallel, "raw": raw}


def gencode(place: Place) -> list[str]:
    """Return the same list of architectures as the manifest's, with PTX of the lowest."""
    lowest, *others = place.project.arches
    flags = ["-gencode", f"arch=compute_{lowest},code=[sm_{lowest},compute_{lowest}]"]
    for arch in others:
        flags += ["-gencode", f"arch=compute_{arch},code=sm_{arch}"]
    return flags


def fatbins(place: Place, *flags: str) -> Path:
    return place.work / "".join(["fatbins", *flags])


class Floor(NamedTuple):
    """NVRTC alone."""

    name: str = FLOOR

    def run(self, place: Place) -> dict[str, Any]:
        script = Path(__file__).with_name("build_floor.py")
        usage, (text,) = measure([[sys.executable, script, place.matrix, place.project.root]], cwd=place.work)
        jobs = json.loads(text).values()
        seconds = [job["seconds"] for job in jobs]
        return row(usage) | {"raw": sum(job["bytes"] for job in jobs), "compiling": sum(seconds), "jobs": seconds}


def row(usage: Usage) -> dict[str, Any]:
    return {"wall": usage.wall, "cpu": usage.cpu, "peak": usage.peak, "root_cpu": usage.root_cpu}


def contenders(place: Place, words: Iterable[str]) -> dict[str, Callable[[Place], dict[str, Any]]]:
    """Return what can build the matrix here and has one of the words in its name, in the order of a round."""
    found = [ours for ours in map(Ours, FRONT_ENDS) if ours.supported(place)]
    nvcc = [Nvcc(NVCC_THREADS, CORES, 1), Nvcc(NVCC_PARALLEL, 1, CORES)]
    return {one.name: one.run for one in (*found, *nvcc, Floor()) if is_meant(one.name, words)}


def is_meant(name: str, words: Iterable[str]) -> bool:
    """Return whether a name contains one of the words; every name contains the empty one."""
    return any(word in name for word in words)


def start_up(work: Path) -> float:
    """Return the wall time of an interpreter that does nothing."""
    return measure([[sys.executable, "-c", "pass"]], cwd=work)[0].wall
