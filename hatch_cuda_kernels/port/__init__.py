"""Brings existing sources to a form that is then built: guards, instances from launches, a draft of the manifest."""

from hatch_cuda_kernels.port.draft import flow, module_names, stated_options
from hatch_cuda_kernels.port.port import Ported, port
from hatch_cuda_kernels.port.project import list_files

__all__ = [
    "Ported",
    "flow",
    "list_files",
    "module_names",
    "port",
    "stated_options",
]
