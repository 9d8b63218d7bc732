"""Makes objects of the declarations on the page of the Python reference: each name gets an anchor and an index entry.

A declaration is a block of Python whose bodies are all ``...``. The comment at the end of its line describes it; of one
with a section to itself, the text below does.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["Declared", "declared", "with_objects"]

BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
FENCE = re.compile(r"^```\w.*?^```$", re.MULTILINE | re.DOTALL)
PAGE_STARTS = "```{py:module} hatch_cuda_kernels\n```\n\n"


@dataclass
class Declared:
    """One declaration: the node, the comment that describes it, and what is declared in it."""

    node: ast.stmt
    comment: str = ""
    members: list[Declared] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What it declares."""
        match self.node:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                return name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                return name
        raise ValueError(ast.dump(self.node))


def declared(code: str) -> list[Declared] | None:
    """Return what a block declares, or None if it is code that does something."""
    tree = ast.parse(code)
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type == tokenize.COMMENT
    }
    if not all(map(_declares, tree.body)):
        return None
    return [_read(node, comments) for node in tree.body]


def _declares(node: ast.stmt) -> bool:
    match node:
        case ast.ClassDef(body=body):
            return all(map(_declares, body))
        case ast.FunctionDef(body=[only]) | ast.AsyncFunctionDef(body=[only]):
            return _is_blank(only)
    return isinstance(node, ast.AnnAssign | ast.Assign) or _is_blank(node)


def _is_blank(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


def _read(node: ast.stmt, comments: dict[int, str]) -> Declared:
    if isinstance(node, ast.ClassDef):
        members = [_read(member, comments) for member in node.body if not _is_blank(member)]
        return Declared(node, comments.get(node.lineno, ""), members)
    return Declared(node, comments.get(node.end_lineno or node.lineno, ""))


def with_objects(page: str) -> str:
    """Return a page of Markdown whose declarations are objects, with the text below each as its description."""
    ends = [0, *(heading.start() for heading in HEADING.finditer(FENCE.sub(_masked, page))), len(page)]
    sections = [page[start:end] for start, end in pairwise(ends)]
    return PAGE_STARTS + "".join(map(_section, sections))


def _masked(fence: re.Match[str]) -> str:
    """Return as many characters, none of which begins a heading."""
    return re.sub(r"[^\n]", "x", fence[0])


def _section(text: str) -> str:
    """Return a section whose block of declarations, if it begins with one, is made objects."""
    block = next((found for found in BLOCK.finditer(text) if declared(found[1]) is not None), None)
    if block is None:
        return text
    found = declared(block[1]) or []
    before, after = text[: block.start()], text[block.end() :]
    match found:
        case [Declared(node=ast.ClassDef(), comment="", members=[Declared(comment="") as only]) as owner] if isinstance(
            only.node, ast.FunctionDef | ast.AsyncFunctionDef
        ):
            return before + _directive(only, after, owner.name) + "\n"
        case [one]:
            return before + _directive(one, after) + "\n"
    return before + "".join(_directive(one) for one in found) + after


def _directive(declaration: Declared, text: str = "", owner: str | None = None) -> str:
    """Return the directive of a declaration, with its description, a further text, and its members."""
    node, name = declaration.node, f"{owner}.{declaration.name}" if owner else declaration.name
    kind, argument, options = _object(node, name, member=owner is not None)
    members = "".join(_directive(member, owner=declaration.name) for member in declaration.members)
    content = "\n\n".join(filter(None, (_sentence(declaration.comment), _bases(node), text.strip(), members.strip())))
    fence = "`" * (3 + max(len(ticks) for ticks in re.findall(r"`*", content)))
    marked = "".join(f":{option}: {value}\n" for option, value in options.items())
    return f"{fence}{{py:{kind}}} {argument}\n{marked}\n{content}\n{fence}\n\n"


def _object(node: ast.stmt, name: str, *, member: bool) -> tuple[str, str, dict[str, str]]:
    """Return the kind of an object, its name with its signature, and the options of its directive."""
    match node:
        case ast.ClassDef(bases=bases):
            errors = any(ast.unparse(base).endswith(("Error", "Exception")) for base in bases)
            return "exception" if errors else "class", name, {}
        case ast.AnnAssign(annotation=annotation):
            return "attribute", name, {"type": ast.unparse(annotation)}
        case ast.Assign(value=value):
            return "attribute", name, {"value": ast.unparse(value)}
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            marks = {ast.unparse(mark) for mark in node.decorator_list}
            if marks & {"property", "cached_property"}:
                return "property", name, {"type": ast.unparse(node.returns or ast.Constant(None))}
            return "method" if member else "function", *_signed(node, name, marks)
    raise ValueError(ast.dump(node))


def _signed(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, marks: set[str]) -> tuple[str, dict[str, str]]:
    """Return a function's name with its whole signature, without self, and the options of its directive."""
    taken = node.args.args[1:] if node.args.args[:1] and node.args.args[0].arg in {"self", "cls"} else node.args.args
    node.args.args = taken
    options = {"async": ""} if isinstance(node, ast.AsyncFunctionDef) else {}
    options |= {"classmethod": ""} if "classmethod" in marks else {}
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{name}({ast.unparse(node.args)}){returns}", options


def _bases(node: ast.stmt) -> str:
    """Return what a class derives from, in words."""
    bases = [f"`{ast.unparse(base)}`" for base in node.bases] if isinstance(node, ast.ClassDef) else []
    return f"Derives from {' and '.join(bases)}." if bases else ""


def _sentence(comment: str) -> str:
    """Return a comment as a sentence, with what is quoted and what only code can be set as code."""
    if not comment:
        return ""
    marked = re.sub(r'"[^"]*"|\b\w*_\w+\b', lambda found: f"`{found[0]}`", comment)
    return f"{marked[:1].upper()}{marked[1:]}{'' if marked.endswith('.') else '.'}"
