"""The exact model given each of many recovery times, where most answers share an elapsed time.

Most songs have never been heard, so that their elapsed time is the same. Then (8) to (12) need
no matrix for each recovery time: the precision V0⁻¹ + u² Σ w xx' of those answers is diagonal for
every u after one change of coordinates, θ = Ta. The other answers, at most half as many as
features, then each take one direction from Λ⁻¹ (Woodbury), which is just what a
`CovarianceStack` keeps: (14a).

code          maths                    shape      meaning
`modes`       T                        (p, p)     T'V0⁻¹T = I, T'(Σ w xx')T = diag λ
`strengths`   λ                        (p,)       what the common answers tell along each mode
`start`       T⁻¹μ0                    (p,)       the prior mean, in modes
`levels`      1/(1 + u²λ)              (G, p)     variance along each mode after those answers
`centres`     a                        (G, p)     mean of θ after them, in modes
`rows`        √w x'T                   (M, p)     the other answers, in modes
`factors`     LL' = I + UYD(UY)'       (G, M, M)  Y the rows, D the levels, U their novelty
`whitened`    e = L⁻¹√w(r − Uxa)       (G, M)     B grows by ½e'e
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.linalg.lapack import dtrtri, dtrtrs

from bandstand.core.engines.exact.posterior import conjugate
from bandstand.core.engines.exact.posterior.covariance_stack import CovarianceStack, Diagonal
from bandstand.core.model.history import History
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import ListenerPrior
from bandstand.types import AnyArray, Matrix, Stack, Vector, frozen

# What is a difference of matrices keeps its digits only while the answers shrink no variance
# by more than this.
_LARGEST_SHRINKAGE: Final = 1e6
_MOST_OTHERS: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonGrid:
    """p(θ, τ | s, D) and the parts of p(D | s) for each recovery time."""

    modes: Matrix
    levels: Matrix
    centres: Matrix
    moved: Stack  # UY, (G, M, p)
    factors: Stack
    whitened: Matrix
    rates: Vector  # B, (G,)
    log_determinants: Vector  # log|Λ|, (G,)

    def log_evidence(self, shape: float) -> Vector:
        """Return log p(D | s) (12) for each s, up to a constant; `shape` is A (10)."""
        return np.asarray(-0.5 * self.log_determinants - shape * np.log(self.rates))

    def beliefs(self) -> tuple[Matrix, CovarianceStack]:
        """Return m and Λ⁻¹ of each node."""
        taken = np.empty_like(self.moved)
        for direction, factor, row in zip(
            taken, self.factors, self.moved * self.levels[:, np.newaxis], strict=True
        ):
            direction[:] = _solved(factor, row)
        centres = self.centres + np.einsum("gmp,gm->gp", taken, self.whitened)
        directions = np.ascontiguousarray((taken @ self.modes.T).transpose(1, 0, 2))
        base = Diagonal(modes=frozen(self.modes), levels=frozen(self.levels))
        return frozen(centres @ self.modes.T), CovarianceStack(base=base, taken=frozen(directions))


class CommonSolver:
    """A history, most of it with one elapsed time, made ready for many recovery times."""

    def __init__(self, prior: ListenerPrior, history: History, common: float) -> None:
        preference, root_weights = prior.preference, np.sqrt(history.weights)
        weighted = history.features * root_weights[:, np.newaxis]
        answers = history.ratings * root_weights
        is_common = history.elapsed == common
        self._root: Matrix = np.linalg.cholesky(preference.precision)  # type: ignore[assignment]
        self._noise_rate, self._common = prior.noise.rate, common
        self._set_modes(weighted[is_common])
        self._start = self._modes.T @ (preference.precision @ preference.mean)
        self._set_reference(weighted[is_common], answers[is_common])
        self._rows = weighted[~is_common] @ self._modes
        self._answers = answers[~is_common]
        self._elapsed = history.elapsed[~is_common]

    @classmethod
    def suits(cls, history: History, common: float) -> bool:
        """Return whether few enough answers have another elapsed time than `common`."""
        others = int((history.elapsed != common).sum())
        return others <= _MOST_OTHERS * history.columns

    @property
    def is_safe(self) -> bool:
        """Whether the answers shrink no variance by more than digits allow."""
        others = float(np.einsum("mp,mp->", self._rows, self._rows))
        shrinkage = 1 + max(float(self._strengths.max(initial=0.0)), others)
        return shrinkage <= _LARGEST_SHRINKAGE and not conjugate.is_ill_conditioned(self._root)

    @np.errstate(under="ignore")  # what is smaller than any number is zero
    def at(self, recovery_times: Vector) -> CommonGrid:
        """Return p(θ, τ | s, D) for each s."""
        curve = novelty(self._common, recovery_times)[:, np.newaxis]
        grown = curve**2 * self._strengths
        levels = 1 / (1 + grown)
        centres = levels * (self._start + curve * self._pull)
        moved = novelty(self._elapsed, recovery_times[:, np.newaxis])[:, :, np.newaxis] * self._rows
        inner = np.matmul(moved * levels[:, np.newaxis], moved.transpose(0, 2, 1))
        factors: Stack = np.linalg.cholesky(inner + np.eye(len(self._rows)))
        surprises = self._answers - np.einsum("gmp,gp->gm", moved, centres)
        whitened = np.array(
            [_solved(factor, each) for factor, each in zip(factors, surprises, strict=True)]
        )
        diagonals = np.diagonal(factors, axis1=1, axis2=2)
        started = 2 * float(np.log(np.diagonal(self._root)).sum())
        return CommonGrid(
            modes=self._modes,
            levels=levels,
            centres=centres,
            moved=moved,
            factors=factors,
            whitened=whitened,
            rates=self._rates(curve, centres) + 0.5 * (whitened**2).sum(axis=1),
            log_determinants=started
            + np.log1p(grown).sum(axis=1)
            + 2 * np.log(diagonals).sum(axis=1),
        )

    def _set_modes(self, rows: Matrix) -> None:
        """Find coordinates in which prior and common answers are diagonal."""
        half, _ = dtrtri(self._root, lower=1)
        self._modes: Matrix = half.T
        self._strengths = np.zeros(len(half))
        if len(rows):
            white = rows @ half.T
            strengths, turn = np.linalg.eigh(white.T @ white)
            self._strengths = np.maximum(strengths, 0.0)
            self._modes = half.T @ turn

    def _set_reference(self, rows: Matrix, answers: Vector) -> None:
        """Work out what all recovery times have in common: the fit where novelty is whole."""
        self._pull = self._modes.T @ (rows.T @ answers)
        self._reference = (self._start + self._pull) / (1 + self._strengths)
        residual = answers - rows @ (self._modes @ self._reference)
        self._squares = float(residual @ residual)
        self._slope = self._modes.T @ (rows.T @ residual)

    def _rates(self, curve: Matrix, centres: Matrix) -> Vector:
        """Return B (11) after the common answers.

        The squares of the residuals differ from those of the reference by a parabola. Less
        novelty only fits worse, so that nothing is lost in the difference.
        """
        away = curve * centres - self._reference
        squares = self._squares - 2 * away @ self._slope + away**2 @ self._strengths
        shifts = ((centres - self._start) ** 2).sum(axis=1)
        return np.asarray(self._noise_rate + 0.5 * (np.maximum(squares, 0.0) + shifts))


def _solved(factor: Matrix, right: AnyArray) -> AnyArray:
    """Return L⁻¹ times a matrix or vector."""
    if not len(factor):
        return right
    # The transpose of a row-major lower triangle is the upper one that Fortran sees.
    solution, _ = dtrtrs(factor.T, right, lower=0, trans=1)
    return np.asarray(solution)
