"""What is given to commands in place of a package: whatever it is, a command ends with a sentence."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import zipfile
from functools import cache
from zipfile import ZIP_DEFLATED

import pytest

from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.store.texts import DIGESTS_FILE, digests_text

LISTING = "mylib/_kernels/kernels.tsv"


def archive(path, members, **options):
    """Write an archive with these members by name."""
    with zipfile.ZipFile(path, "w", **options) as wheel:
        for name, data in members:
            wheel.writestr(name, data)
    return path


def link(name, target):
    """Return the member of an archive that is a symbolic link."""
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, target


def cut_short(path):
    """Write an archive that lacks its end."""
    whole = io.BytesIO()
    archive(whole, [(LISTING, "")])
    path.write_bytes(whole.getvalue()[:-30])
    return path


def pipe(path):
    """Make a pipe that nobody writes to; who opened it would wait."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no pipes with names")
    os.mkfifo(path)
    return path


def folder(path, files):
    """Make a folder with files and links."""
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("@"):
            (path / name.removesuffix("@")).symlink_to(data)
        else:
            (path / name).write_text(data)
    return path


@cache
def bomb(*members):
    """Return an archive whose last member is small, and has more bytes than any file of a package."""
    whole = io.BytesIO()
    *others, last = members
    archive(whole, [*((name, LINE.format("m")) for name in others), (last, bytes(65 << 20))], compression=ZIP_DEFLATED)
    return whole.getvalue()


def write(path, data):
    """Write a file, and return its path."""
    path.write_bytes(data)
    return path


LINE = "saxpy\t{}\tsaxpy\tu64\tsaxpy\n"
#: What stands in place of a package, by how it is made at a path.
HOSTILE = {
    "nothing": lambda path: path / "nothing.whl",
    "empty": lambda path: archive(path / "a.whl", []),
    "no archive": lambda path: folder(path, {"a.whl": "PK"}) / "a.whl",
    "cut short": lambda path: cut_short(path / "a.whl"),
    "a folder called like a wheel": lambda path: folder(path / "a.whl", {"x": ""}),
    "a pipe": lambda path: pipe(path / "a.whl"),
    "a link to itself": lambda path: folder(path, {"a.whl@": "a.whl"}) / "a.whl",
    "a bomb": lambda path: write(path / "a.whl", bomb(LISTING)),
    "a bomb for an index": lambda path: write(path / "a.whl", bomb(LISTING, "mylib/_kernels/m/index.json")),
    "another compressor": lambda path: archive(path / "a.whl", [(LISTING, "x")], compression=zipfile.ZIP_LZMA),
    "a listing that is a folder": lambda path: archive(path / "a.whl", [(f"{LISTING}/x", "")]),
    "members that lead out": lambda path: archive(
        path / "a.whl", [(LISTING, LINE.format("../../x")), ("../../../mylib/_kernels/../../../../outside", "x")]
    ),
    "a link in an archive": lambda path: archive(path / "a.whl", [link(LISTING, "/etc/passwd")]),
    "a module that leads out": lambda path: archive(path / "a.whl", [(LISTING, LINE.format("../../../etc"))]),
    "a module that is not there": lambda path: archive(path / "a.whl", [(LISTING, LINE.format("m"))]),
    "an index that is a number": lambda path: archive(
        path / "a.whl", [(LISTING, LINE.format("m")), ("mylib/_kernels/m/index.json", "9" * 100_000)]
    ),
    "an index without an end": lambda path: archive(
        path / "a.whl", [(LISTING, LINE.format("m")), ("mylib/_kernels/m/index.json", "[" * 1_000_000)]
    ),
    "an empty folder": lambda path: path,
    "a device in a folder": lambda path: folder(path, {"kernels.tsv@": "/dev/zero"}),
    "a listing that is no text": lambda path: folder(path, {"kernels.tsv": "\0" * 1000}),
    "a line without an end": lambda path: folder(path, {"kernels.tsv": "saxpy\tm\tsaxpy"}),
    "a name with a line feed": lambda path: path / "a\nerror: b",
    "a name that is too long": lambda path: path / ("a" * 5000),
    "no name": lambda path: "",
    "a name of C++": lambda path: "::a<b>",
}
#: How each command is asked about a package.
COMMANDS = {
    "inspect": lambda package, _: ["inspect", package],
    "inspect --extract": lambda package, out: ["inspect", package, "--extract", out],
    "explain": lambda package, _: ["explain", "saxpy", "--package", package, "--arch", "sm_90"],
    "verify": lambda package, _: ["verify", package],
    "report": lambda package, out: ["report", package, "--json"],
    "compare": lambda package, _: ["compare", package, package],
    "promote": lambda package, _: ["promote", "--package", package, "--json"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_command_refuses_what_is_no_package(name, command, tmp_path, monkeypatch, capsys):
    """The status is 2 (or 1, where a check has found the damage), there is one error, and nothing is written."""
    (tmp_path / "in").mkdir()
    package = str(HOSTILE[name](tmp_path / "in"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    before = sorted(tmp_path.rglob("*"))
    status = main(COMMANDS[command](package, str(tmp_path / "out")))
    told = capsys.readouterr()
    assert status == 2 or (status == 1 and command == "verify" and "failed" in told.out), told
    if status == 2:
        assert sum(line.startswith("error: ") for line in told.err.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


ODD = "sum<\x1b[31m\u202e`|*[x](y)`\x07>"


@pytest.fixture
def odd_store(example_store, tmp_path):
    """Return a store with a kernel and a parameter of names that nobody would choose."""
    store = shutil.copytree(example_store, tmp_path / "odd")
    listing = (store / "kernels.tsv").read_text()
    lines = [line.split("\t") for line in listing.splitlines()]
    for line in lines:
        if line[0] == "saxpy":
            line[0] = line[4] = ODD
        elif line[0].startswith("softmax<"):  # its parameters' types and names
            line[5:7] = [line[5].replace("long long", f"{ODD}*"), line[6].replace("rows", ODD)]
    (store / "kernels.tsv").write_bytes("".join(sorted("\t".join(line) + "\n" for line in lines)).encode())
    (store / DIGESTS_FILE).write_text(digests_text(store))
    return store


@pytest.mark.parametrize("more", [[], ["--markdown"], ["--json"]], ids=str)
def test_names_of_a_store_are_shown_as_they_are(odd_store, example_store, more, capsys):
    """Neither a terminal nor a page of Markdown takes a name for a command; programs get it whole."""
    assert main(["compare", str(odd_store), str(example_store), *more]) == 0
    out = capsys.readouterr().out
    assert not {"\x1b", "\u202e", "\x07"} & set(out)
    if more == ["--json"]:
        assert ODD in {name for change in json.loads(out)["changes"] for name in change["names"]}
    else:
        assert r"sum<\x1b[31m\u202e`|*[x](y)`\x07>" in out
    if more == ["--markdown"]:
        assert ODD not in out.replace("``", "")
        assert r"`` sum<\x1b[31m\u202e`|*[x](y)`\x07> ``" in out
