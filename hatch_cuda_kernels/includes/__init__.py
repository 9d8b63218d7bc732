"""From a source's text to its header closure: what it includes, of the project, of this package and of the toolkit."""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.includes.clocks import find_clocks
    from hatch_cuda_kernels.includes.closure import (
        DEVICE_RUNTIME,
        LIBRARY_KINDS,
        Closure,
        DeviceLibrary,
        LibraryKind,
        Origin,
        library_kind,
    )
    from hatch_cuda_kernels.includes.implied import implied_headers
    from hatch_cuda_kernels.includes.opening import ONCE, Opening, named_headers, read_opening, words_of
    from hatch_cuda_kernels.includes.outer import (
        NO_OUTER_HEADERS,
        STANDARD_FOLDER,
        Asked,
        OuterHeaders,
        StandardHeaders,
        packaged_standard_headers,
        with_headers,
    )
    from hatch_cuda_kernels.includes.project import ProjectFiles, Readings, find_words, normalize
    from hatch_cuda_kernels.includes.reader import read_closure
    from hatch_cuda_kernels.includes.texts import Include, Project, SourceText, find_includes, parse_text

#: Each module with what others use of it: who reads a name that was built imports none that reads sources.
_HOMES = {
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
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "DEVICE_RUNTIME",
    "LIBRARY_KINDS",
    "NO_OUTER_HEADERS",
    "ONCE",
    "STANDARD_FOLDER",
    "Asked",
    "Closure",
    "DeviceLibrary",
    "Include",
    "LibraryKind",
    "Opening",
    "Origin",
    "OuterHeaders",
    "Project",
    "ProjectFiles",
    "Readings",
    "SourceText",
    "StandardHeaders",
    "find_clocks",
    "find_includes",
    "find_words",
    "implied_headers",
    "library_kind",
    "named_headers",
    "normalize",
    "packaged_standard_headers",
    "parse_text",
    "read_closure",
    "read_opening",
    "with_headers",
    "words_of",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
