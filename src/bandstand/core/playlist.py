"""Playlists from the same model: the same choice again and again on a simulated clock.

A planned song's novelty drops to zero, and the belief grows more certain as if it had been
heard, while what it expects stays as it is: so a playlist explores different songs, and a
song comes back once its novelty has recovered. (Feeding back the predicted rating would be
wrong: it shrinks the noise and moves the mean.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bandstand.types import Minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from bandstand.core.engines.engine import Engine
    from bandstand.core.model.candidates import CandidateSet
    from bandstand.core.model.prediction import Prediction
    from bandstand.core.play_times import PlayTimes, SongFeatures
    from bandstand.core.policies.policy import Policy
    from bandstand.types import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanState:
    """Where a listener stands at one moment, in fact or in thought."""

    belief: Any
    listening: PlayTimes
    now: Minutes
    step: int  # the number of the next song among all recommendations

    def prediction(
        self, engine: Engine[Any], catalogue: SongFeatures, *, memory: Any
    ) -> Prediction:
        """Return what is believed of every song now."""
        songs = catalogue.songs(self.listening, self.now)
        return engine.predict(self.belief, songs, memory=memory)

    def after(
        self, row: int, length: float, engine: Engine[Any], catalogue: SongFeatures
    ) -> PlanState:
        """Return the scene when the song in `row`, which lasts `length` minutes, is over."""
        end = Minutes(self.now + length)
        return PlanState(
            belief=engine.plan(self.belief, catalogue.song(row, self.listening, self.now)),
            listening=self.listening.after(row, end),
            now=end,
            step=self.step + 1,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaylistRequest:
    """How a playlist is to be made."""

    count: int
    start: Minutes
    step: int  # the number of its first song among all recommendations
    lengths: Vector  # minutes each song of the catalogue lasts, (S,)
    allowed: CandidateSet
    randomness: Callable[[int], np.random.Generator]  # by the number of the step


def plan_playlist(
    engine: Engine[Any],
    policy: Policy,
    belief: Any,
    catalogue: SongFeatures,
    listening: PlayTimes,
    request: PlaylistRequest,
    *,
    memory: Any = None,
) -> list[tuple[int, Minutes]]:
    """Return the rows of the next songs and when each begins."""
    planned: list[tuple[int, Minutes]] = []
    scene = PlanState(belief=belief, listening=listening, now=request.start, step=request.step)
    for _ in range(request.count):
        chosen = policy.choose(
            scene.prediction(engine, catalogue, memory=memory),
            step=scene.step,
            rng=request.randomness(scene.step),
            count=1,
            allowed=_allowed(request, [row for row, _ in planned]),
        )
        if not chosen.size:
            break
        row = int(chosen[0])
        planned.append((row, scene.now))
        scene = scene.after(row, float(request.lengths[row]), engine, catalogue)
    return planned


def _allowed(request: PlaylistRequest, planned: Sequence[int]) -> CandidateSet:
    """Return what may come next: for somebody of whom nothing is known, no song twice."""
    if request.step > 1:
        return request.allowed
    others = request.allowed.without(planned)
    return others if others.rows().size else request.allowed
