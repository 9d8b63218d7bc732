"""Why a compile failed, by its first error."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from hatch_cuda_kernels.libraries import standard_headers

REASONS = {
    "standard": "host standard header",
    "project": "project header that no include folder leads to",
    "elsewhere": "header that is not in the repository",
    "torch": "torch, ATen, c10, pybind11",
    "library": "library header (cublas, cufft, cudnn, nccl, mpi, ...)",
    "host": "host code: functions and variables without a mark, launches, the runtime's API",
    "container": "host code: std containers, strings, streams",
    "package": "refused before the compile",
    "templates": "only templates, for which no launch says which instances",
    "time": "ran out of time or memory",
    "other": "other error in the source",
}

_MISSING = re.compile(r'(?:cannot|could not) open source file "([^"\n]+)"')
_ERROR = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\d+-?D?)?: (?P<text>.*)$", re.MULTILINE
)
_TORCH = re.compile(r"(?:torch|ATen|c10|caffe2|pybind11|Python\.h|THC)")
_LIBRARY = re.compile(
    r"(?:cublas|cufft|cusparse|cusolver|cudnn|cutensor|cufile|curand|nccl|nvml|nvtx|nvToolsExt|nvrtc|nvblas|nppi?|mpi"
    r"|optix|hdf5|omp-tools|opencv2|Eigen|boost|glog|gflags|gtest|gmock|fmt|spdlog|cutlass|cute/|rmm|raft|thrust|hip/"
    r"|roc|GL/|glm|tbb|json|nlohmann|OpenMesh|vtk|pcl/|flann|netcdf|fftw|cblas|lapack|mkl|nvjpeg|cub/|cupti)",
    re.IGNORECASE,
)
_CONTAINER = re.compile(
    r'namespace "std" has no (?:\w+ )?member "(?:vector|string|map|set|list|deque|unordered_\w+|queue|stack|cout|cerr'
    r"|endl|stringstream|ostringstream|ifstream|ofstream|to_string|shared_ptr|make_shared|function|thread|mutex|getline|setw"
    r'|mt19937|random_device|default_random_engine|uniform_\w+|normal_distribution|format)"'
    r'|incomplete type "[^"]*std::|no operator "<<" matches'
)
_HOST = re.compile(
    r"without execution space annotations|explicitly marked as a __host__ function|without memory space annotations"
    r'|identifier "(?:cuda|cu|hip|nvtx|cublas|cufft|curand|nccl|MPI_)[A-Z]\w*" is undefined|separate compilation mode'
    r'|identifier "(?:exit|fprintf|stderr|stdout|sprintf|snprintf|fopen|getenv|rand|srand|atoi|atof|time|puts|abort'
    r'|calloc|gettimeofday|posix_memalign|fflush|realloc|strtol|perror|errno|pthread_\w+)" is undefined'
    r"|exception handling|a host variable|from a __host__ |dynamic initialization|typeid|host function"
)
_NAME = re.compile(r'namespace "std(?:::\w+)?" has no (?:\w+ )?member (?:\w+ )?"(\w+)"|identifier "(\w+)" is undefined')


def classify(log: str, root: Path) -> tuple[str, str]:
    """Return the reason's key in REASONS and the detail: the header, or the message of the first error."""
    if log.startswith("worker:"):
        return "time", log.removeprefix("worker:").strip()
    missing = _MISSING.search(log)
    first = _ERROR.search(log)
    if missing is not None and (first is None or missing.start() <= first.end()):
        return _header(missing[1], root), missing[1]
    if first is None:
        return "package", log.strip().split("\n")[0][:200]
    text = first["text"]
    if _CONTAINER.search(text):
        return "container", text[:160]
    return ("host" if _HOST.search(text) else "other"), f"{Path(first['file']).name}: {text[:160]}"


def unknown_names(log: str) -> list[str]:
    """Return the std members and identifiers a failed compile did not know, each once."""
    return sorted({f"std::{member}" if member else name for member, name in _NAME.findall(log)})


def _header(name: str, root: Path) -> str:
    plain = name.rpartition("/hatch-cuda-kernels/")[2]
    if plain in standard_headers() or plain.startswith("sys/"):
        return "standard"
    if _TORCH.match(plain):
        return "torch"
    if Path(plain).name in _file_names(root):
        return "project"
    return "library" if _LIBRARY.search(plain) else "elsewhere"


@cache
def _file_names(root: Path) -> frozenset[str]:
    return frozenset(path.name for path in root.rglob("*") if path.suffix)
