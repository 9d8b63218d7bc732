"""Adds the kernels to what setuptools builds; all else is in pyproject.toml."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

from hatch_cuda_kernels import build_kernels


class BuildWithKernels(build_py):
    """Puts the kernels beside the modules: into the wheel, or for an editable install into the source tree."""

    def run(self) -> None:
        """Build the kernels, then the modules: a stub that the manifest names is up to date before it is copied."""
        package = Path("src" if self.editable_mode else self.build_lib, "vecops")
        package.mkdir(parents=True, exist_ok=True)
        print(build_kernels("kernels.yaml", package, editable=self.editable_mode))
        super().run()


setup(cmdclass={"build_py": BuildWithKernels})
