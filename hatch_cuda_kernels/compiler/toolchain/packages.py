"""Names, pins and the pip command of what can be installed: parts of a CUDA toolkit, bindings, this package's extras.

Whatever tells a user to install something takes it from here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "at_least",
    "bindings",
    "build_extra",
    "curand",
    "distribution",
    "exactly",
    "exactly_all",
    "extra",
    "pinned",
    "pip_install",
    "reinstall_option",
    "release_requirements",
]

_OWN: Final = "hatch-cuda-kernels"
#: From CUDA 13 on; before, the names end in the CUDA major.
_DISTRIBUTIONS: Final = {
    "nvrtc": "nvidia-cuda-nvrtc",
    "nvjitlink": "nvidia-nvjitlink",
    "cccl": "nvidia-cuda-cccl",
    "crt": "nvidia-cuda-crt",
    "cudart": "nvidia-cuda-runtime",
}
#: In CUDA 12, the compiler's own headers come with nvcc.
_CUDA_12: Final = {"crt": "nvidia-cuda-nvcc"}
_FIRST_PLAIN_MAJOR: Final = 13
#: The minor of the first release of a major that is supported, where that is not 0.
_FIRST_MINOR: Final = {12: ".9"}
_VERSION: Final = re.compile(r"[0-9.]+")
#: What no shell takes for anything but itself.
_SHELL_SAFE: Final = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


def distribution(part: str, major: int) -> str:
    """Return the distribution that brings a part of a CUDA major. Raises KeyError for a part that has none."""
    if major >= _FIRST_PLAIN_MAJOR:
        return _DISTRIBUTIONS[part]
    return f"{_CUDA_12.get(part, _DISTRIBUTIONS[part])}-cu{major}"


def pinned(part: str, release: tuple[int, int]) -> str:
    """Return the requirement that brings a part of this toolkit release and no other."""
    return f"{distribution(part, release[0])}=={release[0]}.{release[1]}.*"


def exactly(part: str, major: int, version: str) -> str:
    """Return the requirement that brings one version of a part of a CUDA major; any, where the version is empty."""
    return f"{distribution(part, major)}{version and f'=={version}'}"


def at_least(part: str, release: tuple[int, int]) -> str:
    """Return the requirement that brings a part of this toolkit release, or of a later one of its major."""
    major, minor = release
    return f"{distribution(part, major)}>={major}.{minor},<{major + 1}"


def curand(release: tuple[int, int]) -> str:
    """Return the requirement for cuRAND of a toolkit release, whose own version does not follow the toolkit's."""
    return f"cuda-toolkit[curand]=={release[0]}.{release[1]}.*"


def bindings(major: int) -> str:
    """Return the requirement for the cuda-bindings that load the libraries of a CUDA major."""
    return f"cuda-bindings>={major}{_FIRST_MINOR.get(major, '')},<{major + 1}"


def release_requirements(release: tuple[int, int], *, nvjitlink: bool) -> list[str]:
    """Return the requirements that bring a toolkit release: bindings, headers, NVRTC and, when asked for, nvJitLink."""
    parts = ["crt", "cccl", "nvrtc", "cudart", *(["nvjitlink"] if nvjitlink else [])]
    return [bindings(release[0]), *(pinned(part, release) for part in parts)]


def exactly_all(nvrtc: str, nvjitlink: str = "", headers: str = "") -> list[str]:
    """Return the requirements that bring the very versions of a toolchain, as far as they are versions of packages.

    The arguments are as ``Toolchain`` has them; no package brings what was altered after it was installed.
    """
    major = int(nvrtc.partition(".")[0])
    versions = {"nvrtc": nvrtc.partition("+")[0], "nvjitlink": nvjitlink.partition("+")[0]}
    versions |= {name: version for name, _, version in (part.partition(" ") for part in headers.split(", "))}
    return [
        exactly(part, major, version)
        for part, version in versions.items()
        if part in _DISTRIBUTIONS and _VERSION.fullmatch(version)
    ]


def reinstall_option(versions: Iterable[str]) -> str:
    """Return pip's option for replacing what was altered: by its version, pip takes that for installed."""
    return "--force-reinstall" if any("+" in version for version in versions) else ""


def extra(name: str, version: str = "") -> str:
    """Return the requirement for this package with one of its extras; with a version, for exactly that one."""
    return f"{_OWN}[{name}]{version and f'=={version}'}"


def build_extra(major: int) -> str:
    """Return the name of the extra that builds with the bindings of a CUDA major."""
    return "build" if major >= _FIRST_PLAIN_MAJOR else f"build-cu{major}"


def pip_install(*requirements: str, options: str = "") -> str:
    """Return the command that installs these; what a shell would not take as it is stands in quotes."""
    quoted = (text if _SHELL_SAFE.fullmatch(text) else f'"{text}"' for text in requirements)
    return " ".join(["python3 -m pip install", *([options] if options else []), *quoted])
