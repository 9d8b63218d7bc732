"""A process without NVRTC, nvJitLink, ptxas: what is prebuilt or recorded works, the rest says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hatch_cuda_kernels.compiler.toolchain.packages import own, pip_install

SCRIPT = """
import sys
# As where the jit extra is not installed and no toolkit is: the bindings cannot load the libraries.
sys.modules["cuda.bindings.nvrtc"] = sys.modules["cuda.bindings.nvjitlink"] = None
from pathlib import Path
from hatch_cuda_kernels import NoImageError, open_store
from hatch_cuda_kernels.compiler.toolchain import libraries
libraries.installed_ptxas = lambda: iter(())

store = open_store(Path(sys.argv[1]))
print(store.find_image("saxpy", arch=sys.argv[2]).origin)
try:
    store.find_image("saxpy", arch="sm_103", driver=(12, 4))
except NoImageError as error:
    print(error)
"""


def run(store, arch):
    """Return the lines such a process prints."""
    command = [sys.executable, "-c", SCRIPT, str(store), arch]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.slow
def test_prebuilt_kernels_need_no_compiler(example_store, fresh_cache):
    """A prebuilt image is found; an architecture nobody built lists every candidate and the package to install."""
    first, *error = run(example_store, "sm_90")
    assert first == "prebuilt"
    text = "\n".join(error)
    assert "refused  jitted sm_103 cubin: NVRTC is not installed" in text
    assert "refused  jitted sm_103 cubin: nvJitLink is not installed" in text
    assert f"to fix: install a compiler for run time: {pip_install(own('jit'))}" in text


@pytest.mark.slow
def test_what_was_recorded_is_found_without_a_compiler(example_store, fresh_cache):
    """A cache that another process filled serves a process without NVRTC: containers need no compiler."""
    from hatch_cuda_kernels import open_store

    assert open_store(example_store).find_image("saxpy", arch="sm_75").origin == "jitted"
    assert run(example_store, "sm_75")[0] == "cached"
