"""Spellings of name expressions, and lowered names of plain functions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels.names import VIRTUAL_ROOT, base_name, normalize_name, plain_name


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("saxpy", "saxpy"),
        ("  block_sum< float , 256 >", "block_sum<float,256>"),
        ("block_sum<unsigned   int,\n\t256>", "block_sum<unsigned int,256>"),
        ("ns :: k < const float * , v<int> >", "ns::k<const float*,v<int>>"),
        ("k<' ', 1'000>", "k<' ',1'000>"),
        ("k<1'000 , 2'000>", "k<1'000,2'000>"),
        ('k< "a  b" >', 'k<"a  b">'),
        ('k<R"x( )" )x", 1>', 'k<R"x( )" )x",1>'),
        ("k<v<v<int> > >", "k<v<v<int>>>"),
        ("k< ::ns::T, - 1>", "k<::ns::T,-1>"),
        ("& d_filter", "&d_filter"),
        *((f"k<int,{space}1>", f"k<int,{space}1>") for space in "\x1c\x1f\x85\xa0\u1680\u2003\u2028\u202f\u3000\ufeff"),
    ],
)
def test_equal_spellings_become_equal(text, normal):
    """Only spaces that keep words apart survive, and the result is its own normal form."""
    assert normalize_name(text) == normal
    assert normalize_name(normal) == normal


def test_nvrtc_takes_the_normal_form_for_the_same_kernel():
    """The normal form of an expression lowers to the same symbol as the expression."""
    source = "template <class T, int N> __global__ void k(T) {}\nnamespace ns { template <class T> struct V {}; }"
    for text in ("k < unsigned  int , 3 - 1 >", "k< ns :: V< const int * > , ' ' >", "k<float*, (1 > 0) >"):
        lowered = compile_raw(source, expressions=(text, normalize_name(text))).lowered
        assert len(set(lowered.values())) == 1


APART = [
    ("k<5 - -1>", "k<5 --1>"),
    ("k<5 + +1>", "k<5 ++1>"),
    ("k<1 & &x>", "k<1 &&x>"),
    ("k<1 < 2>", "k<1 <2>", "same"),
    ("k<(9 >> 1)>", "k<(9 > > 1)>"),
    ("k<1 << 2>", "k<1 < < 2>"),
    ("k<x ? a : :: b>", "k<x ? a ::: b>"),
    ("k<1 e1>", "k<1e1>"),
    ("k<1e +1>", "k<1e+1>"),
    ("k<L 'a'>", "k<L'a'>"),
    ("k<'a' _x>", "k<'a'_x>"),
    ("k<a - > b>", "k<a -> b>"),
    ("k<1 / *p>", "k<1 /*p>"),
    ("k< :T>", "k<:T>"),
    ("k<. ..>", "k<...>"),
]


@pytest.mark.parametrize("spellings", APART, ids=lambda spellings: spellings[0])
def test_other_tokens_are_another_name(spellings):
    """What a compiler reads as other tokens has another normal form: one may compile where the other does not."""
    first, second, *same = spellings
    assert (normalize_name(first) == normalize_name(second)) == bool(same)
    for text in (first, second):
        assert normalize_name(normalize_name(text)) == normalize_name(text)


@pytest.mark.parametrize(("first", "second"), [("k<5 - -1>", "k<5 --1>"), ("k<(9 >> 1)>", "k<(9 > > 1)>")])
def test_nvrtc_tells_them_apart(first, second):
    """The compiler takes the first spelling and refuses the other, so the images must not be one."""
    source = "template <int N> __global__ void k() {}"
    assert compile_raw(source, expressions=(normalize_name(first),)).lowered
    assert not compile_raw(source, expressions=(normalize_name(second),)).ok


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("saxpy", "saxpy"),
        ("ns::block_sum<float,256>", "ns::block_sum"),
        ("::k< ns::v<int> >", "k"),
        ("ns::outer<int>::inner<3>", "ns::outer::inner"),
        ("k<(2 > 1), '<'>", "k"),
        ("&ns::table<double>", "ns::table"),
        ("(void (*)(int*)) g", "g"),
    ],
)
def test_base_names(text, base):
    """The base name is what an author would call the kernel."""
    assert base_name(text) == base


def test_plain_functions_of_a_real_compile_are_read():
    """Kernels that are no templates get their qualified name back, also from namespaces without a name."""
    source = """
    struct S { int x; };
    template <class T> struct Q { T t; };
    __global__ void none() {}
    __global__ void plain(float*, const S*, unsigned long (*)(S), Q<int>) {}
    __global__ void k10_(int) {}
    namespace ns { __global__ void inner(int) {} inline namespace v1 { __global__ void deep(Q<S>*) {} } }
    namespace { __global__ void hidden(int) {} }
    static __global__ void quiet(int) {}
    namespace ns { template <class T> __global__ void instance(T) {} }
    extern "C" __global__ void c_name(int) {}
    """
    result = compile_raw(source, expressions=("hidden", "quiet", "ns::instance<float>"))
    assert result.ok, result.log
    found = {plain_name(symbol) for symbol in re.findall(r"\.entry (\w+)", result.ptx)}
    assert found == {None, "none", "plain", "k10_", "ns::inner", "ns::v1::deep", "hidden", "quiet"}
    assert plain_name(result.lowered["ns::instance<float>"]) is None
    assert plain_name("c_name") is None


@pytest.mark.parametrize(
    "lowered",
    ["", "_Z", "_ZN", "_ZNE", "_Z5pla", "_Z99k", "_Z3foo", "_ZN2ns5inner", "_ZN2ns7inner_cE", "_ZZ1kvE1s", "_ZN1SC1Ev"],
)
def test_other_symbols_have_no_plain_name(lowered):
    """Variables, members, locals and broken names are not guessed at."""
    assert plain_name(lowered) is None


def test_nobody_can_make_the_virtual_root():
    """A file below it would be one that NVRTC finds and nobody hashes; not even the superuser can put one there."""
    with pytest.raises(NotADirectoryError):
        Path(VIRTUAL_ROOT).mkdir(parents=True)
