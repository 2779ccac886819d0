"""Playlists from the same model: the same choice again and again on a simulated clock.

A planned song's novelty drops to zero, and the belief grows more certain as if it had been
heard, while what it expects stays as it is: so a playlist explores different songs, and a
song comes back once its novelty has recovered. (Feeding back the predicted rating would be
wrong: it shrinks the noise and moves the mean.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bandstand.units import Minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bandstand.algorithms.situation import Catalogue, Listening
    from bandstand.arrays import Indices, Vector
    from bandstand.inference.engine import Engine
    from bandstand.policies.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaylistRequest:
    """How a playlist is to be made."""

    count: int
    start: Minutes
    step: int  # the number of its first song among all recommendations
    lengths: Vector  # minutes each song of the catalogue lasts, (S,)
    allowed: Indices
    randomness: Callable[[int], np.random.Generator]  # by the number of the step


def plan_playlist(
    engine: Engine[Any],
    policy: Policy,
    belief: Any,
    catalogue: Catalogue,
    listening: Listening,
    request: PlaylistRequest,
    *,
    memory: Any = None,
) -> list[tuple[int, Minutes]]:
    """Return the rows of the next songs and when each begins."""
    planned: list[tuple[int, Minutes]] = []
    now = request.start
    for step in range(request.step, request.step + request.count):
        songs = catalogue.songs(listening, now)
        chosen = policy.choose(
            engine.predict(belief, songs, memory=memory),
            step=step,
            rng=request.randomness(step),
            count=1,
            allowed=_allowed(request, [row for row, _ in planned]),
        )
        if not chosen.size:
            break
        row = int(chosen[0])
        planned.append((row, now))
        belief = engine.plan(belief, catalogue.song(row, listening, now))
        now = Minutes(now + float(request.lengths[row]))
        listening = listening.after(row, now)
    return planned


def _allowed(request: PlaylistRequest, planned: Sequence[int]) -> Indices:
    """Return what may come next: for somebody of whom nothing is known, no song twice."""
    if request.step > 1:
        return request.allowed
    others: Indices = np.setdiff1d(request.allowed, planned)
    return others if others.size else request.allowed
