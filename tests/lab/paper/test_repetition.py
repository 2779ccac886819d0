"""The playlist study: cuts of histories, plays, measures, and verdicts that follow from them."""

import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bandstand.core.model.novelty import novelty
from bandstand.types import Vector
from bandstand_lab.paper.repetition import (
    STUDY,
    PersonPlays,
    Played,
    between_people,
    distance_findings,
    distance_to_people,
    measured,
    others_finding,
    product_finding,
    rank_frequency,
)
from bandstand_lab.paper.repetition_runs import (
    KNOWN,
    OTHERS,
    PRODUCT,
    WEEKS,
    best_songs,
    people,
    played,
    stretches,
)
from bandstand_lab.report.figures import new_figure
from bandstand_lab.report.study import Plan, Verdict
from bandstand_lab.simulation.session import Clock
from bandstand_lab.statistics.rank_laws import Shape
from tests.fixtures.lab.drawn_figures import assert_whole

LIBRARY = 300
PLAYS = 900


def zipfian(seed: int, exponent: float = 1.0) -> Vector:
    return _drawn(np.arange(1.0, LIBRARY + 1) ** -exponent, seed)


def rotating(seed: int) -> Vector:
    """Plays of a few songs in turn, as a radio with a novelty makes them."""
    return _drawn((np.arange(LIBRARY) < 40) * np.linspace(1.5, 0.5, LIBRARY), seed)


def _drawn(shares: Vector, seed: int) -> Vector:
    counts = np.random.default_rng(seed).multinomial(PLAYS, shares / shares.sum())
    return np.asarray(np.sort(counts[counts > 0])[::-1], dtype=np.float64)


def algorithm(name: str, counts: list[Vector], someone: list[PersonPlays] | None = None) -> Played:
    return Played(
        algorithm=name,
        runs=tuple(measured(each, library=LIBRARY) for each in counts),
        distances={"file": tuple(distance_to_people(each, someone) for each in counts)}
        if someone
        else {},
    )


def person(counts: Vector) -> PersonPlays:
    return PersonPlays(source="file", songs=LIBRARY, stretches=(counts,))


# ── Real people ──────────────────────────────────────────────────────────────────────────


def test_stretches_are_as_long_as_asked_and_do_not_overlap() -> None:
    parts = stretches(np.arange(1_000), 170)
    assert [len(part) for part in parts] == [170] * 4
    assert (parts[0][0], parts[-1][-1]) == (0, 999)
    assert len(np.unique(np.concatenate(parts))) == 4 * 170
    assert stretches(np.arange(5), 6) == []


def test_people_are_read_from_a_file_and_those_with_few_plays_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "plays.csv"
    rows = [f"ann,{1_700_000_000 + 300 * play},{play % 4},200000" for play in range(40)]
    rows += [f"ben,{1_700_000_000 + 300 * play},{play},200000" for play in range(5)]
    file.write_text("\n".join(["listener,epoch_s,track,ms_played", *rows]) + "\n")
    found = people([str(file)], plays=20)
    (ann,) = (PersonPlays.from_json(each) for each in found["people"])
    assert found["shorter"] == 1
    assert ann.songs == 4
    assert [part.tolist() for part in ann.stretches] == [[5.0] * 4] * 2


def spotify(file: Path, day: int, plays: int) -> str:
    entries = [
        f'{{"endTime": "2025-0{day}-01 {play // 60:02}:{play % 60:02}", "artistName": "A", '
        f'"trackName": "song {play % 3}", "msPlayed": 200000}}'
        for play in range(plays)
    ]
    file.write_text(f"[{','.join(entries)}]")
    return str(file)


def test_files_that_do_not_say_whose_they_are_are_one_persons(tmp_path: Path) -> None:
    named = tmp_path / "named.csv"
    rows = [f"ann,{1_700_000_000 + 300 * play},{play % 4}" for play in range(40)]
    named.write_text("\n".join(["listener,epoch_s,track", *rows]) + "\n")
    one = spotify(tmp_path / "StreamingHistory_music_0.json", 1, 30)
    two = spotify(tmp_path / "StreamingHistory_music_1.json", 2, 30)
    found = people([one, str(named), two], plays=35)
    assert [(each["source"], each["songs"]) for each in found["people"]] == [
        ("named.csv", 4),
        ("StreamingHistory_music_0.json and 1 more", 3),
    ]
    assert found["shorter"] == 0


def test_where_hardly_a_song_comes_back_nothing_can_be_told() -> None:
    hardly = measured(np.array([2.0, *[1.0] * 98]), library=LIBRARY)
    assert hardly.shape is Shape.OPEN


def test_equal_people_are_no_distance_apart() -> None:
    counts = zipfian(1)
    assert between_people([person(counts), person(counts)]) == [0.0, 0.0]
    assert between_people([person(counts)]) == []
    assert distance_to_people(counts, [person(counts)]) == 0.0


# ── Plays ────────────────────────────────────────────────────────────────────────────────


def test_a_known_taste_plays_the_favourite_when_novelty_is_back_at_once() -> None:
    rows = best_songs(np.array([1.0, 3.0, 2.0]), 1e-3, 20, Clock())
    assert rows.tolist() == [1] * 20


def test_a_known_taste_plays_all_songs_in_turn_when_novelty_never_comes_back() -> None:
    rows = best_songs(np.array([1.0, 1.02, 1.01]), 1e9, 9, Clock())
    assert rows.tolist() == [1, 2, 0] * 3


def test_a_known_taste_lets_each_song_wait_until_it_is_worth_as_much_as_the_others() -> None:
    """T = −s ln(1 − level/Uc): after its gap every song in the rotation is worth the same."""
    rng = np.random.default_rng(4)
    liking, recovery = rng.standard_normal(400), 200.0
    clock = Clock(song_seconds=60.0, songs_per_session=10**6, pause_seconds=0.0)
    rows = best_songs(liking, recovery, 3_000, clock)
    songs = [song for song in np.unique(rows[1_000:]) if (rows[1_000:] == song).sum() > 5]
    gaps = np.array([np.diff(np.flatnonzero(rows == song))[5:].mean() for song in songs])
    level = liking[songs] * novelty(gaps, recovery)
    assert len(songs) > 20
    assert level.std() / level.mean() < 0.05
    assert liking[songs].std() / liking[songs].mean() > 0.1  # it is not that all are liked alike
    assert gaps.std() / gaps.mean() > 0.3


def test_the_same_seed_plays_the_same_songs() -> None:
    one = played("weeks", "thompson-cn-x", 0, 3, 25)
    assert one == played("weeks", "thompson-cn-x", 0, 3, 25)
    assert one != played("weeks", "thompson-cn-x", 1, 3, 25)


def test_a_known_taste_is_a_job_too() -> None:
    rows = played("weeks", KNOWN, 0, 3, 25)
    meeting = WEEKS.world.meeting(0, 3)
    liking = meeting.listener.liking(meeting.features)
    assert rows[0] == int(np.argmax(liking))


# ── Verdicts ─────────────────────────────────────────────────────────────────────────────

PAPER_IS_RIGHT = {name: algorithm(name, [zipfian(s) for s in range(3)]) for name in PRODUCT} | {
    name: algorithm(name, [rotating(s) for s in range(3)]) for name in OTHERS
}
PAPER_IS_WRONG = {name: algorithm(name, [rotating(s) for s in range(3)]) for name in PRODUCT} | {
    name: algorithm(name, [zipfian(s) for s in range(3)]) for name in OTHERS
}


def test_the_claims_hold_where_the_plays_are_as_the_paper_says() -> None:
    assert product_finding(PAPER_IS_RIGHT, "here").verdict is Verdict.HOLDS
    assert others_finding(PAPER_IS_RIGHT, "here").verdict is Verdict.HOLDS


def test_the_claims_fail_where_the_plays_are_the_other_way_round() -> None:
    assert product_finding(PAPER_IS_WRONG, "here").verdict is Verdict.FAILS
    assert others_finding(PAPER_IS_WRONG, "here").verdict is Verdict.FAILS


def test_the_claims_hold_partly_where_one_algorithm_differs() -> None:
    mixed = {**PAPER_IS_RIGHT, "greedy-cn": PAPER_IS_WRONG["greedy-cn"]}
    assert product_finding(mixed, "here").verdict is Verdict.PARTLY
    mixed = {**PAPER_IS_RIGHT, "linucb-c": PAPER_IS_WRONG["linucb-c"]}
    assert others_finding(mixed, "here").verdict is Verdict.PARTLY


def test_a_claim_without_any_of_its_algorithms_cannot_be_told() -> None:
    assert product_finding({}, "here").verdict is Verdict.OPEN
    assert others_finding({}, "here").verdict is Verdict.OPEN


def test_people_who_met_the_sampled_algorithm_are_judged_by_it() -> None:
    sampled = algorithm("bayes-ucb-cn", [rotating(s) for s in range(3)])
    met = {**PAPER_IS_RIGHT, "bayes-ucb-cn": sampled}
    assert product_finding(met, "here").verdict is Verdict.PARTLY


def near_people(names: tuple[str, ...], *, near: bool) -> dict[str, Played]:
    someone = [person(zipfian(50)), person(zipfian(51))]
    make = zipfian if near else rotating
    return {name: algorithm(name, [make(s) for s in range(3)], someone) for name in names}


def test_the_product_algorithms_are_nearer_to_people_only_if_they_are() -> None:
    right = near_people(PRODUCT, near=True) | near_people(OTHERS, near=False)
    wrong = near_people(PRODUCT, near=False) | near_people(OTHERS, near=True)
    mixed = right | {"random": wrong["random"]}
    verdicts = [
        distance_findings(each, {"file": [0.1]})[0].verdict for each in (right, wrong, mixed)
    ]
    assert verdicts == [Verdict.HOLDS, Verdict.FAILS, Verdict.PARTLY]


def at_distances(product: list[float], others: dict[str, list[float]]) -> dict[str, Played]:
    """Return algorithms at planted distances to people, one for each listener."""
    runs = tuple(measured(zipfian(run), library=LIBRARY) for run in range(len(product)))
    far = dict.fromkeys(PRODUCT, product) | others
    return {
        name: Played(algorithm=name, runs=runs, distances={"file": tuple(each)})
        for name, each in far.items()
    }


MIDDLE = [0.50, 0.51, 0.52, 0.51, 0.50]
NEAR = [0.20, 0.22, 0.21, 0.20, 0.23]
FAR = [0.80, 0.82, 0.81, 0.80, 0.83]
UNCLEAR = [0.20, 0.83, 0.30, 0.72, 0.59]


@pytest.mark.parametrize(
    ("others", "verdict", "counts"),
    [
        ((FAR, FAR, FAR), Verdict.HOLDS, "nearer in 9 and clearly farther in 0"),
        ((NEAR, NEAR, NEAR), Verdict.FAILS, "nearer in 0 and clearly farther in 9"),
        ((NEAR, UNCLEAR, UNCLEAR), Verdict.FAILS, "nearer in 0 and clearly farther in 3"),
        ((FAR, NEAR, NEAR), Verdict.PARTLY, "nearer in 3 and clearly farther in 6"),
        ((FAR, UNCLEAR, FAR), Verdict.PARTLY, "nearer in 6 and clearly farther in 0"),
        ((UNCLEAR, UNCLEAR, UNCLEAR), Verdict.OPEN, "nearer in 0 and clearly farther in 0"),
        ((MIDDLE, MIDDLE, MIDDLE), Verdict.OPEN, "nearer in 0 and clearly farther in 0"),
    ],
)
def test_the_verdict_on_distances_follows_from_both_directions(
    others: tuple[list[float], ...], verdict: Verdict, counts: str
) -> None:
    results = at_distances(MIDDLE, dict(zip(OTHERS, others, strict=True)))
    (finding,) = distance_findings(results, {"file": [0.1]})
    assert finding.verdict is verdict
    assert f"Of 9 comparisons the product algorithm is clearly {counts}." in finding.measured
    assert "takes these people as given" in finding.why


def test_people_are_told_of_with_both_libraries() -> None:
    finding = product_finding(
        PAPER_IS_RIGHT,
        "here",
        people=[Shape.ZIPF, Shape.OTHER],
        people_in_twice=[Shape.OPEN, Shape.OTHER],
    )
    assert "1 are nearer to Zipf's law, 1 to another and 0 open" in finding.why
    assert "with twice as many songs 0 are nearer to Zipf's law" in finding.why


def test_without_people_the_distance_cannot_be_told() -> None:
    (finding,) = distance_findings(PAPER_IS_RIGHT, {})
    assert finding.verdict is Verdict.OPEN
    assert "--history" in finding.why


@pytest.mark.parametrize("most", [4.0, 300.0])
def test_an_algorithm_that_hardly_repeats_does_not_cut_the_others(most: float) -> None:
    plays = {"random": [2.0, 1.0, 1.0, 1.0], "greedy-cn": [most, 3.0, 2.0, 1.0]}
    figure = new_figure(12.0, 4.0)
    results = {name: algorithm(name, [np.array(counts)]) for name, counts in plays.items()}
    rank_frequency(results, []).draw(figure)
    for axes in figure.axes:
        low, high = axes.get_ylim()
        assert low < 1
        assert most < high


# ── Jobs and chapter ─────────────────────────────────────────────────────────────────────


def fabricated(plan: Plan) -> dict[str, Any]:
    """Return results as jobs would give them, in no time."""
    rng = np.random.default_rng(2)
    results: dict[str, Any] = {}
    for job in STUDY.jobs(plan):
        counts = rng.zipf(1.8, 400).clip(1, 90)
        if job.key == "people":
            parts = [sorted(counts.tolist(), reverse=True)]
            one = {"songs": 500, "stretches": parts}
            someone = [
                {"source": Path(file).name, **one}
                for file in job.arguments["files"]
                for _ in range(2)
            ]
            results[job.key] = {"people": someone, "shorter": 7}
        else:
            rows = np.repeat(np.arange(400), counts)[: job.arguments["plays"]]
            results[job.key] = rows.tolist()
    return results


@pytest.mark.parametrize("size", ["quick", "full"])
@pytest.mark.parametrize("histories", [(), (Path("a.csv"), Path("b.csv"))])
def test_every_job_can_be_called_and_has_a_key_of_its_own(
    size: Any, histories: tuple[Path, ...]
) -> None:
    jobs = STUDY.jobs(Plan(size=size, seed=5, histories=histories))
    assert len({job.key for job in jobs}) == len(jobs)
    for job in jobs:
        module, name = job.function.split(":")
        inspect.signature(getattr(importlib.import_module(module), name)).bind(**job.arguments)


def test_the_full_size_has_as_many_plays_and_songs_as_was_promised() -> None:
    jobs = STUDY.jobs(Plan(size="full"))
    assert WEEKS.songs <= 1_000
    weeks = [job for job in jobs if job.key.startswith("weeks-")]
    assert all(job.arguments["plays"] >= 3_000 for job in weeks)
    assert WEEKS.days(3_000) > 14


@pytest.mark.parametrize(
    ("size", "histories"), [("quick", ()), ("full", (Path("a.csv"), Path("b.csv")))]
)
def test_the_chapter_is_whole_with_and_without_histories(
    size: Any, histories: tuple[Path, ...]
) -> None:
    plan = Plan(size=size, seed=5, histories=histories)
    chapter = STUDY.chapter(plan, fabricated(plan))
    assert_whole(chapter)
    if not histories:
        assert Verdict.OPEN in [finding.verdict for finding in chapter.findings]
