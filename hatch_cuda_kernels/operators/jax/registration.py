"""The handlers that XLA knows of: each under a name that says what it does, for as long as the process runs.

XLA keeps the address of a handler and takes no other one for its name. A name holds nothing of this process: programs
that JAX compiled and kept on disk call by it.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import jax

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.operators.jax.handler import Handler

if TYPE_CHECKING:
    from hatch_cuda_kernels.operators.jax.handler import LaunchTarget, Passing

__all__ = ["Registered", "register"]


class Registered(NamedTuple):
    """What XLA knows."""

    name: str
    handler: Handler
    callback: Any
    """What XLA calls; it must stay."""


_Callback: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
_lock: Final = threading.Lock()
#: By scope, name and platform; for ever.
_REGISTERED: Final[dict[tuple[str, str, str], Registered]] = {}


def register(name: str, scope: str, passing: Passing, target: LaunchTarget) -> Registered:
    """Register a handler, or return the one that is.

    ``scope`` says whose kernel it is: for another one of the same name, the name is extended.
    """
    with _lock:
        known = _REGISTERED.get(key := (scope, name, target.platform))
        if known is not None:
            return known
        taken = any((name, target.platform) == (other, platform) for _, other, platform in _REGISTERED)
        unique = f"{name}.{sha256(scope.encode()).hexdigest()[:8]}" if taken else name
        handler = Handler(passing, target)
        callback = _Callback(handler.handle)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        jax.ffi.register_ffi_target(unique, jax.ffi.pycapsule(address), platform=target.platform)
        return _REGISTERED.setdefault(key, Registered(unique, handler, callback))
