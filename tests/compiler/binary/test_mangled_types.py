"""Types in lowered names: what is spelled, a compiler must read as the same type, and c++filt spells alike."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels.compiler.binary.mangling import SpelledType, argument_parameters, demangled, function_parameters

COUNT = 400
DECLARED = """
struct Plain { int x; };
namespace ns { struct Inner { double x; }; enum Kind { FEW = 1, MANY = -2 }; enum class Byte : unsigned char { NONE };
    namespace deep { struct Plain { char x; }; } template <class T, class... More> struct Pack { int x; }; }
template <class T, int N> struct Span { int x; };
template <bool B, unsigned long long N, ns::Kind K> struct Flags { int x; };
struct Outer { struct Nested { int x; }; template <class T> struct Of { int x; }; };
namespace asks { template <class T> __global__ void type(); }
template <class T> struct Is { using type = T; };
"""
SIMPLE = (
    *("bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long"),
    *("unsigned long", "long long", "unsigned long long", "float", "double", "Plain", "ns::Inner", "ns::Kind"),
    *("ns::Byte", "ns::deep::Plain", "Outer::Nested"),
)


def made_type(draw, depth=3):
    """Return a random type in the one spelling that is expected of it."""
    kind = draw.choice(
        ["simple", "pointer", "pointer", "const", "template", "function", "array"] if depth else ["simple"]
    )
    if kind == "pointer":
        return made_type(draw, depth - 1).reference("*")
    if kind == "const":
        inner = made_type(draw, depth - 1)
        is_const = inner.is_open or "const" in (inner.before[:6], inner.before[-5:])
        return inner if is_const or inner.before.startswith("const") else inner.qualified("const")
    if kind == "template":
        return SpelledType(made_template(draw, depth))
    if kind == "function":
        result = draw.choice(["void", "int", "ns::Inner*"])
        taken = ", ".join(str(value_type(draw, depth - 1)) for _ in range(draw.randrange(3)))
        return SpelledType(result, f"({taken})", is_open=True).reference("*")
    if kind == "array":
        element = value_type(draw, depth - 1)
        if not element.after:
            return SpelledType(element.before, f"[{draw.randrange(1, 99)}]", is_open=True).reference("*")
    return SpelledType(draw.choice(SIMPLE))


def value_type(draw, depth):
    """Return a random type without ``const`` of its own, which a function's parameter does not keep."""
    found = made_type(draw, depth)
    while found.before.endswith(" const") or (
        found.before.startswith("const ") and not found.before.endswith(("*", "&"))
    ):
        found = made_type(draw, depth)
    return found


def made_template(draw, depth):
    """Return a random specialisation."""
    one, other = (str(made_type(draw, depth - 1)) for _ in range(2))
    return draw.choice(
        [
            f"Span<{one}, {draw.choice(['-7', '0', '256'])}>",
            f"ns::Pack<{one}>",
            f"ns::Pack<{one}, {other}, {one}>",
            f"Flags<{draw.choice(['true', 'false'])}, {draw.randrange(9)}ull, (ns::Kind){draw.choice(['1', '-2'])}>",
            f"Outer::Of<{one}>",
        ]
    )


@pytest.fixture(scope="module")
def asked():
    """Return the lowered name of each list of random types, by how these are spelled."""
    draw = random.Random(20261122)
    lists = [tuple(str(value_type(draw, 3)) for _ in range(draw.randrange(1, 6))) for _ in range(COUNT)]
    spelled = [", ".join(f"typename Is<{text}>::type" for text in types) for types in lists]
    expressions = tuple(f"asks::type<void (*)({text.replace('typename ', '')})>" for text in spelled)
    done = compile_raw(DECLARED, expressions=expressions)
    assert done.ok, done.log
    return {types: done.lowered[expression] for types, expression in zip(lists, expressions, strict=True)}


def test_a_compiler_reads_what_is_spelled(asked):
    """From text to type, to lowered name, and back to the same text."""
    found = {types: argument_parameters(lowered) for types, lowered in asked.items()}
    assert found == {types: types for types in asked}


def test_cxxfilt_spells_the_same(asked, monkeypatch):
    """But for ``const``, which it always puts behind, and older ones for a space."""
    if shutil.which("c++filt") is None:
        pytest.skip("c++filt is not installed")
    names = [*asked.values()]
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    monkeypatch.setattr(SpelledType, "qualified", lambda self, words: self._replace(before=f"{self.before} {words}"))
    expected = [line.removeprefix("void ").replace(" >", ">") for line in done.stdout.splitlines()]
    assert [demangled(name) for name in names] == expected


OWN = {
    "_Z4fillPfi": ("float*", "int"),
    "_Z4fillv": (),
    "_ZN2ns4fillIfEEvPT_PKS1_N3LibIS1_E1XE": ("float*", "const float*", "Lib<float>::X"),
    "_Z4fillIfEvN4WideIT_E4typeE": ("Wide<float>::type",),
    "_Z3sumN4cuda3std3__47complexIfEEPS3_": ("cuda::std::complex<float>", "cuda::std::complex<float>*"),
    "_Z3sumN6thrust23THRUST_300001_SM_900_NS7complexIdEE": ("thrust::complex<double>",),
    "_Z1kZ1gvEUlfE_": ("g()::{lambda(float)#1}",),
    "saxpy": None,
    "_Z3bar": None,
    "_Z3barDv4_f": None,
}


@pytest.mark.parametrize("lowered", OWN)
def test_types_of_a_functions_own_name(lowered):
    """Namespaces that only say a library's version are left out; what is not read is None."""
    assert function_parameters(lowered) == OWN[lowered]
