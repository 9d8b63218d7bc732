"""What an operator of torch costs: a call, ten in a compiled function, and a cold process, beside other ways.

    python benchmarks/operators_torch.py [OUT.json] [--seconds 230]

Needs a CUDA device and torch; nvcc and Triton are used where they are. The C++ extension is built beside everything
else, so timing starts when it is ready. OUT.json is written after each part, so that a run which is cut off leaves what
it measured; cold processes are started for as long as the seconds last. Prints tables at the end.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import torch
from operators_torch_contenders import ALL, EXTENSION, Contender, start_extension
from operators_torch_report import report

ROUNDS, CALLS, COLD_ROUNDS = 15, 300, 7
KERNELS = 10
#: So few elements that only the host's work counts, and so many that the device's does.
FEW, MANY = 1024, 1 << 23
#: Compiled functions by name: torch's mode, elements, and how often one is called in a round.
COMPILED = {
    "default": ("default", FEW, 50),
    "reduce-overhead": ("reduce-overhead", FEW, 50),
    "default, 8 M elements": ("default", MANY, 5),
}
#: Seconds that one contender may take to be made, and to be compiled.
MOST_TO_MAKE, MOST_TO_COMPILE = 100, 40
COLD = """
import time
start = time.perf_counter()
import torch
x = torch.ones(1024, device="cuda")
torch.cuda.synchronize()
ready = time.perf_counter()
{cold}
y.sum().item() == 1024 or exit(1)
end = time.perf_counter()
print((ready - start) * 1e3, (end - ready) * 1e3)
"""


class Record:
    """The figures so far, kept in a file."""

    def __init__(self, path: Path | None) -> None:
        self.figures: dict[str, object] = {"when": datetime.now(UTC).isoformat(timespec="minutes"), "left_out": {}}
        self._path = path
        self._start = time.perf_counter()

    def tell(self, what: str) -> None:
        """Say how far it is."""
        print(f"{time.perf_counter() - self._start:4.0f} s: {what}", file=sys.stderr, flush=True)

    def add(self, part: str, figures: object) -> None:
        """Keep the figures of a part."""
        self.tell(part)
        self.figures[part] = figures
        self.figures["seconds"] = round(time.perf_counter() - self._start)
        if self._path:
            self._path.write_text(json.dumps(self.figures, indent=1) + "\n")

    def fail(self, name: str, error: BaseException) -> None:
        """Keep the reason why there are no figures."""
        reason = f"{type(error).__name__}: {str(error).strip()[-300:]}"
        self.add("left_out", {**self.figures["left_out"], name: reason})
        print(f"left out: {name}: {reason}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=230, help="no cold process is started after so many")
    args = parser.parse_args()
    end = time.perf_counter() + args.seconds
    record = Record(args.out)
    with tempfile.TemporaryDirectory() as folder:
        try:
            measure(record, Path(folder), end)
        finally:
            print(report(record.figures))


def measure(record: Record, work: Path, end: float) -> None:
    """Measure everything, what matters most first."""
    wait_for_nvcc = start_extension(work)
    record.add("machine", machine())
    contenders: dict[str, Contender] = {}
    functions: dict[tuple[str, str], object] = {}
    for name, make in ALL.items():
        with left_out_if_it_fails(record, name, MOST_TO_MAKE):
            if name == EXTENSION:
                wait_for_nvcc()
            contenders[name] = checked(make(work))
            record.tell(f"made: {name}")
        for kind, (mode, count, _) in COMPILED.items():
            if name in contenders and contenders[name].is_operator:
                with left_out_if_it_fails(record, f"{name}, compiled, {kind}", MOST_TO_COMPILE):
                    functions[name, kind] = compiled(contenders[name], mode, count)
                    record.tell(f"compiled: {name}, {kind}")
    record.add("eager_us", eager(contenders))
    for kind, (_, _, calls) in COMPILED.items():
        there = {name: function for (name, of), function in functions.items() if of == kind}
        record.add(f"compiled_us: {kind}", in_turns(there, calls))
    cold(record, {name: contender.cold for name, contender in contenders.items() if contender.cold}, end)


@contextmanager
def left_out_if_it_fails(record: Record, name: str, seconds: int):
    """Go on without what fails or takes too long, and keep the reason."""

    def stop(*_):
        raise TimeoutError(f"took longer than {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the reason is recorded
        record.fail(name, error)
    finally:
        signal.alarm(0)


def machine():
    """Return what the figures belong to."""
    from hatch_cuda_kernels.runtime.launch.accelerator import accelerator_state

    facts = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "python": sys.version.split()[0]}
    facts["accelerator"] = accelerator_state()
    try:
        import triton

        facts["triton"] = triton.__version__
    except ImportError:
        pass
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return facts | {"driver": done.stdout.strip()}


def checked(contender: Contender) -> Contender:
    """Return a contender whose results are right."""
    y, x = torch.ones(FEW, device="cuda"), torch.full((FEW,), 2.0, device="cuda")
    contender.saxpy(y, x, FEW, 3.0)
    assert (y == 7).all(), "saxpy is wrong"
    assert (contender.cube(x, FEW) == 8).all(), "cube is wrong"
    return contender


def eager(contenders):
    """Return microseconds of a call by contender and kernel."""
    y, x = torch.ones(FEW, device="cuda"), torch.ones(FEW, device="cuda")
    work = {}
    for name, contender in contenders.items():
        work[name, "saxpy"] = lambda call=contender.saxpy: call(y, x, FEW, 1e-9)
        work[name, "cube"] = lambda call=contender.cube: call(x, FEW)
    times = in_turns(work, CALLS)
    return {name: {kernel: times[name, kernel] for kernel in ("saxpy", "cube")} for name in contenders}


def compiled(contender, mode, count):
    """Return a compiled function with ten kernels, without its argument."""
    x = torch.ones(count, device="cuda")
    plain = ten(contender)
    function = torch.compile(plain, fullgraph=True, mode=mode, dynamic=False)
    for _ in range(5):
        result = function(x)
    assert torch.allclose(result, plain(x)), "the compiled function is wrong"
    return lambda: function(x)


def ten(contender):
    """Return a function with ten kernels, half of them in place, and torch's own work between them."""
    saxpy, cube = contender.saxpy, contender.cube

    def function(x):
        for _ in range(KERNELS // 2):
            y = cube(x * 0.5, x.numel())
            saxpy(y, x, x.numel(), 0.25)
            x = y + 0.125
        return x

    function.__code__ = function.__code__.replace()  # torch keeps what it compiled by code: each has its own
    return function


def in_turns(work, calls):
    """Return medians of microseconds by name; the device is drained outside the clock."""
    for function in work.values():
        for _ in range(20):
            function()
    times = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, function in work.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                function()
            if calls < 10:  # so much work that the device is what takes the time
                torch.cuda.synchronize()
            times[name].append((time.perf_counter() - start) / calls * 1e6)
    return {name: round(statistics.median(found), 3) for name, found in times.items()}


def cold(record: Record, scripts: dict[str, str], end: float) -> None:
    """Record milliseconds of cold processes to the first result, torch and its context apart; medians."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in scripts}
    longest = 0.0
    for turn in range(COLD_ROUNDS + 1):
        for name, script in scripts.items():
            start = time.perf_counter()
            if start + longest > end:
                return
            found = cold_process(record, name, script)
            longest = max(longest, time.perf_counter() - start)
            if found and turn:  # the first round fills caches of files
                times[name].append(found)
        if turn:
            record.add("cold_ms", {name: cold_summary(found) for name, found in times.items() if found})


def cold_process(record: Record, name: str, script: str) -> tuple[float, float] | None:
    command = [sys.executable, "-c", COLD.format(cold=textwrap.dedent(script))]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        record.fail(f"{name}, cold", RuntimeError(done.stderr))
        return None
    before, after = map(float, done.stdout.split())
    return before, after


def cold_summary(found):
    before, after = zip(*found, strict=True)
    return {
        "torch": round(statistics.median(before), 1),
        "first result": round(statistics.median(after), 2),
        "least": round(min(after), 2),
        "processes": len(found),
    }


if __name__ == "__main__":
    main()
