"""Which NVRTC, nvJitLink, ptxas and toolkit headers are installed, and a memory of the answer."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.toolchain.headers import *
    from hatch_cuda_kernels.compiler.toolchain.key_parts import *
    from hatch_cuda_kernels.compiler.toolchain.libraries import *
    from hatch_cuda_kernels.compiler.toolchain.packages import *
    from hatch_cuda_kernels.compiler.toolchain.toolchain import *

#: A cache hit reads the memory, and looks for nothing.
__getattr__ = lazy(
    __name__,
    {
        "headers": "find_parts include_graph part_files PARTS parts_of scan_headers",
        "key_parts": "recall_key_part",
        "libraries": (
            "ask_ahead bindings_major hash_ahead install_compiler installed_ptxas known_numbers library_version "
            "load_device_runtime load_nvjitlink missing_bindings nvjitlink_version record_digest require_ptxas "
            "supported_numbers"
        ),
        "packages": (
            "at_least bindings build_extra conda_install curand distribution documentation editable_install exactly "
            "first_release installed_versions made_by made_for_one_run own package_records PackageRecord pinned "
            "pip_install program_command python_command quoted reinstall_option release_requirements "
            "toolchain_requirements"
        ),
        "toolchain": (
            "current_toolchain disagreement find_toolchain header_folders installed_headers "
            "known_toolchains load_toolchain loaded_files "
            "ptxas_version remember_key_part supports_arch Toolchain"
        ),
    },
)
