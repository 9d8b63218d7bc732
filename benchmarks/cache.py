"""The disk cache under load: mixed reads and writes, fleets that miss one kernel or fifty, 50,000 entries, a hit.

    python benchmarks/cache.py --out FOLDER [--repeat 5] [--seconds 5]

Needs no GPU. Prints one table and writes cache.json with every raw number. The store is example_project's; the kernel
is CUB's block radix sort for an architecture that it does not ship. Caches lie under --out: name a folder on the disk
that matters.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
KERNEL = "sort_tiles<int, 128, 16>"
UNLISTED, LISTED = "sm_75", "sm_90"
PROCESSES, FLEET = 16, 64
HERD, KERNELS = 200, 50
ENTRIES, SMALL_BYTES = 50_000, 2048
KEYS, IMAGE_BYTES = 2000, 20_000

FIND = """
import sys
from pathlib import Path
from hatch_cuda_kernels import open_store
image = open_store(Path(sys.argv[1])).find_image(sys.argv[2], arch=sys.argv[3], driver=(13, 0))
print(image.origin, image.sha256)
"""
FIND_ALL = """
import sys
from pathlib import Path
from hatch_cuda_kernels import open_store
store = open_store(Path(sys.argv[1]))
for name in store.kernels:
    store.find_image(name, arch="sm_90", policy="exact")
"""
TIMED = """
import sys, time
start = time.perf_counter()
import cuda.bindings.driver
imported = time.perf_counter()
from pathlib import Path
from hatch_cuda_kernels import open_store
image = open_store(Path(sys.argv[1])).find_image(sys.argv[2], arch=sys.argv[3], driver=(13, 0))
found = time.perf_counter()
print(image.origin, (imported - start) * 1000, (found - imported) * 1000)
"""


# An installed package has its byte code beside it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument(
        "--mix", nargs=5, metavar=("CACHE", "NUMBER", "SECONDS", "CAP", "START"), help=argparse.SUPPRESS
    )
    args = parser.parse_args()
    if args.mix:
        mix(Path(args.mix[0]), int(args.mix[1]), float(args.mix[2]), int(args.mix[3]), float(args.mix[4]))
        return
    work = args.out.absolute() / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    store = build(work, HERE.parent / "example_project", work / "store")
    results = {
        "machine": machine(work),
        "mixed": [mixed(work, args.seconds, cap) for cap in (1 << 30, KEYS * IMAGE_BYTES // 2)],
        "fleet": [fleet(work, store) for _ in range(args.repeat)],
        "herd": herd(work),
        "many": many(work),
        "hit": hit(work, store, args.repeat * 4),
    }
    (args.out / "cache.json").write_text(json.dumps(results, indent=1) + "\n")
    report(results)


def build(work: Path, project: Path, store: Path) -> Path:
    command = [sys.executable, "-m", "hatch_cuda_kernels", "build", "--out", store, "kernels.yaml"]
    environment = os.environ | {"HATCH_CUDA_KERNELS_CACHE_DIR": str(work / "build")}
    subprocess.run(command, cwd=project, env=environment, check=True, stdout=sys.stderr)
    return store


def machine(work: Path) -> dict[str, str | int]:
    packages = subprocess.run(
        [sys.executable, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=False
    )
    wanted = ("cuda-", "filelock", "hatch-cuda", "nvidia-cuda-nvrtc", "platformdirs")
    kind = subprocess.run(["stat", "-f", "-c", "%T", work], capture_output=True, text=True, check=False)
    return {
        "cores": os.cpu_count() or 0,
        "file system": kind.stdout.strip(),
        "python": sys.version.split()[0],
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "packages": ", ".join(line for line in packages.stdout.splitlines() if line.startswith(wanted)),
    }


# Mixed reads and writes ---------------------------------------------------------------------------------------------


def mixed(work: Path, seconds: float, cap: int) -> dict[str, float]:
    """Return operations a second of all processes together, and what was lost: nothing may be."""
    cache = work / f"mixed-{cap}"
    start = time.time() + 3.0  # all have imported everything by then
    command = [sys.executable, __file__, "--out", work, "--mix", cache]
    parts = [[*command, str(number), str(seconds), str(cap), str(start)] for number in range(PROCESSES)]
    running = [subprocess.Popen(list(map(str, part)), stdout=subprocess.PIPE, text=True) for part in parts]
    answers = [json.loads(process.communicate()[0]) for process in running]
    assert all(process.returncode == 0 for process in running)
    written = set().union(*(answer.pop("written") for answer in answers))
    total = {name: sum(answer[name] for answer in answers) for name in answers[0]}
    left = check(cache, written)
    used = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
    evicts = len(written) * IMAGE_BYTES > cap
    assert left == len(written) or evicts, f"lost {len(written) - left} of {len(written)}"
    assert used <= cap
    rate = (total["hits"] + total["misses"] + total["puts"]) / seconds
    return total | {"cap": cap, "written": len(written), "left": left, "used": used, "per_second": rate}


def check(path: Path, written: set[int]) -> int:
    """Return how many of the keys are readable, each with the right bytes."""
    found = {number: fresh(path, 1 << 30).get(key(number)) for number in written}
    assert all(entry is None or entry == make(number) for number, entry in found.items())
    return sum(entry is not None for entry in found.values())


def mix(path: Path, number: int, seconds: float, cap: int, start: float) -> None:
    """Read and write random keys, each by a cache object that remembers nothing, and print what happened."""
    chance, written = random.Random(number), set()
    count = {"hits": 0, "misses": 0, "puts": 0}
    time.sleep(max(start - time.time(), 0))
    while time.time() < start + seconds:
        wanted = chance.randrange(KEYS)
        entry = fresh(path, cap).get(key(wanted))
        if entry is None:
            count["misses"] += 1
            assert fresh(path, cap).put(make(wanted))
            count["puts"] += 1
            written.add(wanted)
        else:
            assert entry.image == image(wanted), "wrong bytes"
            count["hits"] += 1
    print(json.dumps(count | {"written": sorted(written)}))


def fresh(path: Path, cap: int):
    from hatch_cuda_kernels.cache import DiskCache

    return DiskCache(path, max_bytes=cap)


def key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def image(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest() * (IMAGE_BYTES // 32)


def make(number: int):
    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.image import Symbol

    return Entry(
        key=key(number), module="m", kind="cubin", arch=SmArch(9, 0), image=image(number),
        kernels=(Symbol("k", "k", ("u64",)),), globals=(), resources={}, ptx_isa=(9, 0), toolchain={}, log="",
        created="2026-01-01T00:00:00+00:00", seconds=0.5,
    )  # fmt: skip


# A fleet that misses one kernel -------------------------------------------------------------------------------------


def fleet(work: Path, store: Path) -> dict[str, float]:
    """Return seconds: of the fleet on an empty cache, of one process alone on another, and of the fleet after that."""
    cold, alone = work / "cold", work / "alone"
    for cache in (cold, alone):
        shutil.rmtree(cache, ignore_errors=True)
    one, _ = ask(store, alone, 1)
    warm, answers = ask(store, alone, FLEET)
    assert answers == ["cached"] * FLEET
    together, answers = ask(store, cold, FLEET)
    assert sorted(answers) == ["cached"] * (FLEET - 1) + ["jitted"], answers
    return {"one": one, "warm": warm, "cold": together, "ratio": together / (one + warm)}


def herd(work: Path) -> dict[str, float]:
    """Return seconds of so many processes that ask for all of so many kernels, as in ``fleet``."""
    project = work / "herd"
    project.mkdir()
    for number in range(KERNELS):
        text = f'extern "C" __global__ void k{number}(float* p) {{ *p = {number}; }}'
        (project / f"m{number}.cu").write_text(text)
    modules = "".join(f"  m{number}: {{source: m{number}.cu}}\n" for number in range(KERNELS))
    (project / "kernels.yaml").write_text(f"schema: 1\narches: [sm_80]\nmodules:\n{modules}")
    build(work, project, project / "store")

    def run(cache: str, processes: int) -> float:
        environment = os.environ | {"HATCH_CUDA_KERNELS_CACHE_DIR": str(work / cache)}
        command = [sys.executable, "-c", FIND_ALL, str(project / "store")]
        start = time.perf_counter()
        running = [subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) for _ in range(processes)]
        assert not any(process.wait() for process in running)
        return time.perf_counter() - start

    one, again, together, warm = run("herd 1", 1), run("herd 1", 1), run("herd all", HERD), run("herd all", HERD)
    return {"compiles": one - again, "cold": together, "warm": warm, "ratio": together / (warm + one - again)}


# Very many entries ---------------------------------------------------------------------------------------------------


def many(work: Path) -> dict[str, float]:
    """Return seconds to export, import and prune very many entries, and of a write that meets the cap among them."""
    from hatch_cuda_kernels.cache import export_bundle, import_bundle

    entries = (make(number)._replace(image=image(number)[:SMALL_BYTES]) for number in range(ENTRIES))
    fresh(work / "many", 1 << 40).put_all([(entry.key, entry.files()) for entry in entries])
    times = {"export": seconds(lambda: export_bundle(fresh(work / "many", 1 << 40), work / "bundle"))}
    times["import"] = seconds(lambda: import_bundle(fresh(work / "imported", 1 << 40), work / "bundle"))
    size = fresh(work / "imported", 1 << 40).info().bytes
    times["prune"] = seconds(lambda: fresh(work / "imported", 1 << 40).prune(size))
    times["put at the cap"] = seconds(lambda: fresh(work / "imported", size).put(make(ENTRIES)))
    return times


def seconds(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ask(store: Path, cache: Path, processes: int) -> tuple[float, list[str]]:
    """Start processes together, each of which asks for the kernel; return the seconds to the last answer and all."""
    environment = os.environ | {"HATCH_CUDA_KERNELS_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", FIND, str(store), KERNEL, UNLISTED]
    start = time.perf_counter()
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    answers = [process.communicate()[0].split() for process in running]
    took = time.perf_counter() - start
    assert len({digest for _, digest in answers}) == 1
    return took, [origin for origin, _ in answers]


# What a hit costs ---------------------------------------------------------------------------------------------------


def hit(work: Path, store: Path, repeat: int) -> dict[str, list[float]]:
    """Return milliseconds of looking a kernel up in a new process, interleaved, and of importing the driver there."""
    cache = work / "alone"
    environment = os.environ | {"HATCH_CUDA_KERNELS_CACHE_DIR": str(cache)}
    times: dict[str, list[float]] = {"import cuda.bindings.driver": [], "prebuilt": [], "cached": []}
    for round_ in range(repeat + 1):
        for arch in (LISTED, UNLISTED):
            command = [sys.executable, "-c", TIMED, str(store), KERNEL, arch]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            origin, imported, found = done.stdout.split()
            if round_ > 0:  # the first round warms the page cache
                times[origin].append(float(found))
                times["import cuda.bindings.driver"].append(float(imported))
    times["import hatch_cuda_kernels.cache, get"] = [cache_alone(environment, cache) for _ in range(repeat)]
    return times


def cache_alone(environment: dict[str, str], cache: Path) -> float:
    """Return milliseconds that the cache itself takes of a hit: its import and one read."""
    found = next(cache.glob("v1/??/*")).name
    code = (
        "import time, json, cuda.bindings.driver, hatch_cuda_kernels.runtime.loading; start = time.perf_counter();"
        "from hatch_cuda_kernels.cache import open_cache;"
        f"assert open_cache().get({found!r}); print((time.perf_counter() - start) * 1000)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def report(results: dict) -> None:
    about = results["machine"]
    print(f"\n{about['cores']} cores, {about['file system']}, Python {about['python']}, {about['date']}")
    print(about["packages"])
    for row in results["mixed"]:
        print(
            f"\n{PROCESSES} processes, cap {row['cap'] >> 20} MiB: {row['per_second']:.0f} operations/s "
            f"({row['hits']} hits, {row['puts']} puts); {row['left']} of {row['written']} keys left, "
            f"{row['used'] >> 20} MiB"
        )
    medians = {name: statistics.median(row[name] for row in results["fleet"]) for name in results["fleet"][0]}
    print(
        f"\n{FLEET} processes, empty cache: {medians['cold']:.2f} s; one that compiles {medians['one']:.2f} s + "
        f"{FLEET} on a warm cache {medians['warm']:.2f} s; ratio {medians['ratio']:.2f} (target 1.3)"
    )
    herd_s, many_s = results["herd"], results["many"]
    print(
        f"\n{HERD} processes ask for {KERNELS} kernels, empty cache: {herd_s['cold']:.1f} s; one that compiles "
        f"{herd_s['compiles']:.1f} s + {HERD} on a warm cache {herd_s['warm']:.1f} s; ratio {herd_s['ratio']:.2f} "
        f"(target 2.0)"
    )
    print(f"\n{ENTRIES:,} entries: " + ", ".join(f"{what} {value:.2f} s" for what, value in many_s.items()))
    hit_ms = {name: statistics.median(values) for name, values in results["hit"].items()}
    more = hit_ms["cached"] - hit_ms["prebuilt"]
    print("\n" + "; ".join(f"{name} {value:.1f} ms" for name, value in hit_ms.items()))
    print(
        f"a cached hit costs {more:.1f} ms more than a prebuilt one (target 3), "
        f"{more / hit_ms['import cuda.bindings.driver']:.2f} of that import"
    )


if __name__ == "__main__":
    main()
