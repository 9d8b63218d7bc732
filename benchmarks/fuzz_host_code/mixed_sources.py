"""Random sources that mix host and device code, of a grammar that most compilers take.

A source is a few pieces of C++, each with expressions that device code can see: sizes, offsets, the overload that is
found, values. Kernels write these to memory. Every name ends in the source's number, so that many fit in one compile.
"""

# ruff: noqa: E501, Q003 - a line is a piece of C++ with what is seen of it
# fmt: off

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spelling import respelled

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MixedSource", "mixed_source"]


#: A field that has an offset.
_PLAIN_FIELD = re.compile(r"(?:alignas\(.*\) )?[\w: ]+[* ](m\w+)(?:\[.*\])?;\Z")


@dataclass(frozen=True, slots=True)
class MixedSource:
    """Files by path, of which ``k.cu`` includes the others, and the names of the kernels."""

    number: int
    files: dict[str, str]
    pieces: tuple[str, ...]


@dataclass
class Piece:
    """Declarations, and what device code can see of them; ``@`` stands before names for their scope."""

    text: str
    seen: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    is_movable: bool = True
    """Whether it may stand in a namespace and in the text of a macro."""


def mixed_source(seed: int, number: int, *, modern: bool = False, size: int = 0) -> MixedSource:
    """Return a source, the same for the same arguments; ``modern`` is C++20."""
    return _Writer(seed, number, modern=modern).source(size)


class _Writer:
    def __init__(self, seed: int, number: int, *, modern: bool) -> None:
        self._random = random.Random(f"{seed}:{number}")
        self._number = number
        self._modern = modern
        self._count = 0
        self._files: dict[str, str] = {}
        self._lead: list[str] = []
        self._macros: dict[str, str] = {}
        self._types: list[str] = ["int", "char", "short", "double", "long long", "float", "unsigned"]
        self._constants: list[str] = ["2", "3", "5"]

    # --- parts that all pieces use

    def name(self, begin: str) -> str:
        self._count += 1
        return f"{begin}{self._count}_{self._number}"

    def one(self, *among: str) -> str:
        return self._random.choice(among)

    def chance(self, of: float) -> bool:
        return self._random.random() < of

    def maybe(self, text: str, of: float = 0.5) -> str:
        return text if self.chance(of) else ""

    def some(self, texts: list[str], least: int = 0) -> list[str]:
        count = self._random.randint(least, len(texts))
        return [text for _, text in sorted(self._random.sample([*enumerate(texts)], count))]

    def shuffled(self, texts: list[str]) -> list[str]:
        return self._random.sample(texts, len(texts))

    def number(self) -> str:
        return self.one("1", "2", "3", "7", "0x10", "1'0", "(2 + 1)", "sizeof(int)", "'a'", "5u")

    def macro(self, begin: str, text: str, of: float = 0.4) -> str:
        """Return some text, or a macro for it."""
        if not self.chance(of):
            return text
        key = f"{begin} {text}"
        if key not in self._macros or self.chance(0.2):
            name = self._macros[key] = self.name(begin)
            if self.chance(0.2):
                other = self.name(begin)
                self._lead.append(f"#define {other} {text}")
                text = other
            if self.chance(0.1):
                self._lead.append(f"#if __has_include(<vector>)\n#define {name} {text}\n#else\n#define {name}\n#endif")
            elif self.chance(0.15):
                self._lead.append(f"#if defined(__CUDACC__)\n#define {name} {text}\n#else\n#define {name}\n#endif")
            else:
                self._lead.append(f"#define {name} {text}")
        return self._macros[key]

    def device(self) -> str:
        """Return a mark of device code."""
        return self.one(
            "__device__",
            "__device__",
            "__host__ __device__",
            "__device__ __host__",
            self.macro("DEV", "__device__", 1),
            self.macro("HD", "__host__ __device__", 1),
            self.macro("INL", "__device__ __forceinline__", 1),
            "__attribute__((device))",
            "__attribute__((__device__))",
            "inline __device__",
            "__device__ inline",
            "__attribute__((host)) __attribute__((device))",
        )

    def host(self) -> str:
        """Return what may stand before a function of the host."""
        return self.one(
            "",
            "",
            "",
            "",
            "inline",
            "__host__",
            "__host__ inline",
            self.macro("HOST", "__host__", 1),
            self.macro("API", '__attribute__((visibility("default")))', 1),
            self.macro("NOTHING", "", 1),
            "__attribute__((host))",
            "__attribute__((unused))",
            "[[maybe_unused]]",
            "__attribute__((noinline))",
        )

    def linkage(self) -> str:
        return self.one("", "", "", "static ", "inline ", "static inline ", "extern ")

    def type(self) -> str:
        return self.one(*self._types)

    def constant(self) -> str:
        return self.one(*self._constants)

    def comment(self) -> str:
        return self.one(
            "// it's",
            '/* " */',
            "/* } */",
            "// {",
            "/* __device__ */",
            "// \\\n__device__ hidden",
            "/* #if 0 */",
            "/**/",
            "/* // */",
            "",
            "",
            "",
        )

    def statements(self) -> str:
        """Return what only a host runs."""
        local = self.name("l")
        return " ".join(
            self.some(
                self.shuffled(
                    [
                        f'const char* {local}s = "}} \' // {{ __device__"; (void){local}s;',
                        "if (0) throw 1;",
                        "try { if (0) throw 2; } catch (int) { } catch (...) { throw; }",
                        f"auto {local}f = [&](int x) {{ return x + 1; }}; {local}f(1);",
                        f"struct {local}T {{ int a; int f() {{ return a; }} }} {local}v = {{1}}; {local}v.f();",
                        f"char {local}c = '\"', {local}d = '\\''; (void){local}c; (void){local}d;",
                        f"long {local}n = 1'000'000; (void){local}n;",
                        f'const char* {local}r = R"x(}} " )" #if {{)x"; (void){local}r;',
                        f"static int {local}k = 0; ++{local}k;",
                        f"int {local}a<:3:> = <% 1, 2, 3 %>; (void){local}a;",
                        "for (int i = 0; i < 3; ++i) switch (i) { case 1: break; default: continue; }",
                        f"int* {local}p = new int[3]; delete[] {local}p;",
                        "\n#if 0\n}} { ' \n#endif\n",
                        f"\n#ifdef __CUDA_ARCH__\nint {local}x = 1;\n#else\nint {local}x = 2;\n#endif\n(void){local}x;",
                        f"goto {local}end; {local}end: ;",
                        "asm volatile(\"nop\");",
                        "\n#pragma unroll\nfor (int i = 0; i < 3; ++i) { }\n",
                        f"void* {local}q = 0; cudaMalloc(&{local}q, 3);",
                        "do { if (sizeof(int) > 3) break; } while (0);",
                    ]
                )[:4]
            )
        )

    def body(self, value: str = "") -> str:
        """Return the body of a function of the host."""
        result = f"return {value};" if value else ""
        return f"{{ {self.comment()}\n{self.statements()} {result} }}"

    # --- classes

    def aligned(self) -> str:
        return self.one("8", "16", "32", "2 * 8", "sizeof(double)")

    def attribute(self) -> str:
        """Return an attribute that changes a layout."""
        return self.one(
            self.macro("PACKED", "__attribute__((packed))"),
            self.macro("PACKED", "__attribute__((__packed__))"),
            f"__attribute__((aligned({self.aligned()})))",
            self.macro("ALIGNED", f"__attribute__((aligned({self.aligned()})))"),
            self.macro("BOTH", "__attribute__((packed, aligned(2)))"),
            f"alignas({self.aligned()})",
            f"__align__({self.aligned()})",
        )

    def fields(self, count: int) -> list[str]:
        """Return members that are data."""
        found = []
        for _ in range(count):
            name = self.name("m")
            found.append(
                self.one(
                    f"{self.type()} {name};",
                    f"{self.type()} {name};",
                    f"{self.type()} {name}, {name}b;",
                    f"{self.type()} {name}[{self.constant()}];",
                    f"{self.type()}* {name};",
                    f"int {name} : 3;",
                    f"unsigned {name} : 5, {name}b : 7;",
                    f"char {name}c; long long : 0; char {name}d;",
                    f"alignas({self.aligned()}) {self.type()} {name};",
                    f"int {name} __attribute__((aligned(16)));",
                    f"int {name} = {self.number()};",
                    f"int {name}{{{self.number()}}};",
                    f"int (*{name})(int, char);",
                    f"int (&{name})[3];" if self.chance(0.05) else f"int ({name})[3];",
                    f"union {{ int {name}; double {name}d; }};",
                    f"struct {{ char {name}x; int {name}y; }} {name};",
                    f"union {name}U {{ char c[{self.constant()}]; int i; }} {name};",
                    f"enum {name}E {{ {name}A, {name}B = 4 }} {name};",
                    f"{self.type()} const {name} = {{}};",
                    f"mutable {self.type()} {name};",
                    f"volatile int {name};",
                )
            )
        return found

    def host_members(self, owner: str) -> list[str]:
        """Return members that change no layout."""
        name = self.name("f")
        api = self.host()
        return self.some(
            self.shuffled(
                [
                    f"{api} int {name}() {self.body('1')}",
                    f"int {name}a() const noexcept {self.body('2')}",
                    f"static int {name}b(int x = {self.constant()}) {self.body('x')}",
                    f"static int {name}c(int);",
                    f"template <class T> T {name}d(T x) {self.body('x')}",
                    f"friend int {name}e({owner}*) {self.body('3')}",
                    f"friend bool operator==(const {owner}&, const {owner}&) {self.body('true')}",
                    f"friend struct {name}F; friend class {name}G;",
                    f"auto {name}g() -> int {self.body('4')}",
                    f"auto {name}h() {{ return {self.number()}; }}",
                    f"using {name}T = int; typedef char {name}U[3];",
                    f"struct {name}N {{ int a; int b() {self.body('5')} }};",
                    f"enum {{ {name}X = 3, {name}Y }};",
                    f"static const int {name}i = {self.number()};",
                    f"static constexpr int {name}j = {self.number()};",
                    f"static int {name}k;",
                    f"inline static int {name}l = {self.number()};",
                    f"inline static const double {name}m = 1.5;",
                    "static_assert(sizeof(int) == 4, \"}\");",
                    f"operator bool() const {self.body('true')}",
                    f"explicit operator char*() {self.body('0')}",
                    f"int operator()(int x) const {self.body('x')}",
                    f"int operator[](int x) {self.body('x')}",
                    f"{owner}& operator=(const {owner}&) = default;",
                    f"void* operator new(size_t n) {self.body('0')} void operator delete(void*) {{ }}",
                    f"{self.one('public', 'public', 'private')}: void {name}n() {{ }} public:",
                    f"void {name}o() & {{ }} void {name}o() && {{ }}",
                    f"__attribute__((noinline)) void {name}p() {self.body()}",
                    f"int {name}q(int a, int b = [] {{ return 3; }}()) {self.body('a + b')}",
                    f"template <class T, class = void> struct {name}R {{ T t; }}; template <class T> struct {name}R<T*> {{ }};",
                    f"\n#ifdef __CUDA_ARCH__\nvoid {name}s();\n#else\nvoid {name}s() {{ }}\n#endif\n",
                    f"void ({name}t)() {self.body()}",
                    f"int (*{name}u(int))[3] {self.body('0')}",
                    f"[[nodiscard]] int {name}v() {self.body('1')}",
                    f"{self.device()} int {name}w() {{ return {self.number()}; }}",
                    f"{self.device()} static int {name}x(int a) {{ return a + {self.number()}; }}",
                ]
            )[:5]
        )

    def constructors(self, owner: str) -> list[str]:
        return self.one(
            "",
            "",
            f"{owner}() = default;",
            f"{owner}() {{ }}",
            f"{owner}(int) {self.body()}",
            f"{owner}() {self.body()} ~{owner}() {self.body()}",
            f"explicit {owner}(int a, int b = 3) {{ }}",
            f"{owner}(const {owner}&) = delete;",
            f"~{owner}() = default;",
            f"{self.device()} {owner}() {{ }}",
            f"{owner}(); ~{owner}();",
        ).split("\n\n")

    def virtuals(self) -> list[str]:
        name = self.name("v")
        return self.some(
            [
                f"virtual int {name}() {self.body('1')}",
                f"virtual void {name}a() = 0;",
                f"{self.device()} virtual int {name}b() {{ return 2; }}",
                f"virtual int {name}c() const {self.body('3')}",
                f"virtual int {name}d();" if self.chance(0.2) else f"virtual void {name}d() {{ }}",
            ]
        )

    def structure(self) -> Piece:
        """A class with members of all kinds."""
        owner = self.name("S")
        fields = self.fields(self._random.randint(1, 4))
        members = [*fields, *self.host_members(owner), *self.constructors(owner)]
        base = self.one("", "", "", *(f" : {self.one('', 'public ', 'private ', 'virtual ')}{one}" for one in self._types if "S" in one))
        if self.chance(0.25):
            members += self.virtuals()
        members = self.shuffled(members)
        seen = [f"sizeof(@{owner})", f"alignof(@{owner})"]
        text = " ".join(members)
        lead = ""
        if "\n" not in text and self.chance(0.3):
            macro = self.name("MEMBERS")
            lead, text = f"#define {macro} {text}\n", macro
        elif self.chance(0.1):
            header = self.name("members") + ".inc"
            self._files[header] = text + "\n"
            text = f'\n#include "{header}"\n'
        before, behind = self.one("", "", self.attribute()), ""
        if not before and self.chance(0.4):
            behind = self.one(self.attribute(), "")
        if "align" in behind and "__attribute__" not in behind and not behind.startswith(("ALIGNED", "PACKED", "BOTH")):
            behind = "__attribute__((packed))"
        kind = self.one("struct", "struct", "struct", "class")
        head = f"{kind} {before} {owner}{self.maybe(' final', 0.05)}{base}"
        access = "public: " if kind == "class" else ""
        tail = f" {behind}"
        if self.chance(0.1):
            tail += f" {self.name('object')}" if not base and "(const" not in text and "&" not in text and "= 0" not in text else ""
        if self.chance(0.1):
            tail = f" {behind}; typedef {owner} {owner}T, *{owner}P"
        plain = [match[1] for match in map(_PLAIN_FIELD.match, fields) if match is not None and not base]
        seen += [f"__builtin_offsetof(@{owner}, {one})" for one in self.some(plain)]
        seen += self.some([f"__is_polymorphic(@{owner})", f"__is_empty(@{owner})", f"__is_aggregate(@{owner})", f"__is_trivially_copyable(@{owner})", f"__is_standard_layout(@{owner})", f"__is_abstract(@{owner})"])
        found = Piece(f"{lead}{head} {{ {access}{text} }}{tail};", seen, [owner] if " final" not in head and "= 0" not in text and "= delete" not in text and "&m" not in text and ".inc" not in text else [])
        found.is_movable = "\n#" not in f"\n{found.text}"
        return found

    def packed_pragma(self) -> Piece:
        owner, other = self.name("P"), self.name("P")
        fields, more = " ".join(self.fields(2)), " ".join(self.fields(2))
        size = self.one("1", "2", "4")
        begin, end = self.one(
            (f"\n#pragma pack(push, {size})\n", "\n#pragma pack(pop)\n"),
            (f"\n#pragma pack({size})\n", "\n#pragma pack()\n"),
            (f'_Pragma("pack(push, {size})")', '_Pragma("pack(pop)")'),
            (f"\n#pragma pack(push)\n#pragma pack({size})\n", "\n#pragma pack(pop)\n"),
        )
        host = f"{self.host()} int {self.name('f')}() {self.body('1')}"
        inside = self.one("", host, f"template <class T> struct {self.name('T')} {{ T t; {host} }};")
        text = f"{begin}struct {owner} {{ {fields} {self.maybe(host)} }}; {inside}{end}struct {other} {{ {more} }};"
        return Piece(text, [f"sizeof(@{owner})", f"sizeof(@{other})"], [owner] if "[3];" in text else [])

    def pragma_in_function(self) -> Piece:
        """A pragma that a function holds."""
        owner = self.name("S")
        pack = self.one("\n#pragma pack(push, 1)\n", "\n#pragma pack(1)\n")
        body = f"{{ {pack} struct L {{ char a; int b; }}; \n#pragma pack()\n return sizeof(L); }}"
        inner = self.one(
            f"int {self.name('f')}() {body} struct {owner} {{ char a; int b; }};",
            f"struct {owner} {{ int f() {body} char a; int b; }};",
        )
        return Piece(inner, [f"sizeof(@{owner})"], is_movable=False)

    def union(self) -> Piece:
        owner = self.name("U")
        fields = self.shuffled(
            [
                f"{self.type()} a;",
                f"int b[{self.constant()}];",
                "struct { char c; short d; };",
                f"struct N {{ int e; int f() {self.body('1')} }} n;",
                f"int g() {self.body('2')}",
                f"static const int h = {self.number()};",
                f"{owner}() {{ }} ~{owner}() {{ }}",
            ]
        )[:4]
        return Piece(f"union {self.maybe(self.attribute(), 0.3)} {owner} {{ {' '.join(fields)} }};", [f"sizeof(@{owner})"])

    def enumeration(self) -> Piece:
        owner, first = self.name("E"), self.name("A")
        value = self.one(self.constant(), self.number())
        kind = self.one("enum", "enum", "enum class", "enum struct")
        base = self.one("", "", " : char", " : unsigned short", " : long long")
        items = f"{first}, {first}b = {value}, {first}c{self.maybe(',')}"
        if self.chance(0.3):
            macro, each = self.name("ITEMS"), self.name("AS")
            lead = f"#define {macro}(X) X({first}) X({first}b) X({first}c)\n"
            lead += self.one(f"#define {each}(x) x,\n", f"#define {each}(x) x = sizeof(#x),\n")
            items = f"{macro}({each})"
        else:
            lead = ""
        scope = f"@{owner}::" if "enum " in kind else self.one("@", f"@{owner}::")
        return Piece(f"{lead}{kind} {owner}{base} {{ {items} }};", [f"sizeof(@{owner})", f"(int){scope}{first}c"], [owner] if not lead else [])

    # --- constants and variables

    def constants(self) -> Piece:
        name = self.name("n")
        value = self.one(self.constant(), self.number(), f"{self.constant()} + {self.number()}")
        way = self.one(
            f"const int {name} = {value};",
            f"static const int {name} = {value};",
            f"constexpr int {name} = {value};",
            f"static constexpr int {name} = {value};",
            f"inline constexpr int {name} = {value};",
            f"const int {name}{{{value}}};",
            f"const int {name}({value});",
            f"int const {name} = {value}, {name}b = {self.number()};",
            f"static int {name}c = {self.number()}; const int {name} = {value};",
            f"const unsigned {name} = {value}, {name}d[] = {{1, 2, 3}}, *{name}p = &{name};",
            f"const struct {name}S {{ int a; }} {name}s = {{1}}; const int {name} = {value};",
            f"enum {{ {name} = {value} }};",
            f"extern const int {name}; const int {name} = {value};",
            f"const {self.one('short', 'long', 'char', 'bool', 'auto')} {name} = {value};",
            f"const decltype(sizeof(0)) {name} = {value};",
            f"#define {name}V {value}\nconst int {name} = {name}V;",
            f"constexpr int {name}f(int x) {{ return x * 2; }} const int {name} = {name}f({value});",
            f"constexpr int {name}f(int x) {{ if (x > 100) throw 1; return x; }} constexpr int {name} = {name}f({value});",
            f"template <class T> constexpr int {name}t = sizeof(T); const int {name} = {name}t<char> + {value};",
        )
        return Piece(way, [f"@{name}", f"sizeof(char[@{name} + 1])"], constants=[name] if "bool" not in way else [])

    def floats(self) -> Piece:
        name = self.name("x")
        kind = self.one("float", "double", "const double", "float")
        value = self.one("1.5f", "2.5", "3", "1e3", "0x1p3", "-1.5", ".5f", "1.5 * 2")
        way = self.one(
            f"const {kind} {name} = {value};".replace("const const", "const"),
            f"static const {kind} {name} = {value};".replace("const const", "const"),
            f"constexpr {kind} {name} = {value};".replace("constexpr const", "constexpr"),
            f"struct {name}S {{ static constexpr float {name} = {value}; }}; constexpr float {name} = {name}S::{name};",
            f"const float {name} = {value}, {name}b = {value};",
        )
        return Piece(way, [f"(@{name} * 2)"])

    def host_variables(self) -> Piece:
        """Variables of the host, of which device code sees the types alone."""
        name = self.name("h")
        value = self.number()
        way = self.one(
            f"{self.linkage().replace('inline ', '')}int {name} = {value};" if self.chance(0.8) else f"int {name} = {value};",
            f"static int {name} = {value}, {name}b, *{name}c = &{name}, {name}d[3] = {{1, 2, 3}};",
            f"int {name}[] = {{1, 2, {value}}};",
            f"const char* {name} = \"}} {{ __device__ '\";",
            f"const char {name}[] = \"abc\\\"\" \"d\";",
            f"static const char* const {name}[] = {{\"a\", \"b;\", \"}}\"}};",
            f"int {name}f() {self.body('1')} int {name} = {name}f(), {name}g = {value}; const int {name}k = {value}, {name}h = {name}f();",
            f"thread_local int {name} = {value};",
            f"struct {name}S {{ int a, b; }} {name} = {{1, {value}}};",
            f"struct {{ int a; char b; }} {name};",
            f"int (*{name})(int) = 0;",
            f"int (*{name}[2])(int, char) = {{0, 0}};",
            f"int {name}a = 1; int& {name} = {name}a;",
            f"auto {name} = [](int x) {{ return x + 1; }};",
            f"const auto {name} = {value} + 1.5;",
            f"auto {name} = [a = 1, b = 2](auto x) mutable {{ struct L {{ int l; }}; return x + a++; }};",
            f"int {name} __attribute__((aligned(32))) = {value};",
            f"alignas(16) static int {name} = {value};",
            f"[[maybe_unused]] static int {name} = {value};",
            f"volatile int {name} = {value};",
            f"extern int {name}; int {name} = {value};",
            f"inline int {name} = {value};",
            f"struct {name}P {{ int a; char b; }}; {name}P {name}q() {self.body('{}')} auto [{name}x, {name}y] = {name}q(); int {name};",
            f"int {name} = sizeof(int) < 3 ? 1 : 2, {name}z(5);",
            f"template <class T> T {name}t = T(1); int {name} = 1;",
            f"int {name} = []() -> int {{ try {{ return 1; }} catch (...) {{ return 2; }} }}();",
        )
        way = way.replace("extern int h", "extern int h") if "= " not in way.partition(";")[0] or not way.startswith("extern") else way.removeprefix("extern ")
        return Piece(way, [f"sizeof(@{name})"])

    def device_variables(self) -> Piece:
        name = self.name("d")
        mark = self.one("__device__", "__constant__", "static __device__", "__device__ __constant__", self.macro("CONST", "__constant__"), "__device__ const")
        value = self.one(self.constant(), self.number())
        way, seen = self.one(
            (f"{mark} int {name} = {value};", f"@{name}"),
            (f"{mark} int {name}[] = {{1, 2, {value}}};", f"@{name}[p[0] & 1]"),
            (f"{mark} int {name}a = 1, {name} = {value};", f"@{name} + @{name}a"),
            (f"struct {name}S {{ int a; char b; int f() {self.body('1')} }}; {mark} {name}S {name} = {{{value}, 2}};", f"@{name}.a"),
            (f"{mark} float {name} = {value};", f"(int)@{name}"),
            (f"{mark} const char {name}[] = \"ab}}\";", f"@{name}[p[0] & 1]"),
        )
        return Piece(way, [seen])

    # --- functions

    def overloads(self) -> Piece:
        """Overloads of the host and the device; sizes tell which one is found, without a call."""
        name = self.name("f")
        kinds = self.shuffled(["int", "long", "double", "char", "unsigned", "float", "...", "const void*", "bool", "int, int = 2", "int (&)[3]"])
        text = []
        for at, kind in enumerate(kinds[: self._random.randint(2, 5)]):
            number = at + 2
            result = f"char (&{name}({kind}))[{number}]"
            text.append(
                self.one(
                    f"{self.maybe('__host__ ', 0.2)}{result};",
                    f"{self.maybe('inline ', 0.3)}{result} {{ static char x[{number}]; {self.statements()} return x; }}",
                    f"__device__ {result};",
                    f"__host__ __device__ {result};",
                    f"{result};",
                )
            )
        if self.chance(0.4):
            text.append(self.one(f"template <class T> char (&{name}(T))[17];", f"template <class T> char (&{name}(T*))[18] {{ static char x[18]; return x; }}"))
        arguments = self.one("1", "1.5", "'a'", "1u", "1.5f", "\"\"", "1L", "(int*)0", "true")
        return Piece(" ".join(self.shuffled(text)), [f"sizeof(@{name}({arguments}))"] if any(one.startswith(("template <class T> char (&" + name + "(T))",)) or "..." in one for one in text) else ["sizeof(char)"])

    def called_overloads(self) -> Piece:
        name = self.name("g")
        pairs = self.shuffled(["int", "long", "double", "const char*", "unsigned", "short*"])
        device = self._random.choice(pairs)
        value = {"int": "1", "long": "2L", "double": "1.5", "const char*": '"a"', "unsigned": "3u", "short*": "(short*)0"}[device]
        text = []
        for at, kind in enumerate(pairs[:5] if device in pairs[:5] else [*pairs[:4], device]):
            mark = self.device() if kind == device and self.chance(0.97) else self.host()
            own = self.body(str(at)) if "dev" not in mark.lower() and "HD" not in mark and "INL" not in mark else f"{{ return {at} + sizeof(x); }}"
            text.append(f"{mark} int {name}({kind} x) {own}")
            if self.chance(0.2):
                text.append(f"{mark} int {name}({kind} x);")
        return Piece(" ".join(text), [f"@{name}({value})"])

    def adl(self) -> Piece:
        """Functions that are found by their arguments."""
        space, other, name = self.name("a"), self.name("b"), self.name("f")
        inner = f"namespace {space} {{ struct S {{ int x; {self.maybe(f'friend char (&{name}h(S))[5] {{ static char x[5]; return x; }}')} }}; {self.host()} char {name}(S) {self.body('1')} {self.device()} int {name}(S, int a) {{ return a + {self.number()}; }} }}"
        outer = f"{self.host()} double {name}({space}::S, long) {self.body('1')} template <class T> {self.device()} int {name}(T, double) {{ return 9; }}"
        seen = [f"sizeof({name}(@{space}::S()))", f"{name}(@{space}::S(), 1)"]
        if f"{name}h" in inner:
            seen.append(f"sizeof({name}h(@{space}::S()))")
        using = f"namespace {other} {{ using {space}::{name}; using namespace {space}; typedef {space}::S T; }}"
        return Piece(f"{inner} {outer} {self.maybe(using)}", seen)

    def host_functions(self) -> Piece:
        """Functions of the host in odd spellings."""
        name = self.name("h")
        ways = [
            f"{self.host()} {self.one('', 'static ', 'inline ', '__forceinline__ ')}int {name}(int x) {self.body('x')}",
            f"int ({name}a)(int) {self.body('1')}",
            f"auto {name}b(int x) -> int {self.body('x')}",
            f"int (*{name}c(int))(char) {self.body('0')}",
            f"int {name}d(int x) noexcept(sizeof(int) == 4) {self.body('x')}",
            f"void {name}e() try {{ throw 1; }} catch (int) {{ }} catch (...) {{ {self.statements()} }}",
            f"template <class T, int N = {self.constant()}> T {name}f(T x) {self.body('x')}",
            f"int {name}g(int (*)(int), int = {self.number()}, ...);",
            f"typedef int {name}T(int); {name}T {name}h; int {name}h(int x) {self.body('x')}",
            f"int {name}i(int x) asm(\"{name}label\"); int {name}i(int x) {self.body('x')}",
            f"extern \"C\" int {name}j(int x) {self.body('x')}",
            f"extern \"C\" {{ int {name}k(int x) {self.body('x')} struct {name}K {{ int a; }}; }}",
            f"[[nodiscard]] int {name}l [[gnu::noinline]] (int x) {self.body('x')}",
            f"int {name}m(int a, int b = [] {{ return 1; }}(), int c = sizeof(struct {name}M*)) {self.body('a')}",
            f"int {name}n(struct {name}N* x) {self.body('1')}",
            f"decltype(auto) {name}o(int x) {{ return (x); }}",
            f"auto {name}p(int x) {{ if (x) return 1.5; return 2.5; }}",
            f"static int {name}q(void), {name}r(int); int {name}q() {self.body('1')} int {name}r(int x) {self.body('x')}",
            f"int main{name}(int argc, char** argv) {self.body('0')}",
            f"template <class... T> int {name}t(T&&... x) {{ int a[] = {{0, (x, 1)...}}; return a[0]; }}",
            f"__attribute__((constructor)) static void {name}u() {self.body()}",
            f"int {name}v(int x[], int (&y)[3]) {self.body('1')}",
            f"long long {name}w(long long x) {self.body('x')} long long {name}w(int x) {self.body('x')}",
            f"inline namespace {name}X {{ int {name}x() {self.body('1')} }}",
        ]
        chosen = self.shuffled(ways)[:3]
        seen = []
        for one in chosen:
            if f"{name}(int x)" in one:
                seen.append(f"sizeof(@{name}(1))")
            if f"{name}o(" in one:
                seen.append(f"sizeof(@{name}o(1))")
            if f"{name}p(" in one:
                seen.append(f"sizeof(@{name}p(1))")
            if f"{name}d(" in one:
                seen.append(f"noexcept(@{name}d(1))")
            if f"{name}w(" in one:
                seen.append(f"sizeof(decltype(@{name}w(1)))")
        return Piece(" ".join(chosen), seen, is_movable=True)

    def device_functions(self) -> Piece:
        """Functions of the device in odd spellings, and functions of the host beside them."""
        name = self.name("d")
        mark = self.device()
        inner = self.name("i")
        ways = [
            (f"{mark} int {name}(int x) {{ return x + {self.number()}; }}", f"@{name}(3)"),
            (f"{mark} int {name}(int x = {self.constant()});{self.device_again(mark, name)}", f"@{name}()"),
            (f"{mark} auto {name}(int x) -> int {{ return x * {self.number()}; }}", f"@{name}(3)"),
            (f"{mark} auto {name}(int x) {{ return x * 2LL; }}", f"@{name}(3) + sizeof(@{name}(1))"),
            (f"template <class T> {mark} T {name}(T x) {{ return x + sizeof(T); }}", f"@{name}('a') + @{name}(1)"),
            (f"template <class T> {mark} int {name}(T x) {{ return 1; }} template <> {mark} int {name}<int>(int x) {{ return 2; }}", f"@{name}(1) * 10 + @{name}(1L)"),
            (f"template <class T> {mark} int {name}(T x) {{ return 1; }} template <> int {name}<char>(char x) {self.body('2')}", f"@{name}(1L)"),
            (f"template <class T> int {name}(T* x) {self.body('1')} template <class T> {mark} int {name}(T x) {{ return 2; }}", f"@{name}(1L)"),
            (f"template <int N> {mark} int {name}() {{ return N; }}", f"@{name}<@N>()".replace("@N", self._random.choice(["3", "7"]))),
            (f"{mark} int {name}(int x) {{ struct L {{ int a; {self.maybe(mark)} int f() {{ return a; }} }} l = {{x}}; return l.a; }}", f"@{name}(3)"),
            (f"{mark} int {name}(int x) {{ const char s[] = \"}}{{\"; return s[x & 1]; }}", f"@{name}(3)"),
            (f"{mark} int ({name})(int x) {{ return x; }}", f"@{name}(3)"),
            (f"typedef int {name}T(int); {mark} {name}T {name}; {mark} int {name}(int x) {{ return x + 1; }}", f"@{name}(3)"),
            (f"{mark} int {name}(int x)\n#if __CUDA_ARCH__ >= 800\n{{ return x + 1; }}\n#else\n{self.body('x')}\n#endif\n", f"@{name}(3)"),
            (f"\n#if 1\n{mark} int {name}(int x) {{\n#else\nint {name}(int x, int y) {{\n#endif\nreturn x + 1; }}", f"@{name}(3)"),
            (f"{mark} int {name}(int x) {{\n#ifdef __CUDA_ARCH__\nreturn x;\n#else\nthrow x;\n#endif\n}}", f"@{name}(3)"),
            (f"int {inner}(int) {self.body('1')} {mark} int {name}(int x) {{ return sizeof({inner}(x)) + noexcept({inner}(x)); }}", f"@{name}(3)"),
            (f"{mark} int {name}(int x); {mark} int {name}(int x) {{ int a<:2:> = <%x, 1%>; return a[x & 1]; }}", f"@{name}(3)"),
            (f"{mark} __attribute__((noinline)) int {name}(int x) {{ return x + 1; }}", f"@{name}(3)"),
            (f"extern \"C\" {mark} int {name}(int x) {{ return x; }}", f"{name}(3)"),
            (f"{mark} int {name}(int x) {{ auto l = [=](int y) {{ return x + y; }}; return l(2); }}", f"@{name}(3)"),
            (f"{mark} int {name}(int x) {{ switch (x) {{ case 1: return 2; case {inner}c: default: break; }} return 3; }}", f"@{name}(3)"),
            (f"constexpr {mark} int {name}(int x) {{ return x + 1; }}", f"@{name}(3)"),
        ]
        text, seen = self._random.choice(ways)
        if f"{inner}c" in text:
            text = f"const int {inner}c = {self._random.randint(4, 9)}; {text}"
        return Piece(text, [seen])

    def device_again(self, mark: str, name: str) -> str:
        return f" {mark} int {name}(int x) {{ return x + 1; }}"

    def out_of_class(self) -> Piece:
        """Members that are defined behind their class."""
        owner = self.name("C")
        mark = self.device()
        again = self.one(mark, mark, mark)
        members = [
            ("int a();", f"int {owner}::a() {self.body('1')}", ""),
            (f"{mark} int b(int x) const;", f"{again} int {owner}::b(int x) const {{ return x + {self.number()}; }}", f"@{owner}().b(2)"),
            ("static int c;", f"int {owner}::c = {self.number()};", f"sizeof(@{owner}::c)"),
            (f"static const int d = {self.number()};", f"const int {owner}::d;", f"@{owner}::d"),
            ("template <class T> T e(T x);", f"template <class T> T {owner}::e(T x) {self.body('x')}", f"sizeof(@{owner}().e(1.5))"),
            ("struct N; N* n;", f"struct {owner}::N {{ char x[5]; int f(); }}; int {owner}::N::f() {self.body('1')}", f"sizeof(@{owner}::N)"),
            (f"{mark} static int g(int x);", f"{again} int {owner}::g(int x) {{ return x * 2; }}", f"@{owner}::g(4)"),
            ("operator int() const;", f"{owner}::operator int() const {self.body('1')}", f"sizeof(+@{owner}())"),
            (f"{owner}& operator+=(int);", f"{owner}& {owner}::operator+=(int) {self.body('*this')}", ""),
            ("void h() noexcept;", f"inline void {owner}::h() noexcept {self.body()}", f"noexcept(@{owner}().h())"),
            (f"explicit {owner}(double);  {owner}() = default;", f"{owner}::{owner}(double) : i{{1}}, j(2) {self.body()}", ""),
            ("static int k[3];", f"int {owner}::k[3] = {{1, 2, 3}};", f"sizeof(@{owner}::k)"),
            ("enum L : int;", f"enum {owner}::L : int {{ one, two }};", f"sizeof(@{owner}::L)"),
            ("static const double m; static const int o;", f"const double {owner}::m = 1.5; const int {owner}::o = 3;", ""),
        ]
        chosen = self._random.sample(members, 5)
        inner = " ".join(one[0] for one in chosen)
        outer = " ".join(one[1] for one in self._random.sample(chosen, 5))
        return Piece(f"struct {owner} {{ int i; char j; {inner} }}; {outer}", [f"sizeof(@{owner})", *(one[2] for one in chosen if one[2])])

    def class_templates(self) -> Piece:
        owner = self.name("T")
        mark = self.device()
        members = [
            (f"int a(T x) {self.body('1')}", "", ""),
            (f"{mark} int b(T x) const {{ return x + sizeof(T); }}", "", f"@{owner}<int>().b(2)"),
            (f"static const int c = sizeof(T) + {self.number()};", f"template <class T, int N> const int {owner}<T, N>::c;", f"@{owner}<char>::c"),
            ("static T d;", f"template <class T, int N> T {owner}<T, N>::d = T(1);", f"sizeof(@{owner}<double>::d)"),
            ("int e();", f"template <class T, int N> int {owner}<T, N>::e() {self.body('1')}", f"sizeof(@{owner}<int>().e())"),
            (f"{mark} int f();", f"template <class T, int N> {mark} int {owner}<T, N>::f() {{ return N; }}", f"@{owner}<int>().f()"),
            ("template <class U> U g(U x);", f"template <class T, int N> template <class U> U {owner}<T, N>::g(U x) {self.body('x')}", f"sizeof(@{owner}<int>().g('a'))"),
            (f"struct I {{ T x[N]; int h() {self.body('1')} }};", "", f"sizeof(@{owner}<short>::I)"),
            ("static constexpr T v[] = {1, 2, 3};", "", f"sizeof(@{owner}<int>::v)"),
            (f"friend int operator+({owner}, int) {self.body('1')}", "", f"sizeof(@{owner}<int>() + 1)"),
            ("typedef T type; enum { E = N };", "", f"@{owner}<int>::E + sizeof(typename @{owner}<char>::type)".replace("typename ", "")),
            (f"virtual int w() {self.body('1')}", "", ""),
        ]
        chosen = self._random.sample(members, 4)
        special = self.one(
            "",
            f"template <> struct {owner}<float> {{ char x[9]; int q() {self.body('1')} }};",
            f"template <class T> struct {owner}<T*, 1> {{ char x[7]; }};",
            f"template <int N> struct {owner}<float, N> {{ T_{self._number} x[N]; static const int c = 1; }};".replace(f"T_{self._number}", "short"),
            f"template struct {owner}<long, 2>;",
            f"extern template struct {owner}<long, 2>; template struct {owner}<long, 2>;",
        )
        text = f"template <class T, int N = {self.constant()}> struct {owner} {{ T i; {' '.join(one[0] for one in chosen)} }}; {' '.join(one[1] for one in chosen)} {special}"
        seen = [f"sizeof(@{owner}<double>)", *(one[2] for one in chosen if one[2])]
        if special:
            seen.append(f"sizeof(@{owner}<float>)")
        return Piece(text, seen)

    def detection(self) -> Piece:
        """What a class has is seen by a template."""
        owner, has = self.name("S"), self.name("has")
        member = self.one(
            f"int f(int) {self.body('1')}", f"int f(long = 2) {self.body('1')}", "void g();", f"{self.device()} int f(int);", "int f;",
            f"template <class T> char f(T) {self.body('1')}", f"private: int f(int) {self.body('1')}", f"static int f(int) {self.body('1')}",
        )
        text = f"template <class T> struct {has} {{ template <class U> static char (&t(decltype(U().f(1))*))[2]; template <class U> static char (&t(...))[3]; enum {{ value = sizeof(t<T>(0)) }}; }}; struct {owner} {{ int x; {member} }};"
        return Piece(text, [f"(int)@{has}<@{owner}>::value"])

    def conversions(self) -> Piece:
        a, b, f = self.name("A"), self.name("B"), self.name("f")
        operator = f"operator {a}() {self.body(a + '(1)')}"
        text = f"struct {a} {{ {self.maybe('__device__ ')}{self.maybe('explicit ', 0.3)}{a}(int){self.maybe(' noexcept')} {{ }} }}; struct {b} {{ {self.one('', operator, f'{b}(int) {{ }} {b}({a});', f'{b}(double) {self.body()}')} int x; }};"
        text += f" char (&{f}({a}))[2]; char (&{f}({b}))[3]; char (&{f}(...))[4]; template <class T> T&& {f}v();"
        return Piece(text, [f"sizeof(@{f}(@{f}v<@{a}>()))", f"sizeof(@{f}(@{f}v<@{b}>()))", f"sizeof(@{f}(@{f}v<int>()))" if "explicit" in text and f"{b}(int)" not in text else "1"])

    def x_macros(self) -> Piece:
        """One list, used several times."""
        items, name = self.name("ITEMS"), self.name("x")
        each = self.name("X")
        rows = " ".join(f"{each}({name}{at}, {self.one('int', 'char', 'double')}, {at})" for at in range(3))
        if self.chance(0.5):
            file = self.name("items") + ".def"
            self._files[file] = rows.replace(") ", ")\n") + f"\n#undef {each}\n"
            use = f'\n#include "{file}"\n'
            again = [use] * 3
            ends = [""] * 3
        else:
            self._lead.append(f"#define {items} {rows}")
            again, ends = [f" {items} "] * 3, [f"\n#undef {each}\n"] * 3
        mark = self.device()
        uses = self.shuffled(
            [
                (f"struct {name}S {{\n#define {each}(n, t, v) t n;\n{again[0]}{ends[0]}}};", f"sizeof(@{name}S)"),
                (f"enum {name}E {{\n#define {each}(n, t, v) {name}e##n = v + 3,\n{again[0]}{ends[0]}{name}end }};", f"@{name}end + @{name}e{name}1"),
                (f"\n#define {each}(n, t, v) int {name}h##n(t x) {{ return v; }}\n{again[0]}{ends[0]}", f"sizeof(@{name}h{name}1(1))"),
                (f"\n#define {each}(n, t, v) {mark} int {name}d##n(t x) {{ return x + v; }}\n{again[0]}{ends[0]}", f"@{name}d{name}2(1)"),
                (f"\n#define {each}(n, t, v) const int {name}c##n = v * 2; static t {name}s##n = v;\n{again[0]}{ends[0]}", f"@{name}c{name}2"),
                (f"const char* {name}names() {{ static const char* const a[] = {{\n#define {each}(n, t, v) #n,\n{again[0]}{ends[0]}0 }}; return a[0]; }}", "1"),
                (f"{mark} int {name}sum() {{ int s = 0;\n#define {each}(n, t, v) s += v;\n{again[0]}{ends[0]}return s; }}", f"@{name}sum()"),
            ]
        )[:3]
        return Piece("".join(one[0] for one in uses), [one[1] for one in uses], is_movable=False)

    def header_again(self) -> Piece:
        """A header that is read twice, with other macros."""
        file, kind, name = self.name("again") + ".h", self.name("KIND"), self.name("y")
        suffix = self.name("AS")
        mark = self.name("MARK")
        self._files[file] = f"struct {suffix}(S) {{ {kind} a; char b; {mark} int f() {{ return sizeof({kind}); }} }};\n{mark} int {suffix}(f)(int x) {{ return x + sizeof({kind}); }}\n{self.maybe(f'static {kind} {suffix}(v) = 1;')}\n"
        text = ""
        seen = []
        marks = self.shuffled(["", self.device(), "__host__"])[:2]
        for at, one in enumerate(marks):
            text += f'\n#define {kind} {self.one("int", "double", "char")}\n#define {mark} {one}\n#define {suffix}(x) {name}##x##{at}\n#include "{file}"\n#undef {kind}\n#undef {mark}\n#undef {suffix}\n'
            seen += [f"sizeof(@{name}S{at})", f"sizeof(@{name}f{at}(1))"]
            if "dev" in one.lower() or "HD" in one or "INL" in one:
                seen.append(f"@{name}f{at}(1)")
        return Piece(text, seen, is_movable=False)

    def branches(self) -> Piece:
        """Declarations that conditions split."""
        name, flag = self.name("b"), self.name("FLAG")
        condition = self.one(
            f"#ifdef {flag}", f"#ifndef {flag}", f"#if {flag} > 1", f"#if defined({flag}) && {flag} == 2", "#if defined(__CUDA_ARCH__)", "#ifdef __CUDACC__",
            "#ifdef __NVCC__", "#if __CUDA_ARCH__ >= 700", "#if defined __GNUC__ && !defined(__clang__)", "#if __cplusplus >= 201703L", "#if 0", "#if 1", "#if defined(_WIN32)",
            "#ifndef __CUDA_ARCH__", "#ifdef __INTEL_COMPILER", "#if __GNUC__ >= 5 && __has_include(<nothing>)", "#if __has_include(<vector>) && !defined(__NVCC__)", "#if __linux__", "#if defined(NDEBUG)", "#if __has_include(<vector>)", "#if 'a' == 97", "#if (2 || 1 / 0) && !(-1 > 0u) == 0",
        )
        define = self.one(f"#define {flag} 2\n", f"#define {flag}\n", "") if ">" not in condition and "==" not in condition else f"#define {flag} 2\n"
        other = f"#elif {self.one('1', '0', 'defined(__CUDACC__)')}\n" if self.chance(0.3) else ""
        kinds = self.one(
            (f"struct {name} {{ int a;\n{condition}\nchar b;\n#else\nlong c;\n#endif\nint f() {self.body('1')} }};", f"sizeof(@{name})"),
            (f"{condition}\nint {name}(int x)\n#else\nlong {name}(int x)\n#endif\n{self.body('1')}", f"sizeof(@{name}(1))"),
            (f"{condition}\nconst int {name} = 1;\n#else\nconst int {name} = 2;\n#endif\n", f"@{name}"),
            (f"{condition}\nstruct {name} {{ char a;\n#else\nstruct {name} {{ int b;\n#endif\nint c; }};", f"sizeof(@{name})"),
            (f"{self.device()}\n{condition}\nint\n#else\nlong\n#endif\n{name}(int x) {{ return x + 1; }}", f"@{name}(1) + sizeof(@{name}(1))"),
            (f"enum {{ {name}a,\n{condition}\n{name}b, {name}c,\n{other}#else\n{name}d,\n#endif\n{name} }};", f"@{name}"),
            (f"{condition}\n#define {name}T char\n#else\n#define {name}T double\n#endif\n{name}T {name}(int) {self.body('1')}", f"sizeof(@{name}(1))"),
            (f"{condition}\n{self.device()} int {name}(int x) {{ return 1; }}\n#else\n{self.device()} int {name}(long x) {{ return 2; }}\n#endif\n", f"@{name}(1)"),
            (f"int {name}h(int x) {{\n{condition}\nif (x) {{\n#else\nif (!x) {{\n#endif\nreturn 1; }} return 2; }} const int {name} = 4;", f"@{name}"),
            (f"{condition}\nint {name}h(int x) {{\n#else\nint {name}h(long x) {{\n#endif\nreturn 1; }} const int {name} = 4;", f"@{name} + sizeof(@{name}h(1))"),
            (f"{condition}\nnamespace {name}N {{\n#endif\nstruct {name} {{ int a; }};\n{condition}\n}} using namespace {name}N;\n#endif\n", f"sizeof(@{name})"),
        )
        return Piece(f"{define}{kinds[0]}", [kinds[1]], is_movable=False)

    def spanning(self) -> Piece:
        """Braces that one header opens and another one closes."""
        name = self.name("z")
        begin, end = self.name("begin") + ".h", self.name("end") + ".h"
        head = self.one(f"namespace {name}N {{", 'extern "C" {', f"namespace {name}N {{ namespace {{", "namespace {", f"inline namespace {name}N {{")
        prefix = f"@{name}N::" if head.startswith("namespace z") else "@"
        self._files[begin] = f"{head}\n"
        self._files[end] = "}" * head.count("{") + "\n"
        text = f'\n#include "{begin}"\nstruct {name} {{ int a; {"" if "extern" in head else self.maybe("int f() { return 1; }")} }};\nint {name}f(int) {self.body("1")}\n{self.device()} int {name}d(int x) {{ return x + 2; }}\n#include "{end}"\n'
        return Piece(text, [f"sizeof({prefix}{name})", f"{prefix}{name}d(1)", f"sizeof({prefix}{name}f(1))"], is_movable=False)

    def include_inside(self) -> Piece:
        """An include where no declaration may begin."""
        name, file = self.name("w"), self.name("inside") + ".inc"
        way = self._random.randrange(6)
        if way == 0:
            self._files[file] = "1, 2,\n3\n"
            return Piece(f'const int {name}[] = {{\n#include "{file}"\n}};', [f"sizeof(@{name})"], is_movable=False)
        if way == 1:
            self._files[file] = f"{name}a, {name}b,\n"
            return Piece(f'enum {name} {{\n#include "{file}"\n{name}c }};', [f"@{name}c"], is_movable=False)
        if way == 2:
            self._files[file] = f"char x; int f() {self.body('1')}\n{self.device()} int g() const {{ return 3; }}\n"
            return Piece(f'struct {name} {{ int a;\n#include "{file}"\n}};', [f"sizeof(@{name})", f"@{name}().g()"], is_movable=False)
        if way == 3:
            self._files[file] = f"return x + {self.number()};\n"
            return Piece(f'{self.device()} int {name}(int x) {{\n#include "{file}"\n}} int {name}h(int x) {{\n#include "{file}"\n}}', [f"@{name}(1)"], is_movable=False)
        if way == 4:
            self._files[file] = f"int {name}h(int x) {self.body('x')}\n{self.device()} int {name}d() {{ return 1; }}\n"
            return Piece(f'namespace {name} {{\n#include "{file}"\n}}', [f"@{name}::{name}d() + sizeof(@{name}::{name}h(1))"], is_movable=False)
        self._files[file] = f"int {name}(int x)\n"
        return Piece(f'\n#include "{file}"\n{self.body("x")}', [f"sizeof(@{name}(1))"], is_movable=False)

    def macro_declarations(self) -> Piece:
        """Macros whose text is declarations, whole or in part."""
        name, macro = self.name("q"), self.name("DECLARE")
        mark = self.device()
        way, seen = self.one(
            (f"#define {macro}(n, t) struct n {{ t a; char b; int f() {{ return sizeof(t); }} }}; int n##f(t) {{ return 1; }}\n{macro}({name}, double)", f"sizeof(@{name}) + sizeof(@{name}f(1))"),
            (f"#define {macro}(n) {mark} int n(int x) {{ return x + 1; }} int n(long x, int) {{ throw 1; }}\n{macro}({name})", f"@{name}(1)"),
            (f"#define {macro}(n) int n() {{\n{macro}({name}) return 3; }}", f"sizeof(@{name}())"),
            (f"#define {macro}_B {{\n#define {macro}_E }}\nint {name}() {macro}_B return 3; {macro}_E", f"sizeof(@{name}())"),
            (f"#define {macro}_B namespace {name} {{\n#define {macro}_E }}\n{macro}_B int f() {{ return 1; }} {mark} int g() {{ return 2; }} {macro}_E", f"@{name}::g()"),
            (f"#define {macro}(m) m int {name}(int x)\n{macro}({mark}) {{ return x; }}", f"@{name}(3)"),
            (f"#define {macro}(m, ...) m int {name}(int x) {{ __VA_ARGS__ }}\n{macro}({mark}, return x + 1;)\n#undef {macro}\n", f"@{name}(3)"),
            (f"#define {macro}(...) __VA_ARGS__\n{macro}(struct {name} {{ int a, b; int f() {self.oneline('1')} }};)", f"sizeof(@{name})"),
            (f"#define {macro}(c, ...) c(__VA_ARGS__)\n#define {macro}_2(n, v) int n(int x) {{ return v; }} const int n##c = v;\n{macro}({macro}_2, {name}, 4)", f"@{name}c"),
            (f"#define {macro} ;\nint {name}h() {{ return 1; }} const int {name} = 4 {macro}", f"@{name}"),
            (f"#define {macro}(x) x x##2;\ntypedef int {name}t; struct {name} {{ {macro}({name}t) int f() {{ return 1; }} }};", f"sizeof(@{name})"),
            (f"#define {macro} public:\nclass {name} {{ {macro} int a; int f() {{ return 1; }} {mark} int g() const {{ return 2; }} }};", f"@{name}().g()"),
            (f"#define {macro}(n) n(const n&) = delete; n& operator=(const n&) = delete\nstruct {name} {{ int a; {macro}({name}); int b; }};", f"sizeof(@{name})"),
            (f"#define {macro} virtual void a() {{ }} virtual int b() {{ return 1; }} int c, d;\nstruct {name} {{ char x; {macro} }};", f"sizeof(@{name})"),
            (f"#define {macro}() int {name}(int x) {{ return x; }} const int {name}n = 3;\n{macro}()", f"@{name}n"),
            (f"#define {macro} extern \"C\"\n{macro} {{ int {name}(int x) {{ return x; }} }} {macro} int {name}b(int x) {{ return x; }}", f"sizeof({name}(1))"),
            (f"#define {macro}(b) b\nint {name}h() {macro}({{ return 1; }}) {mark} int {name}() {macro}({{ return 2; }})", f"@{name}()"),
            (f"#define {macro}(t, n) t n; t get##n() {{ return n; }}\nstruct {name} {{ {macro}(int, a) {macro}(char, b) }};", f"sizeof(@{name})"),
            (f"#define {macro}(n) static int n = 1; static const int n##b = 2;\n{macro}({name})", f"@{name}b + sizeof(@{name})"),
            (f"#define {macro} 3\nint {name} = {macro}, {name}h[{macro}]; const int {name}c = {macro} + 1;", f"@{name}c + sizeof(@{name}h)"),
        )
        return Piece(way if not way.startswith("#") else f"\n{way}", [seen], is_movable=False)

    def oneline(self, value: str) -> str:
        return f"{{ const char* s = \"}}, {{\"; (void)s; return {value}; }}"

    def usings(self) -> Piece:
        name = self.name("u")
        mark = self.device()
        way, seen = self.one(
            (f"namespace {name}N {{ int f(int) {self.body('1')} {mark} int f(double x) {{ return 2; }} struct S {{ int a; }}; }} using {name}N::f; using {name}N::S;", "1"),
            (f"namespace {name}N {{ int {name}(int) {self.body('1')} {mark} int {name}(double x) {{ return 2; }} }} using {name}N::{name};", f"@{name}(1.5) + sizeof(@{name}(1))"),
            (f"namespace {name}N {{ int {name}h = 3; {mark} int {name}(int x) {{ return x; }} }} using namespace {name}N;", f"@{name}(1) + sizeof(@{name}h)"),
            (f"namespace {name}N::M {{ int {name}(int) {self.body('1')} }} namespace {name}A = {name}N::M;", f"sizeof(@{name}A::{name}(1))"),
            (f"struct {name}B {{ int f(int) {self.body('1')} {mark} int f(double) {{ return 2; }} protected: int x; }}; struct {name} : {name}B {{ using {name}B::f; using {name}B::x; char f(char*) {self.body('1')} }};", f"@{name}().f(1.5) + sizeof(@{name}().f((char*)0))"),
            (f"struct {name}B {{ {name}B(int) {self.body()} {name}B() = default; int x; }}; struct {name} : {name}B {{ using {name}B::{name}B; }};", f"sizeof(@{name})"),
            (f"namespace {name}M {{ int {name}(int) {self.body('1')} }} namespace {name}N {{ using {name}M::{name}; {mark} int {name}(double x) {{ return 2; }} }}", f"@{name}N::{name}(1.5)"),
            (f"using {name}F = int(int); {name}F {name}; int {name}(int x) {self.body('x')}", f"sizeof(@{name}(1))"),
            (f"template <class T> using {name}P = T*; {name}P<int> {name} = 0; {name}P<char> {name}f() {self.body('0')}", f"sizeof(*@{name}f())"),
            (f"typedef struct {{ int a; char b; }} {name}, *{name}P; typedef struct {name}T {{ int c[3]; }} {name}U;", f"sizeof(@{name}) + sizeof(@{name}U)"),
            (f"typedef struct {{ char a; int b; }} {self.one('__attribute__((packed))', '__attribute__((aligned(16)))')} {name};", f"sizeof(@{name})"),
        )
        return Piece(way, [seen])

    def guides(self) -> Piece:
        name = self.name("G")
        text = f"template <class T> struct {name} {{ T x; {self.maybe('__device__ ')}{name}(T a) : x(a) {{ }} {name}(T a, int) : x{{a}} {self.body()} }}; template <class T> {name}(T*) -> {name}<short>; {name}(char) -> {name}<double>;"
        return Piece(text, [f"sizeof(@{name}('a'))" if "__device__ G" in text else f"sizeof(decltype(@{name}('a')))"])

    def asserts(self) -> Piece:
        name = self.name("t")
        says = self.one("", ', "}"')
        text = f"constexpr int {name}(int x) {{ {self.maybe('if (x > 5) throw 1; ')}return x + 1; }} static_assert({name}(2) == 3, \"{{\"); int {name}h(int) {self.body('1')} static_assert(sizeof({name}h(1)) == 4{says}); static_assert(!noexcept({name}h(1))); enum {{ {name}e = {name}(4) }};"
        return Piece(text, [f"@{name}e", f"noexcept(@{name}h(1))"])

    def literals(self) -> Piece:
        name = self.name("_u")
        text = self.one(
            f"int operator\"\"{name}(unsigned long long x) {self.body('3')}",
            f"{self.device()} constexpr int operator\"\" {name}(unsigned long long x) {{ return x * 2; }}",
            f"constexpr int operator\"\"{name}(unsigned long long x) {{ return x * 2; }}",
        )
        return Piece(f"{text} enum {{ E{name} = sizeof(3{name}) }};", [f"sizeof(5{name})", f"E{name}"], is_movable=False)

    def operators(self) -> Piece:
        name = self.name("O")
        mark = self.device()
        text = f"struct {name} {{ int a; }}; {self.host()} int operator+({name}, {name}) {self.body('1')} {mark} int operator-({name} a, {name} b) {{ return a.a - b.a; }} bool operator<({name}, {name}) {self.body('true')} {name}& operator<<({name}& o, int) {self.body('o')} int operator,({name}, {name}) {self.body('1')} template <class T> bool operator>(T, {name}) {self.body('true')}"
        return Piece(text, [f"sizeof(@{name}() + @{name}())", f"(@{name}{{3}} - @{name}{{1}})", f"sizeof((@{name}(), @{name}()))"])

    def kernels(self) -> Piece:
        """Kernels and how they are launched."""
        name = self.name("kernel")
        mark = self.one("__global__ void", "__global__ void __launch_bounds__(128)", "static __global__ void", "void __global__", self.macro("KERNEL", "__global__ void", 1), "__attribute__((global)) void", "extern \"C\" __global__ void")
        argument = self.one("int* p", "int* __restrict__ p", "const int* p, int n = 3")
        call = f"{name}<<<1, 2, 0, 0>>>(nullptr);"
        text = f"{mark} {name}({argument}) {{ }} void {name}launch() {{ {call} {self.statements()} {call} }}"
        if self.chance(0.4):
            text = f"template <class T> {self.one('__global__ void', 'static __global__ void')} {name}(T* p) {{ *p = sizeof(T); }} void {name}launch() {{ {name}<int><<<1, 2>>>(nullptr); }} template __global__ void {name}<char>(char*);"
            if "static" in text:
                text = text.replace("template __global__", "template __global__")
        return Piece(text, [])

    def lambdas(self) -> Piece:
        name = self.name("l")
        way, seen = self.one(
            (f"auto {name} = [](int x) {{ return x + 1; }}; auto {name}b = [=]() mutable -> double {{ return 1.5; }};", "1"),
            (f"constexpr auto {name} = [](int x) {{ return x + 1; }}; const int {name}c = {name}(3);", f"@{name}c"),
            (f"template <class F> {self.device()} int {name}(F f) {{ return f(3); }} {self.device()} int {name}d() {{ return {name}([](int x) {{ return x * 2; }}); }}", f"@{name}d()"),
            (f"struct {name} {{ int a = [] {{ return 3; }}(); int b; }};", f"sizeof(@{name})"),
            (f"template <class F> int {name}h(F f) {self.body('f(1)')} int {name} = {name}h([](int x) {{ return x; }}), {name}i = {name}h([](auto x) {{ if (x) {{ return 1; }} return 2; }});", f"sizeof(@{name})"),
            (f"inline auto {name} = [](auto... x) {{ return sizeof...(x); }};", f"sizeof(@{name})"),
        )
        return Piece(way, [seen])

    def asm_and_storage(self) -> Piece:
        name = self.name("as")
        way = self.one(
            f"extern int {name} asm(\"{name}x\"); int {name}f() asm(\"{name}y\");",
            f"extern \"C\" int {name};",
            f"extern \"C\" {{ extern int {name}; int {name}b; }}",
            f"extern int {name}, {name}b[], {name}f(int);",
            f"static int {name}; static int {name}f();",
            f"__thread int {name};",
            f"extern thread_local int {name};",
            f"asm(\".global {name}g\"); int {name} = 1;" if self.chance(0.2) else f"int {name} = 1;",
            f"int {name} [[maybe_unused]] = 3, {name}b [[gnu::unused]];",
            f"__attribute__((weak)) int {name} = 3;",
            f"__attribute__((section(\"x\"))) int {name} = 3;" if self.chance(0.2) else f"int unsigned long {name} = 3;",
            f"__managed__ int {name} = 3;",
        )
        return Piece(way, [f"sizeof(@{name})"])

    def tags(self) -> Piece:
        """One name for a type and for something else."""
        name = self.name("r")
        way, seen = self.one(
            (f"struct {name} {{ int a[5]; }}; int {name}(int) {self.body('1')}", f"sizeof(struct @{name})"),
            (f"struct {name} {{ int a[5]; }}; static int {name} = 3;", f"sizeof(struct @{name}) + sizeof(@{name})"),
            (f"namespace {name}N {{ struct {name} {{ int a[5]; }}; }} namespace {name}M {{ char {name}(int) {self.body('1')} using namespace {name}N; }}", f"sizeof(@{name}N::{name})"),
            (f"int {name}(int) {self.body('1')} namespace {name}N {{ char {name} = 1; struct S {{ static const int a = sizeof({name}); }}; }}", f"@{name}N::S::a"),
            (f"const int {name} = 3; namespace {name}N {{ int {name} = 4; const int b = sizeof({name}); namespace {{ char {name}c; }} }}", f"@{name} + @{name}N::b"),
            (f"enum {{ {name} = 3 }}; struct {name}S {{ enum {{ {name} = 4 }}; int f() {self.body('1')} static const int b = {name}; }};", f"@{name} + @{name}S::b"),
            (f"{self.device()} int {name}(int x) {{ return 1; }} namespace {name}N {{ int {name}(char*) {self.body('1')} }}", f"@{name}(1)"),
        )
        return Piece(way, [seen])

    # --- what device code aligns, marks and hides

    def alignment(self, number: str = "") -> str:
        number = number or self.one("1", "2", "4", "8", "16", "32", "64", "sizeof(long)")
        return self.one(f"__align__({number})", f"alignas({number})", f"__attribute__((aligned({number})))", self.macro("ALIGN", f"__align__({number})", 1), self.macro("ALIGNED", f"__attribute__((aligned({number})))", 1))

    def alignments(self) -> Piece:
        """Alignments of variables, of types by other names, and in bodies of device code.

        In bodies, NVRTC itself takes those that are less than a type has, so these are not among them.
        """
        name, mark = self.name("al"), self.device()
        kind, align, other = self.type_of_number(), self.alignment(), self.alignment()
        wide = self.alignment("16")
        attribute = f"__attribute__((aligned({self.aligned()})))"
        way, seen = self.one(
            (f"__device__ {align} {kind} {name};", f"(int)@{name}"),
            (f"{align} __device__ {kind} {name}[3] = {{1, 2}};", f"(int)@{name}[p[0] & 1]"),
            (f"__constant__ {align} {kind} {name}[2];", f"(int)@{name}[p[0] & 1]"),
            (f"__device__ {kind} {name} {attribute} = 1, {name}b;", f"(int)@{name} + (int)@{name}b"),
            (f"struct {align} {name}S {{ {kind} a; {other} char b; int f() {self.body('1')} }}; __device__ {name}S {name};", f"@{name}.b + sizeof(@{name}S)"),
            (f"{mark} int {name}(int x) {{ struct {wide} L {{ char a; {self.alignment('16')} {kind} b; }}; return sizeof(L) + alignof(L) + x; }}", f"@{name}(1)"),
            (f"{mark} int {name}(int x) {{ struct L {{ char a; {kind} b {attribute}; }} {self.maybe(attribute)}; return sizeof(L) + alignof(L); }}", f"@{name}(1)"),
            (f"__device__ int {name}(int x) {{ __shared__ {align} {kind} s[4]; return sizeof(s) + alignof(decltype(s)); }}", f"@{name}(p[0])"),
            (f"__device__ int {name}(int x) {{ {align} {kind} s[4]; for (int i = 0; i < x; ++i) s[i & 3] = i; return (int)s[x & 1]; }}", f"@{name}(p[0])"),
            (f"typedef {kind} {name}T {attribute}; struct {name} {{ char a; {name}T b; }};", f"sizeof(@{name}) + alignof(@{name})"),
            (f"using {name}T {attribute} = {kind}; struct {name} {{ char a; {name}T b; int f() {self.body('1')} }};", f"sizeof(@{name}) + alignof(@{name}T)"),
            (f"typedef struct {align} {{ char a; {kind} b; }} {name};", f"sizeof(@{name})"),
            (f"template <class T> struct {align} {name} {{ T a; {other} char b; int f() {self.body('1')} }};", f"sizeof(@{name}<{kind}>) + alignof(@{name}<char>)"),
            (f"union {align} {name} {{ char a; {other} {kind} b; }};", f"sizeof(@{name})"),
            (f"struct {name} {{ char a; {align} struct {{ char c; {kind} d; }} b; __align__(32) union {{ char e; int f; }}; }};", f"sizeof(@{name}) + __builtin_offsetof(@{name}, b)"),
            (f"struct {name}B {{ char a; }}; struct {name} : {name}B {{ {align} {kind} b; {other} char c, d; }};", f"sizeof(@{name})"),
        )
        return Piece(way, [seen])

    def type_of_number(self) -> str:
        return self.one("char", "short", "int", "long long", "float", "double")

    def marked_lambdas(self) -> Piece:
        """Lambdas with a mark in device code."""
        name, dev = self.name("ml"), self.one("__device__", self.macro("DEV", "__device__", 1))
        mark = self.one("__device__", "__host__ __device__", "__device__ __host__", self.macro("DEV", "__device__", 1), self.macro("HD", "__host__ __device__", 1))
        captures = self.one("[=]", "[&]", "[x]", "[x, y = 2]", "[&x]")
        macro = self.name("LAMBDA")
        way, seen = self.one(
            (f"{dev} int {name}(int x) {{ auto f = {captures} {mark} (int i) {{ return x + i; }}; return f(2); }}", f"@{name}(3)"),
            (f"{dev} int {name}(int x) {{ auto f = {captures} {mark} (int i) mutable -> int {{ return x * i; }}; return f(2); }}", f"@{name}(3)"),
            (f"{dev} int {name}(int x) {{ auto f = [] {mark} (auto i) {{ return sizeof(i); }}; return f('a') + f(x); }}", f"@{name}(3)"),
            (f"template <class F> {dev} int {name}a(F f) {{ return f(3); }} {dev} int {name}(int x) {{ return {name}a({captures} {mark} (int i) {{ return x - i; }}) + {name}a([] {mark} (int i) {{ return i; }}); }}", f"@{name}(3)"),
            (f"\n#define {macro} [=] {mark}\n{dev} int {name}(int x) {{ auto f = {macro} (int i) {{ return x + i; }}; return f(2); }}", f"@{name}(3)"),
            (f"\n#define {macro}(i) [=] {mark} (int i)\n{dev} int {name}(int x) {{ auto f = {macro}(j) {{ auto g = [] {mark} (int k) {{ return k; }}; return x + g(j); }}; return f(2); }}", f"@{name}(3)"),
            (f"\n#define {macro}(...) [=] {mark} (int i) {{ __VA_ARGS__ }}\n{dev} int {name}(int x) {{ auto f = {macro}(int a[] = {{1, 2}}; return a[i & 1] + x;); return f(2); }}", f"@{name}(3)"),
        )
        return Piece(way, [seen], is_movable=not way.startswith("\n"))

    def host_types(self) -> Piece:
        """Types of headers that NVRTC does not have, beside device code with the same names."""
        name, dev = self.name("ht"), self.device()
        header, kind = self.one(("vector", "std::vector<int>"), ("string", "std::string"), ("map", "std::map<int, int>"), ("functional", "std::function<int(int)>"), ("memory", "std::shared_ptr<int>"), ("list", "std::list<int>"), ("deque", "std::deque<char>"), ("set", "std::set<long>"))
        self._lead.append(f"#include <{header}>")
        way, *seen = self.one(
            (f"int {name}({kind}) {self.body('1')} {dev} int {name}(int x) {{ return 2; }}", f"@{name}(1)"),
            (f"{dev} int {name}(int x) {{ return 2; }} {self.host()} long {name}(const {kind}& x, int = 3) {self.body('1')} template <class T> T {name}(T*, {kind}) {self.body('T()')}", f"@{name}(1)"),
            (f"namespace {name}N {{ char {name}({kind}) {self.body('1')} }} {dev} int {name}(int x) {{ return 2; }} using namespace {name}N;", f"@{name}(1)"),
            (f"{dev} int {name}(int x) {{ return 2; }} namespace {name}N {{ char {name}({kind}) {self.body('1')} enum {{ v = sizeof(::{name}(1)) }}; }}", f"@{name}N::v" ),
            (f"char {name}(...); namespace {name}N {{ long {name}({kind}&, int = 1) {self.body('1')} enum {{ v = sizeof({name}(*({kind}*)0)) }}; }}", f"@{name}N::v"),
            (f"const int {name} = 3; namespace {name}N {{ {kind} {name}; {dev} int f(int x) {{ return x; }} }}", f"@{name} + @{name}N::f(1)"),
            (f"const int {name} = 3; namespace {name}N {{ {kind} {name}; enum {{ v = sizeof({name}) }}; }}", f"@{name} + @{name}N::v"),
            (f"struct {name} {{ {kind} x; int f() {self.body('1')} }}; struct {name}D {{ int a; {name}* p; {name} q() {self.body(f'{name}()')} }};", f"sizeof(@{name}D)"),
            (f"struct {name} {{ int a; {kind} x() {self.body('{}')} int f({kind}) {self.body('1')} {dev} int f(int) const {{ return 2; }} }};", f"sizeof(@{name}) + @{name}().f(1)"),
            (f"struct {name} {{ int a; static {kind} s; using V = {kind}; typedef {kind} W; friend void {name}q({name}, {kind}) {self.body()} {dev} int g() const {{ return a; }} }}; {kind} {name}::s;", f"sizeof(@{name}) + @{name}().g()"),
            (f"typedef {kind} {name}T; {name}T {name}f(const {name}T&) {self.body('{}')} {dev} int {name}(int x) {{ return x; }}", f"@{name}(1)"),
            (f"typedef int {name}T; namespace {name}N {{ typedef {kind} {name}T; {dev} int f() {{ return 1; }} }}", f"sizeof(@{name}T) + @{name}N::f()"),
            (f"typedef int {name}T; namespace {name}N {{ typedef {kind} {name}T; enum {{ v = sizeof({name}T) }}; }}", f"@{name}N::v"),
            (f"namespace {name}A {{ struct S {{ int x; }}; int {name}(S, {kind}) {self.body('1')} }} {dev} int {name}({name}A::S s, int a) {{ return a; }}", f"@{name}(@{name}A::S(), 1)"),
            (f"namespace {name}A {{ struct S {{ int x; }}; int {name}(S, {kind}) {self.body('1')} {dev} int {name}(S, int a) {{ return a; }} }}", f"{name}(@{name}A::S(), 1)"),
            (f"namespace {name}A {{ struct S {{ int x; }}; long {name}(S, {kind}* = 0) {self.body('1')} }} {dev} int {name}({name}A::S s, double) {{ return 3; }}", f"sizeof({name}(@{name}A::S()))"),
            (f"template <class T> int {name}(T, {kind}) {self.body('1')} template <class T> {dev} int {name}(T x, int a) {{ return a; }}", f"@{name}(1, 2)"),
            (f"template <class T> struct {name} {{ T x; {kind} y; int f() {self.body('1')} }}; template <> struct {name}<int> {{ char c[5]; }};", f"sizeof(@{name}<int>)"),
            (f"class {name} {{ public: int a; explicit {name}({kind}) {self.body()} {name}(int, char) {self.body()} {dev} {name}() : a(3) {{ }} }};", f"@{name}().a"),
            (f"int {name}f({kind} x) {self.body('1')} int {name} = {name}f({{}}), {name}b; const int {name}k = 4, {name}l = {name}f({{}});", f"sizeof(@{name}) + @{name}k + sizeof(@{name}b)"),
            (f"{kind} {name}v, *{name}w = &{name}v; static const {kind} {name}c; {kind} {name}f() {self.body('{}')} const int {name} = 5;", f"@{name} + sizeof(@{name}w)"),
            (f"auto {name}l = []({kind} x) {{ return 1; }}; {dev} int {name}(int x) {{ return x + 1; }}", f"@{name}(1)"),
            (f"enum class {name} : char {{ a, b = 4 }}; {kind} {name}s({name}) {self.body('{}')} struct {name}H {{ {name} e; {kind}* p; }};", f"sizeof(@{name}H) + (int)@{name}::b"),
            (f"struct {name}B {{ virtual {kind} f() {self.body('{}')} virtual int g({kind}*) {self.body('1')} int a; }}; struct {name} : {name}B {{ {kind} f() override {self.body('{}')} char b; }};", f"sizeof(@{name})"),
            (f"template <class T, class U = {kind}> struct {name} {{ T x; }}; template <class T> using {name}A = {name}<T, int>;", f"sizeof(@{name}A<char>)"),
            (f"namespace {name}N {{ using {kind.partition('<')[0]}; int f({kind.removeprefix('std::')}) {self.body('1')} {dev} int g(int x) {{ return x; }} }}", f"@{name}N::g(2)"),
            (f"{dev} int {name}(int x) {{ return x; }} void {name}h({kind} a) {{ try {{ {kind} b = a; throw b; }} catch (const {kind}& c) {{ throw; }} }}", f"@{name}(2)"),
            (f"struct {name} {{ int a; char b; operator {kind}() const {self.body('{}')} {name}& operator=(const {kind}&) {self.body('*this')} bool operator==(const {kind}&) const {self.body('true')} }};", f"sizeof(@{name})"),
        )
        return Piece(way, [*seen])

    def read_fields(self) -> Piece:
        """Where fields are, as loads and offsets tell."""
        name, dev = self.name("rf"), self.device()
        fields = [f"{self.one('int', 'unsigned', 'char', 'short', 'long long', 'bool', 'unsigned char')} {name}{at} : {self.one('1', '3', '5', '8')};" for at in range(3)]
        fields += self.some([f"int : {self.one('0', '3')};", f"char {name}c;", f"double {name}d;", f"{self.type()} {name}t;", f"int {name}f() {self.body('1')}", f"static int {name}s;", f"enum {{ {name}e = 3 }} {name}g : 4;", f"union {{ char {name}u; int {name}v; }};"])
        host = self.some([f"int {name}h() {self.body('1')}", f"{dev} int {name}i() const {{ return 1; }}", f"operator bool() const {self.body('1')}"])
        before = self.one("", "", self.attribute())
        if before.startswith(("alignas", "__align__")) or "aligned" in before:
            before = "__attribute__((packed))"
        texts = self.shuffled(fields + host)
        text = f"{self.one('struct', 'struct', 'union')} {before} {name} {{ {' '.join(texts)} }};"
        text += f" {dev} int {name}r(const {name}* q) {{ return (int)q->{name}0 + 3 * (int)q->{name}1 + 5 * (int)q->{name}2; }} {dev} void {name}w({name}* q) {{ q->{name}1 = 1; }}"
        return Piece(text, [f"@{name}r((const @{name}*)p)", f"(@{name}w((@{name}*)p), 1)", f"sizeof(@{name})"])

    def pragmas(self) -> Piece:
        """Pragmas by the operator, in macros."""
        name, macro, text = self.name("pr"), self.name("PRAGMA"), self.name("TEXT")
        dev = self.device()
        count = self.one("", " 2", " 4", "(3)")
        loop = "int s = 0;\nUNROLL\nfor (int i = 0; i < x; ++i) s += i * i; return s;"
        begin, end = self.one(
            (f'#define {macro} _Pragma("unroll{count}")\n', macro), (f"#define {macro}(x) _Pragma(#x)\n", f"{macro}(unroll{count})"), (f"#define {text}(x) #x\n#define {macro}(x) _Pragma({text}(x))\n", f"{macro}(unroll{count})"),
            (f"#define {macro} #pragma unroll\n", macro), (f'#define {macro}(n) _Pragma("nounroll")\n', f"{macro}(1)"),
        )
        pack, unpack = self.one((f'#define {macro}B _Pragma("pack(push, 1)")\n#define {macro}E _Pragma("pack(pop)")\n', (f"{macro}B", f"{macro}E")), (f"#define {macro}P(x) _Pragma(#x)\n", (f"{macro}P(pack(push, 2))", f"{macro}P(pack(pop))")))
        way, seen = self.one(
            (f"\n{begin}{dev} int {name}(int x) {{ {loop.replace('UNROLL', end)} }} int {name}h(int x) {{ {loop.replace('UNROLL', end)} }}", f"@{name}(p[0])"),
            (f"\n{pack}{unpack[0]} struct {name} {{ char a; double b; int f() {self.body('1')} }}; {unpack[1]} struct {name}T {{ char a; double b; }};", f"sizeof(@{name}) + 100 * sizeof(@{name}T)"),
            (f"\n{pack}{unpack[0]} int {name}h() {self.body('1')} struct {name} {{ char a; double b; }}; int {name}i() {self.body('1')} {unpack[1]} const int {name}c = sizeof({name});", f"@{name}c"),
            (f"\n{pack}struct {name}O {{ {unpack[0]} struct I {{ char a; int b; }}; {unpack[1]} char c; int d; int f() {self.body('1')} }};", f"sizeof(@{name}O::I) + 100 * sizeof(@{name}O)"),
        )
        return Piece(way, [seen], is_movable=False)

    def lines(self) -> Piece:
        """Lines, as the preprocessor counts them."""
        name, macro, dev = self.name("ln"), self.name("LINE"), self.device()
        way, seen = self.one(
            (f"int {name}h(int x) {self.body('x')} {dev} int {name}() {{ return __LINE__; }}", f"@{name}()"),
            (f"\n#define {macro} __LINE__\nint {name}h(int x)\n{self.body('x')} enum {{ {name} = {macro} }};", f"@{name}"),
            (f"\n#define {macro}(x) struct x {{ char a[__LINE__]; int f() {{ return __LINE__; }} }};\n{macro}({name})", f"sizeof(@{name})"),
            (f"\n#define {macro}2(a, b) a##b\n#define {macro}(a, b) {macro}2(a, b)\nint {macro}({name}h, __LINE__)(int) {self.body('1')}\nenum {{ {macro}({name}, E) = __LINE__ }};", f"@{name}E"),
            (f"\n#line 700\nint {name}h(int x) {self.body('x')} enum {{ {name} = __LINE__ }};", f"@{name}"),
        )
        return Piece(way, [seen], is_movable=False)

    def friends(self) -> Piece:
        """Friends that a class defines, found by arguments alone."""
        name, dev = self.name("fr"), self.device()
        other = self.device()
        way, *seen = self.one(
            (f"struct {name} {{ int a; friend {dev} int {name}f({name} x) {{ return x.a; }} friend int {name}f({name}, int) {self.body('1')} }};", f"{name}f(@{name}{{3}})", f"sizeof({name}f(@{name}{{3}}, 1))"),
            (f"template <class T> struct {name} {{ T a; friend {dev} int operator+({name} x, {name} y) {{ return x.a + y.a; }} friend long operator-({name}, {name}) {self.body('1')} }};", f"(@{name}<int>{{1}} + @{name}<int>{{2}})", f"sizeof(@{name}<int>() - @{name}<int>())"),
            (f"struct {name}; {dev} int {name}f({name}*); struct {name} {{ friend {other} int {name}f({name}*); private: int a; }}; {dev} int {name}f({name}* x) {{ return x ? x->a : 2; }}", f"@{name}f((@{name}*)p)"),
            (f"struct {name} {{ int a; template <class T> friend T {name}f({name}, T) {self.body('1')} template <class T> friend {dev} int {name}g({name} x, T) {{ return sizeof(T); }} }};", f"{name}g(@{name}(), 'a')", f"sizeof({name}f(@{name}(), 1.5))"),
            (f"class {name} {{ int a; friend class {name}F; friend struct {name}G; friend void {name}h(); friend {dev} int {name}f(const {name}&) {{ return sizeof(a); }} public: int b; }};", f"{name}f(@{name}())"),
            (f"struct {name} {{ int a; friend auto {name}f({name}) {{ return 1.5; }} friend bool operator==(const {name}&, const {name}&) = {self.one('default', 'delete')}; }};" if self._modern else f"struct {name} {{ int a; friend bool operator==(const {name}&, const {name}&) = delete; }};", f"sizeof(@{name})"),
        )
        return Piece(way, [*seen])

    def spaces(self) -> Piece:
        """Templates and classes in which code of the host and of the device meet."""
        name, dev, host = self.name("sp"), self.device(), self.host()
        way, *seen = self.one(
            (f"template <class D> struct {name}B {{ {dev} int f() {{ return static_cast<D*>(this)->g() + 1; }} int h() {{ return static_cast<D*>(this)->q(); }} }}; struct {name} : {name}B<{name}> {{ {dev} int g() {{ return 2; }} int q() {self.body('1')} }};", f"@{name}().f()"),
            (f"int {name}h(int) {self.body('1')} template <class T, class = decltype({name}h(T()))> {dev} int {name}(T) {{ return 1; }} {dev} int {name}(...) {{ return 2; }}", f"@{name}(1)"),
            (f"{host} int {name}h(int) {self.body('1')} template <int (*F)(int)> struct {name} {{ enum {{ v = 3 }}; {dev} int g() const {{ return 4; }} }};", f"@{name}<@{name}h>::v + @{name}<@{name}h>().g()"),
            (f"int {name}v = 3; template <int& R> struct {name} {{ char a[3]; }}; constexpr int* {name}p = &{name}v;", f"sizeof(@{name}<@{name}v>)"),
            (f"struct {name} {{ int a; int f(int) {self.body('1')} {dev} int g(int x) {{ return x; }} }}; template <int ({name}::*F)(int)> struct {name}W {{ enum {{ v = 5 }}; }};", f"@{name}W<&@{name}::f>::v + sizeof(&@{name}::f)"),
            (f"{host} int {name}h(int) {self.body('1')} {dev} int {name}(int x, int y = sizeof({name}h(1)), bool z = noexcept({name}h(1))) {{ return x + y + z; }}", f"@{name}(1)"),
            (f"{host} int {name}h(int) {self.body('1')} {dev} int {name}(int x, int y = {name}h(1)) {{ return x + y; }}", f"@{name}(1, 2)"),
            (f"struct {name} {{ int a = {name}::h(); static int h() {self.body('1')} {dev} {name}() : a(2) {{ }} }};", f"@{name}().a"),
            (f"template <class T> struct {name} {{ static int h(T) {self.body('1')} {dev} static int d(T x) {{ return sizeof(x); }} template <class U> {dev} auto e(U u) const -> decltype(h(T()) + u) {{ return 2; }} }};", f"@{name}<char>::d('a') + @{name}<int>().e(1.5)"),
            (f"template <bool B> struct {name} {{ {host} int f() {self.body('1')} }}; template <> struct {name}<true> {{ {dev} int f() {{ return 2; }} char c[3]; }};", f"@{name}<true>().f() + sizeof(@{name}<false>)"),
            (f"template <class T> int {name}(T x) {{ if constexpr (sizeof(T) > 1) {{ return x; }} else {{ throw x; }} }} {dev} int {name}d(int x) {{ if constexpr (sizeof(decltype({name}(x))) == 4) return 1; else return 2; }}", f"@{name}d(1)"),
            (f"{dev} int {name}(int x) {{ static const int t[] = {{1, 2, 3}}; constexpr int u[2] = {{4, 5}}; return t[x & 1] + u[x & 1]; }}", f"@{name}(p[0])"),
            (f"__device__ int {name}(int x) {{ static int n = 3; static __device__ int m; __shared__ int s[2]; return n + m + sizeof(s); }} int {name}h() {{ static int n = {name}h(); return n; }}", f"@{name}(p[0])"),
            (f"{dev} int {name}(int x); {dev} int {name}(int x) {{ extern {dev.replace('inline', '')} int {name}l(int); return x; }}" if dev == "__device__" else f"{dev} int {name}(int x) {{ return x; }}", f"@{name}(1)"),
            (f"template <class... T> struct {name} {{ }}; template <class T, class... R> struct {name}<T, R...> : {name}<R...> {{ T a; {host} int f() {self.body('1')} {dev} int n() const {{ return sizeof...(R); }} }};", f"@{name}<int, char, double>().n() + sizeof(@{name}<char, int>)"),
            (f"template <class T> constexpr int {name} = 1; template <> constexpr int {name}<char> = 2; template <class T> constexpr int {name}<T*> = 3; template <class T> T {name}h = T(4); template <> int {name}h<int> = 5;", f"@{name}<char> + @{name}<int*> + sizeof(@{name}h<int>)"),
            (f"namespace {name}N {{ inline namespace v1 {{ {host} int f(int) {self.body('1')} {dev} int g(int x) {{ return x; }} }} namespace v2 {{ char f(int) {self.body('1')} }} }} namespace {name}A = {name}N::v2;", f"@{name}N::g(1) + sizeof(@{name}N::f(1)) + sizeof(@{name}A::f(1))"),
            (f"struct {name} {{ {host} int operator()(int) {self.body('1')} {dev} int operator()(int, int) const {{ return 2; }} {host} operator int() const {self.body('1')} {dev} int operator[](int x) const {{ return x; }} {dev} {name}& operator=(int) {{ return *this; }} }};", f"@{name}()(1, 2) + @{name}()[3]"),
            (f"{dev} int {name}(char) {{ return 1; }} {host} int {name}(long) {self.body('2')} {dev} int {name}(double) {{ return 3; }}", f"@{name}('a') + @{name}(1.5) + sizeof(@{name}(1L))"),
            (f"struct {name} {{ {name}() = default; {name}(const {name}&) {self.body()} {dev} {name}(int x) : a(x) {{ }} ~{name}() = default; int a; }};", f"@{name}(3).a"),
        )
        return Piece(way, [*seen])

    def host_only(self) -> Piece:
        """What only the host has, in shapes that are easily misread."""
        name, dev = self.name("ho"), self.device()
        value = self.number()
        way, *seen = self.one(
            (f"extern \"C\" {{ typedef int (*{name}T)(int); static int {name}i(int x) {self.body('x')} {name}T {name}t[] = {{{name}i, 0}}; int {name}g({name}T); }}", f"sizeof(@{name}t)"),
            (f"int {name}i(int x) {self.body('x')} int (*{name}t[])(int) = {{{name}i, {name}i, 0}}; int (*{name}u)(int) = {name}i;", f"sizeof(@{name}t) + sizeof(@{name}u)"),
            (f"struct {name}P {{ int a; char b; }}; int {name}f() {{ auto [x, y] = {name}P{{1, 2}}; const auto& [u, v] = {name}P{{3, 4}}; for (auto [c, d] : (const {name}P[2]){{}}) (void)c; if (auto z = x; z) return y; return u + v; }}", f"sizeof(@{name}f())"),
            (f"struct {name}R {{ {name}R(int) {self.body()} ~{name}R() {self.body()} }}; static {name}R {name}a(1), {name}b{{2}}, {name}c[] = {{1, 2}}; const {name}R {name}d = 3;", f"sizeof(@{name}c)"),
            (f"int {name}f(int) {self.body('1')} int {name} = {name}f(1) + {name}f({{2}}), {name}b = [] {{ return 3; }}(), {name}c{{{name}f(3)}}; const int {name}k = {value};", f"@{name}k + sizeof(@{name}c)"),
            (f"int {name}f() {self.body('1')} struct {name}S {{ int a, b; }}; {name}S {name}v[] = {{{{1, {name}f()}}, {{2, 3}}}}, {name}w = {{{name}f()}};", f"sizeof(@{name}v)"),
            (f"int {name}f(int x) {self.body('x')} int {name}f(long x) {self.body('2')} int {name} = {name}f(1L); {dev} int {name}f(char x) {{ return 3; }}", f"@{name}f('a') + sizeof(@{name})"),
            (f"char {name}f(int) {self.body('1')} namespace {name}N {{ long {name}f(double) {self.body('1')} int v = {name}f(1.5); enum {{ s = sizeof({name}f(1)) }}; }}", f"@{name}N::s"),
            (f"enum class {name} {{ a, b }}; constexpr {name} operator|({name} x, {name} y) {{ return {name}((int)x | (int)y); }} {name}& operator|=({name}& x, {name} y) {self.body('x = x | y')} const {name} {name}k = {name}::a | {name}::b;", f"(int)@{name}k"),
            (f"int {name}f(int n) {{ switch (n) {{ case 1: {{ struct L {{ int f() {{ return 1; }} }}; return L().f(); }} [[fallthrough]]; default: do {{ --n; }} while (n > 0); }} return n < 3 ? n : n > 4; }} const int {name} = {value};", f"@{name}"),
            (f"template <class T> struct {name}; template <> struct {name}<int> {{ using t = char; int f() {self.body('1')} }}; template <class T> typename {name}<T>::t {name}g(T) {self.body('1')}", f"sizeof(@{name}g(1))"),
            (f"struct {name} {{ int a; }} {name}v, *{name}p = &{name}v, {name}f(int) , ({name}q) = {{1}}; {name} {name}f(int) {self.body(f'{name}()')}" , f"sizeof(@{name}f(1)) + sizeof(@{name}q)"),
            (f"typedef struct {name}T {{ struct {name}T* next; int (*call)(struct {name}T*, int); union {{ int i; float f; }} u; }} {name}, *{name}P; static {name} {name}v = {{0, 0, {{1}}}};", f"sizeof(@{name}) + sizeof(@{name}v)"),
            (f"int {name}a[2][3] = {{{{1, 2, 3}}, {{4, 5, 6}}}}, {name}b[][2] = {{{{1, 2}}, {{3}}}}, (*{name}c)[3] = {name}a; const char {name}d[][4] = {{\"abc\", \"d\"}};", f"sizeof(@{name}b) + sizeof(*@{name}c) + sizeof(@{name}d)"),
            (f"[[deprecated(\"}}; {{\")]] int {name}f(int) {self.body('1')} struct [[nodiscard]] {name} {{ int a [[maybe_unused]]; [[nodiscard]] int f() const {self.body('1')} }} __attribute__((aligned(8))); enum {name}E {{ {name}x [[deprecated]] = 3, {name}y }};", f"sizeof(@{name}) + @{name}y"),
            (f"struct {name} {{ int a; int f() {self.body('1')} }} __attribute__((packed)) {name}v; struct {name}B {{ char c; {name} d; }} __attribute__((packed)), *{name}p;", f"sizeof(@{name}B) + sizeof(@{name}v)"),
            (f"void {name}f() {{ extern int {name}x; int {name}g(int); class L; struct M {{ static int f() {{ return 1; }} }}; (void)M::f(); }} const int {name} = {value};", f"@{name}"),
            (f"int {name}f(int a, int b) {{ return a < b && b > (a) ? a<b : a>b; }} template <int N> int {name}g() {{ return N; }} int {name} = {name}g<(1 > 2)>(), {name}h = {name}f(1 < 2, 3 > (2)); const int {name}k = 1 < 2;", f"@{name}k + sizeof(@{name}h)"),
        )
        return Piece(way, [*seen])

    def modern(self) -> Piece:
        """C++20."""
        name = self.name("w")
        mark = self.device()
        way, seen = self.one(
            (f"template <class T> concept {name} = requires(T t) {{ t.f(1); }}; struct {name}S {{ int f(int) {self.body('1')} }};", f"@{name}<@{name}S>"),
            (f"template <class T> concept {name} = sizeof(T) > 2; template <{name} T> int {name}h(T) {self.body('1')} template <class T> requires {name}<T> {mark} int {name}d(T x) {{ return 1; }} template <class T> requires (!{name}<T>) {mark} int {name}d(T x) {{ return 2; }}", f"@{name}d('a') + @{name}d(1)"),
            (f"consteval int {name}(int x) {{ return x * 2; }}", f"@{name}(3)"),
            (f"constinit int {name} = 3; constinit const int {name}c = 4;", f"sizeof(@{name}) + @{name}c"),
            (f"template <class T> struct {name} {{ explicit(sizeof(T) > 2) {name}(T) {self.body()} int x; }}; char (&{name}f({name}<int>))[2]; char (&{name}f(...))[3];", f"sizeof(@{name}f(1))"),
            (f"auto {name}(auto x) {{ return x + 1.5f; }} {mark} int {name}d(auto x) {{ return sizeof(x); }}", f"@{name}d('a') + sizeof(@{name}(1))"),
            (f"struct {name} {{ int a; int b; bool operator==(const {name}&) const = default; }}; const {name} {name}v = {{.a = 1, .b = 2}};", f"sizeof(@{name})"),
            (f"enum class {name} {{ {name}a, {name}b }}; using enum {name};", f"(int)@{name}b"),
            (f"template <auto N> {mark} int {name}() {{ return N; }} template <class T> struct {name}S {{ int f() requires (sizeof(T) > 2) {self.body('1')} char f() {self.body('2')} }};", f"@{name}<3>() + sizeof(@{name}S<char>().f())"),
            (f"template <class T> int {name}(T) requires requires {{ typename T::x; {{ T() }} noexcept; }} {self.body('1')} template <class T> char {name}(T) {self.body('2')} struct {name}S {{ using x = int; }};", f"sizeof(@{name}(@{name}S())) + sizeof(@{name}(1))"),
            (f"struct {name} {{ int a; char b; auto operator<=>(const {name}&) const = default; int f() {self.body('1')} {mark} int g() const {{ return 2; }} }};", f"sizeof(@{name}) + @{name}().g()"),
            (f"enum class {name} {{ a = 2, b }}; struct {name}S {{ using enum {name}; int f() {self.body('1')} {mark} int g() const {{ return (int)b; }} }};", f"@{name}S().g() + (int)@{name}S::a"),
            (f"namespace {name}N::inline v1::in {{ int f(int) {self.body('1')} {mark} int g(int x) {{ return x; }} }}", f"@{name}N::in::g(2) + sizeof(@{name}N::v1::in::f(1))"),
            (f"template <class T> concept {name} = requires(T x) {{ {{ x + 1 }} -> {name}A<int>; }};".replace(f"template <class T> concept {name} =", f"template <class T, class U> concept {name}A = sizeof(T) == sizeof(U); template <class T> concept {name} =") + f" template <class T> struct {name}S {{ T a; int f() requires {name}<T> {self.body('1')} {mark} int g() const requires {name}<T> {{ return 1; }} {mark} int g() const {{ return 2; }} }};", f"@{name}S<int>().g() + @{name}S<char>().g()"),
            (f"struct {name} {{ int a; int b[2]; }}; {name} {name}v = {{.a = 1, .b = {{2, 3}}}}; constexpr {name} {name}c{{.a = 4}}; {mark} int {name}d({name} x) {{ return x.a; }}", f"@{name}d({{.a = 5}}) + @{name}c.a"),
            (f"template <class... T> int {name}(T... x) {{ return [...y = x] {{ return (y + ... + 0); }}(); }} {mark} int {name}d(auto... x) {{ return sizeof...(x); }}", f"@{name}d(1, 'a') + sizeof(@{name}(1))"),
            (f"template <class T> int {name}(T x) {{ if (x) [[likely]] return 1; else [[unlikely]] throw x; }} struct {name}S {{ [[no_unique_address]] int a; unsigned b : 3 = 2; {mark} consteval int g() const {{ return 2; }} }};", f"sizeof(@{name}S) + sizeof(@{name}(1))"),
            (f"auto {name} = []<class T>(T x) requires (sizeof(T) > 1) {{ return x; }};", f"sizeof(@{name})"),
            (f"template <class T> struct {name} {{ T x; int y; }}; constexpr {name} {name}v{{1, 2}};", f"@{name}v.y"),
        )
        if "<=>" in way:
            self._lead.append("#include <compare>")
        return Piece(way, [seen])

    # --- a source

    def _wrapped(self, piece: Piece) -> tuple[str, str]:
        """Return a piece's text in a scope, and what names it holds are qualified with."""
        text, space = piece.text, self.name("N")
        ways = [
            (text, ""),
            (f"namespace {space} {{ {text} }}", f"{space}::"),
            (f"namespace {{ {text} }}", ""),
            (f"inline namespace {space} {{ {text} }}", self.one("", f"{space}::")),
            (f"namespace {space} {{ namespace {space}b {{ {text} }} }} using namespace {space}::{space}b;", ""),
            (f'extern "C++" {{ {text} }}', ""),
        ]
        if "#" not in text and "//" not in text and 'R"' not in text:
            macro = self.name("ALL")
            ways.append((f"#define {macro} {' '.join(text.split())}\n{macro}", ""))
            ways.append((f"#define {macro}(...) __VA_ARGS__\n{macro}({text})", ""))
        return self._random.choice(ways) if piece.is_movable and self.chance(0.5) else ways[0]

    def _header(self, texts: list[str]) -> list[str]:
        """Move some of the texts to a header."""
        if len(texts) < 2 or self.chance(0.6):
            return texts
        file, last = self.name("header") + self.one(".h", ".cuh", ".hpp"), self._random.randint(1, len(texts) - 1)
        guard = self.name("GUARD")
        inner = "\n".join(texts[:last])
        begin, end = self.one(("#pragma once\n", ""), (f"#ifndef {guard}\n#define {guard}\n", "\n#endif\n"), (f"#if !defined({guard})\n#define {guard} 1\n", "\n#endif // x\n"))
        self._files[file] = f"{begin}{inner}{end}\n"
        line = f'#include "{file}"'
        return [line, *texts[last:], line] if self.chance(0.3) else [line, *texts[last:]]

    def source(self, size: int = 0) -> MixedSource:
        makers: list[Callable[[], Piece]] = [
            self.structure, self.structure, self.structure, self.structure, self.packed_pragma, self.pragma_in_function, self.union, self.enumeration, self.constants, self.constants,
            self.floats, self.host_variables, self.host_variables, self.device_variables, self.overloads, self.called_overloads, self.adl, self.host_functions, self.host_functions,
            self.device_functions, self.device_functions, self.out_of_class, self.out_of_class, self.class_templates, self.class_templates, self.detection, self.conversions,
            self.x_macros, self.header_again, self.branches, self.branches, self.spanning, self.include_inside, self.macro_declarations, self.macro_declarations, self.usings,
            self.guides, self.asserts, self.literals, self.operators, self.kernels, self.lambdas, self.asm_and_storage, self.tags,
            self.alignments, self.alignments, self.marked_lambdas, self.host_types, self.host_types, self.host_types, self.read_fields, self.pragmas, self.lines, self.friends, self.spaces,
            self.spaces, self.host_only, self.host_only,
        ]  # fmt: skip
        if self._modern:
            makers += [self.modern] * 6
        chosen = [self._random.choice(makers) for _ in range(size or self._random.randint(2, 4))]
        texts: list[str] = []
        seen: list[str] = []
        for maker in chosen:
            piece = maker()
            text, scope = self._wrapped(piece)
            texts += [*self._lead, text]
            self._lead.clear()
            seen += [one.replace("@", scope) for one in piece.seen]
            self._types += [f"{scope}{one}" for one in piece.types]
            self._constants += [f"{scope}{one}" for one in piece.constants]
        texts = self._header(texts)
        half = (len(seen) + 1) // 2
        lines = ["\n".join(texts), ""]
        for at, some in enumerate((seen[:half], seen[half:])):
            values = " ".join(f"p[{index}] = (long long)({one});" for index, one in enumerate(some))
            lines.append(f"__global__ void k{at}_{self._number}(long long* p) {{ {values} }}")
        self._files["k.cu"] = "\n".join(lines) + "\n"
        spell = self.chance(0.5) and self.lines not in chosen  # NVRTC counts lines that are joined otherwise
        files = {name: respelled(text, self._random) if spell else text for name, text in self._files.items()}
        return MixedSource(self._number, files, tuple(maker.__name__ for maker in chosen))
