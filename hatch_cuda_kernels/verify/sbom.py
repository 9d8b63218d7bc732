"""Check that a wheel's bill of materials is of the images that the wheel has."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.shape import check_shape
from hatch_cuda_kernels.store.opened import UNREADABLE, read_member
from hatch_cuda_kernels.store.sbom import SBOM_FILE, Distribution, sbom_text
from hatch_cuda_kernels.verify.model import Outcome
from hatch_cuda_kernels.verify.subject import REBUILD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.verify.subject import Subject

__all__ = ["check_sbom"]

_MADE_BY = {"metadata": {"tools": {"components": [{"version": str}]}}, "components": [{"bom-ref": str}]}


def check_sbom(subject: Subject) -> Outcome:
    """Check that the document is, byte for byte, what a build writes for this store and this project."""
    if subject.wheel is None:
        return Outcome.skip("this is not a wheel")
    if subject.damage:
        return Outcome.skip("the store cannot be read")
    with zipfile.ZipFile(subject.wheel) as archive:
        places = [name for name in archive.namelist() if name.endswith(f".dist-info/sboms/{SBOM_FILE}")]
        if not places:
            return Outcome.skip(f"the wheel has no {SBOM_FILE}")
        try:
            text = read_member(archive, places[0])
        except UNREADABLE:
            return Outcome.skip(f"{SBOM_FILE} cannot be read")  # the check of the wheel says why
    try:
        found: dict[str, Any] = json.loads(text)
        check_shape(found, _MADE_BY)
        made_by = found["metadata"]["tools"]["components"][0]["version"]
    except (ValueError, IndexError, RecursionError):
        return Outcome.of(0, "components", [Problem(f"{SBOM_FILE} is not a document that a build writes", REBUILD)])
    differences = _differences(subject, places[0], text, made_by)
    problems = (Problem(f"{SBOM_FILE} is not of this wheel: it differs in {what}", REBUILD) for what in differences)
    return Outcome.of(len(found["components"]), "components", problems)


def _differences(subject: Subject, place: str, text: bytes, made_by: str) -> Iterator[str]:
    """Yield where the document differs from the one that a build by this version of the package writes, if it does."""
    name, _, version = place.partition("/")[0].removesuffix(".dist-info").rpartition("-")
    try:
        written = sbom_text(subject.reader, Distribution(name.replace("_", "-"), version), made_by=made_by)
    except (KeyError, ValueError):
        return  # the check of the index says that no build writes such a toolchain
    if text != written.encode():
        yield ", ".join(_places(json.loads(text), json.loads(written))) or "order, spaces or names"


def _places(found: dict[str, Any], expected: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the components that differ, and of other members."""
    components, others = ({part["bom-ref"]: part for part in document["components"]} for document in (found, expected))
    for ref in sorted(components.keys() | others.keys()):
        if components.get(ref) != others.get(ref):
            yield ref
    for name in sorted((found.keys() | expected.keys()) - {"components", "serialNumber"}):
        if found.get(name) != expected.get(name):
            yield name
