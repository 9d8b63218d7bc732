"""The driver's own JIT cache, in fresh processes: it is read when the driver starts."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from pathlib import Path
from hatch_cuda_kernels import configure_driver_cache, open_store
print(configure_driver_cache(sys.argv[1]))
open_store(Path(sys.argv[2])).get_kernel("saxpy")
try:
    configure_driver_cache(sys.argv[1])
except Exception as error:
    print(type(error).__name__, error)
"""


def test_the_driver_writes_where_it_is_told(build, foreign, tmp_path):
    """A PTX hit is kept in the configured folder; configuring a running driver is an error."""
    folder = tmp_path / "driver-cache"
    command = [sys.executable, "-c", SCRIPT, str(folder), str(build(foreign, "compute_75").path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert out[0] == f"DriverCacheSettings(path='{folder}', max_bytes=1073741824, enabled=True)"
    assert any(path.is_file() and path.stat().st_size > 0 for path in folder.rglob("*"))
    assert out[1].startswith("LaunchError the CUDA driver is already initialised")
