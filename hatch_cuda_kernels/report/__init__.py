"""What a wheel holds and costs, as one HTML file that loads nothing: no library, no font, no link.

Facts (``package``) -> figures of every kernel and architecture, their differences to an older wheel, and the page, with
pictures by Vega (``page``).
"""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.report.package import *
    from hatch_cuda_kernels.report.page import *

#: ``inspect`` needs the sizes of files, and no page.
__getattr__ = lazy(
    __name__,
    {
        "package": "add_packed file_sizes PackageFacts read_package read_timings Timings total_size",
        "page": "describe_change render_page Report",
    },
)
