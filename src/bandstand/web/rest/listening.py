"""What apps say: ratings, marks, plays; and where they are: now playing and the play queue.

call              event of the log
`setRating`       of a song: a rating, now; 0 takes back all ratings of the song
`star`            a favourite: a song, an album or an artist; `unstar` takes it back
`scrobble`        what `plays` makes of it: `listen`, `skip`, or nothing yet
`reportPlayback`  the same
`savePlayQueue`   none: where one is says nothing of what was heard

The key of an event names the app (`c`), so that the log keeps who said it. A song that was
delivered late has its time, as far as the log's rule of rising time allows. Ratings of albums and
artists are kept and shown, and teach nothing: they do not say which songs are meant.
"""

import asyncio
import secrets
from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Connection

from bandstand.store import app_state, favourites
from bandstand.store.events import events
from bandstand.store.events.values import MAX_AGE_MS, NewEvent, Scope
from bandstand.store.songs import songs
from bandstand.store.songs.songs import SongRecord
from bandstand.web.rest.answers import FAILED, MISSING_PARAMETER, Refusal, Tree, moment, not_found
from bandstand.web.rest.browsing import View, store_id, viewing
from bandstand.web.rest.calls import Call, endpoint
from bandstand.web.rest.entries import UNCOUNTED, child, target_of
from bandstand.web.rest.memory import ALBUM_RATINGS
from bandstand.web.rest.plays import (
    STATES,
    Heard,
    Player,
    Report,
    now_playing,
    reported,
    submitted,
)

_COUNTED: Final = "app:"
_MAX_LENGTH_MS: Final = 86_400_000
_MAX_RATINGS: Final = 10_000
_MAX_QUEUE: Final = 5_000
_QUEUE: Final = "play queue"


# ── Ratings and marks ────────────────────────────────────────────────────────────────────


@endpoint("setRating", scope="rate")
async def _set_rating(call: Call) -> Tree:
    stars = call.params.optional_whole("rating")
    if stars is None or not 0 <= stars <= 5:
        raise Refusal(MISSING_PARAMETER, "rating must be a whole number from 0 to 5")
    wanted = call.params.required("id")
    scope, target, ratings = await call.context.pool.run(_rated, call, wanted)
    if scope != "song":
        await call.context.write(lambda store: _rate_name(store, call.account, wanted, stars))
    elif stars and not (ratings and ratings[-1][1] == stars and not _is_playing(call, target)):
        # The same stars again, for a song that is not playing, are a repetition by the app.
        new = NewEvent(
            account=call.account, key=_key(call, "rating"), kind="rating", song=target, stars=stars
        )
        await asyncio.wrap_future(call.context.radio.submit(new))
    elif not stars:
        await _write(call, lambda store: _take_back(store, call, [seq for seq, _ in ratings]))
    return {}


def _rated(call: Call, wanted: str) -> tuple[Scope, str, list[tuple[int, int]]]:
    with call.context.store.reading() as connection:
        view = View(call, connection)
        scope, target = _target(view, wanted)
        return scope, target, view.marks.said.ratings.get(target, [])


def _is_playing(call: Call, song: str) -> bool:
    players = call.memory.players(call.account)
    return any(player.is_active and player.song == song for _, player in players)


def _take_back(store: Connection, call: Call, seqs: list[int]) -> None:
    retracted = events.retracted(store, call.account, seqs)
    for seq in seqs:
        if seq not in retracted:
            new = NewEvent(
                account=call.account, key=_key(call, "no rating"), kind="retract", retracts=seq
            )
            events.append(store, new, now=call.context.clock())


def _rate_name(store: Connection, account: str, wanted: str, stars: int) -> None:
    kept = app_state.get(store, account, ALBUM_RATINGS)
    kept.pop(wanted, None)
    if stars:
        kept[wanted] = stars
    if len(kept) > _MAX_RATINGS:
        raise Refusal(FAILED, f"at most {_MAX_RATINGS:,} albums and artists can be rated")
    app_state.put(store, account, ALBUM_RATINGS, kept)


@endpoint("star", scope="rate")
async def _star(call: Call) -> Tree:
    await _mark(call, favourites.mark)
    return {}


@endpoint("unstar", scope="rate")
async def _unstar(call: Call) -> Tree:
    await _mark(call, favourites.unmark)
    return {}


async def _mark(call: Call, change: Callable[..., None]) -> None:
    ids = [wanted for name in ("id", "albumId", "artistId") for wanted in call.params.all(name)]
    if not ids:
        raise Refusal(MISSING_PARAMETER, "required parameter is missing: id, albumId or artistId")
    targets = await call.context.pool.run(_targets, call, ids)

    def work(store: Connection) -> None:
        for scope, target in targets:
            change(store, call.account, scope, target, now=call.context.clock())

    await _write(call, work)


def _targets(call: Call, ids: list[str]) -> list[tuple[Scope, str]]:
    with call.context.store.reading() as connection:
        view = View(call, connection)
        return [_target(view, wanted) for wanted in ids]


def _target(view: View, wanted: str) -> tuple[Scope, str]:
    """Return what an id means, as the log names it."""
    if wanted.startswith("al-"):
        return "album", target_of(view.album(wanted))
    if wanted.startswith("ar-"):
        return "artist", view.artist(wanted).name
    return "song", view.song(wanted).id


async def _write(call: Call, work: Callable[[Connection], Any]) -> None:
    await asyncio.wrap_future(call.context.radio.write(work, order=call.account))


def _key(call: Call, what: str) -> str:
    return f"{_COUNTED}{call.client}:{what}:{secrets.token_hex(8)}"


# ── Plays ────────────────────────────────────────────────────────────────────────────────


@endpoint("scrobble", scope="play")
async def _scrobble(call: Call) -> Tree:
    ids, times = call.params.all("id"), call.params.all("time")
    if not ids:
        raise Refusal(MISSING_PARAMETER, "required parameter is missing: id")
    found = [await call.context.pool.run(_song, call, wanted) for wanted in ids]
    is_submission = call.params.flag("submission", default=True)
    for number, song in enumerate(found):
        at = int(times[number]) if number < len(times) and times[number].isdecimal() else None
        now, length = call.context.clock(), length_of(song)

        def step(player: Player, song: str = song.id, at: int | None = at) -> Any:
            if is_submission:
                return submitted(player, song, at, now)  # noqa: B023  # called at once
            return now_playing(player, song, length, now)  # noqa: B023

        await _note(call, call.memory.follow(call.player, step))
    return {}


@endpoint("reportPlayback", scope="play")
async def _report_playback(call: Call) -> Tree:
    params = call.params
    state, wanted = params.required("state"), params.required("mediaId")
    position = params.optional_whole("positionMs")
    if state not in STATES or position is None or position < 0:
        raise Refusal(MISSING_PARAMETER, "state and positionMs must be those of the protocol")
    if params.text("mediaType") not in {None, "song"}:
        return {}  # no podcasts here
    song = await call.context.pool.run(_song, call, wanted)
    report = Report(
        song=song.id,
        length_ms=length_of(song),
        state=state,
        position_ms=min(position, length_of(song)),
        rate=_rate(params.text("playbackRate")),
        ignores_scrobble=params.flag("ignoreScrobble"),
    )
    now = call.context.clock()
    await _note(call, call.memory.follow(call.player, lambda it: reported(it, report, now)))
    return {}


def length_of(song: SongRecord) -> int:
    """Return the length of a song in milliseconds, as far as it can be."""
    return max(1, round(1_000 * min(song.duration, _MAX_LENGTH_MS / 1_000)))


def _song(call: Call, wanted: str) -> SongRecord:
    with call.context.store.reading() as connection:
        found = songs.get(connection, store_id(wanted))
    if found is None:
        raise not_found(what="song")
    return found


def _rate(text: str | None) -> float:
    try:
        return float(text or 1)
    except ValueError:
        return 1.0


async def _note(call: Call, heard: list[Heard]) -> None:
    """Put what was heard into the log; the same play is one event however often it is sent."""
    for play in heard:
        now = call.context.clock()
        begin = _COUNTED if play.is_counted else UNCOUNTED
        new = NewEvent(
            account=call.account,
            key=f"{begin}{call.client}:{play.song}:{play.began_at}",
            kind=play.kind,
            song=play.song,
            played_ms=play.played_ms,
            age_ms=min(max(now - play.at, 0), MAX_AGE_MS),
        )
        await asyncio.wrap_future(call.context.radio.submit(new))


@endpoint("getNowPlaying", scope="read")
@viewing
def _get_now_playing(call: Call, view: View) -> Tree:
    now, shown = call.context.clock(), []
    for number, (key, player) in enumerate(call.memory.players(call.account)):
        record = None if player.song is None else songs.get(view.connection, player.song)
        if record is None or not player.is_active or player.is_gone(now):
            continue
        timeline = {
            "state": player.state,
            "positionMs": player.position_at(now),
            "playbackRate": player.rate,
        }
        shown.append(
            {
                **child(record, view.marks),
                "username": call.app.account.name,
                "minutesAgo": max(0, now - player.seen_at) // 60_000,
                "playerId": number + 1,
                "playerName": key[2],
                **(timeline if player.has_timeline else {}),
            }
        )
    return {"nowPlaying": {"entry": shown}}


# ── The play queue ───────────────────────────────────────────────────────────────────────


@endpoint("savePlayQueue", scope="play")
async def _save_play_queue(call: Call) -> Tree:
    ids, current = _queue_ids(call), call.params.text("current")
    if current is not None and store_id(current) not in ids:
        raise Refusal(FAILED, "current must be one of the songs")
    await _save_queue(call, ids, ids.index(store_id(current)) if current is not None else 0)
    return {}


@endpoint("savePlayQueueByIndex", scope="play")
async def _save_play_queue_by_index(call: Call) -> Tree:
    ids, index = _queue_ids(call), call.params.optional_whole("currentIndex")
    if ids and index is None:
        raise Refusal(MISSING_PARAMETER, "required parameter is missing: currentIndex")
    if index is not None and ids and not 0 <= index < len(ids):
        raise Refusal(MISSING_PARAMETER, "currentIndex must be a place in the queue")
    await _save_queue(call, ids, index or 0)
    return {}


def _queue_ids(call: Call) -> list[str]:
    ids = [store_id(wanted) for wanted in call.params.all("id")]
    if len(ids) > _MAX_QUEUE:
        raise Refusal(FAILED, f"a queue can have {_MAX_QUEUE:,} songs")
    return ids


async def _save_queue(call: Call, ids: list[str], index: int) -> None:
    kept = {
        "songs": ids,
        "index": index,
        "position": call.params.whole("position", 0),
        "at": call.context.clock(),
        "by": call.client,
    }
    state = kept if ids else {}
    await call.context.write(lambda store: app_state.put(store, call.account, _QUEUE, state))


@endpoint("getPlayQueue", scope="read")
@viewing
def _get_play_queue(call: Call, view: View) -> Tree:
    found = _queue(call, view)
    if not found:
        return {}
    index, entries = found.pop("index"), found["entry"]
    current = entries[index]["id"] if entries else None
    return {"playQueue": {"current": current, **found}}


@endpoint("getPlayQueueByIndex", scope="read")
@viewing
def _get_play_queue_by_index(call: Call, view: View) -> Tree:
    found = _queue(call, view)
    if not found:
        return {}
    index, entries = found.pop("index"), found["entry"]
    return {"playQueueByIndex": {"currentIndex": index if entries else None, **found}}


def _queue(call: Call, view: View) -> Tree:
    """Return the queue without songs that have left; the place moves with them."""
    kept = app_state.get(view.connection, call.account, _QUEUE)
    if not kept:
        return {}
    ids = kept["songs"]
    before = view.children(ids[: kept["index"]])
    entries = [*before, *view.children(ids[kept["index"] :])]
    return {
        "index": min(len(before), max(len(entries) - 1, 0)),
        "position": kept["position"],
        "username": call.app.account.name,
        "changed": moment(kept["at"]),
        "changedBy": kept["by"],
        "entry": entries,
    }
