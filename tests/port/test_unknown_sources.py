"""``port`` over what real projects have beside kernels: host libraries, macros for compilers, and for classes."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.port import port

ARCH = SmArch.parse("sm_80")
KERNEL = "__global__ void k(int* p) { *p = 1; }\n"
OPTIONS = NvrtcOptions(include=(".",))


@pytest.fixture
def ported(tmp_path):
    """Return a function that ports k.cu of a project with these files."""

    def run(text, **files):
        for name, content in {"k.cu": text, **files}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        return port(tmp_path, ["k.cu"], OPTIONS, arch=ARCH)

    return run


def guarded(found):
    """Return the names of what is guarded."""
    return {guard.name for guard in found.guards}


@pytest.mark.parametrize("header", ["fmt/format.h", "json/json.hpp"])
def test_a_projects_copy_of_a_host_library_is_read_as_any_header(ported, header):
    """As nvcc reads it: bodies go, and what specialises its templates stays."""
    library = "namespace fmt { template <class T> struct formatter; int format(const char* text) { throw text; } }\n"
    text = f'#include "{header}"\ntemplate <> struct fmt::formatter<int> {{ int parse(); }};\n{KERNEL}'
    found = ported(text, **{header: library})
    assert found.remaining == ()
    assert set(found.after) == {header}
    assert guarded(found) == {"format"}


def test_conditions_that_know_no_other_compiler(ported):
    """They hold as for gcc, and the patch shows it, in a file that cannot be parsed, too."""
    chain = (
        "#if defined(_MSC_VER)\n#define INLINE __forceinline\n#elif defined(__GNUC__)\n#define INLINE inline\n#else\n"
    )
    header = f'{chain}#error "unknown compiler"\n{{ {{\n#endif\n#ifdef NEVER\n{{ {{\n#endif\n'
    found = ported(f'#include "h.h"\n__device__ INLINE int f() {{ return 1; }}\n{KERNEL}', **{"h.h": header})
    assert found.remaining == ()
    assert "#elif (defined(__GNUC__) || defined(__CUDACC_RTC__))" in found.after["h.h"]
    assert [(guard.line, guard.kind, guard.name) for guard in found.guards] == [(3, "condition", "defined(__GNUC__)")]


def test_a_class_that_a_macro_makes(ported):
    """Its bodies are cut in the place of the use."""
    macro = "#ifdef LOUD\n#define FAULT(name) class name { name() { puts(#name); } };\n"
    macro += "#else\n#define FAULT(name) class name { name() {} int code() { return puts(#name); } };\n#endif\n"
    found = ported(f"{macro}FAULT(Broken)\n{KERNEL}")
    assert found.remaining == ()
    assert guarded(found) == {"code"}
    assert "#else\nFAULT(Broken)\n#endif" in found.after["k.cu"]


def test_an_array_that_a_macro_aligns(ported):
    """It is guarded where only the host's functions give it its values, and name it."""
    text = "#define ALIGNED(n, x) x __attribute__((aligned(n)))\nfloat host(unsigned x) { return 0; }\n"
    text += f"const ALIGNED(16, float mask[2]) = {{ host(1), 0 }};\nfloat use() {{ return mask[0]; }}\n{KERNEL}"
    found = ported(text)
    assert found.remaining == ()
    assert guarded(found) == {"host", "mask", "use"}


@pytest.mark.slow
def test_names_get_the_namespaces_that_a_launch_leaves_out(ported):
    """A kernel of one namespace is launched in another; what counts is guessed to be an integer."""
    text = "namespace lib { namespace gpu { using index = long long; template <class T> struct of { T x; }; } }\n"
    text += "namespace own { template <class T, class SizeT> __global__ void k(T* p, SizeT n) { p[n % 2] = 0; } }\n"
    text += "namespace lib { template <class T> void run(T* p) { own::k<gpu::of<T>, gpu::index><<<1, 1>>>(p, 1); } }\n"
    found = ported(text.replace("gpu::of<T>", "T"))
    assert "own::k<float, lib::gpu::index>" in found.manifest
    assert "own::k<float, int>" in ported(text.replace("gpu::index>", "typename T::size>")).manifest


def test_names_that_one_namespace_has_get_it(ported):
    """Also alias templates and types of a namespace that only a using-directive opens."""
    text = "namespace lib { template <class T> struct S { T x; }; template <class T> using Key = S<T>; }\n"
    text += "namespace alg { struct A { enum Id { first }; }; }\nusing namespace alg;\n"
    text += "namespace lib { template <class K> __global__ void k(K* p) { p[0].x = 1; } }\n"
    text += "template <A::Id I> __global__ void j(int* p) { *p = I; }\n"
    text += "namespace lib { template <class K> void run(K* p) { k<<<1, 1>>>(p); } template void run(Key<int>*); }\n"
    text += "void run(int* p) { j<A::first><<<1, 1>>>(p); }\n"
    manifest = ported(text).manifest
    assert "lib::k<lib::Key<int>>" in manifest
    assert "j<alg::A::first>" in manifest


def test_torchs_quotients_in_device_code(ported):
    """They are what Torch's kernels divide by, and need none of its classes."""
    body = "*p = at::ceil_div(*p, 3) + at::cuda::ATenCeilDiv(*p, 2);"
    found = ported(f"#include <ATen/ceil_div.h>\n__global__ void k(int* p) {{ {body} }}\n")
    assert found.remaining == ()


def test_what_a_copy_of_a_host_library_cannot_have_goes(ported):
    """NVRTC says what; what names it goes, too."""
    boost = "namespace boost { struct Frame { unknown::type held; }; }\n"
    text = f"#include <boost/stacktrace.hpp>\nvoid run() {{ boost::Frame frame; }}\n{KERNEL}"
    found = ported(text, **{"boost/stacktrace.hpp": boost})
    assert found.remaining == ()
    assert guarded(found) == {"Frame", "run"}
