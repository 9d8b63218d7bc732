"""Validate kernels.yaml and list the plan.

For every image, the list says what a build would do: compile it, or take it from the disk cache. Nothing is compiled.

    hatch-cuda-kernels check
    hatch-cuda-kernels check --json cuda/kernels.yaml
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels import cache, pool, store
from hatch_cuda_kernels.cli.messages import CommandResult, add_json, is_quiet, show_warning
from hatch_cuda_kernels.cli.parser import Arguments, CommandParser, add_manifest, manifest_path
from hatch_cuda_kernels.errors import BuildError, HatchCudaKernelsError, ToolchainError
from hatch_cuda_kernels.options import asks_for_cut
from hatch_cuda_kernels.terminal import count_text, text_table, wrap

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.image import ImageId
    from hatch_cuda_kernels.manifest import Manifest
    from hatch_cuda_kernels.plan import PlannedModule

#: The states of a stub, in words.
_STUBS: Final = {
    "fresh": "up to date",
    "stale": "out of date: build, then commit it",
    "unknown": "not checked: build first, because the check needs all images",
}


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    add_manifest(parser)
    add_json(parser)
    parser.set_defaults(run=run, failed={"jobs": []})


def run(args: Arguments) -> CommandResult:
    """Print the plan: every image, and whether the disk cache holds it. Status 1 if a build would not succeed."""
    from hatch_cuda_kernels.manifest import load_manifest  # needs yaml
    from hatch_cuda_kernels.plan import arch_warnings, changed_code, describe_plan, make_plan

    manifest = load_manifest(manifest_path(args))
    plan = make_plan(manifest)
    toolchain, missing = _toolchain()
    fresh = {} if toolchain is None else pool.find_fresh(plan, toolchain, cache.open_cache())
    rows = [
        {"module": image.module, "arch": str(image.arch), "kind": image.kind, "fresh": image in fresh}
        for planned in plan
        for image in planned.images
    ]
    stubs = _stubs(manifest, plan, toolchain, fresh)
    notes = describe_plan(plan)
    changes = changed_code(plan)
    asked = {module.name for module in manifest.modules if asks_for_cut(module.options)}
    problems, warnings = _problems_and_warnings(manifest, plan, toolchain)
    for warning in () if is_quiet(args) else (*arch_warnings(plan), *missing, *warnings):
        show_warning(warning)
    data = {"jobs": rows, "problems": problems} | ({"notes": notes} if notes else {})
    data |= {"changes": [{"module": module, **found._asdict()} for module, found in changes]} if changes else {}
    data |= {} if stubs is None else {"stubs": stubs}
    table = [(row["module"], row["arch"], row["kind"], "fresh" if row["fresh"] else "compile") for row in rows]
    stale = sum(not row["fresh"] for row in rows)
    counts = f"{count_text(len(plan), 'module')}, {count_text(len(rows), 'image')}"
    lines = [
        text_table(("module", "arch", "kind", "state"), table),
        f"{counts}: {len(rows) - stale} fresh, {stale} to compile",
        *(wrap(note, 2) for note in notes),
        *(wrap(f"module {module!r}: {found}", 2) for module, found in changes if module in asked),
        *([] if stubs is None else [f"{stubs['path']} is {_STUBS[stubs['state']]}"]),
    ]
    ok = not problems and (stubs is None or stubs["state"] != "stale")
    return CommandResult(data, "\n".join(lines), ok, problems=problems)


def _toolchain() -> tuple[Toolchain | None, list[str]]:
    """Return the toolchain found here; None, and a warning, if NVRTC is not installed."""
    from hatch_cuda_kernels.compiler.toolchain import current_toolchain  # which loads no compiler

    try:
        return current_toolchain(), []
    except ToolchainError as error:
        return None, [f"{error.message}; so nothing counts as fresh, and an isolated build installs its own NVRTC"]


def _stubs(
    manifest: Manifest, plan: tuple[PlannedModule, ...], toolchain: Toolchain | None, fresh: dict[ImageId, Entry]
) -> dict[str, str] | None:
    """Return the stub's path and state, None if the manifest has no stub. Its contents follow from the images."""
    from hatch_cuda_kernels.stubs import stubs_state

    if manifest.stubs is None:
        return None
    state = "unknown"
    if toolchain is not None and all(image in fresh for planned in plan for image in planned.images):
        modules = [planned.built(fresh, toolchain) for planned in plan]
        state = stubs_state(manifest, modules)
    return {"path": manifest.stubs, "state": state}


def _problems_and_warnings(
    manifest: Manifest, plan: tuple[PlannedModule, ...], toolchain: Toolchain | None
) -> tuple[list[str], list[str]]:
    """Return why a build would fail, as far as that shows without compiling, and warnings."""
    from hatch_cuda_kernels.plan import broken_promises, check_release, missing_headers, unread_sources

    found = [*unread_sources(plan), *broken_promises(plan, manifest.supports, manifest.release)]
    shipped = [path for planned in plan for path in planned.sources.files]
    problems = [*map(str, found), *(f"{clash}; rename the source" for clash in store.name_clashes(shipped))]
    if toolchain is None:
        return problems, []
    try:
        warnings = check_release(manifest)
    except BuildError as error:
        return [*problems, *error.problems], []
    except HatchCudaKernelsError as error:
        return [*problems, str(error)], []
    return [*problems, *map(str, missing_headers(plan, toolchain))], warnings
