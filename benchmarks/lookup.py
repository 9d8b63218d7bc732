"""What looking a kernel up costs in a store of 10 modules, of 10,000, and of one module with 10,000 instances.

Then the same by the values of axes, in stores of 10 and of 1,000 modules that one source gives with different macros:
of a combination that is listed, prebuilt or compiled before for another device, and of one that is not listed.

    python benchmarks/lookup.py [--repeat 15]

Needs NVRTC, no GPU. One small module is built, packed and plain, and copied under other names; ratios are to the store
of 10. Cold is a whole new process, less the interpreter and the package's import; hot is a first look-up by a reader
that has already mapped the list of kernels. Stores and processes are interleaved, so that drift hits all alike.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = "template <int N> __global__ void f(int* x) { *x = N; }\n"
COLD = """
import sys, time
from pathlib import Path
from hatch_cuda_kernels import open_store
import hatch_cuda_kernels.runtime.ladder.request
start = time.perf_counter()
open_store(Path(sys.argv[1])).find_image(sys.argv[2], arch="sm_90", module=sys.argv[3], policy="prebuilt")
print(time.perf_counter() - start)
"""


AXES = """
import sys, time
from pathlib import Path
from hatch_cuda_kernels import open_store
import hatch_cuda_kernels.runtime.ladder.request
store, times = open_store(Path(sys.argv[1])), []
for value in sys.argv[3:]:
    start = time.perf_counter()
    print(store.module("f", N=value).find_image("f", arch=sys.argv[2]).origin)
    times.append(time.perf_counter() - start)
print(times[0], sorted(times[1:])[len(times[1:]) // 2])
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=15)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as folder:
        stores = make_stores(Path(folder))
        cold: dict[str, list[float]] = {name: [] for name in stores}
        hot: dict[str, list[float]] = {name: [] for name in stores}
        for _ in range(repeat):
            for name, (store, kernels) in stores.items():
                cold[name].append(cold_look_up(store, random.choice(kernels)))
                hot[name].append(hot_look_up(store, kernels))
    print("store                              cold ms    ratio   hot us    ratio")
    for name in stores:
        base = f"10 modules{name[name.rindex(', ') :]}"
        (ours, first), (hot_ours, hot_first) = (
            [statistics.median(values[key]) for key in (name, base)] for values in (cold, hot)
        )
        ratios = ours / first, hot_ours / hot_first
        print(f"{name:33s} {ours * 1e3:8.2f} {ratios[0]:8.2f} {hot_ours * 1e6:8.1f} {ratios[1]:8.2f}")
    with tempfile.TemporaryDirectory() as folder:
        by_axes(Path(folder), repeat)


def by_axes(folder: Path, repeat: int) -> None:
    """Print what look-ups by the values of axes cost: the first of a process, and the median of its others."""
    os.environ["HATCH_CUDA_KERNELS_CACHE_DIR"] = str(folder / "cache")
    counts, chosen = (10, 1000), random.Random(1)
    stores = {count: build_axes(folder / str(count), count) for count in counts}
    unlisted = [str(10_000 + number) for number in range(10)]
    times: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for number in range(repeat + 1):
        for count, store in stores.items():
            listed = [str(one) for one in chosen.sample(range(count), 10)]
            first = [str(one) for one in range(10)]
            kinds = (
                ("listed", "sm_90", listed),
                ("listed, cached", "sm_80", first),
                ("unlisted, cached", "sm_90", unlisted),
            )
            for what, arch, values in kinds:
                *origins, last = subprocess.run(
                    [sys.executable, "-c", AXES, store, arch, *values], check=True, stdout=subprocess.PIPE, text=True
                ).stdout.splitlines()
                if number:  # the first time, what is not prebuilt is compiled
                    assert {*origins} == {"prebuilt" if what == "listed" else "cached"}, origins
                    first, others = map(float, last.split())
                    times.setdefault((count, what), []).append((first, others))
    for (count, what), found in times.items():
        both = found, times[counts[0], what]
        ours, base = ([statistics.median(one) for one in zip(*some, strict=True)] for some in both)
        name, ratios = f"{count:,} by axes, {what}", [one / other for one, other in zip(ours, base, strict=True)]
        print(f"{name:33s} {ours[0] * 1e3:8.2f} {ratios[0]:8.2f} {ours[1] * 1e6:8.1f} {ratios[1]:8.2f}")


def build_axes(root: Path, count: int) -> Path:
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    root.mkdir()
    (root / "f.cu").write_text('extern "C" __global__ void f(int* x) { *x = NUMBER; }\n')
    (root / "kernels.yaml").write_text(
        'schema: 1\narches: [sm_90]\nmodules: {"f_{N}": {source: f.cu, options: {define: {NUMBER: "{N}"}},'
        f" matrix: {{N: [{', '.join(map(str, range(count)))}]}}}}}}\n"
    )
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    return root / "out"


def make_stores(folder: Path) -> dict[str, tuple[Path, list[tuple[str, str]]]]:
    """Return each store's folder, and the kernels in it with their modules."""
    stores = {}
    for packing in ("none", "solid"):
        template = build(folder / packing, packing)
        for count in (10, 10_000):
            out = folder / f"{count}-modules-{packing}"
            stores[f"{count:,} modules, packing {packing}"] = out, copy_modules(template, out, count)
        out = folder / f"instances-{packing}"
        stores[f"10,000 instances, packing {packing}"] = out, copy_instances(template, out, 10_000)
    return stores


def build(root: Path, packing: str) -> Path:
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    root.mkdir()
    (root / "f.cu").write_text(SOURCE)
    (root / "kernels.yaml").write_text(
        f"{{schema: 1, arches: [sm_80, sm_90, sm_120, compute_80], packing: {packing},"
        ' modules: {m: {source: f.cu, instances: ["f<0>"]}}}'
    )
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    return root / "out"


def copy_modules(template: Path, out: Path, count: int) -> list[tuple[str, str]]:
    """Write a store of ``count`` modules, each with a kernel of its own name."""
    out.mkdir()
    lines, kernels = [], []
    files = {path.name: path.read_bytes() for path in (template / "m").iterdir() if path.is_file()}
    for number in range(count):
        module, name = f"m{number}", f"f{number}<0>"
        (out / module).mkdir()
        for file, data in files.items():
            (out / module / file).write_bytes(renamed(data, module) if file == "index.json" else data)
        lines += [f"{name}\t{module}\t_Z1fILi0EEvPi\tptr\t{name}", f"<f{number}\t{module}\t\t\tf{number}"]
        kernels.append((name, module))
    write_lines(out, lines)
    return kernels


def renamed(index: bytes, module: str) -> bytes:
    data = json.loads(index)
    data["module"] = module
    for image in data["images"]:
        if "stored" in image:
            image["stored"]["file"] = f"{module}/images.xz"
    return json.dumps(data).encode()


def copy_instances(template: Path, out: Path, count: int) -> list[tuple[str, str]]:
    """Write a store of one module with ``count`` instances."""
    out.mkdir()
    (out / "m").mkdir()
    for path in (template / "m").iterdir():
        if path.is_file():
            (out / "m" / path.name).write_bytes(path.read_bytes())
    names = [f"f<{number}>" for number in range(count)]
    details = json.loads((out / "m" / "details.json").read_text())
    details["names"] = names
    for kernels in details["resources"].values():
        (known,) = kernels.values()
        kernels |= {f"_Z1fILi{number}EEvPi": known for number in range(count)}
    (out / "m" / "details.json").write_text(json.dumps(details))
    lines = [f"{name}\tm\t_Z1fILi{number}EEvPi\tptr\t{name}" for number, name in enumerate(names)]
    write_lines(out, [*lines, "<f\tm\t\t\tf"])
    return [(name, "m") for name in names]


def write_lines(out: Path, lines: list[str]) -> None:
    (out / "kernels.tsv").write_text("".join(f"{line}\n" for line in sorted(lines, key=str.encode)))


def cold_look_up(store: Path, kernel: tuple[str, str]) -> float:
    """Return the seconds from ``open_store`` to the image's bytes in a new process."""
    return float(
        subprocess.run([sys.executable, "-c", COLD, store, *kernel], check=True, stdout=subprocess.PIPE).stdout
    )


def hot_look_up(store: Path, kernels: list[tuple[str, str]]) -> float:
    """Return the seconds of a look-up, index and image included, of kernels not looked up before."""
    from hatch_cuda_kernels.store.reader import StoreReader

    reader = StoreReader(store)
    reader.find("")
    chosen = random.sample(kernels, 10)
    start = time.perf_counter()
    for name, module in chosen:
        [line] = [line for line in reader.find(name) if line.module == module]
        index = reader.module(line.module)
        reader.read_image(line.module, index.images[2])
        reader._modules.clear()  # so that every look-up reads its index, as it does where each is of another module
        reader._last = "", b""
    return (time.perf_counter() - start) / len(chosen)


if __name__ == "__main__":
    main()
