"""Architectures in a manifest: single ones and nvcc's words for sets, and the toolkit release they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from hatch_cuda_kernels.arch import SmArch, cuda_release_for_arch, known_archs
from hatch_cuda_kernels.manifest.kinds import Item, Kind, items_of, text
from hatch_cuda_kernels.manifest.spot import RefusedError, Spot, suggest, wrong_type
from hatch_cuda_kernels.manifest.yaml_tree import Scalar, Sequence, shorten
from hatch_cuda_kernels.versions import version_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Sequence as SequenceOf

__all__ = ["ARCHES", "WORDS", "Native", "Release", "Scope", "make_scope"]

Native: TypeAlias = "Callable[[], SequenceOf[SmArch] | None]"
Release: TypeAlias = tuple[int, int]

WORDS: Final = ("all", "all-major", "native")
_LAST_12: Final = (12, 9)
_FIRST_13: Final = (13, 0)
_NEWEST: Final = (13, 99)
_PATTERN: Final = r"(?:sm|compute)_[1-9][0-9]+[af]?|all|all-major|native"


def _first_release(arch: SmArch) -> Release | None:
    return cuda_release_for_arch(arch, major=12) or cuda_release_for_arch(arch, major=13)


def _every_arch() -> list[str]:
    plain = {arch for release in (_LAST_12, _NEWEST) for arch in known_archs(release)}
    archs = (SmArch(arch.major, arch.minor, suffix) for arch in sorted(plain) for suffix in ("", "a", "f"))
    return [str(spelled) for arch in archs if _first_release(arch) for spelled in (arch, arch.as_virtual)]


def _arch(_: Spot, written: str) -> SmArch | str:
    if written in WORDS:
        return written
    try:
        arch = SmArch.parse(written)
    except ValueError:
        arch = None
    if arch is None or _first_release(arch) is None:
        advice = suggest(
            written, (*_every_arch(), *WORDS), "; write it like sm_90, compute_90, all, all-major or native"
        )
        raise RefusedError(f"unknown architecture {shorten(written)}{advice}")
    return arch


_ARCH: Final = text("an architecture such as sm_90", _arch, pattern=_PATTERN)
_LIST: Final = items_of(_ARCH, least=1)


def _read_arches(spot: Spot) -> tuple[Item, ...]:
    if isinstance(spot.node, Scalar) and spot.node.tag == "str" and spot.node.text in WORDS:
        return (Item(spot.node.text, spot),)
    if not isinstance(spot.node, Sequence):
        raise wrong_type(f"a list of architectures or one of {', '.join(WORDS)}", spot)
    items: tuple[Item, ...] = _LIST.read(spot)
    return items


ARCHES: Final = Kind(_read_arches, {"anyOf": [{"enum": list(WORDS)}, _LIST.schema]})


class Scope(NamedTuple):
    """What the words for sets of architectures stand for: a toolkit release, and this machine's architectures."""

    release: Release
    native: tuple[SmArch, ...] = ()

    def expand(self, items: Iterable[Item]) -> tuple[SmArch, ...]:
        """Return the architectures of a list, sorted and without repeats."""
        return tuple(sorted({arch for item in items for arch in self._meaning(item.value)}))

    def check(self, items: Iterable[Item], *, stated: bool) -> None:
        """Note a problem for each architecture the release does not know; ``stated`` is whether the user chose that."""
        for item in items:
            for arch in self._meaning(item.value):
                first = cuda_release_for_arch(arch, major=self.release[0])
                if first is None or first > self.release:
                    item.spot.report(_release_refusal(arch, self.release if stated else None))

    def _meaning(self, value: SmArch | str) -> tuple[SmArch, ...]:
        if isinstance(value, SmArch):
            return (value,)
        if value == "native":
            return self.native
        archs = known_archs(self.release)
        if value == "all-major":
            archs = tuple({arch.major: arch for arch in reversed(archs)}.values())
        return (*archs, max(archs).as_virtual)


def make_scope(items: SequenceOf[Item], release: Release | None, native: Native) -> Scope:
    """Return the scope that all lists of a manifest share. The default release is the oldest 13.x that knows them all.

    Calls ``native`` only if an item is that word, and notes a problem if it finds no GPU.
    """
    asking = [item for item in items if item.value == "native"]
    machine = tuple((native() if asking else None) or ())
    for item in asking if not machine else ():
        item.spot.report("this machine has no GPU; list architectures instead")
    listed = (*machine, *(item.value for item in items if isinstance(item.value, SmArch)))
    oldest = max((cuda_release_for_arch(arch, major=13) or _FIRST_13 for arch in listed), default=_FIRST_13)
    return Scope(release or oldest, machine)


def _release_refusal(arch: SmArch, stated: Release | None) -> str:
    name = f"CUDA {version_text(stated)}" if stated else "CUDA 13"
    first = cuda_release_for_arch(arch, major=stated[0] if stated else 13) or _first_release(arch)
    if first is None:
        return f"no known CUDA release compiles '{arch}'; list architectures instead"
    if cuda_release_for_arch(arch, major=13):
        return f"{name} does not know '{arch}'; the first release that does is {version_text(first)}"
    return f"{name} does not know '{arch}'; {version_text(_LAST_12)} does, so write cuda: \"{version_text(_LAST_12)}\""
