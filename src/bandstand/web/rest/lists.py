"""The radio in an app: random and similar songs, top songs, and lists that renew themselves.

call                        answer
`getRandomSongs`            the next songs of the radio, under a genre and years; of more than
                            50 the others are those that are expected to be liked most
`getSimilarSongs`, `…2`     the next songs of a radio that starts from a song, an album, an artist
                            or a playlist
`getTopSongs`               an artist's songs, those first that the listener will like most now
`getSonicSimilarTracks`     the nearest songs by their sound, the same for every listener
`findSonicPath`             from one song to another by their sound

A question changes nothing: the same one has the same answer until something was heard. A song
that an app of the listener is playing counts as about to be heard.

list               songs
"Radio"            the next ones of the radio
"Rediscover"       liked, and not heard for a month; what is expected most comes first
"Something new"    never heard; what is expected most comes first, two of an artist at most

A list stays as it is while it is played, and for a day; then it is made again. One that is empty
is not shown.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from bandstand.core.model.candidates import CandidateSet
from bandstand.errors import NotFoundError
from bandstand.music.catalogue.catalogue import NO_ROWS
from bandstand.music.catalogue.columns import FIRST_YEAR, LAST_YEAR
from bandstand.radio.log.evidence import SESSION_GAP
from bandstand.radio.log.fold import Ledger
from bandstand.radio.selection import sonic
from bandstand.radio.selection.filters import Station, Years
from bandstand.store import app_state, playlists
from bandstand.store.songs import songs
from bandstand.web.http.concurrency import connected
from bandstand.web.rest.answers import MISSING_PARAMETER, Refusal, Tree, not_found
from bandstand.web.rest.browsing import Shape, View, in_both_shapes, store_id, viewing
from bandstand.web.rest.calls import Call, endpoint
from bandstand.web.rest.entries import Marks, child
from bandstand.web.rest.library import Artist

MAX_SONGS: Final = 500
LIST_SONGS: Final = 50
MAX_PLANNED: Final = 50  # songs, each chosen as if those before it had been heard
DAY_MS: Final = 86_400_000
_LONG_AGO_MS: Final = 30 * DAY_MS
_LIKED: Final = 3.5  # stars, the mean of what was said of a song
_MIN_PLAYS: Final = 10  # before which nothing is known that a list could be made of
_MAX_OF_ARTIST: Final = 2
_SIMILAR_SONGS: Final = 200  # in which similar artists are counted
LISTS: Final = {
    "pl-radio": "Radio",
    "pl-rediscover": "Rediscover",
    "pl-new": "Something new",
}
COMMENTS: Final = {
    "pl-radio": "What your radio would play next",
    "pl-rediscover": "Songs that you liked, and have not heard for a month",
    "pl-new": "Songs that you never heard, and will probably like",
}


# ── Songs to go on with ──────────────────────────────────────────────────────────────────


@endpoint("getRandomSongs", scope="read")
async def _get_random_songs(call: Call) -> Tree:
    first, last = (call.params.optional_whole(name) for name in ("fromYear", "toYear"))
    if first is not None and last is not None and first > last:
        first, last = last, first
    bounds = (
        year if year is None else min(max(year, FIRST_YEAR), LAST_YEAR) for year in (first, last)
    )
    years = Years(**dict(zip(("first", "last"), bounds, strict=True)))
    station = Station(genre=call.params.text("genre"), years=years)
    count = call.params.whole("size", 10, most=MAX_SONGS)
    found = await _radio(call, count, station)
    if len(found) == MAX_PLANNED < count:
        ask = call.context.ask(call.context.queue, call.account, _best, call, station, found)
        found += (await ask)[: count - len(found)]
    return {"randomSongs": {"song": await call.context.pool.run(_children, call, found)}}


def _best(call: Call, station: Station, planned: list[str]) -> list[str]:
    """Return the songs that are expected to be liked most, but for those that are planned."""
    radio = call.context.radio
    catalogue, expected = radio.catalogue, radio.expected(call.account)
    allowed = CandidateSet.only(station.rows(catalogue), len(catalogue))
    rows = station.years.among(catalogue.columns.year, allowed).rows()
    ids = [song.decode() for song in catalogue.columns.ids[rows].tolist()]
    left = set(planned)
    return _few_of_each(
        call, _ranked(expected, [song for song in ids if song not in left]), MAX_SONGS
    )


@endpoint("getSimilarSongs", scope="read")
async def _get_similar_songs(call: Call) -> Tree:
    return {"similarSongs": {"song": await _similar(call)}}


@endpoint("getSimilarSongs2", scope="read")
async def _get_similar_songs2(call: Call) -> Tree:
    return {"similarSongs2": {"song": await _similar(call)}}


async def _similar(call: Call) -> list[Tree]:
    count = call.params.whole("count", 50, most=MAX_SONGS)
    station = await call.context.pool.run(_station, call, call.params.required("id"))
    found = await _radio(call, count, station)
    return await call.context.pool.run(_children, call, found)


def _station(call: Call, wanted: str) -> Station:
    with call.context.store.reading() as connection:
        if wanted.startswith("pl-"):
            kept = list_of(app_state.get(connection, call.account, wanted))
            own = playlists.get(connection, call.account, wanted.removeprefix("pl-"))
            inside = kept.songs if own is None else own.songs
            if not inside:
                raise not_found(what="playlist with songs")
            return Station(song=inside[0])
        view = View(call, connection)
        if wanted.startswith("ar-"):
            return Station(artist=view.artist(wanted).name)
        if wanted.startswith("al-"):
            song = next(iter(view.songs_of(view.album(wanted))), None)
            if song is None:
                raise not_found(what="album with songs")
            return Station(song=song.id)
        return Station(song=view.song(wanted).id)


async def _radio(call: Call, count: int, station: Station) -> list[str]:
    """Return the next songs; none where a station has nothing to start from."""
    context, account = call.context, call.account
    count = min(count, MAX_PLANNED, len(context.radio.catalogue))
    if not count:
        return []
    now, players = context.clock(), call.memory.players(account)
    playing = [it.song for _, it in players if it.is_active and not it.is_gone(now)]
    after = [song for song in (*playing, station.song) if song is not None]
    try:
        async with connected(call.request) as is_here:
            offers = await context.ask(
                context.queue,
                account,
                partial(context.radio.playlist, is_wanted=is_here),
                account,
                count=count,
                after=after,
                station=station,
            )
    except NotFoundError:  # no songs at all, none of that genre, or one that has left
        return []
    # A small library is soon used up, and then comes again.
    return list(dict.fromkeys(offer.song.id for offer in offers))


def _children(call: Call, ids: Sequence[str]) -> list[Tree]:
    with call.context.store.reading() as connection:
        marks = call.memory.marks(connection, call.account)
        return [child(song, marks) for song in songs.many(connection, ids) if song.is_present]


@endpoint("getTopSongs", scope="read")
async def _get_top_songs(call: Call) -> Tree:
    wanted, name = call.params.text("id"), call.params.text("artist")
    if wanted is None and name is None:
        raise Refusal(MISSING_PARAMETER, "required parameter is missing: artist, or id")
    context = call.context
    expected = await context.ask(context.queue, call.account, context.radio.expected, call.account)

    def look(call: Call, view: View) -> Tree:
        found = view.library.artist_called(str(name)) if wanted is None else view.artist(wanted)
        rows = NO_ROWS if found is None else view.library.artist_rows(found)
        ids = _ranked(expected, view.library.song_ids(rows))
        return {"song": view.children(ids[: call.params.whole("count", 50, most=MAX_SONGS)])}

    return {"topSongs": await context.pool.run(viewing(look), call)}


def _ranked(expected: Mapping[str, float | None], ids: Sequence[str]) -> list[str]:
    """Return the songs that may be played, by what is expected of them; the unknown come last."""
    allowed = [song for song in ids if song in expected]
    return sorted(allowed, key=lambda song: -(expected[song] or 0.0))


# ── By the sound alone ───────────────────────────────────────────────────────────────────


@endpoint("getSonicSimilarTracks", scope="read")
@viewing
def _get_sonic_similar_tracks(call: Call, view: View) -> Tree:
    count = call.params.whole("count", 10, most=MAX_SONGS)
    row = _row(view, call.params.required("id"))
    return {"sonicMatch": _matches(view, sonic.similar_songs(view.library.catalogue, row, count))}


@endpoint("findSonicPath", scope="read")
@viewing
def _find_sonic_path(call: Call, view: View) -> Tree:
    start, end = (_row(view, call.params.required(f"{name}SongId")) for name in ("start", "end"))
    count = call.params.whole("count", 25, least=2, most=100)
    return {"sonicMatch": _matches(view, sonic.path(view.library.catalogue, start, end, count))}


def _row(view: View, wanted: str) -> int:
    row = int(view.library.catalogue.ids.rows([store_id(wanted)])[0])
    if row < 0:
        raise not_found(what="song")
    return row


def _matches(view: View, found: Sequence[sonic.Match]) -> list[Tree]:
    ids = view.library.song_ids([match.row for match in found])
    known = {song.id: song for song in songs.many(view.connection, ids)}
    return [
        {"entry": child(known[song], view.marks), "similarity": round(match.similarity, 4)}
        for song, match in zip(ids, found, strict=True)
        if song in known
    ]


@in_both_shapes(("getArtistInfo", "artistInfo"), ("getArtistInfo2", "artistInfo2"))
def _artist_info(call: Call, view: View, shape: Shape) -> Tree:
    # Nothing else is known of an artist.
    found = [shape.artist(artist, view.marks) for artist in _similar_artists(call, view)]
    return {"similarArtist": found}


def _similar_artists(call: Call, view: View) -> list[Artist]:
    """Return the artists with most of the songs that are nearest to an artist's."""
    library, wanted = view.library, call.params.required("id")
    if wanted.startswith("ar-"):
        rows = library.artist_rows(view.artist(wanted))
    else:
        rows = library.catalogue.ids.rows([store_id(wanted)])
        rows = library.album_rows(library.albums[wanted]) if wanted in library.albums else rows
    if not len(rows) or rows[0] < 0:
        raise not_found(what="artist")
    near = sonic.similar_rows(library.catalogue, rows, _SIMILAR_SONGS).tolist()
    own = {library.album(int(number)).artist for number in library.albums_of(rows)}
    counted = Counter(library.keys[library.album_of_row[row]].partition("\n")[2] for row in near)
    found = [library.artist_called(name) for name, _ in counted.most_common()]
    others = [artist for artist in found if artist is not None and artist.name not in own]
    return others[: call.params.whole("count", 20, most=MAX_SONGS)]


@in_both_shapes(("getAlbumInfo", "albumInfo"), ("getAlbumInfo2", "albumInfo"))
def _album_info(call: Call, view: View, _shape: Shape) -> Tree:
    wanted = call.params.required("id")
    if wanted in view.library.albums:
        found = view.songs_of(view.album(wanted))
    else:
        found = [view.song(wanted)]
    mbid = next((song.tags.release_mbid for song in found if song.tags.release_mbid), None)
    return {"musicBrainzId": mbid}


# ── Lists that renew themselves ──────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptList:
    """A list of songs of the radio, as it was made."""

    songs: tuple[str, ...] = ()
    made_at: int = 0

    def is_due(self, played_at: Mapping[str, int], now: int) -> bool:
        """Return whether a list is to be made again: after a day, and not while it is played."""
        if now < self.made_at + DAY_MS:
            return False
        heard = max((played_at.get(song, 0) for song in self.songs), default=0)
        return now - heard > SESSION_GAP


def list_of(kept: Mapping[str, Any]) -> KeptList:
    """Return a list from what the store keeps of it."""
    return KeptList(songs=tuple(kept.get("songs", ())), made_at=kept.get("made_at", 0))


async def radio_list(call: Call, name: str) -> KeptList:
    """Return one of the lists that renew themselves, made again if it is due."""
    now, account = call.context.clock(), call.account
    kept, marks = await call.context.pool.run(_kept, call, name)
    if not kept.is_due(marks.said.played_at, now):
        return kept
    made = await call.context.ask(call.context.queue, account, _made, call, name, marks)
    state = {"songs": made, "made_at": now}
    await call.context.write(lambda store: app_state.put(store, account, name, state))
    return KeptList(songs=tuple(made), made_at=now)


def _kept(call: Call, name: str) -> tuple[KeptList, Marks]:
    with call.context.store.reading() as connection:
        kept = list_of(app_state.get(connection, call.account, name))
        return kept, call.memory.marks(connection, call.account)


def _made(call: Call, name: str, marks: Marks) -> list[str]:
    radio, account = call.context.radio, call.account
    count = min(LIST_SONGS, len(radio.catalogue))
    if name == "pl-radio" and count:
        try:
            offers = radio.playlist(account, count=count)
        except NotFoundError:  # all of them are banned
            return []
        return list(dict.fromkeys(offer.song.id for offer in offers))
    ledger = radio.ledger(account)
    if len(ledger.plays) < _MIN_PLAYS:
        return []
    expected = radio.expected(account)
    if name == "pl-rediscover":
        before = call.context.clock() - _LONG_AGO_MS
        return _ranked(expected, _liked_long_ago(ledger, before))[:LIST_SONGS]
    unheard = [song for song in expected if song not in marks.said.played_at]
    known = [song for song in unheard if expected[song] is not None]
    return _few_of_each(call, _ranked(expected, known))


def _liked_long_ago(ledger: Ledger, before: int) -> list[str]:
    """Return the songs that were liked on the whole, and not heard since a time."""
    stars: Counter[str] = Counter()
    weights: Counter[str] = Counter()
    last: dict[str, int] = {}
    for play in ledger.plays:
        last[play.song] = play.at
        if play.rating is not None:
            stars[play.song] += play.weight * play.rating  # type: ignore[assignment]
            weights[play.song] += play.weight  # type: ignore[assignment]
    return [
        song for song in weights if last[song] < before and stars[song] >= _LIKED * weights[song]
    ]


def _few_of_each(call: Call, ids: Sequence[str], most: int = LIST_SONGS) -> list[str]:
    """Return the first songs, without more than two of any artist."""
    catalogue = call.context.radio.catalogue
    artists, found = Counter[int](), list[str]()
    for song, row in zip(ids, catalogue.ids.rows(ids).tolist(), strict=True):
        artist = int(catalogue.artist_codes[row])
        if row < 0 or (artist >= 0 and artists[artist] >= _MAX_OF_ARTIST):
            continue
        artists[artist] += 1
        found.append(song)
        if len(found) == most:
            break
    return found
