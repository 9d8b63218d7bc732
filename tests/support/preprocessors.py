"""What real preprocessors include from a text, with every group of it compiled: g++, and NVIDIA's own front end.

A text is prepared so that both read all of it: each conditional, macro definition and #error becomes a #pragma, and
each header that the scan found becomes an empty file of its own. A header that the scan missed is then a file that the
preprocessor does not find; one that the scan found for nothing is never opened.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from hatch_cuda_kernels.cpp import SourceFile
from hatch_cuda_kernels.includes import find_includes

NEUTRAL = re.compile(
    r"(?m)^([ \t]*(?:#|%:)[ \t]*)"
    r"(?:if(?:n?def)?|el(?:if(?:n?def)?|se)|endif|error|warning|define|undef|line|ident|sccs|(?:un)?assert)\b"
)
IMPORT = re.compile(r"(?m)^([ \t]*(?:#|%:)[ \t]*)import\b")
OPENED = re.compile(r"[ .]*\S*?([fs][\d_]+\.h)\s*")
MISSED = re.compile(
    r"(f\d+\.h)(?::\d+:\d+: fatal|\(\d+\):(?: catastrophic)?) error: "
    r"(.*No such file.*|cannot open source file.*|expected a file name.*)"
)
GCC = ("-E", "-H", "-nostdinc", "-x", "c++", "-std=gnu++17", "-w", "-fmax-errors=0", "-o", "/dev/null", "-I.")
EDG = ("-E", "-H", "--c++17", "--gnu_version=120200", "-e", "99999999", "-w", "--gen_c_file_name", "/dev/null", "-I.")


def find_preprocessors():
    """Return what there is of g++ and cudafe++, by name, as command lines."""
    cudafe = shutil.which("cudafe++") or next(iter(sorted(Path("/usr/local").glob("cuda*/bin/cudafe++"))), None)
    commands = {"g++": (shutil.which("g++"), GCC), "cudafe++": (cudafe, EDG)}
    return {name: (str(path), *flags) for name, (path, flags) in commands.items() if path}


def disagreements(command, texts):
    """Yield (name, what) for each of the texts, by name, where a preprocessor opens another set of headers."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = {}
        for number, (name, text) in enumerate(texts.items()):
            body, stubs = _prepare(text, number)
            (Path(folder) / f"f{number}.h").write_text(f"// {number}\n{body}", encoding="utf-8")
            for stub in stubs:
                (Path(folder) / stub).write_text(f"// {stub}\n")
            prepared[f"f{number}.h"] = name, stubs
        waiting = list(prepared)
        while waiting:
            read, opened, missed = _run(command, folder, waiting)
            for header, what in missed:
                yield prepared[header][0], f"missed: {what}"
            last = waiting.index(read[-1]) if read else 0  # a file that is not found may end the run
            for header in waiting[: last + 1] if missed else waiting:
                name, stubs = prepared[header]
                if header not in read:
                    yield name, "not read"
                elif header not in dict(missed) and not opened.issuperset(stubs):
                    yield name, f"found for nothing: {sorted(set(stubs) - opened)}"
            waiting = waiting[last + 1 :] if missed else []


def _prepare(text, number):
    """Return a text that includes a file of its own for each header the scan found, and those files."""
    pieces, stubs, done = [], [], 0
    for directive in sorted(find_includes(SourceFile("", text))):
        if directive.is_probe or directive.problem:
            continue
        written = text[directive.start : directive.end]
        pieces.append(text[done : directive.start])
        done = directive.end
        if directive.spelling:
            stubs.append(f"s{number}_{len(stubs)}.h")
            pieces += f"<{stubs[-1]}", "\\\n" * written.count("\n"), ">"
        else:  # a macro would name it, and none is defined
            pieces.append(re.sub(r"include_next|include|import", "pragma", written.replace("\\\n", ""), count=1))
    body = "".join((*pieces, text[done:]))
    return IMPORT.sub(r"\1include", NEUTRAL.sub(r"\1pragma ", body)), stubs


def _run(command, folder, headers):
    """Return the headers that were read, the files they opened, and what they asked for but did not find."""
    Path(folder, "main.cpp").write_text("".join(f'#include "{header}"\n' for header in headers))
    run = subprocess.run([*command, "main.cpp"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder)
    log = run.stderr.decode(errors="replace")
    listed = [match[1] for line in log.splitlines() if (match := OPENED.fullmatch(line))]
    read = [name for name in dict.fromkeys(listed) if name.startswith("f")]
    return read, {name for name in listed if name.startswith("s")}, MISSED.findall(log)
