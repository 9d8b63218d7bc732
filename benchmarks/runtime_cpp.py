"""Cold start of a program in C++ that launches one kernel: through the loader, and through the driver's calls alone.

    python benchmarks/runtime_cpp.py [--runs 31] [--kernel trivial] [--out results.json]

Both programs hold the same image, launch it once and read the result. They run in turn, so that both meet the same
machine; each is timed from its start to its end, and the first run of each is left out. Needs a GPU and g++.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from runtime_cold import SIZE, SOURCES

LOADER = """
#include "hatch_cuda_kernels.hpp"
HATCH_CUDA_KERNELS_EMBEDDED(store)
static void launch(void* y);
"""
BARE = """
#include <cstring>
#include <dlfcn.h>
extern "C" { extern const unsigned long long image[]; }
static void launch(void* y);
"""
#: Where both begin: a context of device 0, memory, and at the end what the kernel wrote.
MAIN = """
#include <cstdio>
#include <cstdlib>
static void* find(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  void* const found = library ? dlsym(library, name) : nullptr;
  if (!found) std::abort();
  return found;
}
#define CALL(name, ...) \\
  do { \\
    int (*call)(...); \\
    void* const found = find(#name); \\
    std::memcpy(&call, &found, sizeof call); \\
    if (call(__VA_ARGS__) != 0) { std::fprintf(stderr, "%s failed\\n", #name); std::exit(1); } \\
  } while (false)
int main() {
  int device;
  void *context, *y;
  float first = 0;
  CALL(cuInit, 0);
  CALL(cuDeviceGet, &device, 0);
  CALL(cuDevicePrimaryCtxRetain, &context, device);
  CALL(cuCtxSetCurrent, context);
  CALL(cuMemAlloc_v2, &y, (size_t)SIZE);
  launch(y);
  CALL(cuMemcpyDtoH_v2, &first, y, sizeof first);
  std::printf("%g\\n", (double)first);
}
"""
LAUNCHES = {
    "loader": """
static void launch(void* y) {
  static const auto kernels = hatch_cuda_kernels::Store::embedded(store, store_size);
  kernels.get_kernel("KERNEL").launch({1, 128}, static_cast<float*>(y));
}
""",
    "bare": """
static void launch(void* y) {
  void *library, *kernel, *function;
  CALL(cuLibraryLoadData, &library, (const void*)image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  CALL(cuLibraryGetKernel, &kernel, library, "KERNEL");
  CALL(cuKernelGetFunction, &function, kernel);
  void* places[] = {&y};
  CALL(cuLaunchKernel, function, 1, 1, 1, 128, 1, 1, 0, nullptr, places, nullptr);
}
""",
}


def write_programs(folder: Path, kernel: str) -> None:
    """Build the store for the device here, and compile both programs."""
    from hatch_cuda_kernels import open_store
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.driver import compute_capability
    from hatch_cuda_kernels.manifest import load_manifest
    from hatch_cuda_kernels.store import StoreReader
    from hatch_cuda_kernels.vendor import embedded_files, header_text, object_file, table_of

    arch = "sm_{}{}".format(*compute_capability(0))
    (folder / f"{kernel}.cu").write_text(SOURCES[kernel])
    text = f"{{schema: 1, arches: [{arch}, sm_80, compute_80], modules: {{{kernel}: {{source: {kernel}.cu}}}}}}"
    (folder / "kernels.yaml").write_text(text)
    build_store(load_manifest(folder / "kernels.yaml"), folder / "_kernels")
    image = open_store(folder / "_kernels").find_image(kernel, arch=arch).data
    (folder / "store.o").write_bytes(object_file(table_of(embedded_files(StoreReader(folder / "_kernels"))), "store"))
    (folder / "image.o").write_bytes(object_file(image.ljust(-(-len(image) // 8) * 8, b"\0"), "image"))
    (folder / "hatch_cuda_kernels.hpp").write_text(header_text())
    heads = {"bare": BARE, "loader": LOADER}
    for name, head in heads.items():
        text = (head + MAIN + LAUNCHES[name]).replace('"KERNEL"', f'"{kernel}"').replace("SIZE", str(SIZE))
        (folder / f"{name}.cpp").write_text(text)
        held = "store.o" if name == "loader" else "image.o"
        subprocess.run(["g++", "-std=c++17", "-O2", f"{name}.cpp", held, "-o", name, "-ldl"], cwd=folder, check=True)


def main() -> None:
    """Run both in turn, and print the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=31)
    parser.add_argument("--kernel", choices=SOURCES, default="trivial")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    times: dict[str, list[float]] = {"bare": [], "loader": []}
    with tempfile.TemporaryDirectory() as name:
        write_programs(Path(name), args.kernel)
        for _ in range(args.runs + 1):
            for program, found in times.items():
                start = time.perf_counter()
                subprocess.run([Path(name) / program], check=True, stdout=subprocess.DEVNULL)
                found.append(time.perf_counter() - start)
    medians = {program: 1000 * statistics.median(found[1:]) for program, found in times.items()}
    ratio = medians["loader"] / medians["bare"]
    result = {"kernel": args.kernel, "runs": args.runs, "milliseconds": medians, "ratio": ratio}
    print(f"{args.kernel}: bare {medians['bare']:.1f} ms, loader {medians['loader']:.1f} ms, ratio {ratio:.3f}")
    if args.out:
        args.out.write_text(f"{json.dumps(result | {'seconds': times}, indent=1)}\n")
    sys.exit(ratio > 1.02)


if __name__ == "__main__":
    main()
