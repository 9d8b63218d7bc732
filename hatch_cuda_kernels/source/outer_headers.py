"""What ``includes`` has, for those that still ask here."""

from hatch_cuda_kernels.includes.outer import (
    NO_OUTER_HEADERS,
    STANDARD_FOLDER,
    Asked,
    OuterHeaders,
    StandardHeaders,
    packaged_standard_headers,
)

__all__ = [
    "NO_OUTER_HEADERS",
    "STANDARD_FOLDER",
    "Asked",
    "OuterHeaders",
    "StandardHeaders",
    "packaged_standard_headers",
]
