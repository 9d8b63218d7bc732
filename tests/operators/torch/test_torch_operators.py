"""Operators of torch from kernels: what torch checks of them, and that it compiles and exports them as they are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap

import pytest
from torch_kernels import Kernels, ruled_kernel

from hatch_cuda_kernels.errors import ArgumentError, InputError

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = [  # torch's own
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:copyreg"),
]

SAXPY = ruled_kernel("saxpy", "float* y, const float* x, long long n, float a")
SCALE = ruled_kernel("scale", "float* y, const float* x, float factor, long long n")
SCALE_BACKWARD = ruled_kernel("scale_backward", "float* grad_x, const float* grad_y, float factor, long long n")
SORTS = [ruled_kernel(f"sort<{t}, 128>", f"const {t}* x, {t}* out, long long n") for t in ("int", "float")]


def saxpy(y, x, n, a):
    """Compute as the kernel does: by memory, whatever the shape."""
    assert type(n) is int
    y.view(-1)[:n] += a * x.view(-1)[:n]


def scale(y, x, factor, n):
    """As above."""
    y.view(-1)[:n] = factor * x.view(-1)[:n]


def sort(x, out, n):
    """As above."""
    out.copy_(x.sort().values)


KERNELS = {"saxpy": saxpy, "scale": scale, "sort": sort}
KERNELS["scale_backward"] = scale


@pytest.fixture
def kernels():
    """Return the kernels of Python."""
    return Kernels(**KERNELS)


def schemas(operators):
    """Return the schemas by name."""
    return {name: str(operator._schema).partition("::")[2] for name, operator in operators.items()}


@pytest.mark.parametrize(
    ("declarations", "arguments"),
    [
        ("float* y, const float* x, long long n, float a", "Tensor(a!) y, Tensor x, SymInt n, float a"),
        ("char* y, double a, bool flag, unsigned int n", "Tensor(a!) y, float a, bool flag, SymInt n"),
        ("const __half* in, __half* out, __half a", "Tensor in_, Tensor(a!) out, float a"),
        ("void* memory, int* lambda, const void* None", "Tensor(a!) memory, Tensor(b!) lambda_, Tensor None_"),
    ],
)
def test_the_schema_follows_from_the_signature(make, kernels, declarations, arguments):
    """Pointers to const are read, others written to; integers may be symbolic."""
    operators = make([ruled_kernel("kernel", declarations)], kernels)
    assert schemas(operators) == {"kernel": f"kernel({arguments}) -> ()"}


@pytest.mark.parametrize(
    ("declarations", "reason"),
    [
        ("float* y, ns::Params p", "torch has no type for ns::Params p, which is passed by value"),
        ("int n", "it takes no tensor, and torch takes an operator's device from its tensors"),
        ("float* y,  n", "the store does not record the type of n; build it again"),
    ],
)
def test_what_torch_has_no_type_for_is_left_out(make, kernels, declarations, reason):
    """The others are registered; the reason is kept, and shown."""
    operators = make([ruled_kernel("other", declarations), SAXPY], kernels)
    assert list(operators) == ["saxpy"]
    assert operators.left_out == {"other": reason}
    assert f"other: no operator: {reason}" in repr(operators)
    with pytest.raises(InputError, match=r"no operator is called 'other': " + re.escape(reason)):
        make([ruled_kernel("other", declarations)], kernels, functional={"other": {"y": "y"}})


def test_instances_are_named_by_their_arguments(make, kernels):
    """One operator has the template's name where dtypes tell which instance is meant."""
    sums = [
        ruled_kernel(f"ns::sum<{t}, {n}>", f"const {t}* x, {t}* out") for t in ("float", "double") for n in (128, 256)
    ]
    operators = make([*sums, *SORTS], kernels)
    assert list(operators) == [
        "ns_sum_float_128", "ns_sum_float_256", "ns_sum_double_128", "ns_sum_double_256",
        "sort_int_128", "sort_float_128", "sort",
    ]  # fmt: skip


def test_a_templates_operator_takes_the_instance_for_the_dtypes(make, kernels):
    """Others say which ones there are."""
    sort = make(SORTS, kernels)["sort"]
    for dtype, name in ((torch.int32, "sort<int, 128>"), (torch.float32, "sort<float, 128>")):
        x = torch.tensor([3, 1, 2]).to(dtype)
        out = torch.empty_like(x)
        sort(x, out, 3)
        assert out.tolist() == [1, 2, 3]
        assert kernels.launched[-1] == name
    with pytest.raises(
        ArgumentError, match=r"argument 0 \(x\) must be torch.int32 or torch.float32, got torch.float64"
    ):
        sort(x.double(), out, 3)
    with pytest.raises(ArgumentError, match=r"no kernel takes x: torch.float32, out: torch.int32 together"):
        sort(x, out.int(), 3)


def traced(operator):
    """Return a function whose calls of an operator torch traces with fake tensors first."""

    def call(*args):
        operator(*args)

    return torch.compile(call, backend="eager", fullgraph=True)


def test_unsigned_integers_may_be_signed_ones(make):
    """Torch computes little with unsigned dtypes; but an instance of the very type comes first."""
    kernels = Kernels(copy=lambda x, out: out.copy_(x))
    copies = [ruled_kernel(f"copy<{t}>", f"const {t}* x, {t}* out") for t in ("unsigned int", "int")]
    operators = make(copies, kernels)
    for name, dtype, launched in (
        ("copy", torch.int32, "copy<int>"),
        ("copy", torch.uint32, "copy<unsigned int>"),
        ("copy_unsigned_int", torch.int32, "copy<unsigned int>"),
    ):
        x = torch.tensor([1, 2]).to(dtype)
        operators[name](x, torch.zeros(2, dtype=dtype))
        traced(operators[name])(x, torch.zeros(2, dtype=dtype))
        assert kernels.launched[-2:] == [launched] * 2
    with pytest.raises(RuntimeError, match=r"\(x\) must be torch.uint32 or torch.int32, got torch.int64"):
        traced(operators["copy_unsigned_int"])(torch.ones(2).long(), torch.ones(2).long())


def test_a_name_of_torchs_own_gets_an_underscore(make, namespace):
    """Else torch's functionalisation would be given two arguments of that name, and nothing would be compiled."""
    kernels = Kernels(fill=lambda y, mode, mode_: y.fill_(mode * mode_))
    operator = make([ruled_kernel("fill", "float* y, int mode, int mode_")], kernels)["fill"]
    assert str(operator._schema) == f"{namespace}::fill(Tensor(a!) y, SymInt mode__, SymInt mode_) -> ()"
    torch.library.opcheck(operator, (torch.ones(3), 2, 3))


def test_an_output_has_a_dtype_that_the_kernel_writes(make):
    """That of the input it is like, if the kernel takes it, and otherwise the kernel's own."""
    kernels = Kernels(count=lambda out, x: out.zero_())
    count = ruled_kernel("count", "unsigned int* out, const float* x")
    operators = make([count], kernels, functional={"count": {"out": "x"}})
    assert operators["count_functional"](torch.ones(3)).dtype == torch.uint32
    keys = ruled_kernel("count", "unsigned int* out, const void* x")
    operators = make([keys], kernels, functional={"count": {"out": "x"}})
    assert operators["count_functional"](torch.ones(3, dtype=torch.int32)).dtype == torch.int32


def test_kernels_of_two_modules_are_named_by_module(make, kernels):
    """And two that would have one name all the same are refused."""
    twins = [ruled_kernel("scale", "float* y", module) for module in ("a", "b")]
    assert list(make(twins, kernels)) == ["a_scale", "b_scale"]
    with pytest.raises(InputError, match="scale and a_scale would both be the operator a_scale; rename one"):
        make([ruled_kernel("a_scale", "float* y"), *twins], kernels)


def test_torch_finds_nothing_wrong(make, kernels, slow):
    """Its checks: the schema tells what is written, fakes are right, autograd is registered, dynamic shapes work."""
    operators = make(
        [SAXPY, SCALE, SCALE_BACKWARD, *SORTS],
        kernels,
        functional={"saxpy": {"y": "y"}, "scale": {"y": "x"}, "sort": {"out": "x"}},
        backward={"scale": "scale_backward"},
    )
    x, y = torch.randn(4, 3), torch.randn(4, 3)
    for differentiable in (x.clone().requires_grad_(), x):
        torch.library.opcheck(operators["scale_functional"], (differentiable, 2.0, 12))
    torch.library.opcheck(operators["saxpy"], (y, x, 12, 2.0))
    torch.library.opcheck(operators["saxpy_functional"], (y, x, 12, 2.0))
    torch.library.opcheck(operators["scale"], (y, x, 2.0, 12))
    torch.library.opcheck(operators["sort"], (x[0], torch.empty(3), 3))
    torch.library.opcheck(operators["sort_functional"], (x[0], 3))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_nothing_breaks_a_compiled_graph(make, kernels, namespace, backend, dynamic, slow):
    """What is written to in place and out of place, with sizes of any shape."""
    make([SAXPY, SCALE], kernels, functional={"scale": {"y": "x"}})
    ops = getattr(torch.ops, namespace)

    @torch.compile(fullgraph=True, backend=backend, dynamic=dynamic)
    def work(x, y):
        doubled = ops.scale_functional(x * 1.0, 2.0, x.numel())
        ops.saxpy(y, doubled, y.shape[0] * y.shape[1], 3.0)
        return y + 1

    for rows in (4, 5, 7):
        x, y = torch.ones(rows, 3), torch.ones(rows, 3)
        assert torch.equal(work(x, y), torch.full((rows, 3), 8.0))
        assert torch.equal(y, torch.full((rows, 3), 7.0))
    assert set(kernels.launched) == {"scale", "saxpy"}


def test_a_wrong_dtype_is_found_while_torch_traces(make, kernels, namespace):
    """The fake implementation knows what the kernel takes."""
    make([SCALE], kernels, functional=("y",))
    ops = getattr(torch.ops, namespace)
    compiled = torch.compile(lambda x: ops.scale_functional(x, 2.0, 3), fullgraph=True, backend="eager")
    with pytest.raises(Exception, match=r"argument 1 \(x\) must be torch.float32, got torch.float64"):
        compiled(torch.ones(3, dtype=torch.float64))
    assert kernels.launched == []


def test_an_operator_is_exported(make, kernels, namespace, slow):
    """The program names it, and runs where it is registered; the shape may be dynamic."""
    make([SAXPY], kernels)

    class Model(torch.nn.Module):
        def forward(self, x, y):
            getattr(torch.ops, namespace).saxpy(y, x, x.numel(), 2.0)
            return y * 1

    example = torch.ones(6, 2), torch.zeros(6, 2)
    rows = torch.export.Dim("rows", min=2, max=64)
    program = torch.export.export(Model(), example, dynamic_shapes=({0: rows}, {0: rows}))
    assert f"torch.ops.{namespace}.saxpy.default" in program.graph_module.code
    lowered = program.run_decompositions()
    for exported in (program, lowered):
        assert torch.equal(exported.module()(torch.ones(9, 2), torch.ones(9, 2)), torch.full((9, 2), 3.0))


def test_a_gradient_is_another_kernel(make, kernels):
    """It takes by name what it needs, and writes the gradient of the input that its own parameter names."""
    operators = make(
        [SCALE, SCALE_BACKWARD], kernels, functional={"scale": {"y": "x"}}, backward={"scale": "scale_backward"}
    )
    x = torch.randn(5, requires_grad=True)
    operators["scale_functional"](x, 3.0, 5).sum().backward()  # whose gradient is one number, expanded
    assert x.grad.tolist() == [3.0] * 5
    assert kernels.launched == ["scale", "scale_backward"]


def test_a_gradient_is_a_function(make, kernels):
    """It takes inputs, outputs and their gradients by name, and gives gradients by the names of inputs."""
    seen = {}

    def gradient(grad_y, x, y, factor):
        seen.update(x=x, y=y)
        return {"x": factor * grad_y}

    operators = make([SCALE], kernels, functional={"scale": {"y": "x"}}, backward={"scale": gradient})
    x = torch.randn(5, requires_grad=True)
    y = operators["scale_functional"](x, 3.0, 5)
    y.backward(torch.ones(5))
    assert x.grad.tolist() == [3.0] * 5
    assert torch.equal(seen["y"], y)
    assert torch.equal(seen["x"], x)


def test_a_gradient_is_compiled(make, kernels, namespace, slow):
    """Forward and backward are one graph each."""
    make([SCALE, SCALE_BACKWARD], kernels, functional={"scale": {"y": "x"}}, backward={"scale": "scale_backward"})
    ops = getattr(torch.ops, namespace)
    work = torch.compile(lambda x: ops.scale_functional(x, 3.0, x.numel()).sum(), fullgraph=True, backend="aot_eager")
    x = torch.randn(5, requires_grad=True)
    work(x).backward()
    assert x.grad.tolist() == [3.0] * 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backward": {"scale": "saxpy"}}, r"saxpy.default cannot be the gradient of scale_functional: it writes to y"),
        ({"backward": {"scale": "scal"}}, r"backward: no operator is called 'scal' \(did you mean 'scale'\?\)"),
        ({"backward": {"scale": lambda grad_z: {}}}, r"takes grad_z; it can have factor, grad_y, n, x, y"),
        ({"backward": {"saxpy": "scale_backward"}}, r"saxpy has no out-of-place variant"),
        ({"functional": {"saxpy": {"x": "y"}}}, r"names x, and the kernel writes to y"),
        ({"functional": {"saxpy": {"y": "z"}}}, r"saxpy has no input 'z' for y to be like; the inputs are x"),
        ({"functional": {"saxpy": {"y": lambda m: m}}}, r"no input 'm' for y to be like; the inputs are x, n, a"),
        ({"functional": {"saxpi": {}}}, r"functional: no operator is called 'saxpi' \(did you mean 'saxpy'\?\)"),
        ({"strided": ["sort"]}, r"strided: no operator is called 'sort'"),
        ({"optional": {"saxpy": ["n"]}}, r"optional: saxpy has no tensor 'n'; it has y, x"),
    ],
)
def test_options_that_fit_no_kernel_are_refused(make, kernels, options, message):
    """With what there is instead."""
    given = {"functional": {"scale": {"y": "x"}}} | options
    with pytest.raises(InputError, match=message):
        make([SAXPY, SCALE, SCALE_BACKWARD], kernels, **given)


def test_a_gradient_for_what_is_no_input_is_refused(make, kernels):
    """As soon as it is computed."""
    operators = make([SCALE], kernels, functional=["y"], backward={"scale": lambda grad_y: {"z": grad_y}})
    with pytest.raises(InputError, match="gives one for 'z'; its inputs are x, factor, n"):
        operators["scale_functional"](torch.ones(2, requires_grad=True), 2.0, 2).sum().backward()


def test_what_an_output_is_like(make, kernels):
    """An input, whose strides do not count; a function of inputs; or itself, changed in a copy."""
    kernels.functions["split"] = lambda x, half, whole, n: (half.fill_(1), whole.add_(x))
    split = ruled_kernel("split", "const float* x, double* half, float* whole, int n")
    like = {"half": lambda x, n: x.new_empty(n, dtype=torch.float64), "whole": "whole"}
    operators = make([split, SCALE], kernels, functional={"split": like, "scale": {"y": "x"}})
    x, whole = torch.ones(4), torch.full((4,), 2.0)
    half, changed = operators["split_functional"](x, whole, 3)
    assert (half.tolist(), half.dtype) == ([1.0] * 3, torch.float64)
    assert (changed.tolist(), whole.tolist()) == ([3.0] * 4, [2.0] * 4)
    torch.library.opcheck(operators["split_functional"], (x, whole, 3))


def test_tensors_must_be_contiguous(make, kernels):
    """For kernels see their addresses only; those that are told strides take any."""
    plain = make([SCALE], kernels)["scale"]
    x = torch.ones(3, 2).t()
    with pytest.raises(ArgumentError, match=r"argument 1 \(x\) of scale must be contiguous, got strides \(1, 2\)"):
        plain(torch.empty(2, 3), x, 2.0, 6)
    strided = make([SCALE], lambda *_: lambda *args: None, strided=["scale"])["scale"]
    strided(torch.empty(2, 3), x, 2.0, 6)


def test_optional_tensors_may_be_none(make, kernels):
    """They are null pointers to the kernel."""
    seen = []
    kernels.functions["add"] = lambda *args: seen.append(args)
    add = ruled_kernel("add", "float* y, const float* x, const float* bias")
    operators = make([add], kernels, optional={"add": ["bias"]})
    assert schemas(operators) == {"add": "add(Tensor(a!) y, Tensor x, Tensor? bias) -> ()"}
    y, x = torch.ones(2), torch.ones(2)
    operators["add"](y, x, None)
    assert seen[0][2] is None
    torch.library.opcheck(operators["add"], (y, x, None))


def test_what_is_written_to_counts_as_changed(make, kernels):
    """So autograd finds that a tensor which it saved was changed."""
    operators = make([SCALE], kernels)
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    product = y * y
    with torch.no_grad():
        operators["scale"](y, torch.ones(3), 2.0, 3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


@pytest.mark.parametrize("dim", [0, 1])
def test_vmap_calls_once_for_each_element(make, kernels, dim):
    """In place, what is written to has the batch too; out of place, results are stacked."""
    operators = make([SAXPY, SCALE], kernels, functional={"scale": {"y": "x"}})
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    doubled = torch.vmap(lambda x: operators["scale_functional"](x, 2.0, x.numel()), in_dims=dim)(x)
    assert torch.equal(doubled, 2 * x if dim == 0 else 2 * x.t())
    expected = y + 3 * x
    torch.vmap(lambda y, x: (operators["saxpy"](y, x, x.numel(), 3.0), y)[1], in_dims=dim)(y, x)
    assert torch.allclose(y, expected)
    with pytest.raises(ArgumentError, match=r"argument 0 \(y\) of saxpy is written to, so inside torch.vmap"):
        torch.vmap(lambda x: operators["saxpy"](y[0], x, 4, 3.0))(x)


def test_vmap_within_vmap(make, kernels):
    """Each level calls the next."""
    scale = make([SCALE], kernels, functional=["y"])["scale_functional"]
    x = torch.randn(2, 3, 4)
    assert torch.equal(torch.vmap(torch.vmap(lambda x: scale(x, 3.0, 4)))(x), 3 * x)
    assert len(kernels.launched) == 6


def test_registering_again_changes_nothing(make, kernels):
    """The same kernels of the same store, from another object: the operators that are there are returned."""
    first = make([SAXPY], kernels)
    again = make([SAXPY, SCALE], Kernels(), functional={"saxpy": {"y": "y"}})
    assert again["saxpy"] is first["saxpy"]
    assert list(again) == ["saxpy", "scale", "saxpy_functional"]
    again["saxpy"](torch.ones(2), torch.ones(2), 2, 1.0)
    assert kernels.launched == ["saxpy"]


def test_a_store_can_change_what_it_registered(make, kernels):
    """As when a module is loaded anew; the operator then does as it was told last."""
    make([SCALE], kernels, functional={"scale": {"y": "x"}}, backward={"scale": lambda grad_y: {"x": grad_y}})
    again = make([SCALE], kernels, functional={"scale": {"y": "x"}}, backward={"scale": lambda grad_y: {"x": -grad_y}})
    x = torch.ones(2, requires_grad=True)
    again["scale_functional"](x, 2.0, 2).sum().backward()
    assert x.grad.tolist() == [-1, -1]


def test_a_name_that_is_taken_is_refused(make, kernels, namespace):
    """By another store, or by anything else."""
    make([SAXPY], kernels)
    with pytest.raises(InputError, match=r"::saxpy belongs to another store, store; choose another namespace"):
        make([SAXPY], kernels, store="other")
    library = torch.library.Library(namespace, "FRAGMENT")
    library.define("scale(Tensor x) -> ()")
    with pytest.raises(InputError, match=r"torch does not take the operator .*::scale .*multiple times.*; choose"):
        make([SCALE], kernels)
    for wrong in ("my-lib", "prim"):
        with pytest.raises(InputError, match="namespace"):
            make([SAXPY], kernels, namespace=wrong)


@pytest.mark.skipif(not shutil.which("g++"), reason="torch's compiler needs g++")
def test_torchs_compiler_takes_operators(tmp_path, slow):
    """It calls them in compiled functions, straight where it can, and in packages made ahead, which need them."""
    package = str(tmp_path / "model.pt2")
    script = f"""
    import importlib.util
    import os
    import torch
    from torch._inductor.utils import run_and_get_code
    from torch._inductor import config

    built, tell = os.pipe()
    child = os.fork()
    if not child:  # a process without the operators, which need not import torch anew
        os.close(tell)
        if os.read(built, 1):
            torch._inductor.aoti_load_package({package!r})
        os._exit(0)
    config.aot_inductor.precompile_headers = False  # which takes longer than what they are used for once

    from torch_kernels import Kernels, ruled_kernel
    from hatch_cuda_kernels.operators.torch import make_operators

    kernels = Kernels(scale=lambda y, x, factor, n: y.copy_(factor * x), saxpy=lambda y, x, n, a: y.add_(a * x))
    declared = [
        ruled_kernel("scale", "float* y, const float* x, float factor, long long n"),
        ruled_kernel("saxpy", "float* y, const float* x, long long n, float a"),
    ]
    make_operators(declared, "ahead", "store", kernels, {{"functional": {{"scale": {{"y": "x"}}}}}}, device_key="CPU")

    class Model(torch.nn.Module):
        def forward(self, x, y):
            doubled = torch.ops.ahead.scale_functional(x + 1, 2.0, x.numel())
            y = torch.ops.ahead.scale_functional(y * 1, n=y.numel(), factor=1.0)
            torch.ops.ahead.saxpy(y, doubled, doubled.numel(), 3.0)
            return y + 1

    given = torch.ones(6), torch.ones(6)
    compiled = torch.compile(Model(), fullgraph=True)
    result, code = run_and_get_code(compiled, *given)
    assert result.tolist() == [14] * 6
    straight = importlib.util.find_spec("torch._inductor.codegen.custom_extern_kernel_codegen") is not None
    for name in ("scale_functional", "saxpy"):
        assert (f"torch.ops.ahead.{{name}}.default.without_dispatcher(" in code[0]) is straight
    assert sorted(kernels.launched) == ["saxpy", "scale", "scale"]
    program = torch.export.export(Model(), given)
    package = torch._inductor.aoti_compile_and_package(program, package_path={package!r})
    assert torch._inductor.aoti_load_package(package)(*given).tolist() == [14] * 6
    assert sorted(kernels.launched[3:]) == ["saxpy", "scale", "scale"]
    os.write(tell, b"1")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    """
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path),
        # What is compiled is run once: no search for vector instructions, no precompiled headers, no optimisation.
        "TORCHINDUCTOR_VEC_ISA_OK": "0",
        "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
        "AOT_INDUCTOR_COMPILE_WRAPPER_OPT_LEVEL": "O0",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Could not find schema for ahead::scale_functional" in done.stderr
