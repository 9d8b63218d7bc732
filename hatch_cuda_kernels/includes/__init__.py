"""From a source's text to its header closure: what it includes, of the project, of this package and of the toolkit."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.includes.clocks import find_clocks as find_clocks
    from hatch_cuda_kernels.includes.closure import DEVICE_RUNTIME as DEVICE_RUNTIME
    from hatch_cuda_kernels.includes.closure import LIBRARY_KINDS as LIBRARY_KINDS
    from hatch_cuda_kernels.includes.closure import Closure as Closure
    from hatch_cuda_kernels.includes.closure import DeviceLibrary as DeviceLibrary
    from hatch_cuda_kernels.includes.closure import LibraryKind as LibraryKind
    from hatch_cuda_kernels.includes.closure import Origin as Origin
    from hatch_cuda_kernels.includes.closure import library_kind as library_kind
    from hatch_cuda_kernels.includes.implied import implied_headers as implied_headers
    from hatch_cuda_kernels.includes.opening import ONCE as ONCE
    from hatch_cuda_kernels.includes.opening import Opening as Opening
    from hatch_cuda_kernels.includes.opening import named_headers as named_headers
    from hatch_cuda_kernels.includes.opening import read_opening as read_opening
    from hatch_cuda_kernels.includes.opening import words_of as words_of
    from hatch_cuda_kernels.includes.outer import NO_OUTER_HEADERS as NO_OUTER_HEADERS
    from hatch_cuda_kernels.includes.outer import STANDARD_FOLDER as STANDARD_FOLDER
    from hatch_cuda_kernels.includes.outer import Asked as Asked
    from hatch_cuda_kernels.includes.outer import OuterHeaders as OuterHeaders
    from hatch_cuda_kernels.includes.outer import StandardHeaders as StandardHeaders
    from hatch_cuda_kernels.includes.outer import packaged_standard_headers as packaged_standard_headers
    from hatch_cuda_kernels.includes.outer import with_headers as with_headers
    from hatch_cuda_kernels.includes.project import ProjectFiles as ProjectFiles
    from hatch_cuda_kernels.includes.project import Readings as Readings
    from hatch_cuda_kernels.includes.project import find_words as find_words
    from hatch_cuda_kernels.includes.project import normalize as normalize
    from hatch_cuda_kernels.includes.reader import read_closure as read_closure
    from hatch_cuda_kernels.includes.texts import Include as Include
    from hatch_cuda_kernels.includes.texts import Project as Project
    from hatch_cuda_kernels.includes.texts import SourceText as SourceText
    from hatch_cuda_kernels.includes.texts import find_includes as find_includes
    from hatch_cuda_kernels.includes.texts import parse_text as parse_text

#: Who reads a name that was built imports no module that reads sources.
__getattr__ = lazy(
    __name__,
    {
        "clocks": ("find_clocks",),
        "closure": (
            "DEVICE_RUNTIME",
            "LIBRARY_KINDS",
            "Closure",
            "DeviceLibrary",
            "LibraryKind",
            "Origin",
            "library_kind",
        ),
        "implied": ("implied_headers",),
        "opening": ("ONCE", "Opening", "named_headers", "read_opening", "words_of"),
        "outer": (
            "NO_OUTER_HEADERS",
            "STANDARD_FOLDER",
            "Asked",
            "OuterHeaders",
            "StandardHeaders",
            "packaged_standard_headers",
            "with_headers",
        ),
        "project": ("ProjectFiles", "Readings", "find_words", "normalize"),
        "reader": ("read_closure",),
        "texts": ("Include", "Project", "SourceText", "find_includes", "parse_text"),
    },
)
