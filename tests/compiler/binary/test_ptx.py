"""The PTX reader, on what NVRTC writes."""

from __future__ import annotations

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels.compiler.binary.cubin import read_cubin
from hatch_cuda_kernels.compiler.binary.ptx import Ptx, drop_unused, read_ptx

SOURCE = """
struct alignas(8) Pair { int a; double b; };
struct Three { char c[3]; };
__constant__ float filter[16];
__device__ int counter = 3;
__device__ short grid[3][4];
__device__ const char* text = "a;b={\\n.global .u32 no;";
__managed__ double shared_with_host;
template <class T> __device__ T zero = T(7);
__noinline__ __device__ int helper(int x) { return x * counter + zero<int>; }
extern "C" __global__ void __launch_bounds__(128)
all_kinds(float* p, unsigned char u8, signed char s8, bool b, short h, unsigned u, long long l, float f, double d,
          Pair pair, Three three, float4 v, const int* __restrict__ q) { *p = helper(*q) + filter[u]; }
extern "C" __global__ void none() {}
static __global__ void quiet(int x) {}
template <class T> __global__ void templated(T x) {}
"""


def compiled(arch: str) -> tuple[Ptx, bytes]:
    """Return what the reader makes of the sample for an architecture, and the CUBIN of the same compile."""
    result = compile_raw(SOURCE, arch=arch, expressions=("templated<double>", "quiet"))
    assert result.ok, result.log
    return read_ptx(result.ptx), result.cubin


@pytest.fixture(scope="module")
def sample() -> tuple[Ptx, bytes]:
    """Return the sample for an architecture whose PTX does not mark pointers."""
    return compiled("sm_80")


def test_version_and_target(sample):
    """The ISA and the target with its suffix are those of the header lines."""
    assert sample[0].isa >= (8, 8)
    assert sample[0].target == "sm_80"
    assert compiled("sm_90a")[0].target == "sm_90a"


def test_entry_points_have_parameter_types(sample):
    """Every kernel is listed, templates and static ones too, device functions are not."""
    assert sample[0].entries == {
        "all_kinds": (
            *("u64", "u8", "u8", "u8", "u16", "u32", "u64", "f32", "f64"),
            *("b8[16]:8", "b8[3]:1", "b8[16]:16", "u64"),
        ),
        "none": (),
        "_Z5quieti": ("u32",),
        "_Z9templatedIdEvT_": ("f64",),
    }


def test_pointers_are_known_on_newer_architectures():
    """From sm_100 on PTX marks pointers, so that an integer of 64 bits can be told from an address."""
    params = compiled("sm_100")[0].entries["all_kinds"]
    assert (params[0], params[6], params[12]) == ("ptr", "u64", "ptr")


@pytest.mark.parametrize("arch", ["sm_80", "sm_120"])
def test_variables_agree_with_the_cubin(arch):
    """Constants, globals, arrays and managed variables have the sizes that the CUBIN of the same compile gives."""
    ptx, cubin = compiled(arch)
    expected = {"filter": 64, "counter": 4, "grid": 24, "text": 8, "shared_with_host": 8, "_Z4zeroIiE": 4}
    assert {name: size for name, size in ptx.variables.items() if not name.startswith("$")} == expected
    assert {name: read_cubin(cubin).variables[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no .version or no .target"),
        (".version 9.0\n", "no .version or no .target"),
        ("\x7fELF", "no .version or no .target"),
        (".version 9.0\n.target sm_80\n.visible .entry k(\n\t.param .u64 k_", "entry point"),
        (".version 9.0\n.target sm_80\n.visible .entry k(\n\t.param k_param_0\n)\n", "parameter"),
        (".version 9.0\n.target sm_80\n.global .align 4 .b8 x[3", "variable"),
        (".version 9.0\n.target sm_80\n.global x;\n", "variable"),
    ],
)
def test_what_is_no_whole_ptx_is_refused(text, reason):
    """Other text, and PTX cut inside a declaration, raises ValueError with what could not be read."""
    with pytest.raises(ValueError, match=reason):
        read_ptx(text)


def test_linked_ptx_and_other_spellings_are_read():
    """Linkage of variables, vectors, opaque types and spaces of pointers: PTX that NVRTC itself rarely writes."""
    text = (
        ".version 8.0\n.target sm_90a, debug\n.address_size 64\n"
        ".visible .const .align 16 .v4 .f32 corner;\n.weak .global .align 4 .f16x2 halves[3] = {0};\n"
        ".extern .global .u32 elsewhere;\n.extern .shared .align 16 .b8 dynamic[];\n"
        ".entry first\n{\n\tret;\n}\n"
        ".weak .entry second(\n"
        "\t.param .u64 .ptr .global .align 16 a, .param .u64 .ptr b, .param .texref t, .param .b32 c\n)\n"
    )
    assert read_ptx(text) == Ptx(
        isa=(8, 0),
        target="sm_90a",
        entries={"first": (), "second": ("ptr", "ptr", "texref", "b32")},
        variables={"corner": 16, "halves": 12},
    )


def test_a_cut_text_gives_a_result_or_a_reason():
    """A text cut at any place raises ValueError or reads as the declarations before the cut."""
    text = compile_raw(SOURCE, expressions=("templated<double>",)).ptx
    whole = read_ptx(text)
    for size in range(0, len(text), 11):
        try:
            part = read_ptx(text[:size])
        except ValueError:
            continue
        assert part.entries.items() <= whole.entries.items()
        assert part.variables.items() <= whole.variables.items()


UNUSED = """//
.version 9.0
.target sm_90
.address_size 64

.global .align 4 .u32 used = 5;
.global .align 1 .b8 for_nothing[3] = {1, 2, 3};
.const .align 8 .u64 only_for_it = generic(chain);
.global .align 4 .u32 chain;
.const .align 4 .b8 kept[16];
.visible .global .align 4 .u32 others_may_use;
.global .align 4 .u32 used_too;

.visible .entry k(
\t.param .u64 k_param_0
)
{
\tld.global.u32 \t%r1, [used];
\tld.global.u32 \t%r2, [used_too+4];
\tret;
}
"""


DEAD = """
.version 9.0
.target sm_90
.func  (.param .b32 func_retval0) dead(
\t.param .b32 dead_param_0
)
;
.extern .func  (.param .b32 func_retval0) vprintf
(
\t.param .b64 vprintf_param_0
)
;
.global .align 4 .b8 only_dead[4] = {1};
.global .align 8 .u64 table[2] = {dead, generic(other)};
.global .align 8 .u64 other = generic(table);
.global .align 4 .b8 of_alive[4] = {1};
.global .align 8 .u64 pointer = alive;

.func dead(
\t.param .b32 dead_param_0
)
{
\tld.global.u32 \t%r1, [only_dead];
\t{
\tcall.uni dead;
\t}
\tret;

}
.func alive() .noreturn
{
\tld.global.u32 \t%r1, [of_alive];
\tret;

}
.visible .entry k()
{
\tld.global.u64 \t%r1, [pointer];
\tret;

}
"""


def test_what_no_kernel_leads_to_is_dropped():
    """Functions in an unused table, what only these use, and tables that refer to each other; a kernel's own stay."""
    text = drop_unused(DEAD, ())
    assert list(read_ptx(text).variables) == ["of_alive", "pointer"]
    assert "dead" not in text
    assert text.endswith(DEAD[DEAD.index("\n.func alive") :])
    assert "vprintf" in text
    assert drop_unused(DEAD, ("other",)) == DEAD


def test_what_is_declared_for_nothing_is_dropped():
    """A variable that nothing refers to goes, then what only that one referred to; the rest of the text stays."""
    text = drop_unused(UNUSED, frozenset({"kept"}))
    assert list(read_ptx(text).variables) == ["used", "kept", "others_may_use", "used_too"]
    assert [line for line in UNUSED.splitlines() if line not in text.splitlines()] == [
        ".global .align 1 .b8 for_nothing[3] = {1, 2, 3};",
        ".const .align 8 .u64 only_for_it = generic(chain);",
        ".global .align 4 .u32 chain;",
    ]
    assert "for_nothing" in drop_unused(UNUSED, frozenset({"kept", "for_nothing"}))
