"""From a source's text to its header closure: what it includes, of the project, of this package and of the toolkit."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.includes.closure import *
    from hatch_cuda_kernels.includes.implied import *
    from hatch_cuda_kernels.includes.project import *
    from hatch_cuda_kernels.includes.reader import *
    from hatch_cuda_kernels.includes.texts import *

#: Who reads a name that was built imports no module that reads sources.
__getattr__ = lazy(
    __name__,
    {
        "closure": (
            "Asked Closure Origin OuterHeaders packaged_standard_headers STANDARD_FOLDER StandardHeaders with_headers"
        ),
        "implied": "implied_headers",
        "project": "is_in_environment MARK normalize package_folders PACKAGE_NAME package_of ProjectFiles",
        "reader": "find_clocks read_closure",
        "texts": "find_includes parse_text Project SourceText",
    },
)
