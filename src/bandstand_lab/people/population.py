"""Differences between people, learned by the marginal likelihood.

    r = μ_p + e_artist + e_album + e_song + rest,    given τ_p all of them normal, as in (33)

code          maths          meaning
`mean`        μ              mean of people's means, in stars
`intercept`   κ_0            variance of people's means, in units of the rest's 1/τ
`levels`      κ_artist, …    variance of the effects that the table can tell apart
`shape`,      f, h           τ ~ Gamma(f, rate h), 1/τ being the variance of the rest
`rate`

A level is there if the table has its column, and songs only if some person rated one twice. What it
does not have is part of the rest: without a song rated twice, noise and songs cannot be separated.
Nothing is heard again in it as far as the model knows, so there is no recovery.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, polygamma

from bandstand._util.csv_tables import check_columns, number, read_table, refuse, shown
from bandstand.core.model.priors import people_prior
from bandstand.types import Indices, Vector
from bandstand_lab.report.tasks import run_tasks

# From the narrowest to the widest; in a song of two artists the first one counts.
LEVELS: Final = ("song", "album", "artist")
_REQUIRED: Final = ("person", "song", "stars")
_LOWEST, _HIGHEST = 1.0, 5.0  # stars, of the radio's scale
_MIN_PEOPLE: Final = 10
_QUANTILES: Final = (0.025, 0.975)
# Logarithms of variances, shape and rate are sought between these.
_BOUND: Final = 9.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatedSongs:
    """Ratings by people, one after the other, on the radio's scale.

    `names` has a number for each rating and level: equal for the same song, album, artist.
    """

    person: Indices  # from 0, all of them there
    ratings: Vector
    names: Mapping[str, Indices]  # by level, the narrowest first

    @property
    def people(self) -> int:
        """The number of people."""
        return int(self.person.max()) + 1


def read_ratings(path: Path, scale: tuple[float, float] = (_LOWEST, _HIGHEST)) -> RatedSongs:
    """Return the ratings of a CSV file; those on another `scale` are stretched to 1 to 5 stars."""
    top, header, rows = read_table(path, ", ".join(_REQUIRED))
    check_columns(path, top, header, required=_REQUIRED)
    low, high = scale
    stars: list[float] = []
    names: tuple[str, ...] = ("person", *LEVELS)
    texts = {name: list[str]() for name in names if name in header}
    for line, fields in rows:
        row = dict(zip(header, fields, strict=True))
        given = number(path, line, "stars", row["stars"], np.inf)
        if not low <= given <= high:
            refuse(path, line, f"stars must be from {low:g} to {high:g}, got {shown(row['stars'])}")
        stars.append(_LOWEST + (given - low) / (high - low) * (_HIGHEST - _LOWEST))
        for name, column in texts.items():
            column.append(row[name] or f"\0{line}")  # no name is one of its own
    codes = {
        name: np.unique(np.array(each), return_inverse=True)[1] for name, each in texts.items()
    }
    person = codes.pop("person")
    people = len(np.unique(person))
    if people < _MIN_PEOPLE:
        refuse(path, None, f"expected ratings by at least {_MIN_PEOPLE} people, got {people}")
    return RatedSongs(person=person, ratings=np.array(stars), names=told_apart(person, codes))


def told_apart(person: Indices, codes: Mapping[str, Indices]) -> dict[str, Indices]:
    """Return the levels of which some person rated one more than once."""
    return {
        level: codes[level]
        for level in LEVELS
        if level in codes
        and len(np.unique(np.column_stack([person, codes[level]]), axis=0)) < len(person)
    }


# ── The marginal likelihood ──────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """How people differ."""

    mean: float
    intercept: float
    levels: Mapping[str, float]
    shape: float
    rate: float

    def measures(self) -> dict[str, float]:
        """Return the mean and typical standard deviations in stars.

        `spread` is the factor by which people's own rest differs, one standard deviation.
        """
        unit = self.rate / np.exp(digamma(self.shape))  # the variance of a usual person's rest
        deviations = {"people": self.intercept, **self.levels, "rest": 1.0}
        return {
            "mean": self.mean,
            **{name: float(np.sqrt(unit * each)) for name, each in deviations.items()},
            "spread": float(np.exp(0.5 * np.sqrt(polygamma(1, self.shape)))),
        }


class Likelihood:
    """log p(ratings of a person), everything of theirs integrated out."""

    def __init__(self, rated: RatedSongs) -> None:
        self.counts, self._ratings = np.bincount(rated.person), rated.ratings
        keys = [rated.person]
        for codes in [*rated.names.values()][::-1]:  # songs within albums within artists
            within = np.column_stack([keys[0], codes])
            keys.insert(0, np.unique(within, axis=0, return_inverse=True)[1])
        finer = np.arange(len(rated.person))
        self._steps = []
        for key in keys:
            member, group = (np.unique(each, return_index=True)[1] for each in (finer, key))
            self._steps.append((key[member], rated.person[member], rated.person[group]))
            finer = key

    def of(self, population: Population) -> Vector:
        """Return the logarithm for each person; the nested means are (34) to (36), with u = 1."""
        weights, means = np.ones(len(self._ratings)), self._ratings
        squares, determinants = np.zeros(len(self.counts)), np.zeros(len(self.counts))
        variances = [*population.levels.values(), population.intercept]
        for (owner, of_member, of_group), variance in zip(self._steps, variances, strict=True):
            totals = np.bincount(owner, weights)
            above = np.bincount(owner, weights * means) / totals
            squares += np.bincount(of_member, weights * np.square(means - above[owner]))
            determinants += np.bincount(of_group, np.log1p(variance * totals))
            weights, means = totals / (1 + variance * totals), above
        squares += weights * np.square(means - population.mean)
        shape, rate = population.shape, population.rate
        after = shape + self.counts / 2
        return np.asarray(
            shape * np.log(rate)
            - gammaln(shape)
            + gammaln(after)
            - after * np.log(rate + squares / 2)
            - (determinants + self.counts * np.log(2 * np.pi)) / 2
        )


# ── Learning ─────────────────────────────────────────────────────────────────────────────


def learned(
    rated: RatedSongs, *, weights: Vector | None = None, start: Population | None = None
) -> Population:
    """Return the population under which the ratings are likeliest; people may have weights."""
    likelihood, levels = Likelihood(rated), tuple(rated.names)
    each = np.ones(rated.people) if weights is None else weights
    scale = float(each @ likelihood.counts)

    def at(point: Vector) -> Population:
        intercept, shape, rate, *effects = np.exp(point[1:]).tolist()
        named = dict(zip(levels, effects, strict=True))
        return Population(
            mean=float(point[0]), intercept=intercept, levels=named, shape=shape, rate=rate
        )

    def loss(point: Vector) -> float:
        return -float(each @ likelihood.of(at(point))) / scale

    usual = Population(
        mean=float(rated.ratings.mean()),
        intercept=1.0,
        levels=dict.fromkeys(levels, 0.4),
        shape=3.0,
        rate=3.0 * float(rated.ratings.var()) + 1e-3,
    )
    begin = start or usual
    parts = (begin.intercept, begin.shape, begin.rate, *begin.levels.values())
    first = np.array([begin.mean, *np.log(parts)])
    bounds = [(_LOWEST, _HIGHEST), *((-_BOUND, _BOUND) for _ in first[1:])]
    found = minimize(loss, first, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-11})
    return at(found.x)


def intervals(
    rated: RatedSongs, best: Population, *, draws: int, seed: int, workers: int | None = None
) -> dict[str, tuple[float, float]]:
    """Return 95 % intervals of the measures, by drawing the people again."""
    tasks = [(rated, best, seed, draw) for draw in range(draws)]
    drawn = [measures for _, measures in sorted(run_tasks(_drawn, tasks, workers=workers))]
    return {
        name: tuple(np.quantile([each[name] for each in drawn], _QUANTILES).tolist())
        for name in best.measures()
    }


def _drawn(task: tuple[RatedSongs, Population, int, int]) -> dict[str, float]:
    rated, best, seed, draw = task
    rng, people = np.random.default_rng([seed, draw]), rated.people
    weights = np.bincount(rng.integers(people, size=people), minlength=people).astype(float)
    return learned(rated, weights=weights, start=best).measures()


# ── The shipped prior ────────────────────────────────────────────────────────────────────


def shipped(levels: Sequence[str]) -> list[tuple[float, Population]]:
    """Return the kinds of listeners of `people_prior` as such a table sees them, with shares.

    Sound, curved likings and tags differ from song to song here: part of the rest.
    """
    prior = people_prior(4, curved=1, tags=1)
    kinds = []
    for kind in prior.kinds:
        *others, intercept = kind.variances.tolist()
        effects = {level: getattr(kind.effects, level) for level in LEVELS}
        own = {level: effects[level] for level in levels}
        rest = 1 + sum(others) + sum(effects.values()) - sum(own.values())
        population = Population(
            mean=float(prior.preference.mean[-1]),
            intercept=intercept / rest,
            levels={level: variance / rest for level, variance in own.items()},
            shape=prior.noise.shape,
            rate=prior.noise.rate * rest,
        )
        kinds.append((kind.share, population))
    return kinds


def shipped_measures(levels: Sequence[str]) -> dict[str, float]:
    """Return the measures of all kinds together; variances are means over the kinds."""
    shares, kinds = zip(*shipped(levels), strict=True)
    each = [kind.measures() for kind in kinds]
    found = {
        name: float(np.sqrt(np.average([it[name] ** 2 for it in each], weights=shares)))
        for name in each[0]
    }
    logs = np.array([np.log(it["rest"]) for it in each])
    between = np.average(np.square(logs - np.average(logs, weights=shares)), weights=shares)
    found["spread"] = float(np.exp(np.hypot(np.log(each[0]["spread"]), np.sqrt(between))))
    return found
