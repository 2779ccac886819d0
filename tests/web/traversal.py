"""Five hundred ways to name a file that is none of a client's business (PROMISES E5)."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from pathlib import Path

_UP = (
    "../", "..\\", "%2e%2e/", "%2e%2e%2f", "..%2f", "..%5c", "%252e%252e%252f", "..%c0%af",
    "%c0%ae%c0%ae/", "..%ef%bc%8f", "....//", "..;/", ".%2e/", "..%00/", "．．/", "..\u2215",
    "/../", "\\..\\", "%uff0e%uff0e/", "..%u2215",
)  # fmt: skip
_DEPTHS = (1, 3, 6, 12)
_WRAPPERS = ("{}", "/{}", "file://{}", "{}%00.mp3", "{}\0", "0123456789abcdef/{}", "{}?", "{}#.ogg")


def traversals(secret: Path) -> list[str]:
    """Return 500 and more texts that could lead a careless server to `secret`, already quoted."""
    plain = str(secret)
    inner = plain.lstrip("/")
    up = [step * depth + inner for step, depth in product(_UP, _DEPTHS)]
    absolute = [
        plain,
        f"/{plain}",
        plain.replace("/", "\\"),
        f"/proc/self/root{plain}",
        "~" + plain,
    ]
    names = [*up, *absolute, "/etc/passwd", "/proc/self/environ", "C:\\Windows\\win.ini", "."]
    wrapped = [wrapper.format(name) for wrapper in _WRAPPERS for name in names]
    # As it stands where that can be sent, and wholly quoted.
    raw = [name for name in wrapped if name.isascii() and name.isprintable() and " " not in name]
    quoted = [quote(name, safe="") for name in wrapped]
    return list(dict.fromkeys(quoted + [name.replace("?", "").replace("#", "") for name in raw]))
