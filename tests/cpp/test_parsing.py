"""Declarations: what kind each is, what it is called, and where its head, values and body are."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.cpp import (
    Declaration,
    Edited,
    Editor,
    MacroTable,
    SourceFile,
    TextError,
    TranslationUnit,
    parse,
    unknown_macro,
)

UNKNOWN = {"ARCH": (unknown_macro("ARCH"),)}


def readings(text, **headers):
    """Return the readings of a text and the names of files inside its declarations."""
    files = {"k.cu": SourceFile("k.cu", text)}
    files |= {f"{name}.h": SourceFile(f"{name}.h", header) for name, header in headers.items()}
    unit = TranslationUnit.read(
        files, ["k.cu"], lambda _f, directive: [directive.operand.strip().strip('"')], MacroTable(UNKNOWN)
    )
    return parse(unit)


def declared(text, **headers):
    """Return kind and qualified name of each declaration that is no namespace, in order."""
    found, _ = readings(text, **headers)
    return [
        f"{one.kind} {'::'.join((*one.scope, *one.qualifier, one.name))}"
        for reading in found
        for one in reading
        if one.kind != "namespace"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int f(int a); void g() {}", ["function f", "function g"]),
        ("int a = 1, *b, c[3] = {1}; T d{2}; T e(3);", ["variable a", "variable d", "variable e"]),
        ("int (*p)(int); int (max)(int a); void (*s(int))(int);", ["variable p", "function max", "function s"]),
        ("namespace a::b { inline namespace c { int x; } }", ["variable a::b::c::x"]),
        ("struct S { int a : 3; S() : a{1} {} ~S(); operator bool() const; };", [
            "class S", "variable S::a", "function S::S", "function S::~S", "function S::operator bool"]),
        ("template <class T, int N = (1 < 2)> struct A; template <> struct A<int> : B<C{1}> {} a, *b;", [
            "forward A", "class A"]),
        ("template <class T> void A<T>::f() requires (N > 2) && C<T> {}", ["function A::f"]),
        ('bool operator<(S a, S b) { return a.x < b.x; } S operator""_s(unsigned long long v);', [
            "function operator<", 'function operator""_s']),
        ("auto f = [](int a) -> int { return a < 1; }; auto g() -> decltype(1) { return 1; }", [
            "variable f", "function g"]),
        ("enum class E : int { A, B = f(1, 2) }; enum F : int; enum { X };", ["enum E", "forward F", "enum "]),
        ("using T = int; typedef struct U { int a; } *V; typedef int (*W)(int); using std::x;", [
            "alias T", "class U", "variable U::a", "alias W", "using x"]),
        ("template void f<int>(int); extern template class A<int>; static_assert(1); S(int) -> S<int>;", [
            "instantiation f", "instantiation A", "assertion ", "guide S"]),
        ("struct P { int a; } __attribute__((packed)); class API Q final : R {};", [
            "class P", "variable P::a", "class Q"]),
        ("S::S(int) try : a(1) {} catch (...) {} int S::b = 1;", ["function S::S", "variable S::b"]),
        ("API(x) void f(); TEST(a, b) { g(); } int after;", ["function f", "unknown TEST", "variable after"]),
        ("std::map<int, std::function<void(int)>> m{{1, {}}}; constexpr bool a = b < c, d = e > f;", [
            "variable m", "variable a"]),
    ],
)  # fmt: skip
def test_declarations(text, expected):
    """Each is found once, with its scope, and nothing of bodies and values counts."""
    assert declared(text) == expected


def test_macros_that_hold_declarations_are_read_as_what_they_become():
    """Members, a whole function, a class that one macro opens and another closes."""
    text = (
        "#define FIELDS int a; int b;\n#define DEF(n) void n() {}\n#define OPEN(n) struct n {\n#define CLOSE };\n"
        "struct S { FIELDS int c; };\nDEF(f)\nOPEN(T) int d; CLOSE\nint e;\n"
    )
    expected = "class S, variable S::a, variable S::b, variable S::c, function f, class T, variable T::d, variable e"
    assert declared(text) == expected.split(", ")


def test_an_included_file_stands_in_the_scope_of_its_include():
    """In a namespace or a class its declarations are members; in a body, the file is part of that."""
    found, parts = readings(
        'namespace a {\n#include "x.h"\n}\nstruct S {\n#include "y.h"\n};\nvoid f() {\n#include "z.h"\n}\n',
        x="int x;", y="int y;", z="int z;",
    )  # fmt: skip
    names = ["::".join((*one.scope, one.name)) for reading in found for one in reading]
    assert {"a::x", "S::y"} <= {*names}
    assert parts == {"z.h"}


def test_braces_may_open_in_one_file_and_close_in_another():
    """What begins a namespace and what ends it are one text with what is between them."""
    text = '#include "begin.h"\nint x;\n#include "end.h"\nint y;\n'
    assert declared(text, begin="namespace a {\n", end="}\n") == ["variable a::x", "variable y"]


def test_branches_that_do_not_come_out_even_are_read_one_at_a_time():
    """Each way gives its own declarations; even ones are read together."""
    text = "#if ARCH\nvoid f(int a) {\n#else\nvoid f(long a) {\n#endif\n}\n#if ARCH\nint x;\n#else\nint y;\n#endif\n"
    found, _ = readings(text)
    assert [[one.name for one in reading] for reading in found] == [["f", "x", "y"], ["f", "x", "y"]]


@pytest.mark.parametrize("text", ["void f() {", "}", "int a(1;", "struct S { int a;"])
def test_brackets_without_a_counterpart_are_an_error_with_the_place(text):
    """The line is named."""
    with pytest.raises(TextError, match=r"k\.cu:3: "):
        readings(f"\n\n{text}")


def edited(text, word, new):
    """Return a text with each token that is a word replaced, in heads."""
    found, _ = readings(text)
    edits = []
    for reading in found:
        editor = Editor(reading.stream)
        for declaration in reading:
            for token in declaration.tokens:
                if token.text == word:
                    editor.replace([token], "mark", new)
        edits += [edit for _, _, edit in editor.grouped()]
    return Edited(SourceFile("k.cu", text), edits)


def test_an_edit_inside_a_macro_replaces_its_use_by_what_it_becomes():
    """The definition stays, and so does every other use."""
    text = "#define HD __host__ inline\nHD int f();\n#define S(x) #x\nint g(HD int);\n"
    assert edited(text, "__host__", "").text.split("\n")[1] == "inline int f();"


def test_edits_keep_lines_and_directives():
    """A place of the new text is found in the original again."""
    text = "int f() {\n#define N 1\n  return 1;\n}\nint last;\n"
    found, _ = readings(text)
    (reading,) = found
    editor = Editor(reading.stream)
    function = reading.declarations[0]
    editor.replace(function.tokens[function.body[0] : function.body[1] + 1], "body", ";")
    new = Edited(SourceFile("k.cu", text), [edit for _, _, edit in editor.grouped()])
    assert new.text == "int f() ;\n#define N 1\n  \n\nint last;\n"
    assert text[new.original(5, 4) :] == "last;\n"


def _of_header(header, text, *others):
    """Return how a header is read for a source."""
    files = {one.name: one for one in (header, SourceFile("k.cu", text), *others)}
    unit = TranslationUnit.read(files, ["k.cu"], lambda _file, directive: [directive.header], MacroTable({}))
    return next(reading for reading in parse(unit)[0] if reading.stream.file is header)


def test_a_header_is_read_once_for_sources_that_read_it_alike():
    """A macro that it uses, or that ``##`` makes of its words, makes it another text; others do not."""
    header = SourceFile("a.h", "int X;\n")
    first = _of_header(header, '#define X x\n#include "a.h"\n')
    assert _of_header(header, '#define Y y\n#define X x\n#include "a.h"\n') is not first  # this X stands elsewhere
    assert _of_header(header, '#define X x\n#include "a.h"\nint Y;\n') is first
    assert [one.name for one in _of_header(header, '#define X z\n#include "a.h"\n')] == ["z"]
    made = SourceFile("a.h", "#define JOIN(a) a##1\nint JOIN(v);\n")
    assert [one.name for one in _of_header(made, '#include "a.h"\n')] == ["v1"]
    assert [one.name for one in _of_header(made, '#define v1 w\n#include "a.h"\n')] == ["w"]


def test_a_header_that_makes_names_is_read_once_too():
    """What ``##`` makes counts only where it is a macro, also where the header's own includes were read before."""
    made = SourceFile("a.h", '#include "b.h"\n#define JOIN(a) a##_1\nint JOIN(v);\n')
    inner = SourceFile("b.h", "#pragma once\n")
    first = _of_header(made, '#include "a.h"\n', inner)
    assert _of_header(made, '#include "b.h"\n#define v_2 w\n#include "a.h"\n', inner) is first
    assert [one.name for one in _of_header(made, '#include "b.h"\n#define v_1 w\n#include "a.h"\n', inner)] == ["w"]


def test_a_header_is_read_by_the_branches_that_count():
    """A condition that a source decides is part of how a header is read."""
    header = SourceFile("a.h", "#ifdef A\nint x;\n#else\nint y;\n#endif\n")
    assert [one.name for one in _of_header(header, '#define A\n#include "a.h"\n')] == ["x"]
    assert [one.name for one in _of_header(header, '#include "a.h"\n')] == ["y"]


SIMPLE = """
#define MARK __forceinline__ __device__
#define EMPTY
#define BOTH(a) a a
#if UNKNOWN
#define MAYBE static
#else
#define MAYBE inline
#endif
using A = int;
using B = BOTH(long);
using C = decltype([] { return 1; }());
MARK int f(A a, const B& b = {}) { return a; }
MAYBE EMPTY unsigned long g() const noexcept { return 0; }
template <class T, int N = 3, class = X<Y<T>>> MARK static auto h(T (&t)[N]) { }
template <class T> MARK X<T> i(X<T> x, int y) { BOTH(;) }
template <> int j<int>(int) { return 1; }
struct S {
  using A = S; S() { } explicit S(int x) { } ~S() { }
  int k(int x) const { return x; } operator int() { return 1; }
};
int S::l(int x) { return x; }
int m(int x), n(int y);
API(x) void o() { }
NAME(p) { }
typedef int (q)(int x);
friend class r;
const int s(1), t(A());
extern "C" int u(int x) { return 1; }
template <class T> using D = X<T>;
static_assert(sizeof(int) == 4, "{");
template <class T> struct V { T a; static_assert(N < 3); struct W { int b; MARK int c(int x) { return x; } }; };
template <class T, class U> class V<X<T>, U> { MAYBE int d; EMPTY };
class E final { };
struct EMPTY F { }; struct NAMED { };
struct G : S, V<int> { }; struct __align__(8) H { int a; };
struct I { } i1; union J { int a; }; struct K { int a; } __attribute__((packed));
"""


def test_tokens_that_were_let_go_of_are_read_again_as_they_were(monkeypatch):
    """A declaration that keeps no tokens says what it says of itself with them."""
    (reading,), _ = readings(SIMPLE)
    slim = {one.name for one in reading if not holds_tokens(one)}
    assert {"A", "f", "g", "k", "D", "", "c"} <= slim
    monkeypatch.setattr(Declaration, "forget", lambda _: None)
    (whole,), _ = readings(SIMPLE)
    assert all(map(holds_tokens, whole))
    assert [*map(told, reading)] == [*map(told, whole)]


ALIKE = """
#define MARK __device__
#define LOG(x)
struct A { A(); A(int); MARK static int f(int x = 1) { return x; } using T = int[4]; API(x) A(); };
struct B { A(); B(int); MARK static int f(int x = 1) { struct L { }; return x + 1; } using T = int[4]; API(x) A(); };
struct C { LOG(1) using T = int[4]; LOG(2) using T = int[4]; void g() try { } catch (...) { } };
struct D { void g() try { } catch (int) { } catch (...) { } void h() const { } };
#undef MARK
#define MARK using U = int;
struct E { MARK static int f(int x = 1) { return x; } using T = int[4]; void h() const { {} } };
struct F { E(): x(1) { } int x; };
struct G { E(): x(1) { ; } G(): x(1) { } int x; };
"""


def test_a_declaration_of_the_tokens_of_another_is_read_as_it_is_alone(monkeypatch):
    """What tells constructors, what macros become and what stands behind a body make a difference."""
    (reading,), _ = readings(ALIKE)
    monkeypatch.setattr(Declaration, "forget", lambda _: None)  # then each is read by itself
    (alone,), _ = readings(ALIKE)
    assert [*map(told, reading)] == [*map(told, alone)]
    assert [one.scope for one in reading] == [one.scope for one in alone]
    assert sum(one.is_constructor for one in reading) == sum(one.is_constructor for one in alone) == 5


def holds_tokens(one):
    """Return whether nothing needs to be read again for a declaration's tokens."""
    try:
        return bool(Declaration.tokens.__get__(one))
    except AttributeError:
        return False


def told(one):
    """Return what a declaration says, first of what its tokens are not asked for."""
    members = [member.full_name() for member in one.members]
    plain = one.kind, one.name, one.qualifier, one.begin, one.body_texts, one.words, members
    tokens = [(token.text, token.at, token.nth, token.behind) for token in one.tokens]
    return plain, tokens, one.top, one.template, one.parameters, one.body, one.bases, one.has_tail
