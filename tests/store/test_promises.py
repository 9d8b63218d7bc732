"""What a manifest promises is enforced by the build and recorded in the store."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from front_ends import PYPROJECT
from hatchling.builders.wheel import WheelBuilder

from hatch_cuda_kernels.arch import ComputeCapability, SmArch
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.binary.cubin import read_cubin
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.image import Symbol
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.store.index import ImageRecord
from hatch_cuda_kernels.store.promises import Promises, Supports, find_gaps, find_spills, read_promises
from hatch_cuda_kernels.verify.promises import targets

#: 40 values that are all alive at once do not fit into 32 registers.
SPILLING = """
extern "C" __global__ void crowd(float* y) {
    float a[40];
    #pragma unroll
    for (int i = 0; i < 40; i++) a[i] = y[i * 32];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 40; i++)
        #pragma unroll
        for (int j = 0; j < 40; j++) a[i] = a[i] * a[j] + 1.0f;
    #pragma unroll
    for (int i = 0; i < 40; i++) y[i] = a[i];
}
"""
MANIFEST = """
schema: 1
arches: [sm_90, compute_90]
options: {maxrregcount: 32}
max_spill_bytes: %s
modules:
  calm: {source: saxpy.cu}
  crowded: {source: crowd.cu%s}
"""


def build(make_project, out, top, module=""):
    """Build the project with one kernel that spills and one that does not."""
    root = make_project(MANIFEST % (top, module), **{"crowd.cu": SPILLING})
    build_store(load_manifest(root / "kernels.yaml"), out)
    return out


@pytest.mark.slow
def test_a_build_with_spills_over_the_limit_fails(make_project, tmp_path):
    """The kernel, the architecture and the bytes are named, and nothing is written; PTX has no spills."""
    with pytest.raises(BuildError) as caught:
        build(make_project, tmp_path / "out", 0)
    (problem,) = caught.value.problems
    assert problem.startswith("kernels.yaml:8:3: modules.crowded: the kernel 'crowd' spills ")
    assert " bytes per thread for sm_90 (" in problem
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_module_may_spill_more_than_the_others(make_project, tmp_path, capsys):
    """The module's limit replaces the manifest's; both are recorded, and ``verify`` holds the store to them."""
    out = build(make_project, tmp_path / "out", 0, ", max_spill_bytes: 100000")
    assert dict(read_promises(out).max_spill_bytes) == {"calm": 0, "crowded": 100000}
    assert main(["verify", str(out)]) == 0
    assert "ok       spills         2 CUBINs" in capsys.readouterr().out
    assert main(["verify", str(out), "--max-spill-bytes", "0"]) == 1
    assert "crowded/crowded.sm_90.cubin: the kernel 'crowd' spills" in capsys.readouterr().out


def test_spills_that_are_not_known_are_no_promise(make_project):
    """Where the assembler did not say, a limit cannot be proven."""
    image = ImageRecord("a.cubin", "cubin", SmArch(9, 0), "", 0, (9, 0), resources={"k": {"registers": 8}})
    (gap,) = find_spills(0, [Symbol("kernel", "k")], [image])
    assert str(gap).startswith(
        "a.cubin: the spills of the kernel 'kernel' for sm_90 are not recorded; the limit is 0 bytes; "
    )


def test_without_promises_nothing_is_recorded(make_project, tmp_path):
    """A manifest that promises nothing leaves no file."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    assert not (tmp_path / "out" / "promises.json").exists()
    assert read_promises(tmp_path / "out") == Promises()


def test_promises_survive_the_file(tmp_path):
    """What is written is read."""
    devices = (ComputeCapability(8, 0), ComputeCapability(12, 1))
    for driver in (None, (13, 0)):
        supports = Supports(devices=devices, driver=driver)
        promises = Promises(supports=supports, max_spill_bytes={"a": 0}, max_wheel_size=5)
        (tmp_path / "promises.json").write_text(promises.text())
        assert read_promises(tmp_path) == promises


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "[" * 100_000, '{"schema": 2}', '{"schema": 1, "supports": {"devices": ["9"]}}',
        '{"schema": 1, "supports": 5}',
    ],
)  # fmt: skip
def test_damaged_promises_are_refused(tmp_path, text):
    """A promise that cannot be read is not one that is kept."""
    (tmp_path / "promises.json").write_text(text)
    with pytest.raises(ValueError, match=r"cannot be read|schema 2 is not 1"):
        read_promises(tmp_path)


def test_an_edited_manifest_is_recorded_again(make_project, tmp_path):
    """A rebuild that compiles nothing still records the new promise."""
    for devices in ('["9.0"]', '["9.0", "10.0"]'):
        manifest = "{schema: 1, arches: [sm_90, compute_90], modules: {a: {source: saxpy.cu}}, supports: {devices: %s}}"
        root = make_project(manifest % devices)
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
        recorded = json.loads((tmp_path / "out" / "promises.json").read_text())
        assert recorded == {"schema": 1, "supports": {"devices": json.loads(devices)}}


@pytest.mark.parametrize(
    ("arch", "devices", "release", "expected"),
    [
        ("compute_80", [], (13, 0), "sm_80 sm_121"),
        ("compute_80", ["7.5", "8.0", "8.9", "12.0"], (13, 0), "sm_80 sm_89 sm_120"),
        ("compute_80", ["7.5"], (13, 0), "sm_80"),
        ("compute_90a", [], (13, 0), "sm_90a"),
        ("compute_90a", ["9.0", "10.0"], (13, 0), "sm_90a"),
        ("compute_100f", [], (13, 0), "sm_100f sm_103"),
        ("compute_70", [], (13, 0), "sm_75 sm_121"),
        ("compute_70", ["8.0"], (12, 9), "sm_70 sm_80"),
    ],
)
def test_ptx_is_assembled_for_whoever_takes_it(arch, devices, release, expected):
    """For its own architecture, for each promised device it suits, and without a promise for the newest one."""
    promised = [ComputeCapability.parse(device) for device in devices]
    assert " ".join(map(str, targets(SmArch.parse(arch), promised, release))) == expected


KERNELS = (Symbol("k", "k"), Symbol("other", "_Z5otheri"))


def image(arch, *, kind=None, isa=(9, 0), lacks=()):
    """Return an image of an architecture, its kind by that."""
    parsed = SmArch.parse(arch)
    return ImageRecord(
        file="", kind=kind or ("ptx" if parsed.virtual else "cubin"), arch=parsed, sha256="", bytes=0, ptx_isa=isa,
        lacks=lacks,
    )  # fmt: skip


def gaps(device, *images, driver=None):
    """Return the gaps of one promised device."""
    supports = Supports(devices=(ComputeCapability.parse(device),), driver=driver)
    return [str(gap) for gap in find_gaps(supports, KERNELS, images)]


KEPT = {
    "exact CUBIN": ("9.0", [image("sm_90")], None),
    "CUBIN of a lower minor": ("8.6", [image("sm_80")], None),
    "PTX": ("12.0", [image("compute_80")], None),
    "PTX of an ISA the driver knows": ("12.0", [image("compute_80")], (13, 0)),
    "a CUBIN of the driver's major": ("8.0", [image("sm_80", isa=(8, 8))], (12, 0)),
    "a CUBIN of an older major": ("8.0", [image("sm_80", isa=(8, 8))], (13, 0)),
    "suffixed CUBIN": ("9.0", [image("sm_90a")], None),
    "kernels in two images": ("9.0", [image("sm_90", lacks=("k",)), image("compute_90", lacks=("_Z5otheri",))], None),
}


@pytest.mark.parametrize(("device", "images", "driver"), KEPT.values(), ids=KEPT.keys())
def test_a_kept_promise_has_no_gap(device, images, driver):
    """An image that the run side would take keeps the promise."""
    assert gaps(device, *images, driver=driver) == []


NONE = "there is no image for the promised device"
STATE = 'state cuda: "12.9" in the manifest'
ONE_MORE = "compile it for sm_90 too, or take 9.0 out of 'supports:'"
BROKEN = {
    "another major": (
        "9.0", [image("sm_80")], None,
        f"{NONE} 9.0; add sm_90 to the module's 'arches:'",
    ),
    "lower minor": (
        "8.0", [image("sm_86"), image("compute_86")], None,
        f"{NONE} 8.0; add sm_80 to the module's 'arches:'",
    ),
    "PTX too new": (
        "12.0", [image("compute_80")], (12, 8),
        f"{NONE} 12.0 (compute_80 PTX has ISA 9.0, a driver for CUDA 12.8 knows up to 8.7); {STATE}",
    ),
    "CUBIN of a newer CUDA major": (
        "8.6", [image("sm_80")], (12, 4),
        f"{NONE} 8.6 (the sm_80 CUBIN is of CUDA 13 and needs a driver for CUDA 13); {STATE}",
    ),
    "a driver that no release compiles for": (
        "8.6", [image("sm_80")], (11, 8),
        (f"{NONE} 8.6 (the sm_80 CUBIN is of CUDA 13 and needs a driver for CUDA 13); promise a newer driver, "
        "or take 8.6 out of 'supports:'"),
    ),
    "a device that the driver's major does not know": (
        "11.0", [image("sm_110")], (12, 9),
        (f"{NONE} 11.0 (the sm_110 CUBIN is of CUDA 13 and needs a driver for CUDA 13); promise a newer driver, "
        "or take 11.0 out of 'supports:'"),
    ),
    "PTX too new within a major": (
        "12.0", [image("compute_80", isa=(9, 1))], (13, 0),
        (f"{NONE} 12.0 (compute_80 PTX has ISA 9.1, a driver for CUDA 13.0 knows up to 9.0); add sm_120 to the "
        "module's 'arches:', or state cuda: \"13.0\" in the manifest"),
    ),
    "LTO-IR needs nvJitLink": (
        "9.0", [image("compute_80", kind="ltoir")], None,
        f"{NONE} 9.0; add sm_90 to the module's 'arches:'",
    ),
    "suffix": (
        "10.0", [image("sm_90a")], None,
        f"{NONE} 10.0; add sm_100a to the module's 'arches:'",
    ),
    "device that has no such suffix": (
        "8.0", [image("sm_90a")], None,
        f"{NONE} 8.0; add sm_80 to the module's 'arches:'",
    ),
    "device that CUDA 13 has dropped": (
        "7.0", [image("sm_80")], None,
        f"{NONE} 7.0; add sm_70 to the module's 'arches:', with cuda: \"12.9\"",
    ),
    "device that a newer release compiles for": (
        "10.7", [image("sm_80")], None,
        f"{NONE} 10.7; add sm_107 to the module's 'arches:', with cuda: \"13.4\"",
    ),
    "device that no release compiles for": (
        "13.0", [image("sm_80")], None,
        (f"{NONE} 13.0; add compute_121 to the module's 'arches:', which the driver compiles: "
        "no known CUDA release compiles sm_130"),
    ),
    "device that does not exist": (
        "3.9", [image("sm_80")], None,
        f"{NONE} 3.9; take it out of 'supports:': no known CUDA release compiles sm_39",
    ),
    "one kernel": (
        "9.0", [image("sm_90", lacks=("_Z5otheri",))], None,
        f"the kernel 'other' is in no image for the promised device 9.0; {ONE_MORE}",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("device", "images", "driver", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_gap_names_the_device_and_the_change(device, images, driver, message):
    """A device that an image of the store cannot serve is a sentence that says what to write."""
    assert gaps(device, *images, driver=driver) == [message]


def test_a_gap_fails_the_build_at_each_module(make_project, tmp_path):
    """A promise that the images do not keep is reported where it is made, for every module; nothing is written."""
    manifest = """
        schema: 1
        arches: [sm_80, compute_80]
        modules:
          a: {source: saxpy.cu}
          b: {source: saxpy.cu, arches: [sm_80, sm_90]}
        supports: {devices: ["8.6", "9.0"], driver: "12.9"}
    """
    root = make_project(manifest)
    with pytest.raises(BuildError) as caught:
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    assert [problem.partition(" (")[0] for problem in caught.value.problems] == [
        f"kernels.yaml:7:22: supports.devices[0]: {NONE} 8.6 in module 'a'",
        f"kernels.yaml:7:22: supports.devices[0]: {NONE} 8.6 in module 'b'",
        f"kernels.yaml:7:29: supports.devices[1]: {NONE} 9.0 in module 'a'",
        f"kernels.yaml:7:29: supports.devices[1]: {NONE} 9.0 in module 'b'",
    ]
    assert not (tmp_path / "out").exists()
    make_project(manifest.replace('"12.9"', '"13.0"'))
    assert build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out").modules


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_store_within_the_limit_is_written(project, tmp_path):
    """A limit that holds is recorded, for ``verify``, and changes nothing else."""
    for name, more in (("one", ""), ("two", "max_wheel_size: 1 MB,")):
        build_store(load_manifest(project(more) / "kernels.yaml"), tmp_path / name)
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / n).rglob("*") if p.is_file()} for n in ("one", "two"))
    assert json.loads(two.pop("promises.json"))["max_wheel_size"] == 1_000_000
    without, covered = (json.loads(files.pop("digests.json"))["sha256"].keys() for files in (one, two))
    assert covered - without == {"promises.json"}
    assert one == two


@pytest.mark.slow
def test_an_editable_store_has_no_limit(project, tmp_path):
    """It is never shipped."""
    root = project("max_wheel_size: 1,")
    build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out", editable=True)


@pytest.mark.slow
def test_the_command_line_fails_with_status_1(project, tmp_path, capsys):
    """``build`` says the same as the hook."""
    assert main(["build", str(project("max_wheel_size: 1,") / "kernels.yaml"), "--out", str(tmp_path / "out")]) == 1
    assert "max_wheel_size" in capsys.readouterr().err


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_extract_says_where(project, tmp_path, capsys):
    """In text, the last line says how many images are where."""
    build_store(load_manifest(project() / "kernels.yaml"), tmp_path / "_kernels")
    assert main(["inspect", str(tmp_path), "--extract", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"6 images written to {tmp_path / 'out'}"


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_named(project, tmp_path, capsys):
    """A file where the folder should be is an error in one sentence."""
    build_store(load_manifest(project() / "kernels.yaml"), tmp_path / "_kernels")
    (tmp_path / "file").write_text("")
    assert main(["inspect", str(tmp_path), "--extract", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err
