"""Line tables without the times of files."""

from __future__ import annotations

import os

import pytest
from small_jobs import job_of

from hatch_cuda_kernels.compiler.binary.cubin import without_times
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.options import NvrtcOptions


@pytest.mark.parametrize("options", [{"lineinfo": True}, {"debug": True}, {"lineinfo": True, "lto": True}])
def test_the_time_of_a_file_is_in_no_image(tmp_path, options):
    """Whatever a file's age is that ``#line`` names: what assembles looks for it."""
    named = tmp_path / "gen.cu"
    named.write_text("generated\n")
    (tmp_path / "k.cu").write_text(f'#line 1 "{named}"\nextern "C" __global__ void k(float* y) {{ *y = 1; }}\n')
    images = []
    for time in (10**9, 2 * 10**9):
        os.utime(named, (time, time))
        images.append(run_job(job_of(tmp_path, options=NvrtcOptions(**options))).images["cubin"])
    assert images[0] == images[1]
    assert bytes(named) in images[0] or bytes(tmp_path) in images[0]


def test_an_image_without_line_tables_stays_as_it_is(tmp_path):
    """Most have none."""
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k(float* y) { *y = 1; }\n')
    image = run_job(job_of(tmp_path)).images["cubin"]
    assert without_times(image) is image
