"""The figures of operators_torch.py as tables, and beside what they should reach."""

from __future__ import annotations

__all__ = ["report"]

OURS, LAUNCH, CUSTOM_OP, EXTENSION, TRITON = (
    "ours",
    "our launch alone",
    "custom_op over our launch",
    "C++ extension by nvcc",
    "triton_op",
)


def report(figures) -> str:
    """Return the tables; what was not measured is left blank."""
    lines = [", ".join(f"{key} {value}" for key, value in figures.get("machine", {}).items()), ""]
    kinds = [part for part in figures if part.startswith("compiled_us: ")]
    names = [kind.removeprefix("compiled_us: ") for kind in kinds]
    lines.append("| | saxpy, us | cube, us | " + "".join(f"ten, {name}, us | " for name in names) + "cold, ms |")
    lines.append("|---" * (4 + len(kinds)) + "|")
    for name in (OURS, LAUNCH, CUSTOM_OP, EXTENSION, TRITON):
        eager = figures.get("eager_us", {}).get(name, {})
        cold = figures.get("cold_ms", {}).get(name, {})
        cells = [eager.get("saxpy"), eager.get("cube"), *(figures[kind].get(name) for kind in kinds)]
        cells.append(cold.get("first result"))
        lines.append(f"| {name} | " + " | ".join("" if cell is None else f"{cell:.2f}" for cell in cells) + " |")
    lines += ["", "| figure | reach | here |", "|---|---|---|"]
    lines += [f"| {name} | {reach} | {here} |" for name, reach, here in reached(figures)]
    lines += [f"left out: {name}: {reason}" for name, reason in figures["left_out"].items()]
    return "\n".join(lines)


def reached(figures):
    """Yield each figure that has an aim, with the aim and what was measured."""
    eager, cold = figures.get("eager_us", {}), figures.get("cold_ms", {})
    for kernel in ("saxpy", "cube"):
        if OURS in eager and LAUNCH in eager:
            more = eager[OURS][kernel] - eager[LAUNCH][kernel]
            yield f"an eager call of {kernel} over our own launch, us", "<= +4", f"{more:+.2f}"
    for other, reach in ((EXTENSION, "<= 1.05"), (TRITON, "")):
        for kind in (part for part in figures if part.startswith("compiled_us: ")):
            yield from ratio(f"ten in a compiled function, {kind.partition(': ')[2]}", figures[kind], other, reach)
    firsts = {name: found["first result"] for name, found in cold.items()}
    yield from ratio("a cold process to the first result, after torch", firsts, EXTENSION, "<= 1.0")


def ratio(what, figures, other, reach):
    if figures.get(OURS) and figures.get(other):
        yield f"{what}: ours / {other}", reach, f"{figures[OURS] / figures[other]:.2f}"
