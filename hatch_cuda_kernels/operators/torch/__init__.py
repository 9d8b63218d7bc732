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
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

import torch

from hatch_cuda_kernels.errors import ArgumentError, InputError
from hatch_cuda_kernels.operators import kernels_with_rules
from hatch_cuda_kernels.operators.torch.launch import (
    Argument,
    Choice,
    Functional,
    Gradient,
    Operation,
    OperatorLaunch,
    arguments_of,
    base_operator,
    launcher_of,
    operator_name,
    schema_text,
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
        compiler = sys.modules.get(_TABLE)
        if compiler is not None:
            _enter(name, compiler)
        return fake(*args)

    return traced


def _enter(name: str, compiler: Any) -> None:
    """Enter an operator in the table, once, if there is one and all that is needed."""
    table = getattr(compiler, "CUSTOM_EXTERN_KERNEL_CODEGEN", {name: None})
    node = getattr(sys.modules.get("torch._inductor.ir"), "FallbackKernel", None)
    if name not in table and all(hasattr(node, method) for method in _OF_NODES):
        table[name] = compiler.CustomCodegen(python=_write_call)


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


class Definition(NamedTuple):
    """What torch needs to know of one operator."""

    name: str
    schema: str
    arguments: Sequence[Argument]
    run: Callable[..., Any]
    fake: Callable[..., Any]
    gradient: Gradient | None
    store: str
    """Whose kernels it launches."""
    identity: Hashable
    """Equal for definitions that do the same."""


class _Defined(NamedTuple):
    definition: Definition
    library: torch.library.Library


_lock: Final = threading.Lock()
#: By qualified name. A library's operators end with it, so it is kept.
_REGISTERED: Final[dict[str, _Defined]] = {}


def register(namespace: str, definition: Definition, device_key: str) -> Any:
    """Return the operator, which replaces an earlier one of the same store unless that does the same.

    Raises InputError for a name that another store or library has.
    """
    name = f"{namespace}::{definition.name}"
    with _lock:
        known = _REGISTERED.get(name)
        if known is not None and known.definition.store != definition.store:
            owner = known.definition.store
            raise InputError(f"the operator {name} belongs to another store, {owner}; choose another namespace")
        if known is None or known.definition.identity != definition.identity:
            if known is not None:
                del _REGISTERED[name]
                known.library._destroy()  # noqa: SLF001 - as torch.library.custom_op replaces operators
            _REGISTERED[name] = _Defined(definition, _define(namespace, definition, device_key))
    return getattr(getattr(torch.ops, namespace), definition.name).default


def _define(namespace: str, definition: Definition, device_key: str) -> torch.library.Library:
    name = f"{namespace}::{definition.name}"
    try:
        library = torch.library.Library(namespace, "FRAGMENT")
        library.define(definition.schema, tags=(torch.Tag.pt2_compliant_tag,))
    except (RuntimeError, ValueError) as error:  # ValueError: a namespace that torch keeps for itself
        message = f"torch does not take the operator {name} ({str(error).splitlines()[0]})"
        raise InputError(f"{message}; choose another namespace") from error
    library.impl(definition.name, definition.run, device_key)
    operator = getattr(getattr(torch.ops, namespace), definition.name).default
    fake = bypass_dispatcher(operator, definition.run, definition.fake)
    library.impl(definition.name, fake, "Meta")  # register_fake would look for the source of its caller for 5 ms
    torch.library.register_vmap(name, batching_rule(definition.name, definition.arguments, operator), lib=library)
    if definition.gradient is not None:
        remember = definition.gradient.remember
        torch.library.register_autograd(name, definition.gradient.__call__, setup_context=remember, lib=library)
    return library


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
            near = get_close_matches(name, operators, n=1)
            reasons = (
                why for kernel, why in left_out.items() if name in {operator_name(kernel), base_operator(kernel)}
            )
            reason = "".join(f": {why}" for why in islice(reasons, 1))
            hint = f" (did you mean {near[0]!r}?)" if near and not reason else ""
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


class TorchOperators(Mapping[str, Any]):
    """Operators by name, as ``torch.ops`` has them, and why other kernels have none."""

    def __init__(self, namespace: str, operators: Mapping[str, Any], left_out: Mapping[str, str]) -> None:
        self.namespace = namespace
        self.left_out = dict(left_out)
        """The reason by kernel."""
        self._operators = dict(operators)

    def __getitem__(self, name: str) -> Any:
        return self._operators[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._operators)

    def __len__(self) -> int:
        return len(self._operators)

    def __repr__(self) -> str:
        listed = [str(operator._schema) for operator in self._operators.values()]  # noqa: SLF001 - torch's
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
    registry = _Registry(namespace, store, launcher, options, device_key)
    for name, found in named.items():
        registry.add_in_place(name, found)
    for name in named:
        registry.add_functional(name)
    return TorchOperators(namespace, registry.operators, left_out)


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


class _Registry:
    def __init__(self, namespace: str, store: str, launcher: Launcher, options: TorchOptions, device_key: str) -> None:
        self.operators: dict[str, Any] = {}
        self._namespace = namespace
        self._store = store
        self._launcher = launcher
        self._device_key = device_key
        self._functional = options.get("functional", {})
        self._backward = options.get("backward", {})
        self._strided = frozenset(options.get("strided", ()))
        self._launches: dict[str, OperatorLaunch] = {}
        self._kernels: dict[str, tuple[Any, ...]] = {}

    def add_in_place(self, name: str, found: _Kernels) -> None:
        """Register the operator that writes to its arguments."""
        launch = OperatorLaunch(name, *found, self._launcher, is_strided=name in self._strided)
        schema = schema_text(name, found.arguments)
        kernels = tuple((choice.kernel.name, choice.kernel.module, choice.dtypes) for choice in found.choices)
        self._launches[name] = launch
        self._kernels[name] = schema, kernels, name in self._strided
        self._register(name, schema, found.arguments, launch.run, launch.fake, None, self._store, self._kernels[name])

    def add_functional(self, name: str) -> None:
        """Register the out-of-place operator if the options ask for one. Raises InputError for a misfit."""
        like = functional_of(self._functional, self._launches[name])
        backward = self._backward.get(name)
        if not like:
            if backward is not None:
                raise InputError(f"backward: {name} has no out-of-place variant; name its outputs in functional=")
            return
        function = Functional(self._launches[name], like)
        schema = schema_text(function.name, function.arguments, len(function.outputs))
        if isinstance(backward, str):
            check_names("backward", [backward], self._launches, {})
            operation = Operation(self.operators[backward], self._launches[backward].arguments)
            gradient: Gradient | None = Gradient.make(function, operation)
        else:
            gradient = None if backward is None else Gradient.make(function, backward)
        identity = schema, self._kernels[name], tuple(like.items()), backward
        self._register(
            function.name, schema, function.arguments, function.run, function.fake, gradient, self._store, identity
        )

    def _register(self, *fields: Any) -> None:
        definition = Definition(*fields)
        self.operators[definition.name] = register(self._namespace, definition, self._device_key)


def operators_of_store(
    reader: StoreReader, get_kernel: Callable[..., Kernel], namespace: str, options: TorchOptions
) -> TorchOperators:
    """Register the operators of a store; see ``Store.torch_ops``."""
    return make_operators(kernels_with_rules(reader), namespace, str(reader.folder), launcher_of(get_kernel), options)
