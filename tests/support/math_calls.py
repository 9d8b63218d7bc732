"""Every call of <math.h>'s functions with every combination of arithmetic types, for nvcc and NVRTC to be compared by.

``python tests/support/math_calls.py`` compares all of them, where nvcc is on the PATH, and writes the golden file anew.
"""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import groupby, product
from pathlib import Path
from typing import NamedTuple

from hatch_cuda_kernels import compile_to_ptx

GOLDEN = Path(__file__).parents[1] / "golden" / "math_types.txt"
TYPES = (
    "float", "double", "long double", "int", "unsigned", "long", "unsigned long", "long long", "unsigned long long",
    "short", "unsigned short", "char", "signed char", "unsigned char", "bool", "wchar_t", "char16_t",
)  # fmt: skip
#: In the golden file, a call's type is one of these; a dot where no function takes the arguments.
LETTERS = dict(zip("fdeijlmxystcahbwu", TYPES, strict=True))
#: For three arguments, and for the machine code of two.
SOME = ("float", "double", "long double", "int", "unsigned long", "bool")
NAMES = {
    1: """acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor lgamma log log10 log1p
        log2 logb nearbyint rint round sin sinh sqrt tan tanh tgamma trunc ilogb llrint llround lrint lround abs
        isfinite isinf isnan isnormal signbit fpclassify""",
    2: """atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder isgreater isgreaterequal isless islessequal
        islessgreater isunordered ldexp scalbn scalbln max min""",
}
#: Names of C's, which nvcc has in no namespace.
GLOBAL = {1: "acosf fabsf sqrtf expf labs llabs", 2: "powf atan2f fmaxf"}
INCLUDES = "#include <algorithm>\n#include <cmath>\n#include <cstdlib>\n"


class Call(NamedTuple):
    """A function with the types of its arguments."""

    function: str
    arguments: tuple[str, ...]


def calls() -> list[Call]:
    """Return all calls, those of one function with as many arguments behind each other."""
    found = []
    for space in ("std::", "::"):
        for count, names in NAMES.items():
            known = f"{names} {GLOBAL[count]}" if space == "::" else names
            found += [Call(space + name, types) for name in known.split() for types in product(TYPES, repeat=count)]
        found += [Call(space + name, types) for name in ("fma", "hypot") for types in product(SOME, SOME, SOME)]
        found += [Call(f"{space}frexp", (type_, "int*")) for type_ in TYPES]
        found += [Call(f"{space}modf", types) for types in product(TYPES, ("float*", "double*", "long double*"))]
        found += [Call(f"{space}remquo", (*types, "int*")) for types in product(SOME, SOME)]
    return found


def _grouped() -> list[tuple[str, list[Call]]]:
    """Return the calls of each function with as many arguments, as the golden file has them."""
    groups = groupby(calls(), lambda call: (call.function, len(call.arguments)))
    return [(f"{function}/{count}", [*found]) for (function, count), found in groups]


def types_source() -> str:
    """Return a source in whose PTX the type of every call stands, as a letter in a table of its function's."""
    text = [
        INCLUDES,
        "template <class T> struct letter { static constexpr char v = '?'; };",
        "struct none {};",
        "template <> struct letter<none> { static constexpr char v = '.'; };",
        *(
            f"template <> struct letter<{name}> {{ static constexpr char v = '{of}'; }};"
            for of, name in LETTERS.items()
        ),
        "template <class T> __host__ __device__ T&& value();",
    ]
    groups = _grouped()
    for number, (name, group) in enumerate(groups):
        function = name.partition("/")[0]
        found = (f"letter<decltype(take{number}<{', '.join(call.arguments)}>(0))>::v" for call in group)
        head = "template <class... A> __host__ __device__"
        text += [
            f"{head} auto take{number}(int) -> decltype({function}(value<A>()...));",
            f"{head} none take{number}(...);",
            f'extern "C" __device__ const char types{number}[] = {{{", ".join(found)}}};',
        ]
    used = " + ".join(f"types{number}[i]" for number in range(len(groups)))
    return "\n".join([*text, f'extern "C" __global__ void use(int* y, int i) {{ *y = {used}; }}\n'])


def read_types(ptx: str) -> str:
    """Return what such a source's PTX says, in the golden file's form."""
    tables = {int(found[1]): found[2] for found in re.finditer(r"types(\d+)\[\d+\] = \{(.*?)\};", ptx)}
    letters = ("".join(chr(int(each)) for each in tables[number].split(",")) for number in sorted(tables))
    names = [name for name, _ in _grouped()]
    return "".join(f"{name} {found}\n" for name, found in zip(names, letters, strict=True))


def kernel(number: int, call: Call) -> str:
    """Return a kernel that makes a call and keeps the result, on one line."""
    parameters = ", ".join(f"{type_} a{place}" for place, type_ in enumerate(call.arguments))
    given = ", ".join(f"a{place}" for place in range(len(call.arguments)))
    kept = f"auto v = {call.function}({given}); *static_cast<decltype(v)*>(y) = v;"
    return f'extern "C" __global__ void k{number}({parameters}, void* y) {{ {kept} }}\n'


def by_nvcc(source: str, folder: Path) -> tuple[str, str]:
    """Return nvcc's PTX of a source, or an empty text, and what it says."""
    (folder / "k.cu").write_text(source)
    command = ["nvcc", "-ptx", "-w", "-arch=sm_90", "-std=c++17", "-Xcudafe", "--error_limit=100000", "k.cu"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return (folder / "k.ptx").read_text() if done.returncode == 0 else "", done.stderr


def by_nvrtc(source: str) -> str:
    """Return this package's PTX of a source."""
    return compile_to_ptx(source, arch="sm_90", use_cache=False).image.decode()


def entries(ptx: str) -> dict[str, str]:
    """Return the body of each kernel, without what differs between equal ones."""
    plain = re.sub(r"\$L__BB\d+_", "$L__BB_", re.sub(r"//.*", "", ptx))
    found = re.finditer(r"\.visible \.entry (\w+)\((.*?)\n\}", plain, re.DOTALL)
    return {each[1]: " ".join(each[2].split()) for each in found}


def differences(chosen: list[Call], folder: Path) -> tuple[list[Call], int]:
    """Return the calls whose PTX differs from nvcc's, or that are refused here only, and how many nvcc takes."""
    taken, theirs = chosen, ""
    while taken and not theirs:  # some errors are told only where there are no others
        theirs, said = by_nvcc(INCLUDES + "".join(kernel(*each) for each in enumerate(taken)), folder)
        refused = {int(line) - INCLUDES.count("\n") - 1 for line in re.findall(r"\((\d+)\): error", said)}
        assert theirs or refused, said
        taken = [call for number, call in enumerate(taken) if number not in refused]
    ours, body = entries(by_nvrtc(INCLUDES + "".join(kernel(*each) for each in enumerate(taken)))), entries(theirs)
    return [call for number, call in enumerate(taken) if ours[f"k{number}"] != body[f"k{number}"]], len(taken)


def with_code() -> list[Call]:
    """Return the calls to compare machine code of: not all integers, and none for which nvcc makes no code.

    Its ``pow`` with one ``long double`` calls itself without an end.
    """
    few = {"float", "double", "long double", "int", "unsigned", "long", "unsigned long long", "short", "bool"}
    found = [call for call in calls() if few.issuperset(type_ for type_ in call.arguments if not type_.endswith("*"))]
    return [call for call in found if not (call.function.endswith(":pow") and "long double" in call.arguments)]


def main() -> None:
    """Compare all calls, print the counts, and write the golden file."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        theirs, said = by_nvcc(types_source(), folder)
        assert theirs, said
        GOLDEN.write_text(read_types(theirs))
        ours = read_types(by_nvrtc(types_source()))
        unlike = sum(one != other for one, other in zip(GOLDEN.read_text(), ours, strict=True))
        sys.stdout.write(f"{len(calls())} types, {unlike} differ\n")
        chosen, differ, taken = with_code(), list[Call](), 0
        for start in range(0, len(chosen), 300):
            some, count = differences(chosen[start : start + 300], folder)
            differ, taken = differ + some, taken + count
        sys.stdout.write(f"PTX of {len(chosen)} calls, {taken} taken by nvcc, {len(differ)} differ: {differ[:9]}\n")


if __name__ == "__main__":
    main()
