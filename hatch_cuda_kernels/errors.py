"""Every error that the package raises, problems as text, and warnings.

Each error has its data as attributes, says what to do next, and can be pickled.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.records import NamedTuple

if TYPE_CHECKING:
    from hatch_cuda_kernels.image import Candidate


class HatchCudaKernelsError(Exception):
    """Base of all errors of this package.

    Subclasses hand every constructor argument to ``Exception.__init__`` so that the default pickling works: compile
    errors travel from worker processes.
    """


class InputError(HatchCudaKernelsError, ValueError):
    """What the user wrote cannot be used; the command line exits with status 2."""


class _ProblemsError(HatchCudaKernelsError):
    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(tuple(problems))
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(self.problems)


class ManifestError(_ProblemsError, InputError):
    """The manifest has problems; ``problems`` lists all of them as ``file:line:column: path: message`` strings."""


class ToolchainError(HatchCudaKernelsError):
    """NVRTC, nvJitLink or the toolkit headers are missing, too old, or not the release that was asked for.

    ``fix`` is the command or change that mends it.
    """

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message, fix)
        self.message, self.fix = message, fix

    def __str__(self) -> str:
        return f"{self.message}\n  to fix: {self.fix}" if self.fix else self.message


class CompileError(HatchCudaKernelsError):
    """NVRTC, nvJitLink or ptxas refused a module.

    ``faults`` are the errors as text, each with its place, its line of the source and what to do; of rejected name
    expressions (``bad_names``), the reason for each. ``log`` is the whole log, ``flags`` the options of the compile.
    """

    def __init__(
        self,
        module: str,
        arch: str,
        message: str,
        *,
        log: str = "",
        flags: Sequence[str] = (),
        bad_names: Sequence[str] = (),
        faults: Sequence[str] = (),
    ) -> None:
        super().__init__(module, arch, message)
        self.module, self.arch, self.message, self.log = module, arch, message, log
        self.flags, self.bad_names = tuple(flags), tuple(bad_names)
        self.faults: tuple[str, ...] = ()
        if faults:
            from hatch_cuda_kernels.names import spelled_without_archs  # most processes see no such error

            self.faults = tuple(map(spelled_without_archs, faults))

    def __str__(self) -> str:
        return f"module {self.module!r} for {self.arch}: {error_details(self)}"


#: How much of a log is shown.
_MOST_FAULTS: Final = 3
_MOST_NAMES: Final = 8
_MOST_LINES: Final = 12


def error_details(error: CompileError, whole: str = "the error's 'log'") -> str:
    """Return what is wrong in at most 20 lines. If there is more, ``whole`` says where the whole log is."""
    if error.bad_names and error.faults:
        lines = [f"{name!r}: {fault}" for name, fault in zip(error.bad_names, error.faults, strict=False)]
        most, what = _MOST_NAMES, "name"
    elif error.faults:
        lines, most, what = [*error.faults], _MOST_FAULTS, "error"
    else:
        lines, most, what = [f"  | {line}" for line in error.log.splitlines()], _MOST_LINES, "line"
    left = len(lines) - most
    parts = [error.message, *lines[:most]]
    parts += [f"and {left} more {what}{'s' if left > 1 else ''}: see {whole}"] if left > 0 else []
    parts += [f"options: {' '.join(error.flags)}"] if error.flags else []
    return "\n".join(parts)


class BuildError(_ProblemsError):
    """A build failed; ``problems`` holds every failure of the run, not only the first."""


class StoreError(HatchCudaKernelsError):
    """A store is missing, unreadable, damaged, or written by a newer version. ``path`` is where it was looked for."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(path, message)
        self.path, self.message = path, message

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class KernelNotFoundError(HatchCudaKernelsError, LookupError):
    """No module of the store has the kernel (or ``what`` else was asked for); ``near`` are names that look alike."""

    def __init__(self, name: str, store: str, near: Sequence[str] = (), hint: str = "", what: str = "kernel") -> None:
        super().__init__(name, store, tuple(near), hint, what)
        self.name, self.store, self.near, self.hint, self.what = name, store, tuple(near), hint, what

    def __str__(self) -> str:
        guess = f"; did you mean {' or '.join(repr(name) for name in self.near)}?" if self.near else ""
        hint = f": {self.hint}" if self.hint else ""
        return f"no {self.what} {self.name!r} in {self.store}{guess}{hint}"


class ImageRefusedError(HatchCudaKernelsError):
    """The driver cannot use an image; ``whole_rung`` says that it would refuse every image of that kind."""

    def __init__(self, reason: str, whole_rung: bool) -> None:
        super().__init__(reason, whole_rung)
        self.reason, self.whole_rung = reason, whole_rung

    def __str__(self) -> str:
        return self.reason


class NoImageError(HatchCudaKernelsError):
    """No rung of the ladder gave an image. ``candidates`` names each one considered, with its reason."""

    def __init__(self, kernel: str, arch: str, candidates: Sequence[Candidate], fixes: Sequence[str] = ()) -> None:
        super().__init__(kernel, arch, tuple(candidates), tuple(fixes))
        self.kernel, self.arch, self.candidates, self.fixes = kernel, arch, tuple(candidates), tuple(fixes)

    def __str__(self) -> str:
        lines = [f"no image of kernel {self.kernel!r} runs on {self.arch}. Considered:"]
        lines += [f"  {candidate}" for candidate in self.candidates]
        lines += [f"  to fix: {fix}" for fix in self.fixes]
        return "\n".join(lines)


class DriverError(HatchCudaKernelsError):
    """A CUDA driver call failed. ``code`` is the ``CUresult`` number, ``name`` its spelling, ``call`` the function.

    ``facts`` says what explains it, as far as that is known: values with their limits, or the cause.
    """

    def __init__(self, call: str, code: int, name: str, facts: str = "") -> None:
        super().__init__(call, code, name, facts)
        self.call, self.code, self.name, self.facts = call, code, name, facts

    def __str__(self) -> str:
        if self.code < 0:  # there is no driver to give a number
            return f"{self.name}; {self.facts}" if self.facts else self.name
        return f"{self.call} failed with {self.name} ({self.code}){f': {self.facts}' if self.facts else ''}"


class LaunchError(HatchCudaKernelsError):
    """A launch was refused before it reached the driver: bad grid, block, shared memory or stream."""


class ReentryError(LaunchError):
    """A kernel was requested while it was loading: by a logging handler or a finaliser that ran meanwhile."""


class ArgumentError(LaunchError, TypeError):
    """An argument of a launch does not fit the recorded signature; the message names kernel, position and type."""


class StaleKernelError(LaunchError):
    """What was made for one context was used in another: a kernel of compiled text, or a bound launch."""


def reason_of(error: HatchCudaKernelsError) -> str:
    """Return what is wrong, without a compiler's log and without the fix."""
    return error.message if isinstance(error, CompileError | ToolchainError) else str(error)


def suggest(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return " (did you mean 'x'?)" for the closest known word, ``otherwise`` if none is close."""
    from difflib import get_close_matches  # only for messages

    near = get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else otherwise


def is_absent(error: Exception) -> bool:
    """Return whether a library was not loaded because it is missing; then a traceback of the loaders does not help."""
    return isinstance(error, ImportError) or "NotFound" in type(error).__name__


#: The work in progress. A thread that another one waits for runs in a copy of that one's context.
_UNDER_WAY: Final[ContextVar[frozenset[Hashable]]] = ContextVar("hatch_cuda_kernels_under_way", default=frozenset())


@contextmanager
def refuse_reentry(work: Hashable, what: str) -> Iterator[None]:
    """Do ``work`` in the body. Raises ReentryError if the caller is part of the same work: it would wait for itself."""
    under_way = _UNDER_WAY.get()
    if work in under_way:
        message = "requested while it was loading; do not use it in a logging handler or a finaliser that may run then"
        raise ReentryError(f"{what} was {message}")
    token = _UNDER_WAY.set(under_way | {work})
    try:
        yield
    finally:
        _UNDER_WAY.reset(token)


class Problem(NamedTuple):
    """What is wrong, how to fix it, and where it is; as text, ``where: message; fix``."""

    message: str
    fix: str = ""
    """Empty when the message already says what to do."""
    where: str = ""
    """A place in the manifest, or a module, several, or an image of a store (``saxpy/saxpy.sm_90.cubin``); empty for
    no place."""

    def place(self) -> tuple[int, ...]:
        """Return the line and column in the manifest, to sort by; those without come first."""
        return tuple(int(part) for part in self.where.split(":", 3)[1:3] if part.isdigit())

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.message}; {self.fix}" if self.fix else f"{place}{self.message}"


_PACKAGE: Final = os.path.dirname(__file__)  # noqa: PTH120 - a hit need not import pathlib
#: Calls back into this package: ``functools``, ``contextlib``, ``threading``.
_STANDARD: Final = os.path.dirname(warnings.__file__)  # noqa: PTH120 - as above


def warn_user(message: str) -> None:
    """Warn at the innermost caller outside this package. Python shows an equal warning of one line once.

    The message may hold text from elsewhere, so invisible characters are escaped.
    """
    from hatch_cuda_kernels.terminal import printable  # most processes warn of nothing

    level = 1
    frame = sys._getframe()  # noqa: SLF001 - what warnings itself uses; skip_file_prefixes needs Python 3.12
    while (file := frame.f_code.co_filename).startswith((_PACKAGE, _STANDARD)) and frame.f_back is not None:
        if "-packages" in file and not file.startswith(_PACKAGE):
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(printable(message, lines=True), RuntimeWarning, stacklevel=level)
