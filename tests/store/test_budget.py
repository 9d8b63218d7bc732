"""``max_wheel_size``, and what ``inspect`` takes out of a store or wheel."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from front_ends import PYPROJECT
from hatchling.builders.wheel import WheelBuilder

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.output.cubin import read_cubin
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.manifest import load_manifest

MODULES = "modules: {big: {source: big.cu}, small: {source: saxpy.cu, packing: none}}"
#: Bytes that nothing packs: a table of digits from a linear congruential generator.
NOISE = [x := 1] + [x := (1103515245 * x + 12345) % (1 << 31) for _ in range(12_000)]
BIG = (
    f"__device__ unsigned table[] = {{{', '.join(f'{number}u' for number in NOISE)}}};\n"
    'extern "C" __global__ void big(unsigned* y, int i) { *y = table[i]; }\n'
)


@pytest.fixture
def project(make_project, monkeypatch):
    """Return a function that lays out a project with one large and one small module."""

    def lay_out(more=""):
        text = f"{{schema: 1, arches: [sm_80, sm_90, compute_80], {more} {MODULES}}}"
        root = make_project(text, **{"big.cu": BIG, "pyproject.toml": PYPROJECT, "p/__init__.py": ""})
        monkeypatch.chdir(root)
        return root

    return lay_out


def wheel_of(root, version="standard"):
    """Build the project's wheel."""
    return Path(next(WheelBuilder(str(root)).build(directory=str(root / "dist"), versions=[version])))


def test_a_store_over_the_limit_fails_the_build(project, tmp_path):
    """The largest images come first, with what to do; nothing is written."""
    root = project("max_wheel_size: 20 kB,")
    with pytest.raises(BuildError) as caught:
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("the kernel store would take ")
    assert lines[0].endswith(" more than max_wheel_size allows; the largest images in it:")
    listed = [line.split(":")[0].strip() for line in lines[1:-1]]
    assert set(listed[:3]) == {"big sm_80 cubin", "big sm_90 cubin", "big compute_80 ptx"}
    assert set(listed[3:]) == {"small sm_80 cubin", "small sm_90 cubin", "small compute_80 ptx"}
    sizes = [int(line.rpartition(" ")[2].replace(",", "")) for line in lines[1:-1]]
    assert sizes == sorted(sizes, reverse=True)
    assert "packing: solid" in lines[-1]
    assert not (tmp_path / "out").exists()


def test_a_store_within_the_limit_is_written(project, tmp_path):
    """A limit that holds is recorded, for ``verify``, and changes nothing else."""
    for name, more in (("one", ""), ("two", "max_wheel_size: 1 MB,")):
        build_store(load_manifest(project(more) / "kernels.yaml"), tmp_path / name)
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / n).rglob("*") if p.is_file()} for n in ("one", "two"))
    assert json.loads(two.pop("promises.json"))["max_wheel_size"] == 1_000_000
    without, covered = (json.loads(files.pop("digests.json"))["sha256"].keys() for files in (one, two))
    assert covered - without == {"promises.json"}
    assert one == two


def test_an_editable_store_has_no_limit(project, tmp_path):
    """It is never shipped."""
    root = project("max_wheel_size: 1,")
    build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out", editable=True)


def test_the_command_line_fails_with_status_1(project, tmp_path, capsys):
    """``build`` says the same as the hook."""
    assert main(["build", str(project("max_wheel_size: 1,") / "kernels.yaml"), "--out", str(tmp_path / "out")]) == 1
    assert "max_wheel_size" in capsys.readouterr().err


def test_a_wheel_over_the_limit_is_not_left(project, capsys):
    """The whole wheel counts, also what is not the store's; it is taken away, and the build fails with status 1."""
    root = project("max_wheel_size: 1 MB,")
    size = wheel_of(root).stat().st_size
    (root / "p" / "data.bin").write_bytes(bytes(range(256)) * 40)
    root = project(f"max_wheel_size: {size + 100},")
    with pytest.raises(SystemExit) as caught:
        wheel_of(root)
    assert caught.value.code == 1
    said = capsys.readouterr().err
    assert "cuda-kernels: p-1.0-py3-none-any.whl has" in said
    assert "\n  big sm_" in said
    assert list((root / "dist").iterdir()) == []
    (root / "p" / "data.bin").unlink()
    assert wheel_of(root).stat().st_size <= size + 100


def test_the_size_of_a_wheel_is_its_file(project):
    """A little less than it has is too little for a wheel, and no matter for an editable install."""
    root = project("max_wheel_size: 1 MB,")
    size = wheel_of(root).stat().st_size
    project(f"max_wheel_size: {size - 100},")
    with pytest.raises(SystemExit):
        wheel_of(root)
    wheel_of(root, "editable")


def images_in(source):
    """Return file name and bytes of every image that ``inspect`` lists, by module."""
    return {image["file"]: image for module in source["modules"].values() for image in module["images"]}


@pytest.mark.parametrize("kind", ["wheel", "store", "package"])
def test_extracted_images_are_readable_files(project, tmp_path, capsys, kind, monkeypatch):
    """Every image, packed or plain, is written under the name the index gives it."""
    root = project()
    wheel = wheel_of(root)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
        assert "p/_kernels/big/images.xz" in archive.namelist()
    monkeypatch.syspath_prepend(tmp_path / "site")
    source = {"wheel": wheel, "store": tmp_path / "site" / "p" / "_kernels", "package": "p"}[kind]
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(["inspect", str(source), "--json", "--extract", str(tmp_path / "out" / "here")]) == 0
    listed = images_in(json.loads(capsys.readouterr().out))
    files = {path.name: path.read_bytes() for path in (tmp_path / "out" / "here").iterdir()}
    assert set(files) == set(listed) == {
        f"{module}.{rest}" for module in ("big", "small") for rest in ("sm_80.cubin", "sm_90.cubin", "compute_80.ptx")
    }  # fmt: skip
    for name, data in files.items():
        assert len(data) == listed[name]["bytes"]
    assert read_cubin(files["big.sm_90.cubin"]).sm == 90
    assert b".target sm_80" in files["small.compute_80.ptx"]


def test_extract_says_where(project, tmp_path, capsys):
    """In text, the last line says how many images are where."""
    build_store(load_manifest(project() / "kernels.yaml"), tmp_path / "_kernels")
    assert main(["inspect", str(tmp_path), "--extract", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"6 images written to {tmp_path / 'out'}"


def test_a_folder_that_cannot_be_written_is_named(project, tmp_path, capsys):
    """A file where the folder should be is an error in one sentence."""
    build_store(load_manifest(project() / "kernels.yaml"), tmp_path / "_kernels")
    (tmp_path / "file").write_text("")
    assert main(["inspect", str(tmp_path), "--extract", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err
