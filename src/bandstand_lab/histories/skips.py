"""Predictors of a skip: session, the song's past, time since it was heard.

A logistic regression learns from the first half of a listener's plays and predicts each play of
the second half from what came before it. Its gain is how much better than the first half's base
rate it does, in nats per 1,000 plays.

code        what it knows of a play
`novelty`   days since the song was last heard, and whether it never was
`song`      the share of this song's earlier plays that were skipped, drawn towards the mean
`sitting`   skips in a row right before, as the radio's evidence counts them, and whether the play
            opens a sitting
`all`       all of that together: what the radio's evidence uses
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from bandstand.radio.log.evidence import MAX_SKIPS, SESSION_GAP
from bandstand.types import Indices, Matrix, Vector
from bandstand_lab.histories.plays import PlayHistory

# A song's own past counts as if it had been played twice more, skipped as often as all songs.
_PRIOR_PLAYS: Final = 2.0
_DAY_SECONDS: Final = 86_400.0
_SESSION_GAP_SECONDS: Final = SESSION_GAP / 1_000
# With fewer plays of known end in either half nothing can be compared.
_MIN_PLAYS: Final = 100
_PENALTY: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipForecast:
    """How much better than by the base rate skips are foretold, in nats per 1,000 plays."""

    plays: int  # of the second half, with a known end
    novelty: float
    song: float
    sitting: float
    all: float


def skip_forecast(history: PlayHistory, skips: Vector, gaps: Vector) -> SkipForecast | None:
    """Return what foretells the skips of one listener; None where too few are known to say.

    `skips` are 1, 0 or NaN, `gaps` the seconds since the song's last play, NaN for its first: (n,).
    """
    known = ~np.isnan(skips)
    is_first = np.arange(len(history)) < len(history) // 2
    early, late = (np.flatnonzero(known & half) for half in (is_first, ~is_first))
    if min(len(early), len(late)) < _MIN_PLAYS or len(np.unique(skips[early])) < 2:
        return None
    parts = {
        "novelty": _novelty(gaps),
        "song": _song(history.items, skips),
        "sitting": _sitting(history, skips),
    }
    parts["all"] = np.hstack(list(parts.values()))
    gains = {
        name: _gain(columns[early], skips[early], columns[late], skips[late])
        for name, columns in parts.items()
    }
    return SkipForecast(plays=len(late), **gains)


def together(forecasts: Sequence[SkipForecast | None]) -> SkipForecast | None:
    """Return the mean over all plays that were foretold; None without any."""
    found = [each for each in forecasts if each is not None]
    if not found:
        return None
    plays = [each.plays for each in found]
    means = {
        name: float(np.average([getattr(each, name) for each in found], weights=plays))
        for name in ("novelty", "song", "sitting", "all")
    }
    return SkipForecast(plays=sum(plays), **means)


# ── What is known of each play before it ends ────────────────────────────────────────────


def _novelty(gaps: Vector) -> Matrix:
    never = np.isnan(gaps)
    return np.column_stack([np.log1p(np.where(never, 0.0, gaps) / _DAY_SECONDS), never])


def _song(items: Indices, skips: Vector) -> Matrix:
    """Return the log odds of a skip by the song's earlier plays, beyond those of all songs."""
    everything, songs = np.zeros(2), dict[int, tuple[float, float]]()
    odds = np.zeros(len(items))
    for row, (song, skip) in enumerate(zip(items.tolist(), skips.tolist(), strict=True)):
        base = (everything[1] + 1) / (everything[0] + 2)
        plays, skipped = songs.get(song, (0.0, 0.0))
        share = (skipped + _PRIOR_PLAYS * base) / (plays + _PRIOR_PLAYS)
        odds[row] = logit(share) - logit(base)
        if not np.isnan(skip):
            songs[song] = (plays + 1, skipped + skip)
            everything += (1.0, skip)
    return odds[:, np.newaxis]


def _sitting(history: PlayHistory, skips: Vector) -> Matrix:
    """Return a column for each number of skips in a row, and one for plays that open a sitting."""
    lasted = np.append(0.0, np.nan_to_num(history.played[:-1]))
    opens = np.diff(history.times, prepend=-np.inf) - lasted >= _SESSION_GAP_SECONDS
    columns = np.zeros((len(history), MAX_SKIPS + 1))
    count = 0
    for row, (skip, is_new) in enumerate(zip(skips.tolist(), opens.tolist(), strict=True)):
        count = 0 if is_new else count
        if count:
            columns[row, count - 1] = 1.0
        count = min(count + 1, MAX_SKIPS) if skip == 1.0 else 0
    columns[:, -1] = opens
    return columns


# ── The forecast ─────────────────────────────────────────────────────────────────────────


def _gain(known: Matrix, skips: Vector, later: Matrix, truth: Vector) -> float:
    """Return the gain over the base rate of the first half, in nats per 1,000 plays."""
    scale = np.where(known.std(axis=0) > 0, known.std(axis=0), 1.0)
    design, asked = (np.column_stack([np.ones(len(x)), x / scale]) for x in (known, later))
    odds = asked @ _fitted(design, skips)
    signs = np.where(truth == 1, 1.0, -1.0)
    gain = log_expit(signs * odds) - log_expit(signs * logit(skips.mean()))
    return 1_000 * float(gain.mean())


def _fitted(design: Matrix, skips: Vector) -> Vector:
    """Return the coefficients of a logistic regression, all but the first held back a little."""
    ridge = np.append(0.0, np.full(design.shape[1] - 1, _PENALTY))
    signs = np.where(skips == 1, 1.0, -1.0)

    def loss(coefficients: Vector) -> tuple[float, Vector]:
        odds = design @ coefficients
        slope = design.T @ (expit(odds) - skips) + ridge * coefficients
        value = -log_expit(signs * odds).sum() + 0.5 * ridge @ np.square(coefficients)
        return float(value), slope

    start = np.append(logit(skips.mean()), np.zeros(design.shape[1] - 1))
    coefficients: Vector = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return coefficients
