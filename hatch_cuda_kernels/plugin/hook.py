"""The Hatch build hook: reads its options, calls the build, hands the store to the wheel."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, NoReturn

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

from hatch_cuda_kernels.errors import HatchCudaKernelsError, InputError
from hatch_cuda_kernels.image import STORE_FOLDER

if TYPE_CHECKING:
    from hatch_cuda_kernels.plugin.build import BuildReport
    from hatch_cuda_kernels.plugin.manifest import Manifest

__all__ = ["CudaKernelsBuildHook"]

#: Keys hatchling puts into every hook's table.
_RESERVED: Final = {"dependencies", "enable-by-default", "require-runtime-dependencies", "require-runtime-features"}
_OPTIONS: Final = {"manifest": str, "package": str, "jobs": int, "executor": str}


class CudaKernelsBuildHook(BuildHookInterface[Any]):
    """Build hook ``cuda-kernels``: ships the kernels of ``kernels.yaml`` as package data."""

    PLUGIN_NAME = "cuda-kernels"

    def dependencies(self) -> list[str]:
        """Return the packages of the toolkit release that the manifest asks for."""
        from hatch_cuda_kernels.plugin.release import needs_nvjitlink, release_requirements  # noqa: PLC0415

        if self.target_name != "wheel":
            return []
        manifest = self._manifest()
        return release_requirements(manifest.release, nvjitlink=needs_nvjitlink(manifest))

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
        """Remove the temporary store once the wheel has it."""
        self._scratch_folders.close()

    def clean(self, versions: list[str]) -> None:  # noqa: ARG002 - hatchling's signature
        """Remove the store that an editable install left in the source tree."""
        import shutil  # noqa: PLC0415 - rarely needed

        shutil.rmtree(self._package_folder() / STORE_FOLDER, ignore_errors=True)

    @cached_property
    def _scratch_folders(self) -> ExitStack:
        return ExitStack()

    def _scratch(self) -> Path:
        return Path(self._scratch_folders.enter_context(tempfile.TemporaryDirectory(prefix="hatch-cuda-kernels-")))

    def _build(self, version: str, build_data: dict[str, Any]) -> None:
        from hatch_cuda_kernels.plugin.build import build_store  # noqa: PLC0415 - loads NVRTC's bindings
        from hatch_cuda_kernels.plugin.progress import open_progress  # noqa: PLC0415

        manifest = self._manifest()
        editable = version == "editable"
        in_tree = self._package_folder() / STORE_FOLDER
        out = in_tree if editable else self._scratch() / STORE_FOLDER
        report = build_store(manifest, out, workers=self._option("jobs"), progress=open_progress(), editable=editable)
        self._show(report)
        if not editable:
            self._exclude(in_tree)
            if build_data["pure_python"] and not build_data["infer_tag"]:
                build_data.setdefault("tag", "py3-none-any")
            build_data["force_include"][str(out)] = str(self._package_path() / STORE_FOLDER)

    def _include_sources(self, build_data: dict[str, Any]) -> None:
        """Make sure the sdist carries what a wheel is built from, whatever its include patterns say."""
        from hatch_cuda_kernels.plugin.plan import read_sources  # noqa: PLC0415

        manifest = self._manifest()
        files = {manifest.path.relative_to(self.root).as_posix()}
        base = manifest.root.relative_to(self.root).as_posix()
        for closure in read_sources(manifest).values():
            files |= {str(PurePosixPath(base, name)) for name, _ in closure.files}
        build_data["force_include"].update({str(Path(self.root, name)): name for name in sorted(files)})
        self._exclude(self._package_folder() / STORE_FOLDER)

    def _exclude(self, folder: Path) -> None:
        """Keep a store left in the tree by an editable install out of the artifact: it may hold stale images."""
        pattern = f"/{folder.relative_to(self.root).as_posix()}/"
        config = self.build_config
        patterns = config.target_config.get("exclude", config.build_config.get("exclude", config.default_exclude()))
        config.target_config["exclude"] = [*patterns, pattern]

    def _show(self, report: BuildReport) -> None:
        from hatch_cuda_kernels.plugin.progress import render_report  # noqa: PLC0415

        for warning in report.warnings:
            self.app.display_warning(warning)
        self.app.display(render_report(report))

    def _manifest(self) -> Manifest:
        from hatch_cuda_kernels.plugin.manifest import load_manifest  # noqa: PLC0415
        from hatch_cuda_kernels.plugin.native import native_archs  # noqa: PLC0415

        try:
            self._check_options()
            return load_manifest(Path(self.root, self._option("manifest") or "kernels.yaml"), native=native_archs)
        except InputError as error:
            self._abort(error)

    def _check_options(self) -> None:
        for name, value in self.config.items():
            if name in _RESERVED:
                continue
            if name not in _OPTIONS:
                raise InputError(f"Unknown option `{name}` for build hook `{self.PLUGIN_NAME}`")
            if not isinstance(value, _OPTIONS[name]) or isinstance(value, bool):
                kind = "an integer" if _OPTIONS[name] is int else "a string"
                raise InputError(f"Option `{name}` for build hook `{self.PLUGIN_NAME}` must be {kind}")

    def _option(self, name: str) -> Any:  # noqa: ANN401 - checked by _check_options
        return self.config.get(name)

    def _package_path(self) -> PurePosixPath:
        """Return the import package's path inside the wheel."""
        package = self._option("package") or self.metadata.name.replace("-", "_")
        return PurePosixPath(*package.split("."))

    def _package_folder(self) -> Path:
        """Return the import package's folder in the source tree. Raises InputError when there is none."""
        package = self._package_path()
        for base in ("", "src"):
            folder = Path(self.root, base, package)
            if folder.is_dir():
                return folder
        raise InputError(
            f"no package folder {package} (or src/{package}) in {self.root}; "
            f"name it with option `package` of build hook `{self.PLUGIN_NAME}`"
        )

    def _abort(self, error: HatchCudaKernelsError) -> NoReturn:
        self.app.abort(f"cuda-kernels: {error}", code=2 if isinstance(error, InputError) else 1)
        raise SystemExit(1)
