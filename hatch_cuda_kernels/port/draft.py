"""Drafts a manifest from the templates and launches of sources."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.port.launches import template_parameters
from hatch_cuda_kernels.port.model import Template

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.host_code.items import Outline
    from hatch_cuda_kernels.port.model import Launch

__all__ = ["draft_manifest", "find_templates", "module_name"]

#: What declares the types that instances may have.
_HEADERS: Final = {"__half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h"}
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
            parameters = template_parameters(text[item.start : declared.first])
            found.setdefault(name, Template(path, line, name, parameters))
    return list(found.values())


def module_name(source: str) -> str:
    """Return what a source's module is called: its name without the suffix, in letters that a module may have."""
    stem = re.sub(r"\W", "_", source.rpartition("/")[2].partition(".")[0], flags=re.ASCII)
    return stem if stem[:1].isalpha() or stem[:1] == "_" else f"_{stem}"


def draft_manifest(modules: Sequence[tuple[str, Sequence[Template], Sequence[Launch]]], include: Sequence[str]) -> str:
    """Return a manifest's text: for each module its source, its template kernels and the launches that it leads to."""
    lines = [_HEAD.rstrip()]
    if include:
        lines.append(f"options: {{include: {_flow(include)}}}")
    lines.append("modules:")
    taken: dict[str, int] = {}
    for source, templates, launches in modules:
        name = module_name(source)
        taken[name] = taken.get(name, 0) + 1
        lines += [f"  {name if taken[name] == 1 else f'{name}_{taken[name]}'}:", f"    source: {_word(source)}"]
        lines += _instances(templates, launches)
    return "\n".join([*lines, ""])


def _instances(templates: Sequence[Template], launches: Sequence[Launch]) -> Iterator[str]:
    """Yield the lines of a module's instances and matrix; comments where the launches do not say enough."""
    matrix: dict[str, tuple[str, ...]] = {}
    instances: dict[str, None] = {}
    open_ends: dict[str, None] = {}
    for template in templates:
        found = [launch for launch in launches if _plain(launch.kernel) == _plain(template.name)]
        if not found:
            open_ends[f"# {_shown(template)}: no launch was seen; list its instances"] = None
        for launch in found:
            text = _expression(template, launch, matrix)
            if text is None:
                unknown = f"# {_shown(template)}: launched at {launch.path}:{launch.line} as {_spelled(launch)}"
                open_ends[f"{unknown}; list its instances"] = None
            else:
                instances[text] = None
    if instances:
        yield f"    instances: {_flow(list(instances))}"
    headers = [header for word, header in _HEADERS.items() if word in str([*instances, *matrix.values()])]
    if headers:
        yield f"    options: {{pre_include: {_flow(headers)}}}"
    used = {name: values for name, values in matrix.items() if any(f"{{{name}}}" in text for text in instances)}
    if used:
        yield f"    matrix: {{{', '.join(f'{name}: {_flow(values)}' for name, values in used.items())}}}"
    yield from (f"    {line}" for line in open_ends)


def _expression(template: Template, launch: Launch, matrix: dict[str, tuple[str, ...]]) -> str | None:
    """Return the instance, or pattern of instances, of a launch; None where its template arguments are not known."""
    if launch.template is None or any(not values for _, values in launch.axes):
        return None
    arguments = ", ".join(launch.template)
    for name, values in launch.axes:
        merged = tuple(dict.fromkeys((*matrix.get(name, ()), *values)))
        matrix[name] = merged
        arguments = re.sub(rf"\b{name}\b", f"{{{name}}}", arguments)
    return f"{template.name}<{arguments}>"


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
