"""The jobs of a manifest: what is compiled, what is finished from that, and notes for the user."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.plan.notes import *
    from hatch_cuda_kernels.plan.plan import *

#: Importers of one part do not load the readers of sources.
__getattr__ = lazy(
    __name__,
    {
        "notes": "arch_warnings broken_promises changed_code describe_plan missing_headers unread_sources",
        "plan": (
            "check_release find_families finisher_of job_images lay_out_jobs learn make_plan open_reader PlannedModule "
            "read_sources requirements"
        ),
    },
)
