"""Which headers a build precompiles: of the jobs that begin alike, those for which that pays.

A precompiled header serves the compiles of one process for one architecture with the same flags. To make one takes
longer than to read the headers, to begin with it takes nearly nothing, and what is compiled after it takes longer than
otherwise, because NVRTC takes new memory for each compile.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.compiler import (
    HEAP_BYTES,
    Beginning,
    CompileJob,
    Preamble,
    Toolkit,
    can_precompile,
    compile_flags,
    shared_flags,
)
from hatch_cuda_kernels.compiler.toolchain import load_toolchain
from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.pool.executors import free_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.compiler import Job

#: Measured with NVRTC 13.0: what it reads of CUB in a second, and what it puts before each program.
_SECONDS_PER_CHARACTER: Final = 1.5e-7
_BUILTIN_SECONDS: Final = 0.012
#: A compile that begins with a precompiled header takes so much more for the rest.
_SLOWER: Final = 0.3
#: To make one takes so many times what it takes to read the headers, and a little more.
_MAKING: Final = 1.8
_MAKING_SECONDS: Final = 0.03
#: Fewer compiles are not worth a look.
_FEWEST: Final = 3
#: What a worker takes more, on disk and in memory, with all that it may precompile.
_ROOM: Final = 2 * HEAP_BYTES


class _Lead(NamedTuple):
    """What a program can begin with, and how much of its front end's time that is."""

    beginning: Beginning
    headers: tuple[str, ...]
    seconds: float
    """Of all that the program reads."""

    def read_seconds(self, depth: int) -> float:
        """Return how long NVRTC takes for the first headers."""
        characters = self.beginning.characters(self.headers[:depth]) if depth else 0
        return _BUILTIN_SECONDS + _SECONDS_PER_CHARACTER * characters

    def saved(self, depth: int) -> float:
        """Return what a precompiled header of the first headers saves."""
        read = self.read_seconds(depth)
        return read - _SLOWER * max(0.0, self.seconds - read)


class _Cuts(NamedTuple):
    """How deep each program's precompiled header goes, and what all of them save."""

    saved: float
    depths: tuple[tuple[_Lead, int], ...] = ()
    """Of those that begin with one."""


def choose_preambles(jobs: Sequence[Job], workers: int) -> dict[int, Preamble]:
    """Return what jobs are to begin with, by their ``id``; nothing for those that are better compiled as they are.

    ``workers`` is how many processes will share the work, each of which has to precompile by itself. Loads NVRTC.
    """
    if not can_precompile() or not _has_room(workers):
        return {}
    toolchain = load_toolchain()
    alike: dict[tuple[str, ...], list[CompileJob]] = defaultdict(list)
    for job in jobs:
        if isinstance(job, CompileJob) and job.kinds and not (job.options.extra or job.options.debug):
            alike[shared_flags(compile_flags(job, toolchain))].append(job)
    shares = math.ceil(workers / max(1, len(alike)))
    alike = {flags: found for flags, found in alike.items() if len(found) >= _FEWEST * shares}
    if not alike:
        return {}
    names = {name for found in alike.values() for job in found for name in (*job.program.outside, *_standard(job))}
    leads = _Leads(Toolkit(toolchain.include_dirs, names))
    return {
        job: preamble
        for flags, found in alike.items()
        for job, preamble in leads.preambles(flags, found, shares).items()
    }


def _has_room(workers: int) -> bool:
    """Return whether workers that precompile have the memory, and the room for temporary files."""
    try:
        disk = shutil.disk_usage(tempfile.gettempdir()).free
    except OSError:  # no folder can be written to
        return False
    return min(free_bytes(), disk) > workers * _ROOM


def _standard(job: CompileJob) -> list[str]:
    return [name for name, _ in job.program.headers if not name.startswith(VIRTUAL_ROOT)]


class _Leads:
    """What the programs of a build begin with; the same for every architecture."""

    def __init__(self, toolkit: Toolkit) -> None:
        self._toolkit = toolkit
        self._known: dict[tuple[int, bool], _Lead] = {}
        self._chosen: dict[tuple[int, ...], _Cuts] = {}

    def preambles(self, flags: tuple[str, ...], jobs: Sequence[CompileJob], shares: int) -> dict[int, Preamble]:
        """Return what jobs with the same flags are to begin with, ``shares`` of each kind in as many processes."""
        found = {id(job): self._lead(job) for job in jobs}
        ordered = tuple(sorted({id(lead): lead for lead in found.values()}.values(), key=lambda one: one.headers))
        key = (shares, *map(id, ordered))
        if key not in self._chosen:
            self._chosen[key] = _Chooser(ordered, shares).best()
        depths = {id(lead): depth for lead, depth in self._chosen[key].depths}
        groups: dict[tuple[tuple[str, ...], str], list[tuple[int, _Lead]]] = defaultdict(list)
        for job, lead in found.items():
            if id(lead) in depths:
                headers = lead.headers[: depths[id(lead)]]
                groups[headers, lead.beginning.digest(headers)].append((job, lead))
        return {
            job: preamble
            for (headers, digest), alike in groups.items()
            if (preamble := _preamble(headers, f"{digest} {flags}", [lead for _, lead in alike]))
            for job, _ in alike
        }

    def _lead(self, job: CompileJob) -> _Lead:
        """Return what a job can begin with: nothing but NVRTC's own, where it would show in what is made of it.

        A precompiled header has templates instantiated, whose variables are in PTX. They are left out of the PTX that
        ptxas finishes, but not of LTO-IR, objects and NVRTC's CUBINs.
        """
        moves = job.finisher == "ptxas" and not job.options.lto
        key = id(job.program), moves
        if key not in self._known:
            beginning = Beginning(job.program, job.options, self._toolkit)
            seconds = _BUILTIN_SECONDS + _SECONDS_PER_CHARACTER * beginning.characters(beginning.named)
            self._known[key] = _Lead(beginning, beginning.headers if moves else (), seconds)
        return self._known[key]


class _Chooser:
    """Chooses for programs with the same flags, ordered by their headers, how many of these to precompile."""

    def __init__(self, leads: Sequence[_Lead], shares: int) -> None:
        self._leads = leads
        self._making = shares
        self._known: dict[tuple[int, int, int, int | None], _Cuts] = {}

    def best(self) -> _Cuts:
        """Return the best choice for all."""
        return self._choose(0, len(self._leads), 0, None)

    def _choose(self, begin: int, end: int, depth: int, above: int | None) -> _Cuts:
        """Return the best choice for some, whose first ``depth`` headers are the same.

        They may also begin with ``above`` headers, which are precompiled anyway.
        """
        key = begin, end, depth, above
        if key not in self._known:
            self._known[key] = self._find(*key)
        return self._known[key]

    def _find(self, begin: int, end: int, depth: int, above: int | None) -> _Cuts:
        without = self._total(begin, end, above)
        if end - begin < _FEWEST:
            return without
        first, last = self._leads[begin], self._leads[end - 1]  # those that differ most
        while first.headers[depth : depth + 1] == last.headers[depth : depth + 1] != ():
            depth += 1
        making = self._making * (_MAKING_SECONDS + _MAKING * first.read_seconds(depth))
        here = self._split(begin, end, depth, depth)
        choices = without, self._split(begin, end, depth, above), here._replace(saved=here.saved - making)
        return max(choices, key=lambda choice: choice.saved)

    def _split(self, begin: int, end: int, depth: int, above: int | None) -> _Cuts:
        """Return the best choice for programs that differ after ``depth`` headers."""
        found = []
        for following, part in groupby(range(begin, end), lambda one: self._leads[one].headers[depth : depth + 1]):
            start, *rest = part
            stop = start + len(rest) + 1
            found.append(self._choose(start, stop, depth, above) if following else self._total(start, stop, above))
        return _Cuts(sum(one.saved for one in found), tuple(pair for one in found for pair in one.depths))

    def _total(self, begin: int, end: int, above: int | None) -> _Cuts:
        """Return what programs save that begin with what is precompiled anyway, as far as they do save something."""
        if above is None:
            return _Cuts(0.0)
        saved = [(lead, lead.saved(above)) for lead in self._leads[begin:end]]
        gains = [(lead, gain) for lead, gain in saved if gain > 0]
        return _Cuts(sum(gain for _, gain in gains), tuple((lead, above) for lead, _ in gains))


def _preamble(headers: tuple[str, ...], digest: str, alike: Sequence[_Lead]) -> Preamble | None:
    """Return the preamble of programs, unless they are too few."""
    gain = sum(lead.saved(len(headers)) for lead in alike) / len(alike)
    making = _MAKING_SECONDS + _MAKING * alike[0].read_seconds(len(headers))
    worth = max(_FEWEST, math.ceil(making / gain)) if gain > 0 else len(alike) + 1
    return Preamble(headers, sha256(digest.encode()).hexdigest(), worth) if len(alike) >= worth else None
