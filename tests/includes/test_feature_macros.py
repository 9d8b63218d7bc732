"""What the standard headers say of themselves: sources choose by it, and nvcc's choice is to be NVRTC's."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from raw_nvrtc import compile_raw

import hatch_cuda_kernels
from hatch_cuda_kernels.compiler.toolchain.toolchain import find_toolchain, load_toolchain

STANDARD = Path(hatch_cuda_kernels.__file__).parent / "includes/standard"
FEATURES = (STANDARD / "hatch_cuda_kernels/features.h").read_text()
#: What a section is for, and what is in it.
SECTION = re.compile(
    r"^#if (defined _HATCH_(?:[^\n]*\\\n)*[^\n]*)\n(.*?)(?=^#if defined _HATCH_|\Z)", re.MULTILINE | re.DOTALL
)
SECTIONS = [(re.findall(r"_hatch_(\w+)", heads.lower()), body) for heads, body in SECTION.findall(FEATURES)]
HEADERS = sorted({header for headers, _ in SECTIONS for header in headers} - {"version"})
MACROS = sorted(set(re.findall(r"#define (__cpp_lib_\w+)", FEATURES)))
DEFINED = re.compile(r"^#define (__cpp_lib_\w+) (\w+)", re.MULTILINE)
#: The release of libstdc++ that the values are from; others know more, or fewer.
RELEASE = "12"


def cccl_version() -> int:
    """Return the version of the toolkit's CCCL, as 3001000; 0 where it has none."""
    places = (Path(path, "cuda/std/__cccl/version.h") for path in find_toolchain().include_dirs)
    found = (re.search(r"#define CCCL_VERSION (\d+)", path.read_text()) for path in places if path.is_file())
    return next((int(one[1]) for one in found if one), 0)


#: What would make libcu++ declare functions for the host.
LEFT_OUT = {"__cpp_lib_string_view"} if cccl_version() >= 3003000 else set()


def libstdcxx(header: str, std: str) -> dict[str, str]:
    """Return the macros that gcc's library defines once a header is included."""
    command = ["g++", f"-std=gnu++{std}", "-dM", "-E", "-x", "c++", "-"]
    found = subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True, check=True).stdout
    return dict(DEFINED.findall(found))


def gcc_release() -> str:
    """Return gcc's major release; empty where it is missing."""
    gcc = shutil.which("g++")
    return subprocess.run([gcc, "-dumpversion"], capture_output=True, text=True).stdout.strip() if gcc else ""


@pytest.mark.slow
@pytest.mark.skipif(gcc_release() != RELEASE, reason=f"needs g++ {RELEASE}")
@pytest.mark.parametrize("std", ["14", "17", "20"])
def test_each_header_says_what_libstdcxx_says(std):
    """Of the macros in its sections. Others may come from headers that only one of both includes."""
    wrong = {}
    folders = [f"-I{path}" for path in (STANDARD, *load_toolchain().include_dirs)]
    for header in HEADERS if std != "14" else sorted({*HEADERS} - {"atomic", "source_location", "variant"}):
        theirs = libstdcxx(header, std)
        values = {name: theirs.get(name) for name in section_of(header)}
        checks = [
            f"#if {f'{name} != {value}' if value else f'defined({name})'}\n#error {name}\n#endif\n"
            for name, value in values.items()
        ]
        text = f'#include <{header}>\n{"".join(checks)}extern "C" __global__ void k() {{}}\n'
        if found := re.findall(r"#error directive: (.*)", compile_raw(text, f"--std=c++{std}", *folders).log):
            wrong[header] = found
    assert wrong == {}


@pytest.mark.skipif(gcc_release() != RELEASE, reason=f"needs g++ {RELEASE}")
def test_what_nvcc_always_has():
    """Before any source, it includes <cmath> and others, and so has their macros where a source includes but one."""
    always = {name: value for header in ("cmath", "cstdlib", "new") for name, value in libstdcxx(header, "17").items()}
    checks = "".join(f"#if {name} != {value}\n#error {name}\n#endif\n" for name, value in always.items())
    text = f'#include <limits>\n{checks}extern "C" __global__ void k() {{}}\n'
    assert compile_raw(text, "--std=c++17", f"-I{STANDARD}").log == ""
    assert len(always) > 20


def section_of(header: str) -> list[str]:
    """Return the macros of a header's sections."""
    bodies = [body for headers, body in SECTIONS if header in headers]
    return [name for body in bodies for name in re.findall(r"#define (\w+)", body) if name not in LEFT_OUT]


def test_version_says_all():
    """Without the headers that have them."""
    checks = "".join(f"#ifndef {name}\n#error {name}\n#endif\n" for name in MACROS if name not in LEFT_OUT)
    folders = [f"-I{path}" for path in (STANDARD, *load_toolchain().include_dirs)]
    made = compile_raw(f'#include <version>\n{checks}extern "C" __global__ void k() {{}}\n', "--std=c++20", *folders)
    assert made.log == ""
    assert set(MACROS) > {"__cpp_lib_optional", "__cpp_lib_type_trait_variable_templates", "__cpp_lib_span"}
