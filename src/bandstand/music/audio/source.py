"""A file as the decoder may see it: no name, a bounded number of bytes, and no exceptions."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import BinaryIO

# Bytes that are read each time the file is opened, which is a handful of times. A clip needs
# a few megabytes, that of a film a few hundred.
READ_LIMIT: Final = 1 << 29
# Calls, since a decoder can also be led around in small steps. It reads 32 kB at a time.
CALL_LIMIT: Final = 1 << 17


class Source:
    """A readable, seekable file that ends once too much of it was read.

    It has no name, so no decoder can open what lies beside it. Errors of the file are kept
    in `problem` and look like its end: PyAV prints some of those that cross it.
    """

    def __init__(self, file: BinaryIO, *, limit: int = READ_LIMIT, calls: int = CALL_LIMIT) -> None:
        self._file = file
        self._limits = (limit, calls)
        self._left, self._calls_left = self._limits
        self.problem: OSError | None = None

    def renew(self) -> None:
        """Allow as much as in the beginning."""
        self._left, self._calls_left = self._limits

    def is_spent(self) -> bool:
        """Return whether more was asked for than is allowed."""
        return self._left <= 0 or self._calls_left < 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`; none at the end or beyond the limits."""
        allowed = self._left if size < 0 else min(size, self._left)
        if allowed <= 0 or not self._may_call():
            return b""
        try:
            data = self._file.read(allowed)
        except OSError as problem:
            self.problem = problem
            return b""
        self._left -= len(data)
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Return the new position, or -1 if there is no such place."""
        try:
            return self._file.seek(offset, whence) if self._may_call() else -1
        except (OSError, ValueError, OverflowError):
            return -1

    def tell(self) -> int:
        """Return the position."""
        return self._file.tell()

    def seekable(self) -> bool:
        """Return that the decoder may jump."""
        return True

    def head(self, size: int) -> bytes:
        """Return the first bytes, and go back to the beginning."""
        self.seek(0)
        data = self.read(size)
        self.seek(0)
        return data

    def _may_call(self) -> bool:
        self._calls_left -= 1
        return self._calls_left >= 0
