"""What an entry of an export becomes in the tables, each value checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import InvalidInputError
from bandstand.store import accounts, playlists
from bandstand.store.account_settings import settings_to_text
from bandstand.store.accounts import Account
from bandstand.store.entry_checks import (
    a_truth,
    an_object,
    at_least,
    check_names,
    integers,
    one_of,
)
from bandstand.store.event_values import (
    KINDS,
    LONGEST_KEY,
    LONGEST_TARGET,
    SCOPES,
    checked_id,
    checked_short_text,
)
from bandstand.store.exchange_lines import from_base64, from_hex, path_of
from bandstand.store.exchange_studies import participation_columns, study_columns
from bandstand.store.exporting import (
    FILE_FACTS,
    PROJECTION_FACTS,
    SCAN_FACTS,
    SONG_FACTS,
    TAGS,
)
from bandstand.store.files import place
from bandstand.store.playlists import MOST_SONGS, Playlist
from bandstand.store.queries import folded
from bandstand.store.recording import song_name
from bandstand.store.values import (
    checked_integer,
    checked_number,
    checked_tags,
    checked_text,
    descriptors_to_bytes,
    shown,
)
from bandstand.types import Tags

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DIGEST_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The columns of an entry; a song's has those of its file beside it.

    A participation has those of its arms and of what was played in them.
    """

    values: dict[str, Any]
    file: dict[str, Any] | None = None
    arms: tuple[dict[str, Any], ...] = ()
    arm_songs: tuple[dict[str, Any], ...] = ()

    def account(self) -> Account:
        """Return the account that this is."""
        facts = {name: value for name, value in self.values.items() if name != "settings"}
        return Account(**facts, has_password=False)

    def playlist(self) -> Playlist:
        """Return the playlist that this is."""
        return Playlist(**self.values)


def _scan(entry: Mapping[str, Any]) -> Row:
    check_names(entry, SCAN_FACTS, may_lack={"finished_at"})
    return Row(values=integers(entry, SCAN_FACTS))


def _projection(entry: Mapping[str, Any]) -> Row:
    check_names(entry, (*PROJECTION_FACTS, "content_base64"))
    content = from_base64(entry["content_base64"], "content_base64")
    return Row(values={**integers(entry, PROJECTION_FACTS), "content": content})


def _song(entry: Mapping[str, Any]) -> Row:
    check_names(entry, ("id", "tags", *SONG_FACTS, "file", "descriptors"))
    tags = an_object(entry["tags"], "tags")
    check_names(tags, TAGS, may_lack=TAGS)
    song_id = checked_id(entry["id"], "id")
    song = {
        "id": song_id,
        **checked_tags(Tags(**tags)),
        "fingerprint": checked_text(entry["fingerprint"], "fingerprint"),
        "content_size": checked_integer(entry["content_size"], "content_size", least=0),
        "duration": checked_number(entry["duration"], "duration", least=0),
        "descriptor_version": checked_integer(entry["descriptor_version"], "descriptor_version"),
        "added_at": checked_integer(entry["added_at"], "added_at"),
        "descriptors": _descriptors(entry["descriptors"]),
        "folded_name": folded(song_name(tags.get("artist"), tags.get("title"))),
    }
    file = _file_columns(an_object(entry["file"], "file"), song_id=song_id)
    return Row(values=song, file=file)


def _descriptors(values: Any) -> bytes:
    if not isinstance(values, list) or not all(type(value) in {int, float} for value in values):
        msg = "descriptors must be a list of numbers, got something else"
        raise InvalidInputError(msg)
    return descriptors_to_bytes([checked_number(value, "descriptors") for value in values])


def _file(entry: Mapping[str, Any]) -> Row:
    without_type = {name: value for name, value in entry.items() if name != "type"}
    return Row(values=_file_columns(without_type, song_id=None))


def _file_columns(fields: Mapping[str, Any], *, song_id: str | None) -> dict[str, Any]:
    check_names(
        fields, ("path", "path_base64", *FILE_FACTS), may_lack={"path", "path_base64", "problem"}
    )
    problem = fields.get("problem")
    return {
        **place(path_of(fields)),
        "song_id": song_id,
        "size": checked_integer(fields["size"], "size", least=0),
        "modified_ns": checked_integer(fields["modified_ns"], "modified_ns"),
        "problem": None if problem is None else checked_text(problem, "problem"),
        "analysis_version": checked_integer(fields["analysis_version"], "analysis_version"),
        "seen": checked_integer(fields["seen"], "seen"),
        "missing": a_truth(fields["missing"], "missing"),
    }


def _account(entry: Mapping[str, Any]) -> Row:
    check_names(entry, ("id", "name", "role", "disabled", "seed", "created_at", "settings"))
    return Row(
        values={
            "id": checked_id(entry["id"], "id"),
            "name": accounts.checked_name(entry["name"]),
            "role": accounts.checked_role(entry["role"]),
            "disabled": a_truth(entry["disabled"], "disabled"),
            "seed": checked_integer(entry["seed"], "seed", least=0),
            "created_at": checked_integer(entry["created_at"], "created_at"),
            "settings": settings_to_text(an_object(entry["settings"], "settings")),
        }
    )


def _event(entry: Mapping[str, Any]) -> Row:
    check_names(entry, (*_EVENT_CHECKS, "digest"), may_lack=_EVENT_CHECKS.keys() - _ALWAYS)
    values = {
        _COLUMN_OF.get(name, name): None if entry.get(name) is None else check(entry[name], name)
        for name, check in _EVENT_CHECKS.items()
    }
    digest = from_hex(entry["digest"], "digest")
    if len(digest) != _DIGEST_BYTES:
        msg = f"digest must have {_DIGEST_BYTES} bytes, got {len(digest)}"
        raise InvalidInputError(msg)
    return Row(values={**values, "digest": digest})


def _playlist(entry: Mapping[str, Any]) -> Row:
    check_names(entry, ("id", "account", "name", "created_at", "songs"))
    songs = entry["songs"]
    if not isinstance(songs, list) or len(songs) > MOST_SONGS:
        msg = f"songs must be a list of at most {MOST_SONGS:,}, got {shown(songs)}"
        raise InvalidInputError(msg)
    return Row(
        values={
            "id": checked_id(entry["id"], "id"),
            "account": checked_id(entry["account"], "account"),
            "name": playlists.checked_name(entry["name"]),
            "created_at": checked_integer(entry["created_at"], "created_at"),
            "songs": tuple(checked_id(song, "songs") for song in songs),
        }
    )


def _study(entry: Mapping[str, Any]) -> Row:
    return Row(values=study_columns(entry))


def _participation(entry: Mapping[str, Any]) -> Row:
    values, arms, songs = participation_columns(entry)
    return Row(values=values, arms=arms, arm_songs=songs)


_ALWAYS: Final = frozenset({"account", "seq", "key", "at", "kind"})
_COLUMN_OF: Final = {"account": "account_id", "song": "song_id"}
_EVENT_CHECKS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "account": checked_id,
    "seq": at_least(1),
    "key": lambda value, name: checked_short_text(value, name, most=LONGEST_KEY),
    "at": checked_integer,
    "kind": one_of(KINDS),
    "song": checked_id,
    "stars": lambda value, name: checked_integer(value, name, least=1, most=5),
    "played_ms": at_least(0),
    "since_heard_ms": at_least(0),
    "scope": one_of(SCOPES),
    "target": lambda value, name: checked_short_text(value, name, most=LONGEST_TARGET),
    "until": checked_integer,
    "retracts": at_least(1),
}

ROWS: Final[dict[str, Callable[[Mapping[str, Any]], Row]]] = {
    "scan": _scan,
    "projection": _projection,
    "song": _song,
    "file": _file,
    "study": _study,
    "account": _account,
    "event": _event,
    "playlist": _playlist,
    "participation": _participation,
}
