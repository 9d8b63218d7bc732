"""Ten mistakes that people make, each as a change of a project that builds, and a command that fails."""

from __future__ import annotations

KERNELS = """\
template <typename T> __global__ void scale(T* y, T a) { y[threadIdx.x] *= a; }
extern "C" __global__ void saxpy(float* y, const float* x, long long n, float a) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
MANIFEST = """\
schema: 1
cuda: "13.0"
arches: [sm_80, sm_90, compute_80]
modules:
  saxpy:
    source: kernels/saxpy.cu
"""
CU = "kernels/saxpy.cu"
FILES = {"kernels.yaml": MANIFEST, CU: KERNELS}
BUILD = ("build", "--out", "out")
SUPPORTS = 'supports: {devices: ["7.5"], driver: "13.0"}\n'
#: By name: the command, with the file to change and the text to replace in it (none: to append), a place, and a fix.
#: ``STORE`` stands for the example project's store. The tenth needs a device: an array of another dtype.
MISTAKES = {
    "a mistyped template": (
        (BUILD, "kernels.yaml", "", '    instances: ["scal<float>"]\n'),
        "kernels.yaml:7:17: error: modules.saxpy.instances[0]", "did you mean 'scale'",
    ),
    "a mistyped kernel": (
        (("explain", "saxpi", "--package", "STORE", "--arch", "sm_90"),), "no kernel 'saxpi'", "did you mean 'saxpy'",
    ),
    "a mistyped option": ((("build", "--ou", "x"),), "there is no option '--ou'", "did you mean '--out'"),
    "a mistyped architecture": (
        (BUILD, "kernels.yaml", "sm_90", "sm_9"), "kernels.yaml:3:17: error: arches[1]", "did you mean 'sm_90'",
    ),
    "a mistyped path": (
        (BUILD, "kernels.yaml", "saxpy.cu", "sxpy.cu"),
        "kernels.yaml:6:13: error: modules.saxpy.source", "did you mean 'kernels/saxpy.cu'",
    ),
    "a missing header": (
        (BUILD, CU, "template", "#include <helpers.cuh>\ntemplate"),
        "kernels/saxpy.cu:1:10: error: cannot open source file", "hint: it is not in the project; list its folder",
    ),
    "host code": (
        (BUILD, CU, "if (i < n)", "cudaMalloc(&y, n); if (i < n)"),
        "kernels/saxpy.cu:4:5: error: ", "cudaMalloc is the host's",
    ),
    "the wrong toolkit": (
        (BUILD, "kernels.yaml", "13.0", "13.4"),
        "kernels.yaml asks for CUDA 13.4, the NVRTC found is 13.0", "nvidia-cuda-nvrtc==13.4.*",
    ),
    "a broken promise": (
        (BUILD, "kernels.yaml", "", SUPPORTS),
        "kernels.yaml:7:22: error: supports.devices[0]: there is no image for the promised device 7.5", "add sm_75",
    ),
}  # fmt: skip


def changed(text, old, new):
    """Return the text of a file with a mistake in it. Raises ValueError where there is nothing to change."""
    if old not in text:
        raise ValueError(old)
    return text.replace(old, new, 1) if old else text + new
