"""Coordinate ascent on the lower bound of the log evidence.

    L = E[ln p(D, β, τ)] − E[ln q(β, τ)] ≤ ln p(D)                                        (22)

      = ln p(τ):  a0 ln b0 − lnΓ(a0) + (a0−1)E[ln τ] − b0 E[τ]
      + ln p(β):  Σ_f −½d_f ln 2π + ½ln|D_f⁻¹| + ½d_f E[ln τ] − ½E[τ] E[(β_f−μ_f)'D_f⁻¹(β_f−μ_f)]
      + ln p(r):  −½N ln 2π + ½Σ ln w + ½N E[ln τ] − ½E[τ] Σ w E[(r − Π_f β_f'v_f)²]
      − ln q(β):  Σ_f ½d_f(1 + ln 2π) − ½ln|Λ_f|
      − ln q(τ):  a_N − ln b_N + lnΓ(a_N) + (1−a_N)ψ(a_N)

    E[τ] = a_N/b_N,   E[ln τ] = ψ(a_N) − ln b_N

Two slips of the paper's appendix are put right: the prior enters by its precision, tr(D0⁻¹Λ⁻¹),
and the constants of a rating count N times; −lnΓ(a0) and +lnΓ(a_N) were missing.

One sweep improves q(β_f) for each factor in turn, (18) and (19), and q(τ), (20) and (21). Plain
coordinate ascent needs hundreds to thousands of sweeps here, for three reasons, and each has a
shortcut that goes to the end of its direction at once:

    `joint_step`   the means of the two factors are strongly tied where there are fewer ratings
                   than coefficients: one Newton step on all means together
    `rescale`      θ → cθ, β → β/c leaves every expected rating as it is; only the priors
                   hold it: the best c
    `respread`     all variances and the noise variance wait for each other: the best common
                   factor of the variances, with q(τ) along

Where the bound has a long ridge, sweeps still go along it in small steps of nearly the same
length. Then strides beyond a sweep are tried, each twice as long as the last one as long as the
bound rises (over-relaxation: Salakhutdinov and Roweis 2003). A stride after which the bound would
be lower is taken back. Every step maximises the bound over something, so the bound never falls,
and the fixed points are those of (18) to (21).

code                    maths                  shape      meaning
`Block.mean`            m_f = E[β_f]           (d_f,)
`Block.precision_root`  L, LL' = Λ_f           (d_f,d_f)  lower triangle
`Block.rows`                                   (N,)       moments of β_f'v_f in each row
`Block.pull`            (m−μ_f)'D_f⁻¹(m−μ_f)              what the mean adds to the penalty
`Block.spread`          tr(D_f⁻¹Λ_f⁻¹)                    what the variance adds to it
`shape`, `rate`         a_N, b_N                          q(τ) = Gamma(a_N, rate b_N)
`noise_precision`       E[τ] = a_N/b_N
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.special import gammaln, psi

from bandstand.core.engines.variational.equations import (
    Observations,
    RowMoments,
    log_determinant,
    misfit,
    normal_equations,
    pull,
    triangular_inverse,
    triangular_root,
)
from bandstand.core.model.factors import Factor, FactorModel
from bandstand.core.model.history import History
from bandstand.types import Matrix, Vector

_LOG_TWO_PI: Final = math.log(2 * math.pi)
# A search starts with ratings explained this well: the noise variance is that part of
# their mean square. From a noisy start it ends on a lower peak in one case out of ten.
_UNEXPLAINED: Final = 0.01
# How much of the coupling between factors a Newton step keeps: less where all of it would make
# the equations indefinite. None of it would be plain coordinate ascent.
_COUPLINGS: Final = (1.0, 0.95, 0.8, 0.5)
_STEP_LENGTHS: Final = (1.0, 0.5, 0.25, 0.125)
# ln of the smallest and the largest slack considered; e^±200 is far beyond any scale.
_MAX_LOG_SLACK: Final = 200.0
_MAX_NEWTON_STEPS: Final = 50
# Predictions are settled when no song's expected rating will move by more than this part
# of its standard deviation any more.
_TOLERANCE: Final = 1e-6
# The slowest rate of convergence that is assumed when what is left to go is estimated.
_SLOWEST_RATE: Final = 0.999
# This many moves in a row that shrink by less than `_SLOW_RATE` call for longer strides.
_SLOW_RATE: Final = 0.8
_SLOW_SWEEPS: Final = 3
_MAX_STRIDE: Final = 4096.0
# No stride changes a precision by more than this factor, in logarithms.
_MAX_LOG_CHANGE: Final = 5.0
# Beyond this, products of squares could overflow.
_MAX_SQUARE: Final = 1e60


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """q(β_f), with what follows from it."""

    mean: Vector
    precision_root: Matrix
    rows: RowMoments
    pull: float
    spread: float

    @property
    def penalty(self) -> float:
        """E[(β_f−μ_f)'D_f⁻¹(β_f−μ_f)]."""
        return self.pull + self.spread


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """q(β, τ) between two sweeps."""

    blocks: tuple[Block, ...]
    shape: float
    rate: float

    @property
    def noise_precision(self) -> float:
        """E[τ]."""
        return self.shape / self.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Ascent:
    """The problem to solve: a model and what was observed."""

    model: FactorModel
    observations: Observations
    prior_roots: tuple[Matrix, ...]  # lower triangles of the prior precisions D_f⁻¹

    @classmethod
    def of(cls, model: FactorModel, history: History) -> Ascent:
        """Return the problem of finding what `history` says about the factors of `model`."""
        return cls(
            model=model,
            observations=Observations.of(model, history),
            prior_roots=tuple(triangular_root(each.prior_precision) for each in model.factors),
        )

    @property
    def shape(self) -> float:
        """a_N (20): every coefficient counts, and every rating whatever its weight."""
        return self.model.noise.shape + (self.model.dimension + len(self.observations)) / 2

    def cold_start(self) -> State:
        """Return the state from which a search starts that knows nothing.

        With prior means of zero, all coefficients at zero would be a fixed point. So every
        factor but the first, which is updated first, begins as a known curve.
        """
        noise, ratings = self.model.noise, self.observations.ratings
        squares = _UNEXPLAINED * float(np.sum(ratings**2))
        noise_precision = (noise.shape + len(ratings) / 2) / (noise.rate + squares / 2)
        blocks = tuple(
            Block(
                mean=factor.start,
                precision_root=root * math.sqrt(noise_precision),
                rows=RowMoments(mean=design @ factor.start, variance=np.zeros(len(ratings))),
                pull=pull(factor, factor.start),
                spread=factor.dimension / noise_precision,
            )
            for factor, root, design in self._parts()
        )
        return State(blocks=blocks, shape=self.shape, rate=self.shape / noise_precision)

    def warm_start(
        self, means: Sequence[Vector], roots: Sequence[Matrix], noise_precision: float
    ) -> State:
        """Return the state of an earlier posterior, seen from the rows of this problem."""
        pairs = zip(means, roots, strict=True)
        blocks = tuple(self._block(index, mean, root) for index, (mean, root) in enumerate(pairs))
        return State(blocks=blocks, shape=self.shape, rate=self.shape / noise_precision)

    def sweep(self, state: State) -> State:
        """Return a state with a bound at least as high: (18) to (21), and the shortcuts."""
        blocks, curvatures = list(state.blocks), []
        for index in range(len(blocks)):
            curvature, block = self._update(index, blocks, state.noise_precision)
            curvatures.append(curvature)
            blocks[index] = block
        improved = tuple(blocks)
        for shortcut in SHORTCUTS:
            improved = shortcut(self, improved, curvatures, state.noise_precision)
        return self.with_noise(improved)

    def with_noise(self, blocks: tuple[Block, ...]) -> State:
        """Return the state with the best q(τ) for `blocks` (21)."""
        penalty = sum(block.penalty for block in blocks)
        squares = penalty + misfit(self.observations.ratings, [block.rows for block in blocks])
        return State(blocks=blocks, shape=self.shape, rate=self.model.noise.rate + squares / 2)

    def bound(self, state: State) -> float:
        """Return the lower bound (22) at `state`."""
        shape, rate, noise = state.shape, state.rate, self.model.noise
        precision, log_precision = state.noise_precision, float(psi(shape)) - math.log(rate)
        constant = noise.shape * math.log(noise.rate) - float(gammaln(noise.shape))
        prior = constant + (noise.shape - 1) * log_precision - noise.rate * precision
        factors = 0.0
        for block, prior_root in zip(state.blocks, self.prior_roots, strict=True):
            # ±½d ln 2π of p and q cancel.
            fit = len(block.mean) * (1 + log_precision) - precision * block.penalty
            factors += 0.5 * (
                fit + log_determinant(prior_root) - log_determinant(block.precision_root)
            )
        squares = misfit(self.observations.ratings, [block.rows for block in state.blocks])
        fit = len(self.observations) * (log_precision - _LOG_TWO_PI) - precision * squares
        ratings = 0.5 * (fit + self.observations.log_weight)
        entropy = shape - math.log(rate) + float(gammaln(shape)) + (1 - shape) * float(psi(shape))
        return prior + factors + ratings + entropy

    def _update(
        self, index: int, blocks: Sequence[Block], noise_precision: float
    ) -> tuple[Matrix, Block]:
        """Return Λ_f/E[τ] and the best q(β_f), given the other factor: (18) and (19)."""
        factor, design = self.model.factors[index], self.observations.designs[index]
        other = blocks[1 - index].rows
        curvature, evidence = normal_equations(factor, design, self.observations.ratings, other)
        root = triangular_root(curvature)
        mean, _ = dpotrs(root, evidence, lower=1)
        return curvature, self._block(index, mean, root * math.sqrt(noise_precision))

    def _block(self, index: int, mean: Vector, precision_root: Matrix) -> Block:
        factor, prior_root, design = self._parts()[index]
        inverse = triangular_inverse(precision_root)
        return Block(
            mean=mean,
            precision_root=precision_root,
            rows=row_moments(design, mean, inverse),
            pull=pull(factor, mean),
            spread=float(np.sum((inverse @ prior_root) ** 2)),
        )

    def _parts(self) -> list[tuple[Factor, Matrix, Matrix]]:
        designs = self.observations.designs
        return list(zip(self.model.factors, self.prior_roots, designs, strict=True))


def row_moments(design: Matrix, mean: Vector, inverse_root: Matrix) -> RowMoments:
    """Return the moments of β_f'v_f in each row of `design`: v'm and |L⁻¹v|²."""
    # One product with the inverse is twice as fast as a triangular solve for all rows.
    half = design @ inverse_root.T
    return RowMoments(mean=design @ mean, variance=np.einsum("ij,ij->i", half, half))


def joint_step(
    ascent: Ascent, blocks: tuple[Block, ...], curvatures: Sequence[Matrix], noise_precision: float
) -> tuple[Block, ...]:
    """Return the blocks after a damped Newton step on all means, variances as they are."""
    del noise_precision  # it scales gradient and curvature alike
    gradient, tie = _gradient(ascent, blocks), _tie(ascent, blocks)
    content, novelty = curvatures
    split = len(content)
    matrix = np.zeros((len(gradient), len(gradient)))
    for coupling in _COUPLINGS:  # only the lower triangle is read
        matrix[:split, :split], matrix[split:, split:] = content, novelty
        matrix[split:, :split] = coupling * tie
        root, failed = dpotrf(matrix, lower=1)
        if not failed:
            step, _ = dpotrs(root, -gradient, lower=1)
            return _line_search(ascent, blocks, [step[:split], step[split:]])
    return blocks


def rescale(
    ascent: Ascent, blocks: tuple[Block, ...], curvatures: Sequence[Matrix], noise_precision: float
) -> tuple[Block, ...]:
    """Return the blocks with β_f → c_f β_f, Π c_f = 1, for the c_f that raise the bound most.

    Maximises Σ d_f ln c_f − ½E[τ] Σ (c_f² E[β'D⁻¹β] − 2c_f E[β]'D⁻¹μ). With a multiplier λ
    for the constraint, each c_f solves a quadratic equation, and Σ ln c_f rises with −λ.
    """
    del curvatures
    terms = [
        (float(len(block.mean)), *_quadratic(ascent, index, block, noise_precision))
        for index, block in enumerate(blocks)
    ]
    if min(square for _, square, _ in terms) <= 0:  # underflow: nothing to be gained
        return blocks
    scales = _balanced(terms)
    if scales is None or _gain(terms, scales) <= 0:
        return blocks
    return tuple(
        _scaled(ascent, index, block, scale, scale**2)
        for index, (block, scale) in enumerate(zip(blocks, scales, strict=True))
    )


def respread(
    ascent: Ascent, blocks: tuple[Block, ...], curvatures: Sequence[Matrix], noise_precision: float
) -> tuple[Block, ...]:
    """Return the blocks with all variances times the z that, with q(τ), raises the bound most.

    Maximises ½ Σ d_f ln z − a_N ln b(z), where b (21) is a polynomial in z with coefficients
    that are not negative: concave in ln z, so Newton's method cannot fail.
    """
    del curvatures, noise_precision
    coefficients = _rate_polynomial(ascent, blocks)
    dimension = ascent.model.dimension
    log_scale = 0.0
    for _ in range(_MAX_NEWTON_STEPS):
        terms = [each * math.exp(k * log_scale) for k, each in enumerate(coefficients)]
        rate = sum(terms)
        slope = sum(k * term for k, term in enumerate(terms)) / rate
        bend = sum((k - slope) ** 2 * term for k, term in enumerate(terms)) / rate
        step = (dimension / 2 - ascent.shape * slope) / (ascent.shape * bend)
        log_scale += max(-2.0, min(2.0, step))
        if abs(step) < 1e-13:
            break
    scale = math.exp(log_scale)
    return tuple(_scaled(ascent, at, block, 1.0, scale) for at, block in enumerate(blocks))


SHORTCUTS: Final = (joint_step, rescale, respread)


def _gradient(ascent: Ascent, blocks: Sequence[Block]) -> Vector:
    """Return the gradient of half the expected squares (21) by the means of both factors."""
    ratings, parts = ascent.observations.ratings, []
    for index, (block, factor) in enumerate(zip(blocks, ascent.model.factors, strict=True)):
        other = blocks[1 - index].rows
        lack = block.rows.mean * other.square
        lack -= ratings * other.mean
        shift = factor.prior_precision @ (block.mean - factor.prior_mean)
        parts.append(shift + ascent.observations.designs[index].T @ lack)
    return np.concatenate(parts)


def _tie(ascent: Ascent, blocks: Sequence[Block]) -> Matrix:
    """Return the second derivatives between the two factors: (d_novelty, d_content)."""
    content, novelty = ascent.observations.designs
    means = 2 * (blocks[1].rows.mean * blocks[0].rows.mean)
    weights = means - ascent.observations.ratings
    tie: Matrix = (novelty * weights[:, np.newaxis]).T @ content
    return tie


def _line_search(
    ascent: Ascent, blocks: tuple[Block, ...], steps: Sequence[Vector]
) -> tuple[Block, ...]:
    """Return the blocks moved along `steps` as far as that does not raise the squares."""
    before = _mean_squares(ascent, blocks)
    changes = [
        design @ step for design, step in zip(ascent.observations.designs, steps, strict=True)
    ]
    for length in _STEP_LENGTHS:
        moved = tuple(
            _moved(ascent, index, block, length * steps[index], length * changes[index])
            for index, block in enumerate(blocks)
        )
        if _mean_squares(ascent, moved) <= before:
            return moved
    return blocks


def _mean_squares(ascent: Ascent, blocks: Sequence[Block]) -> float:
    rows = [block.rows for block in blocks]
    return sum(block.pull for block in blocks) + misfit(ascent.observations.ratings, rows)


def _moved(ascent: Ascent, index: int, block: Block, step: Vector, change: Vector) -> Block:
    mean = block.mean + step
    return replace(
        block,
        mean=mean,
        rows=RowMoments(mean=block.rows.mean + change, variance=block.rows.variance),
        pull=pull(ascent.model.factors[index], mean),
    )


def _scaled(
    ascent: Ascent, index: int, block: Block, mean_scale: float, variance_scale: float
) -> Block:
    mean = mean_scale * block.mean
    return replace(
        block,
        mean=mean,
        precision_root=block.precision_root / math.sqrt(variance_scale),
        rows=RowMoments(
            mean=mean_scale * block.rows.mean, variance=variance_scale * block.rows.variance
        ),
        pull=pull(ascent.model.factors[index], mean),
        spread=variance_scale * block.spread,
    )


def _quadratic(
    ascent: Ascent, index: int, block: Block, noise_precision: float
) -> tuple[float, float]:
    """Return E[τ]E[β'D⁻¹β] and E[τ]E[β]'D⁻¹μ."""
    factor = ascent.model.factors[index]
    weighed = factor.prior_precision @ block.mean
    square = float(block.mean @ weighed) + block.spread
    return noise_precision * square, noise_precision * float(factor.prior_mean @ weighed)


def _balanced(terms: Sequence[tuple[float, float, float]]) -> list[float] | None:
    """Return the stationary scales, c and 1/c, if there are any."""
    least = min(dimension for dimension, _, _ in terms)

    def scales(log_slack: float) -> list[float]:
        slack = math.exp(log_slack)
        return [
            _scale(dimension - least + slack, square, linear) for dimension, square, linear in terms
        ]

    def excess(log_slack: float) -> float:
        return sum(math.log(scale) for scale in scales(log_slack))

    if excess(-_MAX_LOG_SLACK) >= 0 or excess(_MAX_LOG_SLACK) <= 0:
        return None
    # scipy.optimize takes long to import, and most algorithms never need it.
    from scipy.optimize import brentq  # noqa: PLC0415

    return scales(float(brentq(excess, -_MAX_LOG_SLACK, _MAX_LOG_SLACK, xtol=1e-13)))


def _scale(slack: float, square: float, linear: float) -> float:
    """Return the positive root c of `square`·c² − `linear`·c = `slack`, without cancellation."""
    root = math.sqrt(linear**2 + 4 * square * slack)
    return (root + linear) / (2 * square) if linear >= 0 else 2 * slack / (root - linear)


def _gain(terms: Sequence[tuple[float, float, float]], scales: Sequence[float]) -> float:
    """Return how much the bound rises with these scales."""
    return sum(
        dimension * math.log(scale) - 0.5 * square * (scale**2 - 1) + linear * (scale - 1)
        for (dimension, square, linear), scale in zip(terms, scales, strict=True)
    )


def _rate_polynomial(ascent: Ascent, blocks: Sequence[Block]) -> list[float]:
    """Return the coefficients of b_N (21) as a polynomial in a common factor of all variances."""
    ratings = ascent.observations.ratings
    content, novelty = (block.rows for block in blocks)
    residual = ratings - content.mean * novelty.mean
    crossed = content.variance * novelty.mean**2 + content.mean**2 * novelty.variance
    constant = float(np.sum(residual**2)) + sum(block.pull for block in blocks)
    linear = float(np.sum(crossed)) + sum(block.spread for block in blocks)
    quadratic = float(np.sum(content.variance * novelty.variance))
    return [constant / 2 + ascent.model.noise.rate, linear / 2, quadratic / 2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The state of the search after a sweep."""

    state: State
    bound: float
    is_settled: bool  # whether predictions have stopped moving


def search(ascent: Ascent, start: State) -> Iterator[Progress]:
    """Yield the progress after each sweep, without end; the bound never falls."""
    before, after, bound = start, *_swept(ascent, start)
    last_move, rates, stride, slow = math.inf, (_SLOWEST_RATE, _SLOWEST_RATE), 1.0, 0
    while True:
        move = distance(before, after)
        if stride == 1:
            rates = (rates[1], min(move / last_move, _SLOWEST_RATE) if last_move > 0 else 0.0)
            slow = slow + 1 if rates[1] > _SLOW_RATE else 0
        # Moves shrink by a constant factor in the end, so what is left is a geometric series.
        is_settled = move <= _TOLERANCE * (1 - max(rates))
        yield Progress(state=after, bound=bound, is_settled=is_settled)
        last_move = move
        if stride > 1 or slow >= _SLOW_SWEEPS:
            stride = min(2 * stride, _MAX_STRIDE)
            ahead = _stride(ascent, before, after, stride)
            if ahead is not None and ahead[2] >= bound:
                before, after, bound = ahead
                continue
            stride, slow = 1.0, 0
        before, (after, bound) = after, _swept(ascent, after)


def distance(before: State, after: State) -> float:
    """Return a bound, in standard deviations, on how far the expected rating of any song moved.

    |v'Δm| ≤ |L'Δm|·sd(v'β) for every v, and the same for the product of both factors if the squares
    are added up (Cauchy–Schwarz). The noise counts by its relative change.
    """
    squares = math.log(after.noise_precision / before.noise_precision) ** 2
    for old, new in zip(before.blocks, after.blocks, strict=True):
        squares += float(np.sum((new.precision_root.T @ (new.mean - old.mean)) ** 2))
    return math.sqrt(squares)


def _swept(ascent: Ascent, state: State) -> tuple[State, float]:
    after = ascent.sweep(state)
    return after, ascent.bound(after)


def _stride(
    ascent: Ascent, before: State, after: State, stride: float
) -> tuple[State, State, float] | None:
    """Return the state beyond `after`, the one a sweep later, and the bound there."""
    far = _beyond(ascent, before, after, stride)
    return None if far is None else (far, *_swept(ascent, far))


def _beyond(ascent: Ascent, before: State, after: State, stride: float) -> State | None:
    """Return the state `stride` times as far from `before` as `after` is, if it is a sane one.

    Content is updated first and its start is never looked at; it stays.
    """
    old, (content, new) = before.blocks[1], after.blocks
    change = math.log(after.noise_precision / before.noise_precision)
    largest = max(abs(change), _log_change(old.precision_root, new.precision_root))
    if largest > 0:
        stride = min(stride, _MAX_LOG_CHANGE / largest)
    if stride <= 1:
        return None
    far = ascent.warm_start(
        [content.mean, old.mean + stride * (new.mean - old.mean)],
        [content.precision_root, _extrapolated(old.precision_root, new.precision_root, stride)],
        before.noise_precision * math.exp(stride * change),
    )
    squares = [float(np.max(block.rows.square, initial=0.0)) for block in far.blocks]
    return far if max(squares) < _MAX_SQUARE else None


def _log_change(old: Matrix, new: Matrix) -> float:
    return float(np.abs(np.log(np.diagonal(new) / np.diagonal(old))).max())


def _extrapolated(old: Matrix, new: Matrix, stride: float) -> Matrix:
    """Return the root on the line through both, straight in its columns' shapes and log sizes."""
    old_sizes, new_sizes = np.diagonal(old), np.diagonal(new)
    shapes = old / old_sizes
    shapes = shapes + stride * (new / new_sizes - shapes)
    return np.asarray(shapes * (old_sizes * (new_sizes / old_sizes) ** stride))
