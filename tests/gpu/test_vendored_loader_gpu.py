"""The loader to vendor on a device: everybody's arrays and streams, variables, devices, resets, and the example."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hatch_cuda_kernels.driver import device_count
from hatch_cuda_kernels.vendor import loader_text

N = 5000
ROOT = Path(__file__).parents[2]


@pytest.fixture
def vendored(tmp_path, build, native):
    """Return a function that opens a store for some architectures with a loader that nothing has used."""

    def open_for(*arches):
        folder = Path(build(*(arches or (native,)), name="vendored").path)
        file = tmp_path / "_kernels_loader.py"
        file.write_text(loader_text())
        spec = importlib.util.spec_from_file_location("vendored_kernels_loader", file)
        loader = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loader)
        return loader.open_store(folder), loader

    return open_for


def values():
    """Return x, y and the expected result for a = 3."""
    x, y = np.linspace(0, 1, N, dtype=np.float32), np.full(N, 2, np.float32)
    return x, y, 3 * x + y


def test_own_arrays_and_pinned_ones(vendored, on_device, pinned):
    """Arrays by the array interface, pinned host arrays and numpy scalars launch; other host arrays are refused."""
    store, loader = vendored()
    x, y, expected = values()
    out, kernel = on_device(y), store.get_kernel("saxpy")
    kernel[20, 256](out, pinned(x), np.int32(N), np.float64(3))
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)
    with pytest.raises(loader.ArgumentError, match=r"argument 1 \(x\) of saxpy .* ordinary host memory"):
        kernel[20, 256](out, x, N, 3.0)


def test_ptx_and_the_launch_rule(vendored, native, on_device):
    """PTX alone is assembled by the driver, and the manifest's rule launches without brackets."""
    store, _ = vendored(native.replace("sm", "compute"))
    x, y, expected = values()
    out, kernel = on_device(y), store.get_kernel("saxpy")
    kernel(out, on_device(x), N, 3.0)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)
    assert kernel.image.kind == "ptx"


def test_no_image_says_why(vendored, foreign):
    """A device without an image gets each reason, and the extra that would compile."""
    store, loader = vendored(foreign)
    with pytest.raises(loader.NoImageError, match=r"hatch-cuda-kernels\[jit\]") as raised:
        store.get_kernel("saxpy")
    assert f"refused  prebuilt {foreign} cubin" in str(raised.value)
    assert foreign in str(store.explain("saxpy"))


def test_torch_tensors_on_a_side_stream(vendored):
    """Torch tensors launch on torch's current stream; a tensor of another type is refused."""
    torch = pytest.importorskip("torch")
    store, loader = vendored()
    x, _, expected = values()
    kernel, side = store.get_kernel("saxpy"), torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        tx, ty = torch.from_numpy(x).pin_memory().to("cuda", non_blocking=True), torch.full((N,), 2.0, device="cuda")
        kernel[20, 256](ty, tx, N, 3.0)
        result = ty.clone()
    side.synchronize()
    np.testing.assert_allclose(result.cpu().numpy(), expected, rtol=1e-6)
    with pytest.raises(loader.ArgumentError, match="float64"):
        kernel[20, 256](ty.double(), tx, N, 3.0)


def test_cupy_arrays_on_a_side_stream(vendored):
    """CuPy arrays launch on CuPy's current stream."""
    cupy = pytest.importorskip("cupy")
    store, _ = vendored()
    x, y, expected = values()
    with cupy.cuda.Stream(non_blocking=True) as side:
        cx, cy = cupy.asarray(x), cupy.asarray(y)
        store.get_kernel("saxpy")[20, 256](cy, cx, N, 3.0)
        side.synchronize()
        np.testing.assert_allclose(cupy.asnumpy(cy), expected, rtol=1e-6)


def test_jax_arrays(vendored, on_device):
    """JAX arrays, which offer DLPack, are read where they are."""
    jax = pytest.importorskip("jax")
    store, _ = vendored()
    x, y, expected = values()
    out, given = on_device(y), jax.device_put(x).block_until_ready()
    store.get_kernel("saxpy")[20, 256](out, given, N, 3.0)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)


def test_variables_and_instances(vendored, on_device):
    """A constant is set and read; an instance of a template is found by its name."""
    store, _ = vendored()
    bias, out = store.get_global("d_bias"), on_device(np.zeros(4, np.float32))
    bias.copy_from(np.arange(4, dtype=np.float32))
    store.get_kernel("bias")[1, 4](out)
    np.testing.assert_array_equal(out.numpy(), [0, 2, 4, 6])
    back = np.empty(4, np.float32)
    bias.copy_to(back)
    np.testing.assert_array_equal(back, np.arange(4))
    filled = on_device(np.zeros(8, np.float32))
    store.get_kernel("fill< float,8 >")[1, 32](filled, 5.0)
    np.testing.assert_array_equal(filled.numpy(), np.full(8, 5))


def test_the_device_of_the_arrays(vendored):
    """A kernel goes where the arrays are, and says so where they are on several devices."""
    torch = pytest.importorskip("torch")
    if device_count() < 2:
        pytest.skip("needs two devices")
    store, loader = vendored()
    kernel = store.get_kernel("saxpy")
    for device in ("cuda:1", "cuda:0"):
        y, x = torch.full((8,), 2.0, device=device), torch.ones(8, device=device)
        kernel[1, 32](y, x, 8, 3.0)
        assert y.tolist() == [5.0] * 8
    with pytest.raises(loader.ArgumentError, match="several devices"):
        kernel[1, 32](torch.zeros(8, device="cuda:0"), torch.zeros(8, device="cuda:1"), 8, 1.0)


RESET = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import _kernels_loader as loader
cuda = ctypes.CDLL("libcuda.so.1")
store = loader.open_store(sys.argv[2])
kernel = store.get_kernel("saxpy")
kernel[1, 32](0, 0, 0, 1.0)
assert cuda.cuDevicePrimaryCtxReset_v2(0) == 0
kernel[1, 32](0, 0, 0, 1.0)
y = ctypes.c_void_p()
assert cuda.cuMemAlloc_v2(ctypes.byref(y), ctypes.c_size_t(4)) == 0
assert cuda.cuMemsetD32_v2(y, 0x3F800000, ctypes.c_size_t(1)) == 0
kernel[1, 32](y.value, y.value, 1, 3.0)
result = ctypes.c_float()
assert cuda.cuMemcpyDtoH_v2(ctypes.byref(result), y, ctypes.c_size_t(4)) == 0
print(result.value, [name for name in sys.modules if name.startswith(("cuda", "hatch_cuda", "numpy"))])
"""


def test_a_reset_context(vendored, tmp_path):
    """After a reset, kernels are loaded again by themselves; no package is imported on the way."""
    store, _ = vendored()
    ran = subprocess.run([sys.executable, "-c", RESET, tmp_path, store.path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split(maxsplit=1) == ["4.0", "[]\n"]


def test_the_example_runs_with_it(tmp_path):
    """The example's tests pass where the example has the loader in place of the package, which cannot be imported."""
    spec = importlib.util.find_spec("example_project")
    if spec is None or spec.origin is None or not (Path(spec.origin).parent / "_kernels" / "kernels.tsv").is_file():
        pytest.skip("needs the example's wheel")
    package = shutil.copytree(Path(spec.origin).parent, tmp_path / "example_project")
    (package / "_kernels_loader.py").write_text(loader_text())
    (package / "kernels.py").write_text(
        "from example_project._kernels_loader import open_store\n\nstore = open_store()\n"
    )
    (tmp_path / "hatch_cuda_kernels.py").write_text("raise ImportError('the loader needs no package')\n")
    tests = next(path for path in (ROOT / "example_tests", ROOT / "example_project" / "tests") if path.is_dir())
    shutil.copytree(tests, tmp_path / "tests")
    (tmp_path / "tests" / "test_jax_functions.py").unlink()  # functions inside jax.jit need the package
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", "."]
    ran = subprocess.run([*command, "tests"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-4000:]
    assert " passed" in ran.stdout
