"""The loader that a library ships in its own package: one file, made of this package's own text."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.vendor.assemble import *

__getattr__ = lazy(__name__, {"assemble": "loader_text why_old"})
