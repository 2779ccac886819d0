"""`bandstand study invite`: accounts for participants, with passwords that are shown once."""

from __future__ import annotations

import csv
import io
import os
import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bandstand.cli._options import opened_store, require_store, store_option
from bandstand.cli._study_store import same_study
from bandstand.errors import ConflictError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store
    from bandstand.store.studies import StudyRow

# Letters and digits that nobody takes for one another; 13 of them are 64 bits.
_SIGNS: Final = "abcdefghijkmnpqrstuvwxyz23456789"
_GROUPS: Final = (5, 4, 4)
_MOST: Final = 999
_HOW: Final = "They log in at the address that `study run` shows; passwords are not shown again."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guest:
    """Somebody to be invited; who has an account already keeps it, and its password."""

    name: str
    password: str | None = None
    hashed: str | None = None


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("names", nargs=-1, metavar="NAME…")
@click.option(
    "--count", type=click.IntRange(1, _MOST), metavar="N", help="So many new accounts: p01, p02, …"
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

    Somebody with an account takes part with it. For others one is made, which is good for the
    study only and goes when they withdraw.
    """
    if bool(names) == (count is not None):
        msg = "either names or --count must be given, got " + ("both" if names else "neither")
        raise click.UsageError(msg)
    require_store(store)
    with opened_store(store) as opened:
        study = same_study(opened, file)
        guests = _guests(opened, names or _free_names(opened, count or 0))
        with _kept(csv_file, _as_csv(guests)), opened.writing() as connection:
            for guest in guests:
                _invite(connection, study, guest)
    for guest in guests:
        click.echo(f"{guest.name}  {guest.password or '(has an account)'}")
    click.echo(_HOW, err=True)  # whoever keeps the output keeps names and passwords


def _free_names(store: Store, count: int) -> tuple[str, ...]:
    """Return p01, p02, … as many as asked for, leaving out those that somebody has."""
    from bandstand.store import accounts

    with store.reading() as connection:
        taken = {account.name.casefold() for account in accounts.all_accounts(connection)}
    free = (name for number in range(1, 100_000) if (name := f"p{number:02}") not in taken)
    return tuple(name for name, _ in zip(free, range(count), strict=False))


def _guests(store: Store, names: Sequence[str]) -> list[_Guest]:
    """Return whom to invite, checked before any account is made."""
    from bandstand.store import accounts

    guests = []
    with store.reading() as connection:
        for given in names:
            known = accounts.by_name(connection, given)
            name = accounts.checked_name(given) if known is None else known.name
            guests.append(_new_guest(name) if known is None else _Guest(name=name))
    if len({guest.name.casefold() for guest in guests}) < len(guests):
        msg = f"names that differ were expected, got {', '.join(names)}"
        raise InvalidInputError(msg)
    return guests


def _new_guest(name: str) -> _Guest:
    from bandstand.web.security.passwords import checked_password, hashed

    password = checked_password(_new_password(), name=name)
    return _Guest(name=name, password=password, hashed=hashed(password))


def _new_password() -> str:
    """Return something that can be read from paper and typed, and that nobody guesses."""
    groups = ("".join(secrets.choice(_SIGNS) for _ in range(length)) for length in _GROUPS)
    return "-".join(groups)


def _invite(connection: Connection, study: StudyRow, guest: _Guest) -> None:
    from bandstand._util.clock import system_clock
    from bandstand.store import accounts, studies
    from bandstand.study.assignment import draw_number
    from bandstand.study.study_store import design_of

    account = accounts.by_name(connection, guest.name)
    if account is not None and guest.hashed is not None:  # made by somebody else meanwhile
        msg = f"a name that nobody has was expected, got {guest.name!r}, which is taken"
        raise ConflictError(msg)
    if account is None:
        account = accounts.create(
            connection,
            name=guest.name,
            role="listener",
            password_hash=guest.hashed,
            now=system_clock(),
        )
    studies.invite(
        connection,
        study.id,
        account.id,
        made_for_study=guest.hashed is not None,
        number=draw_number(connection, study.id, design_of(study)),
        now=system_clock(),
    )


def _as_csv(guests: Sequence[_Guest]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "password"])
    writer.writerows([guest.name, guest.password or ""] for guest in guests)
    return text.getvalue().encode()


@contextmanager
def _kept(name: str | None, content: bytes) -> Iterator[None]:
    """Write a new file that only its owner may read; without it where the work inside fails."""
    if name is None:
        yield
        return
    try:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        msg = f"--csv must name a file that is not there yet, got {name!r}"
        raise InvalidInputError(msg) from None
    except OSError as problem:
        msg = f"--csv must name a file that can be written, got {name!r}: {problem.strerror}"
        raise InvalidInputError(msg) from problem
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield
    except BaseException:
        Path(name).unlink()
        raise
