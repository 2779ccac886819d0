"""Moments that lie ahead: what to make of them when a clock was set back.

All waits of a study are counted from moments that the store has. Once the server's clock is set
back, some of them lie ahead, and whoever waits for them would wait for as long as it went back.
When they really were cannot be known, only that it was before they were seen to lie ahead. So
that is when they count as having been: a wait is then never longer than its rule, from there on,
and never shorter in real time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

_MOST: Final = 10_000


class Moments:
    """Which moments were seen to lie ahead, and since when; to be shared by threads."""

    def __init__(self, most: int = _MOST) -> None:
        self._most: Final = most
        self._seen: OrderedDict[Hashable, int] = OrderedDict()
        self._lock: Final = threading.Lock()

    def believed(self, what: Hashable, moment: int, now: int, *, ahead: int = 0) -> int:
        """Return when `what` happened, which the store says was at `moment`.

        `ahead` is by how much it may lie ahead of `now` in all honesty.

        >>> moments = Moments()
        >>> moments.believed("rated", 1_000, now=1_200)
        1000
        >>> moments.believed("rated", 1_000, now=300), moments.believed("rated", 1_000, now=450)
        (300, 300)
        """
        key = (what, moment)
        with self._lock:
            since = self._seen.get(key)
            if since is None and moment - now <= ahead:
                return moment
            # Should the clock go back once more, the waiting begins once more.
            since = now if since is None else min(since, now)
            self._seen[key] = since
            self._seen.move_to_end(key)
            while len(self._seen) > self._most:
                self._seen.popitem(last=False)
        return since
