"""A store's kernels as operators of torch, from signatures, launch rules and options alone.

``Store.torch_ops`` imports this, and so torch. This process registers each operator once, with a library that it keeps.

Compiled functions call an operator directly, because torch's dispatcher takes longer than a launch. Torch's compiler
has a table of operators for which it writes other code. Tracing an operator, which comes before writing its code,
enters it there, and only if the compiler is imported, which takes seconds. Compiled code calls an attribute of the
operator, so code that torch keeps on disk works in other processes, too. None of this is part of torch's public
interface: with a release that differs, calls go through the dispatcher.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

import torch

from hatch_cuda_kernels.errors import ArgumentError, InputError, suggest
from hatch_cuda_kernels.operators import kernels_with_rules
from hatch_cuda_kernels.operators.torch.launch import (
    Argument,
    Choice,
    Functional,
    Gradient,
    OperatorLaunch,
    arguments_of,
    backward_of,
    base_operator,
    launcher_of,
    operator_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Sequence

    from hatch_cuda_kernels.operators import KernelWithRule
    from hatch_cuda_kernels.operators.torch.launch import Backward, Launcher, Like
    from hatch_cuda_kernels.runtime.launch import Kernel
    from hatch_cuda_kernels.store import StoreReader

_ATTRIBUTE: Final = "without_dispatcher"
#: Where torch 2.11 and newer have the table.
_TABLE: Final = "torch._inductor.codegen.custom_extern_kernel_codegen"
#: What the compiler's nodes for calls must offer.
_OF_NODES: Final = ("codegen_args", "codegen_kwargs", "get_name")


def bypass_dispatcher(operator: Any, run: Callable[..., Any], fake: Callable[..., Any]) -> Callable[..., Any]:
    """Return the fake implementation of an operator that compiled functions call by ``run`` from then on."""
    setattr(operator, _ATTRIBUTE, run)
    name = f"torch.ops.{operator}"

    def traced(*args: Any) -> Any:
        compiler: Any = sys.modules.get(_TABLE)
        table = getattr(compiler, "CUSTOM_EXTERN_KERNEL_CODEGEN", {name: None})
        node = getattr(sys.modules.get("torch._inductor.ir"), "FallbackKernel", None)
        if name not in table and all(hasattr(node, method) for method in _OF_NODES):
            table[name] = compiler.CustomCodegen(python=_write_call)
        return fake(*args)

    return traced


def _write_call(node: Any, write_line: Callable[[str], None]) -> None:
    """Write the line that calls an operator; ``node`` is the compiler's for the call."""
    named = node.codegen_kwargs()
    function = node.python_kernel_name if named else f"{node.python_kernel_name}.{_ATTRIBUTE}"
    result = f"{node.get_name()} = " if node.op_overload._schema.returns else ""  # noqa: SLF001 - torch's
    write_line(f"{result}{function}({', '.join([*node.codegen_args(), *named])})")


def batching_rule(name: str, arguments: Sequence[Argument], call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule for ``torch.library.register_vmap``; ``call`` is the operator itself.

    The rule raises ArgumentError for a tensor that is written to but has no batch dimension.
    """
    written = [index for index, argument in enumerate(arguments) if argument.is_written]

    def rule(info: Any, dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        for index in written:
            if args[index] is not None and dims[index] is None:
                what = f"argument {index} ({arguments[index].name}) of {name} is written to"
                raise ArgumentError(f"{what}, so inside torch.vmap it must have the batch too")
        results = [_one(call, written, dims, args, place) for place in range(info.batch_size)]
        if results[0] is None:
            return None, None
        if isinstance(results[0], torch.Tensor):
            return torch.stack(results), 0
        return tuple(map(torch.stack, zip(*results, strict=True))), (0,) * len(results[0])

    return rule


def _one(
    call: Callable[..., Any], written: Sequence[int], dims: Sequence[int | None], args: Sequence[Any], place: int
) -> Any:
    elements = [value if dim is None else value.select(dim, place) for value, dim in zip(args, dims, strict=True)]
    whole = [value.contiguous() if isinstance(value, torch.Tensor) else value for value in elements]
    result = call(*whole)
    for index in written:
        if whole[index] is not elements[index]:
            elements[index].copy_(whole[index])
    return result


class TorchOptions(TypedDict, total=False):
    """What operators have besides their kernels, each by the operator's name."""

    functional: Mapping[str, Mapping[str, Like]] | Iterable[str]
    """What each written tensor is like, for an out-of-place operator: an input by name, a function of inputs that
    returns it, or itself, which gives a changed copy. Or only names: every operator that writes to nothing else gets
    one, whose outputs are like its first input."""
    backward: Mapping[str, str | Backward]
    """The gradient of the out-of-place operator: another operator by name, or a function."""
    optional: Mapping[str, Iterable[str]]
    """The pointers that may be None."""
    strided: Iterable[str]
    """The operators whose kernels take strides: their tensors need not be contiguous."""


def check_names(option: str, given: Iterable[str], operators: Collection[str], left_out: Mapping[str, str]) -> None:
    """Raise InputError for a name that no operator has."""
    for name in given:
        if name not in operators:
            names = ((why, {operator_name(kernel), base_operator(kernel)}) for kernel, why in left_out.items())
            reason = next((f": {why}" for why, its_names in names if name in its_names), "")
            hint = "" if reason else suggest(name, operators)
            known = ", ".join(operators) or "none: state launch: for kernels in the manifest"
            raise InputError(f"{option}: no operator is called {name!r}{reason}{hint}; there are {known}")


def functional_of(
    option: Mapping[str, Mapping[str, Like]] | Iterable[str], launch: OperatorLaunch
) -> Mapping[str, Like]:
    """Return what the written tensors of an operator are like; nothing without an out-of-place variant."""
    if isinstance(option, Mapping):
        return option.get(launch.name, {})
    written = [argument.name for argument in launch.arguments if argument.is_written]
    read = [argument.name for argument in launch.arguments if argument.is_tensor and not argument.is_written]
    return dict.fromkeys(written, read[0]) if written and read and set(written) <= set(option) else {}


class TorchOperators(dict[str, Any]):
    """Operators by name, as ``torch.ops`` has them, and why other kernels have none."""

    def __init__(self, namespace: str, left_out: Mapping[str, str]) -> None:
        super().__init__()
        self.namespace = namespace
        self.left_out = dict(left_out)
        """The reason by kernel."""

    def __repr__(self) -> str:
        listed = [str(operator._schema) for operator in self.values()]  # noqa: SLF001 - torch's
        listed += [f"{kernel}: no operator: {reason}" for kernel, reason in self.left_out.items()]
        return "\n".join(listed)


class _Kernels(NamedTuple):
    arguments: tuple[Argument, ...]
    choices: tuple[Choice, ...]


def make_operators(
    kernels: Iterable[KernelWithRule],
    namespace: str,
    store: str,
    launcher: Launcher,
    options: TorchOptions,
    device_key: str = "CUDA",
) -> TorchOperators:
    """Register operators; see ``Store.torch_ops``. ``store`` says whose kernels they are."""
    if not hasattr(torch.library, "register_vmap"):
        raise InputError(f"operators need torch 2.5 or newer, and this is {torch.__version__}")
    if not namespace.isidentifier():
        raise InputError(f"the namespace of operators must be an identifier, not {namespace!r}")
    left_out: dict[str, str] = {}
    named = _operators_by_name(kernels, options.get("optional", {}), left_out)
    _check(options, named, left_out)
    strided, add = frozenset(options.get("strided", ())), partial(_register, namespace, store, device_key)
    launches = [OperatorLaunch(name, *found, launcher, is_strided=name in strided) for name, found in named.items()]
    operators = TorchOperators(namespace, left_out)
    operators.update((launch.name, add(launch, None, launch.identity)) for launch in launches)
    for launch in launches:
        like = functional_of(options.get("functional", {}), launch)
        backward = options.get("backward", {}).get(launch.name)
        if like:
            function = Functional(launch, like)
            identity = function.identity, backward
            if isinstance(backward, str):
                check_names("backward", [backward], named, {})
                backward = backward_of(function, operators[backward], named[backward].arguments)
            gradient = None if backward is None else Gradient.make(function, backward)
            operators[function.name] = add(function, gradient, identity)
        elif backward is not None:
            raise InputError(f"backward: {launch.name} has no out-of-place variant; name its outputs in functional=")
    return operators


class _KnownOperator(NamedTuple):
    store: str
    """Whose kernels it launches."""
    identity: Hashable
    """Equal for operators that do the same."""
    library: torch.library.Library


_lock: Final = threading.Lock()
#: By qualified name. A library's operators end with it, so it is kept.
_REGISTERED: Final[dict[str, _KnownOperator]] = {}


def _register(
    namespace: str,
    store: str,
    device_key: str,
    operator: OperatorLaunch | Functional,
    gradient: Gradient | None,
    identity: Hashable,
) -> Any:
    """Return torch's operator, which replaces an earlier one of the same store unless that does the same.

    Raises InputError for a name that another store or library has.
    """
    name = f"{namespace}::{operator.name}"
    with _lock:
        known = _REGISTERED.get(name)
        if known is not None and known.store != store:
            raise InputError(f"the operator {name} belongs to another store, {known.store}; choose another namespace")
        if known is None or known.identity != identity:
            if known is not None:
                del _REGISTERED[name]
                known.library._destroy()  # noqa: SLF001 - as torch.library.custom_op replaces operators
            _REGISTERED[name] = _KnownOperator(store, identity, _define(namespace, device_key, operator, gradient))
    return _found(namespace, operator.name)


def _found(namespace: str, name: str) -> Any:
    return getattr(getattr(torch.ops, namespace), name).default


def _define(
    namespace: str, device_key: str, operator: OperatorLaunch | Functional, gradient: Gradient | None
) -> torch.library.Library:
    name = f"{namespace}::{operator.name}"
    try:
        library = torch.library.Library(namespace, "FRAGMENT")
        library.define(operator.schema, tags=(torch.Tag.pt2_compliant_tag,))
    except (RuntimeError, ValueError) as error:  # ValueError: a namespace that torch keeps for itself
        message = f"torch does not take the operator {name} ({str(error).splitlines()[0]})"
        raise InputError(f"{message}; choose another namespace") from error
    library.impl(operator.name, operator.run, device_key)
    call = _found(namespace, operator.name)
    fake = bypass_dispatcher(call, operator.run, operator.fake)
    library.impl(operator.name, fake, "Meta")  # register_fake would look for the source of its caller for 5 ms
    torch.library.register_vmap(name, batching_rule(operator.name, operator.arguments, call), lib=library)
    if gradient is not None:
        torch.library.register_autograd(name, gradient.__call__, setup_context=gradient.remember, lib=library)
    return library


def _operators_by_name(
    kernels: Iterable[KernelWithRule], optional: Mapping[str, Iterable[str]], left_out: dict[str, str]
) -> dict[str, _Kernels]:
    """Return the operators by name. Kernels that can have none are added to ``left_out``.

    Raises InputError for two kernels whose operators would have one name.
    """
    named: dict[str, _Kernels] = {}
    instances: dict[str, list[_Kernels]] = {}
    for kernel in kernels:
        prefix = f"{kernel.module}::" if kernel.module else ""
        name, base = operator_name(prefix + kernel.name), base_operator(prefix + kernel.name)
        try:
            arguments = arguments_of(kernel.parameters, {*optional.get(name, ()), *optional.get(base, ())})
        except ValueError as error:
            left_out[kernel.name] = str(error)
            continue
        if name in named:
            other = named[name].choices[0].kernel.name
            raise InputError(f"{kernel.name} and {other} would both be the operator {name}; rename one of them")
        named[name] = _Kernels(arguments, (Choice.make(kernel, arguments),))
        instances.setdefault(base, []).append(named[name])
    templates = {base: _join_instances(found) for base, found in instances.items() if base not in named}
    return named | {base: joined for base, joined in templates.items() if joined is not None}


def _join_instances(instances: list[_Kernels]) -> _Kernels | None:
    """Return the instances of a template as one operator, or None if their dtypes are the same."""
    choices = tuple(choice for found in instances for choice in found.choices)
    kinds = {tuple(argument._replace(text="", dtypes=()) for argument in found.arguments) for found in instances}
    if len(kinds) > 1 or not all(one.is_apart(other) for one, other in combinations(choices, 2)):
        return None
    common = zip(*(found.arguments for found in instances), strict=True)
    arguments = (  # those whose dtypes differ take any
        first if all(form.dtypes == first.dtypes for form in others) else first._replace(dtypes=())
        for first, *others in common
    )
    return _Kernels(tuple(arguments), choices)


def _check(options: TorchOptions, named: Mapping[str, _Kernels], left_out: Mapping[str, str]) -> None:
    functional = options.get("functional", {})
    if isinstance(functional, Mapping):
        check_names("functional", functional, named, left_out)
    check_names("backward", options.get("backward", {}), named, left_out)
    check_names("strided", options.get("strided", ()), named, left_out)
    optional = options.get("optional", {})
    check_names("optional", optional, named, left_out)
    for name, parameters in optional.items():
        tensors = [argument.name for argument in named[name].arguments if argument.is_tensor]
        for parameter in parameters:
            if parameter not in tensors:
                raise InputError(f"optional: {name} has no tensor {parameter!r}; it has {', '.join(tensors) or 'none'}")


def operators_of_store(
    reader: StoreReader, get_kernel: Callable[..., Kernel], namespace: str, options: TorchOptions
) -> TorchOperators:
    """Register the operators of a store; see ``Store.torch_ops``."""
    return make_operators(kernels_with_rules(reader), namespace, str(reader.folder), launcher_of(get_kernel), options)
