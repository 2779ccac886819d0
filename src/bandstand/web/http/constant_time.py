"""Answers that come at a fixed time after the question, however long they took to find.

How long a song took to choose tells which algorithm chose it. So whoever takes part in a study
hears the answer so many seconds after the question, neither sooner nor, unless the choice itself
took longer, later; a refusal as well.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

T = TypeVar("T")


async def paced(work: Coroutine[Any, Any, T], *, at: float) -> T:
    """Return what `work` returns, or raise what it raises, at the time `at` of the event loop.

    The work begins at once, and goes on to its end also when nobody waits for it any more.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    task.add_done_callback(_note_outcome)
    await asyncio.sleep(max(0.0, at - loop.time()))
    return await asyncio.shield(task)


def _note_outcome(task: asyncio.Task[Any]) -> None:
    """Let asyncio know that an error was seen: whoever waits has it, and else nobody wants it."""
    if not task.cancelled():
        task.exception()
