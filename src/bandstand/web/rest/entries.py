"""Songs, albums and artists as clients read them, with a listener's own marks.

Clients insist on more than the protocol does: a song always has `size`, `suffix`, `contentType`,
`type`, `path` and a `duration` of at least a second, an album always has `artist`. The path is
made of the tags, since folders are for administrators only. A cover has the id of the album, or of
the song where it is on none.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from bandstand.store.events.events import Event
from bandstand.store.favourites import album_target, key_of
from bandstand.store.songs.pages import genre_names
from bandstand.store.songs.songs import SongRecord
from bandstand.web.rest.answers import Tree, moment
from bandstand.web.rest.library import (
    UNKNOWN_ALBUM,
    UNKNOWN_ARTIST,
    Album,
    Artist,
    album_id,
    artist_id,
    song_id,
)

# The beginning of the key of a play that its app asked not to count.
UNCOUNTED: Final = "app-uncounted:"
_OF_FOLDERS: Final = (
    *("id", "artist", "artistId", "coverArt", "duration", "songCount", "created", "year", "genre"),
    *("starred", "userRating"),
)
CONTENT_TYPES: Final = {
    "aac": "audio/aac",
    "aif": "audio/aiff",
    "aiff": "audio/aiff",
    "ape": "audio/x-ape",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "m4b": "audio/mp4",
    "mka": "audio/x-matroska",
    "mp3": "audio/mpeg",
    "mp4": "audio/mp4",
    "mpc": "audio/x-musepack",
    "oga": "audio/ogg",
    "ogg": "audio/ogg",
    "opus": "audio/ogg",
    "wav": "audio/wav",
    "webm": "audio/webm",
    "wma": "audio/x-ms-wma",
    "wv": "audio/x-wavpack",
}


@dataclass(frozen=True, slots=True)
class Said:
    """What a listener's log says of songs and favourites, up to event `seq`."""

    seq: int = 0
    plays: Counter[str] = field(default_factory=Counter)  # heard to the end, by song
    played_at: dict[str, int] = field(default_factory=dict)
    ratings: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # (event, stars)
    starred: dict[tuple[str, str], int] = field(default_factory=dict)  # when, by what

    def extended(self, events: Iterable[Event]) -> Said:
        """Return this with later events, none of which takes another back."""
        ratings = {song: list(given) for song, given in self.ratings.items()}
        copies = Counter(self.plays), dict(self.played_at), ratings, dict(self.starred)
        said, seq = Said(0, *copies), self.seq
        for event in events:
            seq = event.seq
            said._take(event)
        return replace(said, seq=seq)

    def _take(self, event: Event) -> None:
        if event.song is not None:
            self.played_at[event.song] = event.at
            if event.kind == "listen" and not event.key.startswith(UNCOUNTED):
                self.plays[event.song] += 1
            if event.stars is not None:
                self.ratings.setdefault(event.song, []).append((event.seq, event.stars))
        elif event.kind == "favourite" and event.scope is not None and event.target is not None:
            self.starred.setdefault(key_of(event.scope, event.target), event.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """A listener's own marks: what the log says, and the ratings of albums and artists by id."""

    said: Said
    ratings: dict[str, int]

    def of_song(self, song: str) -> Tree:
        """Return the marks of a song of the store."""
        stars = self.said.ratings.get(song)
        return {
            "userRating": stars[-1][1] if stars else None,
            "playCount": self.said.plays.get(song, 0),
            "played": _moment(self.said.played_at.get(song)),
            "starred": _moment(self.said.starred.get(("song", song))),
        }

    def of_album(self, album: Album) -> Tree:
        """Return the marks of an album."""
        return {
            "starred": _moment(self.starred_at(album)),
            "userRating": self.ratings.get(album.id),
        }

    def of_artist(self, artist: Artist) -> Tree:
        """Return the marks of an artist."""
        starred = self.said.starred.get(key_of("artist", artist.name))
        return {"starred": _moment(starred), "userRating": self.ratings.get(artist.id)}

    def starred_at(self, album: Album) -> int | None:
        """Return when an album was marked; None if it is not."""
        return self.said.starred.get(key_of("album", target_of(album)))


def target_of(album: Album) -> str:
    """Return the name under which an album is a favourite."""
    artist = None if album.artist == UNKNOWN_ARTIST else album.artist
    return album_target(album.name, artist)


def child(song: SongRecord, marks: Marks) -> Tree:
    """Return a song."""
    tags, suffix = song.tags, suffix_of(song)
    whose = tags.album_artist or tags.artist
    artist, owner = tags.artist or whose or UNKNOWN_ARTIST, whose or UNKNOWN_ARTIST
    album = album_id(tags.album, whose)
    seconds = max(1, round(song.duration)) if song.duration < 86_400 else 86_400
    return {
        "id": song_id(song.id),
        "parent": album,
        "isDir": False,
        "title": song.title,
        "album": tags.album or UNKNOWN_ALBUM,
        "artist": artist,
        "track": tags.track,
        "discNumber": 1 if tags.disc is None else tags.disc,
        "year": tags.year,
        "genre": next(iter(genre_names(tags.genre)), None),
        "genres": [{"name": name} for name in genre_names(tags.genre)],
        "coverArt": song_id(song.id) if tags.album is None else album,
        "size": song.size,
        "contentType": CONTENT_TYPES.get(suffix, "application/octet-stream"),
        "suffix": suffix,
        "duration": seconds,
        "bitRate": max(1, round(song.size * 8 / seconds / 1_000)),
        "path": f"{_part(owner)}/{_part(tags.album or UNKNOWN_ALBUM)}/{_part(song.title)}.{suffix}",
        "isVideo": False,
        "type": "music",
        "mediaType": "song",
        "created": moment(song.added_at),
        "albumId": album,
        "artistId": artist_id(artist),
        "artists": [{"id": artist_id(artist), "name": artist}],
        "displayArtist": artist,
        "albumArtists": [{"id": artist_id(owner), "name": owner}],
        "displayAlbumArtist": owner,
        "musicBrainzId": tags.recording_mbid,
        "replayGain": _gains(song),
        **marks.of_song(song.id),
    }


def album_tree(album: Album, marks: Marks) -> Tree:
    """Return an album without its songs."""
    owner = artist_id(album.artist)
    return {
        "id": album.id,
        "name": album.name,
        "artist": album.artist,
        "artistId": owner,
        "artists": [{"id": owner, "name": album.artist}],
        "displayArtist": album.artist,
        "coverArt": album.id,
        "songCount": album.songs,
        "duration": max(1, round(album.seconds)),
        "created": moment(album.created),
        "year": album.year,
        "genre": album.genre,
        "genres": [] if album.genre is None else [{"name": album.genre}],
        **marks.of_album(album),
    }


def album_folder(album: Album, marks: Marks) -> Tree:
    """Return an album as a folder, for clients that know nothing else."""
    tree = album_tree(album, marks)
    kept = {name: tree[name] for name in _OF_FOLDERS}
    names = dict.fromkeys(("title", "name", "album"), album.name)
    about = {"parent": tree["artistId"], "isDir": True, "isVideo": False, "mediaType": "album"}
    return {**kept, **names, **about}


def artist_tree(artist: Artist, marks: Marks) -> Tree:
    """Return an artist without their albums."""
    return {
        **artist_folder(artist, marks),
        "coverArt": artist.id,
        "albumCount": artist.albums,
        "roles": ["albumartist"] if artist.albums else ["artist"],
    }


def artist_folder(artist: Artist, marks: Marks) -> Tree:
    """Return an artist for clients that know nothing but folders."""
    return {"id": artist.id, "name": artist.name, **marks.of_artist(artist)}


def _moment(at: int | None) -> str | None:
    return None if at is None else moment(at)


def suffix_of(song: SongRecord) -> str:
    """Return the ending of a song's file."""
    ending = os.path.splitext(song.path)[1].decode("ascii", "replace").lower().lstrip(".")
    return ending if ending.isalnum() else "bin"


def _part(name: str) -> str:
    return name.replace("/", "_")


def _gains(song: SongRecord) -> Tree | None:
    tags = song.tags
    gains = {
        "trackGain": tags.track_gain,
        "trackPeak": tags.track_peak,
        "albumGain": tags.album_gain,
        "albumPeak": tags.album_peak,
    }
    return None if all(gain is None for gain in gains.values()) else gains
