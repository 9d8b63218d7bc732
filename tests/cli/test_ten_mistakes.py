"""Ten mistakes that people make: each message names the place and the fix, in at most twelve lines."""

from __future__ import annotations

import re

import pytest
from mistakes import CU, FILES, KERNELS, MANIFEST, MISTAKES, SUPPORTS, changed

from hatch_cuda_kernels import ArgumentError, open_store
from hatch_cuda_kernels.cli import main

#: In columns: the narrowest that terminals are, unless somebody makes them so.
WIDTH = 80


@pytest.fixture
def project(make_project, monkeypatch):
    """Return a project that builds, which is the working folder."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    root = make_project(MANIFEST, **FILES)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def told(project, capsys):
    """Return a function that changes a file, runs a command that fails, and returns what was said."""

    def run(argv, file="", old="", new=""):
        if file:
            (project / file).write_text(changed((project / file).read_text(), old, new))
        try:
            status = main([str(word) for word in argv])
        except SystemExit as end:
            status = end.code
        assert status != 0
        return capsys.readouterr().err

    return run


@pytest.mark.parametrize(("mistake", "place", "fix"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_named_with_its_fix(mistake, place, fix, told, example_store):
    """Where it is, what to do, and little else: no options of compilers, no exception's name."""
    argv, *change = mistake
    err = told([str(example_store) if word == "STORE" else word for word in argv], *change)
    assert place in err
    assert fix in err
    assert sum(max(1, -(-len(line) // WIDTH)) for line in err.splitlines()) <= 12, "lines of a terminal"
    assert not re.search(r"--std=|frandom|Traceback|Error\b", err)


def test_the_tenth_is_a_launch_with_another_dtype(example_store, device):
    """An array of doubles for a kernel of floats: its name, the parameter, both types."""
    torch = pytest.importorskip("torch")
    x = torch.ones(4, dtype=torch.float64, device="cuda")
    with pytest.raises(ArgumentError, match="saxpy") as caught:
        open_store(example_store).get_kernel("saxpy")[1, 32](2.0, x, x, 4)
    assert len(str(caught.value).splitlines()) <= 12
    assert "float64" in str(caught.value)


CHECKED = {
    "a broken promise": (("kernels.yaml", "", SUPPORTS), "kernels.yaml:7:22: error: supports.devices[0]"),
    "a missing header": ((CU, "template", "#include <helpers.cuh>\ntemplate"), "kernels/saxpy.cu:1:10: error: "),
    "a missing header of a header": (
        (CU, "template", '#include "mine.cuh"\ntemplate'), "include/mine.cuh:2:10: error: ",
    ),
    "the wrong toolkit": (("kernels.yaml", "13.0", "13.4"), "asks for CUDA 13.4"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "place"), CHECKED.values(), ids=CHECKED.keys())
def test_check_finds_it_before_a_build(change, place, told, project):
    """Once each, though several modules and architectures have it."""
    (project / "include").mkdir()
    (project / "include" / "mine.cuh").write_text("#pragma once\n#include <helpers.cuh>\n")
    manifest = MANIFEST.replace("modules:", "options: {include: [include]}\nmodules:")
    (project / "kernels.yaml").write_text(f"{manifest}  other: {{source: kernels/saxpy.cu}}\n")
    err = told(("check",), *change).replace("kernels.yaml:9:", "kernels.yaml:7:")
    assert err.count(place) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "#ifdef _MSC_VER\n#include <helpers.cuh>\n#endif\n",
        "#if __has_include(<helpers.cuh>)\n#include <helpers.cuh>\n#endif\n",
        "// #include <helpers.cuh>\n",
        "#include <cuda_fp16.h>\n#include <cstdint>\n#include <cub/cub.cuh>\n",
    ],
)
def test_check_does_not_miss_what_nobody_needs(text, project, capsys):
    """A header under a condition may be for another compiler."""
    (project / CU).write_text(text + KERNELS)
    assert main(["check"]) == 0
    assert capsys.readouterr().err == ""
