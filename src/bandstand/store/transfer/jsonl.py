"""A store as lines of JSON, for another database, another program, or its owner to read.

    header                    the format, and whether this is a whole store
    scan, projection          scans of the library and fitted projections
    song, file                songs with their file and descriptors; files that cannot be read
    study                     the design of each study, and its songs
    account, event, import,   accounts without passwords, their whole logs with what they imported,
    playlist                  their playlists
    participation             the arms of a participant, with the songs offered and rated
    end                       the number of lines and their digest

The order and spelling of lines are fixed: equal stores give equal bytes, and a file that was cut
short or changed is refused. The export of one account is for its owner: it has no paths and no
descriptors, only the songs that the account knows, and nothing that reveals which algorithm
played in a study.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, Select, Table, and_, insert, select
from sqlalchemy.exc import IntegrityError

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.store import accounts
from bandstand.store.database.connection import Store
from bandstand.store.database.schema import (
    ACCOUNT,
    EVENT,
    FILE,
    IMPORT,
    LOG_END,
    METADATA,
    PLAYLIST,
    PLAYLIST_SONG,
    PROJECTION,
    ROWS_PER_STATEMENT,
    SCAN,
    SONG,
    STUDY,
    STUDY_ARM,
    STUDY_PARTICIPANT,
    STUDY_SONG,
    chunks,
    in_order,
    shown,
)
from bandstand.store.events import events, imports
from bandstand.store.events.values import FIRST_DIGEST
from bandstand.store.songs.changes import claim, note_song_change
from bandstand.store.transfer import entries
from bandstand.store.transfer.backup import check_empty
from bandstand.store.transfer.entries import ENTRIES, Entry, checked_entry, rows_of
from bandstand.store.transfer.verify import study_problems

FORMAT: Final = 1
WHOLE: Final = "store"
ONE_ACCOUNT: Final = "account"


def header(content: str) -> dict[str, Any]:
    """Return the first line of an export of a whole store, or of one account."""
    return {"type": "header", "bandstand": "export", "format": FORMAT, "content": content}


def write_lines(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield entries as lines without a line feed, and the line `end` after them."""
    digest, count = sha256(), 0
    for entry in entries:
        line = _spell(entry)
        digest.update(line.encode() + b"\n")
        count += 1
        yield line
    yield _spell({"type": "end", "lines": count, "sha256": digest.hexdigest()})


def _spell(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read_lines(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the content of each line between the header and the end.

    Raises InvalidInputError, with the number of the line, unless this is the export of a store.
    """
    digest, number, is_ended = sha256(), 0, False
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n")
        entry = _parsed(line, number)
        if number == 1:
            _check_header(entry)
        elif is_ended:
            msg = f"line {number}: an export must end with its line `end`, got another after it"
            raise InvalidInputError(msg)
        elif entry.get("type") == "end":
            if entry != {"type": "end", "lines": number - 1, "sha256": digest.hexdigest()}:
                msg = f"line {number}: the lines of an export must fit its end, got changed ones"
                raise InvalidInputError(msg)
            is_ended = True
        else:
            yield number, entry
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    if not is_ended:
        msg = f"an export must end with its line `end`, got {number:,} lines without: cut short"
        raise InvalidInputError(msg)


def _parsed(line: str, number: int) -> dict[str, Any]:
    try:
        entry = json.loads(line, parse_constant=_refuse, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as problem:
        msg = f"line {number}: each line of an export must be a JSON object, got: {problem}"
        raise InvalidInputError(msg) from problem
    if not isinstance(entry, dict):
        msg = f"line {number}: each line of an export must be a JSON object, got {shown(entry)}"
        raise InvalidInputError(msg)
    return entry


def _refuse(constant: str) -> None:
    msg = f"{constant}, which is no JSON"
    raise ValueError(msg)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        msg = "a name that comes twice"
        raise ValueError(msg)
    return entry


def _check_header(entry: dict[str, Any]) -> None:
    if entry.get("type") != "header" or entry.get("bandstand") != "export":
        expected, got = "an export of Bandstand must begin with its header", shown(entry)
    elif entry.get("format") != FORMAT:
        expected, got = f"an export must be of format {FORMAT}", shown(entry.get("format"))
    elif entry.get("content") != WHOLE:
        expected, got = "an export of a whole store was expected", "that of one account"
    elif entry != header(WHOLE):
        expected, got = "a header must say nothing else", shown(entry)
    else:
        return
    msg = f"line 1: {expected}, got {got}"
    raise InvalidInputError(msg)


# A participant must not learn which algorithm plays. Its name, seed and response time reveal it.
# So do the study's id and the participant's number, from which the order of the arms follows.
_REVEALING: Final = {
    "study": True,
    "number": True,
    "arms": {"__all__": {"algorithm": True, "seed": True, "songs": {"__all__": {"choose_ms"}}}},
}


def export_lines(store: Store, *, account: str | None = None) -> Iterator[str]:
    """Yield the lines of an export of a store, or of what an account has, as of one moment.

    Raises NotFoundError where there is no such account.
    """
    if account is None:
        with store.reading(limit=None) as connection:
            yield from write_lines(_whole(connection))
        return
    # One account's lines are few, and a slow reader of them must not hold up the store.
    with store.reading() as connection:
        accounts.existing(connection, account)
        lines = list(write_lines(_of_account(connection, account)))
    yield from lines


def _whole(connection: Connection) -> Iterator[dict[str, Any]]:
    yield header(WHOLE)
    for row in in_order(connection, select(SCAN), SCAN.c.number):
        yield _line("scan", row)
    for row in in_order(connection, select(PROJECTION), PROJECTION.c.version, page=10):
        yield _line("projection", row)
    joined = select(SONG, *(c for c in FILE.c if c.name not in SONG.c))
    for row in in_order(connection, joined.join(FILE, FILE.c.song_id == SONG.c.id), SONG.c.id):
        yield _line("song", row, tags=entries.SongTags.of(row), file=entries.File.of(row))
    unreadable = select(FILE).where(FILE.c.song_id.is_(None))
    for row in in_order(connection, unreadable, FILE.c.path):
        yield _line("file", row)
    for row in in_order(connection, select(STUDY), STUDY.c.id, page=1):
        yield _line("study", row)
    for row in in_order(connection, select(ACCOUNT), ACCOUNT.c.id):
        yield from _account(connection, row)
        for one in _participations(connection, row["id"]):
            yield _line("participation", one, arms=_arms(connection, one))


def _of_account(connection: Connection, account: str) -> Iterator[dict[str, Any]]:
    yield header(ONE_ACCOUNT)
    known = imports.songs_of(connection, account)
    known.update(*(connection.scalars(ids) for ids in _known_songs(account)))
    for some in chunks(sorted(known - {None})):
        for row in _rows(connection, select(SONG).where(SONG.c.id.in_(some)).order_by(SONG.c.id)):
            song = entries.Song.of(row, tags=entries.SongTags.of(row))
            yield {"type": "song", **song.written(include={"id", "tags", "duration"})}
    row = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == account)).mappings().one()
    yield from _account(connection, row)
    for one in _participations(connection, account):
        # A song that is not rated yet is left out: it would reveal when it was chosen.
        arms = _arms(connection, one, is_rated=True)
        own = entries.Participation.of(one, arms=arms).written(exclude=_REVEALING)
        yield {"type": "participation", "title": one["title"], **own}


def _known_songs(account: str) -> Iterator[Select[Any]]:
    """Yield selections of the songs that an account has heard, banned, saved or rated."""
    own = EVENT.c.account_id == account
    yield select(EVENT.c.song_id).where(own)
    yield select(EVENT.c.target).where(own, EVENT.c.scope == "song")
    saved = select(PLAYLIST_SONG.c.song_id).join(PLAYLIST)
    yield saved.where(PLAYLIST.c.account_id == account)
    offered = select(STUDY_SONG.c.song_id).join(STUDY_ARM)
    yield offered.where(STUDY_ARM.c.account_id == account, STUDY_SONG.c.stars.is_not(None))


def _account(connection: Connection, row: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    yield _line("account", row)
    own = select(EVENT).where(EVENT.c.account_id == row["id"])
    for event in in_order(connection, own, EVENT.c.seq):
        yield _line("event", event)
    imported = select(IMPORT).where(IMPORT.c.account_id == row["id"])
    for one in in_order(connection, imported, IMPORT.c.digest, page=1):
        yield _line("import", one)
    theirs = select(PLAYLIST).where(PLAYLIST.c.account_id == row["id"])
    for playlist in _rows(connection, theirs.order_by(PLAYLIST.c.created_at, PLAYLIST.c.id)):
        inside = select(PLAYLIST_SONG.c.song_id).order_by(PLAYLIST_SONG.c.position)
        songs = connection.scalars(inside.where(PLAYLIST_SONG.c.playlist_id == playlist["id"]))
        yield _line("playlist", playlist, songs=list(songs))


def _participations(connection: Connection, account: str) -> Iterable[RowMapping]:
    """Return an account in each study, with its title, in the order in which they were opened."""
    joined = select(STUDY_PARTICIPANT, STUDY.c.title).join(STUDY)
    theirs = joined.where(STUDY_PARTICIPANT.c.account_id == account)
    return _rows(connection, theirs.order_by(STUDY.c.created_at, STUDY.c.id))


def _arms(
    connection: Connection, participant: RowMapping, *, is_rated: bool = False
) -> list[Entry]:
    """Return the arms of a participant with their songs, or with those that are rated."""
    keys = (STUDY_ARM.c.study_id, STUDY_ARM.c.account_id)
    own = and_(*(key == participant[key.name] for key in keys))
    arms = []
    for arm in _rows(connection, select(STUDY_ARM).where(own).order_by(STUDY_ARM.c.place)):
        offered = select(STUDY_SONG).where(STUDY_SONG.c.arm_id == arm["id"])
        if is_rated:
            offered = offered.where(STUDY_SONG.c.rated_at.is_not(None))
        rows = _rows(connection, offered.order_by(STUDY_SONG.c.number))
        arms.append(entries.Arm.of(arm, songs=[entries.StudySong.of(song) for song in rows]))
    return arms


def _rows(connection: Connection, statement: Select[Any]) -> Iterable[RowMapping]:
    return connection.execute(statement).mappings().all()


def _line(kind: str, row: Mapping[Any, Any], **parts: Any) -> dict[str, Any]:
    return {"type": kind, **entries.ENTRIES[kind].of(row, **parts).written()}


_ORDER: Final = tuple(ENTRIES)
# Entries of an account and its belongings follow each other, account by account.
_FIRST_OF_ACCOUNT: Final = _ORDER.index("account")
# These are few, so that an error of the database can name the line.
_WRITTEN_ALONE: Final = frozenset({"account", "playlist", "participation"})


def import_lines(store: Store, lines: Iterable[str]) -> dict[str, int]:
    """Read an export into a store that is empty; return the number of entries of each type.

    Raises ConflictError for a store that is not empty; InvalidInputError, with the number of the
    line, for anything but a whole export. Nothing is changed then. No account has a password.
    """
    with store.writing() as connection:
        claim(connection)
        check_empty(connection, store.location)
        reader = _Reader(connection)
        for number, entry in read_lines(lines):
            reader.take(number, entry)
        reader.finish()
        return dict(reader.counts)


class _Reader:
    """Takes entries one by one, and writes their rows in batches."""

    def __init__(self, connection: Connection) -> None:
        self.counts: Counter[str] = Counter(dict.fromkeys(_ORDER, 0))
        self._connection = connection
        self._waiting: dict[Table, list[dict[str, Any]]] = {}
        self._last_type = _ORDER[0]
        self._log_end: dict[str, Any] | None = None  # of the account that is being read
        self._from = self._to = 0  # the lines that are waiting

    def take(self, number: int, entry: dict[str, Any]) -> None:
        """Take the entry of one line."""
        try:
            kind = self._checked_type(entry.pop("type", None))
            checked = checked_entry(kind, entry)
            rows = list(rows_of(kind, checked))
            self._follow_account(kind, checked)
        except BandstandError as problem:
            msg = f"line {number}: {problem}"
            raise InvalidInputError(msg) from problem
        is_alone = kind in _WRITTEN_ALONE
        if is_alone:
            self._write()
        self._from, self._to = self._from or number, number
        for table, row in rows:
            self._waiting.setdefault(table, []).append(row)
        if is_alone or sum(map(len, self._waiting.values())) >= ROWS_PER_STATEMENT:
            self._write()
        self.counts[kind] += 1

    def finish(self) -> None:
        """Write the rest, and check every log and study."""
        self._close_log()
        self._write()
        for account in accounts.all_accounts(self._connection):
            problems = events.check_chain(self._connection, account.id)
            problems += imports.problems(self._connection, account.id)
            if problems:
                msg = f"the logs of an export must be whole, got: {problems[0]}"
                raise InvalidInputError(msg)
        for problem in study_problems(self._connection):
            msg = f"the studies of an export must be whole, got: {problem}"
            raise InvalidInputError(msg)
        if self.counts["song"]:
            note_song_change(self._connection)

    def _checked_type(self, kind: Any) -> str:
        if kind not in _ORDER:
            msg = f"type must be one of {', '.join(_ORDER)}, got {str(kind)[:80]!r}"
            raise InvalidInputError(msg)
        place, last = _ORDER.index(kind), _ORDER.index(self._last_type)
        if place < last and place < _FIRST_OF_ACCOUNT:
            msg = f"a {kind} must come before every {self._last_type}, got one after it"
            raise InvalidInputError(msg)
        self._last_type = kind
        return str(kind)

    def _follow_account(self, kind: str, entry: Any) -> None:
        """Note whose entries come next, and where the log ends."""
        if kind == "account":
            self._close_log()
            beginning = {"seq": 0, "at": 0, "digest": FIRST_DIGEST}
            self._log_end = {"account_id": entry.id, **beginning}
        owner = getattr(entry, "account", None)
        if owner is not None and (self._log_end or {}).get("account_id") != owner:
            msg = f"an entry must follow the account that it belongs to, got one of {owner}"
            raise InvalidInputError(msg)
        if kind == "event" and self._log_end is not None:
            self._log_end.update(seq=entry.seq, at=entry.at, digest=entry.digest)

    def _close_log(self) -> None:
        if self._log_end is not None:
            self._waiting.setdefault(LOG_END, []).append(self._log_end)
        self._log_end = None

    def _write(self) -> None:
        try:
            for table in METADATA.sorted_tables:  # rows that others refer to come first
                if rows := self._waiting.pop(table, None):
                    self._connection.execute(insert(table), rows)
        except IntegrityError as problem:
            reason = " ".join(str(problem.orig).split())[:200]
            is_one = self._from == self._to
            where = f"line {self._to}" if is_one else f"lines {self._from} to {self._to}"
            msg = f"{where}: entries must fit together, got some that do not: {reason}"
            raise InvalidInputError(msg) from problem
        self._from = 0
