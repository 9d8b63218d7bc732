"""What a port consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DraftedModule", "Guard", "Ported", "SeenLaunch", "Template"]


class Guard(NamedTuple):
    """One thing that NVRTC is not shown any more, or shown otherwise."""

    path: str
    line: int
    """In the file as it was."""
    kind: str
    """A kind of Dropped, or ``type``: what is guarded or changed."""
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind} {self.name}: {self.reason}"


class SeenLaunch(NamedTuple):
    """One ``kernel<...><<<...>>>(...)`` as it is spelled."""

    path: str
    line: int
    kernel: str
    template: tuple[str, ...] | None
    """The template arguments; None where none are spelled."""
    configuration: tuple[str, ...]
    arguments: tuple[str, ...]
    axes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The names among the template arguments that stand for several types, with these; none where they are unknown."""
    meanings: tuple[tuple[str, ...], ...] = ()
    """What the template arguments stand for, where the templates around the launch are used."""
    casts: tuple[str, ...] = ()
    """The same as name expressions, where the kernel has overloads that only a cast tells apart."""
    place: int = 0
    """In the text with its lines joined."""


class Template(NamedTuple):
    """A kernel that is a template, and so is in an image only where an instance is listed."""

    path: str
    line: int
    name: str
    """With its namespaces."""
    parameters: tuple[str, ...]
    types: tuple[str, ...] = ()
    """Of the kernel's own parameters, as they are spelled."""
    required: int = 0
    """How many of the template's parameters have no default."""
    uses: tuple[tuple[str, ...], ...] = ()
    """Its arguments where it is named, for a kernel that no launch shows."""
    head: str = ""
    """From ``template`` to the kernel's own parameters."""


class DraftedModule(NamedTuple):
    """What a manifest states of one source."""

    name: str
    stated: dict[str, Any]
    """By key, ``source`` among them."""
    open_ends: tuple[str, ...]
    """What the launches do not say, and what NVRTC refuses."""


class Ported(NamedTuple):
    """The texts of the files that change, by path, and what there is to say about them."""

    before: dict[str, str]
    after: dict[str, str]
    guards: tuple[Guard, ...]
    templates: tuple[Template, ...]
    launches: tuple[SeenLaunch, ...]
    modules: tuple[DraftedModule, ...]
    guesses: Mapping[str, tuple[tuple[str, ...], ...]]
    """For each module's name, the instances to try of each kernel of which nothing tells the arguments."""
    manifest: str
    """A draft, with these modules."""
    notes: tuple[str, ...]
    remaining: tuple[str, ...]
    """What NVRTC still complains about, as ``path:line: message``; empty if all sources compile, or were not tried."""
