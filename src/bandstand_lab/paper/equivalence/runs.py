"""The jobs: both radios for one listener; and single steps of both after the same ratings."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand_lab.paper.equivalence.design import EXACT, MCMC
from bandstand_lab.simulation.clock import PAPER_CLOCK
from bandstand_lab.simulation.session import follow
from bandstand_lab.simulation.streams import radio_seed
from bandstand_lab.simulation.trace import Trace
from bandstand_lab.simulation.worlds import GaussianWorld

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.algorithms.recommender import Answer, Recommender
    from bandstand.types import Vector
    from bandstand_lab.report.study import Json
    from bandstand_lab.simulation.worlds import Meeting

# So many steps in a row are timed; the first is left out, since it finds nothing at hand yet.
_TIMED: Final = 4
# Repeats are numbered so far from each other that they meet no other listener's noise.
_APART: Final = 1_000


def regrets(
    *, world: Mapping[str, Json], run: int, seed: int, steps: int, repeats: int
) -> dict[str, Json]:
    """Return the regret after each step of both radios for one listener.

    The exact radio takes so little time that it meets the listener `repeats` times, with another
    first song and another noise each time; the first time with those of the sampling radio.
    """
    meeting = GaussianWorld(**world).meeting(run, seed)
    exact = [
        _trace(meeting, EXACT, number=run + _APART * repeat, seed=seed, steps=steps)
        for repeat in range(repeats)
    ]
    mcmc = _trace(meeting, MCMC, number=run, seed=seed, steps=steps)
    same = exact[0].rows == mcmc.rows
    return {
        "together": steps if same.all() else int(np.argmin(same)),
        EXACT: [trace.regret.tolist() for trace in exact],
        MCMC: mcmc.regret.tolist(),
    }


def _trace(meeting: Meeting, name: str, *, number: int, seed: int, steps: int) -> Trace:
    """Return what a radio does; first song and noise depend on the seed and the number."""
    radio = meeting.radio(name, seed=radio_seed(seed, number))
    played = follow(radio, meeting.listener, steps=steps, seed=seed, number=number)
    return Trace.of(name, number, played)


def step_times(*, world: Mapping[str, Json], seed: int, ratings: int) -> dict[str, Json]:
    """Return the seconds of a step of both radios, and how near their choices are.

    Both have learnt the same ratings, those of a listener of the exact radio.
    """
    place = GaussianWorld(**world)
    meeting = place.meeting(0, seed)
    radios = {name: meeting.radio(name, seed=radio_seed(seed, 0)) for name in (EXACT, MCMC)}
    for _ in follow(radios[EXACT], meeting.listener, steps=ratings, seed=seed):
        pass
    answers = radios[EXACT].answers
    radios[EXACT] = meeting.radio(EXACT, seed=radio_seed(seed, 0))
    seconds = {name: _step_seconds(radio, answers) for name, radio in radios.items()}
    return {"seconds": seconds, "agreement": _agreement(radios, PAPER_CLOCK.moment(ratings + 1))}


def _step_seconds(radio: Recommender, answers: tuple[Answer, ...]) -> float:
    """Return the median processor time of choosing a song and learning its rating.

    Afterwards the radio has learnt all answers.
    """
    radio.replay(answers[:-_TIMED])
    times = []
    for answer in answers[-_TIMED:]:
        begin = time.thread_time()
        radio.recommend(at=answer.time)
        radio.update(answer.song, rating=answer.rating, time=answer.time)
        times.append(time.thread_time() - begin)
    return float(np.median(times[1:]))


def _agreement(radios: Mapping[str, Recommender], moment: float) -> dict[str, Json]:
    """Return how far the sampled quantiles are from the exact ones, in standard deviations."""
    exact, mcmc = (radios[name].predict(at=moment) for name in (EXACT, MCMC))
    level = 1 - 1 / radios[EXACT].step
    truth, sampled = _there(exact.quantile(level)), _there(mcmc.quantile(level))
    spread = _there(exact.standard_deviation())
    chosen = int(np.argmax(sampled))
    return {
        "quantile_error": float(np.sqrt(np.mean(((sampled - truth) / spread) ** 2))),
        "choice_shortfall": float((truth.max() - truth[chosen]) / spread[chosen]),
        "choice_rank": int((truth > truth[chosen]).sum()) + 1,
    }


def _there(values: Vector | None) -> Vector:
    if values is None:
        msg = "a prediction must have quantiles and a spread, got one from too few ratings"
        raise InvalidInputError(msg)
    return values
