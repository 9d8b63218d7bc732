"""The kernels that one compile gave, with their parameters as the compiler knows them.

A lowered name tells the types of a function's parameters, unless it has C linkage, or is a template whose types depend
on its arguments. Those are asked for together with the compile: a name expression over a function template that is
declared and never defined, of a kernel's type, has that type in its lowered name. NVRTC makes nothing else of it: every
image is, byte for byte, what it is without the question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.compiler.output import argument_parameters, function_parameters
from hatch_cuda_kernels.image import Symbol
from hatch_cuda_kernels.names import base_name, found_names, plain_name
from hatch_cuda_kernels.signature import sizes_agree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatch_cuda_kernels.compiler.job import CompileJob
    from hatch_cuda_kernels.compiler.output import Ptx

__all__ = ["NO_QUESTIONS", "Questions", "found_kernels"]

#: No source has this name.
_SPACE: Final = "hatch_cuda_kernels_asks"


class Questions(NamedTuple):
    """What the compiler is asked besides what it shall compile."""

    text: str = ""
    """Follows the source."""
    by_name: dict[str, str] = {}  # noqa: RUF012 - never changed
    """The name expression that asks for a kernel's type, by that kernel's own."""

    @classmethod
    def of(cls, job: CompileJob) -> Questions:
        """Return the questions of a job: every kernel that is named, and those that its text declares extern "C".

        A kernel that is not there after all is found as an enumerator, for a using directive is looked at only where
        nothing else has the name.
        """
        candidates = [name for name in job.program.declared.c_kernels if name not in job.names]
        asked = {name: name for name in job.names} | {name: f"::{name}" for name in candidates}
        if not asked:
            return NO_QUESTIONS
        by_name = {name: f"{_SPACE}::type<decltype(+({expression}))>" for name, expression in asked.items()}
        return cls(f"\n\n{_declared(candidates)}\n", by_name)

    @property
    def expressions(self) -> tuple[str, ...]:
        """Every name expression that asks."""
        return tuple(dict.fromkeys(self.by_name.values()))

    def are_blamed(self, log: str) -> bool:
        """Return whether a failed compile's log says anything of the questions."""
        return bool(self.by_name) and _SPACE in log

    def answers(self, lowered: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Return the types of the parameters of each kernel that was there, by its name expression."""
        found = {name: argument_parameters(lowered[question]) for name, question in self.by_name.items()}
        return {name: types for name, types in found.items() if types is not None}


NO_QUESTIONS: Final = Questions()


def _declared(candidates: Sequence[str]) -> str:
    """Return what the questions take to be declared, on one line."""
    kernels = dict.fromkeys(name.rpartition("::")[2] for name in candidates)
    spaces = dict.fromkeys(name.rpartition("::")[0] for name in candidates)
    use = f"using namespace ::{_SPACE};"
    own = f"template <class T> __global__ void type(); enum none {{ {', '.join(kernels)} }};"
    uses = (f"namespace {space} {{ {use} }}" if space else use for space in spaces)
    return " ".join([f"namespace {_SPACE} {{ {own} }}", *uses])


def found_kernels(
    job: CompileJob, ptx: Ptx, lowered: Mapping[str, str], answers: Mapping[str, tuple[str, ...]]
) -> tuple[Symbol, ...]:
    """Return the named kernels as written, then every other entry point under its own name."""
    named = [(name, lowered[name]) for name in job.names]
    taken = {symbol for _, symbol in named}
    others = found_names(symbol for symbol in ptx.entries if symbol not in taken)
    declared = job.program.declared
    plain = {name.rpartition("::")[2]: types for name, types in answers.items()}
    kernels = []
    for name, symbol in (*named, *((name, symbol) for symbol, name in others.items())):
        params = ptx.entries[symbol]
        told = answers.get(name) or function_parameters(symbol) or plain.get(symbol) or ()
        called = declared.parameters(base_name(plain_name(name) or name), len(params))
        names = tuple(parameter.name for parameter in called)
        kernels.append(
            Symbol(name, symbol, params, told if sizes_agree(params, told) else (), names if any(names) else ())
        )
    return tuple(kernels)
