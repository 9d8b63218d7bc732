"""``kernels.yaml`` read into a frozen value, its JSON Schema, and edits of its text."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.manifest.kinds import suggest as suggest
    from hatch_cuda_kernels.manifest.model import FRONT_ENDS as FRONT_ENDS
    from hatch_cuda_kernels.manifest.model import Manifest as Manifest
    from hatch_cuda_kernels.manifest.model import Module as Module
    from hatch_cuda_kernels.manifest.model import Named as Named
    from hatch_cuda_kernels.manifest.model import Pattern as Pattern
    from hatch_cuda_kernels.manifest.model import StatedRule as StatedRule
    from hatch_cuda_kernels.manifest.project import MANIFEST_FILE as MANIFEST_FILE
    from hatch_cuda_kernels.manifest.project import find_manifest as find_manifest
    from hatch_cuda_kernels.manifest.project import hook_table as hook_table
    from hatch_cuda_kernels.manifest.reader import load_manifest as load_manifest
    from hatch_cuda_kernels.manifest.reader import parse_manifest as parse_manifest
    from hatch_cuda_kernels.manifest.schema import manifest_schema as manifest_schema
    from hatch_cuda_kernels.manifest.yaml_text import append_item as append_item
    from hatch_cuda_kernels.manifest.yaml_text import has_key as has_key

#: A plan needs the model, and not the reader with yaml, which only build environments have.
__getattr__ = lazy(
    __name__,
    {
        "kinds": ("suggest",),
        "model": ("FRONT_ENDS", "Manifest", "Module", "Named", "Pattern", "StatedRule"),
        "project": ("MANIFEST_FILE", "find_manifest", "hook_table"),
        "reader": ("load_manifest", "parse_manifest"),
        "schema": ("manifest_schema",),
        "yaml_text": ("append_item", "has_key"),
    },
)
