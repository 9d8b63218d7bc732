"""The model of build times that the documentation's predictions come from."""

import sys
from pathlib import Path
from statistics import StatisticsError

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from build_model import Build, Costs, fit, makespan, predict

COSTS = Costs(start=0.3, image=0.001, own=0.002, worker=0.2, overhead=0.01)
FREE = Costs(start=0.0, image=0.0, own=0.0, worker=0.0, overhead=0.0)


@pytest.mark.parametrize(
    ("times", "workers", "seconds"),
    [
        ([1, 2, 3], 1, 6),
        ([1, 1, 1, 1], 2, 2),
        ([3, 1, 1, 1], 2, 3),
        ([1, 1, 1, 3], 2, 4),  # the long job came last: order matters, as in the pool
        ([5], 8, 5),
        ([], 4, 0),
    ],
)
def test_jobs_go_to_the_first_free_worker(times, workers, seconds):
    """The schedule's length is that of jobs given out in order."""
    assert makespan(times, workers) == seconds


def test_one_worker_does_all_work_in_a_row():
    """With nothing to overlap, the time is the sum of all parts."""
    assert predict([1.0, 2.0], 3, COSTS, cores=1) == pytest.approx(0.3 + 0.003 + 0.2 + 3.0 + 2 * 0.01 + 2 * 0.002)


def test_compiles_share_the_cores():
    """Free of other costs, twice the cores halve the time, and so do twice the hosts."""
    jobs = [0.5] * 64
    assert predict(jobs, 64, FREE, cores=2) == 2 * predict(jobs, 64, FREE, cores=4)
    assert predict(jobs, 64, FREE, cores=4) == 2 * predict(jobs, 64, FREE, cores=4, hosts=2)


def test_the_longest_job_bounds_the_build():
    """No number of machines makes one compile shorter."""
    assert predict([9.0, *[0.1] * 50], 51, FREE, cores=64, hosts=16) == 9.0


def test_the_builds_own_process_bounds_it():
    """What one process does for each job is not divided by the machines."""
    costs = FREE._replace(own=0.01)
    assert predict([0.1] * 8000, 8000, costs, cores=64, hosts=16) == pytest.approx(80.0)


def test_more_machines_are_never_slower():
    """Along cores and along hosts, predictions fall or stay."""
    jobs = [0.05 + 0.001 * (number % 97) for number in range(800)]
    for hosts in (1, 2, 4):
        times = [predict(jobs, 800, COSTS, cores=cores, hosts=hosts) for cores in (1, 2, 4, 16, 64)]
        assert times == sorted(times, reverse=True)


def test_a_full_machine_compiles_more_slowly():
    """Crowding counts where every core has a worker, and only there."""
    costs = FREE._replace(crowding=1.5)
    assert predict([1.0] * 4, 4, costs, cores=4, workers=2) == 2.0
    assert predict([1.0] * 4, 4, costs, cores=4) == 1.5


def build(count, costs):
    """Return what would be measured of a build by one worker."""
    jobs = [0.04 + 0.01 * (number % 7) for number in range(count)]
    images = count + 5
    unchanged = costs.start + costs.image * images
    return Build(jobs, images, predict(jobs, images, costs, cores=1), unchanged)


def test_costs_are_found_again():
    """Builds that the model made give its costs back."""
    found = fit([build(30, COSTS), build(240, COSTS)], COSTS.own)
    assert found == pytest.approx(COSTS)


def test_noise_gives_no_negative_costs():
    """A small build that was disturbed makes no cost negative."""
    small, large = build(30, COSTS), build(240, COSTS)
    found = fit([small._replace(wall=small.wall + 5), large], COSTS.own, crowding=0.9)
    assert min(found) >= 0
    assert found.crowding == 1.0


def test_one_size_cannot_be_fitted():
    """Builds of one size do not tell a cost of the build from one of the image."""
    with pytest.raises(StatisticsError):
        fit([build(30, COSTS), build(30, COSTS)], COSTS.own)
