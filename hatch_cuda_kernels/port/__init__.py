"""Brings existing sources to a form that is then built: guards, instances from launches, a draft of the manifest."""

from hatch_cuda_kernels.port.draft import flow, stated_options
from hatch_cuda_kernels.port.port import Ported, port
from hatch_cuda_kernels.port.project import count_kernels, include_folders, kernel_sources, list_files
from hatch_cuda_kernels.port.trials import (
    accepted_guesses,
    linked,
    other_sources,
    refused_instances,
    stated_with_runtime,
)

__all__ = [
    "Ported",
    "accepted_guesses",
    "count_kernels",
    "flow",
    "include_folders",
    "kernel_sources",
    "linked",
    "list_files",
    "other_sources",
    "port",
    "refused_instances",
    "stated_options",
    "stated_with_runtime",
]
