"""The strongly connected components of a graph: which of its nodes lead to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["components"]


def components(graph: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return a number for each node, the same for nodes that lead to each other.

    Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972, without recursion.
    """
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    found: dict[str, int] = {}
    path: list[str] = []
    for root in graph:
        work = [] if root in order else [(root, iter(graph[root]))]
        while work:
            node, following = work[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                path.append(node)
            for other in following:
                if other not in order:
                    work.append((other, iter(graph.get(other, ()))))
                    break
                if other not in found:
                    lowest[node] = min(lowest[node], order[other])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    _close(node, path, found)
    return found


def _close(node: str, path: list[str], found: dict[str, int]) -> None:
    number = len(found)
    while True:
        member = path.pop()
        found[member] = number
        if member == node:
            return
