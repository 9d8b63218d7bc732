"""What a manifest promises about its wheel (devices, spills, size), and the checks of these promises.

The store records the promises, so that a wheel can be verified by itself.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.arch import (
    OLDEST_RELEASE,
    ComputeCapability,
    SmArch,
    cuda_release_for_arch,
    parse_version,
    ptx_isa_of_driver,
    version_text,
)
from hatch_cuda_kernels.errors import BuildError, Problem
from hatch_cuda_kernels.names import listed_module
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.store.index import (
    INDEX_FILE,
    PROMISES_FILE,
    STORE_FOLDER,
    ImageRecord,
    ModuleIndex,
    what_to_build,
)
from hatch_cuda_kernels.terminal import list_text

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.image import Symbol
    from hatch_cuda_kernels.store.module import BuiltModule

_PROMISES_SCHEMA: Final = 1
_MOST_NAMES: Final = 5
_LISTED: Final = 8
#: Bytes of a file's two headers in a zip archive, without its name.
_ZIP_HEADERS: Final = 76


@dataclass(frozen=True, slots=True, kw_only=True)
class Supports:
    """A promise the build proves: every kernel runs on these devices, with this driver, without JIT."""

    devices: tuple[ComputeCapability, ...]
    driver: tuple[int, int] | None
    """Oldest CUDA driver API; None if the manifest does not say."""
    where: Mapping[ComputeCapability, str] = field(default_factory=dict, compare=False)
    """The places in the manifest that promise the devices; not recorded in a store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """Everything a manifest promises; each part may be missing."""

    supports: Supports | None = None
    max_spill_bytes: Mapping[str, int] = field(default_factory=dict)
    """By module: maximum bytes of spill stores and loads per thread of a kernel."""
    max_wheel_size: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``promises.json`` without its schema; empty if nothing is promised."""
        data: dict[str, Any] = {}
        if self.supports is not None:
            driver = self.supports.driver
            data["supports"] = {"devices": [str(device) for device in self.supports.devices]}
            data["supports"] |= {} if driver is None else {"driver": version_text(driver)}
        if self.max_spill_bytes:
            data["max_spill_bytes"] = dict(self.max_spill_bytes)
        if self.max_wheel_size is not None:
            data["max_wheel_size"] = self.max_wheel_size
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Promises:
        """Read what ``to_json`` wrote. Raises KeyError, TypeError, AttributeError or ValueError on other data."""
        supports, stated = None, data.get("supports")
        if stated is not None:
            driver, devices = stated.get("driver"), stated["devices"]
            if not devices or len({*devices}) < len(devices):
                raise ValueError("no device, or one twice")
            supports = Supports(
                devices=tuple(map(ComputeCapability.parse, devices)),
                driver=None if driver is None else parse_version(driver),
            )
        return cls(
            supports=supports,
            max_spill_bytes={name: int(limit) for name, limit in data.get("max_spill_bytes", {}).items()},
            max_wheel_size=None if data.get("max_wheel_size") is None else int(data["max_wheel_size"]),
        )

    def text(self) -> str:
        """Return the whole text of ``promises.json``; empty if nothing is promised."""
        data = self.to_json()
        return f"{json.dumps({'schema': _PROMISES_SCHEMA, **data}, indent=1, sort_keys=True)}\n" if data else ""


def read_promises(store: Path) -> Promises:
    """Return the promises that a store records. Raises ValueError if they cannot be read."""
    try:
        data = json.loads((store / PROMISES_FILE).read_bytes())
        schema, message = data["schema"], "cannot be read: it differs from what a build writes"
        if schema == _PROMISES_SCHEMA:
            found = Promises.from_json(data)
            if {"schema": schema, **found.to_json()} == data:
                return found
        else:
            message = f"schema {schema} is not {_PROMISES_SCHEMA}: written by another version of hatch-cuda-kernels"
    except FileNotFoundError:
        return Promises()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise ValueError(f"cannot be read ({type(error).__name__}: {error})") from error
    raise ValueError(message)


class Coverage(NamedTuple):
    """A module whose images are held against the promised devices, before or after a build."""

    name: str
    where: str
    kernels: Sequence[Symbol]
    images: Sequence[ImageRecord]


def check_built(modules: Sequence[BuiltModule], promises: Promises) -> list[Problem]:
    """Return what is wrong with each module's images, or else the promises that they break."""
    wrong = {built.name: built.problems() for built in modules}
    sound = [built for built in modules if not wrong[built.name]]
    problems = [problem for found in wrong.values() for problem in found]
    if promises.supports is not None:
        coverages = [Coverage(built.name, built.where, built.kernels, built.images) for built in sound]
        problems += broken_supports(promises.supports, coverages)
    for built in sound:
        limit = promises.max_spill_bytes.get(listed_module(built.name))
        spills = () if limit is None else find_spills(limit, built.kernels, built.images)
        problems += [problem._replace(where=built.where) for problem in spills]
    return problems


def broken_supports(supports: Supports, modules: Iterable[Coverage]) -> list[Problem]:
    """Return each gap in the promise once, where the manifest promises it, with the modules that it is in."""
    gaps: dict[Problem, dict[str, None]] = {}
    for module in modules:
        for gap in find_gaps(supports, module.kernels, module.images):
            gaps.setdefault(gap._replace(where=gap.where or module.where), {})[repr(listed_module(module.name))] = None
    problems = []
    for gap, names in gaps.items():
        listed = f"{'module' if len(names) == 1 else 'modules'} {list_text([*names], _MOST_NAMES)}"
        what, bracket, reason = gap.message.partition(" (")
        problems.append(gap._replace(message=f"{what} in {listed}{bracket}{reason}"))
    return problems


def find_gaps(supports: Supports, kernels: Sequence[Symbol], images: Sequence[ImageRecord]) -> Iterator[Problem]:
    """Yield a problem for each promised device that a module's images do not serve.

    The rules are those of the run side: a CUBIN counts by its architecture, PTX also by the ISA the driver knows, and
    LTO-IR never. A CUBIN of a newer CUDA major than the driver's may load, but CUDA only promises that within a major.
    """
    for device in supports.devices:
        fitting = [image for image in images if image.kind != "ltoir" and image.arch.refusal(device) is None]
        usable = [image for image in fitting if not driver_refusal(image, supports.driver)]
        lacking = [symbol.name for symbol in kernels if all(symbol.lowered in image.lacks for image in usable)]
        if not lacking:
            continue
        refused = [image for image in fitting if image not in usable]
        too_new = [driver_refusal(image, supports.driver) for image in refused]
        what = f"the kernel {', '.join(map(repr, lacking))} is in no image" if usable else "there is no image"
        why = f" ({'; '.join(too_new)})" if too_new and not usable else ""
        advice = _advice(device, images)
        if supports.driver is not None and any(image.cuda_major > supports.driver[0] for image in images):
            advice = _older_major(device, supports.driver, "" if fitting else f"{advice}, and ")
        else:
            advice += _older_release(refused, supports.driver)
        yield Problem(f"{what} for the promised device {device}{why}", advice, supports.where.get(device, ""))


def driver_refusal(image: ImageRecord, driver: tuple[int, int] | None) -> str:
    """Return why a driver for a CUDA release may not load an image; empty if it does, or is not known."""
    if driver is None:
        return ""
    if image.kind == "cubin":
        wrote = image.cuda_major
        newer = wrote > driver[0]
        return f"the {image.arch} CUBIN is of CUDA {wrote} and needs a driver for CUDA {wrote}" if newer else ""
    known = ptx_isa_of_driver(driver)
    if known is None or image.ptx_isa <= known:
        return ""
    isa = f"{image.arch} PTX has ISA {version_text(image.ptx_isa)}"
    return f"{isa}, a driver for CUDA {version_text(driver)} knows up to {version_text(known)}"


def _older_release(refused: Sequence[ImageRecord], driver: tuple[int, int] | None) -> str:
    """Return the advice to compile with the driver's own release, if that is supported and compiles the PTX."""
    if driver is None or driver < OLDEST_RELEASE:
        return ""
    first = [cuda_release_for_arch(image.arch, major=driver[0]) for image in refused]
    known = any(release is not None and release <= driver for release in first)
    return f', or state cuda: "{version_text(driver)}" in the manifest' if known else ""


def _older_major(device: ComputeCapability, driver: tuple[int, int], besides: str) -> str:
    """Say how to compile with the major of an older driver: an architecture alone does not help."""
    release = max(driver, OLDEST_RELEASE)
    first = cuda_release_for_arch(SmArch.of_device(device), major=driver[0])
    if driver[0] != OLDEST_RELEASE[0] or first is None or first > release:
        return f"promise a newer driver, or take {device} out of 'supports:'"
    return f'{besides}state cuda: "{version_text(release)}" in the manifest'


def _advice(device: ComputeCapability, images: Sequence[ImageRecord]) -> str:
    """Say which architecture to add, with a suffix if all of the module's architectures have one."""
    suffix = min((image.arch.suffix for image in images), default="")
    archs = (SmArch.of_device(device, suffix), SmArch.of_device(device))
    compiled = (arch for arch in archs if any(cuda_release_for_arch(arch, major=major) for major in (13, 12)))
    arch = next(compiled, archs[-1])
    if any(image.arch == arch for image in images):
        return f"compile it for {arch} too, or take {device} out of 'supports:'"
    advice = what_to_build(images, arch, start="add", end="to the module's 'arches:'")
    return advice or f"take it out of 'supports:': no known CUDA release compiles {arch}"


def find_spills(limit: int, kernels: Sequence[Symbol], images: Sequence[ImageRecord]) -> Iterator[Problem]:
    """Yield a problem for each kernel that spills more than the limit in a CUBIN; PTX and LTO-IR have no spills yet."""
    names = {symbol.lowered: symbol.name for symbol in kernels}
    for image in images:
        for lowered, used in image.resources.items() if image.kind == "cubin" else ():
            kernel = f"the kernel {names.get(lowered, lowered)!r}"
            stores, loads = used.get("spill_stores"), used.get("spill_loads")
            if stores is None or loads is None:
                message = f"the spills of {kernel} for {image.arch} are not recorded; the limit is {limit} bytes"
                yield Problem(message, "build the module with an NVRTC that reports spills", image.file)
            elif (spilled := stores + loads) > limit:
                what = f"spills {spilled} bytes per thread for {image.arch} ({stores} stored, {loads} loaded)"
                fix = (
                    "give it more registers (options: maxrregcount, or __launch_bounds__ in the source), make it "
                    f"smaller, or write max_spill_bytes: {spilled}"
                )
                yield Problem(f"{kernel} {what}, the limit is {limit}", fix, image.file)


def check_store(files: Mapping[str, bytes], limit: int) -> None:
    """Raise BuildError, with the largest images, if a store's files would take more than ``limit`` bytes of a wheel."""

    def in_a_wheel(name: str, data: bytes) -> int:
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        return len(packer.compress(data) + packer.flush()) + _ZIP_HEADERS + 2 * len(name)

    sizes = {name: in_a_wheel(name, data) for name, data in files.items()}
    _check("the kernel store would take", sum(sizes.values()), limit, sizes, files.__getitem__)


def check_wheel(wheel: Path, limit: int) -> None:
    """Raise BuildError, with the largest images, if a wheel has more than ``limit`` bytes."""
    import zipfile  # a build without a wheel needs none of it

    with zipfile.ZipFile(wheel) as archive:
        inside = {name.partition(f"/{STORE_FOLDER}/")[2]: name for name in archive.namelist()}
        sizes = {name: archive.getinfo(path).compress_size for name, path in inside.items() if name}
        size = wheel.stat().st_size
        _check(f"{wheel.name} has", size, limit, sizes, lambda name: archive.read(inside[name]))


def _check(what: str, size: int, limit: int, sizes: Mapping[str, int], read: Callable[[str], bytes]) -> None:
    if size <= limit:
        return
    texts = (read(name) for name in sorted(sizes) if name.endswith(f"/{INDEX_FILE}"))
    indices = [ModuleIndex.from_json(json.loads(text)) for text in texts]
    images = [(index.module, image) for index in indices for image in index.images]
    shares = sorted(_shares(images, sizes), key=lambda share: share[0], reverse=True)
    advice = (
        "to fix: fewer architectures or instances, PTX in place of a CUBIN, no lineinfo or debug"
        f"{'' if all(image.stored for _, _, image in shares) else ', packing: solid'}, or a larger max_wheel_size"
    )
    listed = [f"{module} {image.arch} {image.kind}: {bytes_:,}" for bytes_, module, image in shares[:_LISTED]]
    more = [f"and {len(shares) - _LISTED} more"] if len(shares) > _LISTED else []
    message = f"{what} {size:,} bytes, {size - limit:,} more than max_wheel_size allows; the largest images in it:"
    raise BuildError(["\n  ".join([message, *listed, *more, advice])])


def _shares(
    images: Sequence[tuple[str, ImageRecord]], sizes: Mapping[str, int]
) -> Iterator[tuple[int, str, ImageRecord]]:
    """Yield each stored image once, with its bytes; images of a block share its bytes by their unpacked sizes."""
    blocks: dict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for _, image in images:
        if image.stored:
            blocks[image.stored.file, image.stored.at][image.sha256] = image.bytes
    firsts: dict[str, tuple[str, ImageRecord]] = {}
    for module, image in images:
        firsts.setdefault(image.sha256, (module, image))
    for module, image in firsts.values():
        stored = image.stored
        if stored and stored.size:
            yield stored.size * image.bytes // sum(blocks[stored.file, stored.at].values()), module, image
        else:
            yield sizes[stored.file if stored else f"{module}/{image.file}"], module, image
