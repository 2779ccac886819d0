"""Log messages of a server: one line each on standard error."""

import asyncio
import logging
import sys
from typing import Any

from bandstand.settings import Settings


def set_up_logging(settings: Settings) -> None:
    """Log to standard error, from the configured level on."""
    handler = _ToStandardError()
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    logging.getLogger("bandstand.access").disabled = not settings.access_log
    # Start and stop are logged by us.
    own = logging.getLogger("uvicorn.error")
    own.setLevel(logging.WARNING)
    own.addFilter(_is_no_cancelled_stream)


class _ToStandardError(logging.StreamHandler[Any]):
    """A handler that looks standard error up each time: a progress bar may replace it."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _OneLine(logging.Formatter):
    """A formatter that keeps messages to one line; only a traceback has more."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's name
        return super().formatMessage(record).replace("\n", " ").replace("\r", " ")


def _is_no_cancelled_stream(record: logging.LogRecord) -> bool:
    """Return whether a message says more than that a stream was cancelled at the end."""
    problem = record.exc_info[1] if record.exc_info else None
    text = str(record.msg)
    return not (isinstance(problem, asyncio.CancelledError) or text.startswith("Cancel %s running"))
