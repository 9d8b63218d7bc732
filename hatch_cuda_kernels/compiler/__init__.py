"""One job in, the compiled images out: recipe, sources, program, job, key, and the compilers themselves."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.finish_job import FinishInput as FinishInput
    from hatch_cuda_kernels.compiler.finish_job import FinishJob as FinishJob
    from hatch_cuda_kernels.compiler.finish_job import Job as Job
    from hatch_cuda_kernels.compiler.job import Compiled as Compiled
    from hatch_cuda_kernels.compiler.job import CompileJob as CompileJob
    from hatch_cuda_kernels.compiler.job import Finished as Finished
    from hatch_cuda_kernels.compiler.key import cache_key as cache_key
    from hatch_cuda_kernels.compiler.key import shipped_key as shipped_key
    from hatch_cuda_kernels.compiler.link_faults import lacks_device_runtime as lacks_device_runtime
    from hatch_cuda_kernels.compiler.link_faults import undefined_symbols as undefined_symbols
    from hatch_cuda_kernels.compiler.missing_header import header_advice as header_advice
    from hatch_cuda_kernels.compiler.missing_header import is_for_device as is_for_device
    from hatch_cuda_kernels.compiler.missing_header import is_known as is_known
    from hatch_cuda_kernels.compiler.nvjitlink import LinkInput as LinkInput
    from hatch_cuda_kernels.compiler.nvjitlink import link as link
    from hatch_cuda_kernels.compiler.nvrtc import compile_flags as compile_flags
    from hatch_cuda_kernels.compiler.nvrtc import run_job as run_job
    from hatch_cuda_kernels.compiler.preamble import Beginning as Beginning
    from hatch_cuda_kernels.compiler.preamble import Preamble as Preamble
    from hatch_cuda_kernels.compiler.preamble import Toolkit as Toolkit
    from hatch_cuda_kernels.compiler.precompiled import HEAP_BYTES as HEAP_BYTES
    from hatch_cuda_kernels.compiler.precompiled import can_precompile as can_precompile
    from hatch_cuda_kernels.compiler.precompiled import shared_flags as shared_flags
    from hatch_cuda_kernels.compiler.precompiled import with_preamble as with_preamble
    from hatch_cuda_kernels.compiler.ptxas import assemble as assemble
    from hatch_cuda_kernels.compiler.reading_rules import rule_files as rule_files
    from hatch_cuda_kernels.compiler.recipe import Recipe as Recipe
    from hatch_cuda_kernels.compiler.recipe import Unit as Unit
    from hatch_cuda_kernels.compiler.recipe_reader import further_levels as further_levels
    from hatch_cuda_kernels.compiler.recipe_reader import read_device_passes as read_device_passes
    from hatch_cuda_kernels.compiler.recipe_reader import read_recipe as read_recipe
    from hatch_cuda_kernels.compiler.record import entry_of as entry_of
    from hatch_cuda_kernels.compiler.route import FINISHER_NAMES as FINISHER_NAMES
    from hatch_cuda_kernels.compiler.route import Route as Route
    from hatch_cuda_kernels.compiler.route import choose_route as choose_route
    from hatch_cuda_kernels.compiler.source_reader import SourceReader as SourceReader
    from hatch_cuda_kernels.compiler.source_reader import read_again as read_again
    from hatch_cuda_kernels.compiler.target_faults import lacking_targets as lacking_targets

#: Who needs a key imports no compiler.
__getattr__ = lazy(
    __name__,
    {
        "finish_job": ("FinishInput", "FinishJob"),
        "job": ("CompileJob", "Compiled", "Finished"),
        "key": ("cache_key", "shipped_key"),
        "link_faults": ("lacks_device_runtime", "undefined_symbols"),
        "missing_header": ("header_advice", "is_for_device", "is_known"),
        "nvjitlink": ("LinkInput", "link"),
        "nvrtc": ("compile_flags", "run_job"),
        "preamble": ("Beginning", "Preamble", "Toolkit"),
        "precompiled": ("HEAP_BYTES", "can_precompile", "shared_flags", "with_preamble"),
        "ptxas": ("assemble",),
        "reading_rules": ("rule_files",),
        "recipe": ("Recipe", "Unit"),
        "recipe_reader": ("further_levels", "read_device_passes", "read_recipe"),
        "record": ("entry_of",),
        "route": ("FINISHER_NAMES", "Route", "choose_route"),
        "source_reader": ("SourceReader", "read_again"),
        "target_faults": ("lacking_targets",),
    },
)
