"""``host_code: drop`` changes no value: what a kernel stores is what nvcc makes of the source as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels.host_code.closures import without_host_code
from hatch_cuda_kernels.includes import read_closure

CASES = {
    name: (text, value)
    for name, value, text in re.findall(
        r"^=== ([^\n:]*): (\w+)\n(.*?)(?=^===|\Z)",
        Path(__file__).with_name("same_values.txt").read_text(),
        re.MULTILINE | re.DOTALL,
    )
}


@pytest.mark.parametrize("host", ["", "void run(int* p);\n"], ids=["alone", "with host code"])
@pytest.mark.parametrize("case", CASES)
def test_a_kernel_stores_the_same(tmp_path, case, host):
    """Or NVRTC refuses the source, where it holds what is not understood."""
    text, value = CASES[case]
    (tmp_path / "k.cu").write_text(text + host)
    closure = without_host_code(read_closure(tmp_path, "k.cu"))
    made = compile_raw(closure.source, "--std=c++17", headers=closure.headers)
    if made.ok:
        assert re.findall(r"mov\.u32 \s*%r\d+, (\d+);", made.ptx) == [value]
    else:
        assert "without execution space annotations" in made.log
        assert host or value == "refused"
