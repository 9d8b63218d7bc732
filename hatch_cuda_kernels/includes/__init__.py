"""From a source's text to its header closure: what it includes, of the project, of this package and of the toolkit."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.includes.clocks import find_clocks as find_clocks
    from hatch_cuda_kernels.includes.closure import Closure as Closure
    from hatch_cuda_kernels.includes.closure import Origin as Origin
    from hatch_cuda_kernels.includes.implied import implied_headers as implied_headers
    from hatch_cuda_kernels.includes.outer import STANDARD_FOLDER as STANDARD_FOLDER
    from hatch_cuda_kernels.includes.outer import Asked as Asked
    from hatch_cuda_kernels.includes.outer import OuterHeaders as OuterHeaders
    from hatch_cuda_kernels.includes.outer import StandardHeaders as StandardHeaders
    from hatch_cuda_kernels.includes.outer import packaged_standard_headers as packaged_standard_headers
    from hatch_cuda_kernels.includes.outer import with_headers as with_headers
    from hatch_cuda_kernels.includes.project import ProjectFiles as ProjectFiles
    from hatch_cuda_kernels.includes.project import normalize as normalize
    from hatch_cuda_kernels.includes.reader import read_closure as read_closure
    from hatch_cuda_kernels.includes.texts import Project as Project
    from hatch_cuda_kernels.includes.texts import SourceText as SourceText
    from hatch_cuda_kernels.includes.texts import find_includes as find_includes
    from hatch_cuda_kernels.includes.texts import parse_text as parse_text

#: Who reads a name that was built imports no module that reads sources.
__getattr__ = lazy(
    __name__,
    {
        "clocks": ("find_clocks",),
        "closure": ("Closure", "Origin"),
        "implied": ("implied_headers",),
        "outer": (
            "STANDARD_FOLDER",
            "Asked",
            "OuterHeaders",
            "StandardHeaders",
            "packaged_standard_headers",
            "with_headers",
        ),
        "project": ("ProjectFiles", "normalize"),
        "reader": ("read_closure",),
        "texts": ("Project", "SourceText", "find_includes", "parse_text"),
    },
)
