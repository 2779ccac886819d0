"""What `bandstand study run` does before it serves: look, scan, fix the songs.

Everything that cannot go well is refused before the music is analysed, which may take hours.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from bandstand.cli._options import opened_store, store_exists
from bandstand.errors import ConflictError, InvalidInputError

if TYPE_CHECKING:
    import click

    from bandstand.settings import Settings
    from bandstand.store.database.connection import Store
    from bandstand.study.design import Design


def opened_for(ctx: click.Context, settings: Settings, design: Design) -> str:
    """Return a line that says which study is open now; the first time it fixes the songs."""
    _check_server(settings)
    is_known = _is_known(settings, design)
    if not is_known:
        _check_songs(settings, design)
    _check_nobody_serves(settings)
    if not is_known:
        _scan(ctx, settings)
    with opened_store(settings.store) as store:
        return _open(store, design)


def _check_server(settings: Settings) -> None:
    """Refuse a port or an address that the server could not use later."""
    from bandstand.web.security.bind_checks import check_public_url, listening_socket  # noqa: PLC0415

    check_public_url(settings)
    with closing(listening_socket(settings.listen, settings.port)):
        pass


def _check_nobody_serves(settings: Settings) -> None:
    """Refuse a store that another server has, which would be said only after all else."""
    from bandstand.store.database.location import parse_location  # noqa: PLC0415
    from bandstand.store.database.serving_lock import serving_lock  # noqa: PLC0415

    with serving_lock(parse_location(settings.store)):
        pass


def _is_known(settings: Settings, design: Design) -> bool:
    """Return whether the study has been opened before; refuse it while another one is open."""
    from bandstand.store import studies  # noqa: PLC0415

    if not store_exists(settings.store):
        return False
    with opened_store(settings.store) as store, store.reading() as connection:
        if studies.by_title(connection, design.title) is not None:
            return True
        other = studies.opened(connection)
    if other is not None:
        msg = (
            "no other study may be open in this store, but "
            f"{other.title!r} is; `bandstand study close` ends it"
        )
        raise ConflictError(msg)
    return False


def _check_songs(settings: Settings, design: Design) -> None:
    """Refuse folders with too few files, if the store does not know enough songs already."""
    from bandstand.music.library.walk import library_roots, walk  # noqa: PLC0415

    roots = library_roots(settings.folders) if settings.folders else ()
    known = _songs(settings)
    found = sum(len(folder.files) for folder in walk(roots))
    if known + found < design.least_songs:
        msg = (
            f"at least {design.least_songs} songs must be there for this study (least_songs), "
            f"got {found} files of music and {known} songs of the store"
        )
        raise InvalidInputError(msg)


def _songs(settings: Settings) -> int:
    from bandstand.store.songs import files  # noqa: PLC0415

    if not store_exists(settings.store):
        return 0
    with opened_store(settings.store) as store, store.reading() as connection:
        return files.counts(connection).songs


def _scan(ctx: click.Context, settings: Settings) -> None:
    """Analyse the folders, as `bandstand scan` does; what the store knows is not read again."""
    from bandstand.cli.scan import scan  # noqa: PLC0415

    if settings.folders:
        ctx.invoke(
            scan,
            folders=settings.folders,
            demo=False,
            store=settings.store,
            retry=False,
            refit=False,
            feature_map=None,
            workers=settings.workers or None,
            scheduler=None,
            as_json=False,
        )


def _open(store: Store, design: Design) -> str:
    from bandstand._util.clock import system_clock  # noqa: PLC0415
    from bandstand.music.catalogue.catalogue import load_catalogue  # noqa: PLC0415
    from bandstand.study.opening import open_study  # noqa: PLC0415
    from bandstand.study.song_snapshot import from_bytes  # noqa: PLC0415

    row = open_study(store, load_catalogue(store), design, clock=system_clock)
    return f"The study {row.title!r} is open, with {len(from_bytes(row.catalogue).ids):,} songs."
