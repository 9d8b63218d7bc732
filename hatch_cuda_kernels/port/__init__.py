"""Brings existing sources to a form that is then built: guards, instances from launches, a draft of the manifest."""

from hatch_cuda_kernels.port.port import Ported, port

__all__ = ["Ported", "port"]
