"""The Hatch build hook: reads its options, calls the build, hands the store to the wheel."""

from __future__ import annotations

import atexit
import os
import tempfile
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

from hatch_cuda_kernels.errors import HatchCudaKernelsError, InputError
from hatch_cuda_kernels.store.index import STORE_FOLDER

if TYPE_CHECKING:
    from hatch_cuda_kernels.build_report import BuildReport
    from hatch_cuda_kernels.manifest import Manifest
    from hatch_cuda_kernels.plugin.layout import Layout

__all__ = ["CudaKernelsBuildHook", "find_package"]


class CudaKernelsBuildHook(BuildHookInterface[Any]):
    """Build hook ``cuda-kernels``: ships the kernels of ``kernels.yaml`` as package data."""

    PLUGIN_NAME = "cuda-kernels"

    def dependencies(self) -> list[str]:
        """Return the packages of the toolkit release that the manifest asks for."""
        from hatch_cuda_kernels.plan.release import requirements
        from hatch_cuda_kernels.pool.executors import DASK_REQUIREMENT, uses_dask

        if self.target_name != "wheel":
            return []
        needed = requirements(self._manifest())
        try:
            return [*needed, DASK_REQUIREMENT] if uses_dask(self._executor()) else needed
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

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the temporary store once the wheel has it, and the wheel if it is larger than allowed."""
        self._scratch_folders.close()
        if self.target_name == "wheel" and version != "editable":
            self._check_size(Path(artifact_path))

    def clean(self, versions: list[str]) -> None:  # noqa: ARG002 - hatchling's signature
        """Remove the store that an editable install left in the source tree, if there is one."""
        import shutil  # rarely needed

        from hatch_cuda_kernels.store.writer import check_replaceable

        try:
            store = self._root / self._package_folder() / STORE_FOLDER
        except InputError:
            return
        try:
            check_replaceable(store)
        except InputError as error:
            self._abort(error)
        shutil.rmtree(store, ignore_errors=True)

    def _check_size(self, wheel: Path) -> None:
        from hatch_cuda_kernels.store.promises.budget import check_wheel  # most manifests set no limit

        limit = self._manifest().max_wheel_size
        if limit is None:
            return
        try:
            check_wheel(wheel, limit)
        except HatchCudaKernelsError as error:
            wheel.unlink()  # nobody may upload it
            self._abort(error)

    @cached_property
    def _scratch_folders(self) -> ExitStack:
        folders = ExitStack()
        atexit.register(folders.close)  # for Ctrl-C, and for other hooks that fail before this one's finalize
        return folders

    def _scratch(self) -> Path:
        from hatch_cuda_kernels.store.staging import workspace

        folder = workspace(Path(tempfile.gettempdir()), "hatch-cuda-kernels-")
        return self._scratch_folders.enter_context(folder)

    def _build(self, version: str, build_data: dict[str, Any]) -> None:
        from hatch_cuda_kernels.build import build_store
        from hatch_cuda_kernels.pool.progress import open_progress

        manifest = self._manifest()
        editable = version == "editable"
        store = f"{self._package_folder()}/{STORE_FOLDER}"
        if not editable:
            self._exclude(store)
        out = self._root / store if editable else self._scratch() / STORE_FOLDER
        report = build_store(
            manifest,
            out,
            executor=self._executor(),
            workers=self._option("jobs"),
            progress=open_progress(),
            editable=editable,
        )
        self._show(report)
        if not editable:
            if build_data["pure_python"] and not build_data["infer_tag"]:
                build_data.setdefault("tag", "py3-none-any")
            build_data["force_include"][str(out)] = store  # hatchling maps it as it maps the package
            if self.config.get("sbom", True):
                from hatch_cuda_kernels.plugin.sbom import add_sbom

                add_sbom(out, self.metadata, build_data)

    def _include_sources(self, build_data: dict[str, Any]) -> None:
        """Make sure that the sdist contains what a wheel is built from, whatever its include patterns say."""
        from hatch_cuda_kernels.plan.plan import read_sources

        manifest = self._manifest()
        self._exclude(f"{self._package_folder()}/{STORE_FOLDER}")
        files = {manifest.path}
        for sources in read_sources(manifest).values():
            files |= {manifest.root / name for name in sources.files}
        build_data["force_include"].update(
            {str(path): path.relative_to(self._root).as_posix() for path in sorted(files)}
        )

    def _exclude(self, store: str) -> None:
        """Keep a store that an editable install left in the tree out of the artifact: it may hold stale images.

        Raises InputError if the folder holds something else, which the artifact would lose.
        """
        from hatch_cuda_kernels.store.writer import check_replaceable

        check_replaceable(self._root / store)
        config = self.build_config
        patterns = config.target_config.get("exclude", config.build_config.get("exclude", []))
        unfinished = (
            f"/{store.removesuffix(STORE_FOLDER)}.{STORE_FOLDER}.*/"  # left by an editable install that was killed
        )
        config.target_config["exclude"] = [*patterns, f"/{store}/", unfinished]

    def _show(self, report: BuildReport) -> None:
        from hatch_cuda_kernels.build_report import render_report

        for warning in report.warnings:
            self.app.display_warning(warning)
        self.app.display(render_report(report))

    def _manifest(self) -> Manifest:
        from hatch_cuda_kernels.manifest import load_manifest
        from hatch_cuda_kernels.plugin.options import check_options

        try:
            check_options(self.config, self.PLUGIN_NAME)
            return load_manifest(self._manifest_path(), version=lambda: str(self.metadata.version))
        except InputError as error:
            self._abort(error)

    def _manifest_path(self) -> Path:
        path = Path(os.path.abspath(self._root / (self._option("manifest") or "kernels.yaml")))  # noqa: PTH100
        if not path.is_relative_to(self._root):
            raise InputError(
                f"Option `manifest` for build hook `{self.PLUGIN_NAME}` must name a file inside the project, "
                f"not {path}, which an sdist could not contain"
            )
        return path

    def _option(self, name: str) -> Any:  # checked when the manifest is read
        return self.config.get(name)

    def _executor(self) -> str:
        from hatch_cuda_kernels.pool.executors import choose_executor

        return choose_executor(option=self._option("executor"))

    @property
    def _root(self) -> Path:
        return Path(os.path.abspath(self.root))  # noqa: PTH100 - links stay: hatchling does not resolve them either

    def _package_folder(self) -> str:
        """Return the import package's folder relative to the root, posix. Raises InputError if there is none."""
        return self._layout().find(self._option("package"))

    def _layout(self) -> Layout:
        return _layout_of(self._root, self.metadata.name, self._wheel_config())

    def _wheel_config(self) -> Any:  # hatchling is untyped
        if self.target_name == "wheel":
            return self.build_config
        from hatchling.builders.wheel import WheelBuilder  # only needed for an sdist

        return WheelBuilder(self.root, metadata=self.metadata).config

    def _abort(self, error: HatchCudaKernelsError) -> NoReturn:
        self.app.abort(f"cuda-kernels: {error}", code=2 if isinstance(error, InputError) else 1)
        raise SystemExit(1)


def find_package(root: Path, package: str | None) -> tuple[str, str]:
    """Return the folder, relative to the root, and the import name of the package that gets a project's store.

    ``package`` is the hook's option. Raises InputError if there is no such package, or several might be meant.
    """
    from hatchling.builders.wheel import WheelBuilder  # not needed in a build

    builder = WheelBuilder(str(root))
    try:
        layout = _layout_of(root, builder.metadata.name, builder.config)
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"Hatch cannot read this project: {error}") from error
    folder = layout.find(package)
    return folder, layout.shipped_as(f"{folder}/").strip("/").replace("/", ".")


def _layout_of(root: Path, project: str, config: Any) -> Layout:  # hatchling is untyped
    """Return what a wheel's configuration says about packages."""
    from hatch_cuda_kernels.plugin.layout import Layout

    try:
        selected = [*config.packages] or [*config.only_include.values()]
        sources, shipped_as = [*config.sources], config.get_distribution_path
    except ValueError:  # hatchling finds no package by itself; the option may still name one
        selected, sources, shipped_as = [], [], str
    return Layout(
        root=root,
        project=project,
        selected=[folder for path in selected if (folder := _posix(path))],
        sources=[_posix(path) for path in sources],
        shipped_as=lambda path: _posix(shipped_as(path.replace("/", os.sep))),
    )


def _posix(path: str) -> str:
    return "" if path == "." else path.replace(os.sep, "/").strip("/")
