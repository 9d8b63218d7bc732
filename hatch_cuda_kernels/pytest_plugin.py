"""A plugin for pytest: ``--no-jit`` fails tests during which kernels are compiled, ``--kernel-trace`` records requests.

What is compiled is read from the trace, which all processes of a run write: workers of pytest-xdist, forks, and what
tests start. Unless one of the options is given, nothing else of the package is imported.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from typing import Any

    from hatch_cuda_kernels.runtime.ladder import TracedRequest

_MARKER = "allow_jit: kernels may be compiled during this test, though --no-jit is given"
_TITLE = "kernels compiled at run time"
#: Of every trace.
_BEGIN = b'{"schema": '


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options."""
    # Of a distribution with a plugin, pytest imports every module with its asserts rewritten, and there are none here.
    getattr(pluginmanager.rewrite_hook, "_must_rewrite", set()).discard(__package__)
    group = parser.getgroup("hatch-cuda-kernels", "kernels of hatch-cuda-kernels")
    words = "fail tests during which a kernel is compiled, or found in the disk cache where it was recorded"
    group.addoption("--no-jit", action="store_true", help=words)
    words = "record every request for a kernel in FILE, for hatch-cuda-kernels verify --requests"
    group.addoption("--kernel-trace", metavar="FILE", help=words)


@pytest.hookimpl(tryfirst=True)  # a conftest.py may request kernels while it is imported
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin to record."""
    _watch(early_config, early_config.known_args_namespace)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; begin to record where no hook was called before, as for a plugin that a conftest names."""
    config.addinivalue_line("markers", _MARKER)
    _watch(config, config.option)


def _watch(config: pytest.Config, options: Any) -> None:
    wanted = getattr(options, "no_jit", False) or getattr(options, "kernel_trace", None)
    if wanted and not config.pluginmanager.has_plugin(KernelWatch.__name__):
        config.pluginmanager.register(KernelWatch(config, options), KernelWatch.__name__)


class KernelWatch:
    """The requests of one run, or of one worker of it."""

    def __init__(self, config: pytest.Config, options: Any) -> None:
        from hatch_cuda_kernels.environment import ALWAYS_TRACED, TRACE

        self._config = config
        self._forbids = bool(options.no_jit)
        self._stated = os.environ.get(TRACE)
        self._process = os.getpid()
        self._temporary = False
        self.path = self._open(options.kernel_trace)
        self._worker = os.environ.get("PYTEST_XDIST_WORKER", "")
        self._file = self.path.stat()
        self._next = self._file.st_size
        self._held: list[tuple[int, TracedRequest]] = []
        """Compiles that no report has told of so far."""
        self._told: set[int] = set()
        """Places in the trace of compiles that were told of, or are allowed."""
        self._trouble: dict[str, None] = {}
        self._left: list[TracedRequest] = []
        self._summary = ""
        os.environ[TRACE] = str(self.path)
        ALWAYS_TRACED.append(str(self.path))

    def _open(self, asked: str | None) -> Path:
        """Return the trace's path; the file is there, and empty unless others record in it."""
        path = Path(asked or self._stated or "").absolute()
        if not asked and not self._stated:
            from tempfile import mkdtemp

            self._temporary = True
            path = Path(mkdtemp(prefix="hatch-cuda-kernels-"), "trace.jsonl")
        if path.exists() and not path.is_file():
            raise pytest.UsageError(f"{path} is no file to record requests for kernels in; give --kernel-trace FILE")
        try:
            with path.open("a+b") as file:
                file.seek(0)
                if file.read(len(_BEGIN)) not in {b"", _BEGIN}:  # it may be a test, where FILE was forgotten
                    raise pytest.UsageError(f"{path} is there, and is no trace of requests; name another file")
                if asked and path != Path(self._stated or "").absolute():
                    file.truncate(0)
        except OSError as error:
            raise pytest.UsageError(f"requests for kernels cannot be recorded in {path}: {error.strerror}") from error
        return path

    def pytest_unconfigure(self) -> None:
        """Stop recording."""
        from hatch_cuda_kernels.environment import ALWAYS_TRACED, TRACE

        if str(self.path) in ALWAYS_TRACED:
            ALWAYS_TRACED.remove(str(self.path))
        os.environ.pop(TRACE, None)
        if self._stated is not None:
            os.environ[TRACE] = self._stated
        if self._temporary and os.getpid() == self._process:  # and not in a fork, which may get here, too
            import shutil

            shutil.rmtree(self.path.parent, ignore_errors=True)

    def pytest_collection_finish(self) -> None:
        """Blame no test for what was compiled before."""
        self._compiled_since()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, None]:
        """Have the report of a test fail if a kernel was compiled meanwhile, in its setup included."""
        outcome = yield
        report = outcome.get_result()
        if not self._forbids:
            return
        self._held += self._compiled_since()
        if not self._held or (report.when == "setup" and report.passed):
            return
        found, self._held = self._held, []
        allowed = item.get_closest_marker("allow_jit") is not None
        report.compiled_kernels = {"places": [place for place, _ in found], "allowed": allowed}
        if allowed:
            return
        text = _text([request for _, request in found])
        if report.failed:
            report.sections.append((_TITLE, text))
            return
        if hasattr(report, "wasxfail"):
            del report.wasxfail
        report.outcome, report.longrepr = "failed", f"{text}\n"

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note which compiles a failed report has told of; a report of a test that is run again does not count."""
        compiled = getattr(report, "compiled_kernels", None)
        if compiled is not None and (compiled["allowed"] or report.failed):
            self._told.update(compiled["places"])

    def _compiled_since(self) -> list[tuple[int, TracedRequest]]:
        """Return what this worker, and processes that it started, compiled since the last call."""
        new, self._next = self._read(self._next)
        own = [(at, one) for at, one in new if one.worker == self._worker or one.process == os.getpid()]
        return [(at, one) for at, one in own if _is_compiled(one) and at not in self._told]

    def _read(self, start: int) -> tuple[list[tuple[int, TracedRequest]], int]:
        """Return the requests from a place of the trace on, each with its place, and the place after them."""
        from hatch_cuda_kernels.errors import InputError
        from hatch_cuda_kernels.runtime.ladder import lost_lines, read_lines

        if why := lost_lines(str(self.path)):
            self._trouble[f"requests are missing in {self.path}: {why}"] = None
        try:
            now = self.path.stat()
            if now.st_size < start or (now.st_dev, now.st_ino) != (self._file.st_dev, self._file.st_ino):
                self._trouble[f"{self.path} was cut or replaced while the tests ran"] = None
            if now.st_size <= start:
                return [], start
            with self.path.open("rb") as file:
                file.seek(start)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]  # another line may be on its way
            return [(start + at, one) for at, one in read_lines(whole, str(self.path))], start + len(whole)
        except (InputError, OSError) as error:
            self._trouble[f"the trace of requests cannot be read: {error}"] = None
            return [], start

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Have the run fail if a compile belongs to no report: one while tests were collected, or in a lost process."""
        background = sys.modules.get("hatch_cuda_kernels.runtime.background")
        if background is not None:
            background.finish_for_next()
        if hasattr(self._config, "workerinput"):
            self._read(self._next)
            self._config.workeroutput["kernel_trace_trouble"] = [*self._trouble]  # type: ignore[attr-defined]
            return
        everything, end = self._read(self._file.st_size)
        if not self._trouble and end < self.path.stat().st_size:
            self._trouble[f"the last line of {self.path} is cut short"] = None
        compiled = [request for place, request in everything if _is_compiled(request) and place not in self._told]
        self._left = compiled if self._forbids else []
        where = "" if self._temporary else f" ({self.path})"
        self._summary = f"{_counted(request for _, request in everything)}{where}"
        if self._left or self._trouble:
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or getattr(self._config.option, "no_summary", False):  # nothing is asked for a summary
            self._tell(reporter)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker of pytest-xdist has had trouble with."""
        self._trouble.update(dict.fromkeys(getattr(node, "workeroutput", {}).get("kernel_trace_trouble", ())))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Tell what no report has told."""
        self._tell(terminalreporter)

    def _tell(self, reporter: Any) -> None:
        lines, self._summary = [self._summary, *self._trouble], ""
        if self._left:
            lines += ["compiled at run time, and not during a test:", _text(self._left)]
        for line in filter(None, lines):
            if reporter is None:
                sys.stderr.write(f"{line}\n")
            else:
                reporter.write_line(line, red=bool(self._left or self._trouble))


def _is_compiled(request: TracedRequest) -> bool:
    """Return whether a kernel was compiled, now or by an earlier process that left it in the user's own disk cache."""
    return request.answer == "compiling" or (request.answer == "cached" and not request.site)


def _text(requests: Iterable[TracedRequest]) -> str:
    """Return what was compiled, why, and what to do, a few lines for each."""
    from hatch_cuda_kernels.terminal import printable

    blocks = []
    for one in requests:
        of = one.package or one.store
        what = "was compiled" if one.answer == "compiling" else "came from the disk cache, compiled"
        lines = [f"{one.kernel}{f' of {of}' if of else ''} {what} for {one.image.get('arch')}", *one.reasons[:1]]
        lines += [f"to fix: {one.line_to_add}"]
        lines += [f"during {one.test}"] if one.test else []
        lines += [f"by process {one.process}"] if one.process != os.getpid() else []
        blocks.append("\n    ".join(map(printable, lines)))
    return "\n".join(dict.fromkeys(blocks))


def _counted(requests: Iterable[TracedRequest]) -> str:
    """Return how many kernels were requested, and what they got."""
    asked = {(one.package, one.module, one.kernel, one.capability, one.answer) for one in requests}
    answers = [answer for *_, answer in asked if answer != "compiling"]
    counts = (f"{answers.count(answer)} {answer}" for answer in dict.fromkeys(sorted(answers)))
    return f"kernels requested: {', '.join(counts) or 'none'}"
