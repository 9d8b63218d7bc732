"""A package's kernels: the one object users of the run side talk to."""

from __future__ import annotations

import os
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.arch import ComputeCapability, SmArch
from hatch_cuda_kernels.compiler.names import base_name, normalize_name
from hatch_cuda_kernels.errors import InputError, KernelNotFoundError, NoImageError
from hatch_cuda_kernels.image import Image
from hatch_cuda_kernels.runtime.context import current_context_id, current_device
from hatch_cuda_kernels.runtime.fixes import suggest_fixes
from hatch_cuda_kernels.runtime.kernel import Kernel
from hatch_cuda_kernels.runtime.loader import ImageRefusedError, Loader, climb
from hatch_cuda_kernels.runtime.reader import KernelLine, StoreReader, find_store
from hatch_cuda_kernels.runtime.resolve import POLICIES, Candidate, Explanation, Request, candidates
from hatch_cuda_kernels.runtime.source import ModuleSource

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.image import ImageRecord
    from hatch_cuda_kernels.runtime.kernel import GlobalVariable
    from hatch_cuda_kernels.runtime.loader import LoadedKernel
    from hatch_cuda_kernels.runtime.resolve import Policy

__all__ = ["Store", "open_store"]

_LOADER = Loader()


def open_store(package: str | Path, *, policy: Policy = "compatible") -> Store:
    """Return the store of an import package, or of a folder. Reads nothing; a missing store shows at first use."""
    return Store(package, policy=policy)


class Store:
    """The kernels of one package. Thread-safe; every look-up says why it chose what it chose."""

    def __init__(self, package: str | Path, *, policy: Policy = "compatible") -> None:
        self.package = package
        self.policy = _checked(policy)
        self._kernels: dict[tuple[str, str | None, str, int], Kernel] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<Store {str(self.package)!r}>"

    @cached_property
    def path(self) -> Path:
        """The store's folder. Raises StoreError when there is none."""
        return find_store(self.package)

    def get_kernel(self, name: str, *, module: str | None = None, policy: Policy | None = None) -> Kernel:
        """Return a kernel, loaded for the current context (device 0's primary context where none is current).

        ``name`` is as in the manifest, or any instance of a template a module declares, which is then compiled and
        recorded. Raises KernelNotFoundError, NoImageError with every candidate's reason, or CompileError.
        """
        key = (name, module, policy or self.policy, current_context_id())
        kernel = self._kernels.get(key)
        if kernel is None:
            with self._lock:
                kernel = self._kernels.get(key) or self._load(key)
                self._kernels[key] = kernel
        return kernel

    def get_global(self, name: str, *, module: str | None = None) -> GlobalVariable:
        """Return a variable the manifest lists under ``globals``: address in the current context and size in bytes.

        The variable is that of the image which the module's listed kernels are loaded from; an instance that was
        compiled on demand has its own, see ``Kernel.get_global``. Raises KernelNotFoundError.
        """
        line = self._one(self._reader.find(f"&{normalize_name(name)}"), name, module)
        first = next(other for other in self._reader.lines() if other.module == line.module and other.key[0] != "&")
        return self.get_kernel(first.name, module=line.module).get_global(line.lowered)

    def find_image(
        self,
        kernel: str,
        *,
        arch: str | SmArch | None = None,
        driver: tuple[int, int] | None = None,
        policy: Policy | None = None,
        module: str | None = None,
    ) -> Image:
        """Return the image the ladder gives for an architecture, without a GPU; compiles and records where it must.

        ``arch`` (default: the current device) is real, such as ``sm_120``; ``driver`` is the CUDA version of an
        imagined driver, None for one that knows every PTX. Raises KernelNotFoundError, NoImageError or CompileError.
        """
        request = self._request(kernel, module, policy, arch, driver)
        considered: list[Candidate] = []
        image = climb(request, lambda image: image, considered)
        if image is None:
            raise self._no_image(request, considered)
        return image

    def explain(
        self,
        kernel: str,
        *,
        arch: str | SmArch | None = None,
        driver: tuple[int, int] | None = None,
        policy: Policy | None = None,
        module: str | None = None,
    ) -> Explanation:
        """Return the ladder for a kernel: every candidate with its reason, and the chosen one. Compiles nothing.

        Without ``arch`` it asks about the current device, whose driver is asked too: what it refuses says so.
        """
        request = self._request(kernel, module, policy, arch, driver)
        asks_driver = arch is None
        considered = list(_considered(request, asks_driver=asks_driver))
        chosen = next((candidate for candidate in considered if candidate.accepted), None)
        fixes = suggest_fixes(request, considered) if chosen is None else ()
        return Explanation(
            request.kernel.name, request.source.device_arch(request), request.driver, chosen, tuple(considered), fixes
        )

    def contents(self) -> dict[str, Any]:
        """Return what is inside, as ``inspect --json`` prints it."""
        modules: dict[str, Any] = {
            index.module: {
                "kernels": {},
                "images": [image.to_json() for image in index.images],
                "toolchain": index.toolchain,
                "source_sha256": index.source_sha256,
            }
            for index in self._reader.modules()
        }
        for line in self._reader.lines():
            if not line.key.startswith("&"):
                symbol = {"lowered": line.lowered, "params": list(line.params)}
                modules[line.module]["kernels"][line.name] = symbol
        return {"modules": modules}

    @cached_property
    def _reader(self) -> StoreReader:
        return StoreReader(self.path)

    def _load(self, key: tuple[str, str | None, str, int]) -> Kernel:
        name, module, policy, context_id = key
        request = self._request(name, module, _checked(policy), None, None)
        considered: list[Candidate] = []
        loaded = climb(request, lambda image: _load(request, image), considered)
        if loaded is None:
            raise self._no_image(request, considered)
        lowered, params = _symbol(request, loaded.image)
        return Kernel(request.kernel.name, params, loaded, lowered, context_id)

    def _request(
        self,
        name: str,
        module: str | None,
        policy: Policy | None,
        arch: str | SmArch | None,
        driver: tuple[int, int] | None,
    ) -> Request:
        line, listed = self._find(name, module)
        if arch is None:
            device = current_device()
            capability, driver = device.capability, driver or device.driver
        else:
            capability = _capability(arch)
        return Request(
            kernel=line,
            listed=listed,
            module=self._reader.module(line.module),
            source=ModuleSource(self._reader, line.module),
            capability=capability,
            driver=driver,
            policy=_checked(policy or self.policy),
            jit=os.environ.get("HATCH_CUDA_KERNELS_JIT", "1") != "0",
            read=lambda record: self._read(line.module, record),
            refused=lambda sha256: _LOADER.refusal(sha256, capability),
        )

    def _find(self, name: str, module: str | None) -> tuple[KernelLine, bool]:
        """Return a kernel's line and whether the manifest lists it. Raises KernelNotFoundError."""
        key = normalize_name(name)
        lines = self._reader.find(key)
        if not lines and "<" in key:
            instances = {line.module: line for line in self._reader.find_instances(base_name(key))}
            if instances or module is not None:
                found = module or self._one(list(instances.values()), name, module).module
                return KernelLine(key, found, "", (), name), False
        return self._one(lines, name, module), True

    def _one(self, lines: list[KernelLine], name: str, module: str | None) -> KernelLine:
        lines = [line for line in lines if module in {None, line.module}]
        if len(lines) == 1:
            return lines[0]
        if lines:
            modules = ", ".join(line.module for line in lines)
            raise KernelNotFoundError(
                name, str(self.path), hint=f"several modules have it, name one with module=: {modules}"
            )
        from difflib import get_close_matches  # noqa: PLC0415 - only for the message

        names = [line.name for line in self._reader.lines()]
        raise KernelNotFoundError(name, str(self.path), get_close_matches(name, names))

    def _read(self, module: str, record: ImageRecord) -> Image:
        return Image(
            module=module,
            origin="prebuilt",
            arch=record.arch,
            kind=record.kind,
            data=self._reader.read_image(module, record),
            sha256=record.sha256,
            path=self._reader.image_path(module, record),
        )

    def _no_image(self, request: Request, considered: list[Candidate]) -> NoImageError:
        arch = f"sm_{request.capability.major}{request.capability.minor}"
        return NoImageError(request.kernel.name, arch, considered, suggest_fixes(request, considered))


def _considered(request: Request, *, asks_driver: bool) -> list[Candidate]:
    """Return every candidate; with a driver to ask, the ones before the chosen are really loaded."""
    if not asks_driver:
        return list(candidates(request))
    considered: list[Candidate] = []
    decided = False
    for candidate in candidates(request):
        if candidate.accepted and candidate.get is not None and candidate.origin != "jitted" and not decided:
            try:
                _load(request, candidate.get())
            except ImageRefusedError as refusal:
                considered.append(candidate.refuse(str(refusal)))
                continue
        decided = decided or candidate.accepted
        considered.append(candidate)
    return considered


def _load(request: Request, image: Image) -> LoadedKernel:
    return _LOADER.load(image, _symbol(request, image)[0], request.capability)


def _symbol(request: Request, image: Image) -> tuple[str, tuple[str, ...]]:
    """Return the lowered name and parameter types: the store's for a listed kernel, else what the compile recorded."""
    if request.listed:
        return request.kernel.lowered, request.kernel.params
    key = request.kernel.key
    found = next(symbol for symbol in image.kernels if normalize_name(symbol.name) == key)
    return found.lowered, found.params


def _capability(arch: str | SmArch) -> ComputeCapability:
    try:
        parsed = SmArch.parse(arch) if isinstance(arch, str) else arch
    except ValueError as error:
        raise InputError(f"{error}; an imagined device is written like sm_90") from error
    if parsed.virtual:
        raise InputError(f"{parsed} is no device; write {parsed.real}")
    return parsed.capability


def _checked(policy: str) -> Policy:
    for known in POLICIES:
        if policy == known:
            return known
    raise InputError(f"unknown policy {policy!r}; it is one of {', '.join(POLICIES)}")
