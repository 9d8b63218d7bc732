"""Write the samples of JSON in docs/reference/cli.md again: what its commands print, run in the order of the page.

    hatch run pictures:json

A sample is a block of JSON below a summary that is the command.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from platform import platform
from typing import Final

from hatch_cuda_kernels.environment import FOREIGN, OWN

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "reference" / "cli.md"
SAMPLE: Final = re.compile(
    r"(?P<head><summary><code>hatch-cuda-kernels (?P<words>[^<]+)</code></summary>\n\n```json\n)"
    r"(?P<text>.*?)(?P<tail>```)",
    re.DOTALL,
)
#: The project that the commands run in.
FILES: Final = {
    "kernels.yaml": """\
schema: 1
cuda: "13.0"
arches: [sm_90, compute_80]
modules:
  saxpy:
    source: kernels/saxpy.cu
""",
    "wrong.yaml": """\
schema: 1
arches: [sm_9]
modules:
  saxpy:
    source: kernels/saxpi.cu
""",
    "mylib/__init__.py": "",
    "kernels/saxpy.cu": """\
extern "C" __global__ void saxpy(float* y, const float* x, long long n, float a) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
""",
    "csrc/scale.cu": """\
#include <iostream>

template <typename T>
__global__ void scale(T* y, T a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= a;
}

void scale_all(float* y, float a, int n) {
    scale<float><<<(n + 255) / 256, 256>>>(y, a, n);
    std::cout << n << std::endl;
}
""",
}
#: What somebody did before a command was run.
BEFORE: Final = {
    "compare": (
        "import shutil; from pathlib import Path; listing = Path('released/_kernels/kernels.tsv');"
        "shutil.copytree('mylib', 'released');"
        "listing.write_text(listing.read_text().replace('y,x,n,a', 'y,x,count,a'))"
    ),
    "promote": (
        "from pathlib import Path; from hatch_cuda_kernels import open_store;"
        "open_store(Path('mylib')).find_image('saxpy', arch='sm_75')"
    ),
}


def run_samples(folder: Path, page: str) -> dict[str, str]:
    """Return what each sample's command prints in a project below a folder, with paths as those of somebody else."""
    project = folder / "mylib"
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    environment = {name: value for name, value in os.environ.items() if name not in {*OWN, *FOREIGN}}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment |= {"HOME": str(folder), "PYTHONPATH": path}

    def python(*words: str) -> str:
        command = [sys.executable, *words]
        return subprocess.run(
            command, cwd=project, env=environment, stdout=subprocess.PIPE, text=True, check=False
        ).stdout

    printed = {}
    for sample in SAMPLE.finditer(page):
        words = sample["words"].split()
        if words[0] in BEFORE:
            python("-c", BEFORE[words[0]])
        printed[sample["words"]] = somebodys(python("-m", "hatch_cuda_kernels", *words), folder)
    return printed


def somebodys(text: str, folder: Path) -> str:
    """Return text with this machine's paths, and its name for itself, as they are on the machine of a reader."""
    shown = {folder: "/home/me", Path(sys.prefix): "/home/me/mylib/.venv", ROOT: "/PATH/TO/CHECKOUT"}
    for own, other in {**shown, platform(): "Linux-6.8.0-x86_64-with-glibc2.39"}.items():
        text = text.replace(str(own), other)
    return text


def main() -> None:
    """Write every sample again."""
    page = PAGE.read_text()
    with tempfile.TemporaryDirectory() as folder:
        printed = run_samples(Path(folder), page)
    PAGE.write_text(SAMPLE.sub(lambda found: f"{found['head']}{printed[found['words']]}{found['tail']}", page))


if __name__ == "__main__":
    main()
