"""The doors of folders: importing a name loads the module that defines it, and no other."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package that offers names of its modules, with spaces between the names."""
    homes = {name: f"{package}.{module}" for module, names in modules.items() for name in names.split()}

    def look_up(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)  # waits for a module that another thread is importing

    return look_up
