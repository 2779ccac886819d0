"""p-values corrected for many tests of the same people, by flipping signs: max-T.

Looking at 200 tests for the smallest p-value finds "differences" where there are none. The tests
are correlated, so counting them (Bonferroni) corrects far too much. What is asked here instead:
if the two treatments had exchanged their labels for some of the people, how often would the
most extreme of all tests have been at least as extreme as this one?

    corrected(j) = #{flips : min_k p_k(flip) ≤ p_j(no flip)} / #{flips}

A flip turns the signs of all differences of some of the people at once, so what a person's
tests have in common stays as it is. p_k is Student's p-value of test k under that flip. Where all
tests have as many people, this is the largest |t|; where some have fewer, p-values weigh them
alike, while the largest |t| would mostly be that of the test with the fewest people.

If all people's differences are as likely with the other sign, all flips are equally likely, and a
corrected value of at most α comes in at most a share α of all studies, whatever the tests
have to do with each other. No flip is among the flips, and ties count, so this holds exactly, not
only for many people. It also holds for the tests without a difference when others have one.

With n people who differ at all, no corrected value is below 2^(1−n): five people are too few for
any to be below 0.05.

P. H. Westfall and S. S. Young, "Resampling-based multiple testing" (1993); J. Hemerik and
J. Goeman, "Exact testing with random permutations" (2018).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from bandstand.types import Indices, Matrix, Vector, frozen
from bandstand_lab.statistics.paired import checked_columns

# All flips of up to this number of people are counted; of more people some are drawn.
ALL_FLIPS_UP_TO: Final = 15
DRAWN_FLIPS: Final = 9_999
_CELLS: Final = 2**19  # of flips × tests, or × people, at a time
# Two flips whose statistics differ by less than this are equal but for rounding.
_TIE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxT:
    """Corrected p-values, and how they were found."""

    corrected: Vector  # one for each test
    flips: int  # that were looked at, the one that flips nothing among them
    is_exact: bool  # whether these are all flips; else they were drawn

    @property
    def smallest(self) -> float:
        """The p-value of the whole family: that no test has any difference."""
        return float(self.corrected.min())


def max_t(
    differences: ArrayLike,
    *,
    present: ArrayLike | None = None,
    rng: np.random.Generator,
    all_flips_up_to: int = ALL_FLIPS_UP_TO,
    drawn_flips: int = DRAWN_FLIPS,
) -> MaxT:
    """Return the corrected p-value of each column; `rng` is used only for more people than said.

    `differences` has a row for each person; where `present` is false its value is not used.

    >>> rng = np.random.default_rng(1)
    >>> max_t([[1.0, 2.0], [1.0, -1.0], [2.0, 1.0], [1.5, 0.5]], rng=rng).corrected.tolist()
    [0.125, 0.625]
    """
    values, mask = checked_columns(differences, present)
    counts = mask.sum(axis=0)
    cosines = _scaled(values, counts)
    cosines = cosines[cosines.any(axis=1)]  # who differs nowhere is the same under all flips
    people = len(cosines)
    is_exact = people <= all_flips_up_to
    chunk = max(1, _CELLS // max(people, len(counts)))
    chunks = (
        _all_signs(people, chunk) if is_exact else _drawn_signs(people, drawn_flips, chunk, rng)
    )
    smallest = np.concatenate([_smallest_p(signs @ cosines, counts) for signs in chunks])
    smallest.sort()
    bounds = _student(np.maximum(0.0, np.abs(cosines.sum(axis=0)) - _TIE), counts)
    corrected = np.searchsorted(smallest, bounds, side="right") / len(smallest)
    return MaxT(corrected=frozen(corrected), flips=len(smallest), is_exact=is_exact)


def _scaled(values: Matrix, counts: Indices) -> Matrix:
    """Return columns whose sum is √(t² / (t² + n − 1)), from 0 to 1, under any signs.

    Σd/√(n Σd²) is the cosine of the angle between the differences and equal ones; flips do not
    change Σd². A difference of zero for all people has no angle and stays zero.
    """
    # First to a largest size of 1, so that no square is too small to be a number.
    largest = np.abs(values).max(axis=0)
    unit = values / np.where(largest == 0, 1.0, largest)
    unit[np.abs(unit) < 1e-150] = 0.0
    squares = np.square(unit).sum(axis=0)
    return np.asarray(unit / np.sqrt(np.where(squares == 0, 1.0, counts * squares)))


def _smallest_p(cosines: Matrix, counts: Indices) -> Vector:
    """Return the smallest p-value of each row: only the largest of as many people can be it."""
    sizes = np.abs(cosines)
    smallest = np.ones(len(sizes))
    for count in np.unique(counts):
        largest = sizes[:, counts == count].max(axis=1)
        smallest = np.minimum(smallest, _student(largest, count))
    return smallest


def _student(cosines: Vector, counts: Indices | int) -> Vector:
    """Return Student's p-value in either direction: 1 − cos² has a beta distribution."""
    rest = np.maximum(0.0, 1 - np.square(np.minimum(1.0, cosines)))
    with np.errstate(under="ignore"):
        return np.asarray(betainc((np.asarray(counts) - 1) / 2, 0.5, rest))


def _all_signs(people: int, chunk: int) -> Iterator[Matrix]:
    """Yield half of all signs, the other half being their opposites with the same sizes."""
    others = max(0, people - 1)
    for start in range(0, 2**others, chunk):
        patterns = np.arange(start, min(start + chunk, 2**others))[:, np.newaxis]
        signs = np.ones((len(patterns), people))
        signs[:, 1:] -= 2 * ((patterns >> np.arange(others)) & 1)
        yield signs


def _drawn_signs(people: int, count: int, chunk: int, rng: np.random.Generator) -> Iterator[Matrix]:
    """Yield signs that flip nothing, then `count` that are drawn."""
    yield np.ones((1, people))
    for start in range(0, count, chunk):
        heads = rng.integers(0, 2, (min(chunk, count - start), people))
        yield np.where(heads, 1.0, -1.0)
