"""What to do about an error of NVRTC's, where the message alone does not tell: it knows no host, and few headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.gnu_syntax import advice_on_syntax
from hatch_cuda_kernels.compiler.ignored import advice_on_ignored
from hatch_cuda_kernels.compiler.link_faults import KEEP_AWAY, undefined_faults
from hatch_cuda_kernels.compiler.missing_header import header_advice
from hatch_cuda_kernels.compiler.output import demangled
from hatch_cuda_kernels.compiler.target_faults import advice_on_target
from hatch_cuda_kernels.compiler.toolchain import known_numbers
from hatch_cuda_kernels.libraries import cpp20_names, header_of, is_host_call, is_torch_name, std_names
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatch_cuda_kernels.compiler.output import Diagnostic
    from hatch_cuda_kernels.compiler.program import Program
    from hatch_cuda_kernels.execution_space import SourceChange

__all__ = ["advice"]

#: Constants of CUDA's libraries are spelled so, too.
_MACRO: Final = re.compile(r"(?!CU[A-Z]*_|NCCL|MPI_)[A-Z][A-Z0-9_]{2,}")
_LACKING: Final = re.compile(
    r'^(?:identifier|(?:namespace|class|struct|class template|overloaded function) "[^"]*" has no member) "(\w+)"'
)
_UNRESOLVED: Final = re.compile("^(?:Unresolved extern|Cannot take address of) function '([^']+)'")
_CALLED: Final = re.compile(r"(?:^|::)(operator\W+?|operator \w[^(]*|~?\w+)(?:<.*>)?\(")
_TESTED: Final = re.compile(r"#\s*(?:el)?if\b.*?\b(?!defined\b)([A-Za-z_]\w*)\s*\(")
_UNDEFINED: Final = re.compile(r'identifier "(\w+)" is undefined')
_NO_TYPE: Final = re.compile(r"this declaration has no storage class|expected a declaration")
_PLATFORM: Final = re.compile(
    r"compiler|platform|architecture|processor|operating system|target|endian|tested", re.IGNORECASE
)
_WORD: Final = re.compile(r"[A-Za-z_]\w*")

_NO_TEXTURE: Final = (
    "CUDA 12 removed texture and surface references, so that nvcc refuses them, too; give the kernel a "
    "cudaTextureObject_t, and fetch from that, as with tex2D<float>(object, x, y) or tex1Dfetch<float>(object, i)"
)
_NO_REGISTER: Final = (
    "C++17 has no register, and nvcc ignores it: add 'define: {register: \"\"}' to the module's options"
)
_NO_BASE: Final = 'CUDA 13 removed it from Thrust, so that nvcc 13 refuses it, too; leave it out, or state cuda: "12.9"'
_DEFAULT_DEVICE: Final = "set 'default_device: true' in the module's options"
#: NVRTC's own headers, which are compiled before all else.
_BUILT_IN: Final = "__nv_nvrtc_builtin"
_OTHER_COMPILER: Final = (
    "a macro of another compiler's, such as __GNUC__, leads NVRTC's own headers astray: take it out of 'define:'; "
    "conditions hold as for nvcc, whose host compiler is gcc, unless 'host_code: keep' is set"
)
_UNKNOWN_COMPILER: Final = (
    "NVRTC defines no macro of the host's compiler or platform: with 'host_code: drop', conditions hold as for nvcc on "
    "Linux; else add a branch for __CUDACC_RTC__"
)
_NO_PINNED: Final = "CUDA 13 removed Thrust's experimental allocators, so that nvcc 13 refuses them, too"
_HALF: Final = (
    "CUDA's __half and __nv_bfloat16 convert to several types: convert one of both yourself, as by static_cast<float>"
)
#: Up to the parameters.
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_LAMBDA: Final = re.compile(r"\]\s*\(?\Z")
_NO_TYPEDEF: Final = "it is long, as with nvcc: leave it to <cstdint>, also for NVRTC"
_INT64: Final = "int64_t is long, as with nvcc, and no long long"


def advice(found: Diagnostic, program: Program, *, release: tuple[int, int]) -> str:
    """Return what to do about an error, as a change to make; empty where its message says all there is.

    ``release`` is NVRTC's.
    """
    if found.file.startswith(_BUILT_IN):
        return _OTHER_COMPILER
    if ignored := advice_on_ignored(found.message):
        return ignored
    header = header_advice(found, computed=program.computed, release=release)
    if header is not None:
        return header
    unresolved = _UNRESOLVED.match(found.message)
    cut = _cut(_name_of(unresolved[1]), program.changes) if unresolved else _removed(found, program.changes)
    if cut:
        return cut
    matches = ((pattern.search(found.message), rule) for pattern, rule in _RULES)
    if (lacking := _LACKING.match(found.message)) and _is_texture(lacking[1], found):
        return f"where {lacking[1]} is a texture or surface reference: {_NO_TEXTURE}"
    known = next((rule(match, found) for match, rule in matches if match is not None), "")
    return known or _for_macro(found, program) or advice_on_syntax(found, program)


def _for_macro(found: Diagnostic, program: Program) -> str:
    """Return where a word that is not known here is defined as a macro; empty if it is not, or is no such word."""
    undefined = _UNDEFINED.match(found.message)
    marked = _WORD.match(found.excerpt[0], found.column - 1) if found.column and not undefined else None
    name = undefined[1] if undefined else marked[0] if marked and _NO_TYPE.match(found.message) else ""
    if not _MACRO.fullmatch(name):
        return ""
    define = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+{name}\b", re.MULTILINE)
    texts = ((file.removeprefix(VIRTUAL_ROOT), text) for file, text in program.headers if file.startswith(VIRTUAL_ROOT))
    places = ((file, define.search(text), text) for file, text in texts)
    place = next((f"{file}:{text.count(chr(10), 0, at.start()) + 1}" for file, at, text in places if at), "")
    if not place:
        return f"if the project's own build defines it (-D{name}), state it: 'define: {{{name}: ...}}'"
    return f"{place} defines the macro {name} where a condition holds that does not here; state it under 'define:'"


def _name_of(symbol: str) -> str:
    """Return the name of a function, without what it is in, by its symbol."""
    called = _CALLED.search(demangled(symbol))
    return called[1] if called else symbol


def _cut(name: str, changes: Sequence[SourceChange]) -> str:
    """Return where a function's body was cut, and what to do if device code needs it; empty if it was not."""
    found = next(
        (one for one in changes if one.name.rpartition("::")[2] == name and one.kind in {"body", "mark"}), None
    )
    if found is None:
        return ""
    what = f"the body of {found.name} ({found.path}:{found.line}) was cut, because it has no device mark"
    return f"{what}; if device code uses it, mark it __device__ or {_DEFAULT_DEVICE}"


def _removed(found: Diagnostic, changes: Sequence[SourceChange]) -> str:
    """Return where that is declared which a line uses and NVRTC could not read; empty if there is no such thing."""
    removed = {one.name.rpartition("::")[2]: one for one in changes if one.kind == "removed"}
    words = _NAME.findall(f"{found.message} {''.join(found.excerpt[:1])}") if removed else ()
    one = next((removed[word] for word in words if word in removed), None)
    if one is None:
        return ""
    place = f"{one.name} ({one.path}:{one.line})"
    if _is_texture(one.name.rpartition("::")[2], found):
        return f"where {place} is a texture or surface reference: {_NO_TEXTURE}"
    return f"{place} has no device mark, and NVRTC refuses its declaration: keep device code from it, or mend it"


def _is_texture(name: str, found: Diagnostic) -> bool:
    """Return whether a name is used as a texture or a surface on an error's line."""
    use = rf"\b(?:tex|surf)[1-3C]\w*\s*(?:<[^<>]*>)?\(\s*{re.escape(name)}\b"
    return re.search(use, "".join(found.excerpt[:1])) is not None


def _for_name(name: str) -> str:
    """Return what brings a name, or keeps its use from NVRTC; empty if neither is known."""
    header = header_of(name)
    if header is not None:
        return f"add #include <{header}>"
    if is_torch_name(name):
        use = "use CUDA's (__half for c10::Half, a pointer for a tensor)"
        return f"PyTorch's C++ types are the host's: {use}, or {KEEP_AWAY}"
    if is_host_call(name):
        return f"{name} is the host's: {KEEP_AWAY}"
    return ""


def _for_line(_: re.Match[str], found: Diagnostic) -> str:
    """Return what is known of the first such name on the line: the message names none, or another."""
    line = found.excerpt[0] if found.excerpt else ""
    if "thrust::system::cuda::experimental" in line:
        return _NO_PINNED
    words = _WORD.findall(line)
    return next(filter(None, map(_for_name, words)), "")


def _for_std(match: re.Match[str], _: Diagnostic) -> str:
    header = std_names().get(match[1], "")
    known = f"add #include <{header}>" if header else ""
    return "it is C++20's: write 'std: c++20' in the module's options" if match[1] in cpp20_names() else known


def _for_int64(_: re.Match[str], found: Diagnostic) -> str:
    if not re.search(r"\blong long\b|int64_t", "".join(found.excerpt)):
        return ""
    return f"{_INT64}: leave out the one that is for long"


def _for_overloads(_: re.Match[str], found: Diagnostic) -> str:
    given = found.message.rpartition(": ")[2]
    if re.search(r"\b(?:__half|half|__nv_bfloat16)\b", given):
        return _HALF
    return f"{_INT64}: convert one to the type of the other" if re.search(r"\blong long\b|int64_t", given) else ""


def _for_condition(_: re.Match[str], found: Diagnostic) -> str:
    """Return what to do about an ``#if`` that calls a macro that is not there."""
    called = _TESTED.search(found.excerpt[0]) if found.excerpt else None
    if called is None:
        return ""
    return f"{called[1]} is no macro here: include the header that defines it, or {KEEP_AWAY}"


def _for_unmarked(found: Diagnostic) -> str:
    """Return what to do about what has no mark: a function, a variable, or a lambda, which can have none."""
    line = found.excerpt[0] if found.excerpt else ""
    if found.column and _LAMBDA.search(line[: found.column]) and re.search(r"\bauto\b", line[found.column - 1 :]):
        return f"NVRTC takes a lambda with auto parameters for the host's: {_DEFAULT_DEVICE}, or give them types"
    return f"mark it __device__ or {_DEFAULT_DEVICE}; if it is the host's, {KEEP_AWAY}"


def _for_error(match: re.Match[str], _: Diagnostic) -> str:
    """Return what to do about an ``#error`` that speaks of the compiler, or of its C++."""
    if re.search(r"[Cc]\+\+ ?(?:1[1-9]|2\d)", match[1]):
        return "state the C++ of its build in the module's options, as by 'std: c++20'"
    return _UNKNOWN_COMPILER if _PLATFORM.search(match[1]) else ""


_RULES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Diagnostic], str]], ...]] = (
    (re.compile(r'^identifier "(\w+)" is undefined'), lambda match, _: _for_name(match[1])),
    (re.compile(r'^namespace "std" has no member "(\w+)"'), _for_std),
    (re.compile(r"^#error directive: (.*)"), _for_error),
    (re.compile(r"^invalid (?:or no )?value .*--(?:gpu-architecture|nv_arch)\b"), lambda *_: known_numbers()),
    (re.compile(r"^function call is not allowed in a constant expression"), _for_condition),
    (
        re.compile(r'^no instance of overloaded function "std::complex<.*matches the specified type'),
        lambda *_: f"std::complex has no specialisations here, of which this would be a member: {KEEP_AWAY}",
    ),
    (re.compile(r"^more than one (?:instance|operator)"), _for_overloads),
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
    (re.compile(r'^invalid redeclaration of type name "u?int(?:64|max|ptr|_fast\d+)_t"'), lambda *_: _NO_TYPEDEF),
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
    (re.compile(r"^(?:Instruction|Feature) '"), lambda _, found: advice_on_target(found.message)),
    (
        re.compile(r"^A (?:function|namespace scope variable) without (?:execution|memory) space annotations"),
        lambda _, found: _for_unmarked(found),
    ),
)
