"""Instances to try where nothing tells a template's arguments: plausible ones, of which NVRTC takes some or none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.port.template_head import parameter_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatch_cuda_kernels.host_code.items import Outline
    from hatch_cuda_kernels.port.model import SeenLaunch, Template

__all__ = ["enumerators_of", "guesses_for"]

_TYPES: Final = ("float", "int", "double", "unsigned int", "unsigned char", "__half", "float4", "long long")
_INTEGERS: Final = ("int", "long long", "unsigned int")
#: A type that counts.
_COUNT: Final = re.compile(r"size|index|idx|offset|count", re.IGNORECASE)
_BLOCKS: Final = ("256", "128", "512", "64", "32", "1024")
_NUMBERS: Final = ("4", "1", "2", "8", "16", "32", "3", "64")
_FLAGS: Final = ("false", "true")
#: Which type, and which number, each guess takes.
_ROUNDS: Final = ((0, 0), (0, 1), (1, 0), (0, 2), (2, 1), (5, 0), (0, 5), (0, 4), (4, 1), (6, 1))
_TYPE: Final = re.compile(r"(?:typename|class)\b(?!\s*=)")
_INTEGER: Final = re.compile(
    r"(?:const\s+)?(?:(?:std::)?(?:size_t|u?int(?:8|16|32|64)_t)|uint|unsigned|(?:unsigned\s+)?(?:int|short|char|long)|long"
    r"|(?:un)?signed)\b"
)
_BLOCK: Final = re.compile(r"BLOCK|THREAD|CTA|TPB|block|thread|Block|Thread")
_KNOWN: Final = re.compile(
    r"[\d\s()+*/-]+|true|false|(?:un)?signed[\w\s]*|float\d?|double\d?|int\d?|char|short|bool|__half|(?!typename\b).*::.*"
)
_ENUM: Final = re.compile(r"enum\s+(?P<scoped>class\s+|struct\s+)?\w+[^{]*\{(?P<names>[^}]*)\}")


def enumerators_of(outlines: Mapping[str, Outline]) -> dict[str, tuple[str, ...]]:
    """Return the values of the enumerations that texts declare outside classes, as a manifest spells them."""
    found: dict[str, tuple[str, ...]] = {}
    for outline in outlines.values():
        for item in outline.items:
            if "enum" in item.declaration.words and item.class_name is None:
                spelled = _ENUM.match(outline.source.text[item.start : item.end])
                scope = [item.namespace, item.declaration.name if spelled and spelled["scoped"] else ""]
                names = re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", spelled["names"] if spelled else "")
                found[item.declaration.name] = tuple("::".join(filter(None, (*scope, name))) for name in names[:2])
    return found


def guesses_for(
    template: Template, launches: Sequence[SeenLaunch], enumerators: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return instances of a kernel to try, the likeliest first; what launches tell of its arguments is kept."""
    seen = next((each for launch in launches for each in (*launch.meanings, launch.template or ())), ())
    open_ = {name for launch in launches for name, values in launch.axes if not values}
    seen = tuple("" if open_ & {*re.findall(r"\w+", part)} else part for part in seen)
    found = (_guess(template, seen, enumerators, round_) for round_ in _ROUNDS)
    return tuple(dict.fromkeys(f"{template.name}<{', '.join(each)}>" for each in found if each is not None))


def _guess(
    template: Template, seen: Sequence[str], enumerators: Mapping[str, tuple[str, ...]], round_: tuple[int, int]
) -> tuple[str, ...] | None:
    parts: list[str] = []
    for at, text in enumerate(parameter_texts(template.head)):
        if at < len(seen) and _KNOWN.fullmatch(seen[at]):
            parts.append(seen[at])
        elif "=" in text or "..." in text:
            break
        else:
            values = _values(text, template.head, enumerators)
            if not values:
                return None
            number = round_[0] if values is _TYPES else round_[1]
            parts.append(values[number % len(values)])
    return tuple(parts)


def _values(text: str, head: str, enumerators: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return what may be given for a parameter; nothing where that cannot be guessed."""
    name = text.rsplit(maxsplit=1)[-1]
    if _TYPE.match(text):
        return _INTEGERS if _COUNT.search(name) else _TYPES
    if text.startswith("bool"):
        return _FLAGS
    if _INTEGER.match(text):
        is_block = _BLOCK.search(name) or re.search(rf"__launch_bounds__\s*\([^)]*\b{re.escape(name)}\b", head)
        return _BLOCKS if is_block else _NUMBERS
    words = re.findall(r"\w+", text)
    return next((enumerators[word] for word in words[:-1] if word in enumerators), ())
