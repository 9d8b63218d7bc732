"""Which NVRTC, nvJitLink, ptxas and toolkit headers are installed, and a memory of the answer."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.toolchain.assembler import installed_ptxas as installed_ptxas
    from hatch_cuda_kernels.compiler.toolchain.assembler import require_ptxas as require_ptxas
    from hatch_cuda_kernels.compiler.toolchain.contents import record_digest as record_digest
    from hatch_cuda_kernels.compiler.toolchain.device_runtime import load_device_runtime as load_device_runtime
    from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain as Toolchain
    from hatch_cuda_kernels.compiler.toolchain.installed import find_toolchain as find_toolchain
    from hatch_cuda_kernels.compiler.toolchain.installed import header_folders as header_folders
    from hatch_cuda_kernels.compiler.toolchain.installed import load_toolchain as load_toolchain
    from hatch_cuda_kernels.compiler.toolchain.installed import ptxas_version as ptxas_version
    from hatch_cuda_kernels.compiler.toolchain.installed import supports_arch as supports_arch
    from hatch_cuda_kernels.compiler.toolchain.installer import made_by as made_by
    from hatch_cuda_kernels.compiler.toolchain.installer import made_for_one_run as made_for_one_run
    from hatch_cuda_kernels.compiler.toolchain.installer import program_command as program_command
    from hatch_cuda_kernels.compiler.toolchain.installer import python_command as python_command
    from hatch_cuda_kernels.compiler.toolchain.key_parts import recall_key_part as recall_key_part
    from hatch_cuda_kernels.compiler.toolchain.libraries import install_compiler as install_compiler
    from hatch_cuda_kernels.compiler.toolchain.libraries import known_numbers as known_numbers
    from hatch_cuda_kernels.compiler.toolchain.libraries import load_nvjitlink as load_nvjitlink
    from hatch_cuda_kernels.compiler.toolchain.libraries import nvjitlink_version as nvjitlink_version
    from hatch_cuda_kernels.compiler.toolchain.libraries import supported_numbers as supported_numbers
    from hatch_cuda_kernels.compiler.toolchain.origin import documentation as documentation
    from hatch_cuda_kernels.compiler.toolchain.packages import at_least as at_least
    from hatch_cuda_kernels.compiler.toolchain.packages import bindings as bindings
    from hatch_cuda_kernels.compiler.toolchain.packages import build_extra as build_extra
    from hatch_cuda_kernels.compiler.toolchain.packages import curand as curand
    from hatch_cuda_kernels.compiler.toolchain.packages import distribution as distribution
    from hatch_cuda_kernels.compiler.toolchain.packages import editable_install as editable_install
    from hatch_cuda_kernels.compiler.toolchain.packages import exactly as exactly
    from hatch_cuda_kernels.compiler.toolchain.packages import first_release as first_release
    from hatch_cuda_kernels.compiler.toolchain.packages import own as own
    from hatch_cuda_kernels.compiler.toolchain.packages import pinned as pinned
    from hatch_cuda_kernels.compiler.toolchain.packages import pip_install as pip_install
    from hatch_cuda_kernels.compiler.toolchain.packages import reinstall_option as reinstall_option
    from hatch_cuda_kernels.compiler.toolchain.packages import release_requirements as release_requirements
    from hatch_cuda_kernels.compiler.toolchain.packages import toolchain_requirements as toolchain_requirements
    from hatch_cuda_kernels.compiler.toolchain.parts import PARTS as PARTS
    from hatch_cuda_kernels.compiler.toolchain.parts import find_parts as find_parts
    from hatch_cuda_kernels.compiler.toolchain.parts import part_files as part_files
    from hatch_cuda_kernels.compiler.toolchain.remembered import current_toolchain as current_toolchain
    from hatch_cuda_kernels.compiler.toolchain.remembered import installed_headers as installed_headers
    from hatch_cuda_kernels.compiler.toolchain.remembered import known_toolchains as known_toolchains
    from hatch_cuda_kernels.compiler.toolchain.remembered import remember_key_part as remember_key_part
    from hatch_cuda_kernels.compiler.toolchain.toolkit_headers import include_graph as include_graph
    from hatch_cuda_kernels.compiler.toolchain.toolkit_headers import scan_headers as scan_headers
    from hatch_cuda_kernels.compiler.toolchain.wheels import bindings_major as bindings_major
    from hatch_cuda_kernels.compiler.toolchain.wheels import library_version as library_version
    from hatch_cuda_kernels.compiler.toolchain.wheels import missing_bindings as missing_bindings

#: A cache hit reads the memory, and looks for nothing.
__getattr__ = lazy(
    __name__,
    {
        "assembler": ("installed_ptxas", "require_ptxas"),
        "contents": ("record_digest",),
        "device_runtime": ("load_device_runtime",),
        "installed": (
            "Toolchain",
            "find_toolchain",
            "header_folders",
            "load_toolchain",
            "ptxas_version",
            "supports_arch",
        ),
        "installer": ("made_by", "made_for_one_run", "program_command", "python_command"),
        "key_parts": ("recall_key_part",),
        "libraries": ("install_compiler", "known_numbers", "load_nvjitlink", "nvjitlink_version", "supported_numbers"),
        "origin": ("documentation",),
        "packages": (
            "at_least",
            "bindings",
            "build_extra",
            "curand",
            "distribution",
            "editable_install",
            "exactly",
            "first_release",
            "own",
            "pinned",
            "pip_install",
            "reinstall_option",
            "release_requirements",
            "toolchain_requirements",
        ),
        "parts": ("PARTS", "find_parts", "part_files"),
        "remembered": ("current_toolchain", "installed_headers", "known_toolchains", "remember_key_part"),
        "toolkit_headers": ("include_graph", "scan_headers"),
        "wheels": ("bindings_major", "library_version", "missing_bindings"),
    },
)
