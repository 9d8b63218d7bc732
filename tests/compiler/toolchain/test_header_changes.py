"""An edited, added or removed header of a toolkit folder gives other keys to what reads it, and to nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from wheels import digest

from hatch_cuda_kernels.compiler.toolchain import headers, libraries
from hatch_cuda_kernels.compiler.toolchain.headers import scan_headers
from hatch_cuda_kernels.compiler.toolchain.toolchain import Toolchain, load_toolchain

INCLUDE = "nvidia/cu13/include"
PARTS = {
    "nvidia_cuda_cccl-13.0.85": {
        "cccl/cub/sort.cuh": '#include "util.cuh"\n#include <cuda/std/cstdint>\n//! #include <cub/all.cuh>\n',
        "cccl/cub/util.cuh": "#pragma once\n#if A\n#  include <cuda/std/version>\n#endif\n",
        "cccl/cub/all.cuh": "#include <cub/sort.cuh>\n#include <cub/scan.cuh>\n#include <cub/by_macro.cuh>\n",
        "cccl/cub/scan.cuh": "/*\n#include <cub/sort.cuh>\n*/ # /**/ include /**/ <cub/util.cuh>\n",
        "cccl/cub/by_macro.cuh": "#include <cub/names.cuh>\n#include CUB_TUNING\n#include CUB_MADE\n",
        "cccl/cub/names.cuh": "#define CUB_TUNING <cub/tuning.cuh>\n#define CUB_MADE <CUB_ROOT/made.cuh>\n"
        "#define CUB_ROOT cub/CUB_SYSTEM // folder\n#if A\n# define CUB_SYSTEM fast\n#else\n"
        "#define CUB_SYSTEM slow\n#endif\n",
        "cccl/cub/fast/made.cuh": "#define FAST 1\n",
        "cccl/cub/tuning.cuh": "#define TILE 1\n",
        "cccl/cuda/std/cstdint": "#in\\\nclude <cuda/std/version>\n",
        "cccl/cuda/std/version": "#define V 1\n",
        "cccl/nv/target": '%:include "detail.h"\n',
        "cccl/nv/detail.h": "#define N 1\n",
        "cccl/nv/unclear": "#include <nv//detail.h> /* one comment, or the end of another */\n",
    },
    "nvidia_cuda_runtime-13.0.96": {
        "cuda_fp16.h": '#include "cuda_fp16.hpp"\n#ifdef __CUDACC_RTC__\n#else\n#include <host_half.h>\n#endif\n',
        "cuda_fp16.hpp": '#if __has_include("cuda_fp16_more.h")\n#define X 2\n#endif\n',
        "cuda_pipeline.h": "#include <cuda_awbarrier.h>\n",
        "cuda_awbarrier.h": "#define B 1\n",
    },
    "nvidia_cuda_crt-13.0.88": {"crt/mma.h": "#define M 1\n"},
}
#: Of other wheels in the same folder, and of nobody.
OTHERS = {
    "nvidia_curand-10.4.0": {
        "curand_kernel.h": '#include "curand_globals.h"\n#include <cuda_awbarrier.h>\n',
        "curand_globals.h": "#define G 1\n",
    },
    "": {
        "stray.h": "#include <curand_globals.h>\n#include <missing/one.h>\n",
        "p/x/l/deep.h": '#include "../../../v.h"\n',
        "v.h": "#define V 1\n",
    },
}
#: What kernels include, by a short name.
READERS = {
    "sort": ("cub/sort.cuh",),
    "all": ("cub/all.cuh",),
    "scan": ("cub/scan.cuh",),
    "half": ("cuda_fp16.h",),
    "pipe": ("cuda_pipeline.h",),
    "target": ("nv/target",),
    "unclear": ("nv/unclear",),
    "mma": ("crt/mma.h",),
    "random": ("curand_kernel.h",),
    "stray": ("stray.h",),
    "linked": ("linked/a.h",),
    "deep": ("p/x/l/deep.h",),
    "none": (),
}


def alter(path):
    """Change a byte of a file in place, and nothing that a listing of its folder shows."""
    before, data = path.stat(), path.read_bytes()
    path.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def exchange(path, text=None):
    """Put another file of the same size and time, or with this text, in a file's place."""
    new = path.with_name(f"{path.name}.new")
    shutil.copy2(path, new)
    new.write_text(text) if text is not None else alter(new)
    new.replace(path)


def put(path, text="#define P 1\n"):
    """Write a file, and its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def replace_folder(path, elsewhere, change):
    """Put a link in a folder's place that leads to a copy in which something was changed."""
    shutil.copytree(path, elsewhere)
    change(elsewhere)
    shutil.rmtree(path)
    path.symlink_to(elsewhere)


def relink(path, target):
    """Let a link lead elsewhere."""
    path.unlink()
    path.symlink_to(target)


def edit_record(record, find, replacement):
    """Change the list of a wheel's files."""
    record.write_text(record.read_text().replace(find, replacement))


def line_of(site, name):
    """Return how a RECORD lists a header, with the end of the line."""
    data = (site / INCLUDE / name).read_bytes()
    return f"{INCLUDE}/{name},{digest(data)},{len(data)}\n"


# By what is done: the function, which gets the site folder and the include folder in it, and whose keys it changes.
CASES = {
    "a header grows": (lambda s, i: put(i / "crt/mma.h", "#define M 10\n"), "mma"),
    "same size and time": (lambda s, i: alter(i / "crt/mma.h"), "mma"),
    "same size and time, nested": (lambda s, i: alter(i / "cccl/cub/util.cuh"), "sort all scan"),
    "same size and time, nested twice": (lambda s, i: alter(i / "cccl/cuda/std/version"), "sort all scan"),
    "same size and time, beside": (lambda s, i: alter(i / "cuda_fp16.hpp"), "half"),
    "same size and time, behind a digraph": (lambda s, i: alter(i / "cccl/nv/detail.h"), "target unclear"),
    "same size and time, behind a macro": (lambda s, i: alter(i / "cccl/cub/tuning.cuh"), "all"),
    "same size and time, of a name that macros make": (lambda s, i: alter(i / "cccl/cub/fast/made.cuh"), "all"),
    "added, of a name that macros make": (lambda s, i: put(i / "cccl/cub/slow/made.cuh"), "all"),
    "same size and time, of two wheels' readers": (lambda s, i: alter(i / "cuda_awbarrier.h"), "pipe random"),
    "same size and time, of another wheel": (lambda s, i: alter(i / "curand_kernel.h"), "random"),
    "same size and time, nested, of another wheel": (lambda s, i: alter(i / "curand_globals.h"), "random stray"),
    "same size and time, of nobody": (lambda s, i: alter(i / "stray.h"), "stray"),
    "another file of the same size and time": (lambda s, i: exchange(i / "crt/mma.h"), "mma"),
    "another file, of another wheel": (lambda s, i: exchange(i / "curand_globals.h"), "random stray"),
    "named in a comment alone": (lambda s, i: alter(i / "cccl/cub/all.cuh"), "all"),
    "named in a block comment alone": (lambda s, i: alter(i / "cccl/cub/sort.cuh"), "sort all"),
    "emptied": (lambda s, i: put(i / "cuda_awbarrier.h", ""), "pipe random"),
    "an include more": (lambda s, i: put(i / "crt/mma.h", "#include <stray.h>\n#define M 1\n"), "mma"),
    "an include less": (lambda s, i: put(i / "cccl/cub/scan.cuh", "#define S 1\n"), "scan all"),
    "line ends": (lambda s, i: (i / "crt/mma.h").write_bytes(b"#define M 1\r\n"), "mma"),
    "only its time": (lambda s, i: os.utime(i / "crt/mma.h"), ""),
    "the same bytes again": (lambda s, i: put(i / "cuda_awbarrier.h", "#define B 1\n"), ""),
    "the same bytes in another file": (lambda s, i: exchange(i / "crt/mma.h", "#define M 1\n"), ""),
    "removed": (lambda s, i: (i / "crt/mma.h").unlink(), "mma"),
    "removed, nested": (lambda s, i: (i / "cccl/cuda/std/version").unlink(), "sort all scan"),
    "removed, behind a macro": (lambda s, i: (i / "cccl/cub/tuning.cuh").unlink(), "all"),
    "removed, of another wheel": (lambda s, i: (i / "curand_globals.h").unlink(), "random stray"),
    "removed, of nobody": (lambda s, i: (i / "stray.h").unlink(), "stray"),
    "a folder removed": (lambda s, i: shutil.rmtree(i / "cccl/nv"), "target unclear"),
    "renamed": (lambda s, i: (i / "cuda_awbarrier.h").rename(i / "cuda_awbarrier.bak"), "pipe random"),
    "added where it is looked for": (lambda s, i: put(i / "cuda_fp16_more.h"), "half"),
    "added where others than NVRTC look for it": (lambda s, i: put(i / "host_half.h"), "half"),
    "added in a new folder": (lambda s, i: put(i / "missing/one.h"), "stray"),
    "added in the other folder": (lambda s, i: put(i / "cccl/cuda_awbarrier.h"), "pipe random"),
    "added before the one that is found": (lambda s, i: put(i / "cub/util.cuh"), "all scan"),
    "added beside another": (lambda s, i: put(i / "cccl/cub/other.cuh"), ""),
    "added, then edited": (lambda s, i: (put(i / "host_half.h"), alter(i / "host_half.h")), "half"),
    "a folder of that name": (lambda s, i: (i / "host_half.h").mkdir(), ""),
    "a pipe of that name": (lambda s, i: os.mkfifo(i / "host_half.h"), ""),
    "a link to a header": (lambda s, i: (i / "host_half.h").symlink_to(i / "crt/mma.h"), "half"),
    "a link to nothing": (lambda s, i: (i / "host_half.h").symlink_to(s / "nothing.h"), ""),
    "what a link led to in vain": (lambda s, i: put(s / "later.h"), "half"),
    "what a link leads to": (lambda s, i: alter(s / "elsewhere/a.h"), "linked"),
    "beside what a link leads to": (lambda s, i: alter(s / "above.h"), "linked"),
    "another target of a link": (lambda s, i: relink(i / "linked", s / "second/a"), "linked"),
    "a hard link's other name": (lambda s, i: alter(s / "hard.h"), "pipe random"),
    "a link in a header's place": (
        lambda s, i: (shutil.copy(i / "crt/mma.h", s / "m.h"), alter(s / "m.h"), relink(i / "crt/mma.h", s / "m.h")),
        "mma",
    ),
    "a link in a header's place, to the same bytes": (
        lambda s, i: (shutil.copy(i / "crt/mma.h", s / "m.h"), relink(i / "crt/mma.h", s / "m.h")),
        "",
    ),
    "a link in a folder's place": (
        lambda s, i: replace_folder(i / "cccl/nv", s / "nv", lambda copy: alter(copy / "detail.h")),
        "target unclear",
    ),
    "a link in the whole folder's place": (
        lambda s, i: replace_folder(i / "cccl", s / "copy", lambda copy: alter(copy / "cub/scan.cuh")),
        "scan all",
    ),
    "a folder moved behind a link, with what is above it": (
        lambda s, i: (
            put(s.parent / "other/v.h", "#define V 2\n"),
            (s.parent / "other/deep").mkdir(),
            (i / "p/x").rename(s.parent / "other/deep/x"),
            (i / "p/x").symlink_to(s.parent / "other/deep/x"),
        ),
        "deep",
    ),
    "another wheel's file on top": (
        lambda s, i: (
            put(i / "cuda_awbarrier.h", "#define B 2\n"),
            put(s / "nvidia_other-1.0.dist-info/RECORD", line_of(s, "cuda_awbarrier.h")),
        ),
        "pipe random",
    ),
    "another wheel's file on top, of the same bytes": (
        lambda s, i: put(s / "nvidia_other-1.0.dist-info/RECORD", line_of(s, "cuda_awbarrier.h")),
        "",
    ),
    "another wheel's file before it": (
        lambda s, i: (
            put(i / "nv/target", "#define NV\n"),
            put(s / "nvidia_other-1.0.dist-info/RECORD", line_of(s, "nv/target")),
        ),
        "target",
    ),
    "another version of another wheel": (
        lambda s, i: (
            put(i / "curand_globals.h", "#define G 2\n"),
            (s / "nvidia_curand-10.4.0.dist-info").rename(s / "nvidia_curand-10.4.1.dist-info"),
        ),
        "random stray",
    ),
    "no longer listed": (
        lambda s, i: edit_record(s / "nvidia_cuda_crt-13.0.88.dist-info/RECORD", line_of(s, "crt/mma.h"), "x,,\n"),
        "mma",
    ),
    "listed with another digest": (
        lambda s, i: edit_record(s / "nvidia_cuda_runtime-13.0.96.dist-info/RECORD", "awbarrier.h,sha256=", "r.h,"),
        "pipe random",
    ),
    "a header and its line": (
        lambda s, i: (
            put(i / "crt/mma.h", "#define M 2\n"),
            (s / "nvidia_cuda_crt-13.0.88.dist-info/RECORD").write_text(line_of(s, "crt/mma.h")),
        ),
        "",  # as in the wheel of another build of the same version
    ),
}


def as_another_process():
    """Forget what this process has looked at."""
    headers._scans.clear()
    libraries._contents_at.cache_clear()


@pytest.fixture
def site(tmp_path, fresh_cache):
    """Return a folder with wheels of the toolkit, and what others put among their headers."""
    as_another_process()
    site = tmp_path / "site"
    include = site / INCLUDE
    for package, files in (PARTS | OTHERS).items():
        for name, text in files.items():
            put(include / name, text)
        if package:
            put(site / f"{package}.dist-info/RECORD", "".join(line_of(site, name) for name in files))
    put(site / "elsewhere/a.h", '#include "../above.h"\n')
    put(site / "above.h", "#define ABOVE 1\n")
    put(site / "second/a/a.h", '#include "../above.h"\n')
    put(site / "second/above.h", "#define ABOVE 2\n")
    (include / "linked").symlink_to(site / "elsewhere")
    os.link(include / "cuda_awbarrier.h", site / "hard.h")
    yield site
    as_another_process()


def keys(site):
    """Return what enters each reader's keys."""
    folders = (str(site / INCLUDE), str(site / INCLUDE / "cccl"))
    toolchain = Toolchain("13.0.88", "cccl 13.0.85, crt 13.0.88, cudart 13.0.96", folders)
    return {name: toolchain.of_compile(outside, finisher="nvrtc").key_part for name, outside in READERS.items()}


def scans(site):
    """Return what is known of each reader's headers."""
    folders = (str(site / INCLUDE), str(site / INCLUDE / "cccl"))
    return {name: scan_headers(outside, folders) for name, outside in READERS.items()}


@pytest.mark.parametrize("case", CASES)
def test_a_change_counts_for_its_readers_alone(site, case, monkeypatch, tmp_path):
    """In the process that saw it before, in the next one, and in one that remembers nothing: the same other keys."""
    change, changed = CASES[case]
    include = site / INCLUDE
    if "link led" in case:
        (include / "host_half.h").symlink_to(site / "later.h")
    before, known = keys(site), scans(site)
    time.sleep(0.02)  # older kernels count time in steps of 4 ms
    change(site, include)
    after = keys(site)
    assert {name for name in READERS if before[name] != after[name]} == {*changed.split()}
    assert not any(known[name].is_current() for name in changed.split())
    as_another_process()
    assert keys(site) == after
    as_another_process()
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "empty"))
    assert keys(site) == after


def test_the_next_process_knows_as_much_of_headers(site):
    """It remembers what enters the keys, and finds the rest when that is asked for."""

    def known():
        return {name: (one.others, one.asked, one.files, dict(one.states)) for name, one in scans(site).items()}

    first = known()
    as_another_process()
    assert known() == first


def test_a_change_before_the_rest_is_asked_for_counts(site):
    """A scan that is remembered is as old as its note, whatever is found in the headers later."""
    before = keys(site)
    as_another_process()
    known = scans(site)
    time.sleep(0.02)  # as above
    put(site / INCLUDE / "cuda_fp16.hpp", "#define X 3\n#include <stray.h>\n")
    assert "stray.h" in known["half"].asked.names
    after = keys(site)
    assert {name for name in READERS if before[name] != after[name]} == {"half"}


def test_headers_that_changed_just_now_are_not_remembered(site, fresh_cache, monkeypatch):
    """Another change within a step of the clock would give them the same state. Times that people set do not count."""
    monkeypatch.setattr(libraries, "_TICKS_NS", 60_000_000_000)
    keys(site)
    assert not {*fresh_cache.rglob("scan-*.json")} | {*fresh_cache.rglob("includes-*.json")}
    monkeypatch.setattr(libraries, "_TICKS_NS", 0)
    later = time.time() + 3600
    os.utime(site / INCLUDE / "cuda_fp16.h", (later, later))
    as_another_process()
    keys(site)
    known = len({*fresh_cache.rglob("scan-*.json")})
    assert known == len([outside for outside in READERS.values() if outside])


def test_one_of_many_processes_reads_the_headers(site, fresh_cache, tmp_path):
    """Those that ask for the same headers at the same time wait for it, and take what it found."""
    script = """
import sys, time
from hatch_cuda_kernels.compiler.toolchain import headers
read = headers._digest_and_names
def slowly(path):
    print(path)
    time.sleep(0.1)
    return read(path)
headers._digest_and_names = slowly
names = ("cuda_fp16.h", "stray.h")
print("others", headers.scan_headers(names, tuple(sys.argv[1:]), is_for_key=True).others)
"""
    time.sleep(0.2)  # headers that changed just now are not remembered
    command = [sys.executable, "-c", script, str(site / INCLUDE), str(site / INCLUDE / "cccl")]
    asking = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [line for one in asking for line in one.communicate(timeout=60)[0].splitlines()]
    paths = [line for line in said if not line.startswith("others")]
    assert str(site / INCLUDE / "stray.h") in paths
    assert len(paths) == len({*paths})
    assert len([line for line in said if line.startswith("others")]) == 4
    assert len({*said} - {*paths}) == 1


def test_what_no_key_needs_is_not_remembered(site, fresh_cache):
    """What builds ask about hundreds of sets of headers would displace what the next process needs for its keys."""
    found = scans(site)
    assert found["stray"].files
    assert found["stray"].asked.names
    assert not [*fresh_cache.glob("notes/scan*")]
    keys(site)
    as_another_process()
    time.sleep(0.2)  # headers that changed just now are not remembered
    keys(site)
    assert [*fresh_cache.glob("notes/scan-*")]


def test_headers_may_settle_while_another_process_reads_them(site, fresh_cache, monkeypatch):
    """Who has waited for it looks at them later than it did, and so remembers them."""

    @contextmanager
    def turn(subject):
        time.sleep(0.2)
        yield

    stray = site / INCLUDE / "stray.h"
    stray.write_text(stray.read_text())
    monkeypatch.setattr(headers._NOTES, "turn", turn, raising=False)
    scan_headers(READERS["stray"], (str(site / INCLUDE),), is_for_key=True)
    assert [*fresh_cache.glob("notes/scan-*")]


def test_what_is_undone_has_the_old_keys(site):
    """A header that is as it was, a part's or another wheel's, gives the keys that it gave."""
    first = keys(site)
    for name in ("crt/mma.h", "curand_globals.h", "stray.h"):
        path = site / INCLUDE / name
        shutil.copy2(path, site / "kept")
        path.unlink()
        removed = keys(site)
        put(path, "#define ELSE\n")
        other = keys(site)
        (site / "kept").replace(path)
        assert len({str(found) for found in (first, removed, other)}) == 3
        assert keys(site) == first


def test_no_header_is_read_as_cpp_for_a_key(site, monkeypatch):
    """Where wheels stand for all that a compile could open, as is usual, and others' files are in the folder."""
    monkeypatch.setattr(headers, "_marked_includes", None)
    found = scans(site)
    assert [found[name].others for name in ("sort", "all", "scan", "half", "pipe", "target", "mma")] == [""] * 7


OPENS = """
import sys
from cuda.bindings import nvrtc
names, *folders = sys.argv[1:]
source = "".join(f"#include <{name}>\\n" for name in names.split()).encode()
flags = ["-arch=compute_90", "-no-cache", "--std=c++17", "-default-device", *(f"-I{folder}" for folder in folders)]
program = nvrtc.nvrtcCreateProgram(source, b"/nowhere/k.cu", 0, [], [])[1]
nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("names", ["cub/block/block_radix_sort.cuh", "thrust/universal_vector.h nv/target", "mma.h"])
def test_all_that_nvrtc_opens_is_glanced_at(tmp_path, fresh_cache, names):
    """Also where macros make the names of headers, as Thrust does; whether the compile ends well does not matter."""
    folders = load_toolchain().include_dirs
    log = tmp_path / "log"
    command = ["strace", "-f", "-e", "trace=openat", "-o", str(log), sys.executable, "-c", OPENS, names, *folders]
    subprocess.run(command, check=True)
    calls = re.findall(r'openat\(\w+, "([^"]+)"[^\n]* = \d', log.read_text())
    opened = {path for path in map(os.path.normpath, calls) if path.startswith(folders)}
    assert opened
    assert opened <= scan_headers(tuple(names.split()), folders).states.keys()


@pytest.mark.slow
def test_a_glance_sees_all_that_a_reader_sees():
    """No include of a real toolkit's headers is missing in what is taken from them without reading C++."""
    folder = Path(load_toolchain().include_dirs[0])
    for path in sorted(path for path in folder.rglob("*") if path.is_file())[::7]:
        read = {one.lstrip("!=") for one in headers._marked_includes(str(path))} - {""}
        assert read <= {one.lstrip("=") for one in headers._digest_and_names(str(path))[1:]}


def test_a_file_that_comes_in_pieces_is_read_whole_and_at_once(tmp_path, monkeypatch):
    """Some file systems give less than was asked for. To put a thousand pieces together one by one takes minutes."""
    reads, path = [], tmp_path / "long.h"
    path.write_bytes(os.urandom(1 << 20))

    def read(descriptor, size):
        reads.append(size)
        return os.read(descriptor, min(size, 1000))

    monkeypatch.setattr(headers, "os", SimpleNamespace(**{**vars(os), "read": read}))
    assert f"sha256={headers._digest_and_names(str(path))[0]}" == digest(path.read_bytes())
    assert len(reads) == 1
