"""Shortcuts that raise the lower bound along directions in which coordinate ascent creeps.

Plain coordinate ascent needs hundreds to thousands of sweeps here, for three reasons, and
each has a step that goes to the end of its direction at once:

    `joint_step`   the means of two factors are strongly tied where there are fewer ratings
                   than coefficients: one Newton step on all means together
    `rescale`      θ → cθ, β → β/c leaves every expected rating as it is; only the priors
                   hold it: the best c_f with Π c_f = 1
    `respread`     all variances and the noise variance wait for each other: the best common
                   factor of the variances, with q(τ) along

Each returns blocks with a bound at least as high, so the bound still never falls, and the
fixed points are those of (18) to (21).
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from bandstand.core.engines.variational.equations import (
    RowMoments,
    misfit,
    product_of_means,
    product_of_squares,
    pull,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.core.engines.variational.ascent import Ascent, Block
    from bandstand.types import Matrix, Vector

# How much of the tie between factors a Newton step keeps: less where all of it would make
# the equations indefinite. None of it would be plain coordinate ascent.
_TIES: Final = (1.0, 0.95, 0.8, 0.5)
_STEP_LENGTHS: Final = (1.0, 0.5, 0.25, 0.125)
# ln of the smallest and the largest slack considered; e^±200 is far beyond any scale.
_SLACK: Final = 200.0
_MOST_NEWTON_STEPS: Final = 50


def joint_step(
    ascent: Ascent, blocks: tuple[Block, ...], curvatures: Sequence[Matrix], noise_precision: float
) -> tuple[Block, ...]:
    """Return the blocks after a damped Newton step on all means, variances as they are."""
    del noise_precision  # it scales gradient and curvature alike
    gradient = _gradient(ascent, blocks)
    curvature = _joint_curvature(ascent, blocks)
    edges = _edges(blocks)
    for tie in _TIES:
        matrix = tie * curvature
        for (start, end), own in zip(pairwise(edges), curvatures, strict=True):
            matrix[start:end, start:end] = own
        root, failed = dpotrf(matrix, lower=1)
        if not failed:
            step, _ = dpotrs(root, -gradient, lower=1)
            parts = [step[start:end] for start, end in pairwise(edges)]
            return _line_search(ascent, blocks, parts)
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
    for _ in range(_MOST_NEWTON_STEPS):
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


ALL: Final = (joint_step, rescale, respread)


def _others(blocks: Sequence[Block], *without: int) -> list[RowMoments]:
    return [block.rows for index, block in enumerate(blocks) if index not in without]


def _edges(blocks: Sequence[Block]) -> list[int]:
    return list(accumulate((len(block.mean) for block in blocks), initial=0))


def _gradient(ascent: Ascent, blocks: Sequence[Block]) -> Vector:
    """Return the gradient of half the expected squares (21) by the means of all factors."""
    ratings, parts = ascent.observations.ratings, []
    for index, (block, factor) in enumerate(zip(blocks, ascent.model.factors, strict=True)):
        others = _others(blocks, index)
        lack = block.rows.mean * product_of_squares(others, len(ratings))
        lack -= product_of_means(others, ratings)
        shift = factor.prior_precision @ (block.mean - factor.prior_mean)
        parts.append(shift + ascent.observations.designs[index].T @ lack)
    return np.concatenate(parts)


def _joint_curvature(ascent: Ascent, blocks: Sequence[Block]) -> Matrix:
    """Return the second derivatives between different factors: below the diagonal blocks."""
    ratings, designs = ascent.observations.ratings, ascent.observations.designs
    edges = _edges(blocks)
    curvature = np.zeros((edges[-1], edges[-1]))
    for first in range(len(blocks)):
        for second in range(first):
            others = _others(blocks, first, second)
            means = blocks[first].rows.mean * blocks[second].rows.mean
            tie = 2 * means * product_of_squares(others, len(ratings))
            tie -= product_of_means(others, ratings)
            rows = slice(edges[first], edges[first + 1])
            columns = slice(edges[second], edges[second + 1])
            curvature[rows, columns] = (designs[first] * tie[:, np.newaxis]).T @ designs[second]
    return curvature


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
    """Return the stationary scales whose product is 1, if there are any."""
    least = min(dimension for dimension, _, _ in terms)

    def scales(log_slack: float) -> list[float]:
        slack = math.exp(log_slack)
        return [
            _scale(dimension - least + slack, square, linear) for dimension, square, linear in terms
        ]

    def excess(log_slack: float) -> float:
        return sum(math.log(scale) for scale in scales(log_slack))

    if excess(-_SLACK) >= 0 or excess(_SLACK) <= 0:
        return None
    # scipy.optimize takes long to import, and most algorithms never need it.
    from scipy.optimize import brentq  # noqa: PLC0415

    return scales(float(brentq(excess, -_SLACK, _SLACK, xtol=1e-13)))


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
    rows = [np.ones(len(ratings))]
    for block in blocks:
        square, variance = block.rows.mean**2, block.rows.variance
        raised = [*(each * square for each in rows), np.zeros(len(ratings))]
        for power, each in enumerate(rows):
            raised[power + 1] = raised[power + 1] + each * variance
        rows = raised
    residual = ratings - product_of_means((block.rows for block in blocks), np.ones(len(ratings)))
    sums = [float(np.sum(residual**2)), *(float(np.sum(each)) for each in rows[1:])]
    sums[0] += sum(block.pull for block in blocks)
    sums[1] += sum(block.spread for block in blocks)
    coefficients = [each / 2 for each in sums]
    coefficients[0] += ascent.model.noise.rate
    return coefficients
