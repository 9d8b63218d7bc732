"""``hatch-cuda-kernels cache``: what a user sees of the disk cache, and may do to it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from cache_entries import disk_bytes, entry_of, folder_of, key_of, reopen, set_use
from front_ends import EXAMPLE

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.promote import Miss, Wanted

SIZE = disk_bytes(entry_of(0))


@pytest.fixture
def path(fresh_cache):
    """Return the cache of this test's user, with three entries of different ages."""
    for number in range(3):
        reopen(fresh_cache).put(entry_of(number, log="warning: unused"))
        set_use(fresh_cache, number, 1_700_000_000 + number)
    return fresh_cache


@pytest.fixture
def run(capsys):
    """Return a function that runs the command and returns its status and what it printed."""

    def run_command(*words):
        status = main(["cache", *map(str, words)])
        return status, capsys.readouterr().out

    return run_command


@pytest.fixture
def answer(run):
    """Return a function that runs the command with ``--json`` and returns its answer."""

    def run_json(*words):
        status, out = run(*words, "--json")
        assert status == 0
        return json.loads(out)

    return run_json


def test_ls_names_every_entry(path, run, answer):
    """Each line says what an image is, by which toolchain, how large, from when, and when it was last used."""
    rows = answer("ls")["entries"]
    assert [row["key"] for row in rows] == sorted(map(key_of, range(3)))
    row = next(row for row in rows if row["key"] == key_of(1))
    assert row == {
        "key": key_of(1),
        "module": "m",
        "arch": "sm_90a",
        "kind": "cubin",
        "bytes": disk_bytes(entry_of(1, log="warning: unused")),
        "toolchain": {"nvrtc": "13.0.88", "headers": ""},
        "created": "2026-01-01T00:00:00+00:00",
        "used": "2023-11-14T22:13:21Z",
    }
    status, out = run("ls")
    assert status == 0
    assert all(key_of(number)[:12] in out for number in range(3))
    assert "sm_90a" in out


ODD = "\x1b[2Jgone\r\u202e"


def test_nothing_in_an_entry_reaches_the_terminal_as_it_is(fresh_cache, run, answer, capsys):
    """A module, a time or a warning with control characters is shown escaped; JSON has it as it is."""
    entry = entry_of(0, module=ODD, toolchain={"nvrtc": ODD}, log=ODD, wanted=ODD)
    reopen(fresh_cache).put(entry)
    assert run("ls")[1].replace("\n", "").isprintable()
    assert r"\x1b[2Jgone\r\u202e" in run("ls")[1]
    assert answer("ls")["entries"][0]["module"] == ODD
    (folder_of(fresh_cache, 0) / "image.cubin").write_bytes(b"")
    folder_of(fresh_cache, 0).rename(folder_of(fresh_cache, 0).parent / f"{key_of(0)[:2]}{ODD}")
    with pytest.warns(RuntimeWarning, match="set aside") as caught:
        run("ls")
    assert all(str(warning.message).isprintable() for warning in caught)
    assert capsys.readouterr().err.replace("\n", "").isprintable()


def test_nothing_that_promote_shows_does_either(example_store, fresh_cache, tmp_path, monkeypatch, capsys):
    """A recorded name with control characters is shown escaped, and the manifest does not take it."""
    manifest = tmp_path / "kernels.yaml"
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    wanted = Wanted("reduce", SmArch(9, 0), None)
    sound = Miss("reduce", "block_sum<float, 64>", True, SmArch(9, 0), "2026", 0.0, 1.0, key_of(0), wanted)
    misses = [
        sound._replace(kernel=f"block_sum<{ODD}, 64>", listed=False),
        sound._replace(module=ODD, wanted=wanted._replace(module=ODD)),
    ]
    monkeypatch.setattr("hatch_cuda_kernels.promote.find_misses", lambda *_: misses)
    assert main(["promote", str(manifest), "--package", str(example_store)]) == 1
    shown = capsys.readouterr()
    assert (shown.out + shown.err).replace("\n", "").isprintable()
    assert shown.err.count(r"\x1b[2Jgone\r\u202e") >= 3
    assert shown.out == ""


def test_a_folder_of_any_name_can_be_shown(tmp_path, monkeypatch, run, answer):
    """Where the cache is can be printed, whatever bytes are in its name."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", f"{tmp_path}/\x1b[31m\udcff")
    assert r"\x1b[31m\udcff" in run("info")[1]
    assert answer("info")["path"] == f"{tmp_path}/\x1b[31m\udcff"


def test_ls_of_an_empty_cache(fresh_cache, answer, run):
    """It lists nothing, and makes nothing."""
    assert answer("ls") == {"entries": []}
    assert run("ls")[0] == 0
    assert not fresh_cache.exists()


def test_prune_removes_the_least_recently_used(path, answer):
    """``--max-bytes`` says how much may stay; without it the cap does."""
    size = disk_bytes(entry_of(0, log="warning: unused"))
    assert answer("prune") == {"path": str(path), "bytes": 3 * size}
    assert answer("prune", "--max-bytes", 2 * size) == {"path": str(path), "bytes": 2 * size}
    assert not folder_of(path, 0).exists()
    assert answer("prune", "--max-bytes", 0)["bytes"] == 0
    assert answer("info")["entries"] == 0


@pytest.mark.parametrize("number", ["-1", "1G", "", "1.5", "9" * 5000, "-1MB", "1 000"])
def test_prune_refuses_what_is_no_number(path, number, capsys):
    """A negative number would have emptied the cache."""
    with pytest.raises(SystemExit) as caught:
        main(["cache", "prune", f"--max-bytes={number}"])
    assert caught.value.code == 2
    message = capsys.readouterr().err
    assert "is not a size; write bytes, or a unit as in 5MB or 5MiB" in message
    assert len(message) < 500
    assert reopen(path).info().entries == 3


def test_prune_takes_a_size_as_the_manifest_does(path, answer):
    """With a unit, decimal or binary, with or without a space."""
    for size in ("1MB", "1 MiB", "0.5 GB"):
        assert len(answer("ls")["entries"]) == 3
        assert answer("prune", "--max-bytes", size)["bytes"] > 0
    assert answer("prune", "--max-bytes", "0.001KB")["bytes"] == 0


def test_export_and_import(path, answer, run, tmp_path, monkeypatch):
    """A bundle carries the cache to another machine."""
    bundle = tmp_path / "kernels.bundle"
    assert answer("export", bundle) == {"bundle": str(bundle), "entries": 3}
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "other"))
    assert answer("import", bundle) == {"bundle": str(bundle), "entries": 3}
    assert answer("info")["entries"] == 3
    assert "took 3 images" in run("import", bundle)[1]
    assert "wrote 3 images" in run("export", bundle)[1]


def test_a_bad_bundle_is_bad_input(path, tmp_path, capsys):
    """The command exits with 2 and names the file."""
    (tmp_path / "bad.bundle").write_text("no zip")
    assert main(["cache", "import", str(tmp_path / "bad.bundle")]) == 2
    assert "bad.bundle: not a bundle" in capsys.readouterr().err


def test_an_import_that_keeps_nothing_fails(path, tmp_path):
    """Where the cache cannot be written, the user sees an error and one warning, and no traceback."""
    bundle, blocked = tmp_path / "kernels.bundle", tmp_path / "file"
    main(["cache", "export", str(bundle)])
    blocked.write_text("in the way")
    command = [sys.executable, "-m", "hatch_cuda_kernels", "cache", "import", str(bundle)]
    environment = {"HATCH_CUDA_KERNELS_CACHE_DIR": str(blocked)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "the cache cannot be written to; not all of 3 images were taken" in done.stderr
    assert "Traceback" not in done.stderr


def test_clear_says_how_many(path, answer):
    """It removes every entry, also one of which only half is left."""
    (folder_of(path, 0) / "entry.json").unlink()
    assert answer("clear") == {"path": str(path), "removed": 3}
    assert answer("info")["entries"] == 0


@pytest.mark.slow
def test_clear_leaves_nothing_that_a_later_process_would_use(example_store, fresh_cache):
    """What was learnt of this machine goes with the entries; others' files stay."""
    open_store(example_store).find_image("block_sum<float, 64>", arch="sm_86", driver=(13, 0))
    assert [*(fresh_cache / "notes").iterdir()]
    (fresh_cache / "README.md").write_text("mine")
    assert main(["cache", "clear"]) == 0
    left = {found.relative_to(fresh_cache).as_posix() for found in fresh_cache.rglob("*") if found.is_file()}
    assert {name for name in left if not name.endswith(".lock")} == {"v1/total.json", "README.md"}
    assert sorted(found.name for found in (fresh_cache / "v1").iterdir() if found.is_dir()) == ["locks", "tmp"]
    again = open_store(example_store).find_image("block_sum<float, 64>", arch="sm_86", driver=(13, 0))
    assert again.origin == "jitted"
