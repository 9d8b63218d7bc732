"""Architectures: spelling, order, and which devices they run on."""

import pytest

from hatch_cuda_kernels.arch import (
    ComputeCapability,
    SmArch,
    cuda_release_for_arch,
    known_archs,
    preference,
    ptx_isa_of_driver,
)


@pytest.mark.parametrize("text", ["sm_75", "sm_90a", "compute_80", "compute_100f", "sm_121", "sm_103f"])
def test_parse_and_print_are_inverse(text):
    """A spelling survives reading and printing."""
    assert str(SmArch.parse(text)) == text


@pytest.mark.parametrize("text", ["sm_9", "90", "SM_90", "sm_90b", "sm_090", "lto_80", "", "sm_90 ", "sm_90af"])
def test_other_spellings_are_refused(text):
    """What NVRTC would not take is refused, quoting it."""
    with pytest.raises(ValueError, match="unknown architecture"):
        SmArch.parse(text)


def test_order_is_by_capability_then_suffix_then_real_before_virtual():
    """Sorting gives the order a person would write."""
    texts = ["sm_80", "compute_80", "sm_90", "sm_90a", "compute_90a", "sm_100", "sm_100f", "sm_120"]
    assert [str(arch) for arch in sorted(map(SmArch.parse, reversed(texts)))] == texts


RUNS = [
    ("sm_80", "8.0", True),
    ("sm_80", "8.6", True),
    ("sm_86", "8.0", False),
    ("sm_80", "9.0", False),
    ("sm_90", "12.0", False),
    ("sm_90a", "9.0", True),
    ("sm_100a", "10.3", False),
    ("sm_100f", "10.0", True),
    ("sm_100f", "10.3", True),
    ("sm_103f", "10.0", False),
    ("sm_100f", "12.0", False),
    ("sm_120f", "12.1", True),
    ("sm_120", "12.1", True),
    ("sm_80", "8.7", False),
    ("sm_87", "8.7", True),
    ("sm_87", "8.9", False),
    ("sm_110", "11.0", True),
    ("compute_75", "12.1", True),
    ("compute_80", "8.0", True),
    ("compute_90", "8.9", False),
    ("compute_90a", "9.0", True),
    ("compute_90a", "10.0", False),
    ("compute_100f", "10.3", True),
    ("compute_100f", "11.0", False),
]


@pytest.mark.parametrize(("arch", "device", "runs"), RUNS)
def test_runs_on(arch, device, runs):
    """The compatibility rules of the CUDA guide hold, and a refusal says why."""
    refusal = SmArch.parse(arch).refusal(ComputeCapability.parse(device))
    assert (refusal is None) == runs
    assert runs or len(refusal) > 10


TRIALS = [
    ("sm_80", "8.7", True),
    ("sm_86", "8.7", True),
    ("sm_87", "8.9", True),
    ("sm_100", "10.1", True),
    ("sm_87", "8.7", False),
    ("sm_89", "8.7", False),
    ("sm_80", "8.6", False),
    ("sm_90", "8.7", False),
    ("sm_100", "11.0", False),
    ("sm_120", "12.1", False),
    ("sm_100a", "10.1", False),
    ("compute_80", "8.7", False),
]


@pytest.mark.parametrize(("arch", "device", "trial"), TRIALS)
def test_is_trial(arch, device, trial):
    """Only a plain CUBIN of a lower minor that the table refuses for an integrated part is worth a trial."""
    assert SmArch.parse(arch).is_trial(ComputeCapability.parse(device)) == trial


def test_preference_puts_the_most_specific_first():
    """Among images that run on 10.3: exact ``a``, exact, family, then the highest older minor."""
    texts = ["sm_100", "sm_103a", "sm_100f", "sm_103"]
    ranked = sorted(map(SmArch.parse, texts), key=lambda arch: preference(arch, (10, 3)))
    assert list(map(str, ranked)) == ["sm_103a", "sm_103", "sm_100f", "sm_100"]


@pytest.mark.parametrize(
    ("driver", "isa"),
    [((13, 0), (9, 0)), ((13, 5), (9, 5)), ((12, 0), (8, 0)), ((12, 5), (8, 5)), ((12, 6), (8, 5)), ((12, 9), (8, 8))],
)
def test_ptx_isa_of_driver(driver, isa):
    """The table of PTX ISA versions is that of the release notes."""
    assert ptx_isa_of_driver(driver) == isa


def test_a_driver_newer_than_the_table_is_not_limited():
    """A future driver gets the chance to try."""
    assert ptx_isa_of_driver((14, 0)) is None


@pytest.mark.parametrize(
    ("arch", "major", "release"),
    [
        ("sm_90a", 13, (13, 0)),
        ("sm_107", 13, (13, 4)),
        ("sm_110", 13, (13, 0)),
        ("sm_70", 13, None),
        ("sm_70", 12, (12, 0)),
        ("sm_120", 12, (12, 8)),
        ("sm_100f", 12, (12, 9)),
        ("sm_80a", 13, None),
        ("sm_90f", 13, None),
        ("sm_75a", 12, None),
    ],
)
def test_first_release_that_compiles_an_architecture(arch, major, release):
    """The oldest release that knows an architecture is found, and none is invented."""
    assert cuda_release_for_arch(SmArch.parse(arch), major=major) == release


def test_known_architectures_agree_with_the_nvrtc_installed():
    """The table of a release is what that release's NVRTC says of itself."""
    from hatch_cuda_kernels.compiler.toolchain.libraries import supported_numbers
    from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain

    listed = {arch.number for arch in known_archs(load_toolchain().release)}
    assert listed == supported_numbers()
