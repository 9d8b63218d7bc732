"""The draft of a manifest: what launches say of each source's instances, and what to try where nothing tells them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.cpp import Declaration, lex
from hatch_cuda_kernels.libraries import entry, headers_in, torch_paths, words_in
from hatch_cuda_kernels.manifest import flow, stated_options
from hatch_cuda_kernels.port.sites import words

if TYPE_CHECKING:
    from hatch_cuda_kernels.options import NvrtcOptions
    from hatch_cuda_kernels.port.instances import Template

#: Of the instances that are left out for one reason.
_MOST_NAMED: Final = 3
#: Kernels of a module whose arguments are guessed.
_MOST_GUESSED: Final = 6
#: Which type, and which number, each guess takes.
_ROUNDS: Final = ((0, 0), (0, 1), (1, 0), (0, 2), (2, 1), (5, 0), (0, 5), (0, 4), (4, 1), (6, 1))
_HEAD: Final = ("# Drafted by hatch-cuda-kernels port; read it before you use it.", "schema: 1")


@dataclass(frozen=True, slots=True)
class DraftedModule:
    """What a manifest states of one source."""

    name: str
    plain: Mapping[str, Any]
    """What is stated beside instances, by key."""
    templates: tuple[Template, ...]
    """The kernels that are templates in its files."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Instances that NVRTC refuses, with its reasons: they are left out."""
    guessed: tuple[str, ...] = ()
    """Others, of kernels whose arguments nothing tells."""
    notes: tuple[str, ...] = ()

    @property
    def seen(self) -> dict[str, None]:
        """The instances that launches and uses tell."""
        return dict.fromkeys(name for template in self.templates for name in template.names)

    @property
    def instances(self) -> list[str]:
        """The instances to list."""
        return [*dict.fromkeys((*(name for name in self.seen if name not in self.refused), *self.guessed))]

    @property
    def headers(self) -> list[str]:
        """The headers that declare the types of the instances."""
        texts = ["", "", *lex(" ".join(self.instances))]
        of_cuda, roots = headers_in("cuda", "device"), words_in("torch", "torch", "roots")
        found = (
            torch_paths("names").get((text,)) if (before == "::" and root in roots) else of_cuda.get(text)
            for root, before, text in zip(texts, texts[1:], texts[2:], strict=False)
        )
        return [*dict.fromkeys(filter(None, found))]

    @property
    def stated(self) -> dict[str, Any]:
        """What is stated by key, ``source`` among them."""
        found = {"instances": self.instances, "options": {"pre_include": self.headers} if self.headers else {}}
        return {**self.plain, **{key: value for key, value in found.items() if value}}

    @property
    def open_ends(self) -> tuple[str, ...]:
        """What the launches do not say, and what NVRTC refuses: of instances for one reason, the first are named."""
        told: list[str] = []
        for template in self.templates:
            shown = template.instance(template.parameters)
            told += [] if template.sites else [f"{shown}: no launch was seen; list its instances"]
            for site in (one for one in template.sites if not one.names):
                arguments = "" if site.template is None else f"<{', '.join(site.template)}>"
                spelled = f"{site.kernel}{arguments}({', '.join(site.arguments)})"
                told.append(f"{shown}: launched at {site.path}:{site.line} as {spelled}; list its instances")
        alike: dict[str, list[str]] = {}
        for name in (one for one in self.seen if one in self.refused):
            alike.setdefault(self.refused[name], []).append(name)
        for reason, names in alike.items():
            told += [f"{name} is left out: {reason}" for name in names[:_MOST_NAMED]]
            if len(names) > _MOST_NAMED:
                told.append(f"and {len(names) - _MOST_NAMED} more for the same reason")
        told += [f"{name} is a guess that compiles: no launch shows its arguments" for name in self.guessed]
        return tuple(dict.fromkeys((*told, *self.notes)))

    def guesses(self, enumerators: Mapping[str, tuple[str, ...]]) -> list[list[str]]:
        """Return instances to try of each kernel that has none, the likeliest first."""
        source, refused = self.plain.get("source"), self.refused.keys()
        left = (one for one in self.templates if one.path == source and refused >= {*one.names})
        found = ([*dict.fromkeys(map(one.instance, _guesses(one, enumerators)))] for one in left)
        return [*filter(None, found)][:_MOST_GUESSED]


def manifest_text(modules: Iterable[DraftedModule], options: NvrtcOptions) -> str:
    """Return a manifest of modules, for sources that are compiled with these options."""
    stated = stated_options(options)
    lines = [*_HEAD, *([f"options: {flow(stated)}"] if stated else []), "modules:"]
    for module in modules:
        keys = module.stated
        if options.pre_include and "options" in keys:  # its list is in place of the one for all modules
            keys["options"] = {"pre_include": [*dict.fromkeys((*options.pre_include, *module.headers))]}
        lines += [f"  {module.name}:", *(f"    {key}: {flow(value)}" for key, value in keys.items())]
        lines += [f"    # {one}" for one in module.open_ends]
    return "\n".join([*lines, ""])


def enumerators_of(declarations: Iterable[Declaration]) -> dict[str, tuple[str, ...]]:
    """Return the first values of the enumerations outside classes, as a manifest spells them."""
    found: dict[str, tuple[str, ...]] = {}
    for one in declarations:
        if one.kind == "enum" and not one.is_member:
            is_scoped = not {"class", "struct"}.isdisjoint(one.words)
            scope = [*filter(None, (*one.scope, one.name if is_scoped else ""))]
            found[one.name] = tuple("::".join((*scope, name)) for name in one.enumerators[:2])
    return found


def _guesses(template: Template, enumerators: Mapping[str, tuple[str, ...]]) -> Iterator[list[str]]:
    """Yield arguments of a kernel to try, the likeliest first; what launches tell of them is kept."""
    values = entry("cuda", "guesses")
    plain = {word for one in (*values["types"], *values["flags"]) for word in one.split()}
    seen = next((each for site in template.sites for each in (*site.meanings, site.template or ())), ())
    open_ones = {name for site in template.sites for name, values in site.axes.items() if not values}
    is_known = [
        words(one) <= plain or ("::" in one and "typename" not in one and open_ones.isdisjoint(one))
        for one in map(lex, seen)
    ]
    for kind, number in _ROUNDS:
        parts: list[str] = []
        for at, tokens in enumerate(template.heads):
            if at < len(seen) and is_known[at]:
                parts.append(seen[at])
            elif at >= template.required:
                break
            else:
                tried = _values(tokens, template.parameters[at], enumerators)
                parts.append(tried[(kind if tried is values["types"] else number) % len(tried)])
        yield parts


def _values(texts: Sequence[str], name: str, enumerators: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return what may be given for a parameter; NVRTC says what of it may not."""
    values: dict[str, Sequence[str]] = entry("cuda", "guesses")
    if texts[0] in {"typename", "class"}:
        return values["sizes" if any(part in name.lower() for part in values["of_sizes"]) else "types"]
    if texts[0] == "bool":
        return values["flags"]
    known = next((enumerators[word] for word in texts[:-1] if enumerators.get(word)), ())
    return known or values["blocks" if any(part in name.lower() for part in values["of_blocks"]) else "numbers"]
