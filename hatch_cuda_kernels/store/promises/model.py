"""What a manifest promises about its wheel. The store records it, so that a wheel can be verified by itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn

from hatch_cuda_kernels.arch import ComputeCapability
from hatch_cuda_kernels.versions import parse_version, version_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["PROMISES_FILE", "Promises", "Supports", "read_promises"]

#: Beside ``kernels.tsv``, unless the manifest promises nothing.
PROMISES_FILE: Final = "promises.json"
_PROMISES_SCHEMA: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Supports:
    """A promise the build proves: every kernel runs on these devices, with this driver, without JIT."""

    devices: tuple[ComputeCapability, ...]
    driver: tuple[int, int] | None
    """Oldest CUDA driver API; None if the manifest does not say."""
    where: Mapping[ComputeCapability, str] = field(default_factory=dict, compare=False)
    """The places in the manifest that promise the devices; not recorded in a store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """Everything a manifest promises; each part may be missing."""

    supports: Supports | None = None
    max_spill_bytes: Mapping[str, int] = field(default_factory=dict)
    """By module: maximum bytes of spill stores and loads per thread of a kernel."""
    max_wheel_size: int | None = None
    """Maximum size of the wheel file in bytes."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``promises.json`` without its schema; empty if nothing is promised."""
        data: dict[str, Any] = {}
        if self.supports is not None:
            driver = self.supports.driver
            data["supports"] = {"devices": [str(device) for device in self.supports.devices]}
            data["supports"] |= {} if driver is None else {"driver": version_text(driver)}
        if self.max_spill_bytes:
            data["max_spill_bytes"] = dict(self.max_spill_bytes)
        if self.max_wheel_size is not None:
            data["max_wheel_size"] = self.max_wheel_size
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Promises:
        """Read what ``to_json`` wrote. Raises KeyError, TypeError, AttributeError or ValueError on other data."""
        supports = data.get("supports")
        return cls(
            supports=None if supports is None else _supports(supports),
            max_spill_bytes={name: int(limit) for name, limit in data.get("max_spill_bytes", {}).items()},
            max_wheel_size=None if data.get("max_wheel_size") is None else int(data["max_wheel_size"]),
        )

    def text(self) -> str:
        """Return the whole text of ``promises.json``; empty if nothing is promised."""
        data = self.to_json()
        return f"{json.dumps({'schema': _PROMISES_SCHEMA, **data}, indent=1, sort_keys=True)}\n" if data else ""


def _supports(data: dict[str, Any]) -> Supports:
    driver, devices = data.get("driver"), data["devices"]
    if not devices or len({*devices}) < len(devices):
        raise ValueError("no device, or one twice")
    return Supports(
        devices=tuple(ComputeCapability.parse(device) for device in devices),
        driver=None if driver is None else parse_version(driver),
    )


def read_promises(store: Path) -> Promises:
    """Return the promises that a store records. Raises ValueError if they cannot be read."""
    try:
        data = json.loads((store / PROMISES_FILE).read_bytes())
        schema = data["schema"]
        if schema == _PROMISES_SCHEMA:
            found = Promises.from_json(data)
            return found if {"schema": schema, **found.to_json()} == data else _refuse()
    except FileNotFoundError:
        return Promises()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        message = f"cannot be read ({type(error).__name__}: {error})"
        raise ValueError(message) from error
    message = f"schema {schema} is not {_PROMISES_SCHEMA}: written by another version of hatch-cuda-kernels"
    raise ValueError(message)


def _refuse() -> NoReturn:
    raise ValueError("it differs from what a build writes")
