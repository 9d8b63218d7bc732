"""What pip calls the parts of a CUDA toolkit, the bindings and this package's extras, and how to install them.

Every piece of advice to install something is made here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.toolchain.origin import direct_reference

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = [
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
]

_OWN: Final = "hatch-cuda-kernels"
#: From CUDA 13 on; before, the names end in the CUDA major.
_DISTRIBUTIONS: Final = {
    "nvrtc": "nvidia-cuda-nvrtc",
    "nvjitlink": "nvidia-nvjitlink",
    "cccl": "nvidia-cuda-cccl",
    "crt": "nvidia-cuda-crt",
    "cudart": "nvidia-cuda-runtime",
    "ptxas": "nvidia-cuda-nvcc",
    "cudadevrt": "nvidia-cuda-runtime",
}
#: In CUDA 12, the compiler's own headers come with nvcc.
_CUDA_12: Final = {"crt": "nvidia-cuda-nvcc"}
_FIRST_PLAIN_MAJOR: Final = 13
#: The minor of the first release of a major that is supported, where that is not 0.
_FIRST_MINOR: Final = {12: ".9"}
_VERSION: Final = re.compile(r"[0-9.]+")


def distribution(part: str, major: int) -> str:
    """Return the name of the distribution with a part of a CUDA major. Raises KeyError for an unknown part."""
    if major >= _FIRST_PLAIN_MAJOR:
        return _DISTRIBUTIONS[part]
    return f"{_CUDA_12.get(part, _DISTRIBUTIONS[part])}-cu{major}"


def pinned(part: str, release: tuple[int, int]) -> str:
    """Return the requirement for a part of exactly this toolkit release."""
    return f"{distribution(part, release[0])}=={release[0]}.{release[1]}.*"


def exactly(part: str, major: int, version: str) -> str:
    """Return the requirement for exactly this version of a part of a CUDA major; for any if the version is empty."""
    return f"{distribution(part, major)}{version and f'=={version}'}"


def at_least(part: str, release: tuple[int, int]) -> str:
    """Return the requirement for a part of this toolkit release or a later one of the same major."""
    major, minor = release
    return f"{distribution(part, major)}>={major}.{minor},<{major + 1}"


def curand(release: tuple[int, int]) -> str:
    """Return the requirement for the cuRAND of a toolkit release; its own version numbers are not the toolkit's."""
    return f"cuda-toolkit[curand]=={release[0]}.{release[1]}.*"


def bindings(major: int) -> str:
    """Return the requirement for the cuda-bindings that load the libraries of a CUDA major."""
    return f"cuda-bindings>={major}{_FIRST_MINOR.get(major, '')},<{major + 1}"


def first_release(major: int = _FIRST_PLAIN_MAJOR) -> tuple[int, int]:
    """Return the oldest release of a CUDA major that is supported: its PTX suits the most drivers."""
    return major, int(_FIRST_MINOR.get(major, ".0").removeprefix("."))


def release_requirements(release: tuple[int, int], *, finishers: Iterable[str] = ()) -> list[str]:
    """Return the requirements for a toolkit release: bindings, headers, NVRTC and what else finishes images."""
    parts = ("crt", "cccl", "nvrtc", "cudart", *sorted(finishers))
    return [bindings(release[0]), *dict.fromkeys(pinned(part, release) for part in parts)]


def toolchain_requirements(
    nvrtc: str, nvjitlink: str = "", headers: str = "", ptxas: str = "", cudadevrt: str = ""
) -> list[str]:
    """Return the requirements for exactly the versions of a toolchain, as far as packages have these versions.

    The arguments are the fields of ``Toolchain``. For an altered file, it is the version that was altered.
    """
    major = int(nvrtc.partition(".")[0])
    versions = {"nvrtc": nvrtc.partition("+")[0], "nvjitlink": nvjitlink.partition("+")[0]}
    versions |= {"ptxas": ptxas.partition("+")[0], "cudadevrt": cudadevrt.partition("+")[0]}
    versions |= {name: version for name, _, version in (part.partition(" ") for part in headers.split(", "))}
    asked = (
        exactly(part, major, version)
        for part, version in versions.items()
        if part in _DISTRIBUTIONS and _VERSION.fullmatch(version)
    )
    return list(dict.fromkeys(asked))


def reinstall_option(versions: Iterable[str]) -> str:
    """Return the option that makes pip replace altered files, if one of these versions is of one.

    Without it, pip goes by the version and finds nothing to do.
    """
    return "--force-reinstall" if any("+" in version for version in versions) else ""


def own(extras: str = "", version: str = "") -> str:
    """Return the requirement for this package, from where it was installed; of an index, perhaps of one version."""
    reference = direct_reference()
    named = f"{_OWN}[{extras}]" if extras else _OWN
    return f"{named} @ {reference}" if reference else f"{named}{version and f'=={version}'}"


def build_extra(major: int) -> str:
    """Return the name of the extra that builds with the bindings of a CUDA major."""
    return "build" if major >= _FIRST_PLAIN_MAJOR else f"build-cu{major}"


def editable_install(folder: Path) -> str:
    """Return the command that installs the project that a folder is in anew, editable and with its kernels."""
    from hatch_cuda_kernels.compiler.toolchain.installer import editable_command  # most processes give no advice

    return editable_command(folder)


def pip_install(*requirements: str, options: str = "", here: bool = True) -> str:
    """Return the command that installs what of these requirements is missing in this environment, with pip's options.

    Not ``here``: the command for any environment.
    """
    from hatch_cuda_kernels.compiler.toolchain.installer import install_command, pip_command  # most give no advice

    return (
        install_command(requirements, whole=own("build"), options=options)
        if here
        else pip_command(requirements, options)
    )
