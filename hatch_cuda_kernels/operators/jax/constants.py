"""What a call knows when it is traced: the launch's shape and the numbers passed by value, as a text that XLA keeps.

It is the one attribute of a call. XLA's own scalar attributes lack float16 and half of uint64, and a handler would
decode each of them at each call; a text is compared with those it has met. It holds nothing of this process, because
compiled programs are kept on disk, too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.runtime.launch.shapes import Shape

if TYPE_CHECKING:
    from typing import Any

__all__ = ["ATTRIBUTE", "Constants"]

#: The attribute's name.
ATTRIBUTE = "launch"


class Constants(NamedTuple):
    """The constants of one call."""

    shape: Shape
    arguments: bytes
    """The parameter buffer, with zeros for the pointers."""

    def to_text(self) -> str:
        """Return the attribute."""
        shape = {name: value for name, value in self.shape._asdict().items() if value}
        return json.dumps({**shape, "arguments": self.arguments.hex()}, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: bytes) -> Constants:
        """Read what ``to_text`` wrote."""
        stated: dict[str, Any] = {"shared_mem": 0, **json.loads(text)}
        arguments = bytes.fromhex(stated.pop("arguments"))
        return cls(Shape(**{name: _sizes(value) for name, value in stated.items()}), arguments)


def _sizes(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
