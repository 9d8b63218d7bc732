"""Two files of goldens side by side: what was lost, what was gained, what changed, and the times."""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING, Final, NamedTuple

from golden_files import DIGITS, Line, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOST: Final = {
    "compile": "compiled before, and no more",
    "kernel": "kernels that are in the image no more",
    "nvcc": "kernels whose machine code was nvcc's, and is no more",
    "port": "drafts of port with which NVRTC took the source, and has none any more",
}
OTHER: Final = {
    "gained compile": "compiles now",
    "gained kernel": "kernels that are new in the image",
    "renamed": "kernels with another name and the same code",
    "gained nvcc": "kernels whose machine code is nvcc's now",
    "taken": "compiles, and nvcc refuses it for another reason than a header",
    "ptx": "kernels with other PTX than before",
    "reason": "fails for another reason",
    "gained port": "drafts of port with which NVRTC takes the source now",
    "patch": "other patches of port",
    "draft": "other drafts of port",
}
_HEADER: Final = re.compile(r"No such file|could not open|cannot open")
#: Sources of a kind that are listed, of those that are no loss.
_MOST_LISTED: Final = 20


class Digests(NamedTuple):
    """Of one kernel: its text section, the same without addresses, its PTX."""

    text: str
    code: str
    ptx: str


class Finding(NamedTuple):
    """One line of the outcome."""

    kind: str
    place: str
    what: str = ""


def compare(old: Path, new: Path, nvcc: Path | None) -> int:
    """Print what sets two files apart; return 1 if something was lost."""
    before, after = read_lines(old), read_lines(new)
    references = read_lines(nvcc) if nvcc else {}
    both = [name for name in before if name in after]
    print(f"{len(both)} sources in both, {len(before) - len(both)} only before, {len(after) - len(both)} only now\n")
    found: list[Finding] = []
    for name in both:
        reference = references.get(name) or before[name].get("nvcc")
        found += _of_source(name, before[name], after[name], _nvcc_kernels(reference, before[name]), reference)
    _show(found, before, after, both)
    pairs = [(name, _nvcc_kernels(references.get(name) or before[name].get("nvcc"), before[name])) for name in both]
    counts = [sum(_equal(kernels_of(lines[name]), own) for name, own in pairs) for lines in (before, after)]
    print(
        f"Of {sum(len(own) for _, own in pairs)} kernels of nvcc's, {counts[0]} were equal before, {counts[1]} are now."
    )
    return int(any(one.kind in LOST for one in found))


def kernels_of(line: Line) -> dict[str, Digests]:
    return {name: _digests(text) for name, text in line.get("kernels", {}).items()}


def _digests(text: str) -> Digests:
    section, code, ptx = (digest[:DIGITS] for digest in text.split(","))
    return Digests(section, code or section, ptx)


def _nvcc_kernels(reference: Line | None, own: Line) -> dict[str, Digests]:
    """Return nvcc's kernels, which a kept result has in the order of the package's."""
    made = (reference or {}).get("kernels", {})
    named = made if isinstance(made, dict) else dict(zip(own["kernels"], made, strict=True))
    return {name: _digests(own["kernels"][name] if text == "=" else text) for name, text in named.items() if text}


def _equal(made: dict[str, Digests], nvcc: dict[str, Digests]) -> int:
    """Return how many kernels have nvcc's machine code."""
    return sum(name in made and made[name].text == own.text for name, own in nvcc.items())


def _of_source(name: str, old: Line, new: Line, nvcc: dict[str, Digests], reference: Line | None) -> Iterator[Finding]:
    yield from _of_port(name, old["port"], new["port"])
    before, after = kernels_of(old), kernels_of(new)
    if before and not after:
        yield Finding("compile", name, f"{new['outcome']} {new.get('message', '')}")
        return
    if after and not before:
        yield Finding(
            "gained compile", name, f"{len(after)} kernels; before: {old['outcome']} {old.get('message', '')}"
        )
        refused = reference and reference["outcome"] == "refused"
        if refused and not _HEADER.search(reference.get("message", "")):
            yield Finding("taken", name, reference.get("message", ""))
    elif not after and old["outcome"] != new["outcome"]:
        yield Finding("reason", name, f"{old['outcome']} -> {new['outcome']} {new.get('message', '')}")
    if before:
        yield from _of_kernels(name, before, after, nvcc)


def _of_kernels(
    name: str, before: dict[str, Digests], after: dict[str, Digests], nvcc: dict[str, Digests]
) -> Iterator[Finding]:
    fresh = {kernel: made for kernel, made in after.items() if kernel not in before}
    for kernel in before.keys() - after.keys():
        other = next((one for one, made in fresh.items() if made.code == before[kernel].code), None)
        yield Finding("renamed" if other else "kernel", name, f"{kernel} -> {other}" if other else kernel)
        fresh.pop(other or "", None)
    yield from (Finding("gained kernel", name, kernel) for kernel in fresh)
    for kernel in before.keys() & after.keys():
        old, new, own = before[kernel], after[kernel], nvcc.get(kernel)
        was, is_now = own is not None and old.text == own.text, own is not None and new.text == own.text
        if was and not is_now:
            same = (
                "the PTX is"
                if new.ptx == own.ptx
                else "but for addresses it is"
                if new.code == own.code
                else "nor is the PTX"
            )
            yield Finding("nvcc", name, f"{kernel}: {same}")
        if is_now and not was:
            yield Finding("gained nvcc", name, kernel)
        if old.ptx != new.ptx:
            yield Finding("ptx", name, kernel)


def _of_port(name: str, old: Line, new: Line) -> Iterator[Finding]:
    if "later" in (old["outcome"], new["outcome"]):  # it was not run
        return
    if old["outcome"] == "done" != new["outcome"]:
        yield Finding("port", name, f"{new['outcome']} {new.get('message', '')}")
    elif new["outcome"] == "done" != old["outcome"]:
        yield Finding("gained port", name, old["outcome"])
    else:
        for kind, key in (("patch", "patch"), ("draft", "manifest")):
            if old.get(key, "")[:DIGITS] != new.get(key, "")[:DIGITS]:
                yield Finding(kind, name)


def _show(found: list[Finding], before: dict[str, Line], after: dict[str, Line], both: list[str]) -> None:
    print("| | sources | kernels |\n|---|---|---|")
    for kind, what in (LOST | OTHER).items():
        own = [one for one in found if one.kind == kind]
        label = f"**{what}**" if kind in LOST else what
        print(f"| {label} | {len({one.place for one in own})} | {len(own)} |")
    print()
    for kind, what in (LOST | OTHER).items():
        own = [f"- {one.place} {one.what}".rstrip() for one in found if one.kind == kind]
        shown = own if kind in LOST else own[:_MOST_LISTED]
        if own:
            print(
                f"{what}:",
                *shown,
                *([f"- and {len(own) - len(shown)} more"] if len(shown) < len(own) else []),
                "",
                sep="\n",
            )
    print("| processor seconds | before | now | ratio | median ratio | worst |\n|---|---|---|---|---|---|")
    for step in ("check", "build", "port"):
        _times(step, [(name, _seconds(before[name], step), _seconds(after[name], step)) for name in both])
    peaks = [max(map(_peak, (lines[name] for name in both)), default=0) for lines in (before, after)]
    print(f"\nThe largest process had {peaks[0]} MiB before, and {peaks[1]} MiB now.")


def _times(step: str, rows: list[tuple[str, float | None, float | None]]) -> None:
    known = [(name, old, new) for name, old, new in rows if old and new]
    if known:
        old, new = (sum(row[index] for row in known) for index in (1, 2))
        ratios = {name: there / here for name, here, there in known}
        worst = max(ratios, key=ratios.__getitem__)
        print(
            f"| {step}, {len(known)} sources | {old:.1f} | {new:.1f} | {new / old:.2f} |"
            f" {statistics.median(ratios.values()):.2f} | {ratios[worst]:.2f} {worst} |"
        )


def _seconds(line: Line, step: str) -> float | None:
    """Return a step's seconds of a result, or of one that is kept."""
    if "seconds" in line:
        return line["seconds"].get(step)
    return line["port"].get("seconds") if step == "port" else line["cost"].get(step, {}).get("seconds")


def _peak(line: Line) -> int:
    return line["peak"] if "peak" in line else max((cost["peak"] for cost in line["cost"].values()), default=0)
