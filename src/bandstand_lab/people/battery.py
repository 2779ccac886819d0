"""The battery: how well the radio finds what people like, also where its model is wrong.

In each world a listener meets every player on the same songs with the same noise. No song is
played twice, nor an artist of the last five songs. At some steps each player says what it expects
of songs that were not played yet.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bandstand_lab.people.rivals import BEFORE, OURS, PLAYERS, RIVALS
from bandstand_lab.people.worlds import WORLDS, listener_of
from bandstand_lab.report import figures
from bandstand_lab.report.study import Job, Study, Verdict, grouped, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.simulation.session import stream
from bandstand_lab.statistics.paired import paired_difference, tested_together

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.types import Indices, Vector
    from bandstand_lab.people.rivals import Forecast, Player
    from bandstand_lab.people.worlds import Library, Taste
    from bandstand_lab.report.study import Chapter, Finding, Json, Plan

TEXTS: Final = Texts(Path(__file__).with_name("battery.toml"))
ARTIST_GAP: Final = 5
LOOKS: Final = (20, 50, 200)  # songs
ASKED_AT: Final = (10, 30, 100, 200)
_ASKED_SONGS: Final = 200
NAMED: Final = ("genre", "artist", "album", "song")
LINEAR: Final = "linear in sound"
RANDOM: Final = "random"
# What is asked of the gain over random, beside that of bayes-ucb-cn-x.
_NAMED_GAIN, _LINEAR_GAIN = 1.5, 0.97
_ONE_DEVIATION, _TWO_DEVIATIONS, _WIDEST = 0.63, 0.92, 1.25
_SIGNIFICANT: Final = 0.05
# A smaller error is none: the mean of a listener who always gives the same stars has no other.
_NO_ERROR: Final = 0.05  # stars


# ── Jobs ───────────────────────────────────────────────────────────────────────────────────


def meet(*, world: str, run: int, seed: int, songs: int, steps: int) -> Json:
    """Return what every player did with one listener; a job."""
    library, taste = listener_of(world, run, seed, songs=songs)
    return {
        name: session(make(library), library, taste, run=run, seed=seed, steps=steps)
        for name, make in PLAYERS.items()
    }


def session(
    player: Player, library: Library, taste: Taste, *, run: int, seed: int, steps: int
) -> Json:
    """Return the stars expected of each song that a player chose, and its forecasts."""
    free = np.ones(len(library), dtype=np.bool_)
    rows: list[int] = []
    answers: list[tuple[float, float]] = []
    worth: list[float] = []
    forecasts = []
    for step in range(1, steps + 1):
        rng = stream(seed, "answer", run, step)
        allowed = free & ~np.isin(library.artist, library.artist[rows[-ARTIST_GAP:]])
        allowed = allowed if allowed.any() else free
        draw = rng.random()
        row = player.choose(allowed)
        if row is None:
            some = np.flatnonzero(allowed)
            row = int(some[int(draw * len(some))])
        worth.append(float(taste.expected(step)[row]))
        answers.append(taste.answer(row, step, rng))
        player.learn(row, *answers[-1])
        rows.append(row)
        free[row] = False
        if step in ASKED_AT and (forecast := player.forecast()) is not None:
            asked = _asked(free, rng)
            truth = np.array([taste.rating(other, step, rng) for other in asked.tolist()])
            forecasts.append({"step": step, **_judged(forecast, asked, truth, answers)})
    means = {str(look): float(np.mean(worth[:look])) for look in LOOKS if look <= steps}
    return {"means": means, "forecasts": forecasts}


def _asked(free: Any, rng: np.random.Generator) -> Indices:
    rows = np.flatnonzero(free)
    return rng.choice(rows, min(_ASKED_SONGS, len(rows)), replace=False)


def _judged(
    forecast: Forecast, rows: Indices, truth: Vector, answers: Sequence[tuple[float, float]]
) -> dict[str, float]:
    """Return errors beside those of the listener's mean, and how far the stated doubt covers."""
    ratings, weights = np.array(answers).T
    usual = np.average(ratings, weights=weights)
    mean = np.clip(forecast.mean[rows], 1, 5)
    judged = {
        "error": float(np.sqrt(np.mean((mean - truth) ** 2))),
        "error_of_mean": float(np.sqrt(np.mean((usual - truth) ** 2))),
    }
    if forecast.standard_deviation is None:
        return judged
    stated = forecast.standard_deviation[rows]
    away = np.abs(forecast.mean[rows] - truth) / stated
    return {
        **judged,
        "within_one": float(np.mean(away <= 1)),
        "within_two": float(np.mean(away <= 2)),
        "stated": float(stated.mean()),
        "spread": float(np.sqrt(np.average((ratings - usual) ** 2, weights=weights))),
    }


# ── The chapter ────────────────────────────────────────────────────────────────────────────


def _size(plan: Plan) -> dict[str, int]:
    return plan.pick(
        quick={"songs": 400, "steps": 50, "runs": 4},
        full={"songs": 2_000, "steps": 200, "runs": 20},
    )


def jobs(plan: Plan) -> list[Job]:
    """Return one job per listener of each world."""
    size = _size(plan)
    runs = range(size.pop("runs"))
    return [
        Job.of(meet, f"{place:02d}-{run:02d}", world=world, run=run, seed=plan.seed, **size)
        for run in runs
        for place, world in enumerate(WORLDS)
    ]


class WorldResults(NamedTuple):
    """All listeners of one world: the means of each player by look, and its forecasts."""

    means: dict[str, dict[int, Vector]]
    forecasts: dict[str, list[dict[str, float]]]

    @classmethod
    def of(cls, runs: Sequence[Json]) -> WorldResults:
        """Return the results of a world from those of its listeners."""
        looks = [int(look) for look in runs[0][RANDOM]["means"]]
        means = {
            name: {
                look: np.array([run[name]["means"][str(look)] for run in runs]) for look in looks
            }
            for name in PLAYERS
        }
        forecasts = {
            name: [one for run in runs for one in run[name]["forecasts"]] for name in PLAYERS
        }
        return cls(means, forecasts)

    @property
    def looks(self) -> list[int]:
        """After how many songs the means were taken."""
        return list(self.means[RANDOM])

    def gain(self, name: str, look: int) -> float:
        """Return the stars per song that a player has over random songs."""
        return float(np.mean(self.means[name][look] - self.means[RANDOM][look]))


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return how our player does beside all others, world by world."""
    found = {
        world: WorldResults.of(runs)
        for world, runs in grouped(jobs(plan), results, "world").items()
    }
    last = max(next(iter(found.values())).looks)
    size = _size(plan)
    gains = [
        (
            world,
            *(
                one.gain(name, look)
                for look in (LOOKS[0], last)
                for name in PLAYERS
                if name != RANDOM
            ),
        )
        for world, one in found.items()
    ]
    return TEXTS.chapter(
        method=size,
        findings=(
            _begin_finding(found),
            _rivals_finding(found, last),
            _gains_finding(found, last),
            _error_finding(found),
            _doubt_finding(found),
        ),
        tables=(
            TEXTS.table("gains", gains, players=[n for n in PLAYERS if n != RANDOM], last=last),
            TEXTS.table("forecasts", _forecast_rows(found)),
        ),
        drawings=(TEXTS.drawing("gains", partial(_draw, found, last), inches=(9.5, 5.5), **size),),
    )


def _worse(
    found: Mapping[str, WorldResults], pairs: Sequence[tuple[str, str]], look: int
) -> list[str]:
    """Return the worlds in which ours is significantly below another player."""
    tests = tested_together(
        (found[world].means[OURS][look], found[world].means[other][look]) for world, other in pairs
    )
    return [
        f"{world} ({other}, {test.mean:+.2f})"
        for (world, other), (test, p) in zip(pairs, tests, strict=True)
        if test.mean < 0 and p < _SIGNIFICANT
    ]


def _begin_finding(found: Mapping[str, WorldResults]) -> Finding:
    """Judge the first songs beside random ones and those of bayes-ucb-cn-x."""
    look = LOOKS[0]
    worse = _worse(found, [(world, other) for world in found for other in (RANDOM, BEFORE)], look)
    gains = [one.gain(OURS, look) for one in found.values()]
    before = [one.gain(BEFORE, look) for one in found.values()]
    verdict = verdict_on([not worse])
    return TEXTS.finding(
        "begin", verdict, look=look, worse=worse, gain=np.mean(gains), before=np.mean(before)
    )


def _rivals_finding(found: Mapping[str, WorldResults], last: int) -> Finding:
    """Judge the long run beside the best of the rivals of each world."""
    best = {
        world: max(RIVALS, key=lambda name: one.gain(name, last)) for world, one in found.items()
    }
    worse = _worse(found, list(best.items()), last)
    return TEXTS.finding(
        "rivals",
        verdict_on([not worse]),
        last=last,
        worse=worse,
        ours=np.mean([one.gain(OURS, last) for one in found.values()]),
        best=np.mean([one.gain(best[world], last) for world, one in found.items()]),
    )


def _gains_finding(found: Mapping[str, WorldResults], last: int) -> Finding:
    """Judge what names add, and what they cost where only sound counts."""
    ratio = {
        world: found[world].gain(OURS, last) / max(found[world].gain(BEFORE, last), 1e-9)
        for world in (*NAMED, LINEAR)
    }
    answers = [ratio[world] >= _NAMED_GAIN for world in NAMED] + [ratio[LINEAR] >= _LINEAR_GAIN]
    return TEXTS.finding("gains", verdict_on(answers), last=last, ratio=ratio, linear=LINEAR)


def _ratio(rows: Sequence[Mapping[str, float]], step: int) -> float | None:
    """Return the error of a player beside that of the listener's mean at a step."""
    some = [row for row in rows if row["step"] == step]
    if not some:
        return None
    errors, means = (np.array([row[name] for row in some]) for name in ("error", "error_of_mean"))
    ours, theirs = (max(np.sqrt(np.mean(each**2)), _NO_ERROR) for each in (errors, means))
    return float(ours / theirs)


def _error_finding(found: Mapping[str, WorldResults]) -> Finding:
    """Judge forecasts of songs that were not played beside the listener's mean."""
    ratios = {
        world: {step: _ratio(one.forecasts[OURS], step) for step in ASKED_AT}
        for world, one in found.items()
    }
    late = {
        world: [r for s, r in by.items() if s >= 30 and r is not None]
        for world, by in ratios.items()
    }
    high = [world for world, values in late.items() if values and max(values) > 1.0]
    return TEXTS.finding("error", verdict_on([not high]), high=high, ratios=late)


def _covered(rows: Sequence[Mapping[str, float]]) -> tuple[float, float, float] | None:
    """Return how often one and two stated deviations cover, and how wide they are."""
    stated = [row for row in rows if "stated" in row]
    if not stated:
        return None
    one, two = (
        float(np.mean([row[name] for row in stated])) for name in ("within_one", "within_two")
    )
    spreads = [row["stated"] / row["spread"] for row in stated if row["spread"] > 0]
    return one, two, float(np.mean(spreads)) if spreads else 0.0


def _doubt_finding(found: Mapping[str, WorldResults]) -> Finding:
    """Judge the stated doubt of a rating."""
    covered = {world: _covered(one.forecasts[OURS]) for world, one in found.items()}
    known = {world: one for world, one in covered.items() if one is not None}
    narrow = [w for w, one in known.items() if one[0] < _ONE_DEVIATION or one[1] < _TWO_DEVIATIONS]
    width = float(np.mean([one[2] for one in known.values() if one[2]]))
    verdict = verdict_on([not narrow, width <= _WIDEST]) if known else Verdict.OPEN
    return TEXTS.finding("doubt", verdict, narrow=narrow, width=width)


def _forecast_rows(found: Mapping[str, WorldResults]) -> list[tuple[Any, ...]]:
    rows = []
    for world, one in found.items():
        for name in (OURS, BEFORE):
            covered = _covered(one.forecasts[name]) or (None, None, None)
            errors = (_ratio(one.forecasts[name], step) for step in ASKED_AT)
            rows.append((world, name, *errors, *covered))
    return rows


def _draw(found: Mapping[str, WorldResults], last: int, figure: Figure) -> None:
    for axes, look in zip(figure.subplots(1, 2, sharey=True), (LOOKS[0], last), strict=True):
        places = np.arange(len(found))
        for name, colour in zip((OURS, BEFORE, *RIVALS), figures.CYCLE, strict=False):
            tests = [
                paired_difference(one.means[name][look], one.means[RANDOM][look])
                for one in found.values()
            ]
            spread = [1.96 * test.standard_error for test in tests]
            means = [test.mean for test in tests]
            axes.errorbar(means, places, xerr=spread, fmt="o", color=colour, label=name, alpha=0.85)
        axes.axvline(0.0, color=figures.MUTED, linewidth=1)
        axes.set(title=f"first {look} songs", xlabel="stars per song above random")
        axes.set_yticks(places, list(found))
        axes.grid(axis="x")
    figure.axes[0].invert_yaxis()
    figure.axes[1].legend(loc="lower right", fontsize="small")


STUDY: Final = Study(
    name="battery",
    title="People of many kinds: what the radio does where its model is wrong",
    jobs=jobs,
    chapter=chapter,
)
