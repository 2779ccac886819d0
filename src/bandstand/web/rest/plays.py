"""What was heard, from what a music app reports: pure functions of the reports and their times.

An app has two ways to report a play, and some use both for the same one:

timeline    `reportPlayback`: starting, playing, paused, stopped, each with a position
scrobble    "now playing" at the beginning (`submission=false`), and a submission some time later

report                                  meaning
another song starts                     the one before has ended where it was
stopped                                 the same, for this song; of another song it comes late
the same song starts or plays again     the same play goes on, unless it was at its end
no report for longer than the song      the app is gone: nothing is known of the end
paused for half an hour                 the same
a submission                            not by itself a song heard out: apps send it at half, at
                                        the end, or at a skip; the time since "now playing" decides
a submission without "now playing"      heard, and nothing known of how much: it counts nothing
a submission of a timeline's song       the same play: counted, and no further evidence
"now playing", then another, too early  a skip after that time
… late enough, and no submission yet    nothing, until the submission comes

A play that ends within `END_MS` of the song's end, or a tenth of its length, was heard out if half
of the song was really played; any other was skipped after what was played of it. Seeking is not
playing. Less than two seconds of it are nothing. A wait between two reports is never more than
the time that has passed, and never more than the song is long.

`ignoreScrobble` keeps a play from being counted, unless the app also submits it; it is evidence
all the same. What is to stay private is so by the listener's private mode.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from bandstand.radio.log.evidence import MIN_JUDGED_MS

State: TypeAlias = Literal["starting", "playing", "paused", "stopped"]
STATES: Final[tuple[State, ...]] = ("starting", "playing", "paused", "stopped")

# In milliseconds.
END_MS: Final = 10_000
BETWEEN_SONGS_MS: Final = 60_000  # loading, or a gap; a submission may be as late
OUT_OF_ORDER_MS: Final = 5_000
MAX_PAUSE_MS: Final = 30 * 60_000
_MAX_RATE: Final = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A play that has ended: an event of the log to be."""

    song: str
    kind: Literal["listen", "skip"]
    played_ms: int  # 0 where it is not known
    began_at: int
    at: int  # when it ended
    is_counted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """A player of an app, by its last report."""

    song: str | None = None
    length_ms: int = 0
    state: State = "stopped"
    has_timeline: bool = False
    began_at: int = 0
    seen_at: int = 0  # the last report
    position_ms: int = 0  # at that time
    played_ms: int = 0  # by then
    rate: float = 1.0
    is_submitted: bool = False
    is_uncounted: bool = False
    before: str | None = None  # the song before
    waits_for_submission: Heard | None = None  # the play before, if it was heard out

    @property
    def is_active(self) -> bool:
        """Whether a song is being played, or paused."""
        return self.song is not None and self.state != "stopped"

    def position_at(self, now: int) -> int:
        """Return where the song is by now, if it has gone on."""
        if self.state not in {"starting", "playing"}:
            return self.position_ms
        passed = max(0, round((now - self.seen_at) * self.rate))
        return min(self.position_ms + passed, max(self.length_ms, self.position_ms))

    def is_gone(self, now: int) -> bool:
        """Return whether nothing was reported for longer than the song, or a pause, can last."""
        left = max(0, self.length_ms - self.position_ms) / self.rate
        patience = MAX_PAUSE_MS if self.state == "paused" else left + BETWEEN_SONGS_MS
        return now - self.seen_at > patience


NO_PLAYER: Final = Player()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One report of a timeline."""

    song: str
    length_ms: int
    state: State
    position_ms: int
    rate: float = 1.0
    ignores_scrobble: bool = False


Step: TypeAlias = tuple[Player, list[Heard]]


# ── Timelines ────────────────────────────────────────────────────────────────────────────


def reported(player: Player, report: Report, now: int) -> Step:
    """Return the player after a report of its timeline, and what has ended by then."""
    if player.has_timeline and player.is_active and player.is_gone(now):
        player = replace(player, state="stopped", before=player.song)
    is_same = player.is_active and player.song == report.song
    if _is_late(player, report, now, is_same=is_same):
        return player, []
    if is_same and not player.has_timeline:  # "now playing" came first
        player = replace(player, has_timeline=True)
    if not is_same:
        ended = _ended(player, now)
        return _started(player, report, now), ended
    if report.state == "starting":
        if _is_at_end(player, player.position_at(now)):
            return _started(player, report, now), _ended(player, now)
        return player, []
    player = _advanced(player, report, now)
    if report.state == "stopped":
        ended = _ended(replace(player, state="paused"), now)
        return replace(player, before=player.song, waits_for_submission=None), ended
    return player, []


def _is_late(player: Player, report: Report, now: int, *, is_same: bool) -> bool:
    """Return whether a report was overtaken by others."""
    if is_same:
        return False
    if report.state == "stopped":
        return True
    is_new = player.is_active and now - player.began_at < OUT_OF_ORDER_MS
    return is_new and report.song == player.before and report.state != "starting"


def _started(player: Player, report: Report, now: int) -> Player:
    return Player(
        song=report.song,
        length_ms=report.length_ms,
        state=report.state,
        has_timeline=True,
        began_at=now,
        seen_at=now,
        position_ms=report.position_ms,
        rate=_rate(report.rate),
        is_uncounted=report.ignores_scrobble,
        before=player.song,
    )


def _advanced(player: Player, report: Report, now: int) -> Player:
    """Return the player with what was played since the last report."""
    passed = player.position_at(now) - player.position_ms
    moved = report.position_ms - player.position_ms
    played = passed if moved < 0 else min(passed, moved)
    return replace(
        player,
        state=report.state,
        seen_at=now,
        position_ms=report.position_ms,
        played_ms=player.played_ms + played,
        rate=_rate(report.rate),
        is_uncounted=report.ignores_scrobble,
    )


def _rate(rate: float) -> float:
    return rate if 0 < rate <= _MAX_RATE else 1.0


def _is_at_end(player: Player, position_ms: int) -> bool:
    return position_ms >= player.length_ms - min(END_MS, player.length_ms // 10)


def _ended(player: Player, now: int) -> list[Heard]:
    """Return the play that ends now, whichever way it was reported."""
    if not player.is_active or player.song is None:
        return []
    if not player.has_timeline:
        return _ended_by_clock(player, now)
    position = player.position_at(now)
    played = min(player.played_ms + position - player.position_ms, player.length_ms)
    is_whole = _is_at_end(player, position) and 2 * played >= player.length_ms
    return _heard(player, "listen" if is_whole else "skip", played, now)


def _heard(
    player: Player, kind: Literal["listen", "skip"], played_ms: int, now: int
) -> list[Heard]:
    if player.song is None or played_ms < MIN_JUDGED_MS:
        return []
    return [
        Heard(
            song=player.song,
            kind=kind,
            played_ms=played_ms,
            began_at=player.began_at,
            at=now,
            is_counted=player.is_submitted or not player.is_uncounted,
        )
    ]


# ── Scrobbles ────────────────────────────────────────────────────────────────────────────


def now_playing(player: Player, song: str, length_ms: int, now: int) -> Step:
    """Return the player after "now playing", and what has ended by then."""
    if player.has_timeline and player.is_active and not player.is_gone(now):
        return player, []  # its timeline says more
    elapsed = now - player.began_at
    is_same = player.is_active and player.song == song
    if is_same and not (player.is_submitted and _is_at_end(player, elapsed)):
        is_resumed = elapsed <= player.length_ms + MAX_PAUSE_MS
        if is_resumed:
            return replace(player, seen_at=now), []
    ended = _ended_by_clock(player, now)
    waits = None
    if player.is_active and not player.is_submitted and not ended:
        waits = next(iter(_heard(player, "listen", min(elapsed, player.length_ms), now)), None)
    return Player(
        song=song,
        length_ms=length_ms,
        state="playing",
        began_at=now,
        seen_at=now,
        before=player.song,
        waits_for_submission=waits,
    ), ended


def _ended_by_clock(player: Player, now: int) -> list[Heard]:
    """Return the play of a player that only said when it began."""
    if not player.is_active or player.has_timeline:
        return []
    elapsed = now - player.began_at
    if not _is_at_end(player, elapsed):
        return _heard(player, "skip", elapsed, now)
    if not player.is_submitted:
        return []
    if elapsed > player.length_ms + MAX_PAUSE_MS and player.song is not None:
        return [_unknown(player.song, player.began_at)]
    return _heard(player, "listen", min(elapsed, player.length_ms), now)


def submitted(player: Player, song: str, time: int | None, now: int) -> Step:
    """Return the player after a submission, and what has ended by then.

    `time` is when the song was heard, as far as the app says so.
    """
    is_recent = time is None or time >= player.began_at - BETWEEN_SONGS_MS
    is_known = (now if time is None else time) - player.began_at <= (
        player.length_ms + MAX_PAUSE_MS
    )
    if player.song == song and is_recent and is_known:
        player = replace(player, is_submitted=True)
        if player.has_timeline or not _is_at_end(player, now - player.began_at):
            return player, []
        ended = _ended_by_clock(player, now)
        return replace(player, state="stopped", before=song, waits_for_submission=None), ended
    waits = player.waits_for_submission
    is_soon = now - player.began_at <= BETWEEN_SONGS_MS
    if waits is not None and waits.song == song and is_soon:
        return replace(player, waits_for_submission=None), [waits]
    if player.before == song and is_soon and (time is None or time <= player.began_at):
        return player, []  # it has ended, and was noted then
    ended = []
    is_over = player.is_submitted and _is_at_end(player, now - player.began_at)
    if time is None and is_over and (ended := _ended_by_clock(player, now)):
        player = replace(player, state="stopped", before=player.song)  # noted before the other
    return player, [*ended, _unknown(song, now if time is None else min(time, now))]


def _unknown(song: str, at: int) -> Heard:
    return Heard(song=song, kind="listen", played_ms=0, began_at=at, at=at)
