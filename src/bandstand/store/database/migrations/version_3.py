"""Version 3: studies, in which people compare algorithms without knowing which one plays.

What was offered and rated in a study is apart from the log of the account: neither learns from
the other. It all goes with the participant, and a participant with the account.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand.store.database.migrations._dialects import run

if TYPE_CHECKING:
    from sqlalchemy import Connection

_TABLES: Final = (
    """
    CREATE TABLE study (
        id {ordered_text} NOT NULL PRIMARY KEY CHECK (length(id) = 16),
        title {ordered_text} NOT NULL UNIQUE,
        design TEXT NOT NULL,
        catalogue {bytes} NOT NULL,
        created_at BIGINT NOT NULL,
        closed_at BIGINT
    )
    """,
    """
    CREATE TABLE study_participant (
        study_id {ordered_text} NOT NULL REFERENCES study (id) ON DELETE CASCADE,
        account_id {ordered_text} NOT NULL REFERENCES account (id) ON DELETE CASCADE,
        number BIGINT NOT NULL CHECK (number >= 1),
        made_for_study BOOLEAN NOT NULL,
        invited_at BIGINT NOT NULL,
        joined_at BIGINT,
        PRIMARY KEY (study_id, account_id),
        UNIQUE (study_id, number)
    )
    """,
    "CREATE INDEX ix_study_participant_account_id ON study_participant (account_id)",
    """
    CREATE TABLE study_arm (
        id {ordered_text} NOT NULL PRIMARY KEY CHECK (length(id) = 16),
        study_id {ordered_text} NOT NULL,
        account_id {ordered_text} NOT NULL,
        place BIGINT NOT NULL CHECK (place >= 0),
        algorithm TEXT NOT NULL,
        seed BIGINT NOT NULL CHECK (seed >= 0),
        begun_at BIGINT,
        UNIQUE (study_id, account_id, place),
        FOREIGN KEY (study_id, account_id)
            REFERENCES study_participant (study_id, account_id) ON DELETE CASCADE
    )
    """,
    # A song is offered first, and all that a rating says comes at once.
    """
    CREATE TABLE study_song (
        arm_id {ordered_text} NOT NULL REFERENCES study_arm (id) ON DELETE CASCADE,
        number BIGINT NOT NULL CHECK (number >= 1),
        song_id {ordered_text} NOT NULL REFERENCES song (id),
        offered_at BIGINT NOT NULL,
        choose_ms BIGINT NOT NULL CHECK (choose_ms >= 0),
        stars BIGINT CHECK (stars BETWEEN 1 AND 5),
        known BOOLEAN,
        played_ms BIGINT CHECK (played_ms >= 0),
        rated_at BIGINT,
        PRIMARY KEY (arm_id, number),
        CHECK ((stars IS NULL) = (rated_at IS NULL)),
        CHECK ((stars IS NULL) = (known IS NULL)),
        CHECK (stars IS NOT NULL OR played_ms IS NULL)
    ) {side_by_side}
    """,
)


def apply(connection: Connection, *, now: int) -> None:
    """Make the tables; nothing that is there changes."""
    del now
    run(connection, _TABLES)
