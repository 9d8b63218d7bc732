"""The one key of a compile: equal keys mean equal images, so a miss always has a reason that can be named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.names import normalize_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.image import Finisher, Kind

#: Raised when the way a job is compiled changes so that old images must not be taken for new ones.
_KEY_SCHEMA: Final = 7
#: Options that say where headers are, or what is cut: what they led to is in the source's digest, each header
#: under its one name.
_IN_SOURCE: Final = frozenset({"include", "pre_include", "standard_headers", "host_code", "host_only"})


def cache_key(
    *,
    source_sha256: str,
    options: Mapping[str, Any],
    arch: SmArch,
    kind: Kind,
    names: Iterable[str],
    variables: Iterable[str],
    toolchain: Mapping[str, str],
    finisher: Finisher | None = "nvrtc",
) -> str:
    """Return the sha256, in hex, that names an image in the disk cache.

    ``options`` are what ``canonical_options`` gives. ``names`` are the name expressions of kernels, ``variables`` those
    that the host sets, in any order. ``toolchain`` is ``Toolchain.key_part``, of what has a part in the image. PTX that
    nothing has finished yet (``finisher``) never stands for one that is proven. No path, time, user or driver enters.
    """
    return _digest(
        ({} if finisher == "nvrtc" else {"finisher": finisher})
        | {
            "schema": _KEY_SCHEMA,
            "source": source_sha256,
            "options": {name: value for name, value in options.items() if name not in _IN_SOURCE},
            "arch": str(arch),
            "kind": kind,
            "names": sorted(map(normalize_name, expressions(names, variables))),
            **toolchain,
        }
    )


def expressions(names: Iterable[str], variables: Iterable[str]) -> tuple[str, ...]:
    """Return every name expression NVRTC is asked for: kernels as written, variables as ``&name``."""
    return (*names, *(f"&{name}" for name in variables))


def shipped_key(
    *, image_sha256: str, arch: SmArch, options: Mapping[str, Any], finisher: Finisher, keep: Iterable[str] | None
) -> str:
    """Return the sha256, in hex, that names what is made at run time of a shipped image for an architecture.

    ``keep`` are the variables that stay, by lowered name; None for all.
    """
    return _digest(
        {
            "schema": _KEY_SCHEMA,
            "image": image_sha256,
            "arch": str(arch),
            "options": options,
            "finisher": finisher,
            "keep": None if keep is None else sorted(keep),
        }
    )


def finish_key(
    *,
    front_ends: Sequence[str],
    arch: SmArch,
    kind: Kind,
    finisher: Finisher,
    version: str,
    libraries: Sequence[str] = (),
) -> str:
    """Return the sha256, in hex, that names what a finisher makes of the images that have the keys ``front_ends``.

    These keys cover the sources, the options and the architecture whose ``__CUDA_ARCH__`` the code has. ``libraries``
    are digests. The order of both matters: a linker lays out code in the order of its inputs.
    """
    linked = len(front_ends) > 1 or libraries
    start = {"units": [*front_ends], "libraries": [*libraries]} if linked else {"front_end": front_ends[0]}
    return _digest({"schema": _KEY_SCHEMA, **start, "arch": str(arch), "kind": kind, finisher: version})


def source_digest(
    *,
    program_name: str,
    source: str,
    headers: Iterable[tuple[str, str]],
    pre_include: Iterable[str],
    default_device: bool = False,
) -> str:
    """Return the sha256 of exactly what NVRTC is shown: the source and each in-memory header under its name."""
    return _digest(
        {
            "program_name": program_name,
            "source": _sha256(source),
            "headers": sorted([name, _sha256(text)] for name, text in headers),
            "pre_include": list(pre_include),
            **({"default_device": True} if default_device else {}),
        }
    )


def _digest(data: object) -> str:
    return _sha256(json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True))


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
