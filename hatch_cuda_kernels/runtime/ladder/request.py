"""A request: a kernel, for a device and a driver, under a policy."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.arch import SmArch, isa_refusal
from hatch_cuda_kernels.driver import REFUSED, current_device
from hatch_cuda_kernels.environment import JIT_FORBIDDEN, check_policy, jit_allowed
from hatch_cuda_kernels.errors import InputError, KernelNotFoundError
from hatch_cuda_kernels.image import Candidate, Image, Symbol
from hatch_cuda_kernels.names import base_name, listed_module, normalize_name
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.store import KernelLine, ModuleSource, what_to_build

if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import ComputeCapability
    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.environment import Policy
    from hatch_cuda_kernels.image import Origin
    from hatch_cuda_kernels.store import ImageRecord, ModuleIndex, StoreReader, UnlistedModule


#: Of modules in a message: a matrix of macros may have made thousands.
_MOST_LISTED: Final = 20


class Request(NamedTuple):
    """What the ladder is asked for: an image of this kernel."""

    reader: StoreReader
    kernel: KernelLine
    instance: str | None
    """The kernel's name if its module does not list it, so that it is compiled by itself; else None."""
    module: ModuleIndex
    source: ModuleSource
    capability: ComputeCapability
    driver: tuple[int, int] | None
    """Newest CUDA the driver supports; None for a driver that knows every PTX."""
    policy: Policy
    tier_up: bool
    """Whether a recorded exact image comes before a prebuilt one that merely runs."""
    jit: bool
    """Whether the environment allows compiling."""
    compiled: dict[str, Image]
    """What was compiled for this request before its device was asked, by key."""
    asked: str | None = None
    """The module that was asked for; None for a name that only one module may have."""

    @property
    def arch(self) -> SmArch:
        """The real architecture that a compile for the device has."""
        return self.source.device_arch(self.capability)

    @property
    def unlisted(self) -> UnlistedModule | None:
        """The combination of axes that was asked for if the manifest does not list it, else None."""
        return self.reader.unlisted.get(self.kernel.module)

    @property
    def listed(self) -> bool:
        """Whether the manifest lists the kernel in its module; what it does not list has no prebuilt image."""
        return self.instance is None and self.unlisted is None

    @property
    def what_is_unlisted(self) -> str:
        """What the manifest does not list, in words."""
        return "instance" if self.unlisted is None else "combination of axes"

    @property
    def why_not_prebuilt(self) -> str:
        """Why something is compiled for this request, or would have to be."""
        if not self.listed:
            return f"the {self.what_is_unlisted} is not in the package's kernels.yaml"
        if self.source.stale:
            return self.source.stale
        built = ", ".join(str(record.arch) for record in self.module.images)
        fitting = [one for one in self.module.images if one.kind != "ltoir" and not one.arch.refusal(self.capability)]
        reasons = [f"{one.arch} {one.kind}: {why}" for one in fitting if (why := self.why_not(one))]
        if len(reasons) < len(fitting) and (self.tier_up or self.policy == "exact"):
            asks = "tier_up" if self.tier_up else "the policy exact"
            reasons.append(f"{asks} asks for code for exactly this device")
        return "; ".join((f"not prebuilt: the package was built for {built}", *reasons))

    @property
    def line_to_add(self) -> str:
        """What has the package ship the image that this request lacks."""
        module = listed_module(self.kernel.module)
        if self.unlisted is not None:
            return f"write {self.unlisted.line_to_add}"
        if self.instance is not None:
            return f"add {self.instance!r} to modules.{module}.instances in the package's kernels.yaml"
        if self.source.stale:
            return "build the package again: its sources were edited since"
        where = f"modules.{module}.arches, or to arches for all modules, in the package's kernels.yaml"
        advice = what_to_build(self.module.images, self.arch, start="add", end=f"to {where}")
        return advice or f"take another device: no known CUDA release compiles {self.arch}"

    @property
    def how_to_build(self) -> str:
        """What would give the package code for exactly this device; empty if it has some, maybe damaged, or cannot."""
        images = self.module.images
        if any(one.kind == "cubin" and one.arch.capability == self.capability for one in images):
            return ""
        return what_to_build(images, self.arch, start="build the package with", end="among its arches")

    @property
    def compile_refusal(self) -> str | None:
        """Why nothing may be compiled, or None."""
        if self.policy == "prebuilt":
            return "policy 'prebuilt' never compiles"
        return None if self.jit else JIT_FORBIDDEN

    def refused(self, sha256: str) -> str | None:
        """Return why the driver refused an image (by digest) earlier in this process, or None."""
        return REFUSED.get((self.capability, sha256))

    def why_not(self, record: ImageRecord) -> str | None:
        """Return why an image of a fitting architecture cannot be used, or None; of several reasons, the best."""
        lowered = self.kernel.lowered
        return (
            self.source.stale
            or (isa_refusal(record.ptx_isa, self.driver, "the driver") if record.kind == "ptx" else None)
            or (f"the kernel is not in this image ({lowered})" if lowered in record.lacks else None)
            or self.refused(record.sha256)
        )

    def is_exact(self, image: Image) -> bool:
        """Return whether an image is machine code for exactly this compute capability."""
        return image.kind == "cubin" and image.arch.capability == self.capability

    def read(self, record: ImageRecord) -> Image:
        """Return a prebuilt image. Raises StoreError."""
        kernel = self.kernel
        own = Symbol(kernel.name, self.reader.lowered(kernel, record.sha256), *_taken(kernel))
        return Image(
            module=self.kernel.module,
            origin="prebuilt",
            arch=record.arch,
            kind=record.kind,
            data=self.reader.read_image(self.kernel.module, record),
            sha256=record.sha256,
            path=self.reader.image_path(self.kernel.module, record),
            kernels=(own,) if own.lowered != kernel.lowered else (),
        )

    def symbol(self, image: Image) -> Symbol:
        """Return the kernel as it is in an image: as the compile recorded it, else as the store lists it.

        The two differ in an editable install, where a signature may have changed since the store was written. Raises
        KernelNotFoundError where the image of a combination of axes that is not listed lacks it.
        """
        wanted = self.kernel
        found = next((symbol for symbol in image.kernels if normalize_name(symbol.name) == wanted.key), wanted)
        if not found.lowered:
            names = ", ".join(symbol.name for symbol in image.kernels)
            hint = f"with these values of its axes, the module {image.module!r} has {names}"
            raise KernelNotFoundError(wanted.name, self.reader.label, hint=hint)
        return Symbol(wanted.name, found.lowered, *_taken(found))


def _taken(kernel: KernelLine | Symbol) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    return kernel.params, kernel.types, kernel.names


def recorded_candidate(request: Request, *keys: str) -> Candidate | None:
    """Return the candidate recorded under the first of these keys that has an entry, or None."""
    from hatch_cuda_kernels.cache import open_cache  # off the prebuilt path

    entry = next((entry for key in keys if (entry := open_cache().get(key)) is not None), None)
    if entry is None:
        return None
    image = image_of(entry, "cached")
    refusal = request.refused(image.sha256)
    reason = f"compiled on {entry.created} in {entry.seconds:.2f} s"
    return Candidate("cached", entry.arch, "cubin", refusal is None, refusal or reason, lambda: image)


def image_of(entry: Entry, origin: Origin) -> Image:
    """Return the loadable image of a cache entry."""
    from hatch_cuda_kernels.cache import open_cache  # off the prebuilt path

    return Image(
        module=entry.module,
        origin=origin,
        arch=entry.arch,
        kind=entry.kind,
        data=entry.image,
        sha256=entry.sha256,
        path=open_cache().path_of(entry),
        kernels=entry.kernels,
        variables=entry.globals,
    )


def make_request(
    reader: StoreReader,
    name: str,
    module: str | None,
    arch: str | SmArch | None,
    driver: tuple[int, int] | None,
    *,
    policy: str,
    tier_up: bool,
) -> Request:
    """Return the request for a kernel of a store: for ``arch``, or else for the current device and its driver.

    Raises KernelNotFoundError, StoreError, DriverError without a device, or InputError for an unknown policy, an
    ``arch`` that is not a device's, or a ``driver`` that is no version.
    """
    if driver is not None and [type(part) for part in (driver if isinstance(driver, tuple) else ())] != [int, int]:
        raise InputError(f"unknown driver {driver!r}; write the CUDA version of a driver as (13, 0)")
    kernel, instance = find_kernel(reader, name, module)
    if arch is None:
        _, capability, of_device = current_device()
        driver = driver or of_device
    else:
        try:
            device = SmArch.parse(arch) if isinstance(arch, str) else arch
        except ValueError as error:
            raise InputError(f"{error}; write a device as sm_90") from error
        if device.virtual:
            raise InputError(f"{device} is not a device; write {device.real}")
        capability = device.capability
    return Request(
        reader=reader,
        kernel=kernel,
        instance=instance,
        module=reader.module(kernel.module),
        source=ModuleSource(reader, kernel.module),
        capability=capability,
        driver=driver,
        policy=check_policy(policy),
        tier_up=tier_up,
        jit=jit_allowed(),
        compiled={},
        asked=module,
    )


def find_variable(reader: StoreReader, name: str, module: str | None) -> tuple[KernelLine, KernelLine]:
    """Return a listed variable, and a kernel that is in all images of its module. Raises KernelNotFoundError."""
    variable = _one(reader, _lines(reader, f"&{normalize_name(name)}", module), name, module, what="variable")
    if variable.module in reader.unlisted:
        # Macros may make the names of kernels. The loader to vendor knows none.
        declared = ModuleSource(reader, variable.module).declared_kernels
        for kernel in (*declared, *reader.unlisted[variable.module].kernels(())):
            return variable, find_kernel(reader, kernel, variable.module)[0]
    index = reader.module(variable.module)
    lacking = {lowered for record in index.images for lowered in record.lacks}
    names = reader.names(variable.module)
    listed = (line for kernel in names for line in reader.find(normalize_name(kernel), variable.module))
    for line in chain(listed, (line for line in reader.lines() if not line.is_variable)):
        if line.module == variable.module and line.lowered not in lacking:
            return variable, line
    hint = f"no kernel of module {variable.module} is in all its images; use get_global of a kernel"
    raise KernelNotFoundError(name, reader.label, hint=hint, what="variable")


def find_kernel(reader: StoreReader, name: str, module: str | None) -> tuple[KernelLine, str | None]:
    """Return a kernel's line, and its name if its module does not list it. Raises KernelNotFoundError or StoreError.

    An unlisted instance belongs to the module that lists others of its template.
    """
    key = normalize_name(name)
    is_kernel = not key.startswith(("&", "<", "{"))  # lines of variables, templates and families
    lines = _lines(reader, key, module) if is_kernel else []
    if not lines and is_kernel and "<" in key:
        if module is not None and reader.has_module(module):
            return KernelLine(key, module, "", (), name), name
        instances = reader.find(f"<{base_name(key)}")
        if instances:
            return KernelLine(key, _one(reader, instances, name, module).module, "", (), name), name
    if module in reader.unlisted and is_kernel and all(line.module != module for line in lines):
        return _declared(reader, key, name, module), None
    return _one(reader, lines, name, module), None


def _declared(reader: StoreReader, key: str, name: str, module: str) -> KernelLine:
    """Return the line of a kernel that no listed module of the family has: macros may make its name."""
    unlisted = reader.unlisted[module]
    if not ModuleSource(reader, module).declares(name):
        from difflib import get_close_matches  # only for the message

        known = unlisted.kernels(ModuleSource(reader, module).declared_kernels)
        hint = f"{unlisted.index.family!r} has {', '.join(known[:_MOST_LISTED])}"
        raise KernelNotFoundError(name, reader.label, get_close_matches(name, known), hint)
    return KernelLine(key, module, "", (), name)


def _lines(reader: StoreReader, key: str, module: str | None) -> list[KernelLine]:
    """Return the lines of a key in a module; those in others, for the message, where it has none."""
    return reader.find(key, module) or (reader.find(key) if module is not None else [])


def _one(
    reader: StoreReader, lines: list[KernelLine], name: str, module: str | None, *, what: str = "kernel"
) -> KernelLine:
    fitting = [line for line in lines if module in {None, line.module, listed_module(line.module)}]
    if len(fitting) == 1:
        return fitting[0]
    if lines:
        more = len(lines) - _MOST_LISTED
        modules = ", ".join([line.module for line in lines[:_MOST_LISTED]] + ([f"{more} more"] if more > 0 else []))
        hint = f"pass module= with a module that has it: {modules}"
        raise KernelNotFoundError(name, reader.label, hint=hint, what=what)
    from difflib import get_close_matches  # only for the message

    everything = [line for line in reader.lines() if line.is_variable == (what == "variable")]
    alike = {line.name: line.name for line in everything} | {base_name(line.key): line.name for line in everything}
    near = list(dict.fromkeys(alike[match] for match in get_close_matches(name, alike)))
    editable = everything and reader.module(everything[0].module).editable is not None
    hint = "an editable install lists the kernels of its last build" if editable else ""
    raise KernelNotFoundError(name, reader.label, near, hint, what=what)
