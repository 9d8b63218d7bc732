"""The stores whose kernels check.py takes for operators of torch, from the same checkouts as those of ../build.py.

    python benchmarks/projects/operators/build.py CHECKOUTS FOLDER

Copies of each project what its manifest leads to, sources untouched, and builds FOLDER/NAME for compute capability 9.0.
Needs no GPU. FOLDER can then be carried to one: a store needs nothing but this package.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from project_list import copy_sources, load_projects  # noqa: E402 - the folder above

from hatch_cuda_kernels.build import build_store  # noqa: E402
from hatch_cuda_kernels.manifest import load_manifest  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    for project in load_projects(HERE.parent / "projects.toml"):
        manifest = HERE / f"{project.name}.yaml"
        if manifest.is_file():
            with tempfile.TemporaryDirectory() as folder:
                work = Path(folder) / "work"
                copy_sources(project, args.checkouts, work)
                shutil.copyfile(manifest, work / "kernels.yaml")
                store = args.folder.absolute() / project.name
                shutil.rmtree(store, ignore_errors=True)
                build_store(load_manifest(work / "kernels.yaml"), store)
            print(f"{project.name}: {sum(file.stat().st_size for file in store.rglob('*')):,} bytes")


if __name__ == "__main__":
    main()
