"""Names of the types and constants of libraries that are called from the host, and the header that declares each.

These libraries' own headers declare functions without a mark, which NVRTC refuses, and are in no package that a build
needs. Those of this package have the types and constants only.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.lexer import COMMENT
from hatch_cuda_kernels.source.macros import defined_macros
from hatch_cuda_kernels.source.outer_headers import packaged_standard_headers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hatch_cuda_kernels.source.macros import MacroText

__all__ = [
    "copies_of_libraries",
    "enumerators",
    "library_headers",
    "library_macros",
    "library_names",
    "without_libraries",
]

#: Our headers, and how the libraries' headers begin that declare the same, by themselves or by what they include.
_HEADERS: Final[Mapping[str, tuple[str, ...]]] = {
    "hatch_cuda_kernels/c10_macros.h": ("c10/", "torch/"),
    "hatch_cuda_kernels/cublas_lt_types.h": ("cublas", "cusolver"),
    "hatch_cuda_kernels/cublas_types.h": ("cublas", "cusolver"),
    "hatch_cuda_kernels/cudnn_types.h": ("cudnn",),
    "hatch_cuda_kernels/cufft_types.h": ("cufft", "cudalibxt"),
    "hatch_cuda_kernels/curand_types.h": ("curand",),
    "hatch_cuda_kernels/cusolver_types.h": ("cusolver",),
    "hatch_cuda_kernels/cusparse_types.h": ("cusparse", "cusolver"),
    "hatch_cuda_kernels/nccl_types.h": ("nccl",),
    "hatch_cuda_kernels/nvtx_types.h": ("nvToolsExt", "nvtx3/"),
    "hatch_cuda_kernels/torch_loops.h": ("ATen/", "torch/"),
}
#: Those of the libraries' headers that a project may have itself; others of its own may be called alike.
_OWN: Final = frozenset(
    """
    cublas.h cublas_api.h cublas_v2.h cublasLt.h cublasXt.h cudnn.h cudnn_graph.h cudnn_ops.h cufft.h cufftXt.h curand.h
    cusolver_common.h cusolverDn.h cusolverSp.h cusparse.h cusparse_v2.h nccl.h nvToolsExt.h
    """.split()  # noqa: SIM905 - a list would take a line a word
)
#: Those whose macros stand for code.
_MACROS: Final = ("hatch_cuda_kernels/c10_macros.h", "hatch_cuda_kernels/torch_loops.h")
_ENUMERATION: Final = re.compile(r"enum(?<=\benum)\b[^;{}()]*\{([^{}]*)\}")
_ENUMERATOR: Final = re.compile(r"(?:^|,)\s*([A-Za-z_]\w*)")
_COMMENT: Final = re.compile(rf"{COMMENT}|^[ \t]*#.*", re.MULTILINE)
#: As our headers are written: what begins a line, but for a macro, is declared in the global namespace.
_DECLARED: Final = (
    re.compile(r"^(?:typedef .*|\} )\b(\w+)(?:\[\d+\])?;$", re.MULTILINE),
    re.compile(r"^typedef .*\(\*(\w+)\)", re.MULTILINE),
    re.compile(r"^(?:typedef )?(?:enum|struct) (\w+) \{", re.MULTILINE),
    re.compile(r"^#define (?!_HATCH_)(\w+)", re.MULTILINE),
)


@cache
def library_names() -> Mapping[str, str]:
    """Return the names that our headers of host libraries declare or define, each with its header."""
    return {name: header for header in _HEADERS for name in _names(packaged_standard_headers().text(header).text)}


@cache
def library_macros() -> Mapping[str, MacroText]:
    """Return the macros of host libraries that stand for code: marks, loops, assertions."""
    texts = (packaged_standard_headers().text(header).text for header in _MACROS)
    return {macro.name: macro for text in texts for macro in defined_macros(text) if macro.text}


def library_headers() -> frozenset[str]:
    """Return the names of our headers of host libraries."""
    return frozenset(_HEADERS)


def without_libraries(headers: Iterable[str], others: Iterable[str]) -> frozenset[str]:
    """Return our headers among some without those that declare what a library's own, among others, declares."""
    names = [name for other in others for name in (other, other.rpartition("/")[2])]
    return frozenset(header for header in headers if not any(name.startswith(_HEADERS[header]) for name in names))


def copies_of_libraries(paths: Iterable[str]) -> Iterator[str]:
    """Yield the names of the libraries' headers that a project has itself."""
    return (name for path in paths if (name := path.rpartition("/")[2]) in _OWN)


def enumerators(text: str) -> Iterator[str]:
    """Yield the constants that the enumerations of a text have."""
    for found in _ENUMERATION.finditer(text):
        yield from _ENUMERATOR.findall(_COMMENT.sub(" ", found[1]))


def _names(text: str) -> Iterator[str]:
    yield from enumerators(text)
    for pattern in _DECLARED:
        yield from pattern.findall(text)
