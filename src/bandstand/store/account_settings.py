"""The settings of an account: a JSON object that the store keeps and does not interpret."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select, update

from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.store.database.schema import ACCOUNT
from bandstand.store.values import checked_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

_LONGEST: Final = 64 * 1024  # characters


def settings(connection: Connection, account: str) -> dict[str, Any]:
    """Return the settings of an account; NotFoundError where there is none."""
    return _read(connection, account, is_to_change=False)


def change_settings(
    connection: Connection, account: str, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings of an account after `changes`; None removes an entry."""
    merged = {**_read(connection, account, is_to_change=True), **changes}
    kept = {name: value for name, value in merged.items() if value is not None}
    content = settings_to_text(kept)
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == account).values(settings=content))
    return kept


def settings_to_text(values: Mapping[str, Any]) -> str:
    """Return settings as one line of JSON, the same for the same settings.

    >>> settings_to_text({"dial": 0.5, "algorithm": "greedy"})
    '{"algorithm":"greedy","dial":0.5}'
    """
    if not all(isinstance(name, str) for name in values):
        msg = "the names of settings must be text, got something else"
        raise InvalidInputError(msg)
    try:
        content = json.dumps(
            values, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False
        )
    except (TypeError, ValueError, RecursionError) as problem:
        msg = f"settings must be JSON, got something else: {problem}"
        raise InvalidInputError(msg) from problem
    if len(content) > _LONGEST:
        msg = f"settings must have at most {_LONGEST:,} characters, got {len(content):,}"
        raise InvalidInputError(msg)
    return checked_text(content, "settings")


def _read(connection: Connection, account: str, *, is_to_change: bool) -> dict[str, Any]:
    wanted = select(ACCOUNT.c.settings).where(ACCOUNT.c.id == checked_text(account, "account"))
    content = connection.scalar(wanted.with_for_update() if is_to_change else wanted)
    if content is None:
        msg = "an account that exists was expected, got another id"
        raise NotFoundError(msg)
    found: dict[str, Any] = json.loads(content)
    return found
