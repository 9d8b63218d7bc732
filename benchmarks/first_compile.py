"""What a first compile costs beside cuda.core: whole processes with an empty cache, to the first synchronised result.

    python benchmarks/first_compile.py [--repeat 9] [--kernels trivial heavy second] [--host] [--out FILE.json]

Three kernels: one that writes a float, a CUB block sort, and a second block sort with the same headers, in a process
after one that compiled the first. With --host nothing is launched and no device is needed: the processes end with the
CUBIN for sm_90. Variants take turns, so that drift hits all alike. Three ratios are printed: of medians, of the medians
of each one's quicker half, and of the best runs. Where other machines share the cores, any process takes up to 1.6
times as long while they work: each one gets the four cores that were the quickest right before, and even so medians may
tell which variant was unlucky more often. Where cuda.core is not installed, ours are beside NVRTC alone, called through
cuda.bindings.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from quickest_cores import on_quickest_cores
from runtime_cold import HEAVY, SIZE, TRIVIAL, bindings_context, check, toolkit_include

SECOND = HEAVY.replace("heavy", "second").replace(".Sort(keys)", ".SortDescending(keys)").replace("16", "12")
SOURCES = {"trivial": TRIVIAL, "heavy": HEAVY, "second": SECOND}
VARIANTS = ("NVRTC alone", "cuda.core", "ours")
HOST = "sm_90"
#: For each process: the driver and NVRTC start side by side.
CORES = 4


def prepare(work: Path, *, host: bool) -> None:
    """Build a store with no image for the device, and write down what the peers need."""
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.driver import compute_capability
    from hatch_cuda_kernels.manifest import load_manifest

    arch = HOST if host else "sm_{}{}".format(*compute_capability(0))
    for kernel, source in SOURCES.items():
        (work / f"{kernel}.cu").write_text(source)
    modules = ", ".join(f"{kernel}: {{source: {kernel}.cu}}" for kernel in SOURCES)
    other = "sm_75" if arch != "sm_75" else "sm_90"
    (work / "kernels.yaml").write_text(f"{{schema: 1, arches: [{other}], modules: {{{modules}}}}}")
    build_store(load_manifest(work / "kernels.yaml"), work / "_kernels")
    (work / "target.json").write_text(json.dumps({"arch": arch, "host": host, "include": toolkit_include()}))


def run(variant: str, kernel: str, work: Path) -> None:
    """Be one process."""
    if variant == "ours":
        ours(work, kernel)
        return
    target = json.loads((work / "target.json").read_text())
    source = (work / f"{kernel}.cu").read_text()
    if variant == "cuda.core":
        core(source, kernel, target)
    else:
        nvrtc_alone(source, kernel, target)


def ours(work: Path, kernel: str) -> None:
    from hatch_cuda_kernels import open_store

    store = open_store(str(work / "_kernels"))
    if "HATCH_BENCHMARK_HOST" in os.environ:
        image = store.find_image(kernel, arch=HOST)
    else:
        function = store.get_kernel(kernel)
        from cuda.bindings import driver

        function[1, 128](int(driver.cuMemAlloc(SIZE)[1]))
        check(int(driver.cuCtxSynchronize()[0]))
        image = function.image
    if image.origin != "jitted":
        raise SystemExit(f"{image} was not compiled here")


def core(source: str, kernel: str, target: dict) -> None:
    from cuda.core import Program, ProgramOptions

    options = ProgramOptions(std="c++17", arch=target["arch"], include_path=target["include"])
    if target["host"]:
        Program(source, code_type="c++", options=options).compile("cubin")
        return
    from cuda.core import Device, LaunchConfig, launch

    device = Device()
    device.set_current()
    function = Program(source, code_type="c++", options=options).compile("cubin").get_kernel(kernel)
    stream = device.default_stream
    launch(stream, LaunchConfig(grid=1, block=128), function, device.allocate(SIZE, stream=stream))
    stream.sync()


def nvrtc_alone(source: str, kernel: str, target: dict) -> None:
    driver = None if target["host"] else bindings_context()
    from cuda.bindings import nvrtc

    flags = [f"-arch={target['arch']}", "-std=c++17", "-no-cache", *(f"-I{folder}" for folder in target["include"])]
    program = nvrtc.nvrtcCreateProgram(source.encode(), b"module.cu", 0, [], [])[1]
    check(int(nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])[0]))
    image = bytes(nvrtc.nvrtcGetCUBINSize(program)[1])
    nvrtc.nvrtcGetCUBIN(program, image)
    if driver is not None:
        library = driver.cuLibraryLoadData(image, [], [], 0, [], [], 0)[1]
        function = driver.cuLibraryGetKernel(library, kernel.encode())[1]
        memory = driver.cuMemAlloc(SIZE)[1]
        check(int(driver.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, 0, ((memory,), (None,)), 0)[0]))
        check(int(driver.cuCtxSynchronize()[0]))


def measure(work: Path, kernels: list[str], repeat: int, *, host: bool) -> dict[str, dict[str, list[float]]]:
    """Return the seconds of each run, by kernel and variant."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"CUDA_CACHE_DISABLE": "1"} | ({"HATCH_BENCHMARK_HOST": "1"} if host else {})
    caches = {kernel: work / f"cache-{kernel}" for kernel in kernels}
    after_first = work / "cache-first"
    times: dict[str, dict[str, list[float]]] = {}

    def timed(variant: str, kernel: str, cache: Path) -> float:
        command = [sys.executable, __file__, "--run", variant, kernel, str(work)]
        extra = {"HATCH_CUDA_KERNELS_CACHE_DIR": str(cache)}
        with on_quickest_cores(CORES):
            start = time.perf_counter()
            subprocess.run(command, env=environment | extra, check=True, capture_output=True)
            return time.perf_counter() - start

    if "second" in kernels:
        timed("ours", "heavy", after_first)
    for round_ in range(repeat + 1):
        for kernel in kernels:
            for variant in VARIANTS if round_ % 2 else VARIANTS[::-1]:
                shutil.rmtree(caches[kernel], ignore_errors=True)
                if kernel == "second":
                    shutil.copytree(after_first, caches[kernel])
                try:
                    took = timed(variant, kernel, caches[kernel])
                except subprocess.CalledProcessError as error:
                    if variant == "ours":
                        raise SystemExit(error.stderr.decode(errors="replace")) from error
                    continue  # it is not installed, or knows no such device
                if round_:  # the first round fills the page cache
                    times.setdefault(kernel, {}).setdefault(variant, []).append(took)
    return times


def report(times: dict[str, dict[str, list[float]]]) -> None:
    print(f"\n{'seconds: median (best)':32}" + "".join(f"{kernel:>20}" for kernel in times))
    for variant in VARIANTS:
        cells = [runs[variant] for runs in times.values() if variant in runs]
        if cells:
            print(f"{variant:32}" + "".join(f"{statistics.median(runs):12.3f} ({min(runs):.3f})" for runs in cells))
    for peer in VARIANTS[:-1]:
        pairs = [(runs["ours"], runs[peer]) for runs in times.values() if peer in runs]
        for name, middle in ("medians", statistics.median), ("quicker halves", quicker), ("best", min):
            cells = [middle(own) / middle(its) for own, its in pairs]
            if cells:
                print(f"{f'ours / {peer}, {name}':32}" + "".join(f"{ratio:12.2f}        " for ratio in cells))


def quicker(runs: list[float]) -> float:
    """Return the median of the quicker half."""
    return statistics.median(sorted(runs)[: (len(runs) + 1) // 2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--kernels", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--host", action="store_true", help="compile only, for sm_90; no device is needed")
    parser.add_argument("--out", type=Path, help="write the seconds of each run here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), host=args.host)
        times = measure(Path(folder), args.kernels, args.repeat, host=args.host)
    report(times)
    if args.out is not None:
        args.out.write_text(json.dumps(times, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    else:
        main()
