"""What a wheel holds and costs, as one HTML file that loads nothing: no library, no font, no link.

Facts (``package``) -> figures of every kernel and architecture (``figures``) -> what differs from an older release, and
how severe that is (``verdict``) -> the page, with heat maps by Vega (``page``).
"""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.report.package import *
    from hatch_cuda_kernels.report.page import *
    from hatch_cuda_kernels.report.verdict import *

#: ``inspect`` needs the sizes of files, and no page.
__getattr__ = lazy(
    __name__,
    {
        "package": "add_packed file_sizes PackageFacts read_package read_timings Timings total_size",
        "verdict": "Change compare Comparison KINDS SEVERITIES",
        "page": "render_page Report",
    },
)
