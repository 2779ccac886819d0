"""What reports of apps say of what was heard: pure functions of the reports and their times."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.web.rest.plays import (
    BETWEEN_SONGS_MS,
    END_MS,
    MAX_PAUSE_MS,
    NO_PLAYER,
    STATES,
    Heard,
    Report,
    now_playing,
    reported,
    submitted,
)

LENGTH = 200_000
NOW = 1_700_000_000_000

# At a second: (state, song, position in seconds), ("now", song), ("sent", song) or
# ("sent", song, when it was heard).
Said = tuple[float, tuple[Any, ...]]


def heard(*said: Said, ignores_scrobble: bool = False) -> list[Heard]:
    """Return what was heard by the end of some reports."""
    player, found = NO_PLAYER, list[Heard]()
    for at, (what, song, *more) in said:
        now = NOW + round(1_000 * at)
        if what == "now":
            player, ended = now_playing(player, song, LENGTH, now)
        elif what == "sent":
            when = NOW + round(1_000 * more[0]) if more else None
            player, ended = submitted(player, song, when, now)
        else:
            report = Report(
                song=song,
                length_ms=LENGTH,
                state=what,
                position_ms=round(1_000 * more[0]),
                ignores_scrobble=ignores_scrobble,
            )
            player, ended = reported(player, report, now)
        found += ended
    return found


def brief(found: Sequence[Heard]) -> list[tuple[str, str, float]]:
    return [(it.kind, it.song, it.played_ms / 1_000) for it in found]


TIMELINES: dict[str, tuple[list[Said], list[tuple[str, str, float]]]] = {
    "heard out": (
        [(0, ("starting", "a", 0)), (1, ("playing", "a", 1)), (200, ("stopped", "a", 200))],
        [("listen", "a", 200)],
    ),
    "skipped": (
        [(0, ("starting", "a", 0)), (20, ("stopped", "a", 20))],
        [("skip", "a", 20)],
    ),
    "the next song begins": (
        [(0, ("starting", "a", 0)), (42, ("starting", "b", 0))],
        [("skip", "a", 42)],
    ),
    "the next song begins at the end": (
        [(0, ("playing", "a", 0)), (203, ("starting", "b", 0))],
        [("listen", "a", 200)],
    ),
    "paused in between": (
        [(0, ("starting", "a", 0)), (50, ("paused", "a", 50)), (600, ("playing", "a", 50)),
         (750, ("stopped", "a", 200))],
        [("listen", "a", 200)],
    ),
    "seeking is not playing": (
        [(0, ("starting", "a", 0)), (5, ("playing", "a", 190)), (15, ("stopped", "a", 200))],
        [("skip", "a", 15)],
    ),
    "a wait for the network is not playing": (
        [(0, ("starting", "a", 0)), (60, ("playing", "a", 2)), (70, ("stopped", "a", 12))],
        [("skip", "a", 12)],
    ),
    "late starting": (
        [(0, ("playing", "a", 0)), (1, ("starting", "a", 0)), (200, ("stopped", "a", 200))],
        [("listen", "a", 200)],
    ),
    "late stopped of another": (
        [(0, ("starting", "a", 0)), (30, ("starting", "b", 0)), (31, ("stopped", "a", 30)),
         (32, ("playing", "a", 30)), (230, ("stopped", "b", 200))],
        [("skip", "a", 30), ("listen", "b", 200)],
    ),
    "stopped twice": (
        [(0, ("starting", "a", 0)), (30, ("stopped", "a", 30)), (31, ("stopped", "a", 30))],
        [("skip", "a", 30)],
    ),
    "stopped without a beginning": ([(0, ("stopped", "a", 100))], []),
    "again and again": (
        [(0, ("starting", "a", 0)), (200, ("starting", "a", 0)), (400, ("stopped", "a", 200))],
        [("listen", "a", 200), ("listen", "a", 200)],
    ),
    "loaded in advance": ([(0, ("starting", "a", 0)), (1, ("starting", "b", 0))], []),
    "gone without a word": (
        [(0, ("starting", "a", 0)), (20, ("playing", "a", 20)), (900, ("starting", "b", 0))],
        [],
    ),
    "paused for an hour": (
        [(0, ("starting", "a", 0)), (20, ("paused", "a", 20)), (3_600, ("starting", "b", 0))],
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("said", "expected"), TIMELINES.values(), ids=TIMELINES)
def test_a_timeline_says_how_a_play_ended(
    said: list[Said], expected: list[tuple[str, str, float]]
) -> None:
    assert brief(heard(*said)) == expected
    # Five of seven apps send it with every report: it is no wish to forget.
    quiet = heard(*said, ignores_scrobble=True)
    assert brief(quiet) == expected
    assert not any(it.is_counted for it in quiet)


SCROBBLES: dict[str, tuple[list[Said], list[tuple[str, str, float]]]] = {
    "at the natural end": ([(0, ("now", "a")), (199, ("sent", "a"))], [("listen", "a", 199)]),
    "at half, and heard out": (
        [(0, ("now", "a")), (100, ("sent", "a")), (201, ("now", "b"))],
        [("listen", "a", 200)],
    ),
    "at half, and then skipped": (
        [(0, ("now", "a")), (100, ("sent", "a")), (130, ("now", "b"))],
        [("skip", "a", 130)],
    ),
    "at the start": (
        [(0, ("now", "a")), (1, ("sent", "a")), (9, ("now", "b"))],
        [("skip", "a", 9)],
    ),
    "a submission at a skip": (
        [(0, ("now", "a")), (12, ("sent", "a")), (12.5, ("now", "b"))],
        [("skip", "a", 12.5)],
    ),
    "a submission after the skip": (
        [(0, ("now", "a")), (12, ("now", "b")), (12.5, ("sent", "a"))],
        [("skip", "a", 12)],
    ),
    "a skip without any": ([(0, ("now", "a")), (12, ("now", "b"))], [("skip", "a", 12)]),
    "no submission": ([(0, ("now", "a")), (210, ("now", "b"))], []),
    "a submission after the next began": (
        [(0, ("now", "a")), (210, ("now", "b")), (211, ("sent", "a"))],
        [("listen", "a", 200)],
    ),
    "now playing at every resume": (
        [(0, ("now", "a")), (50, ("now", "a")), (90, ("now", "a")), (230, ("sent", "a"))],
        [("listen", "a", 200)],
    ),
    "submitted twice": (
        [(0, ("now", "a")), (199, ("sent", "a")), (202, ("sent", "a")), (203, ("now", "b"))],
        [("listen", "a", 199)],
    ),
    "played again": (
        [(0, ("now", "a")), (199, ("sent", "a")), (200, ("now", "a")), (399, ("sent", "a"))],
        [("listen", "a", 199), ("listen", "a", 199)],
    ),
    "delivered late, says when and not how long": (
        [(9_000, ("sent", "a", 10)), (9_001, ("sent", "b", 220))],
        [("listen", "a", 0), ("listen", "b", 0)],
    ),
    "submitted alone": ([(0, ("sent", "a"))], [("listen", "a", 0)]),
    "submitted, and back the next day": (
        [(0, ("now", "a")), (100, ("sent", "a")), (86_400, ("now", "b"))],
        [("listen", "a", 0)],
    ),
    "a timeline as well": (
        [(0, ("now", "a")), (0.1, ("starting", "a", 0)), (100, ("sent", "a")),
         (130, ("now", "b")), (130.1, ("stopped", "a", 130)), (130.2, ("starting", "b", 0)),
         (131, ("sent", "a"))],
        [("skip", "a", 130)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("said", "expected"), SCROBBLES.values(), ids=SCROBBLES)
def test_a_submission_alone_never_means_heard_out(
    said: list[Said], expected: list[tuple[str, str, float]]
) -> None:
    found = brief(heard(*said))
    assert [each[:2] for each in found] == [each[:2] for each in expected]
    assert [each[2] for each in found] == pytest.approx([each[2] for each in expected], rel=0.01)


def test_a_late_play_has_the_time_at_which_it_was_heard() -> None:
    (found,) = heard((9_000, ("sent", "a", 10)))
    assert found.at == NOW + 10_000


def test_a_play_that_is_also_submitted_is_counted_once() -> None:
    said: list[Said] = [
        (0, ("starting", "a", 0)), (120, ("sent", "a")), (200, ("stopped", "a", 200)),
    ]  # fmt: skip
    (found,) = heard(*said, ignores_scrobble=True)
    assert found.is_counted


reports = st.lists(
    st.tuples(
        st.floats(0, 2 * MAX_PAUSE_MS / 1_000),
        st.sampled_from("ab").flatmap(
            lambda song: st.one_of(
                st.tuples(st.sampled_from(STATES), st.just(song), st.floats(0, LENGTH / 1_000)),
                st.tuples(st.sampled_from(["now", "sent"]), st.just(song)),
            )
        ),
    ),
    max_size=12,
)


@given(reports, st.booleans())
def test_no_play_is_longer_than_its_song_or_than_the_time_it_took(
    waits: list[Said], ignores_scrobble: bool
) -> None:
    at, said = 0.0, list[Said]()
    for wait, what in waits:
        at += wait
        said.append((at, what))
    found = heard(*said, ignores_scrobble=ignores_scrobble)
    assert len(found) <= len(said)
    for play in found:
        assert 0 <= play.played_ms <= min(LENGTH, play.at - play.began_at + 1)
        assert play.kind == "skip" or not play.played_ms or 2 * play.played_ms >= LENGTH - END_MS
    assert [it.at for it in found] == sorted(it.at for it in found)
    assert BETWEEN_SONGS_MS < MAX_PAUSE_MS
