"""The paper's Figures 2 and 3 on real histories: the share of repeats, and Zipf's law.

Each file of histories is a job. Its result keeps how many songs were played how often, from which
every curve of ranks can be drawn; names of songs and of listeners are not kept, so that a report
can be shown around.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.special import bdtrc

from bandstand._util.power_laws import zipf
from bandstand.types import Minutes, frozen
from bandstand_lab.histories.findings import Recovery, examine, is_heard, pair_counts, recovery
from bandstand_lab.histories.plays import read
from bandstand_lab.histories.plot import draw_ranks, draw_recovery, draw_repeats
from bandstand_lab.histories.words import duration, recovery_json, recovery_words
from bandstand_lab.report.study import Job, Study, Verdict, is_inside, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.statistics.concentration import share_if_equal, share_of_most_played
from bandstand_lab.statistics.rank_laws import Shape, compare_laws
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand._util.power_laws import Zipf
    from bandstand.types import Vector
    from bandstand_lab.histories.findings import Findings
    from bandstand_lab.histories.plays import PlayHistory
    from bandstand_lab.report.study import Chapter, Drawing, Finding, Json, Plan

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "histories.toml")
_PAPER_SHARE: Final = 0.683  # of repeats
_MIN_PLAYS: Final = 100  # of a person who is compared, and of laws that are
_MIN_PEOPLE: Final = 5
# The number of songs a person could have played is not known: the songs played, and twice that.
_LIBRARIES: Final = (1, 2)
# How often the plays of each day are shuffled, to see how often chance shows a rest.
_SHUFFLES: Final = 5
_SHUFFLE_SEED: Final = 20_260_311
_DAY: Final = 86_400.0  # seconds
_ONE_SIDED: Final = 0.025
_CHANCE: Final = 0.16  # that a person without one seems to show a rest, where it was not measured
_MAX_CHANCE: Final = 0.01  # less than this is more than chance
# What the listeners of the simulations have at least; without a rest as long, there is none.
_SHORTEST_REST: Final = 100.0  # minutes
_QUARTILES: Final = (0.25, 0.5, 0.75)


def jobs(plan: Plan) -> Sequence[Job]:
    """Return one job for each file; none without files."""
    return [
        Job.of(people, f"file-{number}", file=str(file), shuffles=_SHUFFLES)
        for number, file in enumerate(plan.histories)
    ]


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return what the files say."""
    files = [results[f"file-{number}"] for number in range(len(plan.histories))]
    everyone = [Listened.from_json(each) for one in files for each in one["people"]]
    compared = [person for person in everyone if person.plays >= _MIN_PLAYS]
    ranked = [person.plays_by_rank for person in compared]
    together = np.sort(np.concatenate(ranked or [np.empty(0)]))[::-1]
    law = zipf(together)
    return TEXTS.chapter(
        method={
            "files": [file.name for file in plan.histories],
            "plays": sum(one["plays"] for one in files),
            "left_out": sum(one["left_out"] for one in files),
            "people": len(everyone),
            "min_plays": _MIN_PLAYS,
            "shuffles": _SHUFFLES,
        },
        findings=(
            _half_finding("repeats", [person.repeat_share for person in compared]),
            _zipf_finding(compared, law, together),
            _half_finding(
                "favourites",
                [share_of_most_played(person.plays_by_rank) for person in compared],
                equal=np.mean(
                    [share_if_equal(person.plays, person.songs) for person in compared] or [0.0]
                ),
            ),
            _novelty_finding(compared),
        ),
        drawings=(
            *([_repeats_and_ranks(compared, together, law)] if compared else ()),
            *_rests(plan, files),
        ),
    )


# ── One file ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Listened:
    """One listener of a file."""

    plays: int
    repeat_share: float
    plays_by_rank: Vector
    shapes: tuple[Shape, ...]  # in a library of the songs played, and of twice as many
    recovery: Recovery | None
    rests_by_chance: tuple[int, int]  # (rests, shuffles within days)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Listened:
        """Return the person that a job has kept."""
        plays, songs = (
            np.array(column) for column in zip(*document["songs_by_plays"], strict=True)
        )
        return cls(
            plays=document["plays"],
            repeat_share=document["repeat_share"],
            plays_by_rank=frozen(np.repeat(plays, songs)),
            shapes=tuple(Shape(shape) for shape in document["shapes"]),
            recovery=recovery_of(document["recovery"]),
            rests_by_chance=(document["rests_when_shuffled"], document["shuffles"]),
        )

    @property
    def songs(self) -> int:
        """Return the number of different songs."""
        return len(self.plays_by_rank)


def people(file: str, shuffles: int) -> dict[str, Any]:
    """Return what a file says of each of its listeners, and of all together; a job."""
    found = read([file])
    findings = examine(found)
    return {
        "people": [
            {**_person(each), **_shuffled(history, shuffles, number)}
            for number, (each, history) in enumerate(zip(findings.listeners, found, strict=True))
        ],
        "recovery": recovery_json(findings.together.recovery),
        "plays": found.plays,
        "left_out": sum(each.count for source in found.sources for each in source.left_out),
    }


def _person(each: Findings) -> dict[str, Any]:
    plays, songs = np.unique(each.plays_by_rank.astype(int), return_counts=True)
    enough = each.plays >= _MIN_PLAYS and each.songs > 1
    laws = [
        compare_laws(each.plays_by_rank, library=times * each.songs)
        for times in (_LIBRARIES if enough else ())
    ]
    return {
        "plays": each.plays,
        "repeat_share": each.repeat_share,
        "songs_by_plays": np.column_stack([plays, songs])[::-1].tolist(),
        "shapes": [str(ranking.shape) for ranking in laws],
        "recovery": recovery_json(each.recovery),
    }


def _shuffled(history: PlayHistory, shuffles: int, number: int) -> dict[str, int]:
    """Return how often the plays of each day in another order show a rest after a play."""
    rng = np.random.default_rng([_SHUFFLE_SEED, number])
    suggested = [
        recovery([pair_counts(shuffled_within_days(history, rng))], rng) for _ in range(shuffles)
    ]
    known = [each for each in suggested if each is not None]
    rests = sum(each.recovery_time is not None for each in known)
    return {"rests_when_shuffled": rests, "shuffles": len(known)}


def shuffled_within_days(history: PlayHistory, rng: np.random.Generator) -> PlayHistory:
    """Return the same plays, those of each day that were heard in any order.

    Each song stays on its days, so songs go in and out of rotation as before.
    """
    heard = np.flatnonzero(is_heard(history))
    days = np.floor(history.times[heard] / _DAY)
    items = history.items.copy()
    items[heard] = history.items[heard[np.lexsort((rng.random(len(heard)), days))]]
    items.setflags(write=False)
    return replace(history, items=items)


def recovery_of(document: Mapping[str, Any] | None) -> Recovery | None:
    """Return the recovery time that was written as JSON."""
    if document is None:
        return None
    low, high = document["interval_minutes"]
    time, curve = document["recovery_time_minutes"], document["curve"]
    return Recovery(
        recovery_time=None if time is None else Minutes(time),
        interval=(Minutes(low), Minutes(high)),
        pairs=document["pairs"],
        lags=frozen(curve["minutes"]),
        closeness=frozen(curve["times_chance"]),
        fitted=frozen(curve["fitted"]),
    )


# ── Claims ───────────────────────────────────────────────────────────────────────────────


def _half_finding(name: str, shares: Sequence[float], **numbers: Any) -> Finding:
    """Return the verdict on: the mean share over people is above one half."""
    common = {"people": len(shares), "min_people": _MIN_PEOPLE, "min_plays": _MIN_PLAYS}
    if len(shares) < _MIN_PEOPLE:
        return TEXTS.finding(name, Verdict.OPEN, **common)
    low, high = mean_estimate(shares).interval() or (0.0, 1.0)
    return TEXTS.finding(
        name,
        verdict_on([is_inside((low, high), 0.5, math.inf)]),
        quartiles=np.quantile(shares, _QUARTILES).tolist(),
        mean=np.mean(shares),
        interval=(low, high),
        above_half=sum(share > 0.5 for share in shares),
        **numbers,
        **common,
    )


def _zipf_finding(compared: Sequence[Listened], law: Zipf | None, together: Vector) -> Finding:
    """Return the verdict on: plays fall with the rank by Zipf's law."""
    judged = [person.shapes for person in compared if person.shapes]
    common = {"people": len(judged), "min_people": _MIN_PEOPLE}
    if law is None or len(judged) < _MIN_PEOPLE:
        return TEXTS.finding("zipf", Verdict.OPEN, law=None, **common)
    by_library = [list(shapes) for shapes in zip(*judged, strict=True)]
    majorities = [_majority(shapes) for shapes in by_library]
    is_line = law.r_squared >= 0.9 and 0.7 <= law.exponent <= 1.3
    counts = [
        [shapes.count(shape) for shape in (Shape.ZIPF, Shape.OTHER, Shape.OPEN)]
        for shapes in by_library
    ]
    return TEXTS.finding(
        "zipf",
        _zipf_verdict(majorities, is_line=is_line),
        law=law,
        ranks=len(together),
        most_plays=together[0],
        counts=counts,
        **common,
    )


def _majority(shapes: Sequence[Shape]) -> Shape:
    """Return the shape that clearly more than half of the people have; open if there is none."""
    for shape in (Shape.ZIPF, Shape.OTHER):
        if _is_majority(shapes.count(shape), len(shapes)):
            return shape
    return Shape.OPEN


def _zipf_verdict(with_each: Sequence[Shape], *, is_line: bool) -> Verdict:
    """Return the verdict from all together and from single people, with each number of songs."""
    nearer = [shape is Shape.ZIPF for shape in with_each]
    if is_line and all(nearer):
        return Verdict.HOLDS
    if is_line or any(nearer):
        return Verdict.PARTLY
    is_other = all(shape is Shape.OTHER for shape in with_each)
    return Verdict.FAILS if is_other else Verdict.OPEN


def _novelty_finding(compared: Sequence[Listened]) -> Finding:
    """Return the verdict on: people let a song rest after its play."""
    judged = [person for person in compared if person.recovery is not None]
    found = [person.recovery for person in judged if person.recovery is not None]
    seen = [float(each.recovery_time) for each in found if each.recovery_time is not None]
    without = sum(each.interval[1] < _SHORTEST_REST for each in found)
    rests, shuffles = np.sum([each.rests_by_chance for each in judged] or [(0, 0)], axis=0).tolist()
    chance = rests / shuffles if shuffles else _CHANCE
    verdict = Verdict.OPEN
    if len(judged) >= _MIN_PEOPLE:
        verdict = _novelty_verdict(len(seen), without, len(judged), chance)
    return TEXTS.finding(
        "novelty",
        verdict,
        people=len(judged),
        min_people=_MIN_PEOPLE,
        seen=len(seen),
        quartiles=[duration(60 * float(each)) for each in np.quantile(seen or [0.0], _QUARTILES)],
        chance=chance,
        without=without,
        shortest=_SHORTEST_REST,
        max_chance=_MAX_CHANCE,
    )


def _novelty_verdict(seen: int, without: int, of: int, chance: float) -> Verdict:
    by_chance = float(bdtrc(seen - 1, of, chance)) if seen else 1.0
    if by_chance < _MAX_CHANCE:
        return Verdict.HOLDS if seen > of / 2 else Verdict.PARTLY
    return Verdict.FAILS if _is_majority(without, of) else Verdict.OPEN


def _is_majority(count: int, of: int) -> bool:
    """Return whether `count` is clearly more than half."""
    return count > 0 and float(bdtrc(count - 1, of, 0.5)) < _ONE_SIDED


# ── Figures ──────────────────────────────────────────────────────────────────────────────


def _repeats_and_ranks(compared: Sequence[Listened], together: Vector, law: Zipf | None) -> Drawing:
    """Return the paper's two figures beside each other."""
    shares = np.array([person.repeat_share for person in compared])

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(0.8, 2))
        draw_repeats(left, shares)
        single = [person.plays_by_rank for person in compared]
        draw_ranks(right, single, law)

    return TEXTS.drawing(
        "repeats-and-ranks",
        draw,
        inches=(10.0, 4.5),
        people=len(compared),
        median=float(np.median(shares)),
        paper=_PAPER_SHARE,
        law=law,
        ranks=len(together),
    )


def _rests(plan: Plan, files: Sequence[Json]) -> list[Drawing]:
    """Return how likely a song is some time after its play, one figure for each file."""
    drawings = []
    for number, (file, one) in enumerate(zip(plan.histories, files, strict=True), start=1):
        suggested = recovery_of(one["recovery"])
        if suggested is not None:
            numbers = {"file": file.name, "recovery": recovery_words(suggested)}
            draw = partial(_draw_rest, suggested=suggested)
            each = TEXTS.drawing("rest-after-a-play", draw, inches=(7.0, 4.5), **numbers)
            drawings.append(replace(each, name=f"rest-after-a-play-{number}"))
    return drawings


def _draw_rest(figure: Figure, suggested: Recovery) -> None:
    draw_recovery(figure.subplots(), suggested)


STUDY: Final = Study(
    name="histories", title="What people repeat: listening histories", jobs=jobs, chapter=chapter
)
