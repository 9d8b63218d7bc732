"""The loader for C++ on a device: the example's results, PTX, two devices, and a context that was reset."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.driver import device_count
from hatch_cuda_kernels.store import StoreReader
from hatch_cuda_kernels.vendor import embedded_files, header_text, object_file, table_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def compiler():
    """Skip where nothing compiles C++."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")


def compiled(folder, *sources):
    """Return the program that g++ makes in a folder, with the loader in it."""
    (folder / "hatch_cuda_kernels.hpp").write_text(header_text())
    command = ["g++", "-std=c++17", "-O1", f"-I{folder}", *map(str, sources), "-o", "program", "-ldl"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "program"


def test_the_example_computes_what_the_host_does(tmp_path, native):
    """Each kernel of the example gives the results that the host's program has, through the embedded store."""
    example = next(path for path in (ROOT / "examples", ROOT) if (path / "cmake_project").is_dir()) / "cmake_project"
    project = shutil.copytree(example, tmp_path / "project")
    manifest = project / "kernels.yaml"
    kept = [line for line in manifest.read_text().splitlines() if not line.startswith(("cuda:", "arches:"))]
    manifest.write_text("\n".join([*kept, f"arches: [{native}, compute_80]", ""]))
    assert main(["embed", str(manifest), "--out", str(tmp_path / "example_kernels.o")]) == 0
    program = compiled(tmp_path, project / "src" / "main.cpp", "example_kernels.o")
    ran = subprocess.run([program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [line for line in ran.stdout.splitlines() if line.endswith(": right")] == [
        f"{kernel} by {native}: right" for kernel in ("saxpy", "block_sum<float, 128>", "block_sum<double, 128>")
    ]
    assert "argument 0 (y) of saxpy is float*, got double*" in ran.stdout


PROGRAM = """
#include "hatch_cuda_kernels.hpp"
#include <iostream>
#include <thread>
HATCH_CUDA_KERNELS_EMBEDDED(store)
namespace hck = hatch_cuda_kernels;
template <class... Args>
static void call(const char* name, Args... args) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = dlsym(library, name);
  int (*function)(Args...);
  std::memcpy(&function, &found, sizeof function);
  const int code = function(args...);
  if (code != 0) throw std::runtime_error(std::string(name) + " returned " + std::to_string(code));
}
static float saxpy_once(const hck::Kernel& saxpy) {
  float *y = nullptr, two = 2, found = 0;
  saxpy.function();  // a context
  call("cuMemAlloc_v2", reinterpret_cast<void**>(&y), std::size_t{4});
  call("cuMemcpyHtoD_v2", static_cast<void*>(y), static_cast<const void*>(&two), std::size_t{4});
  saxpy.launch({1, 32}, y, y, 1, 3.0f);
  call("cuMemcpyDtoH_v2", static_cast<void*>(&found), static_cast<const void*>(y), std::size_t{4});
  return found;
}
int main(int count, char**) {
  const hck::Store kernels = hck::Store::embedded(store, store_size);
  const hck::Kernel saxpy = kernels.get_kernel("saxpy");
  std::cout << saxpy.image().arch << " " << saxpy.image().kind << "\\n" << saxpy_once(saxpy) << "\\n";
  call("cuDevicePrimaryCtxReset_v2", 0);
  std::cout << saxpy_once(saxpy) << "\\n" << (saxpy.attributes().registers > 0) << "\\n";
  std::cout << kernels.get_global("d_bias").place().size << "\\n";
  if (count > 1) {
    void* context = nullptr;
    call("cuDevicePrimaryCtxRetain", &context, 1);
    call("cuCtxSetCurrent", context);
    std::cout << saxpy_once(saxpy) << "\\n";
  }
  std::thread other([&] { std::cout << saxpy_once(saxpy) << "\\n"; });
  other.join();
  try {
    saxpy.launch({1, 4096}, nullptr, nullptr, 0, 1.0f);
  } catch (const hck::DriverError& error) {
    std::cout << error.what() << "\\n";
  }
  std::cout << kernels.explain("saxpy").text() << "\\n";
}
"""


@pytest.mark.parametrize("kind", ["cubin", "ptx"])
def test_contexts_threads_and_refusals(kind, tmp_path, build, native):
    """A kernel goes on after a reset, on another device and in another thread; a refusal names the limit."""
    arch = native if kind == "cubin" else native.replace("sm", "compute")
    table = table_of(embedded_files(StoreReader(Path(build(arch, name="cpp").path))))
    (tmp_path / "store.o").write_bytes(object_file(table, "store"))
    (tmp_path / "main.cpp").write_text(PROGRAM)
    program = compiled(tmp_path, "main.cpp", "store.o")
    more = ["second"] if device_count() > 1 else []
    ran = subprocess.run([program, *more], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0] == f"{arch} {kind}"
    assert lines[1 : 6 + len(more)] == ["8", "8", "1", "16", "8", *(["8"] * len(more))]
    assert "a block of 4096 threads: this kernel takes at most" in lines[6 + len(more)]
    assert f" -> accepted prebuilt {arch} {kind}" in ran.stdout


def test_no_image_says_why(tmp_path, build, foreign):
    """A device without an image gets each reason, and what to do."""
    table = table_of(embedded_files(StoreReader(Path(build(foreign, name="foreign").path))))
    (tmp_path / "store.o").write_bytes(object_file(table, "store"))
    (tmp_path / "main.cpp").write_text(PROGRAM)
    ran = subprocess.run([compiled(tmp_path, "main.cpp", "store.o")], capture_output=True, text=True)
    assert ran.returncode != 0
    assert f"refused  prebuilt {foreign} cubin" in ran.stderr
    assert "to fix: build the store with" in ran.stderr
