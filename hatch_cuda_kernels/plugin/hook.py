"""The Hatch build hook: reads its options, calls the build, hands the store to the wheel."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

from hatch_cuda_kernels.errors import HatchCudaKernelsError, InputError
from hatch_cuda_kernels.store import STORE_FOLDER

if TYPE_CHECKING:
    from hatch_cuda_kernels.manifest import Manifest
    from hatch_cuda_kernels.plugin.layout import Package, Selection

#: Keys that hatchling allows in every hook's table.
_RESERVED: Final = {"dependencies", "enable-by-default", "require-runtime-dependencies", "require-runtime-features"}
_OPTIONS: Final = {"manifest": str, "package": str, "jobs": int, "executor": str, "sbom": bool}
_KINDS: Final = {str: "a string", int: "an integer", bool: "a boolean"}


def _check_options(config: Mapping[str, Any], hook: str) -> None:
    from hatch_cuda_kernels.pool import is_executor

    for name, value in config.items():
        if name in _RESERVED:
            continue
        if name not in _OPTIONS:
            raise InputError(f"Unknown option `{name}` for build hook `{hook}`")
        if type(value) is not (kind := _OPTIONS[name]):
            raise InputError(f"Option `{name}` for build hook `{hook}` must be {_KINDS[kind]}")
    package = config.get("package", "mylib")
    if not all(part.isidentifier() for part in package.split(".")):
        raise InputError(
            f"Option `package` for build hook `{hook}` must be what is imported, such as `acme.mylib`, not {package!r}"
        )
    if config.get("jobs", 1) < 1:
        raise InputError(f"Option `jobs` for build hook `{hook}` must be 1 or more")
    if not is_executor(config.get("executor", "process")):
        raise InputError(f"Option `executor` for build hook `{hook}` must be `process` or `dask:ADDRESS`")


def _add_sbom(store: Path, metadata: Any, build_data: dict[str, Any]) -> None:  # hatchling is untyped
    """Write the document about a store beside it, and let the wheel have it; hatchling takes such files since 1.29."""
    from hatch_cuda_kernels import __version__
    from hatch_cuda_kernels.store import SBOM_FILE, StoreReader, sbom_text

    files = build_data.get("sbom_files")
    if files is not None:
        path = store.parent / SBOM_FILE
        text = sbom_text(StoreReader(store), metadata.name, metadata.version, made_by=__version__)
        path.write_text(text, encoding="utf-8", newline="\n")
        files.append(str(path))


class CudaKernelsBuildHook(BuildHookInterface[Any]):
    """Build hook ``cuda-kernels``: ships the kernels of ``kernels.yaml`` as package data."""

    PLUGIN_NAME = "cuda-kernels"

    def dependencies(self) -> list[str]:
        """Return the packages of the toolkit release that the manifest asks for."""
        from hatch_cuda_kernels.plan import requirements
        from hatch_cuda_kernels.pool import DASK_REQUIREMENT, choose_executor, uses_dask

        if self.target_name != "wheel":
            return []
        needed = requirements(self._manifest())
        try:
            return (
                [*needed, DASK_REQUIREMENT]
                if uses_dask(choose_executor(option=self._options.get("executor")))
                else needed
            )
        except InputError as error:
            self._abort(error)

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the store: for a wheel into a temporary folder, for an editable install where the import finds it."""
        try:
            if self.target_name == "sdist":
                self._include_sources(build_data)
            elif self.target_name == "wheel":
                self._build(version, build_data)
        except HatchCudaKernelsError as error:
            self._scratch_folders.close()
            self._abort(error)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary store once the wheel has it, and the wheel or sdist itself if nobody may ship it."""
        self._scratch_folders.close()
        artifact = Path(artifact_path)
        try:
            if self.target_name == "sdist":
                self._sdist_check.check(artifact, build_data)
            elif self.target_name == "wheel" and version != "editable":
                from hatch_cuda_kernels.plugin.layout import check_shipped
                from hatch_cuda_kernels.store import check_wheel

                check_shipped(artifact, *self._shipped, self._package)
                limit = self._manifest().max_wheel_size
                if limit is not None:
                    check_wheel(artifact, limit)
        except HatchCudaKernelsError as error:
            artifact.unlink()  # nobody may upload it
            self._abort(error)

    def clean(self, versions: list[str]) -> None:  # noqa: ARG002 - hatchling's signature
        """Remove the store that an editable install left in the source tree, if there is one."""
        import shutil  # rarely needed

        from hatch_cuda_kernels.store import check_replaceable

        try:
            folder = self._package(self._selection()).folder
        except InputError:
            return
        if not folder:
            return
        store = self._root / folder / STORE_FOLDER
        try:
            check_replaceable(store)
        except InputError as error:
            self._abort(error)
        shutil.rmtree(store, ignore_errors=True)

    @cached_property
    def _scratch_folders(self) -> ExitStack:
        folders = ExitStack()
        atexit.register(folders.close)  # for Ctrl-C, and for other hooks that fail before this one's finalize
        return folders

    def _scratch(self) -> Path:
        from hatch_cuda_kernels.store import temporary_workspace

        return self._scratch_folders.enter_context(temporary_workspace())

    def _build(self, version: str, build_data: dict[str, Any]) -> None:
        from hatch_cuda_kernels.build import build_store, render_report
        from hatch_cuda_kernels.plugin.layout import check_editable, keep_store_out
        from hatch_cuda_kernels.pool import choose_executor, open_progress

        manifest = self._manifest()
        selection = self._selection(build_data)
        package = self._package(selection)
        place = selection.target(f"{package.path}/{STORE_FOLDER}")
        editable = version == "editable" and not package.is_copied
        if editable:
            check_editable(self.build_config, package)
        else:
            keep_store_out(self.build_config, package, selection.stores)
        out = self._root / package.folder / STORE_FOLDER if editable else self._scratch() / STORE_FOLDER
        report = build_store(
            manifest,
            out,
            executor=choose_executor(option=self._options.get("executor")),
            workers=self._options.get("jobs"),
            progress=open_progress(),
            editable=editable,
        )
        for warning in report.warnings:
            self.app.display_warning(warning)
        self.app.display(render_report(report))
        if not editable:
            build_data["force_include"][str(out)] = place
            store = [path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()]
            self._shipped = package, store, selection
        if version != "editable":
            if build_data["pure_python"] and not build_data["infer_tag"]:
                build_data.setdefault("tag", "py3-none-any")
            if self._options.get("sbom", True):
                _add_sbom(out, self.metadata, build_data)

    def _include_sources(self, build_data: dict[str, Any]) -> None:
        """Make sure that the sdist contains what a wheel is built from, whatever its include patterns say."""
        from hatch_cuda_kernels.plugin.layout import (
            NotShippedError,
            SdistCheck,
            keep_store_out,
            plain_files,
            wheel_inputs,
        )

        manifest, selection = self._manifest(), self._selection()
        try:
            package = self._package(selection)
            selection.target(f"{package.path}/{STORE_FOLDER}")
            keep_store_out(self.build_config, package, selection.stores)
        except NotShippedError:
            if not selection.other_hooks:
                raise
            package = None  # another hook may bring it when the wheel is built
        needed = wheel_inputs(manifest, self._root)
        build_data["force_include"].update(plain_files(needed, self._scratch()))
        self._sdist_check = SdistCheck(
            builder=self.build_config.builder,
            wheel_builder=self._wheel_builder,
            needed=(*needed, "pyproject.toml"),
            package=package,
            choose=self._package,
        )

    def _manifest(self) -> Manifest:
        from hatch_cuda_kernels.manifest import load_manifest

        try:
            path = Path(os.path.abspath(self._root / (self._options.get("manifest") or "kernels.yaml")))  # noqa: PTH100
            if not path.is_relative_to(self._root):
                raise InputError(  # noqa: TRY301 - aborts as what else is wrong
                    f"Option `manifest` for build hook `{self.PLUGIN_NAME}` must name a file inside the project, "
                    f"not {path}, which an sdist could not contain"
                )
            return load_manifest(path, version=lambda: str(self.metadata.version))
        except InputError as error:
            self._abort(error)

    @cached_property
    def _options(self) -> Mapping[str, Any]:
        """The hook's table for wheels, which may differ from that for sdists. Raises InputError if it is wrong."""
        options: Mapping[str, Any] = self.config
        if self.target_name == "sdist":
            options = self._wheel_builder(self._root).config.hook_config.get(self.PLUGIN_NAME, options)
        _check_options(options, self.PLUGIN_NAME)
        return options

    @property
    def _root(self) -> Path:
        return Path(os.path.abspath(self.root))  # noqa: PTH100 - links stay: hatchling does not resolve them either

    def _selection(self, build_data: Mapping[str, Any] | None = None) -> Selection:
        """Return what the wheel would ship, given what other hooks have added to it until now."""
        from hatch_cuda_kernels.plugin.layout import Selection

        return Selection.of(self._wheel_builder(self._root), build_data)

    def _package(self, selection: Selection) -> Package:
        from hatch_cuda_kernels.plugin.layout import choose_package

        return choose_package(selection, self._options.get("package"))

    def _wheel_builder(self, root: Path) -> Any:  # hatchling is untyped
        """Return a new builder of wheels with this project's settings for files in a folder."""
        from hatchling.builders.wheel import WheelBuilder

        return WheelBuilder(str(root), metadata=self.metadata)

    def _abort(self, error: HatchCudaKernelsError) -> NoReturn:
        self.app.abort(f"cuda-kernels: {error}", code=2 if isinstance(error, InputError) else 1)
        raise SystemExit(1)


def find_package(root: Path, package: str | None) -> tuple[str, str]:
    """Return folder and import name of the package that gets a project's store. Raises InputError if there is none."""
    from hatchling.builders.wheel import WheelBuilder  # not needed in a build

    from hatch_cuda_kernels.plugin.layout import Selection, choose_package

    try:
        selection = Selection.of(WheelBuilder(str(root)))
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"Hatch cannot read this project: {error}") from error
    found = choose_package(selection, package)
    return found.folder, found.name
