"""The draft of a manifest: what launches say of each source's instances, and what to try where nothing tells them."""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.cpp import lex
from hatch_cuda_kernels.libraries import device_names, torch
from hatch_cuda_kernels.options import CppStd

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.cpp import Declaration
    from hatch_cuda_kernels.options import NvrtcOptions
    from hatch_cuda_kernels.port.instances import SeenLaunch, Template

__all__ = ["DraftedModule", "draft_modules", "enumerators_of", "flow", "guesses_for", "manifest_text", "stated_options"]

#: Of the instances that are left out for one reason.
_MOST_NAMED: Final = 3
_NOTHING: Final = MappingProxyType[str, str]({})
_HEAD: Final = """\
# Drafted by hatch-cuda-kernels port; read it before you use it.
schema: 1
"""


class DraftedModule(NamedTuple):
    """What a manifest states of one source."""

    name: str
    stated: dict[str, Any]
    """By key, ``source`` among them."""
    open_ends: tuple[str, ...]
    """What the launches do not say, and what NVRTC refuses."""


def module_name(source: str) -> str:
    """Return what a source's module is called: its name without the suffix, in letters that a module may have."""
    stem = re.sub(r"\W", "_", source.rpartition("/")[2].partition(".")[0], flags=re.ASCII)
    return stem if stem[:1].isalpha() or stem[:1] == "_" else f"_{stem}"


def draft_modules(
    sources: Sequence[tuple[Mapping[str, Any], Sequence[Template], Sequence[SeenLaunch]]],
    refused: Mapping[str, str] = _NOTHING,
    guessed: Sequence[str] = (),
) -> list[DraftedModule]:
    """Return the modules for sources, given what is stated of each, its template kernels and the launches of these.

    ``refused`` are instances that NVRTC refuses, with its reasons; they are left out. ``guessed`` are others, of
    kernels whose arguments nothing tells.
    """
    taken: dict[str, int] = {}
    found = []
    for plain, templates, launches in sources:
        name = module_name(plain["source"])
        taken[name] = taken.get(name, 0) + 1
        stated, open_ends = _instances(templates, launches, refused, guessed)
        name = name if taken[name] == 1 else f"{name}_{taken[name]}"
        found.append(DraftedModule(name, {**plain, **stated}, open_ends))
    return found


def manifest_text(modules: Sequence[DraftedModule], options: NvrtcOptions) -> str:
    """Return a manifest of modules, for sources that are compiled with these options."""
    lines = [_HEAD.rstrip()]
    stated = stated_options(options)
    if stated:
        lines.append(f"options: {flow(stated)}")
    lines.append("modules:")
    for name, own, open_ends in modules:
        keys = own
        if options.pre_include and "options" in own:  # its list is in place of the one for all modules
            headers = dict.fromkeys([*options.pre_include, *own["options"]["pre_include"]])
            keys = {**own, "options": {**own["options"], "pre_include": list(headers)}}
        lines += [f"  {name}:", *(f"    {key}: {flow(value)}" for key, value in keys.items())]
        lines += [f"    # {one}" for one in open_ends]
    return "\n".join([*lines, ""])


def stated_options(options: NvrtcOptions) -> dict[str, Any]:
    """Return what a manifest states of options that sources are ported with."""
    stated: dict[str, Any] = {"include": list(options.include)} if options.include else {}
    if options.define:
        stated["define"] = dict(options.define)
    if options.std is not CppStd.CPP17:
        stated["std"] = str(options.std)
    if options.pre_include:
        stated["pre_include"] = list(options.pre_include)
    if options.default_device:
        stated["default_device"] = True
    if options.host_only:
        stated["host_only"] = list(options.host_only)
    return stated


def flow(value: object) -> str:
    """Return a value as YAML on one line; text in quotes unless it is a plain word."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{flow(key)}: {flow(one)}' for key, one in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w./-]*", value, re.ASCII):
        return value
    return json.dumps(value, ensure_ascii=False)


def _instances(
    templates: Sequence[Template], launches: Sequence[SeenLaunch], refused: Mapping[str, str], guessed: Sequence[str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a module's instances, with what it takes to spell them, and what launches do not say."""
    found: dict[str, None] = {}
    open_ends: dict[str, None] = {}
    for template in templates:
        own = [launch for launch in launches if launch.plain == template.plain]
        named = [each for each in template.uses if len(each) >= template.required]
        if not own and not named:
            open_ends[f"{_shown(template)}: no launch was seen; list its instances"] = None
        for launch in own:
            known = launch.casts or template.instances(launch.meanings)
            if not known:
                unknown = f"{_shown(template)}: launched at {launch.path}:{launch.line} as {_spelled(launch)}"
                open_ends[f"{unknown}; list its instances"] = None
            found |= dict.fromkeys(known)
        found |= dict.fromkeys(template.instances(named))
    open_ends |= dict.fromkeys(_left_out(found, refused))
    own_guesses = [name for name in guessed if any(name.startswith(f"{template.name}<") for template in templates)]
    open_ends |= dict.fromkeys(f"{name} is a guess that compiles: nothing tells its arguments" for name in own_guesses)
    instances = list(dict.fromkeys((*(name for name in found if name not in refused), *own_guesses)))
    stated: dict[str, Any] = {"instances": instances} if instances else {}
    headers = dict.fromkeys(_headers(lex(" ".join(instances))))
    return stated | ({"options": {"pre_include": list(headers)}} if headers else {}), tuple(open_ends)


def _headers(texts: Sequence[str]) -> Iterator[str]:
    """Yield the headers that declare the types of instances."""
    for at, text in enumerate(texts):
        header = torch().names.get((text,)) if texts[at - 2 : at] == ["c10", "::"] else device_names().get(text)
        if header is not None:
            yield header


def _left_out(names: Iterable[str], refused: Mapping[str, str]) -> Iterator[str]:
    """Yield what is said of the refused ones of names: the first of those that are refused for one reason, by name."""
    alike: dict[str, dict[str, None]] = {}
    for name in (one for one in names if one in refused):
        alike.setdefault(refused[name], {})[name] = None
    for reason, found in alike.items():
        yield from (f"{name} is left out: {reason}" for name in [*found][:_MOST_NAMED])
        if len(found) > _MOST_NAMED:
            yield f"and {len(found) - _MOST_NAMED} more for the same reason"


def _shown(template: Template) -> str:
    return f"{template.name}<{', '.join(template.parameters)}>"


def _spelled(launch: SeenLaunch) -> str:
    arguments = "" if launch.template is None else f"<{', '.join(launch.template)}>"
    return f"{launch.kernel}{arguments}({', '.join(launch.arguments)})"


# What to try where nothing tells a template's arguments: plausible ones, of which NVRTC takes some or none.

_TYPES: Final = ("float", "int", "double", "unsigned int", "unsigned char", "__half", "float4", "long long")
_INTEGERS: Final = ("int", "long long", "unsigned int")
#: A type that counts.
_COUNT: Final = re.compile(r"size|index|idx|offset|count", re.IGNORECASE)
_BLOCKS: Final = ("256", "128", "512", "64", "32", "1024")
_NUMBERS: Final = ("4", "1", "2", "8", "16", "32", "3", "64")
_FLAGS: Final = ("false", "true")
#: Which type, and which number, each guess takes.
_ROUNDS: Final = ((0, 0), (0, 1), (1, 0), (0, 2), (2, 1), (5, 0), (0, 5), (0, 4), (4, 1), (6, 1))
_BLOCK: Final = re.compile(r"block|thread|CTA|TPB", re.IGNORECASE)
_KNOWN: Final = re.compile(
    r"[\d\s()+*/-]+|true|false|(?:un)?signed[\w\s]*|float\d?|double\d?|int\d?|char|short|bool|__half|(?!typename\b).*::.*"
)


def enumerators_of(declarations: Iterable[Declaration]) -> dict[str, tuple[str, ...]]:
    """Return the first values of the enumerations outside classes, as a manifest spells them."""
    found: dict[str, tuple[str, ...]] = {}
    for one in declarations:
        if one.kind == "enum" and not one.is_member:
            is_scoped = not {"class", "struct"}.isdisjoint(one.words)
            scope = [*filter(None, (*one.scope, one.name if is_scoped else ""))]
            found[one.name] = tuple("::".join((*scope, name)) for name in one.enumerators[:2])
    return found


def guesses_for(
    template: Template, launches: Sequence[SeenLaunch], enumerators: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return instances of a kernel to try, the likeliest first; what launches tell of its arguments is kept."""
    seen = next((each for launch in launches for each in (*launch.meanings, launch.template or ())), ())
    open_ = {name for launch in launches for name, values in launch.axes if not values}
    seen = tuple("" if open_ & {*re.findall(r"\w+", part)} else part for part in seen)
    found = (_guess(template, seen, enumerators, *round_) for round_ in _ROUNDS)
    return tuple(dict.fromkeys(template.instances(found)))


def _guess(
    template: Template, seen: Sequence[str], enumerators: Mapping[str, tuple[str, ...]], kind: int, number: int
) -> tuple[str, ...]:
    parts: list[str] = []
    for at, tokens in enumerate(template.heads):
        if at < len(seen) and _KNOWN.fullmatch(seen[at]):
            parts.append(seen[at])
        elif at >= template.required:
            break
        else:
            values = _values([token.text for token in tokens], template.parameters[at], enumerators)
            parts.append(values[(kind if values is _TYPES else number) % len(values)])
    return tuple(parts)


def _values(texts: Sequence[str], name: str, enumerators: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return what may be given for a parameter; NVRTC says what of it may not."""
    if texts[0] in {"typename", "class"}:
        return _INTEGERS if _COUNT.search(name) else _TYPES
    if texts[0] == "bool":
        return _FLAGS
    known = next((enumerators[word] for word in texts[:-1] if enumerators.get(word)), ())
    return known or (_BLOCKS if _BLOCK.search(name) else _NUMBERS)
