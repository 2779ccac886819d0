"""Endpoints of the library: artists, albums, songs, genres, folders, lists and search.

There is one music folder, so `musicFolderId` changes nothing. Clients that know folders only get
artists as folders of albums, and albums as folders of songs.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from sqlalchemy import Connection

from bandstand.store.songs import songs
from bandstand.store.songs.pages import Filter, name_key, page
from bandstand.store.songs.songs import SongRecord
from bandstand.types import AnyArray
from bandstand.web.rest.answers import FAILED, Refusal, Tree, not_found
from bandstand.web.rest.calls import Call, endpoint
from bandstand.web.rest.entries import (
    Marks,
    album_folder,
    album_tree,
    artist_folder,
    artist_tree,
    child,
)
from bandstand.web.rest.library import Album, Artist, Library

MUSIC_FOLDER: Final = {"id": 1, "name": "Music"}
MAX_PAGE: Final = 500
_MAX_OFFSET: Final = 10**8
_ARTICLES: Final = "The El La Los Las Le Les"


class View:
    """The library as one caller sees it; it reads the store until it is left."""

    def __init__(self, call: Call, connection: Connection) -> None:
        self.library: Final = call.memory.library()
        self.marks: Final = call.memory.marks(connection, call.account)
        self.connection: Final = connection

    def song(self, wanted: str) -> SongRecord:
        """Return the song with a client's id."""
        found = songs.get(self.connection, store_id(wanted))
        if found is None:
            raise not_found(what="song")
        return found

    def album(self, wanted: str) -> Album:
        """Return the album with an id."""
        number = self.library.albums.get(wanted)
        if number is None:
            raise not_found(what="album")
        return self.library.album(number)

    def artist(self, wanted: str) -> Artist:
        """Return the artist with an id."""
        found = self.library.artist(wanted)
        if found is None:
            raise not_found(what="artist")
        return found

    def children(self, ids: Sequence[str]) -> list[Tree]:
        """Return songs of the store that can be played."""
        found = songs.many(self.connection, ids)
        return [child(song, self.marks) for song in found if song.is_present]

    def songs_of(self, album: Album) -> list[SongRecord]:
        """Return the songs of an album in their order."""
        ids = self.library.song_ids(self.library.album_rows(album.number))
        found = [song for song in songs.many(self.connection, ids) if song.is_present]
        return sorted(found, key=lambda it: (it.tags.disc or 1, it.tags.track or 0, it.title))

    def albums(self, numbers: Iterable[int]) -> list[Album]:
        """Return albums by their numbers."""
        return [self.library.album(int(number)) for number in numbers]


def store_id(wanted: str) -> str:
    """Return the id of a song in the store; clients say `tr-` before it."""
    return wanted.removeprefix("tr-")


def viewing(work: Callable[[Call, View], Tree]) -> Callable[[Call], Tree]:
    """Give an endpoint the library to look at, at one moment."""

    def look(call: Call) -> Tree:
        with call.context.store.reading() as connection:
            return work(call, View(call, connection))

    return look


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The shape of artists and albums, in one of the two generations of endpoints."""

    artist: Callable[[Artist, Marks], Tree]
    album: Callable[[Album, Marks], Tree]


FOLDERS: Final = Shape(artist=artist_folder, album=album_folder)
ID3: Final = Shape(artist=artist_tree, album=album_tree)


def in_both_shapes(
    folders: tuple[str, str], id3: tuple[str, str]
) -> Callable[[Callable[[Call, View, Shape], Tree]], Any]:
    """Declare two endpoints that differ in their shape, each with the name of what is inside."""

    def declare(work: Callable[[Call, View, Shape], Tree]) -> Any:
        for (name, inside), shape in ((folders, FOLDERS), (id3, ID3)):

            def look(call: Call, view: View, inside: str = inside, shape: Shape = shape) -> Tree:
                return {inside: work(call, view, shape)}

            endpoint(name, scope="read")(viewing(look))
        return work

    return declare


def _page(call: Call, values: Any, *, size: str, offset: str, default: int) -> Any:
    start = call.params.whole(offset, 0, most=_MAX_OFFSET)
    return values[start : start + call.params.whole(size, default, most=MAX_PAGE)]


# ── Artists, albums, songs ───────────────────────────────────────────────────────────────


@endpoint("getMusicFolders", scope="read")
def _get_music_folders(_call: Call) -> Tree:
    return {"musicFolders": {"musicFolder": [MUSIC_FOLDER]}}


@in_both_shapes(("getIndexes", "indexes"), ("getArtists", "artists"))
def _artists(_call: Call, view: View, shape: Shape) -> Tree:
    index = _by_letter(view.library, lambda artist: shape.artist(artist, view.marks))
    found = {"ignoredArticles": _ARTICLES, "index": index}
    if shape is ID3:
        return found
    modified = int(view.library.added.max(initial=0))
    return {**found, "lastModified": modified, "shortcut": [], "child": []}


def _by_letter(library: Library, shown: Callable[[Artist], Tree]) -> list[Tree]:
    letters: dict[str, list[tuple[str, Tree]]] = {}
    for artist in library.artists.values():
        key = _without_article(artist.name)
        letter = key[:1].upper() if key[:1].isalpha() else "#"
        letters.setdefault(letter, []).append((key, shown(artist)))
    return [
        {"name": letter, "artist": [tree for _, tree in sorted(found, key=lambda it: it[0])]}
        for letter, found in sorted(letters.items())
    ]


def _without_article(name: str) -> str:
    first, _, rest = name_key(name).partition(" ")
    return rest if rest and first in _ARTICLES.lower().split() else name_key(name)


@endpoint("getArtist", scope="read")
@viewing
def _get_artist(call: Call, view: View) -> Tree:
    artist = view.artist(call.params.required("id"))
    albums = view.albums(view.library.albums_by(artist))
    shown = [album_tree(album, view.marks) for album in albums]
    return {"artist": {**artist_tree(artist, view.marks), "album": shown}}


@endpoint("getAlbum", scope="read")
@viewing
def _get_album(call: Call, view: View) -> Tree:
    album = view.album(call.params.required("id"))
    found = view.songs_of(album)
    mbid = next((song.tags.release_mbid for song in found if song.tags.release_mbid), None)
    shown = [child(song, view.marks) for song in found]
    return {"album": {**album_tree(album, view.marks), "musicBrainzId": mbid, "song": shown}}


@endpoint("getSong", scope="read")
@viewing
def _get_song(call: Call, view: View) -> Tree:
    return {"song": child(view.song(call.params.required("id")), view.marks)}


@endpoint("getMusicDirectory", scope="read")
@viewing
def _get_music_directory(call: Call, view: View) -> Tree:
    wanted = call.params.required("id")
    inside: list[Tree]
    if wanted.startswith("al-"):
        album = view.album(wanted)
        inside = [child(song, view.marks) for song in view.songs_of(album)]
        about = {"id": album.id, "name": album.name, **view.marks.of_album(album)}
    elif wanted.startswith("ar-"):
        artist = view.artist(wanted)
        albums = view.albums(view.library.albums_by(artist))
        inside = [album_folder(album, view.marks) for album in albums]
        about = artist_folder(artist, view.marks)
    elif wanted == str(MUSIC_FOLDER["id"]):
        inside = [
            {"id": it.id, "parent": wanted, "isDir": True, "title": it.name, "artist": it.name}
            for it in view.library.artists.values()
        ]
        about = {**MUSIC_FOLDER, "id": wanted}
    else:
        raise not_found(what="folder")
    return {"directory": {**about, "child": inside}}


@endpoint("getGenres", scope="read")
@viewing
def _get_genres(_call: Call, view: View) -> Tree:
    shown = [
        {"value": name, "songCount": count, "albumCount": albums}
        for name, (count, albums) in view.library.genres.items()
    ]
    return {"genres": {"genre": shown}}


@endpoint("getSongsByGenre", scope="read")
@viewing
def _get_songs_by_genre(call: Call, view: View) -> Tree:
    rows = _genre_rows(call, view.library)
    some = _page(call, rows, size="count", offset="offset", default=10)
    return {"songsByGenre": {"song": view.children(view.library.song_ids(some))}}


# ── Lists of albums ──────────────────────────────────────────────────────────────────────


@in_both_shapes(("getAlbumList", "albumList"), ("getAlbumList2", "albumList2"))
def _album_list(call: Call, view: View, shape: Shape) -> Tree:
    return {"album": [shape.album(album, view.marks) for album in _listed(call, view)]}


def _listed(call: Call, view: View) -> list[Album]:
    numbers = _in_order(call, view)
    call.request.state.total = len(numbers)
    return view.albums(_page(call, numbers, size="size", offset="offset", default=10))


def _in_order(call: Call, view: View) -> Sequence[int]:
    library, params = view.library, call.params
    everything = range(len(library.keys))
    orders: dict[str, Callable[[], Sequence[int]]] = {
        "random": lambda: random.sample(everything, len(everything)),
        "newest": library.newest.tolist,
        "alphabeticalByName": lambda: everything,
        "alphabeticalByArtist": library.by_artist.tolist,
        "byYear": lambda: _of_years(
            library, params.whole("fromYear", 0), params.whole("toYear", 0)
        ),
        "byGenre": lambda: library.albums_of(_genre_rows(call, library)).tolist(),
        "highest": lambda: _highest(view),
        "frequent": lambda: _by_worth(view, view.marks.said.plays, sum),
        "recent": lambda: _by_worth(view, view.marks.said.played_at, max),
        "starred": lambda: _starred_albums(view),
    }
    kind = params.required("type")
    if kind not in orders:
        raise Refusal(FAILED, "type must be one of those of the protocol")
    return orders[kind]()


def _genre_rows(call: Call, library: Library) -> AnyArray:
    return library.catalogue.rows_of("genre", call.params.required("genre"))


def _of_years(library: Library, first: int, last: int) -> list[int]:
    """Return the albums of some years in their order; the latest first if `first` is later."""
    low, high = min(first, last), max(first, last)
    found = [at for at, year in enumerate(library.years.tolist()) if low <= year <= high]
    return sorted(found, key=library.years.__getitem__, reverse=first > last)


def _by_worth(
    view: View, worth: Mapping[str, float], together: Callable[[list[float]], float]
) -> list[int]:
    """Return the albums of some songs, those first whose songs are worth most together."""
    albums = view.library.albums_of_songs(worth)
    scores = {at: together([worth[song] for song in inside]) for at, inside in albums.items()}
    return sorted(scores, key=lambda number: (-scores[number], number))


def _highest(view: View) -> list[int]:
    """Return the rated albums by their rating, or else by the mean of those of their songs."""
    stars = {song: float(given[-1][1]) for song, given in view.marks.said.ratings.items()}
    albums = view.library.albums_of_songs(stars)
    scores = {at: fmean(stars[song] for song in inside) for at, inside in albums.items()}
    for key, given in view.marks.ratings.items():
        if key in view.library.albums:
            scores[view.library.albums[key]] = float(given)
    return sorted(scores, key=lambda number: (-scores[number], number))


def _starred_albums(view: View) -> list[int]:
    """Return the marked albums, the one that was marked last first."""
    at = {key: when for (scope, key), when in view.marks.said.starred.items() if scope == "album"}
    found = []
    for number in view.library.albums_targeted(at):
        when = view.marks.starred_at(view.library.album(number))
        if when is not None:
            found.append((-when, number))
    return [number for _, number in sorted(found)]


# ── Marked, and found by words ───────────────────────────────────────────────────────────


@in_both_shapes(("getStarred", "starred"), ("getStarred2", "starred2"))
def _starred(_call: Call, view: View, shape: Shape) -> Tree:
    marked = list(view.marks.said.starred)
    artists = (view.library.artist_called(key) for scope, key in marked if scope == "artist")
    return {
        "artist": [shape.artist(artist, view.marks) for artist in artists if artist is not None],
        "album": [shape.album(album, view.marks) for album in view.albums(_starred_albums(view))],
        "song": view.children([key for scope, key in reversed(marked) if scope == "song"]),
    }


@in_both_shapes(("search2", "searchResult2"), ("search3", "searchResult3"))
def _search(call: Call, view: View, shape: Shape) -> Tree:
    # Some clients send two quotes for nothing.
    query = call.params.required("query").strip().strip('"').strip()
    words, library = name_key(query).split(), view.library
    artists: Any = library.artists_with(words)
    albums: Any = library.albums_with(words) if words else range(len(library.keys))
    artists = _page(call, artists, size="artistCount", offset="artistOffset", default=20)
    albums = _page(call, albums, size="albumCount", offset="albumOffset", default=20)
    return {
        "artist": [shape.artist(artist, view.marks) for artist in artists],
        "album": [shape.album(album, view.marks) for album in view.albums(albums)],
        "song": [child(song, view.marks) for song in _songs_with(call, view, query)],
    }


def _songs_with(call: Call, view: View, query: str) -> list[SongRecord]:
    """Return the songs with all words of a query; without words, all in the order of their ids.

    Of all, those that have just left are there too: a page that is short would be taken for the
    last one.
    """
    count = call.params.whole("songCount", 20, most=MAX_PAGE)
    start = call.params.whole("songOffset", 0, most=_MAX_OFFSET)
    if query and count:
        return page(view.connection, Filter(text=query), after=None, limit=start + count)[start:]
    end = min(start + count, len(view.library.rows))
    return songs.many(view.connection, view.library.song_ids(range(start, end)))
