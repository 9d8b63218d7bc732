"""Tuples with named fields, as ``typing.NamedTuple`` makes them.

Python takes a third of a millisecond for such a class, and makes 60 objects that it takes apart when it exits. These
take a seventh. A cold start needs thirty of them.
"""

from __future__ import annotations

from operator import itemgetter

__all__ = ["NamedTuple"]
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple, Self
else:
    try:
        from _collections import _tuplegetter
    except ImportError:  # another Python

        def _tuplegetter(index: int, _: object) -> property:
            return property(itemgetter(index))

    #: What reads a field, by its place in the tuple, for all classes.
    _READERS = []
    _SCOPE = {"_new": tuple.__new__}

    class _RecordType(type):
        """Makes classes of tuples: the fields are what a class annotates, or lists as ``_fields``."""

        def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> type:
            fields = space.get("_fields") or tuple(space.get("__annotations__", ()))
            defaults = {field: space[field] for field in fields if field in space}
            items = "".join(f"{field}, " for field in fields)
            new = eval(f"lambda _cls, {items}: _new(_cls, ({items}))", _SCOPE)  # noqa: S307 - names that Python has read
            new.__name__, new.__qualname__, new.__defaults__ = "__new__", f"{name}.__new__", (*defaults.values(),)
            while len(_READERS) < len(fields):
                _READERS.append(_tuplegetter(len(_READERS), None))
            space |= zip(fields, _READERS, strict=False)  # more readers than fields
            facts = {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
            return super().__new__(cls, name, bases, {**space, "__slots__": (), "__new__": new, **facts})

    class NamedTuple(tuple, metaclass=_RecordType):
        """A tuple with names for its items."""

        __slots__ = ()

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **named: Any) -> Self:
            return type(self)(**{**self._asdict(), **named})
