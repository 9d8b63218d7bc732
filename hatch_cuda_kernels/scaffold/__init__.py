"""Sets a project up: the build hook, ``kernels.yaml`` and a first kernel, or a manifest of the kernels it has."""

from __future__ import annotations

from hatch_cuda_kernels.scaffold.kernel_files import include_folders
from hatch_cuda_kernels.scaffold.project import scaffold

__all__ = ["include_folders", "scaffold"]
