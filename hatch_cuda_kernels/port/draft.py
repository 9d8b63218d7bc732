"""Drafts a manifest from the templates and launches of sources."""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.options import CppStd
from hatch_cuda_kernels.patterns import expand, placeholders
from hatch_cuda_kernels.port.model import Template
from hatch_cuda_kernels.port.template_head import required, template_parameters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.host_code.items import Outline
    from hatch_cuda_kernels.options import NvrtcOptions
    from hatch_cuda_kernels.port.model import Launch

__all__ = ["draft_manifest", "find_templates", "module_name"]

#: What declares the types that instances may have.
_HEADERS: Final = {"__half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h"}
_NOTHING: Final = MappingProxyType[str, str]({})
_HEAD: Final = """\
# Drafted by hatch-cuda-kernels port; read it before you use it.
schema: 1
"""


def find_templates(path: str, outline: Outline) -> list[Template]:
    """Return the kernels of a text that are templates, once each."""
    text = outline.source.text
    found: dict[str, Template] = {}
    for item in outline.items:
        declared = item.declaration
        head = text[item.start : declared.last or item.end]
        if declared.form == "template" and declared.kind == "function" and "__global__" in head:
            name = "::".join(filter(None, (item.namespace, declared.name)))
            line = outline.source.original.count("\n", 0, outline.source.place(item.start)) + 1
            own = text[item.start : declared.first]
            parameters = template_parameters(own)
            found.setdefault(name, Template(path, line, name, parameters, declared.parameters, required(own)))
    return list(found.values())


def module_name(source: str) -> str:
    """Return what a source's module is called: its name without the suffix, in letters that a module may have."""
    stem = re.sub(r"\W", "_", source.rpartition("/")[2].partition(".")[0], flags=re.ASCII)
    return stem if stem[:1].isalpha() or stem[:1] == "_" else f"_{stem}"


def draft_manifest(
    modules: Sequence[tuple[str, Sequence[Template], Sequence[Launch]]],
    options: NvrtcOptions,
    refused: Mapping[str, str] = _NOTHING,
) -> str:
    """Return a manifest's text: for each module its source, its template kernels and the launches that it leads to.

    ``refused`` are instances that NVRTC refuses, with its reasons; they are left out, and named in comments.
    """
    lines = [_HEAD.rstrip()]
    lines += _options(options)
    lines.append("modules:")
    taken: dict[str, int] = {}
    for source, templates, launches in modules:
        name = module_name(source)
        taken[name] = taken.get(name, 0) + 1
        lines += [f"  {name if taken[name] == 1 else f'{name}_{taken[name]}'}:", f"    source: {_word(source)}"]
        lines += _instances(templates, launches, refused)
    return "\n".join([*lines, ""])


def _options(options: NvrtcOptions) -> Iterator[str]:
    """Yield the line of the options of all modules, if there are any."""
    stated = [f"include: {_flow(options.include)}"] if options.include else []
    if options.define:
        defined = (name if value is None else f"{_word(name)}: {json.dumps(value)}" for name, value in options.define)
        stated.append(f"define: {{{', '.join(defined)}}}")
    if options.std is not CppStd.CPP17:
        stated.append(f"std: {options.std}")
    if stated:
        yield f"options: {{{', '.join(stated)}}}"


def _instances(templates: Sequence[Template], launches: Sequence[Launch], refused: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a module's instances and matrix; comments where the launches do not say enough."""
    matrix: dict[str, tuple[str, ...]] = {}
    instances: dict[str, None] = {}
    open_ends: dict[str, None] = {}
    for template in templates:
        found = [launch for launch in launches if _plain(launch.kernel) == _plain(template.name)]
        if not found:
            open_ends[f"# {_shown(template)}: no launch was seen; list its instances"] = None
        for launch in found:
            known = _expressions(template, launch, matrix)
            if not known:
                unknown = f"# {_shown(template)}: launched at {launch.path}:{launch.line} as {_spelled(launch)}"
                open_ends[f"{unknown}; list its instances"] = None
            instances |= dict.fromkeys(known)
    instances = dict.fromkeys(_left(instances, matrix, refused))
    open_ends |= dict.fromkeys(f"# {name} is left out: {reason}" for name, reason in refused.items())
    if instances:
        yield f"    instances: {_flow(list(instances))}"
    headers = [header for word, header in _HEADERS.items() if word in str([*instances, *matrix.values()])]
    if headers:
        yield f"    options: {{pre_include: {_flow(headers)}}}"
    used = {name: values for name, values in matrix.items() if any(f"{{{name}}}" in text for text in instances)}
    if used:
        yield f"    matrix: {{{', '.join(f'{name}: {_flow(values)}' for name, values in used.items())}}}"
    yield from (f"    {line}" for line in open_ends)


def _left(patterns: Iterable[str], matrix: Mapping[str, Sequence[str]], refused: Mapping[str, str]) -> Iterator[str]:
    """Yield the patterns of which nothing is refused, and what is left of the others; nothing twice."""
    axes = {pattern: {name: matrix[name] for name in placeholders(pattern)} for pattern in patterns}
    expanded = {pattern: list(expand(pattern, used)) for pattern, used in axes.items()}
    whole = {one for one, names in expanded.items() if placeholders(one) and not refused.keys() & {*names}}
    covered = {name for pattern in whole for name in expanded[pattern]}
    for pattern, names in expanded.items():
        if pattern in whole:
            yield pattern
        else:
            yield from (name for name in names if name not in refused and name not in covered)


def _expressions(template: Template, launch: Launch, matrix: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the instances, or the pattern of instances, of a launch; none where its template arguments are unknown."""
    if launch.template is None or any(not values for _, values in launch.axes):
        return [f"{template.name}<{', '.join(each)}>" for each in launch.meanings]
    if not launch.axes and launch.meanings:
        return [f"{template.name}<{', '.join(each)}>" for each in launch.meanings]
    arguments = ", ".join(launch.template)
    for name, values in launch.axes:
        merged = tuple(dict.fromkeys((*matrix.get(name, ()), *values)))
        matrix[name] = merged
        arguments = re.sub(rf"\b{name}\b", f"{{{name}}}", arguments)
    return [f"{template.name}<{arguments}>"]


def _plain(name: str) -> str:
    """Return a name without its namespaces."""
    return name.rpartition("::")[2]


def _shown(template: Template) -> str:
    return f"{template.name}<{', '.join(template.parameters)}>"


def _spelled(launch: Launch) -> str:
    arguments = "" if launch.template is None else f"<{', '.join(launch.template)}>"
    return f"{launch.kernel}{arguments}({', '.join(launch.arguments)})"


def _flow(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_word, values))}]"


def _word(value: str) -> str:
    """Return text as YAML, in quotes unless it is a plain word."""
    return value if re.fullmatch(r"[A-Za-z_][\w./-]*", value, re.ASCII) else json.dumps(value, ensure_ascii=False)
