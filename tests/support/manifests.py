"""A small project for tests of the manifest, and the short way to what the reader says about one."""

from __future__ import annotations

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.errors import ManifestError
from hatch_cuda_kernels.manifest import parse_manifest

#: A manifest with one module and a gap for more keys at line 2.
MINIMAL = "schema: 1\n%s\nmodules: {a: {source: kernels/saxpy.cu}}\n"


def make_project(folder):
    """Write two sources and a few headers, and return the folder."""
    for name in ("kernels/saxpy.cu", "kernels/reduce.cu", "include/a.h", "include/tables/one.inc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def problems_of(text, root, **more):
    """Return every problem of a manifest, none for a valid one."""
    try:
        parse_manifest(text, root=root, **more)
    except ManifestError as error:
        return list(error.problems)
    return []


def located(lines):
    """Return messages with the file's name before them."""
    return [f"kernels.yaml:{line}" for line in lines]


def archs(*names):
    """Return architectures by name."""
    return tuple(SmArch.parse(name) for name in names)


def arches_of(text, root, **more):
    """Return the architectures of the first module of a manifest, as text."""
    return " ".join(str(arch) for arch in parse_manifest(text, root=root, **more).modules[0].arches)
