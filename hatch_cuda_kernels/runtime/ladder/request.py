"""From a kernel's name to a request for the ladder."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.errors import InputError, KernelNotFoundError
from hatch_cuda_kernels.image import Image
from hatch_cuda_kernels.names import base_name, listed_module, normalize_name
from hatch_cuda_kernels.runtime.context import current_context_id, current_device
from hatch_cuda_kernels.runtime.ladder.rungs import POLICIES, Request
from hatch_cuda_kernels.runtime.libraries import LOADER
from hatch_cuda_kernels.store.reader import KernelLine
from hatch_cuda_kernels.store.source import ModuleSource

if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import ComputeCapability
    from hatch_cuda_kernels.runtime.ladder.rungs import Policy
    from hatch_cuda_kernels.store.index import ImageRecord
    from hatch_cuda_kernels.store.reader import StoreReader

__all__ = ["checked_policy", "device_capability", "find_kernel", "find_variable", "make_request", "symbol_of"]


def find_kernel(reader: StoreReader, name: str, module: str | None) -> tuple[KernelLine, bool]:
    """Return a kernel's line and whether the manifest lists it.

    An unlisted instance belongs to the module that lists others of its template. Raises KernelNotFoundError.
    """
    key = normalize_name(name)
    lines = [] if key.startswith("&") else reader.find(key)
    if not lines and "<" in key:
        if module is not None and reader.has_module(module):
            return KernelLine(key, module, "", (), name), False
        instances = reader.find(f"<{base_name(key)}")
        if instances:
            return KernelLine(key, _one(reader, instances, name, module).module, "", (), name), False
    return _one(reader, lines, name, module), True


def find_variable(reader: StoreReader, name: str, module: str | None) -> tuple[KernelLine, KernelLine]:
    """Return a listed variable's line and that of a kernel which every image of its module has.

    Raises KernelNotFoundError where there is no such variable, or no such kernel.
    """
    variable = _one(reader, reader.find(f"&{normalize_name(name)}"), name, module, what="variable")
    index = reader.module(variable.module)
    lacking = {lowered for record in index.images for lowered in record.lacks}
    names = reader.details(variable.module).names
    listed = (line for kernel in names for line in reader.find(normalize_name(kernel)))
    for line in chain(listed, (line for line in reader.lines() if not line.key.startswith("&"))):
        if line.module == variable.module and line.lowered not in lacking:
            return variable, line
    hint = f"no kernel of module {variable.module} is in all its images; use get_global of a kernel"
    raise KernelNotFoundError(name, reader.label, hint=hint, what="variable")


def make_request(
    reader: StoreReader,
    found: tuple[KernelLine, bool],
    *,
    arch: str | SmArch | None,
    driver: tuple[int, int] | None,
    policy: str,
    tier_up: bool,
) -> Request:
    """Return the ladder's question about a kernel: for ``arch``, or else for the current device and its driver.

    Raises InputError for an architecture or policy that does not exist, DriverError without a device to ask about.
    """
    checked = checked_policy(policy)
    if arch is None:
        current_context_id()
        device = current_device()
        capability, driver = device.capability, driver or device.driver
    else:
        capability = device_capability(arch)
    kernel, listed = found
    return Request(
        kernel=kernel,
        listed=listed,
        module=reader.module(kernel.module),
        source=ModuleSource(reader, kernel.module),
        capability=capability,
        driver=driver,
        policy=checked,
        tier_up=tier_up,
        jit=os.environ.get("HATCH_CUDA_KERNELS_JIT", "1") != "0",
        read=lambda record: _read(reader, kernel.module, record),
        refused=lambda sha256: LOADER.refusal(sha256, capability),
    )


def symbol_of(request: Request, image: Image) -> tuple[str, tuple[str, ...]]:
    """Return the lowered name and parameter types: what the compile recorded with the image, else what the store lists.

    The two differ in an editable install, where a signature may have changed since the store was written.
    """
    key = request.kernel.key
    found = next((symbol for symbol in image.kernels if normalize_name(symbol.name) == key), None)
    return (request.kernel.lowered, request.kernel.params) if found is None else (found.lowered, found.params)


def device_capability(arch: str | SmArch) -> ComputeCapability:
    """Return the compute capability an imagined device ``sm_90`` has. Raises InputError for anything else."""
    try:
        parsed = SmArch.parse(arch) if isinstance(arch, str) else arch
    except ValueError as error:
        raise InputError(f"{error}; an imagined device is written like sm_90") from error
    if parsed.virtual:
        raise InputError(f"{parsed} is no device; write {parsed.real}")
    return parsed.capability


def checked_policy(policy: str) -> Policy:
    """Return the policy. Raises InputError for a word that is none."""
    for known in POLICIES:
        if policy == known:
            return known
    raise InputError(f"unknown policy {policy!r}; it is one of {', '.join(POLICIES)}")


def _one(
    reader: StoreReader, lines: list[KernelLine], name: str, module: str | None, *, what: str = "kernel"
) -> KernelLine:
    fitting = [line for line in lines if module in {None, line.module, listed_module(line.module)}]
    if len(fitting) == 1:
        return fitting[0]
    modules = ", ".join(line.module for line in lines)
    if lines:
        hint = f"name one of the modules that have it with module=: {modules}"
        raise KernelNotFoundError(name, reader.label, hint=hint, what=what)
    raise KernelNotFoundError(name, reader.label, *_suggestions(reader, name, what), what=what)


def _suggestions(reader: StoreReader, name: str, what: str) -> tuple[list[str], str]:
    """Return names that look like the wrong one, and what else may be the matter."""
    from difflib import get_close_matches  # only for the message

    everything = [line for line in reader.lines() if line.key.startswith("&") == (what == "variable")]
    alike = {line.name: line.name for line in everything} | {base_name(line.key): line.name for line in everything}
    near = list(dict.fromkeys(alike[match] for match in get_close_matches(name, alike)))
    editable = everything and reader.module(everything[0].module).editable is not None
    return near, "an editable install knows the kernels of its last install" if editable else ""


def _read(reader: StoreReader, module: str, record: ImageRecord) -> Image:
    return Image(
        module=module,
        origin="prebuilt",
        arch=record.arch,
        kind=record.kind,
        data=reader.read_image(module, record),
        sha256=record.sha256,
        path=reader.image_path(module, record),
    )
