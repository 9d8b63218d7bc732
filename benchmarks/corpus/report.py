"""The tables of a run: counts of each repository, and what stops the rest."""

from __future__ import annotations

from collections import Counter
from typing import Any

from classify import REASONS


def render(results: dict[str, Any]) -> str:
    ways = list(results["ways"])
    sources = sum(len(entry["sources"]) for entry in results["repositories"])
    lines = [
        "# Real sources",
        "",
        f"{sources} unmodified `.cu` files that define a kernel, of {len(results['repositories'])} public",
        f"repositories, each one module for sm_90 (or sm_90a, where the list says so). {results['toolchain']}.",
        *([f"Of the list, these were left out: {', '.join(left_out)}."] if (left_out := results["left_out"]) else []),
        "",
        *(f"- **{way}**: {what}" for way, what in results["ways"].items()),
        "",
        "A source counts when a kernel of it is in the image.",
        "",
        *_repositories(results, ways),
        "",
        "## What stops the others",
        "",
        "By the first error of each source.",
        "",
        *_reasons(results, ways),
        "",
        *_details(results, ways),
    ]
    return "\n".join(lines) + "\n"


def _repositories(results: dict[str, Any], ways: list[str]) -> list[str]:
    lines = [f"| repository | field | sources | {' | '.join(ways)} |", "|---|---|---" + "|---" * len(ways) + "|"]
    for entry in results["repositories"]:
        rows = entry["sources"].values()
        cells = " | ".join(_cell([row[way] for row in rows]) for way in ways)
        link = f"[{entry['name']}](https://github.com/{entry['name']}/tree/{entry['commit']})"
        lines.append(f"| {link} | {entry['field']} | {len(rows)} | {cells} |")
    everything = [row for entry in results["repositories"] for row in entry["sources"].values()]
    cells = " | ".join(f"**{_cell([row[way] for row in everything])}**" for way in ways)
    lines.append(f"| **all** | | **{len(everything)}** | {cells} |")
    return lines


def _cell(outcomes: list[dict[str, Any]]) -> str:
    return str(sum(outcome["ok"] for outcome in outcomes))


def _reasons(results: dict[str, Any], ways: list[str]) -> list[str]:
    counts = {way: Counter(failure["reason"] for failure in _failures(results, way)) for way in ways}
    lines = [f"| reason | {' | '.join(ways)} |", "|---" + "|---" * len(ways) + "|"]
    for key, what in REASONS.items():
        if any(counts[way][key] for way in ways):
            lines.append(f"| {what} | {' | '.join(str(counts[way][key]) for way in ways)} |")
    return lines


def _details(results: dict[str, Any], ways: list[str], most: int = 12) -> list[str]:
    """Return the most frequent headers and messages of each reason, for the last way."""
    lines = [f"The most frequent ones in way {ways[-1]}:", ""]
    failures = _failures(results, ways[-1])
    for key, what in REASONS.items():
        found = Counter(_general(failure["detail"]) for failure in failures if failure["reason"] == key)
        if found:
            listed = ", ".join(f"`{text}` {count}" for text, count in found.most_common(most))
            lines.append(f"- {what}: {listed}")
    names = Counter(name for failure in failures for name in failure["unknown"] if name.startswith("std::"))
    if names:
        lines += ["", "Names of std that were not known: " + ", ".join(f"`{n}` {c}" for n, c in names.most_common(60))]
    return lines


def _general(detail: str) -> str:
    """Return a message without the file it came from, cut before it fills a line."""
    text = detail.partition(": ")[2] if ".c" in detail.partition(": ")[0] else detail
    return text.replace("|", "/").replace("`", "'")[:80]


def _failures(results: dict[str, Any], way: str) -> list[dict[str, Any]]:
    rows = (row for entry in results["repositories"] for row in entry["sources"].values())
    return [row[way] for row in rows if not row[way]["ok"]]
