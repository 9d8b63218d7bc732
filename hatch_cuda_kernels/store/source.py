"""A module's source as the run side sees it: shipped in the store, or the project itself in an editable install."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from hatch_cuda_kernels.arch import SmArch, cuda_release_for_arch
from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.warn import warn_user

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.compiler.job import CompileJob
    from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain
    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.runtime.ladder.rungs import Request
    from hatch_cuda_kernels.store.reader import StoreReader

__all__ = ["ModuleSource"]


class ModuleSource:
    """Where a module's source is, whether it is still what the prebuilt images are from, and the jobs made of it."""

    def __init__(self, reader: StoreReader, module: str) -> None:
        self._reader = reader
        self._index = reader.module(module)

    @cached_property
    def stale(self) -> str | None:
        """Why prebuilt images no longer count: in an editable install, the source or a header has changed."""
        if self._index.editable is None:
            return None
        self._check_manifest(self._index.editable)
        try:
            current = self._job(SmArch(9, 0), ("cubin",)).source_sha256
        except InputError as error:
            return f"the source cannot be read: {error}"
        return None if current == self._index.source_sha256 else "the source or a header changed since it was built"

    def _check_manifest(self, editable: dict[str, str]) -> None:
        """Warn, once, of a manifest that changed: its options and lists are known from the last install only."""
        path = self.root / editable["manifest"]
        if path.is_file() and sha256(path.read_bytes()).hexdigest() != editable["manifest_sha256"]:
            warn_user(f"{path} changed since the editable install; for it to count, run: pip install -e {self.root}")

    @property
    def root(self) -> Path:
        """The folder that paths of the index are relative to."""
        editable = self._index.editable
        if editable is not None:
            return (self._reader.folder / editable["root"]).resolve()
        return self._reader.source_root(self._index.module)

    @property
    def scope(self) -> str:
        """Text that tells this module from every other, of this store and of others."""
        return str(self._reader.folder / self._index.module)

    def device_arch(self, capability: tuple[int, int]) -> SmArch:
        """Return the real architecture to compile for a device.

        It has ``a`` (or ``f``) when the module is built so and that form of the device's architecture exists.
        """
        built = {record.arch.suffix for record in self._index.images}
        forms = (SmArch.of_device(capability, suffix) for suffix in ("a", "f") if suffix in built)
        known = (form for form in forms if any(cuda_release_for_arch(form, major=major) for major in (12, 13)))
        return next(known, SmArch.of_device(capability))

    def recalled_key(self, request: Request) -> str | None:
        """Return the same as ``key`` for this process's toolchain, None where that is not remembered."""
        from hatch_cuda_kernels.compiler.toolchain.recall import recall  # off the prebuilt path

        part = recall(self._index.outside, lto=self._lto) if self._as_shipped else None
        return None if part is None else self._key(request, part)

    def key(self, request: Request, toolchain: Toolchain) -> str:
        """Return the key of ``job(request)``'s CUBIN. Raises InputError when the source cannot be read."""
        if not self._as_shipped:
            return self.job(request).key("cubin", toolchain)
        return self._key(request, toolchain.of_compile(self._index.outside, lto=self._lto).key_part)

    def remember_key(self) -> None:
        """Make ``recalled_key`` answer from the next process on."""
        if self._as_shipped:
            from hatch_cuda_kernels.compiler.toolchain.known import remember_toolchain  # off the hit path

            remember_toolchain(self._index.outside, lto=self._lto)

    @property
    def _lto(self) -> bool:
        return bool(self._index.options.get("lto"))

    def _key(self, request: Request, part: dict[str, str]) -> str:
        """Return the key from the index alone: it says all that scanning the source would find."""
        from hatch_cuda_kernels.compiler.key import cache_key  # off the prebuilt path

        index = self._index
        return cache_key(
            source_sha256=index.source_sha256,
            options=index.options,
            arch=self.device_arch(request.capability),
            kind="cubin",
            names=self._names(request),
            variables=index.globals,
            toolchain=part,
        )

    @cached_property
    def _as_shipped(self) -> bool:
        """Whether the store has the module's source with every byte the index names, and no file besides."""
        index = self._index
        if index.editable is not None:
            return False
        try:
            found = {name: sha256((self.root / name).read_bytes()).hexdigest() for name in index.files}
        except OSError:
            return False
        return found == index.files and sum(len(files) for _, _, files in os.walk(self.root)) == len(found)

    def _names(self, request: Request) -> tuple[str, ...]:
        return self._reader.details(self._index.module).names if request.listed else (request.kernel.name,)

    def job(self, request: Request) -> CompileJob:
        """Return the compile of this module for the request's device, with an unlisted instance as its only name.

        Raises InputError when the source cannot be read.
        """
        return self._job(self.device_arch(request.capability), ("cubin",), self._names(request))

    def job_of(self, arch: SmArch, unlisted: str | None = None) -> CompileJob:
        """Return the compile of all listed names, or of one unlisted instance. Raises InputError like ``job``."""
        return self._job(arch, ("cubin",), None if unlisted is None else (unlisted,))

    def _job(self, arch: SmArch, kinds: tuple[Kind, ...], names: tuple[str, ...] | None = None) -> CompileJob:
        from hatch_cuda_kernels.compiler.job import CompileJob
        from hatch_cuda_kernels.compiler.source.closure import read_closure  # off the prebuilt path
        from hatch_cuda_kernels.options import NvrtcOptions

        index = self._index
        options = NvrtcOptions.from_canonical(index.options)
        # A store ships the files of the closure only, so a folder that gave none of them is not there.
        include = [folder for folder in options.include if (self.root / folder).is_dir()]
        closure = read_closure(
            self.root, index.source, include=include, headers=index.headers, pre_include=options.pre_include
        )
        return CompileJob.from_closure(
            closure,
            module=index.module,
            source_path=index.source,
            options=options,
            arch=arch,
            kinds=kinds,
            names=self._reader.details(index.module).names if names is None else names,
            globals=index.globals,
        )
