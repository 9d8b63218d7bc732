"""sha256 without OpenSSL, if the interpreter has its own: loading OpenSSL is a measurable part of a cold start."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash
    from hashlib import sha256 as _own
else:
    try:
        # hashlib takes these modules itself where OpenSSL is missing.
        _own = import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
    except ImportError:
        from hashlib import sha256 as _own


def sha256(data: bytes = b"") -> _Hash:
    """Return hashlib's sha256 of data; from OpenSSL, some times as fast, where the process has loaded that anyway."""
    loaded = sys.modules.get("hashlib")
    return _own(data) if loaded is None else loaded.sha256(data)
