"""What one declaration declares."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Declaration"]


class Declaration(NamedTuple):
    """A declaration's parts. Positions are in the joined text."""

    kind: Literal["function", "variable", "type", "other", "call"]
    """``call`` is a macro's use by itself, or looks like one, as a constructor does."""
    name: str = ""
    """Without qualifiers; an operator's is ``operator`` with its symbol, a destructor's begins with ``~``."""
    scope: str = ""
    """The last qualifier of the name."""
    words: frozenset[str] = frozenset()
    """The words before the name that are no types, and those after the parameters."""
    types: tuple[str, ...] = ()
    """The types before the name: one, unless an unknown macro is among them."""
    parameters: tuple[str, ...] = ()
    """The types of a function's parameters, as they are spelled."""
    form: Literal["", "template", "specialisation", "instantiation"] = ""
    ending: str = ""
    """Of a function: ``default``, ``delete``, ``0`` or ``{}``; empty where there is no body."""
    first: int = 0
    """Where a mark may be put."""
    last: int = 0
    """Where a function's head ends: what follows is its body, with what initialises members."""
    value: int = 0
    """Where a variable's value begins, with what is before it: ``=`` or a bracket."""
    is_const: bool = False
    """Whether a variable itself cannot change."""
    is_sure: bool = True
    """Whether all words were understood."""
