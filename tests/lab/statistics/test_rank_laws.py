"""Which law do plays follow? Closed forms, known laws found again, and what a line would say."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, poisson

from bandstand._util.power_laws import zipf
from bandstand.errors import InvalidInputError
from bandstand.types import Vector
from bandstand_lab.statistics import rank_laws
from bandstand_lab.statistics.rank_laws import LawFit, Ranking, Shape, compare_laws, vuong

# Each of the statistical tests below fails by chance at most this often.
FAILURE_RATE = 1e-4
LIBRARY = 1_000
PLAYS = 3_000
LISTENERS = 20


def drawn(shares: Vector, seed: int, plays: int = PLAYS) -> Vector:
    """Return the plays of each song when songs are drawn by their shares."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(plays, shares / shares.sum()).astype(float)


def zipf_shares(exponent: float, library: int = LIBRARY) -> Vector:
    return np.arange(1.0, library + 1) ** -exponent


def exponential_shares(scale: float, library: int = LIBRARY) -> Vector:
    return np.asarray(np.exp(-np.arange(library) / scale))


def shapes(shares: Vector) -> list[Shape]:
    return [compare_laws(drawn(shares, seed), library=LIBRARY).shape for seed in range(LISTENERS)]


# ── Closed forms ─────────────────────────────────────────────────────────────────────────


def test_a_perfect_zipf_sequence_has_slope_minus_one_and_r_squared_one() -> None:
    line = zipf(5_040 / np.arange(1.0, 11.0))
    assert line is not None
    assert -line.exponent == pytest.approx(-1.0)
    assert line.r_squared == pytest.approx(1.0)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(0, 60))
@settings(max_examples=40)
def test_the_likelihood_of_equal_plays_is_that_of_a_truncated_poisson(
    counts: list[int], more: int
) -> None:
    plays, songs = np.array(counts, dtype=float), len(counts)
    fit = compare_laws(plays, library=songs + more).equal
    mean = plays.sum() / fit.parameter
    expected = poisson.logpmf(plays, mean) - np.log(-np.expm1(-mean))
    assert fit.log_likelihoods == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert songs <= fit.parameter + 1e-9 <= songs + more + 2e-9


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(0, 30))
@settings(max_examples=40)
def test_the_likelihood_of_zipf_is_the_mixture_over_all_ranks(counts: list[int], more: int) -> None:
    plays, library = np.array(counts, dtype=float), len(counts) + more
    fit = compare_laws(plays, library=library).zipf
    shares = zipf_shares(fit.parameter, library)
    means = plays.sum() * shares / shares.sum()
    mixture = poisson.pmf(plays[:, None], means).mean(axis=1)
    expected = np.log(mixture / (1 - np.exp(-means).mean()))
    assert fit.log_likelihoods == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("exponent", [0.3, 1.0, 1.7])
def test_far_ranks_in_bins_change_nothing_that_counts(
    exponent: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    plays = drawn(zipf_shares(exponent, 3_000), 1)
    binned = compare_laws(plays, library=3_000)
    monkeypatch.setattr(rank_laws, "_FINE_RANKS", 3_000)
    one_by_one = compare_laws(plays, library=3_000)
    assert binned.zipf.log_likelihood == pytest.approx(one_by_one.zipf.log_likelihood, abs=0.01)
    assert binned.zipf.parameter == pytest.approx(one_by_one.zipf.parameter, abs=0.005)


# ── Laws found again ─────────────────────────────────────────────────────────────────────


@pytest.mark.statistical
@pytest.mark.parametrize("exponent", [0.6, 1.0, 1.4])
def test_the_exponent_of_zipf_is_found_again(exponent: float) -> None:
    found = np.array(
        [
            compare_laws(drawn(zipf_shares(exponent), seed), library=LIBRARY).zipf.parameter
            for seed in range(LISTENERS)
        ]
    )
    error = found.std(ddof=1) / math.sqrt(LISTENERS)
    # The likeliest exponent is biased by less than 0.01 here, and by 4.5 errors at FAILURE_RATE.
    assert abs(found.mean() - exponent) < 4.5 * error + 0.01


@pytest.mark.statistical
@pytest.mark.parametrize("exponent", [0.6, 1.0, 1.4])
def test_plays_by_zipf_are_known_as_such(exponent: float) -> None:
    found = shapes(zipf_shares(exponent))
    assert found.count(Shape.ZIPF) >= LISTENERS - 1


@pytest.mark.statistical
@pytest.mark.parametrize(
    "shares", [np.ones(LIBRARY), exponential_shares(30.0), exponential_shares(200.0)]
)
def test_plays_by_another_law_are_not_taken_for_zipf(shares: Vector) -> None:
    # One listener in 20 is allowed by the level of the tests.
    assert binom.sf(7, LISTENERS, 0.05) < FAILURE_RATE
    assert shapes(shares).count(Shape.ZIPF) <= 7


@pytest.mark.statistical
def test_a_line_alone_takes_equal_plays_for_something_like_zipf() -> None:
    """The planted error: judging by R², as one does by eye, finds a law in pure chance."""
    fits = [zipf(np.sort(drawn(np.ones(LIBRARY), seed))[::-1][:900]) for seed in range(5)]
    assert all(fit is not None and fit.r_squared > 0.6 for fit in fits)
    assert all(fit is not None and fit.exponent > 0.3 for fit in fits)


@pytest.mark.statistical
def test_a_likelihood_that_forgets_the_unknown_order_is_caught() -> None:
    """The planted error: counts taken as if the song of rank k were known to be the k-th."""
    plays = np.sort(drawn(np.ones(LIBRARY), 3))[::-1]
    exponents = np.linspace(0, 1, 101)
    logs = [plays @ np.log(zipf_shares(a) / zipf_shares(a).sum()) for a in exponents]
    naive = exponents[int(np.argmax(logs))]
    assert naive > 0.2  # a law where there is none
    assert compare_laws(plays, library=LIBRARY).zipf.parameter < 0.2


# ── Edges ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("counts", "library"), [([2, 2, 2], 3), ([2, 2], 50)])
def test_songs_played_alike_are_not_zipf(counts: list[int], library: int) -> None:
    with np.errstate(all="raise"):
        ranking = compare_laws(counts, library=library)
    assert ranking.shape is Shape.OTHER
    assert np.isfinite(ranking.zipf.log_likelihoods).all()


@pytest.mark.parametrize("counts", [[5], [1]])
def test_one_song_tells_nothing(counts: list[int]) -> None:
    with np.errstate(all="raise"):
        ranking = compare_laws(counts, library=1)
    assert ranking.shape is Shape.OPEN


def planted(*, gain: float, z: float) -> Ranking:
    """Return a ranking with a known gain over equal plays and a known z over the exponential."""
    songs = 100
    none = np.zeros(songs)
    apart = np.where(np.arange(songs) % 2, 1.0, -1.0)  # mean 0, standard deviation 1
    zipf_fit = LawFit(law="Zipf", parameter=1.0, log_likelihoods=none - 1)
    return Ranking(
        zipf=zipf_fit,
        falling=zipf_fit,
        exponential=LawFit(
            law="exponential",
            parameter=1.0,
            log_likelihoods=none - 1 - apart - z / math.sqrt(songs),
        ),
        equal=LawFit(law="equal", parameter=1.0, log_likelihoods=none - 1 - gain / songs),
        repeat_share=0.9,
    )


@pytest.mark.parametrize(
    ("gain", "z", "shape"),
    [
        (5.0, 3.0, Shape.ZIPF),
        (1.0, 3.0, Shape.OPEN),  # no better than equal plays is not worse than them
        (-1.0, 3.0, Shape.OPEN),
        (5.0, 1.0, Shape.OPEN),
        (5.0, -1.0, Shape.OPEN),
        (0.0, 0.0, Shape.OPEN),
        (-3.0, 3.0, Shape.OTHER),
        (5.0, -3.0, Shape.OTHER),
        (0.0, -3.0, Shape.OTHER),
    ],
)
def test_only_clear_evidence_against_it_makes_plays_not_zipf(
    gain: float, z: float, shape: Shape
) -> None:
    ranking = planted(gain=gain, z=z)
    assert ranking.against_equal == pytest.approx(gain, abs=1e-9)
    assert ranking.against_exponential == pytest.approx(z, abs=1e-9)
    assert ranking.shape is shape


@pytest.mark.statistical
def test_equal_plays_are_clearly_not_a_falling_zipf_law() -> None:
    """With a = 0 Zipf's law is equal plays: only an exponent of some size tells them apart."""
    ranking = compare_laws(drawn(np.ones(LIBRARY), 5), library=LIBRARY)
    assert ranking.zipf.parameter < rank_laws.SMALLEST_EXPONENT
    assert ranking.falling.parameter == rank_laws.SMALLEST_EXPONENT
    assert abs(ranking.zipf.log_likelihood - ranking.equal.log_likelihood) < rank_laws.CLEAR_GAIN
    assert ranking.shape is Shape.OTHER


def test_a_larger_library_changes_what_the_laws_say() -> None:
    plays = drawn(zipf_shares(1.0), 2)
    played = int((plays > 0).sum())
    own, twice = (compare_laws(plays, library=times * played) for times in (1, 2))
    assert own.zipf.log_likelihood != pytest.approx(twice.zipf.log_likelihood, abs=0.1)


@given(
    st.lists(st.integers(1, 100_000), min_size=1, max_size=30),
    st.integers(0, 5_000),
)
@settings(max_examples=50)
def test_all_laws_are_finite_for_any_plays(counts: list[int], more: int) -> None:
    with np.errstate(all="raise"):
        ranking = compare_laws(counts, library=len(counts) + more)
    for fit in (ranking.zipf, ranking.exponential, ranking.equal):
        assert np.isfinite(fit.log_likelihoods).all()
        assert (fit.log_likelihoods <= 1e-9).all()
    assert ranking.likeliest in {"Zipf", "exponential", "equal"}


def test_songs_that_were_not_played_change_nothing() -> None:
    with_them = compare_laws([3, 0, 1, 0, 0], library=9)
    without = compare_laws([3, 1], library=9)
    assert with_them.zipf.log_likelihood == without.zipf.log_likelihood


@pytest.mark.parametrize("counts", [[], [0, 0], [math.nan, 1.0], [-1, 2]])
def test_no_plays_are_refused(counts: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="at least one song"):
        compare_laws(counts, library=10)


def test_a_library_smaller_than_what_was_played_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least the 3 songs that were played, got 2"):
        compare_laws([1, 2, 3], library=2)


def test_vuong_of_a_law_with_itself_is_zero_and_of_a_constant_lead_without_bound() -> None:
    fit = LawFit(law="Zipf", parameter=1.0, log_likelihoods=np.array([-1.0, -2.0]))
    ahead = LawFit(law="equal", parameter=1.0, log_likelihoods=np.array([-0.5, -1.5]))
    assert vuong(fit, fit) == 0.0
    assert vuong(ahead, fit) == math.inf
    assert vuong(fit, ahead) == -math.inf
