"""One job in, the compiled images out: recipe, sources, program, job, key, and the compilers themselves."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.diagnostics import header_advice as header_advice
    from hatch_cuda_kernels.compiler.diagnostics import is_for_device as is_for_device
    from hatch_cuda_kernels.compiler.diagnostics import is_known as is_known
    from hatch_cuda_kernels.compiler.finish import LinkInput as LinkInput
    from hatch_cuda_kernels.compiler.finish import assemble as assemble
    from hatch_cuda_kernels.compiler.finish import lacking_targets as lacking_targets
    from hatch_cuda_kernels.compiler.finish import lacks_device_runtime as lacks_device_runtime
    from hatch_cuda_kernels.compiler.finish import link as link
    from hatch_cuda_kernels.compiler.finish import undefined_symbols as undefined_symbols
    from hatch_cuda_kernels.compiler.job import Compiled as Compiled
    from hatch_cuda_kernels.compiler.job import CompileJob as CompileJob
    from hatch_cuda_kernels.compiler.job import Finished as Finished
    from hatch_cuda_kernels.compiler.job import FinishInput as FinishInput
    from hatch_cuda_kernels.compiler.job import FinishJob as FinishJob
    from hatch_cuda_kernels.compiler.job import Job as Job
    from hatch_cuda_kernels.compiler.job import entry_of as entry_of
    from hatch_cuda_kernels.compiler.key import cache_key as cache_key
    from hatch_cuda_kernels.compiler.key import shipped_key as shipped_key
    from hatch_cuda_kernels.compiler.nvrtc import compile_flags as compile_flags
    from hatch_cuda_kernels.compiler.nvrtc import run_job as run_job
    from hatch_cuda_kernels.compiler.precompiled import HEAP_BYTES as HEAP_BYTES
    from hatch_cuda_kernels.compiler.precompiled import Beginning as Beginning
    from hatch_cuda_kernels.compiler.precompiled import Preamble as Preamble
    from hatch_cuda_kernels.compiler.precompiled import Toolkit as Toolkit
    from hatch_cuda_kernels.compiler.precompiled import can_precompile as can_precompile
    from hatch_cuda_kernels.compiler.precompiled import shared_flags as shared_flags
    from hatch_cuda_kernels.compiler.precompiled import with_preamble as with_preamble
    from hatch_cuda_kernels.compiler.recipe import FINISHER_NAMES as FINISHER_NAMES
    from hatch_cuda_kernels.compiler.recipe import Recipe as Recipe
    from hatch_cuda_kernels.compiler.recipe import Route as Route
    from hatch_cuda_kernels.compiler.recipe import Unit as Unit
    from hatch_cuda_kernels.compiler.recipe import choose_route as choose_route
    from hatch_cuda_kernels.compiler.recipe_reader import further_levels as further_levels
    from hatch_cuda_kernels.compiler.recipe_reader import read_device_passes as read_device_passes
    from hatch_cuda_kernels.compiler.recipe_reader import read_recipe as read_recipe
    from hatch_cuda_kernels.compiler.source_reader import SourceReader as SourceReader
    from hatch_cuda_kernels.compiler.source_reader import read_again as read_again
    from hatch_cuda_kernels.compiler.source_reader import rule_files as rule_files

#: Who needs a key imports no compiler.
__getattr__ = lazy(
    __name__,
    {
        "diagnostics": ("header_advice", "is_for_device", "is_known"),
        "finish": ("LinkInput", "assemble", "lacking_targets", "lacks_device_runtime", "link", "undefined_symbols"),
        "job": ("CompileJob", "Compiled", "FinishInput", "FinishJob", "Finished", "entry_of"),
        "key": ("cache_key", "shipped_key"),
        "nvrtc": ("compile_flags", "run_job"),
        "precompiled": (
            "Beginning",
            "HEAP_BYTES",
            "Preamble",
            "Toolkit",
            "can_precompile",
            "shared_flags",
            "with_preamble",
        ),
        "recipe": ("FINISHER_NAMES", "Recipe", "Route", "Unit", "choose_route"),
        "recipe_reader": ("further_levels", "read_device_passes", "read_recipe"),
        "source_reader": ("SourceReader", "read_again", "rule_files"),
    },
)
