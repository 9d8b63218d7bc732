"""Compare pytest runs, two by two, ``compare.py OWN.xml STORE.xml ...``: counts, and which tests ended otherwise."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path


def outcomes(path: Path) -> dict[str, tuple[str, str]]:
    """Return each test's outcome and what it said."""
    if not path.is_file():
        return {}
    found = {}
    for case in ET.parse(path).iter("testcase"):
        ended = next((child for child in case if child.tag in {"failure", "error", "skipped"}), None)
        told = "" if ended is None else ended.get("message") or ""
        found[f"{case.get('classname')}::{case.get('name')}"] = ("passed" if ended is None else ended.tag, told)
    return found


def first_line(text: str) -> str:
    return text.partition("\n")[0]


def main() -> None:
    paths = [Path(argument) for argument in sys.argv[1:]]
    for own, store in zip(paths[::2], paths[1::2], strict=True):
        before, after = outcomes(own), outcomes(store)
        print(f"{own.stem}: {dict(Counter(outcome for outcome, _ in before.values()))}")
        print(f"{store.stem}: {dict(Counter(outcome for outcome, _ in after.values()))}")
        both = before.keys() & after.keys()
        print(f"  in both {len(both)}, only in one of them {len(before.keys() ^ after.keys())}")
        for test in sorted(both):
            one, two = before[test], after[test]
            if one[0] != two[0]:
                print(f"  {test}: {one[0]} -> {two[0]}: {first_line(two[1] or one[1])[:300]}")
        failed = [test for test in both if before[test][0] == after[test][0] == "failure"]
        other = [test for test in failed if before[test] != after[test]]
        print(f"  fail in both {len(failed)}, of which {len(failed) - len(other)} say the same")
        for test in other[:12]:
            print(f"  {test}: {before[test][1][:200]!r} -> {after[test][1][:200]!r}")
        ends = (first_line(message)[:160] for outcome, message in before.values() if outcome in {"failure", "error"})
        told = Counter(ends)
        for message, count in told.most_common(12):
            print(f"  {own.stem} fails {count}x: {message}")


if __name__ == "__main__":
    main()
