"""The paper's Figure 1: two songs and one listener, and why the best guess is not enough.

song  truth  believed   how it is known
B     1.3    1.2        by eight ratings, so it is known well
C     1.6    1.0        by one rating, so it may be anything

The beliefs are the exact engine's: each song has a feature of its own, so that an answer about
one tells nothing about the other but the noise, and both are as new as can be, so that novelty
plays no part, as in the paper's example. The ratings are such that the means come out
as they are in the paper.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import radio_prior
from bandstand.core.registry import algorithm_named
from bandstand_lab.report.figures import CYCLE, look_of
from bandstand_lab.report.study import Job, Study, Verdict
from bandstand_lab.report.texts import Texts
from bandstand_lab.simulation.listener import SimulatedListener
from bandstand_lab.simulation.session import stream
from bandstand_lab.statistics.paired import paired_difference
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand.core.engines.exact.engine import ExactBelief
    from bandstand.types import Matrix, Vector
    from bandstand_lab.report.study import Cell, Chapter, Finding, Json, Plan

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "worked_example.toml")
B, C = 0, 1
_NAMES: Final = ("B", "C")
_TRUTH: Final = (1.3, 1.6)
BELIEVED: Final = (1.2, 1.0)
_NOISE: Final = 0.5  # standard deviation of an answer
_SHOWN: Final = 10  # beliefs are kept after this many songs
GREEDY: Final = "greedy-cn-x"
BAYES_UCB: Final = "bayes-ucb-cn-x"
POLICIES: Final = (GREEDY, BAYES_UCB)
# Minutes since either song was heard, so large that 1 − exp(−t/s) is 1.
_UNHEARD: Final = 1e30
_AROUND_MEAN: Final = (-0.5, 0.5, -0.5, 0.5, -0.5, 0.5, -0.5, 0.5)  # the eight ratings of B
PRIOR: Final = radio_prior(2, intercept=False)
_STEPS: Final = 40
_RUNS_PER_JOB: Final = 50
# A claim about every run holds if nearly all agree, and partly if most do.
_NEARLY_ALL, _MAJORITY = 0.95, 0.5
_LAST: Final = 10  # songs of a run by which it is judged
_COLOURS: Final = (CYCLE[1], CYCLE[0])
_RANGE: Final = (-0.5, 2.95)  # of drawn ratings


def jobs(plan: Plan) -> Sequence[Job]:
    """Return the runs in parts."""
    runs = plan.pick(quick=50, full=250)
    return [
        Job.of(
            *(play_runs, f"runs-{first:04d}"),
            first=first,
            runs=min(_RUNS_PER_JOB, runs - first),
            steps=_STEPS,
            seed=plan.seed,
        )
        for first in range(0, runs, _RUNS_PER_JOB)
    ]


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return what the two policies did."""
    parts = [results[job.key] for job in jobs(plan)]
    choices = {
        policy: np.concatenate([np.array(part[policy]["choices"]) for part in parts])
        for policy in POLICIES
    }
    first = parts[0]
    return TEXTS.chapter(
        method={"steps": _STEPS, "noise": _NOISE},
        findings=_findings(first, choices),
        tables=(TEXTS.table("choices", _rows(choices), last=_LAST, steps=_STEPS),),
        drawings=(
            TEXTS.drawing(
                "worked-example-beliefs",
                partial(_draw_beliefs, first),
                inches=(10.5, 3.9),
                songs=_SHOWN,
                greedy=first[GREEDY]["after"],
                bayes_ucb=first[BAYES_UCB]["after"],
            ),
        ),
    )


# ── The example ──────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=1)
def known() -> History:
    """Return the ratings from which the example sets out."""
    songs = [B] * len(_AROUND_MEAN) + [C]
    counts = (len(_AROUND_MEAN), 1)
    # A prior with precision λ draws the mean of n ratings to n/(n + λ) of it.
    drawn = [count / (count + PRIOR.preference.precision[0, 0]) for count in counts]
    means = [believed / share for believed, share in zip(BELIEVED, drawn, strict=True)]
    ratings = [means[B] + away for away in _AROUND_MEAN] + [means[C]]
    return History.of(features=np.eye(2)[songs], elapsed=_UNHEARD, ratings=ratings)


def belief_of(fitted: ExactBelief) -> dict[str, Any]:
    """Return p(U) of both songs, a Student t each, and the quantile that Bayes-UCB looks at."""
    level = 1 - 1 / (len(fitted.history) + 1)
    prediction: Any = Exact(prior=PRIOR).predict(fitted, _both())
    return {
        "means": prediction.mean().tolist(),
        "standard_deviations": prediction.standard_deviation().tolist(),
        "quantiles": prediction.quantile(level).tolist(),
        "level": level,
        "degrees_of_freedom": fitted.freedom,
    }


def play(policy: str, *, run: int, steps: int, seed: int) -> tuple[list[int], list[dict[str, Any]]]:
    """Return the song of each step, and the beliefs at first and after `_SHOWN` songs.

    The noise of an answer depends on the run and the step alone, so both policies meet
    the same listener.
    """
    engine, chooser = Exact(prior=PRIOR), algorithm_named(policy).policy
    listener = SimulatedListener(
        preference=np.array(_TRUTH), recovery_time=1.0, noise_standard_deviation=_NOISE
    )
    history, fitted = known(), engine.fit(known())
    beliefs, choices = [belief_of(fitted)], []
    for step in range(steps):
        (song,) = chooser.choose(
            engine.predict(fitted, _both()),
            step=len(history) + 1,
            rng=stream(seed, "radio", run, step),
            count=1,
            allowed=np.arange(2),
        )
        choices.append(int(song))
        (rating,) = listener.rate(_both().take([int(song)]), stream(seed, "answer", run, step))
        history = history.append(
            features=_both().features[song], elapsed=_UNHEARD, rating=float(rating)
        )
        fitted = engine.update(fitted, history)
        if len(choices) == _SHOWN:
            beliefs.append(belief_of(fitted))
    return choices, beliefs


def play_runs(*, first: int, runs: int, steps: int, seed: int) -> Json:
    """Return both policies' choices in `runs` runs, and the beliefs of the first one; a job."""
    found: dict[str, Any] = {}
    for policy in POLICIES:
        played = [
            play(policy, run=run, steps=steps, seed=seed) for run in range(first, first + runs)
        ]
        found[policy] = {
            "choices": [choices for choices, _ in played],
            "before": played[0][1][0],
            "after": played[0][1][-1],
        }
    return found


def _both() -> Songs:
    return Songs.of(features=np.eye(2), elapsed=_UNHEARD)


def _regret(choices: Matrix) -> Vector:
    """Return what each run lost by playing B."""
    return np.asarray((_TRUTH[C] - _TRUTH[B]) * (choices == B).sum(axis=1))


# ── Claims ───────────────────────────────────────────────────────────────────────────────


def _findings(first: Mapping[str, Any], choices: Mapping[str, Matrix]) -> tuple[Finding, ...]:
    chosen = [first[policy]["choices"][0][0] for policy in POLICIES]
    greedy, bayes_ucb = choices[GREEDY], choices[BAYES_UCB]
    stays = float((greedy.sum(axis=1) == 0).mean())
    finds = float((bayes_ucb[:, -_LAST:].mean(axis=1) > 0.5).mean())
    saved = paired_difference(_regret(greedy), _regret(bayes_ucb))
    runs, steps = greedy.shape
    numbers = {"runs": runs, "steps": steps, "nearly_all": _NEARLY_ALL, "majority": _MAJORITY}
    return (
        TEXTS.finding(
            "first_choice",
            Verdict.HOLDS if chosen == [B, C] else Verdict.FAILS,
            belief=first[GREEDY]["before"],
            chosen=[_NAMES[song] for song in chosen],
        ),
        TEXTS.finding("greedy_stays", _by_share(stays), share=stays, **numbers),
        TEXTS.finding(
            "bayes_ucb_finds",
            _by_share(finds) if saved.interval()[0] > 0 else Verdict.FAILS,
            share=finds,
            last=_LAST,
            saved=saved.mean,
            interval=saved.interval(),
            **numbers,
        ),
    )


def _by_share(share: float) -> Verdict:
    if share >= _NEARLY_ALL:
        return Verdict.HOLDS
    return Verdict.PARTLY if share >= _MAJORITY else Verdict.FAILS


# ── Table and figure ────────────────────────────────────────────────────────────────────


def _rows(choices: Mapping[str, Matrix]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for policy, played in choices.items():
        shares = (played[:, 0].mean(), (played.sum(axis=1) == 0).mean(), played[:, -_LAST:].mean())
        regret = mean_estimate(_regret(played)).shown(2)
        rows.append((look_of(policy).label, *(f"{share:.0%}" for share in shares), regret))
    return rows


def student_density(values: Vector, belief: Mapping[str, Any], song: int) -> Vector:
    """Return p(U) of a song at `values`: a Student t with that mean and standard deviation."""
    from scipy.stats import t  # noqa: PLC0415  (slow to import, and only the figure needs it)

    freedom = belief["degrees_of_freedom"]
    scale = belief["standard_deviations"][song] * np.sqrt((freedom - 2) / freedom)
    return np.asarray(t.pdf(values, freedom, belief["means"][song], scale))


def _draw_beliefs(first: Mapping[str, Any], figure: Figure) -> None:
    """Draw p(U) of both songs: at first, after the greedy policy, after Bayes-UCB."""
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    _belief_panel(panels[0], first[GREEDY]["before"], "Before")
    for axes, policy, name in zip(panels[1:], POLICIES, ("Greedy", "Bayes-UCB"), strict=True):
        played = int(np.sum(first[policy]["choices"][0][:_SHOWN]))
        title = f"{name} after {_SHOWN}: {_SHOWN - played} × B, {played} × C"
        _belief_panel(axes, first[policy]["after"], title)
    panels[0].set(ylabel="density of what the song may be worth")
    panels[1].set_xlabel("expected rating U; dotted: the truth; triangle: the quantile")


def _belief_panel(axes: Axes, belief: Mapping[str, Any], title: str) -> None:
    values = np.linspace(*_RANGE, 600)
    for song, dashes in ((B, "--"), (C, "-")):
        density, colour = student_density(values, belief, song), _COLOURS[song]
        label = f"{_NAMES[song]}, mean {belief['means'][song]:.1f}"
        axes.plot(values, density, color=colour, linestyle=dashes, linewidth=2, label=label)
        axes.fill_between(values, density, color=colour, alpha=0.15, linewidth=0)
        axes.axvline(_TRUTH[song], color=colour, linestyle=":", linewidth=1.2)
        axes.plot(belief["quantiles"][song], 0, "^", color=colour, ms=8, clip_on=False)
    axes.set_title(title)
    axes.set(xlim=_RANGE)
    axes.set_ylim(bottom=0, auto=True)
    axes.legend(loc="upper left")
    axes.grid(axis="x")


STUDY: Final = Study(
    name="worked_example",
    title="Two songs: why the best guess is not enough",
    jobs=jobs,
    chapter=chapter,
)
