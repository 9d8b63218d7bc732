"""Compile a job with NVRTC: the hook, the CLI, workers and the run-time JIT all do it here."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from hatch_cuda_kernels.child_process import ChildDiedError, call_in_child, is_child
from hatch_cuda_kernels.compiler import binary  # what reads images, and is imported while NVRTC makes one
from hatch_cuda_kernels.compiler.attributes import judged_log, shown_log, telling_flags, telling_text
from hatch_cuda_kernels.compiler.job import Compiled, CompileJob, FinishInput, FinishJob
from hatch_cuda_kernels.compiler.nvrtc_calls import (
    Given,
    Made,
    NvrtcError,
    call_at_root,
    compile_program,
    is_tainted,
    lowered_name,
    open_program,
    output,
    shows_place,
)
from hatch_cuda_kernels.compiler.toolchain import Toolchain, load_toolchain, require_ptxas
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.execution_space import UNMARKED
from hatch_cuda_kernels.forks import spawn_if_forked
from hatch_cuda_kernels.image import Kind, Symbol
from hatch_cuda_kernels.names import VIRTUAL_ROOT, base_name, found_names, plain_name
from hatch_cuda_kernels.options import macro_name, nvrtc_flags
from hatch_cuda_kernels.signature import sizes_agree
from hatch_cuda_kernels.threads import Ahead, interruptible

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.binary import Ptx
    from hatch_cuda_kernels.compiler.job import Job


T = TypeVar("T")
_UNREAD: Final = "a source cannot be read, so that it is not known what of it is for the host"
_MEND: Final = "to fix: mend it: of a source that cannot be read, no host code is cut"
_KEEP: Final = "to fix: write it in another way, or set 'host_code: keep' where nothing of it is"
_ARGUMENTS: Final = re.compile(r"<[^<>]*>")
_EXTERNAL: Final = "a __managed__ variable in a namespace is found if it is not static, and its namespaces have names"
#: What the standard headers put before the names of functions that NVRTC has otherwise than nvcc.
_PREFIX: Final = "__hatch_"
#: No source has this name.
_SPACE: Final = "hatch_cuda_kernels_asks"


@spawn_if_forked
def run_job(job: Job) -> Compiled:
    """Compile or finish one job, and return its images with what they hold.

    Raises CompileError when a compiler refuses the source or a name, or a promised symbol is not in the image, and
    ToolchainError when a compiler is missing.
    """
    options = job.fronts[0].options if isinstance(job, FinishJob) else job.options
    # Some of these flags change the compiler for the rest of a process (see ``nvrtc_calls``).
    return _in_child(_compile_here, job, job) if options.extra else _compile_here(job)


def _in_child(function: Callable[[Any], T], argument: object, job: Job) -> T:
    try:
        return call_in_child(function, argument)
    except (ChildDiedError, OSError) as error:
        message = f"the process that compiled this was not started or died (killed, out of memory, or crashed) {error}"
        raise CompileError(job.module, str(job.arch), message.rstrip()) from error


def _compile_here(job: Job) -> Compiled:
    if isinstance(job, FinishJob):
        if not job.inputs:
            compiled = map(_compile_here, job.fronts)
            job = job.starting_from([FinishInput.of(made.images[job.input_kind], made) for made in compiled])
        from hatch_cuda_kernels.compiler.finish import finish  # most compiles end with NVRTC

        return finish(job)
    start = time.perf_counter()
    toolchain = load_toolchain()
    task = job, compile_flags(job, toolchain)

    def outcome(made: Made) -> Compiled:
        return Compiled(
            images={kind: made.images[kind] for kind in job.kinds},
            kernels=made.kernels,
            globals=tuple(Symbol(name, made.lowered[f"&{name}"]) for name in job.globals),
            resources=binary.read_cubin(made.images["cubin"]).resources if job.assembled else {},
            ptx_isa=made.ptx_isa,
            toolchain=job.toolchain(toolchain),
            log=_readable(made.log, job),
            seconds=time.perf_counter() - start,
        )

    tainted = Ahead(is_tainted)
    found = outcome(_make_placed(task, None if is_child() else tainted.begin))
    # An earlier compile may show in the outcome.
    return outcome(_in_child(_make_placed, task, job)) if tainted.get() else found


def _make_placed(task: tuple[CompileJob, tuple[str, ...]], then: Callable[[], None] | None = None) -> Made:
    """Compile in the right place. ``then`` is called when NVRTC has nothing more to do, if that is known so early."""
    _, flags = task
    if shows_place(flags):
        return call_at_root(_make, task, flags)
    return interruptible(partial(_make, task, then), meanwhile=_import_readers)


def _import_readers() -> None:
    _ = binary.read_ptx, binary.read_cubin, binary.demangled


def _make(task: tuple[CompileJob, tuple[str, ...]], then: Callable[[], None] | None = None) -> Made:
    job, flags = task
    questions = Questions.of(job) if job.kinds else NO_QUESTIONS
    if is_child():
        from hatch_cuda_kernels.compiler.precompiled import try_preamble  # of builds

        made = try_preamble(job.program, flags, lambda start: _answer(job, start, questions, then))
        if made is not None:
            return made
    try:
        return _answer(job, Given(flags), questions, then)
    except CompileError as error:
        if not questions.by_name or _SPACE not in error.log:
            raise
        return _answer(job, Given(flags), NO_QUESTIONS, then)  # a build does not fail for what is only asked


def _answer(job: CompileJob, start: Given, questions: Questions, then: Callable[[], None] | None) -> Made:
    expressions = (*job.expressions, *questions.expressions)
    source = telling_text(f"{start.text}{job.program.source}{questions.text}")
    headers = [(name, telling_text(text)) for name, text in (*job.program.headers, *start.headers)]
    try:
        with open_program(source, job.program.name, headers, expressions) as program:
            taken, said = compile_program(program, start.flags)
            judged = judged_log(said, job.program, (name for name, _ in job.options.define))
            if not taken or judged != said:
                raise _refused(job, _readable(judged, job), start.flags)
            if unread := job.program.cut.unread:
                raise CompileError(job.module, str(job.arch), _UNREAD, faults=(f"{unread}\n  {_KEEP}",))
            if then is not None and not job.program.cut.variables:  # of which one more compile may be asked
                then()
            log = shown_log(said, job.options.extra)
            lowered = {name: lowered_name(program, name) for name in expressions} | job.managed
            if not job.kinds:
                return Made({}, (), lowered, (0, 0), log)
            images, ptx, log = _images(job, program, lowered, log)
        if job.program.cut.variables and "ptx" in images:  # an object's are undefined symbols, which no link takes

            def relocatable() -> str:  # shows every variable that is not defined
                with open_program(source, job.program.name, headers, job.expressions) as program:
                    taken, _ = compile_program(program, (*start.flags, "-dc"))
                    return output(program, "PTX").rstrip(b"\0").decode() if taken else ""

            _check_use(job, images["ptx"].decode(), relocatable)
    except NvrtcError as error:
        raise CompileError(job.module, str(job.arch), str(error)) from error
    # A status of success does not prove that what was asked for is there; a unit's variables may be another unit's.
    absent = [name for name in job.names if lowered[name] not in ptx.entries]
    absent += [f"&{name}" for name in job.globals if not job.is_unit and lowered[f"&{name}"] not in ptx.variables]
    if absent:
        message = f"not in the image: {', '.join(absent)}"
        message += f"; {_EXTERNAL}" if not job.managed.keys().isdisjoint(absent) else ""
        raise CompileError(job.module, str(job.arch), message, bad_names=absent)
    return Made(images, found_kernels(job, ptx, lowered, questions.answers(lowered)), lowered, ptx.isa, log)


def _check_use(job: CompileJob, ptx: str, relocatable: Callable[[], str]) -> None:
    """Raise CompileError for code that uses a variable of the host, which NVRTC would take for a zeroed one.

    Its symbol is looked for; of a constant without its value no symbol is left, but in relocatable code.
    """
    cut = job.program.cut
    used = {*map(_without_arguments, binary.used_variables(ptx))}.intersection(cut.variables)
    if cut.loses_constants and not used:
        used = {*map(_without_arguments, binary.linkage_of_ptx(relocatable()).undefined)}.intersection(cut.variables)
    if not used:
        return
    kinds = {"value", "definition", "variable", "removed"}
    changes = (change for change in job.program.changes if change.kind in kinds)
    places = {change.name.rpartition("::")[2]: f"{change.path}:{change.line}" for change in changes}
    faults = []
    for name in sorted(used):
        place = places.get(name.rpartition("::")[2], "")
        what = f"{place}: error: {name} {UNMARKED}" if place else f"{name} is the host's"
        faults.append(f"{what}\n  to fix: mark it __device__ or __constant__, or constexpr if its value never changes")
    raise CompileError(job.module, str(job.arch), "device code uses variables of the host", faults=faults)


def _without_arguments(symbol: str) -> str:
    """Return a symbol's qualified name without template arguments."""
    name = binary.demangled(symbol)
    while _ARGUMENTS.search(name):
        name = _ARGUMENTS.sub("", name)
    return name.replace(" ", "")


def compile_flags(job: CompileJob, toolchain: Toolchain) -> tuple[str, ...]:
    """Return every flag NVRTC gets for this job, in order."""
    only_ptx = job.finisher == "ptxas" or not (job.assembled or job.is_unit)
    flags = [f"-arch={job.arch.as_virtual if only_ptx else job.arch}", *telling_flags(nvrtc_flags(job.options))]
    flags += [] if job.kinds else ["--fdevice-syntax-only"]
    if job.program.cut.default_device and not job.options.default_device:
        flags.append("-default-device")
    flags += ["--diag-suppress=20044"] if job.program.cut.variables else []  # each of them, used or not
    flags += ["--device-int128"] if job.program.has_int128 else []  # twice is no error
    flags += ["-dc"] if "object" in job.kinds else []  # LTO-IR is such code by itself
    # Without a seed, the process id enters symbol names as soon as CUB is in (internal-linkage objects).
    flags.append(f"--frandom-seed={job.program.sha256[:16]}")
    # NVRTC would raise the stack limit of the whole process during a compile, and children would inherit it.
    flags += ["--modify-stack-limit=false", "-no-cache"]
    flags += [f"--pre-include={name}" for name in job.program.pre_include]
    if job.uses_toolkit_headers:
        flags += [f"-I{os.path.abspath(folder)}" for folder in toolchain.include_dirs]  # noqa: PTH100 - links stay
    return tuple(flags)


def _refused(job: CompileJob, log: str, flags: tuple[str, ...]) -> CompileError:
    from hatch_cuda_kernels.compiler.diagnostics import name_faults, source_faults  # only for the error

    faults = source_faults(
        log, job.program, release=load_toolchain().release, macros=(macro_name(name) for name, _ in job.options.define)
    )
    bad = {} if faults else name_faults(log, job.expressions, job.program)
    message = "NVRTC cannot resolve a name" if bad else "NVRTC refused the source"
    unread = (f"{job.program.cut.unread}\n  {_MEND}",) if job.program.cut.unread else ()
    return CompileError(
        job.module,
        str(job.arch),
        message,
        log=log,
        flags=tuple(flag for flag in flags if not flag.startswith("-I")),
        bad_names=tuple(bad),
        faults=(*unread, *bad.values(), *faults),
    )


def _images(
    job: CompileJob,
    program: Any,  # an opaque handle
    lowered: dict[str, str],
    log: str,
) -> tuple[dict[Kind, bytes], Ptx, str]:
    keep = [lowered[f"&{name}"] for name in job.globals]
    if job.options.lto:
        from hatch_cuda_kernels.compiler.finish import finish_lto  # as above

        ltoir = output(program, "LTOIR")
        return finish_lto(job, ltoir, keep, log)
    ptx = output(program, "PTX").rstrip(b"\0").decode()
    if "object" in job.kinds:
        return {"object": binary.without_times(output(program, "CUBIN"))}, binary.read_ptx(ptx), log
    is_read = "ptx" in job.kinds or job.finisher == "ptxas" or job.program.cut.variables
    if is_read and not job.options.debug:  # which describes every variable
        ptx = binary.drop_unused(ptx, keep)
    if job.assembled and job.finisher == "ptxas":
        from hatch_cuda_kernels.compiler.finish import assemble  # as above

        ptxas = require_ptxas(load_toolchain().nvrtc).path
        made = assemble(ptxas, ptx, arch=job.arch, options=job.options, name=job.module)
        cubin, log = made.image, f"{log}\n{made.log}"
    else:
        cubin = binary.without_times(output(program, "CUBIN"))
    return {"ptx": ptx.encode(), "cubin": cubin}, binary.read_ptx(ptx), log


def _readable(log: str, job: CompileJob) -> str:
    log = log.replace(job.program.name, job.source_path).replace(VIRTUAL_ROOT, "").strip()
    if _PREFIX not in log:
        return log
    from hatch_cuda_kernels.libraries import renamed_functions  # few messages name one

    return re.sub(rf"\b{_PREFIX}(?=(?:{'|'.join(sorted(renamed_functions()))})\b)", "", log)


class Questions(NamedTuple):
    """What the compiler is asked besides what it shall compile."""

    text: str = ""
    """Follows the source."""
    by_name: dict[str, str] = {}  # noqa: RUF012 - never changed
    """The name expression that asks for a kernel's type, by that kernel's own."""

    @classmethod
    def of(cls, job: CompileJob) -> Questions:
        """Return the questions about each kernel that is named, or that the text declares extern "C".

        A missing kernel is found as an enumerator: a using directive only counts where nothing else has the name.
        """
        candidates = [name for name in job.program.cut.declared.c_kernels if name not in job.names]
        asked = {name: name for name in job.names} | {name: f"::{name}" for name in candidates}
        if not asked:
            return NO_QUESTIONS
        by_name = {name: f"{_SPACE}::type<decltype(+({expression}))>" for name, expression in asked.items()}
        kernels = ", ".join(dict.fromkeys(name.rpartition("::")[2] for name in candidates))
        texts = [f"namespace {_SPACE} {{ template <class T> __global__ void type(); enum none {{ {kernels} }}; }}"]
        for space in dict.fromkeys(name.rpartition("::")[0] for name in candidates):
            use = f"using namespace ::{_SPACE};"
            texts.append(f"namespace {space} {{ {use} }}" if space else use)
        return cls(f"\n\n{' '.join(texts)}\n", by_name)

    @property
    def expressions(self) -> tuple[str, ...]:
        """Every name expression that asks."""
        return tuple(dict.fromkeys(self.by_name.values()))

    def answers(self, lowered: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Return the types of the parameters of each kernel that was there, by its name expression."""
        found = {name: binary.argument_parameters(lowered[question]) for name, question in self.by_name.items()}
        return {name: types for name, types in found.items() if types is not None}


NO_QUESTIONS: Final = Questions()


def found_kernels(
    job: CompileJob, ptx: Ptx, lowered: Mapping[str, str], answers: Mapping[str, tuple[str, ...]]
) -> tuple[Symbol, ...]:
    """Return the named kernels as written, then every other entry point under its own name."""
    named = [(name, lowered[name]) for name in job.names]
    taken = {symbol for _, symbol in named}
    others = found_names(symbol for symbol in ptx.entries if symbol not in taken)
    declared = job.program.cut.declared
    plain = {name.rpartition("::")[2]: types for name, types in answers.items()}
    kernels = []
    for name, symbol in (*named, *((name, symbol) for symbol, name in others.items())):
        params = ptx.entries[symbol]
        types = answers.get(name) or binary.function_parameters(symbol) or plain.get(symbol) or ()
        called = declared.parameters(base_name(plain_name(name) or name), len(params))
        names = tuple(parameter.name for parameter in called)
        kernels.append(
            Symbol(name, symbol, params, types if sizes_agree(params, types) else (), names if any(names) else ())
        )
    return tuple(kernels)
