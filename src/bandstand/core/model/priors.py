"""Prior beliefs about a listener: (5), (6) and (7).

code                      maths    meaning
`PreferencePrior.mean`    μ0       expected preference for each feature
`….precision`             V0⁻¹     how sure we are of `mean`, in units of the noise precision τ
`GammaRecovery`           b0, c0   s ~ Gamma(shape, rate): the paper's
`LogNormalRecovery`                log s ~ Normal: broad, for real listeners
`NoisePrior`              f0, h0   τ ~ Gamma(shape, rate)

The recovery time is integrated over y = log s, so its priors are densities of y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincinv, gammaln, ndtri

from bandstand.errors import InvalidInputError
from bandstand.types import Matrix, Vector, frozen


class RecoveryPrior(Protocol):
    """A prior of the recovery time s, as a density of y = log s."""

    def log_density(self, log_recovery_time: Vector) -> Vector:
        """Return log p(y) at each y."""
        ...

    def interval(self) -> tuple[float, float]:
        """Return an interval of y that holds all but a negligible part of the prior."""
        ...

    def draw(self, rng: np.random.Generator, size: int) -> Vector:
        """Return `size` recovery times in minutes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GammaRecovery:
    """s ~ Gamma(shape b0, rate c0): the paper's prior, 300 minutes in the mean."""

    shape: float = 3.0
    rate: float = 1e-2

    def __post_init__(self) -> None:
        """Refuse what is no gamma distribution."""
        require_positive(shape=self.shape, rate=self.rate)

    def log_density(self, log_recovery_time: Vector) -> Vector:
        """Return log p(y) = b0·y − c0·exp(y) + const; the density of s times s."""
        constant = self.shape * math.log(self.rate) - float(gammaln(self.shape))
        with np.errstate(under="ignore"):
            fall = self.rate * np.exp(np.minimum(log_recovery_time, 600.0))
        return np.asarray(self.shape * log_recovery_time - fall + constant)

    def interval(self) -> tuple[float, float]:
        """Return the y between which all but 1e-16 of the prior lies on the right, 1e-18 left."""
        # The left tail of y is exp(b0·y), which has a closed form even where s underflows.
        left = (math.log(1e-18) + float(gammaln(self.shape + 1))) / self.shape
        right = math.log(max(float(gammaincinv(self.shape, 1 - 1e-16)), 1e-300))
        return left - math.log(self.rate), right - math.log(self.rate)

    def draw(self, rng: np.random.Generator, size: int) -> Vector:
        """Return `size` recovery times in minutes."""
        return rng.gamma(self.shape, 1 / self.rate, size)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNormalRecovery:
    """log s ~ Normal(log median, log_standard_deviation²).

    Repeats of real people come days apart; the default has its median at a day and 95 %
    of its mass between an hour and a month.
    """

    median: float = 1_440.0
    log_standard_deviation: float = 1.65

    def __post_init__(self) -> None:
        """Refuse what is no log-normal distribution."""
        require_positive(median=self.median, log_standard_deviation=self.log_standard_deviation)

    def log_density(self, log_recovery_time: Vector) -> Vector:
        """Return log p(y), a normal density."""
        z = (log_recovery_time - math.log(self.median)) / self.log_standard_deviation
        constant = math.log(self.log_standard_deviation * math.sqrt(2 * math.pi))
        return np.asarray(-0.5 * z * z - constant)

    def interval(self) -> tuple[float, float]:
        """Return the y between which all but 2e-18 of the prior lies."""
        reach = -float(ndtri(1e-18)) * self.log_standard_deviation
        return math.log(self.median) - reach, math.log(self.median) + reach

    def draw(self, rng: np.random.Generator, size: int) -> Vector:
        """Return `size` recovery times in minutes."""
        return self.median * np.exp(self.log_standard_deviation * rng.standard_normal(size))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePrior:
    """τ ~ Gamma(shape f0, rate h0), τ being one over the variance of a rating of weight 1.

    The paper's values are nearly improper: p(U) has no mean before the first rating and
    no variance before the second. With a shape of 2 or more everything exists from the start.
    """

    shape: float = 1e-3
    rate: float = 1e-3
    # Whether an answer of weight w counts as w answers (46).
    by_weight: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what is no gamma distribution."""
        require_positive(shape=self.shape, rate=self.rate)

    def count(self, weights: Vector) -> float:
        """Return how many answers these are as far as the noise is concerned: N of (10)."""
        return float(weights.sum()) if self.by_weight else len(weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferencePrior:
    """θ | τ ~ N(μ0, V0/τ) (5). Only the precision V0⁻¹ is stored."""

    mean: Vector
    precision: Matrix

    def __post_init__(self) -> None:
        """Refuse what is no normal distribution."""
        columns = self.mean.size
        if self.mean.ndim != 1 or self.precision.shape != (columns, columns):
            msg = f"the prior of {columns} features needs a {columns} × {columns} matrix, "
            msg += f"got mean {self.mean.shape} and matrix {self.precision.shape}"
            raise InvalidInputError(msg)
        if not (np.isfinite(self.mean).all() and np.isfinite(self.precision).all()):
            msg = "a prior's mean and variances must be finite and not zero, got one that is not"
            raise InvalidInputError(msg)
        if not np.allclose(self.precision, self.precision.T, rtol=1e-8, atol=0):
            msg = "a prior's covariance must be symmetric, got one that is not"
            raise InvalidInputError(msg)
        try:
            np.linalg.cholesky(self.precision)
        except np.linalg.LinAlgError as problem:
            msg = "a prior's covariance must be positive definite, got one that is not"
            raise InvalidInputError(msg) from problem

    def __repr__(self) -> str:
        return f"<PreferencePrior: {self.mean.size:,} columns>"

    @classmethod
    def isotropic(cls, columns: int, variance: float) -> PreferencePrior:
        """Return the paper's prior: no preference expected, each feature as likely to matter."""
        require_positive(variance=variance)
        _check_columns(columns)
        return cls.independent(np.zeros(columns), np.full(columns, variance))

    @classmethod
    def independent(cls, mean: ArrayLike, variances: ArrayLike) -> PreferencePrior:
        """Return a prior in which features are independent."""
        each = np.asarray(variances, dtype=np.float64)
        if not ((each > 0) & (each < np.inf)).all():
            msg = f"prior variances must be positive and finite, got {variances!r}"
            raise InvalidInputError(msg)
        return cls(
            mean=frozen(np.array(mean, dtype=np.float64)), precision=frozen(np.diag(1 / each))
        )

    @classmethod
    def correlated(cls, mean: ArrayLike, covariance: ArrayLike) -> PreferencePrior:
        """Return a prior with any mean and covariance, such as one learned from many listeners."""
        matrix = np.asarray(covariance, dtype=np.float64)
        if matrix.ndim != 2 or not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0):
            msg = "covariance must be symmetric, got one that is not"
            raise InvalidInputError(msg)
        try:
            root = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError as problem:
            msg = "covariance must be positive definite, got one that is not"
            raise InvalidInputError(msg) from problem
        half = np.linalg.solve(root, np.eye(len(matrix)))
        return cls(mean=frozen(np.array(mean, dtype=np.float64)), precision=frozen(half.T @ half))

    @property
    def columns(self) -> int:
        """The number of features of a song: p."""
        return len(self.mean)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectPrior:
    """e ~ N(0, κ/τ) of each artist, album and song (33): κ is the variance, 0 for no effect."""

    artist: float = 0.0
    album: float = 0.0
    song: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no variance."""
        for name in ("artist", "album", "song"):
            variance = getattr(self, name)
            if not 0 <= variance < math.inf:
                msg = f"the variance of {name} effects must be finite and not negative, "
                raise InvalidInputError(msg + f"got {variance}")

    @property
    def total(self) -> float:
        """The variance of all effects of a song of which nothing is known."""
        return self.artist + self.album + self.song


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ListenerKind:
    """What the tastes of some listeners follow, as variances that take the place of a prior's."""

    share: float  # of all listeners
    variances: Vector = field(repr=False)  # of the preference for each feature
    effects: EffectPrior


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerPrior:
    """All priors of a listener together.

    With `kinds`, the variances follow the answers (`engines.exact.scales`).
    """

    preference: PreferencePrior
    recovery: RecoveryPrior
    noise: NoisePrior
    effects: EffectPrior = EffectPrior()
    kinds: tuple[ListenerKind, ...] = field(default=(), repr=False)


def paper_prior(columns: int) -> ListenerPrior:
    """Return the paper's prior (section 5.2.1): a0 = 10, b0 = 3, c0 = 1e-2, f0 = h0 = 1e-3."""
    return ListenerPrior(
        preference=PreferencePrior.isotropic(columns, 10.0),
        recovery=GammaRecovery(),
        noise=NoisePrior(),
    )


def radio_prior(
    columns: int, *, sound_square: float | None = None, intercept: bool = True
) -> ListenerPrior:
    """Return the prior for real listeners: features of sound, the last column constant.

    The features have a mean square of `sound_square` in all: their number, if they are
    standardised. They have the prior variance of the intercept together, so that the prior does
    not grow with their number; the noise prior is proper. Without an intercept all columns are
    features.
    """
    _check_columns(columns)
    square = max(columns - intercept, 1) if sound_square is None else sound_square
    require_positive(sound_square=square)
    variances = np.full(columns, 10.0 / square)
    if intercept:
        variances[-1] = 10.0
    return ListenerPrior(
        preference=PreferencePrior.independent(np.zeros(columns), variances),
        recovery=LogNormalRecovery(),
        noise=NoisePrior(shape=2.0, rate=1.0),
    )


# ── People ───────────────────────────────────────────────────────────────────────────────


class Variances(NamedTuple):
    """What the likings of one kind of listener differ by, in units of the noise variance."""

    share: float  # of all listeners
    sound: float  # a linear function of it
    curved: float  # any smooth function of it
    tags: float
    artist: float
    album: float
    song: float
    mean: float  # of all ratings

    def of_columns(self, sound_square: float) -> tuple[float, float, float, float]:
        """Return the variance of a column of curved likings, tags, sound, and the constant one."""
        return self.curved, self.tags, self.sound / sound_square, self.mean


# Judgements, not estimates: a whole star is about what two ratings of one song by one person
# differ by, and a listener may follow a bit of everything, mostly sound along a line or in curves,
# mostly tags or names, no more than single songs, or nothing: always the same stars.
KINDS: Final = tuple(
    Variances(*each)
    for each in (
        # share, sound, curved, tags, artist, album, song, mean
        (0.258, 0.25, 0.5, 0.5, 0.5, 0.12, 1.0, 1.4),
        (0.12, 2.0, 0.12, 0.12, 0.12, 0.06, 0.4, 1.4),
        (0.12, 0.12, 2.0, 0.12, 0.12, 0.06, 0.4, 1.4),
        (0.12, 0.12, 0.12, 2.0, 0.12, 0.06, 0.4, 1.4),
        (0.12, 0.12, 0.12, 0.12, 2.0, 0.8, 0.4, 1.4),
        (0.14, 0.005, 0.01, 0.01, 0.02, 0.01, 1.6, 3.0),
        (0.12, 0.005, 0.01, 0.01, 0.02, 0.01, 4.0, 3.0),
        (0.002, 0.005, 0.01, 0.01, 0.02, 0.01, 0.3, 4.0),
    )
)
_MEAN_RATING: Final = 3.0
# The noise variance, as surely as 80 answers would tell it: songs that the radio chooses are better
# liked than others, and stars end at five, so that answers make it look smaller than it is.
_NOISE_VARIANCE: Final = 0.43
_NOISE_SHAPE: Final = 40.0


def people_prior(
    columns: int,
    *,
    curved: int = 0,
    tags: int = 0,
    sound_square: float = 1.0,
    intercept: bool = True,
) -> ListenerPrior:
    """Return the prior of the mixed-effects model for people who rate from 1 to 5.

    The first `curved` columns are those of curved likings, the next `tags` those of tags, the last
    is constant, and those before it are sound. A song's sound has a mean square of `sound_square`
    in all, its tags and its curved columns have length 1: so the variances are those of what each
    says of a song, however many columns it has. Without an intercept the sound comes last.
    """
    _check_columns(columns)
    require_positive(sound_square=sound_square)
    sizes = [curved, tags, columns - intercept - tags - curved, int(intercept)]
    if min(sizes) < 0:
        least = curved + tags + intercept
        msg = (
            f"people's prior needs columns for {curved} curved likings and {tags} tags, "
            f"{least} in all, got {columns}"
        )
        raise InvalidInputError(msg)
    mean = np.zeros(columns)
    mean[columns - intercept :] = _MEAN_RATING
    kinds = tuple(
        ListenerKind(
            share=kind.share,
            variances=frozen(np.repeat(kind.of_columns(sound_square), sizes)),
            effects=EffectPrior(artist=kind.artist, album=kind.album, song=kind.song),
        )
        for kind in KINDS
    )
    return ListenerPrior(
        preference=PreferencePrior.independent(mean, kinds[0].variances),
        recovery=LogNormalRecovery(),
        noise=NoisePrior(shape=_NOISE_SHAPE, rate=_NOISE_SHAPE * _NOISE_VARIANCE, by_weight=True),
        effects=kinds[0].effects,
        kinds=kinds,
    )


PEOPLE_EFFECTS: Final = EffectPrior(
    artist=KINDS[0].artist, album=KINDS[0].album, song=KINDS[0].song
)


def _check_columns(columns: int) -> None:
    if not isinstance(columns, int | np.integer) or columns < 1:
        msg = f"the number of features must be a whole number of at least 1, got {columns!r}"
        raise InvalidInputError(msg)


def require_positive(**numbers: float) -> None:
    """Refuse a number that is not positive and finite, by its name."""
    for name, number in numbers.items():
        if not 0 < number < math.inf:
            msg = f"{name} must be positive and finite, got {number}"
            raise InvalidInputError(msg)
