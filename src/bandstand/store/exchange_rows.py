"""What an entry of an export becomes in the tables, each value checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import InvalidInputError
from bandstand.store import accounts, playlists
from bandstand.store.account_settings import settings_to_text
from bandstand.store.accounts import Account
from bandstand.store.event_values import (
    KINDS,
    LONGEST_KEY,
    LONGEST_TARGET,
    SCOPES,
    checked_id,
    checked_short_text,
)
from bandstand.store.exchange_lines import from_base64, from_hex, path_of
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
from bandstand.tracks import Tags

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

_DIGEST_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The columns of an entry; a song's has those of its file beside it."""

    values: dict[str, Any]
    file: dict[str, Any] | None = None

    def account(self) -> Account:
        """Return the account that this is."""
        facts = {name: value for name, value in self.values.items() if name != "settings"}
        return Account(**facts, has_password=False)

    def playlist(self) -> Playlist:
        """Return the playlist that this is."""
        return Playlist(**self.values)


def _scan(entry: Mapping[str, Any]) -> Row:
    _check_names(entry, SCAN_FACTS, may_lack={"finished_at"})
    return Row(values=_integers(entry, SCAN_FACTS))


def _projection(entry: Mapping[str, Any]) -> Row:
    _check_names(entry, (*PROJECTION_FACTS, "content_base64"))
    content = from_base64(entry["content_base64"], "content_base64")
    return Row(values={**_integers(entry, PROJECTION_FACTS), "content": content})


def _song(entry: Mapping[str, Any]) -> Row:
    _check_names(entry, ("id", "tags", *SONG_FACTS, "file", "descriptors"))
    tags = _object(entry["tags"], "tags")
    _check_names(tags, TAGS, may_lack=TAGS)
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
    file = _file_columns(_object(entry["file"], "file"), song_id=song_id)
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
    _check_names(
        fields, ("path", "path_base64", *FILE_FACTS), may_lack={"path", "path_base64", "problem"}
    )
    problem = fields.get("problem")
    if type(fields["missing"]) is not bool:
        msg = f"missing must be true or false, got {shown(fields['missing'])}"
        raise InvalidInputError(msg)
    return {
        **place(path_of(fields)),
        "song_id": song_id,
        "size": checked_integer(fields["size"], "size", least=0),
        "modified_ns": checked_integer(fields["modified_ns"], "modified_ns"),
        "problem": None if problem is None else checked_text(problem, "problem"),
        "analysis_version": checked_integer(fields["analysis_version"], "analysis_version"),
        "seen": checked_integer(fields["seen"], "seen"),
        "missing": fields["missing"],
    }


def _account(entry: Mapping[str, Any]) -> Row:
    _check_names(entry, ("id", "name", "role", "disabled", "seed", "created_at", "settings"))
    if type(entry["disabled"]) is not bool:
        msg = f"disabled must be true or false, got {shown(entry['disabled'])}"
        raise InvalidInputError(msg)
    return Row(
        values={
            "id": checked_id(entry["id"], "id"),
            "name": accounts.checked_name(entry["name"]),
            "role": accounts.checked_role(entry["role"]),
            "disabled": entry["disabled"],
            "seed": checked_integer(entry["seed"], "seed", least=0),
            "created_at": checked_integer(entry["created_at"], "created_at"),
            "settings": settings_to_text(_object(entry["settings"], "settings")),
        }
    )


def _event(entry: Mapping[str, Any]) -> Row:
    _check_names(entry, (*_EVENT_CHECKS, "digest"), may_lack=_EVENT_CHECKS.keys() - _ALWAYS)
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
    _check_names(entry, ("id", "account", "name", "created_at", "songs"))
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


def _check_names(
    entry: Mapping[str, Any], names: Collection[str], *, may_lack: Collection[str] = ()
) -> None:
    given = entry.keys() - {"type"}
    if unknown := given - set(names):
        msg = (
            f"an entry must have no other names than {', '.join(names)}, got {shown(min(unknown))}"
        )
        raise InvalidInputError(msg)
    lacking = [name for name in names if name not in may_lack and entry.get(name) is None]
    if lacking:
        msg = f"{lacking[0]} must be given, got none"
        raise InvalidInputError(msg)


def _integers(entry: Mapping[str, Any], names: Sequence[str]) -> dict[str, int | None]:
    return {
        name: None if entry.get(name) is None else checked_integer(entry[name], name)
        for name in names
    }


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        msg = f"{name} must be a JSON object, got {shown(value)}"
        raise InvalidInputError(msg)
    return value


def _one_of(allowed: Collection[str]) -> Callable[[Any, str], str]:
    def check(value: Any, name: str) -> str:
        if not isinstance(value, str) or value not in allowed:
            msg = f"{name} must be one of {', '.join(allowed)}, got {shown(value)}"
            raise InvalidInputError(msg)
        return value

    return check


def _at_least(least: int) -> Callable[[Any, str], int]:
    return lambda value, name: checked_integer(value, name, least=least)


_ALWAYS: Final = frozenset({"account", "seq", "key", "at", "kind"})
_COLUMN_OF: Final = {"account": "account_id", "song": "song_id"}
_EVENT_CHECKS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "account": checked_id,
    "seq": _at_least(1),
    "key": lambda value, name: checked_short_text(value, name, most=LONGEST_KEY),
    "at": checked_integer,
    "kind": _one_of(KINDS),
    "song": checked_id,
    "stars": lambda value, name: checked_integer(value, name, least=1, most=5),
    "played_ms": _at_least(0),
    "since_heard_ms": _at_least(0),
    "scope": _one_of(SCOPES),
    "target": lambda value, name: checked_short_text(value, name, most=LONGEST_TARGET),
    "until": checked_integer,
    "retracts": _at_least(1),
}

ROWS: Final[dict[str, Callable[[Mapping[str, Any]], Row]]] = {
    "scan": _scan,
    "projection": _projection,
    "song": _song,
    "file": _file,
    "account": _account,
    "event": _event,
    "playlist": _playlist,
}
