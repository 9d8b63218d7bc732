"""The handlers that XLA knows of: each under a name that says what it does, for as long as the process runs.

XLA keeps the address of a handler and takes no other one for its name. A name holds nothing of this process: programs
that JAX compiled and kept on disk call by it.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, Final

import jax

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.operators.jax.handler import Handler

if TYPE_CHECKING:
    from hatch_cuda_kernels.operators.jax.handler import LaunchTarget, Passing

__all__ = ["register"]

_Callback: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
_lock: Final = threading.Lock()
#: Handlers and what XLA calls, by scope, name and platform. They are kept for ever.
_REGISTERED: Final[dict[tuple[str, str, str], tuple[str, Handler, Any]]] = {}


def register(name: str, scope: str, passing: Passing, target: LaunchTarget) -> str:
    """Register a handler once, and return the name that calls go by.

    ``scope`` says whose kernel it is: for another one of the same name, the name is extended.
    """
    with _lock:
        known = _REGISTERED.get(key := (scope, name, target.platform))
        if known is not None:
            return known[0]
        taken = any((name, target.platform) == (other, platform) for _, other, platform in _REGISTERED)
        unique = f"{name}.{sha256(scope.encode()).hexdigest()[:8]}" if taken else name
        handler = Handler(passing, target)
        callback = _Callback(handler.handle)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        jax.ffi.register_ffi_target(unique, jax.ffi.pycapsule(address), platform=target.platform)
        _REGISTERED[key] = unique, handler, callback
        return unique
