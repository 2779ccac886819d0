"""`bandstand study`: a blind comparison of algorithms with people."""

from __future__ import annotations

import csv
import io
import os
import secrets
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bandstand._util.clock import system_clock, utc_day
from bandstand._util.words import counted
from bandstand.cli import Command, LazyGroup
from bandstand.cli._options import opened_store, require_store, store_exists, store_option
from bandstand.cli.serve import run_server, server_options
from bandstand.errors import ConflictError, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from bandstand.settings import Settings
    from bandstand.store.database.connection import Store
    from bandstand.store.studies import ArmRow, ParticipantRow, StudyRow
    from bandstand.study.design import Design

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
# Of passwords: no letters and digits that look alike, 13 of them are 64 bits.
_SIGNS: Final = "abcdefghijkmnpqrstuvwxyz23456789"
_GROUPS: Final = (5, 4, 4)
_MAX_INVITED: Final = 999
_HOW: Final = "They log in at the address that `study run` shows; passwords are not shown again."


@click.group(
    cls=LazyGroup,
    homes={
        "report": Command(
            "bandstand_lab.cli.study_report:report", "Write what a study has found, as one page."
        )
    },
)
def study() -> None:
    """Compare algorithms blindly with people, and report what they found.

    FILE describes the study; its title names the study in the store.
    """


@study.command()
@click.argument("file", type=_FILE)
def new(*, file: Path) -> None:
    """Write a study's FILE with the paper's numbers, to be read and changed."""
    from bandstand.study.design import template

    with os.fdopen(_created(str(file), mode=0o666), "wb") as made:
        made.write(template().encode())
    click.echo(f"Wrote {file}. Read it, change what you like, then: bandstand study run {file} DIR")


@study.command()
@click.argument("file", type=_FILE)
@click.argument("folders", nargs=-1, metavar="DIR…")
@server_options
@click.pass_context
def run(ctx: click.Context, /, *, file: Path, config: str | None, **options: Any) -> None:
    """Open the study, or continue it, and serve it to its participants.

    The first run analyses the music below DIR and fixes the songs; without DIR it takes those in
    the store. Later starts take the same FILE; a changed one is refused.
    """
    from bandstand.settings import load_settings
    from bandstand.study.design import read_design

    design = read_design(file)
    settings = load_settings(options=options, environment=os.environ, config=config)
    click.echo(_open_study(ctx, settings, design))
    run_server(settings)


@study.command()
@click.argument("file", type=_FILE)
@store_option
def status(*, file: Path, store: str | None) -> None:
    """Show the progress of all participants, by number and not by name."""
    require_store(store)
    with opened_store(store) as opened, opened.reading() as connection:
        for line in _status_lines(connection, named_study(opened, file, may_differ=True)):
            click.echo(line)


@study.command()
@click.argument("file", type=_FILE)
@click.option("--yes", is_flag=True, help="Without asking.")
@store_option
def close(*, file: Path, yes: bool, store: str | None) -> None:
    """End the study: no more ratings, everything is kept."""
    from bandstand.store import studies

    require_store(store)
    with opened_store(store) as opened:
        row = named_study(opened, file)
        if row.closed_at is not None:
            msg = f"a study that is open was expected, got {row.title!r}, which is closed"
            raise InvalidInputError(msg)
        if not yes:
            question = f"Close {row.title!r} for good? No more ratings will be taken."
            click.confirm(question, abort=True, err=True)
        with opened.writing() as connection:
            studies.close(connection, row.id, system_clock())
    click.echo(f"Closed {row.title!r}; `bandstand study report {file} OUT` writes what was found.")


def named_study(store: Store, file: Path, *, may_differ: bool = False) -> StudyRow:
    """Return the study with a file's title, open or closed.

    A file that was changed since is refused, or gets a warning where it `may_differ`.
    """
    from bandstand.store import studies
    from bandstand.study.design import differences, read_design
    from bandstand.study.study_store import check_design, design_of

    design = read_design(file)
    with store.reading() as connection:
        found = studies.by_title(connection, design.title)
    if found is None:
        msg = (
            f"{file}: a study of this store was expected, got the title {design.title!r}, "
            f"which none has; `bandstand study run {file} DIR` opens it"
        )
        raise NotFoundError(msg)
    if not may_differ:
        check_design(found, design)
    elif changed := differences(design_of(found), design):
        note = f"the study {found.title!r} goes by the design that it was opened with; in this file"
        click.echo(f"Warning: {note} {'; '.join(changed)}.", err=True)
    return found


def _open_study(ctx: click.Context, settings: Settings, design: Design) -> str:
    """Open the study, and scan and fix its songs the first time; return a line that says so.

    What cannot work is refused before the music is analysed, which may take hours.
    """
    from bandstand.music.catalogue.catalogue import load_catalogue
    from bandstand.store.database.location import parse_location
    from bandstand.store.database.serving_lock import serving_lock
    from bandstand.study.records import from_bytes
    from bandstand.study.study_store import open_study

    _check_server(settings)
    is_known = _is_known(settings, design)
    if not is_known:
        _check_songs(settings, design)
    with serving_lock(parse_location(settings.store)):  # refused if another server uses it
        pass
    if not is_known:
        _scan(ctx, settings)
    with opened_store(settings.store) as store:
        row = open_study(store, load_catalogue(store), design, clock=system_clock)
    return f"The study {row.title!r} is open, with {len(from_bytes(row.catalogue).ids):,} songs."


def _check_server(settings: Settings) -> None:
    """Refuse a port or an address that the server could not use later."""
    from bandstand.web.security.access import check_public_url, listening_socket

    check_public_url(settings)
    with closing(listening_socket(settings.listen, settings.port)):
        pass


def _is_known(settings: Settings, design: Design) -> bool:
    """Return whether the study has been opened before; refuse it while another one is open."""
    from bandstand.store import studies

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
    from bandstand.music.library.walk import library_roots, walk

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
    from bandstand.store.songs import files

    if not store_exists(settings.store):
        return 0
    with opened_store(settings.store) as store, store.reading() as connection:
        return files.counts(connection).songs


def _scan(ctx: click.Context, settings: Settings) -> None:
    """Analyse the folders, as `bandstand scan` does; what the store knows is not read again."""
    from bandstand.cli.scan import scan

    if settings.folders:
        ctx.invoke(
            scan,
            folders=settings.folders,
            store=settings.store,
            workers=settings.workers or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Invited:
    """A person to be invited, with a new password unless there is an account already."""

    name: str
    password: str | None = None
    hashed: str | None = None


@study.command()
@click.argument("file", type=_FILE)
@click.argument("names", nargs=-1, metavar="NAME…")
@click.option(
    "--count",
    type=click.IntRange(1, _MAX_INVITED),
    metavar="N",
    help="Invite N new accounts: p01, p02, …",
)
@click.option(
    "--csv", "csv_file", metavar="FILE", help="Also write names and passwords there, for you only."
)
@store_option
def invite(
    *,
    file: Path,
    names: tuple[str, ...],
    count: int | None,
    csv_file: str | None,
    store: str | None,
) -> None:
    """Invite people by NAME, or --count new ones; passwords are shown once.

    An existing account takes part as it is. Otherwise an account is made for this study only, and
    removed on withdrawal.
    """
    if bool(names) == (count is not None):
        msg = "either names or --count must be given, got " + ("both" if names else "neither")
        raise click.UsageError(msg)
    require_store(store)
    with opened_store(store) as opened:
        study = named_study(opened, file)
        invited = _invitations(opened, names or _free_names(opened, count or 0))
        with _kept(csv_file, _as_csv(invited)), opened.writing() as connection:
            for person in invited:
                _invite(connection, study, person)
    for person in invited:
        click.echo(f"{person.name}  {person.password or '(has an account)'}")
    click.echo(_HOW, err=True)  # standard output has only names and passwords


def _free_names(store: Store, count: int) -> tuple[str, ...]:
    """Return the first `count` of p01, p02, … that are not taken."""
    from bandstand.store import accounts

    with store.reading() as connection:
        taken = {account.name.casefold() for account in accounts.all_accounts(connection)}
    free = (name for number in range(1, 100_000) if (name := f"p{number:02}") not in taken)
    return tuple(name for name, _ in zip(free, range(count), strict=False))


def _invitations(store: Store, names: Sequence[str]) -> list[_Invited]:
    """Return the people to invite, checked before any account is made."""
    from bandstand.store import accounts

    invited = []
    with store.reading() as connection:
        for given in names:
            known = accounts.by_name(connection, given)
            name = accounts.checked_name(given) if known is None else known.name
            invited.append(_new_account(name) if known is None else _Invited(name=name))
    if len({person.name.casefold() for person in invited}) < len(invited):
        msg = f"names that differ were expected, got {', '.join(names)}"
        raise InvalidInputError(msg)
    return invited


def _new_account(name: str) -> _Invited:
    from bandstand.web.security.passwords import checked_password, hashed

    password = checked_password(_new_password(), name=name)
    return _Invited(name=name, password=password, hashed=hashed(password))


def _new_password() -> str:
    """Return a password that is easy to read and type, and hard to guess."""
    groups = ("".join(secrets.choice(_SIGNS) for _ in range(length)) for length in _GROUPS)
    return "-".join(groups)


def _invite(connection: Connection, study: StudyRow, person: _Invited) -> None:
    from bandstand.store import accounts, studies
    from bandstand.study.assignment import draw_number
    from bandstand.study.study_store import design_of

    account = accounts.by_name(connection, person.name)
    if account is None or person.hashed is not None:  # refused if it was made meanwhile
        account = accounts.create(
            connection,
            name=person.name,
            role="listener",
            password_hash=person.hashed,
            now=system_clock(),
        )
    studies.invite(
        connection,
        study.id,
        account.id,
        made_for_study=person.hashed is not None,
        number=draw_number(connection, study.id, design_of(study)),
        now=system_clock(),
    )


def _as_csv(invited: Sequence[_Invited]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "password"])
    writer.writerows([person.name, person.password or ""] for person in invited)
    return text.getvalue().encode()


@contextmanager
def _kept(name: str | None, content: bytes) -> Iterator[None]:
    """Write a new file that only its owner may read; remove it if the block fails."""
    if name is None:
        yield
        return
    handle = _created(name, mode=0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield
    except BaseException:
        Path(name).unlink()
        raise


def _created(name: str, *, mode: int) -> int:
    """Open a new file with these rights, as far as the user's mask allows them."""
    try:
        return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        msg = f"a file that is not there yet was expected, got {name!r}, which is"
        raise InvalidInputError(msg) from None
    except OSError as problem:
        msg = f"a file that can be written was expected, got {name!r}: {problem.strerror}"
        raise InvalidInputError(msg) from problem


def _status_lines(connection: Connection, study: StudyRow) -> list[str]:
    """Return a study's state, then a line for each participant.

    Arms are not named, so that the person who runs the study can stay blind too.
    """
    from bandstand.store import studies
    from bandstand.study.study_store import design_of

    design = design_of(study)
    people = studies.participants(connection, study.id)
    joined = [person for person in people if person.joined_at is not None]
    state = "open" if study.closed_at is None else f"closed {utc_day(study.closed_at)}"
    size = f"{len(design.algorithms)} parts of {design.ratings_per_arm} ratings each"
    lines = [
        f"{study.title}: {state}, begun {utc_day(study.created_at)}; {size}.",
        f"Taking part: {len(joined)}. Invited: {len(people) - len(joined)}. Numbers are drawn.",
    ]
    return lines + [
        _line(design, person, studies.arms(connection, study.id, person.account))
        for person in sorted(joined, key=lambda person: person.number)
    ]


def _line(design: Design, person: ParticipantRow, arms: Sequence[ArmRow]) -> str:
    done = sum(arm.rated >= design.ratings_per_arm for arm in arms)
    rated = sum(arm.rated for arm in arms)
    moments = [arm.last_rated_at for arm in arms if arm.last_rated_at is not None]
    last = f", last on {utc_day(max(moments))}" if moments else ""
    return f"P{person.number}: {done} of {len(arms)} parts done, {counted(rated, 'rating')}{last}."
