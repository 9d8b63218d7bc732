"""Libraries of device code that are linked to a module: files of the project, and CUDA's device runtime."""

from __future__ import annotations

import posixpath
from typing import Final, Literal, NamedTuple

from hatch_cuda_kernels.integrity import sha256

LibraryKind = Literal["archive", "cubin", "fatbin", "ltoir", "object file", "ptx"]

#: CUDA's device runtime: kernels that launch kernels call it. It is the toolkit's; all other libraries are files.
DEVICE_RUNTIME: Final = "cudadevrt"
#: What a library holds, by the suffix of its file.
LIBRARY_KINDS: Final[dict[str, LibraryKind]] = {
    ".a": "archive",
    ".cubin": "cubin",
    ".fatbin": "fatbin",
    ".ltoir": "ltoir",
    ".o": "object file",
    ".ptx": "ptx",
}


class DeviceLibrary(NamedTuple):
    """One library."""

    name: str
    """As the manifest lists it: ``cudadevrt``, or a path in the project."""
    data: bytes
    version: str = ""
    """The toolkit's, of its device runtime."""

    @property
    def kind(self) -> LibraryKind:
        """What nvJitLink takes it for."""
        return library_kind(self.name)

    @property
    def sha256(self) -> str:
        """Digest of its bytes."""
        return sha256(self.data).hexdigest()


def library_kind(name: str) -> LibraryKind:
    """Return what a library is by its name. Raises KeyError for a suffix that is not known."""
    return "archive" if name == DEVICE_RUNTIME else LIBRARY_KINDS[posixpath.splitext(name)[1]]
