"""Names of Boost's that classes hold, where includes of its headers are cut as the host's."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.options import HostCode, NvrtcOptions

SOURCE = """#include <boost/{}.hpp>
struct Field {{
    boost::{}<Field> copy;
    virtual boost::{}<Field> to_host() const;
    float* values;
}};
__global__ void k(Field* f) {{ *f->values = 1; }}
"""


@pytest.mark.parametrize("has_boost", [False, True])
@pytest.mark.parametrize("name", ["shared_ptr", "weak_ptr"])
def test_members_may_be_boosts_pointers(tmp_path, name, has_boost):
    """Whether the project has Boost itself or its system has it."""
    (tmp_path / "k.cu").write_text(SOURCE.format("smart_ptr", name, name))
    if has_boost:
        (tmp_path / "third/boost/smart_ptr").mkdir(parents=True)
        (tmp_path / "third/boost/smart_ptr.hpp").write_text("#include <boost/smart_ptr/all.hpp>\nnamespace boost {}\n")
        (tmp_path / "third/boost/smart_ptr/all.hpp").write_text(
            f"namespace boost {{ template <class T> struct {name} {{ T* p; }}; }}\n"
        )
    options = NvrtcOptions(include=("third",) if has_boost else (), host_code=HostCode.DROP)
    recipe = Recipe(module="k", sources=("k.cu",), options=options)
    made = run_job(recipe.job(read_recipe(recipe, tmp_path), SmArch.parse("sm_90"), ("cubin",)))
    assert [kernel.name for kernel in made.kernels] == ["k"]


def test_what_has_another_layout_is_not_the_standards(tmp_path):
    """Boost's optional begins with the flag that std's ends with: a kernel that reads one must not compile."""
    text = "#include <boost/optional.hpp>\n__global__ void k(boost::optional<int>* x) { if (*x) { x->reset(); } }\n"
    (tmp_path / "k.cu").write_text(text)
    recipe = Recipe(module="k", sources=("k.cu",), options=NvrtcOptions(host_code=HostCode.DROP))
    with pytest.raises(CompileError, match="boost"):
        run_job(recipe.job(read_recipe(recipe, tmp_path), SmArch.parse("sm_90"), ("cubin",)))


def test_a_name_whose_header_stays_is_not_declared_twice(tmp_path):
    """The project's own of another kind."""
    (tmp_path / "own/boost").mkdir(parents=True)
    (tmp_path / "own/boost/optional.hpp").write_text(
        "namespace boost { template <class T> struct optional { T value; }; }\n"
    )
    text = "#include <boost/optional.hpp>\n#include <vector>\nstd::vector<int> host();\n"
    (tmp_path / "k.cu").write_text(f"{text}__global__ void k(boost::optional<int>* x) {{ x->value = 1; }}\n")
    options = NvrtcOptions(include=("own",), host_code=HostCode.DROP)
    recipe = Recipe(module="k", sources=("k.cu",), options=options)
    assert run_job(recipe.job(read_recipe(recipe, tmp_path), SmArch.parse("sm_90"), ("cubin",))).kernels
