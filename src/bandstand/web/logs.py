"""Messages of a server: one line each on standard error."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bandstand.settings import Settings


def set_up_logging(settings: Settings) -> None:
    """Let messages go to standard error, from the chosen importance on."""
    handler = _ToStandardError()
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    logging.getLogger("bandstand.access").disabled = not settings.access_log
    # That it starts and stops is said by us.
    own = logging.getLogger("uvicorn.error")
    own.setLevel(logging.WARNING)
    own.addFilter(_is_no_goodbye)


class _ToStandardError(logging.StreamHandler[Any]):
    """A handler that asks for standard error each time: a progress bar may stand in for it."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _OneLine(logging.Formatter):
    """A formatter whose messages keep to one line; only where a mistake is has more."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's name
        return super().formatMessage(record).replace("\n", " ").replace("\r", " ")


def _is_no_goodbye(record: logging.LogRecord) -> bool:
    """Return whether a message is more than that a stream was ended since the server stops."""
    problem = record.exc_info[1] if record.exc_info else None
    said = str(record.msg)
    return not (isinstance(problem, asyncio.CancelledError) or said.startswith("Cancel %s running"))
