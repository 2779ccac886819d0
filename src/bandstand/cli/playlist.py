"""`bandstand playlist`: the next songs for a listener, as a file for any player."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from bandstand.cli._options import opened_store, require_store, store_option
from bandstand.cli._output_files import check_place, replace_file
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from bandstand.radio.selection.filters import Station
    from bandstand.radio.service import Radio
    from bandstand.store.accounts import Account
    from bandstand.store.database.connection import Store

# As in media.playlist_formats.
_FORMATS: Final = ("m3u8", "xspf", "jspf")
_MAX_SONGS: Final = 1_000
# As in music.catalogue.columns.
_YEAR: Final = click.IntRange(0, 9_999)


@click.command()
@store_option
@click.option("--listener", metavar="NAME", help="For whom; needed if there are several.")
@click.option(
    "--count",
    type=click.IntRange(1, _MAX_SONGS),
    default=20,
    metavar="N",
    show_default=True,
    help="How many songs.",
)
@click.option("--song", metavar="SONG", help="Start from this song: an id, a file, or a name.")
@click.option("--artist", metavar="NAME", help="Start from this artist.")
@click.option("--genre", metavar="NAME", help="Start from this genre.")
@click.option("--year-from", type=_YEAR, metavar="YEAR", help="No songs of earlier years.")
@click.option("--year-to", type=_YEAR, metavar="YEAR", help="No songs of later years.")
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), help="By the ending of OUT unless given."
)
@click.option("--out", default="-", metavar="OUT", help="File; standard output unless given.")
def playlist(
    *,
    store: str | None,
    listener: str | None,
    count: int,
    song: str | None,
    artist: str | None,
    genre: str | None,
    year_from: int | None,
    year_to: int | None,
    form: str | None,
    out: str,
) -> None:
    """Write the next songs for a listener as a playlist of files.

    They are chosen as if each had been heard when the next begins. Nothing is learned from them.
    """
    require_store(store)
    check_place(out, option="--out")
    chosen = form or _form_of(out)
    from bandstand._util.clock import system_clock
    from bandstand.media.playlist_formats import by_path, write
    from bandstand.radio.service import Radio

    with opened_store(store) as opened:
        account = _account(opened, listener)
        years = (year_from, year_to)
        station = _station(opened, song=song, artist=artist, genre=genre, years=years)
        radio = Radio(opened, clock=system_clock)
        try:
            _check_songs(radio)
            offers = radio.playlist(account.id, count=count, station=station)
        finally:
            radio.close()
        songs = [offer.song for offer in offers]
        content = write(chosen, by_path(songs), title=f"Bandstand for {account.name}")
    replace_file(out, content)


def _form_of(out: str) -> str:
    """Return the format that a file's name asks for.

    >>> _form_of("evening.xspf"), _form_of("-")
    ('xspf', 'm3u8')
    """
    ending = out.rpartition(".")[2].lower()
    return ending if ending in _FORMATS else _FORMATS[0]


def _account(store: Store, name: str | None) -> Account:
    from bandstand.store import accounts

    with store.reading() as connection:
        known = accounts.all_accounts(connection)
        found = None if name is None else accounts.by_name(connection, name)
    if found is None and name is None and len(known) == 1:
        return known[0]
    if found is None:
        names = ", ".join(account.name for account in known[:8]) or "none"
        got = "nothing" if name is None else repr(name)
        msg = f"--listener must name an account of the store ({names}), got {got}"
        raise InvalidInputError(msg)
    return found


def _station(
    store: Store,
    *,
    song: str | None,
    artist: str | None,
    genre: str | None,
    years: tuple[int | None, int | None],
) -> Station:
    from bandstand.radio.selection.filters import Station, Years
    from bandstand.store.songs import songs

    if song is not None:
        with store.reading() as connection:
            found = songs.find(connection, song, limit=2)
        if len(found) != 1:
            many = "several" if found else "none"
            msg = f"--song must be one song's id, file or name, got {song!r}, which fits {many}"
            raise InvalidInputError(msg)
        song = found[0].id
    first, last = years
    return Station(song=song, artist=artist, genre=genre, years=Years(first=first, last=last))


def _check_songs(radio: Radio) -> None:
    if not len(radio.catalogue):
        msg = "the store must hold songs that can be played, found none; `bandstand scan` adds some"
        raise InvalidInputError(msg)
