"""The store's format: compiled images with index and sources as files, written by builds and read by both sides."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.store.contents import SBOM_FILE as SBOM_FILE
    from hatch_cuda_kernels.store.contents import Distribution as Distribution
    from hatch_cuda_kernels.store.contents import extract_images as extract_images
    from hatch_cuda_kernels.store.contents import list_contents as list_contents
    from hatch_cuda_kernels.store.contents import sbom_text as sbom_text
    from hatch_cuda_kernels.store.index import DETAILS_FILE as DETAILS_FILE
    from hatch_cuda_kernels.store.index import INDEX_FILE as INDEX_FILE
    from hatch_cuda_kernels.store.index import KERNELS_FILE as KERNELS_FILE
    from hatch_cuda_kernels.store.index import PROMISES_FILE as PROMISES_FILE
    from hatch_cuda_kernels.store.index import SOURCE_FOLDER as SOURCE_FOLDER
    from hatch_cuda_kernels.store.index import STANDARD_FILE as STANDARD_FILE
    from hatch_cuda_kernels.store.index import STORE_FOLDER as STORE_FOLDER
    from hatch_cuda_kernels.store.index import ImageRecord as ImageRecord
    from hatch_cuda_kernels.store.index import ModuleIndex as ModuleIndex
    from hatch_cuda_kernels.store.index import Stored as Stored
    from hatch_cuda_kernels.store.index import UnitRecord as UnitRecord
    from hatch_cuda_kernels.store.index import module_names as module_names
    from hatch_cuda_kernels.store.launch_rules import ExpressionError as ExpressionError
    from hatch_cuda_kernels.store.launch_rules import LaunchRule as LaunchRule
    from hatch_cuda_kernels.store.launch_rules import canonical as canonical
    from hatch_cuda_kernels.store.launch_rules import find_rule as find_rule
    from hatch_cuda_kernels.store.launch_rules import placeholders_of as placeholders_of
    from hatch_cuda_kernels.store.launch_rules import python_text as python_text
    from hatch_cuda_kernels.store.launch_rules import split_sizes as split_sizes
    from hatch_cuda_kernels.store.module import BuiltModule as BuiltModule
    from hatch_cuda_kernels.store.package import UNREADABLE as UNREADABLE
    from hatch_cuda_kernels.store.package import is_bomb as is_bomb
    from hatch_cuda_kernels.store.package import modules_of as modules_of
    from hatch_cuda_kernels.store.package import open_package as open_package
    from hatch_cuda_kernels.store.package import read_member as read_member
    from hatch_cuda_kernels.store.packing import PACK_FILE as PACK_FILE
    from hatch_cuda_kernels.store.packing import NewImage as NewImage
    from hatch_cuda_kernels.store.packing import blocks as blocks
    from hatch_cuda_kernels.store.packing import read_blocks as read_blocks
    from hatch_cuda_kernels.store.promises import Coverage as Coverage
    from hatch_cuda_kernels.store.promises import Promises as Promises
    from hatch_cuda_kernels.store.promises import Supports as Supports
    from hatch_cuda_kernels.store.promises import broken_supports as broken_supports
    from hatch_cuda_kernels.store.promises import check_built as check_built
    from hatch_cuda_kernels.store.promises import check_wheel as check_wheel
    from hatch_cuda_kernels.store.promises import find_gaps as find_gaps
    from hatch_cuda_kernels.store.promises import find_spills as find_spills
    from hatch_cuda_kernels.store.promises import read_promises as read_promises
    from hatch_cuda_kernels.store.reader import KernelLine as KernelLine
    from hatch_cuda_kernels.store.reader import StoreReader as StoreReader
    from hatch_cuda_kernels.store.reader import find_store as find_store
    from hatch_cuda_kernels.store.reader import unpack_whole as unpack_whole
    from hatch_cuda_kernels.store.source import ModuleSource as ModuleSource
    from hatch_cuda_kernels.store.source import read_shipped as read_shipped
    from hatch_cuda_kernels.store.source import recipe_of as recipe_of
    from hatch_cuda_kernels.store.texts import DIGESTS_FILE as DIGESTS_FILE
    from hatch_cuda_kernels.store.texts import ListedModule as ListedModule
    from hatch_cuda_kernels.store.texts import ModuleDetails as ModuleDetails
    from hatch_cuda_kernels.store.texts import digests_text as digests_text
    from hatch_cuda_kernels.store.texts import json_text as json_text
    from hatch_cuda_kernels.store.texts import kernels_text as kernels_text
    from hatch_cuda_kernels.store.texts import read_digests as read_digests
    from hatch_cuda_kernels.store.writer import check_replaceable as check_replaceable
    from hatch_cuda_kernels.store.writer import prepare_place as prepare_place
    from hatch_cuda_kernels.store.writer import temporary_workspace as temporary_workspace
    from hatch_cuda_kernels.store.writer import write_store as write_store

#: Who finds a prebuilt image imports nothing that writes stores or compiles.
__getattr__ = lazy(
    __name__,
    {
        "contents": ("Distribution", "SBOM_FILE", "extract_images", "list_contents", "sbom_text"),
        "index": (
            "DETAILS_FILE",
            "INDEX_FILE",
            "ImageRecord",
            "KERNELS_FILE",
            "ModuleIndex",
            "PROMISES_FILE",
            "SOURCE_FOLDER",
            "STANDARD_FILE",
            "STORE_FOLDER",
            "Stored",
            "UnitRecord",
            "module_names",
        ),
        "launch_rules": (
            "ExpressionError",
            "LaunchRule",
            "canonical",
            "find_rule",
            "placeholders_of",
            "python_text",
            "split_sizes",
        ),
        "module": ("BuiltModule",),
        "package": ("UNREADABLE", "is_bomb", "modules_of", "open_package", "read_member"),
        "packing": ("NewImage", "PACK_FILE", "blocks", "read_blocks"),
        "promises": (
            "Coverage",
            "Promises",
            "Supports",
            "broken_supports",
            "check_built",
            "check_wheel",
            "find_gaps",
            "find_spills",
            "read_promises",
        ),
        "reader": ("KernelLine", "StoreReader", "find_store", "unpack_whole"),
        "source": ("ModuleSource", "read_shipped", "recipe_of"),
        "texts": (
            "DIGESTS_FILE",
            "ListedModule",
            "ModuleDetails",
            "digests_text",
            "json_text",
            "kernels_text",
            "read_digests",
        ),
        "writer": ("check_replaceable", "prepare_place", "temporary_workspace", "write_store"),
    },
)
