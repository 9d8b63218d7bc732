"""The doors of folders: importing a name loads the module that defines it, and no other.

A child that is forked meanwhile imports it by itself.
"""

from __future__ import annotations

import importlib._bootstrap
import os
import sys
from _thread import get_ident
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType


def lazy(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package that offers names of its modules, with spaces between the names."""
    homes = {name: f"{package}.{module}" for module, names in modules.items() for name in names.split()}

    def look_up(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = sys.modules.get(homes[name])
        if module is None or getattr(module.__spec__, "_initializing", True):
            module = import_module(homes[name])  # waits for a module that another thread is importing
        return getattr(module, name)

    return look_up


_PACKAGE = os.path.dirname(__file__)  # noqa: PTH120 - a hit need not import pathlib
#: Whether another thread was importing for this package, or importing this package, when this process was forked.
_forked_in_imports = [False]


def _note_imports() -> None:
    own, frames = get_ident(), sys._current_frames()  # noqa: SLF001 - a documented function
    _forked_in_imports[0] = any(_imports(frame) for thread, frame in frames.items() if thread != own)


def _imports(frame: FrameType | None) -> bool:
    is_ours = is_importing = False
    while frame is not None and not (is_ours and is_importing):
        file = frame.f_code.co_filename
        is_ours = is_ours or file.startswith(_PACKAGE)
        is_importing = is_importing or file.startswith("<frozen importlib")
        frame = frame.f_back
    return is_ours and is_importing


def _import_again() -> None:
    """In a forked child, let modules be imported anew that threads of the parent have begun with.

    Python would wait for those threads for ever: it renews its own lock of imports in a child, but not those of modules
    (seen with 3.11 to 3.13).
    """
    if not _forked_in_imports[0]:
        return
    locks = getattr(importlib._bootstrap, "_module_locks", {})  # noqa: SLF001 - nothing public gives them
    for name, reference in [*locks.items()]:
        lock = reference()
        if lock is not None and lock.owner not in {None, get_ident()}:
            locks.pop(name)
            if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
                _forget(name)


def _forget(name: str) -> None:
    """Forget a module and those below it, which it may expect to import; an extension can be imported only once."""
    for found in [found for found in sys.modules if found == name or found.startswith(f"{name}.")]:
        if not str(getattr(sys.modules[found], "__file__", "")).endswith((".so", ".pyd")):
            del sys.modules[found]


def _renew_property_locks() -> None:
    """Give cached properties new locks, which they have before Python 3.12: a thread of the parent may be in one."""
    ours = [module for name, module in sys.modules.items() if name.startswith(__package__)]
    classes = [value for module in ours for value in vars(module).values() if isinstance(value, type)]
    for member in [member for found in classes for member in vars(found).values()]:
        if type(member).__name__ == "cached_property":
            member.lock = type(member.lock)()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_note_imports, after_in_child=_import_again)
    if sys.version_info < (3, 12):
        os.register_at_fork(after_in_child=_renew_property_locks)
