"""Where a listener's plays are sent: one row for each listener and server.

What waits to be sent is no list of its own: it is the log after `seq`, the last event that was
dealt with. An event in one of the `silent` runs is passed over: it happened in private mode.

The token is kept as it is, since it has to be sent. It is in no backup, export, answer or `repr`.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete as delete_from
from sqlalchemy import insert, select, update

from bandstand.errors import ConflictError, NotFoundError
from bandstand.store import accounts
from bandstand.store.database.schema import ACCOUNT, LOG_END, SCROBBLE_TARGET, checked_short_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, RowMapping

MAX_TARGETS: Final = 5  # of one account
MAX_CHARS: Final = 300  # of an address or a token
# Longer than any request takes: until then no other process sends to the same target.
CLAIM_MS: Final = 120_000

_ROW: Final = SCROBBLE_TARGET.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server that gets a listener's plays."""

    id: str
    account_id: str
    url: str
    token: str = field(repr=False)
    silent: Sequence[tuple[int, int | None]]  # after the first event, up to the last; None: on
    seq: int  # the last event of the log that was dealt with
    failures: int  # in a row
    wait_until: int  # UTC, in milliseconds; 0: no wait
    delivered_at: int | None
    problem: str | None  # why nothing was delivered the last time
    refusal: str | None  # why the last play was refused that the server does not take

    def is_silent(self, seq: int) -> bool:
        """Return whether an event is not to be sent."""
        return any(start < seq and (end is None or seq <= end) for start, end in self.silent)


def put(connection: Connection, account: str, url: str, token: str) -> Target:
    """Return the target that gets an account's plays from now on.

    One with the same address gets the new token, and goes on where it was.
    """
    checked_short_text(url, "an address", most=MAX_CHARS)
    checked_short_text(token, "a token", most=MAX_CHARS)
    is_private = accounts.settings(connection, account, is_to_change=True).get("private", False)
    known = {target.url: target.id for target in all_of(connection, account)}
    values: dict[str, Any] = {"token": token, "failures": 0, "wait_until": 0, "problem": None}
    if url in known:
        _change(connection, known[url], **values)
    elif len(known) >= MAX_TARGETS:
        msg = f"an account can send its plays to {MAX_TARGETS} servers, got one more"
        raise ConflictError(msg)
    else:
        end = _log_end(connection, account)
        values |= {"id": secrets.token_hex(8), "account_id": account, "url": url, "seq": end}
        values |= {"silent": json.dumps([(end, None)] if is_private else []), "claimed_until": 0}
        connection.execute(insert(SCROBBLE_TARGET).values(values))
    return next(target for target in all_of(connection, account) if target.url == url)


def all_of(connection: Connection, account: str) -> list[Target]:
    """Return where an account's plays are sent, by address."""
    own = select(SCROBBLE_TARGET).where(_ROW.account_id == account).order_by(_ROW.url, _ROW.id)
    return [_of_row(row) for row in connection.execute(own).mappings()]


def delete(connection: Connection, account: str, target: str) -> None:
    """Send nothing more to a target of an account, and forget its token."""
    own = (_ROW.account_id == account, _ROW.id == target)
    if connection.execute(delete_from(SCROBBLE_TARGET).where(*own)).rowcount == 0:
        msg = "a target of this account was expected, got another id"
        raise NotFoundError(msg)


def behind(connection: Connection, now: int) -> list[tuple[Target, int]]:
    """Return the targets with events to look at, each with the end of the log.

    Those that have to wait, that another process sends to, or whose account is disabled are not
    among them.
    """
    wanted = (
        select(SCROBBLE_TARGET, LOG_END.c.seq.label("log_end"))
        .join(LOG_END, LOG_END.c.account_id == _ROW.account_id)
        .join(ACCOUNT, ACCOUNT.c.id == _ROW.account_id)
        .where(ACCOUNT.c.disabled.is_(False), LOG_END.c.seq > _ROW.seq)
        .where(_ROW.wait_until <= now, _ROW.claimed_until <= now)
        .order_by(_ROW.id)
    )
    rows = connection.execute(wanted).mappings()
    return [(_of_row(row), int(row["log_end"])) for row in rows]


def claim(connection: Connection, target: Target, now: int) -> bool:
    """Keep other processes from sending to a target, unless one does; return whether."""
    free = (_ROW.id == target.id, _ROW.seq == target.seq, _ROW.claimed_until <= now)
    claimed = update(SCROBBLE_TARGET).where(*free).values(claimed_until=now + CLAIM_MS)
    return connection.execute(claimed).rowcount == 1


def settle(connection: Connection, target: Target, seq: int, **news: Any) -> None:
    """Note that everything up to event `seq` is dealt with, and end the claim."""
    # Another process may have claimed it since, if this one was held up for minutes.
    is_ours = _ROW.seq == target.seq
    fresh = {"claimed_until": 0, "failures": 0, "wait_until": 0, "problem": None}
    _change(connection, target.id, is_ours, seq=seq, **fresh, **news)


def postpone(connection: Connection, target: Target, until: int, problem: str) -> None:
    """Note why nothing was delivered, and when to try again; nothing if the token was replaced."""
    values = {"failures": target.failures + 1, "wait_until": until, "problem": problem}
    _change(connection, target.id, _ROW.token == target.token, claimed_until=0, **values)


def note_private(connection: Connection, account: str, *, is_private: bool) -> None:
    """Begin or end a run of events that are not to be sent, for all targets of an account."""
    for target in all_of(connection, account):
        runs = [*target.silent]
        is_open = bool(runs) and runs[-1][1] is None
        if is_private != is_open:
            start = runs.pop()[0] if is_open else _log_end(connection, account)
            runs.append((start, _log_end(connection, account) if is_open else None))
            _change(connection, target.id, silent=json.dumps(runs))


def _log_end(connection: Connection, account: str) -> int:
    """Return the last event of a log, to which no other transaction appends until this one ends."""
    end = select(LOG_END.c.seq).where(LOG_END.c.account_id == account).with_for_update()
    return int(connection.scalar(end) or 0)


def _change(connection: Connection, target: str, *which: ColumnElement[bool], **news: Any) -> None:
    own = update(SCROBBLE_TARGET).where(_ROW.id == target, *which)
    connection.execute(own.values(news))


def _of_row(row: RowMapping) -> Target:
    values = {it.name: row[it.name] for it in fields(Target)}
    runs = tuple((start, end) for start, end in json.loads(row["silent"]))
    return Target(**{**values, "silent": runs})
