from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.inference import foresight
from bandstand.inference.exact import Exact
from bandstand.inference.exact_belief import Thought
from bandstand.inference.foresight import ExpectedView, ForeseeingView
from bandstand.inference.shortlist.anchor import Anchor
from bandstand.model.priors import radio_prior
from bandstand_lab.speed.world import STARS
from benchmarks.steps import Session, drawn_features
from tests.simulated import MONTH, simulated_history

if TYPE_CHECKING:
    from bandstand.domain import History
    from bandstand.inference.exact_belief import ExactBelief

COLUMNS = 6


def listener(seed: int, answers: int = 12) -> tuple[Exact, History, ExactBelief]:
    engine = Exact(prior=radio_prior(COLUMNS))
    history = simulated_history(np.random.default_rng(seed), count=answers, columns=COLUMNS)
    return engine, history, engine.fit(history)


def song(seed: int, elapsed: float = MONTH) -> Thought:
    features = np.random.default_rng([seed, 1]).normal(size=COLUMNS)
    return Thought(features=features, elapsed=elapsed)


def rating_of(belief: ExactBelief, heard: Thought, away: float) -> float:
    """Return the answer so many standard deviations away, from the prediction itself."""
    after = foresight.after_answer(belief, heard, away)
    # The error is the same at every node but for what was expected there: undo one of them.
    node = int(np.argmax(belief.weights))
    curve = -np.expm1(-heard.elapsed / belief.recovery_times[node])
    towards = curve * belief.learnt.times(heard.features)[node]
    growth = 1 + curve * (towards @ heard.features)
    step = (after.means[node] - belief.means[node]) @ towards / (towards @ towards)
    return float(step * growth + curve * (belief.means[node] @ heard.features))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), away=st.floats(-3, 3), elapsed=st.floats(1, MONTH))
def test_what_is_foreseen_of_an_answer_is_what_it_leads_to(
    seed: int, away: float, elapsed: float
) -> None:
    engine, history, belief = listener(seed)
    heard = song(seed, elapsed)
    foreseen = foresight.after_answer(belief, heard, away)
    later = history.append(
        features=heard.features, elapsed=elapsed, rating=rating_of(belief, heard, away)
    )
    real = engine.update(belief, later)
    if real.grid is not belief.grid:
        return  # it was placed anew, so there is nothing to compare
    unit = np.abs(real.means).max()
    np.testing.assert_allclose(foreseen.means, real.means, rtol=1e-7, atol=1e-7 * unit)
    np.testing.assert_allclose(foreseen.rates, real.rates, rtol=1e-7)
    np.testing.assert_allclose(foreseen.log_determinants, real.log_determinants, rtol=1e-9)
    assert foreseen.shape == real.shape


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), share=st.floats(0, 1))
def test_every_answer_between_leads_into_the_box(seed: int, share: float) -> None:
    _, _, belief = listener(seed)
    view = ForeseeingView(belief, 0.95, MONTH)
    heard = song(seed)
    expected = ExpectedView(view, heard)
    anchor = Anchor.of(expected)
    low, high = foresight.DEVIATIONS * np.array([-1.0, 1.0])
    later = ForeseeingView(
        foresight.after_answer(belief, heard, low + share * (high - low)), view.level, MONTH
    )
    ends = (expected.low, expected.high)
    both = slice(max(end.first for end in ends), min(end.last for end in ends) + 1)
    centres = later.curves[both, np.newaxis] * later.belief.means[both]
    assert anchor.box.distance(centres / anchor.unit) <= anchor.box.rest * (1 + 1e-9) + 1e-12


def test_an_answer_far_beyond_does_not_lead_into_it() -> None:
    """The planted error: such a box would be of no use."""
    _, _, belief = listener(5)
    view, heard = ForeseeingView(belief, 0.95, MONTH), song(5)
    anchor = Anchor.of(ExpectedView(view, heard))
    later = ForeseeingView(foresight.after_answer(belief, heard, 20.0), 0.95, MONTH)
    assert anchor.box.distance(later.centres / anchor.unit) > 2 * anchor.box.rest + 0.1


def newcomer(steps: int, *, prepares: bool) -> tuple[int, int]:
    """Return how many steps read all songs before they answered, and how many were right."""
    rng = np.random.default_rng(2)
    session = Session(STARS, drawn_features(STARS, 20_000, 40, rng), ratings=60, seed=1)
    choice, passes, right = session.choose(), 0, 0
    memory = session.recommender._memory
    for _ in range(steps):
        if prepares:
            session.recommender.work_behind_answer()
        before = memory.passes
        session.learn(session.rate(choice))
        choice = session.choose()
        passes += memory.passes > before
        right += session.is_best(choice)
    return passes, right


def test_who_is_hardly_known_is_foreseen() -> None:
    steps = 16
    passes, right = newcomer(steps, prepares=True)
    assert right == steps
    assert passes <= steps // 2
    assert newcomer(steps, prepares=False)[0] > passes


def test_the_song_that_plays_is_answered_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not the one that is chosen to follow it."""
    asked: list[Thought] = []
    monkeypatch.setattr(
        foresight.ForeseeingView, "after_next", lambda self: asked.append(self.next)
    )
    rng = np.random.default_rng(2)
    session = Session(STARS, drawn_features(STARS, 20_000, 40, rng), ratings=60, seed=1)
    radio = session.recommender
    for _ in range(4):
        session.learn(session.rate(session.choose()))
    playing = radio.songs(at=60 * session.minute).take([7])
    radio.belief = radio.engine.plan(radio.belief, playing)
    session.choose()
    radio.work_behind_answer()
    assert asked[-1].features == pytest.approx(np.asarray(playing.features[0], dtype=np.float64))
