"""Sources whose macros double from line to line, and everything that reads sources, one after another in one process.

    python tests/support/doubling_macros.py READER STORE FOLDER BUDGET SOURCE...

``STORE`` is that of a module ``k`` whose source has the line of ``MARK``. Each outcome is a line of JSON. ``BUDGET`` is
how many tokens an include may become; what it is for everybody takes two seconds of an include.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import shutil
import sys
from pathlib import Path

import pytest
from jobs import compile_in_threads
from store_damage import patch_source

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.errors import HatchCudaKernelsError
from hatch_cuda_kernels.includes import computed
from hatch_cuda_kernels.standalone import compile_to_ptx

BYTES, SECONDS = 4 << 30, 60
MARK = "// here\n"
KERNEL = 'extern "C" __global__ void k(int* y) { *y = 1; }\n'
LINES = 60


def doubled(first, use="{0} {0}", parameters="", lines=LINES):
    """Return macros that each stand for the one before, twice."""
    made = [f"#define A0{parameters} {first}"]
    made += [f"#define A{n}{parameters} " + use.format(f"A{n - 1}{parameters}") for n in range(1, lines + 1)]
    return "\n".join(made) + "\n"


def hidden(text):
    """Return text that no compiler reads."""
    return f"#if 0\n{text}\n#endif\n"


def host(text):
    """Return text for the host."""
    return f"#ifndef __CUDACC_RTC__\n{text}\n#endif\n"


ALIKE = "".join(f"#define N{n} a\n#define N{n} b\n" for n in range(40))
CALLS = doubled("x", parameters="(x)")
LAUNCHED = "template <class T> __global__ void z(T) {}\n"
#: Computed includes that no budget can be enough for.
INCLUDES = {
    "include": doubled("x.h") + "#include A60\n",
    "hidden include": doubled("x.h") + hidden("#include A60"),
    "nothing": doubled("") + hidden("#include A60"),
    "calls": CALLS + hidden("#include A60(a)"),
    "nested calls": "#define D(x) x x\n" + hidden("#include " + "D(" * LINES + "a" + ")" * LINES),
    "longer arguments": "".join(f"#define A{n}(x) A{n - 1}(x x)\n" for n in range(1, LINES + 1))
    + hidden("#include A60(a)"),
    "quoted": "#define S(x) #x\n#define T(x) S(x)\n" + doubled("x") + hidden("#include T(A60)"),
    "definitions": ALIKE + "#define F(a, b, c, d) a b c d\n"
    + hidden("#include F(" + ", ".join(" ".join(f"N{n}" for n in range(at, at + 9)) for at in range(0, 36, 9)) + ")"),
    "probe": doubled("x.h") + hidden("#if __has_include(A60)\n#endif"),
    "alternatives": ALIKE + hidden("#include " + " ".join(f"N{n}" for n in range(40))),
}  # fmt: skip
#: What is read, though it includes nothing.
OTHERS = {
    "calls of calls": doubled("x", use="A(0)", parameters="(x)").replace("A(0)", "x") + hidden("#include A60(a)"),
    "condition": doubled("1 +") + hidden("#if A60 0\n#endif"),
    "mark": doubled("__global__") + hidden("A60 void q();"),
    "linkage": doubled('extern "C"') + hidden("A60 void q();"),
    "declarations": doubled("int q();") + hidden("A60\nA60;"),
    "value": doubled("1 +") + host("const int q = A60 0;"),
    "launch": LAUNCHED + doubled("z<int><<<1, 1>>>(0);") + host("void q() { A60 }"),
    "empty launch": LAUNCHED + doubled("") + "#define B z<int><<<1, 1>>>(0); A60\n" + host("void q() { B }"),
    "launch by empty calls": LAUNCHED + doubled("", use="{0}{0}", parameters="()", lines=38)
    + "#define B z<int><<<1, 1>>>(0); A38()\n" + host("void q() { B }"),
    "launch by calls": LAUNCHED + CALLS + host("void q() { A60((z<int><<<1, 1>>>(0))); }"),
}  # fmt: skip
SOURCES = INCLUDES | OTHERS


def command(*words):
    """Return a reader that runs a command on a project with the source, or on a store with it."""

    def read(store):
        return main([word.format(store=store) for word in words])

    return read


def set_up(store):
    """Set up a project in a folder with nothing but the source."""
    with contextlib.chdir("new"):
        return main(["init"])


def at_run_time(store):
    """Compile for another architecture from a store."""
    open_store(store).find_image("k", arch="sm_120", policy="exact")
    return 0


def by_itself(store):
    """Compile the source without a project."""
    compile_to_ptx(Path("k.cu").read_text(), arch="sm_90")
    return 0


MANIFEST = "schema: 1\narches: [sm_90]\noptions: {{{options}}}\nmodules: {{k: {{source: k.cu}}}}\n"
READERS = {
    "check": command("check"),
    "build": command("build", "--out", "out"),
    "build without host code": command("build", "--out", "out"),
    "port": command("port", "k.cu"),
    "init": set_up,
    "inspect": command("inspect", "{store}"),
    "verify": command("verify", "{store}"),
    "verify --rebuild": command("verify", "{store}", "--rebuild"),
    "explain": command("explain", "k", "--package", "{store}", "--arch", "sm_120"),
    "run time": at_run_time,
    "compile_to_ptx": by_itself,
}


def outcome(reader, folder, store):
    """Return the exit status, and what was said, of one reader."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told), contextlib.chdir(folder):
        try:
            status = READERS[reader](store)
        except HatchCudaKernelsError as error:
            status = str(error)
        except SystemExit as error:
            status = error.code
    return status, told.getvalue()


def read_all(reader, store, folder, names):
    """Read sources, and write each outcome down."""
    for name in names:
        text = SOURCES[name]
        project = folder / name.replace(" ", "-")
        project.mkdir()
        patched = shutil.copytree(store, project / "store")
        patch_source(patched, "k.cu", MARK, text)
        (project / "k.cu").write_text(text + KERNEL)
        options = "host_code: drop" if "without" in reader else ""
        (project / "kernels.yaml").write_text(MANIFEST.format(options=options))
        (project / "new").mkdir()
        shutil.copy(project / "k.cu", project / "new")
        sys.stdout.write(json.dumps([name, *outcome(reader, project, patched)]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    _, reader, store, folder, budget, *names = sys.argv
    computed._BUDGET = int(budget)
    assert computed._Search((), "", False, {}, {})._left == int(budget)
    with pytest.MonkeyPatch.context() as patch:
        compile_in_threads(patch)
        read_all(reader, Path(store).absolute(), Path(folder).absolute(), names)
