"""Headers that are found in memory under plain names: NVRTC looks there for what a directive spells, in any file.

A toolkit header finds the project's headers so, in the order of the include folders, and a standard header where the
project has none of that name; sources find the standard headers. Before all others come headers that are declared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from hatch_cuda_kernels.source.outer_headers import OuterHeaders

__all__ = ["PlainNames"]


class PlainNames:
    """Which headers have to be in memory under plain names. The outcome is the same whatever comes first."""

    def __init__(
        self,
        outer: OuterHeaders,
        find: Callable[[str], str | None],
        declared: Container[str],
    ) -> None:
        self._headers = outer.standard
        self._asks = outer.asks
        self._find = find
        self._declared = declared
        self._asked_for: set[str] = set()
        self._own: dict[str, str] = {}
        self._beside: set[str] = set()
        self._roots: set[str] = set()  # what the project asks for, outside of all that is in memory
        self._below_roots: set[str] = set()
        self._brought: set[str] = set()  # what standard headers ask for, likewise
        self._followed: set[str] = set()
        self.used: set[str] = set()
        """Names of declared headers that are asked for."""
        self.standard: set[str] = set()
        """Names of standard headers."""
        self.named: set[str] = set()
        """Those of them that project files ask for."""

    @property
    def project(self) -> dict[str, str]:
        """Project files by the name that toolkit headers have for them."""
        taken = self.standard | self._beside
        return {name: path for name, path in self._own.items() if name not in taken}

    @property
    def asked(self) -> frozenset[str]:
        """Those names that the toolkit's headers ask for and that matter: without them, the outcome would differ."""
        return frozenset(self._below_roots & self._brought | self._asked_for & (self.standard | self.project.keys()))

    @property
    def outside(self) -> frozenset[str]:
        """Names that nothing in memory answers to, but for those that others of them lead to in the toolkit."""
        return frozenset(self._roots | self._brought - self._below_roots)

    def answer(self, names: Iterable[str]) -> set[str]:
        """Take in headers that are not where the project looks, and all they lead to; return its files among these."""
        for name in names:
            self._enter(name)
        while fresh := (self._roots - self._followed or self._brought - self._followed):
            self._followed |= fresh
            found = self._asks(tuple(sorted(fresh)))
            self._beside |= found.beside
            self._below_roots |= found.names if fresh <= self._roots else frozenset()
            self._asked_for |= {name for name in found.names if self._is_answered(name)}
        return set(self.project.values())

    def _enter(self, name: str) -> None:
        """Enter what a project file asks for and the project does not have."""
        if name in self._declared:
            self.used.add(name)
        if name in self._declared or name not in self._headers:
            self._roots.add(name)
        else:
            self.named.add(name)
            self._enter_standard(name)

    def _is_answered(self, name: str) -> bool:
        """Return whether something in memory answers to what a header outside the project asks for."""
        if name in self._declared:
            self.used.add(name)
            return False
        path = self._find(name)
        if path is not None:
            self._own[name] = path
        elif name in self._headers:
            self._enter_standard(name)
        return path is not None or name in self.standard

    def _enter_standard(self, name: str) -> None:
        if name in self.standard:
            return
        self.standard.add(name)
        for found in self._headers.text(name).includes:
            included = found.spelling[1:-1]
            if included and not self._is_answered(included):
                self._brought.add(included)
