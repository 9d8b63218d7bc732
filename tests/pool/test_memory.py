"""How many workers fit into memory: what is available, not what is untouched, and never more than the container's."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.pool.executors import default_workers, free_bytes

GIB = 1 << 30
MEMINFO = """\
MemTotal:       33554432 kB
MemFree:         1048576 kB
MemAvailable:   16777216 kB
HugePages_Total:       0
"""


@pytest.fixture
def machine(tmp_path):
    """Return a function that lays out the files a kernel shows."""

    def lay_out(files):
        for name, text in {"proc/meminfo": MEMINFO, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        return tmp_path

    return lay_out


GROUPS = {
    "no control group": ({}, 16 * GIB),
    "v2 limit": (
        {
            "proc/self/cgroup": "0::/user/job",
            "sys/fs/cgroup/user/job/memory.max": 4 * GIB,
            "sys/fs/cgroup/user/job/memory.current": 3 * GIB,
            "sys/fs/cgroup/user/job/memory.stat": f"anon 5\ninactive_file {2 * GIB}",
        },
        3 * GIB,
    ),
    "v2 limit of the group around": (
        {
            "proc/self/cgroup": "0::/user/job",
            "sys/fs/cgroup/user/job/memory.max": "max",
            "sys/fs/cgroup/user/job/memory.current": GIB,
            "sys/fs/cgroup/user/memory.max": 8 * GIB,
            "sys/fs/cgroup/user/memory.current": 2 * GIB,
        },
        6 * GIB,
    ),
    "v2 seen from inside a container": (
        {
            "proc/self/cgroup": "0::/docker/0123",
            "sys/fs/cgroup/memory.max": 2 * GIB,
            "sys/fs/cgroup/memory.current": GIB,
        },
        GIB,
    ),
    "v1 limit": (
        {
            "proc/self/cgroup": "5:devices:/x\n4:cpu,memory:/x\n0::/",
            "sys/fs/cgroup/memory/x/memory.limit_in_bytes": 2 * GIB,
            "sys/fs/cgroup/memory/x/memory.usage_in_bytes": GIB,
            "sys/fs/cgroup/memory/x/memory.stat": f"total_inactive_file {GIB // 2}",
        },
        GIB + GIB // 2,
    ),
    "v1 without a limit": (
        {
            "proc/self/cgroup": "4:memory:/x",
            "sys/fs/cgroup/memory/x/memory.limit_in_bytes": 0x7FFFFFFFFFFFF000,
            "sys/fs/cgroup/memory/x/memory.usage_in_bytes": GIB,
        },
        16 * GIB,
    ),
    "more used than allowed": (
        {
            "proc/self/cgroup": "0::/",
            "sys/fs/cgroup/memory.max": GIB,
            "sys/fs/cgroup/memory.current": 2 * GIB,
        },
        0,
    ),
}


@pytest.mark.parametrize(("files", "expected"), GROUPS.values(), ids=GROUPS.keys())
def test_free_bytes(machine, files, expected):
    """Page cache counts as free, and the tightest group decides."""
    assert free_bytes(machine(files)) == expected


def test_a_system_without_these_files_limits_nothing(tmp_path):
    """Where nothing is known about memory, cores alone decide."""
    assert free_bytes(tmp_path) > 1 << 50


def test_there_is_always_one_worker(monkeypatch):
    """A machine without free memory still builds."""
    monkeypatch.setattr("hatch_cuda_kernels.pool.executors.free_bytes", lambda: 0)
    assert default_workers() == 1
