"""The route of a module: what NVRTC makes of its source, and what finishes that for each architecture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.libraries import defines_constants

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hatch_cuda_kernels.image import Finisher, Kind
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["FINISHER_NAMES", "Route", "choose_route"]

FINISHER_NAMES: Final[dict[Finisher, str]] = {"nvrtc": "NVRTC", "ptxas": "ptxas", "nvjitlink": "nvJitLink"}


class Route(NamedTuple):
    """How a module's images are made."""

    start: Kind
    """What NVRTC makes; there is nothing left to do of a CUBIN."""
    finisher: Finisher
    shared: bool = False
    """Whether one run of NVRTC, for the lowest architecture, serves the others too."""


def choose_route(
    options: NvrtcOptions,
    *,
    front_end: str = "per-arch",
    outside: Iterable[str] = (),
    tables: bool = False,
    linked: bool = False,
) -> Route:
    """Return the route by which a build makes a module's images.

    ``outside`` are the headers it takes from the toolkit; ``tables`` says whether it defines variables of its own, and
    ``linked`` whether it has several units, or libraries.

    | module | NVRTC makes | finished by | machine code |
    |---|---|---|---|
    | ``lto: true`` | LTO-IR, for each architecture | nvJitLink | optimized again |
    | ``front_end: lto`` | LTO-IR, once | nvJitLink, for each architecture | optimized again |
    | several sources, or libraries | objects, for each architecture | nvJitLink | of each source by itself |
    | ``front_end: ptx`` | PTX, once | ptxas, for each architecture | of a whole program |
    | ``debug: true`` | a CUBIN, for each architecture | NVRTC | NVRTC's own |
    | with constants of CUB, Thrust or libcu++, or tables | PTX, for each architecture | ptxas | NVRTC's own |
    | any other, and whatever is compiled at run time | a CUBIN, for each architecture | NVRTC | NVRTC's own |

    Variables that nobody uses are left out of PTX before it is finished, and by nvJitLink of LTO-IR; others have them.
    PTX of several sources is written by nvJitLink, too, from LTO-IR.
    For the architecture of its own front end, PTX finished by ptxas is NVRTC's own machine code, too. At run time there
    may be no ptxas, and what a compile gives must not depend on it.
    """
    if options.lto or front_end == "lto":
        return Route("ltoir", "nvjitlink", shared=front_end == "lto")
    if linked:
        return Route("object", "nvjitlink")
    if front_end == "ptx":
        return Route("ptx", "ptxas", shared=True)
    if not options.debug and (tables or any(map(defines_constants, outside))):
        return Route("ptx", "ptxas")
    return Route("cubin", "nvrtc")
