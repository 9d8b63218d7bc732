"""Checkouts from git directories: the files of a commit, for the benchmarks that take CHECKOUTS.

    python benchmarks/corpus/checkouts.py GIT_DIRECTORIES CHECKOUTS [--only NAME ...]

GIT_DIRECTORIES has a folder ``owner+name`` for each repository, with a git directory in it or one level below. A
repository of list.toml is written at the commit of the list, another one only with --only, at its newest commit.
Files whose contents the git directory lacks are left out. What is there already stays as it is.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from sources import load_list

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINK: Final = "120000"
_FILES: Final = ("100644", "100755", _LINK)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("git_directories", type=Path)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="repositories as owner/name")
    args = parser.parse_args()
    commits = {entry.name: entry.commit for entry in load_list()}
    for name in args.only or commits:
        found = git_directory(args.git_directories / name.replace("/", "+"))
        if found is not None:
            target = args.checkouts / name.replace("/", "+")
            print(name, check_out(found, commits.get(name, "HEAD"), target), flush=True)


def git_directory(folder: Path) -> Path | None:
    """Return the git directory of a repository's folder, None if there is none."""
    places = (folder, folder / ".git", folder / "repo", folder / "repo/.git")
    return next((place for place in places if (place / "HEAD").is_file()), None)


def head(git: Path) -> str:
    """Return the newest commit."""
    return _git(git, "rev-parse", "HEAD").decode().strip()


def check_out(git: Path, commit: str, target: Path) -> int:
    """Write a commit's files into a new folder; return how many, 0 if the folder is there already."""
    if target.is_dir():
        return 0
    part = target.with_name(f"{target.name}.part")
    count = 0
    for mode, path, content in _contents(git, commit):
        place = part / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if mode == _LINK:
            place.unlink(missing_ok=True)
            place.symlink_to(content.decode())
        else:
            place.write_bytes(content)
        count += 1
    part.rename(target)
    return count


def _contents(git: Path, commit: str) -> Iterator[tuple[str, str, bytes]]:
    """Yield mode, path and contents of each file of a commit."""
    rows = _git(git, "ls-tree", "-r", "-z", "--full-tree", commit).decode(errors="surrogateescape").split("\0")[:-1]
    listed = [(*row.partition("\t")[0].split(), row.partition("\t")[2]) for row in rows]
    command = ["git", f"--git-dir={git}", "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for mode, _, digest, path in listed:
            if mode in _FILES:
                process.stdin.write(f"{digest}\n".encode())
                process.stdin.flush()
                content = _answer(process.stdout)
                if content is not None:
                    yield mode, path, content
        process.stdin.close()


def _answer(stream: BinaryIO) -> bytes | None:
    words = stream.readline().split()
    if words[-1] == b"missing":
        return None
    content = stream.read(int(words[2]))
    stream.read(1)
    return content


def _git(git: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", f"--git-dir={git}", *arguments], capture_output=True, check=True).stdout


if __name__ == "__main__":
    main()
