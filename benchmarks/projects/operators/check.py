"""Kernels of public projects as operators of torch: ``opcheck``, ``torch.compile`` and a formula over each.

    python benchmarks/projects/operators/check.py FOLDER [--out FILE.md] [--trace]

FOLDER is what build.py made. Needs torch and a GPU of compute capability 9.0; with ``--trace`` no GPU, and all that is
done is what torch does with fake tensors: schema, launch rule, fake implementation, and export. Exits with 1 if
anything fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from cusignal import CUSIGNAL
from mumax import MUMAX
from torch._subclasses.fake_tensor import FakeTensorMode

from hatch_cuda_kernels import open_store

PROJECTS = (MUMAX, CUSIGNAL)


class Call(NamedTuple):
    """One operator with a way to call it, and what it should write or return."""

    project: str
    name: str
    operator: Any
    make: Any
    """Gives new arguments by name."""
    formula: Any
    tolerance: float
    returns: tuple[str, ...]
    """The parameters that it returns; nothing if it writes in place."""

    def positional(self, given):
        names = (argument.name for argument in self.operator._schema.arguments)
        # An operator's argument has an underscore more where torch needs the kernel's name for itself: mode.
        return tuple(given[name if name in given else name.removesuffix("_")] for name in names)

    def results(self, given, run):
        """Return what a function of the arguments writes or returns, by name."""
        returned = run(*self.positional(given))
        if not self.returns:
            return given
        return dict(zip(self.returns, (returned,) if isinstance(returned, torch.Tensor) else returned, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--trace", action="store_true")
    args = parser.parse_args()
    columns = {"traced": traced} if args.trace else {"opcheck": checked, "fullgraph": compiled, "formula": computed}
    lines = [f"torch {torch.__version__}" + ("" if args.trace else f", {torch.cuda.get_device_name()}"), ""]
    lines += ["| project | operator | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
    failed = 0
    print("\n".join(lines))
    for call in calls(args.folder):
        found = [outcome(check, call) for check in columns.values()]
        failed += any(text.startswith("**") for text in found)
        lines.append(f"| {call.project} | `{call.name}` | {' | '.join(found)} |")
        print(lines[-1], flush=True)
        if args.out:
            args.out.write_text("\n".join(lines) + "\n")
    print(f"{failed} of {len(lines) - 4} operators fail")
    return int(failed > 0)


def calls(folder):
    """Yield the calls of all projects, those of out-of-place operators after their own kernel's."""
    for project in PROJECTS:
        namespace = project.name.replace("+", "_").replace("-", "_")
        operators = open_store(folder / project.name).torch_ops(namespace, **project.options)
        if operators.left_out:
            raise SystemExit(f"{project.name}: {operators.left_out}")
        cases = {case.operator: case for case in project.cases}
        for name in operators:
            case = cases[name.removesuffix("_functional")]
            returns = tuple(project.options["functional"][case.operator]) if name != case.operator else ()
            yield Call(project.name, name, operators[name], case.arguments, case.formula, case.tolerance, returns)


def outcome(check, call):
    """Return what a check says, in bold if it fails."""
    start = time.perf_counter()
    try:
        text = check(call)
    except Exception as error:  # noqa: BLE001 - all of them are told
        return f"**{type(error).__name__}: {str(error).strip()[:200]}**".replace("\n", " ").replace("|", "/")
    print(f"  {check.__name__} {call.name}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
    return text


def traced(call):
    """Call the operator with fake tensors, and export a program with it."""

    class Model(torch.nn.Module):
        def forward(self, given):
            return call.operator(*call.positional(given))

    with FakeTensorMode():
        given = call.make()
        call.operator(*call.positional(given))
    with FakeTensorMode():
        program = torch.export.export(Model(), (call.make(),), strict=False)
    return "ok" if call.name in program.graph_module.code else "**the program lacks it**"


def checked(call):
    """``opcheck``, all of its tests."""
    torch.manual_seed(1)
    torch.library.opcheck(call.operator, call.positional(call.make()))
    return "ok"


def compiled(call):
    """Compile a function of it without a break; the results have the same bits as those of a plain call."""
    torch._dynamo.reset()
    given, again = call.make(), {}
    for name, value in given.items():
        again[name] = value.clone() if isinstance(value, torch.Tensor) else value
    plain = call.results(given, call.operator)
    # Inductor makes no code for complex numbers, and stops at an operator that writes to them (torch 2.11).
    is_complex = any(isinstance(value, torch.Tensor) and value.is_complex() for value in again.values())
    backend = "aot_eager" if is_complex else "inductor"
    found = call.results(again, torch.compile(around(call.operator), fullgraph=True, backend=backend))
    for name, value in plain.items():
        if isinstance(value, torch.Tensor) and not same(found[name], value, call.tolerance):
            return f"**{name} differs**"
    return "ok, without inductor" if is_complex else "ok"


def around(operator):
    """Return a function with an operator in it."""

    def function(*args):
        return operator(*args)

    return function


def computed(call):
    """Compare with the formula."""
    torch.manual_seed(2)
    given = call.make()
    before = {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in given.items()}
    found = call.results(given, call.operator)
    expected = call.formula(SimpleNamespace(**before))
    for name, value in expected.items():
        if not same(found[name], value.to(found[name].dtype), call.tolerance):
            return f"**{name} differs by {(found[name] - value).abs().max().item():.2e}**"
    return f"{', '.join(expected)}: " + ("equal" if call.tolerance == 0 else f"within {call.tolerance:g}")


def same(found, expected, tolerance):
    """Return whether tensors are equal, to the last bit or relative to the largest number."""
    expected = expected.reshape(found.shape)
    if tolerance == 0 or not (found.is_floating_point() or found.is_complex()):
        return torch.equal(found.contiguous().view(torch.uint8), expected.contiguous().view(torch.uint8))
    return bool((found - expected).abs().max() <= tolerance * expected.abs().max())


if __name__ == "__main__":
    sys.exit(main())
