"""Whether it is of use to make shortlists for the next answer before it comes, and how long ones.

Most listeners do not need it: a shortlist lasts for hundreds of answers. For somebody of whom
little is known it lasts for none, so that all songs would be read within every question. Levels
for whatever the next answer will be are made instead, while nobody waits, as long as they prove
to be enough, and as long as it is needed.
"""

from __future__ import annotations

from typing import Final

# They have so many times as many songs as others, and more where that was not enough, up to such a
# part of all; the level within them has such a part.
_TIMES: Final = 4
_MOST: Final = 8
_WITHIN: Final = 6
# After so many more that were of no use than that were, there are none for so many questions.
_MISSES: Final = 3
_PAUSE: Final = 48
# They are of use if no more of their songs have to be looked at.
_WORTH_IT: Final = 256
# Levels last by themselves if those before were still enough so many times in a row, of every so
# many questions.
_SPARED: Final = 2
_EVERY: Final = 4


class Lookahead:
    """What was seen of one listener's levels."""

    def __init__(self) -> None:
        self.is_on = False  # every answer may move further than a shortlist lasts
        self.is_tried = False  # the levels now in use were made for an answer
        self._times = _TIMES
        # How much oftener they were of no use than of some; nothing is known in the beginning, so
        # that the first ones have to prove themselves.
        self._misses = 1
        self._pause = 0  # questions until they are made again
        self._asked = 0
        self._spared = 0

    def count_question(self) -> None:
        """Remember that another question was asked."""
        self._asked += 1
        self._pause -= 1

    def begin(self) -> None:
        """Look ahead from now on, unless that was in vain lately: levels were not enough."""
        if self.is_tried:
            self._times *= 2
        self._judge(is_hit=False)
        self.is_on, self._spared = self._pause <= 0, 0

    def be_enough(self, needed: int) -> None:
        """Remember that levels were enough; `needed` of their songs had to be looked at."""
        self._judge(is_hit=needed <= _WORTH_IT)

    @property
    def looks_back(self) -> bool:
        """Whether it is time to find out if the levels before would have been enough."""
        return self.is_on and self._asked % _EVERY == 0

    def look_back(self, *, is_spared: bool) -> None:
        """Remember whether they would, and end if they would mostly."""
        self._spared = self._spared + 1 if is_spared else 0
        self.is_on = self._spared < _SPARED

    def sizes(self, usual: tuple[int, ...], songs: int) -> tuple[int, ...]:
        """Return the sizes of levels for whatever the next answer will be."""
        first = min(self._times * usual[0], max(songs // _MOST, usual[0]))
        inner = (max(size, first // _WITHIN) for size in usual[1:])
        return (first, *(size for size in inner if 2 * size <= first))

    def _judge(self, *, is_hit: bool) -> None:
        if not self.is_tried:
            return
        self.is_tried = False
        self._misses = max(self._misses - 1, 0) if is_hit else self._misses + 1
        if self._misses >= _MISSES:
            self._misses, self._times = _MISSES - 1, _TIMES
            self.is_on, self._pause = False, _PAUSE
