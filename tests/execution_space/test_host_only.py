"""What ``host_only`` names is the host's, whatever it is."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels import NvrtcOptions, compile_to_ptx
from hatch_cuda_kernels.errors import CompileError

SOURCE = """
namespace pool {
class Task { std::unknown_to_the_device field; void run(); static int count; };
using Tasks = std::unknown_to_the_device<Task>;
}
void pool::Task::run() { helper(); }
int pool::Task::count = 0;
namespace other { struct Task { int x; }; }
extern "C" __global__ void k(other::Task* y) { y->x = 1; }
"""


def test_what_has_a_stated_name_goes_whole():
    """A class goes with its members' definitions, an alias by its own name; the same name elsewhere stays."""
    options = NvrtcOptions(host_only=("pool::Task", "Tasks"))
    assert "st.global" in compile_to_ptx(SOURCE, arch="sm_90", options=options, use_cache=False).image.decode()


def test_what_is_used_is_an_error():
    """NVRTC says that nothing is known of it."""
    with pytest.raises(CompileError, match='incomplete type "other::Task"'):
        compile_to_ptx(SOURCE, arch="sm_90", options=NvrtcOptions(host_only=("Task", "Tasks")), use_cache=False)
