"""``kernels.yaml`` read into a frozen value, its JSON Schema, and edits of its text."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.manifest.keys import *
    from hatch_cuda_kernels.manifest.model import *
    from hatch_cuda_kernels.manifest.project import *
    from hatch_cuda_kernels.manifest.reader import *
    from hatch_cuda_kernels.manifest.yaml_text import *

#: A plan needs the model, and not the reader with yaml, which only build environments have.
__getattr__ = lazy(
    __name__,
    {
        "keys": "manifest_schema",
        "model": "FRONT_ENDS Manifest Module Named Pattern StatedRule",
        "project": "find_manifest hook_table list_files MANIFEST_FILE project_settings",
        "reader": "load_manifest parse_manifest",
        "yaml_text": "append_item flow has_key module_names stated_options",
    },
)
