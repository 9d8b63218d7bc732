"""What an operator of torch costs: a call, ten in a compiled function, and a cold process, beside other ways.

Usage: python benchmarks/operators_torch.py [OUT.json]. Needs a CUDA device and torch; nvcc, ninja and Triton are used
where they are. Prints a table, and writes the figures.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from datetime import UTC, datetime
from pathlib import Path

import torch
from operators_torch_contenders import ALL

ROUNDS, CALLS, COLD_ROUNDS = 15, 300, 7
KERNELS = 10
N = 1024
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


def main(out: str | None) -> None:
    """Measure, print, write."""
    with tempfile.TemporaryDirectory() as folder:
        contenders, left_out = prepared(Path(folder))
        record = {
            "when": datetime.now(UTC).isoformat(timespec="minutes"),
            "machine": machine(),
            "left_out": left_out,
            "eager_us": eager(contenders),
            "compiled_us": {mode: compiled(contenders, mode) for mode in ("default", "reduce-overhead")},
            "cold_ms": cold(contenders),
        }
    print(table(record))
    if out:
        Path(out).write_text(json.dumps(record, indent=1) + "\n")


def prepared(work: Path):
    """Return the contenders that work here, checked, and why others do not."""
    found, left_out = {}, {}
    for name, make in ALL.items():
        try:
            start = time.perf_counter()
            contender = make(work)
            y, x = torch.ones(N, device="cuda"), torch.full((N,), 2.0, device="cuda")
            contender.saxpy(y, x, N, 3.0)
            assert (y == 7).all(), "saxpy is wrong"
            assert (contender.cube(x, N) == 8).all(), "cube is wrong"
            found[name] = contender
            print(f"{name}: ready after {time.perf_counter() - start:.1f} s", file=sys.stderr)
        except Exception as error:  # noqa: BLE001 - the reason is recorded
            left_out[name] = f"{type(error).__name__}: {str(error).strip()[-300:]}"
            print(f"left out: {name}: {left_out[name]}", file=sys.stderr)
    return found, left_out


def machine():
    """Return what the figures belong to."""
    facts = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "python": sys.version.split()[0]}
    try:
        import triton

        facts["triton"] = triton.__version__
    except ImportError:
        pass
    done = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        check=False,
        capture_output=True,
        text=True,
    )
    return facts | {"driver": done.stdout.strip()}


def eager(contenders):
    """Return microseconds of a call, medians; contenders take turns, and the device is drained outside the clock."""
    y, x = torch.ones(N, device="cuda"), torch.ones(N, device="cuda")
    work = {}
    for name, contender in contenders.items():
        work[name, "saxpy"] = lambda call=contender.saxpy: call(y, x, N, 1e-9)
        work[name, "cube"] = lambda call=contender.cube: call(x, N)
    times = in_turns(work, CALLS)
    return {name: {kernel: times[name, kernel] for kernel in ("saxpy", "cube")} for name in contenders}


def compiled(contenders, mode):
    """Return microseconds of a compiled function with ten kernels, by contender; and a reason where there is none."""
    work, failed = {}, {}
    x = torch.ones(N, device="cuda")
    for name, contender in contenders.items():
        if name == "our launch alone":  # is no operator
            continue
        torch._dynamo.reset()
        try:
            function = torch.compile(ten(contender), fullgraph=True, mode=mode)
            for _ in range(5):
                result = function(x)
            assert torch.allclose(result, ten(contender)(x)), "the compiled function is wrong"
            work[name] = lambda function=function: function(x)
        except Exception as error:  # noqa: BLE001 - the reason is recorded
            failed[name] = f"{type(error).__name__}: {str(error).strip()[:300]}"
    return in_turns(work, 50) | failed


def ten(contender):
    """Return a function with ten kernels, half of them in place, and torch's own work between them."""
    saxpy, cube = contender.saxpy, contender.cube

    def function(x):
        for _ in range(KERNELS // 2):
            y = cube(x * 0.5, x.numel())
            saxpy(y, x, x.numel(), 0.25)
            x = y + 0.125
        return x

    return function


def in_turns(work, calls):
    """Return medians of microseconds by name."""
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
            times[name].append((time.perf_counter() - start) / calls * 1e6)
    return {name: round(statistics.median(found), 3) for name, found in times.items()}


def cold(contenders):
    """Return milliseconds of a cold process, torch and its context apart, to the first result; medians."""
    times = {name: [] for name, contender in contenders.items() if contender.cold}
    for _ in range(COLD_ROUNDS + 1):  # the first round fills caches of files
        for name, found in times.items():
            script = COLD.format(cold=textwrap.dedent(contenders[name].cold))
            done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
            if done.returncode:
                print(f"cold, {name}: {done.stderr[-500:]}", file=sys.stderr)
                found.append((float("nan"), float("nan")))
            else:
                found.append(tuple(map(float, done.stdout.split())))
    columns = {name: list(zip(*found[1:], strict=True)) for name, found in times.items()}
    return {
        name: {"torch": round(statistics.median(before), 1), "first result": round(statistics.median(after), 2)}
        for name, (before, after) in columns.items()
    }


def table(record):
    """Return the figures for people."""
    lines = [", ".join(f"{key} {value}" for key, value in record["machine"].items()), ""]
    modes = list(record["compiled_us"])
    lines.append("| | saxpy, us | cube, us | " + " | ".join(f"ten, {mode}, us" for mode in modes) + " | cold, ms |")
    lines.append("|---" * (4 + len(modes)) + "|")
    for name, figures in record["eager_us"].items():
        ten_of = [record["compiled_us"][mode].get(name, "") for mode in modes]
        first = record["cold_ms"].get(name, {}).get("first result", "")
        cells = [name, f"{figures['saxpy']:.2f}", f"{figures['cube']:.2f}", *(str(cell)[:40] for cell in ten_of), first]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += [f"left out: {name}: {reason}" for name, reason in record["left_out"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
