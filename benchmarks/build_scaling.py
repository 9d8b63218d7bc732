"""Measure what the model needs, fit it, hold it against builds it has not seen, and predict a large one.

Fitted to builds of light sources by one worker; checked against builds by one and two workers of this machine, and by
one and two Dask workers where this version has that executor.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from build_contenders import CORES, FLOOR, Ours, Place
from build_model import Build, Costs, fit, predict
from build_sources import FRONT_ENDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

#: What is predicted: sources, each for the architectures of the matrix its jobs are taken from.
SOURCES: Final = 1000
CORE_COUNTS: Final = (2, 16, 64)
HOST_COUNTS: Final = (1, 4, 16)
#: Builds that the costs are fitted to: of light sources, and of two sizes.
_FITTED: Final = ("5x6", "30x8")


class Case(NamedTuple):
    """A matrix with one front end: its jobs by themselves, and what was measured of building it."""

    place: Place
    ours: Ours
    measured: dict[str, Any]
    """Medians of the contender's runs."""
    alone: dict[str, Any] | None
    """The build by one worker; not run where the floor already took minutes."""
    jobs: list[float]


def measure_scaling(places: Sequence[Place], results: dict[str, Any]) -> dict[str, Any]:
    """Return costs, checks and predictions. ``results`` has each matrix's contenders with their runs."""
    cases = [
        _case(place, ours, results[place.matrix])
        for place in places
        for ours in map(Ours, FRONT_ENDS)
        if ours.name in results[place.matrix]
    ]
    fitted = [case for case in cases if case.place.matrix in _FITTED and case.ours.front_end == "per-arch"]
    if len(fitted) < 2:
        return {}
    costs = _fit(fitted)
    remote, dask = _dask(fitted[-1], costs)
    return {
        "costs": costs._asdict() | {"dask_job": remote},
        "checks": [check for case in cases for check in _local_checks(case, costs)] + dask,
        "predictions": [_prediction(case, costs, remote) for case in cases if case.place.matrix != "5x6"],
        "jobs": {f"{case.place.matrix} {case.ours.front_end}": case.jobs for case in cases},
    }


def _case(place: Place, ours: Ours, rows: dict[str, list[dict[str, Any]]]) -> Case:
    runs = rows[ours.name]
    measured = {name: median(run[name] for run in runs) for name in ("wall", "root_cpu", "unchanged_root_cpu")}
    measured |= {name: runs[0][name] for name in ("images", "jobs")}
    measured["unchanged"] = median(wall for run in runs for wall in run["unchanged"])
    floor = rows[FLOOR][0]["jobs"]
    if ours.front_end != "per-arch":
        alone = ours.build(place, jobs=1)
        return Case(place, ours, measured, alone, _longest_first(alone["jobs"]))
    short = sum(floor) < 60
    return Case(place, ours, measured, ours.build(place, jobs=1) if short else None, _longest_first(floor))


def _longest_first(jobs: list[float]) -> list[float]:
    """Return the jobs in the pool's order, which with a shared front end has the front-end runs before the rest."""
    return sorted(jobs, reverse=True)


def _fit(cases: list[Case]) -> Costs:
    builds = [
        Build(case.jobs, case.measured["images"], case.alone["wall"], case.measured["unchanged"])
        for case in cases
        if case.alone is not None
    ]
    largest = cases[-1]
    own = (largest.measured["root_cpu"] - largest.measured["unchanged_root_cpu"]) / len(largest.jobs)
    crowding = fmean(largest.measured["jobs"]) / fmean(largest.alone["jobs"]) if largest.alone else 1.0
    return fit(builds, max(own, 0.0), crowding)


def _local_checks(case: Case, costs: Costs) -> Iterator[dict[str, Any]]:
    for workers, wall in ((1, case.alone and case.alone["wall"]), (CORES, case.measured["wall"])):
        if wall is not None:
            told = predict(case.jobs, case.measured["images"], costs, cores=CORES, workers=workers)
            yield _check(case, f"{workers} local", wall, told)


def _check(case: Case, workers: str, measured: float, predicted: float) -> dict[str, Any]:
    matrix = f"{case.place.matrix}, {case.ours.front_end}"
    return {"matrix": matrix, "workers": workers, "measured": measured, "predicted": predicted}


def _prediction(case: Case, costs: Costs, remote: float | None) -> dict[str, Any]:
    """Return seconds for SOURCES sources like the case's, by hosts and cores; other hosts are reached through Dask."""
    grow = SOURCES / len(case.place.project.modules)
    count = round(len(case.jobs) * grow)
    jobs = [case.jobs[number * len(case.jobs) // count] for number in range(count)]  # each about as often, in order
    images = round(case.measured["images"] * grow)
    far = costs._replace(overhead=costs.overhead + (remote or 0.0))
    seconds = {
        f"{hosts}x{cores}": predict(jobs, images, far if hosts > 1 else costs, cores=cores, hosts=hosts)
        for hosts in HOST_COUNTS
        for cores in CORE_COUNTS
    }
    return {"like": case.place.matrix, "front_end": case.ours.front_end, "seconds": seconds}


# Dask ---------------------------------------------------------------------------------------------------------------


def _dask(case: Case, costs: Costs) -> tuple[float | None, list[dict[str, Any]]]:
    """Return what a job costs more on a Dask worker, from a build by one, and the checks of one and of two."""
    command = [sys.executable, "-m", "hatch_cuda_kernels", "build", "--help"]
    asked = subprocess.run(command, cwd=case.place.work, capture_output=True, text=True, check=True)
    if "--executor" not in asked.stdout:
        return None, []
    walls = [_dask_wall(case, workers) for workers in (1, 2)]
    images = case.measured["images"]
    alone = predict(case.jobs, images, costs, cores=CORES, workers=1)
    remote = max(walls[0] - alone, 0.0) / len(case.jobs)
    far = costs._replace(overhead=costs.overhead + remote)
    told = [predict(case.jobs, images, far, cores=CORES, workers=workers) for workers in (1, 2)]
    return remote, [_check(case, f"{n} Dask", wall, t) for n, wall, t in zip((1, 2), walls, told, strict=True)]


def _dask_wall(case: Case, workers: int) -> float:
    with _cluster(case.place.work / "dask", workers) as scheduler:
        return case.ours.build(case.place, executor=f"dask:{scheduler}")["wall"]


@contextmanager
def _cluster(folder: Path, workers: int) -> Iterator[str]:
    """Start a scheduler and worker processes of one thread each; yield the scheduler's address."""
    folder.mkdir(exist_ok=True)
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    dask = [sys.executable, "-m", "dask"]
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    common = ["--no-dashboard", "--scheduler-file", file]
    with ExitStack() as stack:
        commands = [[*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *common]]
        commands += [[*dask, "worker", "--nthreads", "1", "--no-nanny", *common]] * workers
        for command in commands:
            process = stack.enter_context(subprocess.Popen(list(map(str, command)), **quiet))
            stack.callback(process.terminate)
        address = _wait_for(file, workers)
        yield address


def _wait_for(file: Path, workers: int) -> str:
    from distributed import Client

    while not file.exists() or not file.read_text().endswith("}"):
        time.sleep(0.1)
    address = json.loads(file.read_text())["address"]
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(workers)
    return address
