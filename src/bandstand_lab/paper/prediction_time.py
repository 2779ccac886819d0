"""Prediction times (Section 5.2.2): finding the song to play among S, once all is learned.

Nothing is remembered from an earlier choice, except by `KEPT`, which is the exact engine as it
works in a radio: there it keeps bounds of all songs from one answer to the next, and brings them
up to date. Bayes-UCB needs a quantile of every song; three ways to the variational one are timed:
by Monte Carlo as in the paper, solved for every song, and solved for those that can be the best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.algorithms.registry import algorithm_named
from bandstand.domain import Songs
from bandstand.inference.exact import Exact
from bandstand.inference.mcmc import Mcmc
from bandstand.inference.variational import Variational
from bandstand.model import product_normal_many
from bandstand.model.factors import content_novelty
from bandstand.policies import BayesUcb
from bandstand.units import MONTH
from bandstand_lab.report.study import Chapter, Drawing, Job, Table
from bandstand_lab.report.texts import Texts
from bandstand_lab.speed.asked import number
from bandstand_lab.speed.evidence import geometric_mean, mean_of_rounds, span, verdict_on
from bandstand_lab.speed.timing import Spread, in_turn, paired_ratio, timed_again, undisturbed
from bandstand_lab.speed.world import PAPER
from bandstand_lab.statistics.product_quantiles import monte_carlo_quantile, quadrature_quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.arrays import Vector
    from bandstand.domain import History
    from bandstand.inference.engine import Engine
    from bandstand.inference.exact import ExactBelief
    from bandstand.inference.factor_prediction import FactorPrediction
    from bandstand_lab.report.study import Finding, Json, Plan
    from bandstand_lab.speed.evidence import Estimate

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "prediction_time.toml")
MOMENTS, SAMPLED, SOLVED, KEPT = "moments", "sampled", "solved", "kept"
SEARCHED: Final = "bayes-ucb-cn-v"
_EXACT: Final = "bayes-ucb-cn-x"
LABELS: Final = {
    "random": "Random",
    "linucb-c": "LinUCB-C",
    "linucb-cn": "LinUCB-CN",
    "greedy-cn": "Greedy-CN",
    "bayes-ucb-cn": "Bayes-UCB-CN, MCMC",
    SAMPLED: "variational, Monte Carlo",
    SOLVED: "variational, every quantile solved",
    SEARCHED: "variational, only the best solved",
    _EXACT: "exact, nothing kept",
    KEPT: "exact, as in the radio",
}
_SIMPLE: Final = ("linucb-c", "linucb-cn", "greedy-cn")
_SAMPLING: Final = ("bayes-ucb-cn", SAMPLED)
_COLUMNS: Final = 91
_RATINGS: Final = 200  # answers that were learned from, where times are measured
_ACCURACY_RATINGS: Final = (20, 200)
# The paper does not say how many; these give an error of about a tenth of a standard deviation.
_USUAL_DRAWS: Final = 1_000
_DRAWS: Final = (100, _USUAL_DRAWS, 10_000)
_ANSWERS: Final = 5  # whose choices are timed one after the other, where something is kept
_LONGEST_AGO: Final = 3_000.0  # minutes
_WARM_UP_SONGS: Final = 60
# A quantile this near to the true one, in standard deviations, is as good as it.
_ACCURATE: Final = 1e-6
_SIGNIFICANTLY: Final = 2.0  # "significantly faster" is read as: at least twice as fast
_MAX_EXPONENT: Final = 1.15


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionTimeStudy:
    """Prediction times by algorithm and number of songs, and what accuracy costs."""

    name: str = "prediction_time"
    title: str = "Prediction time: how long it takes to find the song to play"
    columns: int = _COLUMNS

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return one job for each listener and size, and one for each listener's accuracy."""
        common = {"seed": plan.seed, "columns": self.columns}
        quantiles = {
            "songs": _accuracy_songs(plan),
            "draws": list(_DRAWS),
            "checked": plan.pick(quick=20, full=50),
        }
        home = "bandstand_lab.paper.prediction_time"
        return [
            *(
                Job(
                    key=f"time-{size}-songs-listener-{turn}",
                    function=f"{home}:predict",
                    arguments={"songs": size, "ratings": _RATINGS, "turn": turn, **common},
                    alone=True,
                )
                for turn in range(_listeners(plan))
                for size in _sizes(plan)
            ),
            *(
                Job(
                    key=f"accuracy-{ratings}-ratings-listener-{turn}",
                    function=f"{home}:accuracy",
                    arguments={"ratings": ratings, "turn": turn, **quantiles, **common},
                    alone=True,
                )
                for ratings in _ACCURACY_RATINGS
                for turn in range(_accuracy_listeners(plan))
            ),
        ]

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return times, ratios and errors, and the verdict on each claim."""
        jobs = self.jobs(plan)
        by_size = {size: _of(jobs, results, f"time-{size}-") for size in _sizes(plan)}
        by_ratings = {n: _of(jobs, results, f"accuracy-{n}-") for n in _ACCURACY_RATINGS}
        times = times_of(by_size)
        accuracies = [accuracy_of(ratings, some) for ratings, some in by_ratings.items()]
        numbers = _numbers(times, accuracies)
        return Chapter(
            introduction=TEXTS("introduction"),
            method=TEXTS(
                "method",
                listeners=_listeners(plan),
                ratings=_RATINGS,
                columns=self.columns,
                draws=_USUAL_DRAWS,
                accuracy_listeners=_accuracy_listeners(plan),
                accuracy_songs=_accuracy_songs(plan),
                accuracy_ratings=_ACCURACY_RATINGS,
            ),
            findings=_findings(times, accuracies, numbers),
            tables=(_times_table(times, numbers), _accuracy_table(accuracies)),
            drawings=(
                Drawing(
                    name="prediction-times",
                    caption=TEXTS("figures.times.caption", **numbers),
                    draw=lambda figure: _draw_times(figure, times),
                    width=9.0,
                    height=5.0,
                ),
                Drawing(
                    name="prediction-accuracy",
                    caption=TEXTS("figures.accuracy.caption", **numbers),
                    draw=lambda figure: _draw_accuracy(figure, accuracies),
                ),
            ),
            data={
                "seconds": {
                    str(size): {name: spread.as_json() for name, spread in row.items()}
                    for size, row in times.seconds.items()
                },
                "accuracy": {str(ratings): some for ratings, some in by_ratings.items()},
            },
        )


def _sizes(plan: Plan) -> tuple[int, ...]:
    return plan.pick(quick=(1_000, 10_000), full=(1_000, 10_000, 100_000))


def _listeners(plan: Plan) -> int:
    return plan.pick(quick=3, full=4)


def _accuracy_listeners(plan: Plan) -> int:
    return plan.pick(quick=5, full=10)


def _accuracy_songs(plan: Plan) -> int:
    return plan.pick(quick=1_000, full=3_000)


def _of(jobs: Sequence[Job], results: Mapping[str, Json], prefix: str) -> list[Json]:
    return [results[job.key] for job in jobs if job.key.startswith(prefix)]


# ── What is timed ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A listener who has answered, and a catalogue in which the rated songs were heard lately."""

    history: History
    songs: Songs
    seed: int
    effective_draws: int = 2_000  # of MCMC

    @property
    def step(self) -> int:
        """The number of the song to be chosen."""
        return len(self.history) + 1

    @property
    def level(self) -> float:
        """The level of the quantile by which Bayes-UCB judges (28)."""
        level = BayesUcb().level_at(self.step)
        return 0.5 if level is None else level


def scene_of(*, songs: int, ratings: int, columns: int, seed: int, turn: int) -> Scene:
    """Return a new listener of the paper's kind with a catalogue of its own."""
    rng = np.random.default_rng([seed, songs, ratings, turn])
    history = PAPER.history(ratings, columns, rng)
    elapsed = np.full(songs, float(MONTH))
    heard = rng.choice(songs, min(ratings, songs), replace=False)
    elapsed[heard] = rng.uniform(1.0, _LONGEST_AGO, len(heard))
    catalogue = Songs.of(
        features=PAPER.features(songs, columns, rng),
        elapsed=elapsed,
        diversity=rng.uniform(0.5, 1.5, songs),
    )
    return Scene(history=history, songs=catalogue, seed=seed)


def contenders(scene: Scene) -> dict[str, Callable[[], int]]:
    """Return for each contender the function that finds the song; all have learned already."""
    belief = _variational(scene)

    def best(scores: Callable[[FactorPrediction], Vector]) -> int:
        # A copy, because a prediction keeps the moments that it has worked out.
        return int(np.argmax(scores(replace(belief))))

    def sampled(one: FactorPrediction) -> Vector:
        rng = np.random.default_rng([scene.seed, 3])
        means, deviations = one.factor_means, one.factor_deviations
        return monte_carlo_quantile(scene.level, means, deviations, _USUAL_DRAWS, rng)

    def solved(one: FactorPrediction) -> Vector:
        return product_normal_many.quantile(scene.level, one.factor_means, one.factor_deviations)

    def moments(one: FactorPrediction) -> Vector:  # every variational form begins with them
        return product_normal_many.standard_deviation(one.factor_means, one.factor_deviations)

    return {
        **{name: _chooser(scene, name) for name in LABELS if name not in {SAMPLED, SOLVED, KEPT}},
        SAMPLED: partial(best, sampled),
        SOLVED: partial(best, solved),
        KEPT: _keeping(scene),
        MOMENTS: partial(best, moments),
    }


def _variational(scene: Scene) -> FactorPrediction:
    engine = Variational(model=content_novelty(scene.history.columns))
    return engine.predict(engine.fit(scene.history), scene.songs)


def _chooser(scene: Scene, name: str) -> Callable[[], int]:
    algorithm = algorithm_named(name)
    prior = PAPER.prior_for(scene.history.columns)
    engine: Engine[Any] = algorithm.engine_for(prior)
    if isinstance(engine, Mcmc):
        engine = Mcmc(prior=prior, effective_draws=scene.effective_draws)
    belief = engine.fit(scene.history, rng=np.random.default_rng([scene.seed, 1]))
    everything = np.arange(len(scene.songs), dtype=np.intp)

    def choose() -> int:
        rows = algorithm.policy.choose(
            engine.predict(belief, scene.songs),
            step=scene.step,
            rng=np.random.default_rng([scene.seed, 2]),
            count=1,
            allowed=everything,
        )
        return int(rows[0])

    return choose


def _keeping(scene: Scene) -> Callable[[], int]:
    """Return choices after one answer and then the next; the answers are learned already."""
    history, engine = scene.history, Exact(prior=PAPER.prior_for(scene.history.columns))
    first = max(len(history) - _ANSWERS, 1)
    beliefs = [engine.fit(history.first(first))]
    for count in range(first + 1, len(history) + 1):
        beliefs.append(engine.update(beliefs[-1], history.first(count)))
    memory = engine.remember(scene.songs)
    everything = np.arange(len(scene.songs), dtype=np.intp)

    def choice_by(belief: ExactBelief) -> int:
        prediction = engine.predict(belief, scene.songs, memory=memory)
        return int(prediction.best_by_quantile(scene.level, 1, everything)[0])

    choice_by(beliefs[0])
    later = iter(beliefs[1:])
    return lambda: choice_by(next(later, beliefs[-1]))


def predict(*, songs: int, ratings: int, turn: int, seed: int, columns: int) -> Json:
    """Return the seconds that each contender needs to find the song to play; a job."""
    scene = scene_of(songs=songs, ratings=ratings, columns=columns, seed=seed, turn=turn)
    # Everything runs once before, so that no contender pays for loading a library.
    small = replace(scene, songs=scene.songs.take(slice(_WARM_UP_SONGS)), effective_draws=100)
    for choose in contenders(small).values():
        choose()
    ready = contenders(scene)
    seconds = {}
    for name in in_turn(list(ready), turn):
        with undisturbed():
            seconds[name] = timed_again(ready[name]).seconds
    return seconds


def accuracy(
    *,
    songs: int,
    ratings: int,
    turn: int,
    seed: int,
    columns: int,
    draws: Sequence[int],
    checked: int,
) -> Json:
    """Return time and error of the deterministic quantile and of Monte Carlo; a job.

    Errors are in standard deviations of the song's own p(U | D). Those of Monte Carlo are
    against the deterministic quantile, and that one's against adaptive quadrature, for the
    first `checked` songs.
    """
    scene = scene_of(songs=songs, ratings=ratings, columns=columns, seed=seed, turn=turn)
    belief = _variational(scene)
    means, deviations = belief.factor_means, belief.factor_deviations
    spread, level = belief.standard_deviation(), scene.level
    with undisturbed():
        seconds, solved = timed_again(
            partial(product_normal_many.quantile, level, means, deviations)
        )
    true = [
        quadrature_quantile(level, tuple(mean), tuple(deviation), value)
        for mean, deviation, value in zip(
            means.T[:checked].tolist(), deviations.T.tolist(), solved.tolist(), strict=False
        )
    ]
    best, sampled = int(np.argmax(solved)), []
    for count in draws:
        with undisturbed():
            took, found = timed_again(
                lambda count=count: monte_carlo_quantile(
                    level, means, deviations, count, np.random.default_rng([seed, turn, count])
                )
            )
        chosen = int(np.argmax(found))
        sampled.append(
            {
                "draws": count,
                "seconds": took,
                "error": math.sqrt(float(np.mean(((found - solved) / spread) ** 2))),
                "same_song": chosen == best,
                "loss": float((solved[best] - solved[chosen]) / spread[best]),
            }
        )
    largest = float(np.max(np.abs(true - solved[:checked]) / spread[:checked]))
    return {
        "level": level,
        "solved": {"seconds": seconds, "largest_error": largest},
        "sampled": sampled,
    }


# ── Numbers ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionTimes:
    """Seconds of each contender by number of songs, one for each listener."""

    seconds: Mapping[int, Mapping[str, Spread]]

    @property
    def sizes(self) -> list[int]:
        """The numbers of songs, rising."""
        return sorted(self.seconds)

    def ms(self, name: str, size: int) -> float:
        """Return the median time of one contender in milliseconds."""
        return 1_000 * self.seconds[size][name].median

    def ratio(self, above: str, below: str, size: int) -> Estimate:
        """Return how many times as long `above` took as `below`."""
        times = self.seconds[size]
        return geometric_mean(paired_ratio(times[above].runs, times[below].runs))

    def ratios(self, above: str, below: str) -> list[Estimate]:
        """Return the same at each size."""
        return [self.ratio(above, below, size) for size in self.sizes]

    def growth(self, name: str) -> Estimate:
        """Return the exponent k of time ~ S^k over all sizes."""
        rounds = zip(*(self.seconds[size][name].runs for size in self.sizes), strict=True)
        logs = np.log(self.sizes)
        slopes = tuple(float(np.polyfit(logs, np.log(times), 1)[0]) for times in rounds)
        return mean_of_rounds(Spread(runs=slopes))

    def sampling_share(self, size: int) -> float:
        """Return how much of the prediction by Monte Carlo is drawing and sorting."""
        return max(0.0, 1 - self.ms(MOMENTS, size) / self.ms(SAMPLED, size))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Monte Carlo with one number of draws, over all listeners."""

    draws: int
    seconds: float  # median
    over_solved: Estimate  # times as long as the deterministic quantile
    error: float  # root mean square, in standard deviations of each song
    same_song: float  # share of the listeners whose song was the right one
    loss: float  # mean, in standard deviations of the right song


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Time and error of both ways to the quantile."""

    ratings: int
    solved_seconds: float  # median
    solved_error: float  # the largest of all songs and listeners
    sampled: tuple[Sampled, ...]

    def draws_for(self, error: float) -> float:
        """Return the number of draws with that error, since it falls as their square root."""
        most = self.sampled[-1]
        return most.draws * (most.error / error) ** 2

    def error_in_the_same_time(self) -> float:
        """Return the error of as many draws as there is time for while all songs are solved."""
        most = self.sampled[-1]
        return most.error * math.sqrt(most.seconds / self.solved_seconds)


def times_of(jobs: Mapping[int, Sequence[Json]]) -> PredictionTimes:
    """Return the times of all listeners, from the results of `predict` by size."""
    return PredictionTimes(
        seconds={
            size: {
                name: Spread(runs=tuple(listener[name] for listener in listeners))
                for name in sorted(listeners[0])
            }
            for size, listeners in jobs.items()
        }
    )


def accuracy_of(ratings: int, jobs: Sequence[Json]) -> Accuracy:
    """Return the accuracy over all listeners, from the results of `accuracy`."""
    solved = Spread(runs=tuple(job["solved"]["seconds"] for job in jobs))
    return Accuracy(
        ratings=ratings,
        solved_seconds=solved.median,
        solved_error=max(job["solved"]["largest_error"] for job in jobs),
        sampled=tuple(
            _sampled(list(listeners), solved)
            for listeners in zip(*(job["sampled"] for job in jobs), strict=True)
        ),
    )


def _sampled(listeners: Sequence[Json], solved: Spread) -> Sampled:
    columns = {name: [one[name] for one in listeners] for name in listeners[0]}
    return Sampled(
        draws=columns["draws"][0],
        seconds=float(np.median(columns["seconds"])),
        over_solved=geometric_mean(paired_ratio(columns["seconds"], solved.runs)),
        error=math.sqrt(float(np.mean(np.square(columns["error"])))),
        same_song=float(np.mean(columns["same_song"])),
        loss=float(np.mean(columns["loss"])),
    )


# ── Claims, tables and figures ───────────────────────────────────────────────────────────


def _numbers(times: PredictionTimes, accuracies: Sequence[Accuracy]) -> dict[str, Any]:
    """Return the numbers of the texts."""
    size, last = times.sizes[-1], accuracies[-1]
    usual = [one for each in accuracies for one in each.sampled if one.draws == _USUAL_DRAWS]
    pairs = [(slow, simple) for slow in (*_SAMPLING, SEARCHED, KEPT) for simple in _SIMPLE]
    all_slower = [
        each for one in _SAMPLING for other in _SIMPLE for each in times.ratios(one, other)
    ]
    return {
        "size": size,
        "labels": LABELS,
        "ms": {name: number(times.ms(name, size)) for name in (*LABELS, MOMENTS)},
        "over": {f"{one}/{other}": times.ratio(one, other, size).shown() for one, other in pairs},
        "closest": min(all_slower, key=lambda each: each.value).shown(),
        "sampling_share": times.sampling_share(size),
        "over_solved": span(times.ratios(SAMPLED, SOLVED)),
        "over_searched": span(times.ratios(SAMPLED, SEARCHED)),
        "growth": {name: times.growth(name).shown() for name in (SOLVED, SEARCHED)},
        "max_exponent": _MAX_EXPONENT,
        "draws": _USUAL_DRAWS,
        "solved_error": f"{max(each.solved_error for each in accuracies):.0e}",
        "errors": [number(end(one.error for one in usual)) for end in (min, max)],
        "same_song": [end(one.same_song for one in usual) for end in (min, max)],
        "significantly": _SIGNIFICANTLY,
        "accurate": _ACCURATE,
        "last_ratings": last.ratings,
        "same_time_error": number(last.error_in_the_same_time()),
        "needed_draws": float(f"{last.draws_for(1e-3):.1e}"),
    }


def _findings(
    times: PredictionTimes, accuracies: Sequence[Accuracy], numbers: Mapping[str, Any]
) -> tuple[Finding, ...]:
    """Return the verdict on each claim of the paper about prediction times."""
    slower = [
        each.above(1.0)
        for slow in _SAMPLING
        for simple in _SIMPLE
        for each in times.ratios(slow, simple)
    ]
    is_accurate = all(each.solved_error < _ACCURATE for each in accuracies)
    faster = [each.above(_SIGNIFICANTLY) for each in times.ratios(SAMPLED, SOLVED)]
    verdicts = {
        "slower": verdict_on(slower),
        "sampling": verdict_on(times.sampling_share(size) > 0.5 for size in times.sizes),
        "prodclin": verdict_on([*faster, is_accurate]),
        "large": verdict_on(times.growth(name).below(_MAX_EXPONENT) for name in (SOLVED, SEARCHED)),
    }
    return tuple(TEXTS.finding(name, verdict, **numbers) for name, verdict in verdicts.items())


def _times_table(times: PredictionTimes, numbers: Mapping[str, Any]) -> Table:
    size = times.sizes[-1]
    return Table(
        title=TEXTS("tables.times.title"),
        columns=(
            "algorithm",
            *(f"S = {songs:,}" for songs in times.sizes),
            f"over LinUCB-C, S = {size:,}",
            f"over Greedy-CN, S = {size:,}",
        ),
        rows=tuple(
            (
                LABELS[name],
                *(times.ms(name, songs) for songs in times.sizes),
                times.ratio(name, "linucb-c", size).shown(),
                times.ratio(name, "greedy-cn", size).shown(),
            )
            for name in LABELS
        ),
        note=TEXTS("tables.times.note", **numbers),
    )


def _accuracy_table(accuracies: Sequence[Accuracy]) -> Table:
    rows: list[tuple[str | int | float | None, ...]] = []
    for each in accuracies:
        for one in each.sampled:
            costs = (1_000 * one.seconds, one.over_solved.shown())
            errors = (one.error, one.same_song, one.loss)
            rows.append((each.ratings, f"{one.draws:,} draws", *costs, *errors))
        costs = (1_000 * each.solved_seconds, "1")
        rows.append((each.ratings, "solved", *costs, each.solved_error, 1.0, 0.0))
    return Table(
        title=TEXTS("tables.accuracy.title"),
        columns=(
            *("ratings", "by", "ms", "times as long", "error, standard deviations"),
            *("right song chosen", "worth lost, standard deviations"),
        ),
        rows=tuple(rows),
        note=TEXTS("tables.accuracy.note"),
    )


def _draw_times(figure: Figure, times: PredictionTimes) -> None:
    """Draw the time of each contender over the number of songs."""
    # Imported here: the jobs measure without matplotlib.
    from bandstand_lab.report.figures import ALGORITHM_LOOKS, draw_curve, plain  # noqa: PLC0415

    axes = figure.subplots()
    axes.set(xscale="log", yscale="log")
    variational, exact = ALGORITHM_LOOKS[SEARCHED], ALGORITHM_LOOKS[_EXACT]
    looks = {
        **ALGORITHM_LOOKS,
        SAMPLED: replace(variational, dashes=":", marker="P"),
        SOLVED: replace(variational, dashes="--", marker="<"),
        _EXACT: replace(exact, dashes="--", marker="o", width=1.6),
        KEPT: exact,
    }
    for name in sorted(LABELS, key=lambda name: -times.ms(name, times.sizes[-1])):
        milliseconds = [times.ms(name, size) for size in times.sizes]
        draw_curve(axes, times.sizes, milliseconds, replace(looks[name], label=LABELS[name]))
    axes.set_xticks(times.sizes, [f"{size:,}" for size in times.sizes])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(plain)
    axes.grid(visible=True)
    axes.set_title("Time to find the song to play among S songs, one thread")
    axes.set(xlabel="songs S", ylabel="processor time, ms (median of listeners)")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))


def _draw_accuracy(figure: Figure, accuracies: Sequence[Accuracy]) -> None:
    """Draw the error of both ways over the time that they take."""
    from bandstand_lab.report.figures import CYCLE, plain  # noqa: PLC0415

    axes = figure.subplots()
    axes.set(xscale="log", yscale="log")
    for each, colour in zip(accuracies, CYCLE, strict=False):
        label = f"after {each.ratings} ratings"
        seconds = [1_000 * one.seconds for one in each.sampled]
        axes.plot(seconds, [one.error for one in each.sampled], "o-", color=colour, label=label)
        error = max(each.solved_error, 1e-16)  # none at all would be no point on such an axis
        axes.plot([1_000 * each.solved_seconds], [error], "*", color=colour, markersize=13)
    draws = ", ".join(f"{one.draws:,}" for one in accuracies[0].sampled)
    axes.set_title(f"What accuracy costs: {draws} draws (dots), solved quantiles (stars)")
    axes.set(xlabel="processor time for all songs, ms", ylabel="error, standard deviations")
    axes.margins(x=0.12, y=0.1)
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(plain)
    axes.grid(visible=True)
    axes.legend(loc="center right")


STUDY: Final = PredictionTimeStudy()
