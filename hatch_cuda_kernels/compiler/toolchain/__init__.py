"""Which NVRTC, nvJitLink, ptxas and toolkit headers are installed, and a memory of the answer."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.toolchain.headers import PARTS as PARTS
    from hatch_cuda_kernels.compiler.toolchain.headers import find_parts as find_parts
    from hatch_cuda_kernels.compiler.toolchain.headers import include_graph as include_graph
    from hatch_cuda_kernels.compiler.toolchain.headers import part_files as part_files
    from hatch_cuda_kernels.compiler.toolchain.headers import scan_headers as scan_headers
    from hatch_cuda_kernels.compiler.toolchain.key_parts import recall_key_part as recall_key_part
    from hatch_cuda_kernels.compiler.toolchain.libraries import install_compiler as install_compiler
    from hatch_cuda_kernels.compiler.toolchain.libraries import installed_ptxas as installed_ptxas
    from hatch_cuda_kernels.compiler.toolchain.libraries import known_numbers as known_numbers
    from hatch_cuda_kernels.compiler.toolchain.libraries import load_device_runtime as load_device_runtime
    from hatch_cuda_kernels.compiler.toolchain.libraries import load_nvjitlink as load_nvjitlink
    from hatch_cuda_kernels.compiler.toolchain.libraries import nvjitlink_version as nvjitlink_version
    from hatch_cuda_kernels.compiler.toolchain.libraries import require_ptxas as require_ptxas
    from hatch_cuda_kernels.compiler.toolchain.libraries import supported_numbers as supported_numbers
    from hatch_cuda_kernels.compiler.toolchain.packages import at_least as at_least
    from hatch_cuda_kernels.compiler.toolchain.packages import bindings as bindings
    from hatch_cuda_kernels.compiler.toolchain.packages import build_extra as build_extra
    from hatch_cuda_kernels.compiler.toolchain.packages import curand as curand
    from hatch_cuda_kernels.compiler.toolchain.packages import distribution as distribution
    from hatch_cuda_kernels.compiler.toolchain.packages import documentation as documentation
    from hatch_cuda_kernels.compiler.toolchain.packages import editable_install as editable_install
    from hatch_cuda_kernels.compiler.toolchain.packages import exactly as exactly
    from hatch_cuda_kernels.compiler.toolchain.packages import first_release as first_release
    from hatch_cuda_kernels.compiler.toolchain.packages import made_by as made_by
    from hatch_cuda_kernels.compiler.toolchain.packages import made_for_one_run as made_for_one_run
    from hatch_cuda_kernels.compiler.toolchain.packages import own as own
    from hatch_cuda_kernels.compiler.toolchain.packages import pinned as pinned
    from hatch_cuda_kernels.compiler.toolchain.packages import pip_install as pip_install
    from hatch_cuda_kernels.compiler.toolchain.packages import program_command as program_command
    from hatch_cuda_kernels.compiler.toolchain.packages import python_command as python_command
    from hatch_cuda_kernels.compiler.toolchain.packages import reinstall_option as reinstall_option
    from hatch_cuda_kernels.compiler.toolchain.packages import release_requirements as release_requirements
    from hatch_cuda_kernels.compiler.toolchain.packages import toolchain_requirements as toolchain_requirements
    from hatch_cuda_kernels.compiler.toolchain.toolchain import Toolchain as Toolchain
    from hatch_cuda_kernels.compiler.toolchain.toolchain import current_toolchain as current_toolchain
    from hatch_cuda_kernels.compiler.toolchain.toolchain import find_toolchain as find_toolchain
    from hatch_cuda_kernels.compiler.toolchain.toolchain import header_folders as header_folders
    from hatch_cuda_kernels.compiler.toolchain.toolchain import installed_headers as installed_headers
    from hatch_cuda_kernels.compiler.toolchain.toolchain import known_toolchains as known_toolchains
    from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain as load_toolchain
    from hatch_cuda_kernels.compiler.toolchain.toolchain import ptxas_version as ptxas_version
    from hatch_cuda_kernels.compiler.toolchain.toolchain import remember_key_part as remember_key_part
    from hatch_cuda_kernels.compiler.toolchain.toolchain import supports_arch as supports_arch
    from hatch_cuda_kernels.compiler.toolchain.wheels import bindings_major as bindings_major
    from hatch_cuda_kernels.compiler.toolchain.wheels import library_version as library_version
    from hatch_cuda_kernels.compiler.toolchain.wheels import missing_bindings as missing_bindings
    from hatch_cuda_kernels.compiler.toolchain.wheels import record_digest as record_digest

#: A cache hit reads the memory, and looks for nothing.
__getattr__ = lazy(
    __name__,
    {
        "headers": ("PARTS", "find_parts", "include_graph", "part_files", "scan_headers"),
        "key_parts": ("recall_key_part",),
        "libraries": (
            "install_compiler",
            "installed_ptxas",
            "known_numbers",
            "load_device_runtime",
            "load_nvjitlink",
            "nvjitlink_version",
            "require_ptxas",
            "supported_numbers",
        ),
        "packages": (
            "at_least",
            "bindings",
            "build_extra",
            "curand",
            "distribution",
            "documentation",
            "editable_install",
            "exactly",
            "first_release",
            "made_by",
            "made_for_one_run",
            "own",
            "pinned",
            "pip_install",
            "program_command",
            "python_command",
            "reinstall_option",
            "release_requirements",
            "toolchain_requirements",
        ),
        "toolchain": (
            "Toolchain",
            "current_toolchain",
            "find_toolchain",
            "header_folders",
            "installed_headers",
            "known_toolchains",
            "load_toolchain",
            "ptxas_version",
            "remember_key_part",
            "supports_arch",
        ),
        "wheels": ("bindings_major", "library_version", "missing_bindings", "record_digest"),
    },
)
