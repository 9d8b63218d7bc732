"""Architectures: what a module is compiled for, what a device is, and which of the first run on the second.

Rules and their sources: CUDA C++ Programming Guide, "Binary compatibility", "PTX compatibility" and "Feature set
compiler targets"; the PTX ISA release notes for the table of versions.
"""

from __future__ import annotations

from typing import Final

from hatch_cuda_kernels.records import NamedTuple


def version_text(version: tuple[int, int]) -> str:
    """Return a version as people write it: ``(13, 0)`` is ``13.0``."""
    return f"{version[0]}.{version[1]}"


def parse_version(text: str) -> tuple[int, int]:
    """Return the version of a text such as ``13.0``. Raises ValueError for any other form."""
    major, dot, minor = text.partition(".")
    # int() alone would take signs, spaces, underscores and the digits of other scripts.
    if not (dot and text.isascii() and major.isdigit() and minor.isdigit()):
        raise ValueError(f"{text!r} is not a version like 13.0")
    return int(major), int(minor)


def release_of(build: str) -> tuple[int, int]:
    """Return the release of a build: ``(13, 0)`` for ``13.0.88``. Raises ValueError for what has no two numbers."""
    return parse_version(".".join(build.split(".")[:2]))


#: Integrated (Tegra) parts. Their CUBINs are not covered by the minor-version rule in either direction.
_TEGRA: Final = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)})

_CUDA_12: Final = frozenset({50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90})
_CUDA_13: Final = frozenset({75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121})

#: (first release, base numbers it compiles), read from ``nvrtcGetSupportedArchs`` of each release, ascending.
_RELEASES: Final[tuple[tuple[tuple[int, int], frozenset[int]], ...]] = (
    ((12, 0), _CUDA_12),
    ((12, 8), _CUDA_12 | {100, 101, 120}),
    ((12, 9), _CUDA_12 | {100, 101, 103, 120, 121}),
    ((13, 0), _CUDA_13),
    ((13, 4), _CUDA_13 | {107}),
)
_FIRST_FAMILY_RELEASE: Final = (12, 9)
#: Older ones refuse the flags that make images the same in every process.
OLDEST_RELEASE: Final = (12, 9)
_FIRST_SUFFIXED: Final = {"a": 90, "f": 100}


class ComputeCapability(NamedTuple):
    """A device's compute capability, such as ``(9, 0)``."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> ComputeCapability:
        """Read ``"9.0"``. Raises ValueError for anything else."""
        import re  # not on the way to a kernel

        match = re.fullmatch(r"([1-9][0-9]*)\.([0-9])", text)
        if match is None:
            raise ValueError(f"not a compute capability: {text!r} (write it like '9.0')")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class SmArch(NamedTuple):
    """One compile target: real (``sm_90a``, gives a CUBIN) or virtual (``compute_90``, gives PTX).

    Ordered by compute capability, then suffix (none, ``a``, ``f``), then real before virtual.
    """

    major: int
    minor: int
    suffix: str = ""
    virtual: bool = False

    @classmethod
    def parse(cls, text: str) -> SmArch:
        """Read ``sm_90``, ``sm_90a``, ``compute_100f``. Raises ValueError for anything else."""
        kind, _, rest = text.partition("_")
        number = rest[:-1] if rest.endswith(("a", "f")) else rest
        # Without a regular expression: to import re takes longer than all else on the way to a kernel.
        is_number = number.isascii() and number.isdigit() and len(number) > 1 and number[0] != "0"
        if not is_number or kind not in {"sm", "compute"}:
            raise ValueError(f"unknown architecture {text!r}")
        return cls(int(number[:-1]), int(number[-1]), rest[len(number) :], kind == "compute")

    @classmethod
    def of_device(cls, capability: tuple[int, int], suffix: str = "") -> SmArch:
        """Return the real architecture of a device, ``sm_90`` for ``(9, 0)``."""
        return cls(capability[0], capability[1], suffix)

    @property
    def number(self) -> int:
        """The digits as CUDA writes them: 90 for 9.0, 121 for 12.1."""
        return self.major * 10 + self.minor

    @property
    def capability(self) -> ComputeCapability:
        """The compute capability this architecture was made for."""
        return ComputeCapability(self.major, self.minor)

    @property
    def real(self) -> SmArch:
        """The same architecture as a real one: ``sm_90a`` for ``compute_90a``."""
        return SmArch(self.major, self.minor, self.suffix)

    @property
    def plain(self) -> SmArch:
        """The same architecture without its suffix."""
        return SmArch(self.major, self.minor, "", self.virtual)

    @property
    def as_virtual(self) -> SmArch:
        """The same architecture as a virtual one: ``compute_90a`` for ``sm_90a``."""
        return SmArch(self.major, self.minor, self.suffix, virtual=True)

    def serves(self, target: SmArch) -> bool:
        """Return whether code compiled for this architecture can be finished for ``target`` by an assembler.

        Plain code goes to every architecture of the same or a higher number, ``f`` stays in its family, ``a`` stays.
        """
        if self.suffix == "a":
            return target.real == self.real
        return self.as_virtual.refusal(target.capability) is None

    def refusal(self, capability: tuple[int, int]) -> str | None:
        """Return why an image of this architecture cannot run on a device, or None when it can (by the table).

        The driver has the last word: see ``runtime.ladder.climb``.
        """
        device = ComputeCapability(*capability)
        if self.capability == device:
            return None
        if self.suffix == "a":
            return f"architecture-specific code for {self.capability} runs on no other device"
        if self.suffix == "f" and device.major != self.major:
            return f"family-specific code for {self.major}.x runs on no other family"
        if self.suffix == "f" or self.virtual:
            return None if self.capability <= device else f"needs compute capability {self.capability} or higher"
        return self._binary_refusal(device)

    def is_trial(self, capability: tuple[int, int]) -> bool:
        """Return whether only the driver can say if a plain CUBIN that the table refuses runs on a device.

        It is of the same major and a lower minor, and one of the two is an integrated part: reports go both ways.
        """
        lower = self.major == capability[0] and self.minor < capability[1]
        return lower and not self.suffix and not self.virtual and self.refusal(capability) is not None

    def _binary_refusal(self, device: ComputeCapability) -> str | None:
        if device.major != self.major:
            return f"a CUBIN for {self.capability} never runs on another major"
        if device.minor < self.minor:
            return f"a CUBIN for {self.capability} never runs on a lower minor ({device})"
        if {(self.major, self.minor), tuple(device)} & _TEGRA:
            return f"integrated (Tegra) parts are promised exact CUBINs only ({self.capability} is not {device})"
        return None

    def __str__(self) -> str:
        return f"{'compute' if self.virtual else 'sm'}_{self.number}{self.suffix}"


def preference(arch: SmArch, capability: tuple[int, int]) -> tuple[int, int]:
    """Return what sorts images of one kind that may run, best first: ``a``, exact, ``f``, then the highest base."""
    if arch.suffix == "a":
        rank = 0
    elif arch.capability == capability:
        rank = 1 if not arch.suffix else 2
    else:
        rank = 2 if arch.suffix else 3
    return rank, -arch.number


def known_archs(release: tuple[int, int]) -> tuple[SmArch, ...]:
    """Return the plain architectures a toolkit release compiles, ascending; newer releases count as the newest known.

    A proposal for validation before any compiler is loaded; ``nvrtcGetSupportedArchs`` decides.
    """
    numbers = next((numbers for first, numbers in reversed(_RELEASES) if first <= release), frozenset[int]())
    return tuple(SmArch(number // 10, number % 10) for number in sorted(numbers))


def unknown_arch(arch: SmArch, release: tuple[int, int], tool: str) -> str | None:
    """Return why a tool of a toolkit release makes no code for an architecture, or None; newer ones may know any."""
    known = release > _RELEASES[-1][0] or arch.number in {one.number for one in known_archs(release)}
    return None if known else f"{tool} does not know {arch}"


def cuda_release_for_arch(arch: SmArch, *, major: int) -> tuple[int, int] | None:
    """Return the oldest toolkit release of a major that compiles ``arch``, or None when none known does."""
    if arch.suffix and arch.number < _FIRST_SUFFIXED[arch.suffix]:
        return None
    for first, numbers in _RELEASES:
        if first[0] == major and arch.number in numbers:
            return max(first, _FIRST_FAMILY_RELEASE) if arch.suffix == "f" else first
    return None


def ptx_isa_of_driver(driver: tuple[int, int]) -> tuple[int, int] | None:
    """Return the newest PTX ISA a driver for CUDA ``driver`` knows, or None when the driver is newer than this table.

    CUDA 11.m: 7.m. CUDA 12.0 to 12.5: 8.m, 12.6 to 12.9: 8.(m-1). CUDA 13.m: 9.m (PTX ISA, release notes).
    """
    major, minor = driver
    match major:
        case 11:
            return 7, minor
        case 12:
            return 8, minor if minor < 6 else minor - 1
        case 13:
            return 9, minor
    return (6, 0) if major < 11 else None


def isa_refusal(isa: tuple[int, int], release: tuple[int, int] | None, reader: str) -> str | None:
    """Return why a driver or nvJitLink of a CUDA release cannot read PTX of an ISA, or None when it can.

    ``reader`` is its name for the message; a release of None limits nothing.
    """
    known = None if release is None else ptx_isa_of_driver(release)
    if known is None or isa <= known:
        return None
    return f"written as PTX ISA {version_text(isa)}, {reader} knows up to {version_text(known)}"
