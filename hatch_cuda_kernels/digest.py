"""sha256 without loading OpenSSL, where the interpreter has its own: that load is a measurable part of a cold start."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        # hashlib takes these modules itself where OpenSSL is missing; a process that has hashlib already uses that.
        module = "hashlib" if "hashlib" in sys.modules else "_sha2" if sys.version_info >= (3, 12) else "_sha256"
        sha256 = import_module(module).sha256
    except ImportError:
        from hashlib import sha256

__all__ = ["sha256"]
