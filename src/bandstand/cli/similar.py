"""`bandstand similar`: the songs that sound most like one."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

import click

from bandstand.cli._options import opened_store, require_store, store_option

if TYPE_CHECKING:
    from bandstand.store.database.connection import Store
    from bandstand.store.songs.songs import SongRecord

_MAX_CANDIDATES: Final = 50  # songs that match, of which one may match exactly
_MAX_LISTED: Final = 5  # candidates in a message
_MAX_NAME: Final = 60  # characters of a name in a message


@click.command()
@click.argument("song")
@store_option
@click.option(
    "--count", type=click.IntRange(1, 1000), default=10, help="How many; 10 if not given."
)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def similar(*, song: str, store: str | None, count: int, as_json: bool) -> None:
    """List the songs nearest to SONG by their sound.

    SONG is an id, a file, or part of a title, of an artist, or of "artist - title".
    """
    require_store(store)
    with opened_store(store) as opened:
        chosen = _the_song(opened, song)
        found = _nearest(opened, chosen, count)
    if as_json:
        click.echo(json.dumps({"song": _plain(chosen), "similar": found}, indent=2))
    else:
        click.echo(_in_columns(chosen, found))


def _the_song(store: Store, text: str) -> SongRecord:
    """Return the one song that `text` names, or list the candidates."""
    from bandstand.store.songs import songs

    with store.reading() as connection:
        # The store has resolved paths, the user may give a link.
        found = songs.find(connection, text, limit=_MAX_CANDIDATES) or songs.find(
            connection, _real(text), limit=1
        )
    exact = [song for song in found if text.casefold() in _exact_names(song)]
    found = exact if len(exact) == 1 else found
    if not found:
        msg = f"a song of the catalogue was expected, found none named {_short(text)!r}"
        raise click.UsageError(msg)
    if len(found) > 1:
        names = "; ".join(f"{song.id} {_short(_name(song))}" for song in found[:_MAX_LISTED])
        more = " and more" if len(found) > _MAX_LISTED else ""
        msg = f"{_short(text)!r} fits several songs: {names}{more}; give an id"
        raise click.UsageError(msg)
    return found[0]


def _exact_names(song: SongRecord) -> set[str]:
    return {name.casefold() for name in (song.tags.title, _name(song)) if name}


def _short(text: str) -> str:
    return text if len(text) <= _MAX_NAME else f"{text[: _MAX_NAME - 1]}…"


def _real(path: str) -> str:
    return os.path.realpath(path) if "\0" not in path else path


def _nearest(store: Store, song: SongRecord, count: int) -> list[dict[str, Any]]:
    from bandstand.music.audio.descriptors.definition import VERSION
    from bandstand.music.catalogue.refresh import current
    from bandstand.store.songs import songs

    if not song.is_present:
        state = "is missing" if song.missing else "cannot be read any more"
        msg = f"a song whose file is there was expected, {_name(song)} {state}"
        raise click.UsageError(msg)
    catalogue = current(store)
    if catalogue is None or song.descriptor_version != VERSION:
        msg = f"{_name(song)} must be analysed by this version first; scan its folder again"
        raise click.UsageError(msg)
    rows, distances = catalogue.nearest(catalogue.row_of(song.id), count)
    with store.reading() as connection:
        near = [songs.get(connection, catalogue.id_of(int(row))) for row in rows]
    return [
        {**_plain(other), "distance": float(distance)}
        for other, distance in zip(near, distances, strict=True)
        if other is not None
    ]


def _name(song: SongRecord) -> str:
    from bandstand.music.library.walk import shown

    path = os.path.basename(song.path)
    parts = (song.tags.artist, song.tags.title or path)
    # As a path is shown: what would move the cursor is written as an escape.
    return " - ".join(
        shown(part if isinstance(part, bytes) else part.encode()) for part in parts if part
    )


def _plain(song: SongRecord) -> dict[str, Any]:
    from bandstand.music.library.walk import shown

    return {
        "id": song.id,
        "artist": song.tags.artist,
        "title": song.tags.title,
        "genre": song.tags.genre,
        "path": shown(song.path),
        "name": _name(song),
    }


def _in_columns(song: SongRecord, found: list[dict[str, Any]]) -> str:
    from bandstand.music.library.walk import shown

    if not found:
        return f"There is no other song than {_name(song)}."
    lines = [f"The songs nearest to {_name(song)}:", "", f"distance  {'id':16}  song"]
    for other in found:
        genre = f" ({shown(other['genre'].encode())})" if other["genre"] else ""
        lines.append(f"{other['distance']:8.2f}  {other['id']}  {other['name']}{genre}")
    return "\n".join(lines)
