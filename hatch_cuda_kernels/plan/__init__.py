"""The jobs of a manifest: what is compiled, what is finished from that, and notes for the user."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.plan.jobs import job_images as job_images
    from hatch_cuda_kernels.plan.jobs import lay_out_jobs as lay_out_jobs
    from hatch_cuda_kernels.plan.jobs import route_of as route_of
    from hatch_cuda_kernels.plan.notes import arch_warnings as arch_warnings
    from hatch_cuda_kernels.plan.notes import broken_promises as broken_promises
    from hatch_cuda_kernels.plan.notes import changed_code as changed_code
    from hatch_cuda_kernels.plan.notes import describe_plan as describe_plan
    from hatch_cuda_kernels.plan.notes import missing_headers as missing_headers
    from hatch_cuda_kernels.plan.plan import PlannedModule as PlannedModule
    from hatch_cuda_kernels.plan.plan import learn as learn
    from hatch_cuda_kernels.plan.plan import make_plan as make_plan
    from hatch_cuda_kernels.plan.plan import open_reader as open_reader
    from hatch_cuda_kernels.plan.plan import read_sources as read_sources
    from hatch_cuda_kernels.plan.release import check_release as check_release
    from hatch_cuda_kernels.plan.release import requirements as requirements

#: Importers of one part do not load the readers of sources.
__getattr__ = lazy(
    __name__,
    {
        "jobs": ("job_images", "lay_out_jobs", "route_of"),
        "notes": ("arch_warnings", "changed_code", "describe_plan", "missing_headers", "broken_promises"),
        "plan": ("PlannedModule", "learn", "make_plan", "open_reader", "read_sources"),
        "release": ("check_release", "requirements"),
    },
)
