"""``check``: validate the manifest and list what a build would do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.cli.output import add_json, print_json
from hatch_cuda_kernels.errors import HatchCudaKernelsError, ManifestError, ToolchainError
from hatch_cuda_kernels.options import HostCode
from hatch_cuda_kernels.table import counted, text_table

if TYPE_CHECKING:
    import argparse

    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain
    from hatch_cuda_kernels.image import ImageId
    from hatch_cuda_kernels.manifest import Manifest
    from hatch_cuda_kernels.plan.plan import PlannedModule

#: The states of a stub, in words.
_STUBS: Final = {
    "fresh": "up to date",
    "stale": "out of date: build, then commit it",
    "unknown": "not checked: build first, because the check needs all images",
}


def register(commands: Any, name: str) -> None:  # argparse names no type for it
    """Add the command."""
    parser = commands.add_parser(name, help="validate kernels.yaml and list the plan")
    parser.add_argument("manifest", nargs="?", default="kernels.yaml", metavar="MANIFEST")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the plan: every image, and whether the disk cache holds it. Status 1 if NVRTC or the stub is wrong."""
    from hatch_cuda_kernels.manifest import load_manifest  # needs yaml
    from hatch_cuda_kernels.plan.notes import arch_warnings, describe, dropped_code
    from hatch_cuda_kernels.plan.plan import make_plan

    try:
        manifest = load_manifest(args.manifest)
        plan = make_plan(manifest)
    except ManifestError as error:
        if not args.json:
            raise
        print_json({"jobs": [], "problems": list(error.problems)})
        return 2
    toolchain = _toolchain()
    fresh = _fresh(plan, toolchain)
    rows = [
        {"module": image.module, "arch": str(image.arch), "kind": image.kind, "fresh": image in fresh}
        for planned in plan
        for image in planned.images
    ]
    stubs = _stubs(manifest, plan, toolchain, fresh)
    notes = describe(plan)
    dropped = dropped_code(plan)
    asked = {module.name for module in manifest.modules if module.options.host_code is HostCode.DROP}
    for warning in arch_warnings(plan):
        print(f"warning: {warning}", file=sys.stderr)
    if args.json:
        data = {"jobs": rows, "problems": []} | ({"notes": notes} if notes else {})
        data |= {"dropped": [{"module": module, **found._asdict()} for module, found in dropped]} if dropped else {}
        print_json(data | ({} if stubs is None else {"stubs": stubs}))
    else:
        table = [(row["module"], row["arch"], row["kind"], "fresh" if row["fresh"] else "compile") for row in rows]
        print(text_table(("module", "arch", "kind", "state"), table))
        stale = sum(not row["fresh"] for row in rows)
        counts = f"{counted(len(plan), 'module')}, {counted(len(rows), 'image')}"
        print(f"{counts}: {len(rows) - stale} fresh, {stale} to compile")
        print(*notes, sep="\n", end="\n" if notes else "")
        for module, found in dropped:
            if module in asked:
                print(f"module {module!r}, host code: {found}")
        if stubs is not None:
            print(f"{stubs['path']} is {_STUBS[stubs['state']]}")
    if stubs is not None and stubs["state"] == "stale":
        return 1
    return 0 if toolchain is None or _can_build(manifest) else 1


def _toolchain() -> Toolchain | None:
    """Return the toolchain found here; None, with a warning, if NVRTC is not installed."""
    from hatch_cuda_kernels.compiler.toolchain.installed import load_toolchain  # loads NVRTC

    try:
        return load_toolchain()
    except ToolchainError as error:
        print(f"warning: {error}", file=sys.stderr)
        return None


def _fresh(plan: tuple[PlannedModule, ...], toolchain: Toolchain | None) -> dict[ImageId, Entry]:
    """Return the planned images that the disk cache holds."""
    from hatch_cuda_kernels.cache import open_cache
    from hatch_cuda_kernels.pool.compilation import find_fresh

    return {} if toolchain is None else find_fresh(plan, toolchain, open_cache())


def _stubs(
    manifest: Manifest, plan: tuple[PlannedModule, ...], toolchain: Toolchain | None, fresh: dict[ImageId, Entry]
) -> dict[str, str] | None:
    """Return the stub's path and state, None if the manifest has no stub. Its contents follow from the images."""
    from hatch_cuda_kernels.stubs.stub_file import stubs_state

    if manifest.stubs is None:
        return None
    state = "unknown"
    if toolchain is not None and all(image in fresh for planned in plan for image in planned.images):
        modules = [planned.built(fresh, toolchain) for planned in plan]
        state = stubs_state(manifest, modules)
    return {"path": manifest.stubs, "state": state}


def _can_build(manifest: Manifest) -> bool:
    """Return whether the NVRTC found is of the stated release and knows the architectures; print it if not."""
    from hatch_cuda_kernels.plan.release import check_release

    try:
        warnings = check_release(manifest)
    except HatchCudaKernelsError as error:
        print(error, file=sys.stderr)
        return False
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return True
