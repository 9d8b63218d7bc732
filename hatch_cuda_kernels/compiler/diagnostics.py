"""What a failed compile says: each error once, at its place, with the line to add or the change to make.

Messages alone often do not say what to do: NVRTC knows few headers, and nothing of the host.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.attributes import advice_on_ignored
from hatch_cuda_kernels.compiler.binary import Diagnostic, bad_names, demangled, parse_log
from hatch_cuda_kernels.compiler.finish import KEEP_AWAY, advice_on_target, undefined_faults
from hatch_cuda_kernels.compiler.toolchain import curand, known_numbers, parts_of, pinned, pip_install
from hatch_cuda_kernels.cpp import Expander, ExpansionError, MacroToken, SourceFile, lex_with_places, parse_definition
from hatch_cuda_kernels.includes import packaged_standard_headers
from hatch_cuda_kernels.libraries import (
    begins_as,
    header_of,
    headers_in,
    is_host_call,
    package_with,
    standard_headers,
    words_in,
)
from hatch_cuda_kernels.names import VIRTUAL_ROOT, base_name, is_projects

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.job import Program
    from hatch_cuda_kernels.execution_space import SourceChange

#: NVRTC's own files: the name expressions, and the headers that are built in.
_OWN: Final = ("__nv_name_map", "<")
_WIDEST: Final = 160
#: NVRTC's own advice, of options to pass to it; the manifest's come with the fix.
_ADVICE: Final = ". Consider using -"
#: Constants of CUDA's libraries look alike.
_MACRO: Final = re.compile(r"(?!CU[A-Z]*_|NCCL|MPI_)[A-Z][A-Z0-9_]{2,}")
_LACKING: Final = re.compile(
    r'^(?:identifier|(?:namespace|class|struct|class template|overloaded function) "[^"]*" has no member) "(\w+)"'
)
_TESTED: Final = re.compile(r"#\s*(?:el)?if\b.*?\b(?!defined\b)([A-Za-z_]\w*)\s*\(")
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
_USED: Final = "this header, which is not the project's, uses the name {}: give the macro under 'define:' a longer one"
_UNKNOWN_COMPILER: Final = (
    "NVRTC defines no macro of the host's compiler or platform: with 'host_code: drop', conditions hold as for nvcc on "
    "Linux; else add a branch for __CUDACC_RTC__"
)
_LAMBDA: Final = re.compile(r"\]\s*\(?\Z")
_NO_TYPEDEF: Final = "it is long, as with nvcc: leave it to <cstdint>, also for NVRTC"
_LONG_LONG: Final = re.compile(r"\blong long\b|int64_t")
_INT64: Final = "int64_t is long, as with nvcc, and no long long"
#: A parenthesis and a brace, as a macro may stand for them.
_STATEMENTS: Final = re.compile(r"\(+\s*\{")


def source_faults(
    log: str, program: Program, *, release: tuple[int, int], macros: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the errors of a log, whose files are named as the project does, as text of at most four lines each.

    Each line of a source has one error: what follows from it is left out. ``release`` is NVRTC's, and ``macros`` are
    those that options define.
    """
    defined = frozenset(macros)
    firsts: dict[tuple[str, int], Diagnostic] = {}
    for found in parse_log(log):
        if found.severity != "warning" and not found.file.startswith(_OWN):
            firsts.setdefault((found.file, found.line) if found.file else (found.message, 0), found)
    faults = []
    for first in firsts.values():
        message, fix = first.message.partition(_ADVICE)[0], advice(first, program, release=release)
        used = defined.intersection(_WORD.findall(" ".join(first.excerpt)))
        if used and first.file.startswith((_BUILT_IN, "/")) and fix in {"", _OTHER_COMPILER}:
            fix = _USED.format(" and ".join(sorted(used)))
        lines = [f"{first.place}: error: {message}" if first.place else message]
        lines += [f"  | {line[:_WIDEST]}" for line in first.excerpt]
        faults.append("\n".join([*lines, f"  to fix: {fix}"] if fix else lines))
    return tuple(faults)


def name_faults(log: str, names: Sequence[str], program: Program) -> dict[str, str]:
    """Return why NVRTC rejects name expressions, by expression, with the kernel that may have been meant."""
    faults, declared = bad_names(parse_log(log), names), sorted(program.cut.declared.names)
    for name, reason in faults.items():
        wanted = base_name(name).rpartition("::")[2]
        near = [] if wanted in declared else difflib.get_close_matches(wanted, declared, n=1)
        faults[name] = f"{reason}; did you mean {near[0]!r}?" if near else reason
    return faults


def advice(found: Diagnostic, program: Program, *, release: tuple[int, int]) -> str:
    """Return the change that mends an error; empty where the message says all there is. ``release`` is NVRTC's."""
    if found.file.startswith(_BUILT_IN):
        return _OTHER_COMPILER
    if ignored := advice_on_ignored(found.message):
        return ignored
    header = header_advice(found, computed=program.computed, release=release)
    if header is not None:
        return header
    unresolved = re.match("^(?:Unresolved extern|Cannot take address of) function '([^']+)'", found.message)
    cut = _cut(unresolved[1], program.changes) if unresolved else _removed(found, program.changes)
    if cut:
        return cut
    if (lacking := _LACKING.match(found.message)) and _is_texture(lacking[1], found):
        return f"where {lacking[1]} is a texture or surface reference: {_NO_TEXTURE}"
    matches = ((pattern.search(found.message), rule) for pattern, rule in _RULES)
    known = next((rule(match, found) for match, rule in matches if match is not None), "")
    return known or _for_macro(found, program) or advice_on_syntax(found, program)


def _for_macro(found: Diagnostic, program: Program) -> str:
    undefined = re.match(r'identifier "(\w+)" is undefined', found.message)
    marked = _WORD.match(found.excerpt[0], found.column - 1) if found.column and not undefined else None
    name = undefined[1] if undefined else marked[0] if marked and _NO_TYPE.match(found.message) else ""
    if not _MACRO.fullmatch(name):
        return ""
    define = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+{name}\b", re.MULTILINE)
    for file, text in program.headers:
        if is_projects(file) and (at := define.search(text)):
            place = f"{file.removeprefix(VIRTUAL_ROOT)}:{text.count(chr(10), 0, at.start()) + 1}"
            return (
                f"{place} defines the macro {name} where a condition holds that does not here; state it under 'define:'"
            )
    return f"if the project's own build defines it (-D{name}), state it: 'define: {{{name}: ...}}'"


def _cut(symbol: str, changes: Sequence[SourceChange]) -> str:
    called = re.search(r"(?:^|::)(operator\W+?|operator \w[^(]*|~?\w+)(?:<.*>)?\(", demangled(symbol))
    name = called[1] if called else symbol
    cut = (one for one in changes if one.kind in {"body", "mark"} and one.name.rpartition("::")[2] == name)
    if (found := next(cut, None)) is None:
        return ""
    what = f"the body of {found.name} ({found.path}:{found.line}) was cut, because it has no device mark"
    return f"{what}; if device code uses it, mark it __device__ or {_DEFAULT_DEVICE}"


def _removed(found: Diagnostic, changes: Sequence[SourceChange]) -> str:
    removed = {one.name.rpartition("::")[2]: one for one in changes if one.kind == "removed"}
    words = _WORD.findall(f"{found.message} {''.join(found.excerpt[:1])}") if removed else ()
    one = next((removed[word] for word in words if word in removed), None)
    if one is None:
        return ""
    place = f"{one.name} ({one.path}:{one.line})"
    if _is_texture(one.name.rpartition("::")[2], found):
        return f"where {place} is a texture or surface reference: {_NO_TEXTURE}"
    return f"{place} has no device mark, and NVRTC refuses its declaration: keep device code from it, or mend it"


def _is_texture(name: str, found: Diagnostic) -> bool:
    use = rf"\b(?:tex|surf)[1-3C]\w*\s*(?:<[^<>]*>)?\(\s*{re.escape(name)}\b"
    return re.search(use, "".join(found.excerpt[:1])) is not None


def _for_name(name: str) -> str:
    header = header_of(name)
    if header is not None:
        return f"add #include <{header}>"
    if name in words_in("torch", "torch", "roots") or begins_as(name, "torch", "torch", "words"):
        use = "use CUDA's (__half for c10::Half, a pointer for a tensor)"
        return f"PyTorch's C++ types are the host's: {use}, or {KEEP_AWAY}"
    if is_host_call(name):
        return f"{name} is the host's: {KEEP_AWAY}"
    return ""


def _for_line(_: re.Match[str], found: Diagnostic) -> str:
    """Return what is known of the first such name on the line: the message names none, or another."""
    line = found.excerpt[0] if found.excerpt else ""
    if "thrust::system::cuda::experimental" in line:
        return "CUDA 13 removed Thrust's experimental allocators, so that nvcc 13 refuses them, too"
    words = _WORD.findall(line)
    return next(filter(None, map(_for_name, words)), "")


def _for_std(match: re.Match[str], _: Diagnostic) -> str:
    if match[1] in words_in("standard", "sets", "cpp20"):
        return "it is C++20's: write 'std: c++20' in the module's options"
    header = headers_in("standard", "std").get(match[1], "")
    return f"add #include <{header}>" if header else ""


def _for_int64(_: re.Match[str], found: Diagnostic) -> str:
    named = _LONG_LONG.search("".join(found.excerpt))
    return f"{_INT64}: leave out the one that is for long" if named else ""


def _for_overloads(_: re.Match[str], found: Diagnostic) -> str:
    given = found.message.rpartition(": ")[2]
    if re.search(r"\b(?:__half|half|__nv_bfloat16)\b", given):
        several = "CUDA's __half and __nv_bfloat16 convert to several types"
        return f"{several}: convert one of both yourself, as by static_cast<float>"
    return f"{_INT64}: convert one to the type of the other" if _LONG_LONG.search(given) else ""


def _for_condition(_: re.Match[str], found: Diagnostic) -> str:
    called = _TESTED.search(found.excerpt[0]) if found.excerpt else None
    if called is None:
        return ""
    return f"{called[1]} is not a macro here: include the header that defines it, or {KEEP_AWAY}"


def _for_unmarked(_: re.Match[str], found: Diagnostic) -> str:
    """Return what to do about a function, a variable, or a lambda, which can have no mark, that has none."""
    line = found.excerpt[0] if found.excerpt else ""
    if found.column and _LAMBDA.search(line[: found.column]) and re.search(r"\bauto\b", line[found.column - 1 :]):
        return f"NVRTC takes a lambda with auto parameters for the host's: {_DEFAULT_DEVICE}, or give them types"
    return f"mark it __device__ or {_DEFAULT_DEVICE}; if it is the host's, {KEEP_AWAY}"


def _for_error(match: re.Match[str], _: Diagnostic) -> str:
    named = re.search(r"[Cc]\+\+ ?(1[1-9]|2\d)", match[1])
    if named:
        std = "c++17" if int(named[1]) <= 17 else "c++20"
        return f"state the C++ of its build in the module's options, as by 'std: {std}'"
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
        _for_unmarked,
    ),
)


def advice_on_syntax(found: Diagnostic, program: Program) -> str:
    """Return what to do about statements in parentheses, members by name or a ``$``; empty for all else."""
    if not found.column:
        return ""
    before, here = found.excerpt[0][: found.column - 1], found.excerpt[0][found.column - 1 :]
    if here.startswith("$") and found.message in {"expected an identifier", "unrecognized token"}:
        return "NVRTC takes no $ in names, which gcc and nvcc do: give it another name"
    if found.message != "expected an expression":
        return ""
    texts = (program.source, *(text for name, text in program.headers if is_projects(name)))
    files = [SourceFile("", one) for one in texts]
    defined = (parse_definition(one, file) for file in files for one in file.directives if one.word == "define")
    macros = {macro.name: macro for macro in defined if macro is not None}  # the last definition counts
    tokens = [MacroToken(token.text, token.is_spaced) for token in lex_with_places(here)]
    expanded = here
    with suppress(ExpansionError, RecursionError):
        expanded = "".join(f"{' ' * token.is_spaced}{token.text}" for token in Expander(macros.get).expand(tokens))
    if _STATEMENTS.match(expanded) or _STATEMENTS.match(before.rstrip()[-1:] + here[:1]):
        return (
            "NVRTC takes no statements in parentheses, ({ ... }), of GNU C: make a function of them, or give the macro "
            "another text with #ifdef __CUDACC_RTC__"
        )
    # A member's name in front of its value, behind what opens or separates values.
    if member := re.match(r"[\s{]*\.\s*([A-Za-z_]\w*)\s*[={]", expanded):
        named = f"members by their names, {{ .{member[1]} = ... }}, are C++20's to NVRTC"
        return f"{named}: write 'std: c++20' in the module's options"
    return ""


def header_advice(found: Diagnostic, *, computed: Sequence[str], release: tuple[int, int]) -> str | None:
    """Return what to do about a header that NVRTC of this release could not open; None for any other error.

    ``computed`` are the ``path:line`` of the includes whose header a macro names.
    """
    match = re.search(r'(?:cannot|could not) open source file "([^"\n]+)"', found.message)
    if match is None:
        return None
    name = match[1].removeprefix(VIRTUAL_ROOT)
    advice = _advice(name, release, by_macro=f"{found.file}:{found.line}" in computed)
    if not found.file.startswith("/"):
        return advice
    asking = found.file.rpartition("/include/")[2].removeprefix("cccl/")
    return f"{asking}, of the toolkit, asks for it: {advice}"


def _advice(name: str, release: tuple[int, int], *, by_macro: bool) -> str:
    if begins_as(name, "torch", "torch", "headers"):
        return (
            "NVRTC cannot compile PyTorch's headers, which are the host's; 'host_code: drop' cuts their includes, and "
            "declares what kernels use of them, such as c10::Half; or keep the include from it with "
            "#ifndef __CUDACC_RTC__, pass pointers instead of tensors, and use CUDA's types, such as __half for "
            "c10::Half"
        )
    if name in standard_headers():
        if name in packaged_standard_headers():
            return "NVRTC has no host library; without 'standard_headers: false', this package's own is found"
        return "NVRTC has no host library; keep this include from it with #ifndef __CUDACC_RTC__"
    requirements = [pinned(part, release) for part in parts_of(name)]
    if fnmatch(name, "curand*.h"):
        requirements = [curand(release)]
    if requirements:
        return f"{pip_install(*requirements)} brings it"
    if by_macro:
        return "a macro names it; declare a project header under 'headers:', by its path if patterns do not help"
    known = package_with(name)
    item = f"{{package: {known[0]}, folder: {known[1]}}}, of an installed package," if known else "its folder"
    return f"it is not in the project; list {item} under 'include:', copy it there, or write it first if a build does"


def is_for_device(name: str) -> bool:
    """Return whether device code may need a header, installed or not: the toolkit's, a standard one of use, a .cuh."""
    return is_known(name) or name.endswith(".cuh")


def is_known(name: str) -> bool:
    """Return whether a header is the toolkit's, installed or not, or a standard one of this package."""
    return name in packaged_standard_headers() or fnmatch(name, "curand*.h") or bool(parts_of(name))
