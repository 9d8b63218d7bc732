"""Standard headers that sources use without an include, as nvcc and headers of the host's let them."""

from __future__ import annotations

import json

import pytest

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.includes import OuterHeaders, packaged_standard_headers
from hatch_cuda_kernels.libraries import headers_in
from hatch_cuda_kernels.manifest import parse_manifest

KERNEL = "__global__ void k(int* s) {{ s[0] = {}; }}\n"


def closure(tmp_path, text, **options):
    """Return the closure of a module with that text."""
    (tmp_path / "k.cu").write_text(text)
    modules = {"k": {"source": "k.cu", "options": options}}
    manifest = parse_manifest(json.dumps({"schema": 1, "arches": ["sm_80"], "modules": modules}), root=tmp_path)
    return read_recipe(manifest.modules[0].recipe, tmp_path).units[0], manifest


@pytest.mark.parametrize(
    ("used", "header"),
    [
        ("sizeof(uint) + sizeof(ulong) + sizeof(ushort)", "sys/types.h"),
        ("sizeof(pid_t) + sizeof(uid_t) + sizeof(gid_t) + sizeof(mode_t) + sizeof(off64_t)", "sys/types.h"),
        ("sizeof(struct timeval)", "sys/time.h"),
        ("INT_MAX", "climits"),
        ("PATH_MAX", "climits"),
        ("offsetof(dim3, y) + sizeof(max_align_t)", "cstddef"),
        ("LITTLE_ENDIAN == BYTE_ORDER", "endian.h"),
        ("EOF + BUFSIZ", "stdio.h"),
        ("sizeof(pthread_t)", "pthread.h"),
        ("sizeof(std::regex)", "regex"),
        ("sizeof(std::chrono::seconds)", "chrono"),
        ("FLT_MAX > 1", "cfloat"),
        ("INFINITY > 1", "cmath"),
        ("pow(s[1], 2)", "hatch_cuda_kernels/math_names.h"),
        ("sizeof(uint32_t)", "cstdint"),
        ("std::numeric_limits<int>::max()", "limits"),
        ("std :: max(1, 2)", "algorithm"),
        ("std::is_same<int, int>::value", "type_traits"),
        ("__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__", "hatch_cuda_kernels/gnu_macros.h"),
        (
            "__builtin_popcount(s[1]) + __builtin_ctzll(s[2]) + __builtin_bswap32(s[3])",
            "hatch_cuda_kernels/gnu_builtins.h",
        ),
    ],
)
def test_names_bring_their_header(tmp_path, used, header):
    """A source compiles that uses them without an include; the header is part of the closure."""
    found, manifest = closure(tmp_path, KERNEL.format(used))
    assert found.pre_include == (header,)
    assert header in found.named
    assert header in found.standard
    build_store(manifest, tmp_path / "store")


def test_a_namespace_of_one_letter_is_not_taken_for_the_words_that_begin_with_it(tmp_path):
    """``uint`` brings its header where ``u`` is a namespace."""
    found, _ = closure(tmp_path, "namespace app {}\nnamespace u = app;\n" + KERNEL.format("sizeof(uint)"))
    assert found.pre_include == ("sys/types.h",)


def test_types_of_posix_are_those_of_the_host(tmp_path):
    """Kernels have the names that nvcc gives them, and structs the same layout."""
    types = {"int": "pid_t key_t clockid_t", "unsigned": "uid_t gid_t mode_t id_t useconds_t"}
    types |= {"unsigned long": "dev_t ino_t nlink_t", "long": "loff_t off64_t suseconds_t blksize_t blkcnt_t"}
    same = "".join(
        f'static_assert(std::is_same<{name}, {one}>::value, "");\n'
        for one, names in types.items()
        for name in names.split()
    )
    _, manifest = closure(tmp_path, f"#include <sys/types.h>\n{same}" + KERNEL.format("0"))
    build_store(manifest, tmp_path / "store")


@pytest.mark.slow
def test_a_header_may_use_what_the_source_includes_behind_it(tmp_path):
    """With nvcc, its own includes bring it."""
    (tmp_path / "h.h").write_text("static constexpr int most = std::max(1, 2);\n")
    found, manifest = closure(tmp_path, '#include "h.h"\n#include <algorithm>\n' + KERNEL.format("most"))
    assert found.pre_include == ("algorithm",)
    build_store(manifest, tmp_path / "store")
    found, _ = closure(tmp_path, '#include <algorithm>\n#include "h.h"\n' + KERNEL.format("most"))
    assert found.pre_include == ()


@pytest.mark.slow
def test_a_macro_may_stand_for_the_toolkits_namespace(tmp_path):
    """As CUTLASS has one for NVRTC, without an include of all that it names; no other namespace counts."""
    text = "#define STL cuda::std // for NVRTC\n#define OTHER cuda::other\n"
    found, manifest = closure(tmp_path, text + KERNEL.format("STL::get<0>(STL::tuple<int>(OTHER::array))"))
    assert found.pre_include == ("cuda/std/tuple",)
    used = text + KERNEL.format("STL::get<0>(STL::tuple<int>(1))")
    found, manifest = closure(tmp_path, used)
    build_store(manifest, tmp_path / "store")
    (tmp_path / "own/cuda/std").mkdir(parents=True)
    (tmp_path / "own/cuda/std/tuple").write_text("")
    (tmp_path / "h.h").write_text("#include <cuda/std/tuple>\n")
    found, _ = closure(tmp_path, f'#include "h.h"\n{used}', include=["own"])
    assert found.pre_include == ()


FAIL = "void __assert_fail(const char* a, const char* file, unsigned line, const char* function)"
CALL = KERNEL.format('1; if (!s) __assert_fail("s", "k.cu", 1, "k")')


@pytest.mark.parametrize(
    ("declared", "kernel"),
    [
        (f'extern "C" __host__ __device__ {FAIL} throw();', CALL),  # as Torch's headers do
        (f'extern "C" __device__ {FAIL};', CALL),
        (f"__device__ {FAIL} {{}}", CALL),
        ("__device__ long double sinl(long double x) { return x; }", KERNEL.format("sinl(2)")),
        (
            "#include <cstdint>\ntemplate <class A, class B> __device__ A min(A a, B b) { return a + b; }",
            KERNEL.format("min(1l, 2ll)"),
        ),
    ],
)
def test_functions_of_the_project_are_its_own(tmp_path, declared, kernel):
    """They are declared otherwise than ours, or mean something else."""
    found, manifest = closure(tmp_path, f"{declared}\n{kernel}")
    assert found.pre_include == ()
    build_store(manifest, tmp_path / "store")


DIRECTIVE = '1;\n#ifndef _MSC_VER\n  __assert_fail("s", "k.cu", 1, "k")\n#endif\n'


@pytest.mark.parametrize(
    ("text", "is_brought"), [("register int a = 1; p[0] = a;", True), ("// a register int", False)]
)
def test_register_is_taken_as_by_nvcc(tmp_path, text, is_brought):
    """In C++17, which has it no more."""
    found, manifest = closure(tmp_path, f"__global__ void k(int* p) {{ {text}\n}}")
    assert ("hatch_cuda_kernels/register.h" in found.pre_include) == is_brought
    build_store(manifest, tmp_path / "store")


RETURN = "__device__ double f() { return sinl(2); }\n"


@pytest.mark.parametrize(
    "text", [CALL, CALL.replace("if (!s)", "if (s) {} else"), KERNEL.format(DIRECTIVE), RETURN + KERNEL.format("f()")]
)
def test_functions_that_nobody_declares_are_brought(tmp_path, text):
    """A call, also after a keyword or a directive, is no declaration."""
    found, manifest = closure(tmp_path, text)
    assert len(found.pre_include) == 1
    build_store(manifest, tmp_path / "store")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        KERNEL.format("3"),
        "#include <cuda/std/utility>\n" + KERNEL.format("cuda::std::move(1)"),
        "#include <climits>\n" + KERNEL.format("INT_MAX"),
        "#ifndef FLT_MAX\n#define FLT_MAX 1e30f\n#endif\n" + KERNEL.format("FLT_MAX > 1e35f"),
        "#if !defined(FLT_MAX)\n# define FLT_MAX 1e30f\n#endif\n" + KERNEL.format("FLT_MAX > 1e35f"),
        "typedef unsigned long long ulong;\n" + KERNEL.format("sizeof(ulong)"),
        "using uint = unsigned long long;\n" + KERNEL.format("sizeof(uint)"),
        "typedef unsigned int uint32_t;\ntypedef unsigned long long uint64_t;\n" + KERNEL.format("sizeof(uint32_t)"),
        "struct timeval { int a; };\n" + KERNEL.format("sizeof(timeval)"),
        "namespace std { template <class T> struct less { int a; }; }\n" + KERNEL.format("sizeof(std::less<int>)"),
        "namespace std { __device__ int max(int a, int b) { return a; } }\n" + KERNEL.format("std::max(1, 2)"),
    ],
)
def test_names_that_a_project_has_bring_none(tmp_path, text):
    """A header that a project includes, or a name that it declares, is not brought; the source compiles."""
    found, manifest = closure(tmp_path, text)
    assert found.pre_include == ()
    build_store(manifest, tmp_path / "store")


def test_a_macro_of_the_project_is_the_last_word(tmp_path):
    """It may stand in a branch for another compiler, so the header is brought; the project's meaning counts."""
    text = '#define INFINITY 3\n__constant__ int a = INFINITY;\nstatic_assert(INFINITY == 3, "");\n'
    found, manifest = closure(tmp_path, text + KERNEL.format("a"))
    assert found.pre_include == ("cmath",)
    build_store(manifest, tmp_path / "store")


def test_the_same_typedef_again_is_no_obstacle(tmp_path):
    """It may stand in a branch for another compiler."""
    text = "#ifdef _WIN32\ntypedef unsigned int uint;\n#endif\n" + KERNEL.format("sizeof(uint)")
    found, manifest = closure(tmp_path, text)
    assert found.pre_include == ("sys/types.h",)
    build_store(manifest, tmp_path / "store")


@pytest.mark.parametrize("alias", ["uint = unsigned", "uint = std::uint32_t", "ulong = unsigned long"])
def test_the_same_alias_again_is_none_either(tmp_path, alias):
    """What comes before it uses the header's."""
    name = alias.partition(" ")[0]
    text = f"template <class T> struct P;\ntemplate <> struct P<{name}> {{}};\nusing {alias};\n"
    found, manifest = closure(tmp_path, text + KERNEL.format(f"sizeof(P<{name}>)"))
    assert "sys/types.h" in found.pre_include
    build_store(manifest, tmp_path / "store")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("declared", "used", "headers"),
    [
        ("using namespace std;\n", "sizeof(unique_ptr<int>) + numeric_limits<short>::max()", ("limits", "memory")),
        ("using namespace std;\n", "sizeof(enable_if_t<is_same_v<int, int>, int>)", ("type_traits",)),
        ("using namespace std;\ntemplate <bool> struct enable_if {};\n", "sizeof(::enable_if<true>)", ()),
        ("using namespace std;\ntemplate <class T> struct shared_ptr { T t; };\n", "sizeof(::shared_ptr<int>)", ()),
        ("template <class T> struct unique_ptr { T t; };\n", "sizeof(unique_ptr<int>)", ()),
    ],
)
def test_class_templates_of_std_need_no_qualifier_behind_a_directive(tmp_path, declared, used, headers):
    """Unless the project has its own of that name."""
    found, manifest = closure(tmp_path, declared + KERNEL.format(used))
    assert found.pre_include == headers
    build_store(manifest, tmp_path / "store")


def test_functions_of_the_runtime_that_types_name(tmp_path):
    """As the argument of a template, or what the host's member begins with; NVRTC declares neither."""
    text = """void host();
struct Texture { float a; cudaChannelFormatDesc d = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat); };
template <class H, cudaError_t (*Destroy)(H)> struct Handle { H h; };
struct Graph : Handle<cudaGraph_t, cudaGraphDestroy> { int n; };
"""
    found, manifest = closure(tmp_path, f"{text}__global__ void k(Graph g, Texture t, int* s) {{ s[0] = g.n; }}\n")
    assert found.pre_include == ("hatch_cuda_kernels/runtime_functions.h",)
    build_store(manifest, tmp_path / "store")


def test_functions_of_the_runtime_for_device_code(tmp_path):
    """Their header comes with every source of nvcc's."""
    found, _ = closure(tmp_path, KERNEL.format("1; cudaGridDependencySynchronize()"))
    assert found.pre_include == ("cuda_device_runtime_api.h",)


@pytest.mark.parametrize("text", ["#define R register\n", ""])
def test_register_may_come_by_a_macro(tmp_path, text):
    """As by its name."""
    word = "R" if text else "register"
    found, manifest = closure(tmp_path, f"{text}__global__ void k(int* p) {{ {word} int a = 1; p[0] = a; }}\n")
    assert found.pre_include == ("hatch_cuda_kernels/register.h",)
    build_store(manifest, tmp_path / "store")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "struct S { int exit; };\n" + KERNEL.format("S{1}.exit + sizeof(cuda::std::uint32_t)"),
        "#include <vector>\n#include <cuda/std/cstdint>\n" + KERNEL.format("sizeof(cuda::std::uint32_t)"),
    ],
)
def test_members_and_names_of_other_namespaces_are_no_uses(tmp_path, text):
    """Only what may be the library's own is."""
    assert "cstdint" not in closure(tmp_path, text)[0].pre_include


@pytest.mark.slow
@pytest.mark.parametrize("extra", [[], ["--device-int128"]])
def test_integers_of_128_bits_need_no_flag(tmp_path, extra):
    """As with nvcc; who states NVRTC's gets it once."""
    text = "__device__ unsigned __int128 twice(unsigned __int128 a) { return 2 * a; }\n"
    text = text if extra else text.replace("unsigned __int128", "__uint128_t")
    _, manifest = closure(tmp_path, text + KERNEL.format("int(twice(s[1]) >> 64)"), extra=extra)
    (module,) = build_store(manifest, tmp_path / "store").modules
    assert [kernel.name for kernel in module.kernels] == ["k"]


def test_what_a_version_of_linux_is_compared_with(tmp_path):
    """With nvcc, the header is the system's."""
    check = "#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 6, 0)\n#error too old\n#endif\n"
    text = f"#include <linux/version.h>\n{check}void host();\n"
    _, manifest = closure(tmp_path, text + KERNEL.format("1"))
    build_store(manifest, tmp_path / "store")


def test_an_include_in_a_comment_or_a_branch_is_none(tmp_path):
    """The header is brought all the same."""
    text = "// wants\n/*\n#include <cmath>\n*/\n#ifdef _WIN32\n#include <cmath>\n#endif\n" + KERNEL.format("M_PI")
    found, manifest = closure(tmp_path, text)
    assert found.pre_include == ("cmath",)
    build_store(manifest, tmp_path / "store")


def test_names_of_code_that_is_cut_bring_none(tmp_path):
    """What only host code uses is not included; what remains of a header that is cut is."""
    text = "#include <torch/extension.h>\nvoid f() { std::vector<int> v; }\n" + KERNEL.format("sizeof(int64_t)")
    found, manifest = closure(tmp_path, text, host_code="drop")
    assert found.pre_include == ("cstdint",)
    build_store(manifest, tmp_path / "store")


@pytest.mark.slow
def test_a_store_finds_the_headers_that_its_build_found(tmp_path):
    """What the toolkit's headers asked for in the build stands for them, also where both steps bring headers."""
    text = "#include <thrust/swap.h>\n" + KERNEL.format("sizeof(std::pair<int, int>)")
    built, manifest = closure(tmp_path, text)
    assert built.pre_include == ("utility",)
    outer = OuterHeaders.as_built(packaged_standard_headers(), built.asked)
    assert read_recipe(manifest.modules[0].recipe, tmp_path, outer=[outer]).units == (built,)


@pytest.mark.parametrize("options", [{"default_device": True}, {"host_code": "keep"}], ids=str)
def test_what_a_project_declares_is_known_where_nothing_is_cut(tmp_path, options):
    """Its own type brings no header that has it, too."""
    found, manifest = closure(tmp_path, "typedef long long ssize_t;\n" + KERNEL.format("sizeof(ssize_t)"), **options)
    assert found.pre_include == ()
    build_store(manifest, tmp_path / "store")


def test_none_without_standard_headers(tmp_path):
    """The option turns them off."""
    assert closure(tmp_path, KERNEL.format("INT_MAX"), standard_headers=False)[0].pre_include == ()


@pytest.mark.slow
def test_every_name_is_in_its_header(tmp_path):
    """Each header that a name brings declares or defines it."""
    assert {
        *headers_in("standard", "global").values(),
        *headers_in("standard", "std").values(),
    } <= packaged_standard_headers().names
    lines = [
        f"#ifndef {name}\n{_use(name, number)}\n#endif\n"
        for number, name in enumerate(headers_in("standard", "global"))
    ]
    namespaces = {"chrono", "filesystem", "numbers", "placeholders", "this_thread"}
    named = headers_in("standard", "std").keys() - namespaces - {"uncaught_exception"}  # which C++20 removed
    lines += [f"namespace n_{name} {{ using std::{name}; }}\n" for name in sorted(named)]
    lines += [f"namespace n_{name} = std::{name};\n" for name in sorted(namespaces)]
    lines.insert(0, "#include <cfloat>\n")  # no other header has its macros, and conditions bring none
    _, manifest = closure(tmp_path, "".join([*lines, KERNEL.format("1")]), std="c++20", host_code="keep")
    build_store(manifest, tmp_path / "store")


def _use(name, number):
    return f"namespace m_{number} {{ using ::{name}; }}"


def test_what_a_macro_includes_is_nothing_that_is_known(tmp_path):
    """A header that a macro names hides no use behind it."""
    (tmp_path / "own.h").write_text("")
    text = '#define OWN "own.h"\n#include OWN\n#define STL cuda::std\n'
    found, _ = closure(tmp_path, text + KERNEL.format("STL::get<0>(STL::tuple<int>(1))"), include=["."])
    assert found.pre_include == ("cuda/std/tuple",)


@pytest.mark.parametrize(
    "asked",
    [
        "__has_include(<sys/epoll.h>)",
        "__GNUC__ >= 5 && __has_include(<vector>)",
        "!__has_include(<nothing.h>) && __GNUC__ && __has_include( <execinfo.h> )",
    ],
)
def test_nvccs_host_has_its_systems_headers(tmp_path, asked):
    """Also those that this package has none for, and beside a macro of the host's compiler."""
    text = f"#if {asked}\nconst int n = 1;\n#else\n#error none\n#endif\n"
    _, manifest = closure(tmp_path, text + KERNEL.format("n"))
    build_store(manifest, tmp_path / "store")
