"""Three laws of plays by rank, compared by likelihood.

A straight line on two logarithmic axes is a weak witness: plays spread evenly over 1,000 songs
give one with R² = 0.7, for sorting alone makes frequencies fall with the rank. Here the order
is treated as what it is, unknown. A library has S songs, the song of true rank k gets the share
π_k of the plays, and which song has which rank is unknown. So a song with x plays out of N has
the likelihood

    P(x) = 1/S Σ_k Poisson(x; N π_k),         given that x ≥ 1: P(x) / (1 − P(0))

Songs without a play are left out on both sides, so they need not be known. How many
there are does matter: S ends the ranks, and with it changes what Zipf's law and the exponential
one expect of the songs that were played. Where S is not known, compare for more than one.

law          π_k ∝         parameter
Zipf         k^(−a)        a, the exponent
exponential  exp(−k/b)     b, the songs after which plays fall to 37 %
equal        1 for k ≤ m   m, the songs in use

Each has one parameter, so log-likelihoods compare as they are. Equal plays of all songs are
Zipf's law with a = 0, so to differ from them Zipf's law has to be a fall worth the name: `shape`
takes the likeliest a of at least ½. Against the exponential law this is Vuong's test:
z = √n · mean(d) / sd(d), d the difference of a song's log-likelihoods under the two laws. Equal
plays have the same log-likelihood ratio for every song played equally often, and their m is free:
neither law is a case of the other, so Wilks's theorem gives no p-value. There a difference of
1.92 (6.8 times as likely, Wilks's bound of 5 % for nested laws) is the convention.

What this says is relative. No law is tested for its fit, and other heavy tails (a log-normal
one, a power with a cut-off) are not among the three.

Q. H. Vuong, "Likelihood ratio tests for model selection and non-nested hypotheses" (1989).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy.special import gammaln

from bandstand.errors import InvalidInputError
from bandstand.types import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from bandstand.types import Matrix, Vector

    Shares: TypeAlias = Callable[["_Ranks", float], "_Spread"]

# A normal deviate of this size comes by chance in one of 20 cases.
CLEAR: Final = 1.959963984540054
CLEAR_GAIN: Final = CLEAR**2 / 2  # of log-likelihood: 6.8 times as likely
SMALLEST_EXPONENT: Final = 0.5  # below it, Zipf's law is hardly more than equal plays
MIN_REPEAT_SHARE: Final = 0.05  # of all plays; with fewer repeats there is nothing to rank
_ROUNDING: Final = 1e-9
_FINE_RANKS: Final = 100  # first ranks that are taken one by one
_BIN: Final = 0.01  # the rest in bins of this relative width
_LARGEST_EXPONENT: Final = 4.0
_PLACES: Final = 33  # of a first look at the parameter, then again around the best
_ROUNDS: Final = 3


class Shape(StrEnum):
    """What the plays of one listener look like."""

    ZIPF = "Zipf"  # Zipf's law is clearly likelier than both others
    OTHER = "not Zipf"  # the exponential law or equal plays are clearly likelier than Zipf's
    OPEN = "open"  # neither: the plays do not decide


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFit:
    """A law with its likeliest parameter."""

    law: str
    parameter: float
    log_likelihoods: Vector  # one for each song that was played

    @property
    def log_likelihood(self) -> float:
        """The sum over all songs."""
        return float(self.log_likelihoods.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """All three laws, fitted to the same plays."""

    zipf: LawFit
    falling: LawFit  # Zipf's law with an exponent of at least ½
    exponential: LawFit
    equal: LawFit
    repeat_share: float  # of all plays

    @property
    def against_exponential(self) -> float:
        """Vuong's z: positive where a falling Zipf's law is the likelier one."""
        return vuong(self.falling, self.exponential)

    @property
    def against_equal(self) -> float:
        """How much larger the log-likelihood of a falling Zipf's law is than of equal plays."""
        return self.falling.log_likelihood - self.equal.log_likelihood

    @property
    def shape(self) -> Shape:
        """Which law the plays are nearer to; open where hardly any song has come back."""
        if self.repeat_share < MIN_REPEAT_SHARE:
            return Shape.OPEN
        if self.against_equal < -CLEAR_GAIN or self.against_exponential < -CLEAR:
            return Shape.OTHER
        is_clear = self.against_equal > CLEAR_GAIN and self.against_exponential > CLEAR
        return Shape.ZIPF if is_clear else Shape.OPEN

    @property
    def likeliest(self) -> str:
        """The name of the law under which the plays are likeliest; of equal ones the simplest."""
        fits = (self.equal, self.exponential, self.zipf)
        highest = max(fit.log_likelihood for fit in fits)
        near = highest - _ROUNDING * max(1.0, abs(highest))
        return next(fit.law for fit in fits if fit.log_likelihood >= near)


def compare_laws(counts: ArrayLike, *, library: int) -> Ranking:
    """Return how likely the plays of each song are when `library` songs can be played.

    >>> expected = 2_000 * (shares := 1 / np.arange(1, 201)) / shares.sum()
    >>> ranking = compare_laws(expected.round(), library=200)
    >>> ranking.shape, round(ranking.zipf.parameter, 1)
    (<Shape.ZIPF: 'Zipf'>, 1.0)
    """
    plays = _checked(counts, library)
    ranks = _Ranks.of(library)
    songs = len(plays)
    zipf = _fitted("Zipf", plays, ranks, _zipf, (0.0, _LARGEST_EXPONENT))
    return Ranking(
        zipf=zipf,
        falling=_falling(zipf, plays, ranks),
        exponential=_fitted(
            "exponential", plays, ranks, _exponential, (math.log(0.3), math.log(20.0 * library))
        ),
        # No fewer songs can be in use than were played.
        equal=_fitted("equal", plays, ranks, _equal, (math.log(songs), math.log(library))),
        repeat_share=1 - songs / float(plays.sum()),
    )


def vuong(first: LawFit, second: LawFit) -> float:
    """Return z, positive where the first law is likelier; ±∞ if all songs say the same."""
    apart = first.log_likelihoods - second.log_likelihoods
    mean, spread = float(apart.mean()), float(apart.std())
    scale = float(np.abs(first.log_likelihoods).max())
    if abs(mean) <= 1e-12 * scale:
        return 0.0
    if spread <= 1e-12 * scale:
        return math.copysign(math.inf, mean)
    return math.sqrt(len(apart)) * mean / spread


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spread:
    """Shares of plays: `sizes` says how many songs have each of them."""

    log_shares: Vector
    sizes: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranks:
    """The ranks of a library, far ones in bins: `middles` and how many ranks each stands for."""

    middles: Vector
    sizes: Vector

    @classmethod
    def of(cls, library: int) -> _Ranks:
        edges = np.arange(1.0, min(library, _FINE_RANKS) + 2)
        if library > _FINE_RANKS:
            count = math.ceil(math.log(library / _FINE_RANKS) / _BIN)
            further = np.geomspace(_FINE_RANKS + 1.0, library + 1.0, count + 1)
            edges = np.unique(np.concatenate([edges, further.round()]))
        sizes = np.diff(edges)
        return cls(middles=frozen(edges[:-1] + (sizes - 1) / 2), sizes=frozen(sizes))

    def spread(self, log_weights: Vector) -> _Spread:
        """Return the shares that are proportional to these weights; the first is the largest."""
        relative = log_weights - log_weights[0]
        with np.errstate(under="ignore"):
            total = self.sizes @ np.exp(relative)
        return _Spread(log_shares=np.asarray(relative - np.log(total)), sizes=self.sizes)


def _zipf(ranks: _Ranks, exponent: float) -> _Spread:
    return ranks.spread(-exponent * np.log(ranks.middles))


def _exponential(ranks: _Ranks, log_scale: float) -> _Spread:
    return ranks.spread(-ranks.middles / math.exp(log_scale))


def _equal(ranks: _Ranks, log_songs: float) -> _Spread:
    del ranks  # the songs in use are alike, and the others are never played
    return _Spread(log_shares=np.array([-log_songs]), sizes=np.array([math.exp(log_songs)]))


def _fitted(
    law: str, plays: Vector, ranks: _Ranks, shares: Shares, interval: tuple[float, float]
) -> LawFit:
    """Return the likeliest parameter: a look at the whole interval, then twice around the best."""
    values, place = np.unique(plays, return_inverse=True)
    repeated, total = np.bincount(place), float(plays.sum())
    low, high = interval
    best, best_logs, highest = low, np.zeros(len(values)), -math.inf
    for _ in range(_ROUNDS):
        places = np.linspace(low, high, _PLACES)
        for parameter in places:
            logs = _log_likelihoods(values, total, shares(ranks, float(parameter)))
            likelihood = float(repeated @ logs)
            if likelihood > highest:
                best, best_logs, highest = float(parameter), logs, likelihood
        step = float(places[1] - places[0])
        low, high = max(interval[0], best - step), min(interval[1], best + step)
    return LawFit(
        law=law,
        parameter=best if law == "Zipf" else math.exp(best),
        log_likelihoods=frozen(best_logs[place]),
    )


def _falling(zipf: LawFit, plays: Vector, ranks: _Ranks) -> LawFit:
    """Return Zipf's law with an exponent of at least ½: the likeliest one, or just ½."""
    if zipf.parameter >= SMALLEST_EXPONENT:
        return zipf
    logs = _log_likelihoods(plays, float(plays.sum()), _zipf(ranks, SMALLEST_EXPONENT))
    return LawFit(law="Zipf", parameter=SMALLEST_EXPONENT, log_likelihoods=frozen(logs))


def _log_likelihoods(values: Vector, total: float, spread: _Spread) -> Vector:
    """Return ln P(x | x ≥ 1) of each number of plays; 1/S cancels."""
    log_means = math.log(total) + spread.log_shares
    with np.errstate(under="ignore"):
        means = np.exp(log_means)
        terms: Matrix = np.log(spread.sizes) + values[:, np.newaxis] * log_means - means
        top = terms.max(axis=1)
        log_sums = top + np.log(np.exp(terms - top[:, np.newaxis]).sum(axis=1))
        # S · (1 − P(0)) as a sum of small parts, since P(0) may be 1 but for rounding.
        played = float(spread.sizes @ -np.expm1(-means))
    return np.asarray(log_sums - gammaln(values + 1) - math.log(played))


def _checked(counts: ArrayLike, library: int) -> Vector:
    plays = np.asarray(counts, dtype=np.float64)
    is_counts = plays.ndim == 1 and bool(np.isfinite(plays).all()) and not (plays < 0).any()
    if not is_counts or not plays.any():
        msg = f"laws need the plays of at least one song, got {counts!r:.60}"
        raise InvalidInputError(msg)
    played: Vector = plays[plays > 0]
    if library < len(played):
        msg = (
            f"a library must have at least the {len(played)} songs that were played, got {library}"
        )
        raise InvalidInputError(msg)
    return played
