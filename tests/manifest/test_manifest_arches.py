from __future__ import annotations

import pytest
from manifests import MINIMAL, arches_of, archs, make_project, problems_of

from hatch_cuda_kernels.arch import known_archs
from hatch_cuda_kernels.manifest import parse_manifest

RELEASES = {
    ("", "[sm_103, sm_121]"): (13, 0),
    ("", "[sm_107]"): (13, 4),
    ("", "[all-major, compute_107]"): (13, 4),
    ("", "all"): (13, 0),
    ("cuda: '12.9'", "[sm_70]"): (12, 9),
    ("cuda: '13.99'", "[sm_107]"): (13, 99),
}


@pytest.fixture
def root(tmp_path):
    """Return a project with two sources and a few headers."""
    return make_project(tmp_path)


@pytest.mark.parametrize(("cuda", "arches"), RELEASES)
def test_release(cuda, arches, root):
    """The stated release counts, else the oldest 13.x that knows every architecture of every module."""
    text = f"schema: 1\n{cuda}\nmodules: {{a: {{source: kernels/saxpy.cu, arches: {arches}}}}}\n"
    manifest = parse_manifest(text, root=root)
    assert manifest.release == RELEASES[cuda, arches]
    assert manifest.cuda == (manifest.release if cuda else None)


WRONG_RELEASES = {
    ("", "sm_70"): "CUDA 13 does not know 'sm_70'; 12.9 does, so write cuda: \"12.9\"",
    ("", "sm_101f"): "CUDA 13 does not know 'sm_101f'; 12.9 does, so write cuda: \"12.9\"",
    ("cuda: '13.0'", "compute_72"): ("CUDA 13.0 does not know 'compute_72'; 12.9 does, so write cuda: \"12.9\""),
    ("cuda: '13.0'", "sm_107"): "CUDA 13.0 does not know 'sm_107'; the first release that does is 13.4",
    ("cuda: '12.9'", "sm_110a"): "CUDA 12.9 does not know 'sm_110a'; the first release that does is 13.0",
}


@pytest.mark.parametrize(("cuda", "arch"), WRONG_RELEASES)
def test_release_that_does_not_know_an_architecture(cuda, arch, root):
    """An architecture the release cannot compile is told with the release that can."""
    text = f"schema: 1\n{cuda}\narches: [sm_90, {arch}]\nmodules: {{a: {{source: kernels/saxpy.cu}}}}\n"
    assert problems_of(text, root) == [f"kernels.yaml:3:17: arches[1]: {WRONG_RELEASES[cuda, arch]}"]


def test_refused_release_blames_no_architecture(root):
    """While the release itself is unreadable, no architecture is said to be unknown to it."""
    found = problems_of(MINIMAL % "cuda: 12.9\narches: [sm_70]", root)
    assert found == [
        "kernels.yaml:2:7: cuda: expected a CUDA release such as '13.0', found the number 12.9; quote it: '12.9'"
    ]


WORDS = {
    ("", "all-major"): "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120",
    ("", "[all-major]"): "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120",
    ("", "[all-major, sm_90a, sm_90]"): "sm_75 sm_80 sm_90 sm_90a sm_100 sm_110 sm_120 compute_120",
    ("cuda: '12.9'", "all-major"): "sm_50 sm_60 sm_70 sm_80 sm_90 sm_100 sm_120 compute_120",
    ("cuda: '13.0'", "all"): " ".join([*map(str, known_archs((13, 0))), "compute_121"]),
    ("cuda: '12.9'", "all"): " ".join([*map(str, known_archs((12, 9))), "compute_121"]),
    ("", "[sm_120, compute_80, sm_80]"): "sm_80 compute_80 sm_120",
}


@pytest.mark.parametrize(("cuda", "arches"), WORDS)
def test_words_for_sets_of_architectures(cuda, arches, root):
    """The words mean what they mean to nvcc, alone or in a list, and the result is sorted without repeats."""
    assert arches_of(MINIMAL % f"{cuda}\narches: {arches}", root) == WORDS[cuda, arches]


def test_default_architectures(root):
    """Without any list, a module is compiled for every major architecture."""
    assert arches_of(MINIMAL % "", root) == WORDS["", "all-major"]


def test_module_architectures_replace_the_manifests(root):
    """A module's own list is not added to the manifest's."""
    text = "schema: 1\narches: [sm_80]\nmodules: {a: {source: kernels/saxpy.cu, arches: [sm_90]}}\n"
    assert arches_of(text, root) == "sm_90"


def test_native(root):
    """The word native stands for this machine's architectures, and the default release knows them."""
    text = MINIMAL % "arches: [native, compute_80]"
    assert arches_of(text, root, native=lambda: archs("sm_90", "sm_107")) == "compute_80 sm_90 sm_107"
    assert parse_manifest(text, root=root, native=lambda: archs("sm_107")).release == (13, 4)


def test_native_is_asked_only_when_needed(root):
    """A build on a machine without a driver never looks for a GPU unless the manifest says so."""

    def native():
        pytest.fail("asked")

    assert arches_of(MINIMAL % "arches: [sm_80]", root, native=native) == "sm_80"


@pytest.mark.parametrize("native", [lambda: (), lambda: None])
def test_native_without_a_gpu(native, root):
    """Each use of the word is told where there is no GPU."""
    text = "schema: 1\narches: native\nmodules: {a: {source: kernels/saxpy.cu, arches: [sm_80, native]}}\n"
    message = "this machine has no GPU; list architectures instead"
    assert problems_of(text, root, native=native) == [
        f"kernels.yaml:2:9: arches: {message}",
        f"kernels.yaml:3:57: modules.a.arches[1]: {message}",
    ]


@pytest.mark.parametrize(
    ("arch", "message"),
    [
        ("sm_70", "CUDA 13 does not know 'sm_70'; 12.9 does, so write cuda: \"12.9\""),
        ("sm_200", "no known CUDA release compiles 'sm_200'; list architectures instead"),
    ],
)
def test_native_that_the_release_does_not_know(arch, message, root):
    """A GPU older or newer than the release is told like a listed architecture."""
    found = problems_of(MINIMAL % "arches: native", root, native=lambda: archs(arch))
    assert found == [f"kernels.yaml:2:9: arches: {message}"]
