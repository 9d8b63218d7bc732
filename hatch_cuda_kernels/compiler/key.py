"""The one key of a compile: equal keys mean equal images, so a miss always has a reason that can be named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.names import normalize_name

if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.image import Finisher, Kind

#: Raised when the way a job is compiled changes so that old images must not be taken for new ones.
KEY_SCHEMA: Final = 7
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
    return digest_of(
        ({} if finisher == "nvrtc" else {"finisher": finisher})
        | {
            "schema": KEY_SCHEMA,
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
    """Return the key of what run time makes of a shipped image. ``keep`` are the variables to keep; None for all."""
    return digest_of(
        {
            "schema": KEY_SCHEMA,
            "image": image_sha256,
            "arch": str(arch),
            "options": options,
            "finisher": finisher,
            "keep": None if keep is None else sorted(keep),
        }
    )


def digest_of(data: object) -> str:
    """Return the sha256, in hex, of data as canonical JSON."""
    return sha256(json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()).hexdigest()
