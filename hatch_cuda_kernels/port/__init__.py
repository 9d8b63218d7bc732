"""Brings existing sources to a form that is then built: guards, instances from launches, a draft of the manifest."""

from hatch_cuda_kernels.port.port import Ported, list_files, port

__all__ = ["Ported", "list_files", "port"]
