"""One job in, the compiled images out: recipe, sources, program, job, key, and the compilers themselves."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.diagnostics import *
    from hatch_cuda_kernels.compiler.finish import *
    from hatch_cuda_kernels.compiler.job import *
    from hatch_cuda_kernels.compiler.key import *
    from hatch_cuda_kernels.compiler.nvrtc import *
    from hatch_cuda_kernels.compiler.precompiled import *
    from hatch_cuda_kernels.compiler.recipe_reader import *
    from hatch_cuda_kernels.compiler.source_reader import *

#: Who needs a key imports no compiler.
__getattr__ = lazy(
    __name__,
    {
        "diagnostics": "header_advice is_for_device is_known",
        "finish": "assemble lacking_targets lacks_device_runtime link LinkInput undefined_symbols",
        "job": (
            "choose_finisher Compiled CompileJob entry_of Finished FINISHER_NAMES FinishInput FinishJob Recipe Unit"
        ),
        "key": "cache_key shipped_key",
        "nvrtc": "compile_flags run_job",
        "precompiled": "Beginning can_precompile HEAP_BYTES Preamble shared_flags Toolkit with_preamble",
        "recipe_reader": "declared_headers further_levels read_device_passes read_recipe",
        "source_reader": "rule_files SourceReader",
    },
)
