"""What a wheel holds and costs, as one HTML file that loads nothing: no library, no font, no link.

Facts (``package``) -> figures of every kernel and architecture, and their differences to an older wheel (``figures``)
-> what the heat maps show (``heat``) -> the page, with pictures by Vega (``page``).
"""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.report.package import PackageFacts as PackageFacts
    from hatch_cuda_kernels.report.package import Timings as Timings
    from hatch_cuda_kernels.report.package import add_packed as add_packed
    from hatch_cuda_kernels.report.package import file_sizes as file_sizes
    from hatch_cuda_kernels.report.package import read_package as read_package
    from hatch_cuda_kernels.report.package import read_timings as read_timings
    from hatch_cuda_kernels.report.package import total_size as total_size
    from hatch_cuda_kernels.report.page import Report as Report
    from hatch_cuda_kernels.report.page import describe_change as describe_change
    from hatch_cuda_kernels.report.page import render_page as render_page

#: ``inspect`` needs the sizes of files, and no page.
__getattr__ = lazy(
    __name__,
    {
        "package": (
            "PackageFacts",
            "Timings",
            "add_packed",
            "file_sizes",
            "read_package",
            "read_timings",
            "total_size",
        ),
        "page": ("Report", "describe_change", "render_page"),
    },
)
