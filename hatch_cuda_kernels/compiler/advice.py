"""What to do about an error of NVRTC's, where the message alone does not tell: it knows no host, and few headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.link_faults import undefined_faults
from hatch_cuda_kernels.compiler.missing_header import missing_header
from hatch_cuda_kernels.compiler.output.demangle import demangled
from hatch_cuda_kernels.source.header_names import GLOBAL_NAMES, STD_NAMES, TOOLKIT_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatch_cuda_kernels.compiler.output.log import Diagnostic
    from hatch_cuda_kernels.source.dropped import Dropped

__all__ = ["advice"]

_HOST_CALL: Final = re.compile(r"(?:cu(?:da|blas|fft|rand|sparse|solver|dnn)?|nccl)[A-Z]\w*")
_TORCH: Final = re.compile(r"at|c10|torch|AT_\w+|C10_\w+|TORCH_\w+|TensorAccessor|PackedTensorAccessor\w*")
#: Constants of CUDA's libraries are spelled so, too.
_MACRO: Final = re.compile(r"(?!CU[A-Z]*_|NCCL|MPI_)[A-Z][A-Z0-9_]{2,}")
_LACKING: Final = re.compile(
    r'^(?:identifier|(?:namespace|class|struct|class template|overloaded function) "[^"]*" has no member) "(\w+)"'
)
_UNDEFINED: Final = re.compile("^Unresolved extern function '([^']+)'")
_CALLED: Final = re.compile(r"(?:^|::)(operator\W+?|operator \w[^(]*|~?\w+)(?:<.*>)?\(")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")

#: How device code is kept from code of the host's.
_KEEP_AWAY: Final = "keep it from NVRTC with #ifndef __CUDACC_RTC__, or by 'host_code: drop' in the manifest"
_NO_TEXTURE: Final = (
    "CUDA 12 removed texture and surface references, so that nvcc refuses them, too; give the kernel a "
    "cudaTextureObject_t, and fetch with tex1Dfetch<float>(object, i)"
)
_NO_REGISTER: Final = (
    "C++17 has no register, and nvcc ignores it: add 'define: {register: \"\"}' to the module's options"
)
_NO_BASE: Final = 'CUDA 13 removed it from Thrust, so that nvcc 13 refuses it, too; leave it out, or state cuda: "12.9"'
_DEFAULT_DEVICE: Final = "set 'default_device: true' in the module's options"


def advice(found: Diagnostic, *, computed: Sequence[str], dropped: Sequence[Dropped], release: tuple[int, int]) -> str:
    """Return what to do about an error, as a change to make; empty where its message says all there is.

    ``computed`` are the ``path:line`` of the includes whose header a macro names; ``dropped`` is what was left out as
    host code; ``release`` is NVRTC's.
    """
    header = missing_header(found, computed=computed, release=release)
    if header is not None:
        return header
    lacking, undefined = _LACKING.match(found.message), _UNDEFINED.match(found.message)
    name = lacking[1] if lacking else _name_of(undefined[1]) if undefined else ""
    if name and (gone := _dropped(name, dropped, is_declared=lacking is None)):
        return gone
    matches = ((pattern.search(found.message), rule) for pattern, rule in _RULES)
    return next((rule(match, found) for match, rule in matches if match is not None), "")


def _name_of(symbol: str) -> str:
    """Return the name of a function, without what it is in, by its symbol."""
    called = _CALLED.search(demangled(symbol))
    return called[1] if called else ""


def _dropped(name: str, dropped: Sequence[Dropped], *, is_declared: bool) -> str:
    """Return where a name was left out as host code, and what to do if device code needs it; empty if it was not.

    Of what is still declared, only the body was.
    """
    kinds = {"body", "mark"} if is_declared else {"function", "variable", "texture"}
    found = next((one for one in dropped if one.name.rpartition("::")[2] == name and one.kind in kinds), None)
    if found is None:
        return ""
    if found.kind == "texture":
        return f"{found.name} ({found.path}:{found.line}) cannot be used: {_NO_TEXTURE}"
    mark = "__device__ or __constant__" if found.kind == "variable" else "__device__"
    what = f"{found.name} ({found.path}:{found.line}) was left out as host code, because it has no device mark"
    return f"{what}; if device code uses it, mark it {mark} or {_DEFAULT_DEVICE}"


def _for_name(name: str) -> str:
    """Return what brings a name, or keeps its use from NVRTC; empty if neither is known."""
    header = GLOBAL_NAMES.get(name) or TOOLKIT_NAMES.get(name)
    if header is not None:
        return f"add #include <{header}>"
    if _TORCH.fullmatch(name):
        use = "use CUDA's (__half for c10::Half, a pointer for a tensor)"
        return f"PyTorch's C++ types are the host's: {use}, or {_KEEP_AWAY}"
    if _HOST_CALL.fullmatch(name):
        return f"{name} is the host's: {_KEEP_AWAY}"
    return ""


def _for_undefined(match: re.Match[str], _: Diagnostic) -> str:
    known = _for_name(match[1])
    if known or not _MACRO.fullmatch(match[1]):
        return known
    stated = f"'define: {{{match[1]}: ...}}' in the module's options"
    return f"if the project's own build defines it (-D{match[1]}), state it: {stated}"


def _for_line(_: re.Match[str], found: Diagnostic) -> str:
    """Return what is known of the first such name on the line: the message names none, or another."""
    words = _WORD.findall(found.excerpt[0] if found.excerpt else "")
    return next(filter(None, map(_for_name, words)), "")


def _for_std(match: re.Match[str], _: Diagnostic) -> str:
    header = STD_NAMES.get(match[1])
    return f"add #include <{header}>" if header else ""


def _for_int64(_: re.Match[str], found: Diagnostic) -> str:
    if not re.search(r"\blong long\b|int64_t", "".join(found.excerpt)):
        return ""
    return "NVRTC's int64_t is long long, unlike nvcc's: keep one of both from it with #ifndef __CUDACC_RTC__"


_RULES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Diagnostic], str]], ...]] = (
    (re.compile(r'^identifier "(\w+)" is undefined'), _for_undefined),
    (re.compile(r'^namespace "std" has no member "(\w+)"'), _for_std),
    (re.compile(r"^(?:texture|surface) is not a template"), lambda *_: _NO_TEXTURE),
    (re.compile(r'^use of the "register" storage class specifier'), lambda *_: _NO_REGISTER),
    (
        re.compile(r'^namespace "[\w:]*thrust" has no (?:\w+ )*member (?:\w+ )*"(?:unary|binary)_function"'),
        lambda *_: _NO_BASE,
    ),
    (
        re.compile(
            r'^(?:name followed by "::" must be a class|name must be a namespace name'
            r'|attribute "__\w+__" does not apply|incomplete type "void" is not allowed'
            r"|this declaration has no storage class)"
        ),
        _for_line,
    ),
    (re.compile(r'^\w[\w ]* ".*" (?:has already been defined|cannot be overloaded)'), _for_int64),
    (
        re.compile(r"^calling a __host__ .*from a __(?:global|device)__ function"),
        lambda *_: f"mark the function __device__, or {_DEFAULT_DEVICE}",
    ),
    (
        re.compile(r"^device-side kernel launch"),
        lambda *_: "add #include <cuda_device_runtime_api.h>, and link 'libraries: [cudadevrt]'",
    ),
    (
        re.compile(r"^Unresolved extern (?:function|variable) '([^']+)'"),
        lambda match, _: "; ".join(undefined_faults(match[0])),
    ),
    (
        re.compile(r"^A (?:function|namespace scope variable) without (?:execution|memory) space annotations"),
        lambda *_: f"mark it __device__ or {_DEFAULT_DEVICE}; if it is the host's, {_KEEP_AWAY}",
    ),
)
