"""Kernel templates of one name with other parameters: which one a launch means, and what tells it from others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.port.spelled import compact, deduce, replaced, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.port.bindings import Bindings
    from hatch_cuda_kernels.port.model import SeenLaunch, Template

__all__ = ["as_cast", "candidates", "overload", "signature"]


def signature(template: Template) -> tuple[str, ...]:
    """Return a kernel's parameter types in a spelling that a second declaration shares, whatever it calls these."""
    numbers = {name: f"${at}" for at, name in enumerate(template.parameters)}
    return tuple("".join(replaced(one, numbers).split()) for one in template.types)


def candidates(launch: SeenLaunch, templates: Sequence[Template]) -> list[Template]:
    """Return the overloads of the kernel that a launch names, of templates with its plain name: those of one file."""
    own = [one for one in templates if one.path == launch.path] or templates
    return [one for one in own if (one.path, one.name) == (own[-1].path, own[-1].name)]


def overload(launch: SeenLaunch, templates: Sequence[Template], bindings: Bindings) -> Template | None:
    """Return which of some overloads a launch means, by its arguments' types; None where these do not tell.

    Of several that fit, it is the one with the most specific types: ``complex<T>*`` rather than ``T*``.
    """
    given = [bindings.type_of(argument, launch.path, launch.place) for argument in launch.arguments]
    spelled = launch.template or ()
    fitting = sorted((_specific(one), at) for at, one in enumerate(templates) if _fits(one, given, spelled))
    if not fitting or (len(fitting) > 1 and fitting[-1][0] == fitting[-2][0]):
        return None
    return templates[fitting[-1][1]]


def as_cast(template: Template, arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the parameter types of an instance and its name: what a cast consists of that tells overloads apart."""
    meanings = dict(zip(template.parameters, arguments, strict=False))
    return (*(compact(replaced(one, meanings)) for one in template.types), f"{template.name}<{', '.join(arguments)}>")


def _fits(template: Template, given: Sequence[str], spelled: Sequence[str]) -> bool:
    """Return whether types that are known, one at least, can be given for a template's parameters."""
    if len(given) != len(template.types) or len(spelled) > len(template.parameters):
        return False
    bound = dict(zip(template.parameters, spelled, strict=False))
    pairs = zip(template.types, given, strict=True)
    known = [(wanted, one) for wanted, one in pairs if one and _is_open(template, wanted)]
    for wanted, one in known:
        found = deduce(wanted, one, template.parameters)
        if not found or any(bound.setdefault(name, meaning) != meaning for name, meaning in found.items()):
            return False
    return bool(known)


def _is_open(template: Template, wanted: str) -> bool:
    return not words(wanted).isdisjoint(template.parameters)


def _specific(template: Template) -> int:
    return sum(len(words(wanted)) for wanted in template.types if _is_open(template, wanted))
