"""Requirements: their release, and where this package came from."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.compiler.toolchain import packages
from hatch_cuda_kernels.compiler.toolchain.libraries import install_compiler
from hatch_cuda_kernels.compiler.toolchain.packages import own, reference_of

COMMIT = "0" * 40
NOTED = {
    "a folder": ({"url": "file:///src/hck", "dir_info": {}}, "file:///src/hck"),
    "an editable folder": ({"url": "file:///src/hck", "dir_info": {"editable": True}}, "file:///src/hck"),
    "a wheel": (
        {"url": "file:///w/hck-0.1.0-py3-none-any.whl", "archive_info": {}}, "file:///w/hck-0.1.0-py3-none-any.whl",
    ),
    "a commit": (
        {"url": "https://host/hck.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
        f"git+https://host/hck.git@{COMMIT}",
    ),
    "a tag of a repository's folder": (
        {
            "url": "https://host/all.git", "subdirectory": "hck",
            "vcs_info": {"vcs": "git", "commit_id": COMMIT, "requested_revision": "v1"},
        },
        "git+https://host/all.git@v1#subdirectory=hck",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("noted", "reference"), NOTED.values(), ids=NOTED.keys())
def test_the_package_is_asked_for_where_it_came_from(noted, reference, monkeypatch):
    """Whatever installers note, a requirement brings it again."""
    assert reference_of(noted) == reference
    monkeypatch.setattr(packages, "direct_reference", lambda: reference)
    assert own("build") == f"hatch-cuda-kernels[build] @ {reference}"
    assert own("build", "1.0") == own("build")
    assert own() == f"hatch-cuda-kernels @ {reference}"


def test_of_an_index_the_name_will_do(monkeypatch):
    """With a version where one is needed."""
    monkeypatch.setattr(packages, "direct_reference", lambda: "")
    assert (own(), own("build"), own("build", "1.0")) == (
        "hatch-cuda-kernels", "hatch-cuda-kernels[build]", "hatch-cuda-kernels[build]==1.0",
    )  # fmt: skip


def test_pages_are_where_the_package_is_from(tmp_path, monkeypatch):
    """Installed from a folder, the page is a file there; of a wheel, the sdist has it."""
    monkeypatch.setattr(packages, "__file__", str(tmp_path / "site-packages/hatch_cuda_kernels/a/b/packages.py"))
    monkeypatch.setattr(packages, "direct_reference", (tmp_path / "a checkout").as_uri)
    assert packages.documentation("reference/cli", "check") == "docs/reference/cli.md#check, in the sdist"
    page = tmp_path / "a checkout/docs/reference/cli.md"
    page.parent.mkdir(parents=True)
    page.write_text("")
    assert packages.documentation("reference/cli", "check") == f"{page}#check"
    assert packages.documentation("reference/cli") == str(page)


def test_a_compiler_is_asked_for_by_its_release():
    """The newest release would be refused by the next build of a manifest that states another."""
    command = install_compiler()
    for name in ("nvrtc", "runtime", "cccl", "crt"):
        assert f'"nvidia-cuda-{name}==13.0.*"' in command
