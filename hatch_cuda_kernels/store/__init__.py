"""The store's format: compiled images with index and sources as files, written by builds and read by both sides."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.store.contents import *
    from hatch_cuda_kernels.store.families import *
    from hatch_cuda_kernels.store.index import *
    from hatch_cuda_kernels.store.installed import *
    from hatch_cuda_kernels.store.launch_rules import *
    from hatch_cuda_kernels.store.module import *
    from hatch_cuda_kernels.store.promises import *
    from hatch_cuda_kernels.store.reader import *
    from hatch_cuda_kernels.store.source import *
    from hatch_cuda_kernels.store.texts import *
    from hatch_cuda_kernels.store.unlisted import *
    from hatch_cuda_kernels.store.writer import *

#: Who finds a prebuilt image imports nothing that writes stores or compiles.
__getattr__ = lazy(
    __name__,
    {
        "contents": (
            "extract_images is_bomb list_contents modules_of open_package place_in_wheel read_member SBOM_FILE "
            "sbom_text UNREADABLE"
        ),
        "families": "ModuleFamily",
        "index": (
            "DETAILS_FILE ImageRecord INDEX_FILE INDEX_SCHEMA KernelLine KERNELS_FILE module_names ModuleIndex "
            "PROMISES_FILE SOURCE_FOLDER STANDARD_FILE STORE_FOLDER Stored UnitRecord what_to_build"
        ),
        "installed": "find_metadata",
        "launch_rules": "canonical ExpressionError find_rule LaunchRule placeholders_of python_text split_sizes",
        "module": "BuiltModule",
        "promises": (
            "broken_supports check_built check_wheel Coverage driver_refusal find_gaps find_spills Promises "
            "read_promises Supports"
        ),
        "reader": "find_module find_store StoreReader unpack_whole",
        "source": "ModuleSource read_shipped recipe_of",
        "texts": "DIGESTS_FILE digests_text json_text kernels_text ListedModule ModuleDetails read_digests",
        "unlisted": "UnlistedModule",
        "writer": (
            "blocks check_replaceable name_clashes NewImage PACK_FILE prepare_place read_blocks temporary_workspace "
            "write_store"
        ),
    },
)
