"""Jobs: which songs an algorithm plays for one listener."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.algorithms.recommender import Answer
from bandstand.inference.mcmc import Mcmc
from bandstand.model.novelty import novelty
from bandstand.model.priors import paper_prior
from bandstand.model.rank_frequency import plays_by_rank
from bandstand.types import MONTH
from bandstand_lab.paper.repetition.settings import EXACT, SAMPLED, SETTINGS
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.session import follow
from bandstand_lab.simulation.streams import radio_seed, stream

if TYPE_CHECKING:
    from collections.abc import Hashable

    from bandstand.algorithms.recommender import Recommender
    from bandstand.types import Indices, Vector
    from bandstand_lab.simulation.clock import Clock
    from bandstand_lab.simulation.worlds import Meeting

# Effective draws of the sampler; its default is 2,000, at three times the cost.
DRAWS: Final = 400
# The sampler draws anew after each of so many first answers, then after every tenth.
LEARN_EACH: Final = 100
LEARN_EVERY: Final = 10


def played(setting: str, algorithm: str, run: int, seed: int, plays: int) -> dict[str, Any]:
    """Return the rows of the songs that `algorithm` plays for listener number `run`."""
    here = SETTINGS[setting]
    trace = run_one(here.world, algorithm, run=run, seed=seed, steps=plays, clock=here.clock)
    return {"rows": trace.rows.tolist()}


def played_by_sampling(setting: str, run: int, seed: int, first: int, plays: int) -> dict[str, Any]:
    """Return what the sampling algorithm plays after `first` songs that the exact one chose.

    Both have the same posterior, only one of them draws from it. So a run of thousands of songs
    can be cut into pieces that need not wait for each other. Every song is chosen by draws; they
    are made anew after each of the first answers, later after every tenth, since one answer
    in hundreds hardly moves them.
    """
    here = SETTINGS[setting]
    meeting = here.world.meeting(run, seed)
    answers = _exact_answers(meeting, here.clock, run, seed, first)
    radio = _sampling_radio(meeting, run, seed, answers)
    row_of: dict[Hashable, int] = {song: row for row, song in enumerate(radio.ids)}
    rows = []
    for step in range(first + 1, first + plays + 1):
        if step > first + 1 and (step <= LEARN_EACH or (step - 1) % LEARN_EVERY == 0):
            radio = _sampling_radio(meeting, run, seed, answers)
        moment = here.clock.moment(step)
        (song,) = radio.recommend(at=moment)
        row = row_of[song]
        heard = radio.songs(at=moment).take([row])
        rating = float(meeting.listener.rate(heard, stream(seed, "answer", run, step))[0])
        answers.append(Answer(song=song, rating=rating, time=moment))
        # Heard, but not learnt from until the next draws.
        radio.update(song, rating=rating, time=moment, weight=0.0)
        rows.append(row)
    return {"rows": rows}


def _exact_answers(meeting: Meeting, clock: Clock, run: int, seed: int, steps: int) -> list[Answer]:
    exact = meeting.radio(EXACT, seed=radio_seed(seed, run))
    for _ in follow(exact, meeting.listener, steps=steps, clock=clock, seed=seed, number=run):
        pass
    return list(exact.answers)


def _sampling_radio(meeting: Meeting, run: int, seed: int, answers: list[Answer]) -> Recommender:
    radio = meeting.radio(SAMPLED, seed=radio_seed(seed, run))
    radio.engine = Mcmc(
        prior=meeting.prior or paper_prior(meeting.features.shape[1]), effective_draws=DRAWS
    )
    radio.replay(answers)
    return radio


def played_by_knowing(setting: str, run: int, seed: int, plays: int) -> dict[str, Any]:
    """Return what somebody plays who knows the taste of listener number `run`."""
    here = SETTINGS[setting]
    meeting = here.world.meeting(run, seed)
    liking = meeting.listener.liking(meeting.features)
    rows = best_songs(liking, meeting.listener.recovery_time, plays, here.clock)
    return {"rows": rows.tolist()}


def played_by_recovery_time(
    setting: str, recovery_times: list[float], seed: int, plays: int
) -> list[dict[str, Any]]:
    """Return how often songs are played by rank for one known taste that recovers so slowly."""
    here = SETTINGS[setting]
    meeting = here.world.meeting(0, seed)
    liking = meeting.listener.liking(meeting.features)
    return [
        {
            "minutes": minutes,
            "plays_by_rank": plays_by_rank(best_songs(liking, minutes, plays, here.clock)).tolist(),
        }
        for minutes in recovery_times
    ]


def best_songs(liking: Vector, recovery_time: float, plays: int, clock: Clock) -> Indices:
    """Return the song of largest U = Uc · Un at each moment (3), for a taste that is known."""
    last = np.full(len(liking), -np.inf)
    rows = np.empty(plays, dtype=np.intp)
    for step in range(plays):
        now = clock.moment(step + 1) / 60
        worth = liking * novelty(np.minimum(now - last, MONTH), recovery_time)
        rows[step] = np.argmax(worth)
        last[rows[step]] = now
    return rows
