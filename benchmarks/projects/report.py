"""The table of a run, and what is to be said of each project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADINGS = ("project", "lines", "characters", "modules", "kernels", "images", "bytes", "seconds", "verify")


def render(results: dict[str, Any]) -> str:
    """Return a run as Markdown."""
    lines = [
        "# Projects with manifests of a few lines",
        "",
        f"Sources as they are at the commits linked. {results['toolchain']}.",
        "Lines and characters are those of the manifest, seconds those of all compiles together, on cores that were",
        "shared with other work.",
        "",
        f"| {' | '.join(_HEADINGS)} |",
        f"|{'---|' * len(_HEADINGS)}",
        *(_row(found) for found in results["projects"]),
        "",
        *(f"- **{found['name']}**: {text}." for found in results["projects"] for text in _notes(found)),
        "",
        *(f"    {found['name']}: {problem}" for found in results["projects"] for problem in found["problems"]),
    ]
    return "\n".join(lines).rstrip() + "\n"


def line(found: dict[str, Any]) -> str:
    """Return one project in a line, with its problems below it."""
    return "\n".join((_row(found), *found["problems"]))


def _row(found: dict[str, Any]) -> str:
    owner, _, name = found["name"].partition(".")[0].partition("+")
    link = f"[{found['name']}](https://github.com/{owner}/{name}/tree/{found['commit']})"
    sizes = [f"{found[key]:,}" if key in found else "" for key in _HEADINGS[1:-1]]
    return f"| {' | '.join((link, *sizes, 'problems' if found['problems'] else 'ok'))} |"


def _notes(found: dict[str, Any]) -> Iterator[str]:
    if found["note"]:
        yield found["note"]
    if "listed" in (python := found.get("python", {})):
        made = f"; of them {len(python['filled'])} are put together by Python" if python["filled"] else ""
        yield f"{python['texts']} texts with kernels were found{made}"
        if python["listed"]:
            yield f"{python['listed'] - len(python['missing'])} of {python['listed']} listed name expressions are built"
        if python["left_out"]:
            yield f"not known before a function is called: {', '.join(python['left_out'])}"
